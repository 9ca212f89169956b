"""One recording as Ascend's recorders write it: trace_view.json of torch_npu, and its database.

Both are made of a trace of torch.profiler, of which that is kept which Ascend's formats can tell: operators with sequence
numbers, shapes and types, ProfilerStep, calls of the runtime, kernels and copies. `known_part` is that trace.
"""

from __future__ import annotations

import json
import random
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

Event = dict[str, Any]

# Those that may do matrix work, as the operator's class may say.
KERNEL_TYPES = ("AI_CORE", "MIX_AIC", "MIX_AIV", "KERNEL_AICORE")
COPY_TYPES = ("SDMA", "MEMCPY_ASYNC", "PCIE_DMA_SQE")
WAIT_TYPES = ("EVENT_WAIT", "NOTIFY_WAIT", "EVENT_RECORD", "MODEL_EXECUTE", "PLACE_HOLDER_SQE")
# As documented for ascend_pytorch_profiler_{rank}.db; PYTORCH_API's times are declared as text by some versions.
TABLES = """
CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
CREATE TABLE ENUM_API_TYPE (id INTEGER, name TEXT);
CREATE TABLE NPU_INFO (id INTEGER, name TEXT);
CREATE TABLE HOST_INFO (hostUid TEXT, hostName TEXT);
CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);
CREATE TABLE SESSION_TIME_INFO (startTimeNs INTEGER, endTimeNs INTEGER);
CREATE TABLE PYTORCH_API (startNs {time}, endNs {time}, globalTid INTEGER, connectionId INTEGER, name INTEGER,
  sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER, type INTEGER);
CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);
CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER, name INTEGER);
CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER,
  globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);
CREATE TABLE COMPUTE_TASK_INFO (name INTEGER, globalTaskId INTEGER, blockDim INTEGER, mixBlockDim INTEGER, taskType INTEGER,
  opType INTEGER, inputFormats INTEGER, inputDataTypes INTEGER, inputShapes INTEGER, outputFormats INTEGER,
  outputDataTypes INTEGER, outputShapes INTEGER, attrInfo INTEGER);
CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER, globalTaskId INTEGER, taskType INTEGER, planeId INTEGER,
  groupName INTEGER, notifyId INTEGER, rdmaType INTEGER, srcRank INTEGER, dstRank INTEGER, transportType INTEGER,
  size INTEGER, dataType INTEGER, linkType INTEGER, opId INTEGER);
CREATE TABLE COMMUNICATION_OP (opName INTEGER, startNs INTEGER, endNs INTEGER, connectionId INTEGER, groupName INTEGER,
  opId INTEGER, relay INTEGER, retry INTEGER, dataType INTEGER, algType INTEGER, count NUMERIC, opType INTEGER);
CREATE TABLE MEMCPY_INFO (globalTaskId INTEGER, size INTEGER, memcpyOperation INTEGER);
"""


def nanoseconds(microseconds: Any) -> int:
    return int((Decimal(str(microseconds)) * 1000).to_integral_value())


def is_communication(name: str) -> bool:
    return any(part in name.lower() for part in ("nccl", "rccl", "reduce_scatter", "all_gather"))


def known_part(trace: dict[str, Any]) -> dict[str, Any]:
    """What of a trace Ascend's formats can tell, still as torch.profiler's."""
    events: list[Event] = []
    pids = {
        e["pid"] for e in trace["traceEvents"] if str(e.get("cat")) == "cpu_op" and e["ph"] == "X"
    }
    python = min(pids, key=str) if pids else 1
    for event in trace["traceEvents"]:
        category, args = str(event.get("cat")), event.get("args", {})
        if event.get("ph") != "X" or "dur" not in event or is_communication(str(event["name"])):
            continue
        kept = {key: event[key] for key in ("ph", "name", "pid", "tid", "ts", "dur")}
        if category == "cpu_op" and event["pid"] == python:
            keys = ["Sequence number", "Input Dims", "Input type"]
        elif category == "user_annotation" and str(event["name"]).startswith("ProfilerStep#"):
            keys = []
        elif category in ("cuda_runtime", "hip_runtime") and event["pid"] == python:
            keys = ["correlation"]
        elif category in ("kernel", "gpu_memcpy"):
            keys = ["correlation", "stream", "device"]
        else:
            continue
        kept |= {"cat": category, "args": {key: args[key] for key in keys if key in args}}
        if category == "cuda_runtime":  # HIP's: else JSON says that float32 is TF32, as NVIDIA's is
            kept["name"] = str(event["name"]).replace("cuda", "hip", 1)
        for key in ("Input Dims", "Input type"):
            if key in kept["args"] and not flat(kept["args"].get("Input Dims", [])):
                kept["args"].pop(key)
        events.append(kept)
    for event in events:  # one device
        if event["cat"] in ("kernel", "gpu_memcpy"):
            event["args"]["device"] = event["pid"] = 0
            event["tid"] = event["args"].get("stream", event["tid"])  # a stream is one row here
    return {"traceEvents": events}


def queue_calls(trace: dict[str, Any]) -> None:
    """As with torch_npu's task queue: another thread makes the calls, and arrows alone tell whose they are."""
    operators = [event for event in trace["traceEvents"] if event["cat"] == "cpu_op"]
    owners: dict[Any, int] = {}
    # in JSON, a number that is the correlation, too, stands for none
    for number, event in enumerate(operators, 1_000_001):
        event["args"]["External id"] = number
    for event in trace["traceEvents"]:
        if not event["cat"].endswith("_runtime"):
            continue
        around = [
            op
            for op in operators
            if op["tid"] == event["tid"] and op["ts"] <= event["ts"] < op["ts"] + op["dur"]
        ]
        if around and "correlation" in event["args"]:
            inner = max(around, key=lambda op: (op["ts"], -op["dur"]))
            owners[event["args"]["correlation"]] = inner["args"]["External id"]
        event["tid"] = 900_001
    for event in trace["traceEvents"]:
        if event["cat"] in ("kernel", "gpu_memcpy"):
            owner = owners.get(event["args"].get("correlation"))
            if owner:
                event["args"]["External id"] = owner


def flat(shapes: Any) -> bool:
    return isinstance(shapes, list) and all(
        isinstance(shape, list) and all(isinstance(size, int) for size in shape) for shape in shapes
    )


def shapes_text(shapes: list[list[int]], between: str) -> str:
    return between.join(",".join(map(str, shape)) for shape in shapes)


def trace_view(trace: dict[str, Any], rng: random.Random) -> list[Event]:
    """As torch_npu merges it: metadata in the middle, times as text, calls of CANN in a process of their own."""
    operators: list[Event] = []
    rest: list[Event] = []
    numbered: dict[int, Event] = {}
    python = next((e["pid"] for e in trace["traceEvents"] if e["cat"] == "cpu_op"), 7)
    cann, npu, analysis = 31_000_032, 31_000_064, 31_000_128

    def time(microseconds: Any) -> str:
        return f"{Decimal(nanoseconds(microseconds)).scaleb(-3):.3f}"

    for event in sorted(trace["traceEvents"], key=lambda e: e["cat"] != "cpu_op"):
        args = dict(event["args"])
        made: Event = {"ph": "X", "name": event["name"], "ts": time(event["ts"])}
        made["dur"] = time(event["dur"]) if rng.random() < 0.5 else event["dur"]
        if event["cat"] in ("cpu_op", "user_annotation"):
            if "Input Dims" in args:
                args["Input Dims"] = shapes_text(args["Input Dims"], ";\r\n")
            if "Input type" in args:
                args["Input type"] = ";\r\n".join(args["Input type"])
            if "External id" in args:
                numbered[args.pop("External id")] = event
            made |= {"cat": "cpu_op", "pid": event["pid"], "tid": event["tid"], "args": args}
            operators.append(made)
            continue
        connection = {"connection_id": args["correlation"]} if "correlation" in args else {}
        if event["cat"] in ("kernel", "gpu_memcpy"):
            types = KERNEL_TYPES if event["cat"] == "kernel" else COPY_TYPES
            made |= {"pid": npu, "tid": args.get("stream", event["tid"])}
            made["args"] = {"Model Id": 4294967295, "Task Type": rng.choice(types)}
            made["args"] |= {"Physic Stream Id": made["tid"], "Task Id": len(rest), **connection}
            if "External id" in args:
                source = numbered[args["External id"]]
                arrow = {"bp": "e", "name": "torch_to_npu", "cat": "async_npu", "id": len(rest)}
                from_there = {key: source[key] for key in ("pid", "tid")}
                rest.append({**arrow, "ph": "s", **from_there, "ts": time(source["ts"])})
                rest.append({**arrow, "ph": "f", "pid": npu, "tid": made["tid"], "ts": made["ts"]})
            rest.append({**made, "pid": analysis, "tid": 0, "name": "Computing", "args": {}})
            if rng.random() < 0.2:
                wait = dict(made, name=rng.choice(WAIT_TYPES))
                wait["args"] = dict(made["args"], **{"Task Type": wait["name"], "Task Id": 60_000})
                rest.append({key: wait[key] for key in wait})
        else:
            made |= {"pid": cann, "tid": event["tid"]}
            made["args"] = {"Thread Id": event["tid"], "Mode": event["name"], "level": "node"}
            made["args"] |= connection
        rest.append(made)
    names = {python: "Python", cann: "CANN", npu: "Ascend Hardware", analysis: "Overlap Analysis"}
    meta = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        for pid, name in names.items()
    ]
    meta.append(
        {"ph": "M", "name": "process_labels", "pid": npu, "tid": 0, "args": {"labels": "NPU 0"}}
    )
    rng.shuffle(rest)
    return operators + rest[: len(rest) // 2] + meta + rest[len(rest) // 2 :]


class Database:
    """Writes the documented tables."""

    def __init__(self, path: Path, rng: random.Random) -> None:
        path.unlink(missing_ok=True)
        self.connection = sqlite3.connect(path)
        if rng.random() < 0.5:
            self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.executescript(TABLES.format(time=rng.choice(("INTEGER", "TEXT"))))
        self.strings: dict[str, int] = {}

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def add(self, table: str, **row: Any) -> None:
        marks = ", ".join("?" for _ in row)
        self.connection.execute(
            f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values())
        )

    def close(self) -> None:
        for text, number in self.strings.items():
            self.add("STRING_IDS", id=number, value=text)
        self.connection.commit()
        self.connection.close()


def thread(event: Event) -> int:
    return int(event["pid"]) << 32 | int(event["tid"])


def write_database(trace: dict[str, Any], path: Path, rng: random.Random) -> None:
    made = Database(path, rng)
    events = list(trace["traceEvents"])
    rng.shuffle(events)
    for number, event in enumerate(events):
        args, start = event["args"], nanoseconds(event["ts"])
        times: Event = {"startNs": start, "endNs": start + nanoseconds(event["dur"])}
        name = made.string(event["name"])
        if event["cat"] in ("cpu_op", "user_annotation"):
            row: Event = {"name": name, "globalTid": thread(event), "type": 50001}
            if "External id" in args:
                row["connectionId"] = args["External id"]
            if "Sequence number" in args:
                row["sequenceNumber"] = args["Sequence number"]
            if "Input Dims" in args:
                row["inputShapes"] = made.string(shapes_text(args["Input Dims"], ";"))
            if "Input type" in args:
                row["inputDtypes"] = made.string(";".join(args["Input type"]))
            made.add("PYTORCH_API", **times, **row)
        elif event["cat"] in ("kernel", "gpu_memcpy"):
            types = KERNEL_TYPES if event["cat"] == "kernel" else COPY_TYPES
            kind = made.string(rng.choice(types))
            made.add("COMPUTE_TASK_INFO", name=name, globalTaskId=number, taskType=kind)
            row = {
                "deviceId": 0,
                "globalTaskId": number,
                "taskType": kind,
                "taskId": number % 65536,
            }
            row["streamId"] = args.get("stream", event["tid"])
            row["connectionId"] = args.get("correlation", -(1 << 40))
            made.add("TASK", **times, **row)
            if "External id" in args:
                linked = {"id": args["External id"], "connectionId": args["correlation"]}
                made.add("CONNECTION_IDS", **linked)
            if rng.random() < 0.2:
                wait = made.string(rng.choice(WAIT_TYPES))
                made.add("TASK", **times, **{**row, "globalTaskId": -1 - number, "taskType": wait})
        else:
            made.add(
                "CANN_API",
                **times,
                type=10000,
                globalTid=thread(event),
                connectionId=args.get("correlation"),
                name=name,
            )
    made.close()


def write_trace_view(trace: dict[str, Any], path: Path, rng: random.Random) -> None:
    path.write_text(json.dumps(trace_view(trace, rng), default=float))
