"""Measures bf16 matmuls on this GPU by their columns, and those of experts: matmul_rates.py OUTPUT

Each line of JSON is a product: of a linear layer `forward`, and those of its backward (`dgrad`, `wgrad`), with columns whose rows are a
multiple of 16 bytes and others; `grouped`, all experts by one kernel; `each`, one kernel an expert; `sdpa`, causal attention by the
columns of a head. The median of some calls, by the device's own events.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import torch
from torch.nn import functional as F

CALLS = 8
VOCABULARIES = (50257, 50258, 50260, 50264, 50304)
OTHERS = (32001, 32000, 128257, 128256)
SQUARES = (2816, 2880, 2881, 2882, 2884, 2944, 3072, 4096)
LAYERS = (
    *((tokens, 768, outputs) for tokens in (4096, 16384) for outputs in VOCABULARIES),
    *((8192, inputs, outputs) for inputs in (2048, 4096) for outputs in VOCABULARIES + OTHERS),
    *((tokens, size, size) for size in SQUARES for tokens in (512, 2048, 8192)),
    *((tokens, 2880, outputs) for outputs in (4096, 5760) for tokens in (512, 2048, 8192)),
)
EXPERTS = ((2880, 5760), (2880, 2880), (3072, 6144), (3072, 3072), (2048, 1536), (4096, 4096))
GROUPS = ((32, 256), (32, 1024), (128, 128), (128, 512), (16, 2048), (8, 4096))  # experts, tokens
HEADS = (64, 80, 96, 128, 150, 256)
ATTENTION_TOKENS, ATTENTION_HEADS = 16384, 32


def random(*sizes: int, **more: Any) -> torch.Tensor:
    return torch.randn(*sizes, device="cuda", dtype=torch.bfloat16, **more)


def timed(call: Callable[[], Any], flops: float) -> dict[str, float]:
    for _ in range(2):
        call()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(CALLS + 1)]
    marks[0].record()
    for mark in marks[1:]:
        call()
        mark.record()
    torch.cuda.synchronize()
    ms = median(before.elapsed_time(after) for before, after in zip(marks, marks[1:]))
    return {"ms": round(ms, 5), "tflops": round(flops / ms / 1e9, 1)}


def layers() -> Iterator[dict[str, Any]]:
    for tokens, inputs, outputs in LAYERS:
        x, w, gradient = random(tokens, inputs), random(outputs, inputs), random(tokens, outputs)
        products = {
            "forward": lambda: x @ w.t(),
            "dgrad": lambda: gradient @ w,
            "wgrad": lambda: gradient.t() @ x,
        }
        for name, product in products.items():
            row = {"kind": "layer", "product": name, "tokens": tokens}
            row |= {"inputs": inputs, "outputs": outputs}
            yield row | timed(product, 2.0 * tokens * inputs * outputs)


def experts() -> Iterator[dict[str, Any]]:
    grouped = getattr(F, "grouped_mm", None) or getattr(torch, "_grouped_mm")
    for inputs, outputs in EXPERTS:
        for groups, tokens in GROUPS:
            x, w = random(groups * tokens, inputs), random(groups, outputs, inputs)
            ends = tokens * torch.arange(1, groups + 1, device="cuda", dtype=torch.int32)
            flops = 2.0 * groups * tokens * inputs * outputs
            row = {"groups": groups, "tokens": tokens, "inputs": inputs, "outputs": outputs}
            calls = {
                "grouped": lambda: grouped(x, w.transpose(1, 2), offs=ends),
                "each": lambda: [a @ b.t() for a, b in zip(x.split(tokens), w)],
            }
            for kind, call in calls.items():
                yield {"kind": kind} | row | timed(call, flops)


def attention() -> Iterator[dict[str, Any]]:
    for head in HEADS:
        for seq in (2048, 8192):
            sizes = (ATTENTION_TOKENS // seq, ATTENTION_HEADS, seq, head)
            q = random(*sizes, requires_grad=True)
            attend = lambda: F.scaled_dot_product_attention(q, q, q, is_causal=True)  # noqa: E731
            flops = 2.0 * ATTENTION_TOKENS * ATTENTION_HEADS * seq * head

            def both() -> None:
                y = attend()
                y.backward(y)

            told = timed(both, 3.5 * flops)
            row = {"kind": "sdpa", "head": head, "seq": seq} | timed(attend, flops)
            yield row | {f"both_{key}": value for key, value in told.items()}


def main() -> None:
    machine = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    with open(sys.argv[1], "w", encoding="utf-8") as output:
        for rows in (layers(), experts(), attention()):
            for row in rows:
                print(json.dumps(machine | row), file=output, flush=True)


if __name__ == "__main__":
    main()
