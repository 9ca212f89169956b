#!/usr/bin/env python3
"""Replays of CUDA graphs beside their captures, of other people: attributed, and as another tool has them.

    check_graphs.py PROGRAM

- Of each replay whose capture lies beside it at least 99 % of the time has an operator and its module; of one whose capture
  is not there nothing has.
- At least 95 % of it has FLOPs or bytes. Experts whose sizes no argument tells need the model's config.json.
- Each product has the calls, the FLOPs and the time of TraceLens's table. TraceLens adds the bias of addmm, M * N FLOPs,
  and sums times that it has rounded to 32 bits; we leave out the one and round nothing. An operator around a product has the
  product's FLOPs: only the inner one counts. Where a replay has less than its capture, TraceLens has rows without a kernel.
- Attention has the pairs that the names of vLLM's ranges sum up.
- Where the model's sizes are missing, the report says which input would tell them.

Needs the folder of other people's traces: FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it. A folder laid out
likewise of TraceLens's own tests (tests/traces/inference, its perf_csvs as reference/tracelens) has pairs that ours lacks.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

from shared_traces import ROOT, SHARED, Outcome, program_of, report_of, skip_without

PAIRS = SHARED / "traces" / "tracelens" / "inference"
TABLES = SHARED / "reference" / "tracelens"
ATTRIBUTED_MIN = 0.99
COSTED_MIN = 0.95
# The models that were served, where operators alone do not tell their sizes.
MODELS = dict.fromkeys(("vllm_decode_full", "vllm_prefilldecode_piecewise"), "gpt-oss-20b.json")
# Captures that do not lie beside their replay.
CAPTURES = {
    "vllm_prefilldecode_piecewise": SHARED / "regressions" / "vllm_piecewise_graph_capture.json.gz"
}
# What the report says is missing, where operators alone do not tell the sizes.
MISSING = "--model config.json"
# Of a kernel's time, in microseconds, which TraceLens has as a difference of rounded ones.
ROUNDING = 2.0**-10


def replays() -> list[Path]:
    return sorted(path for path in PAIRS.glob("*/*.json.gz") if "capture_traces" not in path.parts)


def has_capture(path: Path) -> bool:
    return any((path.parent / "capture_traces").glob("*.json.gz")) or is_elsewhere(path)


def is_elsewhere(path: Path) -> bool:
    beside = any((path.parent / "capture_traces").glob("*.json.gz"))
    return not beside and path.parent.name in CAPTURES and CAPTURES[path.parent.name].is_file()


def check_missing(outcome: Outcome, program: Path, path: Path, options: list[str]) -> None:
    """Without the model's sizes the share is small, and the report says which input would tell them."""
    report, message = report_of(program, path, options)
    if report is None:
        outcome.check(False, message)
        return
    costed = report["ranks"][0]["sections"]["graphs"]["numbers"]["costed"]
    outcome.note(f"without the model's config.json {costed['value']:.3%}: {costed['note']}")
    outcome.check(
        costed["value"] >= COSTED_MIN or MISSING in (costed["note"] or ""),
        "what is missing for FLOPs and bytes is not said",
    )


def compact(dims: str) -> str:
    return json.dumps(json.loads(dims))


def check_products(outcome: Outcome, sections: dict[str, Any], table: Path) -> None:
    rows = {
        (row["operator"], compact(row["input_shapes"])): row
        for row in sections["operators"]["tables"]["by_name"]["rows"]
        if row.get("input_shapes")
    }
    by_cost = {
        (row["op"], row["time"]): row for row in sections["roofline"]["tables"]["operators"]["rows"]
    }
    with table.open(newline="") as file:
        products = [row for row in csv.DictReader(file) if float(row["Kernel Time (µs)_sum"]) > 0]
    wrapped = {(row["param: M"], row["param: N"], row["param: K"]) for row in products}
    inner = [row for row in products if row["name"].startswith("aten::")]
    outcome.check(
        wrapped == {(row["param: M"], row["param: N"], row["param: K"]) for row in inner},
        f"{table.name}: a product without its inner operator",
    )
    for product in products:
        name = f"{product['name']} {product['Input Dims_first']}"
        row = rows.get((product["name"], compact(product["Input Dims_first"])))
        if row is None:  # TraceLens lists calls of the capture that launched nothing, too
            is_empty = int(product["num_kernels"]) == 0
            outcome.check(is_empty, f"{name}: not among the operators")
            continue
        count = int(product["name_count"])
        m, n = int(product["param: M"]), int(product["param: N"])
        bias = m * n if product["param: bias"] == "True" else 0
        theirs = round(float(product["GFLOPS_first"]) * 1e9)
        outcome.check(row["calls"] == count, f"{name}: {row['calls']} calls, not {count}")
        if not product["name"].startswith("aten::"):
            outcome.check(
                theirs == 2 * m * n * int(product["param: K"]) + bias, f"{name}: {theirs} FLOPs"
            )
            continue
        flops = by_cost[(product["name"], row["self_device"])]["flops"]
        time = float(product["Kernel Time (µs)_sum"])
        outcome.check(
            flops == count * (theirs - bias), f"{name}: {flops} FLOPs, not {count * theirs}"
        )
        outcome.check(
            abs(row["self_device"] / 1000 - time) <= count * ROUNDING,
            f"{name}: {row['self_device']} ns, not {time} µs",
        )


def check_attention(outcome: Outcome, sections: dict[str, Any], table: Path) -> None:
    """The FLOPs of each call of attention; layers with windows TraceLens counts as if they had none."""
    ours = {row["op"]: row for row in sections["roofline"]["tables"]["operators"]["rows"]}
    with table.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if float(row["GFLOPS_first"]) > 0]
    for row in rows:
        found = [ours[name] for name in ours if name.startswith(row["name"])]
        theirs = int(row["name_count"]) * round(float(row["GFLOPS_first"]) * 1e9)
        outcome.check(
            len(found) == 1 and round(found[0]["flops"]) == theirs,
            f"{row['name']}: not {theirs} FLOPs",
        )


def check_replay(program: Path, path: Path) -> Outcome:
    outcome = Outcome(str(path.relative_to(PAIRS)))
    options = ["--by", "shape", "--top", "0"]
    if is_elsewhere(path):
        options += ["--capture", str(CAPTURES[path.parent.name])]
    if path.parent.name in MODELS and has_capture(path):
        check_missing(outcome, program, path, options)
        options += ["--model", str(ROOT / "tests" / "models" / MODELS[path.parent.name])]
    report, message = report_of(program, path, options)
    if report is None:
        outcome.check(False, message)
        return outcome
    sections = report["ranks"][0]["sections"]
    if "graphs" not in sections:
        outcome.note("no graph is launched")
        return outcome
    numbers = sections["graphs"]["numbers"]
    attributed = numbers["attributed"]["value"]
    outcome.note(
        f"attributed {attributed:.3%}, with FLOPs or bytes {numbers['costed']['value']:.3%}"
    )
    if not has_capture(path):
        outcome.check(attributed == 0, f"attributed {attributed}, but no capture is there")
        return outcome
    outcome.check(attributed >= ATTRIBUTED_MIN, f"attributed {attributed:.3%}")
    with_module = numbers["attributed_module"]["value"]
    outcome.check(with_module >= ATTRIBUTED_MIN, f"with a module {with_module:.3%}")
    costed = numbers["costed"]["value"]
    outcome.check(costed >= COSTED_MIN, f"with FLOPs or bytes {costed:.3%}")
    table = TABLES / path.parent.name / "GEMM.csv"
    if table.is_file():
        check_products(outcome, sections, table)
    attention = table.with_name("InferenceAttention_fwd.csv")
    if attention.is_file() and path.parent.name not in MODELS:
        check_attention(outcome, sections, attention)
    return outcome


def main() -> None:
    program = program_of(sys.argv)
    skip_without(PAIRS)
    total = Outcome("graphs")
    for path in replays():
        total.add(check_replay(program, path))
    total.finish()


if __name__ == "__main__":
    main()
