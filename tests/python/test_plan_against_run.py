#!/usr/bin/env python3
"""`flopledger compare plan.json RUN`: the reason that is told is what was done to the run: test_plan_against_run.py PROGRAM"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from count_line import run_and_count

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "generate"))
from many_ranks import Run, settings_of, write_run  # noqa: E402

PROGRAM = Path(sys.argv.pop(1)).resolve()
TRACE = ROOT / "examples/traces/train_gpt_cpu.json.gz"


class AgainstCase(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def told(self, *words: str) -> dict:
        done = subprocess.run(
            [str(PROGRAM), *words], capture_output=True, text=True, check=True, cwd=ROOT
        )
        return json.loads(done.stdout)

    def plan_of(self, *options: str) -> str:
        path = self.folder / "plan.json"
        path.write_text(json.dumps(self.told("plan", "--json", *options)))
        return str(path)

    def of_ranks(self, **settings: object) -> dict:
        run = self.folder / "run"
        write_run(run, Run(settings_of("dp=4", steps=3, **settings)), set())
        plan = self.plan_of(
            "--from", str(TRACE)
        )  # of another run: ranks are held against each other
        return self.told("compare", "--json", plan, str(run))

    def test_the_rank_that_the_others_wait_for(self) -> None:
        told = self.of_ranks(straggler=2)
        self.assertRegex(
            told["headline"],
            r"The others wait 2\.30 ms .* for rank 2, which has 2\.37 ms more of 'matmuls",
        )

    def test_no_straggler_where_none_is(self) -> None:
        self.assertIsNone(self.of_ranks().get("headline"))

    def test_waiting_for_data_is_told_as_such(self) -> None:
        trace = json.loads(gzip.decompress(TRACE.read_bytes()))
        events = trace["traceEvents"]
        steps = sorted(
            (event for event in events if str(event.get("name", "")).startswith("ProfilerStep")),
            key=lambda event: event["ts"],
        )
        starts = [step["ts"] for step in steps]
        wait = 60_000  # µs, at the beginning of each step
        for event in events:
            if "ts" in event:
                event["ts"] += wait * sum(event["ts"] > start for start in starts)
        for step in steps:
            step["dur"] += wait
            name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
            events.append(step | {"name": name, "cat": "user_annotation", "dur": wait, "args": {}})
        run = self.folder / "waits.json"
        run.write_text(json.dumps(trace))
        told = self.told("compare", "--json", self.plan_of("--from", str(TRACE)), str(run))
        rank = told["ranks"][0]
        self.assertIn(
            "rest of the step (+60.2 ms): the host: mostly 'waiting for data', 60.3 ms",
            rank["headline"],
        )
        self.assertEqual(len(rank["sections"]["plan_against_run"]["findings"]), 1)


if __name__ == "__main__":
    run_and_count()
