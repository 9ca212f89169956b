#!/usr/bin/env python3
"""The models of golden/flops cost what is written there: test_model_goldens.py PROGRAM [--all-recorded]

Parameters, forward FLOPs of each module and in all, and with the backward pass: counted by FlopsProfiler and
get_model_profile with real, meta and fake tensors, and from traces that `flopledger run` recorded of the same models (of a third of them; of all with --all-recorded).
FIGURES has the totals, so that they are checked where the golden files ($FLOPLEDGER_SHARED, else ../shared) are not at hand;
modules are checked against the files alone.
"""

import json
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from profile_case import HAS_TORCH, HAS_TRANSFORMERS, PROGRAM, SHARED, ProfileCase
from recorded_runs import environment_of

from count_line import run_and_count

ALL_RECORDED = "--all-recorded"
TRAINING = Path(__file__).resolve().parent / "training"
PLAIN_TORCH = ("mlp", "lenet", "alexnet", "gru", "lstm", "torch", "custom")  # how the others begin

if HAS_TORCH:
    sys.path.insert(0, str(TRAINING))
    import torch
    from golden_models import MODELS, Case
    from torch._subclasses.fake_tensor import FakeTensorMode


@dataclass(frozen=True)
class Figures:
    """FLOPs of matrix products, convolutions, attention and recurrent layers.

    With the backward pass they depend on what runs: fused attention computes its scores again there (2.5 times the forward),
    and meta tensors go through attention made of single products (2 times). `backward`: fused, `plain_backward`: not;
    None: the model has no attention, or an unfused one, and they are equal.
    """

    parameters: int
    forward: int
    backward: int  # forward and backward together
    plain_backward: int | None = None


LLAMA = (8825088, 4786749440)
FIGURES = {
    "mlp_64_128_10_b32": Figures(9610, 606208, 1294336),
    "lenet5_b1024": Figures(61706, 853032960, 2318254080),
    "alexnet_b8": Figures(61100840, 11427015680, 33156618240),
    "alexnet_b256_meta": Figures(61100840, 365664501760, 1061011783680),
    "gru_b2_t5_i8_h16": Figures(1248, 23040, 58368),
    # twice the forward more, for oneDNN computes all gradients; by single ops (meta) those of the input and of the first
    # hidden states are left out
    "lstm_b2_t5_i8_h16_l2_bidir": Figures(9728, 184320, 552960, 552960 - 20480 - 16384),
    "torch_transformer_encoder_2l_d64": Figures(66944, 2723840, 7731200, 7680000),
    "custom_functional_b4_s32_d64": Figures(16384, 7340032, 18350080),
    "bert_base_mlm_b4_s128": Figures(109514298, 113996464128, 343197351936, 341989392384),
    "bert_base_mlm_eager_b4_s128": Figures(109514298, 113996464128, 341989392384),
    "gpt2_small_b2_s128": Figures(124439808, 64456359936, 193973059584, 193369079808),
    "llama_12l_h256_b2_s128": Figures(*LLAMA, 14561574912, 14360248320),
    "llama_12l_h256_eager_b2_s128": Figures(*LLAMA, 14360248320),
    "llama_12l_h256_bf16_b2_s128": Figures(*LLAMA, 14561574912, 14360248320),
    # the forward of its blocks once more, but for the last product of each
    "llama_12l_h256_gradckpt_b2_s128": Figures(
        *LLAMA, 18135121920, 14360248320 + 12 * (387973120 - 90177536)
    ),
    "llama2_7b_meta_b1_s2048": Figures(6738415616, 29261612187648, 88884348190720, 87784836562944),
    "llama3_8b_meta_b1_s8192": Figures(
        8030261248, 158140695838720, 492014273560576, 474422087516160
    ),
    # a depthwise convolution's gradients cost twice its forward, not 129 times
    "mamba_tiny_b2_s32": Figures(78272, 9908224, 29724672),
    "mixtral_tiny_b2_s64": Figures(1801856, 151126016, 457572352, 453378048),
    "mixtral_tiny_eagerexperts_b2_s64": Figures(1801856, 151126016, 457572352, 453378048),
}
# torch itself cannot: which tokens meet an expert is known with real tensors only; the encoder copies its layers
NOT_ON_META = ("mixtral_tiny_eagerexperts_b2_s64",)
NOT_FAKE = (*NOT_ON_META, "torch_transformer_encoder_2l_d64")
# Of each kind some: a recording takes seconds.
RECORDED = list(FIGURES) if ALL_RECORDED in sys.argv else list(FIGURES)[::3]
sys.argv = [word for word in sys.argv if word != ALL_RECORDED]


def golden_of(name: str) -> dict[str, Any] | None:
    path = SHARED / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def modules_of(golden: dict[str, Any]) -> dict[str, int]:
    """Forward FLOPs by dotted name, "" for the model itself."""
    by_module: dict[str, int] = golden["fcm_ref"]["fwd_by_module"]
    return {name.partition(".")[2]: flops for name, flops in by_module.items()}


class Counted(NamedTuple):
    parameters: int
    forward: int
    backward: int  # forward and backward together
    modules: dict[str, int]


class GoldenCase(ProfileCase):
    def check(self, name: str, counted: Counted, backward: int) -> None:
        figures = FIGURES[name]
        self.assertEqual(counted[:3], (figures.parameters, figures.forward, backward), name)
        golden = golden_of(name)
        if golden is None:
            return
        self.assertEqual(figures.parameters, golden["params"], name)
        self.assertEqual(figures.forward, golden["exact"]["fwd_full"], name)
        for module, flops in modules_of(golden).items():
            self.assertEqual(counted.modules.get(module), flops, f"{name}: {module or 'model'}")

    def need(self, name: str) -> None:
        if not name.startswith(PLAIN_TORCH) and not HAS_TRANSFORMERS:
            self.skipTest("needs transformers")


class ByDispatch(GoldenCase):
    """FlopsProfiler and get_model_profile."""

    def count(self, case: "Case") -> Counted:
        from flopledger import FlopsProfiler

        profiler = FlopsProfiler(case.model)
        profiler.start_profile()
        case.call().sum().backward()
        profiler.stop_profile()
        self.assertEqual(profiler.not_counted, {})
        self.assertEqual(2 * profiler.get_total_macs(), profiler.total().matrix_flops)
        again = sum(cost.recomputed.matrix_flops for cost in profiler.costs.values())
        forward = profiler.total().matrix_flops
        modules = {
            name: profiler.cost_of(module).matrix_flops
            for name, module in case.model.named_modules()
        }
        backward = forward + profiler.backward.matrix_flops + again
        return Counted(profiler.get_total_params(), forward, backward, modules)

    def check_dispatched(self, name: str) -> None:
        """With real tensors where they fit into memory, on meta, and fake."""
        self.need(name)
        figures = FIGURES[name]
        plain = figures.plain_backward or figures.backward
        if "meta" not in name:
            self.check(name, self.count(MODELS[name]()), figures.backward)
        if name not in NOT_ON_META:
            with torch.device("meta"):
                self.check(name, self.count(MODELS[name]()), plain)
        if name not in NOT_FAKE:
            with FakeTensorMode():
                self.check(name, self.count(MODELS[name]()), figures.backward)

    def test_each_as_deepspeed_calls_it(self) -> None:
        """get_model_profile on meta: multiply-adds and parameters; with pointwise work the FLOPs are more."""
        for name, figures in FIGURES.items():
            if name in NOT_ON_META or (not name.startswith(PLAIN_TORCH) and not HAS_TRANSFORMERS):
                continue
            with torch.device("meta"):
                case = MODELS[name]()
                found = self.profile_of(case.model, *case.arguments, **case.keywords)
            self.assertEqual((2 * found[1], found[2]), (figures.forward, figures.parameters), name)
            self.assertGreaterEqual(found[0], figures.forward, name)

    def test_all_files_have_their_models(self) -> None:
        if not SHARED.exists():
            self.skipTest("needs the golden files (FLOPLEDGER_SHARED)")
        files = {path.stem for path in SHARED.glob("*.json")} - {"INDEX"}
        self.assertEqual(files - set(FIGURES), set())
        self.assertEqual(set(FIGURES), set(MODELS))


class ByTrace(GoldenCase):
    """`flopledger run` on the second of two steps of each model, then `flopledger flops --json` on the capture."""

    scratch: tempfile.TemporaryDirectory
    pool: ThreadPoolExecutor
    runs: dict[str, Future]

    @classmethod
    def setUpClass(cls) -> None:
        cls.scratch = tempfile.TemporaryDirectory()
        cls.pool = ThreadPoolExecutor(max_workers=2)
        cls.runs = {}
        chosen = " ".join(sys.argv[1:])  # as ByTrace.test_mlp_64_128_10_b32; else all
        for name in RECORDED if HAS_TORCH else ():
            if "meta" not in name and (name.startswith(PLAIN_TORCH) or HAS_TRANSFORMERS):
                if f"test_{name}" in chosen or "test_" not in chosen:
                    cls.runs[name] = cls.pool.submit(cls.record, name)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.pool.shutdown(cancel_futures=True)
        cls.scratch.cleanup()

    @classmethod
    def record(cls, name: str) -> str:
        """What went wrong, or nothing."""
        output = Path(cls.scratch.name) / name
        script = [sys.executable, str(TRAINING / "golden_step.py"), name]
        done = subprocess.run(
            [PROGRAM, "run", "--no-report", "--steps", "2", "--output", output, "--", *script],
            env=environment_of(PROGRAM, TMPDIR=cls.scratch.name),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return done.stderr if done.returncode else ""

    def check_recorded(self, name: str) -> None:
        self.need(name)
        if "meta" in name:
            self.skipTest("too large to be computed")
        self.assertEqual(self.runs[name].result(), "")
        (capture,) = (Path(self.scratch.name) / name / "golden_step").iterdir()
        command = [PROGRAM, "flops", "--json", "--top", "0", capture]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        section = json.loads(done.stdout)["ranks"][0]["sections"]["module_cost"]
        numbers = {key: number["value"] for key, number in section["numbers"].items()}
        rows = section["tables"]["modules"]["rows"]
        not_counted = section["tables"].get("not_counted", {"rows": []})["rows"]
        self.assertEqual([row["op"] for row in not_counted], [])
        modules = {"": rows[0]["forward_flops_in_all"]}
        modules |= {r["module"]: r["forward_flops_in_all"] for r in rows[1:] if r["module"]}
        counted = Counted(
            numbers["parameters"], numbers["forward_flops"], numbers["total_flops"], modules
        )
        self.check(name, counted, FIGURES[name].backward)
        plain = FIGURES[name].plain_backward
        if plain is not None and "gradckpt" not in name and "lstm" not in name:
            self.assertEqual(numbers["model_flops"], plain)


def add_tests() -> None:
    """One test a model, so that each is counted, and skipped, by itself."""
    for name in FIGURES:

        def dispatched(case: ByDispatch, name: str = name) -> None:
            case.check_dispatched(name)

        def recorded(case: ByTrace, name: str = name) -> None:
            case.check_recorded(name)

        setattr(ByDispatch, f"test_{name}", dispatched)
        if name in RECORDED:
            setattr(ByTrace, f"test_{name}", recorded)


add_tests()
if __name__ == "__main__":
    run_and_count()
