#!/usr/bin/env python3
"""Follows docs/how-to/add-an-analysis.md word by word, in a copy of the project.

The page's C blocks name the file they are for: a new file is written, a line for a list is added at its end. Then the
page's commands are run, as they stand; the last two must show the new section, as text and as JSON.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from source_files import ROOT, project_files

PAGE = Path("docs/how-to/add-an-analysis.md")
BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
KEY = "kernel_lengths"
TITLE = "Lengths of kernels"


def copy_project(target: Path) -> None:
    for path in project_files():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, target / path)


def write_files(page: str, target: Path) -> int:
    """Returns how many files the page made or changed."""
    count = 0
    for block in BLOCK.finditer(page):
        language, _, name = block["info"].partition(" ")
        if language != "c" or not name:
            continue
        path = target / name
        before = path.read_text() if path.exists() else ""
        path.write_text(before + block["body"])
        count += 1
    return count


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def commands_of(page: str) -> list[str]:
    blocks = [block["body"] for block in BLOCK.finditer(page) if block["info"] == "sh"]
    return [line for body in blocks for line in body.splitlines() if line.strip()]


def shows_the_section(text: str, report: str) -> list[str]:
    problems = []
    if TITLE not in text or "below 10 µs" not in text:
        problems.append(f"the text does not show '{TITLE}'")
    try:
        section = json.loads(report)["ranks"][0]["sections"][KEY]
    except (ValueError, KeyError, IndexError) as error:
        return [*problems, f"the JSON does not hold the section: {error!r}"]
    kernels = sum(row["count"] for row in section["tables"]["lengths"]["rows"])
    expected = json.loads(report)["ranks"][0]["sections"]["kernels"]["numbers"]["count"]["value"]
    if kernels != expected or kernels == 0:
        problems.append(f"{kernels} kernels by length, {expected} in all")
    return problems


def follow(page: str, target: Path) -> list[str]:
    copy_project(target)
    if write_files(page, target) != 3:
        return ["the page should have three blocks of C with a file name: code, list, test"]
    outputs = []
    for command in commands_of(page):
        done = run(command, target)
        outputs.append(done.stdout)
        if done.returncode != 0:
            lines = (done.stdout + done.stderr).splitlines()[-40:]
            return [f"'{command}' failed:", *lines]
    return shows_the_section(outputs[-2], outputs[-1])


def main() -> None:
    page = (ROOT / PAGE).read_text()
    with tempfile.TemporaryDirectory() as folder:
        problems = follow(page, Path(folder))
    for problem in problems:
        print(f"{PAGE}: {problem}" if problem is problems[0] else problem)
    print(f"{0 if problems else 1} passed, {1 if problems else 0} failed, 0 skipped")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
