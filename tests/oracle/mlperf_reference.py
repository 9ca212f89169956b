"""What the events of an MLPerf log say by definition: a slow reading of the whole list, with nothing of the program's own.

Startup is from the first line to `run_start`. Training is what lies in blocks (else in epochs, else in the run) outside of
evaluations; an evaluation holds training up from `eval_start` until `eval_stop`, or until a block or an epoch begins before.
Steps are the most that any line says had been made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MARK = ":::MLLOG "
TELLS_STEPS = ("block_start", "block_stop", "eval_start", "train_loss", "run_stop", "eval_stop")
STEP_TIMES = ("train_step_time", "train_step_timing in s")


@dataclass
class Truth:
    startup_ms: int
    elapsed_ms: int
    evaluations_ms: float | None  # None: evaluations without a length
    kept_ms: float
    steps: int
    is_numbered: bool
    is_told_by_step: (
        bool  # each step's line tells its length: measured by another clock than that of the lines
    )
    devices: int | None
    pieces: list[int]  # of training, in ms


def events_of(path: Path) -> list[dict[str, Any]]:
    decoder, events = json.JSONDecoder(), []
    for line in path.read_text(errors="replace").splitlines():
        at = line.find(MARK)
        if at < 0:
            continue
        try:
            event, _ = decoder.raw_decode(line[at + len(MARK) :])
        except ValueError:
            continue
        if isinstance(event, dict) and "key" in event and event.get("time_ms", 0) > 0:
            event["metadata"] = event.get("metadata") or {}
            events.append(event)
    return events


def first(events: list[dict[str, Any]], key: str) -> dict[str, Any] | None:
    return next((e for e in events if e["key"] == key), None)


def evaluations_of(events: list[dict[str, Any]]) -> list[tuple[int, int]]:
    spans, begin = [], None
    for event in events:
        ms = event["time_ms"]
        if event["key"] == "eval_start" and begin is None:
            begin = ms
        elif (
            event["key"] in ("eval_stop", "block_start", "epoch_start", "run_start")
            and begin is not None
        ):
            spans.append((begin, ms))
            begin = None
    return spans


def training_of(events: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """From each start of a block (else epoch, else the run) to its stop, the next start or the run's end."""
    run_at = next(i for i, e in enumerate(events) if e["key"] == "run_start")
    keys = {e["key"] for e in events}
    what = next((w for w in ("block", "epoch") if f"{w}_start" in keys), "run")
    spans, begin = [], None
    for event in events[run_at:]:
        ms = event["time_ms"]
        if begin is not None and event["key"] in (f"{what}_start", f"{what}_stop", "run_stop"):
            spans.append((begin, ms))
            begin = None
        if event["key"] == f"{what}_start":
            begin = ms
    return spans


def without(
    spans: list[tuple[int, int]], holes: list[tuple[int, int]]
) -> list[tuple[tuple[int, int], bool]]:
    """What is left of the spans, and whether a hole came before each part in its span."""
    parts = []
    for begin, end in spans:
        is_behind = False
        for hole_begin, hole_end in sorted(holes):
            if hole_end <= begin or hole_begin >= end:
                continue
            if hole_begin > begin:
                parts.append(((begin, hole_begin), is_behind))
            begin, is_behind = max(begin, hole_end), True
        if end > begin:
            parts.append(((begin, end), is_behind))
    return parts


def tokens_per_step(events: list[dict[str, Any]], batch: int) -> int:
    sequence = first(events, "max_sequence_length")
    return batch * int(sequence["value"]) if sequence else 0


def count_in(count: float, batch: int, tokens: int, events: list[dict[str, Any]]) -> int:
    """Counts whose name does not tell their unit: all are multiples of a step's tokens, or of its samples, or are steps."""
    counts = [
        int(e["metadata"]["step"])
        for e in events
        if e["key"] == "tracked_stats"
        and isinstance(e["value"], dict)
        and any(name in e["value"] for name in STEP_TIMES)
        and "step" in e["metadata"]
    ]
    counts += [
        int(e["metadata"]["epoch_count"])
        for e in events
        if e["key"] == "block_start" and "epoch_count" in e["metadata"]
    ]
    for unit in (tokens, batch):
        if unit > 1 and counts and all(c % unit == 0 for c in counts):
            return int(count) // unit
    return int(count)


def steps_told(events: list[dict[str, Any]]) -> tuple[int, bool]:
    batches = first(events, "global_batch_size")
    batch = int(batches["value"]) if batches else 0
    tokens = tokens_per_step(events, batch)
    most, is_told, size = 0, False, 0
    run_at = next(i for i, e in enumerate(events) if e["key"] == "run_start")
    for event in events[run_at:]:
        data, told = event["metadata"], None
        if event["key"] in TELLS_STEPS:
            if "step_num" in data:
                told = int(data["step_num"])
            elif "samples_count" in data and batch:
                told = int(data["samples_count"]) // batch
        if event["key"] == "block_start":
            size = int(data.get("epoch_count", 0))
        if event["key"] == "block_stop" and batch > 1 and size >= batch and size % batch == 0:
            told = count_in(int(data["first_epoch_num"]) + size, batch, tokens, events)
        value = event["value"]
        if event["key"] == "tracked_stats" and isinstance(value, dict):
            if any(name in value for name in STEP_TIMES) and "step" in data:
                told = count_in(data["step"], batch, tokens, events)
        if told is not None:
            is_told = True
            most = max(most, told)
    return most, is_told


def last_block(events: list[dict[str, Any]], most: int) -> int:
    """Steps of the last block, where only the starts of blocks tell any: as many as each before, if it took as long."""
    batches = first(events, "global_batch_size")
    starts = [e for e in events if e["key"] == "block_start"]
    stops = [e for e in events if e["key"] == "block_stop"]
    if not batches or len(starts) < 2 or len(starts) != len(stops):
        return 0
    if any("samples_count" not in e["metadata"] for e in starts):
        return 0
    begins = [int(e["metadata"]["samples_count"]) // int(batches["value"]) for e in starts]
    sizes = {b - a for a, b in zip(begins, begins[1:])}
    lengths = [b["time_ms"] - a["time_ms"] for a, b in zip(starts, stops)]
    is_as_long = abs(lengths[-1] - lengths[-2]) * 10 <= lengths[-2]
    return sizes.pop() if most == begins[-1] and len(sizes) == 1 and is_as_long else 0


def step_times(events: list[dict[str, Any]]) -> list[float]:
    run_at = next(i for i, e in enumerate(events) if e["key"] == "run_start")
    return [
        float(e["value"][name]) * 1000
        for e in events[run_at:]
        if e["key"] == "tracked_stats" and isinstance(e["value"], dict)
        for name in STEP_TIMES
        if name in e["value"] and "throughput" not in e["value"]
    ]


def pieces_of(parts: list[tuple[tuple[int, int], bool]]) -> list[int]:
    """What counts as a step each where none is numbered: no rest behind the last evaluation of a block."""
    pieces: list[int] = []
    for index, ((begin, end), is_behind) in enumerate(parts):
        ends_span = index + 1 == len(parts) or not parts[index + 1][1]
        if is_behind and ends_span and pieces and (end - begin) * 20 < pieces[-1]:
            continue
        pieces.append(end - begin)
    return pieces


def behind_last_step(
    events: list[dict[str, Any]], parts: list[tuple[tuple[int, int], bool]]
) -> int:
    """Milliseconds of training behind the last step of a part, where a line before its end told that step already."""
    total = 0
    for (begin, end), _ in parts:
        told = [e for e in events if e["key"] == "train_loss" and begin < e["time_ms"] <= end]
        after = [
            e["metadata"]["samples_count"]
            for e in events
            if e["key"] in ("eval_start", "run_stop")
            and e["time_ms"] >= end
            and "samples_count" in e["metadata"]
        ]
        if told and after and told[-1]["metadata"]["samples_count"] == after[0]:
            total += end - told[-1]["time_ms"]
    return total


def truth_of(path: Path) -> Truth:
    events = events_of(path)
    run = next(e for e in events if e["key"] == "run_start")
    evaluations = evaluations_of(events)
    parts = without(training_of(events), evaluations)
    pieces = pieces_of(parts)
    validation = sum(
        float(e["value"]["validation_step_time"]) * 1000
        for e in events
        if isinstance(e["value"], dict) and "validation_step_time" in e["value"]
    )
    keys = [e["key"] for e in events]
    evaluation_ms: float | None = float(sum(end - begin for begin, end in evaluations))
    if not evaluations and ("eval_stop" in keys or "eval_accuracy" in keys):
        evaluation_ms = validation or None
    steps, is_numbered = steps_told(events)
    more = last_block(events, steps)
    times = step_times(events)
    is_by_step = len(times) >= steps > 0
    return Truth(
        startup_ms=run["time_ms"] - events[0]["time_ms"],
        elapsed_ms=max(e["time_ms"] for e in events) - events[0]["time_ms"],
        evaluations_ms=evaluation_ms,
        kept_ms=(
            min(sum(times), sum(pieces))
            if is_by_step
            else float(sum(pieces) - behind_last_step(events, parts))
        ),
        steps=steps + more if is_numbered else len(pieces),
        is_numbered=is_numbered,
        is_told_by_step=is_by_step,
        devices=keys.count("init_start") if keys.count("init_start") > 1 else None,
        pieces=pieces,
    )
