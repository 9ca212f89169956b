#!/usr/bin/env python3
"""Makes the folder of a recorded run whose every nanosecond is known: step records of some attempts, and windows beside them.

    make_capture.py --seed 7 --output captures/made

writes captures/made/steps/rank0*.steps, captures/made/traces/..., and captures/made/truth.json: what the kept steps hold.

All steps do the same; they differ by what is said of them: how long they waited for data, whether they were slow, and how much
longer a recorded one took.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import sys
import zlib
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

from flopledger import step_record  # noqa: E402
from flopledger.step_record import HEADER, HEADER_BYTES, MAGIC  # noqa: E402
from step_record_file import ENTRY, StepRecordFile  # noqa: E402

S = 1_000_000_000
NOON = 1_795_000_000 * S
LATENCY = 5_000
PEAK = 100 * 10**12  # FLOP/s, bf16: to be given as --peak 100
WINDOW = (4, 6)
DATA = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


@dataclass
class Shape:
    """What every step holds, without waiting for data: ns by account."""

    size: int  # of the square product
    host: int
    matrix: int
    communication: int
    other: int
    tokens: int

    @property
    def rest(self) -> int:
        return self.host + LATENCY + self.matrix + self.communication + self.other

    @property
    def uneven(self) -> int:
        """Rank n communicates n times as much less, and computes as much more."""
        return min(self.communication, self.other) // 10

    @property
    def model(self) -> Fraction:
        return Fraction(2 * self.size**3 * S, PEAK)


@dataclass
class Step:
    number: int  # of the job
    data: int  # the device waits
    hidden: int  # the program waits longer than the device, by this
    dilation: int = 0  # of it LATENCY and the host's part have each as much as they have without
    excess: int = 0  # of a slow one
    is_traced: bool = False
    is_skipped: bool = False

    def length(self, shape: Shape) -> int:
        return self.data + shape.rest + self.dilation + self.excess


@dataclass
class Attempt:
    resumed: int
    steps: list[Step]
    has_windows: bool
    start: int = 0  # of the process, ns of the monotonic clock
    begins: list[int] = field(default_factory=list)  # of each step


@dataclass
class Capture:
    shape: Shape
    attempts: list[Attempt]
    ranks: int
    knows_data: bool

    def kept(self) -> list[tuple[Attempt, Step]]:
        """Fate decides: what no later attempt makes again, and what changed the weights."""
        found = []
        until = math.inf
        for attempt in reversed(self.attempts):
            found += [(attempt, s) for s in attempt.steps if s.number <= until and not s.is_skipped]
            until = min(until, attempt.resumed)
        return found

    def truth(self) -> dict[str, Any]:
        kept = self.kept()
        shape = self.shape
        has_windows = any(attempt.has_windows for attempt in self.attempts)
        total = sum(step.length(shape) for _, step in kept)
        if not has_windows:
            return {"kept_steps": total, "steps": len(kept), "not_known": total}
        uneven = Fraction(len(kept) * shape.uneven * (self.ranks - 1), 2)
        return {
            "kept_steps": total,
            "steps": len(kept),
            "traced": sum(step.is_traced for _, step in kept),
            "profiler_dilation": sum(step.dilation for _, step in kept),
            "slow_steps": sum(step.excess for _, step in kept),
            "idle_data": sum(step.data for _, step in kept),
            "idle_nothing": len(kept) * shape.host,
            "idle_launch_latency": len(kept) * LATENCY,
            "matrix": len(kept) * shape.matrix,
            "exposed_communication": str(len(kept) * shape.communication - uneven),
            "other_compute": str(len(kept) * shape.other + uneven),
            "model": str(len(kept) * shape.model),
        }


def make_capture(seed: int | str) -> Capture:
    rng = random.Random(f"capture {seed}")
    size = 64 * rng.randint(4, 16)
    model = 2 * size**3 * S // PEAK
    shape = Shape(
        size,
        host=rng.randint(20_000, 3_000_000),
        matrix=int(model * rng.uniform(1.3, 4)) + rng.randint(10_000, 900_000),
        communication=rng.randint(10_000, 500_000),
        other=rng.randint(10_000, 2_000_000),
        tokens=rng.randint(1, 4096),
    )
    capture = Capture(shape, [], rng.choice((1, 1, 2, 3)), rng.random() < 0.8)
    fixed_data = rng.randint(0, 400_000)
    hidden = rng.randint(0, 300_000) if capture.knows_data else 0
    reached = 0
    windows = [rng.random() < 0.7 for _ in range(rng.choice((1, 1, 2, 3)))]
    for has_windows in windows:
        resumed = rng.randint(max(0, reached - 8), reached)
        attempt = Attempt(resumed, [], has_windows)
        count = rng.randint(30, 60)
        slow = set(rng.sample(range(12, count), rng.randint(0, 3)))
        for own in range(1, count + 1):
            data = rng.randint(0, 600_000) if capture.knows_data else fixed_data
            step = Step(resumed + own, data, hidden, is_skipped=own in (9, 11))
            if has_windows and WINDOW[0] <= own <= WINDOW[1]:
                step.is_traced = True
                step.dilation = rng.choice((0, 1, 2)) * (shape.host + LATENCY)
            elif own in slow or own == 1:
                step.excess = shape.rest * rng.randint(6, 90) // 10 + 1
                if not capture.knows_data:
                    step.excess += data
            attempt.steps.append(step)
        reached = resumed + count
        capture.attempts.append(attempt)
    return capture


# ---------------------------------------------------------------------------------------------------------------------------


def header(capture: Capture, attempt: Attempt, number: int) -> bytes:
    texts = [step_record.text(text, 64) for text in ("boot", "node", "", "0.1.0", "2", "3")]
    opened = attempt.start + S
    fields = (0, capture.ranks, 0, 1, NOON + opened, opened, attempt.start, *texts)
    packed = HEADER.pack(MAGIC, 1, HEADER_BYTES, ENTRY.size, 0, 7 + number, *fields)
    return packed[:20] + zlib.crc32(packed).to_bytes(4, "little") + packed[24:]


def write_record(capture: Capture, attempt: Attempt, path: Path, number: int) -> None:
    writer = StepRecordFile()
    writer.open(str(path), header(capture, attempt, number))
    for own, (step, start) in enumerate(zip(attempt.steps, attempt.begins), 1):
        flags = step_record.PROFILED * step.is_traced | step_record.SKIPPED * step.is_skipped
        end = start + step.length(capture.shape)
        wait = step.data + step.hidden if capture.knows_data else -1
        split = (wait, -1, -1, -1, capture.shape.tokens, -1, -1, -1)
        writer.append(step_record.STEP, flags, own, start, end, *split, math.nan)
        if own == 1:
            nothing = [-1] * 7
            writer.append(
                step_record.RESUMED, 0, 1, start, start, *nothing, attempt.resumed, math.nan
            )
    writer.close()


def laid_step(shape: Shape, step: Step, own: int, start: int, rank: int) -> list[dict[str, Any]]:
    """The device waits for data, then for the host, and then works without a gap up to the step's end."""
    events: list[dict[str, Any]] = []
    correlation = 100 * own

    def add(category: str, name: str, begin: int, length: int, **args: Any) -> None:
        device = category == "kernel"
        where = {"pid": 0, "tid": 7} if device else {"pid": 4711, "tid": 4711}
        times = {"ts": begin / 1000, "dur": length / 1000}
        events.append({"ph": "X", "cat": category, "name": name, **where, **times, "args": args})

    def kernel(name: str, launch: int, begin: int, length: int) -> int:
        nonlocal correlation
        correlation += 1
        add("cuda_runtime", "cudaLaunchKernel", launch, 500, correlation=correlation)
        add("kernel", name, begin, length, correlation=correlation, device=0, stream=7)
        return begin + length

    add("user_annotation", f"ProfilerStep#{own}", start, step.length(shape))
    if step.data > 0:
        add("user_annotation", DATA, start, step.data)
    longer = 1 + step.dilation // (shape.host + LATENCY)
    launch = start + step.data + longer * shape.host
    dims = [[shape.size, shape.size]] * 2
    types = ["c10::BFloat16"] * 2
    add("cpu_op", "aten::mm", launch, 1000, **{"Input Dims": dims, "Input type": types})
    at = kernel("nvjet_hsh_128x128", launch, launch + longer * LATENCY, shape.matrix)
    uneven = rank * shape.uneven
    at = kernel("ncclDevKernel_AllReduce", launch + 1500, at, shape.communication - uneven)
    kernel("vectorized_elementwise_kernel", launch + 2500, at, shape.other + uneven)
    return events


def write_window(capture: Capture, attempt: Attempt, folder: Path, rank: int) -> None:
    events = []
    for own, (step, start) in enumerate(zip(attempt.steps, attempt.begins), 1):
        if step.is_traced:
            events += laid_step(capture.shape, step, own, start, rank)
    trace = {
        "schemaVersion": 1,
        "distributedInfo": {"rank": rank, "world_size": capture.ranks},
        "deviceProperties": [{"id": 0, "name": "a device of our own"}],
        "baseTimeNanoseconds": NOON,
        "traceEvents": events,
    }
    folder.mkdir(parents=True)
    path = folder / f"steps{WINDOW[0]}-{WINDOW[1]}.pt.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps(trace).encode(), 1, mtime=0))


def write_capture(capture: Capture, folder: Path) -> None:
    (folder / "steps").mkdir(parents=True)
    now = 100 * S
    for number, attempt in enumerate(capture.attempts, 1):
        attempt.start = now
        now += 5 * S
        for step in attempt.steps:
            attempt.begins.append(now)
            now += step.length(capture.shape)
        now += 20 * S
        ending = "" if number == 1 else f"_{number}"
        write_record(capture, attempt, folder / "steps" / f"rank0{ending}.steps", number)
        for rank in range(capture.ranks if attempt.has_windows else 0):
            name = f"rank{rank}_dp{rank}_tp0_pp0{ending}"
            write_window(capture, attempt, folder / "traces" / name, rank)
    (folder / "truth.json").write_text(json.dumps(capture.truth(), indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="1", help="the same seed makes the same capture")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    write_capture(make_capture(arguments.seed), arguments.output)


if __name__ == "__main__":
    main()
