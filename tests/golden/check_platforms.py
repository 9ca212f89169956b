#!/usr/bin/env python3
"""What is said of a device is in the words of its own software, and nothing of a host that nobody recorded.

The project's traces are written anew as other devices' recorders write them (categories of MTIA and XPU), so that most rules
fire: what to try then never speaks of CUDA. As recordings of CUDA they do. As those of ROCm no title, note or advice has a word
that only NVIDIA's users know, and each maker's matrix units are called as the maker does. Kernels are given names that tell nothing: then nobody
says that no matmul runs. What is lost in many places is one finding of its kind. Of timings of a pipeline's stages, or of a device alone, nobody says that Python takes the time between.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
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
GRAPHS = GOLDEN / "graphs" / "replay.json"
PLATFORMS = {"mtia": "mtia_ccp_events", "xpu": "kernel"}
# Words of NVIDIA's alone: "torch.cuda", "cuda" as a device, ProfilerActivity.CUDA and CUDA tensors are ROCm's, too.
NVIDIA_ALONE = re.compile(
    r"Tensor Core|CUDA graph|\bNCCL|nsys|Nsight|NVLink|NVIDIA|DCGM|DALI|cudnn|cuBLAS|CUDA_MODULE|\bcuda[A-Z]"
    r"|expandable_segments|\bSMs\b|\bwarps?\b"
)
MATRIX_UNITS = {
    "NVIDIA H100 SXM5": "Tensor Cores",
    "AMD Instinct MI300X": "Matrix Cores",
    "Google TPU v5e": "MXUs",
    "Ascend 910B": "Cube cores",
    "AWS Trainium2": "matrix units",
}
OWN_WORDS = {"title", "intro", "note", "what", "try", "not_known", "headline"}

Trace = dict[str, Any]


def read(path: Path) -> Trace:
    data = path.read_bytes()
    trace = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return trace if isinstance(trace, dict) else {"traceEvents": trace}


def ranks_of(
    program: str,
    trace: Trace,
    folder: Path,
    options: tuple[str, ...] = (),
    command: str = "report",
) -> list[dict[str, Any]]:
    path = folder / "trace.json"
    path.write_text(json.dumps(trace))
    words = [program, command, "--json", *options, str(path)]
    done = subprocess.run(words, capture_output=True, text=True)
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


def as_of_rocm(trace: Trace) -> Trace:
    """As PyTorch writes it on ROCm: categories of CUDA, calls of HIP."""
    events = [
        (
            {**event, "name": re.sub("^cu(da)?(?=[A-Z])", "hip", event["name"])}
            if event.get("cat", "").startswith("cuda_")
            else event
        )
        for event in trace["traceEvents"]
    ]
    devices = [
        {**device, "name": "AMD Instinct MI300X"} for device in trace.get("deviceProperties", [])
    ]
    return {**trace, "traceEvents": events, "deviceProperties": devices}


def own_words(node: Any) -> Iterator[str]:
    """What the report says itself, without the cells of tables and what shows a finding: these hold names of the trace."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in OWN_WORDS and isinstance(value, str):
                yield value
            elif key != "cells":
                yield from own_words(value)
    elif isinstance(node, list):
        for value in node:
            yield from own_words(value)


def complaints_of_makers(program: str, folder: Path) -> list[str]:
    complaints = []
    for path in TRACES:
        rank = ranks_of(program, as_of_rocm(read(path)), folder, ("--all",))[0]
        complaints += [
            f"{path.name} on ROCm: {text}" for text in own_words(rank) if NVIDIA_ALONE.search(text)
        ]
    memory = as_of_rocm(read(GOLDEN / "device_memory.json"))
    notes = list(own_words(ranks_of(program, memory, folder, command="memory")[0]))
    if not any("RCCL" in text for text in notes):
        complaints.append("memory on ROCm: nothing of RCCL")
    complaints += [f"memory on ROCm: {text}" for text in notes if NVIDIA_ALONE.search(text)]
    path = folder / "graphs.json"
    path.write_text(json.dumps(as_of_rocm(read(GRAPHS))))
    text = subprocess.run([program, "report", "--all", path], capture_output=True, text=True).stdout
    if "HIP graph" not in text or "CUDA graph" in text:
        complaints.append("graphs on ROCm are not called HIP's")
    rank = ranks_of(program, read(GOLDEN / "ascend_trace_view.json"), folder, ("--all",))[0]
    complaints += [
        f"Ascend: {text}"
        for text in own_words(rank)
        if NVIDIA_ALONE.search(text) or "GPU" in text or "cuda" in text.lower()
    ]
    for device, words in MATRIX_UNITS.items():
        rank = ranks_of(program, read(TRACES[0]), folder, ("--device", device))[0]
        if rank["sections"]["tensor_core_use"]["title"] != words:
            complaints.append(f"{device}: {rank['sections']['tensor_core_use']['title']}")
    return complaints


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
        complaints = complaints_of(program, Path(name)) + complaints_of_makers(program, Path(name))
    print("\n".join(complaints) or "advice in the words of each platform")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
