"""Reads the record of all steps (docs/formats/step-record.md), for the table of steps of a fleet."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flopledger.step_record import (
    HEADER,
    HEADER_BYTES,
    LOSS,
    LOSS_OF_STEP_BEFORE,
    MAGIC,
    NOT_KNOWN,
    PROFILED,
    RESUMED,
    SKIPPED,
    START_UNKNOWN,
    STEP,
    entries_of,
)

Row = dict[str, Any]
RANK, OPENED_UNIX, OPENED, PROCESS_START = 6, 10, 11, 12  # places in the header


def header_of(data: bytes) -> tuple[Any, ...] | None:
    if len(data) < HEADER_BYTES or not data.startswith(MAGIC):
        return None
    return HEADER.unpack_from(data)


def start_of_records(paths: Sequence[Path]) -> float | None:
    """When the first process began, in seconds since 1970."""
    starts = []
    for path in paths:
        with path.open("rb") as file:
            header = header_of(file.read(HEADER_BYTES))
        if header is not None:
            starts.append(header[OPENED_UNIX] - header[OPENED] + header[PROCESS_START])
    return min(starts) / 1e9 if starts else None


def read_records(paths: Sequence[Path], attempts: Mapping[str, int]) -> Iterator[Row]:
    """A row a step, by rank; of a step that a later attempt made again, the later one.

    `attempts`: the record of an attempt's first rank, and the number of its first step in the job. A record of another rank is of the
    attempt that began nearest to it.
    """
    files = [(str(path), header_of(data), data) for path in paths for data in (path.read_bytes(),)]
    known = [(path, header, data) for path, header, data in files if header is not None]
    known.sort(key=lambda each: each[1][OPENED_UNIX])
    begins = [
        (header[OPENED_UNIX], attempts[path]) for path, header, _ in known if path in attempts
    ]
    rows: dict[tuple[int, int], Row] = {}
    for _, header, data in known:
        opened = header[OPENED_UNIX]
        first = min(((abs(opened - at), step) for at, step in begins), default=(0, None))[1]
        for row in rows_of(header, data, first):
            rows[row["rank"], row["step"]] = row
    for key in sorted(rows):
        yield rows[key]


def rows_of(header: tuple[Any, ...], data: bytes, first: int | None) -> Iterator[Row]:
    rows: dict[int, Row] = {}
    before = 0  # steps that the optimizer had made when this process began
    for entry in filter(None, entries_of(data[HEADER_BYTES:], header[5])):
        kind, flags, step, loss = entry[1], entry[2], entry[4], entry[15]
        if kind == STEP:
            rows[step] = row_of(header[RANK], entry)
        if kind == RESUMED:
            before = max(0, entry[14])
        at = step - 1 if kind == STEP and flags & LOSS_OF_STEP_BEFORE else step
        if kind in (STEP, LOSS) and not math.isnan(loss) and at in rows:
            rows[at]["loss"] = loss
    if first is not None:
        before = first - 1
    for step, row in rows.items():
        yield {**row, "step": before + step}


def row_of(rank: int, entry: tuple[Any, ...]) -> Row:
    flags, step, start, end = entry[2], entry[4], entry[5], entry[6]
    waits = [None if value == NOT_KNOWN else value for value in entry[7:13]]
    return {
        "rank": rank,
        "step": step,
        "duration_ns": None if flags & START_UNKNOWN else end - start,
        "data_wait_ns": waits[0],
        "forward_ns": waits[1],
        "backward_ns": waits[2],
        "optimizer_ns": waits[3],
        "tokens": waits[4],
        "samples": waits[5],
        "is_recorded": bool(flags & PROFILED),
        "is_skipped": bool(flags & SKIPPED),
    }
