#!/usr/bin/env python3
"""Traces with a known critical path: `flopledger report` finds it, and the slack of what runs beside it, to the nanosecond.

    tests/properties/known_paths.py PROGRAM [--count N] [--seed S]

Ends with a line of counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, Iterator

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from path_trace import PathTrace  # noqa: E402


def section_of(program: str, path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [program, "report", "--json", "--top", "0", "--no-progress", str(path)],
        capture_output=True,
        check=True,
    )
    section: dict[str, Any] = json.loads(done.stdout)["ranks"][0]["sections"]["critical_path"]
    return section


def compare(what: str, found: dict[str, int], built: dict[str, int], off: int) -> Iterator[str]:
    for key in sorted({*found, *built}):
        if abs(found.get(key, 0) - built.get(key, 0)) > off:
            yield f"{what} {key}: {found.get(key, 0)}, built {built.get(key, 0)}"


def problems_of(program: str, seed: int, folder: Path) -> Iterator[str]:
    trace = PathTrace(seed, 1 + seed % 5)
    path = folder / "trace.json"
    trace.write(path)
    tables = section_of(program, path)["tables"]
    if not tables:
        yield "there is no path"
        return
    rows = tables["composition"]["rows"]
    kinds = {row["kind_key"]: row["mean"] * trace.steps for row in rows}
    yield from compare("kind", kinds, trace.kinds, trace.steps)
    names: Counter[str] = Counter()
    for row in tables["links"]["rows"]:
        if row["name"] in trace.names:
            names[row["name"]] += row["mean"] * trace.steps
    yield from compare("link", names, trace.names, trace.steps)
    slack = {row["kernel"]: row for row in tables["slack"]["rows"]}
    least = {name: row["least_slack"] for name, row in slack.items()}
    yield from compare("least slack of", least, {k: min(v) for k, v in trace.slacks.items()}, 0)
    middle = {k: sorted(v)[(len(v) - 1) // 2] for k, v in trace.slacks.items()}
    medians = {name: row["median_slack"] for name, row in slack.items()}
    yield from compare("median slack of", medians, middle, 0)
    for name, row in slack.items():
        if (row["critical_share"] == 1) != (name in trace.names):
            yield f"{name}: {row['critical_share']} of it is on the path"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            problems = list(problems_of(arguments.program, seed, Path(folder)))
            failed += bool(problems)
            print("".join(f"seed {seed}: {problem}\n" for problem in problems), end="")
    print(f"{arguments.count - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
