"""Properties of databases of Nsight Systems: whatever form a version gives them, the report is the same."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from ledger_script import Plan
from make_trace import make_trace
from nsys_database import write_database
from nsys_programs import write_model
from nsys_shapes import SAME_STATS, SHAPES, reshape
from nsys_writer import NSYS_STYLE, SCHEMAS, Extras, Schema
from program_report import SECONDS_MAX, Failure, run_report, unlike

# Sections that do not tell by which numbers a process calls its devices.
SECTIONS = (
    "advice",
    "step_ledger",
    "gpu_idle",
    "kernels",
    "copies",
    "overlap",
    "launches",
    "operators",
    "collectives",
)
STATS = (
    "cuda_api_sum",
    "cuda_api_trace",
    "cuda_gpu_kern_sum",
    "cuda_gpu_mem_size_sum",
    "cuda_gpu_mem_time_sum",
    "cuda_gpu_trace",
    "cuda_kern_exec_sum",
    "nvtx_gpu_proj_sum",
    "nvtx_kern_sum",
    "nvtx_pushpop_sum",
    "nvtx_sum",
)


def write_any_database(path: Path, seed: object, schema: Schema, ranks: int) -> None:
    """One of those the generator can make, with all that may be recorded beside kernels."""
    extras = Extras(
        has_metrics=True, has_page_faults=True, has_system_calls=True, has_payloads=True
    )
    if ranks == 0:
        write_model(path, 3, schema, extras)
        return
    traces = [make_trace(f"{seed} {rank}", Plan(2, 4, True), NSYS_STYLE) for rank in range(ranks)]
    write_database(path, traces, schema, extras)


def stats_of(program: Path, file: Path) -> list[bytes]:
    """Rows that are equal in what orders them stand as the file has them: lines are compared in order."""
    outputs = []
    for report in STATS:
        words = [str(program), "nsys-stats", "--format", "csv", str(file), report]
        done = subprocess.run(words, capture_output=True, timeout=SECONDS_MAX, check=False)
        outputs.append(b"\n".join(sorted(done.stdout.splitlines())))
    return outputs


def every_form_of_a_database_is_read(case: Any) -> None:
    schema = case.rng.choice(list(SCHEMAS.values()))
    folder = case.folder / "forms"
    folder.mkdir()
    whole, file = folder / "whole.sqlite", folder / "run.sqlite"
    write_any_database(whole, case.seed, schema, case.rng.randint(0, 2))
    shutil.copy(whole, file)
    expected = run_report(case.program, file)
    expected_stats = stats_of(case.program, file)
    for shape in SHAPES:
        shutil.copy(whole, file)
        reshape(file, shape, case.seed)
        read = run_report(case.program, file)
        where = f"schema {schema.version}, {shape.__name__}"
        if read.code != expected.code or len(read.ranks) != len(expected.ranks):
            raise Failure(f"{where}: code {read.code}, {len(read.ranks)} ranks")
        for rank, (left, right) in enumerate(zip(expected.ranks, read.ranks)):
            for name in SECTIONS:
                if left.get(name) != right.get(name):
                    raise Failure(
                        f"{where}, rank {rank}: {name}{unlike(left.get(name), right.get(name))}"
                    )
        if shape in SAME_STATS and stats_of(case.program, file) != expected_stats:
            raise Failure(f"{where}: nsys-stats does not print the same")
