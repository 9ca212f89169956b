"""Answers that --cache has kept: damaged, of other files, of other folders, and files that changed since. None is believed."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from trying import ROOT, Book, Kind, Outcome, main

EXAMPLE = ROOT / "examples" / "traces"


class Asked:
    """A trace, a folder of answers, and what the program says without them."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.kind = kind
        self.folder = folder
        self.answers = folder.with_suffix(".answers")
        self.trace = folder / "trace.json"
        folder.mkdir()
        command = ["make_trace.py", "--seed", "5", "--steps", "2", "--output", self.trace]
        self.run_script(*command)
        self.settle()

    def run_script(self, name: str | Path, *words: str | Path) -> None:
        command = [sys.executable, ROOT / "tests" / "generate" / name, *words]
        subprocess.run([str(word) for word in command], check=True, capture_output=True)

    def settle(self) -> None:
        """A file is taken for finished where its last write lies a tick of the kernel's clock back."""
        subprocess.run(["sleep", "0.05"], check=True)

    def ask(self, *more: str) -> Outcome:
        return self.kind.try_program(
            ["report", "--json", *more, self.trace],
            environment={"FLOPLEDGER_CACHE": str(self.answers)},
        )

    def check(self, what: str) -> None:
        """Asks, and compares with the answer that is made anew."""
        kept, new = self.ask(), self.ask("--no-cache")
        self.kind.expect(
            (kept.status, kept.output, kept.errors) == (new.status, new.output, new.errors),
            f"{what}: the answer is not that of the file (exit {kept.status}, {new.status})",
        )

    def answer(self) -> Path:
        """The one that is kept."""
        found = list(self.answers.glob("*.answer"))
        self.kind.expect(len(found) == 1, f"{len(found)} answers are kept, not 1")
        return found[0]


def mutations(content: bytes, others: list[bytes], count: int) -> list[tuple[str, bytes]]:
    rolls = random.Random(26)
    found = [("empty", b""), ("doubled", content * 2), ("longer", content + b"\0")]
    found += [(f"another's {i}", other) for i, other in enumerate(others)]
    for _ in range(count):
        at = rolls.randrange(len(content))
        found.append((f"cut at {at}", content[:at]))
        flipped = bytearray(content)
        flipped[at] ^= 1 << rolls.randrange(8)
        found.append((f"byte {at} flipped", bytes(flipped)))
    return found


def try_pages(asked: Asked, page: Path, count: int) -> None:
    """Of HTML the finished page is kept: given back to the byte, and never to who asks for JSON."""

    def ask_page(*more: str) -> bytes:
        page.unlink(missing_ok=True)
        found = asked.ask(f"--html={page}", *more)
        asked.kind.expect(found.status == 0, f"no page: {found.errors!r}")
        return page.read_bytes() if page.exists() else b""

    shutil.rmtree(asked.answers)
    new = ask_page("--no-cache")
    asked.kind.expect(ask_page() == new, "the page that is kept is not that of the file")
    place = asked.answer()
    content = place.read_bytes()
    asked.kind.expect(new in content, "the page is not kept as it is")
    asked.kind.expect(ask_page() == new, "the page comes back changed")
    for name, damaged in mutations(content, [content[: -len(new)]], count):
        place.write_bytes(damaged)
        asked.kind.expect(ask_page() == new, f"page, {name}: believed")
    asked.check("asked as JSON")


def attack_answers(book: Book) -> None:
    with book.kind("answer of the cache, damaged, cut or another's") as kind:
        asked, foreign = Asked(kind, book.folder / "own"), Asked(kind, book.folder / "foreign")
        expected = asked.ask().output
        content = asked.answer().read_bytes()
        foreign.ask()
        place = asked.answer()
        asked.ask("--top", "3")
        other = next(path for path in asked.answers.glob("*.answer") if path != place)
        others = [other.read_bytes(), foreign.answer().read_bytes()]
        for name, damaged in mutations(content, others, book.count(25, 2000)):
            place.write_bytes(damaged)
            found = asked.ask()
            kind.expect(found.output == expected and found.status == 0, f"{name}: believed")
            kind.expect(place.read_bytes() == content or len(place.read_bytes()) == len(content),
                        f"{name}: not replaced by a right one")  # fmt: skip
        (asked.answers / "secret").write_bytes(os.urandom(16))
        asked.check("another secret")
        try_pages(asked, book.folder / "page.html", book.count(2, 200))


def keep_times(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Other bytes, as many, and the times of before: only the kernel's change time tells."""
    times = path.stat()
    path.write_bytes(change(path.read_bytes()))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def attack_changes(book: Book) -> None:
    with book.kind("answer of the cache, its files changed since") as kind:
        asked = Asked(kind, book.folder / "changed")
        asked.check("new")
        before = asked.trace.read_bytes()
        capture = asked.folder / "capture.json"

        def slower(content: bytes) -> bytes:
            return content.replace(b'"dur": 1', b'"dur": 2', 40).replace(b'"dur":1', b'"dur":2', 40)

        kind.expect(slower(before) != before, "the trace has no duration to change")
        keep_times(asked.trace, slower)
        asked.check("the same size and times")
        asked.settle()
        asked.check("the same size and times, kept")
        asked.trace.write_bytes(before)
        asked.check("as it was")
        asked.trace.write_bytes(before[: len(before) // 2])
        asked.check("cut")
        asked.trace.write_bytes(before)
        described = (
            next(EXAMPLE.rglob("capture.json")).read_bytes()
            if list(EXAMPLE.rglob("capture.json"))
            else b'{"format": 1, "world_size": 7}'
        )
        for name, content in (
            ("a description appears", described),
            ("it changes", b'{"format": 1, "world_size": 8}'),
            ("it is damaged", b"{"),
        ):
            capture.write_bytes(content)
            asked.check(name)
            asked.settle()
            asked.check(f"{name}, kept")
        capture.unlink()
        asked.check("it is gone")
        asked.trace.unlink()
        asked.check("the trace is gone")
        shutil.copy(book.folder / "own" / "trace.json", asked.trace)
        asked.check("another file in its place")


def attack_places(book: Book) -> None:
    with book.kind("folder of the cache: full, a file, writable by others") as kind:
        asked = Asked(kind, book.folder / "places")
        new = asked.ask("--no-cache").output
        limited = kind.try_program(
            ["report", "--json", asked.trace],
            environment={"FLOPLEDGER_CACHE": str(asked.answers)},
            preexec_fn=lambda: __import__("resource").setrlimit(
                __import__("resource").RLIMIT_FSIZE, (20_000, 20_000)
            ),
        )
        kept = [path.name for path in asked.answers.iterdir() if path.name != "secret"]
        kind.expect(limited.status == 0 or b"standard output" in limited.errors, "a full disk")
        kind.expect(not kept, f"of a full disk is left: {kept}")
        asked.answers.chmod(0o777)
        refused = asked.ask()
        kind.expect(refused.status == 1 and b"other users" in refused.errors, "others may write")
        shutil.rmtree(asked.answers)
        asked.answers.write_text("a file")
        refused = asked.ask()
        kind.expect(refused.status == 1 and b"cannot keep answers" in refused.errors, "a file")
        kind.expect(asked.ask("--no-cache").output == new, "--no-cache asks for no folder")


def attack_writers(book: Book) -> None:
    with book.kind("cache, several writers at once and some killed") as kind:
        asked = Asked(kind, book.folder / "writers")
        expected = asked.ask("--no-cache").output
        environment = dict(os.environ, FLOPLEDGER_CACHE=str(asked.answers))
        command = [str(book.program), "report", "--json", str(asked.trace)]
        for after in range(book.count(12, 300)):
            killed = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
            subprocess.run(["sleep", f"{after / 1000:.3f}"], check=True)
            killed.kill()
            killed.wait()
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(lambda _: asked.ask(), range(12)))
        kind.expect(all(one.output == expected for one in found), "another answer beside others")
        asked.ask("--top", "2")
        left = [path.name for path in asked.answers.iterdir() if not path.name.endswith("answer")]
        kind.expect(left == ["secret"], f"left over: {left}")


def attack(book: Book) -> None:
    attack_answers(book)
    attack_changes(book)
    attack_places(book)
    attack_writers(book)


if __name__ == "__main__":
    main(__doc__, attack)
