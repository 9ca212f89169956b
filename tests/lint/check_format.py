#!/usr/bin/env python3
"""The C files are as clang-format 14 writes them, the Python files as Black does (where it is installed).

check_format.py          says which are not
check_format.py --fix    formats them (`./dev format`)
"""

import difflib
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from source_files import ROOT, project_files

VERSION = "14"  # another version lays out a few things in another way
COLUMNS = "100"


def find_clang_format() -> str | None:
    for name in (f"clang-format-{VERSION}", "clang-format"):
        program = shutil.which(name)
        if program:
            said = subprocess.run(
                [program, "--version"], capture_output=True, text=True, check=True
            )
            if re.search(rf"version {VERSION}\.", said.stdout):
                return program
    return None


def find_black() -> str | None:
    in_venv = ROOT / "build" / "venv" / "bin" / "black"
    return str(in_venv) if in_venv.exists() else shutil.which("black")


def formatted(command: list[str], path: Path) -> str:
    """The text as it should be. A file that the tool cannot read stays as it is, and the tool says why."""
    text = (ROOT / path).read_text()
    command = [f"{word}{path}" if word == "--assume-filename=" else word for word in command]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, cwd=ROOT
    )
    if done.returncode != 0:
        print(f"{path}: {done.stderr.strip()}")
        return text
    return done.stdout


def first_difference(path: Path, now: str, wanted: str) -> str:
    lines = difflib.unified_diff(
        now.splitlines(), wanted.splitlines(), str(path), "formatted", n=1, lineterm=""
    )
    return "\n".join(list(lines)[:12])


def main() -> None:
    fix = "--fix" in sys.argv[1:]
    clang_format, black = find_clang_format(), find_black()
    commands = {
        ".c": [clang_format, "--assume-filename="] if clang_format else None,
        ".h": [clang_format, "--assume-filename="] if clang_format else None,
        ".py": [black, "-q", "-l", COLUMNS, "-"] if black else None,
    }
    files = [path for path in project_files() if path.suffix in commands]
    checked = [path for path in files if commands[path.suffix]]
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        wanted_texts = list(
            workers.map(lambda path: formatted(commands[path.suffix], path), checked)
        )
    problems = []
    for path, wanted in zip(checked, wanted_texts):
        now = (ROOT / path).read_text()
        if wanted != now and fix:
            (ROOT / path).write_text(wanted)
            print(f"formatted {path}")
        elif wanted != now:
            problems.append(first_difference(path, now, wanted))
    skipped = len(files) - len(checked)
    if skipped:
        print(f"{skipped} files not checked: needs clang-format {VERSION} and Black")
    if problems:
        print("\n".join(problems))
        print("to format them: ./dev format")
    print(f"{len(checked) - len(problems)} passed, {len(problems)} failed, {skipped} skipped")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
