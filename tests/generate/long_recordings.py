"""Recordings of Perfetto, JAX and rocprofv3 in which one list is long, as long_lists.py has them for other files."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from rocpd_database import RocpdWriter, write_process
from rocprof_json import write_json
from rocprof_process import Process
from xplane_file import Event, Line, Plane, environment, number, text, write_space

Make = Callable[[int, Path], list[Path]]

# ---- JAX's XSpaces ---------------------------------------------------------------------------------------------------


def space(build: Callable[[int], list[Plane]]) -> Make:
    def make(n: int, folder: Path) -> list[Path]:
        path = folder / "host.xplane.pb"
        write_space(path, [*build(n), environment()])
        return [path]

    return make


def tpu(n: int, of_each: Callable[[int], tuple[str, int, int]]) -> Plane:
    """n ops on one device, each of a name, a begin and a length in ns, in one step."""
    plane = Plane("/device:TPU:0", 0)
    plane.stats = {"device_type_string": "TPU v5 lite", "core_count": 1}
    ops = [
        Event(name, 1000 * begin, 1000 * length) for name, begin, length in map(of_each, range(n))
    ]
    end = max(op.offset_ps + op.duration_ps for op in ops)
    plane.lines = [Line("Steps", [Event("0", 0, end)], 1), Line("XLA Ops", ops, 3)]
    return plane


def space_names(n: int) -> list[Plane]:
    return [
        tpu(n, lambda i: (f"%fusion.{i} = f32[64]{{0}} fusion(f32[64]{{0}} %a)", 1000 * i, 700))
    ]


def space_nested(n: int) -> list[Plane]:
    return [tpu(n, lambda i: ("%while.1 = (s32[]) while(%t)", 10 * i, 10 * (2 * n - 2 * i) + 10))]


def space_steps(n: int) -> list[Plane]:
    plane = tpu(n, lambda i: ("%copy.1 = f32[64]{0} copy(%a)", 1000 * i, 700))
    plane.lines[0].events = [Event(str(i), 1_000_000 * i, 1_000_000) for i in range(n)]
    return [plane]


def space_stats(n: int) -> list[Plane]:
    plane = tpu(2, lambda i: ("%copy.1 = f32[64]{0} copy(%a)", 1000 * i, 700))
    plane.lines[1].events[0].stats = {f"stat {i}": i for i in range(n)}
    return [plane]


def space_lines(n: int) -> list[Plane]:
    plane = Plane("/device:GPU:0", 0)
    plane.lines = [
        Line(f"Stream #{i}(Kernel)", [Event("kernel", 10**9 * i, 10**6)], i + 1) for i in range(n)
    ]
    return [plane]


def space_planes(n: int) -> list[Plane]:
    planes = []
    for i in range(n):
        plane = Plane(f"/device:GPU:{i}", i)
        plane.lines = [Line("Stream #1(Kernel)", [Event("kernel", 10**9 * i, 10**6)], 1)]
        planes.append(plane)
    return planes


SPACES = (space_names, space_nested, space_steps, space_stats, space_lines, space_planes)

# ---- Perfetto's packets, by the numbers of their fields -----------------------------------------------------------------


def packet(*parts: bytes, sequence: int = 1, flags: int = 0) -> bytes:
    head = number(10, sequence) + (number(13, flags) if flags else b"")
    return text(1, head + b"".join(parts))


def slice_event(time_ns: int, track: int, kind: int, name: bytes = b"") -> bytes:
    """kind: 1 begins a slice, 2 ends it. `name`: as an encoded field."""
    return number(8, time_ns) + text(11, number(9, kind) + number(11, track) + name)


def track(uuid: int, tid: int, parent: int = 0) -> bytes:
    thread = text(4, number(1, 77) + number(2, tid)) if tid else b""
    above = number(5, parent) if parent else b""
    return packet(text(60, number(1, uuid) + above + thread + text(2, f"track {uuid}")))


def packets(build: Callable[[int], list[bytes]]) -> Make:
    def make(n: int, folder: Path) -> list[Path]:
        path = folder / "trace.pftrace"
        path.write_bytes(b"".join(build(n)))
        return [path]

    return make


def named(i: int) -> bytes:
    return text(23, f"operator {i}")


def packets_tracks(n: int) -> list[bytes]:
    tracks = [track(100 + i, 1000 + i) for i in range(n)]
    return tracks + [
        packet(slice_event(1000 * i + 900 * (kind - 1), 100 + i, kind, named(1)))
        for i in range(n)
        for kind in (1, 2)
    ]


def packets_chain(n: int) -> list[bytes]:
    """Tracks each below the one before it."""
    tracks = [track(100 + i, 0 if i else 1000, 99 + i if i else 0) for i in range(n)]
    ends = [packet(slice_event(10 + kind, 99 + n, kind, named(1))) for kind in (1, 2)]
    return tracks + ends


def packets_nested(n: int) -> list[bytes]:
    begins = [packet(slice_event(i, 100, 1, named(1))) for i in range(n)]
    return [track(100, 1000), *begins, *(packet(slice_event(n + i, 100, 2)) for i in range(n))]


def packets_open(n: int) -> list[bytes]:
    """Slices that never end."""
    return [track(100, 1000), *(packet(slice_event(i, 100, 1, named(1))) for i in range(n))]


def packets_interned(n: int) -> list[bytes]:
    """A name of its own for each slice, told by a number."""
    found = [track(100, 1000)]
    for i in range(n):
        names = text(12, text(2, number(1, i + 1) + text(2, f"name {i}")))
        found.append(packet(names, slice_event(1000 * i, 100, 1, number(10, i + 1))))
        found.append(packet(slice_event(1000 * i + 900, 100, 2)))
    return found


def packets_sequences(n: int) -> list[bytes]:
    found = [track(100, 1000)]
    for i in range(n):
        event = slice_event(1000 * i, 100, 1, number(10, 1))
        names = text(12, text(2, number(1, 1) + text(2, "name")))
        found.append(packet(names, event, sequence=i + 2, flags=1))
        found.append(packet(slice_event(1000 * i + 900, 100, 2), sequence=i + 2))
    return found


PACKETS = (
    packets_tracks,
    packets_chain,
    packets_nested,
    packets_open,
    packets_interned,
    packets_sequences,
)

# ---- rocprofv3 --------------------------------------------------------------------------------------------------------


def add_dispatch(process: Process, i: int, kernel: str) -> None:
    common = {"thread": process.pid, "correlation": i + 1}
    kind, operation = process.operation("HIP_RUNTIME_API", "hipLaunchKernel")
    at = 20_000 * i
    call = {"kind": kind, "operation": operation, "start": at, "end": at + 5000}
    process.calls.append(common | call)
    if not process.kernels or process.kernels[-1] != kernel:
        process.kernels.append(kernel)  # its number is that of the last one
    shape = {"dispatch": i + 1, "shared": 0, "block": [64, 1, 1], "grid": [4096, 1, 1]}
    work = {"agent": process.gpu(0), "queue": 1, "stream": 1, "kernel": len(process.kernels)}
    process.dispatches.append(common | work | shape | {"start": at + 6000, "end": at + 9000})


def of_processes(n: int) -> list[Process]:
    processes = [Process(100 + i, 40_000) for i in range(n)]
    for i, process in enumerate(processes):
        add_dispatch(process, i, "k")
    return processes


def of_kernels(n: int) -> list[Process]:
    process = Process(77, 40_000)
    for i in range(n):
        add_dispatch(process, i, f"kernel {i}")
    return [process]


def of_ranges(is_nested: bool) -> Callable[[int], list[Process]]:
    def build(n: int) -> list[Process]:
        process = Process(77, 40_000)
        kind, operation = process.operation("MARKER_CORE_RANGE_API", "roctxThreadRangeA")
        for i in range(n):
            add_dispatch(process, i, "k")
            start, end = (i, 30_000 * n - i) if is_nested else (20_000 * i, 20_000 * i + n)
            process.messages[10**7 + i] = f"range {i}"
            common = {"thread": 77, "correlation": 10**7 + i, "kind": kind, "operation": operation}
            process.markers.append(common | {"start": start, "end": end})
        return [process]

    return build


def as_json(build: Callable[[int], list[Process]]) -> Make:
    def make(n: int, folder: Path) -> list[Path]:
        path = folder / "run_results.json"
        write_json(path, build(n))
        return [path]

    return make


def as_database(build: Callable[[int], list[Process]]) -> Make:
    def make(n: int, folder: Path) -> list[Path]:
        path = folder / "run_results.db"
        connection = sqlite3.connect(path)
        for i, process in enumerate(build(n)):
            write_process(
                RocpdWriter(connection, f"0198{i:08x}-7c1b-7000-8000-00", "common"), process
            )
        connection.commit()
        connection.close()
        return [path]

    return make


ROCPROF = {
    "processes": of_processes,
    "kernels": of_kernels,
    "nested_ranges": of_ranges(True),
    "ranges": of_ranges(False),
}

RECORDINGS: dict[str, Make] = (
    {build.__name__: space(build) for build in SPACES}
    | {build.__name__: packets(build) for build in PACKETS}
    | {f"rocprof_{name}": as_json(build) for name, build in ROCPROF.items()}
    | {f"rocpd_{name}": as_database(build) for name, build in ROCPROF.items()}
)
