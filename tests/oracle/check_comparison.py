#!/usr/bin/env python3
"""What `flopledger compare` says of a pair of other people's traces: ResNet50 with no loader process, then with four.

    check_comparison.py PROGRAM

The step times are those that its authors' tool printed; what changed is the loader. Compared with itself a trace has no
change. scipy, where it is installed, gives the same p. Needs the folder of other people's traces: FLOPLEDGER_SHARED, or
../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from shared_traces import SHARED, Outcome, program_of, skip_without

TRACES = SHARED / "traces" / "kineto"
SIGNIFICANT = {"less", "more", "new", "gone"}
TOLERANCE = 1e-9


def compare(program: Path, *words: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first rank, and its sections."""
    command = [str(program), "compare", "--json", "--top", "0", "--no-progress", *words]
    done = subprocess.run(command, capture_output=True, check=True)
    rank = json.loads(done.stdout)["ranks"][0]
    return rank, rank["sections"]


def verdicts(sections: dict[str, Any]) -> set[str]:
    tables = [table for section in sections.values() for table in section["tables"].values()]
    return {row["verdict"] for table in tables for row in table["rows"] if row.get("verdict")}


def steps_of(program: Path, path: Path) -> list[int]:
    command = [str(program), "report", "--json", "--no-progress", str(path)]
    done = subprocess.run(command, capture_output=True, check=True)
    sections = json.loads(done.stdout)["ranks"][0]["sections"]
    return [row["duration"] for row in sections["step_ledger"]["tables"]["steps"]["rows"]]


def check_numbers(outcome: Outcome, rank: dict[str, Any], sections: dict[str, Any]) -> None:
    numbers = sections["difference"]["numbers"]
    rows = {row["key"]: row for row in sections["difference"]["tables"]["waterfall"]["rows"]}
    headline = rank["headline"]
    outcome.check("1.25x as fast" in headline, f"the sentence says 1.25x: {headline}")
    outcome.check("waiting for data" in headline, f"the sentence names the loader: {headline}")
    outcome.check(numbers["step_time_a"]["value"] // 10**6 == 174, "A takes 174 ms a step")
    outcome.check(numbers["step_time_b"]["value"] // 10**6 == 139, "B takes 139 ms a step")
    outcome.check(rows["idle_data"]["verdict"] == "less", "less waiting for data")
    outcome.check(rows["idle_data"]["change"] < -57_000_000, "57 ms less waiting for data")
    outcome.check(rows["matrix"]["verdict"] not in SIGNIFICANT, "matrix work did not change")
    parts = sum(row["change"] for key, row in rows.items() if not key.startswith("step_"))
    outcome.check(parts == numbers["change"]["value"], "the accounts sum to the difference")


def check_against_scipy(outcome: Outcome, p: float, a: list[int], b: list[int]) -> None:
    try:
        from scipy import stats
    except ImportError:
        outcome.skipped += 1
        outcome.note("skipped: scipy is not installed")
        return
    expected = stats.ttest_ind(a, b, equal_var=False, trim=0.2).pvalue
    outcome.check(abs(p - expected) < TOLERANCE, f"p is {p}, scipy's {expected}")


def main() -> None:
    program = program_of(sys.argv)
    skip_without(TRACES)
    a, b = (next(TRACES.glob(f"resnet50_num_workers_{n}/worker0.1*.gz")) for n in (0, 4))
    outcome = Outcome("resnet50")
    rank, sections = compare(program, str(a), str(b))
    check_numbers(outcome, rank, sections)
    p = sections["difference"]["numbers"]["p"]["value"]
    check_against_scipy(outcome, p, steps_of(program, a), steps_of(program, b))
    rank, sections = compare(program, str(a), str(a))
    outcome.check(not verdicts(sections) & SIGNIFICANT, "a trace and itself do not differ")
    outcome.check("No significant change" in rank["headline"], rank["headline"])
    print("\n".join(outcome.lines), end="\n" if outcome.lines else "")
    outcome.finish()


if __name__ == "__main__":
    main()
