#!/usr/bin/env python3
"""Makes a torch-profiler trace whose ledger is known, because the accounts were chosen before the events.

    make_trace.py --seed 7 --steps 5 --style torch2 --output trace.json

writes trace.json and trace.json.ledger.json: the exact nanoseconds of every account in every step. A name that ends in .gz
is compressed. --ranks 4 makes trace_rank0.json to trace_rank3.json; --events makes as many steps as it takes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from pathlib import Path

from cpu_trace import lay_cpu_trace
from lay_events import lay_events
from ledger_script import Plan, write_script
from trace_event import Trace
from trace_styles import STYLES, Style
from write_trace import BASE_TIME_NS, write_trace

EVENTS_PER_BLOCK = 8.3  # about


def make_trace(seed: int | str, plan: Plan, style: Style, is_cpu_only: bool = False) -> Trace:
    rng = random.Random(f"{seed} {style.name}")
    if is_cpu_only:
        trace = lay_cpu_trace(rng, style, plan)
    else:
        script = write_script(rng, plan, style.grain, style.host_accounts())
        trace = lay_events(rng, script, style, plan.has_step_marks)
    if not style.is_relative:
        for step in trace.ledger["steps"]:
            step["start_ns"] += BASE_TIME_NS
            step["end_ns"] += BASE_TIME_NS
    return trace


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="1", help="the same seed makes the same trace")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=6, help="how long a step is")
    parser.add_argument(
        "--events", type=int, help="about how many events; sets --steps and --blocks"
    )
    parser.add_argument("--cpu-only", action="store_true", help="a run without a device")
    parser.add_argument("--marks", choices=["steps", "optimizer"], default="steps")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument(
        "--style",
        choices=STYLES,
        default="torch2",
        help="; ".join(f"{style.name}: {style.summary}" for style in STYLES.values()),
    )
    parser.add_argument("--output", type=Path, required=True)
    return parser.parse_args()


def write_file(path: Path, trace: Trace, style: Style) -> None:
    pieces = (piece.encode() for piece in write_trace(trace, style).pieces())
    if path.suffix == ".gz":
        with gzip.GzipFile(path, "wb", compresslevel=6, mtime=0) as compressed:
            compressed.writelines(pieces)
    else:
        with path.open("wb") as plain:
            plain.writelines(pieces)


def main() -> None:
    arguments = parse_arguments()
    style = STYLES[arguments.style]
    steps, blocks = arguments.steps, arguments.blocks
    if arguments.events:
        steps = max(1, min(200, arguments.events // 2000))
        blocks = max(1, round(arguments.events / steps / EVENTS_PER_BLOCK))
    has_step_marks = arguments.marks == "steps" or not style.has_annotations
    plan = Plan(steps, blocks, has_step_marks)
    for rank in range(arguments.ranks):
        output: Path = arguments.output
        seed = arguments.seed
        if arguments.ranks > 1:
            name, dot, suffixes = output.name.partition(".")
            output = output.with_name(f"{name}_rank{rank}{dot}{suffixes}")
            seed = f"{seed} rank {rank}"
        trace = make_trace(seed, plan, style, arguments.cpu_only)
        if arguments.ranks > 1:
            trace.run_facts |= {"rank": rank, "world_size": arguments.ranks}
        write_file(output, trace, style)
        ledger = output.with_name(output.name + ".ledger.json")
        ledger.write_text(json.dumps(trace.ledger, indent=1) + "\n")


if __name__ == "__main__":
    main()
