#!/usr/bin/env python3
"""FLOPs of a forward by config.json, beside what torch's FlopCounterMode counts in transformers' own model: check_forward_flops.py PROGRAM

Small models of random sizes, with attention spelled out, so that its products are counted: `flopledger flops --model` without the
mask must count as many FLOPs to the unit. Two parts of linear attention and state spaces are told apart, for they are no product of
the model but of how it is computed: the scan, which the program counts as the recurrence (aged, read, updated: 7 for each number of
the state) and transformers computes in chunks, by products that depend on their size; and the rows that a convolution pads.
Needs a Python with torch and transformers: $TRANSFORMERS_PYTHON, else the one that ./dev makes; skips without it.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared_traces import Outcome, program_of
from transformers_models import answers, has_transformers

SEEDS = 2
BATCH = 2

COUNT = """
import json, sys, warnings
import torch, transformers
from torch.utils.flop_counter import FlopCounterMode

SCANS = ("GatedDeltaNet", "DeltaAttention", "Mixer", "MambaLayer", "ShortConv")
warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
for path in sys.argv[2:]:
    case = json.load(open(path))
    config = transformers.CONFIG_MAPPING[case["type"]](**case["sizes"])
    model_class = getattr(transformers, case["class"])
    model = model_class._from_config(config, attn_implementation="eager").eval()
    if any("expert" in key for key in case["sizes"]):
        model.set_experts_implementation("eager")  # else one product of all experts is not counted
    scans = {
        name for name, module in model.named_modules() if type(module).__name__.endswith(SCANS)
    }
    config.architectures = [case["class"]]
    open(case["config"], "w").write(config.to_json_string())
    ids = torch.randint(3, case["sizes"]["vocab_size"], (case["batch"], case["seq"]))
    more = {"decoder_input_ids": ids} if case["type"] == "t5" else {}
    counter = FlopCounterMode(display=False, depth=None)
    with counter, torch.no_grad():
        model(input_ids=ids, use_cache=False, **more)
    counts = counter.get_flop_counts()
    scan = convolution = 0
    for module, by_operator in counts.items():
        if module.partition(".")[2] in scans:
            for operator, flops in by_operator.items():
                scan += flops if str(operator) == "aten.bmm" else 0
                convolution += flops if str(operator) == "aten.convolution" else 0
    print(json.dumps([path, counter.get_total_flops(), scan, convolution]), flush=True)
"""


def t5(rng: random.Random) -> dict[str, Any]:
    heads = rng.choice([2, 4])
    return {
        "vocab_size": rng.randrange(60, 200),
        "d_model": 16 * rng.randint(2, 6),
        "d_kv": 8 * rng.randint(1, 4),
        "d_ff": 16 * rng.randint(2, 12),
        "num_layers": rng.randint(1, 3),
        "num_decoder_layers": rng.randint(1, 3),
        "num_heads": heads,
        "feed_forward_proj": rng.choice(["relu", "gated-gelu"]),
        "decoder_start_token_id": 0,
    }


def decoder(rng: random.Random) -> dict[str, Any]:
    kv_heads = rng.choice([1, 2])
    return {
        "vocab_size": rng.randrange(60, 200),
        "hidden_size": 16 * rng.randint(2, 6),
        "intermediate_size": 16 * rng.randint(2, 12),
        "num_attention_heads": kv_heads * rng.choice([1, 2, 4]),
        "num_key_value_heads": kv_heads,
        "head_dim": 8 * rng.randint(1, 4),
    }


def qwen3_next(rng: random.Random) -> dict[str, Any]:
    key_heads = rng.choice([1, 2])
    experts = rng.choice([4, 8])
    return {
        **decoder(rng),
        "num_hidden_layers": rng.choice([4, 5, 8]),
        "linear_num_key_heads": key_heads,
        "linear_num_value_heads": key_heads * rng.choice([1, 2]),
        "linear_key_head_dim": 8 * rng.randint(1, 3),
        "linear_value_head_dim": 8 * rng.randint(1, 3),
        "num_experts": experts,
        "num_experts_per_tok": rng.randint(1, experts),
        "moe_intermediate_size": 8 * rng.randint(2, 6),
        "shared_expert_intermediate_size": 8 * rng.randint(2, 6),
    }


def falcon_h1(rng: random.Random) -> dict[str, Any]:
    heads, size = rng.choice([4, 8]), 8 * rng.randint(1, 3)
    return {
        **decoder(rng),
        "num_hidden_layers": rng.randint(1, 3),
        "mamba_d_ssm": heads * size,
        "mamba_n_heads": heads,
        "mamba_d_head": size,
        "mamba_d_state": 8 * rng.randint(1, 4),
        "mamba_n_groups": rng.choice([1, 2]),
        "mamba_chunk_size": 16,
    }


def gemma3n(rng: random.Random) -> dict[str, Any]:
    layers = rng.choice([4, 5, 6])
    sizes = decoder(rng)
    return {
        **sizes,
        "vocab_size_per_layer_input": sizes["vocab_size"],
        "num_hidden_layers": layers,
        "hidden_size_per_layer_input": 8 * rng.randint(1, 4),
        "laurel_rank": rng.randint(2, 9),
        "num_kv_shared_layers": rng.choice([0, 0, 2]),
        "layer_types": ["full_attention"] * layers,
        "activation_sparsity_pattern": [0.0] * layers,
        "altup_num_inputs": rng.choice([2, 4]),
    }


def starcoder2(rng: random.Random) -> dict[str, Any]:
    sizes = decoder(rng)
    heads = sizes["num_attention_heads"]
    return {
        **sizes,
        "hidden_size": 16 * heads,
        "head_dim": 16,
        "num_hidden_layers": rng.randint(1, 3),
    }


def ernie4_5_moe(rng: random.Random) -> dict[str, Any]:
    return {
        **starcoder2(rng),
        "num_hidden_layers": rng.randint(3, 6),
        "moe_num_experts": 8,
        "moe_k": rng.randint(1, 8),
        "moe_intermediate_size": 8 * rng.randint(2, 6),
        "moe_num_shared_experts": rng.randint(0, 2),
        "moe_layer_start_index": rng.randint(0, 2),
    }


def state_space(rng: random.Random) -> dict[str, Any]:
    """Mamba 2 by the keys of Granite and Bamba: channels are twice the hidden size."""
    sizes = decoder(rng)
    heads, size = rng.choice([4, 8]), 8 * rng.randint(1, 3)
    return {
        **sizes,
        "hidden_size": heads * size // 2,
        "head_dim": None,
        "num_attention_heads": 2,
        "num_key_value_heads": rng.choice([1, 2]),
        "num_hidden_layers": 4,
        "mamba_n_heads": heads,
        "mamba_d_head": size,
        "mamba_d_state": 8 * rng.randint(1, 4),
        "mamba_n_groups": rng.choice([1, 2]),
        "mamba_chunk_size": 16,
    }


def bamba(rng: random.Random) -> dict[str, Any]:
    return {**state_space(rng), "attn_layer_indices": [rng.randint(0, 3)]}


def granite_hybrid(rng: random.Random) -> dict[str, Any]:
    types = [rng.choice(["linear_attention", "full_attention"]) for _ in range(4)]
    return {
        **state_space(rng),
        "layer_types": types,
        "num_local_experts": rng.choice([0, 4]),
        "num_experts_per_tok": rng.randint(1, 4),
        "shared_intermediate_size": 8 * rng.randint(2, 6),
    }


def nemotron_h(rng: random.Random) -> dict[str, Any]:
    latent = rng.choice([None, 16])
    return {
        **decoder(rng),
        "layers_block_type": [rng.choice(NEMOTRON_BLOCKS) for _ in range(6)],
        "mamba_num_heads": rng.choice([4, 8]),
        "mamba_head_dim": 8 * rng.randint(1, 3),
        "ssm_state_size": 8 * rng.randint(1, 4),
        "n_groups": rng.choice([1, 2]),
        "chunk_size": 16,
        "n_routed_experts": 8,
        "num_experts_per_tok": rng.randint(1, 8),
        "moe_intermediate_size": 8 * rng.randint(2, 6),
        "moe_shared_expert_intermediate_size": 8 * rng.randint(2, 6),
        "moe_latent_size": latent,
    }


def jamba(rng: random.Random) -> dict[str, Any]:
    sizes = decoder(rng)
    return {
        **sizes,
        "head_dim": None,
        "hidden_size": 16 * sizes["num_attention_heads"],
        "num_hidden_layers": rng.randint(4, 8),
        "attn_layer_period": 4,
        "attn_layer_offset": 2,
        "num_experts": rng.choice([1, 4]),
        "num_experts_per_tok": 1,
        "mamba_d_state": 8 * rng.randint(1, 3),
        "mamba_dt_rank": rng.randint(2, 9),
        "use_mamba_kernels": False,
    }


def lfm2(rng: random.Random) -> dict[str, Any]:
    sizes = decoder(rng)
    return {
        **sizes,
        "head_dim": None,
        "hidden_size": 16 * sizes["num_attention_heads"],
        "num_hidden_layers": 4,
        "layer_types": ["conv", *(rng.choice(["conv", "full_attention"]) for _ in range(3))],
    }


def lfm2_moe(rng: random.Random) -> dict[str, Any]:
    return {
        **lfm2(rng),
        "num_dense_layers": rng.randint(0, 4),
        "num_experts": 8,
        "num_experts_per_tok": rng.randint(1, 8),
        "moe_intermediate_size": 8 * rng.randint(2, 6),
    }


def latent(rng: random.Random) -> dict[str, Any]:
    experts = rng.choice([4, 8])
    heads = rng.choice([2, 4])
    return {
        **decoder(rng),
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "head_dim": 8,
        "num_hidden_layers": rng.randint(2, 5),
        "kv_lora_rank": 8 * rng.randint(1, 4),
        "qk_nope_head_dim": 8 * rng.randint(1, 3),
        "qk_rope_head_dim": 8,
        "v_head_dim": 8 * rng.randint(1, 3),
        "moe_intermediate_size": 8 * rng.randint(2, 6),
        "num_experts_per_tok": rng.randint(1, experts),
        "n_routed_experts": experts,
        "n_shared_experts": rng.randint(1, 2),
        "pad_token_id": 0,
    }


def glm4_moe_lite(rng: random.Random) -> dict[str, Any]:
    return {**latent(rng), "q_lora_rank": 8 * rng.randint(1, 4)}


def kimi_linear(rng: random.Random) -> dict[str, Any]:
    sizes = latent(rng)
    sizes["num_experts"] = sizes.pop("n_routed_experts")
    return {
        **sizes,
        "num_hidden_layers": 5,
        "linear_head_dim": 8 * rng.randint(1, 3),
        "linear_num_heads": rng.choice([2, 4]),
    }


def qwen3_5(rng: random.Random) -> dict[str, Any]:
    sizes = qwen3_next(rng)
    return {key: value for key, value in sizes.items() if "expert" not in key and "moe" not in key}


def qwen3_5_moe(rng: random.Random) -> dict[str, Any]:
    sizes = qwen3_next(rng)
    del sizes["intermediate_size"]
    return sizes


def gemma4(rng: random.Random) -> dict[str, Any]:
    sizes = decoder(rng)
    own = rng.choice([0, 8])
    return {
        **sizes,
        "num_hidden_layers": 6,
        "layer_types": ["sliding_attention", "full_attention"] * 3,
        "global_head_dim": 8 * rng.randint(4, 6),
        "sliding_window": 1000,
        "num_kv_shared_layers": rng.choice([0, 2]),
        "use_double_wide_mlp": rng.random() < 0.5,
        "hidden_size_per_layer_input": own,
        "vocab_size_per_layer_input": sizes["vocab_size"],
        "attention_k_eq_v": rng.random() < 0.5,
        "num_global_key_value_heads": 1,
        "enable_moe_block": rng.random() < 0.5,
        "num_experts": 8,
        "top_k_experts": rng.randint(1, 8),
        "moe_intermediate_size": 8 * rng.randint(2, 6),
        "pad_token_id": 0,
    }


def afmoe(rng: random.Random) -> dict[str, Any]:
    return {
        **decoder(rng),
        "num_hidden_layers": rng.randint(2, 6),
        "num_dense_layers": rng.randint(0, 2),
        "num_experts": 8,
        "num_experts_per_tok": rng.randint(1, 8),
        "num_shared_experts": rng.randint(1, 2),
        "moe_intermediate_size": 8 * rng.randint(2, 6),
        "sliding_window": 1000,
    }


def mimo(rng: random.Random) -> dict[str, Any]:
    sizes = decoder(rng)
    return {
        **sizes,
        "num_attention_heads": 4 * sizes["num_key_value_heads"],
        "v_head_dim": 8 * rng.randint(1, 4),
        "num_hidden_layers": rng.randint(2, 7),
        "n_routed_experts": 8,
        "num_experts_per_tok": rng.randint(1, 8),
        "moe_intermediate_size": 8 * rng.randint(2, 6),
        "sliding_window": 1000,
    }


def falcon(rng: random.Random) -> dict[str, Any]:
    heads = rng.choice([2, 4])
    is_new = rng.random() < 0.5
    return {
        "vocab_size": rng.randrange(60, 200),
        "hidden_size": 16 * heads,
        "num_attention_heads": heads,
        "num_kv_heads": rng.choice([1, 2]) if is_new else heads,
        "num_hidden_layers": rng.randint(1, 4),
        "new_decoder_architecture": is_new,
        "multi_query": rng.random() < 0.5,
        "parallel_attn": rng.random() < 0.5,
        "bias": rng.random() < 0.5,
    }


NEMOTRON_BLOCKS = ["linear_attention", "full_attention", "mlp", "moe"]
FAMILIES = {
    "t5": (t5, "T5ForConditionalGeneration"),
    "qwen3_next": (qwen3_next, "Qwen3NextForCausalLM"),
    "falcon_h1": (falcon_h1, "FalconH1ForCausalLM"),
    "gemma3n_text": (gemma3n, "Gemma3nForCausalLM"),
    "starcoder2": (starcoder2, "Starcoder2ForCausalLM"),
    "ernie4_5_moe": (ernie4_5_moe, "Ernie4_5_MoeForCausalLM"),
    "bamba": (bamba, "BambaForCausalLM"),
    "granitemoehybrid": (granite_hybrid, "GraniteMoeHybridForCausalLM"),
    "nemotron_h": (nemotron_h, "NemotronHForCausalLM"),
    "jamba": (jamba, "JambaForCausalLM"),
    "lfm2": (lfm2, "Lfm2ForCausalLM"),
    "lfm2_moe": (lfm2_moe, "Lfm2MoeForCausalLM"),
    "glm4_moe_lite": (glm4_moe_lite, "Glm4MoeLiteForCausalLM"),
    "kimi_linear": (kimi_linear, "KimiLinearForCausalLM"),
    "qwen3_5_text": (qwen3_5, "Qwen3_5ForCausalLM"),
    "qwen3_5_moe_text": (qwen3_5_moe, "Qwen3_5MoeForCausalLM"),
    "gemma4_text": (gemma4, "Gemma4ForCausalLM"),
    "afmoe": (afmoe, "AfmoeForCausalLM"),
    "mimo_v2_flash": (mimo, "MiMoV2FlashForCausalLM"),
    "falcon": (falcon, "FalconForCausalLM"),
}


def write_cases(folder: Path) -> list[str]:
    paths = []
    for family, (sizes_of, class_name) in FAMILIES.items():
        for seed in range(SEEDS):
            rng = random.Random(f"{family} {seed}")
            name = f"{family}-{seed}"
            case = {
                "type": family,
                "class": class_name,
                "sizes": {key: value for key, value in sizes_of(rng).items() if value is not None},
                "batch": BATCH,
                "seq": 16 * rng.randint(1, 4),
                "config": str(folder / f"{name}.config.json"),
            }
            path = folder / f"{name}.json"
            path.write_text(json.dumps(case))
            paths.append(str(path))
    return paths


@dataclass
class Scan:
    """Layers whose mixer is a scan or a convolution; sizes of one."""

    layers: int = 0
    channels: int = 0
    state: int = 0
    width: int = 0  # channels of the convolution
    taps: int = 4

    def recurrence(self) -> int:
        """Of one token, in all layers."""
        return 7 * self.layers * self.channels * self.state

    def filters(self) -> int:
        return 2 * self.taps * self.layers * self.width


def scan_of(case: dict[str, Any]) -> Scan:
    sizes, family = case["sizes"], case["type"]
    layers = sizes.get("num_hidden_layers", 0)
    linear = sum(kind != "full_attention" for kind in sizes.get("layer_types", ()))
    if family.startswith(("qwen3_next", "qwen3_5")):
        keys = sizes["linear_key_head_dim"]
        values = sizes["linear_value_head_dim"] * sizes["linear_num_value_heads"]
        width = 2 * keys * sizes["linear_num_key_heads"] + values
        return Scan(sum((layer + 1) % 4 != 0 for layer in range(layers)), values, keys, width)
    if family == "kimi_linear":
        head = sizes["linear_head_dim"]
        inner = head * sizes["linear_num_heads"]
        return Scan(
            sum(not (layer and layer % 4 == 0) for layer in range(layers)), inner, head, 3 * inner
        )
    if family in ("bamba", "granitemoehybrid", "falcon_h1"):
        inner, state = sizes.get("mamba_d_ssm", 2 * sizes["hidden_size"]), sizes["mamba_d_state"]
        count = {"bamba": layers - 1, "granitemoehybrid": linear, "falcon_h1": layers}[family]
        return Scan(count, inner, state, inner + 2 * sizes["mamba_n_groups"] * state)
    if family == "nemotron_h":
        inner, state = sizes["mamba_num_heads"] * sizes["mamba_head_dim"], sizes["ssm_state_size"]
        count = sizes["layers_block_type"].count("linear_attention")
        return Scan(count, inner, state, inner + 2 * sizes["n_groups"] * state)
    if family == "jamba":
        inner = 2 * sizes["hidden_size"]
        count = sum(layer % 4 != 2 for layer in range(layers))
        return Scan(count, inner, sizes["mamba_d_state"], inner)
    if family.startswith("lfm2"):
        return Scan(linear, 0, 0, sizes["hidden_size"], taps=3)
    return Scan()


def check_case(program: Path, counted: list[Any], outcome: Outcome) -> None:
    path, total, scan, convolution = counted
    case = json.loads(Path(path).read_text())
    command = [str(program), "flops", "--json", "--model", case["config"]]
    command += ["--batch", str(BATCH), "--seq", str(case["seq"])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        outcome.check(False, f"{path}: {done.stderr}")
        return
    rows = json.loads(done.stdout)["ranks"][0]["sections"]["model"]["tables"]["parts"]["rows"]
    tokens = BATCH * case["seq"]
    mine = rows[-1]["unmasked_flops"] // 3 * tokens
    mixers = scan_of(case)
    recurrence, filters = mixers.recurrence(), mixers.filters()
    padded = filters * BATCH * (case["seq"] + mixers.taps - 1)  # a filter of 4 begins 3 rows early
    name = Path(path).stem
    outcome.check(convolution == (padded if filters else 0), f"{name}: convolution {convolution}")
    outcome.check(
        mine - (recurrence + filters) * tokens == total - scan - convolution,
        f"{name}: {mine} of which {recurrence * tokens} recurrence and {filters * tokens} filters, but "
        f"{total} of which {scan} scan and {convolution} convolution in the model",
    )


def main() -> None:
    program = program_of(sys.argv)
    if not has_transformers():
        return
    outcome = Outcome("FLOPs of a forward")
    with tempfile.TemporaryDirectory() as name:
        paths = write_cases(Path(name))
        for answer in answers(COUNT, name, paths, outcome):
            check_case(program, answer, outcome)
    total = Outcome("all")
    total.add(outcome)
    total.finish()


if __name__ == "__main__":
    main()
