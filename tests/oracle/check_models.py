#!/usr/bin/env python3
"""Parameters by config.json, beside the models that transformers makes: check_models.py PROGRAM

Each file in tests/models is made a model on the meta device, without any weight; `flopledger flops --model` must count as
many parameters. The file as transformers writes it again must count the same; so must small models whose sizes and flags
are drawn at random. Needs a Python with torch and transformers:
$TRANSFORMERS_PYTHON, else the one that ./dev makes, else the one in use; skips without it.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from shared_traces import ROOT, Outcome, program_of
from transformers_models import answers, has_transformers

MODELS = ROOT / "tests" / "models"

COUNT = """
import json, sys
import torch, transformers
from transformers import CONFIG_MAPPING

SAME = {"kimi_k2": "deepseek_v3"}  # types of which transformers has no class of their own
NOT_TEXT = ("vision", "visual", "audio", "projector")

for path in sys.argv[2:]:
    sizes = json.load(open(path))
    class_name = sizes.get("architectures", ["BertModel"])[0]
    known = {key: value for key, value in sizes.items() if key not in ("model_type", "architectures")}
    model_type = sizes["model_type"]
    config = CONFIG_MAPPING[SAME.get(model_type, model_type)](**known)
    with torch.device("meta"):
        model = getattr(transformers, class_name)(config)
    count = 0
    for name, parameter in model.named_parameters():
        if not any(part in name for part in NOT_TEXT):
            count += parameter.numel()
    config.architectures = [class_name]
    written = f"{sys.argv[1]}/{path.rpartition('/')[2]}"
    open(written, "w").write(config.to_json_string())
    print(json.dumps([path, written, count]), flush=True)
"""


ROUTED = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64}
WITHOUT_HEAD_DIM = ("gpt_bigcode", "falcon", "gptj", "codegen")
# Types whose keys are drawn at random, and further keys of theirs.
DRAWN: dict[str, dict[str, int]] = {
    **dict.fromkeys(("granite", "glm", "glm4", "ernie4_5", "hunyuan_v1_dense", "exaone4"), {}),
    **dict.fromkeys(("seed_oss", "olmo", "olmo3", "starcoder2", "stablelm", "cohere"), {}),
    **dict.fromkeys(("cohere2", "nemotron", "arcee", "granitemoe", "phimoe"), {}),
    "olmoe": {"num_experts": 4, "num_experts_per_tok": 2},
    "hunyuan_v1_moe": {"num_experts": 4, "moe_topk": 2},
    "ernie4_5_moe": {"moe_num_experts": 4, "moe_k": 2, "moe_intermediate_size": 64},
    **dict.fromkeys(("apertus", "helium", "phi", "ministral", *WITHOUT_HEAD_DIM), {}),
    "granitemoeshared": {"shared_intermediate_size": 48},
    "exaone_moe": {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64},
    "afmoe": {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 64},
    "dots1": {**ROUTED, "n_shared_experts": 2, "first_k_dense_replace": 2, "max_window_layers": 3},
    "solar_open": {**ROUTED, "n_shared_experts": 1},
    "mimo_v2_flash": {**ROUTED, "v_head_dim": 24},
}
EACH_DRAWN = 5
COUNT_DRAWN = """
import json, sys
import torch, transformers

for path in sys.argv[2:]:
    sizes = json.load(open(path))
    flags = sizes.pop("flags")
    config = transformers.CONFIG_MAPPING[sizes.pop("model_type")](**sizes)
    for name in flags:
        if hasattr(config, name):
            setattr(config, name, not getattr(config, name))
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    written = f"{sys.argv[1]}/{path.rpartition('/')[2]}"
    open(written, "w").write(config.to_json_string())
    print(json.dumps([path, written, sum(each.numel() for each in model.parameters())]), flush=True)
"""
FLAGS = (
    "attention_bias",
    "mlp_bias",
    "use_bias",
    "use_qkv_bias",
    "attention_out_bias",
    "use_qk_norm",
    "lm_head_bias",
    "use_parallel_residual",
    "tie_word_embeddings",
)


def drawn_config(model_type: str, seed: int) -> dict[str, Any]:
    """Sizes of a small model, and flags that are to be as its class does not have them."""
    rng = random.Random(f"{model_type} {seed}")
    keys = rng.choice((1, 2, 4))
    heads = keys * rng.choice((1, 2, 3))
    sizes = {
        "model_type": model_type,
        "hidden_size": heads * 16 * rng.choice((1, 2)),
        "num_hidden_layers": rng.randint(1, 9),
        "intermediate_size": 8 * rng.randint(3, 40),
        "num_attention_heads": heads,
        "num_key_value_heads": keys,
        "vocab_size": rng.randint(100, 2000),
        "pad_token_id": 0,
        "flags": [flag for flag in FLAGS if rng.random() < 0.4],
        **DRAWN[model_type],
    }
    has_head_dim = model_type not in WITHOUT_HEAD_DIM and rng.random() < 0.5
    if model_type.startswith("hunyuan") or has_head_dim:
        sizes["head_dim"] = 8 * rng.randint(1, 6)
    if model_type in ("helium", "ministral"):
        sizes["head_dim"] = sizes["hidden_size"] // heads
    if model_type == "mimo_v2_flash":
        sizes["head_dim"] = 16
        sizes["num_attention_heads"] *= 2  # layers with a window have twice as many key heads
    if model_type == "ernie4_5_moe":
        sizes["flags"] = ["tie_word_embeddings"]  # no biases: refused
        sizes["moe_layer_start_index"] = rng.randint(0, 3)
        sizes["moe_num_shared_experts"] = rng.randint(0, 3)
        sizes["moe_layer_interval"] = rng.choice((1, 2))
    return sizes


def check_drawn(program: Path, folder: str, outcome: Outcome) -> None:
    paths = []
    for model_type in DRAWN:
        for seed in range(EACH_DRAWN):
            path = Path(folder) / "drawn" / f"{model_type}-{seed}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(drawn_config(model_type, seed)))
            paths.append(str(path))
    for path, written, count in answers(COUNT_DRAWN, folder, paths, outcome):
        counted = counted_by(program, written)
        outcome.check(counted == count, f"{path}: {counted}, but {count} in the model")


def counted_by(program: Path, path: str) -> int | str:
    command = [str(program), "flops", "--json", "--model", path]
    if not path.endswith("vit-base.json"):
        command += ["--seq", "128"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip()
    model = json.loads(done.stdout)["ranks"][0]["sections"]["model"]
    count: int = model["numbers"]["parameters"]["value"]
    return count


def main() -> None:
    program = program_of(sys.argv)
    if not has_transformers():
        return
    outcome = Outcome("parameters")
    paths = sorted(map(str, MODELS.glob("*.json")))
    with tempfile.TemporaryDirectory() as folder:
        for path, written, expected in answers(COUNT, folder, paths, outcome):
            for read in (path, written):
                mine = counted_by(program, read)
                outcome.check(mine == expected, f"{read}: {mine}, but {expected} in the model")
        check_drawn(program, folder, outcome)
    total = Outcome("all")
    total.add(outcome)
    total.finish()


if __name__ == "__main__":
    main()
