#!/usr/bin/env python3
"""What is said of a device is in the words of its own software, and nothing of a host that nobody recorded.

The project's traces are written anew as other devices' recorders write them (categories of MTIA and XPU), so that most rules
fire: what to try then never speaks of CUDA. As recordings of CUDA they do. As those of ROCm no title, note or advice has a word
that only NVIDIA's users know, and each maker's matrix units are called as the maker does. Kernels are given names that tell nothing: then nobody
says that no matmul runs. What is lost in many places is one finding of its kind. Of timings of a pipeline's stages, or of a device alone, nobody says that Python takes the time between.

Whatever is printed or written, by each command in each format, of recordings on AMD's, Google's, Huawei's and Intel's devices (written here,
and other people's where they are at hand), has no word of another maker but what the recording itself says. A command that is new has
to be listed here: COMMANDS.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import pickle
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "traces" / "golden"
GENERATE = ROOT / "tests" / "generate"
SHARED = Path(os.environ.get("FLOPLEDGER_SHARED", ROOT.parent / "shared")) / "traces"
sys.dont_write_bytecode = True
sys.path.insert(0, str(GENERATE))

from xplane_file import gpu_space, tpu_space, write_space  # noqa: E402

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
# What users of the others do not know; "torch.cuda" and CUDA tensors are ROCm's, too.
NVIDIAS = NVIDIA_ALONE.pattern
AMDS = r"|Matrix Core|HIP graph|\bRCCL|\brocprof|\bhip[A-Z]|\bROCm\b"
OTHERS = r"|\bMXU|Cube core|\bHCCL|\bCANN\b|\bXMX\b|\bXCCL|torch\.(npu|xpu|mtia)\b"
FOREIGN = {
    "amd": re.compile(NVIDIAS + OTHERS),
    "tpu": re.compile(NVIDIAS + AMDS + r"|\bGPUs?\b|\bcuda\b|Cube core|\bHCCL|\bXMX\b|\bNPU\b"),
    "npu": re.compile(
        NVIDIAS.replace("|expandable_segments", "")
        + AMDS
        + r"|\bGPUs?\b|\bcuda\b|\bMXU|\bTPU|\bXMX\b|\bXCCL"
    ),
    "xpu": re.compile(NVIDIAS + AMDS + r"|\bcuda\b|\bMXU|Cube core|\bHCCL|\bNPU\b"),
}
# What a program of JAX does not have, and what torch_npu's profiler does not write or take.
OF_PYTORCH = re.compile(
    r"\btorch\.|PyTorch|\bDDP\b|FSDP|DataLoader|record_shapes|with_stack|profile_memory|flopledger run"
    r"|\.contiguous|async_op|\baten::"
)
NOT_ASCENDS = re.compile(
    r"(needs|in) deviceProperties|flopledger run|profile_memory|metadata of PyTorch"
)
OTHER_PEOPLES = {
    "amd": (
        "tracelens/mi300/jax_conv_minimal_08/tw003.xplane.pb",
        "tracelens/mi210/gpu_only_trace/gpu_only_trace.json.gz",
    ),
}
TRACE = ("{trace}",)
NO_DATA = 4
OF_TORCH_ALONE = b"is no trace of torch.profiler: only these can be exported as one"
# Each subcommand, as it is asked of a recording; none: it answers of no recording's device, or with what another one says.
COMMANDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "report": (("--json", "--all"), ("--html", "{out}.html"), ("--format", "markdown"), ()),
    "digest": (("-o", "{out}.digest"),),
    "flops": (("--json",),),
    "plan": (("--from",),),
    "memory": (("--json",),),
    "ranks": (),  # dumps of flight recorders: dumps_of
    "compare": (("--json", "{trace}"),),
    "ettr": (),  # logs
    "inspect": (("--json",),),
    "device": (),  # the table of all devices
    "export": (
        ("csv", "-o", "{out}.tables"),
        ("jsonl",),
        ("prometheus",),
        ("chrome", "-o", "{out}.json"),
        ("perfetto", "-o", "{out}.pftrace"),
    ),
    "nsys-stats": (),  # NVIDIA's
    "run": (),
    "attach": (),
    "trace": (),
    "top": (),
    "serve": (),
    "mcp": (),  # pages of the others
    "cache": (),
    "help": (),
    "man": (),
    "completion": (),
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


# ---- every command, every format -------------------------------------------------------------------------------


def as_of_xpu(trace: Trace) -> Trace:
    """As PyTorch writes it on Intel's devices, as far as names go."""
    written = on_platform(trace, "xpu")
    events = [
        (
            {**event, "name": re.sub("^cu(da)?(?=[A-Z])", "ur", event["name"])}
            if str(event.get("cat", "")).startswith("xpu_")
            else event
        )
        for event in written["traceEvents"]
    ]
    devices = [{**d, "name": "Intel Max 1550"} for d in written.get("deviceProperties", [])]
    kept = {key: value for key, value in written.items() if not key.startswith("cuda")}
    return {**kept, "traceEvents": events, "deviceProperties": devices}


def recordings(folder: Path) -> Iterator[tuple[str, Path]]:
    for path in (TRACES[0], TRACES[5], GRAPHS):
        for maker, written in (("amd", as_of_rocm), ("xpu", as_of_xpu)):
            made = folder / f"{maker}_{path.stem}.json"
            made.write_text(json.dumps(written(read(path))))
            yield maker, made
    yield "npu", GOLDEN / "ascend_trace_view.json"
    write_space(folder / "tpu.xplane.pb", tpu_space(random.Random(7)).planes)
    yield "tpu", folder / "tpu.xplane.pb"
    write_space(folder / "jax_gpu.xplane.pb", gpu_space(random.Random(7)).planes)
    yield "amd", folder / "jax_gpu.xplane.pb"
    for maker, names in OTHER_PEOPLES.items():
        yield from ((maker, SHARED / name) for name in names if (SHARED / name).exists())


def texts_in(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, (dict, list)):
        for value in node.values() if isinstance(node, dict) else node:
            yield from texts_in(value)


def texts_of(data: bytes, name: str) -> Iterator[str]:
    """What of an output a reader sees: values of JSON, of a page those that its script gets, else cells and words between two spaces."""
    text = data.decode(errors="replace")
    if name.endswith(".html"):
        for block in re.findall(
            r'<script type="application/json" id="\w+">(.*?)</script>', text, re.S
        ):
            yield from texts_in(json.loads(block))
    elif text.startswith(("{", "[")) and name != "jsonl":
        yield from texts_in(json.loads(text))
    elif name.endswith((".pftrace", ".digest")):
        yield from (word.decode() for word in re.findall(rb"[ -~]{5,}", data))
    else:
        yield from re.split(r"\n|  +|,(?=\S)|\|", text)


def outputs(program: str, words: list[str], out: str) -> Iterator[tuple[str, bytes]]:
    """What a command prints, and what it writes; that a recording holds nothing of it is an answer, too."""
    done = subprocess.run([program, *words], capture_output=True)
    if done.returncode not in (0, NO_DATA) and OF_TORCH_ALONE not in done.stderr:
        raise SystemExit(f"exit {done.returncode} of {words}: {done.stderr.decode()}")
    yield words[1] if words[0] == "export" else "", done.stdout
    yield "stderr", b"" if OF_TORCH_ALONE in done.stderr else done.stderr
    for path in Path(out).parent.glob(Path(out).name + ".*"):
        for file in path.iterdir() if path.is_dir() else [path]:
            yield file.name, file.read_bytes()
            file.unlink()


def is_foreign(text: str, pattern: re.Pattern[str], known: str) -> bool:
    """Has another's words, which are no name in the recording, and no part of one ("jit_f::cudnn-conv.1")."""
    for found in pattern.finditer(text):
        name = re.search(rf"[\w.-]*{re.escape(found.group())}[\w.-]*", text)
        if text.strip() not in known and (
            name.group() == found.group() or name.group() not in known
        ):
            return True
    return False


def foreign_words(program: str, maker: str, trace: Path, folder: Path) -> Iterator[str]:
    raw = trace.read_bytes()
    raw = gzip.decompress(raw) if trace.suffix == ".gz" else raw
    known = raw.decode(errors="replace").replace("\\/", "/")
    patterns = [FOREIGN[maker]]
    patterns += [OF_PYTORCH] if trace.suffix == ".pb" else [NOT_ASCENDS] if maker == "npu" else []
    for command, ways in COMMANDS.items():
        for way in ways:
            out = str(folder / "out" / "of")
            filled = [word.format(trace=trace, out=out) for word in (command, *way, *TRACE)]
            for name, data in outputs(program, filled, out):
                for text in texts_of(data, name):
                    if any(is_foreign(text.replace("\\_", "_"), p, known) for p in patterns):
                        yield f"{' '.join([command, *way])} of {trace.name}: {text.strip()[:200]}"


def snapshot_of(maker: str, folder: Path) -> Path:
    """Of the allocator of PyTorch for that device: its own code stands innermost in the stacks."""
    path = folder / f"{maker}.pickle"
    words = [sys.executable, GENERATE / "make_snapshot.py", path, "--steps", "2"]
    subprocess.run(words, check=True)
    snapshot = pickle.loads(path.read_bytes())
    allocator = {"amd": "c10/hip/HIPCachingAllocator.cpp", "npu": "torch_npu/csrc/NPU.cpp"}
    for events in snapshot["device_traces"]:
        for event in events:
            for frame in event.get("frames", [])[:1]:
                frame["filename"] = allocator[maker]
    path.write_bytes(pickle.dumps(snapshot))
    return path


def foreign_in_page(words: list[str | Path], maker: str, what: str) -> list[str]:
    page = json.loads(subprocess.run(words, capture_output=True).stdout)
    found = [text for text in own_words(page) if FOREIGN[maker].search(text)]
    return [f"{what} {maker}: {text}" for text in found]


def dumps_of(backend: bytes, folder: Path) -> list[Path]:
    """A job that hangs, whose collectives are another maker's."""
    dumps = []
    for path in sorted((GOLDEN / "flight" / "stopped").iterdir()):
        dumps.append(folder / path.name)
        dumps[-1].write_bytes(path.read_bytes().replace(b"nccl:", backend + b":"))
    return dumps


def complaints_of_outputs(program: str, folder: Path) -> list[str]:
    listed = set(re.findall(r"COMMAND\((\w+)\)", (ROOT / "src/commands/list.def").read_text()))
    complaints = [
        f"not said here how '{name}' is asked: COMMANDS"
        for name in sorted(listed ^ {command.replace("-", "_") for command in COMMANDS})
    ]
    (folder / "out").mkdir()
    for maker, trace in recordings(folder):
        complaints += foreign_words(program, maker, trace, folder)
    for maker in ("amd", "npu"):
        snapshot = snapshot_of(maker, folder)
        for way in ((), ("--compare", snapshot)):
            words = [program, "memory", "--json", *way, snapshot]
            complaints += foreign_in_page(words, maker, "a snapshot of")
    for maker, backend in (("npu", b"hccl"), ("xpu", b"xccl")):
        words = [program, "ranks", "--json", *dumps_of(backend, folder)]
        complaints += foreign_in_page(words, maker, "dumps of")
    return sorted(set(complaints))


def main() -> None:
    program = os.environ.get("FLOPLEDGER", "flopledger")
    with tempfile.TemporaryDirectory(prefix="flopledger-platforms-") as name:
        complaints = complaints_of(program, Path(name)) + complaints_of_makers(program, Path(name))
        complaints += complaints_of_outputs(program, Path(name))
    print("\n".join(complaints) or "advice in the words of each platform")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
