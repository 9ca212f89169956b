#!/usr/bin/env python3
"""Steps of an inference server, named as vLLM names them: each request's attention, counted token by token, is what is reported.

Requests are random: some prefill all or the rest of their prompt, others decode one or several tokens. FLOPs and bytes of a step are
then those of Llama 3 8B by its config.json; those of vLLM's operator around the step's kernel are those of one layer's attention.

    tests/properties/serving_steps.py PROGRAM [--count N] [--seed S]
"""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any
from random_cases import run_seeds

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "tests" / "models" / "llama-3-8b.json"
LAYERS, HIDDEN, HEADS, KEY_HEADS, SIZE, FEED, VOCABULARY = 32, 4096, 32, 8, 128, 14336, 128256

Event = dict[str, Any]
Request = tuple[int, int]  # new tokens, tokens they see with themselves


def sums(requests: list[Request]) -> str:
    new, seen = [n for n, _ in requests], [s for _, s in requests]
    squares = sum(n * n for n in new)
    return f"{len(requests)}(sq{sum(new)}sk{sum(seen)}sqsq{squares}sqsk{sum(n * s for n, s in requests)})"


def pairs_of(requests: list[Request]) -> int:
    """Token by token: the i-th new one sees those before the request's new ones, and i of these."""
    return sum(seen - new + i for new, seen in requests for i in range(1, new + 1))


def step_of(rng: random.Random) -> tuple[list[Request], list[Request]]:
    prefilled: list[Request] = []
    decoded: list[Request] = []
    for _ in range(rng.randint(1, 5)):
        new = rng.randint(1, 40)
        if rng.random() < 0.5:
            prefilled.append((new, new + rng.choice((0, rng.randint(0, 60)))))
        else:
            new = rng.choice((1, 1, 1, 3))
            decoded.append((new, new + rng.randint(0, 100)))
    return prefilled, decoded


def events_of(number: int, at: int, name: str, tokens: int) -> list[Event]:
    host = {"ph": "X", "pid": 7, "tid": 7}
    heads, keys = [tokens, HEADS, SIZE], [tokens, KEY_HEADS, SIZE]
    attention = {
        "External id": number,
        "Input Dims": [heads, keys, keys, heads, [], [], [], [0]],
        "Input type": ["c10::BFloat16"] * 4 + ["", "", "", "c10::BFloat16"],
        "Concrete Inputs": [""] * 8,
    }
    op = {**host, "cat": "cpu_op", "name": "vllm::unified_attention_with_output", "args": attention}
    call = {**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel"}
    kernel = {"ph": "X", "cat": "kernel", "name": "kernel_unified_attention_2d", "pid": 0, "tid": 7}
    ids = {"correlation": number, "External id": number}
    wait = {**host, "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "ts": at + 160}
    return [
        {**host, "cat": "user_annotation", "name": name, "ts": at, "dur": 900},
        {**op, "ts": at + 100, "dur": 50},
        {**call, "ts": at + 110, "dur": 10, "args": ids},
        {**kernel, "ts": at + 130, "dur": 700, "args": {**ids, "device": 0, "stream": 7}},
        {**wait, "dur": 700, "args": {"correlation": 1000 + number}},
    ]


def linear_flops(prefilled: list[Request], decoded: list[Request]) -> int:
    layer = HIDDEN * (HEADS + 2 * KEY_HEADS) * SIZE + HEADS * SIZE * HIDDEN + 3 * HIDDEN * FEED
    tokens = sum(new for new, _ in prefilled + decoded)
    logits = len(prefilled) + sum(new for new, _ in decoded)
    return 2 * (LAYERS * layer * tokens + HIDDEN * VOCABULARY * logits)


def check_serving_steps(program: Path, seed: int, folder: Path) -> None:
    rng = random.Random(seed)
    steps = [step_of(rng) for _ in range(rng.randint(1, 6))]
    events: list[Event] = []
    expected: dict[str, list[float]] = {}
    attention = 0
    for i, (prefilled, decoded) in enumerate(steps):
        tokens = sum(new for new, _ in prefilled + decoded)
        padded = tokens + rng.choice((0, rng.randint(0, 9)))
        name = f"execute_{padded}_context_{sums(prefilled)}_generation_{sums(decoded)}"
        events += events_of(i + 1, 1000 + 1000 * i, name, padded)
        phase = "mixed" if prefilled and decoded else "prefill" if prefilled else "decode"
        of_layer = 4 * HEADS * SIZE * pairs_of(prefilled + decoded)
        flops = linear_flops(prefilled, decoded) + LAYERS * of_layer
        total = expected.setdefault(phase, [0, 0, 0])
        total[0] += 1
        total[1] += tokens
        total[2] += flops
        attention += of_layer
    trace = folder / "trace.json"
    device = [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]
    trace.write_text(json.dumps({"deviceProperties": device, "traceEvents": events}))
    words = [program, "report", "--json", "--model", MODEL, trace]
    report = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    sections = report["ranks"][0]["sections"]
    for row in sections["serving_phases"]["tables"]["phases"]["rows"]:
        count, tokens, flops = expected.pop(row["phase"])
        for key, value in (("steps", count), ("tokens", tokens / count), ("flops", flops / count)):
            if abs(row[key] - value) > 1e-9 * value:
                raise AssertionError(f"{row['phase']}: {key} {row[key]}, not {value}")
    if expected:
        raise AssertionError(f"not told: {sorted(expected)}")
    ours = sum(
        row["flops"] * len(steps) for row in sections["roofline"]["tables"]["operators"]["rows"]
    )
    if abs(ours - attention) > 1e-9 * attention:
        raise AssertionError(f"attention of the operators: {ours}, not {attention}")


if __name__ == "__main__":
    run_seeds(check_serving_steps, 40)
