"""The section of docs/benchmarks.md on counting models on the device `meta`; bench/meta_counting.py measures, in a Python with torch."""

from __future__ import annotations

from typing import Any

from torch_python import measured_with_torch
from write_page import stamp, table

TITLE = "## Counting models that no machine holds"


def meta_section(rounds: int) -> str:
    """Markdown, with its title; says so where PyTorch is not here."""
    found = measured_with_torch("meta_counting.py", rounds)
    if found is None:
        return f"{TITLE}\n\nNot measured: PyTorch was not here.\n"
    return write_section(found, rounds)


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
