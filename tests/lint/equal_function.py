#!/usr/bin/env python3
"""Measures how large src/ is at equal function: what of today's .c files did the same on an older commit already.

equal_function.py [BASE [NOW]]     BASE is by default the commit on which the second house was drawn, NOW is HEAD

Each line of a .c file is asked for its commit (git blame, moves and copies followed, white space not counted). It is
  kept      if it stands in BASE, wherever it lay there;
  reworked  if a commit after BASE wrote it that changes nothing of what the program is seen to do: no golden, no page of
            docs/, no README and no CHANGELOG (moves, simplifications, speed, comments);
  added     if a commit wrote it that does change one of those.
A file is of BASE if a tenth of it is kept and half of it is kept or reworked. At equal function stand the files of BASE, their
lines but those added, and what is kept in other files. That is an estimate, and rather too high: a line reworked in a file of
BASE may serve what was added.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from source_files import ROOT

SECOND_HOUSE = "2eb6dbf"
SEEN = ("tests/golden/", "docs/", "CHANGELOG", "README")
HEADS = ("room", "files then", "now", "of BASE", "lines then", "now", "kept", "reworked", "added")
COMMENT = re.compile(r"\s*(?:/\*|\*/|\* )")


def git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def c_files(commit: str) -> list[str]:
    names = git("ls-tree", "-r", "--name-only", commit, "src").split()
    return [name for name in names if name.endswith(".c")]


def seen_commits(base: str, now: str) -> set[str]:
    """The commits that change what the program is seen to do."""
    found: set[str] = set()
    commit = ""
    for line in git("log", "--format=@%H", "--name-only", f"{base}..{now}").splitlines():
        if line.startswith("@"):
            commit = line[1:]
        elif line.startswith(SEEN):
            found.add(commit)
    return found


def origins(path: str, base: str, now: str, seen: set[str]) -> Counter[str]:
    """How many lines of a file are kept, reworked and added. Blame marks lines of BASE and before as its boundary."""
    counts: Counter[str] = Counter()
    origin = ""
    commit = ""
    for line in git(
        "blame", "-w", "-M", "-C", "--line-porcelain", f"{base}..{now}", "--", path
    ).split("\n"):
        if line.startswith("\t"):
            counts[origin] += 1
            counts[f"{origin} comments"] += bool(COMMENT.match(line[1:]))
            origin = ""
        elif not origin:
            commit = line.split(" ")[0]
            origin = "added" if commit in seen else "reworked"
        elif line == "boundary":
            origin = "kept"
    return counts


def lines_of(file: Counter[str]) -> int:
    return file["kept"] + file["reworked"] + file["added"]


def is_of_base(file: Counter[str]) -> bool:
    return 10 * file["kept"] >= lines_of(file) and 2 * file["added"] <= lines_of(file)


def room(path: str) -> str:
    return path.split("/")[1] if path.count("/") > 1 else "main.c"


def rows(base: str, now: str) -> Iterator[tuple[str, list[int]]]:
    """A room's name, its figures in the order of HEADS, and the comment lines at equal function then and now. The rooms of
    BASE that are none today come first, as one.
    """
    seen = seen_commits(base, now)
    today = c_files(now)
    with ThreadPoolExecutor(2) as pool:
        by_file = dict(zip(today, pool.map(lambda path: origins(path, base, now, seen), today)))
    older = {path: git("show", f"{base}:{path}").splitlines() for path in c_files(base)}
    names = sorted({room(path) for path in today})
    groups = [
        ("rooms of then", set(map(room, older)) - set(names)),
        *((name, {name}) for name in names),
    ]
    for name, group in groups:
        then = [lines for path, lines in older.items() if room(path) in group]
        here = [by_file[path] for path in today if room(path) in group]
        of_base = [file for file in here if is_of_base(file)]
        kept = sum(file["kept"] for file in here)
        reworked = sum(file["reworked"] for file in of_base)
        lines = sum(map(lines_of, here))
        yield name, [
            len(then),
            len(here),
            len(of_base),
            sum(map(len, then)),
            lines,
            kept,
            reworked,
            lines - kept - reworked,
            sum(bool(COMMENT.match(line)) for lines in then for line in lines),
            sum(file["kept comments"] for file in here)
            + sum(file["reworked comments"] for file in of_base),
        ]


def main() -> None:
    base = sys.argv[1] if len(sys.argv) > 1 else SECOND_HOUSE
    now = sys.argv[2] if len(sys.argv) > 2 else "HEAD"
    print(f"{HEADS[0]:14}" + "".join(f"{head:>11}" for head in HEADS[1:]))
    total = [0] * (len(HEADS) + 1)
    for name, figures in rows(base, now):
        total = [left + right for left, right in zip(total, figures)]
        print(f"{name:14}" + "".join(f"{figure:>11}" for figure in figures[:-2]))
    print(f"{'all':14}" + "".join(f"{figure:>11}" for figure in total[:-2]))
    files, files_now, of_base, lines, lines_now, kept, reworked, _, comments, comments_now = total
    print(
        f"at equal function: {files} -> {of_base} .c files, {lines} -> {kept + reworked} lines, without comments "
        f"{lines - comments} -> {kept + reworked - comments_now} (today in all: {files_now} files, {lines_now} lines)"
    )


if __name__ == "__main__":
    main()
