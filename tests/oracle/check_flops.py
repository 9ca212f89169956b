#!/usr/bin/env python3
"""FLOPs by module from traces alone equal those that others counted: check_flops.py PROGRAM

Other people's captures ($FLOPLEDGER_SHARED, else ../shared; skipped where they are not) have their exact totals by module and
phase beside them, and what torch's FlopCounterMode counted while they ran. That counter has two errors, which are taken out
here: the fused attention of the CPU counts nothing, and the gradient of a grouped convolution's weight counts once for each
group.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("FLOPLEDGER_SHARED", ROOT.parent / "shared"))
CAPTURES = SHARED / "recordings" / "captures"
PHASES = {"fwd": "forward", "bwd": "backward", "recompute": "recomputed"}

# What FlopCounterMode counts too often: (groups - 1) x the weight gradient of each grouped convolution.
GROUPED_WEIGHT_GRADIENTS = {
    "cnn": 3 * (2 * 2 * 16 * 16 * 32 * 8 * 9) + 7 * (2 * 2 * 8 * 8 * 64 * 8 * 9)
}
GROUPED_WEIGHT_GRADIENTS["cnn_compile"] = GROUPED_WEIGHT_GRADIENTS["cnn"]


def section_of(program: str, trace: Path) -> dict[str, Any]:
    command = [program, "flops", "--json", "--top", "0", str(trace)]
    done = subprocess.run(command, capture_output=True, check=True)
    section: dict[str, Any] = json.loads(done.stdout)["ranks"][0]["sections"]["module_cost"]
    return section


def check_modules(section: dict[str, Any], expected: dict[str, dict[str, int]]) -> list[str]:
    """Each module's own FLOPs by phase."""
    found = {row["module"]: row for row in section["tables"]["modules"]["rows"] if row["module"]}
    problems = []
    for name, row in found.items():
        for phase, title in PHASES.items():
            wanted = expected.get(name, {}).get(phase, 0)
            flops = row[f"own_{title}_flops_in_all"]
            if flops != wanted:
                problems.append(f"{name}, {title}: {flops}, not {wanted}")
    return problems + [f"no module {name}" for name in expected if name not in found]


def check_total(name: str, section: dict[str, Any], counted: int) -> list[str]:
    """The total of FlopCounterMode, its errors taken out."""
    rows = section["tables"]["ops"]["rows"]
    matrix = [row for row in rows if row["kind"] == "matrix"]
    attention = sum(row["flops_in_all"] for row in matrix if "scaled_dot_product" in row["op"])
    ours = sum(row["flops_in_all"] for row in matrix) - attention
    ours += GROUPED_WEIGHT_GRADIENTS.get(name, 0)
    return [] if ours == counted else [f"total {ours}, FlopCounterMode {counted}"]


def check_sums(section: dict[str, Any]) -> list[str]:
    """Every FLOP of the ops belongs to a module."""
    modules = section["tables"]["modules"]["rows"]
    by_module = sum(
        row[f"own_{title}_flops_in_all"] for row in modules for title in PHASES.values()
    )
    ops = section["tables"]["ops"]["rows"]
    by_op = sum(row["flops_in_all"] for row in ops if row["kind"] == "matrix")
    outside = modules[-1]
    problems = [] if by_module == by_op else [f"modules {by_module}, ops {by_op}"]
    if any(outside[f"own_{title}_flops_in_all"] for title in PHASES.values()):
        problems.append("FLOPs outside of modules")
    return problems


def check_own_capture(program: str) -> list[str]:
    """The project's own small model, by hand: two blocks of 16-32-16 and a head of 16-20, 16 rows, two steps."""
    section = section_of(program, ROOT / "tests" / "traces" / "golden" / "modules" / "tiny.json.gz")
    block, head = 2 * 2 * 16 * 16 * 32, 2 * 16 * 16 * 20
    expected = {"head": {"fwd": 2 * head, "bwd": 4 * head}}
    for index in range(2):
        for name in ("up", "down"):
            expected[f"blocks.{index}.{name}"] = {"fwd": block, "bwd": 2 * block}
        expected[f"blocks.{index}.up"]["recompute"] = block  # down breaks off
    problems = check_modules(section, expected) + check_sums(section)
    if [row["op"] for row in section["tables"]["not_counted"]["rows"]] != ["demo::scale"]:
        problems.append("demo::scale is not listed alone")
    return problems


def check_formulas(program: str) -> list[str]:
    """The same, with a formula for the op that is not known."""
    trace = ROOT / "tests" / "traces" / "golden" / "modules" / "tiny.json.gz"
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as formulas:
        formulas.write("demo::scale = 1000000 * rank(in0)\n")
        formulas.flush()
        command = [program, "flops", "--json", "--formulas", formulas.name, str(trace)]
        done = subprocess.run(command, capture_output=True, check=True)
    section = json.loads(done.stdout)["ranks"][0]["sections"]["module_cost"]
    root = section["tables"]["modules"]["rows"][0]
    ours = root["own_forward_flops_in_all"]
    return [] if ours == 2 * 3_000_000 else [f"demo::scale counts {ours}"]


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    program = sys.argv[1]
    problems = [f"own capture: {problem}" for problem in check_own_capture(program)]
    problems += [f"formulas: {problem}" for problem in check_formulas(program)]
    failed = bool(problems)
    traces = sorted(CAPTURES.glob("*.json.gz"))
    for trace in traces:
        name = trace.name.removesuffix(".json.gz")
        section = section_of(program, trace)
        exact = json.loads((CAPTURES / f"{name}.ours.json").read_text())
        found = check_modules(section, exact) + check_sums(section)
        golden = CAPTURES / f"{name}.golden.json"
        if golden.exists():
            found += check_total(name, section, json.loads(golden.read_text())["total"])
        failed += bool(found)
        problems += [f"{name}: {problem}" for problem in found[:8]]
    print("\n".join(problems))
    skipped = 0 if traces else 1
    if skipped:
        print(f"skipped: no captures in {CAPTURES}")
    print(f"{len(traces) + 1 - failed} passed, {int(failed)} failed, {skipped} skipped")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
