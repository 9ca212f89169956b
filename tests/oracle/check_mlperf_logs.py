"""MLPerf's logs against what their events say by definition (mlperf_reference.py).

    check_mlperf_logs.py PROGRAM [FOLDER...]

Checks all that are called mlperf* in the shared data; and all result_*.txt below the FOLDERs, such as clones of
mlcommons/training_results_v4.1 and _v5.0.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from mlperf_reference import Truth, truth_of
from shared_traces import SHARED, Outcome, program_of, skip_without


def check(program: Path, path: Path) -> Outcome:
    outcome = Outcome(str(path))
    truth: Truth = truth_of(path)
    done = subprocess.run([program, "ettr", "--json", path], capture_output=True, check=False)
    if done.returncode != 0:
        outcome.check(False, done.stderr.decode(errors="replace").strip())
        return outcome
    job = json.loads(done.stdout)["ranks"][0]["sections"]["job"]
    numbers = {key: number["value"] for key, number in job["numbers"].items()}
    accounts = {row["key"]: row["time"] for row in job["tables"]["accounts"]["rows"]}
    says_lines = any("each line of a loss" in finding["what"] for finding in job["findings"])
    # lines of other programs before the first event, where they tell the zone: the job began with them
    before_ns = numbers["elapsed"] - truth.elapsed_ms * 10**6
    if before_ns > 0 and 'time="20' in path.read_text(errors="replace"):
        truth.elapsed_ms += before_ns // 10**6
        truth.startup_ms += before_ns // 10**6
    exact = {
        "attempts": (numbers["attempts"], 1),
        "steps": (numbers["steps_made"], truth.steps),
        "kept": (numbers["steps_kept"], truth.steps),
        "elapsed": (numbers["elapsed"], truth.elapsed_ms * 10**6),
        "startup": (accounts["startup"], truth.startup_ms * 10**6),
        "discarded": (accounts["discarded_steps"], 0),
        "hang": (accounts["hang_and_detection"], 0),
        "down": (accounts["down"], 0),
        "steps without numbers": (says_lines, not truth.is_numbered),
    }
    if truth.devices:
        exact["devices"] = (numbers["devices"], truth.devices)
    for name, (told, expected) in exact.items():
        outcome.check(told == expected, f"{name}: {told}, not {expected}")
    told_ms = None if accounts["evaluations"] is None else accounts["evaluations"] / 1e6
    if truth.evaluations_ms is None or told_ms is None:
        outcome.check(
            told_ms == truth.evaluations_ms, f"evaluations: {told_ms}, not {truth.evaluations_ms}"
        )
    else:
        near = 1e-5 + (truth.evaluations_ms / 1e3 if truth.is_told_by_step else 0)
        outcome.check(
            abs(told_ms - truth.evaluations_ms) <= near,
            f"evaluations: {told_ms} ms, not {truth.evaluations_ms}",
        )
    # a mean over steps is in whole nanoseconds; told lengths of steps are of another clock
    near = truth.kept_ms / 1e3 if truth.is_told_by_step else truth.steps / 1e6
    kept_ms = accounts["kept_steps"] / 1e6
    outcome.check(abs(kept_ms - truth.kept_ms) <= near, f"kept: {kept_ms} ms, not {truth.kept_ms}")
    return outcome


def main() -> None:
    program = program_of(sys.argv[:2])
    folders = [Path(name) for name in sys.argv[2:]]
    if not folders:
        skip_without(SHARED)
    paths = [p for name in ("logs", "regressions") for p in (SHARED / name).glob("mlperf*")]
    for folder in folders:
        paths += sorted(folder.rglob("result_*.txt"))
    total = Outcome("MLPerf's logs")
    for path in sorted(paths):
        total.add(check(program, path))
    if total.lines:
        print("\n".join(total.lines))
    total.finish()


if __name__ == "__main__":
    main()
