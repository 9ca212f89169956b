"""b. Memory: the peak of each step to the byte, a snapshot replayed to the allocator's own figures, running out of it explained, and
the forecast for twice the batch beside a run of that batch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from findings import Findings
from machine import ROOT, Setting
from recorded import HERE, Failed, Recorded, ask, number, run, sections_of, train
from stand_in_gpus import compiler

PART = "b"
STEPS, BATCH = 8, 4
FORECAST = 0.01
TRAINING = ROOT / "tests" / "python" / "training"
MAKE_SNAPSHOT = ROOT / "tests" / "generate" / "make_snapshot.py"
STAND_IN_ASKED = 400  # MiB


def train_on_the_host(setting: Setting, batch: int, name: str) -> Recorded:
    """The stand-in: a small model, with a library in front of the C library that counts what it hands out."""
    found = compiler()
    if found is None:
        raise Failed("needs a C compiler")
    shim, captures = setting.folder / "shim.so", setting.folder / f"captures-{name}"
    source = TRAINING / "allocation_shim.c"
    build = [found, "-O2", "-shared", "-fPIC", "-o", str(shim), str(source), "-ldl", "-lpthread"]
    subprocess.run(build, check=True)
    words = [setting.program, "run", "--output", captures, "--no-report", "--memory", "--", "env"]
    words += [f"LD_PRELOAD={shim}", setting.python, TRAINING / "memory_loops.py", "plain"]
    done = run(setting, [*words, STEPS, batch])
    peaks = [json.loads(line)["peak"] for line in done.stdout.splitlines()]
    (trace,) = captures.glob("**/*.pt.trace.json.gz")
    return Recorded({"peaks": peaks, "batch": batch}, trace, done.stderr)


def record(setting: Setting, batch: int, name: str) -> tuple[Recorded, Any]:
    """The run, and the sections of its memory."""
    if setting.is_real:
        options = ("--steps", STEPS, "--batch", batch)
        done = train(setting, "eager", *options, record=("--memory",), name=name)
    else:
        done = train_on_the_host(setting, batch, name)
    return done, sections_of(ask(setting, "memory", "--top", 0, done.trace))


def check_peaks(found: Findings, case: str, done: Any, sections: Any) -> None:
    rows = sections["memory"]["tables"]["steps"]["rows"]
    found.equal((PART, case), "steps with a peak", [row["step"] for row in rows], [4, 5, 6, 7, 8])
    ours = [row["peak"] for row in rows]
    truth = [done.truth["peaks"][row["step"] - 1] for row in rows]
    found.equal((PART, case), "peak of each step", ours, truth, "bytes")
    kinds = {row["kind"]: row["peak"] for row in sections["memory"]["tables"]["kinds"]["rows"]}
    parts = sum(peak for kind, peak in kinds.items() if kind != "total")
    found.equal((PART, case), "kinds of memory at the peak", parts, kinds["total"], "bytes")


def check_forecast(setting: Setting, found: Findings, once: Any, twice: Any) -> None:
    fit = sections_of(ask(setting, "memory", "--fit", "16GiB", once[0].trace))
    forecast = number(fit, "memory_fit", "peak_doubled")
    measured = number(twice[1], "memory", "peak")
    found.near((PART, "fit"), "peak at twice the batch", forecast, measured, FORECAST, "bytes")
    found.row("forecast", batch=twice[0].truth["batch"], forecast=forecast, measured=measured)


def take_snapshot(setting: Setting) -> tuple[Path, dict[str, Any]]:
    """The snapshot, and what its allocator counted."""
    snapshot, truth = setting.folder / "probe.pickle", setting.folder / "probe.truth.json"
    if setting.is_real:
        run(setting, [setting.python, HERE / "memory_probe.py", snapshot, truth])
        told: dict[str, Any] = json.loads(truth.read_text())
        return snapshot, told
    words = [sys.executable, MAKE_SNAPSHOT, snapshot, "--truth", truth, "--limit", 200]
    run(setting, [*words, "--oom", STAND_IN_ASKED, "--seed", 7])
    (made,) = json.loads(truth.read_text())
    made |= {"is_out_of_memory": True, "asked": STAND_IN_ASKED << 20}
    return snapshot, made


def check_snapshot(setting: Setting, found: Findings) -> None:
    snapshot, truth = take_snapshot(setting)
    sections = sections_of(ask(setting, "memory", "--top", 0, snapshot))
    place = (PART, "snapshot")
    for name in ("peak_bytes", "end_bytes"):
        told = number(sections, "snapshot_peak", name)
        found.equal(place, name.replace("_", " "), told, truth[name], "bytes")
    for name in ("reserved", "allocated", "stuck"):
        told = number(sections, "snapshot_allocator", name)
        found.equal(place, name, told, truth[name], "bytes")
    found.equal(place, "ran out of memory", truth["is_out_of_memory"], True)
    (last,) = sections["snapshot_oom"]["tables"]["events"]["rows"][-1:]
    found.equal(place, "asked for when it ran out", last["asked"], truth["asked"], "bytes")
    held = sections["snapshot_oom"]["tables"]["by_place"]["rows"]
    found.equal(place, "code that held it", bool(held and held[0]["what"]), True)
    for section in sections.values():
        for finding in section["findings"]:
            if "memory" in finding["what"]:
                found.row("out of memory", what=finding["what"], how=finding.get("try", ""))


def check(setting: Setting, found: Findings) -> None:
    with found.part(PART, "snapshot"):
        check_snapshot(setting, found)
    with found.part(PART, "peaks"):
        once = record(setting, BATCH, "memory")
        check_peaks(found, "batch", *once)
        twice = record(setting, 2 * BATCH, "memory-twice")
        check_peaks(found, "twice the batch", *twice)
        check_forecast(setting, found, once, twice)
