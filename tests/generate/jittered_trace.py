#!/usr/bin/env python3
"""Makes traces of one program whose steps differ by chance, as those of a real run do: for comparing runs.

    jittered_trace.py --seed 7 --steps 10 --output run.json [--change gemm_2=1.1] [--change data=0.5]

Two seeds are two recordings of the same program; --change makes one part of it slower or faster. Kernels vary by themselves
and with their step, the loader varies more, and some steps are odd ones out, as --noise says.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BASE_TIME_NS = 1_711_964_646_000_000_000
PID, THREAD, DEVICE, STREAM = 100, 100, 0, 7
LAUNCH_NS, OPERATOR_NS, BETWEEN_NS = 8_000, 30_000, 12_000

# operator, input shapes, kernel, nanoseconds
WORK = [
    ("aten::mm", "[[4096, 1024], [1024, 4096]]", "gemm_1", 900_000),
    ("aten::gelu", "[[4096, 4096], []]", "vectorized_elementwise_gelu", 150_000),
    ("aten::mm", "[[4096, 4096], [4096, 1024]]", "gemm_2", 950_000),
    ("aten::native_layer_norm", "[[4096, 1024], [], [], [], []]", "layer_norm_kernel", 80_000),
    ("aten::_softmax", "[[4096, 1024], [], []]", "softmax_warp_forward", 60_000),
    ("aten::mm", "[[1024, 4096], [4096, 4096]]", "gemm_3", 1_100_000),
    ("aten::sum", "[[4096, 1024], [], []]", "reduce_kernel", 40_000),
    ("aten::_foreach_add_", "[[], [], []]", "multi_tensor_apply_kernel", 300_000),
]
LOADER_NS = 700_000


@dataclass
class Noise:
    kernel: float = 0.01  # of each kernel, by itself
    step: float = 0.01  # of all work of a step
    loader: float = 0.2
    odd_steps: float = 0.0  # how many are half as long again


@dataclass
class Clock:
    rng: random.Random
    noise: Noise
    changes: dict[str, float]
    factor: float = 1.0
    events: list[dict[str, Any]] = field(default_factory=list)
    host_ns: int = 1_000_000
    device_ns: int = 0
    correlation: int = 0

    def about(self, name: str, ns: int, spread: float) -> int:
        """The time that a part of the program takes this time."""
        chance = max(0.1, 1 + spread * self.rng.gauss(0, 1))
        return max(1000, int(ns * self.changes.get(name, 1.0) * chance * self.factor))

    def add(self, category: str, name: str, start_ns: int, end_ns: int, **args: Any) -> None:
        on_device = category == "kernel"
        self.events.append(
            {
                "ph": "X",
                "cat": category,
                "name": name,
                "pid": DEVICE if on_device else PID,
                "tid": STREAM if on_device else THREAD,
                "ts": start_ns / 1000,
                "dur": (end_ns - start_ns) / 1000,
                "args": args,
            }
        )


def lay_operator(clock: Clock, operator: str, shapes: str, kernel: str, ns: int) -> None:
    start = clock.host_ns
    call = start + OPERATOR_NS - LAUNCH_NS - 2000
    clock.correlation += 1
    inputs = json.loads(shapes)
    types = ["c10::BFloat16" if shape else "Scalar" for shape in inputs]
    arguments = {"Input Dims": inputs, "Input type": types}
    clock.add("cpu_op", operator, start, start + OPERATOR_NS, **arguments)
    clock.add(
        "cuda_runtime",
        "cudaLaunchKernel",
        call,
        call + LAUNCH_NS,
        correlation=clock.correlation,
    )
    begin = max(clock.device_ns, call + LAUNCH_NS + 2000)
    clock.device_ns = begin + clock.about(kernel, ns, clock.noise.kernel)
    clock.add(
        "kernel",
        kernel,
        begin,
        clock.device_ns,
        correlation=clock.correlation,
        device=DEVICE,
        stream=STREAM,
    )
    clock.host_ns = start + OPERATOR_NS + BETWEEN_NS


def lay_step(clock: Clock, number: int) -> None:
    start = clock.host_ns
    clock.factor = 1 + clock.noise.step * clock.rng.gauss(0, 1)
    if clock.rng.random() < clock.noise.odd_steps:
        clock.factor *= 1.5
    loaded = start + 5000 + clock.about("data", LOADER_NS, clock.noise.loader)
    clock.add("user_annotation", "enumerate(DataLoader)#_Iter.__next__", start + 5000, loaded)
    clock.host_ns = loaded + BETWEEN_NS
    for operator, shapes, kernel, ns in WORK:
        if clock.changes.get(kernel, 1.0) > 0:
            lay_operator(clock, operator, shapes, kernel, ns)
    end = max(clock.host_ns, clock.device_ns) + 20_000
    clock.add("cuda_runtime", "cudaDeviceSynchronize", clock.host_ns, end - 10_000)
    clock.add("user_annotation", f"ProfilerStep#{number}", start, end)
    clock.host_ns = end + 1000


def jittered_trace(
    seed: int | str, steps: int, noise: Noise | None = None, changes: dict[str, float] | None = None
) -> dict[str, Any]:
    clock = Clock(random.Random(f"jitter {seed}"), noise or Noise(), changes or {})
    for number in range(1, steps + 1):
        lay_step(clock, number)
    device = {"id": DEVICE, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 42_000_000_000}
    return {
        "schemaVersion": 1,
        "record_shapes": 1,
        "baseTimeNanoseconds": BASE_TIME_NS,
        "deviceProperties": [device | {"computeMajor": 8, "computeMinor": 0, "numSms": 108}],
        "traceEvents": clock.events,
    }


def write_jittered_trace(path: Path, *arguments: Any, **options: Any) -> None:
    path.write_text(json.dumps(jittered_trace(*arguments, **options)))


def change_of(text: str) -> tuple[str, float]:
    name, _, factor = text.partition("=")
    return name, float(factor)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="1", help="the same seed makes the same trace")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--odd-steps", type=float, default=0.0, help="share of odd steps: 0.1")
    parser.add_argument(
        "--change",
        type=change_of,
        action="append",
        default=[],
        metavar="PART=FACTOR",
        help="a kernel of the program, or data: so many times as long; 0 leaves it out",
    )
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    noise = Noise(odd_steps=arguments.odd_steps)
    write_jittered_trace(
        arguments.output, arguments.seed, arguments.steps, noise, dict(arguments.change)
    )


if __name__ == "__main__":
    main()
