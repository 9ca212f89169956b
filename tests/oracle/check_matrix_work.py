#!/usr/bin/env python3
"""Other people's traces: the ledger closes down to the model's FLOPs, kernels are classified, Tensor Cores are found.

    check_matrix_work.py PROGRAM

- In every trace the lines of the ledger sum exactly to those above them, and each step's matrix work to its parts.
- In every trace with kernels at least 95 % of the kernels' time has a class; the share of each is printed.
- Where the names can be read, the share of kernels on matrix units is right, beside what the rule of older tools gives.
- Names of kernels.tsv have the class and the unit that the table says.

Needs the folder of other people's traces: FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from shared_traces import SHARED, Outcome, program_of, report_of, skip_without

CLASSIFIED_MIN = 0.95
PARTS = ("unpriced", "below_peak", "recomputed", "extra", "model")

# Share of kernel time on matrix units, read from the kernels' names by people; and what a list of name parts that ends
# with Ampere finds.
TENSOR_CORES = {
    "tracelens/b200/eager_trace.json.gz": (0.60, 0.0),
    "tracelens/h100/gaunernst_bert-small-uncased__1016001.json.gz": (0.765, 0.322),
}
OLD_RULE = (
    "h884 s884 h1688 s1688 hmma i8816 16816 dgrad_1x1_stride_2x2 first_layer_wgrad_kernel conv1x1 conv2d_c1_k1 "
    "direct_group xmma_implicit_gemm xmma_sparse_conv xmma_warp_specialized_implicit_gemm xmma_gemm xmma_sparse_gemm "
    "c1688"
).split()

# Labels of kernels.tsv whose class follows from the name alone.
CLASSES = {
    "gemm-tc": {"matmul", "attention"},
    "gemm-nontc": {"matmul", "convolution"},
    "conv-tc": {"convolution"},
    "conv-nontc": {"convolution"},
    "attention-tc": {"attention"},
    "comm": {"communication"},
    "norm": {"normalization"},
    "softmax": {"softmax"},
    "triton": {"triton"},
}
UNITS = {"gemm-tc": "yes", "conv-tc": "yes", "attention-tc": "yes"}
UNITS |= {"gemm-nontc": "no", "conv-nontc": "no"}
# Labels there that contradict the name: tensor instructions labelled as vector ones, and the reverse.
ODD_LABELS = (
    "volta_h884gemm",
    "volta_h16gemm",
    "ampere_fp16_sgemm",
    "volta_gemm_kernel",
    "volta_sgemm_128x128_ldg",
)


def table(sections: dict[str, Any], section: str, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        sections.get(section, {}).get("tables", {}).get(name, {}).get("rows", [])
    )
    return rows


def check_ledger(outcome: Outcome, sections: dict[str, Any]) -> None:
    rows = [row for row in table(sections, "step_ledger", "ledger") if row["mean"] is not None]
    for column in ("mean", "total"):
        whole = rows[0][column]
        outcome.check(
            sum(row[column] for row in rows[1:] if row["depth"] == 0) == whole,
            f"{column}: the accounts do not sum to the step",
        )
        for at, row in enumerate(rows):
            below = []
            for other in rows[at + 1 :]:
                if other["depth"] <= row["depth"]:
                    break
                if other["depth"] == row["depth"] + 1:
                    below.append(other[column])
            if below and sum(below) != row[column]:
                outcome.check(False, f"{column}: what is below {row['account']} does not sum to it")
    for row in table(sections, "model_flops_utilization", "steps"):
        outcome.check(
            sum(row[part] for part in PARTS) == row["matrix"],
            f"step {row['step']}: the parts of its matrix work do not sum to it",
        )
        outcome.check(
            all(row[part] >= 0 for part in PARTS if part != "below_peak"),
            f"step {row['step']}: a part of its matrix work is negative",
        )


# what timings of pipelines name, which are no kernels
PIPELINE_PIECES = {"forward", "backward"}


def check_classes(outcome: Outcome, name: str, sections: dict[str, Any]) -> None:
    kernels = table(sections, "kernels", "by_name")
    total = sum(row["total"] for row in kernels)
    other = sum(row["total"] for row in kernels if row["class_key"] == "other")
    if total == 0 or all(row["kernel"] in PIPELINE_PIECES for row in kernels):
        return
    share = 1 - other / total
    on_units = sum(row["total"] for row in kernels if row["matrix_unit"] == "yes") / total
    old_rule = sum(
        row["total"] for row in kernels if any(part in row["kernel"] for part in OLD_RULE)
    )
    outcome.note(
        f"{100 * share:.2f} % classified, {100 * on_units:.1f} % on matrix units "
        f"(by the older rule {100 * old_rule / total:.1f} %)"
    )
    outcome.check(share >= CLASSIFIED_MIN, f"only {100 * share:.1f} % of kernel time has a class")
    if name in TENSOR_CORES:
        by_people, by_old_rule = TENSOR_CORES[name]
        outcome.check(abs(on_units - by_people) < 0.01, f"{by_people} is on matrix units")
        outcome.check(
            abs(old_rule / total - by_old_rule) < 0.005, "the older rule gave another share"
        )
        told = sections["tensor_core_use"]["numbers"]["share_of_busy"]["value"]
        outcome.check(abs(told - by_people) < 0.015, f"the report says {told}, not {by_people}")


def check_trace(program: Path, path: Path) -> Outcome | None:
    name = str(path.relative_to(SHARED / "traces"))
    outcome = Outcome(name)
    report, _ = report_of(program, path, ["--top", "0"])
    if not report or not report["ranks"]:
        return None
    if "step_ledger" not in report["ranks"][0]["sections"]:
        return None  # a timeline of pipelines: check_stragglers.py
    check_ledger(outcome, report["ranks"][0]["sections"])
    whole, _ = report_of(program, path, ["--top", "0", "--window", "whole"])
    if whole:
        check_ledger(outcome, whole["ranks"][0]["sections"])
        check_classes(outcome, name, whole["ranks"][0]["sections"])
    return outcome


def check_names(program: Path) -> Outcome:
    outcome = Outcome("kernels.tsv")
    with (SHARED / "reference" / "kernels.tsv").open() as file:
        lines = [line for line in file if not line.startswith("#")]
    names = [row for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)][1:]
    events = [
        {"ph": "X", "cat": "kernel", "name": row[0], "pid": 0, "tid": 7, "ts": 2 * at, "dur": 1}
        | {"args": {"device": 0, "stream": 7, "correlation": at + 1}}
        for at, row in enumerate(names)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "names.json"
        path.write_text(json.dumps({"traceEvents": events}))
        report, message = report_of(program, path, ["--top", "0"])
    if not report:
        outcome.check(False, message)
        return outcome
    told = {
        row["kernel"]: row for row in table(report["ranks"][0]["sections"], "kernels", "by_name")
    }
    for name, label, *_ in names:
        if name not in told or name.startswith(ODD_LABELS):
            continue
        row = told[name]
        if label in CLASSES:
            outcome.check(
                row["class_key"] in CLASSES[label], f"{name[:90]}: {row['class_key']}, not {label}"
            )
        if label in UNITS:
            outcome.check(
                row["matrix_unit"] == UNITS[label],
                f"{name[:90]}: on matrix units: {row['matrix_unit']}, but {label}",
            )
    return outcome


def main() -> None:
    program = program_of(sys.argv)
    skip_without(SHARED)
    total = Outcome("all")
    for path in sorted((SHARED / "traces").rglob("*.json*")):
        if path.is_file() and "broken" not in path.parts:
            outcome = check_trace(program, path)
            if outcome:
                total.add(outcome)
    total.add(check_names(program))
    total.finish()


if __name__ == "__main__":
    main()
