#!/usr/bin/env python3
"""Compiled models have the FLOPs of the eager ones, module by module, and their kernels have operators and lines:
test_compiled.py PROGRAM [--long]

Real runs of torch.compile on a CPU, in training and in evaluation: a GPT; with --long a ResNet and a mixture of experts, too.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from count_line import run_and_count
from recorded_runs import Run, Runner, find_python

IS_LONG = "--long" in sys.argv
sys.argv = [word for word in sys.argv if word != "--long"]
PROGRAM = Path(sys.argv.pop(1)).resolve()
PYTHON = find_python()
SCRIPT = Path(__file__).resolve().parent / "training" / "compiled_models.py"
MODELS = ("gpt", "resnet", "moe") if IS_LONG else ("gpt",)
MODES = ("train", "eval")
ATTRIBUTED_MIN = 0.95
SECONDS_TO_COMPILE = 900  # ten on a machine that does nothing else

runner: Runner
folder: tempfile.TemporaryDirectory


def start(name: str, *options: str, **variables: str) -> None:
    assert PYTHON is not None
    words = [PYTHON, str(SCRIPT), *name.split()[:3]]
    runner.start_command(
        name.replace(" ", "-"),
        words,
        "--no-report",
        *options,
        TORCHINDUCTOR_CACHE_DIR=str(Path(folder.name) / "cache"),
        TORCHINDUCTOR_COMPILE_THREADS="1",
        **variables,
    )


def setUpModule() -> None:
    global runner, folder
    if PYTHON is None or not shutil.which("g++"):
        raise unittest.SkipTest("needs torch and a C++ compiler")
    folder = tempfile.TemporaryDirectory()
    runner = Runner(PROGRAM, PYTHON, Path(folder.name), SECONDS_TO_COMPILE)
    for model in MODELS:
        for mode in MODES:
            start(f"{model} {mode} compiled", "--compiled")
            start(f"{model} {mode} eager")


def tearDownModule() -> None:
    runner.pool.shutdown(wait=True, cancel_futures=True)
    folder.cleanup()


def sections_of(command: str, run: Run, *options: str) -> dict[str, Any]:
    done = subprocess.run(
        [PROGRAM, command, "--json", "--top", "0", *options, run.captures],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["ranks"][0]["sections"]


def flops_of_modules(run: Run) -> dict[str, tuple[int, int]]:
    rows = sections_of("flops", run)["module_cost"]["tables"]["modules"]["rows"]
    own = ("own_forward_flops_in_all", "own_backward_flops_in_all")
    return {
        row["path"] if "path" in row else row["name"]: tuple(row[key] for key in own)
        for row in rows
    }


class Compiled(unittest.TestCase):
    def recorded(self, name: str) -> Run:
        run = runner.get(name.replace(" ", "-"))
        self.assertEqual(run.status, 0, run.errors)
        self.assertNotIn("recording stopped", run.errors)
        return run

    def test_flops_by_module_are_those_of_the_eager_model(self) -> None:
        for model in MODELS:
            for mode in MODES:
                with self.subTest(model=model, mode=mode):
                    eager = flops_of_modules(self.recorded(f"{model} {mode} eager"))
                    compiled = self.recorded(f"{model} {mode} compiled")
                    self.assertGreater(sum(flops for flops, _ in eager.values()), 0)
                    self.assertEqual(flops_of_modules(compiled), eager)

    def test_kernels_have_operators_and_lines(self) -> None:
        for model in MODELS:
            for mode in MODES:
                with self.subTest(model=model, mode=mode):
                    run = self.recorded(f"{model} {mode} compiled")
                    section = sections_of("report", run, "--section", "compiled")["compiled"]
                    numbers = {key: each["value"] for key, each in section["numbers"].items()}
                    self.assertEqual(numbers["calls"], 10 if mode == "train" else 5)
                    self.assertEqual(numbers["known"], numbers["calls"])
                    self.assertGreaterEqual(numbers["attributed"], ATTRIBUTED_MIN)
                    for row in section["tables"]["kernels"]["rows"]:
                        self.assertRegex(row["lines"], r"^compiled_models\.py:\d+")
                        self.assertRegex(row["operators"], r"aten\.|prims\.")

    def test_computes_the_same(self) -> None:
        for model in MODELS:
            outputs = [
                self.recorded(f"{model} train {form}").output for form in ("eager", "compiled")
            ]
            losses = [[float(line) for line in output.split()] for output in outputs]
            self.assertEqual(len(losses[0]), 8)
            for one, other in zip(*losses):
                self.assertAlmostEqual(one, other, delta=2e-4)

    def test_from_the_cache(self) -> None:
        """What was noted when the code was compiled comes back with it."""
        first = self.recorded("gpt eval compiled")
        start("gpt eval compiled again", "--compiled")
        again = self.recorded("gpt eval compiled again")
        texts = [next(run.captures.glob("**/compiled.json")).read_text() for run in (first, again)]
        self.assertEqual(*texts)
        self.assertEqual(flops_of_modules(again), flops_of_modules(first))

    @unittest.skipUnless(IS_LONG, "with --long")
    def test_what_torch_logs_tells_the_same(self) -> None:
        """Without the option, beside the log that torch itself writes: operators and lines, no module."""
        first = self.recorded("gpt eval compiled")
        logs = Path(folder.name) / "logs"
        options = {"TORCH_TRACE": str(logs), "INDUCTOR_PROVENANCE": "1"}
        options |= {"TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE": "1"}
        start("gpt eval compiled logged", **options)
        run = self.recorded("gpt eval compiled logged")
        (trace,) = run.captures.glob("**/*.pt.trace.json.gz")
        (log,) = logs.glob("dedicated_log_torch_trace_*.log")
        shutil.copy(log, trace.parent)
        tables = [sections_of("report", each)["compiled"] for each in (first, run)]
        numbers = {key: each["value"] for key, each in tables[1]["numbers"].items()}
        self.assertEqual((numbers["known"], numbers["calls"]), (5, 5))
        self.assertGreaterEqual(numbers["attributed"], ATTRIBUTED_MIN)
        told, logged = (
            {(row["kernel"], frozenset(row["lines"].split(", "))) for row in rows}
            for rows in (each["tables"]["kernels"]["rows"] for each in tables)
        )
        self.assertEqual({kernel for kernel, _ in logged}, {kernel for kernel, _ in told})
        for kernel, lines in told:  # the log has those of views, too
            if "::" in kernel:
                others = [other for name, other in logged if name == kernel]
                self.assertTrue(any(lines <= other for other in others), f"{kernel} {lines}")

    def test_without_the_option(self) -> None:
        """Nothing is noted, and the modules in compiled code are not known."""
        self.recorded("gpt eval compiled")
        start("gpt eval compiled plain")
        run = self.recorded("gpt eval compiled plain")
        self.assertEqual(list(run.captures.glob("**/compiled.json")), [])
        self.assertNotIn("compiled", sections_of("report", run))


if __name__ == "__main__":
    run_and_count()
