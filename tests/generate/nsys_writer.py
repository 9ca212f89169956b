"""What a database of Nsight Systems holds, table by table, in several generations of its schema; and how a rank is put into it."""

from __future__ import annotations

import re
import sqlite3
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trace_event as te
from trace_event import Event, Trace
from trace_styles import STYLES
from write_trace import BASE_TIME_NS

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


def range_text(event: Event) -> str:
    """A range as emit_nvtx names it."""
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

    def add_range(self, event: Event) -> None:
        """Every second name stands in StringIds."""
        text = range_text(event)
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
