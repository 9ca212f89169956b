"""Runs of small programs as Nsight Systems records them: a model whose layers are ranges, and one that does what the rules
of `nsys analyze` look for."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import trace_event as te
from nsys_writer import (
    COMMUNICATOR,
    NCCL_DOMAIN,
    PAYLOAD_SIZES,
    PAYLOAD_TABLES,
    PAYLOADS,
    PUSH_POP,
    SYSTEM_CALL_TABLES,
    COLLECTIVE,
    INIT,
    POINT_TO_POINT,
    DatabaseWriter,
    Extras,
    ProcessWriter,
    Schema,
)
from trace_event import Event


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


class RulesWriter(ProcessWriter):
    """Steps with what the rules of `nsys analyze` look for, one after the other; 20 ms each."""

    def add_api(self, name: str, start: int, end: int, number: int) -> None:
        args = {"correlation": number}
        self.add_call(Event(te.RUNTIME, name, start, end - start, self.pid, self.pid, args))

    def device(self, start: int, end: int, number: int) -> dict[str, int]:
        args = {"device": 0, "stream": 7, "correlation": number}
        return self.device_columns(Event(te.KERNEL, "", start, end - start, 0, 7, args))

    def add_step(self, number: int) -> None:
        at, call, ms = 20_000_000 * number, 10 * number + 1, 1_000_000
        step = Event(te.ANNOTATION, f"step {number}", at, 20 * ms, self.pid, self.pid)
        self.add_range(step)
        self.add_api("cudaLaunchKernel", at, at + 5_000, call)
        args = {"device": 0, "stream": 7, "correlation": call}
        self.add_kernel(Event(te.KERNEL, "ampere_sgemm_128x64_tn", at + 10_000, 4 * ms, 0, 7, args))
        self.add_api("cudaDeviceSynchronize", at + 20_000, at + 5 * ms, call + 1)
        # cuda_memcpy_sync: the host waits for a copy
        self.add_api("cudaMemcpy", at + 8 * ms, at + 10 * ms, call + 2)
        copy = {"bytes": 1 << 20, "copyKind": 2, "srcKind": 2, "dstKind": 1}
        row = self.device(at + 9_900_000, at + 10 * ms, call + 2)
        self.writer.add("CUPTI_ACTIVITY_KIND_MEMCPY", **row, **copy)
        # cuda_memset_sync: unified memory is set
        self.add_api("cudaMemset", at + 11 * ms, at + 13 * ms, call + 3)
        row = self.device(at + 12_900_000, at + 13 * ms, call + 3)
        self.writer.add("CUPTI_ACTIVITY_KIND_MEMSET", **row, value=0, bytes=4096, memKind=4)
        # cuda_memcpy_async: from pageable memory
        self.add_api("cudaMemcpyAsync", at + 14 * ms, at + 15 * ms, call + 4)
        copy = {"bytes": 8 << 20, "copyKind": 1, "srcKind": 0, "dstKind": 2}
        row = self.device(at + 14_500_000, at + 17 * ms, call + 4)
        self.writer.add("CUPTI_ACTIVITY_KIND_MEMCPY", **row, **copy)


def write_rules(path: Path, steps: int, schema: Schema) -> None:
    writer = DatabaseWriter(path, schema)
    writer.add_facts([0])
    process = RulesWriter(writer, 60, 0)
    writer.add("PROCESSES", globalPid=process.process, pid=60, name="python3")
    for number in range(steps):
        process.add_step(number)
    writer.close()


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
