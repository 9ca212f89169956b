"""e. Other ways in: a job that runs already (attach), graphs whose capture was recorded, PyTorch's .pftrace, and Nsight Systems."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from findings import Findings
from machine import ROOT, Setting
from recorded import HERE, Failed, ask, number, reference_of, run, sections_of, train
from simulated_device import simulate

sys.path[:0] = [str(ROOT / "tests" / "generate")]

from graph_traces import CaptureWriter, ReplayWriter, random_graph  # noqa: E402

PART = "e"
STEPS = 8  # at least: the job goes on until it has been attached to, for the profiler asks only every five seconds
WAY = "autocast"  # some 15 ms a step on an H100
ATTRIBUTED_AT_LEAST = 0.95
NSYS_WITHIN = 0.02  # of the device's busy time: two profilers, two runs


def attach(setting: Setting) -> tuple[Path, list[str]]:
    """The trace of a window, and the losses of the job."""
    sockets = setting.folder / "s"
    sockets.mkdir(exist_ok=True)
    daemon = {"KINETO_USE_DAEMON": "1", "KINETO_IPC_SOCKET_DIR": str(sockets)}
    daemon |= {"KINETO_ONDEMAND_TRACE_DIR": str(setting.folder), "OMP_NUM_THREADS": "1"}
    truth, end = setting.folder / "attached.truth.json", setting.folder / "attached.end"
    words = [setting.python, HERE / "train_ways.py", WAY, "--device", setting.device]
    words += ["--steps", STEPS, "--until", end, "--truth", truth, "--say"]
    job = subprocess.Popen(
        [str(word) for word in words],
        env={**os.environ, **daemon, "KINETO_LOG_LEVEL": "99"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert job.stdout is not None
        if job.stdout.readline().strip() != "trains":
            raise Failed("the job that was to be attached to did not begin")
        captures = setting.folder / "captures-attach"
        options = ["--no-report", "--milliseconds", 500, "--output", captures]
        run(setting, [setting.program, "attach", *options, job.pid])
        end.touch()
        if job.wait(timeout=200) != 0:
            raise Failed("the job that was attached to ended with an error")
    finally:
        job.kill()
        job.communicate()
    (trace,) = captures.glob("**/*.pt.trace.json.gz")
    losses: list[str] = json.loads(truth.read_text())["losses"]
    return trace, losses


def check_attach(setting: Setting, found: Findings) -> None:
    place = (PART, "attach")
    trace, losses = attach(setting)
    if not setting.is_real:
        simulate(trace)
    report = ask(setting, "report", trace)
    events = number(sections_of(report), "run", "device_events")
    truth = reference_of(trace, "host").totals["all_device_events"]
    found.equal(place, "device events", events, truth)
    found.equal(place, "there are some", bool(events), True)
    plain = train(setting, WAY, "--steps", len(losses), record=None)
    found.equal(place, "losses, plain and attached to", losses, plain.truth["losses"])


def graphs(setting: Setting) -> tuple[Path, Path]:
    """Traces of a capture and of its replays."""
    capture, replay = setting.folder / "graph-capture.json", setting.folder / "graph-replay.json"
    if setting.is_real:
        run(setting, [setting.python, HERE / "graph_probe.py", capture, replay])
        return capture, replay
    rng = random.Random(27)
    graph = random_graph(rng, 6)
    captured, replayed = CaptureWriter("cuda"), ReplayWriter("cuda", rng)
    captured.graph(graph)
    for _ in range(5):
        replayed.launch(graph)
    captured.trace.write(capture)
    replayed.trace.write(replay)
    return capture, replay


def check_graphs(setting: Setting, found: Findings) -> None:
    place = (PART, "graphs")
    capture, replay = graphs(setting)
    sections = sections_of(ask(setting, "report", "--capture", capture, replay))
    if "graphs" not in sections:
        found.equal(place, "a section of graphs", "none", "one")
        return
    told = number(sections, "graphs", "attributed")
    reasons = {row["reason"] for row in sections["graphs"]["tables"]["graphs"]["rows"]}
    if setting.is_real and reasons == {"capture without names"}:
        found.skip(
            PART, "graphs whose capture torch's own profiler recorded: it does not name kernels"
        )
        check_capture_map(setting, found)
        return
    found.equal(
        place, "kernels of replays that have their operator", told >= ATTRIBUTED_AT_LEAST, True
    )
    found.row(
        "graphs", attributed=told, with_module=number(sections, "graphs", "attributed_module")
    )
    if setting.is_real:
        check_capture_map(setting, found)


def check_capture_map(setting: Setting, found: Findings) -> None:
    """What `flopledger run` itself writes of captures, where it does."""
    recorded = sorted(setting.folder.glob("captures-graphs/**/*.pt.trace.json.gz"))
    if not recorded:
        found.skip(PART, "captures by `flopledger run`: part a, which records graphs, was not run")
        return
    sections = sections_of(ask(setting, "report", recorded[0]))
    told = number(sections, "graphs", "attributed")
    if not told:
        found.skip(PART, "captures by `flopledger run`: this version writes none")
        return
    place = (PART, "graphs of flopledger run")
    found.equal(place, "kernels that have their operator", told >= ATTRIBUTED_AT_LEAST, True)


def check_pftrace(setting: Setting, found: Findings) -> None:
    """PyTorch has no way to write one so far (2.13: Kineto has a flag, for programs that write it themselves); where one comes,
    the same recording must have the same ledger."""
    question = (
        "import inspect, torch.profiler as p; print('pftrace' in inspect.getsource(p.profiler))"
    )
    done = run(setting, [setting.python, "-c", question])
    if done.stdout.strip() != "True":
        found.skip(PART, "PyTorch's .pftrace: this torch writes none")
        return
    found.equal(
        (PART, "pftrace"), "this torch writes .pftrace: a check of it", "to be written", "there"
    )


def busy_of(sections: Any) -> float:
    """Nanoseconds of kernels in all."""
    return float(number(sections, "kernels", "total") or 0)


def check_nsys(setting: Setting, found: Findings) -> None:
    program = shutil.which("nsys")
    if not setting.is_real or program is None:
        found.skip(
            PART,
            (
                "Nsight Systems: nsys is not installed"
                if program is None
                else "Nsight Systems: no GPU"
            ),
        )
        return
    profile = setting.folder / "loop"
    head = [
        program,
        "profile",
        "--trace",
        "cuda,nvtx",
        "--output",
        profile,
        "--force-overwrite",
        "true",
    ]
    words = [setting.python, HERE / "matmul_loop.py", "--truth", setting.folder / "nsys.truth.json"]
    run(setting, [*head, *words])
    database = profile.with_suffix(".sqlite")
    export = [program, "export", "--type", "sqlite", "--output", database]
    run(setting, [*export, "--force-overwrite", "true", profile.with_suffix(".nsys-rep")])
    sections = sections_of(ask(setting, "report", "--window", "whole", database))
    truth = json.loads((setting.folder / "nsys.truth.json").read_text())
    seconds = sum(truth["milliseconds"]) / 1e3
    told = busy_of(sections) / 1e9
    found.near((PART, "nsys"), "time of the products' kernels", told, seconds, NSYS_WITHIN, "s")


def check(setting: Setting, found: Findings) -> None:
    for name, part in (
        ("attach", check_attach),
        ("graphs", check_graphs),
        ("pftrace", check_pftrace),
        ("nsys", check_nsys),
    ):
        with found.part(PART, name):
            part(setting, found)
