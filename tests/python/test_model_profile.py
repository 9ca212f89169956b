#!/usr/bin/env python3
"""get_model_profile, FlopsProfiler and profile count exactly: test_model_profile.py PROGRAM"""

import contextlib
import io
import tempfile
import time
from pathlib import Path
from typing import Any

from profile_case import HAS_TORCH, ProfileCase

from count_line import run_and_count

if HAS_TORCH:
    import torch
    from torch import nn
    from torch.nn import functional as F


class Surface(ProfileCase):
    def model(self) -> Any:
        return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))

    def test_results_and_text(self) -> None:
        from flopledger import get_model_profile

        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            said = get_model_profile(self.model(), (32, 64))
        self.assertEqual(said, ("610.3 K", "303.1 KMACs", "9.61 K"))
        text = printed.getvalue()
        self.assertIn("fwd MACs per GPU: ".ljust(70) + "  303.1 KMACs\n", text)
        self.assertIn(
            "depth 1:\n    params      - {'Linear': '9.61 K'}\n", text
        )  # the deepest, too
        self.assertIn("(0): Linear(8.32 K = 86.58% Params, 262.14 KMACs = 86.49% MACs, ", text)

    def test_depth_beyond_the_model_and_a_file(self) -> None:
        from flopledger import get_model_profile

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "profile.txt"
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                get_model_profile(
                    self.model(), (32, 64), module_depth=9, output_file=str(path), detailed=False
                )
            self.assertEqual(printed.getvalue(), "")
            self.assertIn("depth 1:", path.read_text())
            self.assertNotIn("Detailed", path.read_text())

    def test_training_mode_is_restored(self) -> None:
        model = self.model().train()
        model[1].eval()
        self.profile_of(model, torch.ones(2, 64))
        self.assertEqual([module.training for module in model], [True, False, True])

    def test_forward_that_fails(self) -> None:
        model = self.model()
        with self.assertRaises(RuntimeError):
            self.profile_of(model, torch.ones(2, 63))
        self.assertEqual(len(model._forward_hooks) + len(model[0]._forward_pre_hooks), 0)
        self.assertIsNone(torch.utils._python_dispatch._get_current_dispatch_mode())
        self.assertEqual(self.profile_of(model, torch.ones(2, 64))[1], 2 * (8192 + 1280))

    def test_same_again(self) -> None:
        model = self.model()
        first = self.profile_of(model, torch.ones(32, 64))
        self.assertEqual(
            [self.profile_of(model, torch.ones(32, 64)) for _ in range(2)], [first] * 2
        )

    def test_profiler_as_in_a_training_loop(self) -> None:
        from flopledger import FlopsProfiler

        model = self.model()
        profiler = FlopsProfiler(model)
        profiler.start_profile()
        loss = model(torch.ones(32, 64)).sum()
        loss.backward()
        profiler.stop_profile()
        self.assertEqual(profiler.get_total_macs(), 303104)
        self.assertEqual(profiler.get_total_macs(as_string=True), "303.1 KMACs")
        self.assertEqual(profiler.get_total_params(), 9610)
        self.assertGreater(profiler.get_total_duration(), 0)
        self.assertEqual(profiler.outside.flops, 320)  # the sum
        backward = 2 * 32 * (64 * 128 + 2 * 128 * 10)  # no gradient for the input
        self.assertEqual(profiler.backward.matrix_flops, backward)
        self.assertEqual(profiler.cost_of(model[2]).macs, 40960)
        profiler.end_profile()
        self.assertEqual(profiler.get_total_flops(), 0)

    def test_context_and_decorator(self) -> None:
        from flopledger import profile

        model = self.model()
        with profile(model) as measured:
            model(torch.ones(32, 64))
        self.assertEqual((measured.macs, measured.params), (303104, 9610))
        again = profile(model)

        @again
        def work() -> None:
            model(torch.ones(16, 64))

        work()
        self.assertEqual(again.macs, 303104 // 2)

    def test_ignored_modules_count_with_the_one_around(self) -> None:
        from flopledger import FlopsProfiler

        model = self.model()
        profiler = FlopsProfiler(model)
        profiler.start_profile(ignore_list=[nn.Linear])
        model(torch.ones(32, 64))
        profiler.stop_profile()
        self.assertEqual(profiler.get_total_macs(), 303104)
        self.assertEqual(profiler.cost_of(model[0]).macs, 0)

    def test_recomputation_is_told_apart(self) -> None:
        from flopledger import FlopsProfiler
        from torch.utils.checkpoint import checkpoint

        class Saving(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer = nn.Linear(64, 64, bias=False)

            def forward(self, x: Any) -> Any:
                return checkpoint(self.layer, x, use_reentrant=True)

        model = Saving()
        profiler = FlopsProfiler(model)
        profiler.start_profile()
        model(torch.ones(8, 64, requires_grad=True)).sum().backward()
        profiler.stop_profile()
        once = 2 * 8 * 64 * 64
        self.assertEqual(profiler.total().matrix_flops, once)
        self.assertEqual(profiler.get_total_recomputed_flops(), once)
        self.assertEqual(profiler.backward.matrix_flops, 2 * once)

    def test_own_formula(self) -> None:
        from flopledger import register_flop_formula

        library = torch.library.Library("flopledger_test", "FRAGMENT")
        library.define("mix(Tensor a, Tensor b) -> Tensor")
        library.impl("mix", lambda a, b: a @ b, "CompositeExplicitAutograd")
        from flopledger import FlopsProfiler

        class Model(nn.Module):
            def forward(self, a: Any, b: Any) -> Any:
                return torch.ops.flopledger_test.mix(a, b)

        with torch.no_grad():
            profiler = FlopsProfiler(Model())
            profiler.start_profile()
            profiler.model(torch.ones(2, 3), torch.ones(3, 4))
            profiler.stop_profile()
            self.assertEqual(profiler.get_total_flops(), 0)
            self.assertIn("flopledger_test::mix", profiler.not_counted)
            register_flop_formula("flopledger_test::mix", "2 * in0[0] * in0[1] * in1[1]")
            self.assertEqual(self.profile_of(Model(), torch.ones(2, 3), torch.ones(3, 4))[0], 48)
        with self.assertRaisesRegex(ValueError, "line 1"):
            register_flop_formula("my::op", "2 * ")


class WhereDeepSpeedIsWrong(ProfileCase):
    """Multiply-adds of each, by hand."""

    def test_matrix_times_vector(self) -> None:
        self.assertEqual(self.macs_of(torch.matmul, torch.ones(8, 16), torch.ones(16)), 128)

    def test_broadcast(self) -> None:
        a, b = torch.ones(1, 8, 16), torch.ones(4, 16, 32)
        self.assertEqual(self.macs_of(torch.matmul, a, b), 4 * 8 * 16 * 32)
        self.assertEqual(self.macs_of(lambda x, y: x @ y, a[0], b), 4 * 8 * 16 * 32)

    def test_recurrent(self) -> None:
        x = torch.ones(2, 5, 8)
        for layer, gates in [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)]:
            model = layer(8, 16, batch_first=True)
            self.assertEqual(self.profile_of(model, x)[1], 2 * 5 * gates * 16 * (8 + 16), layer)

    def test_einsum(self) -> None:
        a, b = torch.ones(32, 64), torch.ones(64, 16)
        self.assertEqual(self.macs_of(lambda x, y: torch.einsum("ij,jk->ik", x, y), a, b), 32768)
        self.assertEqual(self.macs_of(lambda x, y: torch.einsum("ij,jk->ik", [x, y]), a, b), 32768)

    def test_convolutions(self) -> None:
        x = torch.ones(2, 3, 20, 20)
        same = nn.Conv2d(3, 8, 4, padding="same")
        self.assertEqual(self.profile_of(same, x)[1], 2 * 8 * 20 * 20 * 3 * 16)
        grouped = nn.Conv2d(3, 6, 3, groups=3, stride=[2, 2], dilation=2)
        self.assertEqual(self.profile_of(grouped, x)[1], 2 * 6 * 8 * 8 * 9)
        transposed = nn.ConvTranspose2d(3, 4, 3, stride=2)
        self.assertEqual(self.profile_of(transposed, x)[1], 2 * 3 * 20 * 20 * 4 * 9)
        self.assertEqual(self.profile_of(nn.Conv1d(3, 8, 3), torch.ones(3, 10))[1], 8 * 8 * 3 * 3)

    def test_attention_by_keywords(self) -> None:
        q = torch.ones(2, 4, 16, 8)
        macs = self.macs_of(F.scaled_dot_product_attention, query=q, key=q, value=q)
        self.assertEqual(macs, 2 * 2 * 4 * 16 * 16 * 8)

    def test_linear_on_meta(self) -> None:
        with torch.device("meta"):
            model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
            self.assertEqual(self.profile_of(model, torch.empty(32, 64))[1], 303104)

    def test_fast_path_of_the_encoder(self) -> None:
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        model = nn.TransformerEncoder(layer, 2).eval()
        x = torch.ones(2, 10, 64)
        wanted = self.profile_of(model, x)[1]
        self.assertEqual(2 * wanted, 2723840)
        with torch.no_grad():
            self.assertEqual(self.profile_of(model, x)[1], wanted)

    def test_functions_imported_long_ago(self) -> None:
        from torch.nn.functional import linear

        self.assertEqual(
            self.macs_of(lambda x, w: linear(x, w), torch.ones(2, 3), torch.ones(4, 3)), 24
        )

    def test_fake_tensors(self) -> None:
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            model = nn.MultiheadAttention(64, 4, batch_first=True)
            x = torch.ones(2, 10, 64)
            macs = self.profile_of(model, x, x, x, need_weights=False)[1]
        self.assertEqual(macs, 2 * 10 * 64 * 64 * 4 + 2 * 2 * 10 * 10 * 64)

    def test_175_billion_parameters_in_seconds(self) -> None:
        width, length = 12288, 2048

        class Layer(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
                self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

            def forward(self, x: Any) -> Any:
                parts = self.qkv(x).view(1, length, 3, 96, 128).permute(2, 0, 3, 1, 4)
                y = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
                x = x + self.out(y.transpose(1, 2).reshape(1, length, width))
                return x + self.down(F.gelu(self.up(x)))

        began = time.process_time()
        with torch.device("meta"):
            model = nn.Sequential(
                *(Layer() for _ in range(96)), nn.Linear(width, 50257, bias=False)
            )
            _, macs, params = self.profile_of(model, torch.empty(1, length, width))
        self.assertLess(time.process_time() - began, 10)
        layer = length * width * width * 12 + 2 * length * length * width
        self.assertEqual(macs, 96 * layer + length * width * 50257)
        self.assertGreater(params, 174e9)


if __name__ == "__main__":
    run_and_count()
