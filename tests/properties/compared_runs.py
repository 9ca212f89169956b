#!/usr/bin/env python3
"""Many pairs of runs whose difference is known: does `flopledger compare` say so?

    tests/properties/compared_runs.py PROGRAM [--pairs N] [--jobs N]

- Two recordings of the same program are called different in no more cases than docs/metrics/significant-change.md promises:
  the step in 5 %, any other row in 5 %.
- A change of the size that stands here is found, by name, and the sentence at the top says by how much.
- Whatever changed, the accounts sum to the difference of the steps to the nanosecond, and A's means are those of its report.

The pairs are the same each time: a rate that was within the promise stays there. Ends with a line of counts.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterator

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from jittered_trace import WORK, Noise, write_jittered_trace  # noqa: E402

SIGNIFICANT = {"less", "more", "new", "gone"}
PROMISED = 0.05
FOUND_AT_LEAST = 0.95


@dataclass
class Kind:
    """Pairs of one kind: how many steps, what noise, and what B does differently."""

    name: str
    steps_a: int
    steps_b: int
    noise: Noise = field(default_factory=Noise)
    changes: dict[str, float] = field(default_factory=dict)
    finds: tuple[str, str] = ("", "")  # a row and its verdict


EQUAL = [
    Kind("3 steps", 3, 3),
    Kind("6 steps", 6, 6),
    Kind("10 against 20 steps", 10, 20),
    Kind("8 steps, some odd", 8, 8, Noise(odd_steps=0.15)),
    Kind("10 noisy steps", 10, 10, Noise(kernel=0.05, step=0.03)),
]
CHANGED = [
    Kind("a kernel 10 % slower", 10, 10, changes={"gemm_2": 1.1}, finds=("gemm_2", "more")),
    Kind("a kernel 20 % faster", 6, 6, changes={"gemm_3": 0.8}, finds=("gemm_3", "less")),
    Kind("no loader", 6, 6, changes={"data": 0.05}, finds=("idle_data", "less")),
    Kind("a kernel gone", 6, 6, changes={"multi_tensor_apply_kernel": 0},
         finds=("multi_tensor_apply_kernel", "gone")),
    Kind("all kernels 18 % slower", 10, 10, changes={name: 1.18 for _, _, name, _ in WORK},
         finds=("step_time", "more")),
]  # fmt: skip


@dataclass
class Outcome:
    kind: str
    step_changed: bool = False
    others_changed: bool = False
    found: bool = False
    problems: list[str] = field(default_factory=list)


def run_json(program: Path, *words: str) -> dict[str, Any]:
    done = subprocess.run(
        [program, *words, "--json", "--top", "0"], capture_output=True, check=True
    )
    sections: dict[str, Any] = json.loads(done.stdout)["ranks"][0]["sections"]
    return sections


def rows_of(sections: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for section in sections.values():
        for table in section["tables"].values():
            yield from (row for row in table["rows"] if "verdict" in row)


def verdict_on_step(sections: dict[str, Any]) -> str:
    text: str = sections["difference"]["numbers"]["change"]["note"]
    return text


def problems_of_sums(sections: dict[str, Any], report: dict[str, Any]) -> Iterator[str]:
    numbers = sections["difference"]["numbers"]
    rows = sections["difference"]["tables"]["waterfall"]["rows"]
    change = sum(row["change"] for row in rows[1:-1])
    if change != numbers["step_time_b"]["value"] - numbers["step_time_a"]["value"]:
        yield f"the accounts sum to {change}"
    means = {row["key"]: row["mean"] for row in report["step_ledger"]["tables"]["ledger"]["rows"]}
    for row in rows[1:-1]:
        if row["a"] and row["key"] in means and abs(row["a"] - means[row["key"]]) > 1:
            yield f"{row['key']}: {row['a']} in A, {means[row['key']]} in its report"
    if abs(numbers["step_time_a"]["value"] - means["step"]) > 1:
        yield f"A's step is {numbers['step_time_a']['value']}, in its report {means['step']}"


def check(job: tuple[Path, Kind, int]) -> Outcome:
    program, kind, seed = job
    outcome = Outcome(kind.name)
    with tempfile.TemporaryDirectory(prefix="flopledger-pairs-") as folder:
        a, b = Path(folder) / "a.json", Path(folder) / "b.json"
        write_jittered_trace(a, f"{kind.name} {seed} a", kind.steps_a, kind.noise)
        write_jittered_trace(b, f"{kind.name} {seed} b", kind.steps_b, kind.noise, kind.changes)
        sections = run_json(program, "compare", str(a), str(b))
        if seed == 0:
            outcome.problems += problems_of_sums(sections, run_json(program, "report", str(a)))
    outcome.step_changed = verdict_on_step(sections) in SIGNIFICANT
    verdicts = {row["key"]: row["verdict"] for row in rows_of(sections) if row["key"] != "step_b"}
    outcome.others_changed = any(verdict in SIGNIFICANT for verdict in verdicts.values())
    verdicts["step_time"] = verdict_on_step(sections)
    outcome.found = verdicts.get(kind.finds[0]) == kind.finds[1]
    return outcome


def most_by_chance(pairs: int) -> float:
    """More mistakes than these come by chance in one of a thousand runs that keep the promise."""
    return PROMISED * pairs + 3.1 * math.sqrt(pairs * PROMISED * (1 - PROMISED))


def problems_of_kind(kind: Kind, outcomes: list[Outcome]) -> Iterator[str]:
    pairs = len(outcomes)
    steps = sum(outcome.step_changed for outcome in outcomes)
    others = sum(outcome.others_changed for outcome in outcomes)
    found = sum(outcome.found for outcome in outcomes)
    for outcome in outcomes:
        yield from outcome.problems
    if kind.finds[0]:
        print(f"{kind.name}: found in {found} of {pairs}")
        if found < FOUND_AT_LEAST * pairs:
            yield f"{kind.finds[0]} was called '{kind.finds[1]}' in {found} of {pairs} pairs only"
        return
    print(f"equal, {kind.name}: the step called changed in {steps}, others in {others} of {pairs}")
    if max(steps, others) > most_by_chance(pairs):
        yield f"of {pairs} equal pairs {steps} steps and {others} others were called changed"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=Path, nargs="?", default=os.environ.get("FLOPLEDGER"))
    parser.add_argument("--pairs", type=int, default=60, help="of each kind (default: 60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    if not arguments.program:
        parser.error("which program? give its path, or set FLOPLEDGER")
    program, kinds = arguments.program.resolve(), EQUAL + CHANGED
    jobs = [(program, kind, seed) for kind in kinds for seed in range(arguments.pairs)]
    with multiprocessing.Pool(arguments.jobs) as pool:
        outcomes = pool.map(check, jobs, chunksize=8)
    problems = []
    for kind in kinds:
        of_kind = [outcome for outcome in outcomes if outcome.kind == kind.name]
        problems += [f"FAILED: {kind.name}: {p}" for p in problems_of_kind(kind, of_kind)]
    print("\n".join(problems), end="\n" if problems else "")
    print(f"{len(outcomes) - len(problems)} passed, {len(problems)} failed, 0 skipped")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
