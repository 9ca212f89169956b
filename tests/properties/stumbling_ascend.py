"""What readers of Ascend's recordings stumble on, one case each: run by stumbling_blocks.py."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from ascend_recording import Database
from recorder_formats import report_of, rows, run
from stumbling_case import Case, same

BASE = 1_770_000_000_000_000_000


NPU, CANN, HCCL, ANALYSIS = 31_064, 31_032, 31_096, 31_128


def npu_task(name: str, kind: str, start: str, length: float, number: int) -> dict[str, Any]:
    args = {"Task Type": kind, "Physic Stream Id": 2, "Task Id": number, "connection_id": number}
    return {"ph": "X", "name": name, "pid": NPU, "tid": 2, "ts": start, "dur": length, "args": args}


def npu_meta() -> list[dict[str, Any]]:
    names = {NPU: "Ascend Hardware", CANN: "CANN", HCCL: "HCCL", ANALYSIS: "Overlap Analysis"}
    return [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        for pid, name in names.items()
    ]


def ascend_list_of_texts_with_metadata_within(case: Case) -> None:
    path = case.folder / "trace_view.json"
    events = [
        npu_task("MatMul", "AI_CORE", "1770000000000001.123", 4.877, 1),
        *npu_meta(),
        npu_task("MatMul", "AI_CORE", "1770000000000006.001", 1.0, 2),
    ]
    path.write_text(json.dumps(events))
    same(case.kernels(path), {"MatMul": (2, 5877)})
    same("recorded time 5.878 µs" in case.printed(path), True)


def ascend_rows_that_repeat_time(case: Case) -> None:
    path = case.folder / "trace_view.json"
    events = [*npu_meta(), npu_task("MatMul", "AI_CORE", "100.000", 5.0, 1)]
    for pid, name in ((ANALYSIS, "Computing"), (ANALYSIS, "Free")):
        events.append({"ph": "X", "name": name, "pid": pid, "tid": 0, "ts": "100.000", "dur": 5.0})
    whole = {"ph": "X", "name": "hcom_allReduce__1_0_1", "pid": HCCL, "tid": 7, "ts": "200.000"}
    events += [
        {
            "ph": "M",
            "name": "thread_name",
            "pid": HCCL,
            "tid": 7,
            "args": {"name": "Group 0 Communication"},
        },
        {"ph": "M", "name": "thread_name", "pid": HCCL, "tid": 8, "args": {"name": "Plane 0"}},
        {**whole, "dur": 9.0, "args": {"connection_id": 5}},
    ]
    part = {"task type": "Memcpy", "stream id": 2, "task id": 9}
    events.append({**whole, "name": "Memcpy", "tid": 8, "dur": 3.0, "args": part})
    events.append(npu_task("MEMCPY_ASYNC", "MEMCPY_ASYNC", "200.000", 3.0, 9))
    path.write_text(json.dumps(events))
    same(case.kernels(path), {"MatMul": (1, 5000), "hcom_allReduce": (1, 9000)})


def ascend_folders_may_be_of_mindspore_or_not_analyzed(case: Case) -> None:
    """MindSpore names folders and databases otherwise; what was only recorded says what analyzes it."""
    output = case.folder / "run" / "x_ascend_ms" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    task = npu_task("MatMul", "AI_CORE", "1700000000000001.000", 5.0, 1)
    (output / "trace_view.json").write_text(json.dumps([*npu_meta(), task]))
    same(case.kernels(case.folder / "run"), {"MatMul": (1, 5000)})
    made = Database(output / "ascend_mindspore_profiler_0.db", random.Random(0))
    times = {"startNs": BASE, "endNs": BASE + 7}
    made.add("TASK", **times, deviceId=3, globalTaskId=1, taskType=made.string("AI_CORE"))
    made.close()
    _, out, _ = run(case.program, "inspect", "--json", case.folder / "run")
    same(len(json.loads(out)["ranks"]), 1)
    for folder, words in (
        ("a/x_ascend_pt/FRAMEWORK", "torch_npu.profiler.profiler.analyse("),
        ("b/x_ascend_ms/FRAMEWORK", "mindspore.profiler.profiler.analyse("),
        ("c/PROF_1/device_0/data", "msprof --export=on"),
        ("d/device_0/data", "msprof --export=on"),
    ):
        (case.folder / folder).mkdir(parents=True)
        same(words in case.printed(case.folder / folder[0]), True)
    same("analyse(" in case.printed(case.folder / "a" / "x_ascend_pt"), True)


def ascend_waits_are_no_work(case: Case) -> None:
    path = case.folder / "trace_view.json"
    events = [*npu_meta(), npu_task("MatMul", "AI_CORE", "100.000", 5.0, 1)]
    for number, kind in enumerate(("NOTIFY_WAIT", "EVENT_WAIT", "NOTIFY_RECORD"), 2):
        events.append(npu_task(kind, kind, f"{100 * number}.000", 90.0, number))
    path.write_text(json.dumps(events))
    same(case.kernels(path), {"MatMul": (1, 5000)})


def ascend_tables_beside_are_no_traces(case: Case) -> None:
    folder = case.folder / "h_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    folder.mkdir(parents=True)
    tasks = [*npu_meta(), npu_task("MatMul", "AI_CORE", "100.000", 5.0, 1)]
    (folder / "trace_view.json").write_text(json.dumps(tasks))
    (folder / "kernel_details.csv").write_text(
        "Name,Start Time(us),Duration(us)\nMatMul,100.000\t,5\n"
    )
    (folder / "step_trace_time.csv").write_text("Step,Computing,Free\n,7.0,1.0\n")
    same(case.kernels(folder), {"MatMul": (1, 5000)})
    same("passed over as no traces: 2 files" in case.printed(folder, "report"), True)


def ascend_databases_may_be_in_wal_mode(case: Case) -> None:
    path = case.folder / "ascend_pytorch_profiler_0.db"
    made = Database(path, random.Random(0))
    made.connection.execute("PRAGMA journal_mode = WAL")
    name, kind = made.string("MatMul"), made.string("AI_CORE")
    made.add("COMPUTE_TASK_INFO", name=name, globalTaskId=1, taskType=kind)
    made.add(
        "TASK", startNs=BASE, endNs=BASE + 7, deviceId=3, globalTaskId=1, taskType=kind, streamId=2
    )
    made.close()
    path.chmod(0o444)
    same(case.kernels(path), {"MatMul": (1, 7)})
    same([file.name for file in case.folder.iterdir()], [path.name])


def ascend_collectives_on_processors_have_a_table_of_names(case: Case) -> None:
    """Tasks of AI CPUs that run a collective: without their names they would compute."""
    path = case.folder / "ascend_pytorch_profiler_0.db"
    made = Database(path, random.Random(0))
    kind, name = made.string("AI_CPU"), made.string("allreduceAicpuKernel")
    times = {"startNs": BASE, "endNs": BASE + 9000}
    made.add("TASK", **times, deviceId=3, globalTaskId=1, taskType=kind, streamId=2)
    words = "globalTaskId INTEGER, name INTEGER, opType INTEGER, taskType INTEGER"
    made.connection.execute(f"CREATE TABLE COMMUNICATION_SCHEDULE_TASK_INFO ({words})")
    made.connection.execute(
        "INSERT INTO COMMUNICATION_SCHEDULE_TASK_INFO VALUES (1, ?, ?, ?)", (name, name, kind)
    )
    made.close()
    same(case.kernels(path), {"allreduceAicpuKernel": (1, 9000)})


NO_CONTEXT = 4294967295


def ascend_tasks_that_consist_of_others(case: Case) -> None:
    """A collective, and a kernel of two parts, are launched as tasks with the type of a kernel; a task of an unknown type
    that a table names computes. No device stands beside the collective."""
    path = case.folder / "ascend_pytorch_profiler_0.db"
    made = Database(path, random.Random(0))
    number = 0

    def task(times: tuple[int, int], kind: str, name: str, launch: int, context: int) -> None:
        nonlocal number
        number += 1
        row = {"globalTaskId": number, "taskType": made.string(kind), "connectionId": launch}
        row |= {"deviceId": 3, "streamId": launch, "taskId": 807, "contextId": context}
        made.add("TASK", startNs=BASE + times[0], endNs=BASE + times[1], **row)
        if name:
            table = "COMMUNICATION" if name.startswith("hcom") else "COMPUTE"
            info = {"name": made.string(name), "globalTaskId": number}
            made.add(f"{table}_TASK_INFO", **info, taskType=row["taskType"])

    task((0, 1000), "AI_CORE", "", 4, NO_CONTEXT)
    for part in range(2):
        task((10 * part, 900), "SDMA", "hcom_allReduce__868_0_1", 4, part)
    collective = {"opName": made.string("hcom_allReduce__868_0_1"), "connectionId": 4, "opId": 1}
    made.add("COMMUNICATION_OP", startNs=BASE, endNs=BASE + 990, **collective)
    task((2000, 2100), "KERNEL_AICORE", "", 5, NO_CONTEXT)
    task((2000, 2090), "KERNEL_AICORE", "MatMul", 5, 0)
    task((3000, 3040), "KERNEL_AICORE", "", 6, NO_CONTEXT)  # of no parts: a kernel
    task((4000, 4030), "STARS_COMMON", "Dropout", 7, NO_CONTEXT)
    made.close()
    wanted = {"hcom_allReduce": (1, 990), "MatMul": (1, 90), "Dropout": (1, 30)}
    same(case.kernels(path), wanted | {"KERNEL_AICORE": (1, 40)})
    same(len(case.numbers(path, "kernels")) > 0 and case.numbers(path, "kernels")["count"], 4)


def ascend_tasks_are_launched_with_their_collective(case: Case) -> None:
    """Without rows of its parts: tasks of the same launch are parts, too."""
    events = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        for pid, name in ((1, "Ascend Hardware"), (2, "HCCL"))
    ]
    group = {"ph": "M", "name": "thread_name", "pid": 2, "tid": 0}
    events.append({**group, "args": {"name": "Group 0 Communication"}})
    whole = {"ph": "X", "name": "hcom_allReduce__868_0_1", "pid": 2, "tid": 0, "dur": 9}
    events.append({**whole, "ts": "1000.000", "args": {"connection_id": 502}})
    for launch, start, name in ((502, "1001.000", "SDMA"), (503, "1020.000", "MEMCPY_ASYNC")):
        args = {"Task Type": "SDMA", "Physic Stream Id": 4, "Task Id": 8, "connection_id": launch}
        task = {"ph": "X", "name": name, "pid": 1, "tid": 4, "dur": 3, "args": args}
        events.append({**task, "ts": start})
    path = case.folder / "trace_view.json"
    path.write_text(json.dumps(events))
    same(case.kernels(path), {"hcom_allReduce": (1, 9000)})
    _, ranks = report_of(case.program, path)
    copies = rows(ranks[0]["sections"]["copies"], "by_kind")
    same([(row["kind"], row["count"]) for row in copies], [("MEMCPY_ASYNC", 1)])


def ascend_arrows_of_old_versions_lead_from_calls(case: Case) -> None:
    """The number of a task is of a launch that is not recorded; an arrow leads from inside the call around it."""
    call = {"ph": "X", "name": "aclnnMatMul", "pid": CANN, "tid": 5, "dur": 9}
    call |= {"ts": "100.000", "args": {"level": "acl", "connection_id": 7}}
    inner = {**call, "name": "inner", "ts": "101.000", "dur": 1}
    later = {**call, "name": "later", "ts": "200.000", "dur": 2}
    python = {"ph": "M", "name": "process_name", "pid": 4, "args": {"name": "Python"}}
    events = [*npu_meta(), python, call, inner, later]
    for number, (start, end) in enumerate((("104.000", "120.000"), ("190.000", "210.000")), 8):
        arrow = {"cat": "HostToDevice", "name": "HostToDevice", "id": f"{number << 32}"}
        events.append({**arrow, "ph": "s", "pid": CANN, "tid": 5, "ts": start})
        events.append({**arrow, "ph": "f", "pid": NPU, "tid": 2, "ts": end, "bp": "e"})
        events.append(npu_task("MatMul", "Other", end, 4.0, number))
    path = case.folder / "trace_view.json"
    path.write_text(json.dumps(events))
    same("device events without a launch call: 1" in case.printed(path), True)


def ascend_versions_or_the_schema_are_told(case: Case) -> None:
    told = {"SCHEMA_VERSION": "schema 1.0.0", "cann_version": "CANN 8.1.RC1"}
    for count in (1, 2):
        path = case.folder / f"ascend_pytorch_profiler_{count}.db"
        made = Database(path, random.Random(0))
        task = {"startNs": BASE, "endNs": BASE + 7, "taskType": made.string("AI_CORE")}
        made.add("TASK", **task, deviceId=3, globalTaskId=1, streamId=2)
        made.connection.execute("CREATE TABLE META_DATA (name TEXT, value TEXT)")
        for name in list(told)[:count]:
            row = (name, told[name].split()[1])
            made.connection.execute("INSERT INTO META_DATA VALUES (?, ?)", row)
        made.close()
        wanted = f"torch_npu.profiler, {list(told.values())[count - 1]}"
        same(wanted in case.printed(path), True)


def ascend_counters_are_sampled_or_of_tasks(case: Case) -> None:
    """In the database by tables, in JSON by events: in units of their own."""
    path = case.folder / "ascend_pytorch_profiler_0.db"
    made = Database(path, random.Random(0))
    name, kind = made.string("MatMul"), made.string("AI_CORE")
    for number in range(2):
        made.add("COMPUTE_TASK_INFO", name=name, globalTaskId=number, taskType=kind)
        task = {"deviceId": 3, "globalTaskId": number, "taskType": kind, "streamId": 2}
        made.add("TASK", startNs=BASE + 100 * number, endNs=BASE + 100 * number + 50, **task)
    read, ratio = made.string("read"), made.string("aic_mac_ratio")
    hbm = "deviceId INTEGER, timestampNs INTEGER, bandwidth NUMERIC, hbmId INTEGER, type INTEGER"
    for table, columns, rows_of_it in (
        ("HBM", hbm, [(3, BASE + 10 * i, 100 * i, 1, read) for i in range(1, 4)]),
        ("TASK_PMU_INFO", "globalTaskId, name, value", [(0, ratio, 0.5), (1, ratio, 0.25)]),
        ("AICORE_FREQ", "deviceId, timestampNs, freq", [(3, BASE + 20, 1800)]),
    ):
        made.connection.execute(f"CREATE TABLE {table} ({columns})")
        holes = ", ".join("?" * len(rows_of_it[0]))
        made.connection.executemany(f"INSERT INTO {table} VALUES ({holes})", rows_of_it)
    made.close()
    same(metrics_of(case, path), {"HBM 1/Read": ("bytes/s", 200), "AI Core Freq": ("MHz", 1800)})
    _, ranks = report_of(case.program, path)
    counted = rows(ranks[0]["sections"]["gpu_metrics"], "by_counter")
    same(
        [(row["counter"], row["kernels"], row["mean"]) for row in counted],
        [("aic_mac_ratio", 2, 0.375)],
    )
    same("TASK_PMU_INFO" in case.printed(path), False)
    view = case.folder / "trace_view.json"
    label = {"ph": "M", "name": "process_labels", "pid": 9, "args": {"labels": "NPU 3"}}
    events = [
        *npu_meta(),
        label,
        {**label, "pid": NPU},
        npu_task("MatMul", "AI_CORE", "100.000", 5.0, 1),
    ]
    for counter, args in (
        ("HBM 1/Read", {"Read(MB/s)": 7.5}),
        ("LLC 0 Read/Hit Rate", {"Hit Rate(%)": 0.894}),  # a part of 1: of no unit
        ("read_ost", {"value": 2, "acc_id": 5}),
        ("no number", {"value": "x"}),
    ):
        events.append(
            {"ph": "C", "name": counter, "pid": 9, "tid": 0, "ts": "101.000", "args": args}
        )
    view.write_text(json.dumps(events))
    wanted = {"HBM 1/Read": ("MB/s", 7.5), "LLC 0 Read/Hit Rate": (None, 0.894)}
    same(metrics_of(case, view), wanted | {"read_ost 5": (None, 2)})
    same("samples of counters (C) 1" in case.printed(view), True)


def metrics_of(case: Case, path: Path) -> dict[str, tuple[str | None, float]]:
    _, ranks = report_of(case.program, path)
    found = rows(ranks[0]["sections"]["gpu_metrics"], "by_metric")
    return {row["metric"]: (row["metric_unit"], row["mean"]) for row in found}
