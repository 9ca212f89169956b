#!/usr/bin/env python3
"""`flopledger plan --from`: one recording tells the steps of other batches and sequences: test_plan_from.py PROGRAM [--long]

Measured in seconds of the processor, the least of some steps: what else runs on the machine makes them no longer. With
--long: four other sizes, each within 10 %. Without: what needs no training.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path

from count_line import run_and_count
from recorded_runs import environment_of, find_python

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "generate"))
from trained_trace import write_trained  # noqa: E402

PROGRAM = Path(sys.argv.pop(1)).resolve()
IS_LONG = "--long" in sys.argv
sys.argv = [word for word in sys.argv if word != "--long"]
TRACE = ROOT / "examples/traces/train_gpt_cpu.json.gz"
TRAINING = ROOT / "tests/python/training/gpt_of_size.py"
RECORDED = (4, 128)
OTHERS = ((2, 128), (8, 128), (4, 256), (8, 256))
WITHIN = 0.10


def planned(trace: Path, *options: str) -> dict:
    done = subprocess.run(
        [str(PROGRAM), "plan", "--json", "--from", str(trace), *options],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)["ranks"][0]["sections"]


def factor_of(sections: dict) -> float:
    numbers = sections["plan"]["numbers"]
    return numbers["step_time"]["value"] / numbers["recorded_step_time"]["value"]


class PlannedCase(unittest.TestCase):
    def test_nothing_changed_is_the_recording(self) -> None:
        self.assertAlmostEqual(factor_of(planned(TRACE)), 1.0, places=9)
        self.assertAlmostEqual(factor_of(planned(TRACE, "--batch", "1x")), 1.0, places=9)

    def test_the_parts_add_up_to_the_step(self) -> None:
        for options in ((), ("--batch", "2x"), ("--batch", "4", "--seq", "64")):
            sections = planned(TRACE, *options)
            numbers = sections["plan"]["numbers"]
            rows = sections["plan_ledger"]["tables"]["accounts"]["rows"]
            for column, key in (("time", "step_time"), ("recorded", "recorded_step_time")):
                total = sum(row[column] for row in rows)
                self.assertLess(abs(total - numbers[key]["value"]), 10, (options, column))

    def test_matmuls_follow_the_batch_and_the_optimizer_does_not(self) -> None:
        rows = {
            row["account_key"]: row
            for row in planned(TRACE, "--batch", "2x")["plan_ledger"]["tables"]["accounts"]["rows"]
        }
        self.assertAlmostEqual(rows["matrix"]["factor"], 2.0, delta=0.01)
        self.assertAlmostEqual(rows["optimizer"]["factor"], 1.0, places=9)

    def test_a_run_beside_its_plan_adds_up_on_both_sides(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            plan = Path(folder) / "plan.json"
            for options in (("--batch", "2x"), ("--batch", "8", "--seq", "64"), ()):
                words = [str(PROGRAM), "plan", "--json", "-o", str(plan), "--force"]
                words += ["--from", str(TRACE), *options]
                subprocess.run(words, check=True)
                told = subprocess.run(
                    [str(PROGRAM), "compare", "--json", str(plan), str(TRACE)],
                    capture_output=True,
                    text=True,
                    check=True,
                )
                section = json.loads(told.stdout)["ranks"][0]["sections"]["plan_against_run"]
                rows = section["tables"]["accounts"]["rows"]
                for column, key in (("planned", "planned_step"), ("measured", "measured_step")):
                    total = sum(row[column] for row in rows)
                    step = section["numbers"][key]["value"]
                    self.assertLess(abs(total - step), 20, (options, column))

    def test_tensor_parallelism_of_a_device_changes_what_two_plans_differ_by(self) -> None:
        model = str(ROOT / "tests/models/gpt2.json")
        with tempfile.TemporaryDirectory() as name:
            trace = Path(name) / "trained.json"
            write_trained(trace, 4, 1024)
            told = planned(trace, "--tp=2", "--devices=2", "--model", model)
            rows = {
                row["account_key"]: row for row in told["plan_ledger"]["tables"]["accounts"]["rows"]
            }
            one, two = (
                self.accounts_of_model("gpt2", f"--devices={size}", f"--tp={size}")
                for size in (1, 2)
            )
            matrix = ("useful", "below_peak_rate", "tiles", "attention")
            by_plans = sum(two[key] for key in matrix) / sum(one[key] for key in matrix)
            self.assertAlmostEqual(rows["matrix"]["factor"], by_plans, delta=0.01)
            self.assertAlmostEqual(rows["optimizer"]["factor"], 0.5, delta=0.01)
            shared = told["plan"]["numbers"]
            self.assertAlmostEqual(
                shared["tokens_per_second_per_device"]["value"] * shared["step_time"]["value"],
                1e9 * 4 * 1024 / 2,
                delta=1e9,
            )
            seen = rows["communication"]["time"]
            self.assertAlmostEqual(seen / two["exposed_tensor"], 1.0, delta=0.01)
            replicas = planned(trace, "--tp=1", "--devices=8", "--model", model)
            rows = replicas["plan_ledger"]["tables"]["accounts"]["rows"]
            reduced = [row for row in rows if row["account_key"] == "communication"]
            self.assertEqual([row["recorded"] for row in reduced], [0])
            self.assertGreater(reduced[0]["time"], 0)
            self.refuses(trace, "--model of another", "llama-3-8b", "was trained")
            for devices, nearest in ((9, 8), (13, 16), (1, 8)):
                told = f"the nearest number of devices that fits is {nearest}"
                sizes = ("--tp=4", "--pp=2", f"--devices={devices}")
                self.refuses(trace, f"{devices} devices", "gpt2", told, *sizes)
            write_trained(trace, 4, 1024, has_optimizer=False)
            self.refuses(trace, "no training", "gpt2", "no optimizer")

    def test_a_pipeline_is_of_the_passes_as_they_were_measured(self) -> None:
        model = str(ROOT / "tests/models/gpt2.json")
        with tempfile.TemporaryDirectory() as name:
            trace = Path(name) / "trained.json"
            write_trained(trace, 4, 1024)
            for stages, chunks, passes in ((2, 1, 1), (4, 1, 8), (4, 1, 64), (4, 3, 8), (3, 2, 9)):
                sizes = ("--model", model, f"--pp={stages}", f"--vp={chunks}")
                told = planned(trace, *sizes, f"--global-batch={4 * passes}")
                numbers = told["plan"]["numbers"]
                rows = {
                    row["account_key"]: row
                    for row in told["plan_ledger"]["tables"]["accounts"]["rows"]
                }
                what = (stages, chunks, passes)
                total = sum(row["time"] for row in rows.values())
                self.assertLess(abs(total - numbers["step_time"]["value"]), 10, what)
                # each device has its share of the layers' measured work, once a pass
                self.assertAlmostEqual(rows["matrix"]["factor"], passes / stages, delta=0.01)
                by_work = rows["pipeline_bubble"]["time"] / (
                    rows["matrix"]["time"] + rows["other_compute"]["time"] + rows["rest"]["time"]
                )
                # at least what fills and empties it; more where the logits' stage is the fullest
                self.assertGreater(by_work, 0.99 * (stages - 1) / passes / chunks, what)
                self.assertAlmostEqual(by_work, self.bubble_of_model(*what), delta=0.01, msg=what)
            self.assertIn("fewer micro-batches than stages", self.text(trace, model, "--pp=4"))
            self.refuses(
                trace, "batch", "gpt2", "nearest that fits is 32", "--pp=4", *self.batch(30)
            )
            self.refuses(trace, "--vp", "gpt2", "-batch that fits is 16", "--pp=4", "--vp=3")
            self.refuses(trace, "no layout", "gpt2", "give --tp or --pp", *self.batch(32))

    def beside_plain_steps(self, share: float, samples: int, tokens: int, *sizes: str) -> dict:
        """A recording of a run whose other steps took that share of a recorded one; 0: nothing is known of them."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_trained(folder / "trace.json", samples, tokens, has_optimizer=False)
            if share > 0:
                recorded = planned(folder / "trace.json")["plan"]["numbers"]["step_time"]["value"]
                window = {"trace": "trace.json", "steps": [{"step": n} for n in range(3)]}
                took = [7 * recorded] * 3 + [round(share * recorded)] * 9
                capture = {"schema": "flopledger.capture", "schema_version": 1}
                capture |= {"state": "complete", "recorded": [window], "models": []}
                capture |= {"steps": {"of": "optimizer", "count": 13, "durations_ns": took}}
                (folder / "capture.json").write_text(json.dumps(capture))
            return planned(folder / "trace.json", *sizes)["plan"]

    def is_upper_bound(self, plan: dict) -> bool:
        told = any("an upper bound" in note["what"] for note in plan["findings"])
        if told:
            self.assertLess(
                plan["numbers"]["step_time_low"]["value"],
                0.96 * plan["numbers"]["step_time"]["value"],
            )
        return told

    def test_a_host_has_the_pace_of_steps_that_were_not_recorded(self) -> None:
        for share in (0.95, 0.8, 0.6):
            for sizes in ((), ("--batch=2x",)):
                plan = self.beside_plain_steps(share, 1, 64, *sizes)
                numbers = plan["numbers"]
                by_plain = numbers["step_time"]["value"] / numbers["plain_step_time"]["value"]
                # of twice the samples the logits are no longer hidden behind launches
                self.assertAlmostEqual(by_plain, 1.0, delta=0.05 if sizes else 0.005)
                self.assertGreater(by_plain, 0.995)
                self.assertAlmostEqual(
                    numbers["plain_step_time"]["value"] / numbers["recorded_step_time"]["value"],
                    share,
                    delta=0.001,
                )
                self.assertFalse(self.is_upper_bound(plan), (share, sizes))

    def test_a_step_that_waits_for_a_host_of_unknown_pace_is_an_upper_bound(self) -> None:
        self.assertTrue(self.is_upper_bound(self.beside_plain_steps(0, 1, 64, "--batch=2x")))
        self.assertFalse(self.is_upper_bound(self.beside_plain_steps(0, 1, 64)), "as recorded")
        self.assertFalse(
            self.is_upper_bound(self.beside_plain_steps(0, 16, 1024, "--batch=2x")),
            "the device works all the time",
        )

    def test_steps_of_another_kind_tell_no_pace(self) -> None:
        plan = self.beside_plain_steps(0.1, 4, 1024, "--batch=2x")
        self.assertNotIn("plain_step_time", plan["numbers"])

    def test_steps_that_wait_for_the_device_tell_no_pace(self) -> None:
        """They are planned with, and a smaller batch, which waits for the host, is told as a bound."""
        plan = self.beside_plain_steps(1.0, 8, 1024, "--batch=1", "--seq=64")
        self.assertIn("plain_step_time", plan["numbers"])
        self.assertTrue(self.is_upper_bound(plan))

    def of_changed(self, change: Callable[[dict], None], *sizes: str) -> dict:
        """With each event of the trace changed as told."""
        with tempfile.TemporaryDirectory() as name:
            trace = Path(name) / "trace.json"
            write_trained(trace, 4, 1024)
            whole = json.loads(trace.read_text())
            for event in list(whole["traceEvents"]):
                change(event)
            trace.write_text(json.dumps(whole))
            return planned(trace, *sizes)

    def matrix_factor(self, change: Callable[[dict], None], device: str) -> float:
        told = self.of_changed(change, "--device", device)
        rows = told["plan_ledger"]["tables"]["accounts"]["rows"]
        return next(row["factor"] for row in rows if row["account_key"] == "matrix")

    def test_relative_positions_are_no_tokens(self) -> None:
        """As T5 looks them up: of each pair of tokens, in a table as wide as there are heads."""

        def look_up(event: dict) -> None:
            if event["name"] == "aten::mm" and event["args"].get("Input Dims"):
                event["name"] = "aten::embedding"
                event["args"]["Input Dims"] = [[32, 12], [4096, 4096], []]

        told = self.of_changed(look_up)["plan"]["numbers"]["recorded_pass"]["value"]
        self.assertEqual(told, "4 samples of 1024 tokens")

    def test_matrix_kernels_of_other_ops_follow_the_matrix_rate(self) -> None:
        def rename(event: dict) -> None:
            event["name"] = event["name"].replace("aten::mm", "library::graphed")

        self.assertAlmostEqual(self.matrix_factor(rename, "H200"), 1.0, delta=0.01)

    def test_matmuls_follow_the_rate_of_their_number_format(self) -> None:
        def widen(event: dict) -> None:
            if event["name"] == "aten::mm":
                event["args"]["Input type"] = ["float", "float"]
            event["name"] = event["name"].replace(
                "nvjet_hsh_128x128_64x4_TNN", "sm80_simt_sgemm_128x64_nn"
            )

        wide, narrow = (
            self.matrix_factor(change, "A100-SXM4-80GB") for change in (widen, lambda event: None)
        )
        self.assertAlmostEqual(wide / narrow, (67 / 19.5) / (989.4 / 312), delta=0.2)
        self.assertGreater(wide, narrow)

    def batch(self, samples: int) -> tuple[str, ...]:
        return (f"--global-batch={samples}",)

    def text(self, trace: Path, model: str, *sizes: str) -> str:
        words = [str(PROGRAM), "plan", "--from", str(trace), "--model", model, *sizes]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    def bubble_of_model(self, stages: int, chunks: int, passes: int) -> float:
        sizes = (f"--pp={stages}", f"--vp={chunks}")
        batch = (f"--devices={stages}", f"--global-batch={4 * passes}")
        accounts = self.accounts_of_model("gpt2", *sizes, *batch)
        once = ("optimizer", "exposed_stages", "exposed_gradients", "pipeline_bubble")
        work = sum(time for key, time in accounts.items() if key not in once)
        return accounts["pipeline_bubble"] / work

    def refuses(self, trace: Path, why: str, model: str, words: str, *sizes: str) -> None:
        done = subprocess.run(
            [
                *(str(PROGRAM), "plan", "--from", str(trace), *(sizes or ("--tp=2",))),
                *("--model", str(ROOT / f"tests/models/{model}.json")),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 2, why)
        self.assertIn(words, done.stderr, why)

    def accounts_of_model(self, model: str, *sizes: str) -> dict[str, float]:
        done = subprocess.run(
            [
                *(str(PROGRAM), "plan", "--json", "--model"),
                *(str(ROOT / f"tests/models/{model}.json"), "--device=H100 SXM"),
                *("--seq=1024", "--global-batch=4", "--micro-batch=4", *sizes),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        sections = json.loads(done.stdout)["ranks"][0]["sections"]
        rows = sections["plan_ledger"]["tables"]["accounts"]["rows"]
        return {row["account_key"]: row["time"] for row in rows}

    @unittest.skipUnless(IS_LONG and find_python(), "needs --long and torch")
    def test_other_batches_and_sequences_within_ten_percent(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            trace = self.record(Path(folder))
            base = self.measure(*RECORDED)
            for samples, tokens in OTHERS:
                measured = self.measure(samples, tokens) / base
                told = factor_of(planned(trace, "--batch", str(samples), "--seq", str(tokens)))
                error = told / measured - 1
                print(
                    f"{samples} x {tokens}: planned {told:.3f}, measured {measured:.3f} of the "
                    f"recorded step, error {100 * error:+.1f} %",
                    file=sys.stderr,
                )
                self.assertLessEqual(abs(error), WITHIN, (samples, tokens))

    def record(self, folder: Path) -> Path:
        words = [find_python(), TRAINING, *RECORDED, 14]
        subprocess.run(
            [
                *(str(PROGRAM), "run", "--no-report", "--steps", "4-13", "-o", str(folder), "--"),
                *(str(word) for word in words),
            ],
            env=environment_of(PROGRAM),
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return next(folder.rglob("*.json.gz"))

    def measure(self, samples: int, tokens: int) -> float:
        words = [find_python(), TRAINING, samples, tokens, 8]
        done = subprocess.run(
            [str(word) for word in words],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        )
        return float(done.stdout.split()[1])


if __name__ == "__main__":
    run_and_count()
