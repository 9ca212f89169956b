#!/usr/bin/env python3
"""Advice in the words of the device's own software, and none on a host that nobody recorded.

The project's traces are written anew as other devices' recorders write them (categories of MTIA and XPU), so that most rules
fire: what to try then never speaks of CUDA. As recordings of CUDA they do. Kernels are given names that tell nothing: then nobody
says that no matmul runs. What is lost in many places is one finding of its kind. Of timings of a pipeline's stages, or of a device alone, nobody says that Python takes the time between.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "traces" / "golden"
TRACES = [
    GOLDEN / "what_if" / "training.json",
    GOLDEN / "compare" / "before.json.gz",
    GOLDEN / "two_ranks" / "rank0.json",
    GOLDEN / "straggling" / "straggler.json.gz",
    GOLDEN / "queued_ranks" / "rank0.json",
    GOLDEN / "device_memory.json",
    GOLDEN / "products" / "made.json",
]
PLATFORMS = {"mtia": "mtia_ccp_events", "xpu": "kernel"}

Trace = dict[str, Any]


def read(path: Path) -> Trace:
    data = path.read_bytes()
    trace = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return trace if isinstance(trace, dict) else {"traceEvents": trace}


def ranks_of(program: str, trace: Trace, folder: Path) -> list[dict[str, Any]]:
    path = folder / "trace.json"
    path.write_text(json.dumps(trace))
    done = subprocess.run([program, "report", "--json", str(path)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["ranks"]


def tries_of(rank: dict[str, Any]) -> list[str]:
    return [finding["try"] for finding in findings_of(rank)]


def findings_of(rank: dict[str, Any]) -> list[dict[str, Any]]:
    return rank["sections"].get("advice", {}).get("findings", [])


def on_platform(trace: Trace, platform: str) -> Trace:
    categories = {"cuda_runtime": f"{platform}_runtime", "cuda_driver": f"{platform}_driver"}
    categories["kernel"] = PLATFORMS[platform]
    events = [
        {**event, "cat": categories.get(event.get("cat", ""), event.get("cat"))}
        for event in trace["traceEvents"]
    ]
    return {**trace, "traceEvents": events}


def without_names(trace: Trace) -> Trace:
    events = [
        {**event, "name": f"pe_{index % 7}"} if event.get("cat") == "kernel" else event
        for index, event in enumerate(trace["traceEvents"])
        if event.get("cat") != "cpu_op"
    ]
    return {**trace, "traceEvents": events}


def device_alone(trace: Trace) -> Trace:
    events = [event for event in trace["traceEvents"] if event.get("cat") in ("kernel", None)]
    return {**trace, "traceEvents": events}


def stage_timings() -> Trace:
    """Forwards and backwards of a stage, with the time of other stages between."""
    steps = {}
    for step in range(1, 6):
        starts = [40.0 * place for place in range(4)]
        ends = [start + 10 for start in starts]
        steps[str(step)] = {
            "total": 400.0,
            "memory": 1.5,
            "fwd_start": starts,
            "fwd_end": ends,
            "bwd_start": [200 + start for start in starts],
            "bwd_end": [220 + start for start in starts],
        }
    return steps


def complaints_of(program: str, folder: Path) -> list[str]:
    complaints: list[str] = []
    said_of_cuda: set[str] = set()
    for path in TRACES:
        trace = read(path)
        for platform in PLATFORMS:
            for text in tries_of(ranks_of(program, on_platform(trace, platform), folder)[0]):
                if "cuda" in text.lower():
                    complaints.append(f"{path.name} on {platform}: {text}")
        keys = [finding["id"] for finding in findings_of(ranks_of(program, trace, folder)[0])]
        if len(keys) != len(set(keys)):
            complaints.append(f"{path.name}: a kind of finding twice: {keys}")
        said_of_cuda |= {t for t in tries_of(ranks_of(program, trace, folder)[0]) if "CUDA" in t}
        nameless = ranks_of(program, without_names(trace), folder)[0]["headline"]
        if "No matmul runs" in nameless:
            complaints.append(f"{path.name} without names: {nameless}")
    if not said_of_cuda:
        complaints.append("of CUDA, no advice speaks of it: the traces show nothing")
    for name, trace in (
        ("timings of stages", stage_timings()),
        ("a device alone", device_alone(read(TRACES[0]))),
    ):
        findings = findings_of(ranks_of(program, trace, folder)[0])
        complaints += [f"{name}: {f['what']}" for f in findings if "Python" in f["what"]]
        if not any(finding["what"] == "idle, and no host is recorded" for finding in findings):
            complaints.append(f"{name}: its idle time is not told")
    return complaints


def main() -> None:
    program = os.environ.get("FLOPLEDGER", "flopledger")
    with tempfile.TemporaryDirectory(prefix="flopledger-platforms-") as name:
        complaints = complaints_of(program, Path(name))
    print("\n".join(complaints) or "advice in the words of each platform")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
