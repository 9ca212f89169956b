#!/usr/bin/env python3
"""Plans from real recordings are sane: check_plan_from.py PROGRAM

Of each trace of other people, and of those of this project's own GPU runs, `flopledger plan --from` either refuses in one sentence
that says what would tell, or its plans hold what any plan must:

- nothing changed is the recording, and the parts add up to the step;
- twice the samples take no less time and twice the FLOPs, half of them no more time and half the FLOPs; twice the tokens no less;
- an H200 is no slower than an H100, and the recorded device itself changes nothing;
- an upper bound says what the device alone would take, which is less.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from shared_traces import ROOT, SHARED, Outcome

PROGRAM = sys.argv[1]
FORMS = ("*.json.gz", "*.pt.trace.json", "*.xplane.pb", "*.sqlite")
OWN = ROOT / "tests" / "gpu" / "results"
NEAR = 1.001  # replays round each task to a nanosecond
# A refusal names what is missing or wrong, and the one thing to do about it.
HELPS = (
    "needs ",
    "leave it out",
    "nearest",
    "record ",
    "flopledger ",
    "name ",
    "profile with",
    "does not record",
)
Numbers = dict[str, Any]


def plan(outcome: Outcome, trace: Path, *options: str) -> Numbers | None:
    """None where it is refused."""
    words = [PROGRAM, "plan", "--json", "--from", str(trace), *options]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        outcome.check(
            done.returncode in (2, 3, 4, 5) and bool(said) and any(h in said[-1] for h in HELPS),
            f"{' '.join(options)}: exit {done.returncode}: {done.stderr.strip()}",
        )
        return None
    sections = json.loads(done.stdout)["ranks"][0]["sections"]
    numbers: Numbers = {k: v.get("value") for k, v in sections["plan"]["numbers"].items()}
    parts = sections["plan_ledger"]["tables"]["accounts"]["rows"]
    total = sum(row["time"] for row in parts)
    outcome.check(abs(total - numbers["step_time"]) <= 20, f"{options}: parts add up to {total} ns")
    low, high = numbers["step_time_low"], numbers["step_time_high"]
    outcome.check(
        (low is None or low <= NEAR * numbers["step_time"])
        and (high is None or NEAR * high >= numbers["step_time"]),
        f"{options}: {low} to {high} of {numbers['step_time']} ns",
    )
    return numbers


def times(numbers: Numbers, key: str, beside: Numbers) -> float:
    return float(numbers[key]) / float(beside[key]) if beside.get(key) else 1.0


def check_sizes(outcome: Outcome, trace: Path, recorded: Numbers) -> None:
    for factor in (0.5, 2, 4):
        other = plan(outcome, trace, "--batch", f"{factor}x")
        if other is None:
            continue
        longer = times(other, "step_time", recorded)
        outcome.check(
            longer * NEAR >= 1.0 if factor > 1 else longer <= NEAR,
            f"{factor} times the samples take {longer:.4f} of the time",
        )
        flops = times(other, "matrix_flops", recorded)
        if "matrix_flops" in recorded:
            outcome.check(
                abs(flops / factor - 1) < 1e-9, f"{factor} times the samples, {flops} of the FLOPs"
            )
    tokens = str(recorded.get("recorded_pass")).split(" of ")[-1].split()[0]
    if tokens.isdigit():
        longer_samples = plan(outcome, trace, "--seq", str(2 * int(tokens)))
        if longer_samples is not None:
            longer = times(longer_samples, "step_time", recorded)
            outcome.check(longer * NEAR >= 1.0, f"twice the tokens take {longer:.4f} of the time")


def check_devices(outcome: Outcome, trace: Path, recorded: Numbers) -> None:
    first = plan(outcome, trace, "--device", "H100 SXM")
    second = plan(outcome, trace, "--device", "H200")
    if first is not None and second is not None:
        slower = times(second, "step_time", first)
        outcome.check(slower <= NEAR, f"an H200 takes {slower:.4f} of an H100")
        same = plan(outcome, trace, "--device", recorded["device"])
        if same is not None:
            outcome.check(
                same["step_time"] == recorded["step_time"], f"{recorded['device']} on itself"
            )


def check(trace: Path) -> Outcome:
    outcome = Outcome(str(trace.relative_to(SHARED if trace.is_relative_to(SHARED) else ROOT)))
    recorded = plan(outcome, trace)
    if recorded is None:
        return outcome
    if "plain_step_time" not in recorded:
        outcome.check(
            abs(
                times(
                    {"step": recorded["step_time"]},
                    "step",
                    {"step": recorded["recorded_step_time"]},
                )
                - 1
            )
            < 1e-6,
            f"unchanged: {recorded['step_time']} of {recorded['recorded_step_time']} ns",
        )
    check_sizes(outcome, trace, recorded)
    check_devices(outcome, trace, recorded)
    return outcome


def main() -> None:
    folders = (
        SHARED / "traces",
        SHARED / "recordings",
        SHARED / "regressions",
        SHARED / "nsys",
        OWN,
    )
    traces = sorted(path for folder in folders for form in FORMS for path in folder.rglob(form))
    together = Outcome("all")
    with ThreadPoolExecutor(2) as pool:
        for outcome in pool.map(check, traces):
            together.add(outcome)
    skipped = int(not SHARED.exists())
    print(f"{together.passed} passed, {together.failed} failed, {skipped} skipped")
    sys.exit(1 if together.failed else 0)


if __name__ == "__main__":
    main()
