#!/usr/bin/env python3
"""Published TFLOP/s and MFU, beside our count of the same run: check_published_runs.py PROGRAM [--table]

Each row of reference/published_runs.tsv in the folder of other people's data (FLOPLEDGER_SHARED, or ../shared) that has an
architecture, tokens per second and TFLOP/s or MFU becomes a config.json; `flopledger flops --model` counts the FLOPs of its
tokens by the convention that the source uses, and must come within 1 % of what is published, or stand in EXPLAINED.
--table prints the table of docs/metrics/conventions.md. Skips without the folder.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median

from shared_traces import ROOT, SHARED, Outcome, note_apart, program_of, skip_without

TABLE = SHARED / "reference" / "published_runs.tsv"
TOLERANCE = 0.01

# Sources, by the start of their name: the convention of their figures, and whether recomputation is in them.
SOURCES: list[tuple[str, str, str]] = [
    ("mosaicml/llm-foundry", "llm-foundry", "none"),
    ("NVIDIA-NeMo/Megatron-Bridge", "megatron", "none"),
    ("NVIDIA/NeMo:", "full", "none"),
    ("NVIDIA/Megatron-LM:examples/llama", "full", "none"),
    ("arXiv 2205.05198", "full", "none"),
    ("NVIDIA/Megatron-LM:README", "megatron-sc21", "full"),
    ("bigscience-workshop", "megatron-sc21", "full"),
    ("InternLM/InternEvo", "internevo", "by checkpointing"),
    ("AI-Hypercomputer/tpu-recipes:training/ironwood", "maxtext", "none"),
    ("AI-Hypercomputer/tpu-recipes:training/v5p/Llama3.1-405B", "maxtext", "none"),
    ("AI-Hypercomputer/tpu-recipes", "full", "none"),
    ("AI-Hypercomputer/gpu-recipes", "full", "none"),
    ("jzhang38/TinyLlama", "palm", "none"),
    ("foundation-model-stack", "palm", "none"),
]


# (source, part of the model's name, why its figures are not those of the source's rule)
EXPLAINED: list[tuple[str, str, str]] = [
    ("", "[LoRA]", "LoRA: weights that are not trained have no gradients, 4 passes of 6"),
    ("NVIDIA/NeMo:", "[SFT]", "fine-tuning on packed samples: another, lower count"),
    (
        "NVIDIA/NeMo:",
        "Nemotron-340B",
        "grouped keys in a model without gates: no rule here has both",
    ),
    (
        "NVIDIA-NeMo/Megatron-Bridge",
        "GPT OSS",
        "its count of windows changes from release to release",
    ),
    ("bigscience-workshop", "BLOOM-pre 20", "first pages: 8 x all parameters, no attention"),
    ("bigscience-workshop", "BLOOM-pre 181B", "seconds and TFLOP/s that do not fit each other"),
    ("InternLM/InternEvo", "InternLM", "tables that repeat the speed of another run"),
    ("AI-Hypercomputer/tpu-recipes", "Gemma3", "gated feed-forwards and windows, which it counts"),
    ("jzhang38/TinyLlama", "", "56 % here, 52 % in another of its pages"),
]
KNOWN: dict[str, tuple[str, dict[str, object]]] = {
    "DeepSeekV3": ("deepseek-v3.json", {}),
    "deepseek-v3": ("deepseek-v3.json", {}),
    "Kimi_K2": ("kimi-k2.json", {}),
    "Qwen3_30B_a3B": ("qwen3-30b-a3b.json", {}),
    "GPT OSS 120B": (
        "gpt-oss-20b.json",
        {"num_hidden_layers": 36, "num_local_experts": 128, "layer_types": None},
    ),
    **{
        name: (
            "qwen3-30b-a3b.json",
            {
                "num_hidden_layers": 94,
                "hidden_size": 4096,
                "num_attention_heads": 64,
                "moe_intermediate_size": 1536,
                "intermediate_size": 12288,
            },
        )
        for name in ("Qwen3_235B_a22B", "qwen3-235b-a22b")
    },
}


@dataclass
class Group:
    """The rows of one source."""

    convention: str
    ratios: list[float] = field(default_factory=list)


def number(row: dict[str, str], key: str) -> float:
    text = row[key].replace(",", "")
    try:
        return float(text)
    except ValueError:
        return 0.0


def rule_of(source: str) -> tuple[str, str] | None:
    for start, convention, recompute in SOURCES:
        if source.startswith(start):
            return convention, recompute
    return None


def known_model(row: dict[str, str]) -> dict[str, object] | None:
    """A model of tests/models, changed to the size of its family that ran."""
    name = row["model"]
    for start, (file, changes) in KNOWN.items():
        if name.startswith(start):
            sizes: dict[str, object] = json.loads((ROOT / "tests" / "models" / file).read_text())
            return sizes | changes
    return None


def config_of(row: dict[str, str]) -> dict[str, object] | None:
    """The model's sizes as a config.json; None where the row lacks one."""
    known = known_model(row)
    if known is not None:
        return known
    if row["model"].startswith("BLOOM") and not row["ffn"]:
        row = row | {"ffn": str(4 * int(number(row, "hidden")))}
    if row["model"].startswith("BLOOM") and not row["heads"]:
        row = row | {"heads": "16"}  # of which the rule of its source takes no notice
    needed = ("layers", "hidden", "ffn", "heads", "vocab", "seq_len")
    if any(number(row, key) <= 0 for key in needed):
        return None
    sizes: dict[str, object] = {
        "hidden_size": int(number(row, "hidden")),
        "num_hidden_layers": int(number(row, "layers")),
        "num_attention_heads": int(number(row, "heads")),
        "num_key_value_heads": int(number(row, "kv_heads") or number(row, "heads")),
        "vocab_size": int(number(row, "vocab")),
        "intermediate_size": int(number(row, "ffn")),
    }
    if number(row, "head_dim") > 0:
        sizes["head_dim"] = int(number(row, "head_dim"))
    if has_two_matrices(row):
        return two_matrices(row)
    if number(row, "experts") > 1:
        sizes |= {
            "model_type": "mixtral",
            "num_local_experts": int(number(row, "experts")),
            "num_experts_per_tok": int(number(row, "top_k") or 1),
            "sliding_window": None,
        }
        return sizes
    return sizes | {"model_type": "llama"}


def has_two_matrices(row: dict[str, str]) -> bool:
    """GPT, MPT and BLOOM: feed-forwards without a gate, four hidden sizes wide."""
    name = row["model"].lower()
    return any(word in name for word in ("gpt3", "gpt-", "mpt", "bloom", "nemotron", "gpt2"))


def two_matrices(row: dict[str, str]) -> dict[str, object]:
    is_tied = any(word in row["model"].lower() for word in ("mpt", "bloom", "gpt"))
    return {
        "model_type": "gpt2",
        "n_embd": int(number(row, "hidden")),
        "n_layer": int(number(row, "layers")),
        "n_head": int(number(row, "heads")),
        "n_inner": int(number(row, "ffn")),
        "n_positions": int(number(row, "seq_len")),
        "vocab_size": int(number(row, "vocab")),
        "tie_word_embeddings": is_tied,
    }


@cache
def counted(program: Path, config: str, sequence: int, recompute: str) -> dict[str, float] | str:
    """GFLOP of a token by convention, and those of MTP layers as "prediction"."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(config)
        file.flush()
        command = [str(program), "flops", "--json", "--model", file.name, "--seq", str(sequence)]
        done = subprocess.run(
            [*command, "--recompute", recompute], capture_output=True, text=True, check=False
        )
    if done.returncode != 0:
        return done.stderr.strip()
    sections = json.loads(done.stdout)["ranks"][0]["sections"]
    rows = sections["conventions"]["tables"]["conventions"]["rows"]
    answer = {row["convention"]: row["gflops"] for row in rows if row["gflops"]}
    prediction = sections["model"]["numbers"].get("prediction_flops")
    return answer | {"prediction": prediction["value"] / 1e9 if prediction else 0.0}


def published(row: dict[str, str]) -> float:
    """TFLOP/s of one device, by the figure or by MFU and peak."""
    rate = number(row, "model_tflops_per_device")
    if rate > 0:
        return rate
    return number(row, "mfu") * number(row, "peak_used")


def ratio_of(program: Path, row: dict[str, str]) -> float | str:
    rule = rule_of(row["source"])
    config = config_of(row)
    speed = number(row, "tokens_per_s_per_device")
    if rule is None:
        return "the source does not say how it counts"
    if config is None:
        return "the architecture is not published whole"
    if speed <= 0 or published(row) <= 0:
        return "no tokens per second, or no figure"
    convention, recompute = rule
    if recompute == "by checkpointing":
        is_on = row["activation_checkpointing"].lower() not in ("", "none", "off", "no", "false")
        recompute = "full" if is_on else "none"
    gflops = counted(program, json.dumps(config), int(number(row, "seq_len")), recompute)
    if isinstance(gflops, str):
        return gflops
    if convention not in gflops:
        return "the rule does not fit the model"
    of_token = gflops[convention]
    if row["model"].startswith("DeepSeekV3") and "w/o MTP" not in row["model"]:
        of_token += gflops["prediction"]  # Megatron-Bridge trains it, and counts it
    return of_token * speed / 1e3 / published(row)


def read_table() -> list[dict[str, str]]:
    with TABLE.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def read_rows() -> list[dict[str, str]]:
    return [row for row in read_table() if published(row) > 0]


def explanation_of(row: dict[str, str]) -> str | None:
    for source, model, why in EXPLAINED:
        if row["source"].startswith(source) and model in row["model"]:
            return why
    return None


def print_table(groups: dict[str, Group], explained: dict[str, list[float]]) -> None:
    print(
        "| source | convention | rows | within 1 % | ours by theirs, median | largest difference |"
    )
    print("|---|---|---|---|---|---|")
    for source, group in sorted(groups.items()):
        if not group.ratios:
            continue
        within = sum(abs(ratio - 1) <= TOLERANCE for ratio in group.ratios)
        far = max(group.ratios, key=lambda ratio: abs(ratio - 1))
        print(
            f"| {source} | {group.convention} | {len(group.ratios)} | {within} | "
            f"{median(group.ratios):.4f} | {100 * (far - 1):+.2f} % |"
        )
    print("\n| explained | rows | ours by theirs |\n|---|---|---|")
    for why, ratios in sorted(explained.items()):
        print(f"| {why} | {len(ratios)} | {min(ratios):.3f} to {max(ratios):.3f} |")


def main() -> None:
    skip_without(SHARED)
    prints_table = "--table" in sys.argv
    program = program_of([word for word in sys.argv if word != "--table"])
    outcome = Outcome("published runs")
    groups: dict[str, Group] = {}
    explained: dict[str, list[float]] = {}
    lacking: dict[str, int] = {}
    for row in read_rows():
        ratio = ratio_of(program, row)
        if isinstance(ratio, str):
            lacking[ratio] = lacking.get(ratio, 0) + 1
            continue
        why = explanation_of(row)
        is_near = abs(ratio - 1) <= TOLERANCE
        if why and not is_near:
            explained.setdefault(why, []).append(ratio)
            continue
        rule = rule_of(row["source"])
        assert rule
        group = groups.setdefault(row["source"].split("@")[0].split(":")[0], Group(rule[0]))
        group.ratios.append(ratio)
        note_apart(100 * (ratio - 1), "%")
        outcome.check(is_near, f"{row['id']}: ours by theirs {ratio:.4f}")
    for _, _, why in EXPLAINED:
        outcome.check(why in explained, f"'{why}' explains no row any more")
    outcome.check(sum(len(group.ratios) for group in groups.values()) >= 280, "too few rows")
    if prints_table:
        print_table(groups, explained)
        for why, count in sorted(lacking.items()):
            print(f"not compared: {count}: {why}")
    total = Outcome("all")
    total.add(outcome)
    total.finish()


if __name__ == "__main__":
    main()
