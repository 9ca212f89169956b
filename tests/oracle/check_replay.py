"""Replays of other people's traces, without a change and with one: check_replay.py PROGRAM

- Without a change the replay is within 2 % of the recording, in the length of the steps and in the starts of the device's
  work, for each of TRACES.
- Where the graph does not explain a trace, as of REFUSED, no estimate is given.
- Of two pairs of recordings of a ResNet50, with 0 and 4 workers of the data loader, the first one replayed with data=0 is as
  fast as the second, within WORKERS_ERROR_MAX.
- The eight ranks of a DLRM are replayed together.
- Without its one blocking copy, a window is as short as what is left of it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from shared_traces import SHARED, Outcome, note_apart, program_of, report_of, skip_without

FOLDER = SHARED / "traces"
ERROR_MAX = 0.02
RESNET = "kineto/resnet50_num_workers_{}.pt.trace.json.gz"
TRACES = [
    RESNET.format("0/worker0.1623143089861"),
    RESNET.format("0/worker0.a"),
    RESNET.format("4/worker0.1623212756351"),
    RESNET.format("4/worker0.a"),
    "param/dlrm_kineto/worker0_step_12.1694128201545.pt.trace.json",
    "param/dlrm_kineto/worker7_step_12.1694128201553.pt.trace.json",
    "param/linear_kineto.json.gz",
    "param/resnet_kineto.json.gz",
    "hta/trace_diff/control/control.json.gz",
    "hta/nccl_parser_config/nccl_data.json.gz",
    "hta/trace_filter/sampled_rank-1.json.gz",
    "hta/df_index_resolver/df_index_resolver.json.gz",
    "tracelens/b200/eager_trace.json.gz",
    "tracelens/h100/facebook_timesformer-base-finetuned-k400__1016002.json.gz",
    "tracelens/mi300/facebook_timesformer-base-finetuned-k400__1016002.json.gz",
    "tracelens/mi300/google_owlv2-large-patch14-ensemble__1016001.json.gz",
    "tracelens/inference/vllm_decode_full/graph_execution.json.gz",
    "tracelens/inference/xdit_flux.1_aiter_sage/profile_trace_rank_0.json.gz",
]
WORKERS_ERROR_MAX = 0.08
WORKERS = [(TRACES[0], TRACES[2]), (TRACES[1], TRACES[3])]
RANK_CHANGES = ["communication*1", "waiting@7=0", "waiting=0", "communication=0"]
REFUSED = [
    "tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz",
    "hta/negative_queue_length_values_check/rank0.json.gz",
]


def sections_of(outcome: Outcome, program: Path, name: str) -> dict[str, Any] | None:
    report, message = report_of(program, FOLDER / name, ["--what-if", "data=0"])
    outcome.check(report is not None, f"{name}: {message}")
    return report["ranks"][0]["sections"] if report else None


def check_errors(outcome: Outcome, program: Path, name: str, is_refused: bool) -> None:
    sections = sections_of(outcome, program, name)
    if not sections:
        return
    numbers = {key: number["value"] for key, number in sections["what_if"]["numbers"].items()}
    step = sections["step_ledger"]["numbers"]["step_time_mean"]["value"]
    error, starts = numbers["replay_error"], numbers["start_error"] / step
    speedup = sections["what_if"]["tables"]["changes"]["rows"][0]["speedup"]
    if not is_refused:
        note_apart(100 * max(error, starts), "% of a recording")
    outcome.note(f"{error:8.3%} of the length, starts {starts:8.3%} of a step: {name}")
    outcome.check(
        (max(error, starts) > ERROR_MAX) == is_refused, f"{name}: {error:.3%} and {starts:.3%}"
    )
    outcome.check((speedup is None) == is_refused, f"{name}: data=0 brings {speedup}")


def mean_step(sections: dict[str, Any], first: int) -> float:
    rows = sections["step_ledger"]["tables"]["steps"]["rows"][first:]
    return float(sum(row["duration"] for row in rows) / len(rows))


def check_workers(outcome: Outcome, program: Path, before_name: str, after_name: str) -> None:
    """In the first step of the second recording a copy waits for work from before it: both with it and without, the
    measured speed is between what is told at least and at most.
    """
    before = sections_of(outcome, program, before_name)
    after = sections_of(outcome, program, after_name)
    if not before or not after:
        return
    (row,) = before["what_if"]["tables"]["changes"]["rows"]
    step = mean_step(before, 0)
    measured, without_first = step / mean_step(after, 0), step / mean_step(after, 1)
    outcome.note(
        f"num_workers 0 to 4: by removal {row['removal_speedup']:.3f}, data=0 {row['speedup']:.3f} (at least; at most "
        f"{row['most_speedup']:.3f}), measured {measured:.3f}, without the first step {without_first:.3f}"
    )
    note_apart(100 * (row["speedup"] / measured - 1), "% of a change")
    outcome.check(abs(row["speedup"] - measured) <= WORKERS_ERROR_MAX, f"{measured}: {row}")
    for seen in (measured, without_first):
        outcome.check(row["least_speedup"] <= seen <= row["most_speedup"], f"{seen}: {row}")
    outcome.check(
        1 < row["most_speedup"] <= row["removal_speedup"] + 1e-9, f"more than by removal: {row}"
    )


def check_ranks(outcome: Outcome, program: Path) -> None:
    """Eight ranks replayed together: waiting is 96 % of communication, and most of it is for rank 7."""
    words = [word for change in RANK_CHANGES for word in ("--what-if", change)]
    report, message = report_of(program, FOLDER / "param/dlrm_kineto", words)
    outcome.check(report is not None, f"DLRM: {message}")
    if not report:
        return
    numbers = report["overview"]["numbers"]
    steps = {row["change"]: row for row in report["overview"]["tables"]["what_if"]["rows"]}
    error, starts = numbers["replay_error"]["value"], numbers["replay_start_error"]["value"]
    outcome.note(f"8 ranks together: {error:.3%} of the length, starts {starts} ns; {steps}")
    outcome.check(error < ERROR_MAX and starts < 10_000, f"8 ranks together: {error} {starts}")
    outcome.check(numbers["replayed_meetings"]["value"] == 8, "8 collectives")
    unchanged = steps["communication*1"]["step_time"]
    for change in ("waiting@7=0", "waiting=0", "communication=0"):
        outcome.check(steps[change]["step_time"] < unchanged, f"{change}: {steps[change]}")
    least = steps["waiting=0"]["step_time"]
    outcome.check(least < steps["waiting@7=0"]["step_time"], f"waiting=0 brings most: {steps}")


def check_blocking_copy(outcome: Outcome, program: Path) -> None:
    """One blocking copy of 9.65 of 12.4 ms: without it 2.77 ms are left, and what is recorded is the ledger's window."""
    path = SHARED / "regressions/nsys_pageable_copy.sqlite"
    if not path.exists():
        return
    report, message = report_of(program, path, ["--what-if", "copies=0"])
    outcome.check(report is not None, f"{path.name}: {message}")
    if not report:
        return
    sections = report["ranks"][0]["sections"]
    window = sections["step_ledger"]["numbers"]["step_time_mean"]["value"]
    numbers = sections["what_if"]["numbers"]
    (row,) = sections["what_if"]["tables"]["changes"]["rows"]
    outcome.note(f"a blocking copy taken out: {row['step_time']} ns of {window} ns are left")
    outcome.check(2.7e6 < row["step_time"] < 2.9e6, f"about 2.8 ms: {row}")
    outcome.check(numbers["recorded"]["value"] == window, f"{numbers['recorded']}: {window}")


def main() -> None:
    program = program_of(sys.argv)
    skip_without(FOLDER)
    outcome = Outcome("replays")
    for name in TRACES:
        check_errors(outcome, program, name, False)
    for name in REFUSED:
        check_errors(outcome, program, name, True)
    for before, after in WORKERS:
        check_workers(outcome, program, before, after)
    check_ranks(outcome, program)
    check_blocking_copy(outcome, program)
    all_counts = Outcome("all")
    all_counts.add(outcome)
    all_counts.finish()


if __name__ == "__main__":
    main()
