"""Each list of a file made long: four times as long may cost five times the instructions, so n log n, and no more.

Instructions are counted by valgrind, so that a busy machine changes nothing. What a run costs before it reads anything
(that of the same file with next to nothing in it) is taken off both counts.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from trying import ROOT, Book, Kind, main, run_once

sys.path.insert(0, str(ROOT / "tests" / "generate"))
import long_lists  # noqa: E402

RATIO_MAX = 5.0
LEAST = 2
TIMES = 4
COUNTED = re.compile(rb"I\s+refs:\s+([\d,]+)")
VALGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
TOO_LONG_S = 300


def bare_program(book: Book) -> Path:
    """A copy without symbols, which valgrind would read for longer than the program runs."""
    return book.folder / "bare"


@dataclass
class Run:
    """A command on a file with n of a thing."""

    name: str
    number: int  # of the command
    n: int
    count: int = 0  # of instructions
    has_answer: bool = True  # not refused, for its length, say

    def measure(self, kind: Kind) -> None:
        shape = long_lists.SHAPES[self.name]
        with tempfile.TemporaryDirectory(dir=kind.book.folder) as folder:
            inside = Path(folder) / "in"
            inside.mkdir()
            paths = shape.make(self.n, inside)
            given = {"PAGE": str(Path(folder) / "out"), "AGAIN": str(paths[0])}
            words = [given.get(word, word) for word in shape.commands[self.number]]
            command = [*VALGRIND, bare_program(kind.book), *words, *paths]
            outcome = run_once(command, TOO_LONG_S)
        kind.note(outcome, f"{self.name}, n = {self.n}: {' '.join(words)}")
        self.has_answer = outcome.status in (0, 5)
        found = COUNTED.search(outcome.errors)
        is_right = found is not None and outcome.status in (0, 3, 4, 5)
        kind.expect(is_right, f"{self.name}: exit {outcome.status}: {outcome.errors[-300:]!r}")
        self.count = int(found[1].replace(b",", b"")) if found else 0


def ratio_of(few: Run, many: Run, base: Run) -> float:
    """Where both are refused, nothing is taken off: they make no page, which the base makes."""
    made = base.count if few.has_answer else 0
    return (many.count - made) / max(1, few.count - made)


def try_all(kind: Kind, names: list[str]) -> None:
    runs: dict[tuple[str, int], list[Run]] = {}
    bases: dict[str, Run] = {}  # of each command, on the first shape that has it
    for name in names:
        shape = long_lists.SHAPES[name]
        tried = len(shape.commands) if kind.book.is_long or kind.book.only else shape.first
        n = kind.book.count(shape.usual, 4000)
        for number, words in enumerate(shape.commands[:tried]):
            bases.setdefault(str(words), Run(name, number, LEAST))
            runs[name, number] = [Run(name, number, size) for size in (n, TIMES * n)]
    every = [run for pair in runs.values() for run in pair] + list(bases.values())
    kind.for_each(every, lambda run: run.measure(kind))
    ratios = {
        which: ratio_of(few, many, bases[str(long_lists.SHAPES[few.name].commands[few.number])])
        for which, (few, many) in runs.items()
    }
    # What a command costs on next to nothing differs from shape to shape: those that seem to cost
    # too much are looked at beside their own.
    own = {which: Run(*which, LEAST) for which, ratio in ratios.items() if ratio > RATIO_MAX}
    kind.for_each(own.values(), lambda run: run.measure(kind))
    for which, base in own.items():
        ratios[which] = ratio_of(*runs[which], base)
    for (name, number), (few, many) in runs.items():
        words = long_lists.SHAPES[name].commands[number]
        ratio = ratios[name, number]
        told = f"{few.count:,} instructions with n = {few.n}, {many.count:,} with {many.n}"
        kind.expect(ratio <= RATIO_MAX, f"{name}: {words[0]}: {told}: {ratio:.1f} times")
        if kind.book.only:
            print(f"{name}: {words[0]}: {told}: {ratio:.1f} times")


def attack(book: Book) -> None:
    if not shutil.which("valgrind"):
        book.skip("complexity", "no valgrind")
        return
    subprocess.run(["strip", "-o", bare_program(book), book.program], check=True)
    with book.kind("each list four times as long: over 5 times the instructions") as kind:
        try_all(kind, book.only or list(long_lists.SHAPES))


if __name__ == "__main__":
    main(__doc__, attack)
