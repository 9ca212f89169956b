#!/usr/bin/env python3
"""Writes a generated run as the database that `nsys export --type sqlite` would, in several generations of its schema.

    nsys_database.py --seed 7 --steps 5 --ranks 2 --schema 3.25 --output run.sqlite
    nsys_database.py --megabytes 1000 --output large.sqlite

Each rank is a process of its own; ids of strings, threads and launches are chosen so that a reader that confuses them is
found out: correlation ids repeat between processes, names stand as text or as ids, columns stand in another order in each
generation. --megabytes makes a database of that size out of equal steps.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ledger_script import Plan
from make_trace import make_trace
from nsys_programs import write_model, write_rules
from nsys_writer import (
    FIRST_PROCESS,
    METRIC_TABLES,
    NSYS_STYLE,
    PAGE_FAULT_TABLES,
    SCHEMAS,
    DatabaseWriter,
    Extras,
    ProcessWriter,
    Schema,
)
from trace_event import Trace


def write_database(
    path: Path, traces: list[Trace], schema: Schema, extras: Extras = Extras()
) -> None:
    """Each trace is a process, on a device of its own."""
    writer = DatabaseWriter(path, schema)
    first = traces[0].run_facts["device"]
    devices = [first + 2 * rank + other for rank in range(len(traces)) for other in (0, 1)]
    writer.add_facts(devices)
    if extras.has_metrics:
        writer.create_tables(METRIC_TABLES)
    if extras.has_page_faults:
        writer.create_tables(PAGE_FAULT_TABLES)
    for rank, trace in enumerate(traces):
        shift = first + 2 * rank - trace.run_facts["device"]
        process = ProcessWriter(writer, 4000 - rank, shift)
        process.write(trace)
        if extras.has_metrics:
            process.write_metrics(trace)
        if extras.has_page_faults:
            process.write_page_faults(trace)
    writer.close()


# ---- large ones ------------------------------------------------------------------------------------------------------

# Bytes of one kernel with its call and its range, about.
BYTES_PER_KERNEL = 330
LARGE_STEPS = f"""
    WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < ?1)
    INSERT INTO {{}}
"""


def write_large(path: Path, megabytes: int, schema: Schema) -> None:
    """Kernels of 8 us every 10 us, each with its call and operator; a step of 10,000 of them."""
    count = megabytes * 1_000_000 // BYTES_PER_KERNEL
    writer = DatabaseWriter(path, schema)
    writer.add_facts([0])
    process = FIRST_PROCESS + (77 << 24)
    names = [writer.string(f"kernel_number_{i}<float, 4>(float*, int)") for i in range(64)]
    call = writer.string("cudaLaunchKernel_v7000")
    execute = writer.connection.execute
    writer.add("PROCESSES", globalPid=process, pid=77, name="python3")
    execute("CREATE TEMP TABLE kernel_names (place INTEGER PRIMARY KEY, id)")
    writer.connection.executemany("INSERT INTO kernel_names VALUES (?, ?)", enumerate(names))
    execute(
        LARGE_STEPS.format(
            """CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
            globalPid, demangledName, shortName, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ,
            staticSharedMemory, dynamicSharedMemory)
        SELECT 10000 * n + 6000, 10000 * n + 14000, 0, 1, 7, n + 1, ?2, id, id, 32, 1 + n % 50, 1, 1, 128, 1, 1, 0, 0
        FROM number JOIN kernel_names ON place = n % 64"""
        ),
        (count, process),
    )
    execute(
        LARGE_STEPS.format(
            """CUPTI_ACTIVITY_KIND_RUNTIME (start, end, eventClass, globalTid, correlationId, nameId,
            returnValue) SELECT 10000 * n + 1000, 10000 * n + 5000, 0, ?2, n + 1, ?3, 0 FROM number"""
        ),
        (count, process + 77, call),
    )
    execute(
        LARGE_STEPS.format(
            """NVTX_EVENTS (start, end, eventType, text, globalTid, domainId)
            SELECT 10000 * n + 500, 10000 * n + 5500, 59,
                'aten::add_, seq = ' || n || ', op_id = ' || (n + 7) || ', sizes = [[8, 64], [8, 64]]', ?2, 0
            FROM number"""
        ),
        (count, process + 77),
    )
    execute(
        LARGE_STEPS.format(
            """NVTX_EVENTS (start, end, eventType, text, globalTid, domainId)
            SELECT 100000000 * n, 100000000 * (n + 1) - 1, 59, 'ProfilerStep#' || n, ?2, 0 FROM number"""
        ),
        (max(1, count // 10_000), process + 77),
    )
    writer.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="1", help="the same seed makes the same run")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=6, help="how long a step is")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--schema", choices=SCHEMAS, default="3.25")
    parser.add_argument(
        "--modules", action="store_true", help="make iterations of a model of two layers instead"
    )
    parser.add_argument(
        "--metrics", action="store_true", help="counters of the devices are sampled as well"
    )
    parser.add_argument(
        "--page-faults", action="store_true", help="memory is unified, and pages of it fault"
    )
    parser.add_argument(
        "--system-calls",
        action="store_true",
        help="with --modules: calls of the operating system are traced as well",
    )
    parser.add_argument(
        "--payloads",
        action="store_true",
        help="with --modules: collectives, with the payloads of NCCL's ranges",
    )
    parser.add_argument(
        "--rules", action="store_true", help="make steps with what `nsys analyze` looks for instead"
    )
    parser.add_argument(
        "--megabytes", type=int, help="make a large one instead, of about that size"
    )
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    schema = SCHEMAS[arguments.schema]
    extras = Extras(
        arguments.metrics, arguments.page_faults, arguments.system_calls, arguments.payloads
    )
    if arguments.megabytes:
        write_large(arguments.output, arguments.megabytes, schema)
        return
    if arguments.rules:
        write_rules(arguments.output, arguments.steps, schema)
        return
    if arguments.modules:
        write_model(arguments.output, arguments.steps, schema, extras)
        return
    plan = Plan(arguments.steps, arguments.blocks, True)
    traces = [
        make_trace(f"{arguments.seed} rank {rank}", plan, NSYS_STYLE)
        for rank in range(arguments.ranks)
    ]
    write_database(arguments.output, traces, schema, extras)


if __name__ == "__main__":
    main()
