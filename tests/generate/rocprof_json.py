#!/usr/bin/env python3
"""Writes a generated run as rocprofv3 writes it: JSON, or an SQLite database (rocpd).

    rocprof_json.py --seed 7 --steps 5 --ranks 2 --output run_results.json
    rocprof_json.py --megabytes 500 --output large_results.json

Each rank is a process of its own. Agents' handles, thread ids and correlations repeat between processes, or differ, so that
a reader that confuses them is found out. --megabytes makes a file of that size out of equal kernels.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ledger_script import Plan
from make_trace import make_trace
from rocprof_process import GPU_FIRST_NODE, GPUS, ROCPROF_STYLE, Process, process_of


def handle(number: int) -> dict[str, int]:
    return {"handle": number}


def sizes(numbers: list[int]) -> dict[str, int]:
    return dict(zip("xyz", numbers))


def agents_of(process: Process) -> list[dict[str, Any]]:
    agents: list[dict[str, Any]] = []
    for node in range(GPU_FIRST_NODE + GPUS):
        is_gpu = node >= GPU_FIRST_NODE
        agents.append(
            {
                "size": 312,
                "id": handle(process.first_handle + node),
                "type": 2 if is_gpu else 1,
                "cu_count": 256 if is_gpu else 128,
                "gfx_target_version": 90500 if is_gpu else 0,
                "name": "gfx950" if is_gpu else "AMD EPYC",
                "vendor_name": "AMD" if is_gpu else "CPU",
                "product_name": "AMD Instinct MI350X" if is_gpu else "AMD EPYC",
                "node_id": node,
                "logical_node_id": node,
                "logical_node_type_id": node - GPU_FIRST_NODE if is_gpu else node,
                "mem_banks": [{"heap_type": int(is_gpu), "size_in_bytes": 309_220_868_096}],
                "caches": [{"size": 32, "level": 1}],
                "gpu_index": node - GPU_FIRST_NODE if is_gpu else -1,
            }
        )
    return agents


def record(kind: int, item: dict[str, Any]) -> dict[str, Any]:
    return {
        "size": 80,
        "kind": item.get("kind", kind),
        "operation": item["operation"],
        "correlation_id": {"internal": item["correlation"], "external": 0},
        "start_timestamp": item["start"],
        "end_timestamp": item["end"],
        "thread_id": item["thread"],
    }


def dispatch_info(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "size": 72,
        "agent_id": handle(item["agent"]),
        "queue_id": handle(item["queue"]),
        "kernel_id": item["kernel"],
        "dispatch_id": item["dispatch"],
        "private_segment_size": 0,
        "group_segment_size": item["shared"],
        "workgroup_size": sizes(item["block"]),
        "grid_size": sizes(item["grid"]),
    }


def dispatch_record(kind: int, item: dict[str, Any]) -> dict[str, Any]:
    return record(kind, item | {"operation": 2}) | {
        "dispatch_info": dispatch_info(item),
        "stream_id": handle(item["stream"]),
    }


def counted_record(item: dict[str, Any]) -> dict[str, Any]:
    """A kernel as counter collection writes it."""
    return {
        "thread_id": item["thread"],
        "dispatch_data": {
            "size": 120,
            "correlation_id": {"internal": item["correlation"], "external": 0},
            "start_timestamp": item["start"],
            "end_timestamp": item["end"],
            "dispatch_info": dispatch_info(item),
        },
        "records": [
            {"counter_id": handle(7), "value": 60.0 * item["kernel"]},
            {"counter_id": handle(8), "value": 0.5},
            {"counter_id": handle(7), "value": 4.0 * item["kernel"]},  # another part of the device
        ],
        "stream_id": handle(item["stream"]),
    }


def copy_record(kind: int, item: dict[str, Any]) -> dict[str, Any]:
    return record(kind, item) | {
        "dst_agent_id": handle(item["destination"]),
        "src_agent_id": handle(item["source"]),
        "bytes": item["bytes"],
        "stream_id": handle(item["stream"]),
    }


def call_record(item: dict[str, Any]) -> dict[str, Any]:
    return record(0, item) | {
        "args": [{"type": "const void*", "name": "function", "value": '"kernel" {[}]'}],
        "retval": 0,
    }


def symbol_of(number: int, name: str) -> dict[str, Any]:
    return {
        "size": 88 if number else 0,
        "kernel_id": number,
        "code_object_id": 1 if number else 0,
        "kernel_name": f"_Z{number}.kd" if number else "",
        "arch_vgpr_count": 24 if number else 0,
        "accum_vgpr_count": 8 if number else 0,
        "formatted_kernel_name": name,
        "demangled_kernel_name": name,
        "truncated_kernel_name": name.split("<")[0].split("(")[0],
    }


def strings_of(process: Process) -> dict[str, Any]:
    names = [
        {"kind": kind, "operations": operations} for kind, operations in process.operations.items()
    ]
    return {
        "callback_records": [{"kind": "NONE", "operations": ["not", "these"]}],
        "buffer_records": names,
        "marker_api": [{"key": key, "value": text} for key, text in process.messages.items()],
        "correlation_id": {"external": []},
        "counters": {"dimension_ids": []},
    }


def process_json(process: Process, is_counted: bool = False) -> dict[str, Any]:
    kinds = {kind: number for number, kind in enumerate(process.operations)}
    kernels = process.dispatches
    return {
        "metadata": {
            "node": {"id": 0, "hostname": "node-17"},
            "pid": process.pid,
            "command": ["python3", "train.py"],
            "config": {"kernel_rename": False},
        },
        "agents": agents_of(process),
        "counters": [
            {"agent_id": handle(0), "id": handle(7), "name": "SQ_WAVES", "is_derived": 0},
            {"agent_id": handle(0), "id": handle(8), "name": "MfmaUtil", "is_derived": 1},
        ],
        "strings": strings_of(process),
        "code_objects": [{"size": 88, "code_object_id": 1}],
        "kernel_symbols": [symbol_of(i, name) for i, name in enumerate(["", *process.kernels])],
        "host_functions": [],
        "summary": [],
        "callback_records": {
            "counter_collection": [counted_record(item) for item in kernels] if is_counted else []
        },
        "buffer_records": {
            "kernel_dispatch": (
                []
                if is_counted
                else [dispatch_record(kinds["KERNEL_DISPATCH"], item) for item in kernels]
            ),
            "hip_api": [call_record(item) for item in process.calls],
            "hsa_api": [],
            "marker_api": [record(0, item) for item in process.markers],
            "rccl_api": [],
            "memory_copy": [copy_record(kinds["MEMORY_COPY"], item) for item in process.copies],
            "memory_allocation": [],
            "scratch_memory": [],
        },
    }


# How a file's text may look: as rocprofv3 writes it, with other keys first, over many lines, as another kind of recording.
SHAPES = ("compact", "sorted", "lines", "counted")


def write_json(path: Path, processes: list[Process], shape: str = "compact") -> None:
    document = {"rocprofiler-sdk-tool": [process_json(p, shape == "counted") for p in processes]}
    text = json.dumps(
        document,
        sort_keys=shape == "sorted",
        indent=2 if shape == "lines" else None,
        separators=None if shape == "lines" else (",", ":"),
    )
    data = text.encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def write_large(path: Path, megabytes: int) -> None:
    """Kernels of 8 us every 10 us, each with its call; the text of one is 700 bytes."""
    process = Process(77, 40_000)
    names = [process.kernel_id(f"kernel_number_{i}<float, 4>(float*, int)") for i in range(64)]
    kind, operation = process.operation("HIP_RUNTIME_API", "hipLaunchKernel")
    whole = process_json(process)
    records = whole.pop("buffer_records")
    dispatches, calls = [], []
    for i in range(megabytes * 1_000_000 // 700):
        common = {"thread": 77, "correlation": i + 1}
        call = common | {"kind": kind, "operation": operation}
        calls.append(call | {"start": 10_000 * i + 1_000, "end": 10_000 * i + 5_000})
        work = {"agent": process.gpu(0), "queue": 1, "stream": 1, "kernel": names[i % 64]}
        shape = {"dispatch": i + 1, "shared": 0, "block": [256, 1, 1], "grid": [4096, 1, 1]}
        time = {"start": 10_000 * i + 6_000, "end": 10_000 * i + 14_000}
        dispatches.append(common | work | shape | time)
    with path.open("w") as file:
        file.write('{"rocprofiler-sdk-tool":[' + json.dumps(whole)[:-1] + ',"buffer_records":{')
        file.write('"kernel_dispatch":[')
        for i, item in enumerate(dispatches):
            line = json.dumps(dispatch_record(5, item), separators=(",", ":"))
            file.write(("," if i else "") + line)
        file.write('],"hip_api":[')
        for i, item in enumerate(calls):
            line = json.dumps(record(0, item), separators=(",", ":"))
            file.write(("," if i else "") + line)
        file.write("]")
        for key in records:
            if key not in ("kernel_dispatch", "hip_api"):
                file.write(f',"{key}":[]')
        file.write("}}]}")


def processes_of(seed: str, plan: Plan, ranks: int) -> list[Process]:
    return [
        process_of(make_trace(f"{seed} rank {rank}", plan, ROCPROF_STYLE), 900 + rank, 37_944)
        for rank in range(ranks)
    ]


def parser_of(
    description: str | None, shapes: Iterable[str], usual: str
) -> argparse.ArgumentParser:
    """What each writer of rocprof's forms is asked."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="1", help="the same seed makes the same run")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=6, help="how long a step is")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--shape", choices=shapes, default=usual)
    parser.add_argument("--output", type=Path, required=True)
    return parser


def processes_asked(arguments: argparse.Namespace) -> list[Process]:
    plan = Plan(arguments.steps, arguments.blocks, True)
    return processes_of(arguments.seed, plan, arguments.ranks)


def main() -> None:
    parser = parser_of(__doc__, SHAPES, "compact")
    parser.add_argument("--megabytes", type=int, help="make a large one instead, of that size")
    arguments = parser.parse_args()
    if arguments.megabytes:
        write_large(arguments.output, arguments.megabytes)
        return
    write_json(arguments.output, processes_asked(arguments), arguments.shape)


if __name__ == "__main__":
    main()
