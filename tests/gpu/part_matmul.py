"""c. Products of known FLOPs at a measured rate: Tensor Core share, FLOP/s and share of the peak beside the device's own events; and
NVML's numbers in `serve` beside nvidia-smi's and DCGM's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from statistics import mean, median
from typing import Any

from findings import Findings
from machine import Setting
from recorded import HERE, Recorded, ask, number, run, sections_of
from simulated_device import simulate
from stand_in_gpus import AT_WORK, build_nvml, compiler, write_gpus
from watchers import Server, ask_dcgm, ask_smi, compare

PART = "c"
RATE_WITHIN = 0.03  # between products there are gaps, which are in the events' time
RECORDED = (4, 8)
SECONDS = 14  # of work that is watched
LOOKS = (
    6  # one a second; the first are left out: power and utilization are means of the past second
)
# Of nvidia-smi's number: one second's mean differs from the next.
LIVE_WITHIN = {
    "utilization.gpu": 0.05,
    "power.draw": 0.05,
    "enforced.power.limit": 0.001,
    "clocks.current.sm": 0.05,
    "clocks.current.memory": 0.02,
    "temperature.gpu": 0.06,
    "memory.used": 0.02,
}
DCGM_WITHIN = 0.1


def loop(setting: Setting) -> Recorded:
    truth, captures = setting.folder / "matmul.truth.json", setting.folder / "captures-matmul"
    words = [
        setting.program,
        "run",
        "--output",
        captures,
        "--no-report",
        "--step-of",
        "module",
        "--",
    ]
    words += [setting.python, HERE / "matmul_loop.py", "--device", setting.device, "--truth", truth]
    done = run(setting, words)
    (trace,) = captures.glob("**/*.pt.trace.json.gz")
    if not setting.is_real:
        simulate(trace)
    return Recorded(json.loads(truth.read_text()), trace, done.stderr)


def kernel_seconds(trace: Any) -> float:
    """Of one call, by the trace's own kernels: the truth of the stand-in, whose events are the host's."""
    import reference_ledger

    events = reference_ledger.read_events(trace)
    lengths = [reference_ledger.nanoseconds(e["dur"]) for e in events if e.get("cat") == "kernel"]
    return sum(lengths) / 1e9 / (RECORDED[1] - RECORDED[0] + 1)


def check_rates(setting: Setting, found: Findings) -> None:
    place, done = (PART, "products"), loop(setting)
    report = ask(setting, "report", done.trace)
    sections = sections_of(report)
    if setting.is_real:
        milliseconds = done.truth["milliseconds"][RECORDED[0] : RECORDED[1] - 1]
        seconds = mean(milliseconds) / 1e3
    else:
        seconds = kernel_seconds(done.trace)
    truth = done.truth["flops"] / seconds
    ours = number(sections, "model_flops_utilization", "matrix_flops_per_second")
    found.near(place, "achieved in products", ours, truth, RATE_WITHIN, "FLOP/s")
    flops = number(sections, "model_flops_utilization", "model_flops_per_step")
    found.equal(place, "FLOPs of a call", flops, done.truth["flops"])
    share = number(sections, "tensor_core_use", "share_of_busy")
    found.near(place, "Tensor Core share of busy time", share, 1.0, 0.02)
    peak = setting.peak("bf16")
    if peak is not None:
        inside = number(sections, "tensor_core_use", "of_peak_inside")
        found.near(place, "share of the peak", inside, truth / peak, RATE_WITHIN)
    else:
        found.skip(PART, f"share of the peak: the suite knows no peak of {setting.device_name}")
    found.row(
        "products", tflops=truth / 1e12, ours=ours / 1e12, share_of_peak=truth / (peak or 1e99)
    )


class Watched:
    """The device at work, and what it is watched with: the real ones, or stand-ins."""

    def __init__(self, setting: Setting) -> None:
        self.environment = dict(os.environ)
        self.smi = shutil.which("nvidia-smi") or ""
        self.dcgmi = shutil.which("dcgmi")
        if setting.is_real:
            words = [setting.python, HERE / "matmul_loop.py", "--truth", setting.folder / "watched"]
            words += ["--seconds", SECONDS + 20]
            self.work = subprocess.Popen([str(word) for word in words])
            time.sleep(12)  # torch is imported, and the device is warm
        else:
            library = setting.folder / "nvml"
            library.mkdir(exist_ok=True)
            build_nvml(library)
            gpus = library / "gpus"
            write_gpus(gpus, AT_WORK)
            self.environment |= {"LD_LIBRARY_PATH": str(library), "STAND_IN_GPUS": str(gpus)}
            os.environ["STAND_IN_GPUS"] = str(gpus)
            self.smi = str(HERE / "stand_in_smi.py")
            self.dcgmi = str(HERE / "stand_in_dcgmi.py")
            self.work = subprocess.Popen(["sleep", "120"])
        self.server = Server(setting.program, setting.folder, self.environment)

    def end(self) -> None:
        self.server.end()
        self.work.terminate()
        self.work.wait()


def watch(watched: Watched) -> tuple[dict[str, float], list[tuple[str, Any, Any]]]:
    """The medians of our numbers, and pairs of medians, ours and nvidia-smi's."""
    looks, pairs = [], []
    for _ in range(LOOKS):
        time.sleep(1.1)
        ours, theirs = watched.server.look(), ask_smi(watched.smi)
        looks.append(ours)
        pairs.append(compare(ours, theirs))
    looks, pairs = looks[2:], pairs[2:]
    names = set.intersection(*(set(look) for look in looks))
    medians = {name: median(look[name] for look in looks) for name in names}
    together = [
        (each[0][0], median(p[1] for p in each), median(p[2] for p in each)) for each in zip(*pairs)
    ]
    return medians, together


def check_live(setting: Setting, found: Findings) -> None:
    place = (PART, "serve beside nvidia-smi")
    if compiler() is None and not setting.is_real:
        found.skip(PART, "the stand-in for NVML needs a C compiler")
        return
    watched = Watched(setting)
    try:
        if watched.server.port == 0:
            found.skip(PART, "this program has no `serve`: it was built without libmicrohttpd")
            return
        if not watched.smi:
            found.skip(PART, "nvidia-smi is not on the PATH")
            return
        ours, pairs = watch(watched)
        for field, own, theirs in pairs:
            found.near(place, field, own, theirs, LIVE_WITHIN[field])
            found.row("live", field=field, serve=own, other=theirs, program="nvidia-smi")
        found.equal(place, "numbers that both know", len(pairs), len(LIVE_WITHIN))
        check_activity(found, ours, watched.dcgmi)
    finally:
        watched.end()


def check_activity(found: Findings, ours: dict[str, float], dcgmi: str | None) -> None:
    """GPM beside DCGM, which counts by the same counters; where there is none, only that it tells of products."""
    place = (PART, "GPM beside DCGM")
    theirs = ask_dcgm(dcgmi)
    if "tensor" not in ours:
        found.skip(PART, "this GPU or driver has no GPM (Hopper and later have it)")
        return
    found.equal(place, "Tensor Cores work", ours["tensor"] > 0.3 and ours["sm"] > 0.6, True)
    if theirs is None:
        found.skip(PART, "DCGM: dcgmi is not installed, or its service does not run")
        return
    for unit, value in theirs.items():
        found.near(place, unit, ours.get(unit), value, DCGM_WITHIN)
        found.row("live", field=unit, serve=ours.get(unit), other=value, program="DCGM")


def check(setting: Setting, found: Findings) -> None:
    with found.part(PART, "products"):
        check_rates(setting, found)
    with found.part(PART, "live"):
        check_live(setting, found)
