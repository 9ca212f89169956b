"""Multiplies square matrices of bf16: so many products a call, so many calls, and tells how long they took by the device's events.

    matmul_loop.py --device cuda --truth FILE [--seconds 12]

The calls are those of a module, so that `flopledger run --step-of module` takes each for a step. With --seconds it goes on for so
long after them, for what watches the device meanwhile.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
from torch import nn

from train_ways import StepClock

SIZES = {"cuda": (8192, 20), "cpu": (256, 4)}  # size, products a call
CALLS = 10


class Products(nn.Module):
    def __init__(self, size: int, count: int, device: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        draw = {"device": device, "dtype": torch.bfloat16}
        self.left = nn.Parameter(torch.randn(size, size, **draw), requires_grad=False)
        self.right = torch.randn(size, size, **draw)
        self.count = count

    def forward(self) -> torch.Tensor:
        for _ in range(self.count):
            product = torch.mm(self.left, self.right)
        return product


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=0)
    arguments = parser.parse_args()
    size, count = SIZES[arguments.device]
    products, clock = Products(size, count, arguments.device), StepClock(arguments.device)
    clock.mark()
    for _ in range(CALLS):
        products()
        clock.mark()
    milliseconds = clock.milliseconds()
    content = {"flops": 2 * size**3 * count, "milliseconds": milliseconds}
    arguments.truth.write_text(json.dumps(content))
    until, calls, began = time.monotonic() + arguments.seconds, 0, time.monotonic()
    while time.monotonic() < until:
        products()
        calls += 1
        if arguments.device == "cuda":
            torch.cuda.synchronize()
    content["watched_flops_per_second"] = (
        calls * content["flops"] / max(1e-9, time.monotonic() - began)
    )
    arguments.truth.write_text(json.dumps(content))


if __name__ == "__main__":
    main()
