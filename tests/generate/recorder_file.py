#!/usr/bin/env python3
"""Writes a recording of another recorder than torch.profiler, of a fixed size, for what readers cost:

    recorder_file.py xplane --events 20000 --output run.xplane.pb
    recorder_file.py perfetto --events 20000 --output run.pftrace
    recorder_file.py rocprof --events 5000 --output run_results.json
    recorder_file.py rocpd --events 5000 --output run_results.db
    recorder_file.py rpd --events 5000 --output trace.rpd
    recorder_file.py rpd-json --events 5000 --output trace.json
    recorder_file.py ascend --events 5000 --output trace_view.json
    recorder_file.py ascend-database --events 5000 --output ascend_pytorch_profiler_0.db
    recorder_file.py proton --events 5000 --output run.hatchet
    recorder_file.py proton-deep --events 5000 --output run.hatchet
    recorder_file.py torch-of-xplane --events 20000 --output run.json
    recorder_file.py torch-of-perfetto --events 20000 --output run.json

--events: kernels, each with its launch, and of Ascend with its operator; of Proton: kernels in its tree. torch-of-…: what
torch.profiler would write of the same, for what the form costs.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ascend_recording import write_database, write_trace_view
from long_recordings import packet, slice_event, track
from rocpd_database import write_rocpd
from rocprof_json import write_json as write_rocprof
from rocprof_process import Process
from rpd_database import write_rpd, write_tracing
from xplane_file import (
    Event,
    Line,
    Plane,
    Ref,
    Value,
    environment,
    number,
    products_program,
    programs_plane,
    text,
    write_space,
)

KERNELS = 64
STEP = 500  # kernels in each


def write_xplane(path: Path, events: int) -> None:
    program, _ = products_program(random.Random(1), "f", 5)
    host, device = Plane("/host:CPU"), Plane("/device:GPU:0", 1)
    python, thread = Line("python", [], 4242), Line("Host Threads/7", [], 7)
    stream = Line("Stream #1(Kernel)", [], 1)
    host.lines, device.lines = [python, thread], [stream]
    for i in range(events):
        at = 10**10 + 20_000_000 * i
        op: dict[str, Value] = {"hlo_op": Ref(("dot.3", "add.1")[i % 2]), "program_id": 5}
        common = {"correlation_id": i + 1, **op}
        details = {"kernel_details": Ref(f"regs:64 grid:{i % KERNELS},4,1 block:256,1,1")}
        thread.events.append(
            Event("cuLaunchKernel", at, 5_000_000, {**common, "hlo_module": Ref("jit_f")})
        )
        stream.events.append(
            Event(f"kernel {i % KERNELS}", at + 6_000_000, 9_000_000, {**common, **details})
        )
        if i % STEP == 0:
            python.events.append(
                Event("train", at, 20_000_000 * STEP - 1000, {"step_num": i // STEP})
            )
    write_space(path, [programs_plane({"jit_f(5)": program}), device, host, environment()])


def annotation(name: str, value: int) -> bytes:
    return text(4, text(10, name) + number(4, value))


def write_perfetto(path: Path, events: int) -> None:
    """Names are interned once, and the two tracks hold slices of launches and kernels."""
    words = ["cuda_runtime", "kernel", "cudaLaunchKernel", *(f"kernel {i}" for i in range(KERNELS))]
    names = [text(2, number(1, i + 1) + text(2, word)) for i, word in enumerate(words)]
    kinds = [text(1, number(1, i + 1) + text(2, word)) for i, word in enumerate(words[:2])]
    found = [track(100, 1000), track(200, 7), packet(text(12, b"".join(kinds + names)), flags=1)]
    for i in range(events):
        at = 20_000 * i + 1000
        for uuid, start, length, name in (
            (100, at, 5000, 3),
            (200, at + 6000, 9000, 4 + i % KERNELS),
        ):
            kind = number(3, uuid // 100)
            more = number(10, name) + kind + annotation("correlation", i + 1)
            if uuid == 200:
                more += annotation("device", 1) + annotation("stream", 7)
            found.append(packet(slice_event(start, uuid, 1, more), flags=2))
            found.append(packet(slice_event(start + length, uuid, 2), flags=2))
    path.write_bytes(b"".join(found))


def rocprof_process(events: int) -> list[Process]:
    process = Process(77, 40_000)
    kernels = [process.kernel_id(f"kernel {i}") for i in range(KERNELS)]
    kind, operation = process.operation("HIP_RUNTIME_API", "hipLaunchKernel")
    shape = {"shared": 0, "block": [256, 1, 1], "grid": [4096, 1, 1], "queue": 1, "stream": 1}
    for i in range(events):
        common = {"thread": 77, "correlation": i + 1}
        call = common | {"kind": kind, "operation": operation}
        process.calls.append(call | {"start": 20_000 * i, "end": 20_000 * i + 5000})
        work = common | shape | {"agent": process.gpu(0), "kernel": kernels[i % KERNELS]}
        time = {"start": 20_000 * i + 6000, "end": 20_000 * i + 15_000, "dispatch": i + 1}
        process.dispatches.append(work | time)
    return [process]


class InOrder(random.Random):
    """Rows stay as they ran, as recorders write them."""

    def shuffle(self, x: Any) -> None:
        pass


def npu_trace(events: int) -> dict[str, Any]:
    """As torch.profiler has it, and Ascend's writers take it."""
    found: list[dict[str, Any]] = []

    def add(name: str, category: str, tid: int, start_us: int, length_us: int, **args: Any) -> None:
        times = {"ts": start_us, "dur": length_us}
        found.append(
            {"ph": "X", "name": name, "cat": category, "pid": 77, "tid": tid, **times, "args": args}
        )

    for i in range(events):
        at = 10**15 + 20 * i
        shapes = {
            "Input Dims": [[64, 128], [128, 8 * (i % KERNELS + 1)]],
            "Input type": ["float", "float"],
        }
        if i % STEP == 0:
            add(f"ProfilerStep#{i // STEP}", "user_annotation", 77, at, 20 * STEP - 1)
        add("aten::mm", "cpu_op", 77, at + 1, 8, **{"Sequence number": i}, **shapes)
        add("aclnnMatmul", "cuda_runtime", 77, at + 2, 5, correlation=i + 1)
        add(f"kernel {i % KERNELS}", "kernel", 2, at + 6, 9, correlation=i + 1, stream=2)
    return {"traceEvents": found}


def write_proton(path: Path, events: int, around: int = 0) -> None:
    """Scopes of 16 kernels each, every one in `around` others, as a stack of Python is, and the device behind the tree."""

    def node(name: str, children: list[Any], **metrics: Any) -> dict[str, Any]:
        frame = {"name": name, "type": "function"}
        return {"children": children, "frame": frame, "metrics": metrics}

    def kernel(i: int) -> dict[str, Any]:
        device = {"device_id": "0", "device_type": "CUDA"}
        cost = {"flops16": 1e9 + i, "bytes": 1e6 + i}
        return node(
            f"kernel {i % KERNELS}", [], count=3, **{"time (ns)": 9000 + i}, **device, **cost
        )

    def scope(i: int) -> dict[str, Any]:
        found = node(
            f"model.layers.{i // 16}.mlp", [kernel(i + k) for k in range(min(16, events - i))]
        )
        for depth in range(around):
            found = node(f"model.py:{depth}@frame_{depth}", [found])
        return found

    scopes = [scope(i) for i in range(0, events, 16)]
    gpu = {
        "arch": "90",
        "bus_width": 5120,
        "clock_rate": 1980000,
        "memory_clock_rate": 2619000,
        "num_sms": 132,
    }
    path.write_text(json.dumps([node("ROOT", scopes, count=0), {"CUDA": {"0": gpu}}], indent=4))


def write_torch(path: Path, events: int, has_operators: bool) -> None:
    """Laid out as Kineto lays it out. With operators: what readers make of XLA's ops, ranges of modules among it."""
    found: list[str] = []

    def add(category: str, name: str, tid: int, start: int, length: int, **args: Any) -> None:
        where = f'"cat": "{category}", "name": "{name}", "pid": 77, "tid": {tid}'
        times = f'"ts": {start / 1000:.3f}, "dur": {length / 1000:.3f}'
        arguments = ",\n      ".join(f"{json.dumps(key)}: {json.dumps(args[key])}" for key in args)
        inner = f'"ph": "X", {where},\n    {times},\n    "args": {{\n      {arguments}\n    }}'
        found.append(f"  {{\n    {inner}\n  }}")

    shapes = {"Input Dims": [[64, 128], [128, 256]], "Input type": ["float", "float"]}
    for i in range(events):
        at, number = 20_000 * i + 1000, {"External id": i + 1}
        launch, work = {"correlation": i + 1}, {"device": 1, "stream": 7, "correlation": i + 1}
        if has_operators:
            work |= {"grid": [i % KERNELS, 4, 1], "block": [256, 1, 1], "registers per thread": 64}
            if i % STEP == 0:
                add("user_annotation", f"ProfilerStep#{i // STEP}", 77, at, 20_000 * STEP - 1)
            if i % 2 == 0:
                add("user_annotation", "nn:Model.mlp", 7, at, 5000, **number)
            add("cpu_op", ("aten::mm", "aten::add")[i % 2], 7, at, 5000, **number, **shapes)
        add("cuda_runtime", "cudaLaunchKernel", 7, at, 5000, **launch)
        add("kernel", f"kernel {i % KERNELS}", 7, at + 6000, 9000, **work)
    head = '{\n  "schemaVersion": 1,\n  "traceEvents": [\n'
    path.write_text(head + ",\n".join(found) + "\n  ]\n}\n")


def write_rpd_json(path: Path, events: int) -> None:
    database = path.with_name(path.name + ".rpd")
    write_rpd(database, rocprof_process(events))
    write_tracing(path, database)
    database.unlink()


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "xplane": write_xplane,
    "perfetto": write_perfetto,
    "rocprof": lambda path, events: write_rocprof(path, rocprof_process(events), "compact"),
    "rocpd": lambda path, events: write_rocpd(path, rocprof_process(events)),
    "rpd": lambda path, events: write_rpd(path, rocprof_process(events)),
    "rpd-json": write_rpd_json,
    "ascend": lambda path, events: write_trace_view(npu_trace(events), path, InOrder(1)),
    "ascend-database": lambda path, events: write_database(npu_trace(events), path, InOrder(1)),
    "proton": write_proton,
    "proton-deep": lambda path, events: write_proton(path, events, 40),
    "torch-of-xplane": lambda path, events: write_torch(path, events, True),
    "torch-of-perfetto": lambda path, events: write_torch(path, events, False),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recorder", choices=tuple(WRITERS))
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    WRITERS[given.recorder](given.output, given.events)


if __name__ == "__main__":
    main()
