#!/usr/bin/env python3
"""Recording makes steps longer: what the run's own clock says of the others bounds what can be won of idle time.

A trace gets a capture.json with the durations of all steps of its run, again and again others. Where those that were not recorded
take less, the difference is the profiler's, the first screen has both times, and no finding about idle time promises more than what
such a step idles. Where they take as long, are too few, are of another kind (they would not hold the device's work), or are beside
the recorded ones, nothing is said of them.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "tests" / "traces" / "golden" / "what_if" / "training.json"
RECORDED = (1, 2, 3, 4)  # of a million ns each, 300,000 of them with work of the device
STEP_NS, BUSY_NS = 1_000_000, 300_000
LEAST = 2  # steps that are not recorded
SCREEN = re.compile(r"(\S+ .s) where not recorded")
Rank = dict[str, Any]


def ask(program: str, folder: Path, plain: list[int], beside_ns: int) -> tuple[Rank, str]:
    """The report of the trace in a run with these other steps, and its first screen. Recorded steps and the one behind them have the
    recording's time in them."""
    durations = [7 * STEP_NS] * len(RECORDED[1:]) + [beside_ns] + plain
    window = {"trace": "trace.json", "steps": [{"step": number} for number in RECORDED]}
    capture = {"schema": "flopledger.capture", "schema_version": 1, "state": "complete"}
    capture |= {"recorded": [window], "models": []}
    capture |= {
        "steps": {"of": "optimizer", "count": len(durations) + 1, "durations_ns": durations}
    }
    (folder / "capture.json").write_text(json.dumps(capture))
    words = [program, "report", str(folder / "trace.json")]
    screen = subprocess.run([*words, "--width", "200"], capture_output=True, text=True, check=True)
    report = subprocess.run([*words, "--json"], capture_output=True, text=True, check=True)
    rank: Rank = json.loads(report.stdout)["ranks"][0]
    return rank, screen.stdout


def expected(plain: list[int]) -> int:
    """What a recorded step idles longer; 0 where nothing is to be said."""
    if len(plain) < LEAST:
        return 0
    middle = sorted(plain)[(len(plain) - 1) // 2]
    return STEP_NS - middle if BUSY_NS <= middle and 1.1 * middle <= STEP_NS else 0


def complaints_of(rank: Rank, screen: str, plain: list[int]) -> Iterator[str]:
    longer = expected(plain)
    findings = {f["id"]: f for f in rank["sections"]["advice"]["findings"]}
    told = findings.get("profiler_overhead", {}).get("cost_ns_per_step", 0)
    if told != longer:
        yield f"the profiler itself: {told} of {longer} ns"
    for finding in findings.values():
        is_idle = all(account.startswith("idle_") for account in finding["accounts"])
        most = STEP_NS - BUSY_NS - longer
        if is_idle and finding is not findings.get("profiler_overhead"):
            if longer and finding["cost_ns_per_step"] > most:
                yield f"{finding['id']}: {finding['cost_ns_per_step']} of at most {most} ns"
            if longer and finding.get("replayed_step_ns") is not None:
                yield f"{finding['id']}: a replay of what recording made longer"
    number = rank["sections"]["step_ledger"]["numbers"].get("plain_step_time")
    middle = sorted(plain)[(len(plain) - 1) // 2] if plain else 0
    is_told = len(plain) >= LEAST and BUSY_NS <= middle  # else the host was ahead of the device
    if (number is not None) != is_told:
        yield f"steps that are not recorded: {number}"
    is_shown = is_told and 1.1 * middle < STEP_NS
    if bool(SCREEN.search(screen)) != is_shown:
        yield f"the first screen: {screen.splitlines()[1]}"


def main() -> None:
    program = os.environ.get("FLOPLEDGER", "flopledger")
    rng = random.Random(5)
    cases = [[STEP_NS] * 9, [600_000] * 9, [600_000], [200_000] * 9, [920_000] * 9, []]
    cases += [
        [rng.randint(100_000, 1_500_000) for _ in range(rng.randint(0, 12))] for _ in range(14)
    ]
    complaints = []
    with tempfile.TemporaryDirectory(prefix="flopledger-plain-") as name:
        shutil.copy(TRACE, Path(name) / "trace.json")
        for plain in cases:
            rank, screen = ask(program, Path(name), plain, rng.choice([1, 9 * STEP_NS]))
            complaints += [f"{plain}: {text}" for text in complaints_of(rank, screen, plain)]
    print("\n".join(complaints) or "what steps take that are not recorded bounds what is lost")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
