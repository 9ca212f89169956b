#!/usr/bin/env python3
"""The benchmark of causes: its simulated runs are made, asked about and scored: test_causes.py PROGRAM"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from count_line import run_and_count

PROGRAM = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "causes"))

import ask_flopledger  # noqa: E402
import make  # noqa: E402
import score  # noqa: E402


class Causes(unittest.TestCase):
    folder: Path
    rows: list[score.Row]

    @classmethod
    def setUpClass(cls) -> None:
        kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(kept.cleanup)
        cls.folder = Path(kept.name)
        make.write_cases(cls.folder, [])
        cls.rows = score.rows_of(cls.folder, ask_flopledger.answers(str(PROGRAM), cls.folder))

    def test_runs_are_slow_for_their_cause(self) -> None:
        self.assertGreaterEqual(len(self.rows), 46)
        for row in self.rows:
            self.assertGreater(row.measured, 1.02, row.name)
        self.assertGreaterEqual(len({row.causes for row in self.rows}), 15)

    def test_the_cause_comes_first(self) -> None:
        wrong = [(row.name, row.said) for row in self.rows if not row.is_right]
        self.assertLessEqual(len(wrong), 0.1 * len(self.rows), wrong)

    def test_the_estimate_is_near(self) -> None:
        near = [row for row in self.rows if row.is_near]
        self.assertGreaterEqual(len(near), 20)
        explained = json.loads(score.MISSES.read_text())
        self.assertEqual({row.name for row in self.rows if not row.is_near} - set(explained), set())

    def test_the_program_sees_the_simulated_steps(self) -> None:
        """The steps of the report are as long as the simulation's own."""
        for row in self.rows[::5]:
            run = self.folder / row.name
            found = subprocess.check_output([PROGRAM, "report", "--json", run / "slow"])
            ranks = json.loads(found)["ranks"]
            steps = [
                rank["sections"]["step_ledger"]["numbers"]["step_time_mean"]["value"]
                for rank in ranks
            ]
            expected = json.loads((run / "label.json").read_text())["slow_step_ns"]
            self.assertAlmostEqual(max(steps), expected, delta=2000, msg=row.name)

    def test_the_table_is_that_of_the_page(self) -> None:
        """Its rows of simulated runs say what the program says now."""
        page = (ROOT / "docs" / "causes.md").read_text()
        lines = [line for line in score.table(self.rows).splitlines() if line.startswith("| ")]
        for line in lines[1:]:
            self.assertIn(line, page)

    def test_wrong_answers_score_nothing(self) -> None:
        rows = score.rows_of(self.folder, {})
        self.assertEqual(sum(row.is_right or row.is_near for row in rows), 0)
        for row in self.rows:
            far = score.Row(
                row.name, row.causes, "", row.measured, row.causes[0], 1.2 * row.measured
            )
            self.assertFalse(far.is_near)


if __name__ == "__main__":
    run_and_count()
