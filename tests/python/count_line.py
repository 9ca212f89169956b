"""Runs the unittest cases of a script, and ends with the line that tests/run_tests.py counts."""

import sys
import unittest


def run_and_count() -> None:
    outcome = unittest.main(module="__main__", exit=False).result
    failed = len(outcome.failures) + len(outcome.errors)
    # parts of a test may fail each
    passed = max(0, outcome.testsRun - failed - len(outcome.skipped))
    print(f"{passed} passed, {failed} failed, {len(outcome.skipped)} skipped")
    sys.exit(1 if failed else 0)
