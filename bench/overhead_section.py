"""The section of docs/benchmarks.md on what recording costs; bench/record_overhead.py measures it, in a Python with torch."""

from statistics import median
from typing import Any

from torch_python import measured_with_torch
from write_page import stamp, table

TITLE = "## What recording costs"
PLAIN = "plain"


def overhead_section(rounds: int) -> str:
    """Markdown, with its title; says so where PyTorch is not here."""
    found = measured_with_torch("record_overhead.py", rounds)
    if found is None:
        return f"{TITLE}\n\nNot measured: PyTorch was not here.\n"
    return write_section(found)


def rows_of(seconds: dict[str, list[float]]) -> list[list[str]]:
    """Of each way: its name, milliseconds, the median of its ratios to the plain step round by round, least and most."""
    rows = []
    for name, each in seconds.items():
        ratios = sorted(way / plain for way, plain in zip(each, seconds[PLAIN]))
        row = [name, f"{1e3 * median(each):.1f}", f"{median(ratios):.3f}"]
        rows.append([*row, f"{ratios[0]:.3f} – {ratios[-1]:.3f}"])
    return rows


def write_section(found: dict[str, Any]) -> str:
    rows = rows_of(found["seconds"])
    if not any(name.startswith("DeepSpeed") for name in found["seconds"]):
        rows.append(["DeepSpeed's flops profiler", "not here", "", ""])
    plain = median(found["seconds"][PLAIN])
    window, steps = found["window"], found["window_steps"]
    lines = [
        TITLE,
        "",
        "One training step (forward, "
        f"backward, AdamW) of {found['model']}, in one thread, torch {found['torch']}: small operators, so that what a "
        f"recorder does for each of them weighs the most. The ways take turns, {found['rounds']} rounds in another order "
        "each, three steps a round; milliseconds are processor time, and a ratio is that to the plain step of the same "
        f"round.",
        "",
        table(["while a step runs", "ms", "to plain", "least – most"], rows),
        "",
        f"Between recorded windows the recorder spends {1e9 * found['hook_seconds']:,.0f} ns in each step (the mean of many "
        f"calls of its hook): {100 * found['hook_seconds'] / plain:.4f} % of this one. Around a window of {steps} steps the "
        f"program waits {window['before_seconds']:.2f} s before it (torch loads its profiler, the models are looked for) and "
        f"{window['after_seconds']:.2f} s after it (torch collects the events; the trace is written, "
        f"{window['bytes'] / 1e6:.1f} MB packed); those steps are not among the recorded ones. With `--memory`, one mark of 300 "
        f"tensors takes {1e3 * found['mark_seconds']:.2f} ms; a step has four.",
        "",
        stamp("overhead"),
    ]
    return "\n".join(lines) + "\n"
