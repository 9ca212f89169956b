#!/usr/bin/env python3
"""Runs of many ranks made by a simulation: do clocks, waiting, transfer and the late ranks come out as they were made?

    known_ranks.py PROGRAM [--count N] [--seed S]

Then digests of the same ranks, merged in a random order, must say the same, and so must any number of threads. Ends with a
line of counts.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from many_ranks import Run, settings_of, write_run  # noqa: E402
from one_clock import check_one_clock  # noqa: E402
from other_runs import check_other_runs, check_windows  # noqa: E402
from straggler_pages import check_pages  # noqa: E402
from random_cases import run_seeds  # noqa: E402

REPLAYED = re.compile(
    rb"^ +replayed with waiting@\d+=0:(?:.*\n)+?(?= +(?:confidence|.{1,3} [a-z]))", re.MULTILINE
)
CEILING = re.compile(rb",\s+at\s+most\s+[\d.]+x")  # never below what a replay brings
LAYOUTS = ["dp=2", "dp=5", "tp=2,dp=2", "pp=3", "tp=2,dp=2,pp=2", "dp=2,pp=4", "tp=4,pp=2"]


def run(program: Path, *words: str | Path) -> bytes:
    done = subprocess.run([program, *words], capture_output=True)
    if done.returncode not in (0, 5):
        raise AssertionError(f"{words}: exit {done.returncode}: {done.stderr.decode()[:300]}")
    return done.stdout


def overview_of(program: Path, *words: str | Path) -> dict[str, Any]:
    overview: dict[str, Any] = json.loads(run(program, "report", "--json", *words))["overview"]
    return overview


def rows(overview: dict[str, Any], table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = overview["tables"][table]["rows"]
    return found


def compare(what: str, found: Any, expected: Any) -> None:
    if found != expected:
        raise AssertionError(f"{what}: {found}, not {expected}")


def compare_rank(overview: dict[str, Any], rank: int, truth: dict[str, Any]) -> None:
    row = next(row for row in rows(overview, "ranks") if row["rank"] == f"rank {rank}")
    for key, name in (
        ("kernels", "communication"),
        ("waiting", "waiting"),
        ("transfer", "transfer"),
        ("came_last", "came_last"),
        ("caused", "waited_for"),
    ):
        is_known = truth["waiting"] + truth["transfer"] > 0 or key == "kernels"
        compare(f"rank {rank}, {key}", row[name], truth[key] if is_known else None)
    steps = [row for row in rows(overview, "rank_steps") if row["rank_number"] == rank]
    compare(f"rank {rank}, steps", [step["step_time"] for step in steps], truth["steps"])
    for key, name in (
        ("waiting", "waiting"),
        ("transfer", "transfer"),
        ("unknown", "wait_unknown"),
    ):
        total = sum(step[name] for step in steps)
        compare(f"rank {rank}, exposed {key}", total, truth["exposed"][key])
    for step in steps:
        parts = ("compute", "waiting", "transfer", "wait_unknown", "copies", "idle")
        compare("the parts of a step", sum(step[part] for part in parts), step["step_time"])


def compare_clocks(overview: dict[str, Any], truth: dict[int, Any]) -> None:
    if "clocks" not in overview["tables"]:
        return
    for row in rows(overview, "clocks"):
        rank = int(row["rank"].split()[1])
        if row["offset"] is not None:
            compare(f"clock of rank {rank}", row["offset"], truth[rank]["clock"])
            compare(f"what is left of rank {rank}", row["residual_max"] or 0, 0)


def compare_bubble(overview: dict[str, Any], truth: dict[int, Any]) -> None:
    if "bubble" not in overview["numbers"]:
        return
    bubble = sum(true["exposed"]["bubble"] for true in truth.values())
    whole = sum(sum(true["steps"]) for true in truth.values())
    found = overview["numbers"]["bubble"]["value"]
    if abs(found - bubble / whole) > 1e-12:
        raise AssertionError(f"bubble: {found}, not {bubble / whole}")


def compare_imbalance(
    overview: dict[str, Any], truth: dict[int, Any], has_routes: bool, are_ranks_missing: bool
) -> None:
    """The most beside the mean, and whose it is; what nothing tells is not known."""
    found = {row["key"]: row for row in rows(overview, "imbalance")}
    for key in (
        "tokens",
        "flops",
        "allocated",
        *(["routed"] if has_routes and not are_ranks_missing else []),
    ):
        numbers = {rank: true[key] for rank, true in truth.items()}
        row, most, mean = found[key], max(numbers.values()), sum(numbers.values()) / len(numbers)
        first = min(rank for rank, number in numbers.items() if number == most)
        compare(f"{key}: the most", row["most"], most)
        compare(f"{key}: the least", row["least"], min(numbers.values()))
        compare(f"{key}: whose", row["most_rank"], f"rank {first}")
        if abs(row["imbalance"] - most / mean) > 1e-9:
            raise AssertionError(f"{key}: {row['imbalance']}, not {most / mean}")
    if not has_routes:
        compare("routed", "routed" in found, False)


def compare_unknown(overview: dict[str, Any]) -> None:
    for row in rows(overview, "imbalance"):
        if row["key"] in ("tokens", "flops", "allocated"):
            compare(f"{row['key']} is not known", "mean_text" in row["not_known"], True)


def check_schedule(program: Path) -> None:
    """Even stages and sends that take no time. Stage s of p ends s backward passes before the first, so that it waits for
    (p - 1) (forward + backward) - s backward."""
    stages, batches, forward, backward = 4, 6, 400_000, 800_000
    settings = settings_of("pp=4", steps=1, micro_batches=batches, jitter=0.0, transfer=1)
    settings.forward, settings.backward = forward, backward
    both = forward + backward
    waits = [(stages - 1) * both - s * backward for s in range(stages)]
    bubble = sum(waits) / (sum(waits) + stages * batches * both)
    with tempfile.TemporaryDirectory(prefix="flopledger-ranks-") as name:
        write_run(Path(name), Run(settings), set())
        numbers = overview_of(program, "--layout", "pp=4", name)["numbers"]
        own = (stages - 1) / (batches + stages - 1)
        compare("the schedule's own bubble", numbers["bubble_ideal"]["value"], own)
        if abs(numbers["bubble"]["value"] - bubble) > 1e-4:
            raise AssertionError(f"an even pipeline: {numbers['bubble']['value']}, not {bubble}")


def check_digests(program: Path, folder: Path, traces: list[Path], rng: random.Random) -> None:
    digests = []
    for trace in traces:
        digests.append(folder / f"{trace.stem}.fld")
        run(program, "digest", trace, "-o", digests[-1])
    rng.shuffle(digests)
    half = rng.randint(0, len(digests) - 1)
    merged = folder / "merged.fld"
    if half:
        run(program, "digest", *digests[:half], "-o", merged)
        digests = [merged, *digests[half:]]
    text = run(program, "report", "--all", *digests)
    whole = run(program, "report", "--all", "-j", str(rng.randint(1, 5)), *traces)
    text = CEILING.sub(b"", text)
    whole = CEILING.sub(b"", REPLAYED.sub(b"", whole))  # that needs traces
    if not whole.startswith(text.rstrip(b"\n")):
        raise AssertionError("the report of digests is not that of their traces")


def check(program: Path, seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    layout = LAYOUTS[seed % len(LAYOUTS)]
    settings = settings_of(
        layout,
        seed=seed,
        steps=rng.randint(1, 4),
        micro_batches=rng.randint(1, 4),
        jitter=rng.choice((0.0, 0.05, 0.3)),
        has_metadata=not (layout.startswith("dp=") and "," not in layout and rng.random() < 0.5),
    )
    settings.straggler = rng.choice((None, rng.randrange(settings.ranks)))
    settings.is_uneven = settings.has_metadata and rng.random() < 0.5
    made = Run(settings)
    dropped = set()
    if settings.has_metadata and settings.ranks > 2 and rng.random() < 0.4:
        dropped = {rng.randrange(settings.ranks)}
    truth = write_run(folder / "traces", made, dropped)["ranks"]
    traces = sorted((folder / "traces").iterdir())
    overview = overview_of(program, "--layout", layout, "--top", "0", *traces)
    compare(
        "missing",
        {f["what"] for f in overview["findings"] if "no trace" in f["what"]} != set(),
        bool(dropped),
    )
    for rank, true in truth.items():
        compare_rank(overview, rank, true)
    if not dropped or min(dropped) > 0:
        compare_clocks(overview, truth)
    compare_bubble(overview, truth)
    if settings.is_uneven and len(truth) > 1:
        compare_imbalance(overview, truth, settings.data > 1, bool(dropped))
    elif len(truth) > 1:
        compare_unknown(overview)
    check_digests(program, folder, traces, rng)


def check_all(program: Path, seed: int, folder: Path) -> None:
    if seed == 0:
        check_schedule(program)
        return
    check(program, seed, folder)
    check_pages(program, seed)
    check_other_runs(program, seed)
    if seed <= 12:
        check_windows(program, seed)
    check_one_clock(program, seed)


if __name__ == "__main__":
    run_seeds(check_all, 43, 0)
