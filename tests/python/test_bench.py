#!/usr/bin/env python3
"""What bench/ makes of its measurements: test_bench.py PROGRAM"""

import re
import sys
import unittest
from pathlib import Path
from unittest import mock

from count_line import run_and_count

sys.argv.pop(1)
BENCH = Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))
sys.dont_write_bytecode = True

PAGE = "# Benchmarks\n\nWords.\n\n## One\n\n1\n\n## Two\n\n2\n"


class Page(unittest.TestCase):
    def test_section_takes_the_place_of_its_older_self(self) -> None:
        from write_page import replace_section

        new = replace_section(PAGE, "## One\n\nnew\n")
        self.assertEqual(new, PAGE.replace("1", "new"))
        self.assertEqual(replace_section(new, "## One\n\n1\n"), PAGE)
        self.assertEqual(replace_section(PAGE, "## Two\n\nnew\n"), PAGE.replace("2", "new"))

    def test_new_section_comes_last(self) -> None:
        from write_page import replace_section

        self.assertEqual(replace_section(PAGE, "## Three\n\n3\n"), PAGE + "\n## Three\n\n3\n")

    def test_ratios_are_those_of_each_round(self) -> None:
        """A round in which the machine was twice as slow for all changes no ratio."""
        from overhead_section import rows_of

        rows = rows_of({"plain": [0.1, 0.2, 0.1], "ours": [0.11, 0.22, 0.12]})
        self.assertEqual(rows[0], ["plain", "100.0", "1.000", "1.000 – 1.000"])
        self.assertEqual(rows[1], ["ours", "120.0", "1.100", "1.100 – 1.200"])

    def test_what_is_not_there_is_said(self) -> None:
        from overhead_section import write_section

        found = {
            "torch": "2",
            "model": "a model",
            "rounds": 1,
            "seconds": {"plain": [0.1]},
            "hook_seconds": 1e-6,
            "mark_seconds": 3e-4,
            "window_steps": 3,
            "window": {"before_seconds": 0.1, "after_seconds": 1.0, "bytes": 2e6},
        }
        text = write_section(found)
        self.assertIn("| DeepSpeed's flops profiler | not here |", text)
        self.assertIn("1,000 ns in each step", text)
        self.assertIn("0.0010 % of this one", text)

    def test_the_step_record_beside_the_plain_step(self) -> None:
        from step_record_section import rows_of, write_section

        costs = {"us": 10.0, "least_us": 9.0, "most_us": 11.0}
        one = {"program": "it", "plain_us": 500.0, "record": costs, "losses_compared": 1200}
        rows = rows_of([one])
        self.assertEqual(rows[0], ["it", "0.50", "10.0", "9.0 – 11.0", "2.000"])
        text = write_section({"torch": "2", "rounds": 3, "programs": [one, one]})
        self.assertIn("it is 0.050 %.", text)
        self.assertIn("All 2,400 losses", text)

    def test_memory_by_size(self) -> None:
        from unittest.mock import Mock

        from write_page import SizeRow, memory_line

        peaks = {100: 28_000_000, 200: 50_000_000, 400: 90_000_000}
        rows = [
            SizeRow(size * 1_000_000, 0, Mock(peak_bytes=Mock(return_value=peak)))
            for size, peak in peaks.items()
        ]
        line = memory_line(rows)
        self.assertIn("about 6 MB are there", line)
        self.assertIn("100 to 200 MB a byte more takes 0.22 bytes", line)
        self.assertIn("200 to 400 MB 0.20.", line)

    def test_a_program_that_fails_says_why_in_its_row(self) -> None:
        """One that is not ours: the others are measured all the same."""
        from measure import Contender, Failed, measure_in_turn

        fails = ["sh", "-c", "echo cannot >&2; exit 3"]
        other = Contender("other", fails, rounds=1, may_fail=True)
        missing = Contender("missing", fails, may_fail=True, failure="it was not here")
        ours = Contender("ours", ["true"])
        if not (BENCH.parent / "build/release/measured_run").exists():
            self.skipTest("needs build/release/measured_run")
        measure_in_turn([other, missing, ours], 2)
        self.assertIn("exit status 3: cannot", other.failure)
        self.assertEqual((missing.failure, len(ours.runs)), ("it was not here", 2))
        with self.assertRaises(Failed):
            measure_in_turn([Contender("ours", fails)], 1)

    def test_a_section_that_fails_says_why(self) -> None:
        import run_bench
        from measure import Failed

        def fails(rounds: int) -> str:
            raise Failed("no disk")

        with mock.patch.dict(run_bench.SECTIONS, {"large": ("## Large", fails)}):
            self.assertEqual(
                run_bench.section_of("large", 1), "## Large\n\nNot measured: no disk\n"
            )

    def test_models_that_were_not_counted_say_why(self) -> None:
        from meta_section import row_of

        one = {"flops": {"ours": 2e12, "theirs": 1e12}, "seconds": {"ours": 1.0, "theirs": 2.0}}
        self.assertEqual(
            row_of("it", one | {"ratio": 0.5}), ["it", "1.00", "2.00", "0.50", "2.0", "1.0"]
        )
        self.assertEqual(row_of("it", {"why_not": "no"})[1], "not measured: no")

    def test_all_sections_are_of_one_commit(self) -> None:
        text = (BENCH.parent / "docs/benchmarks.md").read_text()
        self.assertLessEqual(len(set(re.findall(r", commit (\w+)", text))), 1)


if __name__ == "__main__":
    run_and_count()
