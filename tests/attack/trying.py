"""The frame of the attacks: runs the program on what may hurt it, and keeps the books of what it did.

An attack is a file tests/attack/attack_NAME.py whose main is

    def attack(book: Book) -> None:
        with book.kind("gzip, one bit flipped") as kind:
            for ...:
                outcome = kind.try_program(["report", path], size=path.stat().st_size)
                kind.expect(outcome.status == 5, f"{path}: exit {outcome.status}")

    if __name__ == "__main__":
        main(__doc__, attack)

Each kind is a row of the table in docs/security.md. A crash (a signal, an abort, a sanitizer's word), a hang (over the
limit) and what `expect` finds wrong fail the kind. tests/attack/run runs all of them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[2]
SANITIZER_WORDS = (b"AddressSanitizer", b"runtime error:", b"ThreadSanitizer", b"LeakSanitizer")
SIZE_MIN = 100_000  # what a program takes for itself says nothing of a smaller file
Case = TypeVar("Case")


@dataclass
class Row:
    """One line of the table."""

    kind: str
    tries: int = 0
    crashes: int = 0
    hangs: int = 0
    wrong: int = 0
    memory_ratio: float = 0.0  # the most memory of a try, by its file's size, of SIZE_MIN at least
    memory_bytes: int = 0  # the most memory of a try
    seconds: float = 0.0  # the longest try


@dataclass
class Outcome:
    status: int  # below 0: ended by this signal
    output: bytes
    errors: bytes
    seconds: float
    peak_bytes: int  # 0: no more than this script takes itself, which hides it
    has_hung: bool

    @property
    def has_crashed(self) -> bool:
        said = any(word in self.errors for word in SANITIZER_WORDS)
        return not self.has_hung and (self.status < 0 or self.status in (134, 139) or said)


def forget_own_peak() -> int:
    """What this script takes now. Until a child is the program, its peak is that of this script, of all of its time."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def run_once(
    command: list[str | Path],
    limit_s: float,
    standard_input: bytes = b"",
    environment: dict[str, str] | None = None,
    **more: Any,
) -> Outcome:
    """Runs it to its end or its limit; measures its time and its memory."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        with tempfile.TemporaryFile() as given:
            given.write(standard_input)
            given.seek(0)
            began = time.monotonic()
            own_bytes = forget_own_peak()
            process = subprocess.Popen(
                [str(word) for word in command],
                stdin=given,
                stdout=output,
                stderr=errors,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
                **more,
            )
        has_hung = threading.Event()

        def stop() -> None:
            has_hung.set()
            os.killpg(process.pid, signal.SIGKILL)

        watch = threading.Timer(limit_s, stop)
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        watch.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        return Outcome(
            process.returncode,
            output.read(1 << 26),
            errors.read(1 << 20),
            time.monotonic() - began,
            usage.ru_maxrss * 1024 if usage.ru_maxrss * 1024 > own_bytes else 0,
            has_hung.is_set(),
        )


class Kind:
    """One kind of attack: what is tried, and what came of it. Threads may share it."""

    def __init__(self, book: Book, name: str) -> None:
        self.book = book
        self.row = Row(name)
        self.failures: list[str] = []
        self.lock = threading.Lock()

    def fail(self, what: str) -> None:
        with self.lock:
            self.row.wrong += 1
            self.failures.append(what)

    def expect(self, is_right: bool, otherwise: str) -> bool:
        if not is_right:
            self.fail(otherwise)
        return is_right

    def note(self, outcome: Outcome, words: str, size: int = 0) -> None:
        """Books a try; `size`: of the file attacked with."""
        with self.lock:
            row = self.row
            row.tries += 1
            row.crashes += outcome.has_crashed
            row.hangs += outcome.has_hung
            row.seconds = max(row.seconds, outcome.seconds)
            row.memory_bytes = max(row.memory_bytes, outcome.peak_bytes)
            if size >= SIZE_MIN:
                row.memory_ratio = max(row.memory_ratio, outcome.peak_bytes / size)
            if outcome.has_crashed or outcome.has_hung:
                how = "hung" if outcome.has_hung else f"crashed ({outcome.status})"
                said = outcome.errors[-800:].decode(errors="replace")
                self.failures.append(f"{how}: {words}\n{said}")

    def try_program(
        self, arguments: list[str | Path], size: int = 0, limit_s: float = 30, **more: Any
    ) -> Outcome:
        """Runs the program with these arguments, and books it."""
        outcome = run_once([self.book.program, *arguments], limit_s, **more)
        self.note(outcome, " ".join(str(word) for word in arguments), size)
        return outcome

    def for_each(self, cases: Iterable[Case], try_one: Callable[[Case], None]) -> None:
        """Calls it with each, several at once."""
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            list(pool.map(try_one, cases))


class Book:
    """What all kinds of an attack share."""

    def __init__(self, program: Path, folder: Path, is_long: bool, only: list[str]) -> None:
        self.program = program
        self.only = only  # what an attack that has parts is to try; empty: all
        self.folder = folder  # for files of the attack; goes with it
        self.is_long = is_long
        self.rows: list[Row] = []
        self.passed = self.failed = self.skipped = 0

    def count(self, usual: int, long: int) -> int:
        """How often to try something."""
        return long if self.is_long else usual

    @contextmanager
    def kind(self, name: str) -> Iterator[Kind]:
        kind = Kind(self, name)
        yield kind
        row = kind.row
        has_failed = bool(row.crashes or row.hangs or row.wrong)
        self.rows.append(row)
        self.failed += has_failed
        self.passed += not has_failed
        print(f"{'FAILED' if has_failed else 'ok    '} {name}: {row.tries} tries", flush=True)
        for failure in kind.failures[:20]:
            print("    " + failure.replace("\n", "\n    "))
        if len(kind.failures) > 20:
            print(f"    and {len(kind.failures) - 20} more")

    def skip(self, name: str, why: str) -> None:
        self.skipped += 1
        print(f"skipped {name}: {why}", flush=True)


def main(about: str | None, attack: Callable[[Book], None]) -> None:
    """PROGRAM [PART...] [--json FILE] [--long]"""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("program", type=Path)
    parser.add_argument("only", nargs="*", help="parts of an attack that has any: only these")
    parser.add_argument("--json", type=Path, help="write the rows of the table to this file")
    parser.add_argument(
        "--long", action="store_true", help="try more, for the better part of an hour"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="flopledger-attack-") as folder:
        book = Book(given.program.resolve(), Path(folder), given.long, given.only)
        attack(book)
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in book.rows]))
    print(f"{book.passed} passed, {book.failed} failed, {book.skipped} skipped")
    sys.exit(1 if book.failed else 0)
