#!/usr/bin/env python3
"""`flopledger run --memory` and `flopledger memory` are exact to the byte: test_memory.py PROGRAM

The truth is what the program gets from the C library, counted by a library that is loaded in front of it
(training/allocation_shim.c), and the sizes of its own tensors.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from count_line import run_and_count
from recorded_runs import DEFAULT_STEPS, Run, Runner, find_python

PROGRAM = Path(sys.argv.pop(1)).resolve()
PYTHON = find_python()
TRAINING = Path(__file__).resolve().parent / "training"
WAYS = ("plain", "checkpoint", "reentrant", "tied", "accumulate", "lstm", "zero late", "leak")
STEPS, BATCH = 8, 4

# memory.log as InternEvo's SimpleMemoryProfiler writes it.
AMOUNT = r"\d+\.\d\d MB"
LAYER = rf"layer: (?:param|grad|os_params|os_state)_mem(?:\.\S+)?, layer_mem: {AMOUNT}, total_mem: {AMOUNT}\n"
LAYER_OF_ACTIVATIONS = (
    rf"layer: activations_\d+(?:\.\S+)?, layer_mem: {AMOUNT}, total_mem: {AMOUNT}\n"
)
RECORD = (
    r"Memory State:\n"
    r"time: \d+(?:\.\d+)?(?:e-\d+)?\n"
    r"---summary---\n"
    rf"total_memory: {AMOUNT}\n"
    rf"params_memory: {AMOUNT}, grads_memory: {AMOUNT}, os_params_memory: {AMOUNT}, "
    rf"os_state_memory: {AMOUNT}, activation_memory: {AMOUNT}\n"
    r"(?:---Layout---\n"
    rf"(?:params_layout:\n(?:{LAYER})+)?(?:grads_layout:\n(?:{LAYER})+)?"
    rf"(?:os_params_layout:\n(?:{LAYER})+)?(?:os_state_layout:\n(?:{LAYER})+)?"
    rf"(?:activation_base_layout:\n(?:{LAYER_OF_ACTIVATIONS})+)?)?"
    r"\n"
)
PAGES = ("summary", "params_memory", "grads_memory", "os_memory", "activation_memory")

runner: Runner
folder: tempfile.TemporaryDirectory


def start(name: str, way: str, batch: int, shim: Path, *options: str) -> None:
    words = ["env", f"LD_PRELOAD={shim}", str(PYTHON), str(TRAINING / "memory_loops.py")]
    runner.start_command(
        name.replace(" ", "-"),
        [*words, way, str(STEPS), str(batch)],
        "--memory",
        "--no-report",
        *options,
    )


def setUpModule() -> None:
    global runner, folder
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if PYTHON is None or compiler is None:
        raise unittest.SkipTest("needs torch and a C compiler")
    folder = tempfile.TemporaryDirectory()
    shim = Path(folder.name) / "shim.so"
    source = TRAINING / "allocation_shim.c"
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", str(shim), str(source), "-ldl", "-lpthread"],
        check=True,
    )
    runner = Runner(PROGRAM, PYTHON, Path(folder.name))
    for way in WAYS:
        start(way, way, BATCH, shim)
    start("early", "plain", BATCH, shim, "--steps", "2-3")
    start("twice", "plain", 2 * BATCH, shim)


def tearDownModule() -> None:
    runner.pool.shutdown()
    folder.cleanup()


def memory_of(run: Run, *options: str) -> dict:
    words = [str(PROGRAM), "memory", "--json", "--top", "0", *options, str(run.traces[0])]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["ranks"][0]["sections"]


def rows(section: dict, table: str) -> list[dict]:
    return section["tables"][table]["rows"]


class Memory(unittest.TestCase):
    def run_of(self, name: str) -> Run:
        run = runner.get(name.replace(" ", "-"))
        self.assertEqual(run.status, 0, run.errors)
        self.assertEqual(len(run.traces), 1)
        return run

    def test_every_byte_is_the_allocators(self) -> None:
        for way in (*WAYS, "early"):
            with self.subTest(way):
                run = self.run_of(way)
                truth = {t["step"]: t for t in map(json.loads, run.output.splitlines())}
                memory = memory_of(run)
                steps = rows(memory["memory"], "steps")
                self.assertEqual(
                    [s["step"] for s in steps], [2, 3] if way == "early" else DEFAULT_STEPS
                )
                for step in steps:
                    self.assertEqual(step["peak"], truth[step["step"]]["peak"])
                kinds = {row["kind"]: row for row in rows(memory["memory"], "kinds")}
                last = truth[STEPS]
                self.assertEqual(kinds["parameters"]["peak"], last["parameters"])
                self.assertEqual(kinds["buffers"]["peak"], last["buffers"])
                self.assertEqual(kinds["gradients"]["backward_end"], last["gradients"])
                self.assertEqual(kinds["optimizer state"]["step_end"], last["state"])
                parts = sum(row["peak"] for name, row in kinds.items() if name != "total")
                self.assertEqual(parts, kinds["total"]["peak"])
                composition = rows(memory["memory_modules"], "composition")
                self.assertEqual(sum(row["bytes"] for row in composition), parts)

    def test_modules_are_named(self) -> None:
        for way in WAYS:
            with self.subTest(way):
                named = memory_of(self.run_of(way))["memory"]["numbers"]["named_fraction"]
                self.assertGreater(named["value"], 0.98)

    def test_checkpointing_is_seen(self) -> None:
        """Activations shrink to what the checkpoints keep; what is computed again is told as that."""
        kept = {}
        for way in ("plain", "checkpoint"):
            memory = memory_of(self.run_of(way))
            kinds = {row["kind"]: row for row in rows(memory["memory"], "kinds")}
            kept[way] = kinds["activations"]["forward_end"]
            phases = {row["phase"] for row in rows(memory["memory_blocks"], "blocks")}
            self.assertEqual("recompute" in phases, way == "checkpoint")
        self.assertLess(kept["checkpoint"], 0.5 * kept["plain"])

    def fit_of(self, name: str) -> dict:
        return memory_of(self.run_of(name), "--fit", "16MiB")["memory_fit"]

    def test_twice_the_batch_is_forecast(self) -> None:
        measured = memory_of(self.run_of("twice"))["memory"]["numbers"]["peak"]["value"]
        forecast = self.fit_of("plain")["numbers"]["peak_doubled"]["value"]
        self.assertAlmostEqual(forecast / measured, 1, delta=0.01)

    def test_checkpointing_is_forecast(self) -> None:
        for way in ("checkpoint", "reentrant"):
            measured = memory_of(self.run_of(way))["memory"]["numbers"]["peak"]["value"]
            ways = {row["way"]: row["peak"] for row in rows(self.fit_of("plain"), "what_if")}
            self.assertAlmostEqual(ways["checkpoint blocks.*"] / measured, 1, delta=0.05)

    def test_what_fits_is_not_too_much(self) -> None:
        """The step at the answer, and at one sample more, by the forecast of another batch's recording."""
        most = self.fit_of("plain")["numbers"]["most_samples"]["value"]
        self.assertEqual(most, self.fit_of("twice")["numbers"]["most_samples"]["value"])

    def test_leak_is_named(self) -> None:
        growth = memory_of(self.run_of("leak"))["memory_growth"]
        self.assertEqual(growth["numbers"]["growth_per_step"]["value"], 4000)
        largest = rows(growth, "growth")[0]
        self.assertEqual((largest["bytes"], largest["blocks"], largest["steps"]), (16000, 4, 4))
        none = memory_of(self.run_of("plain"))["memory_growth"]
        self.assertEqual(none["numbers"]["growth_per_step"]["value"], 0)
        self.assertNotIn("growth", none["tables"])

    def test_marks_are_small(self) -> None:
        """Names stand in the file once."""
        run = self.run_of("plain")
        side = json.loads(next(run.captures.glob("**/*.memory.json")).read_text())
        points = [mark["point"] for mark in side["marks"]]
        step = ["forward start", "forward end", "backward end", "step end"]
        self.assertEqual(points, ["start", *step * len(DEFAULT_STEPS)])
        self.assertEqual(len(side["tensors"]), len({tuple(t) for t in side["tensors"]}))
        self.assertEqual(side["marks"][2]["live"], [])  # nothing new at the forward's end
        trace = run.texts()[0]
        self.assertEqual(trace.count('"flopledger:mark#'), len(points))

    def test_side_file_is_found_by_its_name(self) -> None:
        run = self.run_of("plain")
        entry = run.side_files[0]["recorded"][0]
        self.assertEqual(
            entry["memory"], entry["trace"].replace(".pt.trace.json.gz", ".memory.json")
        )


class InternEvo(unittest.TestCase):
    def check_folder(self, written: Path) -> str:
        """Returns the log."""
        log = (written / "memory.log").read_text()
        self.assertIsNotNone(re.fullmatch(f"(?:{RECORD})+", log))
        for page in PAGES:
            text = (written / f"{page}_sunburst.html").read_text()
            self.assertIn("<path class=", text)
            self.assertNotRegex(text, r"https?://|<script|<link|@import|url\(")
        return log

    def test_recorded_run_is_written_as_internevos(self) -> None:
        run = runner.get("plain")
        out = Path(folder.name) / "written"
        words = [str(PROGRAM), "memory", "--format", "internevo", "--output", str(out)]
        done = subprocess.run([*words, str(run.traces[0])], capture_output=True, text=True)
        self.assertEqual(done.stdout, f"{out}/memory_trace/rank0_dp0_tp0\n", done.stderr)
        log = self.check_folder(out / "memory_trace" / "rank0_dp0_tp0")
        self.assertEqual(log.count("Memory State:"), 1 + 5 * 3)  # of each step: 2, and its end
        kinds = {row["kind"]: row for row in rows(memory_of(run)["memory"], "kinds")}
        peak = f"activation_memory: {kinds['activations']['forward_end'] / 2**20:.2f} MB"
        self.assertIn(peak, log)
        page = out / "memory_trace" / "rank0_dp0_tp0" / "summary_sunburst.html"
        self.assertIn(f"{kinds['parameters']['peak']:,}", page.read_text())

    def test_simple_memory_profiler(self) -> None:
        out = Path(folder.name) / "internevo"
        package = PROGRAM.parent / "python"
        done = subprocess.run(
            [str(PYTHON), str(TRAINING / "internevo_loop.py"), str(out)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(package), "OMP_NUM_THREADS": "1"},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("unknown option 'weights'", done.stdout)
        log = self.check_folder(out)
        self.assertEqual(log.count("Memory State:"), 1 + 2 * (2 + 2) + 2 + 1)
        parameters = int(done.stdout.split()[-1])
        self.assertIn(f"params_memory: {parameters / 2**20:.2f} MB", log)
        self.assertIn("layer: activations_0.lstm,", log)
        asked = log.split("Memory State:")[-2]
        self.assertIn("params_layout:", asked)
        self.assertIn("os_state_layout:", asked)
        self.assertNotIn("grads_layout:", asked)
        self.assertIn(f"{parameters:,}", (out / "params_memory_sunburst.html").read_text())

    def test_sample_of_internevo_has_the_same_grammar(self) -> None:
        shared = Path(os.environ.get("FLOPLEDGER_SHARED") or PROGRAM.parents[2] / "shared")
        sample = shared / "reference" / "internevo_sample_out" / "memory.log"
        if not sample.exists():
            self.skipTest("needs reference/internevo_sample_out of $FLOPLEDGER_SHARED")
        self.assertIsNotNone(re.fullmatch(f"(?:{RECORD})+", sample.read_text()))


if __name__ == "__main__":
    run_and_count()
