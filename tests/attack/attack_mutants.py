"""Mutants of every format that the program reads: it may refuse them, and never crash, hang or eat the memory."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mutating import mutant
from trying import ROOT, Book, Kind, main

TESTS = ROOT / "tests"
CORPUS = TESTS / "fuzz" / "corpus"
SIZE_MAX = 300_000
MEMORY_MAX = 256 << 20  # of a file of SIZE_MAX at most


@dataclass(frozen=True)
class Format:
    name: str
    samples: list[Path]
    file_name: str  # of a mutant; {} is its number
    commands: list[list[str]]
    usual: int
    long: int


def files(*patterns: str) -> list[Path]:
    """Of the project, small ones."""
    found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return [path for path in found if path.is_file() and 0 < path.stat().st_size < SIZE_MAX]


def generated(folder: Path) -> dict[str, Path]:
    """Files that the project does not keep, but makes."""
    make = TESTS / "generate"
    made = {"nsys": folder / "run.sqlite", "snapshot": folder / "snapshot.pickle"}
    made["pipeline"] = folder / "pipeline.json"
    words = {
        "nsys": ["nsys_database.py", "--seed", "7", "--steps", "2", "--output"],
        "snapshot": ["make_snapshot.py"],
        "pipeline": ["pipeline_timeline.py"],
    }
    for name, command in words.items():
        subprocess.run(
            [sys.executable, make / command[0], *command[1:], made[name]],
            check=True,
            capture_output=True,
        )
    return made


def formats(folder: Path) -> list[Format]:
    made = generated(folder)
    exports = [
        ["export", name, "-o", "OUT", "FILE"] for name in ("csv", "sqlite", "tensorboard", "chrome")
    ]
    lines = [["export", name, "FILE"] for name in ("jsonl", "prometheus")]
    traces = [["report", "FILE"], ["report", "--json", "FILE"], ["report", "--html", "OUT", "FILE"]]
    traces += [
        ["flops", "FILE"],
        ["memory", "FILE"],
        ["inspect", "FILE"],
        ["compare", "FILE", "FILE"],
    ]
    traces += [["digest", "-o", "OUT", "FILE"], ["report", "-f", "deepspeed", "FILE"]]
    logs = [["ettr", "FILE"], ["ettr", "--json", "FILE"]]
    return [
        Format(
            "torch.profiler JSON",
            files(
                "tests/traces/succeed/*.json",
                "tests/traces/golden/*.json",
                "tests/fuzz/corpus/torch_profiler_json/*",
            ),
            "trace{}.json",
            traces + exports + lines,
            3500,
            60000,
        ),
        Format(
            "training logs", files("tests/fuzz/corpus/read_log/*"), "train{}.log", logs, 2500, 40000
        ),
        Format(
            "nsys databases",
            [made["nsys"]],
            "run{}.sqlite",
            [["report", "FILE"], ["nsys-stats", "FILE"]],
            800,
            20000,
        ),
        Format(
            "memory snapshots",
            [made["snapshot"], *files("tests/fuzz/corpus/memory_snapshot/*")],
            "snapshot{}.pickle",
            [["memory", "FILE"], ["memory", "--html", "OUT", "FILE"]],
            1200,
            20000,
        ),
        Format(
            "dumps of flight recorders",
            files("tests/fuzz/corpus/flight_dump/*"),
            "dump{}_rank_0",
            [["ranks", "FILE"]],
            800,
            10000,
        ),
        Format(
            "digests",
            files("tests/fuzz/corpus/digest_set/*.fld"),
            "rank{}.fld",
            [["report", "FILE"]],
            800,
            10000,
        ),
        Format(
            "timings of pipelines",
            [made["pipeline"]],
            "pipeline{}.json",
            [["report", "FILE"]],
            500,
            5000,
        ),
        Format(
            "settings of models",
            files("tests/fuzz/corpus/architecture/*.json"),
            "config{}.json",
            [["flops", "--model", "FILE", "--seq", "1024"]],
            800,
            10000,
        ),
    ]


def try_mutant(book: Book, kind: Kind, form: Format, number: int) -> None:
    sample = form.samples[number % len(form.samples)]
    path = book.folder / form.file_name.format(number)
    output = book.folder / f"out{number}"
    data = mutant(sample.read_bytes(), number)
    path.write_bytes(data)
    words = form.commands[number // len(form.samples) % len(form.commands)]
    arguments = [{"FILE": str(path), "OUT": str(output)}.get(word, word) for word in words]
    outcome = kind.try_program(arguments, size=len(data))
    told = f"mutant {number} of {sample.name}: {' '.join(words)}: "
    kind.expect(outcome.status <= 7, f"{told}exit {outcome.status}")
    kind.expect(
        outcome.status == 0 or bool(outcome.errors), f"{told}exit {outcome.status} without a word"
    )
    if outcome.peak_bytes > MEMORY_MAX:
        kind.fail(f"{told}{outcome.peak_bytes >> 20} MiB")
    for left in itertools.chain([path], output.rglob("*"), [output]):
        if left.is_file():
            left.unlink()


def attack(book: Book) -> None:
    for form in formats(book.folder):
        with book.kind(f"mutants: {form.name}") as kind:
            numbers = range(book.count(form.usual, form.long))
            kind.for_each(numbers, lambda number: try_mutant(book, kind, form, number))


if __name__ == "__main__":
    main(__doc__, attack)
