#!/usr/bin/env python3
"""Recordings of rocprofv3: kernels by name and the time they keep the device busy, beside an independent count.

    check_rocprof.py PROGRAM

Reads each file of the folder of other people's files (traces/rocprof) with Python's json. Needs that folder:
FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from shared_traces import SHARED, Outcome, program_of, report_of, skip_without

FOLDER = SHARED / "traces" / "rocprof"


def busy_ns(spans: list[tuple[int, int]]) -> int:
    """The time in which at least one of them runs."""
    busy, reached = 0, 0
    for start, end in sorted(spans):
        busy += max(0, end - max(start, reached))
        reached = max(reached, end)
    return busy


def counted_in(process: dict[str, Any]) -> tuple[Counter[str], Counter[str], int]:
    """Kernels by name, their time by name, and the busy time."""
    names = {s["kernel_id"]: s["formatted_kernel_name"] for s in process["kernel_symbols"]}
    calls: Counter[str] = Counter()
    time: Counter[str] = Counter()
    spans = []
    for record in process["buffer_records"]["kernel_dispatch"]:
        name = names[record["dispatch_info"]["kernel_id"]]
        span = (record["start_timestamp"], record["end_timestamp"])
        calls[name] += 1
        time[name] += span[1] - span[0]
        spans.append(span)
    spans += [
        (r["start_timestamp"], r["end_timestamp"]) for r in process["buffer_records"]["memory_copy"]
    ]
    return calls, time, busy_ns(spans)


def agent_of(process: dict[str, Any]) -> dict[str, Any]:
    used = process["buffer_records"]["kernel_dispatch"][0]["dispatch_info"]["agent_id"]["handle"]
    return next(agent for agent in process["agents"] if agent["id"]["handle"] == used)


def check_file(program: Path, path: Path) -> Outcome:
    outcome = Outcome(path.name)
    opened = gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")
    with opened as file:
        processes = json.load(file)["rocprofiler-sdk-tool"]
    report, message = report_of(program, path, ["--top", "0"])
    if report is None:
        outcome.check(False, message)
        return outcome
    outcome.check(len(report["ranks"]) == len(processes), f"{len(report['ranks'])} ranks")
    for process, rank in zip(processes, report["ranks"]):
        sections = rank["sections"]
        calls, time, busy = counted_in(process)
        rows = sections["kernels"]["tables"]["by_name"]["rows"]
        ours = {row["kernel"]: (row["count"], row["total"]) for row in rows}
        wanted = {name: (calls[name], time[name]) for name in calls}
        unlike = [
            name for name in wanted.keys() | ours.keys() if ours.get(name) != wanted.get(name)
        ]
        outcome.check(
            not unlike, f"kernels: {[(n, ours.get(n), wanted.get(n)) for n in unlike[:3]]}"
        )
        steps = sections["step_ledger"]["tables"]["steps"]["rows"]
        outcome.check(
            sum(step["busy"] for step in steps) == busy,
            f"busy {[step['busy'] for step in steps]} ns, {busy} ns were counted",
        )
        devices = [row for row in sections["run"]["tables"]["devices"]["rows"] if row["events"]]
        agent = agent_of(process)
        outcome.check(
            [(row["name"], row["multiprocessors"]) for row in devices]
            == [(agent["product_name"], agent["cu_count"])],
            f"devices: {devices}",
        )
        outcome.note(f"{sum(calls.values())} kernels of {len(calls)} names, busy {busy} ns")
    return outcome


def main() -> None:
    program = program_of(sys.argv)
    skip_without(FOLDER)
    total = Outcome("all")
    for path in sorted(FOLDER.glob("*.json*")):
        total.add(check_file(program, path))
    total.finish()


if __name__ == "__main__":
    main()
