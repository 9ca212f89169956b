#!/usr/bin/env python3
"""What the step record costs a step, side by side: PYTHON bench/step_record_overhead.py [--package FOLDER] [--rounds N] [--json FILE]

Rounds with and without the record take turns in one process; each step is timed by itself, and the tenth fastest of a hundred
of each kind are compared: what else the machine does only ever adds. The model is tiny, so that the record's own time shows; a
step of a real job makes the same calls: a batch of a DataLoader, backward, an optimizer's step, a loss that is read. FOLDER is
where the package was built (build/release/python), for its C extension.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STEP_NS = 20_000_000  # of which the share is told
BATCH, LENGTH, WORDS, WIDTH = 8, 32, 100, 16
STEPS, SETTLING = 320, 20  # of a round; the first ones are not counted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", type=Path, default=ROOT / "python")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(options.package))
    text = json.dumps(measure(options.rounds), indent=1)
    if options.json:
        options.json.write_text(f"{text}\n")
    print(text)


def measure(rounds: int) -> dict[str, Any]:
    import torch
    from torch import nn
    from torch.optim import optimizer as optimizer_module
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)
    model = nn.Sequential(nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    words = torch.randint(0, WORDS, (STEPS * BATCH, LENGTH))
    loader = DataLoader(TensorDataset(words, words), BATCH)

    def train() -> list[int]:
        times = []
        began = time.perf_counter_ns()
        for batch, wanted in loader:
            loss = nn.functional.cross_entropy(model(batch).flatten(0, 1), wanted.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()
            ended = time.perf_counter_ns()
            times.append(ended - began)
            began = ended
        return times[SETTLING:]

    plain, recorded = [], []
    train()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FLOPLEDGER_CAPTURE"] = folder
        from flopledger.recorder import Recorder
        from flopledger.settings import Settings

        for number in range(rounds):
            plain += train()
            capture = os.path.join(folder, str(number))
            never = Settings(capture, first_step=10**9, last_step=10**9)
            recorder = Recorder(never, optimizer_module)
            recorder.begin_record()
            by_extension = type(recorder.record.writer).__name__ != "PythonWriter"
            recorded += train()
            recorder.turn_off()
    cost = tenth(recorded) - tenth(plain)
    return {
        "writer": "C" if by_extension else "Python",
        "plain_step_us": tenth(plain) / 1e3,
        "recorded_step_us": tenth(recorded) / 1e3,
        "record_us": cost / 1e3,
        "share_of_a_step_of_20_ms": round(cost / STEP_NS, 6),
    }


def tenth(times: list[int]) -> int:
    return sorted(times)[len(times) // 10]


if __name__ == "__main__":
    main()
