#!/usr/bin/env python3
"""What failed is shown, and a test that hangs fails and lets the others run: test_count_line.py"""

import subprocess
import sys
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from count_line import run_and_count  # noqa: E402
from group_runs import failed_parts  # noqa: E402

HANGS = """
import sys, time, unittest
sys.path.insert(0, {folder!r})
import count_line
count_line.SECONDS_OF_A_TEST = 0.3
class Tests(unittest.TestCase):
    def setUp(self):
        self.addCleanup(time.sleep, 100 if self.id().endswith("its_cleaning_up") else 0)
    def test_a_hangs(self):
        time.sleep(100)
    def test_b_as_its_cleaning_up(self):
        pass
    def test_c_works(self):
        time.sleep(0.05)
count_line.run_and_count()
"""

LOG = """$ python first.py
wrong
0 passed, 1 failed, 0 skipped
-- exit status 1, 0.3 s

$ python second.py
right
1 passed, 0 failed, 0 skipped
-- exit status 0, 0.3 s

$ python third.py
stopped: it took too long
-- exit status 124, 0.3 s
"""


class Shown(unittest.TestCase):
    def test_the_end_of_each_command_that_failed(self) -> None:
        shown = failed_parts(LOG, 3)
        self.assertEqual(shown[:2], ["0 passed, 1 failed, 0 skipped", "-- exit status 1, 0.3 s"])
        self.assertEqual(shown[3:], LOG.splitlines()[-3:])
        self.assertNotIn("right", shown)

    def test_the_end_of_all_where_no_command_failed(self) -> None:
        self.assertEqual(
            failed_parts("a warning\n-- exit status 0, 1 s\n", 1), ["-- exit status 0, 1 s"]
        )


class Hanging(unittest.TestCase):
    def test_fails_at_the_line_it_waits_in(self) -> None:
        program = HANGS.format(folder=str(TESTS / "python"))
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)  # fmt: skip
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], "1 passed, 2 failed, 0 skipped")
        self.assertEqual(done.stderr.count("TimeoutError: a test may take 0.3 s"), 2)
        self.assertIn("in test_a_hangs", done.stderr)


if __name__ == "__main__":
    run_and_count()
