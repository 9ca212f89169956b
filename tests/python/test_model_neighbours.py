#!/usr/bin/env python3
"""Models and ops of many kinds count right, by dispatch and by trace: test_model_neighbours.py PROGRAM

BY_HAND has multiply-adds that are worked out by hand. Larger models are counted beside PyTorch's FlopCounterMode, with
attention made of single products, where that one is right. A trace of each has the same total as the dispatched ops.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from profile_case import HAS_TORCH, HAS_TRANSFORMERS, PROGRAM, ProfileCase

from count_line import run_and_count

if HAS_TORCH:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    class Calling(nn.Module):
        """A function as a module."""

        def __init__(self, work: Callable[..., Any]) -> None:
            super().__init__()
            self.work = work

        def forward(self, *arguments: Any) -> Any:
            return self.work(*arguments)

    def grown(*shape: int) -> Tensor:
        return torch.randn(*shape, requires_grad=True)

    BY_HAND: dict[str, tuple[Callable[[], nn.Module], tuple[Tensor, ...], int]] = {
        "bilinear": (
            lambda: nn.Bilinear(8, 9, 7),
            (grown(5, 8), grown(5, 9)),
            5 * 7 * 9 * (8 + 1),
        ),
        "distances": (
            lambda: Calling(torch.cdist),
            (grown(2, 40, 8), grown(2, 30, 8)),
            2 * 40 * 30 * (8 + 2),
        ),
        "einsum of three": (
            lambda: Calling(lambda a, b, c: torch.einsum("bij,jk,kl->bil", a, b, c)),
            (grown(4, 8, 3), grown(3, 5), grown(5, 6)),
            4 * 8 * 3 * 5 + 4 * 8 * 5 * 6,
        ),
        "addbmm": (
            lambda: Calling(lambda a, b: torch.addbmm(torch.ones(8, 5), a, b)),
            (grown(4, 8, 3), grown(4, 3, 5)),
            4 * 8 * 3 * 5,
        ),
        "inner": (lambda: Calling(torch.inner), (grown(4, 8), grown(5, 8)), 4 * 8 * 5),
        "power": (
            lambda: Calling(lambda a: torch.linalg.matrix_power(a, 4)),
            (grown(6, 6),),
            2 * 6 * 6 * 6,
        ),
        "conv3d, grouped and dilated": (
            lambda: nn.Conv3d(4, 6, 3, dilation=2, groups=2, padding=1),
            (grown(2, 4, 9, 9, 9),),
            2 * 7**3 * 6 * 2 * 27,
        ),
        "transposed conv3d": (
            lambda: nn.ConvTranspose3d(4, 6, 3, stride=2, groups=2),
            (grown(2, 4, 5, 5, 5),),
            2 * 5**3 * 4 * 3 * 27,
        ),
        "circular padding": (
            lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular"),
            (grown(2, 4, 9, 9),),
            2 * 81 * 6 * 4 * 9,
        ),
        "lstm with projection": (
            lambda: nn.LSTM(8, 16, 2, bidirectional=True, proj_size=4, batch_first=True),
            (grown(2, 5, 8),),
            10 * 2 * ((64 * 8 + 64 * 4 + 16 * 4) + (64 * 8 + 64 * 4 + 16 * 4)),
        ),
        "attention across": (
            lambda: nn.MultiheadAttention(64, 4, kdim=32, vdim=24, batch_first=True),
            (grown(2, 5, 64), grown(2, 7, 32), grown(2, 7, 24)),
            2 * (2 * 5 * 64 * 64 + 7 * 64 * (32 + 24) + 2 * 5 * 7 * 64),
        ),
        "attention with fewer heads of keys": (
            lambda: Calling(lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True)),
            (grown(2, 4, 5, 8), grown(2, 2, 7, 8)),
            2 * 4 * 5 * 7 * 16,
        ),
        "separable convolution": (
            lambda: nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Conv2d(8, 16, 1)),
            (grown(2, 8, 6, 6),),
            2 * 36 * (8 * 9 + 8 * 16),
        ),
        "unet": (
            lambda: nn.Sequential(
                nn.Conv2d(3, 8, 3, 2, 1),
                nn.GroupNorm(2, 8),
                nn.SiLU(),
                nn.Upsample(scale_factor=2),
                nn.ConvTranspose2d(8, 3, 4, 2, 1),
            ),
            (grown(1, 3, 16, 16),),
            64 * 8 * 3 * 9 + 256 * 8 * 3 * 16,
        ),
        "weight norm": (
            lambda: nn.utils.parametrizations.weight_norm(nn.Linear(8, 4)),
            (grown(2, 8),),
            2 * 8 * 4,
        ),
    }

SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 200,
}
VISION = {key: size for key, size in SMALL.items() if key != "vocab_size"}
VISION |= {"image_size": 32, "patch_size": 8}
MLA = {
    "num_key_value_heads": 4,
    "q_lora_rank": 32,
    "kv_lora_rank": 16,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 12,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "first_k_dense_replace": 1,
}
QWEN = {
    "num_key_value_heads": 2,
    "moe_intermediate_size": 32,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "head_dim": 16,
}
T5 = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4, "vocab_size": 200}
WINDOW = {"num_key_value_heads": 2, "head_dim": 16, "sliding_window": 8}
LIBRARY: dict[str, dict[str, Any]] = {  # of transformers
    "LlamaForCausalLM": {**SMALL, "num_key_value_heads": 1},
    "T5ForConditionalGeneration": T5,
    "ViTForImageClassification": VISION,
    "Qwen3MoeForCausalLM": {**SMALL, **QWEN},
    "DeepseekV2ForCausalLM": {**SMALL, **MLA},
    "DeepseekV3ForCausalLM": {**SMALL, **MLA, "n_group": 2, "topk_group": 1},
    "Gemma2ForCausalLM": {**SMALL, **WINDOW},
    "GPTNeoXForCausalLM": SMALL,
    "BloomForCausalLM": {"hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 200},
    "DebertaV2ForMaskedLM": {**SMALL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
}


class Neighbours(ProfileCase):
    def both_passes(self, model: Any, call: Callable[[], Any]) -> tuple[int, int]:
        """Matrix FLOPs of the forward, and of all."""
        from flopledger import FlopsProfiler

        profiler = FlopsProfiler(model)
        profiler.start_profile()
        call().sum().backward()
        profiler.stop_profile()
        self.assertEqual(profiler.not_counted, {})
        forward = profiler.total().matrix_flops
        again = sum(cost.recomputed.matrix_flops for cost in profiler.costs.values())
        total = forward + again + profiler.backward.matrix_flops + profiler.outside.matrix_flops
        return forward, total

    def traced(self, call: Callable[[], Any]) -> int:
        from torch.profiler import ProfilerActivity
        from torch.profiler import profile as record

        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "trace.json")
            with record(activities=[ProfilerActivity.CPU], record_shapes=True) as recording:
                call().sum().backward()
            recording.export_chrome_trace(path)
            command = [PROGRAM, "flops", "--json", "--top", "0", path]
            done = subprocess.run(command, capture_output=True, check=True)
        section = json.loads(done.stdout)["ranks"][0]["sections"]["module_cost"]
        rows = section["tables"].get("not_counted", {"rows": []})["rows"]
        self.assertEqual([row["op"] for row in rows], [])
        ops = section["tables"]["ops"]["rows"]
        return sum(row["flops_in_all"] for row in ops if row["kind"] == "matrix")

    def test_by_hand(self) -> None:
        for name, (build, arguments, macs) in BY_HAND.items():
            with self.subTest(name):
                model = build().eval()

                def call() -> Any:
                    result = model(*arguments)
                    return result[0] if isinstance(result, tuple) else result

                forward, total = self.both_passes(model, call)
                self.assertEqual(forward, 2 * macs)
                self.assertEqual(self.traced(call), total)

    def library_model(self, kind: str) -> Any:
        import transformers

        name = kind.split("For")[0] + "Config"
        model = getattr(transformers, kind)(getattr(transformers, name)(**LIBRARY[kind])).eval()
        if hasattr(model, "set_experts_implementation"):
            model.set_experts_implementation("eager")  # by single products
        return model

    def test_library_models_beside_torch(self) -> None:
        if not HAS_TRANSFORMERS:
            self.skipTest("needs transformers")
        words, pictures = torch.randint(3, 200, (2, 16)), torch.randn(2, 3, 32, 32)
        for kind in LIBRARY:
            with self.subTest(kind):
                model = self.library_model(kind)
                given = {"input_ids": words} if "ViT" not in kind else {"pixel_values": pictures}
                if kind.startswith("T5"):
                    given["decoder_input_ids"] = words[:, :8]
                counter = FlopCounterMode(display=False)
                with sdpa_kernel(SDPBackend.MATH):
                    call = lambda: model(**given).logits  # noqa: E731
                    _, total = self.both_passes(model, call)
                    with counter:
                        call().sum().backward()
                    self.assertEqual(total, counter.get_total_flops())
                _, fused = self.both_passes(model, call)
                self.assertEqual(self.traced(call), fused)

    def test_sequences_of_several_lengths(self) -> None:
        """Nested tensors of both layouts: each sequence by its own length."""
        parts = [torch.randn(5, 16), torch.randn(9, 16)]
        layer = nn.Linear(16, 8)
        work = lambda x: layer(x).values()  # noqa: E731
        jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
        self.assertEqual(self.macs_of(work, jagged), 14 * 16 * 8)
        heads = [torch.randn(4, 5, 16), torch.randn(4, 9, 16)]
        attend = lambda x: F.scaled_dot_product_attention(x, x, x).to_padded_tensor(0.0)  # noqa
        macs = self.macs_of(attend, torch.nested.nested_tensor(heads))
        self.assertEqual(macs, 4 * (25 + 81) * 2 * 16)

    def test_encoder_with_padding_for_inference(self) -> None:
        """Runs on what is not padding alone."""
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        encoder = nn.TransformerEncoder(layer, 2).eval()
        padding = torch.tensor([[False] * 5 + [True] * 4, [False] * 9])
        with torch.no_grad():
            macs = self.profile_of(encoder, torch.randn(2, 9, 16), src_key_padding_mask=padding)[1]
        each = [4 * 16 * 16 * n + 2 * n * n * 16 + 2 * 16 * 32 * n for n in (5, 9)]
        self.assertEqual(macs, 2 * sum(each))

    def test_packed_sequences(self) -> None:
        """Variable-length attention, where the ends of the sequences are at hand: counted before it runs, as here, where
        there is no device for it."""
        from flopledger.call_texts import texts_of_each
        from flopledger.flop_counts import count

        q, k = torch.empty(14, 4, 16), torch.empty(12, 4, 16)
        ends_q, ends_k = torch.tensor([0, 5, 14]), torch.tensor([0, 5, 12])
        call = torch.ops.aten._flash_attention_forward.default
        given = (q, k, k, ends_q, ends_k, 9, 7, 0.0, False, False)
        macs = sum(count(*texts)[4] for texts in texts_of_each(call, given, {}))
        self.assertEqual(macs, 4 * (5 * 5 + 9 * 7) * 2 * 16)
        with torch.device("meta"):
            lost = (*given[:3], torch.empty(3), torch.empty(3), *given[5:])
        (texts,) = texts_of_each(call, lost, {})
        self.assertIn("lengths of packed sequences", count(*texts)[6])

    def test_loops_and_branches(self) -> None:
        """Higher-order ops: what they call counts, as often as it runs."""
        from torch._higher_order_ops.while_loop import while_loop

        def three_times(x: Any) -> Any:
            more, again = (lambda i, x: i < 3), (lambda i, x: (i + 1, x @ x))
            return while_loop(more, again, (torch.tensor(0), x))[1]

        x = torch.ones(8, 8)
        self.assertEqual(self.macs_of(three_times, x), 3 * 512)
        branch = lambda x: torch.cond(x.sum() > 0, lambda x: x @ x, lambda x: x, (x,))  # noqa
        self.assertEqual(self.macs_of(branch, x), 512)
        self.assertEqual(self.macs_of(branch, -x), 0)

    def test_calls_that_are_alike_are_asked_once(self) -> None:
        """Of made-up calls in any order: what is kept of others costs what it costs by itself."""
        from random import Random

        from flopledger import op_counter, register_flop_formula

        rolls, aten = Random(26), torch.ops.aten
        sizes = [(4, 4), (4, 1), (8, 4), (4, 8), (2, 4, 4)]
        values: list[Any] = [1, 1.0, True, 2, None, [1, 1], [0, 2], torch.float64, "x"]

        def cost_of(call: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
            found: list[Any] = []
            counter = op_counter.OpCounter(lambda name, cost: found.append((name, cost)))
            counter.count(call, given, named)
            return found, counter.not_counted

        calls = []
        for _ in range(400):
            call = rolls.choice(
                [aten.mm.default, aten.add.Tensor, aten.sum.dim_IntList, aten.cat.default]
            )
            kinds = [torch.float32, torch.float64]
            tensors = [
                torch.empty(rolls.choice(sizes), dtype=rolls.choice(kinds)) for _ in range(3)
            ]
            given = (*tensors[: rolls.randint(0, 2)], rolls.choice([*values, tensors, tensors[2]]))
            named = {"alpha": rolls.choice(values)} if rolls.random() < 0.3 else {}
            calls.append((call, given, named))
        op_counter.KNOWN.clear()
        kept = [cost_of(*call) for call in calls]
        self.assertLess(len(op_counter.KNOWN), len(calls))
        for call, cost in zip(calls, kept):
            op_counter.KNOWN.clear()
            self.assertEqual(cost_of(*call), cost, call)
        ones = torch.ones(3, 5)
        before = cost_of(aten.bucketize.Tensor, (ones, ones), {})
        register_flop_formula("aten::bucketize", "7 * in0[0]")
        self.assertNotEqual(cost_of(aten.bucketize.Tensor, (ones, ones), {}), before)

    def test_argument_that_cannot_be_read(self) -> None:
        """Is listed, and never the program's concern."""
        from unittest import mock

        from flopledger import FlopsProfiler

        profiler = FlopsProfiler(nn.Linear(4, 4, bias=False))
        profiler.start_profile()
        with mock.patch("flopledger.op_counter.texts_of_each", side_effect=ValueError("odd")):
            result = profiler.model(torch.ones(2, 4))
        profiler.stop_profile()
        self.assertEqual(result.shape, (2, 4))
        self.assertEqual(profiler.not_counted["aten::mm"], (1, "its arguments cannot be read: odd"))

    def test_every_op_of_torch_that_only_calls_others_or_views(self) -> None:
        """No composite op of torch without a formula but those of kinds that have none."""
        from flopledger.flop_counts import NOT_COUNTED, count

        kinds = (
            "quant sparse linalg_ fbgemm _test_ sobol _batch_dim _cufft _rowwise vulkan _wrapped"
        )
        names = torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd")
        missing = set()
        for full in names:
            name = full.split(".")[0]
            if not name.startswith("aten::") or any(kind in name for kind in kinds.split()):
                continue
            if name.endswith("_out") or full.endswith("out") or "choose_qparams" in name:
                continue
            if count(name, "[[4, 4], [4, 4], [4, 4]]", "", "")[0] == NOT_COUNTED:
                why = count(name, "[[4, 4], [4, 4], [4, 4]]", "", "")[6]
                if "no formula" in why:
                    missing.add(name)
        self.assertEqual(missing, set())

    def test_published_figures(self) -> None:
        """DeepSpeed's documentation of its profiler. It counted softmax as multiply-adds, and not the attention products."""
        width, tokens = 8192, 4 * 1024
        with torch.device("meta"):
            layer = nn.ModuleDict(
                {
                    "qkv": nn.Linear(width, 3 * width),
                    "dense": nn.Linear(width, width),
                    "up": nn.Linear(width, 4 * width),
                    "down": nn.Linear(4 * width, width),
                    "head": nn.Linear(width, 50304, bias=False),
                }
            )
            given = {n: torch.empty(tokens, m.in_features) for n, m in layer.items()}
            macs = {n: self.profile_of(layer[n], x)[1] for n, x in given.items()}
        giga = {name: round(number / 1e9, 2) for name, number in macs.items()}
        wanted = {"qkv": 824.63, "dense": 274.88, "up": 1099.51, "down": 1099.51}
        self.assertEqual({name: giga[name] for name in wanted}, wanted)
        softmax = 4 * 32 * 1024 * 1024
        layers = 12 * (sum(macs[name] for name in wanted) + softmax)
        self.assertEqual(round((layers + macs["head"]) / 1e9, 2), 41271.95)

    def test_bert_large(self) -> None:
        """336.23 M parameters; of batch 80, sequence 128 a layer 128.87 and the encoder 3,092.88 GMACs there."""
        if not HAS_TRANSFORMERS:
            self.skipTest("needs transformers")
        from flopledger import FlopsProfiler
        from transformers import BertConfig, BertForPreTraining

        sizes = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16}
        with torch.device("meta"):
            model = BertForPreTraining(BertConfig(**sizes, intermediate_size=4096)).eval()
            words = torch.zeros(80, 128, dtype=torch.long)
            mask = torch.ones(80, 1, 128, 128, dtype=torch.bool)
            profiler = FlopsProfiler(model)
            profiler.start_profile()
            model(input_ids=words, attention_mask=mask)
            profiler.stop_profile()
        self.assertEqual(profiler.get_total_params(as_string=True), "336.23 M")
        products, softmax = 2 * 80 * 128 * 128 * 1024, 80 * 16 * 128 * 128
        layer = profiler.cost_of(model.bert.encoder.layer[0]).macs - products + softmax
        self.assertEqual(round(layer / 1e9, 2), 128.87)
        encoder = profiler.cost_of(model.bert.encoder).macs - 24 * (products - softmax)
        self.assertEqual(round(encoder / 1e9, 2), 3092.88)


if __name__ == "__main__":
    run_and_count()
