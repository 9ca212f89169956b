#!/usr/bin/env python3
"""The sizes of a model of transformers go into capture.json, and `flopledger flops` reads them: test_side_file.py PROGRAM"""

import json
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from count_line import run_and_count

PROGRAM = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from flopledger.parameters import count_parameters  # noqa: E402
from flopledger.processor_time import ProcessorTime, waited_ns  # noqa: E402
from flopledger.side_file import describe_config  # noqa: E402

GPT2 = json.loads((ROOT / "tests" / "models" / "gpt2.json").read_text())


class Settings:
    def __init__(self, **values: Any) -> None:
        self.values = values

    def to_dict(self) -> dict[str, Any]:
        return self.values


class Root:
    def __init__(self, config: Any) -> None:
        self.config = config


class Parameter:
    """As ZeRO-3 leaves it between calls: empty, with the shape that it has when it is gathered."""

    dtype = "float32"
    requires_grad = True

    def __init__(self, shape: tuple[int, ...], whole: tuple[int, ...] | None = None) -> None:
        self.shape = shape
        if whole is not None:
            self.ds_shape = whole


class Module:
    def __init__(self, parameters: dict[str, Any], modules: dict[str, Any]) -> None:
        self._parameters = parameters
        self._modules = modules


class ParametersOfAModel(unittest.TestCase):
    def test_gathered_sizes_and_shared_parameters_count_once(self) -> None:
        shared = Parameter((0,), (5, 4))
        inner = Module({"weight": shared, "bias": Parameter((3,))}, {})
        root = Module({"tied": shared, "none": None}, {"inner": inner})
        self.assertEqual(count_parameters(root), 23)
        self.assertEqual(count_parameters(inner), 23)


class TimeOfAProcessor(unittest.TestCase):
    def test_a_sleep_takes_no_cpu_time(self) -> None:
        used = ProcessorTime()
        used.begin()
        time.sleep(0.2)
        taken = used.take()
        assert taken["wall_ns"] is not None and taken["thread_cpu_ns"] is not None
        self.assertGreaterEqual(taken["wall_ns"], 200_000_000)
        self.assertLess(taken["thread_cpu_ns"], 100_000_000)
        self.assertGreaterEqual(taken["voluntary_switches"] or 0, 1)

    def test_work_takes_cpu_time(self) -> None:
        used = ProcessorTime()
        used.begin()
        end = time.thread_time_ns() + 50_000_000
        while time.thread_time_ns() < end:
            pass
        taken = used.take()
        self.assertGreaterEqual(taken["thread_cpu_ns"] or 0, 50_000_000)
        self.assertGreaterEqual(taken["process_cpu_ns"] or 0, 50_000_000)

    def test_what_the_kernel_does_not_tell_is_not_known(self) -> None:
        self.assertIsNone(waited_ns("/nowhere/schedstat"))
        self.assertIsNone(ProcessorTime().take()["thread_cpu_ns"])


class ConfigOfAModel(unittest.TestCase):
    def test_sizes_are_kept_and_secrets_are_not(self) -> None:
        root = Root(Settings(**GPT2, _name_or_path="/home/x", auth_token="s", dtype=Path("bf16")))
        sizes = describe_config(root, "Other")
        assert sizes is not None
        self.assertEqual(sizes["n_embd"], 768)
        self.assertEqual(sizes["architectures"], ["GPT2LMHeadModel"])
        self.assertEqual(sizes["dtype"], "bf16")
        self.assertNotIn("_name_or_path", sizes)
        self.assertNotIn("auth_token", sizes)

    def test_the_class_stands_in_for_architectures(self) -> None:
        sizes = describe_config(Root(Settings(model_type="bert", architectures=None)), "BertModel")
        assert sizes is not None
        self.assertEqual(sizes["architectures"], ["BertModel"])

    def test_other_models_have_none(self) -> None:
        class Odd:
            @property
            def config(self) -> Any:
                raise RuntimeError("no")

        for root in (object(), Root(None), Root({"n": 1}), Root(Settings(sizes=3)), Odd()):
            self.assertIsNone(describe_config(root, "Model"))
        self.assertIsNone(describe_config(Root(Settings(model_type="a", x=float("nan"))), "Model"))

    def model_section(self, sizes: Any, length: int) -> Any:
        """Of `flopledger flops --json` for a capture.json that describes it."""
        capture = {"schema": "flopledger.capture", "models": [{"config": sizes}]}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "capture.json"
            path.write_text(json.dumps(capture))
            command = [str(PROGRAM), "flops", "--json", "--seq", str(length), "--model", str(path)]
            done = subprocess.run(command, capture_output=True, check=True)
        return json.loads(done.stdout)["ranks"][0]["sections"]["model"]

    def test_flops_reads_a_capture(self) -> None:
        sizes = describe_config(Root(Settings(**GPT2)), "GPT2LMHeadModel")
        model = self.model_section(sizes, 8)
        self.assertEqual(model["numbers"]["parameters"]["value"], 124439808)

    def test_counts_are_integers(self) -> None:
        """Those of round models, too, which a float would write as 6.4e+07."""
        sizes = {"n_embd": 640, "n_layer": 10, "n_head": 10, "vocab_size": 50_000}
        model = self.model_section({"model_type": "gpt2", "n_positions": 1000, **sizes}, 1000)
        rows = model["tables"]["parts"]["rows"]
        counts = [row[key] for row in rows for key in ("forward_flops", "flops", "unmasked_flops")]
        self.assertIn(2 * 640 * 50_000, counts)
        self.assertEqual([each for each in counts if isinstance(each, float)], [])


if __name__ == "__main__":
    run_and_count()
