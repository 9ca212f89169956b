#!/usr/bin/env python3
"""Writes a recording of another recorder than torch.profiler, of a fixed size, for what readers cost:

    recorder_file.py xplane --events 20000 --output run.xplane.pb
    recorder_file.py perfetto --events 20000 --output run.pftrace
    recorder_file.py rocprof --events 5000 --output run_results.json
    recorder_file.py rocpd --events 5000 --output run_results.db

--events: kernels, each with its launch."""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from long_recordings import as_database, as_json, packet, slice_event, track
from rocprof_process import Process
from xplane_file import (
    Event,
    Line,
    Plane,
    Ref,
    Value,
    environment,
    number,
    products_program,
    programs_plane,
    text,
    write_space,
)

KERNELS = 64
STEP = 500  # kernels in each


def write_xplane(path: Path, events: int) -> None:
    program, _ = products_program(random.Random(1), "f", 5)
    host, device = Plane("/host:CPU"), Plane("/device:GPU:0", 1)
    python, thread = Line("python", [], 4242), Line("Host Threads/7", [], 7)
    stream = Line("Stream #1(Kernel)", [], 1)
    host.lines, device.lines = [python, thread], [stream]
    for i in range(events):
        at = 10**10 + 20_000_000 * i
        op: dict[str, Value] = {"hlo_op": Ref(("dot.3", "add.1")[i % 2]), "program_id": 5}
        common = {"correlation_id": i + 1, **op}
        details = {"kernel_details": Ref(f"regs:64 grid:{i % KERNELS},4,1 block:256,1,1")}
        thread.events.append(
            Event("cuLaunchKernel", at, 5_000_000, {**common, "hlo_module": Ref("jit_f")})
        )
        stream.events.append(
            Event(f"kernel {i % KERNELS}", at + 6_000_000, 9_000_000, {**common, **details})
        )
        if i % STEP == 0:
            python.events.append(
                Event("train", at, 20_000_000 * STEP - 1000, {"step_num": i // STEP})
            )
    write_space(path, [programs_plane({"jit_f(5)": program}), device, host, environment()])


def annotation(name: str, value: int) -> bytes:
    return text(4, text(10, name) + number(4, value))


def write_perfetto(path: Path, events: int) -> None:
    """Names are interned once, and the two tracks hold slices of launches and kernels."""
    words = ["cuda_runtime", "kernel", "cudaLaunchKernel", *(f"kernel {i}" for i in range(KERNELS))]
    names = [text(2, number(1, i + 1) + text(2, word)) for i, word in enumerate(words)]
    kinds = [text(1, number(1, i + 1) + text(2, word)) for i, word in enumerate(words[:2])]
    found = [track(100, 1000), track(200, 7), packet(text(12, b"".join(kinds + names)), flags=1)]
    for i in range(events):
        at = 20_000 * i + 1000
        for uuid, start, length, name in (
            (100, at, 5000, 3),
            (200, at + 6000, 9000, 4 + i % KERNELS),
        ):
            kind = number(3, uuid // 100)
            more = number(10, name) + kind + annotation("correlation", i + 1)
            if uuid == 200:
                more += annotation("device", 1) + annotation("stream", 7)
            found.append(packet(slice_event(start, uuid, 1, more), flags=2))
            found.append(packet(slice_event(start + length, uuid, 2), flags=2))
    path.write_bytes(b"".join(found))


def rocprof_process(events: int) -> list[Process]:
    process = Process(77, 40_000)
    kernels = [process.kernel_id(f"kernel {i}") for i in range(KERNELS)]
    kind, operation = process.operation("HIP_RUNTIME_API", "hipLaunchKernel")
    shape = {"shared": 0, "block": [256, 1, 1], "grid": [4096, 1, 1], "queue": 1, "stream": 1}
    for i in range(events):
        common = {"thread": 77, "correlation": i + 1}
        call = common | {"kind": kind, "operation": operation}
        process.calls.append(call | {"start": 20_000 * i, "end": 20_000 * i + 5000})
        work = common | shape | {"agent": process.gpu(0), "kernel": kernels[i % KERNELS]}
        time = {"start": 20_000 * i + 6000, "end": 20_000 * i + 15_000, "dispatch": i + 1}
        process.dispatches.append(work | time)
    return [process]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recorder", choices=("xplane", "perfetto", "rocprof", "rocpd"))
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--output", type=Path, required=True)
    given = parser.parse_args()
    if given.recorder == "xplane":
        write_xplane(given.output, given.events)
    elif given.recorder == "perfetto":
        write_perfetto(given.output, given.events)
    else:
        make = as_json if given.recorder == "rocprof" else as_database
        (made,) = make(rocprof_process)(given.events, given.output.parent)
        made.rename(given.output)


if __name__ == "__main__":
    main()
