#!/usr/bin/env python3
"""Every event of other people's traces, counted and added up, beside Python's own reading of the JSON.

    check_times.py PROGRAM [NAME...]

For each category and phase the number of events, the first start, the last end and the sum of all durations must be what
Python's decimals give, to the nanosecond; a plain copy, read by three threads, must give the same. Files of more than 16 MB
of text are left out, because Python takes too long. Needs the folder of other people's traces: FLOPLEDGER_SHARED, or
../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import tempfile
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, Iterator

from shared_traces import SHARED, Outcome, program_of, run_program, skip_without

TRACES = SHARED / "traces"
TEXT_BYTES_MAX = 16_000_000
Sums = dict[tuple[str, str], tuple[int, int | None, int | None, int | None]]


def nanoseconds(microseconds: Any) -> int:
    if isinstance(microseconds, int):
        return microseconds * 1000
    return int((Decimal(microseconds) * 1000).to_integral_value(ROUND_HALF_UP))


def events_of(path: Path) -> list[dict[str, Any]]:
    """The events, or an empty list where the file is no trace or too large."""
    data = path.read_bytes()
    try:
        text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        if len(text) > TEXT_BYTES_MAX:
            return []
        text = re.sub(rb'(?<!")N/A(?!")', b'"N/A"', text)
        trace = json.loads(text, strict=False, parse_float=Decimal)
    except (EOFError, ValueError):
        return []
    events = trace.get("traceEvents") if isinstance(trace, dict) else trace
    is_trace = isinstance(events, list) and events and isinstance(events[0], dict)
    return events if is_trace and "ph" in events[0] else []


def sums_of_python(events: list[dict[str, Any]]) -> Sums:
    sums: dict[tuple[str, str], list[Any]] = {}
    for event in events:
        phase = event["ph"]
        entry = sums.setdefault((str(event.get("cat") or "(none)"), phase), [0, None, None, 0])
        entry[0] += 1
        if phase == "M" or "ts" not in event or (phase == "X" and "dur" not in event):
            continue
        start = nanoseconds(event["ts"])
        duration = nanoseconds(event["dur"]) if phase == "X" else 0
        if duration < 0:
            continue
        entry[1] = start if entry[1] is None else min(entry[1], start)
        entry[2] = start + duration if entry[2] is None else max(entry[2], start + duration)
        entry[3] += duration
    return {key: tuple(entry) for key, entry in sums.items()}  # type: ignore[misc]


def sums_of_program(report: dict[str, Any]) -> Sums:
    rows = report["ranks"][0]["sections"]["events"]["tables"]["categories"]["rows"]
    return {
        (row["category"], row["phase"][0]): (row["count"], row["first"], row["last"], row["total"])
        for row in rows
    }


def from_the_first(sums: Sums) -> Sums:
    """With all times counted from the first, and without sums where nothing is timed."""
    zero = min((entry[1] for entry in sums.values() if entry[1] is not None), default=0)
    return {
        key: (
            count,
            None if first is None else first - zero,
            None if last is None else last - zero,
            None if first is None or key[1] != "X" else total,
        )
        for key, (count, first, last, total) in sums.items()
    }


def check_file(program: Path, path: Path, expected: Sums, outcome: Outcome) -> None:
    for threads in ("1", "3"):
        arguments = ["--top", "1000", "--threads", threads]
        run = run_program(program, "inspect", path, arguments)
        outcome.check(run.code in (0, 5), f"exit code {run.code}: {run.message}")
        if run.code not in (0, 5):
            return
        found = from_the_first(sums_of_program(json.loads(run.output)))
        for key in sorted(expected.keys() | found.keys()):
            outcome.check(
                found.get(key) == expected.get(key),
                f"{key}, {threads} threads: {found.get(key)} and not {expected.get(key)}",
            )


def traces_of(names: list[str]) -> Iterator[Path]:
    for path in sorted(TRACES.rglob("*.json*")):
        if "broken" not in path.parts and (not names or any(name in str(path) for name in names)):
            yield path


def main() -> None:
    program = program_of(sys.argv)
    skip_without(SHARED)
    total = Outcome("all")
    for path in traces_of(sys.argv[2:]):
        events = events_of(path)
        if not events:
            continue
        outcome = Outcome(str(path.relative_to(TRACES)))
        expected = from_the_first(sums_of_python(events))
        check_file(program, path, expected, outcome)
        if path.suffix == ".gz":
            with tempfile.TemporaryDirectory() as folder:
                plain = Path(folder) / "plain.json"
                plain.write_bytes(gzip.decompress(path.read_bytes()))
                check_file(program, plain, expected, outcome)
        total.add(outcome)
    total.check(total.passed > 0, "no trace was found")
    total.finish()


if __name__ == "__main__":
    main()
