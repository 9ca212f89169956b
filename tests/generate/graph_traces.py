"""Traces of programs that capture CUDA or HIP graphs and replay them, with what each replayed kernel is.

A program is a list of graphs; a graph is a list of launches in the order of its capture. The capture's trace has the calls
that launched them, inside operators and modules; the replay's trace has one launch call for each replay, and kernels.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MICROSECOND = 1000


@dataclass(frozen=True)
class Launch:
    """A kernel that an operator launches."""

    kernel: str
    operator: str  # aten::mm
    shapes: tuple[tuple[int, ...], ...]
    module: str  # the module's class and number: Linear_3
    call: int  # launches of one call of an operator have the same number
    branch: int = 0
    blocks: int = 0  # 0: not told

    @property
    def size(self) -> dict[str, Any]:
        return {"grid": [self.blocks, 1, 1], "block": [128, 1, 1]} if self.blocks else {}

    @property
    def dims(self) -> str:
        return json.dumps([list(shape) for shape in self.shapes])


@dataclass
class Graph:
    launches: list[Launch]


@dataclass
class Kernel:
    """A replayed kernel, and the launch that it is."""

    launch: Launch
    duration: int  # ns


@dataclass
class Replay:
    """What the replay's trace must give where all is attributed."""

    kernels: list[Kernel] = field(default_factory=list)

    @property
    def total_ns(self) -> int:
        return sum(kernel.duration for kernel in self.kernels)

    def by_operator(self, chosen: Iterable[Kernel] | None = None) -> dict[tuple[str, str], int]:
        sums: dict[tuple[str, str], int] = {}
        for kernel in self.kernels if chosen is None else chosen:
            key = (kernel.launch.operator, kernel.launch.dims)
            sums[key] = sums.get(key, 0) + kernel.duration
        return sums

    def by_module(self, chosen: Iterable[Kernel] | None = None) -> dict[str, int]:
        sums: dict[str, int] = {}
        for kernel in self.kernels if chosen is None else chosen:
            sums[kernel.launch.module] = sums.get(kernel.launch.module, 0) + kernel.duration
        return sums


class TraceText:
    """Events of Kineto, in microseconds with three decimals."""

    def __init__(self, prefix: str) -> None:
        self.events: list[dict[str, Any]] = []
        self.correlation = 100
        self.prefix = prefix  # hip or cuda

    def add(self, category: str, name: str, start: int, duration: int, **args: Any) -> None:
        on_device = category in ("kernel", "gpu_memcpy", "gpu_memset")
        event = {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": 0 if on_device else 7,
            "tid": args.get("stream", 0) if on_device else args.pop("tid", 7),
            "ts": start / 1000,
            "dur": duration / 1000,
            "args": args,
        }
        self.events.append(event)

    def call(self, name: str, start: int, duration: int = 500, **args: Any) -> int:
        self.correlation += 1
        self.add(
            "cuda_runtime",
            self.prefix + name,
            start,
            duration,
            correlation=self.correlation,
            **args,
        )
        return self.correlation

    def write(self, path: Path) -> None:
        path.write_text(
            json.dumps(
                {
                    "schemaVersion": 1,
                    "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],
                    "record_shapes": 1,
                    "with_stack": 1,
                    "traceEvents": self.events,
                }
            )
        )


def runs_of(launches: list[Launch], key: str) -> list[list[Launch]]:
    """Neighbors with the same value share a run."""
    runs: list[list[Launch]] = []
    for launch in launches:
        if runs and getattr(runs[-1][-1], key) == getattr(launch, key):
            runs[-1].append(launch)
        else:
            runs.append([launch])
    return runs


class CaptureWriter:
    def __init__(self, prefix: str, has_names: bool = True) -> None:
        self.trace = TraceText(prefix)
        self.now = 1_000_000
        self.has_names = has_names

    def step(self) -> int:
        self.now += 2 * MICROSECOND
        return self.now

    def operator(self, launches: list[Launch], thread: int, runs: bool = False) -> None:
        """`runs`: outside of a capture, so that its kernels run at once."""
        start = self.step()
        for launch in launches:
            args: dict[str, Any] = {"tid": thread}
            if self.has_names:
                args["kernel"] = launch.kernel
                args.update(launch.size)
            correlation = self.trace.call("LaunchKernel", self.step(), **args)
            if runs:
                on_device = {"device": 0, "stream": 0, "correlation": correlation}
                self.trace.add("kernel", launch.kernel, self.now, 900, **on_device)
        first = launches[0]
        self.trace.add(
            "cpu_op",
            first.operator,
            start,
            self.step() - start,
            tid=thread,
            **{
                "Input Dims": [list(shape) for shape in first.shapes],
                "Input type": ["float"] * len(first.shapes),
            },
        )

    def graph(self, graph: Graph, has_begin: bool = True, has_end: bool = True) -> None:
        if has_begin:
            self.trace.call("StreamBeginCapture", self.step())
        for module in runs_of(graph.launches, "module"):
            start = self.step()
            for operator in runs_of(module, "call"):
                if operator[0].branch and any(launch.branch == 0 for launch in graph.launches):
                    self.trace.call("StreamWaitEvent", self.step())
                self.operator(operator, 7)
            self.trace.add(
                "python_function", f"nn.Module: {module[0].module}", start, self.step() - start
            )
        if has_end:
            self.trace.call("StreamEndCapture", self.step())

    def warm_up(self, launches: list[Launch]) -> None:
        """The operators of a graph, run before it is captured."""
        for operator in runs_of(launches, "call"):
            self.operator(operator, 7, runs=True)

    def eager(self, launches: list[Launch]) -> None:
        """Launches that run at once: the warm-up before a capture."""
        for launch in launches:
            start = self.step()
            correlation = self.trace.call("LaunchKernel", self.step(), kernel=launch.kernel)
            self.trace.add("cpu_op", "aten::warm_up", start, self.step() - start)
            self.trace.add(
                "kernel", launch.kernel, self.now, 900, device=0, stream=0, correlation=correlation
            )


class ReplayWriter:
    def __init__(self, prefix: str, randomness: random.Random) -> None:
        self.trace = TraceText(prefix)
        self.now = 900_000_000
        self.random = randomness
        self.replay = Replay()

    def launch(
        self, graph: Graph, order: list[int] | None = None, has_nodes: bool = False
    ) -> list[Kernel]:
        """`order`: how the kernels run, where branches run side by side, each on its stream."""
        call = self.now + MICROSECOND
        correlation = self.trace.call("GraphLaunch", call, 3 * MICROSECOND)
        self.now = call + 5 * MICROSECOND
        kernels = []
        for place in order or range(len(graph.launches)):
            launch = graph.launches[place]
            duration = self.random.randrange(1000, 90_000)
            args = {"graph node id": 4_294_967_296 + 3 * place} if has_nodes else {}
            self.trace.add(
                "kernel",
                launch.kernel,
                self.now,
                duration,
                device=0,
                stream=7 + launch.branch,
                correlation=correlation,
                **args,
                **launch.size,
            )
            self.now += self.random.randrange(1, 500) + (duration if order is None else 10)
            kernels.append(Kernel(launch, duration))
        self.now += 100 * MICROSECOND
        self.replay.kernels += kernels
        return kernels


def random_graph(
    randomness: random.Random, modules: int, first_module: int = 0, repeats: bool = True
) -> Graph:
    """Layers of products, each with a second kernel now and then, and kernels of one name everywhere."""
    launches = []
    call = randomness.randrange(1 << 40)
    for module in range(first_module, first_module + modules):
        for _ in range(randomness.randrange(1, 5)):
            call += 1
            size = randomness.randrange(1, 64)
            number = randomness.randrange(4) if repeats else call
            shapes = ((8, 16 + size), (16 + size, 32))
            operator = randomness.choice(["aten::mm", "aten::bmm", "my::op"])
            kernels = [f"gemm_{number}"] + (["split_k_reduce"] if randomness.random() < 0.3 else [])
            launches += [
                Launch(kernel, operator, shapes, f"Layer_{module}", call) for kernel in kernels
            ]
    return Graph(launches)
