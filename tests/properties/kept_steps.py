#!/usr/bin/env python3
"""Captures with known steps: is the ledger of the recorded windows scaled to all kept steps as they were, to the nanosecond?

    tests/properties/kept_steps.py PROGRAM [--count N] [--seed S]

Ends with a line of counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from make_capture import Capture, make_capture, write_capture  # noqa: E402
from random_cases import run_seeds  # noqa: E402

IN_COMPUTE = ("matrix", "other_compute")


def read_job(program: Path, folder: Path) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [program, "ettr", "--json", "--peak", "100", folder],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, json.loads(done.stdout or "{}")


def unlike(found: int, wanted: Any, tolerance: int) -> bool:
    return abs(Fraction(found) - Fraction(wanted)) > tolerance


def sums_of_depths(rows: list[dict[str, Any]]) -> list[str]:
    """Rows of one depth add up to the row above them."""
    problems = []
    for i, row in enumerate(rows):
        below = []
        for other in rows[i + 1 :]:
            if other["depth"] <= row["depth"]:
                break
            if other["depth"] == row["depth"] + 1:
                below.append(other["time"])
        if below and sum(below) != row["time"]:
            problems.append(f"below {row['account']}: {sum(below)} ns of {row['time']}")
    return problems


def check(capture: Capture, code: int, report: dict[str, Any]) -> list[str]:
    if code != 0:
        return [f"code {code}"]
    sections = report["ranks"][0]["sections"]
    section = sections["kept_steps"]
    truth = capture.truth()
    rows = section["tables"]["ledger"]["rows"]
    found = {row["key"]: row["time"] for row in rows}
    kept = next(
        row["time"]
        for row in sections["job"]["tables"]["accounts"]["rows"]
        if row["account"] == "kept steps"
    )
    numbers = {key: number["value"] for key, number in section["numbers"].items()}
    problems = sums_of_depths(rows)
    if not found["kept_steps"] == kept == truth["kept_steps"]:
        problems.append(f"{found['kept_steps']} ns of kept steps, {kept} in the job's accounts")
    if numbers["kept_steps"] != truth["steps"] or numbers["traced_steps"] != truth.get("traced", 0):
        problems.append(f"steps: {numbers}")
    tolerance = 2 * len(capture.attempts)
    for key, wanted in truth.items():
        if key in ("steps", "traced"):
            continue
        rounded = truth["steps"] if key == "model" else 0  # a ledger holds whole ns of each step
        if unlike(found.get(key, 0), wanted, tolerance + rounded):
            problems.append(f"{key}: {found.get(key, 0)} ns, {wanted} were made")
    if "model" in truth:
        known = sections["job_rates"]["numbers"]["mfu"]["value"]
        wanted_mfu = Fraction(truth["model"]) / truth["kept_steps"]
        if abs(known - float(wanted_mfu)) > truth["steps"] / truth["kept_steps"]:
            problems.append(f"MFU {known}, {float(wanted_mfu)} was made")
    return problems


def check_seed(program: Path, seed: int, folder: Path) -> list[str]:
    capture = make_capture(seed)
    write_capture(capture, folder / "capture")
    return check(capture, *read_job(program, folder / "capture"))


if __name__ == "__main__":
    run_seeds(check_seed, 60)
