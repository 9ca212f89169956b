#!/usr/bin/env python3
"""Runs of several ranks made by a simulation, replayed with changes: does the program say what the simulation says?

    known_replays.py PROGRAM [--count N] [--seed S]

The simulation is made again with each change. Where all ranks but a straggler are alike, being without the waiting for it is as
if it were like the others, to the nanosecond. Ends with a line of counts.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from queued_ranks import (  # noqa: E402
    Change,
    RankRun,
    new_plan,
    simulate,
    with_straggler,
    write_ranks,
)
from random_cases import run_seeds  # noqa: E402

ROUNDING_NS = 30


def overview_of(program: Path, traces: list[Path], changes: list[str]) -> dict[str, Any]:
    words = [word for change in changes for word in ("--what-if", change)]
    done = subprocess.run([program, "report", "--json", *words, *traces], capture_output=True)
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr.decode()[:300]}")
    overview: dict[str, Any] = json.loads(done.stdout)["overview"]
    return overview


def longest(runs: list[RankRun], left_out: frozenset[int] = frozenset()) -> int:
    lengths = [run.length for rank, run in enumerate(runs) if rank not in left_out]
    return max(lengths or [run.length for run in runs])


def compare(what: str, found: float, expected: float, tolerance: float = ROUNDING_NS) -> None:
    if abs(found - expected) > tolerance:
        raise AssertionError(f"{what}: {found}, not {expected}")


def check(program: Path, seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    ranks = rng.randint(2, 5)
    straggler, delay = rng.randrange(ranks), rng.randrange(20_000, 200_000)
    is_pipeline = seed % 3 == 0
    jitter = 0.0 if seed % 3 == 1 else rng.choice((0.05, 0.4))
    even = new_plan(rng, ranks, jitter, is_pipeline)
    plan = with_straggler(even, straggler, delay)
    runs = simulate(plan)
    everyone, late = frozenset(range(ranks)), frozenset({straggler})
    changes = {
        "communication*1": Change(),
        "communication/2": Change(transfer=0.5),
        "communication=0": Change(transfer=0.0),
        "matrix*0.5": Change(compute=0.5),
        f"kernel:gemm@{straggler}*0.5": Change(compute=0.5, rank=straggler),
        f"waiting@{straggler}=0": Change(not_awaited=late),
        "waiting=0": Change(not_awaited=everyone),
        f"waiting@{straggler}=0,communication*3": Change(transfer=3.0, not_awaited=late),
    }
    traces = write_ranks(folder, plan, runs)
    rng.shuffle(traces)
    overview = overview_of(program, traces, list(changes))
    some = overview_of(program, traces[1:], ["waiting=0"]) if ranks > 2 else overview
    compare("the replay's error without a rank", some["numbers"]["replay_error"]["value"], 0, 1e-9)
    compare("the replay's error", overview["numbers"]["replay_error"]["value"], 0, 1e-9)
    compare("starts of work", overview["numbers"]["replay_start_error"]["value"], 0, 0)
    step = max(run.length // len(plan.steps) for run in runs)
    for row in overview["tables"]["what_if"]["rows"]:
        change = changes[row["change"]]
        length = longest(simulate(plan, change), change.not_awaited)
        compare(f"the step with {row['change']}", row["step_time"], step * length / longest(runs))
    if jitter == 0 and not is_pipeline:
        rows = {row["change"]: row["step_time"] for row in overview["tables"]["what_if"]["rows"]}
        known = longest(simulate(even)) / len(plan.steps)
        compare("the step without the straggler", rows[f"waiting@{straggler}=0"], known)


if __name__ == "__main__":
    run_seeds(check, 60)
