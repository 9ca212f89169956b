"""kill -9 in every phase of writing: an output is as it was, as it shall be, or not there; what is left goes with the next one."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
from pathlib import Path

from attack_outputs import FOLDER, Outputs, Writer, files_below
from trying import Book, Kind, Outcome, main, run_once

# The calls that change files. A run is killed at one of them.
CALLS = "openat,write,pwrite64,writev,ftruncate,fsync,fdatasync,rename,renameat2,mkdir,unlink,rmdir,flock"
ENDING = "flopledger-part"  # of the name of what is half written
OLD = b"an old page"
KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)


def strace_works() -> bool:
    """It may be missing, or forbidden."""
    inject = "inject=write:signal=KILL:when=1"
    words = ["strace", "-f", "-o", "/dev/null", "-e", inject, "echo", "x"]
    try:
        done = subprocess.run(words, capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode in KILLED


class Killed:
    """A command that writes, killed in each phase of it."""

    def __init__(self, book: Book, kind: Kind, outputs: Outputs, writer: Writer) -> None:
        self.book, self.kind, self.outputs, self.writer = book, kind, outputs, writer
        folder = self.fresh(False)
        self.run(folder)
        self.right = self.written(folder)
        kind.expect(bool(self.right), f"{writer}: writes nothing")
        shutil.rmtree(folder)

    def fresh(self, has_old: bool) -> Path:
        """With a copy of what is read, and maybe with an output of before."""
        folder = self.outputs.fresh()
        self.outputs.given(self.writer, folder)
        if has_old and self.writer.kind == FOLDER:
            (folder / "out").mkdir()
            (folder / "out" / "note.txt").write_bytes(OLD)
        elif has_old:
            (folder / "out").write_bytes(OLD)
        return folder

    def words(self) -> list[str | Path]:
        given = self.outputs.data[self.writer.reads].name if self.writer.reads else "."
        return [self.book.program, *self.writer.arguments(Path(given), Path("out"))]

    def run(self, folder: Path, *before: str) -> None:
        outcome = run_once([*before, *self.words()], 60, cwd=folder)
        self.kind.note(outcome, str(self.writer))
        is_done = outcome.status in (0, 5)
        self.kind.expect(is_done, f"{self.writer}: {outcome.status}: {outcome.errors[-300:]!r}")

    def written(self, folder: Path) -> dict[str, bytes]:
        """What stands under its last name."""
        out = folder / "out"
        if out.is_dir():
            return {name: text for name, text in files_below(out).items() if ENDING not in name}
        return {"": out.read_bytes()} if out.exists() else {}

    def phases(self) -> list[int]:
        """The numbers of the calls, from the first for the output on: all, or some."""
        folder = self.fresh(False)
        log = folder / "calls"
        self.run(folder, "strace", "-f", "-o", str(log), "-e", f"trace={CALLS}")
        calls = [line for line in log.read_text(errors="replace").splitlines() if "(" in line]
        shutil.rmtree(folder)
        first = next((i for i, call in enumerate(calls) if ENDING in call), 0)
        numbers = list(range(first + 1, len(calls) + 1))
        few = min(len(numbers), self.book.count(2, 100))
        chance = random.Random(str(self.writer))
        return sorted({*numbers[1:3], *numbers[-3:], *chance.sample(numbers, few)})

    def kill(self, number: int, has_old: bool) -> None:
        folder = self.fresh(has_old)
        old = self.written(folder)
        inject = f"inject={CALLS}:signal=KILL:when={number}"
        before = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={CALLS}", "-e", inject]
        outcome = run_once([*before, *self.words()], 60, cwd=folder)
        what = f"{self.writer}, call {number}{', over an old one' if has_old else ''}"
        is_right = outcome.status in (0, 5, *KILLED)
        self.kind.expect(is_right, f"{what}: {outcome.status}: {outcome.errors[-300:]!r}")
        told = Outcome(0, b"", b"", outcome.seconds, 0, outcome.has_hung)  # no crash
        self.kind.note(told, what)
        self.expect_whole(what, old, self.written(folder))
        self.run(folder)
        left = [str(path) for path in folder.rglob(f"*{ENDING}*")]
        self.kind.expect(not left, f"{what}: {left} stay, though it is written again")
        shutil.rmtree(folder)

    def expect_whole(self, what: str, old: dict[str, bytes], found: dict[str, bytes]) -> None:
        if self.writer.kind == FOLDER and old:  # its files are moved into it one by one
            wanted = {**self.right, **old}
            wrong = [name for name in found if found[name] != wanted.get(name)]
            self.kind.expect(not wrong, f"{what}: {wrong} are neither old nor new")
            self.kind.expect(set(old) <= set(found), f"{what}: what was there is gone")
        else:
            self.kind.expect(found in (old, self.right), f"{what}: half of it: {sorted(found)}")


def attack(book: Book) -> None:
    if not strace_works():
        book.skip("kill -9 while an output is written", "strace is missing, or may not do it")
        return
    book.folder.chmod(0o755)
    outputs = Outputs(book)
    with book.kind("kill -9 while an output is written") as kind:
        for writer in outputs.writers:
            killed = Killed(book, kind, outputs, writer)
            cases = [(number, old) for number in killed.phases() for old in (False, True)]
            kind.for_each(cases, lambda case: killed.kill(*case))


if __name__ == "__main__":
    main(__doc__, attack)
