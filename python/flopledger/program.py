"""Runs the program flopledger, and gives what it prints as JSON."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

NAME = "flopledger"
MET, UNDECIDED = 6, 7  # of `compare --fail-if`: the report is there
DAMAGED = 5  # the report is there; it says what is missing from it

Paths = str | os.PathLike[str]


class ProgramError(RuntimeError):
    """What the program says is wrong, in one line; `exit_code` as docs/exit-codes.md has it."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def places() -> Iterable[Path]:
    """Where the program may lie: in a build folder, below a prefix, where pip puts programs."""
    package = Path(__file__).resolve().parent
    yield package.parents[1] / NAME
    yield package.parents[2] / "bin" / NAME
    yield Path(sysconfig.get_path("scripts")) / NAME
    found = shutil.which(NAME)
    if found:
        yield Path(found)


def find_program() -> Path:
    """FLOPLEDGER, where it is set; else beside this package, or in PATH."""
    given = os.environ.get("FLOPLEDGER")
    if given:
        return Path(given)
    for place in places():
        if place.is_file() and os.access(place, os.X_OK):
            return place
    raise ProgramError(
        "the program flopledger is not installed: pip install flopledger, or set FLOPLEDGER to its path",
        127,
    )


def run(words: Iterable[str | Paths], good: Iterable[int] = (0, DAMAGED)) -> tuple[bytes, int]:
    """Its output and exit code, one of `good`; raises ProgramError else."""
    command = [os.fspath(find_program()), *(os.fspath(word) for word in words)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode not in good:
        said = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
        raise ProgramError(said.removeprefix("flopledger: "), done.returncode)
    return done.stdout, done.returncode


def run_json(words: Iterable[str | Paths], good: Iterable[int] = (0, DAMAGED)) -> Any:
    """docs/formats/report-json.md."""
    return json.loads(run([*words, "--json"], good)[0])
