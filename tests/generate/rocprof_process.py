"""A generated run as rocprofv3 records it: one set of records, which rocprof_json.py and rocpd_database.py write."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import trace_event as te
from nsys_writer import range_text
from trace_event import Event, Trace
from trace_styles import STYLES

ROCPROF_STYLE = replace(
    STYLES["rocm"],
    name="rocprof",
    has_python=False,
    has_collective_metadata=False,
    is_relative=True,
)

# Kinds of records with their operations, at the places where a made file has them: no release has just these.
KINDS = {
    "NONE": [""],
    "HSA_CORE_API": ["hsa_init", "hsa_signal_wait_scacquire"],
    "HIP_RUNTIME_API": ["hipApiName"],
    "MARKER_CORE_RANGE_API": ["roctxMarkA", "roctxThreadRangeA", "roctxGetThreadId"],
    "MEMORY_COPY": [
        "MEMORY_COPY_NONE",
        "MEMORY_COPY_HOST_TO_HOST",
        "MEMORY_COPY_HOST_TO_DEVICE",
        "MEMORY_COPY_DEVICE_TO_HOST",
        "MEMORY_COPY_DEVICE_TO_DEVICE",
    ],
    "KERNEL_DISPATCH": [
        "KERNEL_DISPATCH_NONE",
        "KERNEL_DISPATCH_ENQUEUE",
        "KERNEL_DISPATCH_COMPLETE",
    ],
    "RCCL_API": ["ncclAllReduce"],
}
COPIES = {"HtoH": 1, "HtoD": 2, "DtoH": 3, "DtoD": 4}
COPY_NAME = re.compile(r"Memcpy (\w+) .*")
FIRST_MARKER = 10_000_000  # correlations of markers; those of calls are far below
GPU_FIRST_NODE = 2  # processors stand before
GPUS = 8


@dataclass
class Process:
    """What one process recorded; numbers are rocprofv3's."""

    pid: int
    first_handle: int  # of agents: another one in each process
    rank: int | None = None  # as the environment has it
    kernels: list[str] = field(default_factory=list)  # by kernel id - 1
    operations: dict[str, list[str]] = field(
        default_factory=lambda: {kind: list(names) for kind, names in KINDS.items()}
    )
    messages: dict[int, str] = field(default_factory=dict)  # of markers, by correlation
    dispatches: list[dict[str, Any]] = field(default_factory=list)
    copies: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    markers: list[dict[str, Any]] = field(default_factory=list)

    def kernel_id(self, name: str) -> int:
        if name not in self.kernels:
            self.kernels.append(name)
        return self.kernels.index(name) + 1

    def operation(self, kind: str, name: str) -> tuple[int, int]:
        names = self.operations[kind]
        if name not in names:
            names.append(name)
        return list(self.operations).index(kind), names.index(name)

    def gpu(self, device: int) -> int:
        return self.first_handle + GPU_FIRST_NODE + device


def times(event: Event) -> dict[str, int]:
    return {"start": event.start, "end": event.end}


def add_kernel(process: Process, event: Event) -> None:
    args = event.args or {}
    blocks, threads = args.get("grid", [1, 1, 1]), args.get("block", [64, 1, 1])
    process.dispatches.append(
        times(event)
        | {
            "thread": process.pid,
            "correlation": args.get("correlation", 0),
            "agent": process.gpu(args["device"]),
            "queue": 1 + args["stream"] % 4,
            "stream": args["stream"],
            "kernel": process.kernel_id(event.name),
            "dispatch": len(process.dispatches) + 1,
            "shared": args.get("shared memory", 0),
            "block": threads,
            "grid": [count * size for count, size in zip(blocks, threads)],
        }
    )


def add_copy(process: Process, event: Event) -> None:
    """A memset is a copy on the device here: rocprofv3 has no records of them."""
    args = event.args or {}
    found = COPY_NAME.fullmatch(event.name)
    way = found[1] if found else "DtoD"
    gpu, host = process.gpu(args["device"]), process.first_handle
    process.copies.append(
        times(event)
        | {
            "thread": process.pid,
            "correlation": args.get("correlation", 0),
            "operation": COPIES[way],
            "destination": host if way.endswith("H") else gpu,
            "source": host if way.startswith("H") else gpu,
            "stream": args["stream"],
            "bytes": args.get("bytes", 0),
        }
    )


def add_call(process: Process, event: Event) -> None:
    kind, operation = process.operation("HIP_RUNTIME_API", event.name)
    process.calls.append(
        times(event)
        | {
            "thread": int(event.tid),
            "correlation": (event.args or {})["correlation"],
            "kind": kind,
            "operation": operation,
        }
    )


def add_marker(process: Process, event: Event) -> None:
    kind, operation = process.operation("MARKER_CORE_RANGE_API", "roctxThreadRangeA")
    correlation = FIRST_MARKER + len(process.markers)
    process.messages[correlation] = range_text(event)
    process.markers.append(
        times(event)
        | {
            "thread": int(event.tid),
            "correlation": correlation,
            "kind": kind,
            "operation": operation,
        }
    )


ADDERS = {
    te.KERNEL: add_kernel,
    te.MEMCPY: add_copy,
    te.MEMSET: add_copy,
    te.RUNTIME: add_call,
    te.DRIVER: add_call,
    te.OPERATOR: add_marker,
    te.ANNOTATION: add_marker,
}


def process_of(trace: Trace, pid: int, first_handle: int) -> Process:
    process = Process(pid, first_handle)
    for event in trace.events:
        if event.phase == "X" and event.kind in ADDERS:
            ADDERS[event.kind](process, event)
    return process
