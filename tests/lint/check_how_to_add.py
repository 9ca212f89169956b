#!/usr/bin/env python3
"""Follows the pages docs/how-to/add-*.md word by word, in one copy of the project and one build.

    check_how_to_add.py

A page's C blocks name the file they are for: a new file is written, a line for a list is added at its end. A block of
changes (diff) is found in its file by the lines around them. Then the commands of all pages are run in their order, a
command that several pages have once; what they print must show the new thing. A page may touch two files of src/ at most,
and its commands may take ten minutes.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from source_files import ROOT, finish, project_files

FOLDER = Path("docs/how-to")
BLOCK = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
SOURCES_MAX = 2
SECONDS_MAX = 600


class Wrong(Exception):
    """What a page says does not work."""


@dataclass
class Page:
    name: str
    shows: Callable[[list[str]], None]  # raises Wrong; gets what the commands printed
    text: str = ""
    files: set[str] = field(default_factory=set)
    lines: int = 0  # to be written in src/
    printed: list[str] = field(default_factory=list)
    seconds: float = 0


def section_of(report: str, key: str) -> dict[str, dict]:
    try:
        return json.loads(report)["ranks"][0]["sections"][key]
    except (ValueError, KeyError, IndexError) as error:
        raise Wrong(f"the JSON does not hold the section '{key}': {error!r}") from error


def must(is_so: bool, otherwise: str) -> None:
    if not is_so:
        raise Wrong(otherwise)


def shows_the_analysis(printed: list[str]) -> None:
    text, report = printed[-2:]
    must("Lengths of kernels" in text and "below 10 µs" in text, "the text does not show it")
    rows = section_of(report, "kernel_lengths")["tables"]["lengths"]["rows"]
    kernels = sum(row["count"] for row in rows)
    expected = section_of(report, "kernels")["numbers"]["count"]["value"]
    must(kernels == expected > 0, f"{kernels} kernels by length, {expected} in all")


def shows_the_reader(printed: list[str]) -> None:
    inspected, report = printed[-2:]
    must(bool(re.search(r"\b2 events\b|events +2\b", inspected)), f"inspect prints: {inspected}")
    (step,) = section_of(report, "step_ledger")["tables"]["steps"]["rows"]
    must((step["duration"], step["busy"]) == (4000, 3000), f"the window: {step}")


def shows_the_metric(printed: list[str]) -> None:
    prometheus, lines, report = printed[-3:]
    steps = section_of(report, "step_ledger")["tables"]["steps"]["rows"]
    must(len(steps) > 1, "no steps")
    for step in steps:
        must(step["device_idle"] + step["busy"] == step["duration"], f"does not sum up: {step}")
    idle_ns = sum(step["device_idle"] for step in steps)
    found = re.search(r"^flopledger_device_idle_seconds_total\{.*\} (\S+)$", prometheus, re.M)
    must(found is not None and abs(float(found[1]) * 1e9 - idle_ns) < 1, "not in Prometheus' text")
    first = json.loads(lines.splitlines()[0])
    must("device/idle_ms" in json.dumps(first), "not in the JSON Lines")


def copy_project(target: Path) -> None:
    for path in project_files():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, target / path)


def changed(before: str, change: str, name: str) -> str:
    """The text with the lines of a block of changes in it, which must fit one place."""
    old = new = ""
    for line in change.splitlines():
        must(line[:1] in (" ", "+", "-"), f"a change begins with ' ', '+' or '-': {line}")
        old += "" if line[0] == "+" else line[1:] + "\n"
        new += "" if line[0] == "-" else line[1:] + "\n"
    must(
        before.count(old) == 1, f"{name}: these lines stand there {before.count(old)} times: {old}"
    )
    return before.replace(old, new)


def write_files(page: Page, target: Path) -> None:
    for block in BLOCK.finditer(page.text):
        language, _, name = block["info"].partition(" ")
        if language not in ("c", "diff") or not name:
            continue
        path = target / name
        path.parent.mkdir(exist_ok=True)
        before = path.read_text() if path.exists() else ""
        body = block["body"]
        path.write_text(changed(before, body, name) if language == "diff" else before + body)
        if name.startswith("src/"):
            page.files.add(name)
            page.lines += path.read_text().count("\n") - before.count("\n")


def run(command: str, folder: Path) -> str:
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).splitlines()[-40:]
        raise Wrong("\n".join([f"'{command}' failed:", *lines]))
    return done.stdout


def commands_of(page: Page) -> list[str]:
    blocks = [block["body"] for block in BLOCK.finditer(page.text) if block["info"] == "sh"]
    return [line for body in blocks for line in body.splitlines() if line.strip()]


def run_commands(page: Page, target: Path, done: dict[str, tuple[str, float]]) -> None:
    for command in commands_of(page):
        if command not in done:
            began = time.monotonic()
            done[command] = (run(command, target), time.monotonic() - began)
        page.printed.append(done[command][0])
        page.seconds += done[command][1]


def follow(page: Page, target: Path, done: dict[str, tuple[str, float]]) -> str:
    """What is wrong; "" where the page works."""
    try:
        run_commands(page, target, done)
        page.shows(page.printed)
        must(len(page.files) <= SOURCES_MAX, f"touches {sorted(page.files)}")
        must(page.seconds < SECONDS_MAX, f"its commands took {page.seconds:.0f} s")
    except (Wrong, KeyError, ValueError, IndexError) as error:
        return f"{FOLDER / page.name}: {error}"
    return ""


def main() -> None:
    pages = [
        Page("add-an-analysis.md", shows_the_analysis),
        Page("add-a-reader.md", shows_the_reader),
        Page("add-a-metric.md", shows_the_metric),
    ]
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder)
        copy_project(target)
        done: dict[str, tuple[str, float]] = {}
        try:
            for page in pages:
                page.text = (ROOT / FOLDER / page.name).read_text()
                write_files(page, target)
        except Wrong as error:
            problems = [f"{FOLDER / page.name}: {error}"]
        for page in pages if not problems else ():
            problems += filter(None, [follow(page, target, done)])
            what = f"{len(page.files)} files of src, {page.lines} lines, {page.seconds:.0f} s of commands"
            print(f"{page.name}: {what}")
    finish(len(pages), problems, len(problems))


if __name__ == "__main__":
    main()
