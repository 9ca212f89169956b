#!/usr/bin/env python3
"""Whether two builds of the program answer the same, byte for byte: for a change that is to make it faster and nothing else.

    same_answers.py OLD NEW FOLDER... [--damaged N] [--seed S]

Each file below the folders is asked about by several commands. --damaged N: of each file of text also N copies that are
cut, or have bytes changed, doubled or left out, are inspected and reported: damage must be told in the same words.
"""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

COMMANDS = (
    ["inspect", "--json"],
    ["report", "--json"],
    ["report"],
    ["report", "--all", "-j", "1"],
    ["memory", "--json"],
    ["flops", "--json"],
    ["ranks", "--json"],
    ["ettr", "--json"],
    ["nsys-stats"],
    ["export", "jsonl"],
)
OF_DAMAGED = COMMANDS[:2]
LARGEST_DAMAGED_BYTES = 8 << 20
IN_TEXT = b'"\\{}[],: 0.-\n\x00\xffe'
SECONDS_MAX = 300


def answer(program: str, command: list[str], path: Path) -> tuple[int, bytes, bytes]:
    try:
        done = subprocess.run(
            [program, *command, path.name],
            cwd=path.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=SECONDS_MAX,
        )
    except subprocess.TimeoutExpired:
        return (-1, b"", b"did not end")
    return (done.returncode, done.stdout, done.stderr.replace(program.encode(), b"PROGRAM"))


def text_of(path: Path) -> bytes:
    raw = path.read_bytes()
    try:
        return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    except (OSError, EOFError, zlib.error):
        return b""


def damage(text: bytes, source: random.Random) -> bytes:
    """One to four changes, or a cut."""
    changed = bytearray(text)
    if source.random() < 0.2:
        return bytes(changed[: source.randrange(len(changed))])
    for _ in range(source.randint(1, 4)):
        at = source.randrange(len(changed))
        length = source.choice((1, 1, 1, 2, 7, 40, 300))
        kind = source.randrange(4)
        if kind == 0:
            changed[at] = source.choice(IN_TEXT)
        elif kind == 1:
            changed[at:at] = changed[at : at + length]
        elif kind == 2:
            del changed[at : at + length]
        else:
            changed[at:at] = bytes([source.choice(IN_TEXT)])
        if not changed:
            return b""
    return bytes(changed)


def questions(
    path: Path, number: int, copies: int, folder: Path, seed: int
) -> Iterator[tuple[Path, list[str]]]:
    for command in COMMANDS:
        yield path.resolve(), command
    source = random.Random(f"{seed} {number}")
    text = text_of(path) if copies else b""
    if text[:1] not in (b"{", b"[", b"\n", b" ") or len(text) > LARGEST_DAMAGED_BYTES:
        return
    for copy in range(copies):
        damaged = folder / f"{number}_{copy}_{path.name.removesuffix('.gz')}"
        damaged.write_bytes(damage(text, source))
        for command in OF_DAMAGED:
            yield damaged, command


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--damaged", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    old, new = (str(Path(program).resolve()) for program in (arguments.old, arguments.new))
    same = different = answered = 0

    def compare(question: tuple[Path, list[str]]) -> tuple[Path, list[str], bool, bool]:
        path, command = question
        before = answer(old, command, path)
        is_same = before == answer(new, command, path)
        return path, command, is_same, before[0] == 0

    files = [
        path for base in arguments.folders for path in sorted(base.rglob("*")) if path.is_file()
    ]
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(arguments.jobs) as threads:
        folder = Path(name)
        for number, path in enumerate(files):
            asked = questions(path, number, arguments.damaged, folder, arguments.seed)
            for about, command, is_same, is_answer in threads.map(compare, asked):
                same += is_same
                different += not is_same
                answered += is_answer
                if not is_same:
                    print("differs:", " ".join(command), about, flush=True)
                    if about.parent == folder:
                        print("  kept as", shutil.copy(about, tempfile.gettempdir()))
            for left in folder.iterdir():
                left.unlink()
    print(f"{same} the same ({answered} answers, the others refused), {different} different")
    return 1 if different or not answered else 0


if __name__ == "__main__":
    sys.exit(main())
