#!/usr/bin/env python3
"""XSpaces of JAX, beside an independent decoding: every plane and line, its events and their summed duration.

    check_xplane.py PROGRAM [NAME...]

The decoding is that of JAX itself (jax.profiler.ProfileData, which has the real classes of protobuf), where Python has JAX;
else one of the wire format by hand. Needs the folder of other people's traces: FLOPLEDGER_SHARED, or ../shared beside the
checkout; skips without it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Iterator

from shared_traces import SHARED, Outcome, note_apart, program_of, run_program, skip_without

try:
    from jax.profiler import ProfileData
except ImportError:
    ProfileData = None

TRACES = SHARED / "traces"
Sums = dict[str, tuple[int, int]]  # by category: events, ps


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        form = key & 7
        if form == 0:
            value, at = varint(data, at)
            yield key >> 3, value
            continue
        length = {1: 8, 5: 4}.get(form, 0)
        if form == 2:
            length, at = varint(data, at)
        yield key >> 3, data[at : at + length]
        at += length


def by_hand(path: Path) -> list[tuple[str, str, int, int]]:
    """(plane, line, events, ps)"""
    found = []
    for number, plane in fields(path.read_bytes()):
        if number != 1:
            continue
        parts = list(fields(plane))
        name = next((v.decode() for n, v in parts if n == 2), "")
        for line in (v for n, v in parts if n == 3):
            inside = list(fields(line))
            events = [dict(fields(v)) for n, v in inside if n == 4]
            title = next((v.decode() for n, v in inside if n == 2), "")
            found.append((name, title, len(events), sum(e.get(3, 0) for e in events)))
    return found


def by_jax(path: Path) -> list[tuple[str, str, int, int]]:
    found = []
    for plane in ProfileData.from_file(str(path)).planes:
        for line in plane.lines:
            lengths = [round(event.duration_ns * 1000) for event in line.events]
            found.append((plane.name, line.name, len(lengths), sum(lengths)))
    return found


def sums_of(lines: list[tuple[str, str, int, int]]) -> Sums:
    sums: Sums = {}
    for plane, line, events, length in lines:
        if not events or not plane.startswith(("/host:", "/device:GPU", "/device:TPU")):
            continue
        key = plane if plane.startswith("/host:") else f"{plane} {line}"
        before = sums.get(key, (0, 0))
        sums[key] = (before[0] + events, before[1] + length)
    return sums


def check(program: Path, path: Path) -> Outcome:
    outcome = Outcome(path.name)
    by_rank = json.loads(run_program(program, "inspect", path, []).output)["ranks"]
    wanted = sums_of(by_hand(path))
    if ProfileData and sums_of(by_jax(path)) != wanted:  # not counted: as many checks without JAX
        outcome.check(False, "JAX decodes something else")
    found: Sums = {}
    for rank in by_rank:
        table = rank["sections"]["events"]["tables"]["categories"]
        for row in table["rows"]:
            found[row["category"]] = (row["count"], row["total"])
    outcome.check(set(found) == set(wanted), f"lines: {sorted(set(found) ^ set(wanted))}")
    for key, (events, length) in wanted.items():
        outcome.check(found.get(key, (0, 0))[0] == events, f"{key}: {found.get(key)} {events}")
        apart = abs(found.get(key, (0, 0))[1] - length / 1000)
        note_apart(apart / max(events, 1), "ns an event")
        outcome.check(apart <= events, f"{key}: {apart} ns apart in {events} events")
    return outcome


def main() -> None:
    program = program_of(sys.argv)
    skip_without(TRACES)
    total = Outcome("all")
    for path in sorted(TRACES.rglob("*.xplane.pb")):
        if len(sys.argv) < 3 or any(name in str(path) for name in sys.argv[2:]):
            total.add(check(program, path))
    total.finish()


if __name__ == "__main__":
    main()
