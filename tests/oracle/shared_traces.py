"""Where other people's traces lie, and how the checks here run the program on them and count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("FLOPLEDGER_SHARED", ROOT.parent / "shared"))
SECONDS_MAX = 20


# By unit, how far apart two numbers were at most that counted as equal: the page docs/correctness.md tells it.
FURTHEST: dict[str, float] = {}


def note_apart(amount: float, unit: str) -> None:
    FURTHEST[unit] = max(FURTHEST.get(unit, 0.0), abs(amount))


def print_furthest() -> None:
    if FURTHEST:
        print("furthest apart: " + ", ".join(f"{far:.3g} {unit}" for unit, far in FURTHEST.items()))


@dataclass
class Outcome:
    """What the checks of one file found."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    lines: list[str] = field(default_factory=list)
    furthest: dict[str, float] = field(default_factory=dict)  # as FURTHEST, of a process of its own

    def check(self, holds: bool, text: str) -> None:
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            self.lines.append(f"FAILED: {text}")

    def note(self, text: str) -> None:
        self.lines.append(text)

    def add(self, other: "Outcome") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        for unit, amount in other.furthest.items():
            note_apart(amount, unit)
        if other.lines:
            print(f"{other.name}:\n    " + "\n    ".join(other.lines), flush=True)

    def finish(self) -> None:
        print_furthest()
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        sys.exit(1 if self.failed else 0)


def program_of(arguments: list[str]) -> Path:
    program = arguments[1] if len(arguments) > 1 else os.environ.get("FLOPLEDGER")
    if not program:
        sys.exit("which program? give its path, or set FLOPLEDGER")
    return Path(program).resolve()


def skip_without(folder: Path) -> None:
    """Ends here, visibly, where the folder of other people's traces is not at hand."""
    if not folder.is_dir():
        print(f"skipped: there is no {folder.name} folder of other people's traces")
        print("0 passed, 0 failed, 1 skipped")
        sys.exit(0)


@dataclass
class Run:
    code: int | None  # None: it did not end in time
    output: bytes
    message: str
    seconds: float


def run_program(program: Path, command: str, path: Path, arguments: list[str]) -> Run:
    """In the file's folder, so that the report names the file without it."""
    began = time.monotonic()
    words = [str(program), command, "--json", "--no-progress", *arguments, path.name]
    try:
        done = subprocess.run(
            words,
            cwd=path.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Run(None, b"", f"no answer within {SECONDS_MAX} s", SECONDS_MAX)
    message = done.stderr.decode(errors="replace").strip()
    return Run(done.returncode, done.stdout, message, time.monotonic() - began)


def report_of(program: Path, path: Path, arguments: list[str]) -> tuple[dict[str, Any] | None, str]:
    """The report, or why there is none."""
    run = run_program(program, "report", path, arguments)
    if run.code not in (0, 5):
        return None, f"code {run.code}: {run.message}"
    report: dict[str, Any] = json.loads(run.output)
    return report, run.message
