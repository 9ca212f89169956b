#!/usr/bin/env python3
"""Level C of traces whose products are known: matrix time splits as built, in every step, to the nanosecond.

    tests/properties/priced_work.py PROGRAM [--count N] [--seed S]

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

from priced_trace import PARTS, make_priced_trace, write_priced_trace  # noqa: E402
from random_cases import run_seeds  # noqa: E402


def problems_of(row: dict[str, Any], built: dict[str, Any]) -> list[str]:
    problems = []
    parts = ("unpriced", "below_peak", *PARTS)
    if sum(row[part] for part in parts) != row["matrix"]:
        problems.append(f"the parts sum to {sum(row[part] for part in parts)}, not {row['matrix']}")
    for exact in ("matrix", "unpriced"):
        if row[exact] != built[exact]:
            problems.append(f"{exact} is {row[exact]} ns, {built[exact]} ns were built")
    for part in PARTS:
        ideal, flops = Fraction(built[part]), Fraction(built[f"{part}_flops"])
        if abs(row[part] - ideal) > Fraction(51, 100):
            problems.append(f"{part} is {row[part]} ns, {float(ideal)} ns were built")
        if abs(Fraction(row[f"{part}_flops"]) - flops) > flops / 10**9:
            problems.append(f"{part}: {row[f'{part}_flops']} FLOPs, {float(flops)} were built")
    return [f"step {row['step']}: {problem}" for problem in problems]


def screen_problems(program: str, path: Path, built: list[dict[str, Any]]) -> list[str]:
    """The first screen says "at least" where matmul time without FLOPs could add to the MFU."""
    command = [program, "report", "--clock", "host", str(path)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    share = sum(row["unpriced"] for row in built) / sum(row["matrix"] for row in built)
    if ("MFU at least " in text) != (share > 0.01):
        return [f"{share:.1%} of the matmul time is not known, and the screen says: {text[:300]}"]
    return []


def check(program: Path, seed: int, folder: Path) -> list[str]:
    trace = make_priced_trace(seed, 1 + seed % 4, compiles=seed % 2 == 0)
    path = folder / "priced.json"
    write_priced_trace(trace, path)
    done = subprocess.run(
        [program, "report", "--json", "--clock", "host", str(path)],
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        return [done.stderr.decode(errors="replace")]
    section = json.loads(done.stdout)["ranks"][0]["sections"]["model_flops_utilization"]
    rows, built = section["tables"]["steps"]["rows"], trace.priced()
    if len(rows) != len(built):
        return [f"{len(rows)} steps, {len(built)} were built"]
    problems = [text for row, other in zip(rows, built) for text in problems_of(row, other)]
    total = sum(end - start for start, end in trace.steps)
    mfu = float(sum(Fraction(row["model"]) for row in built) / total)
    told = section["numbers"]["mfu"]["value"]
    if abs(told - mfu) > 3.0 * len(rows) / total:
        problems.append(f"MFU is {told}, {mfu} was built")
    return problems + screen_problems(program, path, built)


if __name__ == "__main__":
    run_seeds(check, 60)
