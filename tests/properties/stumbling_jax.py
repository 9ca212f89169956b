"""What readers of XSpaces stumble on in what JAX compiles, one case each: run by stumbling_blocks.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recorder_formats import report_of
from stumbling_case import Case, same
from stumbling_xplane import tpu
from xplane_file import Event, Line, Plane, instruction, number, operands, programs_plane
from xplane_file import shape, text, write_space

US = 10**6  # in ps
LEFT, RIGHT, MADE = shape(8, 32), shape(32, 16), shape(8, 16)
FLOPS = 2 * 8 * 32 * 16
SUMMED = text(30, text(1, b"\x01") + text(2, b"\x00"))


def scope(path: str) -> bytes:
    return text(7, text(2, path))


def program(ops: list[bytes], *inner: bytes) -> bytes:
    """Ops of the entry, with operands 21 and 22, and the computations that they call, from 2 on."""
    outer = [instruction(21, "x", "parameter", LEFT), instruction(22, "y", "parameter", RIGHT)]
    module = text(1, "jit_f") + b"".join(
        text(3, body + number(5, i)) for i, body in enumerate(inner, 2)
    )
    module += text(3, b"".join([*outer, *ops]) + number(5, 1)) + number(6, 1)
    return text(1, module + number(5, 3))


def dot(own_id: int, name: str, path: str = "") -> bytes:
    where = [scope(path)] if path else []
    return instruction(own_id, name, "dot", MADE, SUMMED, operands(21, 22), *where)


def on_processor(case: Case, names: list[str], compiled: bytes, **more: Any) -> Path:
    """Each op once, for 1 us."""
    stats = {"hlo_module": "jit_f", "program_id": 3}
    work = [Event(op, i * US, US, {**stats, "hlo_op": op, **more}) for i, op in enumerate(names)]
    host = Plane("/host:CPU")
    host.lines = [Line("tf_XLAEigen/7", work, 7, 10**9)]
    path = case.folder / "a.xplane.pb"
    write_space(path, [programs_plane({"jit_f(3)": compiled}), host])
    return path


def phases(case: Case, path: Path) -> list[int]:
    """FLOPs of the forward, of the backward and recomputed; the model's, as products of one size."""
    _, ranks = report_of(case.program, path)
    numbers = ranks[0]["sections"]["module_cost"]["numbers"]
    keys = ("forward_flops", "backward_flops", "recomputed_flops")
    found = [numbers.get(key, {"value": 0})["value"] for key in keys]
    found.append(case.numbers(path, "model_flops_utilization")["model_flops_per_step"])
    return [value // FLOPS for value in found]


PATHS = {
    "dot.1": "jit(f)/jvp(Model)/mlp/dot_general",
    "dot.2": "jit(f)/transpose(jvp(Model))/mlp/checkpoint/rematted_computation/dot_general",
    "dot.3": "jit(f)/transpose(jvp(Model))/mlp/dot_general",
    "dot.4": "jit(f)/vmap(transpose(jvp(Model)))/mlp/dot_general",
    "dot.5": "jit(f)/Model/transpose/dot_general",  # a module of that name
    "dot.6": "jit(f)/gradient_tape/Model/MatMul",
    "dot.7.remat2": "jit(f)/jvp(Model)/mlp/dot_general",  # XLA's own copy
}


def xplane_phases_are_told_by_scopes(case: Case) -> None:
    """Recomputed FLOPs are none of the model's."""
    ops = [dot(30 + i, name, path) for i, (name, path) in enumerate(PATHS.items())]
    path = on_processor(case, list(PATHS), program(ops))
    same(phases(case, path), [2, 3, 2, 5])
    same("whether" in case.printed(path, "report"), False)
    packed = path.with_suffix(".pftrace")
    same(phases(case, case.export(path, packed)), [2, 3, 2, 5])
    plane = Plane("/device:TPU:0")
    for i, (name, where) in enumerate(PATHS.items()):
        stats = {"hlo_category": "convolution fusion", "flops": FLOPS, "program_id": 7}
        called = f"%{name} = f32[8,16]{{1,0}} fusion(f32[8,32]{{1,0}} %a, f32[32,16]{{1,0}} %b)"
        plane.metadata[called] = (name, {**stats, "tf_op": f"{where}:"})
    work = [Event(name, (i + 1) * US, US) for i, name in enumerate(plane.metadata)]
    plane.lines = [Line("Steps", [Event("4", 0, 9 * US)], 1), Line("XLA Ops", work, 3)]
    path = case.folder / "b.xplane.pb"
    write_space(path, [plane])
    same(phases(case, path), [2, 3, 2, 5])


def xplane_a_fusion_is_of_the_phase_of_its_product(case: Case) -> None:
    """Its own scope is that of what it ends with."""
    inner = [instruction(21, "a", "parameter", LEFT), instruction(22, "b", "parameter", RIGHT)]
    body = b"".join([*inner, dot(23, "dot.9", PATHS["dot.2"])])
    where = scope("jit(f)/transpose(jvp(Model))/mul")
    fused = instruction(31, "fusion.1", "fusion", MADE, text(38, b"\x02"), operands(21, 22), where)
    path = on_processor(case, ["fusion.1", "dot.1"], program([fused, dot(32, "dot.1")], body))
    same(phases(case, path), [1, 0, 1, 1])
    told = "1 ops have matmuls of several phases"
    same(told in case.printed(path, "report --all --width 200"), False)
    body += dot(24, "dot.8", PATHS["dot.3"])  # a second product in it, of the backward
    path = on_processor(case, ["fusion.1"], program([fused], body))
    same(told in case.printed(path, "report --all --width 200"), True)
    same(sum(phases(case, path)[:3]), 2)


def xplane_scopes_may_be_lost(case: Case) -> None:
    """By passes of the compiler: then nobody knows whether an op is of the forward."""
    ops = [dot(31, "dot.1", PATHS["dot.1"]), dot(32, "dot.2")]
    path = on_processor(case, ["dot.1", "dot.2"], program(ops))
    same(phases(case, path), [2, 0, 0, 2])
    wanted = "whether 1 matmuls of 8,192 FLOPs are of the forward or the backward is not known"
    same(wanted in case.printed(path, "report --section modules"), True)


def xplane_calls_of_libraries_have_no_flops(case: Case) -> None:
    """XLA writes 0 of what it does not know, such as a kernel of Pallas: MFU is at least what the rest makes it."""
    plane = Plane("/device:TPU:0")
    plane.stats = {"device_type_string": "TPU v5 lite"}
    own = {"dot.1": ("convolution fusion", FLOPS), "custom-call.5": ("custom-call", 0)}
    for name, (category, flops) in own.items():
        called = f"%{name} = bf16[8,16]{{1,0}} fusion(bf16[8,32]{{1,0}} %a, bf16[32,16]{{1,0}} %b)"
        stats = {"hlo_category": category, "flops": flops, "program_id": 7}
        plane.metadata[called] = (name, {**stats, "bytes_accessed": 64})
    work = [Event(name, (i + 1) * US, US) for i, name in enumerate(plane.metadata)]
    plane.lines = [Line("XLA Ops", work, 3)]
    path = case.folder / "a.xplane.pb"
    for is_there in (True, False):
        plane.lines[0].events = work if is_there else work[:1]
        write_space(path, [plane])
        same(case.numbers(path, "model_flops_utilization")["model_flops_per_step"], FLOPS)
        same(
            "calls of libraries" in case.printed(path, "report --section mfu --width 200"), is_there
        )


def xplane_a_core_alone_tells_of_no_host(case: Case) -> None:
    """Why a TPU waits is then not known: its ops are none of a host's."""
    host = Plane("/host:CPU")
    host.lines = [Line("python", [Event("f", 0, 9 * US)], 7)]
    path = case.folder / "a.xplane.pb"
    for planes, is_there in (([tpu()], False), ([tpu(), host], True)):
        write_space(path, planes)
        same("no host is recorded" in case.printed(path, "report --all"), not is_there)
        same("Python between operators" in case.printed(path, "report --all"), is_there)


def library_run(way: str, runs: int, compiled: bytes) -> list[Plane]:
    """An op that launches two kernels of a library, 1 us and 3 us, then another op; several times."""
    device, host = Plane("/device:GPU:0"), Plane("/host:CPU")
    work, calls = [], []
    kernels = (("im2col", "dot.1", 1), ("gemm", "dot.1", 3), ("add_2", "add.2", 1))
    for i in range(3 * runs):
        name, op, length = kernels[i % 3]
        own = {"hlo_op": op, "hlo_module": "jit_f", "program_id": 3}
        number_of_call = {"correlation_id": i + 1}
        on_host = number_of_call | (own if way == "ops" else {})
        call = "cuLaunchKernel" if way == "ops" else name
        calls.append(Event(call, i * 10 * US, US, dict(on_host)))
        work.append(Event(name, (i * 10 + 2) * US, length * US, {**number_of_call, **own}))
    device.lines = [Line("Stream #1(Kernel)", work, 1)]
    host.lines = [Line("Host Threads/7", calls, 7)]
    return [programs_plane({"jit_f(3)": compiled}), device, host]


def xplane_an_op_may_take_several_kernels(case: Case) -> None:
    """All of them are its time: else the first would be faster than any device."""
    other = instruction(32, "add.2", "add", MADE, operands(31, 31))
    path = case.folder / "a.xplane.pb"
    for way, is_in_order in (("ops", True), ("kernels", True), ("ops", False)):
        planes = library_run(way, 5, program([dot(31, "dot.1"), other]))
        calls = planes[2].lines[0].events
        for i in range(0, 0 if is_in_order else len(calls), 3):  # both launches of the op
            calls[i], calls[i + 1] = calls[i + 1], calls[i]
        write_space(path, planes)
        found = case.numbers(path, "model_flops_utilization")
        same(found["model_flops_per_step"], 5 * FLOPS)
        same(round(found["matrix_flops_per_second"]), round(FLOPS / 4e-6))
        found = case.rows(path, "operators", "by_name")
        of_op = {row["operator"]: row for row in found}["jit_f::dot.1"]
        same((of_op["calls"], of_op["total_device"]), (5, 5 * 4000))


def xplane_a_copy_is_no_other_op(case: Case) -> None:
    """Its launch does not tell its op: where one time that an op runs ends is then not known, nor its FLOPs."""
    copy = instruction(32, "copy.2", "copy", MADE, operands(31))
    planes = library_run("ops", 2, program([dot(31, "dot.1"), copy]))
    for line in (planes[1].lines[0], planes[2].lines[0]):
        line.events = [event for event in line.events if event.stats["hlo_op"] == "dot.1"]
    path = case.folder / "a.xplane.pb"
    write_space(path, planes)
    same(case.numbers(path, "model_flops_utilization").get("model_flops_per_step"), None)
