#!/usr/bin/env python3
"""Real trainings on this machine's processor, each with a cause of slowness and without it: cpu_runs.py FOLDER [NAME...]

Both are measured by turns without a profiler; then some steps of the slow one are recorded. Needs PyTorch, and flopledger's package.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import flopledger as fl

TURNS, STEPS, RECORDED = 5, 4, 4
Step = Callable[[], None]


class Rows(torch.utils.data.Dataset):
    """`wait`: how long a sample takes to be prepared, as from a slow disk."""

    def __init__(self, wait: float) -> None:
        self.wait = wait

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.wait:
            time.sleep(self.wait)
        return torch.full((256,), index / 1000)


def perceptron(layers: int = 4, width: int = 256) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        *[nn.Sequential(nn.Linear(width, width), nn.GELU()) for _ in range(layers)]
    )


def training(
    model: nn.Module,
    *,
    wait: float = 0,
    before: Step | None = None,
    forward: Callable[[torch.Tensor], torch.Tensor] | None = None,
    **options: Any,
) -> Step:
    optimizer = torch.optim.AdamW(model.parameters(), **options)

    def batches() -> Iterator[torch.Tensor]:
        while True:
            yield from torch.utils.data.DataLoader(Rows(wait), batch_size=64)

    given = batches()

    def step() -> None:
        batch = next(given)
        if before is not None:
            before()
        loss = (forward or model)(batch).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def in_python() -> None:
    """What a program computes between two steps without any operator."""
    total = 0
    for number in range(300_000):
        total += number % 7


def attention(is_fused: bool) -> Step:
    model = nn.Linear(256, 3 * 256)

    def forward(batch: torch.Tensor) -> torch.Tensor:
        rows = batch.reshape(1, 64, 256).repeat(2, 8, 1)
        q, k, v = (
            part.reshape(2, 512, 4, 64).transpose(1, 2) for part in model(rows).chunk(3, dim=-1)
        )
        if is_fused:
            return nn.functional.scaled_dot_product_attention(q, k, v)
        return torch.softmax(q @ k.transpose(-2, -1) / 8, dim=-1) @ v

    return training(model, forward=forward)


def checkpointed() -> Step:
    model = perceptron(8, 256)

    def forward(batch: torch.Tensor) -> torch.Tensor:
        rows = batch.repeat(8, 1).requires_grad_()
        for layer in model:
            rows = checkpoint(layer, rows, use_reentrant=False)
        return rows

    return training(model, forward=forward)


def not_checkpointed() -> Step:
    model = perceptron(8, 256)
    return training(model, forward=lambda batch: model(batch.repeat(8, 1)))


CASES: dict[str, tuple[str, str, Callable[[], Step], Callable[[], Step]]] = {
    "cpu_loader": (
        "data_loading",
        "samples that are there at once",
        lambda: training(perceptron(), wait=300e-6),
        lambda: training(perceptron()),
    ),
    "cpu_loader_long": (
        "data_loading",
        "samples that are there at once",
        lambda: training(perceptron(), wait=2e-3),
        lambda: training(perceptron()),
    ),
    "cpu_python": (
        "python_code",
        "that work out of the loop",
        lambda: training(perceptron(), before=in_python),
        lambda: training(perceptron()),
    ),
    "cpu_optimizer": (
        "unfused_optimizer",
        "fused=True",
        lambda: training(perceptron(60, 256), foreach=False),
        lambda: training(perceptron(60, 256), fused=True),
    ),
    "cpu_checkpointing": ("recomputation", "no checkpointing", checkpointed, not_checkpointed),
    "cpu_attention": (
        "unfused_attention",
        "scaled_dot_product_attention",
        lambda: attention(is_fused=False),
        lambda: attention(is_fused=True),
    ),
}


def measure(slow: Step, fixed: Step) -> tuple[float, float]:
    """Medians of steps, by turns, in ns."""
    times: tuple[list[int], list[int]] = ([], [])
    for turn in range(TURNS + 1):
        for step, found in zip((slow, fixed), times):
            for _ in range(STEPS):
                began = time.perf_counter_ns()
                step()
                if turn > 0:
                    found.append(time.perf_counter_ns() - began)
    return statistics.median(times[0]), statistics.median(times[1])


def make(folder: Path, name: str) -> None:
    cause, fix, slow, fixed = CASES[name]
    slow_step, fixed_step = slow(), fixed()
    slow_ns, fixed_ns = measure(slow_step, fixed_step)
    for kind, step in (("slow", slow_step), ("fixed", fixed_step)):
        with fl.profile(steps=RECORDED, folder=folder / name / kind):
            for _ in range(RECORDED + 3):
                step()
    label = {
        "causes": [cause],
        "fix": fix,
        "origin": "recorded",
        "slow_step_ns": slow_ns,
        "fixed_step_ns": fixed_ns,
        "speedup": slow_ns / fixed_ns,
    }
    (folder / name / "label.json").write_text(json.dumps(label, indent=1) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for each in sys.argv[2:] or CASES:
        make(Path(sys.argv[1]), each)
    print(f"{len(sys.argv[2:] or CASES)} runs in {sys.argv[1]}")
