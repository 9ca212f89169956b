"""A training program on one GPU, run by a simulation: a host that launches, streams that queue, and the trace that Kineto would write.

The simulation knows nothing of flopledger: a program is run with a cause of slowness and without it, and both lengths are its own.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WORLD = 4  # ranks, where there are several
US, MS = 1_000, 1_000_000
LAUNCH, LATENCY, KERNEL_GAP = 3 * US, 5 * US, 1 * US
COMPUTE, COPIES, COLLECTIVES = 7, 11, 20  # streams
BASE_NS = 1_760_000_000_000_000_000
DEVICE = {
    "id": 0,
    "name": "NVIDIA A100-SXM4-80GB",
    "totalGlobalMem": 85_000_000_000,
    "computeMajor": 8,
    "computeMinor": 0,
    "numSms": 108,
}


@dataclass
class Simulation:
    """Times are whole nanoseconds; `now` is the host's."""

    now: int = 1 * MS
    events: list[dict[str, Any]] = field(default_factory=list)
    free: dict[int, int] = field(
        default_factory=dict
    )  # when a stream has done all that it was given
    correlation: int = 0
    lengths: list[int] = field(default_factory=list)  # of steps

    def add(
        self, category: str, name: str, start: int, end: int, thread: int = 100, **args: Any
    ) -> None:
        on_device = category in ("kernel", "gpu_memcpy")
        self.events.append(
            {
                "ph": "X",
                "cat": category,
                "name": name,
                "pid": 0 if on_device else 100,
                "tid": thread,
                "ts": start / 1000,
                "dur": (end - start) / 1000,
                "args": args,
            }
        )

    @contextmanager
    def inside(self, category: str, name: str, **args: Any) -> Iterator[None]:
        began = self.now
        yield
        self.add(category, name, began, self.now, **args)

    def call(self, name: str, length: int, **args: Any) -> None:
        began, self.now = self.now, self.now + length
        self.add("cuda_runtime", name, began, self.now, **args)

    def enqueue(
        self,
        name: str,
        length: int,
        stream: int = COMPUTE,
        category: str = "kernel",
        after: int = 0,
        **args: Any,
    ) -> int:
        """By one launch; `after`: when what it depends on ends. Gives its end."""
        self.correlation += 1
        by = "cudaLaunchKernel" if category == "kernel" else "cudaMemcpyAsync"
        self.call(by, LAUNCH, correlation=self.correlation)
        start = max(self.now + LATENCY, self.free.get(stream, 0) + KERNEL_GAP, after)
        self.free[stream] = start + length
        more = {"device": 0, "stream": stream, "correlation": self.correlation, **args}
        if category == "kernel":
            more |= {"grid": [1024, 1, 1], "block": [256, 1, 1]}
        self.add(category, name, start, start + length, stream, **more)
        return start + length

    def op(self, name: str, host: int, kernels: list[tuple[str, int]], **args: Any) -> None:
        """An operator that takes `host` beside its launches."""
        with self.inside("cpu_op", name, **args):
            self.now += host // 2
            for kernel, length in kernels:
                self.enqueue(kernel, length)
            self.now += host - host // 2

    def wait(self, call: str, streams: tuple[int, ...] = (COMPUTE,)) -> None:
        until = max([self.free.get(stream, 0) for stream in streams])
        self.call(call, max(4 * US, until - self.now + 2 * US))

    def item(self) -> None:
        """tensor.item(): a copy, and a wait for all before it."""
        with (
            self.inside("cpu_op", "aten::item"),
            self.inside("cpu_op", "aten::_local_scalar_dense"),
        ):
            self.now += 2 * US
            self.enqueue("Memcpy DtoH (Device -> Pageable)", 2 * US, category="gpu_memcpy", bytes=4)
            self.wait("cudaStreamSynchronize")

    @contextmanager
    def step(self, number: int) -> Iterator[None]:
        """A program logs its loss after each step, and so ends when its device does."""
        began = self.now
        with self.inside("user_annotation", f"ProfilerStep#{number}"):
            yield
            self.item()
        self.lengths.append(self.now - began)

    def step_ns(self) -> float:
        """Mean."""
        return sum(self.lengths) / len(self.lengths)

    def write(self, path: Path, rank: int | None = None) -> None:
        document: dict[str, Any] = {
            "schemaVersion": 1,
            "deviceProperties": [DEVICE],
            "with_stack": 0,
            "record_shapes": 1,
            "baseTimeNanoseconds": BASE_NS,
            "traceEvents": sorted(self.events, key=lambda event: event["ts"]),
        }
        if rank is not None:
            document["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": WORLD}
        path.write_bytes(gzip.compress(json.dumps(document).encode(), 6, mtime=0))
