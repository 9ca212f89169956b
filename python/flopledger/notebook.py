"""IPython: `%load_ext flopledger`, then `%%flopledger` before a cell that trains."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from flopledger.recording import Recording
from flopledger.results import Report

USAGE = "%%flopledger [--steps N] [--memory] [--stacks]"


def record_cell(shell: Any, line: str, cell: str) -> Report | None:
    """Runs the cell, and gives the report of its steps; an error in the cell is shown as in any other."""
    parser = argparse.ArgumentParser(prog="%%flopledger", usage=USAGE, exit_on_error=False)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--stacks", action="store_true")
    options = parser.parse_args(shlex.split(line))
    with Recording(options.steps, memory=options.memory, stacks=options.stacks) as recording:
        ran = shell.run_cell(cell)
    return recording.report if ran.success else None


def load_ipython_extension(shell: Any) -> None:
    def flopledger(line: str, cell: str) -> Report | None:
        return record_cell(shell, line, cell)

    shell.register_magic_function(flopledger, magic_kind="cell")
