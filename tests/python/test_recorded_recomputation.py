#!/usr/bin/env python3
"""FLOPs of recorded runs under selective checkpointing: test_recorded_recomputation.py PROGRAM

What was kept for the backward is not computed again, and not counted so: forward and whole step have the FLOPs that torch's
FlopCounterMode counts of the same model, whichever products are kept. Needs torch; skips without it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from count_line import run_and_count
from recorded_runs import environment_of, find_python

PROGRAM = Path(sys.argv.pop(1)).resolve()
SCRIPT = Path(__file__).resolve().parent / "training" / "selective_run.py"
SEEDS = (1,)


class Recomputation(unittest.TestCase):
    def flops_of(self, kept: str, seed: int) -> tuple[list[int], dict[str, int]]:
        """Those that torch counts, of a forward and of a step; and ours."""
        python = find_python()
        if not python:
            self.skipTest("no Python with torch")
        with tempfile.TemporaryDirectory() as folder:
            words = [PROGRAM, "run", "--no-report", "--output", f"{folder}/captures", "--"]
            words += [python, SCRIPT, kept, str(seed)]
            environment = environment_of(PROGRAM)
            done = subprocess.run(
                words, env=environment, capture_output=True, text=True, timeout=180
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            told = subprocess.run(
                [PROGRAM, "flops", "--json", f"{folder}/captures"], capture_output=True, text=True
            )
        numbers = json.loads(told.stdout)["ranks"][0]["sections"]["module_cost"]["numbers"]
        counts = [int(word) for word in done.stdout.split()]
        return counts, {key: number["value"] for key, number in numbers.items()}

    def check(self, kept: str, is_repeated: bool) -> None:
        for seed in SEEDS:
            with self.subTest(seed=seed):
                (forward, step), ours = self.flops_of(kept, seed)
                self.assertEqual(ours["forward_flops"], forward)
                self.assertEqual(ours["total_flops"], step)
                self.assertEqual("recomputed_flops" in ours, is_repeated, ours)

    def test_products_that_are_kept(self) -> None:
        self.check("all", False)

    def test_none_that_is_kept(self) -> None:
        self.check("none", True)

    def test_some_that_are_kept(self) -> None:
        self.check("wide", True)


if __name__ == "__main__":
    run_and_count()
