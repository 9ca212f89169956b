#!/usr/bin/env python3
"""MFU and MBU of an inference server's steps, of other people, against closed forms of the models.

    check_serving.py PROGRAM

The closed forms are written out below from the sizes in the models' config.json and the sums in the names of the steps; the
report's may differ by 1 %. Peaks and bandwidth are those of an MI300X: 1,307.4 TFLOP/s in bf16, 5.3 TB/s.

Needs the folder of other people's traces: FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from shared_traces import ROOT, SHARED, Outcome, program_of, report_of, skip_without

TRACES = SHARED / "traces" / "tracelens" / "inference"
PEAK = 1307.4e12
BANDWIDTH = 5.3e12
TOLERANCE = 0.01
NAME = re.compile(
    r"execute_\d+_context_(\d+)\(sq(\d+)sk(\d+)sqsq(\d+)sqsk(\d+)\)_generation_(\d+)\(sq(\d+)sk(\d+)sqsq(\d+)sqsk(\d+)\)"
)


@dataclass
class Sums:
    """Over requests that are prefilled and decoded."""

    requests: int
    tokens: int
    keys: int
    pairs: int
    logits: int


def sums_of(name: str) -> Sums:
    found = NAME.match(name)
    assert found, name
    n, sq, sk, sqsq, sqsk, m, tq, tk, tqtq, tqtk = map(int, found.groups())
    causal = sqsk - (sqsq - sq) // 2 + tqtk - (tqtq - tq) // 2
    return Sums(n + m, sq + tq, sk + tk, causal, n + tq)


def qwen3_8b(sums: Sums) -> tuple[float, float]:
    """36 layers, 32 heads and 8 of keys, of 128; bf16."""
    layer = 4096 * (32 + 2 * 8) * 128 + 32 * 128 * 4096 + 3 * 4096 * 12288
    norms = 36 * (2 * 4096 + 2 * 128) + 4096
    logits = 4096 * 151936
    flops = 2 * (36 * layer * sums.tokens + logits * sums.logits)
    flops += 36 * 4 * 32 * 128 * sums.pairs
    weights = 36 * layer + norms + logits + sums.tokens * 4096
    return flops, 2 * (weights + 36 * sums.keys * 2 * 8 * 128)


def gpt_oss_20b(sums: Sums) -> tuple[float, float]:
    """24 layers, 64 heads and 8 of keys, of 64; every second layer sees 128 tokens; 32 experts, of which a token chooses 4, in
    mxfp4, the rest in bf16. Only for steps that decode: of a window min(length, 128) at the mean length.
    """
    attention = 2880 * (64 + 2 * 8) * 64 + 64 * 64 * 2880
    router = 2880 * 32
    expert = 3 * 2880 * 2880
    logits = 2880 * 201088
    flops = 2 * sums.tokens * 24 * (attention + router + 4 * expert) + 2 * logits * sums.logits
    windowed = min(sums.keys / sums.requests, 128) * sums.requests
    flops += 12 * 4 * 64 * 64 * (sums.pairs + windowed)
    chosen = 32 * (1 - (1 - 4 / 32) ** sums.tokens)
    biases = (64 + 2 * 8) * 64 + 2880 + 32 + 64
    plain = 24 * (attention + router + biases + 2 * 2880) + 2880 + logits + sums.tokens * 2880
    read = 24 * chosen * (expert * 4.25 / 8 + 3 * 2880 * 2)
    return flops, 2 * plain + read + 12 * (sums.keys + windowed) * 2 * 8 * 64 * 2


CASES = (
    ("sglang_decode", "sglang_Qwen3-8B_decode.json.gz", "qwen3-8b.json", qwen3_8b, "decode"),
    (
        "sglang_prefilldecode",
        "sglang_Qwen3-8B_prefilldecode.json.gz",
        "qwen3-8b.json",
        qwen3_8b,
        "prefill",
    ),
    ("vllm_decode_full", "graph_execution.json.gz", "gpt-oss-20b.json", gpt_oss_20b, "decode"),
)


def check_case(program: Path, case: tuple) -> Outcome:  # type: ignore[type-arg]
    folder, name, model, closed_form, phase = case
    outcome = Outcome(f"{folder}/{name}")
    path = TRACES / folder / name
    if not path.is_file():
        outcome.check(False, "no such file")
        return outcome
    report, message = report_of(program, path, ["--model", str(ROOT / "tests" / "models" / model)])
    if report is None:
        outcome.check(False, message)
        return outcome
    sections = report["ranks"][0]["sections"]
    rows = sections["serving_phases"]["tables"]["phases"]["rows"]
    with gzip.open(path) as file:
        events = json.load(file)["traceEvents"]
    names = [
        event["name"]
        for event in events
        if event.get("cat") == "user_annotation" and NAME.match(event["name"])
    ]
    outcome.check([row["phase"] for row in rows] == [phase], f"phases {rows}")
    outcome.check(len(names) == 1, f"steps {names}")
    flops, read = closed_form(sums_of(names[0]))
    seconds = rows[0]["step_time"] / 1e9
    for key, theirs in (
        ("flops", flops),
        ("bytes", read),
        ("mfu", flops / PEAK / seconds),
        ("mbu", read / BANDWIDTH / seconds),
    ):
        ours = rows[0][key]
        outcome.check(
            abs(ours - theirs) <= TOLERANCE * theirs, f"{key}: {ours}, by closed form {theirs}"
        )
        outcome.note(f"{key}: {ours:.6g}, by closed form {theirs:.6g}")
    return outcome


def main() -> None:
    program = program_of(sys.argv)
    skip_without(TRACES)
    total = Outcome("serving")
    for case in CASES:
        total.add(check_case(program, case))
    total.finish()


if __name__ == "__main__":
    main()
