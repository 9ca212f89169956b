#!/usr/bin/env python3
"""Writes a generated run as the SQLite database that RocmProfileData writes (.rpd).

    rpd_database.py --seed 7 --steps 5 --ranks 2 --output trace.rpd

Each rank is a process, and each process a session: its ids count from session * 2^32. Schema 2 and 3 as rpd_tracer writes them
behind roctracer; "sdk" behind rocprofiler-sdk, which counts grids in work-items and puts all copies on device 0; "old" is
schema 0, with sizes beside ops.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

from rocprof_json import parser_of, processes_asked
from rocprof_process import GPU_FIRST_NODE, Process
from rocprof_recording import CATEGORIES, rocprof_part
import trace_event as te

SHAPES = ("3", "2", "sdk", "old")
SESSION = 1 << 32
FIRST_RANGE = 1 << 31  # of the ids of a session: ranges count apart from calls
WAYS = {1: "HostToHost", 2: "HostToDevice", 3: "DeviceToHost", 4: "DeviceToDevice"}
SDK_WAYS = {1: "HOST_TO_HOST", 2: "HOST_TO_DEVICE", 3: "DEVICE_TO_HOST", 4: "DEVICE_TO_DEVICE"}
KERNEL_COLUMNS = """stream gridX gridY gridZ workgroupX workgroupY workgroupZ groupSegmentSize
    privateSegmentSize kernelName_id"""

# Columns of the published schemas; those behind "|" came with schema 3.
TABLES = {
    "metadata": "id tag value",
    "string": "id string",
    "api": "id pid tid start end apiName_id args_id | domain_id category_id",
    "op": "id gpuId queueId sequenceId start end description_id opType_id",
    "api_ops": "id api_id op_id",
    "kernelapi": f"api_ptr_id {KERNEL_COLUMNS}",
    "kernelop": f"op_ptr_id {KERNEL_COLUMNS}",
    "copyapi": "api_ptr_id stream size width height kind dst src dstDevice srcDevice sync pinned",
    "monitor": "id deviceType deviceId monitorType start end value",
}


def is_graph(call: str) -> bool:
    return call.endswith("GraphLaunch")


class RpdWriter:
    """The tables of a file, into which sessions write one after the other."""

    def __init__(self, path: Path, shape: str) -> None:
        path.unlink(missing_ok=True)
        self.connection = sqlite3.connect(path)
        self.shape = shape
        self.has_texts = shape in ("3", "sdk")
        self.first = -SESSION if shape == "old" else 0
        self.counts: Counter[str] = Counter()
        self.strings: dict[str, int] = {}
        tables = TABLES | ({"ustring": "id string"} if self.has_texts else {})
        tables.pop("kernelapi" if shape == "old" else "kernelop")
        for table, columns in tables.items():
            old, _, new = columns.partition("|")
            names = (old + new).split() if self.has_texts else old.split()
            key = names[0]
            rest = ", ".join(f'"{name}"' for name in names[1:])
            kind = "integer" if key == "id" or not self.has_texts else "bigint"
            self.connection.execute(
                f'CREATE TABLE "rocpd_{table}" ("{key}" {kind} NOT NULL PRIMARY KEY, {rest})'
            )
        self.connection.execute("CREATE VIEW top AS SELECT * FROM rocpd_op")
        version = "3" if self.has_texts else "2" if shape == "2" else "0"
        self.add("metadata", id=1, tag="schema_version", value=version)

    def begin_session(self) -> None:
        self.first += SESSION
        self.strings = {}
        self.string("")

    def add(self, table: str, **values: Any) -> int:
        """The row's id, which counts within the session."""
        if "api_ptr_id" not in values and "op_ptr_id" not in values and "id" not in values:
            self.counts[table] += 1
            values["id"] = self.first + self.counts[table]
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" for _ in values)
        self.connection.execute(
            f'INSERT OR IGNORE INTO "rocpd_{table}" ({names}) VALUES ({marks})',
            list(values.values()),
        )
        return int(values.get("id", 0))

    def string(self, text: str) -> int:
        if text not in self.strings:
            self.strings[text] = self.add("string", string=text)
        return self.strings[text]

    def text(self, text: str) -> int:
        return self.add("ustring", string=text) if self.has_texts else self.string(text)

    def api(
        self, number: int, process: Process, item: dict[str, Any], name: str, **more: str
    ) -> None:
        labels = {}
        if self.has_texts:
            domain = "hip" if name.startswith("hip") else "UserMarker"
            labels = {"domain_id": self.string(domain), "category_id": self.string("")}
        self.add(
            "api",
            id=self.first + number,
            pid=process.pid,
            tid=item["thread"],
            start=item["start"],
            end=item["end"],
            apiName_id=self.string(name),
            args_id=self.text(more.get("text", "")),
            **labels,
        )

    def op(self, item: dict[str, Any], device: int, kind: str, name: str) -> int:
        op = self.add(
            "op",
            gpuId=device,
            queueId=item.get("queue", 0),
            sequenceId=0,
            start=item["start"],
            end=item["end"],
            description_id=self.string(name),
            opType_id=self.string(kind),
        )
        self.add("api_ops", api_id=self.first + item["correlation"], op_id=op)
        return op


def sizes_of(
    writer: RpdWriter, process: Process, item: dict[str, Any], call: str
) -> dict[str, Any]:
    """As the call gave them: blocks, or work-items."""
    in_items = writer.shape in ("sdk", "old") or call == "hipExtModuleLaunchKernel"
    grid = item["grid"] if in_items else [a // b for a, b in zip(item["grid"], item["block"])]
    names = ("gridX", "gridY", "gridZ", "workgroupX", "workgroupY", "workgroupZ")
    return dict(zip(names, grid + item["block"])) | {
        "stream": hex(item["stream"]),
        "groupSegmentSize": item["shared"],
        "privateSegmentSize": 0,
        "kernelName_id": writer.string(process.kernels[item["kernel"] - 1]),
    }


def write_kernels(writer: RpdWriter, process: Process, calls: dict[int, str]) -> None:
    for item in process.dispatches:
        call = calls.get(item["correlation"], "")
        device = item["agent"] - process.first_handle - GPU_FIRST_NODE
        kind = "Task" if is_graph(call) else "KernelExecution"
        op = writer.op(item, device, kind, process.kernels[item["kernel"] - 1])
        sizes = sizes_of(writer, process, item, call)
        if writer.shape == "old":
            writer.add("kernelop", op_ptr_id=op, **sizes)
        elif call and not is_graph(call):
            writer.add("kernelapi", api_ptr_id=writer.first + item["correlation"], **sizes)


def write_copies(writer: RpdWriter, process: Process, calls: dict[int, str]) -> None:
    for item in process.copies:
        call = calls.get(item["correlation"], "")
        ends = {item["destination"], item["source"]} - {process.first_handle}
        device = max(ends, default=GPU_FIRST_NODE) - process.first_handle - GPU_FIRST_NODE
        way = item["operation"]
        is_sdk = writer.shape == "sdk"
        kind = f"MEMORY_COPY_{SDK_WAYS[way]}" if is_sdk else f"Copy{WAYS[way]}"
        writer.op(item, 0 if is_sdk else device, kind, "")
        if call and not is_graph(call):
            size = item["bytes"]
            writer.add(
                "copyapi",
                api_ptr_id=writer.first + item["correlation"],
                stream=hex(item["stream"]),
                size=size if 0 < size < 2**31 else "",  # 32 bits with a sign
                width="",
                height="",
                kind=way - 1,
            )


def write_session(writer: RpdWriter, process: Process) -> None:
    writer.begin_session()
    kinds = list(process.operations)
    calls = {
        item["correlation"]: process.operations[kinds[item["kind"]]][item["operation"]]
        for item in process.calls
    }
    streams = {item["correlation"]: item["stream"] for item in process.dispatches + process.copies}
    write_kernels(writer, process, calls)
    write_copies(writer, process, calls)
    for item in process.calls:
        number = item["correlation"]
        stream = hex(streams.get(number, 0))
        text = f"graphExec = 0x7f12 | stream = {stream}" if is_graph(calls[number]) else ""
        writer.api(number, process, item, calls[number], text=text)
    free = (number for number in count(FIRST_RANGE) if number not in calls)
    for number, item in zip(free, process.markers):
        text = process.messages[item["correlation"]]
        writer.api(number, process, item, "UserMarker", text=text)


def write_rpd(path: Path, processes: list[Process], shape: str = "3") -> None:
    writer = RpdWriter(path, shape)
    for process in processes:
        write_session(writer, process)
    writer.connection.commit()
    writer.connection.close()


def write_tracing(path: Path, database: Path, whole_us: bool = False) -> None:
    """As rpd2tracing.py writes it: texts for numbers, an empty object first, arrows from 2 us before a call's end. Older ones of it
    have whole microseconds."""
    connection = sqlite3.connect(database)
    texts = dict(connection.execute("SELECT id, string FROM rocpd_string"))
    has_texts = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'rocpd_ustring'")
    table = "rocpd_ustring" if has_texts.fetchone() else "rocpd_string"
    arguments = dict(connection.execute(f"SELECT id, string FROM {table}"))
    us = (lambda ns: str(ns // 1000)) if whole_us else (lambda ns: str(ns / 1000))
    found: list[dict[str, Any]] = []

    def add(pid: int, tid: int, phase: str, **more: Any) -> None:
        found.append({"pid": str(pid), "tid": str(tid), "ph": phase} | more)

    ops = connection.execute(
        "SELECT id, gpuId, queueId, start, end, description_id, opType_id FROM rocpd_op"
    ).fetchall()
    apis = connection.execute(
        "SELECT id, pid, tid, start, end, apiName_id, args_id FROM rocpd_api"
    ).fetchall()
    for device in sorted({op[1] for op in ops}):
        add(device, 0, "M", name="process_name", args={"name": f"GPU{device}"})
        add(device, 0, "M", name="process_sort_index", args={"sort_index": str(device + 10**6)})
    for _, device, queue, start, end, name, kind in ops:
        args = {"desc": texts[kind]}
        times = {"ts": us(start), "dur": us(end - start)}
        add(device, queue, "X", name=texts[name] or texts[kind], **times, args=args)
    for _, pid, tid, start, end, name, text in apis:
        words = arguments[text].replace('"', "")
        title = words if texts[name] == "UserMarker" else texts[name]
        times = {"ts": us(start), "dur": us(end - start)}
        add(pid, tid, "X", name=title, **times, args={"desc": words})
    by_id, op_by_id = {api[0]: api for api in apis}, {op[0]: op for op in ops}
    for number, call, op_id in connection.execute("SELECT id, api_id, op_id FROM rocpd_api_ops"):
        if call in by_id:
            _, pid, tid, _, end, *_ = by_id[call]
            _, device, queue, start, *_ = op_by_id[op_id]
            for where, phase, ts in (
                ((pid, tid), "s", us(min(end - 2000, start))),
                ((device, queue), "f", us(start)),
            ):
                add(*where, phase, cat="api_op", name="api_op", ts=ts, id=str(number))
    add(0, 0, "C", name="sclk", ts=0, args={"sclk": 800})
    lines = "".join(f",{json.dumps(event)}\n" for event in found)
    path.write_text(f'{{"traceEvents": [ {{}}\n{lines}]\n}} \n')
    connection.close()


def rpd_part(trace: dict[str, Any]) -> dict[str, Any]:
    """What of a trace a file of RPD can tell, still as torch.profiler's: each call once, kernels and copies of calls alone, sizes
    and streams that calls gave, none of graphs' kernels; no registers, and nothing of the device.
    """
    events = rocprof_part(trace)["traceEvents"]
    calls: dict[Any, str] = {}
    kept: list[dict[str, Any]] = []
    for event in events:
        number = event["args"].get("correlation")
        if CATEGORIES[event["cat"]] == te.RUNTIME and (number in calls or not number):
            continue
        if CATEGORIES[event["cat"]] == te.RUNTIME:
            calls[number] = event["name"]
        kept.append(event)
    work = (te.KERNEL, te.MEMCPY)
    copies = Counter(
        event["args"]["correlation"] for event in kept if CATEGORIES[event["cat"]] == te.MEMCPY
    )
    given: dict[tuple[Any, str], dict[str, Any]] = {}
    found = []
    for event in kept:
        kind, args = CATEGORIES[event["cat"]], event["args"]
        if kind in work and args["correlation"] not in calls:
            continue
        if kind in work:
            number = args["correlation"]
            first = given.setdefault((number, ""), {"stream": args["stream"]})
            args["stream"] = event["tid"] = first["stream"]
            args.pop("registers per thread", None)
            sizes = {key: args.pop(key, None) for key in ("grid", "block", "shared memory")}
            if kind == te.KERNEL and not is_graph(calls[number]):
                args |= given.setdefault((number, "sizes"), sizes)
            is_told = not is_graph(calls[number]) and copies[number] == 1
            if kind == te.MEMCPY and not (is_told and 0 < args["bytes"] < 2**31):
                args.pop("bytes")
        found.append(event)
    return {"traceEvents": found}


def main() -> None:
    arguments = parser_of(__doc__, SHAPES, "3").parse_args()
    write_rpd(arguments.output, processes_asked(arguments), arguments.shape)


if __name__ == "__main__":
    main()
