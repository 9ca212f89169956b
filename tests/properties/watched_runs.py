#!/usr/bin/env python3
"""Every kind of command on generated inputs, watched: by ThreadSanitizer for data races, or by valgrind for what is read unset.

    watched_runs.py PROGRAM [--valgrind]

PROGRAM is one built with ThreadSanitizer, or, with --valgrind, a plain one. Ends with a line of counts.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

GENERATE = Path(__file__).resolve().parents[1] / "generate"
TROUBLE = (b"WARNING: ThreadSanitizer", b"== ERROR SUMMARY: ")
CLEAN = b"== ERROR SUMMARY: 0 errors"
VALGRIND = ["valgrind", "--error-exitcode=99", "--leak-check=no"]
# With as many threads as reading and writing can use.
RUNS = [
    ["report", "-j", "4", "--all", "trace.json"],
    ["report", "-j", "4", "--json", "trace.json.gz"],
    ["report", "-j", "4", "--what-if", "sync=0", "ranks"],
    ["report", "-j", "4", "--html", "{own}/page.html", "run.sqlite"],
    ["inspect", "-j", "4", "trace.json.gz"],
    ["flops", "-j", "4", "trace.json"],
    ["digest", "-j", "4", "ranks", "-o", "{own}/ranks.fld"],
    ["compare", "trace.json", "trace.json.gz"],
    ["export", "tensorboard", "-o", "{own}/tensorboard", "trace.json"],
    ["export", "chrome", "-o", "{own}/chrome.json", "ranks"],
    ["nsys-stats", "run.sqlite"],
    ["memory", "snapshot.pickle"],
]


def make_inputs(folder: Path, events: int) -> None:
    def make(script: str, *words: str) -> None:
        command = [sys.executable, str(GENERATE / script), *words]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)

    make("make_trace.py", "--seed", "3", "--events", str(events), "--output", "trace.json")
    make("many_ranks.py", "--layout", "dp=4", "--steps", "2", "ranks")
    make("nsys_database.py", "--ranks", "3", "--steps", "2", "--output", "run.sqlite")
    make("make_snapshot.py", "--steps", "3", "--layers", "3", "snapshot.pickle")
    packed = gzip.compress((folder / "trace.json").read_bytes(), 1, mtime=0)
    (folder / "trace.json.gz").write_bytes(packed)


def problem_of(watched: list[str], words: list[str], folder: Path) -> str | None:
    own = tempfile.mkdtemp(dir=folder)
    done = subprocess.run(
        [*watched, *(word.format(own=own) for word in words)],
        cwd=folder,
        env={**os.environ, "TSAN_OPTIONS": "halt_on_error=0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    said = done.stderr.replace(CLEAN, b"")
    if done.returncode == 0 and not any(word in said for word in TROUBLE):
        return None
    return f"{' '.join(words)}: exit {done.returncode}: {said[:3000].decode(errors='replace')}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=Path)
    parser.add_argument("--valgrind", action="store_true")
    given = parser.parse_args()
    if given.valgrind and shutil.which("valgrind") is None:
        print(f"needs valgrind\n0 passed, 0 failed, {len(RUNS)} skipped")
        return 0
    watched = [*(VALGRIND if given.valgrind else []), str(given.program.resolve())]
    with tempfile.TemporaryDirectory(prefix="flopledger-watched-") as name:
        folder = Path(name)
        make_inputs(folder, 3000 if given.valgrind else 30_000)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda words: problem_of(watched, words, folder), RUNS))
    problems = [problem for problem in found if problem]
    for problem in problems:
        print(f"FAILED: {problem}")
    print(f"{len(RUNS) - len(problems)} passed, {len(problems)} failed, 0 skipped")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
