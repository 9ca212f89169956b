"""What readers of XSpaces stumble on, one case each: run by stumbling_blocks.py."""

from __future__ import annotations

import json
import random
from typing import Any

from recorder_formats import report_of, rows, run
from stumbling_case import Case, same
from xplane_file import Event, Line, Plane, environment, gpu_space
from xplane_file import processor_program, programs_plane, write_space

BASE = 1_770_000_000_000_000_000
OPS = {"ynn_fusion": 0, "psum.7": 500_000}  # of processor_program, and when they begin, in ps


# ---- XSpaces: TPU --------------------------------------------------------------------------------


PRODUCT = (
    "%fusion.7 = bf16[128,64]{1,0} fusion(bf16[128,32]{1,0} %a, bf16[32,64]{1,0} %b), kind=kOutput"
)


def tpu(plane_id: int = 0, start: int = 0, device: int = 0) -> Plane:
    """Three products of 1 us each in a step of 10 us."""
    plane = Plane(f"/device:TPU:{device}", plane_id)
    plane.stats = {"device_type_string": "TPU v5 lite"}
    stats = {"hlo_category": "convolution fusion", "flops": 1000, "bytes_accessed": 64}
    plane.metadata = {PRODUCT: ("fusion.7", {**stats, "program_id": 7})}
    work = [Event(PRODUCT, at * 10**6, 10**6) for at in (1, 3, 5)]
    plane.lines = [
        Line("Steps", [Event("4", 0, 10 * 10**6)], 1, start),
        Line("XLA Ops", work, 3, start),
    ]
    return plane


def xplane_metadata_stats_count_each_time(case: Case) -> None:
    path = case.folder / "a.xplane.pb"
    write_space(path, [tpu(), environment()])
    same(case.numbers(path, "model_flops_utilization")["model_flops_per_step"], 3000)


def xplane_ids_of_planes_are_any(case: Case) -> None:
    path = case.folder / "a.xplane.pb"
    write_space(path, [tpu(number, 0, i) for i, number in enumerate((2, 10, 18, 26))])
    same(len(report_of(case.program, path)[1]), 4)


def xplane_lines_of_devices_may_begin_at_zero(case: Case) -> None:
    host = Plane("/host:CPU")
    host.lines = [Line("python", [Event("f", 0, 10**6)], 7, BASE)]
    path = case.folder / "a.xplane.pb"
    write_space(path, [tpu(), host])
    same(sum(ns for _, ns in case.kernels(path).values()), 3000)


def xplane_a_recording_of_one_step_has_it(case: Case) -> None:
    """By its number, be it told by the device or by the host; a name without a number is none."""
    host, alone = Plane("/host:CPU"), tpu()
    alone.lines = alone.lines[1:]
    path = case.folder / "a.xplane.pb"
    for name, stats, wanted in (
        ("", {}, [(4, 10_000)]),
        ("train", {"step_num": 12}, [(12, 9_000)]),
        ("iteration 3", {}, [(3, 9_000)]),
        ("step", {}, [(0, 5_000)]),  # of all work
        ("step.a 3", {}, [(0, 5_000)]),
    ):
        host.lines = [Line("python", [Event(name, 0, 9 * 10**6, dict(stats))], 7)]
        write_space(path, [alone, host] if name else [tpu()])
        found = case.rows(path, "step_ledger", "steps")
        same([(row["step"], row["duration"]) for row in found], wanted)


def xplane_async_ops_overlap_ops(case: Case) -> None:
    plane = tpu()
    copy = "%copy-start.1 = f32[64]{0} copy-start(%c)"
    plane.metadata[copy] = ("copy-start.1", {"hlo_category": "copy-start", "program_id": 7})
    plane.lines.append(Line("Async XLA Ops", [Event(copy, 10**6, 5 * 10**6)], 4))
    path = case.folder / "a.xplane.pb"
    write_space(path, [plane])
    same(case.kernels(path), {"fusion.7": (3, 3000)})
    _, ranks = report_of(case.program, path)
    same(len(rows(ranks[0]["sections"]["copies"], "by_kind")), 1)


def xplane_copy_done_is_no_kernel(case: Case) -> None:
    plane = tpu()
    wait = "%copy-done.1 = f32[64]{0} copy-done(%c)"
    plane.metadata[wait] = ("copy-done.1", {"hlo_category": "copy-done", "program_id": 7})
    plane.lines[1].events.append(Event(wait, 6 * 10**6, 4 * 10**6))
    path = case.folder / "a.xplane.pb"
    write_space(path, [plane])
    same(case.kernels(path), {"fusion.7": (3, 3000)})


def xplane_times_have_picoseconds(case: Case) -> None:
    plane = tpu()
    plane.lines[1].events = [
        Event(PRODUCT, 10**6 + 400, 999_700),
        Event(PRODUCT, 2 * 10**6 + 300, 600),
    ]
    path = case.folder / "a.xplane.pb"
    write_space(path, [plane])
    same(case.kernels(path)["fusion.7"][0], 2)
    same(case.kernels(path)["fusion.7"][1] in (1000, 1001), True)


def xplane_work_without_a_length_is_told(case: Case) -> None:
    plane = tpu()
    plane.lines = plane.lines[1:]
    plane.lines[0].events = [Event(PRODUCT, 10**6 + 400, 999_700), Event(PRODUCT, 2 * 10**6, 600)]
    host = Plane("/host:CPU")
    host.lines = [Line("python", [Event("f", 0, 10**7)], 7)]
    path = case.folder / "a.xplane.pb"
    write_space(path, [plane, host])  # the first holds the second, whose time it is
    same(case.code(path), 4)
    same("no work of its steps has a length" in case.printed(path, "report"), True)


def xplane_each_rank_may_log_by_itself(case: Case) -> None:
    """LOGDIR/rank_3/plugins/profile/TIME: of each rank the newest; of folders with other names the newest alone."""
    for name, wanted in (("rank_", 3), ("run", 1)):
        logs = case.folder / name
        for rank in range(3):
            for time in ("2026_01_01_00_00_00", f"2026_01_01_00_00_0{1 + rank}"):
                folder = logs / f"{name}{rank}" / "plugins" / "profile" / time
                folder.mkdir(parents=True)
                write_space(folder / "host.xplane.pb", [tpu()])
        _, out, _ = run(case.program, "inspect", "--json", logs)
        ranks = json.loads(out)["ranks"]
        same([rank["rank"] for rank in ranks], [0, 1, 2][:wanted] if wanted > 1 else [None])
        told = case.printed(logs)
        same(f"passed over: {6 - wanted} older profiles" in told, True)


def xplane_json_of_it_is_refused(case: Case) -> None:
    """Its events have no categories: what is to be read instead is said."""
    names = {1: "/device:GPU:0", 2: "/host:CPU"}
    events: list[dict[str, Any]] = [
        {"ph": "X", "name": "fusion.1", "pid": 1, "tid": 2, "ts": 1, "dur": 5}
    ]
    for pid, name in names.items():
        meta = {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
        events.append(meta)
    path = case.folder / "perfetto_trace.json"
    path.write_text(json.dumps({"traceEvents": events}))
    same(case.code(path), 4)
    same("name the HOST.xplane.pb beside it" in case.printed(path, "report"), True)


def xplane_empty_lines_and_planes(case: Case) -> None:
    plane = tpu()
    plane.lines.insert(0, Line("Framework Ops", [], 9))
    path = case.folder / "a.xplane.pb"
    write_space(path, [Plane("/host:metadata"), plane, Plane("/device:TPU:1", 8), Plane("")])
    same(len(report_of(case.program, path)[1]), 1)


def xplane_a_tpu_without_a_type_is_no_gpu(case: Case) -> None:
    plane = tpu()
    plane.stats = {}
    path = case.folder / "a.xplane.pb"
    write_space(path, [plane])
    same("TPU" in case.printed(path, "report"), True)
    same("GPU" in case.printed(path, "report"), False)


# ---- XSpaces: GPU and CPU ------------------------------------------------------------------------


def xplane_gpus_have_streams_alone_and_no_name(case: Case) -> None:
    known = gpu_space(random.Random(3), 1)
    path = case.folder / "a.xplane.pb"
    write_space(path, known.planes)
    device = case.numbers(path, "model_flops_utilization")["device"]
    same(str(device).split(":")[0], known.device)


def xplane_an_op_is_of_a_program(case: Case) -> None:
    plane, host = Plane("/device:GPU:0"), Plane("/host:CPU")
    work, calls = [], []
    for number in (1, 2):  # compiled twice
        op = {"hlo_op": "dot.3", "program_id": number, "hlo_module": "jit_f"}
        stats: dict[str, Any] = {"correlation_id": number, **op}
        calls.append(Event("cuLaunchKernel", number * 10**6, 10**5, dict(stats)))
        work.append(Event(f"k{number}", number * 10**6 + 10**5, 10**5, dict(stats)))
    plane.lines = [Line("Stream #1(Kernel)", work, 1)]
    host.lines = [Line("Host Threads/7", calls, 7)]
    path = case.folder / "a.xplane.pb"
    write_space(path, [plane, host])
    _, ranks = report_of(case.program, path)
    found = {row["operator"] for row in rows(ranks[0]["sections"]["operators"], "by_name")}
    same(found, {"jit_f::dot.3", "jit_f(2)::dot.3"})


def xplane_buffers_hide_the_ops_of_libraries(case: Case) -> None:
    """A kernel of cuBLAS in a command buffer has the buffer's name for its op: what would tell is said."""
    plane, host = Plane("/device:GPU:0"), Plane("/host:CPU")
    op = {"hlo_op": "command_buffer_1", "program_id": 1, "hlo_module": "jit_f"}
    work = [Event("nvjet_sm90_tst_NNT", 10**6, 10**5, {"correlation_id": 7, **op})]
    call = Event("nvjet_sm90_tst_NNT", 10**5, 10**5, {"correlation_id": 7})
    plane.lines = [Line("Stream #1(Compute)", work, 1)]
    host.lines = [Line("Host Threads/7", [call], 7)]
    path = case.folder / "a.xplane.pb"
    write_space(path, [plane, host])
    same("xla_gpu_enable_command_buffer" in case.printed(path, "report"), True)


def xplane_lines_of_tensorflow_repeat_time(case: Case) -> None:
    plane = tpu()
    same_time = [Event("while/dot", at * 10**6, 10**6) for at in (1, 3, 5)]
    for number, name in enumerate(("TensorFlow Ops", "TensorFlow Name Scope", "Source code")):
        plane.lines.append(Line(name, list(same_time), 20 + number))
    path = case.folder / "a.xplane.pb"
    write_space(path, [plane])
    same(sum(ns for _, ns in case.kernels(path).values()), 3000)


def xplane_runs_on_processors_are_read(case: Case) -> None:
    host = Plane("/host:CPU")
    stats = {"hlo_op": "dot.1", "hlo_module": "jit_f", "program_id": 3}
    host.lines = [Line("tf_XLAEigen/7", [Event("dot.1", 0, 10**6, {**stats})], 7, BASE)]
    path = case.folder / "a.xplane.pb"
    write_space(path, [host])
    same(case.code(path), 0)
    same("operators run 100.0 %" in case.printed(path, "report"), True)


def xplane_processors_may_tell_of_whole_programs(case: Case) -> None:
    """JAX 0.4.20 runs them in the call, 0.6.2 in parts on a pool: beside ops they are no work of their own."""
    us, step = 10**6, {"step_num": 1, "_r": 1}
    for name, has_op in (
        ("TfrtCpuExecutable::ExecuteHelper", False),
        ("ThunkExecutor::Execute", False),
        ("ThunkExecutor::Execute", True),
    ):
        host = Plane("/host:CPU")
        train = Event("train", 0, 100 * us, step)
        call = Event("PjitFunction(f)", 5 * us, 90 * us)
        work = [Event(name, 10 * us, 80 * us), Event(name + " (wait for completion)", 92 * us, us)]
        op = {"hlo_op": "dot.1", "hlo_module": "jit_f", "program_id": 3}
        work += [Event("dot.1", 20 * us, 30 * us, op)] * has_op
        host.lines = [Line("python", [train, call], 1, BASE), Line("pool", work, 2, BASE)]
        path = case.folder / "a.xplane.pb"
        write_space(path, [host])
        _, ranks = report_of(case.program, path)
        (found,) = rows(ranks[0]["sections"]["step_ledger"], "steps")
        same(found["busy"], 30_000 if has_op else 80_000)


def xplane_names_on_processors_tell_no_kind(case: Case) -> None:
    program, flops = processor_program("jit_f", 3)
    stats = {"hlo_module": "jit_f", "program_id": 3}
    work = [Event(op, at, 500_000, {**stats, "hlo_op": op}) for op, at in OPS.items()]
    host = Plane("/host:CPU")
    host.lines = [Line("tf_XLAEigen/7", work, 7, BASE)]
    path = case.folder / "a.xplane.pb"
    write_space(path, [programs_plane({"jit_f(3)": program}), host])
    _, ranks = report_of(case.program, path)
    (window,) = rows(ranks[0]["sections"]["step_ledger"], "steps")
    same((window["matrix"], window["exposed_communication"]), (500, 500))
    same(case.numbers(path, "model_flops_utilization")["model_flops_per_step"], flops)


def xplane_a_stat_may_have_no_name(case: Case) -> None:
    plane = tpu()
    plane.lines[1].events[0].stats[""] = 5
    path = case.folder / "a.xplane.pb"
    write_space(path, [plane])
    same(case.kernels(path), {"fusion.7": (3, 3000)})


def xplane_the_environment_has_the_time_of_day(case: Case) -> None:
    path = case.folder / "a.xplane.pb"
    write_space(path, [tpu(), environment(BASE)])
    same("begins 2026-02-02" in case.printed(path), True)
