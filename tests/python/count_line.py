"""Runs the unittest cases of a script, and ends with the line that tests/run_tests.py counts."""

import shutil
import signal
import subprocess
import sys
import unittest
from typing import Any

SECONDS_OF_A_TEST = (
    7200 if "--long" in sys.orig_argv else 600
)  # more than any takes on a busy machine


def stop_waiting(signal_number: int, frame: Any) -> None:
    """Fails the test that waits, at the line it waits in, so that its processes are ended and the other tests run."""
    if shutil.which("ps"):
        words = ["ps", "-eo", "pid,ppid,nlwp,stat,etimes,wchan:24,args", "--forest", "-ww"]
        print(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    raise TimeoutError(f"a test may take {SECONDS_OF_A_TEST} s")


class Limited(unittest.TextTestResult):
    """A test that hangs is one that fails. What cleans up behind it has as long."""

    def startTest(self, test: unittest.TestCase) -> None:
        signal.signal(signal.SIGALRM, stop_waiting)
        signal.setitimer(signal.ITIMER_REAL, SECONDS_OF_A_TEST, SECONDS_OF_A_TEST)
        super().startTest(test)

    def stopTest(self, test: unittest.TestCase) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        super().stopTest(test)


def run_and_count() -> None:
    runner = unittest.TextTestRunner(resultclass=Limited)
    outcome = unittest.main(module="__main__", testRunner=runner, exit=False).result
    failed = len(outcome.failures) + len(outcome.errors)
    # parts of a test may fail each
    passed = max(0, outcome.testsRun - failed - len(outcome.skipped))
    print(f"{passed} passed, {failed} failed, {len(outcome.skipped)} skipped")
    sys.exit(1 if failed else 0)
