#!/usr/bin/env python3
"""What readers of other recorders' files stumble on, one case each, in small files.

    tests/properties/stumbling_blocks.py PROGRAM [NAME...]

NAME: only the cases whose names have it. Those that need the real classes of Perfetto are skipped
without them. Ends with a line of counts.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any, Callable

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]
sys.path += map(str, HERE.parents[1].glob("build/venv-formats/lib/python3*/site-packages"))

from perfetto_file import protos  # noqa: E402
from recorder_formats import report_of, rows, run  # noqa: E402
from rocpd_database import write_rocpd  # noqa: E402
from rocprof_json import write_json  # noqa: E402
from rewritten_text import zstd_text  # noqa: E402
from rocprof_process import Process  # noqa: E402
import stumbling_ascend  # noqa: E402
import stumbling_proton  # noqa: E402
import stumbling_rpd  # noqa: E402
from stumbling_case import Case, same  # noqa: E402
import stumbling_jax  # noqa: E402
import stumbling_packets  # noqa: E402
from stumbling_packets import BEGIN, CLEARED, END, NEEDED, Packets  # noqa: E402
import stumbling_xplane  # noqa: E402
from xplane_file import number, text  # noqa: E402

BASE = 1_770_000_000_000_000_000
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"


# ---- Perfetto ------------------------------------------------------------------------------------


def perfetto_kernel_stands_there_twice(case: Case) -> None:
    made = Packets()
    made.thread(1)
    made.slice((1000, 1_822_881), 1, "gemm", "kernel")
    made.stage(1000, 1_915_722, "gemm")
    path = made.write(case.folder / "a.pftrace")
    same(case.kernels(path), {"gemm": (1, 1_915_722)})
    same(
        "1 slices of the device were clamped" in case.printed(path, "report")
        or "clamped by the writer" in case.printed(path, "report"),
        True,
    )


def perfetto_begins_stand_before_ends(case: Case) -> None:
    made = Packets()
    made.thread(1)
    for time, name in ((1000, "a"), (2000, "b")):
        made.half(BEGIN, time, 1, name, "kernel")
    for time in (2000, 5000):
        made.half(END, time, 1)
    path = made.write(case.folder / "a.pftrace")
    same(case.kernels(path), {"a": (1, 1000), "b": (1, 3000)})
    same("begin when another ends" in case.printed(path), True)


def perfetto_all_of_it_is_compressed(case: Case) -> None:
    made = Packets()
    made.thread(1)
    made.slice((1000, 3000), 1, "gemm", "kernel")
    outer = Packets()
    outer.add().compressed_packets = zlib.compress(made.trace.SerializeToString())
    same(case.kernels(outer.write(case.folder / "a.pftrace")), {"gemm": (1, 2000)})


def perfetto_packed_twice_is_told(case: Case) -> None:
    made = Packets()
    made.thread(1)
    made.slice((1000, 3000), 1, "gemm", "kernel")
    once, twice = Packets(), Packets()
    once.add().compressed_packets = zlib.compress(made.trace.SerializeToString())
    twice.thread(2)
    twice.slice((4000, 9000), 2, "relu", "kernel")
    twice.add().compressed_packets = zlib.compress(once.trace.SerializeToString())
    path = twice.write(case.folder / "a.pftrace")
    same(case.kernels(path), {"relu": (1, 5000)})
    same(case.code(path), 5)
    same("compressed packets within compressed ones" in case.printed(path), True)


def perfetto_packets_of_zstd(case: Case) -> None:
    """Frames behind one another, and such a packet as the first of a file; a damaged one is told."""
    if not shutil.which("zstd"):
        return
    made = Packets()
    made.thread(1)
    made.slice((1000, 3000), 1, "gemm", "kernel")
    outer = Packets()
    text = made.trace.SerializeToString()
    outer.add().zstd_compressed_packets = zstd_text(text[:20]) + zstd_text(text[20:])
    same(case.kernels(outer.write(case.folder / "a.pftrace")), {"gemm": (1, 2000)})
    outer.add().zstd_compressed_packets = b"none"
    path = outer.write(case.folder / "b.pftrace")
    same(case.kernels(path), {"gemm": (1, 2000)})
    same(case.code(path), 5)


READ = "clock_snapshot track_event interned_data compressed_packets zstd_compressed_packets "
READ += "gpu_counter_event gpu_render_stage_event trace_packet_defaults track_descriptor"


def perfetto_other_packets_have_their_own_names(case: Case) -> None:
    """As Perfetto's message file calls them, or the number of their field, and never another's name."""
    fields = protos.TracePacket.DESCRIPTOR.fields
    fields = [field for field in fields if field.message_type and field.name not in READ.split()]
    named = set()
    for i in range(0, len(fields), 8):
        made = Packets()
        made.thread(1)
        made.slice((1000, 3000), 1, "gemm", "kernel")
        wanted = set()
        for field in fields[i : i + 8]:
            getattr(made.add(), field.name).SetInParent()
            wanted |= {field.name, f"packets with field {field.number}"}
        _, out, _ = run(case.program, "inspect", "--json", made.write(case.folder / "a.pftrace"))
        found = rows(json.loads(out)["ranks"][0]["sections"]["file"], "unused")
        names = {row["name"] for row in found}
        same((len(names), names - wanted), (len(fields[i : i + 8]), set()))
        named |= names
    same({"ftrace_events", "chrome_events", "thread_descriptor", "battery"} - named, set())


def perfetto_chromes_older_events(case: Case) -> None:
    """Events of no type but a phase: those of a length, begins and ends are read, others told."""
    made = Packets()
    made.thread(1)
    for phase, time, name in (("B", 1000, "one"), ("E", 3000, ""), ("X", 5000, "two")):
        legacy = made.half(0, time, 1, name, "kernel").track_event.legacy_event
        legacy.phase = ord(phase)
        if phase == "X":
            legacy.duration_us = 7
    made.half(0, 9000, 1, "flow", "ac2g").track_event.legacy_event.phase = ord("s")
    of_another = made.half(0, 9000, 1, "three", "kernel").track_event.legacy_event
    of_another.phase, of_another.tid_override = ord("X"), 99
    path = made.write(case.folder / "a.pftrace")
    same(case.kernels(path), {"one": (1, 2000), "two": (1, 7000)})
    told = case.printed(path)
    same("legacy events of phase s 1" in told, True)
    same("legacy events of phase X, of other threads 1" in told, True)


def perfetto_track_and_clock_come_from_defaults(case: Case) -> None:
    made = Packets()
    made.thread(1)
    clocks = made.add().clock_snapshot
    for clock, time in ((6, 10_000), (3, 4_000)):
        entry = clocks.clocks.add()
        entry.clock_id, entry.timestamp = clock, time
    first = made.add(sequence_flags=CLEARED)
    first.trace_packet_defaults.timestamp_clock_id = 3
    first.trace_packet_defaults.track_event_defaults.track_uuid = 1
    for kind, time in ((BEGIN, 5000), (END, 7000)):
        packet = made.add(timestamp=time, sequence_flags=NEEDED)
        packet.track_event.type = kind
        if kind == BEGIN:
            packet.track_event.name = "gemm"
            packet.track_event.categories.append("kernel")
    made.stage(
        11_000, 9000, "gemm", gpu_id=0
    )  # the same work on the other clock, if the default was taken
    same(case.kernels(made.write(case.folder / "a.pftrace")), {"gemm": (1, 9000)})


def perfetto_cleared_names_are_given_anew(case: Case) -> None:
    made = Packets()
    made.thread(1)
    for number, (name, start) in enumerate((("first", 1000), ("second", 5000))):
        begin = made.half(BEGIN, start, 1, "", "kernel")
        begin.sequence_flags = CLEARED | NEEDED
        begin.track_event.name_iid = 4
        entry = begin.interned_data.event_names.add()
        entry.iid, entry.name = 4, name
        made.half(END, start + 1000 + number, 1)
    path = made.write(case.folder / "a.pftrace")
    same(case.kernels(path), {"first": (1, 1000), "second": (1, 1001)})


def perfetto_older_writers_clear_by_a_field_of_its_own(case: Case) -> None:
    made = Packets()
    made.thread(1)
    begin = made.half(BEGIN, 1000, 1, "", "kernel")
    begin.sequence_flags, begin.incremental_state_cleared = NEEDED, True
    begin.track_event.name_iid = 4
    entry = begin.interned_data.event_names.add()
    entry.iid, entry.name = 4, "gemm"
    made.half(END, 3000, 1)
    path = made.write(case.folder / "a.pftrace")
    same(case.kernels(path), {"gemm": (1, 2000)})
    same(case.code(path), 0)


def perfetto_what_needs_lost_names_is_dropped(case: Case) -> None:
    made = Packets()
    made.thread(1)
    made.slice((100, 200), 1, "known", "kernel")
    lost = made.add(sequence=9, timestamp=1000, sequence_flags=NEEDED)
    lost.track_event.type, lost.track_event.track_uuid, lost.track_event.name_iid = BEGIN, 1, 77
    path = made.write(case.folder / "a.pftrace")
    same(case.kernels(path), {"known": (1, 100)})
    same(case.code(path), 5)


def perfetto_numbers_of_names_that_nothing_tells(case: Case) -> None:
    """Of a sequence that says it is whole, or needs none: each is called by its number, and told."""
    made = Packets()
    made.thread(1)
    for start, name in ((1000, 77), (3000, 78), (5000, 77)):
        made.half(BEGIN, start, 1, "", "kernel").track_event.name_iid = name
        made.half(END, start + 1000, 1)
    made.half(BEGIN, 7000, 1, "range").track_event.category_iids.append(9)
    made.half(END, 7500, 1)
    path = made.write(case.folder / "a.pftrace")
    told = {
        f"name {i} (the file does not tell it)": (i % 2 + 1, (i % 2 + 1) * 1000) for i in (77, 78)
    }
    same(case.kernels(path), told)
    same("a number for a name that the file does not tell: 4" in case.printed(path), True)
    same("4 events have numbers for names" in case.printed(path, "report"), True)
    same(case.code(path), 0)
    made = Packets()
    made.stage(9000, 300, "", kernel_iid=5)
    path = made.write(case.folder / "a.pftrace")
    same(case.kernels(path), {"kernel 5 (the file does not tell it)": (1, 300)})


def perfetto_of_proton_has_scopes(case: Case) -> None:
    """On tracks that are no threads, and with the interned texts of annotations."""
    made = Packets()
    for uuid, name in ((1, "Trace"), (1000, "CPU Thread 0"), (201_007, "GPU Stream 7")):
        descriptor = made.add().track_descriptor
        descriptor.uuid, descriptor.name = uuid, name
        if uuid == 1:
            descriptor.process.process_name = name
        else:
            descriptor.parent_uuid = 1
    for i in range(3):
        made.slice((100_000 * i, 100_000 * i + 90_000), 1000, f"step_{i}", "scope")
        made.slice((100_000 * i + 3000, 100_000 * i + 50_000), 201_007, "matmul_kernel", "kernel")
    path = made.write(case.folder / "a.perfetto")
    same("recorder Proton of Triton" in case.printed(path), True)
    found = case.rows(path, "step_ledger", "steps")
    same([(row["step"], row["duration"]) for row in found], [(i, 90_000) for i in range(3)])
    same(case.kernels(path), {"matmul_kernel": (3, 141_000)})


def perfetto_of_our_own_is_no_recorders(case: Case) -> None:
    """What `export perfetto` wrote is of any recorder."""
    made = Packets()
    made.thread(1)
    made.slice((1000, 3000), 1, "gemm", "kernel")
    path = made.write(case.folder / "a.pftrace")
    same("recorder torch.profiler (Perfetto" in case.printed(path), True)
    written = case.export(path, case.folder / "b.pftrace")
    same("recorder flopledger export perfetto" in case.printed(written), True)
    same(case.kernels(written), {"gemm": (1, 2000)})


def perfetto_flows_may_end_at_the_work(case: Case) -> None:
    """A call has the flow, and its kernel ends it; in today's field or the older one."""
    for field in ("terminating_flow_ids", "terminating_flow_ids_old"):
        made = Packets()
        made.thread(1)
        made.thread(2, 0, 7)
        made.half(BEGIN, 1000, 1, "cudaLaunchKernel", "cuda_runtime").track_event.flow_ids.append(9)
        made.half(END, 2000, 1)
        begin = made.half(BEGIN, 5000, 2, "gemm", "kernel")
        getattr(begin.track_event, field).append(9)
        made.half(END, 8000, 2)
        path = made.write(case.folder / "a.pftrace")
        same(case.kernels(path), {"gemm": (1, 3000)})
        same("without a launch call" in case.printed(path), False)


def perfetto_incremental_clocks_chain(case: Case) -> None:
    made = Packets()
    made.thread(1)
    chain = made.add(sequence=3, sequence_flags=CLEARED).clock_snapshot
    for clock, time in ((64, 0), (3, 1_000_000)):
        entry = chain.clocks.add()
        entry.clock_id, entry.timestamp, entry.is_incremental = clock, time, clock == 64
    root = made.add().clock_snapshot
    for clock, time in ((3, 1_000_000), (6, 9_000_000)):
        entry = root.clocks.add()
        entry.clock_id, entry.timestamp = clock, time
    for kind, step in ((BEGIN, 2000), (END, 3000)):
        packet = made.add(sequence=3, timestamp=step, timestamp_clock_id=64, sequence_flags=NEEDED)
        packet.track_event.type, packet.track_event.track_uuid = kind, 1
        if kind == BEGIN:
            packet.track_event.name = "gemm"
            packet.track_event.categories.append("kernel")
    made.stage(9_002_000, 8000, "gemm", gpu_id=0)
    same(case.kernels(made.write(case.folder / "a.pftrace")), {"gemm": (1, 8000)})


def perfetto_no_gpu_is_not_gpu_zero(case: Case) -> None:
    made = Packets()
    made.stage(1000, 10, "none")
    made.stage(1000, 20, "zero", gpu_id=0)
    path = made.write(case.folder / "a.pftrace")
    _, out, _ = run(case.program, "inspect", "--json", path)
    same(len(rows(json.loads(out)["ranks"][0]["sections"]["devices"], "devices")), 2)


def perfetto_a_stage_is_a_kind_and_the_kernel_interned(case: Case) -> None:
    made = Packets()
    packet = made.stage(1000, 10, "", kernel_iid=7, stage_iid=5)
    packet.sequence_flags = CLEARED | NEEDED
    entry = packet.interned_data.gpu_specifications.add()
    entry.iid, entry.name = 5, "Kernel"
    # compute_kernels {iid 1, demangled_name 3}, an extension that the published classes lack
    kernel = number(1, 7) + text(2, "_Z4gemm") + text(3, "gemm(float*)")
    packet.interned_data.MergeFromString(text(1000, kernel))
    found = case.kernels(made.write(case.folder / "a.pftrace"))
    same(found, {"gemm(float*)": (1, 10)})


def perfetto_processes_may_lie_hours_apart(case: Case) -> None:
    made = Packets()
    for number, start in ((1, 1000), (2, 9 * 3600 * 10**9)):
        made.thread(number, 50 * number, 50 * number)
        made.slice((start, start + 500), number, f"f{number}", "cpu_op")
    path = made.write(case.folder / "a.pftrace")
    same(case.code(path) in (0, 4), True)
    same("9.000 h" in case.printed(path), True)


def perfetto_ftrace_stands_beside(case: Case) -> None:
    made = Packets()
    made.thread(1)
    bundle = made.add().ftrace_events
    bundle.cpu = 0
    entry = bundle.event.add()
    entry.timestamp, entry.pid = 1500, 7
    made.slice((1000, 3000), 1, "gemm", "kernel")
    path = made.write(case.folder / "a.pftrace")
    same(case.kernels(path), {"gemm": (1, 2000)})
    same("ftrace" in case.printed(path), True)


# ---- rocprofv3 -----------------------------------------------------------------------------------


def rocprof_process(pid: int, lengths: list[int]) -> Process:
    """Kernels of one graph launch."""
    process = Process(pid, 37_944)
    kind, operation = process.operation("HIP_RUNTIME_API", "hipGraphLaunch")
    call = {"start": 500, "end": 900, "thread": pid, "correlation": 11}
    process.calls.append(call | {"kind": kind, "operation": operation})
    start = 1000
    for number, length in enumerate(lengths):
        process.dispatches.append(
            {
                "start": start,
                "end": start + length,
                "thread": pid,
                "correlation": 11,
                "agent": process.gpu(0),
                "queue": 1,
                "stream": 1,
                "kernel": process.kernel_id(f"k{number % 3}"),
                "dispatch": number + 1,
                "shared": 0,
                "block": [64, 1, 1],
                "grid": [130, 1, 1],
            }
        )
        start += length + 10
    return process


def rocprof_kernels_of_a_graph_share_a_number(case: Case) -> None:
    for name, write in (("a_results.json", write_json), ("a_results.db", write_rocpd)):
        path = case.folder / name
        write(path, [rocprof_process(5, [100] * 1123)])
        same(sum(count for count, _ in case.kernels(path).values()), 1123)
        same("without the call" in case.printed(path, "report"), False)


def rocprof_grids_are_work_items(case: Case) -> None:
    path = case.folder / "a_results.json"
    write_json(path, [rocprof_process(5, [100])])
    _, ranks = report_of(case.program, path)
    text = json.dumps(ranks[0]["sections"])
    same("130" in text and '"130' in text, False)


def rocprof_records_of_kinds_to_come_are_told(case: Case) -> None:
    """By the name of their array; samples have no start and no end, which is no fault."""
    path = case.folder / "a_results.json"
    write_json(path, [rocprof_process(5, [100])])
    whole = json.loads(path.read_text())
    records = whole["rocprofiler-sdk-tool"][0]["buffer_records"]
    records["kfd_page_fault"] = [{"kind": 30, "timestamp": 5, "more": {"a": []}}] * 7
    records["pc_sample_host_trap"] = [{"record": {"timestamp": 900}, "inst_index": 3}] * 5
    path.write_text(json.dumps(whole))
    told = case.printed(path)
    same("kfd_page_fault 7" in told and "pc_sample_host_trap 5" in told, True)
    same("without a time" in told, False)
    same(case.kernels(path), {"k0": (1, 100)})


def rocprof_rows_are_in_no_order(case: Case) -> None:
    process = rocprof_process(5, [100, 200, 300, 400])
    ordered = case.folder / "a_results.json"
    write_json(ordered, [process])
    wanted = case.kernels(ordered), case.numbers(ordered, "step_ledger")
    random.Random(1).shuffle(process.dispatches)
    for name, write in (("b_results.json", write_json), ("b_results.db", write_rocpd)):
        write(case.folder / name, [process])
        path = case.folder / name
        same((case.kernels(path), case.numbers(path, "step_ledger")), wanted)


def rocprof_processes_share_their_numbers(case: Case) -> None:
    processes = [rocprof_process(5, [100]), rocprof_process(5, [700, 800])]
    for name, write, shape in (
        ("a_results.json", write_json, "compact"),
        ("a_results.db", write_rocpd, "own"),
        ("b_results.db", write_rocpd, "common"),
    ):
        path = case.folder / name
        if shape == "common":  # in one table processes differ by guid and pid
            processes[1].pid = 6
        write(path, processes, shape)
        found = [sum(ns for _, ns in case.kernels(path, rank).values()) for rank in (0, 1)]
        same(found, [100, 1500])


def rocpd_columns_are_left_out(case: Case) -> None:
    path = case.folder / "a_results.db"
    write_rocpd(path, [rocprof_process(5, [100, 200])], "lean")
    same(sum(ns for _, ns in case.kernels(path).values()), 300)


def rocpd_of_rocprof_sys_has_words_of_its_own(case: Case) -> None:
    """For the same calls: launches are joined as those of rocprofv3, and are no ranges."""
    path = case.folder / "a_results.db"
    write_rocpd(path, [rocprof_process(5, [100, 200])])
    same("without a launch call" in case.printed(path), False)
    database = sqlite3.connect(path)
    table = next(n for (n,) in database.execute(TABLES) if n.startswith("rocpd_string"))
    for old, new in (("HIP_RUNTIME_API", "rocm_hip_api"), ("HSA_CORE_API", "rocm_hsa_api")):
        database.execute(f"UPDATE {table} SET string = ? WHERE string = ?", (new, old))
    database.commit()
    database.close()
    found = case.printed(path)
    same("rocm_hip_api" in found and "without a launch call" not in found, True)


def rocprof_and_ascend_tables_are_refused(case: Case) -> None:
    path = case.folder / "kernels.csv"
    tables = {
        "rocprofv3": ['"Kind","Agent_Id"', '"Correlation_Id","Dispatch_Id"', '"Domain","Function"'],
        "torch_npu": ["Step Id,Device_id,Model ID", "Device_id,Name,Type"],
    }
    for writer, heads in tables.items():
        for head in heads:
            path.write_text(f"{head},and more\n1,2,3\n")
            same(case.code(path), 3)
            same(f"a table of {writer}, which is not read" in case.printed(path, "report"), True)
            told = case.printed(path.parent, "report")
            same(f"a table of {writer}, which is not read" in told, True)


Test = Callable[[Case], None]
KINDS = ("xplane", "perfetto", "rocprof", "rocpd", "rpd", "ascend", "proton")
TESTS: dict[str, Test] = {
    name: test
    for name, test in (
        globals()
        | vars(stumbling_ascend)
        | vars(stumbling_jax)
        | vars(stumbling_packets)
        | vars(stumbling_proton)
        | vars(stumbling_rpd)
        | vars(stumbling_xplane)
    ).items()
    if name.startswith(tuple(f"{k}_" for k in KINDS))
}
TESTS.pop("rocprof_process")

# What is known of other people's files, and the case that holds each: a line that names no case fails.
BLOCKS = """
xplane, TPU: FLOPs and bytes are of an op, for each time that it runs: xplane_metadata_stats_count_each_time
xplane, TPU: calls of what XLA does not know, with 0 FLOPs: xplane_calls_of_libraries_have_no_flops
xplane, TPU: no plane of a host: xplane_a_core_alone_tells_of_no_host
xplane, TPU: planes are numbered 2, 10, 18, 26: xplane_ids_of_planes_are_any
xplane, TPU: lines of a device begin at 0, those of the host in 1970: xplane_lines_of_devices_may_begin_at_zero
xplane, TPU: "Async XLA Ops" lie over "XLA Ops": xplane_async_ops_overlap_ops
xplane, TPU: most of "XLA Ops" may wait for copies: xplane_copy_done_is_no_kernel
xplane, TPU: durations of less than a nanosecond: xplane_times_have_picoseconds xplane_work_without_a_length_is_told
xplane: one step alone: xplane_a_recording_of_one_step_has_it
xplane: JSON of it alone: xplane_json_of_it_is_refused
xplane: a log folder for each rank: xplane_each_rank_may_log_by_itself
xplane, TPU: lines and planes without events: xplane_empty_lines_and_planes
xplane, TPU: a plane without device_type_string: xplane_a_tpu_without_a_type_is_no_gpu
xplane, GPU: no line but streams, and no name of the device: xplane_gpus_have_streams_alone_and_no_name
xplane, GPU: one hlo_op in several programs: xplane_an_op_is_of_a_program
xplane, GPU: kernels of libraries in command buffers: xplane_buffers_hide_the_ops_of_libraries
xplane, GPU: an op of several kernels, and ops that are not told: xplane_an_op_may_take_several_kernels xplane_a_copy_is_no_other_op
xplane: what is of the backward, and recomputed: xplane_phases_are_told_by_scopes xplane_a_fusion_is_of_the_phase_of_its_product xplane_scopes_may_be_lost
xplane, GPU: lines of TensorFlow repeat the same time: xplane_lines_of_tensorflow_repeat_time
xplane: ops of XLA on threads of the host: xplane_runs_on_processors_are_read xplane_processors_may_tell_of_whole_programs xplane_names_on_processors_tell_no_kind
xplane: a stat without a name: xplane_a_stat_may_have_no_name
xplane: the time of day in "Task Environment": xplane_the_environment_has_the_time_of_day
Perfetto: a kernel twice, and once cut short: perfetto_kernel_stands_there_twice
Perfetto: all begins before all ends: perfetto_begins_stand_before_ends
Perfetto: all of it in compressed packets: perfetto_all_of_it_is_compressed perfetto_packets_of_zstd perfetto_packed_twice_is_told
Perfetto: clock and track from the defaults of packets: perfetto_track_and_clock_come_from_defaults
Perfetto: numbers of names given anew: perfetto_cleared_names_are_given_anew perfetto_older_writers_clear_by_a_field_of_its_own
Perfetto: a packet that needs what was lost: perfetto_what_needs_lost_names_is_dropped
Perfetto, rocprofv3: devices and streams are told by names of tracks: perfetto_of_rocprofv3_has_places_in_names
Perfetto, rocpd2pftrace: several processes whose correlations are the same: perfetto_of_several_processes_has_flows
Perfetto, rocpd2pftrace: several processes, each with the only device it sees: perfetto_of_several_processes_is_of_ranks
Perfetto, rocprofv3 since ROCm 7: tracks of streams alone: perfetto_of_rocprofv3_has_streams_alone
Perfetto, rocprof-sys, Omnitrace: categories of their own, of streams for kernels and copies: perfetto_of_rocprof_sys_and_omnitrace_have_kernels
Perfetto, JSON, unitrace: one category of the host, one of devices: perfetto_and_json_of_unitrace_have_kernels
Proton: timelines of several devices, which lanes alone tell: perfetto_of_proton_has_devices_in_lanes
Perfetto: written by export perfetto: perfetto_of_our_own_is_no_recorders
Perfetto: Proton's scopes, and flows that end: perfetto_of_proton_has_scopes perfetto_flows_may_end_at_the_work
Perfetto: numbers of names that no packet tells: perfetto_numbers_of_names_that_nothing_tells
Perfetto: clocks that count up from one another: perfetto_incremental_clocks_chain
Perfetto: no gpu_id is not 0: perfetto_no_gpu_is_not_gpu_zero
Perfetto: a slice called by its stage, the kernel in an argument: perfetto_a_stage_is_a_kind_and_the_kernel_interned
Perfetto: processes hours apart: perfetto_processes_may_lie_hours_apart
Perfetto: ftrace and others beside: perfetto_ftrace_stands_beside perfetto_other_packets_have_their_own_names
Perfetto: Chrome's older events: perfetto_chromes_older_events
rocprofv3: 1,123 kernels of one number: rocprof_kernels_of_a_graph_share_a_number
rocprofv3: grids are work-items: rocprof_grids_are_work_items
rocprofv3: records of a kind that is not known, and samples: rocprof_records_of_kinds_to_come_are_told
rocprofv3: rows in no order: rocprof_rows_are_in_no_order
rocprofv3, rocpd: processes in one file, with the same handles, threads and row numbers: rocprof_processes_share_their_numbers
rocpd: categories of rocprof-sys: rocpd_of_rocprof_sys_has_words_of_its_own
rocpd: columns that other writers leave out: rocpd_columns_are_left_out
RPD: the kernels of a graph share its launch: rpd_kernels_of_a_graph_share_a_call
RPD: several processes, and launchers, whose ids count from 2^32 times the session: rpd_sessions_have_ids_of_their_own
RPD: ops without a call, or linked twice: rpd_ops_may_have_no_call rpd_an_op_may_be_linked_twice
RPD: sizes of copies in 32 bits, and of calls instead of copies: rpd_sizes_of_copies_may_be_none
RPD: rocprofiler-sdk's copies are all on device 0: rpd_copies_of_the_newer_recorder_are_on_device_0
RPD: texts of ranges in two tables, by the schema, and taken apart: rpd_texts_moved_to_a_table
RPD: domains that libraries make up: rpd_operators_may_be_logged_by_libraries
RPD: grids in blocks here, in work-items there: rpd_grids_are_of_blocks_or_work_items
RPD: tables that are not there: rpd_tables_may_be_missing
RPD: rows in no order, and ends before starts: rpd_rows_are_in_no_order
RPD: JSON of rpd2tracing.py, without categories: rpd_tracing_has_arrows_for_links rpd_tracing_is_read_behind_damage
RPD: a schema without rows, and a log beside it: rpd_without_rows_is_told
Ascend: a bare list, times as texts, metadata in its middle: ascend_list_of_texts_with_metadata_within
Ascend: rows that repeat the device's time: ascend_rows_that_repeat_time ascend_tasks_are_launched_with_their_collective
Ascend: waits of 204 ms that are no work: ascend_waits_are_no_work
Ascend: tables beside the trace, with a TAB behind a number and fewer columns at level 0: ascend_tables_beside_are_no_traces
Ascend, rocprofv3: such a table alone: rocprof_and_ascend_tables_are_refused
Ascend: databases in WAL mode: ascend_databases_may_be_in_wal_mode
Ascend: tasks of several parts: ascend_tasks_that_consist_of_others
Ascend: launches that are not recorded: ascend_arrows_of_old_versions_lead_from_calls
Ascend: counters in tables of their own and in JSON, in other units: ascend_counters_are_sampled_or_of_tasks
Ascend: versions here, the schema's alone there: ascend_versions_or_the_schema_are_told
Proton: numbers of devices are texts, inner nodes have few metrics or none: proton_devices_are_texts_and_inner_nodes_empty
Proton: the tree in MessagePack: proton_trees_in_messagepack_are_those_in_json
Proton: timelines whose host has scopes alone: proton_timelines_have_scopes
Proton: a folder of profiles: proton_folders_are_told
Ascend: collectives on AI CPUs, named in a table of their own: ascend_collectives_on_processors_have_a_table_of_names
Ascend: folders of MindSpore, and what was not analyzed: ascend_folders_may_be_of_mindspore_or_not_analyzed
Proton: names in capitals: proton_of_2024_has_names_in_capitals
Proton: keys in any order, halves of files: proton_trees_are_summed_and_cut_ones_to_where_they_end
Proton: children before their scope's name: proton_trees_of_deep_stacks_are_known
"""


def blocks_without_a_case() -> list[str]:
    """Lines of the list that no test holds, and tests that are in no line."""
    lines = BLOCKS.strip().splitlines()
    named = {line: line.rsplit(": ", 1)[1].split() for line in lines}
    missing = [line for line, names in named.items() if set(names) - set(TESTS)]
    return missing + sorted(set(TESTS) - {name for names in named.values() for name in names})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    missing = blocks_without_a_case()
    print("".join(f"FAILED: not held, or in no line: {line}\n" for line in missing), end="")
    passed, failed, skipped = 0, len(missing), 0
    for name, test in TESTS.items():
        if arguments.names and not any(word in name for word in arguments.names):
            continue
        if name.startswith("perfetto") and not protos:
            skipped += 1
            continue
        with tempfile.TemporaryDirectory(prefix="flopledger-blocks-") as folder:
            try:
                test(Case(arguments.program.resolve(), Path(folder)))
                passed += 1
            except (AssertionError, KeyError, IndexError) as problem:
                failed += 1
                print(f"FAILED: {name}: {problem!r}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
