"""What readers of RocmProfileData's files (.rpd) stumble on, one case each: run by stumbling_blocks.py."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from recorder_formats import report_of, rows, run
from rocprof_process import Process
from rpd_database import FIRST_RANGE, RpdWriter, write_rpd, write_session, write_tracing
from stumbling_case import Case, same

US = 1000


def add_call(process: Process, number: int, name: str, at: int) -> None:
    kind, operation = process.operation("HIP_RUNTIME_API", name)
    where = {"thread": process.pid, "kind": kind, "operation": operation}
    process.calls.append(where | {"correlation": number, "start": at, "end": at + US})


def add_kernel(process: Process, number: int, at: int, length: int, **more: Any) -> None:
    sizes = {"shared": 0, "block": [64, 1, 1], "grid": [640, 1, 1], "queue": 0, "stream": 0}
    names = {"kernel": process.kernel_id(more.pop("name", "gemm")), "agent": process.gpu(0)}
    times = {"start": at, "end": at + length, "dispatch": 1}
    process.dispatches.append({"correlation": number} | sizes | names | times | more)


def add_copy(process: Process, number: int, at: int, size: int) -> None:
    ends = {"destination": process.gpu(0), "source": process.first_handle, "operation": 2}
    times = {"start": at, "end": at + US, "stream": 0, "bytes": size}
    process.copies.append({"correlation": number} | ends | times)


def launches(pid: int, lengths: Iterable[int], **more: Any) -> Process:
    """Kernels, each with its call."""
    process = Process(pid, 40)
    for number, length in enumerate(lengths, 1):
        add_call(process, number, "hipLaunchKernel", number * 10 * US)
        add_kernel(process, number, number * 10 * US + 2 * US, length, **more)
    return process


def changed(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


def exported(case: Case, path: Path) -> bytes:
    """Where grids stand as text."""
    packed = path.with_suffix(".pftrace")
    run(case.program, "export", "perfetto", "--force", "-o", packed, path)
    return packed.read_bytes()


def products(case: Case, path: Path) -> list[Any]:
    """Operators with the FLOPs of a call."""
    _, ranks = report_of(case.program, path)
    found = rows(ranks[0]["sections"]["tensor_core_use"], "operators")
    return [(row["op"], row["flops"]) for row in found]


def rpd_kernels_of_a_graph_share_a_call(case: Case) -> None:
    process = launches(5, [100])
    add_call(process, 9, "hipGraphLaunch", 100 * US)
    for i in range(418):
        add_kernel(process, 9, 102 * US + 10 * i, 10, name="in a graph")
    path = case.folder / "a.rpd"
    for shape in ("2", "3"):
        write_rpd(path, [process], shape)
        same(case.kernels(path), {"gemm": (1, 100), "in a graph": (418, 4180)})
        same("without the call" in case.printed(path, "report"), False)


def rpd_sessions_have_ids_of_their_own(case: Case) -> None:
    """Three processes of which one launches nothing; no row says whose an op is."""
    path = case.folder / "a.rpd"
    first, second = launches(70, [100], agent=43), launches(60, [700, 800])
    add_copy(second, 77, 90 * US, 512)  # its call is not in the file
    launcher = Process(50, 40)
    add_call(launcher, 1, "hipInit", 0)
    for shape in ("2", "3", "sdk"):
        write_rpd(path, [launcher, first, second], shape)
        found = [sum(ns for _, ns in case.kernels(path, rank).values()) for rank in (0, 1)]
        same(found, [1500, 100])  # by their devices, not by their pids
        _, ranks = report_of(case.program, path)
        same(["copies" in one["sections"] for one in ranks], [True, False])
        same("calls of processes without device work" in case.printed(path), True)


def rpd_ops_may_have_no_call(case: Case) -> None:
    path = case.folder / "a.rpd"
    write_rpd(path, [launches(5, [100, 200, 400])])
    changed(path, "DELETE FROM rocpd_api WHERE start = 10000")
    same(sum(ns for _, ns in case.kernels(path).values()), 700)
    changed(path, "DELETE FROM rocpd_api_ops")
    same(sum(ns for _, ns in case.kernels(path).values()), 700)


def rpd_an_op_may_be_linked_twice(case: Case) -> None:
    path = case.folder / "a.rpd"
    write_rpd(path, [launches(5, [100, 200])])
    changed(path, "INSERT INTO rocpd_api_ops SELECT id + 1000, api_id, op_id FROM rocpd_api_ops")
    same(sum(count for count, _ in case.kernels(path).values()), 2)


def rpd_sizes_of_copies_may_be_none(case: Case) -> None:
    """2 GiB and more are a negative number or none; a call of several copies has one size for all."""
    for sizes, known in (([512], 512), ([3 << 30], None), ([512, 512], None)):
        process = launches(5, [100])
        add_call(process, 9, "hipMemcpy", 100 * US)
        for i, size in enumerate(sizes):
            add_copy(process, 9, (102 + 2 * i) * US, size)
        path = case.folder / "a.rpd"
        write_rpd(path, [process])
        _, ranks = report_of(case.program, path)
        same(rows(ranks[0]["sections"]["copies"], "by_kind")[0]["bytes"], known)
    changed(path, "UPDATE rocpd_copyapi SET size = -5")
    same(case.code(path), 0)


def rpd_copies_of_the_newer_recorder_are_on_device_0(case: Case) -> None:
    """All of them: their device is that of the kernels."""
    process = launches(5, [100], agent=45)
    add_call(process, 9, "hipMemcpy", 100 * US)
    add_copy(process, 9, 102 * US, 512)
    path = case.folder / "a.rpd"
    write_rpd(path, [process], "sdk")
    same("3 2" in case.printed(path).split("device memsets")[-1], True)


def rpd_texts_moved_to_a_table(case: Case) -> None:
    """Ranges, and sizes that emit_nvtx wrote: in rocpd_string, in rocpd_ustring, and in a table of operators."""
    text = "aten::mm, seq = 3, op_id = 4, sizes = [[8, 64], [64, 64]]"
    path = case.folder / "a.rpd"
    for shape in ("2", "3", "autograd"):
        process = launches(5, [100])
        kind, operation = process.operation("MARKER_CORE_RANGE_API", "roctxThreadRangeA")
        where = {"thread": 5, "kind": kind, "operation": operation, "correlation": 1}
        process.markers = [where | {"start": 9 * US, "end": 20 * US}]
        process.messages[1] = "aten::mm" if shape == "autograd" else text
        writer = RpdWriter(path, "2" if shape == "autograd" else shape)
        write_session(writer, process)
        if shape == "autograd":
            names = (
                "api_ptr_id INTEGER PRIMARY KEY, autogradName_id, seq, op_id, sizes, input_op_ids"
            )
            writer.connection.execute(f"CREATE TABLE ext_autogradapi ({names})")
            writer.connection.execute(
                "INSERT INTO ext_autogradapi VALUES (?, ?, '', 4, '[[8, 64], [64, 64]]', '')",
                [writer.first + FIRST_RANGE, writer.string("aten::mm")],
            )
        writer.connection.commit()
        writer.connection.close()
        same(products(case, path), [("aten::mm", 2 * 8 * 64 * 64)])


def rpd_operators_may_be_logged_by_libraries(case: Case) -> None:
    writer = RpdWriter(case.folder / "a.rpd", "3")
    process = launches(5, [100])
    write_session(writer, process)
    arguments = json.dumps({"sizes": [[8, 64], [64, 64]], "seq": -1, "op_id": 4})
    for number, (domain, category, name) in enumerate(
        (("torch", "function", "aten::mm"), ("miopen", "", "find"), ("rpd_tracer", "overhead", "x"))
    ):
        writer.add(
            "api",
            id=writer.first + FIRST_RANGE + number,
            pid=5,
            tid=5,
            start=9 * US,
            end=(20 + number) * US,
            apiName_id=writer.string(name),
            domain_id=writer.string(domain),
            category_id=writer.string(category),
            args_id=writer.text(arguments),
        )
    writer.connection.commit()
    writer.connection.close()
    path = case.folder / "a.rpd"
    same(products(case, path), [("aten::mm", 2 * 8 * 64 * 64)])
    same("rpd_tracer" in case.printed(path), True)


def rpd_grids_are_of_blocks_or_work_items(case: Case) -> None:
    """The file does not say which: what is no multiple of the block's size is blocks, many that are are work-items."""
    for shape, count, wanted in (("2", 1, 10), ("sdk", 9, 10), ("sdk", 1, None), ("old", 9, 10)):
        process = launches(5, [])
        for number in range(1, count + 1):
            add_call(process, number, "hipLaunchKernel", number * 10 * US)
            grid = [640 * number, 1, 1]
            add_kernel(process, number, number * 10 * US + 2 * US, 100, grid=grid)
        path = case.folder / "a.rpd"
        write_rpd(path, [process], shape)
        found = exported(case, path)
        same(b"[%d, 1, 1]" % 640 in found, False)
        same(b"[%d, 1, 1]" % (wanted or 10) in found, wanted is not None)


def rpd_tables_may_be_missing(case: Case) -> None:
    """Recorders make them as they need them, and files are trimmed."""
    for table in ("kernelapi", "copyapi", "string", "api_ops", "api", "metadata", "monitor"):
        path = case.folder / f"{table}.rpd"
        write_rpd(path, [launches(5, [100, 200])])
        changed(path, f"DROP TABLE rocpd_{table}")
        same(sum(ns for _, ns in case.kernels(path).values()), 300)


def rpd_rows_are_in_no_order(case: Case) -> None:
    path = case.folder / "a.rpd"
    process = launches(5, [100, 200, 300])
    for records in (process.dispatches, process.calls):
        records.reverse()
    write_rpd(path, [process])
    same(sum(ns for _, ns in case.kernels(path).values()), 600)
    changed(path, 'UPDATE rocpd_op SET "end" = start - 5 WHERE id % 2 = 0')
    same("negative duration" in case.printed(path), True)


def rpd_without_rows_is_told(case: Case) -> None:
    """A program that made the file anew left the recorder without one."""
    path = case.folder / "a.rpd"
    write_rpd(path, [])
    same(case.code(path), 4)
    same("record with runTracer.sh" in case.printed(path, "report"), True)
    Path(f"{path}-wal").write_bytes(bytes(100))
    same("wal_checkpoint" in case.printed(path, "report"), True)


def turn_events(path: Path) -> None:
    """Ops and calls from the last to the first; arrows stay behind them."""
    lines = path.read_text().splitlines(keepends=True)
    events = [line for line in lines if '"ph": "X"' in line]
    lines = [events.pop() if '"ph": "X"' in line else line for line in lines]
    path.write_text("".join(lines))


def rpd_tracing_has_arrows_for_links(case: Case) -> None:
    """What rpd2tracing.py makes of a file has no categories, and its numbers are texts; calls shorter than the 2 us that an arrow
    begins before their end."""
    process = launches(5, [1000, 2000, 3000])
    second = launches(6, [4000], agent=43)
    for call in process.calls:
        call["end"] = call["start"] + 1500
    add_call(process, 9, "hipGraphLaunch", 100 * US)
    for i in range(40):
        add_kernel(process, 9, 102 * US + 10 * i, 10, name="in a graph")
    database, path = case.folder / "a.rpd", case.folder / "a.json"
    write_rpd(database, [process, second])
    write_tracing(path, database)
    for _ in range(2):
        for rank in (0, 1):
            same(case.kernels(path, rank), case.kernels(database, rank))
            for section in ("step_ledger", "launches"):
                same(case.numbers(path, section, rank), case.numbers(database, section, rank))
        turn_events(path)
    same("without the call" in case.printed(path, "report"), False)
    write_tracing(path, database, whole_us=True)
    same("without the call" in case.printed(path, "report"), False)
    same(len(report_of(case.program, path)[1]), 2)
    same("times of whole microseconds" in case.printed(path), True)


def rpd_tracing_is_read_behind_damage(case: Case) -> None:
    """Quotes in the name of a kernel are not escaped, and files are cut."""
    database, path = case.folder / "a.rpd", case.folder / "a.json"
    write_rpd(database, [launches(5, [100]), launches(6, [200])])
    write_tracing(path, database)
    text = path.read_text()
    path.write_text(text.replace('"name": "gemm"', '"name": "ge"mm"', 1))
    same("byte 211: damaged" in case.printed(path), True)
    path.write_text(text[: text.rindex("hipLaunchKernel")])
    same(sum(ns for _, ns in case.kernels(path).values()), 300)
    same("cut" in case.printed(path), True)
