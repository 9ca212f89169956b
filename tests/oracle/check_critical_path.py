"""Critical paths of other people's traces: check_critical_path.py PROGRAM

- In the report of each trace the links of the path add up to the steps, and each step's groups to its length; work that has
  slack is not on the path.
- What holds for every path (tests/unit/support_path.h) holds for each trace; test_steps_path beside the program says so.
- Of the eight ranks of a DLRM the path goes through rank 7, for which the others wait; its ranks add up to it, and digests give
  the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from shared_traces import SHARED, Outcome, program_of, report_of, skip_without

FOLDERS = [SHARED / "traces" / name for name in ("kineto", "param", "hta", "tracelens")]
REPORTED = [
    "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
    "kineto/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz",
    "param/dlrm_kineto/worker7_step_12.1694128201553.pt.trace.json",
    "param/resnet_kineto.json.gz",
    "hta/trace_diff/control/control.json.gz",
    "hta/nccl_parser_config/nccl_data.json.gz",
    "tracelens/b200/eager_trace.json.gz",
    "tracelens/inference/vllm_decode_full/graph_execution.json.gz",
]
DLRM = SHARED / "traces/param/dlrm_kineto"
BYTES_MAX = 4 << 20
DLRM_STRAGGLER = "rank 7"
GROUPS = "kernels communication copies gaps launches data sync host unexplained".split()


def check_report(outcome: Outcome, program: Path, name: str) -> None:
    report, message = report_of(program, SHARED / "traces" / name, ["--top", "0"])
    outcome.check(report is not None, f"{name}: {message}")
    if not report:
        return
    sections = report["ranks"][0]["sections"]
    tables, numbers = sections["critical_path"]["tables"], sections["critical_path"]["numbers"]
    step = sections["step_ledger"]["numbers"]["step_time_mean"]["value"]
    rows = tables["composition"]["rows"]
    outcome.check(abs(sum(row["mean"] for row in rows) - step) <= 1, f"{name}: kinds {step}")
    chosen = sum(row["step_time"] for row in rows)
    outcome.check(chosen == numbers["path"]["value"], f"{name}: the chosen step has {chosen} ns")
    links = tables["links"]["rows"]
    off = abs(sum(row["mean"] for row in links) - step)
    outcome.check(off <= len(links), f"{name}: the links miss the step by {off} ns")
    for row in tables.get("steps", {"rows": []})["rows"]:
        outcome.check(sum(row[g] for g in GROUPS) == row["length"], f"{name}: step {row}")
    for row in tables["slack"]["rows"]:
        outcome.check(
            row["least_slack"] == 0 or row["critical_share"] == 0,
            f"{name}: {row['kernel']} has slack and is on the path",
        )


def check_invariants(outcome: Outcome, program: Path) -> None:
    checker = program.parent / "test_steps_path"
    if not checker.exists():
        outcome.note(f"there is no {checker.name} beside the program: not checked task by task")
        outcome.skipped += 1
        return
    files = [
        str(path)
        for folder in FOLDERS
        for path in sorted(folder.rglob("*.json*"))
        if path.stat().st_size <= BYTES_MAX
    ]
    done = subprocess.run([checker, *files], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    for line in lines:
        if not line.startswith("skipped"):
            outcome.check(line.startswith("ok "), line)
    outcome.check(done.returncode == 0 and len(lines) == len(files), f"ended: {done.returncode}")


def overview_of(program: Path, path: Path) -> dict[str, Any]:
    done = subprocess.run(
        (
            [program, "report", "--json", "--no-progress", "--rank", "0", path]
            if path.is_dir()
            else [program, "report", "--json", "--no-progress", path]
        ),
        capture_output=True,
        check=True,
    )
    overview: dict[str, Any] = json.loads(done.stdout)["overview"]
    return overview


def check_ranks(outcome: Outcome, program: Path) -> None:
    overview = overview_of(program, DLRM)
    rows = overview["tables"]["critical_path"]["rows"]
    length = overview["numbers"]["critical_path"]["value"]
    for row in rows:
        outcome.note(f"{row['share']:6.1%} of the path of the DLRM: {row['rank']}")
    outcome.check(sum(row["time"] for row in rows) == length, f"ranks do not add up to {length}")
    late = {row["rank"] for row in rows if row["came_last"] > 0}
    outcome.check(DLRM_STRAGGLER in late, f"the path crosses to {late}")
    with tempfile.TemporaryDirectory() as folder:
        digests = Path(folder) / "ranks.digest"
        subprocess.run(
            [program, "digest", "--no-progress", "-o", digests, DLRM],
            capture_output=True,
            check=True,
        )
        same = overview_of(program, digests)["tables"]["critical_path"]["rows"]
    outcome.check(same == rows, "digests give another path")


def main() -> None:
    program = program_of(sys.argv)
    skip_without(SHARED / "traces")
    outcome = Outcome("critical paths")
    for name in REPORTED:
        check_report(outcome, program, name)
    check_invariants(outcome, program)
    check_ranks(outcome, program)
    all_counts = Outcome("all")
    all_counts.add(outcome)
    all_counts.finish()


if __name__ == "__main__":
    main()
