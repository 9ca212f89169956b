#!/usr/bin/env python3
"""Traces with a known critical path: `flopledger report` finds it, and the slack of what runs beside it, to the nanosecond;
and so it does through the ranks of a run that was made by a simulation.

    tests/properties/known_paths.py PROGRAM [--count N] [--seed S]

Ends with a line of counts.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Iterator

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from path_trace import PathTrace  # noqa: E402
from queued_ranks import (  # noqa: E402
    GAP,
    LATENCY,
    LAUNCH,
    RETURN,
    RankRun,
    new_plan,
    simulate,
    with_straggler,
    write_ranks,
)
from random_cases import run_seeds  # noqa: E402


def report_of(program: str, paths: list[Path]) -> dict[str, Any]:
    done = subprocess.run(
        [program, "report", "--json", "--top", "0", "--no-progress", *paths],
        capture_output=True,
        check=True,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def compare(what: str, found: dict[str, int], built: dict[str, int], off: int) -> Iterator[str]:
    for key in sorted({*found, *built}):
        if abs(found.get(key, 0) - built.get(key, 0)) > off:
            yield f"{what} {key}: {found.get(key, 0)}, built {built.get(key, 0)}"


def problems_of(program: str, seed: int, folder: Path) -> Iterator[str]:
    trace = PathTrace(seed, 1 + seed % 5)
    path = folder / "trace.json"
    trace.write(path)
    tables = report_of(program, [path])["ranks"][0]["sections"]["critical_path"]["tables"]
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


def walk_ranks(runs: list[RankRun]) -> Counter[str]:
    """Back from the end, as the simulation knows what each piece waited for: "rank part" to nanoseconds."""
    shares: Counter[str] = Counter()
    rank = max(range(len(runs)), key=lambda number: (runs[number].spans[-1][1], -number))
    step, at = len(runs[0].done) - 1, -1
    while step >= 0:
        if at < 0:  # the end of the step
            shares[f"rank {rank} sync"] += RETURN
            at = len(runs[rank].done[step]) - 1
        done = runs[rank].done[step][at]
        if done.work.meeting is not None:
            places = [
                (other.start, -number, place)
                for number, run in enumerate(runs)
                for place, other in enumerate(run.done[step])
                if other.work.meeting == done.work.meeting
            ]
            start, number, at = max(places)
            rank = -number
            shares[f"rank {rank} transfer"] += done.end - start
            shares[f"rank {rank} came_last"] += 1
            done = runs[rank].done[step][at]
        else:
            shares[f"rank {rank} kernels"] += done.end - done.start
        if at > 0 and done.start == runs[rank].done[step][at - 1].end + GAP:
            shares[f"rank {rank} waits"] += GAP
            at -= 1
        else:
            shares[f"rank {rank} launches"] += LATENCY + at * LAUNCH
            step, at = step - 1, -1
    return shares


def problems_of_ranks(program: str, seed: int, folder: Path) -> Iterator[str]:
    rng = random.Random(seed)
    ranks = rng.randint(2, 6)
    plan = new_plan(rng, ranks, rng.choice((0.0, 0.05, 0.4)))
    runs = simulate(with_straggler(plan, rng.randrange(ranks), rng.randrange(20_000, 200_000)))
    traces = write_ranks(folder, plan, runs)
    rng.shuffle(traces)
    overview = report_of(program, traces)["overview"]
    keys = "kernels copies launches data sync host waits transfer communication_unknown came_last"
    found = {
        f"{row['rank']} {key}": row[key]
        for row in overview["tables"]["critical_path"]["rows"]
        for key in keys.split()
    }
    yield from compare("ranks", found, walk_ranks(runs), 0)


def check(program: Path, seed: int, folder: Path) -> Iterator[str]:
    yield from problems_of(str(program), seed, folder)
    if seed % 2 == 0:
        yield from problems_of_ranks(str(program), seed, folder / f"ranks{seed}")


if __name__ == "__main__":
    run_seeds(check, 100, 0)
