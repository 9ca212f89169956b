"""Trains the GPT of examples/train_gpt.py in one of several ways, and tells what it measured itself: the truth of the GPU suite.

    train_ways.py WAY --device cuda --steps 8 --truth FILE

FILE gets the loss of each step, bit by bit, how long the steps took (by the device's own events), the FLOPs of a step by the
sizes of the model, and the peak of the allocator in each step.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import itertools
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # products that are the same each time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import train_gpt  # noqa: E402

WAYS = ("eager", "autocast", "compile", "graphs", "checkpoint", "starved")
HALF = ("autocast", "starved")  # the latter so that the device has little to do
SIZES = {  # CONTEXT, WIDTH, HEADS, LAYERS, BATCH
    "cuda": (512, 1024, 16, 8, 16),
    "cpu": (32, 64, 4, 2, 4),
}
STARVED_SECONDS = {"cuda": 0.01, "cpu": 0.02}  # for each sample: several times what a step computes


class Slow(train_gpt.TextDataset):
    seconds = 0.0

    def __getitem__(self, start: int) -> Any:
        time.sleep(self.seconds)
        return super().__getitem__(start)


class Checkpointed(nn.Module):
    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: torch.Tensor) -> Any:
        return checkpoint(self.block, x, use_reentrant=False)


class StepClock:
    """When each step ended, by events of the device, which cost no waiting; on a CPU by the clock."""

    def __init__(self, device: str) -> None:
        self.is_cuda = device.startswith("cuda")
        self.marks: list[Any] = []

    def mark(self) -> None:
        if self.is_cuda:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self.marks.append(event)
        else:
            self.marks.append(time.perf_counter_ns())

    def milliseconds(self) -> list[float]:
        """Of step 1, 2, ...: from mark to mark."""
        pairs = zip(self.marks, self.marks[1:])
        if self.is_cuda:
            torch.cuda.synchronize()
            return [before.elapsed_time(after) for before, after in pairs]
        return [(after - before) / 1e6 for before, after in pairs]


class Allocated:
    """The allocator's own peak of each step; on a CPU that of a library that is loaded in front of the C library."""

    def __init__(self, device: str) -> None:
        self.is_cuda = device.startswith("cuda")
        self.shim: Any = None
        self.before = 0
        path = os.environ.get("LD_PRELOAD", "")
        if not self.is_cuda and path:
            self.shim = ctypes.CDLL(path)
            self.shim.shim_current.restype = self.shim.shim_take_peak.restype = ctypes.c_int64
            self.before = self.shim.shim_current()  # of libraries, and not of PyTorch's tensors

    def take_peak(self) -> int | None:
        """Since it was asked before."""
        if self.is_cuda:
            peak = torch.cuda.max_memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            return int(peak)
        return int(self.shim.shim_take_peak()) - self.before if self.shim else None


def flops_of_a_step(batch: int) -> int:
    """By the sizes alone: products of linear layers and logits, and the pairs of attention that its mask leaves. Backward is
    twice the forward."""
    length, width = train_gpt.CONTEXT, train_gpt.WIDTH
    weights = train_gpt.LAYERS * 12 * width * width + width * train_gpt.VOCABULARY
    linear = 2 * weights * batch * length
    pairs = length * (length + 1) // 2
    attention = batch * train_gpt.LAYERS * 4 * pairs * width
    return 3 * (linear + attention)


def make_model(way: str, device: str) -> tuple[nn.Module, nn.Module]:
    """The model, and what is called in its place."""
    model = train_gpt.GPT().to(device)
    called: nn.Module = model
    if way == "checkpoint":
        model.blocks = nn.ModuleList(Checkpointed(block) for block in model.blocks)
    elif way == "compile":
        called = torch.compile(model, backend="inductor" if device == "cuda" else "aot_eager")
    return model, called


def capture_graphs(model: Any, loader: Any, device: str) -> Any:
    """Forward and backward as CUDA graphs; as it is where there are none."""
    if device != "cuda":
        return model
    tokens, _ = next(iter(loader))
    return torch.cuda.make_graphed_callables(model, (tokens.to(device),))


def steps_to_train(arguments: argparse.Namespace) -> Iterator[int]:
    for step in itertools.count():
        if step >= arguments.steps and (arguments.until is None or arguments.until.exists()):
            return
        yield step


def train(arguments: argparse.Namespace) -> dict[str, Any]:
    way, device = arguments.way, arguments.device
    torch.manual_seed(0)
    # Attention's backward is deterministic on a GPU only where nothing less is let pass.
    torch.use_deterministic_algorithms(True, warn_only=device == "cpu")
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    Slow.seconds = STARVED_SECONDS[device]
    kind = Slow if way == "starved" else train_gpt.TextDataset
    data = kind(arguments.text)
    allocated = Allocated(device)
    loader = DataLoader(data, batch_size=arguments.batch, shuffle=True, drop_last=True)
    model, called = make_model(way, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=device == "cuda")
    if way == "graphs":
        called = capture_graphs(model, loader, device)
    autocast = torch.autocast(device, torch.bfloat16) if way in HALF else None
    clock, peaks, losses = StepClock(device), [], []
    # where the recorder ends its steps: what else the machine does falls into the same step of both
    optimizer.register_step_post_hook(lambda *arguments: clock.mark())
    torch.manual_seed(1)
    clock.mark()
    allocated.take_peak()
    if arguments.say:
        print("trains", flush=True)
    batches = (batch for _ in itertools.count() for batch in loader)
    for _, (tokens, targets) in zip(steps_to_train(arguments), batches):
        tokens, targets = tokens.to(device), targets.to(device)
        with autocast or contextlib.nullcontext():
            logits = called(tokens)
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # ends with a mark
        peaks.append(allocated.take_peak())
        losses.append(loss.detach())
    return {
        "way": way,
        "device": device,
        "batch": arguments.batch,
        "milliseconds": clock.milliseconds(),
        "flops": flops_of_a_step(arguments.batch),
        "peaks": peaks,
        "losses": [float(loss).hex() for loss in losses],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--until", type=Path, help="go on until this file is there")
    parser.add_argument("--say", action="store_true", help="say when the steps begin")
    parser.add_argument(
        "--text", type=Path, default=Path(train_gpt.__file__).parents[1] / "LICENSE"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    sizes = SIZES["cuda" if arguments.device.startswith("cuda") else "cpu"]
    train_gpt.CONTEXT, train_gpt.WIDTH, train_gpt.HEADS, train_gpt.LAYERS, batch = sizes
    arguments.batch = arguments.batch or batch
    arguments.truth.write_text(json.dumps(train(arguments)))


if __name__ == "__main__":
    main()
