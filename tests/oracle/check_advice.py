#!/usr/bin/env python3
"""The advice on other people's traces: what is known of them comes first, and no price is higher than its accounts.

    check_advice.py PROGRAM [NAME...]

The pair of ResNet50 traces is the truth case: with num_workers=0 data loading costs 58.7 ms of a step and at most 1.5 times
as fast can be won; with num_workers=4 what is left is launches that come too late. One capture of Nsight Systems copies for
940 of 961 ms, of which that tool's own rules say nothing. Needs the folder of other people's
traces: FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from shared_traces import ROOT, SHARED, Outcome, program_of, report_of, skip_without

sys.path.insert(0, str(ROOT / "tests" / "properties"))

from advice_prices import advice_of, problems_of_advice  # noqa: E402

TRACES = SHARED / "traces"
# By the file's name: what must be among the findings, and in what order of price.
KNOWN: dict[str, list[str]] = {
    "kineto/resnet50_num_workers_0/worker0.1623143089861": ["data_loading", "launch_bound"],
    "kineto/resnet50_num_workers_0/worker0.a": ["launch_bound", "data_loading"],
    "kineto/resnet50_num_workers_4/worker0.1623212756351": ["launch_bound", "pageable_copies"],
    "kineto/resnet50_num_workers_4/worker0.a": ["launch_bound"],
    "hta/trace_diff/control/control": ["exposed_communication", "launch_bound"],
    "hta/df_index_resolver": ["launch_bound", "exposed_communication", "unfused_optimizer"],
    "hta/nccl_parser_config/nccl_data": ["launch_bound", "exposed_communication"],
    "tracelens/mi300/resnet_act_checkpoint": ["exposed_communication"],
    "tracelens/h100/facebook_timesformer": ["data_preparation", "unfused_attention"],
    "hta/critical_path/alexnet": ["start_up", "short_recording"],
    # its slow steps are those that wait for data: the cause comes first
    "param/resnet_kineto": ["data_loading", "step_outliers", "pageable_copies"],
    "../nsys/nsys-ai_h100_2gpu_1s": ["busy_with_copies"],
    "../nsys/nsys-ai_mfu_2gpu_before": ["unfused_pointwise", "launch_bound"],
    "tracelens/mi300/google_owlv2": ["data_loading", "unfused_attention", "synchronisation"],
    "../regressions/nsys_pageable_copy": ["pageable_copies"],
}
NEVER: dict[str, list[str]] = {
    "kineto/resnet50_num_workers_4/worker0": ["data_loading"],
    "kineto/resnet50": ["exposed_communication", "graph_gaps", "tf32_not_used", "allocator"],
}


def check_known(outcome: Outcome, path: Path, findings: list[dict[str, Any]]) -> None:
    name = os.path.relpath(path, TRACES)
    told = [finding["id"] for finding in findings]
    for start, wanted in KNOWN.items():
        if name.startswith(start):
            outcome.check([rule for rule in told if rule in wanted] == wanted, f"{wanted}: {told}")
            outcome.check(told[:1] == wanted[:1], f"{wanted[0]} is not the dearest: {told}")
    for start, unwanted in NEVER.items():
        if name.startswith(start):
            outcome.check(not set(told) & set(unwanted), f"none of {unwanted}: {told}")


def check_truth_case(outcome: Outcome, path: Path, findings: list[dict[str, Any]]) -> None:
    if "num_workers_0/worker0.1623143089861" not in str(path):
        return
    first = findings[0]
    outcome.check(abs(first["cost_ns_per_step"] - 58.734e6) < 1e3, f"58.734 ms: {first}")
    outcome.check(abs(first["ceiling_speedup"] - 1.506) < 0.001, f"at most 1.506: {first}")
    outcome.check("num_workers=0" in first["try"], f"num_workers is named: {first['try']}")
    outcome.check(first["steps"] == [5, 6, 7, 8, 9, 10], f"in all six steps: {first['steps']}")


def check(program: Path, path: Path) -> Outcome:
    outcome = Outcome(os.path.relpath(path, TRACES))
    report, message = report_of(program, path, [])
    outcome.check(not message.startswith("code -"), message)
    if report is None:
        return outcome  # no trace, or without steps: other checks look at these
    for rank in report["ranks"]:
        if "step_ledger" not in rank["sections"]:
            continue
        problems = problems_of_advice(rank["sections"])
        outcome.check(not problems, "; ".join(problems))
        check_known(outcome, path, advice_of(rank["sections"]))
        check_truth_case(outcome, path, advice_of(rank["sections"]))
    return outcome


def main() -> None:
    program = program_of(sys.argv)
    skip_without(TRACES)
    wanted = sys.argv[2:]
    paths = [
        path
        for path in sorted(TRACES.rglob("*"))
        + sorted((SHARED / "nsys").glob("*.sqlite"))
        + sorted((SHARED / "regressions").glob("*"))
        if path.is_file()
        and path.name.endswith((".json", ".json.gz", ".sqlite"))
        and (not wanted or any(name in str(path) for name in wanted))
    ]
    all_counts = Outcome("all")
    with multiprocessing.Pool(2) as pool:
        for outcome in pool.imap(partial(check, program), paths):
            all_counts.add(outcome)
    all_counts.finish()


if __name__ == "__main__":
    main()
