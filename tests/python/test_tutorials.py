#!/usr/bin/env python3
"""The tutorials, walked: test_tutorials.py PROGRAM [--write]

Commands of a page's ```console tutorial blocks run in their order, in an empty folder that has the examples. Comments `holds:`
behind a block are patterns of what its commands must print: here, and in the page. Those of comments `holds on a quiet machine:` are
about times, and must hold here only where other programs used less than a fifth of the machine. --write puts what was printed into
the pages.
"""

import os
import platform
import re
import subprocess
import sys
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path

from count_line import run_and_count
from machine_use import MachineUse
from recorded_runs import ROOT, find_python, run_past_gloo

WRITES = "--write" in sys.argv
if WRITES:
    sys.argv.remove("--write")
PROGRAM = Path(sys.argv.pop(1)).resolve()
PAGES = ROOT / "docs" / "tutorials"
BLOCK = re.compile(
    r"^```console tutorial\n(?P<body>.*?)^```\n(?P<holds>(?:<!-- holds[^\n]*: [^\n]* -->\n)*)",
    re.M | re.S,
)
HOLDS = re.compile(r"<!-- holds( on a quiet machine)?: (.*) -->")
MOST_OF_OTHERS = 0.2  # of the processors' time, on a machine that is called quiet
OF_THE_INDEX = ("test_every_page_is_walked_and_listed", "test_index_names_the_machine")
MOST_SECONDS = 600  # of a walk, on a machine that has nothing else to do


@dataclass
class Walk:
    """A page's blocks: the patterns that hold, what the page has, and what was printed."""

    patterns: list[list[tuple[str, str]]]  # what only a quiet machine must hold, and the pattern
    shown: list[str]
    printed: list[str]
    text: str  # of the page, with what was printed
    use: MachineUse


def environment(python: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FLOPLEDGER", "PYTHONPATH"))}
    launchers = ROOT / "build" / "venv" / "bin"  # torchrun, where another environment lends torch
    path = f"{PROGRAM.parent}:{Path(python).parent}:{launchers}:{kept['PATH']}"
    return {**kept, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}


def run_command(command: str, folder: Path, variables: dict[str, str]) -> str:
    """What it prints."""
    done = run_past_gloo(command, MOST_SECONDS, shell=True, cwd=folder, env=variables)
    if done.returncode != 0:
        raise AssertionError(f"$ {command}\n{done.stdout}{done.stderr}")
    return done.stdout


def run_block(body: str, folder: Path, variables: dict[str, str]) -> str:
    """The block, with what its commands print now."""
    said = ""
    for command in re.findall(r"^\$ (.*)$", body, re.MULTILINE):
        lines = [line.rstrip() for line in run_command(command, folder, variables).splitlines()]
        said += "\n".join([f"$ {command}", *lines]) + "\n"
    return said


def walk(page: Path, python: str) -> Walk:
    text = page.read_text()
    result = Walk([], [], [], text, MachineUse())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        for block in BLOCK.finditer(text):
            said = run_block(block["body"], folder, environment(python))
            result.patterns.append(HOLDS.findall(block["holds"]))
            result.shown.append(block["body"])
            result.printed.append(said)
            result.text = result.text.replace(block["body"], said, 1)
    return result


def machine(python: str) -> str:
    processor = re.findall(
        r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE
    )
    versions = "import platform, torch; print(f'Python {platform.python_version()} and torch {torch.__version__}')"
    done = subprocess.run([python, "-c", versions], capture_output=True, text=True, check=True)
    name = processor[0] if processor else platform.machine()
    return f"{os.cpu_count()} cores of an {name} with {done.stdout.strip()}"


class Tutorials(unittest.TestCase):
    def setUp(self) -> None:
        self.python = find_python()
        if self.python is None:
            self.skipTest("needs PyTorch in build/venv")

    def check(self, name: str) -> None:
        page = PAGES / f"{name}.md"
        result = walk(page, self.python or "")
        others = result.use.share_of_others()
        print(
            f"{name}: {result.use.seconds():.0f} s, {result.use.processor_seconds():.0f} s of processors, "
            f"others {100 * others:.0f} %"
        )
        if WRITES:
            page.write_text(result.text)
            result.shown = result.printed
        self.assertGreaterEqual(len(result.patterns), 3)
        for patterns, shown, printed in zip(result.patterns, result.shown, result.printed):
            self.assertTrue(patterns, f"nothing must hold of\n{shown}")
            for needs_quiet, pattern in patterns:
                if not needs_quiet or others < MOST_OF_OTHERS:
                    self.assertRegex(printed, pattern, "printed now")
                self.assertRegex(shown, pattern, f"in {page.name}")

    def test_slow_data_loader(self) -> None:
        self.check("slow-data-loader")

    def test_mfu_of_a_transformer(self) -> None:
        self.check("mfu-of-a-transformer")

    def test_out_of_memory(self) -> None:
        self.check("out-of-memory")

    def test_straggler(self) -> None:
        self.check("straggler")

    def test_every_page_is_walked_and_listed(self) -> None:
        pages = {page.name for page in PAGES.glob("*.md")} - {"README.md"}
        walked = {
            f"{name.removeprefix('test_').replace('_', '-')}.md"
            for name in dir(self)
            if name.startswith("test_") and name not in OF_THE_INDEX
        }
        self.assertEqual(pages, walked)
        index = (PAGES / "README.md").read_text()
        self.assertEqual(pages, set(re.findall(r"\]\(([a-z-]+\.md)\)", index)))

    def test_index_names_the_machine(self) -> None:
        index = PAGES / "README.md"
        if WRITES:
            text = index.read_text()
            index.write_text(text.replace("@MACHINE@", machine(self.python or "")))
        self.assertRegex(
            index.read_text(), r"\d+ cores of an .* with Python [\d.]+ and torch [\d.]+"
        )


if __name__ == "__main__":
    run_and_count()
