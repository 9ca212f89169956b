#!/usr/bin/env python3
"""The C files are as clang-format 14 writes them, the Python files as Black does (where it is installed).

check_format.py          says which are not
check_format.py --fix    formats them (`./dev format`)
"""

import difflib
import re
import shutil
import subprocess
import sys
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
    text = (ROOT / path).read_text()
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, check=False, cwd=ROOT
    )
    return done.stdout if done.returncode == 0 else f"{path}: {done.stderr}"


def first_difference(path: Path, now: str, wanted: str) -> str:
    lines = difflib.unified_diff(
        now.splitlines(), wanted.splitlines(), str(path), "formatted", n=1, lineterm=""
    )
    return "\n".join(list(lines)[:12])


def main() -> None:
    fix = "--fix" in sys.argv[1:]
    clang_format, black = find_clang_format(), find_black()
    skipped = 0
    problems = []
    checked = 0
    for path in project_files():
        if path.suffix in (".c", ".h"):
            command = [clang_format, f"--assume-filename={path}"] if clang_format else None
        elif path.suffix == ".py":
            command = [black, "-q", "-l", COLUMNS, "-"] if black else None
        else:
            continue
        if command is None:
            skipped += 1
            continue
        checked += 1
        now = (ROOT / path).read_text()
        wanted = formatted(command, path)
        if wanted != now and fix:
            (ROOT / path).write_text(wanted)
            print(f"formatted {path}")
        elif wanted != now:
            problems.append(first_difference(path, now, wanted))
    if skipped:
        print(f"{skipped} files not checked: needs clang-format {VERSION} and Black")
    if problems:
        print("\n".join(problems))
        print("to format them: ./dev format")
    print(f"{checked - len(problems)} passed, {len(problems)} failed, {skipped} skipped")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
