"""a. Training recorded six ways: the report closes, the ledger is the oracle's, MFU is FLOPs by measured time, and what was planted
is named first."""

from __future__ import annotations

from statistics import mean, median
from typing import Any

from findings import Findings
from machine import Setting
from recorded import Recorded, ask, number, reference_of, sections_of, train
from simulated_device import simulate

import check_golden  # of tests/oracle, which recorded.py made known

PART = "a"
# "starved" is in bf16, too: the device has little to do.
WAYS = ("eager", "autocast", "compile", "graphs", "checkpoint", "starved")
RECORDED = (4, 8)  # the steps that `flopledger run` records
STEPS = 10
ON_STAND_INS = ("eager", "graphs", "starved")  # without --long: what differs there
PEAK_OF = {"eager": "fp32", "autocast": "bf16"}
PLANTED = {"starved": "data_loading"}
SLOWNESS = {"starved": 0.2}  # of the simulated device
FLOPS_KNOWN = ("eager", "autocast", "checkpoint", "starved")  # by the names of operators alone
# The host marks steps, and the device ends them: the lead of the first differs from that of the last. Of a stand-in the clock is
# the host's, and other programs may run just between the recorder's mark and this one's, for as long as a step where the machine is
# busy: of the longer of both.
WITHIN, WITHIN_ON_HOST = 0.05, 0.7


def check_ledger(found: Findings, case: str, sections: dict[str, Any], trace: Any) -> None:
    place = (PART, case)
    report = {"ranks": [{"sections": sections}]}
    steps = check_golden.program_steps(report)
    for accounts, facts in steps:
        if sum(accounts.values()) != facts["dur"]:
            found.equal(place, "parts of a step", sum(accounts.values()), facts["dur"], "ns")
    found.equal(place, "steps in the ledger", len(steps), RECORDED[1] - RECORDED[0] + 1)
    reference = reference_of(trace, number(sections, "step_ledger", "clock") or "host")
    outcome = check_golden.Outcome(case)
    check_golden.compare_exactly(outcome, steps, reference)
    texts = outcome.lines[:2] if outcome.lines else "equal"
    found.equal(place, "ledger beside the exact oracle", texts, "equal")
    found.equal(place, "steps of the oracle", len(reference.steps), len(steps))
    # Where the host runs ahead, the first work was launched before the recording began.
    late = reference.totals["linked"] + reference.totals["launched_before"]
    found.equal(place, "device work that is linked", late, reference.totals["device_events"])
    told = number(sections, "run", "device_events")
    found.equal(place, "device events", told, reference.totals["all_device_events"])


def check_rates(setting: Setting, found: Findings, way: str, run: Recorded) -> None:
    """Of the steps within the window: the first begins with the profiler's start, and the last ends with its stop. On a GPU from the
    begin of one to the begin of the next: what the recorder does between two marks is in no step, but in the time that the program
    measures. On a host without a GPU one of them may wait for a processor just behind its end, which only one of both clocks takes for
    a part of it.
    """
    place = (PART, way)
    first, last = RECORDED[0] + 1, RECORDED[1] - 1
    within = WITHIN if setting.is_real else WITHIN_ON_HOST
    sections = sections_of(ask(setting, "report", "--steps", f"{first}-{last}", run.trace))
    middle = mean if setting.is_real else median
    seconds = middle(run.truth["milliseconds"][first - 1 : last]) / 1e3
    rows = sections["step_ledger"]["tables"]["steps"]["rows"]
    told = of_step = middle([row["duration"] for row in rows])
    if setting.is_real:
        whole = sections_of(ask(setting, "report", run.trace))
        steps = whole["step_ledger"]["tables"]["steps"]["rows"]
        starts = {row["step"]: row["start"] for row in steps}
        told = mean(starts[step + 1] - starts[step] for step in range(first, last + 1))
    pair = (told / 1e9, seconds)
    ours, truth = pair if setting.is_real else sorted(pair)
    found.near(place, "step time", ours, truth, within, "s")
    flops = number(sections, "model_flops_utilization", "model_flops_per_step")
    if way in FLOPS_KNOWN:
        found.equal(place, "model FLOPs of a step", flops, run.truth["flops"])
    mfu = number(sections, "model_flops_utilization", "mfu")
    peak = setting.peak(PEAK_OF.get(way, ""))
    if peak is not None:
        of_mean = mean(row["duration"] for row in rows) / 1e9
        of_all = seconds * of_step / told if setting.is_real else of_mean
        truth = run.truth["flops"] / of_all / peak
        found.near(place, f"MFU, of {peak / 1e12:g} TFLOP/s", mfu, truth, within)
    found.row(
        "training",
        way=way,
        step_ms=1e3 * seconds,
        mfu=mfu,
        device_busy=number(sections, "step_ledger", "device_busy"),
        flops=run.truth["flops"],
    )


def check_advice(found: Findings, way: str, sections: Any) -> None:
    """Other programs on the machine are no cause that was planted, and none that the way is to blame for."""
    findings = [each for each in sections["advice"]["findings"] if each["id"] != "shared_machine"]
    first = findings[0]["id"] if findings else "none"
    if way in PLANTED:
        found.equal((PART, way), "first finding of the advice", first, PLANTED[way])
    found.row("advice", way=way, first=findings[0]["what"] if findings else "none")


def record(setting: Setting, way: str) -> Recorded:
    run = train(setting, way, "--steps", STEPS)
    assert run.trace is not None
    if not setting.is_real:
        simulate(run.trace, SLOWNESS.get(way, 0.5), is_graph=way == "graphs")
    return run


def check_way(setting: Setting, found: Findings, way: str) -> None:
    run = record(setting, way)
    assert run.trace is not None
    sections = sections_of(ask(setting, "report", run.trace))
    check_ledger(found, way, sections, run.trace)
    check_rates(setting, found, way, run)
    check_advice(found, way, sections)
    if setting.is_real or way == "eager":
        plain = train(setting, way, "--steps", STEPS, record=None)
        losses = plain.truth["losses"]
        found.equal((PART, way), "losses, plain and recorded", run.truth["losses"], losses)
    found.row("files", file=run.trace.name, way=way, bytes=run.trace.stat().st_size)


def check(setting: Setting, found: Findings) -> None:
    for way in WAYS if setting.is_real or setting.is_long else ON_STAND_INS:
        with found.part(PART, way):
            check_way(setting, found, way)
