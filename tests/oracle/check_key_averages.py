"""The operator table against torch's own key_averages() of the same trace (key_averages/record.py made both).

    check_key_averages.py PROGRAM

torch rounds each time to a nanosecond before it adds them up as doubles; a microsecond's hundredth is let pass.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "key_averages"
Key = tuple[str, bool, str]
Table = dict[Key, list[float]]


def shapes_key(shapes: Any) -> str:
    """torch leaves out the shapes inside lists of tensors."""
    if not shapes:
        return ""
    return json.dumps([s if all(isinstance(n, int) for n in s) else [] for s in shapes])


def from_torch(rows: list[dict[str, Any]]) -> Table:
    table: Table = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        shapes = "" if row["is_range"] else shapes_key(row["shapes"])
        sums = table[(row["name"], row["is_range"], shapes)]
        sums[0] += row["calls"]
        sums[1] += row["self_cpu_us"]
        sums[2] += row["total_cpu_us"]
    return table


def from_report(program: str, by: str) -> Table:
    options = ["report", "--json", "--top", "0", "--window", "whole", "--by", by]
    command = [program, *options, str(FOLDER / "trace.json.gz")]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    tables = report["ranks"][0]["sections"]["operators"]["tables"]
    table: Table = defaultdict(lambda: [0, 0, 0])
    for key, name in (("by_name", "operator"), ("ranges", "range")):
        for row in tables[key]["rows"]:
            shapes = shapes_key(json.loads(row.get("input_shapes") or "null"))
            sums = table[(row[name], key == "ranges", shapes)]
            sums[0] += row["calls"]
            sums[1] += row["self_cpu"] / 1000
            sums[2] += row["total_cpu"] / 1000
    return table


def compare(what: str, ours: Table, theirs: Table) -> tuple[int, int]:
    passed = failed = 0
    for key in sorted(set(ours) | set(theirs)):
        a, b = ours.get(key, [0, 0, 0]), theirs.get(key, [0, 0, 0])
        if a[0] == b[0] and abs(a[1] - b[1]) < 0.01 and abs(a[2] - b[2]) < 0.01:
            passed += 1
        else:
            failed += 1
            print(f"{what} {key}: report {a}, torch {b} (calls, self us, total us)")
    return passed, failed


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    torch = json.loads((FOLDER / "key_averages.json").read_text())
    passed = failed = 0
    for by in ("name", "shape"):
        good, bad = compare(by, from_report(sys.argv[1], by), from_torch(torch[f"by_{by}"]))
        passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
