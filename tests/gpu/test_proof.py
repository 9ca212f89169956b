#!/usr/bin/env python3
"""The checks of the GPU suite can fail: test_proof.py PROGRAM

Each is given what is right and what is wrong: a trace whose report is of another one, numbers that are off, tools that refuse.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

from count_line import run_and_count  # noqa: E402

import machine  # noqa: E402
import part_matmul  # noqa: E402
import part_memory  # noqa: E402
import part_training  # noqa: E402
import run_proof  # noqa: E402
import gpu_page  # noqa: E402
from findings import Findings  # noqa: E402
from recorded import Recorded, ask, sections_of  # noqa: E402
from reference_ledger import nanoseconds, read_events  # noqa: E402
from simulated_device import simulate  # noqa: E402
from stand_in_gpus import AT_WORK, LOST, write_gpus  # noqa: E402
from watchers import ask_smi, compare, read_dcgm, read_smi  # noqa: E402

PROGRAM = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path()
ROOT = HERE.parents[1]
EXAMPLE = ROOT / "examples" / "traces" / "train_gpt_cpu.json.gz"
PLACE = ("a", "case")


class Quiet(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        quiet = redirect_stdout(io.StringIO())
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        self.found = Findings()

    def failed(self) -> list[str]:
        return [check.what for check in self.found.checks if not check.is_right]


class Judging(Quiet):
    def test_what_is_not_near(self) -> None:
        for ours, truth, within, is_right in (
            (1.04, 1.0, 0.05, True),
            (1.06, 1.0, 0.05, False),
            (-1.0, 1.0, 0.05, False),
            (None, 1.0, 0.05, False),
            (float("nan"), 1.0, 0.05, False),
            (1.0, float("nan"), 0.05, False),
            (0.0, 0.0, 0.05, True),
            ("1", 1.0, 0.05, False),
        ):
            self.assertEqual(self.found.near(PLACE, "x", ours, truth, within), is_right, ours)
        self.assertFalse(self.found.at_most(PLACE, "x", None, 1))
        self.assertFalse(self.found.at_most(PLACE, "x", 1.1, 1))
        self.assertTrue(self.found.at_most(PLACE, "x", 1.0, 1))
        self.assertFalse(self.found.equal(PLACE, "x", 7, 8))

    def test_what_breaks_off_is_a_failure(self) -> None:
        with self.found.part("a", "case"):
            raise ValueError("broken")
        self.assertEqual(self.found.failed, 1)
        self.assertIn("ValueError", str(self.found.checks[0].ours))
        self.assertEqual(self.found.count_line(), "0 passed, 1 failed, 0 skipped")


class Ledger(Quiet):
    """Of a recording that a simulated device was added to."""

    def setUp(self) -> None:
        super().setUp()
        self.trace = self.folder / "trace.pt.trace.json.gz"
        shutil.copyfile(EXAMPLE, self.trace)
        simulate(self.trace)
        steps = mock.patch.object(part_training, "RECORDED", (4, 6))  # those of the example
        steps.start()
        self.addCleanup(steps.stop)
        self.setting = machine.Setting(PROGRAM, sys.executable, self.folder, False, {})
        self.sections = sections_of(ask(self.setting, "report", self.trace))

    def events(self) -> list[dict]:
        events: list[dict] = json.loads(gzip.decompress(self.trace.read_bytes()))["traceEvents"]
        return events

    def test_the_ledger_of_this_trace(self) -> None:
        part_training.check_ledger(self.found, "case", self.sections, self.trace)
        self.assertEqual(self.failed(), [])

    def test_the_ledger_of_another_trace(self) -> None:
        """One kernel in the middle takes a microsecond more than in what was reported."""
        trace = json.loads(gzip.decompress(self.trace.read_bytes()))
        kernels = [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]
        kernels[len(kernels) // 2]["dur"] += 1
        self.trace.write_bytes(gzip.compress(json.dumps(trace).encode()))
        part_training.check_ledger(self.found, "case", self.sections, self.trace)
        self.assertIn("ledger beside the exact oracle", self.failed())

    def test_device_work_that_is_missing(self) -> None:
        trace = json.loads(gzip.decompress(self.trace.read_bytes()))
        trace["traceEvents"] = [e for e in trace["traceEvents"] if e.get("cat") != "cuda_runtime"]
        self.trace.write_bytes(gzip.compress(json.dumps(trace).encode()))
        part_training.check_ledger(self.found, "case", self.sections, self.trace)
        self.assertIn("device work that is linked", self.failed())

    def test_rates(self) -> None:
        rows = self.sections["step_ledger"]["tables"]["steps"]["rows"]
        flops = self.sections["model_flops_utilization"]["numbers"]["model_flops_per_step"]["value"]
        own = {row["step"]: row["duration"] / 1e6 for row in rows}
        milliseconds = [own.get(step, 0.0) for step in range(1, 11)]
        for is_real, factor, wrong in (
            (False, 1.0, []),
            (True, 1.0, []),
            (False, 4.0, ["step time"]),
            (True, 1.25, ["step time", "MFU, of 67 TFLOP/s"]),
        ):
            self.found = Findings()
            truth = {"flops": flops, "milliseconds": [each * factor for each in milliseconds]}
            done = Recorded(truth, self.trace, "")
            setting = replace(self.setting, is_real=is_real)
            part_training.check_rates(setting, self.found, "eager", done)
            self.assertEqual(self.failed(), wrong)
        done = Recorded({"flops": flops + 2, "milliseconds": milliseconds}, self.trace, "")
        part_training.check_rates(self.setting, self.found, "eager", done)
        self.assertIn("model FLOPs of a step", self.failed())

    def test_events_as_kineto_writes_them(self) -> None:
        """Copies between devices name theirs otherwise, waits are no work, and what is no number may stand where one is."""
        trace = json.loads(gzip.decompress(self.trace.read_bytes()))
        kernels = [e for e in trace["traceEvents"] if e.get("cat") == "kernel"]
        for number, kernel in enumerate(kernels[20:30]):
            after = round(kernel["ts"] + kernel["dur"], 3)
            where = {"stream": 9, "correlation": 5_000_000 + number}
            copy = {"fromDevice": 0, "inDevice": 0, "toDevice": 1, "fromContext": 1, "inContext": 1}
            args = {
                **copy,
                "toContext": 2,
                **where,
                "bytes": 4096,
                "memory bandwidth (GB/s)": "N/A",
            }
            event = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy PtoP (Device -> Device)"}
            trace["traceEvents"].append(
                {**event, "pid": 0, "tid": 9, "ts": after, "dur": 3, "args": args}
            )
            args = {
                "cuda_sync_kind": "Context Sync",
                "stream": -1,
                "correlation": 6_000_000 + number,
            }
            event = {"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": -1}
            trace["traceEvents"].append({**event, "ts": after, "dur": 9, "args": args})
            kernel["args"] |= {"blocks per SM": "inf", "warps per SM": -12345.5}
        text = json.dumps(trace).replace("-12345.5", "nan")  # as std::to_string writes it
        self.trace.write_bytes(gzip.compress(text.encode()))
        report = ask(self.setting, "report", self.trace)
        self.assertEqual(report["problems"], [])
        sections = sections_of(report)
        told = sections["run"]["numbers"]["device_events"]["value"]
        self.assertEqual(told, len(kernels) + 10)
        self.assertEqual([r["device"] for r in sections["run"]["tables"]["devices"]["rows"]], [0])
        self.trace.write_bytes(
            gzip.compress(text.replace(": nan", ": 0").encode())
        )  # for the oracle
        part_training.check_ledger(self.found, "case", sections, self.trace)
        self.assertEqual(self.failed(), ["device work that is linked"])  # these copies have no call

    def test_the_simulated_device_is_one(self) -> None:
        """Launches lie in their operators, and kernels follow each other."""
        events = self.events()
        exact = [
            (nanoseconds(e["ts"]), nanoseconds(e["dur"]))
            for e in read_events(self.trace)
            if e.get("cat") == "kernel"
        ]
        kernels = sorted(exact)
        self.assertGreater(len(kernels), 100)
        for (start, length), (following, _) in zip(kernels, kernels[1:]):
            self.assertLessEqual(start + length, following)
        launches = [e for e in events if e.get("cat") == "cuda_runtime"]
        self.assertEqual(len(launches), len(kernels))


class Recordings(Quiet):
    def test_what_gpus_have_recorded(self) -> None:
        """Of each that is kept: the report closes, and its ledger is the oracle's."""
        traces = sorted(gpu_page.RESULTS.glob("*/*.pt.trace.json.gz"))
        if not traces:
            self.skipTest("no GPU has recorded any yet")
        setting = machine.Setting(PROGRAM, sys.executable, self.folder, False, {})
        for trace in traces:
            sections = sections_of(ask(setting, "report", trace))
            part_training.check_ledger(self.found, trace.name, sections, trace)
        self.assertEqual([what for what in self.failed() if what != "steps in the ledger"], [])

    def test_captured_graphs_have_their_operators(self) -> None:
        """Where the capture is kept, too."""
        setting = machine.Setting(PROGRAM, sys.executable, self.folder, False, {})
        for capture in sorted(gpu_page.RESULTS.glob("*/capture_traces")):
            trace = capture.parent / "graphs.pt.trace.json.gz"
            numbers = sections_of(ask(setting, "report", trace))["graphs"]["numbers"]
            self.assertEqual(numbers["attributed"]["value"], 1, trace.name)


class Advice(Quiet):
    def test_planted_and_not_named(self) -> None:
        for first, wrong in (
            ("data_loading", []),
            ("launch_bound", ["first finding of the advice"]),
        ):
            self.found = Findings()
            ids = ["shared_machine", first]
            sections = {"advice": {"findings": [{"id": each, "what": each} for each in ids]}}
            part_training.check_advice(self.found, "starved", sections)
            self.assertEqual(self.failed(), wrong)
        part_training.check_advice(self.found, "starved", {"advice": {"findings": []}})
        self.assertEqual(len(self.failed()), 2)


class Memory(Quiet):
    def test_a_byte_more(self) -> None:
        rows = [{"step": step, "peak": 1000 + step} for step in range(4, 9)]
        kinds = [{"kind": "parameters", "peak": 7}, {"kind": "total", "peak": 7}]
        sections = {"memory": {"tables": {"steps": {"rows": rows}, "kinds": {"rows": kinds}}}}
        peaks = [1000 + step for step in range(1, 9)]
        part_memory.check_peaks(self.found, "case", Recorded({"peaks": peaks}, None, ""), sections)
        self.assertEqual(self.failed(), [])
        peaks[5] += 1
        part_memory.check_peaks(self.found, "case", Recorded({"peaks": peaks}, None, ""), sections)
        self.assertEqual(self.failed(), ["peak of each step"])


class Watching(Quiet):
    def test_what_nvidia_smi_writes(self) -> None:
        told = read_smi("97, 654.32, 700.00, 1980, 3201, 71, 64900, 636\n")
        self.assertEqual((told["power.draw"], told["memory.used"]), (654.32, 65536))
        told = read_smi(
            "[N/A], [GPU is lost], [Unknown Error], 1980, [Not Supported], N/A, 7, [N/A]\n"
        )
        self.assertEqual(sorted(v for v in told.values() if v is not None), [7, 1980])
        for wrong in ("No devices were found\n", "", "Unable to determine the device handle\n"):
            with self.assertRaises(ValueError):
                read_smi(wrong)

    def test_what_dcgm_writes(self) -> None:
        text = "#Entity   SMACT        TENSO        DRAMA\nID\nGPU 0     0.987        0.804        0.301\n"
        text += "GPU 0     0.989        N/A          0.303\n"
        told = read_dcgm(text)
        self.assertAlmostEqual(told["sm"], 0.988)
        self.assertEqual(told["tensor"], 0.804)
        self.assertEqual(read_dcgm("Error: unable to establish a connection\n"), {})

    def test_the_stand_in_refuses_as_the_real_one(self) -> None:
        gpus = self.folder / "gpus"
        with mock.patch.dict(os.environ, STAND_IN_GPUS=str(gpus)):
            write_gpus(gpus, AT_WORK)
            told = ask_smi(str(HERE / "stand_in_smi.py"))
            self.assertEqual((told["power.draw"], told["memory.used"]), (654.32, 65536))
            write_gpus(gpus, {**AT_WORK, "power": "!3"})
            self.assertIsNone(ask_smi(str(HERE / "stand_in_smi.py"))["power.draw"])
            write_gpus(gpus, {"all": LOST})
            told = ask_smi(str(HERE / "stand_in_smi.py"))
            self.assertEqual(compare({"busy_ratio": 1.0}, told), [])
            words = [HERE / "stand_in_smi.py", "--query-gpu=no.such", "--format=csv"]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)

    def test_a_number_that_is_off(self) -> None:
        smi = read_smi("97, 654.32, 700.00, 1980, 3201, 71, 64900, 636")
        for power, is_right in ((654.3, True), (500.0, False)):
            ((field, own, theirs),) = compare({"power_watts": power}, smi)
            near = self.found.near(PLACE, field, own, theirs, part_matmul.LIVE_WITHIN[field])
            self.assertEqual(near, is_right)

    def test_activity(self) -> None:
        part_matmul.check_activity(self.found, {"tensor": 0.0, "sm": 0.9}, None)
        self.assertEqual(self.failed(), ["Tensor Cores work"])
        gpus = self.folder / "gpus"
        with mock.patch.dict(os.environ, STAND_IN_GPUS=str(gpus)):
            write_gpus(gpus, AT_WORK)
            dcgmi, ours = str(HERE / "stand_in_dcgmi.py"), {"tensor": 0.5, "sm": 0.7, "dram": 0.125}
            part_matmul.check_activity(self.found, ours, dcgmi)
            self.assertEqual(self.failed(), ["Tensor Cores work", "sm"])  # of 0.9
        part_matmul.check_activity(self.found, {}, None)
        self.assertIn(
            "c. this GPU or driver has no GPM (Hopper and later have it)", self.found.skipped
        )


class Machine(Quiet):
    def lacks(self, answers: dict[str, dict | None], has_driver: bool) -> str:
        with (
            mock.patch.object(machine, "candidates", lambda: list(answers)),
            mock.patch.object(machine, "ask", answers.get),
            mock.patch.object(Path, "exists", lambda path: has_driver),
        ):
            return machine.find_gpu()[2]

    def test_what_is_lacking_is_said_in_one_line(self) -> None:
        cpu = {"torch": "2.13.0+cpu", "cuda": None, "is_available": False}
        self.assertIn("has no NVIDIA driver", self.lacks({"python": cpu}, False))
        self.assertIn("FLOPLEDGER_TEST_PYTHON", self.lacks({"python": None}, True))
        self.assertIn(
            "torch 2.13.0+cpu of python reaches no GPU", self.lacks({"python": cpu}, True)
        )
        self.assertEqual(self.lacks({"python": {**cpu, "is_available": True}}, True), "")

    def test_results_become_a_page(self) -> None:
        results = self.folder / "proof.json"
        self.found.near(("a", "eager"), "step time", 1.0, 1.01, 0.05, "s")
        self.found.row("training", way="eager", step_ms=12.5, mfu=None)
        self.found.skip("c", "DCGM: not here")
        self.found.write(results, {"device": "NVIDIA H200", "date": "2026-01-02"})
        with mock.patch.object(gpu_page, "RESULTS", self.folder / "kept"):
            trace = self.folder / "recorded" / "captures-eager" / "traces" / "x.pt.trace.json.gz"
            trace.parent.mkdir(parents=True)
            shutil.copyfile(EXAMPLE, trace)
            gpu_page.keep(results)
            kept = [str(path.relative_to(self.folder)) for path in self.folder.glob("kept/**/*.*")]
            name = "kept/NVIDIA-H200-2026-01-02"
            self.assertEqual(sorted(kept), [f"{name}.json", f"{name}/eager.pt.trace.json.gz"])
            (read,) = gpu_page.results()
        page = gpu_page.page_of([read])
        self.assertIn("| a | eager | step time | 1 | 1.01 | 5 % | s |", page)
        self.assertIn("NVIDIA H200", page)
        self.assertIn("not known", page)
        self.assertIn("DCGM: not here", page)
        self.found.equal(("a", "eager"), "ledger", 1, 2)
        self.found.write(results, {"device": "NVIDIA H200", "driver": "1", "torch": "2"})
        self.assertIn("**failed**", gpu_page.page_of([json.loads(results.read_text())]))

    def test_the_page_is_what_its_command_writes(self) -> None:
        self.assertEqual(gpu_page.PAGE.read_text(), gpu_page.page_of(gpu_page.results()))

    def test_all_parts_are_there(self) -> None:
        for name, module in run_proof.PARTS.items():
            text = (HERE / f"{module}.py").read_text()
            self.assertTrue(text.startswith(f'"""{name}. '), module)


if __name__ == "__main__":
    run_and_count()
