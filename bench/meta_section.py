"""The section of docs/benchmarks.md on counting models on the device `meta`; bench/meta_counting.py measures, in a Python with torch."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from make_input import FOLDER, ROOT
from measure import Failed
from overhead_section import find_python
from write_page import stamp, table

TITLE = "## Counting models that no machine holds"
PACKAGE = ROOT / "build/release/python"


def meta_section(rounds: int) -> str:
    """Markdown, with its title; says so where PyTorch is not here."""
    python = find_python()
    if python is None:
        return f"{TITLE}\n\nNot measured: PyTorch was not here.\n"
    result = FOLDER / "meta.json"
    command = [python, ROOT / "bench/meta_counting.py", "--package", PACKAGE]
    command += ["--rounds", rounds, "--json", result]
    done = subprocess.run(
        [str(word) for word in command], env=dict(os.environ, OMP_NUM_THREADS="1"), check=False
    )
    if done.returncode != 0:
        raise Failed(f"bench/meta_counting.py: exit status {done.returncode}")
    return write_section(json.loads(result.read_text()), rounds)


def row_of(name: str, one: dict[str, Any]) -> list[str]:
    if "why_not" in one:
        return [name, f"not measured: {one['why_not']}", "", "", "", ""]
    flops, seconds = one["flops"], one["seconds"]
    return [
        name,
        f"{seconds['ours']:.2f}",
        f"{seconds['theirs']:.2f}",
        f"{one['ratio']:.2f}",
        f"{flops['ours'] / 1e12:,.1f}",
        f"{flops['theirs'] / 1e12:,.1f}",
    ]


def write_section(found: dict[str, Any], rounds: int) -> str:
    head = ["model", "`get_model_profile`, s", "FlopCounterMode, s", "ratio", "its TFLOP", "theirs"]
    lines = [
        TITLE,
        "",
        f"One forward pass of 2,048 tokens on PyTorch's device `meta` (torch {found['torch']}), processor time, {rounds} rounds by "
        "turns in one process. FlopCounterMode has no formula for norms, activations and experts computed as one grouped product.",
        "",
        table(head, [row_of(name, one) for name, one in found["models"].items()]),
        "",
        stamp("meta"),
    ]
    return "\n".join(lines) + "\n"
