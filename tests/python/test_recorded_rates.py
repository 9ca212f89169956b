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

    def test_a_gpu_is_measured_and_planned_with(self) -> None:
        """torch's own matmuls stand for a GPU's: what is asked of torch.cuda, in which order, and what is written."""
        import torch

        matmul = mock.Mock(allow_tf32=None)
        waits = mock.Mock()
        seen: list[tuple[str, object]] = []

        def randn(*sizes: int, device: str) -> torch.Tensor:
            self.assertEqual(device, "cuda")
            return torch.zeros(*sizes)

        def mm(a: torch.Tensor, b: torch.Tensor, **out: torch.Tensor) -> torch.Tensor:
            seen.append((str(a.dtype), matmul.allow_tf32))
            if a.dtype is torch.float64:
                raise RuntimeError("no matmul of this format")
            return out.get("out", torch.empty(a.shape[0], b.shape[1], dtype=a.dtype))

        gpu = mock.Mock(wraps=torch, __version__="2.11.0")
        gpu.configure_mock(randn=randn, mm=mm, ones=lambda n, device: torch.ones(n))
        gpu.backends.cuda.matmul = matmul
        gpu.cuda.synchronize = waits
        gpu.cuda.get_device_name = lambda: "NVIDIA H200"
        for name in ("float16", "bfloat16", "float32", "float64"):
            setattr(gpu, name, getattr(torch, name))
        links = [
            {"backend": "nccl", "devices": 8, "bytes": size, "seconds": seconds}
            for size, seconds in ((4096, 2e-5), (1 << 29, 2e-3))
        ]
        with (
            mock.patch.object(measure_rates, "SECONDS_OF_SHAPE", 0.0),
            mock.patch.object(measure_rates, "SLOW_SECONDS", float("inf")),
            mock.patch.object(
                measure_rates, "GPU_SHAPES", ((64, 32, 32), (64, 33, 32), (32, 16, 8))
            ),
            mock.patch.dict(measure_rates.COPY_BYTES, {"cuda": 1 << 16}),
            mock.patch.object(measure_rates, "measured_all_reduces", return_value=links),
        ):
            rates = measure_rates.measured(gpu, "cuda")
        self.assertEqual((rates["kind"], rates["device"]), ("gpu", "NVIDIA H200"))
        self.assertEqual((rates["threads"], rates["all_reduces"]), (0, links))
        formats = [entry["dtype"] for entry in rates["matmuls"]]
        self.assertEqual(sorted(set(formats)), ["bf16", "fp16", "fp32", "tf32"])
        self.assertEqual(
            [entry["n"] for entry in rates["matmuls"] if entry["dtype"] == "bf16"], [32, 33, 16]
        )
        self.assertEqual({tf32 for dtype, tf32 in seen if dtype == "torch.float32"}, {False, True})
        self.assertGreater(waits.call_count, len(rates["matmuls"]))
        for entry in rates["matmuls"]:
            entry["flops_per_second"] = 5e14
        self.file.write_text(json.dumps(rates))
        words = [str(PROGRAM), "plan", "--json", "--rates", str(self.file), "--seq=2048"]
        words += [f"--model={ROOT / 'tests/models/llama-3.2-1b.json'}", "--device=H200"]
        done = subprocess.run(
            [*words, "--devices=8", "--dp=8", "--global-batch=16"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        numbers = json.loads(done.stdout)["ranks"][0]["sections"]["plan"]["numbers"]
        self.assertEqual(numbers["device"]["value"], "NVIDIA H200 SXM")
        # by the matmuls, which reach half of the peak, and by the copy, which is a processor's
        self.assertLess(numbers["mfu"]["value"], 0.5)

    def test_shapes_of_a_gpu_have_rows_of_whole_16_bytes_and_others(self) -> None:
        columns = {n for _, n, _ in measure_rates.GPU_SHAPES}
        for divisor, remainder in ((8, 0), (2, 0), (2, 1)):
            self.assertTrue(any(n % divisor == remainder and n > 50000 for n in columns))

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
