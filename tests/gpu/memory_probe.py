"""Trains a few steps with the allocator's history on, runs out of memory on purpose, and tells what the allocator itself counted.

    memory_probe.py SNAPSHOT TRUTH

The figures of the truth are torch.cuda.memory_stats() of the moment at which the snapshot was taken.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch

LIMIT = 2 << 30
ASKED = 4 << 30  # more than the limit, so that it fails whatever is free
STEPS = 3


def train(steps: int) -> Any:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(1024, 1024) for _ in range(4)]
    model = torch.nn.Sequential(*layers).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        model(torch.randn(256, 1024, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def main() -> None:
    snapshot, truth = sys.argv[1:]
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(LIMIT / total)
    torch.cuda.memory._record_memory_history(stacks="python", max_entries=100_000)
    kept = train(STEPS)
    is_out = False
    try:
        torch.empty(ASKED, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        is_out = True
    torch.cuda.synchronize()
    statistics = torch.cuda.memory_stats()
    torch.cuda.memory._dump_snapshot(snapshot)
    with open(truth, "w", encoding="utf-8") as file:
        json.dump(
            {
                "is_out_of_memory": is_out and kept is not None,
                "asked": ASKED,
                "peak_bytes": statistics["requested_bytes.all.peak"],
                "end_bytes": statistics["requested_bytes.all.current"],
                "reserved": statistics["reserved_bytes.all.current"],
                "allocated": statistics["allocated_bytes.all.current"],
                "stuck": statistics["inactive_split_bytes.all.current"],
                "out_of_memory_errors": statistics["num_ooms"],
            },
            file,
        )


if __name__ == "__main__":
    main()
