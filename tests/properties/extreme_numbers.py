#!/usr/bin/env python3
"""Numbers at the ends of what can be written, in every place of every format that the program reads.

    extreme_numbers.py PROGRAM [--count N] [--seed S]

PROGRAM is one with sanitizers: an overflow in arithmetic on what a file says shows itself there, and nowhere else. Of each
input some numbers are replaced by such ones, in text, in databases and in pickles that are written anew. Every command that
reads the input must end by itself with a known code. Ends with a line of counts.
"""

from __future__ import annotations

import argparse
import gzip
import os
import pickle
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "traces" / "golden"
GENERATE = ROOT / "tests" / "generate"
CODES = {0, 2, 3, 4, 5}
TROUBLE = re.compile(r"runtime error|Sanitizer|internal error")
NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
WHOLE = [-(2**63), 2**63 - 1, 2**53, -1, 0, 2**31, 2**32, 2**62, -(2**62), 1, 10**18]
EXTREMES = [*(str(number) for number in WHOLE), str(2**64), "1e308", "-1e308", "1e-308", "1e18"]

Change = Callable[[Path, random.Random], None]


def change_text(path: Path, rng: random.Random) -> None:
    data = path.read_bytes()
    is_packed = data[:2] == b"\x1f\x8b"
    text = gzip.decompress(data) if is_packed else data
    places = list(NUMBER.finditer(text))
    for match in sorted(
        rng.sample(places, min(len(places), rng.choice((1, 2, 8)))), key=lambda m: -m.start()
    ):
        text = text[: match.start()] + rng.choice(EXTREMES).encode() + text[match.end() :]
    path.write_bytes(gzip.compress(text, 1, mtime=0) if is_packed else text)


def change_database(path: Path, rng: random.Random) -> None:
    with sqlite3.connect(path) as database:
        tables = [
            name
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        filled = [name for name in tables if database.execute(f'SELECT 1 FROM "{name}"').fetchone()]
        for _ in range(rng.choice((1, 2, 5))):
            table = rng.choice(filled)
            columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            rows = [row for (row,) in database.execute(f'SELECT rowid FROM "{table}"')]
            column, row = rng.choice(columns), rng.choice(rows)
            database.execute(
                f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (rng.choice(WHOLE), row)
            )
    database.close()


def places_in(thing: Any) -> list[tuple[Any, Any]]:
    """Container and key of every number below."""
    found, open_things = [], [thing]
    while open_things:
        container = open_things.pop()
        pairs = container.items() if isinstance(container, dict) else enumerate(container)
        for key, value in pairs:
            if isinstance(value, (dict, list)):
                open_things.append(value)
            elif isinstance(value, int):
                found.append((container, key))
    return found


def change_pickle(path: Path, rng: random.Random) -> None:
    thing = pickle.loads(path.read_bytes())
    places = places_in(thing)
    for container, key in rng.sample(places, min(len(places), rng.choice((1, 2, 8)))):
        container[key] = rng.choice([*WHOLE, 2**64, 1.5e300])
    path.write_bytes(pickle.dumps(thing))


def inputs(folder: Path) -> list[tuple[Path, str, Change, list[list[str]]]]:
    """What is read, the file in it that is changed, how, and the commands ({} is what is read)."""
    database, snapshot = folder / "run.sqlite", folder / "snapshot.pickle"
    make = [sys.executable, str(GENERATE / "nsys_database.py"), "--steps", "2", "--blocks", "1"]
    subprocess.run([*make, "--metrics", "--payloads", "--output", str(database)], check=True)
    make = [sys.executable, str(GENERATE / "make_snapshot.py"), "--steps", "2", "--layers", "2"]
    subprocess.run([*make, str(snapshot)], check=True)
    reports = [
        ["report", "--all", "{}"],
        ["report", "--json", "{}"],
        ["inspect", "{}"],
        ["flops", "{}"],
    ]
    ettr = [["ettr", "--all", "{}"], ["ettr", "--json", "{}"]]
    logs = [path for path in sorted((GOLDEN / "job").iterdir()) if path.is_file()]
    return [
        (
            GOLDEN / "what_if" / "training.json",
            "",
            change_text,
            [*reports, ["report", "--what-if", "sync=0", "{}"]],
        ),
        (GOLDEN / "products", "made.json", change_text, reports),
        (GOLDEN / "products", "capture.json", change_text, reports),
        (
            GOLDEN / "memory_run",
            "capture.json",
            change_text,
            [["memory", "{}"], ["report", "--json", "{}"]],
        ),
        (GOLDEN / "memory_run", "steps3-4.memory.json", change_text, [["memory", "--all", "{}"]]),
        (
            GOLDEN / "memory_run",
            "steps3-4.pt.trace.json.gz",
            change_text,
            [["memory", "--json", "{}"]],
        ),
        (
            GOLDEN / "queued_ranks",
            "rank1.json",
            change_text,
            [["report", "--json", "{}"], ["report", "--all", "{}"]],
        ),
        (GOLDEN / "pipeline_ranks", "rank1.json", change_text, [["report", "--all", "{}"]]),
        (GOLDEN / "ascend_trace_view.json", "", change_text, [["report", "{}"], ["inspect", "{}"]]),
        (
            GOLDEN / "flight" / "stopped",
            "nccl_trace_rank_3",
            change_pickle,
            [["ranks", "{}"], ["ranks", "--json", "{}"]],
        ),
        (database, "", change_database, [*reports, ["nsys-stats", "{}"]]),
        (snapshot, "", change_pickle, [["memory", "--all", "{}"], ["memory", "--json", "{}"]]),
        *((log, "", change_text, ettr) for log in logs),
    ]


def problem_of(program: str, command: list[str], subject: Path) -> str | None:
    words = [program, *(word.replace("{}", str(subject)) for word in command)]
    environment = {
        **os.environ,
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    try:
        done = subprocess.run(words, capture_output=True, check=False, timeout=60, env=environment)
    except subprocess.TimeoutExpired:
        return "does not end"
    said = done.stderr.decode(errors="replace")
    if done.returncode in CODES and not TROUBLE.search(said):
        return None
    return f"exit {done.returncode}: {said[:1500]}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=4, help="changes of each input")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="flopledger-extremes-") as name:
        folder = Path(name)
        for source, file, change, commands in inputs(folder):
            for seed in range(given.seed, given.seed + given.count):
                rng = random.Random(f"{source.name} {file} {seed}")
                subject = folder / f"changed-{source.name}"
                if source.is_dir():
                    shutil.copytree(source, subject, dirs_exist_ok=True)
                else:
                    shutil.copyfile(source, subject)
                change(subject / file if file else subject, rng)
                for command in commands:
                    problem = problem_of(given.program, command, subject)
                    passed, failed = passed + (problem is None), failed + (problem is not None)
                    if problem:
                        print(
                            f"FAILED: {' '.join(command)}: {source.name} {file}, seed {seed}: {problem}"
                        )
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
