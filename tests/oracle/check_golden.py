#!/usr/bin/env python3
"""Compares the ledger of real traces with golden/attribution, step by step and account by account, to 1 us.

    check_golden.py PROGRAM [NAME...]

The golden files book steps as the host marks them; where the program chooses the device's windows, these are compared with
the reference, too. Each trace is booked a third time by reference_ledger.py, from the decimal digits of the file. The program must agree with
that to the nanosecond; where the golden file differs by more than 1 us (its oracle held times as doubles), the event that
proves it wrong is printed. Also the identities with other tools' right answers. Needs the folder of other people's traces:
FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import reference_ledger
from reference_ledger import Ledger, Step, nanoseconds
from shared_traces import SHARED, Outcome, program_of, report_of, skip_without

TOLERANCE_NS = 1000
GOLDEN = SHARED / "golden" / "attribution"

# What the golden file calls the accounts.
IDLE_CAUSES = {
    "launch_latency": ["idle_launch_latency"],
    "queued": ["idle_queue_gap", "idle_queued_wait", "idle_graph"],
    "dataloader": ["idle_data"],
    "sync_call_return": ["idle_sync"],
    "alloc/free": ["idle_allocator"],
    "runtime_api(launch etc.)": ["idle_runtime"],
    "cpu_op": ["idle_operator"],
    "annotation_only": ["idle_annotation"],
    "python_only": ["idle_python", "idle_garbage"],
    "nothing_recorded_on_launch_thread": ["idle_nothing"],
}


def golden_accounts(step: dict[str, Any]) -> Counter[str]:
    """The golden step in its own words, with the queued causes as one."""
    accounts: Counter[str] = Counter()
    for key in ("dur", "compute", "comm", "memcpy", "memset", "busy"):
        accounts[key] = step[key]
    for key in ("exposed_comm", "exposed_mem", "idle"):
        accounts[key] = step[key]
    for cause, ns in step["idle_cause"].items():
        if not cause.startswith("*"):
            accounts["queued" if cause.startswith("gpu_") else cause] += ns
    return accounts


def in_golden_words(accounts: dict[str, int], facts: dict[str, int]) -> Counter[str]:
    told = Counter(facts)
    told["exposed_comm"] = accounts.get("exposed_communication", 0)
    told["exposed_mem"] = accounts.get("exposed_copy", 0) + accounts.get("data_copy", 0)
    told["idle"] = sum(ns for key, ns in accounts.items() if key.startswith("idle_"))
    for cause, parts in IDLE_CAUSES.items():
        told[cause] = sum(accounts.get(part, 0) for part in parts)
    return told


def reference_facts(step: Step) -> dict[str, int]:
    return {
        "dur": step.end - step.start,
        "busy": step.facts["busy"],
        "compute": step.facts["compute"],
        "comm": step.facts["communication"],
        "memcpy": step.facts["copy"],
        "memset": step.facts["memset"],
    }


def program_steps(report: dict[str, Any]) -> list[tuple[dict[str, int], dict[str, int]]]:
    """Of each step the accounts, and the facts that the report gives beside them."""
    sections = report["ranks"][0]["sections"]
    steps = []
    overlap = sections.get("overlap", {}).get("tables", {}).get("steps", {}).get("rows", [])
    by_step = {row["step"]: row for row in overlap}
    for row in sections["step_ledger"]["tables"]["steps"]["rows"]:
        accounts = {key: ns for key, ns in row.items() if key in ACCOUNTS}
        facts = {"dur": row["duration"], "busy": row["busy"]}
        if row["step"] in by_step:
            facts["compute"] = by_step[row["step"]]["compute"]
            facts["comm"] = by_step[row["step"]]["communication"]
        steps.append((accounts, facts))
    return steps


ACCOUNTS = {part for parts in IDLE_CAUSES.values() for part in parts} | {
    "matrix",
    "other_compute",
    "exposed_communication",
    "exposed_copy",
    "data_copy",
}


def oracle_ns(value: Any) -> int:
    """As the oracle reads a time: by way of a double."""
    if isinstance(value, int):
        return value * 1000
    number = float(value)
    whole = int(number)
    return whole * 1000 + int(round((number - whole) * 1000))


def proof(events: list[dict[str, Any]], step: Step) -> str:
    """The event of the step whose time the oracle read most wrongly."""
    worst: tuple[int, dict[str, Any]] | None = None
    total = 0
    for event in events:
        if event.get("ph") != "X" or event.get("dur") is None:
            continue
        start = nanoseconds(event["ts"])
        if not step.start <= start < step.end:
            continue
        error = abs(oracle_ns(event["ts"]) - start)
        total += error
        if worst is None or error > worst[0]:
            worst = (error, event)
    if worst is None or worst[0] == 0:
        return ""
    error, event = worst
    return (
        f"'{event['name'][:50]}' has \"ts\": {event['ts']}, that is {nanoseconds(event['ts'])} ns; the oracle read "
        f"{oracle_ns(event['ts'])} ns; all starts of the step together are {total / 1000:.3f} us off"
    )


def compare_exactly(
    outcome: Outcome, steps: list[tuple[dict[str, int], dict[str, int]]], reference: Ledger
) -> None:
    for (accounts, facts), step in zip(steps, reference.steps):
        told = dict(accounts)
        told["compute"] = told.pop("matrix") + told.pop("other_compute")
        wanted = reference_facts(step)
        differences = {
            key: (told.get(key, 0), step.accounts[key])
            for key in told.keys() | step.accounts.keys()
            if told.get(key, 0) != step.accounts[key]
        }
        differences |= {
            key: (facts[key], wanted[key]) for key in facts if facts[key] != wanted[key]
        }
        outcome.check(not differences, f"{step.name}: program, reference: {differences}")


def compare_with_golden(
    outcome: Outcome, golden: dict[str, Any], reference: Ledger, events: list[dict[str, Any]]
) -> None:
    """By way of the reference, which the program equals."""
    for built, step in zip(golden["steps"], reference.steps):
        wanted = golden_accounts(built)
        told = in_golden_words(step.accounts, reference_facts(step))
        for key in wanted.keys() | told.keys():
            if abs(wanted[key] - told[key]) <= TOLERANCE_NS:
                apart = abs(wanted[key] - told[key])
                outcome.furthest["ns"] = max(outcome.furthest.get("ns", 0), apart)
                outcome.passed += 1
                continue
            why = proof(events, step)
            text = f"{step.name}: {key}: golden {wanted[key]}, exact {told[key]} ns"
            if why:
                outcome.note(f"{text}: {why}")
                outcome.passed += 1
            else:
                outcome.check(False, text)


def check(program: Path, path: Path) -> Outcome:
    golden = json.loads(path.read_text())
    outcome = Outcome(path.name)
    trace = SHARED / golden["trace"]
    if "note" in golden:
        check_without_device(outcome, program, trace, golden["steps"])
        return outcome
    is_whole = golden["steps"][0]["step"] == "whole-GPU-span"
    arguments = ["--window", "whole"] if is_whole else []
    report, message = report_of(program, trace, [*arguments, "--clock", "host"])
    if report is None:
        outcome.check(False, message)
        return outcome
    events = reference_ledger.read_events(trace)
    reference = reference_ledger.book(events, "whole" if is_whole else "auto")
    steps = program_steps(report)
    numbers = [len(steps), len(reference.steps), len(golden["steps"])]
    outcome.check(len(set(numbers)) == 1, f"steps of program, reference, golden file: {numbers}")
    compare_exactly(outcome, steps, reference)
    compare_with_golden(outcome, golden, reference, events)
    for key, count in (("gpu_events", "device_events"), ("linked", "linked")):
        outcome.check(
            golden[key] == reference.totals[count],
            f"{key}: golden {golden[key]}, reference {reference.totals[count]}",
        )
    check_links(outcome, report, reference)
    for clock in ("auto", "device"):
        compare_clock(outcome, program, trace, [*arguments, "--clock", clock], events)
    return outcome


def compare_clock(
    outcome: Outcome,
    program: Path,
    trace: Path,
    arguments: list[str],
    events: list[dict[str, Any]],
) -> None:
    """The same windows as the reference finds, and the same accounts in them."""
    clock = arguments[-1]
    reference = reference_ledger.book(events, "whole" if "whole" in arguments else "auto", clock)
    report, message = report_of(program, trace, arguments)
    if report is None:
        outcome.check(not reference.steps, f"--clock {clock}: {message}")
        return
    numbers = report["ranks"][0]["sections"]["step_ledger"]["numbers"]
    told = numbers["clock"]["value"] if "clock" in numbers else "host"
    outcome.check(told == reference.clock, f"--clock {clock}: {told}, not {reference.clock}")
    steps = program_steps(report)
    outcome.check(
        len(steps) == len(reference.steps),
        f"--clock {clock}: {len(steps)} steps, {len(reference.steps)} in the reference",
    )
    compare_exactly(outcome, steps, reference)


def check_without_device(outcome: Outcome, program: Path, trace: Path, steps: int) -> None:
    """The oracle books nothing where there is no device work, but it counts the steps."""
    report, message = report_of(program, trace, [])
    if report is None:
        outcome.check(steps == 0 and message != "", f"{steps} steps, but {message}")
        return
    source = report["ranks"][0]["sections"]["run"]["numbers"]["steps"]["value"]
    outcome.check(source == steps, f"{source} steps, {steps} are marked")


def check_links(outcome: Outcome, report: dict[str, Any], reference: Ledger) -> None:
    run = report["ranks"][0]["sections"]["run"]
    device_events = run["numbers"]["device_events"]["value"]
    outcome.check(
        device_events == reference.totals["all_device_events"],
        f"{device_events} device events, {reference.totals['all_device_events']} are there",
    )
    kinds = ("without the call", "launched before the recording began")
    told = [f["what"] for f in run["findings"] if any(kind in f["what"] for kind in kinds)]
    unlinked = sum(int(what.split()[0]) for what in told)
    wanted = reference.totals["all_device_events"] - reference.totals["all_linked"]
    outcome.check(unlinked == wanted, f"{unlinked} unlinked device events are told, not {wanted}")


def check_identities(program: Path) -> Outcome:
    """Right answers of other tools, which need no oracle."""
    outcome = Outcome("identities")
    control = SHARED / "traces/hta/trace_diff/control/control.json.gz"
    report, message = report_of(program, control, ["--steps", "1009-1013"])
    if report is None:
        outcome.check(False, message)
        return outcome
    overlap = report["ranks"][0]["sections"]["overlap"]["numbers"]["overlap"]["value"]
    outcome.check(
        round(100 * overlap, 2) == 47.03,
        f"control: {100 * overlap:.4f} % of communication is hidden, HTA says 47.03 %",
    )
    total, mean = exposed(program, control)
    outcome.check(
        abs(mean / 1e6 - 14.65) < 0.005,
        f"control: {mean / 1e6:.4f} ms of exposed communication a step, 14.65 ms is right",
    )
    total, _ = exposed(program, SHARED / "traces/hta/df_index_resolver/df_index_resolver.json.gz")
    outcome.check(
        abs(total / 1e6 - 357.343) < 0.001,
        f"df_index_resolver: {total / 1e6:.4f} ms of exposed communication, TraceLens says 357.343",
    )
    return outcome


def exposed(program: Path, trace: Path) -> tuple[int, float]:
    """Exposed communication in all steps, and per step."""
    report, message = report_of(program, trace, [])
    if report is None:
        raise SystemExit(f"{trace}: {message}")
    rows = report["ranks"][0]["sections"]["step_ledger"]["tables"]["steps"]["rows"]
    total = sum(row["exposed_communication"] for row in rows)
    return total, total / len(rows)


def main() -> None:
    program = program_of(sys.argv)
    skip_without(GOLDEN)
    wanted = sys.argv[2:]
    paths = [
        path
        for path in sorted(GOLDEN.glob("*.json"))
        if not wanted or any(name in path.name for name in wanted)
    ]
    all_counts = Outcome("all")
    with multiprocessing.Pool() as pool:
        for outcome in pool.imap(partial(check, program), paths):
            all_counts.add(outcome)
    if not wanted:
        all_counts.add(check_identities(program))
    all_counts.finish()


if __name__ == "__main__":
    main()
