"""A Python that has torch, and what scripts of this folder measure in it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from make_input import FOLDER, ROOT
from measure import Failed

VENVS = (ROOT / "build/venv-frameworks", ROOT / "build/venv")  # the first has DeepSpeed, too


def find_python() -> Path | None:
    """One that can import torch, which may lie in another environment."""
    question = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    for venv in VENVS:
        python = venv / "bin/python"
        if (
            python.exists()
            and subprocess.run([python, "-c", question], check=False).returncode == 0
        ):
            return python
    return None


def measured_with_torch(script: str, rounds: int) -> Any:
    """What bench/SCRIPT writes with --json, in one thread; None where PyTorch is not here."""
    python = find_python()
    if python is None:
        return None
    result = (FOLDER / script).with_suffix(".json")
    result.parent.mkdir(parents=True, exist_ok=True)
    command = [python, ROOT / "bench" / script, "--rounds", rounds, "--json", result]
    done = subprocess.run(
        [str(word) for word in command],
        env=dict(os.environ, OMP_NUM_THREADS="1"),
        cwd=FOLDER,  # the recorder writes beside the program
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"bench/{script}: exit status {done.returncode}")
    return json.loads(result.read_text())
