#!/usr/bin/env python3
"""What recording costs while it is on: one training step of a small Llama-like model, in each way side by side.

    build/venv/bin/python bench/record_overhead.py [--rounds N] [--extension FOLDER]

One process, one thread; ways take turns, in another order each round, and processor time is measured, so that what else the
machine does matters little. FOLDER is where the package was built
(build/release/python), for its C extension. Prints a table of ratios to the plain step.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parents[1]
LAYERS, WIDTH, HEADS, LENGTH, WORDS = 12, 256, 8, 128, 1000
STEPS = 4  # of one way in one round; the first is not counted


class Block(nn.Module):
    """As a layer of Llama: two norms, four projections of attention, three of the feed-forward part."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(WIDTH, 688, bias=False) for _ in range(2))
        self.down = nn.Linear(688, WIDTH, bias=False)
        self.activation = nn.SiLU()

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm1(x)
        q, k, v = (
            f(y).view(1, LENGTH, HEADS, -1).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(1, LENGTH, WIDTH))
        y = self.norm2(x)
        return x + self.down(self.activation(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        x = self.embedding(words)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


@contextmanager
def recorded(model: nn.Module, parameters: set[int], **kinds: bool) -> Iterator[None]:
    """As flopledger run does it."""
    from flopledger.batch import BatchCounter
    from flopledger.models import find_models, modules_to_mark
    from flopledger.module_markers import ModuleMarkers
    from flopledger.profiler_session import ProfilerSession
    from flopledger.settings import Settings

    settings = Settings(capture="", **kinds)
    session, markers = ProfilerSession(settings), ModuleMarkers()
    session.start()
    if settings.markers:
        markers.on(modules_to_mark(find_models(parameters), ()), BatchCounter().observe)
    yield
    markers.off()
    session.stop()


@contextmanager
def flop_counter() -> Iterator[None]:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False):
        yield


@contextmanager
def deepspeed_profiler(model: nn.Module) -> Iterator[None]:
    from deepspeed.profiling.flops_profiler import FlopsProfiler

    profiler = FlopsProfiler(model)
    profiler.start_profile()
    yield
    profiler.end_profile()


def ways_to_measure(model: nn.Module) -> dict[str, Callable[[], object]]:
    from torch.profiler import ProfilerActivity, profile

    cpu = [ProfilerActivity.CPU]
    parameters = {id(p) for p in model.parameters()}
    ways: dict[str, Callable[[], object]] = {
        "plain": nullcontext,
        "torch.profiler": lambda: profile(activities=cpu),
        "torch.profiler, shapes": lambda: profile(activities=cpu, record_shapes=True),
        "flopledger: shapes": lambda: recorded(model, parameters, markers=False),
        "flopledger: shapes, markers": lambda: recorded(model, parameters),
        "flopledger: shapes, markers, memory": lambda: recorded(model, parameters, memory=True),
        "FlopCounterMode": flop_counter,
    }
    try:
        import deepspeed  # noqa: F401

        ways["DeepSpeed's flops profiler"] = lambda: deepspeed_profiler(model)
    except ImportError:
        pass
    return ways


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--extension", type=Path, default=ROOT / "build" / "release" / "python")
    arguments = parser.parse_args()
    sys.path[:0] = [str(arguments.extension), str(ROOT / "python")]
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    words = torch.randint(0, WORDS, (1, LENGTH))

    def step() -> float:
        began = time.process_time()
        loss = F.cross_entropy(model(words).flatten(0, 1), words.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return time.process_time() - began

    ways = ways_to_measure(model)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(STEPS):
        step()
    for _ in range(arguments.rounds):
        for name in random.sample(list(ways), len(ways)):
            with ways[name]():  # type: ignore[attr-defined]
                seconds[name] += [step() for _ in range(STEPS)][1:]
    print_table(seconds)


def print_table(seconds: dict[str, list[float]]) -> None:
    from flopledger.module_markers import MarksInPython, load_marks

    plain = seconds["plain"]
    print(
        f"torch {torch.__version__}, one thread; marks in {'Python' if isinstance(load_marks(), MarksInPython) else 'C'}\n"
    )
    print("| while a step runs | CPU ms, median | to plain | CPU ms, least | to plain |")
    print("|---|---:|---:|---:|---:|")
    for name, each in seconds.items():
        middle, least = statistics.median(each), min(each)
        print(
            f"| {name} | {1e3 * middle:.1f} | {middle / statistics.median(plain):.2f} "
            f"| {1e3 * least:.1f} | {least / min(plain):.2f} |"
        )


if __name__ == "__main__":
    main()
