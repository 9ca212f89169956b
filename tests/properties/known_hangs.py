#!/usr/bin/env python3
"""Dumps of flight recorders of jobs whose fault is known: `flopledger ranks` names it, and nothing else.

    tests/properties/known_hangs.py PROGRAM [--count N] [--seed S]

Ends with a line of counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from flight_dumps import FAULTS, Job, make_job  # noqa: E402
from random_cases import run_seeds  # noqa: E402

DIFFERENCES = {
    "skipped": ("operation", "left one out"),
    "extra": ("operation", "one more"),
    "swapped": ("operation", "swapped"),
    "size": ("size", "none"),
    "type": ("type", "none"),
    "exchange": ("uneven exchange", "none"),
}


def verdict_of(program: str, folder: Path) -> dict[str, Any]:
    done = subprocess.run(
        [program, "ranks", "--json", "--top", "0", str(folder)], capture_output=True, check=False
    )
    if done.returncode != 0:
        raise ValueError(done.stderr.decode(errors="replace"))
    return json.loads(done.stdout)["ranks"][0]


def problems_of_mismatch(section: dict[str, Any], job: Job) -> list[str]:
    rows = section["tables"]["mismatches"]["rows"]
    expected = job.expected
    difference, shift = DIFFERENCES[job.fault]
    wanted = {"group": expected["group"], "number": expected["number"], "difference": difference}
    if len(rows) != 1:
        return [f"{len(rows)} groups differ, expected 1: {rows}"]
    problems = [
        f"{key} is {rows[0][key]}, not {value}"
        for key, value in wanted.items()
        if rows[0][key] != value
    ]
    ranks = (expected["rank"], *([] if len(expected["members"]) > 2 else expected["members"]))
    if job.fault != "exchange" and rows[0]["rank"] not in ranks:
        problems.append(f"rank {rows[0]['rank']} is named, not {expected['rank']}")
    # what a rank does after the call can be told only where it got on
    if len(expected["members"]) > 2 and rows[0]["shift"] not in (shift, "none"):
        problems.append(f"the order is {rows[0]['shift']}, not {shift}")
    return problems


def problems_of_cause(section: dict[str, Any], job: Job) -> list[str]:
    rows = section["tables"]["causes"]["rows"]
    expected = job.expected
    if section["tables"]["mismatches"]["rows"]:
        return [f"a mismatch is told: {section['tables']['mismatches']['rows']}"]
    if job.fault == "circle":
        ranks = ", ".join(map(str, expected["circle"]))
        if expected["circle"][1] == expected["circle"][0] + 1:
            ranks = ranks.replace(", ", "-")
        good = [row["kind"] == "circle" and row["ranks"] == ranks for row in rows]
        return [] if good == [True] else [f"expected a circle of {ranks}: {rows}"]
    kind = {"silent": "no dump", "stuck": "stuck"}.get(job.fault, "stopped")
    if [row["kind"] for row in rows] != [kind]:
        return [f"expected one cause, {kind}: {rows}"]
    if kind == "stuck":
        row = rows[0]
        right = (row["group"], row["number"]) == (expected["group"], expected["number"])
        return [] if right else [f"{row} is named, not {expected}"]
    if rows[0]["ranks"] != str(expected["rank"]):
        return [f"rank {rows[0]['ranks']} is named, not {expected['rank']}"]
    return []


def problems_of(program: str, job: Job, folder: Path) -> list[str]:
    section = verdict_of(program, folder)["sections"]["hang"]
    if job.fault == "none":
        said = [
            section["findings"],
            section["tables"]["causes"]["rows"],
            section["tables"]["mismatches"]["rows"],
        ]
        return [f"nothing is wrong, and it says {said}"] if any(said) else []
    if not section["findings"]:
        return ["no finding"]
    if job.fault in DIFFERENCES:
        return problems_of_mismatch(section, job)
    return problems_of_cause(section, job)


def check(program: str, seed: int, folder: Path) -> list[str]:
    fault = FAULTS[seed % len(FAULTS)]
    ring = (2000, 60)[seed // len(FAULTS) % 2 if fault not in ("exchange", "swapped") else 0]
    job = make_job(seed, fault, ring)
    dumps = folder / str(seed)
    job.write(dumps, as_json=seed // len(FAULTS) % 3 == 2)
    try:
        problems = problems_of(program, job, dumps)
    except ValueError as error:
        problems = [str(error)]
    return [f"seed {seed}, {fault}: {problem}" for problem in problems]


def check_old(program: str, seed: int, folder: Path) -> list[str]:
    """Dumps of older versions: they know numbers of groups only, no types, and before 1.4 not who is in a group."""
    fault = ("stopped", "none", "stuck", "skipped", "size")[seed % 5]
    version = ("1.4", "1.1", "1.0")[seed // 5 % 3]
    job = make_job(seed, fault)
    job.write(folder / f"old{seed}", as_json=False, version=version)
    wanted = (job.expected["group"], job.expected["members"])
    job.expected["group"] = str(list(job.groups.values()).index(wanted))
    try:
        problems = problems_of(program, job, folder / f"old{seed}")
    except ValueError as error:
        problems = [str(error)]
    return [f"seed {seed}, {fault}, version {version}: {problem}" for problem in problems]


def check_both(program: Path, seed: int, folder: Path) -> list[str]:
    problems = check(str(program), seed, folder)
    return problems + (check_old(str(program), seed // 4, folder) if seed % 4 == 0 else [])


if __name__ == "__main__":
    run_seeds(check_both, 240, 0)
