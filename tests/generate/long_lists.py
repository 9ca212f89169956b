"""Files in which one list is long: each shape makes one with n of a thing, for n as large as one likes.

Every list that a trace, a database, a snapshot, a dump, a log or a timeline can hold has a shape. What is made is small
beside n, so that the work of a reader or an analysis on that list decides how long the program takes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from long_recordings import RECORDINGS
from long_traces import COMPARED, TRACES, memory_events, of_trace
from nsys_writer import SCHEMAS, DatabaseWriter

# ---- other files -----------------------------------------------------------------------------------------------------


def database(n: int, folder: Path, fill: Callable[[DatabaseWriter, int], None]) -> list[Path]:
    path = folder / "run.sqlite"
    writer = DatabaseWriter(path, SCHEMAS["3.25"])
    writer.add_facts([0])
    fill(writer, n)
    writer.close()
    return [path]


def one_kernel(writer: DatabaseWriter, i: int, process: int, name: int, call: int) -> None:
    at = 20_000 * i
    of_kernel = {"deviceId": 0, "contextId": 1, "streamId": 7, "correlationId": i + 1}
    of_kernel |= {"globalPid": process, "demangledName": name, "shortName": name}
    writer.add("CUPTI_ACTIVITY_KIND_KERNEL", start=at + 6000, end=at + 9000, **of_kernel)
    of_call = {"eventClass": 0, "globalTid": process + 77, "correlationId": i + 1, "nameId": call}
    writer.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=at, end=at + 5000, returnValue=0, **of_call)


def nsys_processes(n: int, folder: Path) -> list[Path]:
    def fill(writer: DatabaseWriter, count: int) -> None:
        name, call = writer.string("k"), writer.string("cudaLaunchKernel_v7000")
        for i in range(count):
            process = (1 << 48) + ((100 + i) << 24)
            writer.add("PROCESSES", globalPid=process, pid=100 + i, name="python3")
            one_kernel(writer, i, process, name, call)

    return database(n, folder, fill)


def nsys_ranges(is_nested: bool) -> Callable[[int, Path], list[Path]]:
    def fill(writer: DatabaseWriter, count: int) -> None:
        process = (1 << 48) + (77 << 24)
        name, call = writer.string("k"), writer.string("cudaLaunchKernel_v7000")
        writer.add("PROCESSES", globalPid=process, pid=77, name="python3")
        for i in range(count):
            one_kernel(writer, i, process, name, call)
            start, end = (i, 30_000 * count - i) if is_nested else (i * 20_000, i * 20_000 + count)
            more = {"eventType": 59, "text": f"range {i}", "globalTid": process + 77, "domainId": 0}
            writer.add("NVTX_EVENTS", start=start, end=end, **more)

    return lambda n, folder: database(n, folder, fill)


def pickled(name: str, build: Callable[[int], Any]) -> Callable[[int, Path], list[Path]]:
    def make(n: int, folder: Path) -> list[Path]:
        path = folder / name
        path.write_bytes(pickle.dumps(build(n), 4))
        return [path]

    return make


def frame(i: int) -> dict[str, Any]:
    return {"filename": f"file{i}.py", "name": f"function_{i}", "line": i}


def taking(i: int, action: str = "alloc", **more: Any) -> dict[str, Any]:
    entry = {"action": action, "addr": 1024 * i, "size": 512, "stream": 0, "time_us": i}
    return entry | {"frames": []} | more


def block(i: int, **more: Any) -> dict[str, Any]:
    given = {"size": 1024, "requested_size": 1000, "address": 1024 * i, "state": "active_allocated"}
    return given | {"frames": []} | more


def segment(address: int, blocks: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    given = {"device": 0, "address": address, "total_size": 1024 * len(blocks), "stream": 0}
    given |= {"segment_type": "large", "allocated_size": 1024 * len(blocks)}
    return given | {"active_size": 1024 * len(blocks), "blocks": blocks} | more


def snapshot(segments: list[Any], traces: list[Any]) -> dict[str, Any]:
    return {"segments": segments, "device_traces": [traces]}


def snapshot_blocks(n: int) -> dict[str, Any]:
    return snapshot([segment(0, [block(i) for i in range(n)])], [taking(i) for i in range(n)])


def snapshot_segments(n: int) -> dict[str, Any]:
    traces = [taking(i, "segment_alloc") for i in range(n)]
    return snapshot([segment(1024 * i, [block(i)]) for i in range(n)], traces)


def snapshot_streams(n: int) -> dict[str, Any]:
    parts = [segment(1024 * i, [block(i)], stream=i, segment_pool_id=(0, i)) for i in range(n)]
    return snapshot(parts, [taking(i, stream=i) for i in range(n)])


def snapshot_frames(n: int) -> dict[str, Any]:
    return snapshot([], [taking(1, frames=[frame(i) for i in range(n)])])


def snapshot_stacks(n: int) -> dict[str, Any]:
    traces = [taking(i, frames=[frame(i), frame(0)]) for i in range(n)]
    return snapshot([], traces)


def snapshot_one_address(n: int) -> dict[str, Any]:
    pairs = [(taking(1, time_us=2 * i), taking(1, "free_completed")) for i in range(n)]
    return snapshot([], [entry for pair in pairs for entry in pair])


def snapshot_devices(n: int) -> dict[str, Any]:
    parts = [segment(1024 * i, [block(i)], device=i) for i in range(n)]
    return {"segments": parts, "device_traces": [[taking(i)] for i in range(n)]}


def snapshot_oom(n: int) -> dict[str, Any]:
    traces = [taking(i, "oom", device_free=i) for i in range(n)]
    return snapshot([segment(0, [block(i) for i in range(n)])], traces)


def dump_entry(i: int, **more: Any) -> dict[str, Any]:
    given = {"record_id": i, "pg_id": 0, "process_group": ("0", "default_pg"), "frames": []}
    given |= {
        "collective_seq_id": i,
        "p2p_seq_id": 0,
        "op_id": i,
        "profiling_name": "nccl:all_reduce",
    }
    given |= {"input_sizes": [[8]], "output_sizes": [[8]], "input_dtypes": ["Float"]}
    given |= {"output_dtypes": ["Float"], "state": "completed", "is_p2p": False, "retired": True}
    return given | {"time_created_ns": 1000 * i, "timeout_ms": 600000} | more


def dump(n: int, entries: list[dict[str, Any]], groups_of: int = 1) -> dict[str, Any]:
    config = {str(i): {"name": str(i), "desc": "x", "ranks": "[0, 1]"} for i in range(groups_of)}
    status = {str(i): {"last_enqueued_collective": n} for i in range(groups_of)}
    return {"version": "2.10", "pg_config": config, "pg_status": status, "entries": entries}


def dumps(build: Callable[[int], dict[str, Any]]) -> Callable[[int, Path], list[Path]]:
    def make(n: int, folder: Path) -> list[Path]:
        paths = [folder / f"dump_rank_{rank}" for rank in range(2)]
        for path in paths:
            path.write_bytes(pickle.dumps(build(n), 4))
        return paths

    return make


def dump_entries(n: int) -> dict[str, Any]:
    return dump(n, [dump_entry(i) for i in range(n)])


def dump_groups(n: int) -> dict[str, Any]:
    entries = [dump_entry(1, pg_id=i, process_group=(str(i), "x"), record_id=i) for i in range(n)]
    return dump(n, entries, n)


def dump_frames(n: int) -> dict[str, Any]:
    return dump(1, [dump_entry(0, frames=[frame(i) for i in range(n)], state="scheduled")])


def dump_messages(n: int) -> dict[str, Any]:
    more = {"is_p2p": True, "state": "scheduled", "profiling_name": "nccl:send 0->1"}
    return dump(n, [dump_entry(i, p2p_seq_id=i, **more) for i in range(n)])


def dump_ranks(n: int, folder: Path) -> list[Path]:
    """A job of n ranks in pairs, in which the last rank lags."""
    entries = [dump_entry(i) for i in range(2)]
    for rank in range(n):
        kept = entries[:1] if rank == n - 1 else entries
        pair = [rank - rank % 2, rank - rank % 2 + 1]
        config = {"0": {"name": "0", "desc": "default_pg", "ranks": str(pair)}}
        data = {"version": "2.10", "pg_config": config, "pg_status": {}, "entries": kept}
        (folder / f"dump_rank_{rank}").write_bytes(pickle.dumps(data, 4))
    return [folder]


def log(line: Callable[[int], str], head: str = "") -> Callable[[int, Path], list[Path]]:
    def make(n: int, folder: Path) -> list[Path]:
        path = folder / "train.log"
        path.write_text(head + "".join(line(i) + "\n" for i in range(n)))
        return [path]

    return make


def megatron(i: int, of: int = 10**9, **more: Any) -> str:
    hour, rest = divmod(i, 3600)
    clock = f"{hour % 24:02d}:{rest // 60:02d}:{rest % 60:02d}"
    return (
        f" [2026-03-{1 + hour // 24 % 28:02d} {clock}] iteration {i + 1:8d}/{of:8d} | consumed samples: {i * 8:12d} |"
        " elapsed time per iteration (ms): 900.0 | global batch size: 8 | lm loss: 2.0E+00 |"
        " number of skipped iterations: 0 | number of nan iterations: 0 |"
    )


def attempts(i: int) -> str:
    """Each line goes back: a new attempt from the beginning."""
    return "Setting ds_accelerator to cuda\n" + megatron(i).replace(f"{i + 1:8d}/", f"{3:8d}/", 1)


def checkpoints(i: int) -> str:
    saved = f"saving checkpoint at iteration {i + 1:7d} to /c\n"
    return f"{megatron(i)}\n  {saved}  successfully saved checkpoint at iteration {i + 1:7d} to /c"


def logs_of_attempts(n: int, folder: Path) -> list[Path]:
    paths = [folder / f"attempt_{i}.log" for i in range(n)]
    for i, path in enumerate(paths):
        path.write_text("".join(megatron(3 * i + k) + "\n" for k in range(3)))
    return paths


def logs_of_one_run(n: int, folder: Path) -> list[Path]:
    """One for each rank."""
    paths = [folder / f"rank_{i}.log" for i in range(n)]
    for path in paths:
        path.write_text("".join(megatron(k) + "\n" for k in range(3)))
    return paths


def logs_rotated(n: int, folder: Path) -> list[Path]:
    paths = [folder / ("train.log" + (f".{i}" if i else "")) for i in range(n)]
    for i, path in enumerate(paths):
        path.write_text(megatron(n - i) + "\n")
    return paths


def logs_of_restarts(n: int, folder: Path) -> list[Path]:
    """Two ranks, each with n attempts; and a third that was somewhere else at the same steps."""
    paths = [folder / f"rank_{i}.log" for i in range(3)]
    for i, path in enumerate(paths):
        path.write_text("".join(attempts(3 * k + 1000 * (i == 2)) + "\n" for k in range(n)))
    return paths


# name -> how it is made, and the commands that read it
READ, ALL = ["report", "--html", "PAGE"], [
    ["report", "--html", "PAGE"],
    ["flops"],
    ["digest", "-o", "PAGE"],
    ["compare", "AGAIN"],
]
LEAST = [READ]
RANKS, ETTR, MEMORY = [["ranks"]], [["ettr"]], [["memory", "--html", "PAGE"]]


@dataclass(frozen=True)
class Shape:
    make: Callable[[int, Path], list[Path]]
    commands: list[list[str]]
    first: int = 9  # how many of the commands are tried where time is short
    usual: int = 400  # n where time is short: in a short list the rest of the work hides what grows


USUAL = {"nested_operators": 2000, "nested_modules": 2000}
SHAPES: dict[str, Shape] = {
    fill.__name__: Shape(
        of_trace(fill), ALL, 2 if fill in COMPARED else 1, USUAL.get(fill.__name__, 400)
    )
    for fill in TRACES
} | {
    "memory_events": Shape(of_trace(memory_events), [*ALL, ["memory", "--html", "PAGE"]]),
    "nsys_processes": Shape(nsys_processes, [["report"], ["nsys-stats"]]),
    "nsys_nested_ranges": Shape(nsys_ranges(True), [["report"], ["nsys-stats"]]),
    "nsys_overlapping_ranges": Shape(nsys_ranges(False), [["report"], ["nsys-stats"]]),
    **{
        build.__name__: Shape(pickled("snapshot.pickle", build), MEMORY)
        for build in (
            snapshot_blocks,
            snapshot_segments,
            snapshot_streams,
            snapshot_frames,
            snapshot_stacks,
            snapshot_one_address,
            snapshot_devices,
            snapshot_oom,
        )
    },
    **{
        build.__name__: Shape(dumps(build), RANKS)
        for build in (dump_entries, dump_groups, dump_frames, dump_messages)
    },
    "dump_ranks": Shape(dump_ranks, RANKS, usual=2000),
    **{name: Shape(make, ALL, 1) for name, make in RECORDINGS.items()},
    "log_steps": Shape(log(megatron), ETTR),
    "log_attempts": Shape(log(attempts), ETTR),
    "log_checkpoints": Shape(log(checkpoints), ETTR),
    **{
        make.__name__: Shape(make, ETTR)
        for make in (logs_of_attempts, logs_of_one_run, logs_rotated, logs_of_restarts)
    },
}
