#!/usr/bin/env python3
"""Planned beside measured memory of the fullest device: check_plan_memory.py PROGRAM [--write]

Published runs that tell their memory (BLOOM's page and torchtitan's, in reference/published_runs.tsv), two logs of
Megatron, and layouts of BLOOM's page that ran out of memory, all in the folder of other people's data
(FLOPLEDGER_SHARED, or ../shared), are planned. Errors must stay within LIMITS, and docs/plan-accuracy.md must hold the table
that is made of them: --write writes it there. Skips without the folder.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from check_plan import DOCUMENT, accumulates_in_32_bits, published_run, with_tables
from check_published_runs import number, read_table
from planned_runs import ninety
from shared_traces import SHARED, Outcome, program_of, skip_without

H200 = {"device": "NVIDIA H200"}
HEADER = "| source, measured as | runs | median % | mean % | p90 % | bias % |"
PARTITIONED = "BLOOM, gradients in 16 bits: nvidia-smi"
ACCUMULATED = "BLOOM, gradients in 16 and in 32 bits: nvidia-smi"
LAYERS = "torchtitan, whole layers recomputed: reserved"
PRODUCTS = "torchtitan, each second matmul recomputed: reserved"
PIPELINED = "torchtitan, FSDP in a pipeline: reserved"
ALLOCATED = "Megatron-LM's logs of 2021: allocated"
RESERVED = "Megatron-LM's logs of 2021: reserved"
# Most that the median of the absolute errors may be.
LIMITS = {
    PARTITIONED: 0.10,
    ACCUMULATED: 0.09,
    LAYERS: 0.20,
    PIPELINED: 0.03,
    PRODUCTS: 0.15,
    ALLOCATED: 0.12,
    RESERVED: 0.12,
}
NODES_OF_BLOOM = [
    *("--device=A100-SXM4-80GB", "--devices=384", "--seq=2048", "--recompute=full", "--zero=1"),
    *("--attention=unfused", "--no-sequence-parallel", "--uneven-stages"),
]
# Of BLOOM's page, February 25 and 28: layers, hidden, heads, TP, PP, micro-batch, batch, bytes of gradients.
OUT_OF_MEMORY = [
    (72, 14336, 64, 8, 1, 1, 2016, 2),
    (72, 14336, 64, 2, 6, 2, 2048, 2),
    (72, 14336, 64, 2, 6, 1, 2048, 2),
    (100, 12288, 64, 4, 6, 2, 2048, 6),
    (100, 12288, 64, 4, 6, 1, 2048, 6),
    (82, 14336, 128, 4, 12, 2, 2048, 6),
]
# Log -> its arguments: layers, hidden, heads, devices, TP, PP, micro-batch, batch. 32 GB of a V100, fp16.
LOGS = {
    "bigscience_meg_gpt2_base_n8_dp1_tp4_pp8-1809562.out": (48, 7168, 32, 32, 4, 8, 1, 4),
    "bigscience_meg_ds_3d_gpt2_perf_n16-ds-off.out": (64, 8192, 32, 64, 4, 16, 4, 1024),
}
NOTED = re.compile(r"mem ([0-9.]+) ?(GiB|GB)")
REPORTED = re.compile(r"max allocated: ([0-9.]+) \| reserved: [0-9.]+ \| max reserved: ([0-9.]+)")


@dataclass
class Memory:
    total: float  # bytes
    reserved: float  # with what an allocator keeps beside
    fits: str
    runtime: float = 2e9  # which the allocator knows nothing of


def planned(program: Path, config: dict[str, object], options: list[str]) -> Memory:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(config, file)
        file.flush()
        done = subprocess.run(
            [str(program), "plan", "--json", f"--model={file.name}", *options],
            capture_output=True,
            text=True,
            check=True,
        )
    numbers = json.loads(done.stdout)["ranks"][0]["sections"]["plan_memory"]["numbers"]
    return Memory(*(numbers[key]["value"] for key in ("total", "reserved", "fits")))


def gpt_of(
    layers: int, hidden: int, heads: int, vocabulary: int, positions: int = 2048
) -> dict[str, object]:
    return {
        "model_type": "gpt2",
        "n_layer": layers,
        "n_embd": hidden,
        "n_head": heads,
        "vocab_size": vocabulary,
        "n_positions": positions,
    }


def kind_of(row: dict[str, str]) -> tuple[str, list[str]]:
    """Of a published run: how its memory was measured, and the bytes of its gradients. BLOOM's optimizer accumulates in
    32 bits, beside what the backward writes in 16, from February 28 on, as its page says."""
    if row["source"].startswith("bigscience"):
        late = accumulates_in_32_bits(row)
        return ACCUMULATED if late else PARTITIONED, [f"--gradient-bytes={6 if late else 2}"]
    if number(row, "pp") > 1:
        return PIPELINED, ["--uneven-stages"]
    return LAYERS if row["activation_checkpointing"] == "full" else PRODUCTS, []


def as_pipelined(row: dict[str, str]) -> dict[str, str]:
    """Of torchtitan's pipelines, whose column has the batch of a rank: as many micro-batches as stages, and two stages a
    rank where they are interleaved (pipelining_utils.py of December 2024)."""
    stages = number(row, "pp")
    if not row["source"].startswith("pytorch/torchtitan") or stages <= 1:
        return row
    chunks = "2" if "Interleaved" in row["notes"] else "1"
    return row | {"micro_batch": str(number(row, "micro_batch") / stages), "vp": chunks}


def published_errors(program: Path, outcome: Outcome) -> dict[str, list[float]]:
    """nvidia-smi's GB are GiB: a card of 80 of them is said to be full."""
    errors: dict[str, list[float]] = defaultdict(list)
    for row in read_table():
        noted = NOTED.search(row["notes"])
        if not noted or "primus" in row["id"]:
            continue
        # Which device, memory does not depend on.
        run = published_run(as_pipelined(row) | ({} if "A100" in row["device"] else H200))
        if isinstance(run, str):
            continue
        kind, more = kind_of(row)
        options = [word for word in run.options if not (more and "gradient-bytes" in word)] + more
        memory = planned(program, json.loads(run.config), options)
        outcome.check(memory.fits != "no", f"{row['id']}: ran, but is said not to fit")
        shown = memory.reserved - (memory.runtime if kind.endswith("reserved") else 0.0)
        errors[kind].append(shown / (float(noted[1]) * 2**30) - 1)
    return errors


def logged_errors(program: Path) -> dict[str, list[float]]:
    """What the allocator knows of the fullest rank."""
    errors: dict[str, list[float]] = defaultdict(list)
    for name, (layers, hidden, heads, devices, tensor, stages, micro, batch) in LOGS.items():
        text = (SHARED / "logs" / name).read_text(encoding="utf-8", errors="replace")
        ranks = REPORTED.findall(text)
        memory = planned(
            program,
            gpt_of(layers, hidden, heads, 50688, 1024),
            [
                *("--device=V100-SXM2-32GB", "--dtype=fp16", "--seq=1024", "--recompute=full"),
                *("--attention=unfused", "--no-sequence-parallel", "--gradient-bytes=2"),
                *(f"--devices={devices}", f"--tp={tensor}", f"--pp={stages}"),
                *(f"--micro-batch={micro}", f"--global-batch={batch}"),
            ],
        )
        for kind, index in ((ALLOCATED, 0), (RESERVED, 1)):
            most = max(float(rank[index]) for rank in ranks) * 2**20
            planned_bytes = memory.reserved if kind == RESERVED else memory.total
            errors[kind].append((planned_bytes - memory.runtime) / most - 1)
    return errors


def refused(program: Path) -> list[str]:
    """What is said of layouts that ran out of memory."""
    said = []
    for layers, hidden, heads, tensor, stages, micro, batch, bytes_ in OUT_OF_MEMORY:
        options = [
            *(f"--tp={tensor}", f"--pp={stages}", f"--micro-batch={micro}"),
            *(f"--global-batch={batch}", f"--gradient-bytes={bytes_}"),
        ]
        config = gpt_of(layers, hidden, heads, 250880)
        said.append(planned(program, config, NODES_OF_BLOOM + options).fits.split(":")[0])
    return said


def main() -> None:
    skip_without(SHARED)
    program = program_of([word for word in sys.argv if not word.startswith("--")])
    outcome = Outcome("memory of plans")
    errors = published_errors(program, outcome) | logged_errors(program)
    lines = [HEADER, "|---|---|---|---|---|---|"]
    for kind, those in sorted(errors.items()):
        absolute = [abs(error) for error in those]
        figures = " | ".join(f"{100 * of(absolute):.1f}" for of in (median, mean, ninety))
        lines.append(f"| {kind} | {len(those)} | {figures} | {100 * median(those):+.1f} |")
        if kind in LIMITS:
            outcome.check(median(absolute) <= LIMITS[kind], f"{kind}: {median(absolute):.3f}")
    said = refused(program)
    surprised = said.count("yes")
    outcome.check(surprised <= 1, f"ran out of memory, and are planned to fit: {said}")
    table = "\n".join(lines) + "\n"
    sentence = f"Of six layouts that ran out of memory, {len(said) - surprised} are not said to fit"
    if "--write" in sys.argv:
        text = DOCUMENT.read_text(encoding="utf-8")
        DOCUMENT.write_text(with_tables(text, [table]), encoding="utf-8")
    text = DOCUMENT.read_text(encoding="utf-8")
    outcome.check(
        table in text, f"{DOCUMENT.name} has other figures; --write writes these:\n{table}"
    )
    outcome.check(sentence in " ".join(text.split()), f"{DOCUMENT.name} lacks: {sentence}")
    total = Outcome("all")
    total.add(outcome)
    total.finish()


if __name__ == "__main__":
    main()
