#!/usr/bin/env python3
"""The C files are as clang-format 14 writes them, the Python files as Black does, those of the page as Prettier does (where
they are installed).

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
PAGE = {".ts", ".mjs", ".css"}


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


def find_prettier() -> str | None:
    """Of the version in web/package.json; .prettierrc.json has its settings."""
    there = ROOT / "web" / "node_modules" / ".bin" / "prettier"
    return str(there) if there.exists() and shutil.which("node") else None


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


def run_on(command: list[str], paths: list[Path]) -> str:
    """What a tool says of many files. A start costs more than a file does, so it is started once for all of them."""
    done = subprocess.run([*command, *paths], capture_output=True, text=True, check=False, cwd=ROOT)
    return done.stdout + done.stderr


def not_as_it_should_be(
    clang_format: str | None, black: str | None, files: list[Path]
) -> set[Path]:
    """Those that the tools name; formatted() then tells what is different."""
    c_files = [path for path in files if path.suffix in (".c", ".h")] if clang_format else []
    python_files = [path for path in files if path.suffix == ".py"] if black else []
    cores = os.cpu_count() or 1
    parts = [c_files[core::cores] for core in range(cores) if c_files[core::cores]]
    with ThreadPoolExecutor(cores) as workers:
        said = list(workers.map(lambda part: run_on([clang_format, "-n"], part), parts))
    named = set(re.findall(r"^(\S+?):\d+:\d+: \w+: ", "".join(said), re.MULTILINE))
    if python_files:
        told = run_on([black, "--check", "-l", COLUMNS], python_files)
        named |= set(
            re.findall(
                r"^(?:would reformat|error: cannot format) (.+?)(?::.*)?$", told, re.MULTILINE
            )
        )
    return {path for path in files if str(path) in named or str(ROOT / path) in named}


def check_page(prettier: str, files: list[Path], fix: bool) -> list[str]:
    """Those that are not as Prettier writes them."""
    command = [prettier, "--log-level", "warn", "--list-different", *(["--write"] if fix else [])]
    return [line for line in run_on(command, files).splitlines() if not line.startswith("npm ")]


def first_difference(path: Path, now: str, wanted: str) -> str:
    lines = difflib.unified_diff(
        now.splitlines(), wanted.splitlines(), str(path), "formatted", n=1, lineterm=""
    )
    return "\n".join(list(lines)[:12])


def main() -> None:
    fix = "--fix" in sys.argv[1:]
    clang_format, black = find_clang_format(), find_black()
    prettier = find_prettier()
    commands = {
        ".c": [clang_format, "--assume-filename="] if clang_format else None,
        ".h": [clang_format, "--assume-filename="] if clang_format else None,
        ".py": [black, "-q", "-l", COLUMNS, "-"] if black else None,
    }
    files = [path for path in project_files() if path.suffix in commands]
    checked = [path for path in files if commands[path.suffix]]
    problems = []
    for path in sorted(not_as_it_should_be(clang_format, black, checked)):
        wanted = formatted(commands[path.suffix], path)
        now = (ROOT / path).read_text()
        if wanted != now and fix:
            (ROOT / path).write_text(wanted)
            print(f"formatted {path}")
        elif wanted != now:
            problems.append(first_difference(path, now, wanted))
    page = [path for path in project_files() if path.suffix in PAGE]
    files += page
    if prettier:
        checked += page
        unlike = check_page(prettier, page, fix)
        problems += [] if fix else [f"{line}: not as Prettier writes it" for line in unlike]
    skipped = len(files) - len(checked)
    if skipped:
        print(f"{skipped} files not checked: needs clang-format {VERSION}, Black and Prettier")
    if problems:
        print("\n".join(problems))
        print("to format them: ./dev format")
    print(f"{len(checked) - len(problems)} passed, {len(problems)} failed, {skipped} skipped")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
