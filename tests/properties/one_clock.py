"""Ranks of one run of which some queue their steps ahead of the device: all of them have their steps by one clock.

Alone, a rank that synchronizes each step has the host's marks, and one that runs ahead the device's windows. Together they have
the device's, unless some rank has a step that launches nothing: then the host's, for all.
"""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

BASE_TIME_NS = 1_760_000_000_000_000_000
KERNEL_US, LAUNCH_US, AHEAD_US = 300, 10, 20_000

Event = dict[str, Any]


def launch_of(at: int, start: int, number: int, collective: Event) -> list[Event]:
    host = {"ph": "X", "pid": 100, "tid": 100}
    args = {"correlation": number, "stream": 7, "device": 0, **collective}
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL" if collective else "ampere_sgemm_128x64_nn"
    launch = {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at, "dur": 4}
    kernel = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "dur": KERNEL_US}
    return [{**launch, "args": {"correlation": number}}, {**kernel, "ts": start, "args": args}]


def events_of(ranks: int, is_ahead: bool, kernels: list[int]) -> list[Event]:
    """`kernels` of each step, the last of a step an all-reduce."""
    events: list[Event] = []
    now, free = 1_000_000, 1_000_100 + (AHEAD_US if is_ahead else 0)
    for step, count in enumerate(kernels):
        began = now
        for k in range(count):
            meeting = {
                "Collective name": "allreduce",
                "In msg nelems": 1_000_000,
                "Out msg nelems": 1_000_000,
                "dtype": "Float",
                "Group size": ranks,
                "Process Group Name": "0",
                "Process Group Ranks": str(list(range(ranks))),
                "Seq": step,
            }
            start = max(free, now + LAUNCH_US)
            number = 1 + step * 100 + k
            events += launch_of(now, start, number, meeting if k + 1 == count else {})
            now, free = now + LAUNCH_US, start + KERNEL_US
        mark = {"ph": "X", "cat": "user_annotation", "pid": 100, "tid": 100, "ts": began}
        if not is_ahead:
            wait = {**mark, "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "ts": now}
            events.append(
                {**wait, "dur": max(1, free - now), "args": {"correlation": 10_000 + step}}
            )
            now = max(now, free) + 10
        events.append({**mark, "name": f"ProfilerStep#{step}", "dur": now - began})
    return events


def write(path: Path, rank: int, ranks: int, events: list[Event]) -> None:
    trace = {
        "schemaVersion": 1,
        "baseTimeNanoseconds": BASE_TIME_NS,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
        "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}],
        "traceEvents": events,
    }
    path.write_text(json.dumps(trace))


def clock_in(section: Any) -> str | None:
    number = section["numbers"].get("clock")
    return str(number["value"]) if number else None


def check_one_clock(program: Path, seed: int) -> None:
    rng = random.Random(seed)
    ranks = rng.randint(2, 4)
    steps, per_step = rng.randint(3, 6), rng.randint(4, 9)
    ahead = [rng.random() < 0.5 for _ in range(ranks)]
    has_idle_step = not all(ahead) and rng.random() < 0.3
    with tempfile.TemporaryDirectory(prefix="flopledger-ranks-") as name:
        for rank in range(ranks):
            kernels = [per_step] * steps
            if has_idle_step and rank == ahead.index(False):
                kernels[1] = 0
            events = events_of(ranks, ahead[rank], kernels)
            write(Path(name) / f"rank{rank}.json", rank, ranks, events)
        words = [program, "report", "--json", name]
        report = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    expected = None if not any(ahead) else "host" if has_idle_step else "device"
    if clock_in(report["overview"]) != expected:
        raise AssertionError(
            f"{ahead}, {has_idle_step}: {clock_in(report['overview'])}, not {expected}"
        )
    for rank in report["ranks"]:
        own = clock_in(rank["sections"]["step_ledger"])
        if expected and own is not None and own != expected or expected == "device" and own is None:
            raise AssertionError(f"{rank['label']} of {ahead}: {own}, not {expected}")
