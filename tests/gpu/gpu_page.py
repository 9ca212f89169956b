#!/usr/bin/env python3
"""Writes docs/gpu.md: gpu_page.py [RESULT...]

Each RESULT (build/gpu/proof.json of a run) is kept in tests/gpu/results/, by its device and date, with what was recorded, up to two
megabytes a file: tests/gpu/test_proof.py checks those recordings wherever it runs. The page is made of all results that are there.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "gpu.md"
RESULTS = HERE / "results"
KEPT_BYTES = 2 << 20
HEAD = """# On a GPU: what is proven, and how

`./dev test gpu` runs this on one GPU in about ten minutes. It needs a Python whose torch reaches the GPU, which it looks for itself
(`FLOPLEDGER_TEST_PYTHON` names another), and builds the program; where nothing can be installed, `FLOPLEDGER_TEST_PROGRAM` names one
that was built elsewhere. Without a GPU it says in a line what is lacking, and ends.

Every check compares a number of flopledger with one that was found another way: by the device's own events, by the allocator, by the
sizes of the model, by an independent ledger in exact arithmetic, by nvidia-smi. The same checks run on every machine, on stand-ins
(`./dev test gpu-stand-ins`): a processor whose recordings get the launches and kernels of a simulated device, a simulated allocator,
and a library that answers as NVIDIA's reference of NVML says, refusals, divided and lost GPUs too (`./dev test nvml`); and each is
shown to fail where something is wrong. That proves the checks, and says nothing of a GPU.

This page is written by `tests/gpu/gpu_page.py build/gpu/proof.json`.

## What is measured
"""
NONE = """
## Results

No GPU has run this yet: there are no results, and nothing on this page is a measurement.
"""
TITLES = {
    "training": "Training, recorded",
    "advice": "What the advice names first",
    "forecast": "Memory at twice the batch",
    "out of memory": "Running out of memory, explained",
    "products": "Products",
    "live": "`serve` beside other programs",
    "overhead": "What recording costs",
    "window": "Around a recorded window",
    "graphs": "Replays of CUDA graphs",
    "files": "What was recorded",
    "seconds": "How long the parts took",
}


def parts() -> list[str]:
    """What each part says of itself, in its first lines."""
    texts = []
    for path in HERE.glob("part_*.py"):
        told = ast.get_docstring(ast.parse(path.read_text()))
        texts.append(re.sub(r"^(\w)\. ", r"- **\1.** ", " ".join((told or "").split())))
    return sorted(texts)


def cell(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value).replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= 60 else text[:57] + "..."


def table(heads: list[str], rows: list[list[Any]]) -> str:
    lines = [heads, ["---"] * len(heads), *([cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def section_of(result: dict[str, Any]) -> str:
    machine = result["machine"]
    passed = sum(check["is_right"] for check in result["checks"])
    lines = [f"\n## {machine.get('device', 'not known')}, {machine.get('date', 'no date')}\n"]
    lines.append(
        f"Driver {machine.get('driver', 'not known')}, CUDA {machine.get('cuda', 'not known')}, torch "
        f"{machine.get('torch', 'not known')}: {passed} of {len(result['checks'])} checks passed.\n"
    )
    rows = []
    for check in result["checks"]:
        apart = "equal" if check["tolerance"] == 0 else f"{100 * check['tolerance']:g} %"
        row = [check["part"], check["case"], check["what"], check["ours"], check["truth"], apart]
        rows.append([*row, check["unit"] if check["is_right"] else "**failed**"])
    lines.append(table(["part", "of", "what", "flopledger", "truth", "within", "unit"], rows))
    for name, cells in result["tables"].items():
        heads = list(dict.fromkeys(key for row in cells for key in row))
        lines.append(f"\n### {TITLES.get(name, name)}\n")
        lines.append(table(heads, [[row.get(head) for head in heads] for row in cells]))
    if result["skipped"]:
        lines.append("\nNot checked there: " + "; ".join(result["skipped"]) + ".\n")
    return "\n".join(lines)


def page_of(found: list[dict[str, Any]]) -> str:
    text = HEAD + "\n" + "\n".join(parts()) + "\n"
    return text + ("".join(map(section_of, found)) if found else NONE)


def results() -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]


def keep(path: Path) -> None:
    result = json.loads(path.read_text())
    machine = result["machine"]
    name = re.sub(r"[^A-Za-z0-9]+", "-", f"{machine['device']} {machine['date']}").strip("-")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    for trace in sorted(path.parent.glob("recorded/captures-*/**/*.pt.trace.json.gz")):
        if trace.stat().st_size <= KEPT_BYTES:
            way = trace.relative_to(path.parent / "recorded").parts[0].removeprefix("captures-")
            (RESULTS / name).mkdir(exist_ok=True)
            shutil.copyfile(trace, RESULTS / name / f"{way}.pt.trace.json.gz")


def main() -> None:
    for path in sys.argv[1:]:
        keep(Path(path))
    PAGE.write_text(page_of(results()))


if __name__ == "__main__":
    main()
