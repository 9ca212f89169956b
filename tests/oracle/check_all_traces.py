#!/usr/bin/env python3
"""Runs the program on every file of the folder of other people's traces.

    check_all_traces.py PROGRAM [NAME...]

A readable trace gives a sensible report, in JSON and as text: every event counted, all parts of a step sum to it, no step
that the host did not mark. A damaged one is salvaged; what is no trace gets a message that says so. Nothing takes more
than 20 s. Needs that folder: FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
import zlib
from pathlib import Path
from typing import Any

from shared_traces import SHARED, Outcome, Run, program_of, run_program, skip_without

TRACES = SHARED / "traces"
EVENT = re.compile(rb'"ph"\s*:\s*"')
DEVICE_WORK = re.compile(rb'"cat"\s*:\s*"(?:kernel|gpu_memcpy|gpu_memset|Kernel|Memcpy|Memset)"')
STEP = re.compile(rb'"name"\s*:\s*"ProfilerStep')
STEP_NUMBER = re.compile(r"#(\d+)")
WORK = ("matrix", "other_compute", "exposed_communication", "exposed_copy", "data_copy")


def text_of(path: Path) -> bytes:
    """The uncompressed text, of a damaged file as much as there is."""
    data = path.read_bytes()
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, zlib.error):
        return zlib.decompressobj(31).decompress(data)


def host_steps(text: bytes) -> list[int]:
    """The numbers of the ProfilerStep ranges of the host, in the order of time."""
    decoder = json.JSONDecoder(strict=False, parse_float=str)
    steps: list[tuple[float, int]] = []
    for match in STEP.finditer(text):
        start = text.rfind(b"{", 0, match.start())
        try:
            event, _ = decoder.raw_decode(text[start : start + 20_000].decode(errors="replace"))
        except json.JSONDecodeError:
            continue  # the event at which the file breaks off
        number = STEP_NUMBER.search(event["name"])
        is_on_host = event.get("cat") != "gpu_user_annotation"
        if event.get("ph") == "X" and is_on_host and float(event.get("dur", 0)) > 0:
            steps.append((float(event["ts"]), int(number[1]) if number else len(steps)))
    return [number for _, number in sorted(steps)]


def check_steps(outcome: Outcome, sections: dict[str, Any], text: bytes) -> None:
    rows = sections["step_ledger"]["tables"]["steps"]["rows"]
    marked = host_steps(text)
    if marked:
        numbers = [row["step"] for row in rows]
        outcome.check(numbers == marked, f"steps {numbers}, the host marks {marked}")
    for row in rows:
        parts = sum(ns for key, ns in row.items() if key.startswith("idle_"))
        work = sum(row[account] for account in WORK)
        outcome.check(row["duration"] > 0, f"step {row['step']} lasts {row['duration']} ns")
        outcome.check(row["busy"] == work, f"step {row['step']}: busy {row['busy']}, parts {work}")
        outcome.check(
            parts + work == row["duration"],
            f"step {row['step']}: its parts sum to {parts + work}, not {row['duration']} ns",
        )


def check_counts(outcome: Outcome, sections: dict[str, Any], text: bytes, is_cut: bool) -> None:
    numbers = sections["run"]["numbers"]
    events = len(EVENT.findall(text))
    told = numbers["events"]["value"]
    slack = 1 if is_cut else 0  # the event at which the file breaks off
    outcome.check(events - slack <= told <= events, f"{told} events, {events} are there")
    work = len(DEVICE_WORK.findall(text))
    told = numbers["device_events"]["value"]
    outcome.check(work - slack <= told <= work, f"{told} device events, {work} are there")


def check_report(outcome: Outcome, path: Path, run: Run, is_cut: bool) -> None:
    wanted = 5 if is_cut else 0
    outcome.check(run.code == wanted, f"code {run.code} instead of {wanted}: {run.message}")
    if run.code not in (0, 5):
        return
    sections = json.loads(run.output)["ranks"][0]["sections"]
    if "run" not in sections and "pipeline" in sections:
        return  # a timeline of pipelines: check_stragglers.py
    text = text_of(path)
    check_counts(outcome, sections, text, is_cut)
    check_steps(outcome, sections, text)
    if is_cut:
        told = " ".join(finding["what"] for finding in sections["run"]["findings"])
        outcome.check("cut" in told, f"does not say that the file is cut: {told}")


def check_text(outcome: Outcome, program: Path, path: Path) -> None:
    """The page for people, and what `inspect` says."""
    page = run_program(program, "report", path, ["--all", "--format", "text", "--color", "never"])
    outcome.check(page.code in (0, 5), f"as text: code {page.code}: {page.message}")
    raw = re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", page.output)
    outcome.check(not raw, f"control character {raw and raw.group()!r} in the page")
    for line in page.output.decode().splitlines():
        if len(line) > 80 and max(map(len, line.split())) < 50:  # a path cannot be broken
            outcome.check(False, f"a line of {len(line)} columns on a page of 80: {line}")
    inspected = run_program(program, "inspect", path, [])
    outcome.check(inspected.code in (0, 5), f"inspect: code {inspected.code}: {inspected.message}")


def check_refusal(outcome: Outcome, path: Path, run: Run) -> None:
    outcome.check(run.code in (3, 4), f"code {run.code} for what is no trace")
    outcome.check(path.name in run.message, f"the message does not name the file: {run.message}")
    says_why = re.search(r"not a trace|no trace|no timed event|no event|empty", run.message)
    outcome.check(bool(says_why), f"the message does not say why: {run.message}")


def is_timing_of_pipeline(path: Path) -> bool:
    """No trace, but a reader of its own takes it: starts and ends of forwards and backwards by step."""
    return path.suffix == ".json" and b'"fwd_start"' in path.read_bytes()[:4096]


def is_of_rocprof(path: Path) -> bool:
    """A recording of rocprofv3: check_rocprof.py counts what is in it."""
    return ".json" in path.suffixes and b'"rocprofiler-sdk-tool"' in text_of(path)[:4096]


def is_xspace(path: Path) -> bool:
    """A recording of JAX: check_xplane.py counts what is in it."""
    return path.name.endswith(".xplane.pb")


def check(program: Path, path: Path, index: dict[str, dict[str, str]]) -> Outcome:
    name = str(path.relative_to(TRACES))
    outcome = Outcome(name)
    entry = index.get(name, {})
    is_cut = name.startswith("broken/truncated")
    is_readable = int(entry.get("events") or 0) > 1 and not entry["note"]
    run = run_program(program, "report", path, [])
    outcome.check(run.code is not None, run.message)
    if run.code is None:
        return outcome
    if is_readable or is_cut:
        check_report(outcome, path, run, is_cut)
        check_text(outcome, program, path)
    elif is_timing_of_pipeline(path) or is_of_rocprof(path) or is_xspace(path):
        outcome.check(run.code == 0, f"code {run.code}: {run.message}")
        check_text(outcome, program, path)
    else:
        check_refusal(outcome, path, run)
    return outcome


def main() -> None:
    program = program_of(sys.argv)
    skip_without(TRACES)
    wanted = sys.argv[2:]
    with (TRACES / "INDEX.tsv").open() as file:
        index = {row["file"]: row for row in csv.DictReader(file, delimiter="\t")}
    all_counts = Outcome("all")
    for path in sorted(TRACES.rglob("*")):
        if path.is_file() and (not wanted or any(word in str(path) for word in wanted)):
            all_counts.add(check(program, path, index))
    folder = run_program(program, "inspect", TRACES / "broken", [])
    all_counts.check(folder.code in (0, 5), f"a folder: code {folder.code}: {folder.message}")
    all_counts.finish()


if __name__ == "__main__":
    main()
