#!/usr/bin/env python3
"""Plans beside runs of our own on one GPU: check_own_plans.py PROGRAM [--write]

The runs are those of tests/gpu/runs_to_plan.py, kept in tests/gpu/results/runs-to-plan-*.jsonl: models of transformers, whose code is
neither Megatron's nor a server's. No constant of the plan was chosen on them. --write puts the table into docs/plan-accuracy.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from shared_traces import Outcome, program_of

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "tests" / "gpu" / "results"
DOCUMENT = ROOT / "docs" / "plan-accuracy.md"
MARKS = ("<!-- own runs -->\n", "<!-- /own runs -->\n")
DEVICES = {"NVIDIA H100 80GB HBM3": "H100 SXM", "NVIDIA H200": "H200 SXM"}
OPTIONS = {"eager": ["--eager"], "recompute": ["--eager", "--recompute", "full"], "compile": []}
RUNTIME = 2e9  # of the plan, which the allocator knows nothing of
SLOW_GELU = "gpt2"  # told apart: its gelu is eight kernels
# As the worst that may be: the median of the absolute errors of the step's time, and of the allocator's peak.
TIME_AT_MOST, MEMORY_AT_MOST = 0.13, 0.04


def numbers_of(program: str, row: dict[str, Any]) -> dict[str, Any]:
    words = ["--device", DEVICES[row["device"]], "--json"]
    words += ["--model", str(ROOT / "tests" / "models" / f"{row['model']}.json")]
    if row["way"] in ("prefill", "decode"):
        words += ["--context", str(row["seq"])]
    else:
        batch = str(row["batch"])
        words += ["--devices", "1", "--tp", "1", "--seq", str(row["seq"])]
        words += ["--global-batch", batch, "--micro-batch", batch, *OPTIONS[row["way"]]]
    done = subprocess.run([program, "plan", *words], capture_output=True, text=True, check=True)
    sections = json.loads(done.stdout)["ranks"][0]["sections"]
    return {
        f"{section}.{key}": number.get("value")
        for section, part in sections.items()
        for key, number in part["numbers"].items()
    } | {"tables": [part["tables"] for part in sections.values()]}


def planned_ms(row: dict[str, Any], numbers: dict[str, Any]) -> float | None:
    if row["way"] == "prefill":
        return float(numbers["plan_serving.prefill_time"]) / 1e6
    if row["way"] == "decode":
        for tables in numbers["tables"]:
            for each in tables.get("decode", {}).get("rows", []):
                if each.get("requests") == row["batch"]:
                    return float(each["token_time"]) / 1e6
        return None
    return float(numbers["plan.step_time"]) / 1e6


def line_of(program: str, row: dict[str, Any]) -> dict[str, Any]:
    numbers = numbers_of(program, row)
    planned = planned_ms(row, numbers)
    memory = numbers.get("plan_memory.total")
    if memory is not None:
        memory -= RUNTIME
    assert planned is not None, row
    return row | {
        "planned": planned,
        "error": planned / row["ms"] - 1,
        "memory": None if memory is None else memory / row["allocated_peak_bytes"] - 1,
    }


def table_of(rows: list[dict[str, Any]]) -> str:
    first = rows[0]
    lines = [
        f"{first['device']}, torch {first['torch']}, transformers {first['transformers']}, by `tests/gpu/runs_to_plan.py`; planned by",
        "`tests/oracle/check_own_plans.py build/release/flopledger --write`.",
        "",
        "| model | way | batch x tokens | measured ms | planned ms | % | allocator's peak, GB | planned, % |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        memory = "" if row["memory"] is None else f"{100 * row['memory']:+.1f}"
        lines.append(
            f"| {row['model']} | {row['way']} | {row['batch']} x {row['seq']} | {row['ms']:.1f} | {row['planned']:.1f} "
            f"| {100 * row['error']:+.1f} | {row['allocated_peak_bytes'] / 1e9:.1f} | {memory} |"
        )
    return "\n".join(lines) + "\n"


def write(table: str) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(MARKS[0])
    DOCUMENT.write_text(before + MARKS[0] + table + MARKS[1] + rest.split(MARKS[1])[1])


def main() -> None:
    program = program_of([word for word in sys.argv if not word.startswith("--")])
    rows = []
    for path in sorted(RESULTS.glob("runs-to-plan-*.jsonl")):
        rows += [json.loads(line) for line in path.read_text().splitlines()]
    made = [line_of(program, row) for row in rows]
    devices = dict.fromkeys(row["device"] for row in made)
    tables = [table_of([row for row in made if row["device"] == device]) for device in devices]
    table = "\n".join(tables)
    if "--write" in sys.argv:
        write(table)
    trained = [row for row in made if row["memory"] is not None]
    usual = [row for row in trained if row["model"] != SLOW_GELU]
    outcome = Outcome("plans beside runs of our own")
    middle = median(abs(row["error"]) for row in usual)
    outcome.check(middle <= TIME_AT_MOST, f"times are {middle:.3f} off")
    middle = median(abs(row["memory"]) for row in trained)
    outcome.check(middle <= MEMORY_AT_MOST, f"memory is {middle:.3f} off")
    outcome.check(
        table in DOCUMENT.read_text(encoding="utf-8"), f"{DOCUMENT.name}: --write it anew"
    )
    outcome.finish()


if __name__ == "__main__":
    main()
