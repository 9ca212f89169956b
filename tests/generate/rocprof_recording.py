"""One recording as torch.profiler and as rocprofv3 write it.

Of a trace of torch.profiler that is kept which rocprofv3 can tell: operators with sequence numbers and shapes (emit_nvtx), marks of
steps, calls of HIP, kernels with their grids, copies with their bytes. `rocprof_part` is that trace, `process_of_part` the same as
rocprofv3's records.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import trace_event as te
from rocprof_json import agents_of
from rocprof_process import ADDERS, Process

Event = dict[str, Any]

CATEGORIES = {
    "cpu_op": te.OPERATOR,
    "user_annotation": te.ANNOTATION,
    "cuda_runtime": te.RUNTIME,
    "hip_runtime": te.RUNTIME,
    "kernel": te.KERNEL,
    "gpu_memcpy": te.MEMCPY,
}
WAYS = {"HtoD": "Host -> Device", "DtoH": "Device -> Host", "DtoD": "Device -> Device"}
KEPT = {
    te.OPERATOR: ("Sequence number", "Input Dims"),
    te.ANNOTATION: (),
    te.RUNTIME: ("correlation",),
    te.KERNEL: ("correlation", "stream", "device", "grid", "block", "shared memory"),
    te.MEMCPY: ("correlation", "stream", "device", "bytes"),
}
FIRST_OPERATOR = 1_000_001  # in JSON, a number that is the correlation, too, stands for none
REGISTERS = 32  # of a thread, as the generated symbols have them
GPU_COUNT = 8


def nanoseconds(microseconds: Any) -> int:
    return int((Decimal(str(microseconds)) * 1000).to_integral_value())


def is_range(name: str) -> bool:
    """What has an op_id as operators do, and is none: emit_nvtx has one kind of text for both."""
    ranges = ("ProfilerStep", "Optimizer.", "nn:", "nccl:", "gloo:", "enumerate(")
    is_odd = name.startswith(ranges) or " " in name or "#" in name
    return is_odd and not name.startswith("autograd::engine::evaluate_function")


def copy_name(name: str) -> str:
    way = next((way for way in WAYS if way in name), "DtoD")
    return f"Memcpy {way} ({WAYS[way]})"


def sizes_of(args: Event, key: str) -> list[int]:
    sizes = args.get(key)
    is_good = isinstance(sizes, list) and len(sizes) == 3
    return [max(1, int(size)) for size in sizes] if is_good else [1, 1, 1]


def fill_work(kind: str, event: Event) -> None:
    """What every kernel and copy of rocprofv3 tells; no stream is 0, which would mean that none is told."""
    args = event["args"]
    stream = args.get("stream", event["tid"])
    args["stream"] = 1 + (int(stream) if isinstance(stream, int) and 0 <= stream < 2**31 else 0)
    device = args.get("device", 0)
    args["device"] = device if isinstance(device, int) and 0 <= device < GPU_COUNT else 0
    event["pid"], event["tid"] = args["device"], args["stream"]
    args.setdefault("correlation", 0)
    if kind == te.KERNEL:
        args |= {"grid": sizes_of(args, "grid"), "block": sizes_of(args, "block")}
        args["registers per thread"] = REGISTERS
        args.setdefault("shared memory", 0)
    else:
        event["name"] = copy_name(str(event["name"]))
        args["bytes"] = int(args.get("bytes", 0))


def rocprof_part(trace: dict[str, Any]) -> dict[str, Any]:
    """What of a trace rocprofv3 can tell, still as torch.profiler's: one process, its calls HIP's."""
    events: list[Event] = []
    threads: dict[Any, int] = {}
    for event in trace["traceEvents"]:
        kind = CATEGORIES.get(str(event.get("cat")))
        if event.get("ph") != "X" or "dur" not in event or kind is None:
            continue
        if kind in (te.OPERATOR, te.ANNOTATION) and nanoseconds(event["dur"]) == 0:
            continue  # a mark, to roctx
        args = event.get("args", {})
        kept = {key: event[key] for key in ("ph", "cat", "name", "pid", "tid", "ts", "dur")}
        if kind == te.OPERATOR and is_range(str(event["name"])):
            kind, kept["cat"] = te.ANNOTATION, "user_annotation"
        kept["args"] = {key: args[key] for key in KEPT[kind] if key in args}
        if kind in (te.KERNEL, te.MEMCPY):
            fill_work(kind, kept)
        else:
            kept["tid"] = threads.setdefault((event["pid"], event["tid"]), 5000 + len(threads))
            kept["pid"] = 5000
        if kind == te.RUNTIME:
            kept["name"] = "hip" + str(event["name"]).removeprefix("cuda").removeprefix("hip")
            kept["args"].setdefault("correlation", 0)
        elif kind == te.OPERATOR:
            kept["args"]["External id"] = FIRST_OPERATOR + len(events)
            sequence = args.get("Sequence number", -1)
            if not isinstance(sequence, int) or sequence < 0:
                kept["args"].pop("Sequence number", None)
        events.append(kept)
    properties = [
        {
            "id": agent["gpu_index"],
            "name": agent["product_name"],
            "numSms": agent["cu_count"],
            "computeMajor": agent["gfx_target_version"] // 10000,
            "computeMinor": agent["gfx_target_version"] // 100 % 100,
            "totalGlobalMem": sum(bank["size_in_bytes"] for bank in agent["mem_banks"]),
        }
        for agent in agents_of(Process(1, 0))
        if agent["type"] == 2
    ]
    return {"deviceProperties": properties, "traceEvents": events}


def process_of_part(trace: dict[str, Any], pid: int, first_handle: int) -> Process:
    """The records of what rocprof_part() made."""
    process = Process(pid, first_handle)
    for event in trace["traceEvents"]:
        kind = CATEGORIES[event["cat"]]
        start = nanoseconds(event["ts"])
        made = te.Event(
            kind, event["name"], start, nanoseconds(event["dur"]), 1, event["tid"], event["args"]
        )
        ADDERS[kind](process, made)
    return process
