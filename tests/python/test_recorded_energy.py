#!/usr/bin/env python3
"""Energy of a recorded run, in its report and while it runs, of counters that stand in for the machine's: test_recorded_energy.py PROGRAM"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from count_line import run_and_count
from recorded_runs import environment_of, find_python

PROGRAM = Path(sys.argv.pop(1)).resolve()
PYTHON = find_python()
SCRIPT = Path(__file__).resolve().parent / "training" / "energy_run.py"
GPU_WATTS, CPU_WATTS, TOKENS = 300, 50, 64  # of the script


@unittest.skipIf(PYTHON is None, "needs a Python with PyTorch")
class Energy(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def train(self, pause: str) -> Path:
        words = [PROGRAM, "run", "--no-report", "--", PYTHON, SCRIPT, self.folder / "power", pause]
        done = subprocess.run(
            words,
            cwd=self.folder,
            env=environment_of(PROGRAM),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return next(self.folder.glob("captures/*/*"))

    def ask(self, command: str, *words: str | Path) -> str:
        return subprocess.check_output([PROGRAM, command, *words], cwd=self.folder, text=True)

    def numbers(self, capture: Path) -> Any:
        rank = json.loads(self.ask("report", "--json", capture))["ranks"][0]
        return rank["sections"]["energy"]["numbers"]

    def near(self, found: float, expected: float, share: float) -> None:
        self.assertLess(abs(found / expected - 1), share, (found, expected))

    def test_joules(self) -> None:
        """The stand-ins draw so many watts: joules are these watts times the seconds of the steps."""
        capture = self.train("0.25")
        numbers = self.numbers(capture)
        rank = json.loads(self.ask("report", "--json", capture))["ranks"][0]
        step = rank["sections"]["step_ledger"]["numbers"]["step_time_mean"]["value"] / 1e9
        for name, watts in (("gpu", GPU_WATTS), ("cpu", CPU_WATTS)):
            joules = numbers[f"{name}_joules_per_step"]["value"]
            self.near(numbers[f"{name}_watts"]["value"], watts, 0.01)
            self.near(joules, watts * step, 0.2)  # our own work between the steps is in the joules
            self.assertAlmostEqual(numbers[f"{name}_joules_per_token"]["value"], joules / TOKENS)
            self.assertAlmostEqual(numbers[f"tokens_per_{name}_joule"]["value"], TOKENS / joules)
        text = self.ask("report", "--section", "energy", capture)
        self.assertRegex(text, r"energy of the GPU per step, J +[\d.]+")
        metrics = self.ask("export", "prometheus", capture)
        told = re.search(r"^flopledger_gpu_joules_per_step\{.*\} (\S+)$", metrics, re.MULTILINE)
        assert told is not None, metrics
        self.near(float(told[1]), numbers["gpu_joules_per_step"]["value"], 1e-9)
        page = " ".join(self.ask("top", "--once", "--width", "200", capture).split())
        found = re.search(r"energy: GPU (\S+) J a step.*; processors of the machine (\S+) J", page)
        assert found is not None, page
        self.near(float(found[1]) / float(found[2]), GPU_WATTS / CPU_WATTS, 0.01)
        self.near(float(found[1]), GPU_WATTS * step, 0.5)

    def test_too_short_to_tell(self) -> None:
        """Five steps of some milliseconds."""
        numbers = self.numbers(self.train("0.005"))
        self.assertEqual(list(numbers), ["gpu_joules_per_step"])
        self.assertIn("needs steps of a second together", json.dumps(numbers))


if __name__ == "__main__":
    run_and_count()
