#!/usr/bin/env python3
"""Writes docs/correctness.md: what is compared with which truth, how many comparisons, how far apart at most.

    correctness_table.py PROGRAM           runs the checks of CHECKS, and writes the page
    correctness_table.py PROGRAM --check   the page has a row of each of them, as CHECKS has it; runs those that take a second

Needs the folder of other people's data: FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass

from shared_traces import ROOT, SHARED, Outcome, program_of, skip_without

PAGE = ROOT / "docs" / "correctness.md"
COUNTS = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")
ROW = re.compile(
    r"^\| `([\w/.]+)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \| ([\d,]+) \| ([\d,]+) \|$", re.M
)
FURTHEST = re.compile(r"^furthest apart: (.*)$", re.M)
SECONDS_MAX = 600


@dataclass(frozen=True)
class Check:
    script: str
    what: str
    truth: str
    apart: str  # the largest difference that counts as equal
    is_quick: bool = False


CHECKS = [
    Check(
        "check_golden.py",
        "the ledger of real traces, step by step and account by account",
        "an independent, slow attribution in Python",
        "1 µs",
    ),
    Check(
        "check_times.py",
        "count and total time of all events, by category",
        "Python's own reading of the JSON",
        "0 ns",
    ),
    Check(
        "check_nsys.py",
        "reports of Nsight Systems' databases, cell by cell",
        "what `nsys stats` and `nsys analyze` print",
        "0",
    ),
    Check(
        "check_xplane.py",
        "events and their time in XSpaces of JAX, by plane and line",
        "JAX's own decoding (`jax.profiler.ProfileData`), else one by hand",
        "1 ns an event",
        True,
    ),
    Check(
        "check_flops.py",
        "FLOPs of models by operator and module, from traces",
        "FLOPs counted by others in the running model",
        "0",
    ),
    Check(
        "check_models.py",
        "parameters by `config.json`",
        "the models that transformers makes of them",
        "0",
    ),
    Check(
        "check_forward_flops.py",
        "FLOPs of a forward by `config.json`, of small models of random sizes",
        "torch's FlopCounterMode in the models that transformers makes of them",
        "0; scans are counted as the recurrence",
    ),
    Check(
        "check_peaks.py",
        "peak rates of devices",
        "a table that others collected",
        "1e-9",
        True,
    ),
    Check(
        "check_regressions.py",
        "files on which a report was once wrong: times, steps, first findings",
        "counts by hand, other tools' tests, the authors' own figures",
        "0.1 %; 1 % where the source rounds",
    ),
    Check(
        "check_published_runs.py",
        "published TFLOP/s and MFU",
        "the publications, by each one's convention",
        "1 %, the others are explained",
    ),
    Check(
        "check_memory_snapshots.py",
        "peaks and owners in snapshots of CUDA's allocator",
        "an independent replay of the events",
        "0 bytes",
    ),
    Check(
        "check_key_averages.py",
        "tables by operator",
        "`key_averages()` of PyTorch",
        "rounding of what is printed",
        True,
    ),
    Check(
        "check_ranks.py",
        "waiting, transfer and the straggler of eight ranks",
        "another tool's answers",
        "rounding of what is printed",
        True,
    ),
    Check(
        "check_stragglers.py",
        "what stragglers cost, by rank, stage, kind and step",
        "the published results of two jobs",
        "1 %",
        True,
    ),
    Check(
        "check_replay.py",
        "replays of real traces",
        "the recordings, and a pair of measured runs",
        "2 % of a recording, 8 % of a change",
    ),
    Check(
        "check_job_logs.py",
        "accounts of real training logs",
        "counts by hand and published figures",
        "1e-9; 0.1 % where the source rounds",
        True,
    ),
    Check(
        "check_first_findings.py",
        "the first finding of traces, databases and logs",
        "what an expert says, written before",
        "95 % agree, the others are explained",
    ),
]

HEAD = """# Correctness

What the program says, beside truths that do not come from it: made by `python3 tests/oracle/correctness_table.py PROGRAM`, which
runs each check on other people's files and writes this page. *Compared* counts single comparisons: a cell, an account of a step, a
device's rate, a file. *Furthest apart* is the largest difference that was found among those that count as equal (0 where none may
differ, *as allowed* where words or printed digits are compared).

| check | what | beside | may be apart | furthest apart | compared | further apart than that |
|---|---|---|---|---|---|---|
"""
TAIL = """
Generated inputs, whose truth is known because they were built from it, are the properties (`tests/properties`): traces, databases,
logs and ranks with a known ledger, known costs, known causes.
"""


def run(program: str, check: Check) -> tuple[int, int, str]:
    command = [sys.executable, str(ROOT / "tests" / "oracle" / check.script), program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)
    found = COUNTS.findall(done.stdout)
    if not found:
        sys.exit(f"{check.script} tells no counts: {done.stdout[-300:]}{done.stderr[-300:]}")
    passed, failed, _ = (int(number) for number in found[-1])
    print(f"{check.script}: {passed} passed, {failed} failed", flush=True)
    furthest = FURTHEST.findall(done.stdout)
    if furthest:
        return passed + failed, failed, furthest[-1]
    return passed + failed, failed, "0" if check.apart.startswith("0") else "as allowed"


def write_page(program: str) -> None:
    rows = []
    for check in CHECKS:
        compared, failed, furthest = run(program, check)
        rows.append(
            f"| `{check.script}` | {check.what} | {check.truth} | {check.apart} | "
            f"{furthest} | {compared:,} | {failed:,} |\n"
        )
    PAGE.write_text(HEAD + "".join(rows) + TAIL)


def check_page(program: str) -> None:
    outcome = Outcome("docs/correctness.md")
    told = {row[0]: row[1:] for row in ROW.findall(PAGE.read_text())}
    outcome.check(list(told) == [check.script for check in CHECKS], f"rows: {list(told)}")
    for check in CHECKS:
        row = told.get(check.script)
        if row is None:
            continue
        texts = (check.what, check.truth, check.apart)
        outcome.check(row[:3] == texts, f"{check.script}: {row[:3]}, not {texts}")
        compared, failed = (int(number.replace(",", "")) for number in row[4:])
        outcome.check(compared > 0 and failed == 0, f"{check.script}: {compared}, {failed}")
        if check.is_quick:
            again = (compared, failed, row[3])
            outcome.check(run(program, check) == again, f"{check.script}: run again")
    all_counts = Outcome("all")
    all_counts.add(outcome)
    all_counts.finish()


def main() -> None:
    arguments = [word for word in sys.argv if word != "--check"]
    program = str(program_of(arguments))
    skip_without(SHARED)
    if "--check" in sys.argv:
        check_page(program)
    else:
        write_page(program)


if __name__ == "__main__":
    main()
