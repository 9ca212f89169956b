#!/usr/bin/env python3
"""The Python API, beside what the program's JSON says: test_api.py PROGRAM"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

from count_line import run_and_count
from recorded_runs import environment_of, find_python

PROGRAM = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "traces" / "golden"
EXAMPLE = ROOT / "examples" / "traces" / "train_gpt_cpu.json.gz"
PYTHON = find_python()
sys.path.insert(0, str(PROGRAM.parent / "python"))
os.environ["FLOPLEDGER"] = str(PROGRAM)

PACKAGES = ROOT / "build" / "venv-api" / "bin" / "python"  # pandas, notebooks, mypy: by ./dev test
if PACKAGES.exists() and Path(sys.executable) != PACKAGES:
    os.execv(PACKAGES, [str(PACKAGES), __file__, str(PROGRAM), *sys.argv[1:]])

import flopledger as fl  # noqa: E402


def json_of(*words: str | Path) -> Any:
    done = subprocess.run([PROGRAM, *words, "--json"], capture_output=True, check=False)
    return json.loads(done.stdout)


def has(module: str) -> bool:
    try:
        __import__(module)
    except ImportError:
        return False
    return True


class Reports(unittest.TestCase):
    def setUp(self) -> None:
        self.json = json_of("report", EXAMPLE)
        self.sections = self.json["ranks"][0]["sections"]
        self.report = fl.report(EXAMPLE)

    def test_tables_are_the_jsons(self) -> None:
        for table, (section, name) in {
            "ledger": ("step_ledger", "ledger"),
            "steps": ("step_ledger", "steps"),
            "operators": ("operators", "by_name"),
            "modules": ("module_cost", "modules"),
            "idle": ("gpu_idle", "causes"),
        }.items():
            mine = getattr(self.report, table)
            theirs = self.sections[section]["tables"][name]
            self.assertEqual(len(mine), len(theirs["rows"]), table)
            self.assertEqual([c.key for c in mine.columns], [c["key"] for c in theirs["columns"]])
            for row, expected in zip(mine, theirs["rows"]):
                for column in mine.columns:
                    self.assertEqual(row[column.key], expected.get(column.key), (table, column))

    def test_numbers_are_the_jsons(self) -> None:
        mean = self.sections["step_ledger"]["numbers"]["step_time_mean"]["value"]
        self.assertEqual(self.report.step_time_ns, mean)
        self.assertEqual(self.report.headline, self.json["ranks"][0]["headline"])
        self.assertEqual(len(self.report.kernels), 0)  # of a CPU
        with self.assertRaisesRegex(fl.NotKnown, "needs the peak of the device"):
            self.report.mfu
        peak = fl.report(EXAMPLE, peak="0.5")
        numbers = json_of("report", "--peak", "0.5", EXAMPLE)["ranks"][0]["sections"]
        self.assertEqual(peak.mfu, numbers["model_flops_utilization"]["numbers"]["mfu"]["value"])

    def test_findings_are_largest_first(self) -> None:
        report = fl.report(GOLDEN / "what_if" / "training.json")
        found = json_of("report", GOLDEN / "what_if" / "training.json")["ranks"][0]["sections"]
        costs = [each.cost_ns_per_step or 0 for each in report.findings]
        self.assertEqual(costs, sorted(costs, reverse=True))
        self.assertGreater(costs[0], 0)
        self.assertEqual(
            {each.what for each in report.findings},
            {finding["what"] for section in found.values() for finding in section["findings"]},
        )

    def test_a_replayed_change(self) -> None:
        trace = GOLDEN / "what_if" / "training.json"
        mine = fl.report(trace).what_if("data=0")
        theirs = json_of("report", trace, "--what-if", "data=0")["ranks"][0]["sections"]["what_if"]
        row = theirs["tables"]["changes"]["rows"][0]
        self.assertEqual((mine.step_time_ns, mine.speedup), (row["step_time"], row["speedup"]))
        with self.assertRaisesRegex(fl.NotKnown, "nothing ran on a device"):
            self.report.what_if("data=0")
        with self.assertRaises(fl.ProgramError) as refused:
            self.report.what_if("nonsense")
        self.assertEqual(refused.exception.exit_code, 2)

    def test_several_ranks(self) -> None:
        report = fl.report(GOLDEN / "two_ranks")
        self.assertEqual(len(report.ranks), len(json_of("report", GOLDEN / "two_ranks")["ranks"]))
        self.assertEqual(len(report.table("overview", "ranks")), len(report.ranks))
        self.assertNotEqual(report.ranks[0].label, report.ranks[1].label)

    def test_what_cannot_be_read(self) -> None:
        with self.assertRaisesRegex(fl.ProgramError, "no such file") as missing:
            fl.report("/nowhere")
        self.assertEqual(missing.exception.exit_code, 3)
        with self.assertRaises(fl.ProgramError) as wrong:
            fl.report(EXAMPLE, no_such_option=1)
        self.assertEqual(wrong.exception.exit_code, 2)

    def test_html(self) -> None:
        shown = self.report._repr_html_()
        for needed in ("<h3>", "other compute", "<iframe srcdoc=", "&lt;script"):
            self.assertIn(needed, shown)
        hostile = fl.report(GOLDEN / "hostile.json")._repr_html_()
        self.assertNotIn(">idle_data<", self.report.ledger._repr_html_())  # keys are for programs
        before_page = hostile[: hostile.index("<iframe")]
        self.assertNotIn("<script", before_page)
        with tempfile.TemporaryDirectory() as folder:
            self.report.save_html(Path(folder) / "page.html")
            page = (Path(folder) / "page.html").read_text()
        self.assertEqual(page, self.report.page().content)
        self.assertIn("ledger", self.report.text())


class Others(unittest.TestCase):
    def test_answers_that_are_kept(self) -> None:
        """Asked twice it is one answer, of a file that changed another; without cache=True none is kept."""
        with (
            tempfile.TemporaryDirectory() as folder,
            unittest.mock.patch.dict(os.environ, {"XDG_CACHE_HOME": folder}),
        ):
            os.environ.pop("FLOPLEDGER_CACHE", None)
            trace, answers = Path(folder) / "trace.json", []
            for rank in ("rank0.json", "rank0.json", "rank1.json"):
                trace.write_bytes((GOLDEN / "two_ranks" / rank).read_bytes())
                time.sleep(0.05)  # what was written this moment is not taken for finished
                expected = fl.report(trace).json
                self.assertEqual(fl.report(trace, cache=True).json, expected)
                self.assertEqual(fl.report(trace, cache=True).json, expected)
                kept = Path(folder, "flopledger").glob("*.answer")
                answers.append([path.stat().st_ino for path in kept])
            self.assertEqual([len(each) for each in answers], [1, 1, 1])
            self.assertEqual(answers[0], answers[1])
            self.assertNotEqual(answers[1], answers[2])

    def test_a_comparison(self) -> None:
        runs = [GOLDEN / "compare" / "before.json.gz", GOLDEN / "compare" / "after.json.gz"]
        numbers = json_of("compare", *runs)["ranks"][0]["sections"]["difference"]["numbers"]
        comparison = fl.compare(*runs, fail_if=["step_time>+3%", "step_time<-1%"])
        self.assertEqual(comparison.speedup, numbers["speedup"]["value"])
        self.assertEqual(comparison.change_ns, numbers["change"]["value"])
        self.assertEqual([row["state"] for row in comparison.conditions], ["not met", "met"])
        self.assertIn("step_time", comparison._repr_html_())

    def test_memory_and_jobs(self) -> None:
        memory = json_of("memory", GOLDEN / "memory_run")["ranks"][0]["sections"]["memory"]
        peak = memory["numbers"]["peak"]["value"]
        self.assertEqual(fl.memory(GOLDEN / "memory_run").peak_bytes, peak)
        capture = GOLDEN / "job" / "capture"
        job = json_of("ettr", capture)["ranks"][0]["sections"]["job"]
        self.assertEqual(fl.ettr(capture).ettr, job["numbers"]["ettr"]["value"])
        self.assertEqual(len(fl.ettr(capture).accounts), len(job["tables"]["accounts"]["rows"]))

    def test_frames(self) -> None:
        operators = fl.report(EXAMPLE).operators
        self.assertEqual(operators.to_dicts(), list(operators))
        if not has("pandas"):
            self.skipTest("needs pandas")
        frame = operators.to_pandas()
        self.assertEqual(list(frame["self_cpu"]), [row["self_cpu"] for row in operators])
        self.assertEqual(frame.attrs["units"]["self_cpu"], "ns")

    def test_frames_of_findings(self) -> None:
        findings = fl.report(GOLDEN / "compare" / "before.json.gz").findings
        rows = findings.to_dicts()
        self.assertEqual([row["what"] for row in rows], [each.what for each in findings])
        self.assertGreater(len(rows), 0)
        self.assertEqual(list(rows[0]), [each.name for each in dataclasses.fields(fl.Finding)])
        for module in ("pandas", "polars"):
            with self.subTest(module=module):
                if not has(module):
                    self.skipTest(f"needs {module}")
                for given, count in ((findings, len(rows)), (type(findings)(), 0)):
                    frame = getattr(given, f"to_{module}")()
                    self.assertEqual((len(frame), list(frame.columns)), (count, list(rows[0])))
                frame = getattr(findings, f"to_{module}")()
                self.assertEqual(list(frame["what"]), [row["what"] for row in rows])

    def test_a_program_that_is_not_there(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(ROOT / "python" / "flopledger", Path(folder) / "flopledger")
            words = [sys.executable, "-c", "import flopledger; flopledger.report('x')"]
            environment = {"PYTHONPATH": folder, "PATH": "/nowhere"}
            done = subprocess.run(
                words, env=environment, capture_output=True, text=True, check=False
            )
        self.assertIn("pip install flopledger, or set FLOPLEDGER to its path", done.stderr)

    def test_the_version_is_the_programs(self) -> None:
        said = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
        self.assertEqual(said.stdout.split()[1], fl.__version__)

    def test_types(self) -> None:
        """The example passes mypy's strict mode, with the types that the package gives."""
        if not has("mypy"):
            self.skipTest("needs mypy")
        words = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
        environment = {**os.environ, "MYPYPATH": str(ROOT / "python")}
        done = subprocess.run(
            [*words, "--cache-dir=/dev/null", str(ROOT / "examples" / "read_a_report.py")],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_example(self) -> None:
        script = ROOT / "examples" / "read_a_report.py"
        environment = {**os.environ, "PYTHONPATH": str(PROGRAM.parent / "python")}
        done = subprocess.run(
            [sys.executable, script, EXAMPLE],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("aten::mm", done.stdout)


TRAINING = """
import json, sys
import torch
import flopledger as fl

def losses(recording):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = []
    for _ in range(6):
        loss = model(torch.randn(4, 8)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found

plain = losses(None)
with fl.profile(steps=3) as recording:
    recorded = losses(recording)
again = losses(None)
with fl.profile(steps=2) as second:
    losses(second)
with fl.profile(steps=9) as short:
    losses(short)
with fl.profile() as nothing:
    pass
try:
    nothing.report
except RuntimeError as error:
    why = str(error)
try:
    with fl.profile(), fl.profile():
        pass
except RuntimeError as error:
    twice = str(error)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(16, 1))
cost = fl.flops(model, torch.zeros(4, 8))
print(json.dumps({
    "same": plain == recorded == again,
    "steps": [row["step"] for row in recording.report.steps],
    "modules": [row["name"] for row in recording.report.modules],
    "second": [row["step"] for row in second.report.steps],
    "short": [row["step"] for row in short.report.steps],
    "count": recording.step_count,
    "why": why, "twice": twice,
    "flops": cost.flops, "macs": cost.macs, "parameters": cost.parameters,
    "inner": [row["flops"] for row in cost.modules],
    "is_clean": "wrapped" not in repr(torch.Tensor.item) and not hasattr(torch.Tensor.item, "__wrapped__"),
}))
"""


@unittest.skipIf(PYTHON is None, "needs a Python with PyTorch")
class Recordings(unittest.TestCase):
    said: dict[str, Any]

    @classmethod
    def setUpClass(cls) -> None:
        environment = environment_of(
            PROGRAM, PYTHONPATH=str(PROGRAM.parent / "python"), FLOPLEDGER=str(PROGRAM)
        )
        done = subprocess.run(
            [str(PYTHON), "-c", textwrap.dedent(TRAINING)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        cls.said = json.loads(done.stdout.splitlines()[-1])

    def test_the_steps_of_a_block(self) -> None:
        self.assertEqual(self.said["steps"], [2, 3, 4])
        self.assertEqual(self.said["count"], 6)
        self.assertEqual(self.said["second"], [2, 3])
        self.assertEqual(self.said["short"], [2, 3, 4, 5, 6])  # what there was
        self.assertIn("Sequential", self.said["modules"])

    def test_nothing_of_the_program_changes(self) -> None:
        self.assertTrue(self.said["same"])
        self.assertTrue(self.said["is_clean"])

    def test_what_cannot_be_recorded(self) -> None:
        self.assertIn("0 steps of a torch optimizer ended in the block", self.said["why"])
        self.assertIn("is recorded already", self.said["twice"])

    def test_flops_of_a_model(self) -> None:
        """Two matmuls and their biases: 2 * 4 * (8 * 16 + 16 * 1), and 4 * 17 additions."""
        self.assertEqual(self.said["macs"], 4 * (8 * 16 + 16))
        self.assertEqual(self.said["parameters"], 8 * 16 + 16 + 16 + 1)
        self.assertEqual(self.said["flops"], sum(self.said["inner"][1:]))
        self.assertEqual(self.said["flops"], self.said["inner"][0])


@unittest.skipUnless(has("nbclient") and has("ipykernel"), "needs nbclient and ipykernel")
class Notebooks(unittest.TestCase):
    def test_the_example_notebook(self) -> None:
        """Each cell runs, and the report shows its first screen and the page."""
        import nbclient
        import nbformat

        path = ROOT / "examples" / "read_a_report.ipynb"
        notebook = nbformat.read(path, as_version=4)
        os.environ["PYTHONPATH"] = str(PROGRAM.parent / "python")
        client = nbclient.NotebookClient(
            notebook,
            timeout=300,
            kernel_name="python3",
            resources={"metadata": {"path": str(ROOT)}},
        )
        client.execute()
        shown = [
            output["data"]["text/html"]
            for cell in notebook.cells
            for output in cell.get("outputs", [])
            if "text/html" in output.get("data", {})
        ]
        self.assertGreaterEqual(len(shown), 2)
        self.assertIn("<iframe srcdoc=", shown[0])
        self.assertIn("<table>", shown[1])


if __name__ == "__main__":
    run_and_count()
