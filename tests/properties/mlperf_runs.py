#!/usr/bin/env python3
"""Runs as MLPerf's benchmarks log them: does `flopledger ettr` count what was built, alone and one after another?

    tests/properties/mlperf_runs.py PROGRAM [SEEDS]

All logs are made here. Ends with a line of counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from mlperf_log import STYLES, Run, make_run  # noqa: E402
from random_cases import run_seeds  # noqa: E402


def told(program: str, path: Path) -> dict[str, Any]:
    done = subprocess.run([program, "ettr", "--json", path], capture_output=True, check=False)
    if done.returncode != 0:
        return {"refused": done.stderr.decode(errors="replace")}
    job = json.loads(done.stdout)["ranks"][0]["sections"]["job"]
    values = {key: number["value"] for key, number in job["numbers"].items()}
    values |= {row["key"]: row["time"] for row in job["tables"]["accounts"]["rows"]}
    values["are lines steps"] = any("each line of a loss" in f["what"] for f in job["findings"])
    return values


def check(program: str, path: Path, run: Run) -> list[str]:
    path.write_text("\n".join(run.lines) + "\n")
    values = told(program, path)
    expected: dict[str, Any] = {
        "refused": None,
        "attempts": 1,
        "steps_made": run.steps,
        "steps_kept": run.steps,
        "startup": run.startup_ms * 10**6,
        "kept_steps": run.kept_ms * 10**6,
        "discarded_steps": 0,
        "hang_and_detection": 0,
        "elapsed": run.elapsed_ms * 10**6,
        "evaluations": None if run.evaluations_ms is None else run.evaluations_ms * 10**6,
        "are lines steps": not run.is_numbered,
    }
    if run.devices > 1:
        expected["devices"] = run.devices
    return [
        f"{name}: {values.get(name)}, {value} was built"
        for name, value in expected.items()
        if values.get(name) != value
    ]


def check_seed(program: Path, seed: int, folder: Path) -> list[str]:
    run = make_run(seed)
    problems = check(str(program), folder / "result_0.txt", run)
    return [f"{run.style}: {problem}" for problem in problems]


if __name__ == "__main__":
    run_seeds(check_seed, 20 * len(STYLES), 0)
