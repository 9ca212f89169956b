#!/usr/bin/env python3
"""Calculon beside `flopledger plan` on measured steps: compare_calculon.py PROGRAM CHECKOUT [--write]

CHECKOUT is a clone of https://github.com/calculon-ai/calculon, of which nothing is part of this project. Each row of
check_plan.py that Calculon can express is told to it (application, execution, system) and run by it, and planned. Prints how far both are off, by source, and what Calculon cannot express; --write puts it into docs/plan-accuracy.md.
Skips without the folder of other people's data, or without CHECKOUT. Calculon imports pandas.
"""

from __future__ import annotations

import importlib
import json
import logging
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from statistics import mean, median
from typing import Any

from check_plan import DOCUMENT, measured_runs, plan
from planned_runs import Run, by_configuration, kendall, ninety, order_of_layouts
from shared_traces import SHARED, program_of, skip_without

# How a device is called here -> the file of Calculon that describes it.
SYSTEMS = {"A100-SXM4-80GB": "a100_80g.json", "H100 SXM": "h100_80g_nvl8.json"}
NODE = 8
RECOMPUTE = {"full": "full", "selective": "attn_only", "none": "none"}
START = "<!-- Calculon -->"
END = "<!-- /Calculon -->"


@dataclass
class Beside:
    """The rows of one source, as each of both plans them."""

    theirs: list[Run] = field(default_factory=list)
    ours: list[Run] = field(default_factory=list)
    out_of_memory: int = 0  # by Calculon, of rows that ran


def options_of(run: Run) -> dict[str, str]:
    """Options of `plan` by name, with "" for one without a value; some stand as two words."""
    options: dict[str, str] = {}
    name = ""
    for word in run.options:
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            options[name] = value
        else:
            options[name] = word
    return options


def beyond_calculon(run: Run, options: dict[str, str]) -> str:
    """What of a row Calculon has no word for; "" where it has all."""
    config = json.loads(run.config)
    if options["device"] not in SYSTEMS:
        return "a device that it has no file of"
    if config["model_type"] != "gpt2":
        return "gated feed-forwards, grouped keys or experts"
    if int(options.get("zero", "0")) > 1:
        return "ZeRO 2, ZeRO 3 or FSDP"
    if "cp" in options or "ep" in options:
        return "context or expert parallelism"
    if config["n_embd"] % config["n_head"]:
        return "heads that do not divide the width"
    return ""


def application_of(run: Run, options: dict[str, str]) -> dict[str, int]:
    config = json.loads(run.config)
    return {
        "hidden": config["n_embd"],
        "feedforward": config.get("n_inner") or 4 * config["n_embd"],
        "seq_size": int(options["seq"]),
        "attn_heads": config["n_head"],
        "attn_size": config["n_embd"] // config["n_head"],
        "num_blocks": config["n_layer"],
    }


def execution_of(options: dict[str, str]) -> dict[str, object]:
    """Ranks as Megatron lays them: tensor groups inside, then data, and stages outside; each on one of its two networks,
    that of a node or the one between nodes."""
    devices = int(options["devices"])
    tensor, stages = int(options.get("tp", "1")), int(options.get("pp", "1"))
    data = devices // tensor // stages
    return {
        "num_procs": devices,
        "tensor_par": tensor,
        "pipeline_par": stages,
        "data_par": data,
        "tensor_par_net": int(tensor > NODE),
        "data_par_net": int(tensor * data > NODE),
        "pipeline_par_net": int(devices > NODE),
        "batch_size": int(options["global-batch"]),
        "microbatch_size": int(options["micro-batch"]),
        "datatype": "float8" if options.get("dtype") == "fp8" else "float16",
        "fused_activation": True,
        "attention_type": "multihead",
        "activation_recompute": RECOMPUTE[options["recompute"]],
        "pipeline_interleaving": int(options.get("vp", "1")),
        "optimizer_sharding": options.get("zero", "0") == "1" and data > 1,
        "tensor_par_comm_type": "ar" if "no-sequence-parallel" in options else "rs_ag",
        "tensor_par_overlap": "ring" if "overlap-tp" in options and tensor > 1 else "none",
        "seq_par_ag_redo": False,
        "data_par_overlap": "no-overlap" not in options and data > 1,
        "weight_offload": False,
        "activations_offload": False,
        "optimizer_offload": False,
        "training": True,
    }


def system_of(checkout: Path, options: dict[str, str], roomy: bool) -> dict[str, Any]:
    """Its own file of the device, with the source's network between nodes, as the plan has it."""
    system: dict[str, Any] = json.loads(
        (checkout / "systems" / SYSTEMS[options["device"]]).read_text(encoding="utf-8")
    )
    if "network" in options:
        system["networks"][1]["bandwidth"] = float(options["network"]) / NODE
    if roomy:
        system["mem1"]["GiB"] = 1 << 20
    return system


def calculon_time(calculon: Any, checkout: Path, run: Run, roomy: bool = False) -> float:
    options = options_of(run)
    model = calculon.Llm(
        calculon.Llm.Application(application_of(run, options)), logging.getLogger("calculon")
    )
    system = calculon.System(system_of(checkout, options, roomy))
    model.compile(system, calculon.Llm.Execution.from_json(execution_of(options)))
    model.run(system)
    return float(model.get_total_time())


def run_both(
    calculon: Any, checkout: Path, runs: list[Run]
) -> tuple[dict[str, Beside], Counter[str]]:
    """Where Calculon says that a row that ran does not fit, its time is that with more memory."""
    sources: dict[str, Beside] = {}
    lacking: Counter[str] = Counter()
    for run in runs:
        missing = beyond_calculon(run, options_of(run))
        if missing:
            lacking[missing] += 1
            continue
        full = 0
        try:
            try:
                time = calculon_time(calculon, checkout, run)
            except calculon.Llm.Error as problem:
                if not str(problem).startswith("Mem tier1"):
                    raise
                full = 1
                time = calculon_time(calculon, checkout, run, roomy=True)
        except (calculon.Llm.Error, AssertionError) as problem:
            lacking[f"refused by Calculon: {problem}"] += 1
            continue
        beside = sources.setdefault(run.source, Beside())
        beside.theirs.append(replace(run, planned=time))
        beside.ours.append(run)
        beside.out_of_memory += full
    return sources, lacking


def figures(runs: list[Run]) -> str:
    errors = [abs(run.error) for run in runs]
    return ", ".join(f"{100 * of(errors):.1f}" for of in (median, mean, ninety))


def table_of(sources: dict[str, Beside]) -> str:
    lines = [
        "| source, device | rows | Calculon: median, mean, p90 % | this plan: median, mean, p90 % "
        "| ran, but out of memory: Calculon, this plan |",
        "|---|---|---|---|---|",
    ]
    for source, beside in sorted(sources.items()):
        lines.append(
            f"| {source} | {len(beside.ours)} | {figures(beside.theirs)} | {figures(beside.ours)} "
            f"| {beside.out_of_memory}, 0 |"
        )
    return "\n".join(lines)


def orders_of(sources: dict[str, Beside]) -> str:
    """Kendall's tau of both, of sources that have a hundred pairs of layouts."""
    orders = []
    for source, beside in sorted(sources.items()):
        pairs = [order_of_layouts(runs)[:2] for runs in (beside.theirs, beside.ours)]
        if min(map(sum, pairs)) >= 100:
            theirs, ours = (kendall(*pair)[0] for pair in pairs)
            orders.append(f"{source} {theirs:.3f}, this plan {ours:.3f}")
    return "; ".join(orders)


def page_of(checkout: Path, sources: dict[str, Beside], lacking: Counter[str]) -> str:
    commit = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    version = importlib.import_module("calculon").__version__
    cannot = "; ".join(f"{text}: {count}" for text, count in lacking.most_common())
    return f"""{START}
[Calculon](https://github.com/calculon-ai/calculon) {version} (commit {commit}, {date.today().isoformat()}) on the rows that it
can express, by configuration, made by
`FLOPLEDGER_SHARED=... tests/oracle/compare_calculon.py build/release/flopledger CHECKOUT --write`.

{table_of(sources)}

Order of layouts, Kendall's tau: {orders_of(sources)}.

Devices are described by its own files; what the plan is told of a source's network, overlap, sequence
parallelism and recomputation, it is told too. It knows no vocabulary, no fused attention, and 8 bits only for all of a
layer. Rows that it cannot express: {cannot}.
{END}"""


def main() -> None:
    skip_without(SHARED)
    words = [word for word in sys.argv if not word.startswith("--")]
    program = program_of(words)
    if len(words) < 3:
        print("skipped: no checkout of Calculon was given\n0 passed, 0 failed, 1 skipped")
        return
    checkout = Path(words[2]).resolve()
    sys.path.insert(0, str(checkout))
    calculon = importlib.import_module("calculon")
    runs, _ = measured_runs()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for run in runs:
            (Path(folder) / f"{abs(hash(run.config))}.json").write_text(run.config)
        list(pool.map(lambda run: plan(program, run, Path(folder)), runs))
    once = by_configuration([run for run in runs if not run.problem])
    page = page_of(checkout, *run_both(calculon, checkout, once))
    print(page)
    if "--write" in sys.argv:
        text = DOCUMENT.read_text(encoding="utf-8")
        before, rest = text.split(START)
        DOCUMENT.write_text(before + page + rest.split(END)[1], encoding="utf-8")


if __name__ == "__main__":
    main()
