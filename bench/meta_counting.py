#!/usr/bin/env python3
"""Counting the FLOPs of models that no machine holds, on PyTorch's device `meta`, beside FlopCounterMode: by turns in one process.

    PYTHON bench/meta_counting.py [--rounds N] [--package FOLDER] [--json FILE]

PYTHON has torch and transformers. Processor time of one forward pass that is counted; nothing is computed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

import torch
from torch import nn

ROOT = Path(__file__).resolve().parents[1]
LENGTH = 2048
GPT3 = {"n_layer": 96, "n_embd": 12288, "n_head": 96, "n_positions": LENGTH}


def models() -> Iterator[tuple[str, Callable[[], nn.Module]]]:
    from transformers import AutoModelForCausalLM, DeepseekV3Config, GPT2Config

    def made(config: Any) -> nn.Module:
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(config, torch_dtype=torch.bfloat16).eval()

    yield "GPT-3 175B", lambda: made(GPT2Config(**GPT3))
    settings = json.loads((ROOT / "tests/models/deepseek-v3.json").read_text())
    settings.pop("quantization_config", None)
    yield "DeepSeek-V3 671B", lambda: made(DeepseekV3Config(**settings))


def ours(model: nn.Module, words: torch.Tensor) -> int:
    from flopledger import get_model_profile

    flops, _, _ = get_model_profile(
        model, args=[words], print_profile=False, as_string=False, warm_up=0
    )
    return int(flops)


def theirs(model: nn.Module, words: torch.Tensor) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        model(words)
    return int(counter.get_total_flops())


def measure(make: Callable[[], nn.Module], rounds: int) -> dict[str, Any]:
    """Seconds of each round, after one to warm up, and what each counts."""
    model = make()
    words = torch.zeros((1, LENGTH), dtype=torch.long, device="meta")
    ways = {"ours": ours, "theirs": theirs}
    with torch.no_grad():
        counts = {name: way(model, words) for name, way in ways.items()}
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                began = time.process_time()
                way(model, words)
                seconds[name].append(time.process_time() - began)
    return {
        "parameters": sum(each.numel() for each in model.parameters()),
        "flops": counts,
        "seconds": {name: statistics.median(each) for name, each in seconds.items()},
        "ratio": statistics.median(a / b for a, b in zip(seconds["ours"], seconds["theirs"])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--package", type=Path, default=ROOT / "build/release/python")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.package))
    torch.set_num_threads(1)
    found: dict[str, Any] = {}
    for name, make in models():
        try:
            found[name] = measure(make, arguments.rounds)
        except Exception as error:  # a version of transformers may refuse to run on meta
            found[name] = {"why_not": f"{type(error).__name__}: {error}".splitlines()[0]}
    text = json.dumps({"torch": torch.__version__, "models": found}, indent=1)
    if arguments.json:
        arguments.json.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
