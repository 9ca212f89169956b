"""Traces whose critical path is known, for it is how they are built: piece by piece, each begun by the end of the one before.

    path_trace.py FILE --seed 3

A step is a course of pieces that leave the host and the device idle together: an operator of the host, loading of data, or a
burst of kernels that the host launches and waits for. In a burst work may run beside, with a slack that is known as well.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LATENCY = 4_000  # from a launching call to its kernel, ns
GAP = 1_000  # from kernel to kernel
CALL = 2_000  # a launching call
NEXT_CALL = 3_000  # from one to the next
KERNELS = ["gemm_a", "gemm_b", "relu_kernel", "softmax_kernel"]
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def kind_of(name: str) -> str:
    if name == REDUCE:
        return "communication"
    return "matrix" if name.startswith("gemm") else "other_compute"


@dataclass
class PathTrace:
    seed: int
    steps: int
    events: list[dict[str, Any]] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)  # ns of the path
    names: Counter[str] = field(default_factory=Counter)  # ns of the path, of work and host events
    slacks: dict[str, list[int]] = field(default_factory=dict)  # of each kernel by its name
    now: int = 5_000_000
    correlation: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        for step in range(self.steps):
            start = self.now
            for _ in range(self.rng.randint(2, 7)):
                self.rng.choice([self.operator, self.load, self.burst, self.burst, self.joined])()
            self.burst()
            self.idle()
            self.add("user_annotation", f"ProfilerStep#{step}", start, self.now)

    def add(self, category: str, name: str, start: int, end: int, **args: Any) -> None:
        where = {"pid": 1, "tid": 1}
        if "stream" in args:
            where = {"pid": 0, "tid": args["stream"]}
            args["device"] = 0
        event = {"ph": "X", "cat": category, "name": name, **where, "args": args}
        event |= {"ts": start / 1000, "dur": (end - start) / 1000}
        self.events.append(event)

    def book(self, kind: str, name: str, ns: int) -> None:
        self.kinds[kind] += ns
        if name:
            self.names[name] += ns

    def length(self, least: int, most: int) -> int:
        return self.rng.randint(least, most) * 1000 + self.rng.randrange(4) * 250

    def operator(self) -> None:
        length, name = self.length(5, 200), f"aten::host_{self.rng.randrange(3)}"
        self.add("cpu_op", name, self.now, self.now + length)
        self.book("operator", name, length)
        self.now += length

    def load(self) -> None:
        length = self.length(20, 300)
        self.add("user_annotation", LOADER, self.now, self.now + length)
        self.add("cpu_op", "aten::stack", self.now + 1000, self.now + length - 1000)
        self.book("data", LOADER, length)
        self.now += length

    def idle(self) -> None:
        length = self.length(1, 30)
        self.book("nothing", "", length)
        self.now += length

    def launch(self, at: int) -> int:
        self.correlation += 1
        self.add("cuda_runtime", "cudaLaunchKernel", at, at + CALL, correlation=self.correlation)
        return self.correlation

    def kernel(self, name: str, stream: int, times: tuple[int, int], correlation: int) -> None:
        self.add("kernel", name, *times, stream=stream, correlation=correlation)

    def on_path(self, name: str, start: int, end: int) -> None:
        self.book(kind_of(name), name, end - start)
        self.slacks.setdefault(name, []).append(0)

    def wait_until(self, device_end: int, call_from: int) -> None:
        """A synchronising call, which returns a while after the device is done."""
        rest = self.length(2, 12)
        self.add("cuda_runtime", "cudaStreamSynchronize", call_from, device_end + rest)
        self.book("sync", "cudaStreamSynchronize", rest)
        self.now = device_end + rest

    def burst(self) -> None:
        """Kernels one after the other, and perhaps one beside them on another stream."""
        count, at = self.rng.randint(1, 6), self.now
        start = at + LATENCY
        self.book("launch_latency", "", LATENCY)
        for place in range(count):
            name, end = self.rng.choice(KERNELS), start + self.length(60, 400)
            self.kernel(name, 7, (start, end), self.launch(at + place * NEXT_CALL))
            self.on_path(name, start, end)
            if place + 1 < count:
                self.book("device_gap", "", GAP)
                start = end + GAP
        call = at + count * NEXT_CALL
        if self.rng.random() < 0.5:
            side = (call + LATENCY, call + LATENCY + self.length(1, 20))
            self.kernel("side_kernel", 20, side, self.launch(call))
            self.slacks.setdefault("side_kernel", []).append(end - side[1])
            call += NEXT_CALL
        self.wait_until(end, call)

    def joined(self) -> None:
        """A kernel, an all-reduce of its result beside another kernel, and one that needs both."""
        at, first = self.now, self.now + LATENCY
        first_end = first + self.length(60, 300)
        reduce = (first_end + GAP, first_end + GAP + self.length(150, 400))
        beside = (first_end + GAP, first_end + GAP + self.length(60, 120))
        last = (reduce[1] + GAP, reduce[1] + GAP + self.length(60, 200))
        self.book("launch_latency", "", LATENCY)
        self.kernel("gemm_a", 7, (first, first_end), self.launch(at))
        self.kernel(REDUCE, 24, reduce, self.launch(at + NEXT_CALL))
        self.kernel("beside_kernel", 7, beside, self.launch(at + 2 * NEXT_CALL))
        self.kernel("gemm_b", 7, last, self.launch(at + 3 * NEXT_CALL))
        self.on_path("gemm_a", first, first_end)
        self.on_path(REDUCE, *reduce)
        self.on_path("gemm_b", *last)
        self.book("device_gap", "", 2 * GAP)
        self.slacks.setdefault("beside_kernel", []).append(reduce[1] - beside[1])
        self.wait_until(last[1], at + 4 * NEXT_CALL)

    def write(self, path: Path) -> None:
        self.rng.shuffle(self.events)
        path.write_text(json.dumps({"traceEvents": self.events}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=4)
    arguments = parser.parse_args()
    PathTrace(arguments.seed, arguments.steps).write(arguments.file)


if __name__ == "__main__":
    main()
