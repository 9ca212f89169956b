#!/usr/bin/env python3
"""`flopledger compare plan.json RUN` of a training of the very model: test_planned_runs.py PROGRAM

Traces of ranks of several layouts, made with the plan's own times: without a cause all accounts are as planned; with one, its
account is named first; of another model, layout or device none is compared.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from count_line import run_and_count

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "generate"))
from planned_run import Fault, read_planned, write_planned_run  # noqa: E402

PROGRAM = Path(sys.argv.pop(1)).resolve()
A100 = {"name": "NVIDIA A100-SXM4-80GB", "computeMajor": 8, "numSms": 108}
LAYOUTS = {
    "tp=2,dp=2": ["--devices=4", "--tp=2", "--dp=2", "--global-batch=8"],
    "recomputed": ["--devices=4", "--tp=2", "--global-batch=8", "--recompute=full"],
    "fp8": ["--devices=2", "--tp=1", "--global-batch=4", "--dtype=fp8"],
    "pp=2": ["--devices=4", "--pp=2", "--dp=2", "--global-batch=32"],
    "zero=1": ["--devices=8", "--tp=1", "--zero=1", "--global-batch=16", "--seq=8192"],
}
# What is done to the run, the account that has more of it, and what must be said of it.
CAUSES = {
    "below_peak": (Fault(matmuls=1.5), r"matmuls reach 4\d % of the peak, 6\d % were planned"),
    "other_compute": (Fault(streaming=4), "less is fused than was planned"),
    "optimizer": (Fault(optimizer=5), "the optimizer's kernels are slower"),
    "exposed_communication": (Fault(communication=12, late=40_000_000), r"\d+ % of it is hidden"),
    "data": (Fault(data=80_000_000), "a plan has its data ready"),
    "host": (Fault(waiting=80_000_000), "mostly 'host synchronization', 88.0 ms"),
    "launch": (Fault(launch=4_000_000), "the host: mostly '(nothing recorded|launch bound)'"),
}


class PlannedRunCase(unittest.TestCase):
    scratch: tempfile.TemporaryDirectory[str]
    config: Path
    plans: dict[str, Path]

    @classmethod
    def setUpClass(cls) -> None:
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        folder = Path(cls.scratch.name)
        cls.config = folder / "config.json"
        config = json.loads((ROOT / "tests/models/llama-3-8b.json").read_text())
        cls.config.write_text(json.dumps(config | {"num_hidden_layers": 4}))
        cls.plans = {}
        for number, (name, layout) in enumerate(LAYOUTS.items()):
            words = [str(PROGRAM), "plan", "--json", f"--model={cls.config}", "--device=H100 SXM"]
            if "--seq=8192" not in layout:
                words.append("--seq=4096")
            done = subprocess.run([*words, *layout], capture_output=True, check=True)
            cls.plans[name] = folder / f"plan{number}.json"
            cls.plans[name].write_bytes(done.stdout)

    def run_of(self, layout: str, fault: Fault, rank: int = 0, **more: dict) -> Path:
        path = Path(self.scratch.name) / "run.json"
        write_planned_run(path, read_planned(self.plans[layout], self.config), fault, rank, **more)
        return path

    def compared(self, layout: str, run: Path) -> dict:
        words = [str(PROGRAM), "compare", "--json", str(self.plans[layout]), str(run)]
        return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)

    def rows_of(self, rank: dict) -> dict[str, dict]:
        """By key; both columns add up to their steps."""
        section = rank["sections"]["plan_against_run"]
        rows = section["tables"]["accounts"]["rows"]
        for column in ("planned", "measured"):
            step = section["numbers"][f"{column}_step"]["value"]
            self.assertLess(abs(sum(row[column] for row in rows) - step), len(rows), column)
        return {row["account_key"]: row for row in rows}

    def test_a_run_that_goes_as_planned_has_no_cause(self) -> None:
        for layout in LAYOUTS:
            rank = self.compared(layout, self.run_of(layout, Fault()))["ranks"][0]
            rows = self.rows_of(rank)
            self.assertRegex(rank["headline"], r"^A step takes .*, as planned\.$", layout)
            for key, row in rows.items():
                self.assertEqual(row["why"], "as planned", f"{layout}: {key}: {row}")
            self.assertEqual(rank["sections"]["plan_against_run"]["findings"], [], layout)

    def test_the_cause_is_named_first(self) -> None:
        for layout in LAYOUTS:
            for key, (fault, why) in CAUSES.items():
                rank = self.compared(layout, self.run_of(layout, fault))["ranks"][0]
                row = self.rows_of(rank)[key]
                said = f"Most of it is in {row['account']} (+"
                self.assertIn(said, rank["headline"], f"{layout}: {key}")
                self.assertRegex(rank["headline"], why, f"{layout}: {key}")

    def test_the_rank_that_is_late_is_named(self) -> None:
        folder = Path(self.scratch.name) / "ranks"
        folder.mkdir()
        planned = read_planned(self.plans["tp=2,dp=2"], self.config)
        for rank in range(4):
            fault = Fault(matmuls=1.3) if rank == 2 else Fault(late=36_000_000)
            write_planned_run(folder / f"rank{rank}.json", planned, fault, rank)
        told = self.compared("tp=2,dp=2", folder)
        self.assertRegex(
            told["headline"],
            r"^The others( of stage 0)? wait 36\.\d ms of each step for rank 2, which has 3\d\.\d ms more of "
            r"'matmuls and attention below the peak'",
        )

    def told_of(self, rank: dict) -> str:
        return "; ".join(
            f"{note['what']}: {note['evidence']}"
            for note in rank["sections"]["plan_against_run"]["findings"]
        )

    def test_an_optimizer_between_the_marks_is_told_as_such(self) -> None:
        """No account has it: it is not called faster."""
        run = self.run_of("tp=2,dp=2", Fault())
        changed = json.loads(run.read_text())
        updates = [e for e in changed["traceEvents"] if "multi_tensor" in e["name"]]
        marks = [e for e in changed["traceEvents"] if e["name"].startswith("ProfilerStep")]
        for mark, update in zip(marks, updates, strict=True):
            mark["dur"] = update["ts"] + 0.3 * update["dur"] - mark["ts"]
        run.write_text(json.dumps(changed))
        rank = self.compared("tp=2,dp=2", run)["ranks"][0]
        row = self.rows_of(rank)["optimizer"]
        lacks = 0.7 * sum(update["dur"] for update in updates[:-1]) / len(marks) / 1000
        self.assertRegex(row["why"], r"^[\d.]+ ms of it a step ran between the marks")
        self.assertAlmostEqual(float(row["why"].split()[0]), lacks, delta=0.02 * lacks)
        self.assertIn("the device works between the marks", self.told_of(rank))

    def test_another_depth_batch_or_micro_batch_is_told(self) -> None:
        planned = json.loads(self.plans["zero=1"].read_text())
        run = self.run_of("zero=1", Fault())
        other = self.config.with_name("other.json")
        config = json.loads(self.config.read_text())
        self.plans["other"] = other.with_name("other_plan.json")
        words = [str(PROGRAM), "plan", "--json", f"--model={other}", "--device=H100 SXM"]
        for layers, options, told in (
            (8, LAYOUTS["zero=1"], r"of different models or number formats: 1?[.\d]+ times"),
            (
                4,
                ["--devices=8", "--tp=1", "--zero=1", "--global-batch=32", "--seq=8192"],
                "batches",
            ),
        ):
            other.write_text(json.dumps(config | {"num_hidden_layers": layers}))
            done = subprocess.run([*words, *options], capture_output=True, check=True)
            self.plans["other"].write_bytes(done.stdout)
            self.assertRegex(self.told_of(self.compared("other", run)["ranks"][0]), told)
        recorded = {"trace": "run.json", "steps": []}
        tokens = 16 // 8 * 8192
        for number in range(3):
            recorded["steps"].append(
                {"step": number, "micro_batches": 1, "samples": 4, "tokens": tokens}
            )
        capture = {"schema": "flopledger.capture", "schema_version": 1, "state": "complete"}
        capture |= {"recorded": [recorded], "models": [{"name": "model", "config": config}]}
        said = run.with_name("capture.json")
        self.addCleanup(said.unlink)
        said.write_text(json.dumps(capture))
        told = self.told_of(self.compared("zero=1", run)["ranks"][0])
        numbers = planned["ranks"][0]["sections"]["plan"]["numbers"]
        micro = numbers["micro_batch"]["value"]
        self.assertIn(f"micro-batches: {micro} samples planned, 4 recorded", told)
        self.assertIn(f"sequences: 8192 tokens of a sample planned, {tokens // 4} recorded", told)
        said.write_text(json.dumps(capture).replace('hidden_layers": 4', 'hidden_layers": 8'))
        self.assertIn("it has 4 layers, that of the run 8", self.refused("zero=1", run))

    def test_groups_of_other_sizes_are_refused(self) -> None:
        run = self.run_of("tp=2,dp=2", Fault())
        for name, told in (("mesh_cp", "context parallel size 1, and 2"), ("dp", "--dp 2")):
            changed = json.loads(run.read_text().replace("mesh_dp", name))
            path = run.with_name("other.json")
            path.write_text(json.dumps(changed))
            self.plans["four"] = run.with_name("four.json")
            text = self.plans["tp=2,dp=2"].read_text()
            if name == "dp":
                whole = json.loads(text)
                numbers = whole["ranks"][0]["sections"]["plan"]["numbers"]
                numbers["dp"]["value"], numbers["cp"]["value"] = 1, 2
                text = json.dumps(whole)
            self.plans["four"].write_text(text)
            self.assertIn(told, self.refused("four", path))

    def refused(self, plan: str, run: Path) -> str:
        words = [str(PROGRAM), "compare", str(self.plans[plan]), str(run)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_another_model_layout_or_device_is_refused(self) -> None:
        """What differs is said, with both of it."""
        of_a100 = self.run_of("pp=2", Fault(), device=A100)
        self.assertRegex(self.refused("pp=2", of_a100), "of NVIDIA H100 SXM5, the run of NVIDIA A1")
        run = self.run_of("tp=2,dp=2", Fault())
        self.assertRegex(self.refused("zero=1", run), "of 8 devices, the run of 4: plan with --dev")
        self.assertRegex(
            self.refused("pp=2", run), "tensor parallel size 1, and 2 of the run, by .*--tp 2"
        )
        changed = json.loads(run.read_text())
        for event in changed["traceEvents"]:
            if event["name"] == "aten::embedding":
                event["args"]["Input Dims"][0] = [32000, 5120]
        run.write_text(json.dumps(changed))
        self.assertRegex(
            self.refused("tp=2,dp=2", run), "has 4096 columns, that of the run 5120 .of 32000 rows"
        )
        on_cpu = ROOT / "examples/traces/train_gpt_cpu.json.gz"
        self.assertRegex(self.refused("pp=2", on_cpu), "the run has no work on a device")


if __name__ == "__main__":
    run_and_count()
