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
from pathlib import Path
from typing import Any

from shared_traces import Outcome, program_of
from transformers_models import answers, has_transformers

SEEDS = 5
BATCH = 2

COUNT = """
import json, sys, warnings
import torch, transformers
from torch.utils.flop_counter import FlopCounterMode

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
for path in sys.argv[2:]:
    case = json.load(open(path))
    config = transformers.CONFIG_MAPPING[case["type"]](**case["sizes"])
    model_class = getattr(transformers, case["class"])
    model = model_class._from_config(config, attn_implementation="eager").eval()
    if any(key.endswith("num_experts") for key in case["sizes"]):
        model.set_experts_implementation("eager")  # else one product of all experts is not counted
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
        if module.endswith(("linear_attn", "mamba")):
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


FAMILIES = {
    "t5": (t5, "T5ForConditionalGeneration"),
    "qwen3_next": (qwen3_next, "Qwen3NextForCausalLM"),
    "falcon_h1": (falcon_h1, "FalconH1ForCausalLM"),
    "gemma3n_text": (gemma3n, "Gemma3nForCausalLM"),
    "starcoder2": (starcoder2, "Starcoder2ForCausalLM"),
    "ernie4_5_moe": (ernie4_5_moe, "Ernie4_5_MoeForCausalLM"),
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
                "sizes": sizes_of(rng),
                "batch": BATCH,
                "seq": 16 * rng.randint(1, 4),
                "config": str(folder / f"{name}.config.json"),
            }
            path = folder / f"{name}.json"
            path.write_text(json.dumps(case))
            paths.append(str(path))
    return paths


def scan_of(case: dict[str, Any]) -> tuple[int, int]:
    """Of one token, in all layers: the recurrence, and the convolution before it."""
    sizes = case["sizes"]
    if case["type"] == "qwen3_next":
        layers = sum((layer + 1) % 4 != 0 for layer in range(sizes["num_hidden_layers"]))
        keys = sizes["linear_key_head_dim"]
        values = sizes["linear_value_head_dim"] * sizes["linear_num_value_heads"]
        width = 2 * keys * sizes["linear_num_key_heads"] + values
    elif case["type"] == "falcon_h1":
        layers, keys = sizes["num_hidden_layers"], sizes["mamba_d_state"]
        values = sizes["mamba_d_ssm"]
        width = values + 2 * sizes["mamba_n_groups"] * keys
    else:
        return 0, 0
    return 7 * layers * keys * values, 2 * 4 * layers * width


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
    recurrence, filters = scan_of(case)
    padded = filters * BATCH * (case["seq"] + 3)  # a filter of 4 begins 3 rows early
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
