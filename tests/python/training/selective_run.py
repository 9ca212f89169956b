"""Trains blocks under selective checkpointing, and prints what FlopCounterMode counts: selective_run.py KEPT SEED

KEPT: which products are kept for the backward instead of computed again: all, none, or wide (those of the first layer of a block).
Prints the FLOPs of a forward, and of a whole step.
"""

from __future__ import annotations

import random
import sys
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)
from torch.utils.flop_counter import FlopCounterMode

STEPS = 9
KEPT, RANDOM = sys.argv[1], random.Random(sys.argv[2])
WIDTH, WIDE, ROWS = (8 * RANDOM.randint(2, 9) for _ in range(3))


def policy(_: Any, operator: Any, *inputs: Any, **__: Any) -> CheckpointPolicy:
    is_product = operator is torch.ops.aten.addmm.default
    is_kept = KEPT == "all" or (KEPT == "wide" and is_product and inputs[2].shape[0] == WIDTH)
    return (
        CheckpointPolicy.MUST_SAVE if is_product and is_kept else CheckpointPolicy.PREFER_RECOMPUTE
    )


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDE + 1)
        self.second = nn.Linear(WIDE + 1, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.second(torch.relu(self.first(x))))


class Blocks(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(RANDOM.randint(1, 4)))

    def forward(self, x: Tensor) -> Tensor:
        contexts = partial(create_selective_checkpoint_contexts, policy)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False, context_fn=contexts)
        return x


def main() -> None:
    torch.manual_seed(0)
    model = Blocks()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(ROWS, WIDTH)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    with FlopCounterMode(display=False) as forward:
        model(batch)
    with FlopCounterMode(display=False) as step:
        model(batch).square().mean().backward()
    print(forward.get_total_flops(), step.get_total_flops())


if __name__ == "__main__":
    main()
