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

    def of_ranks(self, layout: str = "dp=4", plan: str = "", **settings: object) -> dict:
        """Beside a plan of the same layout, but of another model: ranks are held against each other."""
        sizes = [f"--{size}" for size in layout.split(",")]
        run = self.folder / str(len(list(self.folder.iterdir())))
        write_run(run, Run(settings_of(layout, steps=3, **settings)), set())
        return self.told("compare", "--json", plan or self.model_plan(*sizes), str(run))

    def test_the_rank_that_the_others_wait_for(self) -> None:
        told = self.of_ranks(straggler=2)
        self.assertRegex(
            told["headline"],
            r"The others wait 2\.30 ms .* for rank 2, which has 2\.37 ms more of 'matmuls",
        )

    def test_no_straggler_where_none_is(self) -> None:
        self.assertIsNone(self.of_ranks().get("headline"))

    def test_stages_that_wait_for_each_other_are_no_stragglers(self) -> None:
        for layout in ("dp=2,pp=4", "tp=2,dp=2,pp=2", "pp=4"):
            self.assertIsNone(self.of_ranks(layout).get("headline"), layout)

    def test_the_last_stage_has_more_work(self) -> None:
        told = self.of_ranks("dp=2,pp=4", last_stage=1.5)
        self.assertRegex(
            told["headline"],
            r"^Stage 3 of the pipeline works 2\.\d\d ms longer .*: no rank is late",
        )

    def test_a_straggler_is_found_in_its_stage(self) -> None:
        for layout, straggler, stage in (("dp=4,pp=2", 5, 1), ("tp=2,dp=2,pp=2", 2, 0)):
            told = self.of_ranks(layout, straggler=straggler, last_stage=1.2)
            self.assertRegex(
                told["headline"],
                rf"^The others of stage {stage} wait .* for rank {straggler}, which has .* more of",
            )

    def test_the_layout_of_the_plan_tells_stages(self) -> None:
        plan = self.model_plan("--devices=8", "--tp=2", "--pp=2")
        told = self.of_ranks("tp=2,dp=2,pp=2", plan, straggler=6, has_metadata=False)
        self.assertRegex(told["headline"], "^The others of stage 1 wait .* for rank 6,")

    def model_plan(self, *layout: str) -> str:
        return self.plan_of(
            *("--model", str(ROOT / "tests/models/gpt2.json"), "--device=H100 SXM", *layout),
            *("--seq=1024", "--global-batch=8"),
        )

    def of_products(self, has_shapes: bool, more: list[dict] | None = None) -> dict:
        """A step of one product on an H100, whose shapes are recorded or not."""
        event = {"ph": "X", "pid": 1, "tid": 1}
        dims = {"Input Dims": [[8192, 768], [768, 768]], "Input type": ["c10::BFloat16"] * 2}
        events = [
            event | {"name": "ProfilerStep#1", "cat": "user_annotation", "ts": 0, "dur": 1000},
            event
            | {"name": "aten::mm", "cat": "cpu_op", "ts": 10, "dur": 20}
            | {"args": {"External id": 1} | (dims if has_shapes else {})},
            event
            | {"name": "cudaLaunchKernel", "cat": "cuda_runtime", "ts": 15, "dur": 5}
            | {"args": {"correlation": 7, "External id": 1}},
            event
            | {"name": "sm90_xmma_gemm_bf16bf16_bf16f32", "cat": "kernel", "ts": 30, "dur": 100}
            | {"pid": 0, "tid": 7}
            | {"args": {"correlation": 7, "External id": 1, "device": 0, "stream": 7}},
            *(more or []),
        ]
        run = self.folder / "products.json"
        device = {"id": 0, "name": "NVIDIA H100 80GB HBM3"}
        run.write_text(
            json.dumps({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": events})
        )
        return self.told("compare", "--json", self.model_plan("--devices=1"), str(run))["ranks"][0]

    def rows_of(self, rank: dict) -> dict[str, dict]:
        rows = rank["sections"]["plan_against_run"]["tables"]["accounts"]["rows"]
        return {row["account_key"]: row for row in rows}

    def test_a_run_of_unknown_flops_has_its_matmuls_in_one_row(self) -> None:
        rows = self.rows_of(self.of_products(has_shapes=False))
        self.assertEqual(rows["matrix"]["measured"], 100_000)
        self.assertGreater(rows["matrix"]["planned"], 0)
        self.assertNotIn("below_peak", rows)
        self.assertIn("are not known", rows["matrix"]["why"])

    def test_a_forward_alone_is_no_step_of_training(self) -> None:
        rank = self.of_products(has_shapes=True)
        rows = self.rows_of(rank)
        flops = 2 * 8192 * 768 * 768
        self.assertLess(abs(rows["useful"]["measured"] - flops / 989.4e12 * 1e9), 20)
        self.assertRegex(rows["useful"]["why"], r"^0\.00\d+ times the FLOPs that were planned")
        whats = [note["what"] for note in rank["sections"]["plan_against_run"]["findings"]]
        self.assertIn("the run has a forward and no backward", whats)

    def test_what_the_host_does_is_told_of_each_account(self) -> None:
        """The largest of what is idle belongs to one account, and is no reason for another."""
        wait = {"name": "cudaStreamSynchronize", "cat": "cuda_runtime", "ts": 200, "dur": 100}
        rows = self.rows_of(
            self.of_products(has_shapes=True, more=[{"ph": "X", "pid": 1, "tid": 1} | wait])
        )
        for key in ("launch", "host"):
            told, unit = rows[key]["why"].split(", ")[-1].split()[:2]
            ns = float(told) * {"µs": 1e3, "ms": 1e6}[unit]
            self.assertLessEqual(ns, rows[key]["measured"] * 1.01, rows[key]["why"])

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
