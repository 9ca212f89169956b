"""Writes XSpaces (*.xplane.pb) as the profiler of JAX does, with what is in them known: protobuf by hand, so that no library
is needed and every field may be left out or broken."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Union

Value = Union[int, float, str, bytes, "Ref"]


@dataclass(frozen=True)
class Ref:
    """A text that a stat names by its id."""

    text: str


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field_number: int, value: int) -> bytes:
    return varint(field_number << 3) + varint(value) if value else b""


def double(field_number: int, value: float) -> bytes:
    return varint(field_number << 3 | 1) + struct.pack("<d", value)


def text(field_number: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(field_number << 3 | 2) + varint(len(data)) + data


@dataclass
class Event:
    name: str
    offset_ps: int
    duration_ps: int
    stats: dict[str, Value] = field(default_factory=dict)


@dataclass
class Line:
    name: str
    events: list[Event]
    id: int = 1
    timestamp_ns: int = 0


class Plane:
    """`metadata`: of the events of a name the short name and the stats that all of them have."""

    def __init__(self, name: str, plane_id: int = 0) -> None:
        self.name = name
        self.id = plane_id
        self.lines: list[Line] = []
        self.stats: dict[str, Value] = {}
        self.metadata: dict[str, tuple[str, dict[str, Value]]] = {}
        self.event_ids: dict[str, int] = {}
        self.stat_ids: dict[str, int] = {}

    def stat_id(self, name: str) -> int:
        return self.stat_ids.setdefault(name, len(self.stat_ids) + 1)

    def stat(self, name: str, value: Value) -> bytes:
        out = number(1, self.stat_id(name))
        if isinstance(value, Ref):
            return out + number(7, self.stat_id(value.text))
        if isinstance(value, float):
            return out + double(2, value)
        if isinstance(value, int):
            return out + varint((4 if value < 0 else 3) << 3) + varint(value)
        return out + text(6 if isinstance(value, bytes) else 5, value)

    def stats_of(self, field_number: int, stats: dict[str, Value]) -> bytes:
        return b"".join(text(field_number, self.stat(k, v)) for k, v in stats.items())

    def encoded(self) -> bytes:
        out = number(1, self.id) + text(2, self.name)
        for line in self.lines:
            data = bytearray(number(1, line.id) + text(2, line.name))
            data += number(3, line.timestamp_ns)
            for event in line.events:
                event_id = self.event_ids.setdefault(event.name, len(self.event_ids) + 1)
                body = number(1, event_id) + number(2, event.offset_ps)
                body += number(3, event.duration_ps) + self.stats_of(4, event.stats)
                data += text(4, body)
            out += text(3, bytes(data))
        stats = self.stats_of(6, self.stats)
        for name, event_id in self.event_ids.items():
            short, common = self.metadata.get(name, ("", {}))
            body = number(1, event_id) + text(2, name) + (text(4, short) if short else b"")
            body += self.stats_of(5, common)
            out += text(4, number(1, event_id) + text(2, body))
        for name, stat_id in self.stat_ids.items():
            out += text(5, number(1, stat_id) + text(2, number(1, stat_id) + text(2, name)))
        return out + stats


def write_space(path: Path, planes: list[Plane], host: str = "host-1") -> bytes:
    data = b"".join(text(1, plane.encoded()) for plane in planes) + text(4, host)
    path.write_bytes(data)
    return data


# ---- whole files whose ledger is known ------------------------------------------------------------------------------


@dataclass
class KnownSpace:
    planes: list[Plane]
    events: int
    steps: list[tuple[int, int]]  # ns
    busy_ns: dict[str, int]  # by kind of work
    flops: int
    ranks: int = 1
    operator: str = ""  # the one with FLOPs
    device: str = ""


def shape(*sizes: int, element_type: int = 11) -> bytes:
    return number(2, element_type) + text(3, b"".join(map(varint, sizes)))


def instruction(own_id: int, name: str, opcode: str, made: bytes, *more: bytes) -> bytes:
    head = text(1, name) + text(2, opcode) + text(3, made) + number(35, own_id)
    return text(2, head + b"".join(more))


def operands(*ids: int) -> bytes:
    return text(36, b"".join(map(varint, ids)))


def products_program(rng: random.Random, name: str, program: int) -> tuple[bytes, int]:
    """A program with the products dot.3 (alone, or inside a fusion, or a call of a library), and the op add.1 beside it:
    what of HloProto tells them, and the FLOPs of the product."""
    batch, m, k, n = rng.randint(1, 4), *(rng.randint(1, 300) for _ in range(3))
    left, right, made = shape(batch, m, k), shape(batch, k, n), shape(batch, m, n)
    dimensions = text(30, text(1, b"\x02") + text(2, b"\x01") + text(3, b"\x00") + text(4, b"\x00"))
    settings = (
        '{"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["2"]}}}'
    )
    where = text(7, text(2, f"jit({name})/Model/mlp/dot_general"))
    parameters = [instruction(11, "a", "parameter", left), instruction(12, "b", "parameter", right)]
    dot = instruction(13, "dot.9", "dot", made, dimensions, operands(11, 12))
    inner = b"".join([*parameters, dot]) + number(5, 2)
    ways = [
        instruction(23, "dot.3", "dot", made, dimensions, operands(21, 22), where),
        instruction(23, "dot.3", "fusion", made, text(38, b"\x02"), operands(21, 22), where),
        instruction(
            23,
            "dot.3",
            "custom-call",
            text(4, made) + text(4, shape(8)),
            text(28, "__cublas$gemm"),
            text(43, settings),
            operands(21, 22),
            where,
        ),
    ]
    outer = [instruction(21, "x", "parameter", left), instruction(22, "y", "parameter", right)]
    outer += [rng.choice(ways), instruction(24, "add.1", "add", made, operands(23, 23))]
    module = text(1, name) + text(3, inner) + text(3, b"".join(outer) + number(5, 1)) + number(6, 1)
    return text(1, module + number(5, program)), 2 * batch * m * k * n


def processor_program(name: str, program: int) -> tuple[bytes, int]:
    """Ops whose names do not say what they do: ynn_fusion with a product in it, and psum.7, a sum over devices. The FLOPs
    of the product."""
    left, right, made = shape(8, 32), shape(32, 16), shape(8, 16)
    parameters = [instruction(11, "a", "parameter", left), instruction(12, "b", "parameter", right)]
    summed = text(30, text(1, b"\x01") + text(2, b"\x00"))
    dot = instruction(13, "dot.9", "dot", made, summed, operands(11, 12))
    outer = [
        instruction(21, "x", "parameter", left),
        instruction(22, "y", "parameter", right),
        instruction(23, "ynn_fusion", "fusion", made, text(38, b"\x02"), operands(21, 22)),
        instruction(24, "psum.7", "all-reduce", made, operands(23)),
    ]
    inner = b"".join([*parameters, dot]) + number(5, 2)
    module = text(1, name) + text(3, inner) + text(3, b"".join(outer) + number(5, 1)) + number(6, 1)
    return text(1, module + number(5, program)), 2 * 8 * 32 * 16


def programs_plane(programs: dict[str, bytes]) -> Plane:
    """The programs by their names, "jit_f(5)"."""
    plane = Plane("/host:metadata")
    plane.stats = {"jax_version": "0.10.2"}
    for i, (name, data) in enumerate(programs.items()):
        plane.metadata[name] = ("", {"Hlo Proto": data})
        plane.event_ids[name] = i + 1
    return plane


def environment(start: int = 1_770_000_000_000_000_000) -> Plane:
    plane = Plane("Task Environment")
    plane.stats = {"profile_start_time": start, "profile_stop_time": start + 10**9}
    return plane


def tpu_space(rng: random.Random) -> KnownSpace:
    """A TPU: steps, ops inside a loop, copies that are waited for, FLOPs in the metadata of ops."""
    plane = Plane("/device:TPU:0", rng.choice((0, 2, 10, 26)))
    plane.stats = {"device_type_string": "TPU v5 lite", "core_count": 1}
    m, k, n = (128 * rng.randint(1, 8) for _ in range(3))
    operands = f"bf16[{m},{k}]{{1,0}} %a, bf16[{k},{n}]{{1,0}} %b"
    product = f"%fusion.7 = bf16[{m},{n}]{{1,0}} fusion({operands}), kind=kOutput"
    common: dict[str, Value] = {"program_id": 7}
    if rng.random() < 0.5:
        common["hlo_module"] = "jit_train"
    plane.metadata = {
        product: (
            "fusion.7",
            {
                "hlo_category": "convolution fusion",
                "flops": 2 * m * k * n,
                "bytes_accessed": 2 * (m * k + k * n + m * n),
                "tf_op": "jit(train)/jit(main)/transpose(jvp(Model))/layer_1/mlp/dot_general:",
                "source": "/home/me/model.py:12",
                **common,
            },
        ),
        "%fusion.8 = f32[64]{0} fusion(f32[64]{0} %a), kind=kLoop": (
            "fusion.8",
            {"hlo_category": "loop fusion", "flops": 64, "bytes_accessed": 512, **common},
        ),
        "%all-reduce.3 = f32[64]{0} all-reduce(f32[64]{0} %g)": (
            "all-reduce.3",
            {"hlo_category": "all-reduce", **common},
        ),
        "%copy-done.2 = f32[64]{0} copy-done(%c)": (
            "copy-done.2",
            {"hlo_category": "copy-done", **common},
        ),
        "%while.1 = (s32[]) while(%t)": ("while.1", {"hlo_category": "while", **common}),
    }
    names = list(plane.metadata)
    kinds = dict(zip(names, ("matrix", "other", "communication", "copy")))
    ops: list[Event] = []
    marks: list[Event] = []
    busy = dict.fromkeys(kinds.values(), 0)
    known = KnownSpace([], 0, [], busy, 0)
    now = rng.randint(0, 10**6) * 1000
    first = rng.randint(0, 900)
    for step in range(rng.randint(2, 6)):
        begin = now
        loop = Event(names[4], now, 0)
        for _ in range(rng.randint(3, 30)):
            name = rng.choice(names[:4])
            length = rng.randint(1, 400) * 1000
            ops.append(Event(name, now, length))
            busy[kinds[name]] += length // 1000
            if kinds[name] == "matrix":
                known.flops += 2 * m * k * n
            now += length + rng.choice((0, 0, 5, 50)) * 1000
        loop.duration_ps = now - begin + 1000
        ops.append(loop)
        now += 2000
        marks.append(Event(str(first + step), begin, now - begin))
        known.steps.append((begin // 1000, now // 1000))
    rng.shuffle(ops)
    start = rng.choice((0, 5000))
    plane.lines = [
        Line("Steps", marks, 1, start),
        Line(
            "XLA Modules",
            [Event("jit_train(7)", e.offset_ps, e.duration_ps) for e in marks],
            2,
            start,
        ),
        Line("XLA Ops", ops, 3, start),
        Line("Empty", [], 4, start),
    ]
    known.planes = [Plane("/host:metadata"), plane, Plane("/device:TPU:1", 99), environment()]
    known.operator, known.device = "jit_train::fusion.7", "TPU v5 lite"
    known.events = len(ops) + 2 * len(marks)
    return known


# What a launch on the host says: its op; since JAX 0.11 the name of its kernel, which tells the op; in a command buffer the kernel's
# name alone is that of an op.
WAYS_OF_LAUNCHES = ("ops", "kernels", "buffers")


def gpu_space(rng: random.Random, devices: int = 1, way: str = "ops") -> KnownSpace:
    """GPUs of one process: launches on threads of the host, kernels on streams, steps marked."""
    host = Plane("/host:CPU")
    known = KnownSpace([], 0, [], {"matrix": 0, "copy": 0}, 0, devices)
    steps = rng.randint(2, 5)
    python = Line("python", [], 4242)
    threads = [Line(f"Host Threads/{7 + i}", [], 7 + i) for i in range(devices)]
    planes = []
    for i in range(devices):
        plane = Plane(f"/device:GPU:{i}", i)
        plane.stats = {"device_vendor": "AMD", "core_count": 304, "memory_size": 206141652992}
        plane.stats |= {"compute_cap_major": 9, "compute_cap_minor": 4}
        plane.lines = [Line("Stream #1(Kernel)", [], 1), Line("Stream #2(MemcpyH2D)", [], 2)]
        planes.append(plane)
    now = 10**9
    correlation = 0
    program, flops = products_program(rng, "f", 5)
    before = [""] * devices
    for step in range(steps):
        begin = now
        for _ in range(rng.randint(1, 12)):
            i = rng.randrange(devices) if step else _ % devices
            correlation += 1
            hlo = rng.choice(("dot.3", "add.1"))
            if way == "buffers":  # else the second kernel of one name is taken for the same op's
                hlo = "add.1" if before[i] == "dot.3" else "dot.3"
            op: dict[str, Value] = {"hlo_op": Ref(hlo), "hlo_module": Ref("jit_f")}
            op |= {"program_id": 5}
            length = rng.randint(100, 90000) * 1000
            is_copy = rng.random() < 0.3
            if not is_copy:  # one after the other of an op are the kernels of one time that it runs
                known.flops += flops * (hlo == "dot.3" and before[i] != hlo)
                before[i] = hlo
            launch = Event("hipMemcpyAsync" if is_copy else "hipModuleLaunchKernel", now, 5_000_000)
            launch.stats = {"correlation_id": correlation} | ({} if is_copy else op)
            kernel = "Cijk_Ailk_BBS.kd"
            if way != "ops" and not is_copy:
                kernel = kernel if way == "kernels" else hlo.replace(".", "_")
                launch = Event(kernel, now, 5_000_000, {"correlation_id": correlation})
                op = op if way == "kernels" else op | {"hlo_op": Ref("command_buffer_1")}
            threads[i].events.append(launch)
            details: dict[str, Value] = {
                "kernel_details": Ref("regs:64 grid:8,4,1 block:256,1,1")
            } | op
            if is_copy:
                details = {"memcpy_details": Ref("kind:Unknown size:4096 dest:0 async:1")}
            work = Event("MemcpyH2D" if is_copy else kernel, now + 6_000_000, length)
            work.stats = {"correlation_id": correlation, **details}
            planes[i].lines[is_copy].events.append(work)
            # add_1 is no product, while nobody can tell by the name of a kernel of a library
            if is_copy or way != "buffers" or hlo == "dot.3":
                known.busy_ns["copy" if is_copy else "matrix"] += length // 1000
            now += length + 10_000_000
        python.events.append(Event("train", begin, now - begin, {"step_num": step, "_r": 1}))
        python.events.append(Event("$model.py:3 step", begin, now - begin))
        known.steps.append((begin // 1000, now // 1000))
    host.lines = [python, *threads]
    known.operator, known.device = "jit_f::dot.3", "AMD Instinct MI300X"
    known.planes = [programs_plane({"jit_f(5)": program}), *planes, host, environment()]
    known.events = 2 * correlation + 2 * steps
    known.ranks = sum(any(line.events for line in plane.lines) for plane in planes)
    return known
