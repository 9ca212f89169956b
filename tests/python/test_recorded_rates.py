#!/usr/bin/env python3
"""`flopledger device --measure`: what it writes is what --rates reads: test_recorded_rates.py PROGRAM"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import ClassVar
from unittest import mock

from count_line import run_and_count
from recorded_runs import find_python

if importlib.util.find_spec("torch") is None and (python := find_python()) is not None:
    os.execv(python, [python, *sys.argv])

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "python"))
sys.dont_write_bytecode = True

from flopledger import measure_all_reduce, measure_rates  # noqa: E402

TRACE = ROOT / "examples/traces/train_gpt_cpu.json.gz"


@unittest.skipUnless(importlib.util.find_spec("torch"), "needs torch")
class MeasuredCase(unittest.TestCase):
    all_reduces: ClassVar[list[dict[str, object]]] = []

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.file = Path(scratch.name) / "rates.json"

    def measure(self) -> int:
        """A sweep that ends at once: small shapes, each repeated three times."""
        with (
            mock.patch.object(measure_rates, "CPU_SHAPES", ((16, 16, 16), (32, 16, 8))),
            mock.patch.object(measure_rates, "SECONDS_OF_SHAPE", 0.0),
            mock.patch.dict(measure_rates.COPY_BYTES, {"cpu": 1 << 16}),
            mock.patch.object(measure_rates, "measured_all_reduces", return_value=self.all_reduces),
            mock.patch.object(sys, "argv", ["measure_rates", str(self.file), "cpu"]),
        ):
            return measure_rates.main()

    def report(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(PROGRAM), "report", *words, str(TRACE)],
            capture_output=True,
            text=True,
            check=False,
        )

    def test_what_is_written_is_read(self) -> None:
        self.assertEqual(self.measure(), 0)
        rates = json.loads(self.file.read_text())
        self.assertEqual(rates["kind"], "cpu")
        self.assertEqual([entry["m"] for entry in rates["matmuls"][:2]], [16, 32])
        self.assertGreater(rates["memory_bytes_per_second"], 0)
        self.assertEqual(list(self.file.parent.iterdir()), [self.file])
        done = self.report("--rates", str(self.file), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        peak = json.loads(done.stdout)["ranks"][0]["sections"]["model_flops_utilization"][
            "numbers"
        ]["peak"]
        fastest = max(e["flops_per_second"] for e in rates["matmuls"] if e["dtype"] == "fp32")
        self.assertEqual(peak["value"], fastest)
        self.assertTrue(peak["note"].startswith("measured: "), peak)

    def test_said_peak_goes_before(self) -> None:
        self.assertEqual(self.measure(), 0)
        self.assertIn(
            "of 2.00 TFLOP/s fp32", self.report("--rates", str(self.file), "--peak", "2").stdout
        )

    def test_rates_of_a_device_are_refused_for_the_processor(self) -> None:
        self.assertEqual(self.measure(), 0)
        rates = json.loads(self.file.read_text()) | {"kind": "gpu"}
        self.file.write_text(json.dumps(rates))
        done = self.report("--rates", str(self.file))
        self.assertEqual(done.returncode, 3)
        self.assertIn("run 'flopledger device --measure' there", done.stderr)

    @unittest.skipUnless((os.cpu_count() or 1) > 1, "needs two processors")
    def test_two_processes_reduce_by_gloo(self) -> None:
        import torch

        entries = measure_all_reduce.measured_all_reduces(torch, "cpu")
        self.assertEqual(
            [entry["bytes"] for entry in entries], list(measure_all_reduce.SIZES["cpu"])
        )
        self.assertTrue(all(entry["seconds"] > 0 and entry["devices"] == 2 for entry in entries))
        self.assertGreater(entries[-1]["seconds"], entries[0]["seconds"])
        with mock.patch.object(self, "all_reduces", entries):
            self.assertEqual(self.measure(), 0)
        self.assertEqual(json.loads(self.file.read_text())["all_reduces"], entries)
        self.assertEqual(self.report("--rates", str(self.file)).returncode, 0)

    def test_one_device_has_none(self) -> None:
        import torch

        with mock.patch.object(measure_all_reduce, "device_count", return_value=1):
            self.assertEqual(measure_all_reduce.measured_all_reduces(torch, "cpu"), [])

    def test_what_fails_is_said(self) -> None:
        import torch

        said = io.StringIO()
        with (
            mock.patch.object(sys, "executable", "/bin/false"),
            contextlib.redirect_stderr(said),
        ):
            self.assertEqual(measure_all_reduce.measured_all_reduces(torch, "cpu"), [])
        self.assertIn("no all-reduce: no message", said.getvalue())


if __name__ == "__main__":
    run_and_count()
