#!/usr/bin/env python3
"""Writes a generated run as the database that `nsys export --type sqlite` would, in several generations of its schema.

    nsys_database.py --seed 7 --steps 5 --ranks 2 --schema 3.25 --output run.sqlite
    nsys_database.py --megabytes 1000 --output large.sqlite

Each rank is a process of its own; ids of strings, threads and launches are chosen so that a reader that confuses them is
found out: correlation ids repeat between processes, names stand as text or as ids, columns stand in another order in each
generation. --megabytes makes a database of that size out of equal steps.
"""

from __future__ import annotations

import argparse
import json
import re
import sqlite3
import struct
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trace_event as te
from ledger_script import Plan
from make_trace import make_trace
from trace_event import Event, Trace
from trace_styles import STYLES
from write_trace import BASE_TIME_NS

# What Nsight Systems can say of a run: no Python frames, no sizes of collectives, ids of operators in their names.
NSYS_STYLE = replace(
    STYLES["torch2.0"],
    name="nsys",
    has_python=False,
    has_collective_metadata=False,
    is_relative=True,
)

COPY_KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 8}
MEMORY_KINDS = {"Pageable": 0, "Pinned": 1, "Device": 2}
COPY_NAME = re.compile(r"Memcpy (\w+) \((\w+) -> (\w+)\)")
PUSH_POP = 59
FIRST_PROCESS = 281474976710656  # the host's bits of an id

KERNEL = """start end deviceId contextId streamId correlationId globalPid demangledName shortName mangledName
    registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory graphNodeId"""
TABLES = {
    "StringIds": "id value",
    "PROCESSES": "globalPid pid name",
    "ThreadNames": "nameId priority globalTid",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime localTime",
    "TARGET_INFO_GPU": "vmId id name totalMemory smCount computeMajor computeMinor",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName name nameEnum value",
    "CUPTI_ACTIVITY_KIND_KERNEL": KERNEL,
    "CUPTI_ACTIVITY_KIND_MEMCPY": """start end deviceId contextId streamId correlationId globalPid bytes copyKind
        srcKind dstKind""",
    "CUPTI_ACTIVITY_KIND_MEMSET": """start end deviceId contextId streamId correlationId globalPid value bytes
        memKind""",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId returnValue callchainId",
    "NVTX_EVENTS": "start end eventType rangeId category color text globalTid endGlobalTid textId domainId",
}

# Only where counters of the device were sampled.
METRIC_TABLES = {
    "TARGET_INFO_GPU_METRICS": "typeId sourceId typeName metricId metricName",
    "GPU_METRICS": "timestamp typeId metricId value",
}
PAGE_FAULT_TABLES = {
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": "start globalPid address originalFaultPc CpuInstruction module unresolvedFaultPc",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": "start end globalPid deviceId address numberOfPageFaults faultAccessType",
}
SYSTEM_CALL_TABLES = {
    "OSRT_API": "start end eventClass globalTid correlationId nameId returnValue nestingLevel callchainId",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": "start end eventClass globalTid correlationId nameId overheadType",
    "CUBLAS_EVENTS": "start end eventClass globalTid nameId",
    "MPI_START_WAIT_EVENTS": "start end globalTid textId requestHandle",
}
PAYLOAD_TABLES = {
    "NVTX_PAYLOAD_SCHEMAS": "domainId schemaId name type flags numEntries payloadSize alignTo",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": "domainId schemaId idx flags type name description arrayOrUnionDetail offset",
}
NCCL_DOMAIN = 1
COMMUNICATOR = 0x9E3779B97F4A7C15
# NCCL's payloads: by schema, the fields with their types (18 uint64_t, 5 int, 22 size_t) and places.
INIT, COLLECTIVE, POINT_TO_POINT = 16_777_218, 16_777_223, 16_777_226
PAYLOADS = {
    INIT: (
        ("NCCL communicator ID", 18, 0),
        ("No. of ranks", 5, 8),
        ("Rank", 5, 12),
        ("CUDA device", 5, 16),
    ),
    COLLECTIVE: (("NCCL communicator ID", 18, 0), ("Message size [bytes]", 22, 8)),
    POINT_TO_POINT: (
        ("NCCL communicator ID", 18, 0),
        ("Message size [bytes]", 22, 8),
        ("Peer rank", 5, 16),
    ),
}
PAYLOAD_SIZES = {18: (8, "<Q"), 22: (8, "<Q"), 5: (4, "<i")}
METRIC_TYPE = FIRST_PROCESS + (7 << 8)  # the lowest byte is the GPU
SAMPLE_NS = 10_000
# Metrics by their ids, and what they are while a product, another kernel, a copy or nothing runs.
METRICS = {
    3: ("GPC Clock Frequency [MHz]", (1410, 1410, 1410, 1410)),
    4: ("SMs Active [Throughput %]", (95, 60, 0, 0)),
    9: ("Tensor Active [Throughput %]", (70, 0, 0, 0)),
    17: ("DRAM Read Bandwidth [Throughput %]", (20, 80, 10, 0)),
    18: ("DRAM Write Bandwidth [Throughput %]", (10, 40, 10, 1)),
}


@dataclass(frozen=True)
class Extras:
    """What is recorded only where it is asked for."""

    has_metrics: bool = False
    has_page_faults: bool = False
    has_system_calls: bool = False
    has_payloads: bool = False


@dataclass(frozen=True)
class Schema:
    """A generation of the export: what it calls things, and what it adds."""

    version: str
    product: str
    facts_table: str
    added: dict[str, str] = field(default_factory=dict)  # columns by table
    is_reversed: bool = False  # columns stand the other way round


SCHEMAS = {
    schema.version: schema
    for schema in (
        Schema(
            "2.9",
            "2022.2.1.31",
            "EXPORT_META_DATA",
            {"CUPTI_ACTIVITY_KIND_RUNTIME": "name", "CUPTI_ACTIVITY_KIND_MEMCPY": "name"},
        ),
        Schema(
            "3.7",
            "2023.4.4.54",
            "META_DATA_EXPORT",
            {"CUPTI_ACTIVITY_KIND_KERNEL": "greenContextId", "NVTX_EVENTS": "jsonTextId jsonText"},
            is_reversed=True,
        ),
        Schema(
            "3.25",
            "2026.2.1.210",
            "META_DATA_EXPORT",
            {
                "CUPTI_ACTIVITY_KIND_KERNEL": "greenContextId graphId clusterX tensorSizeMinusOneElements",
                "CUPTI_ACTIVITY_KIND_MEMCPY": "greenContextId copyCount",
                "NVTX_EVENTS": "binaryData jsonText",
                "TARGET_INFO_SESSION_START_TIME": "systemClockNs",
            },
        ),
    )
}


class DatabaseWriter:
    def __init__(self, path: Path, schema: Schema) -> None:
        path.unlink(missing_ok=True)
        self.connection = sqlite3.connect(path)
        self.schema = schema
        self.strings: dict[str, int] = {}
        self.create_tables(TABLES)
        self.connection.execute(f"CREATE TABLE {schema.facts_table} (name, value)")
        self.connection.executemany(
            f"INSERT INTO {schema.facts_table} VALUES (?, ?)",
            [
                ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
                ("EXPORT_PRODUCT_VERSION", schema.product),
                ("EXPORT_SCHEMA_VERSION", f"{schema.version}.0"),
            ],
        )

    def create_tables(self, tables: dict[str, str]) -> None:
        for table, columns in tables.items():
            names = f"{columns} {self.schema.added.get(table, '')}".split()
            if self.schema.is_reversed:
                names.reverse()
            self.connection.execute(f"CREATE TABLE {table} ({', '.join(names)})")

    def add(self, table: str, **values: Any) -> None:
        names = ", ".join(values)
        marks = ", ".join("?" for _ in values)
        self.connection.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks})", list(values.values())
        )

    def columns(self, table: str) -> list[str]:
        return f"{TABLES[table]} {self.schema.added.get(table, '')}".split()

    def string(self, text: str) -> int:
        """Its id: far apart, and not in the order of the alphabet."""
        if text not in self.strings:
            self.strings[text] = 1_000_003 * (len(self.strings) + 1) % 16_777_259
            self.add("StringIds", id=self.strings[text], value=text)
        return self.strings[text]

    def add_facts(self, devices: list[int]) -> None:
        self.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=BASE_TIME_NS)
        for device in devices:
            self.add(
                "TARGET_INFO_GPU",
                vmId=0,
                id=device,
                name="NVIDIA A100-SXM4-80GB",
                totalMemory=84_987_740_160,
                smCount=108,
                computeMajor=8,
                computeMinor=0,
            )

    def close(self) -> None:
        self.connection.commit()
        self.connection.close()


class ProcessWriter:
    """Writes one rank."""

    def __init__(self, writer: DatabaseWriter, pid: int, device_shift: int) -> None:
        self.writer = writer
        self.pid = pid
        self.device_shift = device_shift
        self.process = FIRST_PROCESS + (pid << 24)
        self.ranges = 0

    def thread(self, tid: int | str) -> int:
        number = int(tid)
        assert 0 < number < 1 << 24, tid
        return self.process + number

    def device_columns(self, event: Event) -> dict[str, int]:
        args = event.args or {}
        return {
            "start": event.start,
            "end": event.end,
            "deviceId": args["device"] + self.device_shift,
            "contextId": 1,
            "streamId": args["stream"],
            "correlationId": args["correlation"],
            "globalPid": self.process,
        }

    def add_kernel(self, event: Event) -> None:
        args = event.args or {}
        name = self.writer.string(event.name)
        grid = args.get("grid", [None] * 3)
        block = args.get("block", [None] * 3)
        self.writer.add(
            "CUPTI_ACTIVITY_KIND_KERNEL",
            **self.device_columns(event),
            demangledName=name,
            shortName=self.writer.string(event.name.split("<")[0].split("(")[0] or "kernel"),
            registersPerThread=args.get("registers per thread"),
            **dict(zip(("gridX", "gridY", "gridZ"), grid)),
            **dict(zip(("blockX", "blockY", "blockZ"), block)),
        )

    def add_copy(self, event: Event) -> None:
        found = COPY_NAME.fullmatch(event.name)
        assert found, event.name
        self.writer.add(
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            **self.device_columns(event),
            bytes=(event.args or {})["bytes"],
            copyKind=COPY_KINDS[found[1]],
            srcKind=MEMORY_KINDS[found[2]],
            dstKind=MEMORY_KINDS[found[3]],
        )

    def add_memset(self, event: Event) -> None:
        self.writer.add(
            "CUPTI_ACTIVITY_KIND_MEMSET",
            **self.device_columns(event),
            bytes=(event.args or {})["bytes"],
            value=0,
            memKind=MEMORY_KINDS["Device"],
        )

    def add_call(self, event: Event) -> None:
        self.writer.add(
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            start=event.start,
            end=event.end,
            eventClass=0,
            globalTid=self.thread(event.tid),
            correlationId=(event.args or {})["correlation"],
            nameId=self.writer.string(f"{event.name}_v3020"),
            returnValue=0,
        )

    def range_text(self, event: Event) -> str:
        args = event.args or {}
        if event.kind != te.OPERATOR:
            return event.name
        text = event.name
        if "Sequence number" in args:
            text += f", seq = {args['Sequence number']}"
        text += f", op_id = {args[NSYS_STYLE.external_id]}"
        if NSYS_STYLE.input_dims in args:
            text += f", sizes = {args[NSYS_STYLE.input_dims]}"
        return text

    def add_range(self, event: Event) -> None:
        """Every second name stands in StringIds."""
        text = self.range_text(event)
        self.ranges += 1
        is_by_id = self.ranges % 2 == 0
        self.writer.add(
            "NVTX_EVENTS",
            start=event.start,
            end=event.end,
            eventType=PUSH_POP,
            text=None if is_by_id else text,
            textId=self.writer.string(text) if is_by_id else None,
            globalTid=self.thread(event.tid),
            domainId=0,
        )

    def write(self, trace: Trace) -> None:
        adders = {
            te.KERNEL: self.add_kernel,
            te.MEMCPY: self.add_copy,
            te.MEMSET: self.add_memset,
            te.RUNTIME: self.add_call,
            te.DRIVER: self.add_call,
            te.OPERATOR: self.add_range,
            te.ANNOTATION: self.add_range,
        }
        self.writer.add("PROCESSES", globalPid=self.process, pid=self.pid, name="python3")
        for event in trace.events:
            if event.phase == "X" and event.kind in adders:
                adders[event.kind](event)

    def work_at(self, trace: Trace, moment: int) -> int:
        """The index in a metric's values."""
        here = [event for event in trace.events if event.start <= moment < event.end]
        kernels = [event.name for event in here if event.kind == te.KERNEL]
        if any("gemm" in name for name in kernels):
            return 0
        if kernels:
            return 1
        return 2 if any(event.kind in (te.MEMCPY, te.MEMSET) for event in here) else 3

    def write_metrics(self, trace: Trace) -> None:
        """One sample of the first is broken: it is negative."""
        work = [event for event in trace.events if event.kind in (te.KERNEL, te.MEMCPY, te.MEMSET)]
        gpu = METRIC_TYPE + (work[0].args or {})["device"] + self.device_shift
        for number, (name, _) in METRICS.items():
            ids = {"typeId": gpu, "sourceId": 1, "metricId": number}
            self.writer.add("TARGET_INFO_GPU_METRICS", **ids, typeName="GA100", metricName=name)
        last = max(event.end for event in work)
        for moment in range(min(event.start for event in work), last, SAMPLE_NS):
            at = self.work_at(trace, moment)
            for number, (_, values) in METRICS.items():
                self.add_sample(moment, gpu, number, values[at])
        self.add_sample(last, gpu, min(METRICS), -1)

    def write_page_faults(self, trace: Trace) -> None:
        """The host faults when a copy begins, the device when a kernel does: three at once."""
        for event in trace.events:
            if event.kind == te.MEMCPY:
                self.writer.add(
                    "CUDA_UM_CPU_PAGE_FAULT_EVENTS",
                    start=event.start,
                    globalPid=self.process,
                    address=4096,
                )
            elif event.kind == te.KERNEL:
                self.writer.add(
                    "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
                    start=event.start,
                    end=event.start + 500,
                    globalPid=self.process,
                    deviceId=(event.args or {})["device"] + self.device_shift,
                    address=8192,
                    numberOfPageFaults=3,
                )

    def add_sample(self, moment: int, gpu: int, number: int, value: int) -> None:
        self.writer.add("GPU_METRICS", timestamp=moment, typeId=gpu, metricId=number, value=value)


def write_database(
    path: Path, traces: list[Trace], schema: Schema, extras: Extras = Extras()
) -> None:
    """Each trace is a process, on a device of its own."""
    writer = DatabaseWriter(path, schema)
    first = traces[0].run_facts["device"]
    devices = [first + 2 * rank + other for rank in range(len(traces)) for other in (0, 1)]
    writer.add_facts(devices)
    if extras.has_metrics:
        writer.create_tables(METRIC_TABLES)
    if extras.has_page_faults:
        writer.create_tables(PAGE_FAULT_TABLES)
    for rank, trace in enumerate(traces):
        shift = first + 2 * rank - trace.run_facts["device"]
        process = ProcessWriter(writer, 4000 - rank, shift)
        process.write(trace)
        if extras.has_metrics:
            process.write_metrics(trace)
        if extras.has_page_faults:
            process.write_page_faults(trace)
    writer.close()


# ---- a model whose modules are ranges --------------------------------------------------------------------------------


class ModelWriter(ProcessWriter):
    """Iterations of a model of two layers, as the program's own ranges and emit_nvtx name them."""

    def add_named(self, text: str, start: int, end: int) -> None:
        self.add_range(Event(te.ANNOTATION, text, start, end - start, self.pid, self.pid))

    def add_op(self, text: str, start: int, kernel_ns: int) -> None:
        self.add_named(text, start, start + 1000)
        args = {"device": 0, "stream": 7, "correlation": self.ranges}
        call = Event(te.RUNTIME, "cudaLaunchKernel", start + 200, 600, self.pid, self.pid, args)
        self.add_call(call)
        self.add_kernel(
            Event(te.KERNEL, "ampere_sgemm_128x64_tn", start + 1000, kernel_ns, 0, 7, args)
        )

    def add_iteration(self, number: int) -> None:
        at, seq = 100_000 * number, 10 * number
        self.add_named(f"iteration {number}", at, at + 90_000)
        self.add_named("forward", at + 500, at + 41_000)
        self.add_named("model", at + 1_000, at + 40_000)
        self.add_named("layer1", at + 2_000, at + 15_000)
        self.add_op(f"aten::mm, seq = {seq}, sizes = [[128, 256], [256, 512]]", at + 3_000, 5_000)
        self.add_named("layer2", at + 20_000, at + 35_000)
        sizes = "[[64], [128, 512], [512, 64]]"
        self.add_op(f"aten::addmm, seq = {seq + 1}, sizes = {sizes}", at + 21_000, 8_000)
        node = f"autograd::engine::evaluate_function: AddmmBackward0, seq = {seq + 1}, op_id = 9"
        self.add_named(node, at + 45_000, at + 60_000)
        self.add_op("aten::mm, op_id = 8, sizes = [[512, 128], [128, 64]]", at + 46_000, 9_000)

    def add_waiting(self, number: int) -> None:
        """The thread synchronises, then waits for another one: the device is idle for most of both. It waits for MPI, and
        for a kernel to be loaded; cuBLAS tells of its calls."""
        at = 100_000 * number
        args = {"correlation": 1_000_000 + number}
        self.add_call(
            Event(
                te.RUNTIME, "cudaStreamSynchronize", at + 50_000, 10_000, self.pid, self.pid, args
            )
        )
        self.add_system_call("poll", at + 50_500, at + 59_500)
        self.add_system_call("pthread_cond_wait", at + 62_000, at + 85_000)
        thread = {"globalTid": self.thread(self.pid)}
        self.writer.add(
            "CUPTI_ACTIVITY_KIND_OVERHEAD",
            start=at + 85_500,
            end=at + 89_500,
            nameId=self.writer.string("Unknown"),
            overheadType=6,
            **thread,
        )
        gemm = self.writer.string("cublasGemmEx")
        self.writer.add("CUBLAS_EVENTS", start=at + 46_100, end=at + 46_900, nameId=gemm, **thread)
        wait = self.writer.string("MPI_Wait")
        self.writer.add(
            "MPI_START_WAIT_EVENTS", start=at + 36_000, end=at + 39_000, textId=wait, **thread
        )

    def add_payload_schemas(self) -> None:
        """Twice, as a file of two processes has them."""
        for schema, fields in 2 * list(PAYLOADS.items()):
            ids = {"domainId": NCCL_DOMAIN, "schemaId": schema}
            self.writer.add("NVTX_PAYLOAD_SCHEMAS", **ids, numEntries=len(fields), payloadSize=24)
            for place, (name, kind, offset) in enumerate(fields):
                self.writer.add(
                    "NVTX_PAYLOAD_SCHEMA_ENTRIES",
                    **ids,
                    idx=place,
                    type=kind,
                    name=name,
                    offset=offset or None,
                )

    def add_nccl(self, name: str, start: int, end: int, schema: int = 0, *values: int) -> None:
        """A call with its payload, in the form of the generation: bytes, or text, or none."""
        columns = self.writer.columns("NVTX_EVENTS")
        payload: dict[str, Any] = {}
        if schema and "binaryData" in columns:
            body = bytearray(24)
            for (_, kind, offset), value in zip(PAYLOADS[schema], values):
                struct.pack_into(PAYLOAD_SIZES[kind][1], body, offset, value)
            payload["binaryData"] = struct.pack("<4Q", NCCL_DOMAIN, schema, 24, 32) + bytes(body)
        elif schema and "jsonText" in columns:
            fields = zip(PAYLOADS[schema], values)
            payload["jsonText"] = json.dumps({field[0]: value for field, value in fields})
        self.writer.add(
            "NVTX_EVENTS",
            start=start,
            end=end,
            eventType=PUSH_POP,
            text=name,
            globalTid=self.thread(self.pid),
            domainId=NCCL_DOMAIN,
            **payload,
        )

    def add_message(self, name: str, launch: int, kernel: tuple[int, int], number: int) -> None:
        args = {"device": 0, "stream": 20, "correlation": number}
        self.add_call(
            Event(te.RUNTIME, "cudaLaunchKernelExC", launch, 100, self.pid, self.pid, args)
        )
        self.add_kernel(Event(te.KERNEL, name, kernel[0], kernel[1], 0, 20, args))

    def add_collectives(self, number: int) -> None:
        """An all-reduce in a group, an all-gather by itself, sends and receives to all in a group, and two all-reduces
        that share a group and a kernel."""
        at = 100_000 * number
        calls = 2_000_000 + 10 * number
        if number == 0:
            self.add_nccl("ncclCommInitRank", at, at + 100, INIT, COMMUNICATOR, 8, 3, 0)
        self.add_named("nccl:all_reduce, op_id = 31", at + 61_000, at + 64_000)
        self.add_nccl("ncclGroupStart", at + 61_100, at + 61_100)
        self.add_nccl("ncclAllReduce", at + 61_200, at + 61_300, COLLECTIVE, COMMUNICATOR, 1 << 20)
        self.add_nccl("ncclGroupEnd", at + 61_400, at + 63_900)
        self.add_message("ncclDevKernel_AllReduce", at + 62_000, (at + 63_000, 4_000), calls)
        self.add_nccl("ncclAllGather", at + 65_000, at + 67_000, COLLECTIVE, COMMUNICATOR, 1 << 16)
        self.add_message("ncclDevKernel_AllGather", at + 65_500, (at + 68_000, 2_000), calls + 1)
        self.add_named("nccl:all_to_all, op_id = 32", at + 71_000, at + 75_000)
        self.add_nccl("ncclGroupStart", at + 71_100, at + 71_150)
        for peer in range(8):
            start = at + 71_200 + 20 * peer
            one = (POINT_TO_POINT, COMMUNICATOR, 4096, peer)
            self.add_nccl("ncclSend", start, start + 9, *one)
            self.add_nccl("ncclRecv", start + 10, start + 19, *one)
        self.add_nccl("ncclGroupEnd", at + 71_400, at + 74_000)
        self.add_message("ncclDevKernel_SendRecv", at + 72_000, (at + 73_000, 3_000), calls + 2)
        self.add_nccl("ncclGroupStart", at + 80_000, at + 80_100)
        self.add_nccl("ncclAllReduce", at + 80_200, at + 80_300, COLLECTIVE, COMMUNICATOR, 1 << 20)
        self.add_nccl("ncclAllReduce", at + 80_400, at + 80_500, COLLECTIVE, COMMUNICATOR, 1 << 10)
        self.add_nccl("ncclGroupEnd", at + 80_600, at + 82_000)
        self.add_message("ncclDevKernel_AllReduce", at + 81_000, (at + 82_000, 1_000), calls + 3)

    def add_system_call(self, name: str, start: int, end: int) -> None:
        self.writer.add(
            "OSRT_API",
            start=start,
            end=end,
            eventClass=27,
            globalTid=self.thread(self.pid),
            nameId=self.writer.string(name),
            returnValue=0,
            nestingLevel=0,
        )


def write_model(path: Path, iterations: int, schema: Schema, extras: Extras) -> None:
    writer = DatabaseWriter(path, schema)
    writer.add_facts([0])
    process = ModelWriter(writer, 50, 0)
    writer.add("PROCESSES", globalPid=process.process, pid=50, name="python3")
    if extras.has_system_calls:
        writer.create_tables(SYSTEM_CALL_TABLES)
    if extras.has_payloads:
        writer.create_tables(PAYLOAD_TABLES)
        process.add_payload_schemas()
    for number in range(iterations):
        process.add_iteration(number)
        if extras.has_system_calls:
            process.add_waiting(number)
        if extras.has_payloads:
            process.add_collectives(number)
    writer.close()


# ---- large ones ------------------------------------------------------------------------------------------------------

# Bytes of one kernel with its call and its range, about.
BYTES_PER_KERNEL = 330
LARGE_STEPS = f"""
    WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < ?1)
    INSERT INTO {{}}
"""


def write_large(path: Path, megabytes: int, schema: Schema) -> None:
    """Kernels of 8 us every 10 us, each with its call and operator; a step of 10,000 of them."""
    count = megabytes * 1_000_000 // BYTES_PER_KERNEL
    writer = DatabaseWriter(path, schema)
    writer.add_facts([0])
    process = FIRST_PROCESS + (77 << 24)
    names = [writer.string(f"kernel_number_{i}<float, 4>(float*, int)") for i in range(64)]
    call = writer.string("cudaLaunchKernel_v7000")
    execute = writer.connection.execute
    writer.add("PROCESSES", globalPid=process, pid=77, name="python3")
    execute("CREATE TEMP TABLE kernel_names (place INTEGER PRIMARY KEY, id)")
    writer.connection.executemany("INSERT INTO kernel_names VALUES (?, ?)", enumerate(names))
    execute(
        LARGE_STEPS.format(
            """CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
            globalPid, demangledName, shortName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ,
            staticSharedMemory, dynamicSharedMemory)
        SELECT 10000 * n + 6000, 10000 * n + 14000, 0, 1, 7, n + 1, ?2, id, id, 32, 1 + n % 50, 1, 1, 128, 1, 1, 0, 0
        FROM number JOIN kernel_names ON place = n % 64"""
        ),
        (count, process),
    )
    execute(
        LARGE_STEPS.format(
            """CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId,
            returnValue) SELECT 10000 * n + 1000, 10000 * n + 5000, 0, ?2, n + 1, ?3, 0 FROM number"""
        ),
        (count, process + 77, call),
    )
    execute(
        LARGE_STEPS.format(
            """NVTX_EVENTS (start, end, eventType, text, globalTid, domainId)
            SELECT 10000 * n + 500, 10000 * n + 5500, 59,
                'aten::add_, seq = ' || n || ', op_id = ' || (n + 7) || ', sizes = [[8, 64], [8, 64]]', ?2, 0
            FROM number"""
        ),
        (count, process + 77),
    )
    execute(
        LARGE_STEPS.format(
            """NVTX_EVENTS (start, end, eventType, text, globalTid, domainId)
            SELECT 100000000 * n, 100000000 * (n + 1) - 1, 59, 'ProfilerStep#' || n, ?2, 0 FROM number"""
        ),
        (max(1, count // 10_000), process + 77),
    )
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="1", help="the same seed makes the same run")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=6, help="how long a step is")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--schema", choices=SCHEMAS, default="3.25")
    parser.add_argument(
        "--modules", action="store_true", help="make iterations of a model of two layers instead"
    )
    parser.add_argument(
        "--metrics", action="store_true", help="counters of the devices are sampled as well"
    )
    parser.add_argument(
        "--page-faults", action="store_true", help="memory is unified, and pages of it fault"
    )
    parser.add_argument(
        "--system-calls",
        action="store_true",
        help="with --modules: calls of the operating system are traced as well",
    )
    parser.add_argument(
        "--payloads",
        action="store_true",
        help="with --modules: collectives, with the payloads of NCCL's ranges",
    )
    parser.add_argument(
        "--megabytes", type=int, help="make a large one instead, of about that size"
    )
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    schema = SCHEMAS[arguments.schema]
    extras = Extras(
        arguments.metrics, arguments.page_faults, arguments.system_calls, arguments.payloads
    )
    if arguments.megabytes:
        write_large(arguments.output, arguments.megabytes, schema)
        return
    if arguments.modules:
        write_model(arguments.output, arguments.steps, schema, extras)
        return
    plan = Plan(arguments.steps, arguments.blocks, True)
    traces = [
        make_trace(f"{arguments.seed} rank {rank}", plan, NSYS_STYLE)
        for rank in range(arguments.ranks)
    ]
    write_database(arguments.output, traces, schema, extras)


if __name__ == "__main__":
    main()
