#!/usr/bin/env python3
"""What other counters get wrong is right here: test_model_defects.py PROGRAM

One test for each known defect of DeepSpeed's flops profiler (0.19.8, and those that it had until then) and of PyTorch's
FlopCounterMode (2.13.0); the right numbers are worked out by hand. Where DeepSpeed is at hand, a test also checks that the
defect is there, so that a list of old ones does not grow.
"""

import contextlib
import importlib.util
import io
import os
from collections.abc import Callable
from typing import Any

from profile_case import HAS_TORCH, ProfileCase

from count_line import run_and_count

HAS_DEEPSPEED = importlib.util.find_spec("deepspeed") is not None
os.environ.setdefault("DS_ACCELERATOR", "cpu")

if HAS_TORCH:
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.flop_counter import FlopCounterMode

    class Calling(nn.Module):
        """A function as a module."""

        def __init__(self, work: Callable[..., Any]) -> None:
            super().__init__()
            self.work = work

        def forward(self, *arguments: Any, **keywords: Any) -> Any:
            return self.work(*arguments, **keywords)

    def torch_counts(work: Callable[..., Any], *arguments: Any) -> int:
        counter = FlopCounterMode(display=False)
        with counter:
            work(*arguments)
        return counter.get_total_flops()


class DefectCase(ProfileCase):
    def macs(self, work: Any, *arguments: Any, **keywords: Any) -> int:
        model = work if isinstance(work, nn.Module) else Calling(work)
        return self.profile_of(model, *arguments, **keywords)[1]

    def deepspeed_macs(self, work: Any, *arguments: Any, **keywords: Any) -> int | None:
        """None where it is not at hand."""
        if not HAS_DEEPSPEED:
            return None
        from deepspeed.profiling.flops_profiler import get_model_profile

        model = work if isinstance(work, nn.Module) else Calling(work)
        with contextlib.redirect_stdout(io.StringIO()):
            return get_model_profile(
                model,
                args=arguments,
                kwargs=keywords,
                print_profile=False,
                as_string=False,
                warm_up=0,
            )[1]

    def check(self, right: int, work: Any, *arguments: Any, theirs: int | None = None) -> None:
        """`theirs`: the multiply-adds that DeepSpeed says; -1: other ones, by how torch was called."""
        self.assertEqual(self.macs(work, *arguments), right)
        found = self.deepspeed_macs(work, *arguments)
        if found is not None and theirs == -1:
            self.assertNotEqual(found, right, "DeepSpeed has mended this")
        elif found is not None and theirs is not None:
            self.assertEqual(found, theirs, "DeepSpeed's defect is another one now")

    def both_passes(self, model: Any, *arguments: Any) -> tuple[int, int]:
        """Matrix FLOPs of forward and backward."""
        from flopledger import FlopsProfiler

        profiler = FlopsProfiler(model)
        profiler.start_profile()
        model(*arguments).sum().backward()
        profiler.stop_profile()
        return profiler.total().matrix_flops, profiler.backward.matrix_flops


class OfDeepSpeed(DefectCase):
    def test_latency_of_the_root_in_an_engine(self) -> None:
        """An engine run gives the root `1.8 Gs` (the clock's start is 0) and its children 0 %: here it is its time."""
        from flopledger import FlopsProfiler

        model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
        profiler = FlopsProfiler(model)
        # its engine adds a hook of its own before the profile starts
        model.register_forward_pre_hook(lambda module, inputs: profiler.start_profile())
        model(torch.ones(2, 8))
        profiler.stop_profile()
        inside = sum(profiler.seconds_of(child) for child in model)
        self.assertLess(profiler.get_total_duration(), 60)
        self.assertGreater(inside, 0)

    def test_biased_linear_on_meta(self) -> None:
        """Meta kernels written in Python call patched functions again: 565,248 instead of 303,104; GPT-3 twice."""
        with torch.device("meta"):
            model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
            self.check(303104, model, torch.empty(32, 64), theirs=-1)

    def test_experts_in_one_grouped_product(self) -> None:
        """Grouped products of experts are not counted: Mixtral 0.151 to 0.334 of it."""
        tokens, weights = torch.ones(32, 16), torch.ones(4, 16, 24)
        ends = torch.tensor([8, 8, 20, 32], dtype=torch.int32)
        work = lambda x, w: F.grouped_mm(x, w, offs=ends)  # noqa: E731
        half = (tokens.bfloat16(), weights.bfloat16())
        self.check(32 * 16 * 24, work, *half, theirs=0)

    def test_matrix_times_vector(self) -> None:
        """(8, 16) @ (16,): 4096 flops instead of 256."""
        work = lambda a, v: torch.matmul(a, v)  # noqa: E731
        self.check(128, work, torch.ones(8, 16), torch.ones(16), theirs=2048)

    def test_broadcast_products(self) -> None:
        """The batch of the second matrix is forgotten: 8192 instead of 32768."""
        a, b = torch.ones(1, 8, 16), torch.ones(4, 16, 32)
        work = lambda x, y: torch.matmul(x, y)  # noqa: E731
        self.check(4 * 8 * 16 * 32, work, a, b, theirs=8 * 16 * 32)
        self.check(4 * 8 * 16 * 32, lambda x, y: x @ y, a[0], b, theirs=8 * 16 * 32)

    def test_recurrent_layers(self) -> None:
        """LSTM, GRU and RNN have 0 multiply-adds."""
        x = torch.ones(2, 5, 8)
        for layer, gates in [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)]:
            right = 2 * 5 * gates * 16 * (8 + 16)
            self.check(right, layer(8, 16, batch_first=True), x, theirs=0)
        cell = nn.LSTMCell(8, 16)
        self.check(5 * 4 * 16 * (8 + 16), cell, torch.ones(5, 8), theirs=0)

    def test_einsum(self) -> None:
        """0 multiply-adds, and FLOPs rounded to four digits: 1048576 is 1049000 there."""
        a, b = torch.ones(64, 128), torch.ones(128, 64)
        work = lambda x, y: torch.einsum("ij,jk->ik", x, y)  # noqa: E731
        self.check(64 * 128 * 64, work, a, b, theirs=0)
        self.assertEqual(self.profile_of(Calling(work), a, b)[0], 1048576)

    def test_einsum_of_a_list(self) -> None:
        """Raises there."""
        work = lambda x: torch.einsum("ij,jk->ik", [x, x])  # noqa: E731
        self.assertEqual(self.macs(work, torch.ones(8, 8)), 512)

    def test_same_padding_of_an_even_kernel(self) -> None:
        """padding="same": 345,600 instead of 393,216 flops; here with 8 filters of 3 x 4 x 4 on 16 x 16."""
        layer = nn.Conv2d(3, 8, 4, padding="same", bias=False)
        self.check(8 * 16 * 16 * 3 * 16, layer, torch.ones(1, 3, 16, 16), theirs=86400)

    def test_interpolation_to_a_size(self) -> None:
        """Samples and channels are forgotten: 1024 instead of 6144."""
        work = lambda x: F.interpolate(x, size=(32, 32), mode="bilinear")  # noqa: E731
        flops = self.profile_of(Calling(work), torch.ones(2, 3, 16, 16))[0]
        self.assertEqual(flops, 7 * 2 * 3 * 32 * 32)

    def test_attention_by_keywords(self) -> None:
        """Raises there: `F.scaled_dot_product_attention(query=...)`."""
        q = torch.ones(2, 4, 16, 8)
        macs = self.macs(F.scaled_dot_product_attention, query=q, key=q, value=q)
        self.assertEqual(macs, 2 * 2 * 4 * 16 * 16 * 8)

    def test_convolution_without_a_batch(self) -> None:
        """Raises there."""
        self.assertEqual(self.macs(nn.Conv1d(3, 8, 3), torch.ones(3, 10)), 8 * 8 * 3 * 3)

    def test_stride_in_a_list(self) -> None:
        """Raises there."""
        layer = nn.Conv2d(3, 6, 3, groups=3, stride=[2, 2], dilation=2)
        self.assertEqual(self.macs(layer, torch.ones(2, 3, 20, 20)), 2 * 6 * 8 * 8 * 9)

    def test_fast_path_of_the_encoder(self) -> None:
        """Under no_grad the fused path hides most: 1,336,320 of 2,723,840 flops."""
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        model = nn.TransformerEncoder(layer, 2).eval()
        with torch.no_grad():
            self.check(2723840 // 2, model, torch.ones(2, 10, 64), theirs=1310720 // 2)

    def test_failing_forward(self) -> None:
        """Its patches of torch stay behind: F.linear is not restored."""
        before = (F.linear, torch.matmul, torch.Tensor.__matmul__, F.scaled_dot_product_attention)
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(5, 5))
        with self.assertRaises(RuntimeError):
            self.macs(model, torch.ones(2, 4))
        after = (F.linear, torch.matmul, torch.Tensor.__matmul__, F.scaled_dot_product_attention)
        self.assertTrue(all(a is b for a, b in zip(before, after)))
        self.assertEqual(sum(len(module._forward_hooks) for module in model.modules()), 0)
        self.assertIsNone(torch.utils._python_dispatch._get_current_dispatch_mode())
        self.assertEqual(self.macs(model[0], torch.ones(2, 4)), 32)

    def test_frozen_layers(self) -> None:
        """LoRA: the rule of twice the forward gives 9.655 GF for the backward, 78 % too much."""

        class Adapted(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.base = nn.Linear(256, 256, bias=False).requires_grad_(False)
                self.down = nn.Linear(256, 8, bias=False)
                self.up = nn.Linear(8, 256, bias=False)

            def forward(self, x: Any) -> Any:
                return self.base(x) + self.up(self.down(x))

        model = nn.Sequential(Adapted(), Adapted())
        base, low = 2 * 32 * 256 * 256, 2 * 32 * 256 * 8
        forward, backward = self.both_passes(model, torch.ones(32, 256))
        self.assertEqual(forward, 2 * (base + 2 * low))
        # to the input through the second block alone; the first's input needs no gradient
        self.assertEqual(backward, (base + 4 * low) + 3 * low)

    def test_backward_of_fused_attention(self) -> None:
        """Taken as twice the forward; the fused kernel computes its scores again: 2.5 times."""
        q = torch.ones(2, 4, 32, 16, requires_grad=True)
        forward, backward = self.both_passes(
            Calling(lambda x: F.scaled_dot_product_attention(x, x, x)), q
        )
        self.assertEqual(forward, 4 * 2 * 4 * 32 * 32 * 16)
        self.assertEqual(2 * backward, 5 * forward)

    def test_checkpointing(self) -> None:
        """Needs recompute_fwd_factor, set by hand; here what is computed again is counted as it happens."""
        from flopledger import FlopsProfiler
        from torch.utils.checkpoint import checkpoint

        layer = nn.Sequential(nn.Linear(64, 64, bias=False), nn.Linear(64, 64, bias=False))
        model = Calling(lambda x: checkpoint(layer, x, use_reentrant=True))
        model.layer = layer
        profiler = FlopsProfiler(model)
        profiler.start_profile()
        model(torch.ones(8, 64, requires_grad=True)).sum().backward()
        profiler.stop_profile()
        once = 2 * 2 * 8 * 64 * 64
        self.assertEqual(profiler.total().matrix_flops, once)
        self.assertEqual(profiler.get_total_recomputed_flops(), once)
        self.assertEqual(profiler.backward.matrix_flops, 2 * once)

    def test_each_call_the_same(self) -> None:
        """Each profile counted more than the one before: 81,920, 131,072, 180,224 flops (until 0.19.8)."""
        q = torch.ones(2, 4, 16, 8)
        work = lambda x: F.scaled_dot_product_attention(x, x, x) @ x.mT  # noqa: E731
        first = self.macs(work, q)
        self.assertEqual([self.macs(work, q) for _ in range(3)], [first] * 3)

    def test_bmm_stays_bmm(self) -> None:
        """After a profile torch.bmm was torch.matmul, and took two dimensions (until 0.19.8)."""
        self.macs(torch.bmm, torch.ones(1, 2, 3), torch.ones(1, 3, 4))
        with self.assertRaises(RuntimeError):
            torch.bmm(torch.ones(2, 3), torch.ones(3, 4))

    def test_functions_bound_before(self) -> None:
        """`from torch.nn.functional import linear` at the head of a file is not seen."""
        from torch.nn.functional import linear

        bound = linear
        work = lambda x, w: bound(x, w)  # noqa: E731
        self.check(24, work, torch.ones(2, 3), torch.ones(4, 3), theirs=0)

    def test_ops_that_it_does_not_patch(self) -> None:
        """addbmm, Tensor.baddbmm, mv, dot, tensordot, torch.conv2d and fused kernels count nothing."""
        a, b, v = torch.ones(4, 8, 16), torch.ones(4, 16, 32), torch.ones(16)
        many = 4 * 8 * 16 * 32
        self.check(many, lambda x, y: torch.addbmm(torch.ones(8, 32), x, y), a, b, theirs=0)
        self.check(many, lambda x, y: torch.ones(4, 8, 32).baddbmm(x, y), a, b, theirs=0)
        self.check(8 * 16, torch.mv, a[0], v, theirs=0)
        self.check(16, torch.dot, v, v, theirs=0)
        self.check(8 * 16 * 32, lambda x, y: torch.tensordot(x, y, 1), a[0], b[0], theirs=0)
        self.check(
            8 * 8 * 6 * 3 * 9, torch.conv2d, torch.ones(1, 3, 10, 10), torch.ones(6, 3, 3, 3)
        )

    def test_pointwise_work_that_it_does_not_see(self) -> None:
        """Operators, tanh, sigmoid, torch.softmax and rms_norm count nothing; activations one each."""
        x = torch.ones(8, 16)
        elements = 8 * 16
        ways = [
            (lambda x: x + x, 1),
            (lambda x: x * x - x, 2),
            (torch.tanh, 1),
            (torch.sigmoid, 3),
            (lambda x: torch.softmax(x, -1), 5),
            (torch.relu, 1),
            (lambda x: x.clone().add_(x), 1),
        ]
        for work, each in ways:
            self.assertEqual(self.profile_of(Calling(work), x)[0], each * elements)
        norm = self.profile_of(Calling(lambda x: F.rms_norm(x, (16,))), x)[0]
        self.assertGreaterEqual(norm, 3 * elements)

    def test_pools_count_their_kernel(self) -> None:
        """All pools count their input, whatever the kernel."""
        pool = nn.MaxPool2d(3, 1)
        self.assertEqual(self.profile_of(pool, torch.ones(1, 2, 8, 8))[0], 2 * 6 * 6 * 9)

    def test_training_mode_is_restored(self) -> None:
        """get_model_profile leaves the model in eval mode."""
        model = nn.Sequential(nn.Linear(4, 4), nn.Dropout()).train()
        self.macs(model, torch.ones(2, 4))
        self.assertTrue(model.training and model[1].training)

    def test_parameters_without_an_engine(self) -> None:
        """`params of model` is 0 there."""
        self.assertIn("params of model = params per GPU * mp_size: ".ljust(72) + "20", self.text())

    def test_deepest_level(self) -> None:
        """Never printed; module_depth=0 prints none, and one too large raises KeyError with stdout left redirected."""
        self.assertIn("depth 1:\n    params      - {'Linear': '20'}", self.text())
        self.assertIn("depth 0:", self.text(module_depth=0))
        self.assertNotIn("depth 1:", self.text(module_depth=0))
        self.assertIn("depth 1:", self.text(module_depth=7))

    def text(self, **settings: Any) -> str:
        from flopledger import get_model_profile

        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            get_model_profile(nn.Sequential(nn.Linear(4, 4)), (2, 4), **settings)
        return printed.getvalue()

    def test_grouped_transposed_convolution(self) -> None:
        """Groups were not divided by (until 0.19.8)."""
        layer = nn.ConvTranspose2d(4, 8, 3, groups=2, stride=2)
        self.assertEqual(self.macs(layer, torch.ones(2, 4, 5, 5)), 2 * 25 * 4 * 4 * 9)

    def test_module_used_twice(self) -> None:
        """A module under two names was counted once or twice by chance (until 0.19.8): its calls count, each once."""
        layer = nn.Linear(8, 8, bias=False)
        model = nn.Sequential(layer, nn.ReLU(), layer)
        _, macs, parameters = self.profile_of(model, torch.ones(2, 8))
        self.assertEqual((macs, parameters), (2 * 2 * 64, 64))

    def test_compiled_module(self) -> None:
        """What torch.compile made is counted op by op, also where no break is allowed."""
        model = torch.compile(nn.Linear(8, 8, bias=False), backend="eager", fullgraph=True)
        self.assertEqual(self.macs(model, torch.ones(2, 8)), 128)


class OfFlopCounterMode(DefectCase):
    def check_both(self, right: int, theirs: int, work: Any, *arguments: Any) -> None:
        """`right`: multiply-adds; `theirs`: the FLOPs that FlopCounterMode says, where its defect is still there."""
        self.assertEqual(self.macs(work, *arguments), right)
        if torch.__version__.startswith("2.13."):
            self.assertEqual(torch_counts(work, *arguments), theirs)

    def test_attention_on_the_processor(self) -> None:
        """0 (pytorch#195460): Llama is 0.916 of what it is, BERT 0.979."""
        q = torch.ones(2, 4, 16, 8)
        work = lambda x: F.scaled_dot_product_attention(x, x, x)  # noqa: E731
        self.check_both(2 * 2 * 4 * 16 * 16 * 8, 0, work, q)

    def test_attention_of_fake_tensors(self) -> None:
        """0, too."""
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            q = torch.ones(2, 4, 16, 8)
            work = lambda x: F.scaled_dot_product_attention(x, x, x)  # noqa: E731
            self.check_both(2 * 2 * 4 * 16 * 16 * 8, 0, work, q)

    def test_grouped_products(self) -> None:
        """_grouped_mm has no formula: Mixtral-8x7B 0.151."""
        tokens, weights = torch.ones(32, 16).bfloat16(), torch.ones(4, 16, 24).bfloat16()
        ends = torch.tensor([8, 8, 20, 32], dtype=torch.int32)
        work = lambda x, w: F.grouped_mm(x, w, offs=ends)  # noqa: E731
        self.check_both(32 * 16 * 24, 0, work, tokens, weights)

    def test_lstm(self) -> None:
        """0: oneDNN's op has no formula."""
        self.check_both(2 * 5 * 64 * 24, 0, nn.LSTM(8, 16, batch_first=True), torch.ones(2, 5, 8))

    def test_vectors(self) -> None:
        """mv, dot and addbmm: 0."""
        a, v = torch.ones(8, 16), torch.ones(16)
        self.check_both(128, 0, torch.mv, a, v)
        self.check_both(16, 0, torch.dot, v, v)
        self.check_both(128, 0, lambda a, v: a @ v, a, v)
        work = lambda a: torch.addbmm(torch.ones(8, 8), a[None], a.mT[None])  # noqa: E731
        self.check_both(8 * 8 * 16, 0, work, a)

    def test_encoder_for_inference(self) -> None:
        """The fused path of nn.TransformerEncoderLayer and nn.MultiheadAttention: 0."""
        layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
        with torch.no_grad():
            self.check_both(2723840 // 4, 0, layer, torch.ones(2, 10, 64))

    def test_gradient_of_a_grouped_convolution(self) -> None:
        """That of the weight counts once for each group: Mamba 47.9 M instead of 29.7 M."""
        layer = nn.Conv2d(8, 8, 3, padding=1, groups=4, bias=False)
        x = torch.ones(2, 8, 6, 6, requires_grad=True)
        once = 2 * 2 * 8 * 36 * 2 * 9
        self.assertEqual(self.both_passes(layer, x), (once, 2 * once))
        if torch.__version__.startswith("2.13."):
            self.assertEqual(torch_counts(lambda x: layer(x).sum().backward(), x), 6 * once)

    def test_two_ways_of_attention(self) -> None:
        """The same model has two totals, by what runs: here the model's FLOPs are told apart from what is computed again."""
        from flopledger.flop_counts import count

        shape = "[2, 4, 32, 16]"
        rest = "[], [], [], [], []"
        name = "aten::_scaled_dot_product_flash_attention_for_cpu_backward"
        shapes = f"[{', '.join([shape] * 5)}, {rest}]"
        _, flops, model_flops, *_ = count(name, shapes, "", "")
        forward = 4 * 2 * 4 * 32 * 32 * 16
        self.assertEqual((2 * flops, model_flops), (5 * forward, 2 * forward))

    def test_branches(self) -> None:
        """torch.cond runs both branches under it, and goes on with the first, whatever the condition says."""
        x = torch.ones(4, 4)
        work = lambda x: torch.cond(  # noqa: E731
            x.sum() < 0, lambda x: x @ x @ x, lambda x: x @ x, (x,)
        )
        seen = []
        self.assertEqual(self.macs(lambda x: seen.append(work(x)), x), 64)
        self.assertTrue(torch.equal(seen[0], torch.full((4, 4), 4.0)))

    def test_compiled_without_breaks(self) -> None:
        """Raises under it where no break is allowed; flex_attention, too."""
        from torch.nn.attention.flex_attention import flex_attention

        q = torch.ones(1, 2, 128, 16)
        work = lambda x: flex_attention(x, x, x)  # noqa: E731
        self.assertEqual(self.macs(work, q), 2 * 2 * 128 * 128 * 16)

    def test_pointwise_work_and_bytes(self) -> None:
        """Has neither."""
        from flopledger import FlopsProfiler

        model = Calling(lambda x: torch.tanh(x))
        profiler = FlopsProfiler(model)
        profiler.start_profile()
        model(torch.ones(8, 16))
        profiler.stop_profile()
        total = profiler.total()
        self.assertEqual((total.flops, total.matrix_flops, total.bytes), (128, 0, 2 * 128 * 4))

    def test_checkpoints_that_break_off(self) -> None:
        """Counts recomputation into the total, untold; here it is apart, also where it breaks off early."""
        from flopledger import FlopsProfiler
        from torch.utils.checkpoint import checkpoint

        layers = nn.Sequential(nn.Linear(64, 64, bias=False), nn.Linear(64, 64, bias=False))
        model = Calling(lambda x: checkpoint(layers, x, use_reentrant=False))
        model.layers = layers
        profiler = FlopsProfiler(model)
        profiler.start_profile()
        model(torch.ones(8, 64, requires_grad=True)).sum().backward()
        profiler.stop_profile()
        one = 2 * 8 * 64 * 64
        self.assertEqual(profiler.get_total_recomputed_flops(), one)  # the second is not run again
        self.assertEqual(profiler.backward.matrix_flops, 4 * one)

    def test_checkpointed_functions(self) -> None:
        """Recomputation outside of any module: once more what the forward did; of both ways to checkpoint."""
        from flopledger import FlopsProfiler
        from torch.utils.checkpoint import checkpoint

        first = torch.ones(64, 64, requires_grad=True)
        second = torch.ones(64, 64, requires_grad=True)
        one = 2 * 8 * 64 * 64
        for is_reentrant in (False, True):
            with self.subTest(is_reentrant=is_reentrant):
                profiler = FlopsProfiler(nn.Identity())
                profiler.start_profile()
                x = torch.ones(8, 64, requires_grad=True)
                checkpoint(
                    lambda x: x @ first @ second, x, use_reentrant=is_reentrant
                ).sum().backward()
                profiler.stop_profile()
                again = 2 * one if is_reentrant else one  # else the second is not run again
                self.assertEqual(profiler.get_total_recomputed_flops(), again)
                self.assertEqual(profiler.backward.matrix_flops, 4 * one)

    def test_scripted_and_exported_modules(self) -> None:
        """Hooks cannot be put into the first, and the second cannot be set to eval()."""
        from flopledger import get_model_profile

        def profile(model: nn.Module) -> tuple[int, int]:
            return get_model_profile(model, (2, 8), print_profile=False, as_string=False)[1:]

        layer = nn.Linear(8, 16, bias=False)
        example = (torch.ones(2, 8),)
        for model in (
            torch.jit.script(layer),
            torch.jit.script(nn.Sequential(layer)),
            nn.Sequential(torch.jit.trace(layer, example)),
            nn.Sequential(torch.jit.trace(nn.Sequential(nn.Sequential(layer)), example)),
            torch.export.export(layer, example).module(),
        ):
            self.assertEqual(profile(model), (2 * 8 * 16, 8 * 16), type(model))

    def test_sparse_and_complex_operands(self) -> None:
        """What is sparse is never dense in silence; a multiply-add of complex numbers is 8."""
        from flopledger import FlopsProfiler

        profiler = FlopsProfiler(nn.Identity())
        profiler.start_profile()
        torch.eye(16).to_sparse() @ torch.ones(16, 4)
        torch.ones(4, 3, dtype=torch.complex64) @ torch.ones(3, 5, dtype=torch.complex64)
        profiler.stop_profile()
        self.assertEqual(profiler.outside.matrix_flops, 8 * 4 * 3 * 5)
        self.assertIn("sparse", profiler.not_counted["aten::mm"][1])

    def test_backward_of_backward_is_not_recomputed(self) -> None:
        """With create_graph=True all ops of the backward record gradients."""
        from flopledger import FlopsProfiler

        weight = torch.ones(64, 64, requires_grad=True)
        profiler = FlopsProfiler(nn.Identity())
        profiler.start_profile()
        x = torch.ones(8, 64, requires_grad=True)
        torch.autograd.grad((x @ weight).sum(), [x, weight], create_graph=True)
        profiler.stop_profile()
        self.assertEqual(profiler.get_total_recomputed_flops(), 0)
        self.assertEqual(profiler.get_total_backward_flops(), 2 * 2 * 8 * 64 * 64)


if __name__ == "__main__":
    run_and_count()
