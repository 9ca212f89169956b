"""Asks a Python with torch and transformers about transformers' own models.

It is $TRANSFORMERS_PYTHON, else the one that ./dev makes, else the one in use.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from shared_traces import ROOT, Outcome

FRAMEWORKS = ROOT / "build" / "venv-frameworks" / "bin" / "python"  # made by ./dev
PYTHON = os.environ.get(
    "TRANSFORMERS_PYTHON", str(FRAMEWORKS) if FRAMEWORKS.exists() else sys.executable
)


def has_transformers() -> bool:
    """Where it does not, the test has been counted as skipped."""
    question = [PYTHON, "-c", "import torch, transformers"]
    if subprocess.run(question, capture_output=True, check=False).returncode == 0:
        return True
    print("skipped: there is no transformers (TRANSFORMERS_PYTHON names a Python that has it)")
    print("0 passed, 0 failed, 1 skipped")
    return False


def answers(code: str, folder: str, paths: Sequence[str], outcome: Outcome) -> list[Any]:
    """What `code` prints, a line of JSON for each of `paths`; fewer are a failure. It is given `folder` and the paths."""
    command = [PYTHON, "-c", code, folder, *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    outcome.check(len(lines) == len(paths), done.stderr[-600:])
    return [json.loads(line) for line in lines]
