#!/usr/bin/env python3
"""Programs of several processes, and programs with trouble of their own: test_recorded_launchers.py PROGRAM"""

import os
import pty
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from count_line import run_and_count
from recorded_runs import (
    DEFAULT_STEPS,
    LOOPS,
    Run,
    Runner,
    environment_of,
    find_python,
    free_port,
    libraries_of,
)

PROGRAM = Path(sys.argv.pop(1)).resolve()
PYTHON = find_python()
LIBRARIES = libraries_of(PYTHON) if PYTHON else {}
SILENT = "--no-report"

runner: Runner
folder: tempfile.TemporaryDirectory


def launcher(name: str) -> str:
    """A program beside the Python that has its library."""
    return str(Path(str(PYTHON)).parent / name)


def press_ctrl_c(words: list[str], awaited: list[bytes]) -> bytes:
    """Runs a program in a terminal, presses Ctrl-C once it has said what is awaited, and gives all that it said."""
    try:
        child, terminal = pty.fork()
    except OSError as error:
        raise unittest.SkipTest(f"needs pseudo-terminals: {error}") from error
    if child == 0:
        os.execvpe(words[0], words, environment_of(PROGRAM))
    said = b""
    is_pressed = False
    while True:
        try:
            some = os.read(terminal, 65536)
        except OSError:  # Linux says so at the end
            break
        said += some
        if not is_pressed and all(said.count(word) >= awaited.count(word) for word in awaited):
            os.write(terminal, b"\x03")
            is_pressed = True
        if not some:
            break
    os.waitpid(child, 0)
    os.close(terminal)
    return said


def setUpModule() -> None:
    global runner, folder
    if PYTHON is None:
        raise unittest.SkipTest("needs torch")
    folder = tempfile.TemporaryDirectory()
    runner = Runner(PROGRAM, PYTHON, Path(folder.name))
    runner.start_plain("raises")
    for kind in ("mesh", "raises", "unknown_op"):
        runner.start_recorded(kind, SILENT)
    runner.start_recorded("plain", SILENT, "--no-markers", name="no_markers")
    twice = f"'{PYTHON}' '{LOOPS}' plain & '{PYTHON}' '{LOOPS}' plain; wait"
    runner.start_command("twice", ["sh", "-c", twice], SILENT)
    if LIBRARIES["accelerate"]:
        words = [launcher("accelerate"), "launch", "--multi_gpu", "--num_processes", "2"]
        words += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
        words += ["--main_process_port", "0", str(LOOPS), "accelerator"]
        runner.start_command("accelerate", words, SILENT)
    if LIBRARIES["deepspeed"]:
        words = [launcher("deepspeed"), "--num_gpus", "2", "--no_local_rank"]
        words += ["--master_port", free_port(), str(LOOPS), "ddp"]
        runner.start_command("deepspeed", words, SILENT, DS_ACCELERATOR="cpu")


def tearDownModule() -> None:
    if PYTHON is not None:
        runner.pool.shutdown(cancel_futures=True)
        folder.cleanup()


def flops(run: Run, *options: str) -> str:
    done = subprocess.run(
        [str(PROGRAM), "flops", "--all", *options, str(run.traces[0])],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


class LauncherCase(unittest.TestCase):
    def recorded(self, name: str) -> Run:
        run = runner.get(name)
        self.assertEqual(run.status, 0, run.errors)
        self.assertNotIn("recording stopped", run.errors)
        return run

    def folders(self, run: Run) -> list[str]:
        return [trace.parent.name for trace in run.traces]


class Launchers(LauncherCase):
    def check_two_ranks(self, name: str) -> None:
        run = self.recorded(name)
        self.assertEqual(self.folders(run), ["rank0_dp0_tp0_pp0", "rank1_dp1_tp0_pp0"])
        for rank in range(2):
            self.assertEqual(run.steps(rank), DEFAULT_STEPS)
            self.assertEqual(run.counts_of_modules(rank)["blocks.1.layer"], 5)
            self.assertEqual(
                run.side_files[rank]["models"][0]["wrappers"], ["DistributedDataParallel"]
            )

    def test_accelerate_launch(self) -> None:
        if not LIBRARIES["accelerate"]:
            self.skipTest("needs accelerate")
        self.check_two_ranks("accelerate")

    def test_launcher_of_deepspeed(self) -> None:
        if not LIBRARIES["deepspeed"]:
            self.skipTest("needs deepspeed")
        self.check_two_ranks("deepspeed")

    def test_mesh_of_pipeline_and_tensor_parallelism(self) -> None:
        """Parameters lie on the part of the mesh that is for tensors; the whole mesh knows of the pipeline."""
        run = self.recorded("mesh")
        self.assertEqual(
            self.folders(run),
            ["rank0_dp0_tp0_pp0", "rank1_dp0_tp1_pp0", "rank2_dp0_tp0_pp1", "rank3_dp0_tp1_pp1"],
        )
        parallel = run.side_files[3]["parallel"]
        self.assertEqual(parallel["mesh"], {"pp": 2, "tp": 2})
        self.assertEqual(parallel["tensor"], {"rank": 1, "size": 2})
        modules = {each["name"]: each for each in run.side_files[0]["models"][0]["modules"]}
        weight = modules["blocks.0.layer"]["parameters"][0]
        self.assertEqual((weight["shape"], weight["local_shape"]), ([16, 16], [8, 16]))

    def test_ctrl_c_at_a_terminal(self) -> None:
        """Reaches the launcher and both ranks, which keep the steps that had ended."""
        captures = Path(folder.name) / "captures-terminal"
        words = [str(PROGRAM), "run", SILENT, "--output", str(captures), "--"]
        said = press_ctrl_c([*words, *runner.words("ddp_hangs")], 2 * [b"hangs"])
        self.assertIn(b"flopledger: recorded in ", said)
        traces = sorted(trace.name for trace in captures.glob("**/*.json.gz"))
        self.assertEqual(traces, 2 * ["steps4-5.pt.trace.json.gz"])

    def test_two_processes_that_claim_one_rank(self) -> None:
        run = self.recorded("twice")
        self.assertEqual(self.folders(run), ["rank0_dp0_tp0_pp0", "rank0_dp0_tp0_pp0_2"])
        for i in range(2):
            self.assertEqual(run.steps(i), DEFAULT_STEPS)
            self.assertEqual(run.side_files[i]["state"], "complete")


class Trouble(LauncherCase):
    def test_model_that_raises_in_its_forward(self) -> None:
        """Ranges are closed, torch is as it was, and the program computes the same."""
        run = self.recorded("raises")
        self.assertEqual(run.output, runner.get("plain raises").output)
        self.assertTrue(run.output.endswith("True OrderedDict()\n"))
        counts = run.counts_of_modules()
        self.assertEqual((counts["Failing"], counts["blocks.0"], counts["blocks.1"]), (6, 6, 6))
        self.assertEqual((counts["blocks.1.layer"], counts["logits"]), (5, 5))
        self.assertEqual(run.steps(), DEFAULT_STEPS)

    def test_unknown_operators_are_listed(self) -> None:
        run = self.recorded("unknown_op")
        page = flops(run)
        self.assertRegex(page, r"(?s)not counted.*ours::mix")

    def test_without_marks_ops_are_listed_and_the_reason_is_told(self) -> None:
        run = self.recorded("no_markers")
        self.assertEqual(run.counts_of_modules(), {})
        page = flops(run)
        self.assertIn("no marks of modules", page)
        self.assertIn("aten::addmm", page)

    def test_folder_that_may_not_be_written(self) -> None:
        """Before the program begins: nothing is trained in vain."""
        closed = Path(folder.name) / "closed"
        closed.mkdir()
        closed.chmod(0o555)
        words = [str(PROGRAM), "run", "--output", str(closed / "x"), "--", "echo", "ran"]
        if os.geteuid() == 0:  # who may write everywhere
            words = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override", *words]
        done = subprocess.run(
            words, env=environment_of(PROGRAM), capture_output=True, text=True, check=False
        )
        if "setpriv" in done.stderr:
            self.skipTest("needs a user that may not write everywhere")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("Permission denied (--output names another place)", done.stderr)


if __name__ == "__main__":
    run_and_count()
