#!/usr/bin/env python3
"""Real files of Nsight Systems: each report of nsys-stats cell by cell, and the ledger beside numbers counted elsewhere.

    check_nsys.py PROGRAM [NAME...]

What `nsys stats` said of each file lies in the folder of other people's files (nsys/oracle/FILE.REPORT.csv); an empty one
means that it had nothing to say. Needs that folder: FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from shared_traces import SHARED, Outcome, program_of, report_of, skip_without

FOLDER = SHARED / "nsys"
REPORTS = """cuda_gpu_kern_sum cuda_api_sum cuda_gpu_mem_time_sum cuda_gpu_mem_size_sum cuda_gpu_trace cuda_api_trace
    cuda_kern_exec_sum nvtx_sum nvtx_pushpop_sum nvtx_gpu_proj_sum nvtx_kern_sum osrt_sum""".split()
DIFFERENCES_SHOWN = 3
NO_DATA = 4

# Counted from the files with SQL: kernels busy on each device as a share of its window, exposed NCCL in ms.
BEFORE = "nsys-ai_mfu_2gpu_before"
BEFORE_BUSY = (0.903, 0.885)
BEFORE_EXPOSED_MS = (17.2, 8.2)
BEFORE_SYNC_MS = 324.5
COPYING = "nsys-ai_h100_2gpu_1s"
COPYING_BUSY = 0.023
COPYING_PINNED = (0.94, 0.96)


def run_stats(program: Path, file: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(program), "nsys-stats", *words[:-1], file.name, *words[-1:]]
    return subprocess.run(command, cwd=file.parent, capture_output=True, text=True, check=False)


def rows_of(text: str) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(text)) if row]


def check_stats(program: Path, file: Path) -> Outcome:
    outcome = Outcome(f"nsys-stats {file.name}")
    for report in REPORTS:
        oracle = FOLDER / "oracle" / f"{file.stem}.{report}.csv"
        if not oracle.exists():
            continue
        done = run_stats(program, file, "--format", "csv", report)
        wanted = rows_of(oracle.read_text())
        if not wanted:
            outcome.check(done.returncode == NO_DATA, f"{report}: nsys has nothing: {done.stderr}")
            continue
        rows = rows_of(done.stdout)
        outcome.check(len(rows) == len(wanted), f"{report}: {len(rows)} rows, not {len(wanted)}")
        unlike = [(i, a, b) for i, (a, b) in enumerate(zip(rows, wanted)) if a != b]
        outcome.check(not unlike, f"{report}: {len(unlike)} rows differ")
        for i, ours, theirs in unlike[:DIFFERENCES_SHOWN]:
            outcome.note(f"row {i}: {[pair for pair in zip(ours, theirs) if pair[0] != pair[1]]}")
    return outcome


def ledger_of(rank: dict[str, Any]) -> dict[str, int]:
    rows = rank["sections"]["step_ledger"]["tables"]["ledger"]["rows"]
    return {row["key"]: row["mean"] for row in rows}


def kernels_busy(ledger: dict[str, int]) -> float:
    return (ledger["compute"] + ledger.get("exposed_communication", 0)) / ledger["step"]


def is_near(value: float, wanted: float, tolerance: float) -> bool:
    return abs(value - wanted) <= tolerance


def check_launches(outcome: Outcome, file: Path, report: dict[str, Any]) -> None:
    """Every kernel whose call is in the file is joined with it: by process and correlation id."""
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as database:
        lost = database.execute(
            """SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k
            WHERE correlationId >= (SELECT min(correlationId) FROM CUPTI_ACTIVITY_KIND_RUNTIME
                                    WHERE globalTid >> 24 = k.globalPid >> 24)
            AND NOT EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r
                            WHERE r.correlationId = k.correlationId
                            AND r.globalTid >> 24 = k.globalPid >> 24)"""
        ).fetchone()[0]
    told = [f["what"] for rank in report["ranks"] for f in rank["sections"]["run"]["findings"]]
    outcome.check(lost == 0, f"{lost} kernels have no call in the file")
    outcome.check(
        not any("without the call that launched them" in what for what in told),
        f"kernels are told to be unmatched: {told}",
    )


def check_before(program: Path) -> Outcome:
    file = FOLDER / f"{BEFORE}.sqlite"
    outcome = Outcome(file.name)
    report, message = report_of(program, file, [])
    if not report or len(report["ranks"]) != 2:
        outcome.check(False, f"no report of two ranks: {message}")
        return outcome
    for rank, busy, exposed_ms in zip(report["ranks"], BEFORE_BUSY, BEFORE_EXPOSED_MS):
        ledger = ledger_of(rank)
        share = kernels_busy(ledger)
        exposed = ledger["exposed_communication"] / 1e6
        outcome.check(is_near(share, busy, 0.0005), f"kernels busy {share:.4f}, not {busy}")
        outcome.check(
            is_near(exposed, exposed_ms, 0.05), f"exposed {exposed:.3f} ms, not {exposed_ms}"
        )
    rows = rows_of(run_stats(program, file, "-f", "csv", "cuda_gpu_kern_sum").stdout)[1:]
    outcome.check(sum(int(row[2]) for row in rows) == 4010, "4,010 kernels")
    rows = rows_of(run_stats(program, file, "-f", "csv", "cuda_api_sum").stdout)[1:]
    sync_ms = sum(int(row[1]) for row in rows if row[-1] == "cudaStreamSynchronize") / 1e6
    outcome.check(is_near(sync_ms, BEFORE_SYNC_MS, 0.05), f"{sync_ms} ms in cudaStreamSynchronize")
    check_launches(outcome, file, report)
    return outcome


def check_copying(program: Path) -> Outcome:
    """A run that waits for the bus: the copies are the first thing said, with their share of the time."""
    file = FOLDER / f"{COPYING}.sqlite"
    outcome = Outcome(file.name)
    report, message = report_of(program, file, [])
    if not report:
        outcome.check(False, f"no report: {message}")
        return outcome
    for rank in report["ranks"]:
        ledger = ledger_of(rank)
        busy = kernels_busy(ledger)
        outcome.check(is_near(busy, COPYING_BUSY, 0.0006), f"kernels busy {busy:.4f}")
        rows = rank["sections"]["copies"]["tables"]["by_kind"]["rows"]
        pinned = sum(row["total"] for row in rows if "HtoD (Pinned" in row["kind"])
        share = pinned / ledger["step"]
        low, high = COPYING_PINNED
        outcome.check(low <= share <= high, f"pinned copies take {share:.4f}")
        check_first_finding(outcome, rank)
    return outcome


def check_first_finding(outcome: Outcome, rank: dict[str, Any]) -> None:
    costs = [
        (f["cost_ns_per_step"], f["what"])
        for section in rank["sections"].values()
        for f in section.get("findings", [])
        if f.get("cost_ns_per_step")
    ]
    first = max(costs)[1] if costs else "nothing"
    outcome.check("copies" in first, f"the finding that costs most is: {first}")
    evidence = " ".join(
        f["evidence"] or ""
        for section in rank["sections"].values()
        for f in section.get("findings", [])
        if "copies" in f["what"]
    )
    share = re.search(r"Memcpy HtoD \(Pinned -> Device\)[^:]*[^ ]*: ([\d.]+) %", evidence)
    low, high = COPYING_PINNED
    holds = share is not None and low <= float(share[1]) / 100 <= high
    outcome.check(holds, f"the finding does not tell the share of pinned copies: {evidence}")


def check_nothing_is_written(program: Path) -> Outcome:
    """The folder is as it was, and files of any state are not changed."""
    outcome = Outcome("nothing is written beside the file")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "run.sqlite"
        shutil.copyfile(FOLDER / "nsys-ai_mock.sqlite", file)
        before = file.read_bytes()
        report_of(program, file, [])
        run_stats(program, file, "cuda_api_sum")
        outcome.check([path.name for path in folder.iterdir()] == [file.name], "a new file")
        outcome.check(file.read_bytes() == before, "the database was changed")
    return outcome


def check_all_are_read(program: Path, file: Path) -> Outcome:
    """A report, or a reason: never a crash; all times of a step add up."""
    outcome = Outcome(file.name)
    report, message = report_of(program, file, [])
    if report is None:
        outcome.check("no CUDA kernel" in message, message)
        return outcome
    for rank in report["ranks"]:
        ledger = ledger_of(rank)
        parts = sum(ledger.get(key, 0) for key in ("compute", "exposed_communication", "idle"))
        parts += ledger.get("exposed_copies", ledger.get("exposed_copy", 0)) + ledger.get(
            "data_copy", 0
        )
        outcome.check(abs(parts - ledger["step"]) <= 4, f"parts {parts}, step {ledger['step']}")
    return outcome


def main() -> None:
    program = program_of(sys.argv)
    skip_without(FOLDER)
    chosen = sys.argv[2:]
    total = Outcome("")
    for file in sorted(FOLDER.glob("*.sqlite")):
        if chosen and not any(name in file.name for name in chosen):
            continue
        total.add(check_stats(program, file))
        total.add(check_all_are_read(program, file))
    if not chosen:
        total.add(check_before(program))
        total.add(check_copying(program))
        total.add(check_nothing_is_written(program))
    total.finish()


if __name__ == "__main__":
    main()
