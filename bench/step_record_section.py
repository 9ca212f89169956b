"""The section of docs/benchmarks.md on the step record; bench/step_record_overhead.py measures it, in a Python with torch."""

from typing import Any

from torch_python import measured_with_torch
from write_page import stamp, table

TITLE = "## What the step record costs"
STEP_US = 20_000  # of which the share is told


def step_record_section(rounds: int) -> str:
    """Markdown, with its title; says so where PyTorch is not here."""
    found = measured_with_torch("step_record_overhead.py", rounds)
    if found is None:
        return f"{TITLE}\n\nNot measured: PyTorch was not here.\n"
    return write_section(found)


def rows_of(programs: list[dict[str, Any]]) -> list[list[str]]:
    return [
        [
            one["program"],
            f"{one['plain_us'] / 1e3:.2f}",
            f"{cost['us']:.1f}",
            f"{cost['least_us']:.1f} – {cost['most_us']:.1f}",
            f"{100 * cost['us'] / one['plain_us']:.3f}",
        ]
        for one in programs
        for cost in [one["record"]]
    ]


def write_section(found: dict[str, Any]) -> str:
    programs = found["programs"]
    share = 100 * programs[0]["record"]["us"] / STEP_US
    losses = sum(one["losses_compared"] for one in programs)
    head = ["program", "plain step, ms", "the record, µs a step", "by round"]
    lines = [
        TITLE,
        "",
        "Steps of a program without and "
        "with the step record that `flopledger run` always keeps: data wait, forward, backward, optimizer, tokens, loss, memory. The "
        f"ways take turns, {found['rounds']} rounds in one process, one thread, torch {found['torch']}; processor time, the fastest "
        "tenth of the steps of each.",
        "",
        table([*head, "% of this step"], rows_of(programs)),
        "",
        f"The first program's steps are so short that the record's own time is seen: of a step of 20 ms it is {share:.3f} %. "
        f"In steps of many milliseconds it is less than what one "
        f"round differs from the next. All {losses:,} losses were the same to the last bit, recorded or not.",
        "",
        stamp("record"),
    ]
    return "\n".join(lines) + "\n"
