#!/usr/bin/env python3
"""Windows that record themselves (`flopledger run --on`), on real runs of PyTorch: test_triggers.py PROGRAM [--long]"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from count_line import run_and_count
from recorded_runs import find_python, free_port, run_past_gloo

LONG = "--long" in sys.argv
if LONG:
    sys.argv.remove("--long")
PROGRAM = Path(sys.argv.pop(1)).resolve()
HERE = Path(__file__).resolve().parent
PYTHON = find_python()
BOTH = 'for r in 0 1; do RANK=$r LOCAL_RANK=$r "$@" & done; wait'


def some_steps(first: int, last: int) -> str:
    return ",".join(str(step) for step in range(first, last + 1))


class RefusedTest(unittest.TestCase):
    def test_rules_that_are_not_understood_are_refused(self) -> None:
        for words in (["--on", "step_time>2"], ["--on", ""], ["--on-bytes", "1.5G"]):
            for command in (["run", *words, "--", "true"], ["attach", *words, "1"]):
                done = subprocess.run(
                    [PROGRAM, *command], capture_output=True, text=True, check=False
                )
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, r"memory_growth>20steps|500M")


@unittest.skipUnless(PYTHON, "PyTorch is not installed: ./dev test installs it")
class TriggersTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="flt-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, words: list[Any], **environment: Any) -> "subprocess.CompletedProcess[str]":
        numbers = {name: str(value) for name, value in environment.items()}
        everything = {**os.environ, "OMP_NUM_THREADS": "1", **numbers}
        written = self.folder / "captures"
        return run_past_gloo([str(word) for word in words], 300, written, env=everything)

    def record(self, options: list[str], launcher: list[str], **environment: Any) -> str:
        """What it prints, which is that of a run that nobody records."""
        program = [*launcher, PYTHON, HERE / "training_with_faults.py"]
        words = [PROGRAM, "run", "--output", self.folder / "captures", *options, "--", *program]
        done = self.start(words, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        if not launcher:
            alone = self.start(program, **{**environment, "SLOW": ""})
            self.assertIn(alone.stdout.strip(), done.stdout)
        return done.stdout + done.stderr

    def windows(self, rank: int = 0) -> list[dict[str, Any]]:
        (path,) = self.folder.glob(f"captures/*/*/traces/rank{rank}_*/capture.json")
        told: dict[str, Any] = json.loads(path.read_text())
        return [window for window in told["recorded"] if "trigger" in window]

    def steps(self, window: dict[str, Any]) -> list[int]:
        return [step["step"] for step in window["steps"]]

    def test_slow_steps_and_growing_memory_are_recorded_up_to_a_limit(self) -> None:
        # Far above what other programs cost a step of some 12 ms, and below the sleep of the slow ones.
        rules = "step_time>20*median, memory_growth>15steps"
        said = self.record(
            ["--on", rules, "--on-windows", "2"],
            [],
            STEPS=170,
            SLOW="40,150,160",
            LEAKS=some_steps(60, 140),
        )
        slow, leak = self.windows()
        self.assertEqual(slow["trigger"]["rule"], "step_time>20*median")
        self.assertEqual(slow["trigger"]["step"], 40)
        self.assertRegex(slow["trigger"]["why"], r"step 40 took \d+(\.\d)? ms, .* times the median")
        self.assertEqual(self.steps(slow), [42, 43, 44, 45, 46])
        self.assertRegex(
            leak["trigger"]["why"],
            r"grown in each of the last 16 steps without recording, by [23]\d\.",
        )
        # The leak lasts from step 60 to 140; memory that is given back begins the count anew.
        self.assertIn(leak["trigger"]["step"], range(75, 141))
        self.assertEqual(self.steps(leak)[0], leak["trigger"]["step"] + 2)
        self.assertIn("Recorded because memory has grown", said)  # the report is of the last window

    def test_a_rank_that_lags_has_all_ranks_record_the_same_steps(self) -> None:
        self.record(
            ["--on", "rank_lag>20*median", "--no-report"],
            ["sh", "-c", BOTH, "sh"],
            STEPS=140,
            SLOW="40",
            SLOW_RANK=1,
            WORLD_SIZE=2,
            MASTER_ADDR="127.0.0.1",
            MASTER_PORT=free_port(),
        )
        one, other = self.windows(0), self.windows(1)
        self.assertEqual(len(one), 1)
        self.assertEqual(one[0]["trigger"], other[0]["trigger"])
        self.assertEqual(one[0]["trigger"]["rank"], 1)
        self.assertRegex(
            one[0]["trigger"]["why"], r"rank 1 was [4-9]\d\d(\.\d)? ms behind .* step 40"
        )
        self.assertEqual(self.steps(one[0]), self.steps(other[0]))

    @unittest.skipUnless(LONG, "takes a while: --long")
    def test_mfu_that_falls_is_recorded(self) -> None:
        self.record(["--on", "mfu<0.06*median", "--no-report"], [], STEPS=80, SLOW="50")
        (window,) = self.windows()
        self.assertRegex(window["trigger"]["why"], "MFU of step 50 was 0.0")

    @unittest.skipUnless(LONG, "takes a while: --long")
    def test_bytes_are_a_limit_and_plain_runs_trigger_nothing(self) -> None:
        said = self.record(
            ["--on", "step_time>20*median", "--on-bytes", "20K"], [], STEPS=120, SLOW="40,80"
        )
        self.assertEqual(len(self.windows()), 1)
        self.assertIn("--on-bytes", said)

    @unittest.skipUnless(LONG, "takes a while: --long")
    def test_a_plain_run_triggers_nothing(self) -> None:
        self.record(
            ["--on", "step_time>9*median,mfu<0.1*median,memory_growth>15steps", "--no-report"],
            [],
            STEPS=200,
        )
        self.assertEqual(self.windows(), [])


if __name__ == "__main__":
    run_and_count()
