#!/usr/bin/env python3
"""Logs of jobs with known accounts: does `flopledger ettr` book them so, to the nanosecond, whatever is done to the log?

    tests/properties/job_logs.py PROGRAM [--count N] [--seed S]

Ends with a line of counts.
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from job_log import (  # noqa: E402
    ACCOUNTS,
    Job,
    Line,
    internevo_lines,
    make_job,
    make_runs,
    megatron_lines,
    mlperf_lines,
    own_lines,
    torchtitan_lines,
    trainer_text,
)
from random_cases import run_seeds  # noqa: E402


def texts(lines: list[Line]) -> list[str]:
    return [line.text for line in lines]


def write(path: Path, lines: list[str], end: str = "\n") -> Path:
    path.write_bytes("".join(line + end for line in lines).encode())
    return path


# What is done to a log: (folder, lines, random) -> files to give.


def as_it_is(folder: Path, lines: list[Line], rng: random.Random) -> list[Path]:
    return [write(folder / "train.log", texts(lines))]


def from_windows(folder: Path, lines: list[Line], rng: random.Random) -> list[Path]:
    return [write(folder / "train.log", texts(lines), "\r\n")]


def packed(folder: Path, lines: list[Line], rng: random.Random) -> list[Path]:
    path = write(folder / "train.log", texts(lines))
    path.write_bytes(gzip.compress(path.read_bytes()))
    return [path]


def coloured(folder: Path, lines: list[Line], rng: random.Random) -> list[Path]:
    """Escape sequences between words."""

    def paint(text: str) -> str:
        words = text.split(" ")
        for _ in range(3):
            place = rng.randrange(len(words))
            words[place] = f"\x1b[3{rng.randrange(8)}m{words[place]}\x1b[0m"
        return "\x1b[1m" + " ".join(words) + "\x1b[39;49m"

    return [write(folder / "train.log", [paint(text) for text in texts(lines)])]


def overwritten(folder: Path, lines: list[Line], rng: random.Random) -> list[Path]:
    """Progress bars on the screen, overwritten by what follows."""
    changed = []
    for text in texts(lines):
        bars = "".join(
            f"\rloading: {n}%|##  | {n}/100 [00:0{n}<00:10]" for n in range(rng.randrange(4))
        )
        changed.append(bars + "\r" + text)
    return [write(folder / "train.log", changed)]


def a_file_an_attempt(folder: Path, lines: list[Line], rng: random.Random) -> list[Path]:
    """Given in any order."""
    numbers = sorted({line.attempt for line in lines})
    paths = [
        write(
            folder / f"slurm-{rng.randrange(10**6)}-{n}.out",
            [x.text for x in lines if x.attempt == n],
        )
        for n in numbers
    ]
    rng.shuffle(paths)
    return paths


def rotated(folder: Path, lines: list[Line], rng: random.Random) -> list[Path]:
    """Cut anywhere: train.log.2 is older than train.log.1, and that older than train.log."""
    cuts = sorted(rng.sample(range(3, len(lines) - 1), 2))
    parts = [lines[: cuts[0]], lines[cuts[0] : cuts[1]], lines[cuts[1] :]]
    names = ["train.log.2", "train.log.1", "train.log"]
    paths = [write(folder / name, texts(part)) for name, part in zip(names, parts)]
    rng.shuffle(paths)
    return paths


def of_several_ranks(folder: Path, lines: list[Line], rng: random.Random) -> list[Path]:
    """Each line by three ranks, their lines one among another."""
    changed = [f"{rank}: {text}" for text in texts(lines) for rank in rng.sample(range(3), 3)]
    return [write(folder / "train.log", changed)]


def a_file_a_rank(folder: Path, lines: list[Line], rng: random.Random) -> list[Path]:
    return [write(folder / f"rank{rank}.log", texts(lines)) for rank in range(3)]


def among_noise(folder: Path, lines: list[Line], rng: random.Random) -> list[Path]:
    noise = (
        "  warnings.warn(",
        "+ export LD_LIBRARY_PATH=/usr/lib",
        "NCCL INFO Channel 00/02 :    0   1   2   3",
        "{'learning_rate': 1e-05}",
        "step: not a number",
        "iteration of the outer loop 3/ 5 | done",
        "\x00\x01" * 3,
        "loss: 3.5",
        "",
        "x" * 5000,
    )
    changed = []
    for text in texts(lines):
        changed += rng.sample(noise[:6] + noise[7:], rng.randrange(3)) + [text]
    return [write(folder / "train.log", changed)]


def killed(folder: Path, lines: list[Line], rng: random.Random) -> list[Path]:
    """The beginning of a line that was never finished at the end."""
    path = write(folder / "train.log", texts(lines))
    with path.open("a") as file:
        file.write(" [2025-03-05 09:00:00.0000")
    return [path]


CHANGES = (
    as_it_is,
    from_windows,
    packed,
    coloured,
    overwritten,
    a_file_an_attempt,
    rotated,
    of_several_ranks,
    a_file_a_rank,
    among_noise,
    killed,
)


def wrapped(folder: Path, lines: list[Line], rng: random.Random) -> list[Path]:
    """Lines of steps cut where a terminal of some width ends."""
    width = rng.randrange(90, 200)
    changed = []
    for text in texts(lines):
        while " iteration " in text[:60] and len(text) > width:
            changed.append(text[:width])
            text = text[width:]
        changed.append(text)
    return [write(folder / "train.log", changed)]


Change = Callable[[Path, list[Line], random.Random], list[Path]]


def run(program: str, paths: list[Path], *options: str) -> dict[str, Any]:
    done = subprocess.run(
        [program, "ettr", "--json", "--top", "0", *options, *map(str, paths)],
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)["ranks"][0]["sections"]


LEAST_LOSS = 0.02


def problems_of_loss(told: dict[str, Any]) -> list[str]:
    """The largest loss is named where it takes 2 % of the job; a slow first step may be larger."""
    shares = {
        row["key"]: row["share"] or 0
        for row in told["tables"]["accounts"]["rows"]
        if row["key"] not in ("job", "kept_steps", "loading_checkpoints")
    }
    names = [finding["id"] for finding in told["findings"] if finding.get("id")]
    if names in (["first_step"], ["not_one_run"]):
        return []
    largest = max(shares, key=lambda key: shares[key])
    wanted = [largest] if shares[largest] >= LEAST_LOSS + 1e-9 else []
    if names == wanted or (names and shares.get(names[0]) == shares[largest]):
        return []
    return [f"the largest loss is {wanted} ({shares[largest]:.4f}), named is {names}"]


def problems_of(job: Job, sections: dict[str, Any]) -> list[str]:
    told, problems = sections["job"], []
    rows = {row["account"]: row for row in told["tables"]["accounts"]["rows"]}
    times = job.accounts()
    for account in ACCOUNTS:
        if account == "startup" and times[account] == 0 and rows[account]["time"] is None:
            continue  # no line is of a time before the first step
        if account == "skipped updates" and not job.tells_skipped:
            if rows[account]["time"] is not None or rows[account]["share"] is not None:
                problems.append(f"{account}: {rows[account]}, though nothing tells")
            continue
        if rows[account]["time"] != times[account] * 1_000_000:
            problems.append(
                f"{account}: {rows[account]['time']} ns, {times[account]} ms were built"
            )
    total = sum(times.values())
    if rows["the job"]["time"] != total * 1_000_000:
        problems.append(f"in all {rows['the job']['time']} ns, {total} ms were built")
    wanted = {
        "attempts": len(job.attempts),
        "steps_made": job.steps_made(),
        "steps_kept": job.steps_made() - job.steps_discarded(),
    }
    for key, value in wanted.items():
        if told["numbers"][key]["value"] != value:
            problems.append(f"{key}: {told['numbers'][key]['value']}, {value} were built")
    ettr = told["numbers"]["ettr"]["value"]
    if ettr is None or abs(ettr - times["kept steps"] / total) > 1e-12:
        problems.append(f"ETTR {ettr}, {times['kept steps'] / total} was built")
    return problems + problems_of_loss(told)


def plain(job: Job, *parts: str) -> Job:
    """What the format cannot tell did not happen."""
    for attempt in job.attempts:
        moved = 0
        for interval in attempt.intervals:
            interval.end_ms -= moved
            for part in parts:
                if part != "skipped":
                    moved += getattr(interval, part)
                setattr(interval, part, 0)
        attempt.end_ms -= moved
    job.tells_skipped = "skipped" not in parts
    return job


def check_megatron(program: str, seed: int, folder: Path) -> list[str]:
    rng, job = random.Random(seed), make_job(seed)
    change = (*CHANGES, wrapped)[seed % (len(CHANGES) + 1)]
    paths = change(folder, megatron_lines(job), rng)
    return [f"{change.__name__}: {text}" for text in problems_of(job, run(program, paths))]


def check_clock(program: str, seed: int, folder: Path) -> list[str]:
    """The clock goes back behind a line in whose wake nothing else happened."""
    rng, job = random.Random(seed), make_job(seed)
    places = [
        (number, index)
        for number, attempt in enumerate(job.attempts)
        for index, x in enumerate(attempt.intervals[:-1])
        if not x.pause_ms and not x.checkpoint_ms and not x.evaluation_ms
    ]
    place, shift_ms = rng.choice(places), rng.choice((3_000, 3_600_000, 86_400_000))
    following = job.attempts[place[0]].intervals[place[1] + 1]
    shift_ms += following.count * following.each_ms  # more than the tolerance for rounded lengths
    paths = [write(folder / "train.log", texts(megatron_lines(job, shift_ms, place)))]
    return [f"clock: {text}" for text in problems_of(job, run(program, paths))]


def check_torchtitan(program: str, seed: int, folder: Path) -> list[str]:
    job = plain(make_job(seed), "pause_ms", "evaluation_ms", "skipped")
    rng, change = random.Random(seed), CHANGES[seed % len(CHANGES)]
    if change is of_several_ranks:
        change = coloured
    paths = change(folder, torchtitan_lines(job), rng)
    return [f"{change.__name__}: {text}" for text in problems_of(job, run(program, paths))]


def check_internevo(program: str, seed: int, folder: Path) -> list[str]:
    job = plain(make_job(seed, 5, (1,)), "pause_ms", "evaluation_ms")
    for attempt in job.attempts:  # the length of the first step is not told: none
        first = attempt.intervals[0]
        attempt.training_ms = first.end_ms
        first.each_ms = first.skipped = 0  # nor what was skipped before it
    rng, change = random.Random(seed), CHANGES[seed % len(CHANGES)]
    paths = change(folder, internevo_lines(job), rng)
    return [f"{change.__name__}: {text}" for text in problems_of(job, run(program, paths))]


def check_mlperf(program: str, seed: int, folder: Path) -> list[str]:
    job = plain(make_job(seed, 3, (1,)), "checkpoint_ms", "skipped")
    rng, change = random.Random(seed), CHANGES[seed % len(CHANGES)]
    paths = change(folder, mlperf_lines(job), rng)
    return [f"{change.__name__}: {text}" for text in problems_of(job, run(program, paths))]


def check_runs(program: str, seed: int, folder: Path) -> list[str]:
    """Of complete runs one after another nothing is discarded but what an attempt of the same run made again."""
    change = (as_it_is, coloured, a_file_an_attempt, packed)[seed // 2 % 4]
    if seed % 2:
        job = make_runs(seed, 3, (1, 5))
        lines = megatron_lines(job)
    else:
        job = plain(make_runs(seed, 2, (1,)), "checkpoint_ms", "skipped")
        lines = mlperf_lines(job)
    paths = change(folder, lines, random.Random(seed))
    return [f"{change.__name__}: {text}" for text in problems_of(job, run(program, paths))]


def check_trainer(program: str, seed: int, folder: Path) -> list[str]:
    """No times of day, only those of a bar: what is told must be as built, and the rest not known."""
    job = plain(make_job(seed), "pause_ms", "checkpoint_ms", "skipped")
    for attempt in job.attempts:  # whole seconds
        at_ms = attempt.training_ms
        for x in attempt.intervals:
            x.each_ms = max(1, x.each_ms // 1000) * 1000
            x.evaluation_ms = x.evaluation_ms // 1000 * 1000
            at_ms += x.each_ms * x.count
            x.end_ms = at_ms
            at_ms += x.evaluation_ms
    paths = []
    for number, attempt in enumerate(job.attempts):
        path = folder / f"attempt{number}.log"
        path.write_text(trainer_text(attempt, job.last_step))
        paths.append(path)
    sections = run(program, paths)
    rows = {row["account"]: row for row in sections["job"]["tables"]["accounts"]["rows"]}
    times, problems = job.accounts(), []
    for account in ("kept steps", "discarded steps", "evaluations"):
        last = job.attempts[-1].intervals[-1]
        built = times[account] * 1_000_000
        if rows[account]["time"] != built:
            problems.append(
                f"{account}: {rows[account]['time']} ns, {built} ns were built ({last.last_step})"
            )
    for account in ("downtime", "startup", "hang and detection"):
        if "time" not in rows[account]["not_known"]:
            problems.append(f"{account} is told")
    if sections["job"]["numbers"]["steps_made"]["value"] != job.steps_made():
        problems.append("steps made")
    return problems


def check_pattern(program: str, seed: int, folder: Path) -> list[str]:
    job = plain(make_job(seed), "pause_ms", "checkpoint_ms", "evaluation_ms")
    for attempt in job.attempts:  # nothing but steps is told
        attempt.start_ms = attempt.training_ms
        attempt.end_ms = attempt.intervals[-1].end_ms
    change = (as_it_is, from_windows, packed, coloured, overwritten, among_noise)[seed % 6]
    paths = change(folder, own_lines(job), random.Random(seed))
    pattern = r"^at (?P<time>[^ ]+ [^ ]+): it (?P<step>\d+) of (?P<last_step>\d+), (?P<ms>[0-9.]+) ms each, (?<skipped>\d+) bad$"
    return problems_of(job, run(program, paths, "--pattern", pattern))


CHECKS = (
    check_megatron,
    check_clock,
    check_torchtitan,
    check_internevo,
    check_mlperf,
    check_runs,
    check_trainer,
    check_pattern,
)


def check(program: Path, seed: int, folder: Path) -> list[str]:
    kind = CHECKS[seed % len(CHECKS)]
    problems = kind(str(program), seed // len(CHECKS), folder)
    return [f"{kind.__name__}, seed {seed}: {problem}" for problem in problems]


if __name__ == "__main__":
    run_seeds(check, 400)
