#!/usr/bin/env python3
"""XSpaces of JAX, beside an independent decoding: every plane and line, its events and their summed duration.

    check_xplane.py PROGRAM [NAME...]

The decoding is one of the wire format by hand, and that of JAX itself (jax.profiler.ProfileData, which has the real classes of
protobuf), where build/venv-jax or Python has JAX. Needs the folder of other people's traces: FLOPLEDGER_SHARED, or ../shared beside the
checkout; skips without it.
"""

from __future__ import annotations

import json
import re
import sys
from math import prod
from pathlib import Path
from typing import Any, Iterator

from shared_traces import ROOT, SHARED, Outcome, note_apart, program_of, run_program, skip_without

OF_JAX = [*ROOT.glob("build/venv-jax/lib/python3*/site-packages")]
sys.path += map(str, OF_JAX)

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


# ---- FLOPs of products and convolutions, from the programs in the file -----------------------------------------------


def grouped(data: bytes) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def packed(values: list[Any]) -> list[int]:
    numbers = []
    for value in values:
        at = 0
        if isinstance(value, int):
            numbers.append(value)
            continue
        while at < len(value):
            number, at = varint(value, at)
            numbers.append(number)
    return numbers


def sizes_of(shape: bytes) -> list[int]:
    parts = grouped(shape)
    return sizes_of(parts[4][0]) if 4 in parts else packed(parts.get(3, []))


def instruction_flops(
    item: dict[int, list[Any]],
    by_id: dict[int, dict[int, list[Any]]],
    computations: dict[int, list[dict[int, list[Any]]]],
) -> int:
    """None is added for a call of a library that is no product and no convolution: it has no FLOPs at all then."""
    opcode, target = item[2][0], item.get(28, [b""])[0]
    shapes = [sizes_of(by_id[i][3][0]) for i in packed(item.get(36, [])) if i in by_id]
    made = sizes_of(item[3][0])
    if opcode == b"dot":
        summed = packed(grouped(item[30][0]).get(1, []))
        return 2 * prod(made) * prod(shapes[0][i] for i in summed)
    if target.startswith(b"__cublas"):
        settings = json.loads(item[43][0])["gemm_backend_config"]["dot_dimension_numbers"]
        return (
            2 * prod(made) * prod(shapes[0][int(i)] for i in settings["lhs_contracting_dimensions"])
        )
    if target == b"__cudnn$convForward":
        window = [grouped(part)[1][0] for part in grouped(item[15][0])[1]]
        features = grouped(item[16][0])[3][0] if 3 in grouped(item[16][0]) else 0
        return 2 * prod(made) * prod(window) * shapes[1][features]
    if opcode == b"fusion":
        called = [computations[i] for i in packed(item[38])]
        return sum(instruction_flops(i, by_id, computations) for c in called for i in c)
    return 0


def flops_by_op(path: Path) -> dict[str, set[int]]:
    """ "jit_f::dot.3": FLOPs of one time that it runs, of ops with products or convolutions; of each program of that name."""
    found: dict[str, set[int]] = {}
    for plane in grouped(path.read_bytes())[1]:
        parts = grouped(plane)
        if parts.get(2) != [b"/host:metadata"]:
            continue
        for entry in parts.get(4, []):
            metadata = grouped(grouped(entry)[2][0])
            protos = [grouped(stat)[6][0] for stat in metadata.get(5, []) if 6 in grouped(stat)]
            for proto in protos:
                module = grouped(grouped(proto)[1][0])
                computations = {
                    grouped(c)[5][0]: [grouped(i) for i in grouped(c).get(2, [])] for c in module[3]
                }
                by_id = {i[35][0]: i for c in computations.values() for i in c if 35 in i}
                for item in (i for c in computations.values() for i in c):
                    flops = instruction_flops(item, by_id, computations)
                    if flops:
                        name = f"{module[1][0].decode()}::{item[1][0].decode()}"
                        found.setdefault(name, set()).add(flops)
    return found


def check_flops(program: Path, path: Path, outcome: Outcome) -> int:
    """The FLOPs of one call of each op that has some; how many there are."""
    wanted = flops_by_op(path)
    count = 0
    for rank in json.loads(run_program(program, "report", path, ["--all"]).output)["ranks"]:
        ops = rank["sections"].get("module_cost", {}).get("tables", {}).get("ops", {"rows": []})
        for row in ops["rows"]:
            one_of = wanted.get(re.sub(r"\(\d+\)::", "::", row["op"]), set())
            if row["kind"] != "matrix" or not one_of or not row["flops"]:
                continue
            flops, calls = row["flops_in_all"], row["calls_in_all"]
            count += 1
            outcome.check(
                any(flops % each == 0 and flops <= each * calls for each in one_of),
                f"{row['op']}: {flops} FLOPs in {calls} calls, {sorted(one_of)} each",
            )
    return count


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
    priced = check_flops(program, path, outcome)
    if priced:
        print(f"{path.name}: FLOPs of {priced} ops by the programs in the file")
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
