#!/usr/bin/env python3
"""The README's first command and the example do what they say: test_demo.py PROGRAM"""

import gzip
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from count_line import run_and_count

PROGRAM = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
SHIPPED_TRACE = ROOT / "examples/traces/train_gpt_cpu.json.gz"
PYTHON_WITH_TORCH = ROOT / "build/venv/bin/python"


def run(*command: str | Path, status: int = 0) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, cwd=ROOT, check=False
    )
    if done.returncode != status:
        raise AssertionError(
            f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout + done.stderr


def has_torch() -> bool:
    if not PYTHON_WITH_TORCH.exists():
        return False
    command = [str(PYTHON_WITH_TORCH), "-c", "import torch"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def microseconds_to_ns(text: str) -> int:
    """As exact as the text: 12.345 is 12345."""
    whole, _, decimals = text.partition(".")
    return int(whole) * 1000 + int((decimals + "000")[:3])


def steps_in(trace: Path) -> dict[int, int]:
    """Number and duration in ns of each ProfilerStep, by reading the trace in another way than the program does."""
    events = json.loads(gzip.open(trace).read(), parse_float=str, parse_int=str)["traceEvents"]
    steps = {}
    for event in events:
        match = re.fullmatch(r"ProfilerStep#(\d+)", event["name"])
        if match and event["cat"] == "user_annotation":
            steps[int(match[1])] = microseconds_to_ns(event["dur"])
    return steps


class Demo(unittest.TestCase):
    def check_report(self, trace: Path) -> None:
        report = json.loads(run(PROGRAM, "report", "--json", "--top", "0", trace))
        sections = report["ranks"][0]["sections"]
        steps = sections["step_ledger"]["tables"]["steps"]
        self.assertEqual({row["step"]: row["duration"] for row in steps["rows"]}, steps_in(trace))
        keys = [column["key"] for column in steps["columns"]]
        accounts = keys[keys.index("matrix") :]
        for row in steps["rows"]:
            self.assertEqual(sum(row[account] for account in accounts), row["duration"])
        operators = {row["operator"] for row in sections["operators"]["tables"]["by_name"]["rows"]}
        self.assertIn("aten::addmm", operators)
        page = run(PROGRAM, "report", "--all", trace)
        for word in ("Step ledger", "ProfilerStep", "aten::addmm"):
            self.assertIn(word, page)

    def test_shipped_trace(self) -> None:
        self.check_report(SHIPPED_TRACE)

    def test_example(self) -> None:
        """Plain by itself; recorded under `flopledger run`, with the same losses."""
        if not has_torch():
            self.skipTest("needs PyTorch in build/venv")
        script = [PYTHON_WITH_TORCH, ROOT / "examples/train_gpt.py", "--device", "cpu"]
        plain = run(*script, "--steps", "8")
        self.assertRegex(plain, r"step   5  loss \d")
        with tempfile.TemporaryDirectory() as folder:
            said = run(PROGRAM, "run", "--output", folder, "--", *script, "--steps", "8")
            self.assertIn(plain, said)
            (trace,) = Path(folder).glob("train_gpt/*/traces/rank0_dp0_tp0_pp0/*.json.gz")
            self.check_report(trace)
            self.assertEqual(set(steps_in(trace)), {4, 5, 6, 7, 8})

    def test_example_has_nothing_about_profiling(self) -> None:
        text = (ROOT / "examples/train_gpt.py").read_text().split('"""')
        self.assertNotRegex("".join(text[2:]), "profil|trace|flopledger")

    def test_demo(self) -> None:
        said = run("./dev", "demo")
        for words in ("Where a step goes", "FLOPs and time by module", "token_embedding"):
            self.assertIn(words, said)
        if has_torch():
            self.assertRegex(said, r"flopledger: recorded in .*/build/demo/train_gpt/")

    def test_dev_says_what_it_can_do(self) -> None:
        for command in ("demo", "test", "bench", "docs", "format"):
            self.assertRegex(run("./dev"), rf"(?m)^  {command} ")
        self.assertIn("no command 'trst'", run("./dev", "trst", status=2))


if __name__ == "__main__":
    run_and_count()
