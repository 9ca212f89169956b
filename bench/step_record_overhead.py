#!/usr/bin/env python3
"""What the step record costs a step, side by side: PYTHON bench/step_record_overhead.py [--package FOLDER] [--rounds N] [--json FILE]

Rounds without the record, with it, and with it in pure Python take turns in one process, in another order each; each step is
timed by itself, in processor time, and the fastest tenths are compared: what else the machine does only ever adds. Two
programs: one whose steps are tiny, so that the record's own time shows, and the GPT of examples/train_gpt.py with steps of
about 20 ms. Both read their loss in each step, and it must be the same to the last bit whatever is recorded. FOLDER is where
the package was built (build/release/python), for its C extension.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SETTLING = 20  # steps of a round that are not counted
WAYS = ("plain", "recorded")


@dataclass
class Program:
    """`start` gives a model, its optimizer, its loader and what the loss of a batch is; the same each time."""

    name: str
    steps: int
    start: Callable[[int], tuple[Any, Any, Any, Callable[..., Any]]]


@dataclass
class Round:
    times: list[int]  # ns, by step
    losses: list[float]


def tiny(steps: int) -> tuple[Any, Any, Any, Callable[..., Any]]:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    batch, length, words, width = 8, 32, 100, 16
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(words, width), nn.Linear(width, words))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    given = torch.randint(0, words, (steps * batch, length))
    loader = DataLoader(TensorDataset(given, given), batch)
    return model, optimizer, loader, nn.functional.cross_entropy


def gpt(steps: int) -> tuple[Any, Any, Any, Callable[..., Any]]:
    sys.path.insert(0, str(ROOT / "examples"))
    import torch
    import train_gpt
    from torch.utils.data import DataLoader, Subset

    torch.manual_seed(0)
    text = train_gpt.TextDataset(ROOT / "LICENSE")
    loader = DataLoader(Subset(text, range(steps)), 1, shuffle=True)
    model = train_gpt.GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return model, optimizer, loader, torch.nn.functional.cross_entropy


PROGRAMS = (
    Program("a model of two layers, SGD", 320, tiny),
    Program("the GPT of `examples/train_gpt.py`, AdamW", 120, gpt),
)


def train(program: Program) -> Round:
    model, optimizer, loader, loss_of = program.start(program.steps)
    done = Round([], [])
    began = time.thread_time_ns()
    for batch, wanted in loader:
        loss = loss_of(model(batch).flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        done.losses.append(loss.item())
        ended = time.thread_time_ns()
        done.times.append(ended - began)
        began = ended
    done.times = done.times[SETTLING:]
    return done


def train_recorded(program: Program, capture: str) -> Round:
    """What `flopledger run` does at its first optimizer, and at the end."""
    from flopledger.recorder import Recorder
    from flopledger.settings import Settings
    from torch.optim import optimizer as optimizer_module

    never = Settings(capture, first_step=10**9, last_step=10**9)
    recorder = Recorder(never, optimizer_module)
    recorder.begin_record()
    done = train(program)
    assert recorder.step == program.steps
    recorder.turn_off()
    return done


def in_turn(rounds: int) -> Iterator[tuple[int, str]]:
    for number in range(rounds):
        first = number % len(WAYS)
        for way in WAYS[first:] + WAYS[:first]:
            yield number, way


def measure(program: Program, rounds: int, folder: str) -> dict[str, Any]:
    times: dict[str, list[list[int]]] = {way: [] for way in WAYS}
    losses = train(program).losses
    for number, way in in_turn(rounds):
        if way == "plain":
            done = train(program)
        else:
            done = train_recorded(program, os.path.join(folder, str(number)))
        if done.losses != losses:
            sys.exit(f"{program.name}: other losses with the record than without it")
        times[way].append(done.times)
    plain = tenth(sum(times["plain"], []))
    each = sorted(tenth(a) - tenth(b) for a, b in zip(times["recorded"], times["plain"]))
    cost = tenth(sum(times["recorded"], [])) - plain
    return {
        "program": program.name,
        "steps": program.steps * rounds,
        "losses_compared": len(losses) * len(WAYS) * rounds,
        "plain_us": plain / 1e3,
        "record": {"us": cost / 1e3, "least_us": each[0] / 1e3, "most_us": each[-1] / 1e3},
    }


def tenth(times: list[int]) -> int:
    return sorted(times)[len(times) // 10]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", type=Path, default=ROOT / "build" / "release" / "python")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(options.package))
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FLOPLEDGER_CAPTURE"] = folder
        found = {
            "torch": torch.__version__,
            "rounds": options.rounds,
            "programs": [
                measure(program, options.rounds, os.path.join(folder, str(number)))
                for number, program in enumerate(PROGRAMS)
            ],
        }
    text = json.dumps(found, indent=1)
    if options.json:
        options.json.write_text(f"{text}\n")
    print(text)


if __name__ == "__main__":
    main()
