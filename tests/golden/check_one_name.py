#!/usr/bin/env python3
"""One name, one number: on one page no two numbers of the same name have different values.

Runs `report --json` and `flops --json` on the project's traces, and takes both as one page: numbers of all sections by title
and unit, "per step" and "a step" left out of the title.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "traces" / "golden"
TRACES = [
    GOLDEN / "modules",
    GOLDEN / "module_frames",
    GOLDEN / "products",
    GOLDEN / "two_ranks" / "rank0.json",
    GOLDEN / "memory_run",
    GOLDEN / "queued_ranks" / "rank0.json",
    ROOT / "examples" / "traces" / "train_gpt_cpu.json.gz",
]
# What says by itself that it is of one section: how many rows there are, or the like.
OF_THE_SECTION = {"steps", "error of the replay", "their time, summed"}


def plain(title: str) -> str:
    return re.sub(r",? (per|of a|a|of each) step$", "", title.lower()).strip()


def numbers_of(program: str, command: str, trace: Path) -> list[tuple[str, str, str, object]]:
    done = subprocess.run(
        [program, command, "--json", str(trace)], capture_output=True, text=True, check=False
    )
    if not done.stdout:
        return []
    rank = json.loads(done.stdout)["ranks"][0]
    return [
        (plain(number["title"]), number["unit"], f"{command}: {section}.{key}", number["value"])
        for section, content in rank["sections"].items()
        for key, number in content["numbers"].items()
        if number.get("value") is not None
    ]


def problems_of(program: str, trace: Path) -> list[str]:
    seen: dict[tuple[str, str], tuple[str, object]] = {}
    problems = []
    for title, unit, where, value in numbers_of(program, "report", trace) + numbers_of(
        program, "flops", trace
    ):
        first = seen.setdefault((title, unit), (where, value))
        if first[1] != value and title not in OF_THE_SECTION:
            problems.append(
                f"{trace.relative_to(ROOT)}: {title!r} is {first[1]} in {first[0]}, {value} in {where}"
            )
    return problems


def main() -> None:
    program = os.environ.get("FLOPLEDGER", "flopledger")
    problems = [problem for trace in TRACES for problem in problems_of(program, trace)]
    print("\n".join(problems) or "one name, one number")
    sys.exit(int(bool(problems)))


if __name__ == "__main__":
    main()
