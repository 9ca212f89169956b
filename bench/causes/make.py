#!/usr/bin/env python3
"""Writes the benchmark: make.py FOLDER [NAME...]. README.md says what lies there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from programs import LARGE, SMALL, cases, run
from ranks import RANKS, of_ranks, run_ranks
from simulated_run import MS, Simulation

RANK_CASES = [  # name, causes, fix, traits with the cause
    (
        "straggler_small",
        ("straggler",),
        "rank 2 prepares its batch as the others do",
        of_ranks(SMALL, 2, loader=4 * MS),
    ),
    (
        "straggler_large",
        ("straggler",),
        "rank 1 prepares its batch as the others do",
        of_ranks(LARGE, 1, loader=20 * MS),
    ),
    (
        "imbalance",
        ("straggler",),
        "as many rows on rank 3 as on the others",
        of_ranks(SMALL, 3, rows=3072),
    ),
]


def write_case(
    place: Path, causes: tuple[str, ...], fix: str, slow: list[Simulation], fixed: list[Simulation]
) -> None:
    for name, runs in (("slow", slow), ("fixed", fixed)):
        (place / name).mkdir(parents=True, exist_ok=True)
        for rank, each in enumerate(runs):
            is_one = len(runs) == 1
            each.write(place / name / f"rank{rank}.json.gz", None if is_one else rank)
    steps = [max(each.step_ns() for each in runs) for runs in (slow, fixed)]
    label: dict[str, Any] = {
        "causes": causes,
        "fix": fix,
        "origin": "simulated",
        "slow_step_ns": steps[0],
        "fixed_step_ns": steps[1],
        "speedup": steps[0] / steps[1],
    }
    (place / "label.json").write_text(json.dumps(label, indent=1) + "\n")


def write_cases(folder: Path, names: list[str]) -> int:
    made = 0
    for case in cases():
        if not names or case.name in names:
            slow, fixed = run(case.slow), run(case.fixed)
            write_case(folder / case.name, case.causes, case.fix, [slow], [fixed])
            made += 1
    for name, causes, fix, traits in RANK_CASES:
        if not names or name in names:
            base = LARGE if "large" in name else SMALL
            fixed_ranks = run_ranks([base] * RANKS)
            write_case(folder / name, causes, fix, run_ranks(traits), fixed_ranks)
            made += 1
    return made


if __name__ == "__main__":
    print(f"{write_cases(Path(sys.argv[1]), sys.argv[2:])} runs in {sys.argv[1]}")
