#!/usr/bin/env python3
"""Eight ranks of a real run: waiting, transfer and the late rank, as another tool's right answers have them.

    check_ranks.py PROGRAM

Needs the folder of other people's traces: FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from shared_traces import SHARED, Outcome, program_of, report_of, skip_without

PIPELINE = SHARED / "traces" / "primus_pp"
DLRM = SHARED / "traces" / "param" / "dlrm_kineto"


def shortest_kernels(folder: Path) -> tuple[int, int, list[int]]:
    """By Python's own reading: the sum of all NCCL kernels, of the shortest of each collective, and who had it; in us."""
    kernels = []
    for path in sorted(
        folder.iterdir(), key=lambda path: int(re.findall(r"worker(\d+)", path.name)[0])
    ):
        events = json.loads(path.read_text())["traceEvents"]
        found = [e for e in events if e.get("cat") == "kernel" and "nccl" in e["name"].lower()]
        kernels.append([e["dur"] for e in sorted(found, key=lambda e: e["ts"])])
    by_collective = list(zip(*kernels))
    late = [durations.index(min(durations)) for durations in by_collective]
    return sum(map(sum, kernels)), sum(map(min, by_collective)), late


def check_dlrm(program: Path) -> Outcome:
    outcome = Outcome("dlrm, 8 ranks")
    total, shortest, late = shortest_kernels(DLRM)
    report, message = report_of(program, DLRM, [])
    outcome.check(report is not None, message)
    if report is None:
        return outcome
    overview = report["overview"]
    numbers = {key: entry["value"] for key, entry in overview["numbers"].items()}
    outcome.check(shortest == 217, "the shortest kernels sum to 0.217 ms a rank")
    outcome.check(numbers["communication"] == total * 1000, "kernel time of all ranks")
    outcome.check(numbers["communication_transfer"] == 8 * shortest * 1000, "transfer")
    outcome.check(
        numbers["communication_waiting"] == (total - 8 * shortest) * 1000, "waiting of all ranks"
    )
    outcome.check(round(numbers["communication_waiting"] / 1e6, 1) == 46.8, "46.8 rank-ms wait")
    outcome.check(round(numbers["communication"] / 1e6, 1) == 48.5, "of 48.5")
    for row in overview["tables"]["ranks"]["rows"]:
        rank = int(row["rank"].split()[1])
        outcome.check(row["came_last"] == late.count(rank), f"how often rank {rank} came last")
        is_named = row["remark"] == "others wait for it"
        outcome.check(is_named == (rank == 7), f"rank {rank} is the straggler, or not")
    note = overview["numbers"]["end_skew_recorded"]["note"]
    outcome.check("1 µs to 7 µs" in note, f"end skew is 1 to 7 us: {note}")
    return outcome


def check_pipeline(program: Path) -> Outcome:
    """Eight stages, 16 micro-batches, two chunks on a rank: idle time beside what the schedule itself costs."""
    outcome = Outcome("pipeline, 8 stages")
    if not PIPELINE.is_dir():
        outcome.skipped += 1
        return outcome
    computes, longest = [], 0.0
    for path in sorted(PIPELINE.iterdir()):
        iterations = [i for key, i in json.loads(path.read_text()).items() if int(key) >= 3]
        pairs = [(i["fwd_start"], i["fwd_end"]) for i in iterations]
        pairs += [(i["bwd_start"], i["bwd_end"]) for i in iterations]
        compute = sum(end - start for starts, ends in pairs for start, end in zip(starts, ends))
        computes.append(compute / len(iterations))
        longest = max(longest, sum(i["total"] for i in iterations) / len(iterations))
    report, message = report_of(program, PIPELINE, ["--layout", "pp=8,m=16,v=2", "--steps", "3-"])
    outcome.check(report is not None, message)
    if report is None:
        return outcome
    numbers = report["overview"]["numbers"]
    bubble = 1 - sum(computes) / len(computes) / longest
    outcome.check(abs(numbers["bubble"]["value"] - bubble) < 1e-4, f"bubble of {bubble}")
    outcome.check(numbers["bubble_ideal"]["value"] == 7 / 39, "(p - 1) / (m v + p - 1)")
    return outcome


def main() -> None:
    program = program_of(sys.argv)
    skip_without(DLRM)
    outcome = Outcome("all")
    outcome.add(check_dlrm(program))
    outcome.add(check_pipeline(program))
    outcome.finish()


if __name__ == "__main__":
    main()
