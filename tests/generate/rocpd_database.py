#!/usr/bin/env python3
"""Writes a generated run as the SQLite database that rocprofv3 writes (rocpd, schema 3).

    rocpd_database.py --seed 7 --steps 5 --ranks 2 --output run_results.db

Each rank is a process. Its tables are its own, named by its guid, with views beside them, as rocprofv3 has it; --shape common
puts all processes into tables without a guid in their names, where ids repeat; --shape lean leaves out what other writers do.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from rocprof_json import agents_of, parser_of, processes_asked
from rocprof_process import GPU_FIRST_NODE, Process

NODE = 7
FIRST_ROW = 50  # of info_process, info_thread: rows are not pids and tids

# Columns of the published schema, in its order; those behind "|" a lean writer leaves out.
TABLES = {
    "metadata": "id tag value",
    "string": "id guid string",
    "info_node": "id guid | hash machine_id system_name hostname release version hardware_name domain_name",
    "info_process": "id guid nid pid | ppid init fini start end command environment extdata",
    "info_thread": "id guid nid pid tid | ppid name start end extdata",
    "info_agent": """id guid nid pid type type_index name product_name extdata |
        absolute_index logical_index uuid model_name vendor_name user_name""",
    "info_queue": "id guid nid pid | name extdata",
    "info_stream": "id guid nid pid | name extdata",
    "info_pmc": "id guid nid pid agent_id name symbol | target_arch description units value_type",
    "info_code_object": "id guid nid pid agent_id | uri load_base load_size extdata",
    "info_kernel_symbol": """id guid nid pid code_object_id display_name arch_vgpr_count accum_vgpr_count |
        kernel_name kernel_object sgpr_count extdata""",
    "track": "id guid nid pid tid name_id | extdata",
    "event": "id guid category_id stack_id extdata | parent_stack_id correlation_id call_stack line_info",
    "arg": "id guid event_id position type name value | extdata",
    "pmc_event": "id guid event_id pmc_id value | extdata",
    "region": "id guid nid pid tid start end name_id event_id | extdata",
    "sample": "id guid track_id timestamp event_id | extdata",
    "kernel_dispatch": """id guid nid pid tid agent_id kernel_id queue_id stream_id start end
        group_segment_size workgroup_size_x workgroup_size_y workgroup_size_z grid_size_x grid_size_y grid_size_z event_id |
        dispatch_id private_segment_size region_name_id extdata""",
    "memory_copy": """id guid nid pid start end name_id dst_agent_id src_agent_id size stream_id event_id |
        tid dst_address src_address queue_id region_name_id extdata""",
    "memory_allocate": "id guid nid pid start end size event_id | tid agent_id type level address queue_id stream_id extdata",
}
SHAPES = ("own", "common", "lean", "counted")


class RocpdWriter:
    """The tables of one process."""

    def __init__(self, connection: sqlite3.Connection, guid: str, shape: str) -> None:
        self.connection = connection
        self.guid = guid
        self.suffix = "" if shape == "common" else "_" + guid.replace("-", "_")
        self.strings: dict[str, int] = {}
        self.columns: dict[str, list[str]] = {}
        self.counts: dict[str, int] = {}
        for table, text in TABLES.items():
            needed, _, rest = text.partition("|")
            names = needed.split() if shape == "lean" else (needed + rest).split()
            self.columns[table] = names
            key = "id INTEGER" if shape == "common" else "id INTEGER PRIMARY KEY"
            columns = ", ".join(key if name == "id" else f'"{name}"' for name in names)
            connection.execute(
                f'CREATE TABLE IF NOT EXISTS "rocpd_{table}{self.suffix}" ({columns})'
            )
            if shape == "own":
                connection.execute(
                    f'CREATE VIEW IF NOT EXISTS "rocpd_{table}" AS SELECT * FROM "rocpd_{table}{self.suffix}"'
                )

    def add(self, table: str, **values: Any) -> int:
        """The row's id."""
        self.counts[table] = self.counts.get(table, 0) + 1
        values = {"id": self.counts[table], "guid": self.guid, "nid": NODE} | values
        kept = {name: values[name] for name in self.columns[table] if name in values}
        names = ", ".join(f'"{name}"' for name in kept)
        marks = ", ".join("?" for _ in kept)
        self.connection.execute(
            f'INSERT INTO "rocpd_{table}{self.suffix}" ({names}) VALUES ({marks})',
            list(kept.values()),
        )
        row: int = values["id"]
        return row

    def string(self, text: str) -> int:
        if text not in self.strings:
            self.strings[text] = self.add("string", string=text)
        return self.strings[text]

    def event(self, category: str, stack: int, extra: dict[str, str]) -> int:
        return self.add(
            "event",
            category_id=self.string(category),
            stack_id=stack,
            parent_stack_id=stack,
            correlation_id=0,
            extdata=json.dumps(extra),
        )


def write_facts(writer: RocpdWriter, process: Process) -> dict[str, int]:
    """The row of the process, as what rows of other tables have in common."""
    writer.add("metadata", tag="schema_version", value="3")
    writer.add("info_node", id=NODE, hostname="node-17", machine_id="m")
    rank = {} if process.rank is None else {"RANK": str(process.rank)}
    row = writer.add(
        "info_process",
        id=FIRST_ROW,
        pid=process.pid,
        environment=json.dumps(rank),
        command="python3",
    )
    own = {"pid": row}
    for agent in agents_of(process):
        is_gpu = agent["type"] == 2
        writer.add(
            "info_agent",
            **own,
            id=agent["node_id"],
            type="GPU" if is_gpu else "CPU",
            type_index=agent["logical_node_type_id"],
            name=agent["name"],
            product_name=agent["product_name"],
            extdata=json.dumps(agent),
        )
    for number, name in enumerate(process.kernels, 1):
        names = {"kernel_name": f"_Z{number}.kd", "display_name": name}
        registers = {"arch_vgpr_count": 24, "accum_vgpr_count": 8}
        writer.add("info_kernel_symbol", **own, **names, **registers, id=number, code_object_id=1)
    return own


def write_regions(writer: RocpdWriter, process: Process, own: dict[str, int]) -> None:
    kinds = list(process.operations)
    threads: dict[int, int] = {}
    for item in process.calls + process.markers:
        kind = kinds[item["kind"]]
        if item["thread"] not in threads:
            row = FIRST_ROW + len(threads)
            threads[item["thread"]] = writer.add("info_thread", **own, id=row, tid=item["thread"])
        message = process.messages.get(item["correlation"])
        writer.add(
            "region",
            **own,
            tid=threads[item["thread"]],
            start=item["start"],
            end=item["end"],
            name_id=writer.string(process.operations[kind][item["operation"]]),
            event_id=writer.event(
                kind, item["correlation"], {} if message is None else {"message": message}
            ),
        )


def write_counts(writer: RocpdWriter, event: int, item: dict[str, Any]) -> None:
    """What two counters counted in a kernel; the first in two parts of the device."""
    for counter, value in ((7, 60.0 * item["kernel"]), (8, 0.5), (7, 4.0 * item["kernel"])):
        writer.add("pmc_event", event_id=event, pmc_id=counter, value=value)


def write_process(writer: RocpdWriter, process: Process, is_counted: bool = False) -> None:
    own = write_facts(writer, process)
    for number, name in ((7, "SQ_WAVES"), (8, "MfmaUtil")) if is_counted else ():
        writer.add("info_pmc", **own, id=number, agent_id=FIRST_ROW, name=name, symbol=name)
    first = process.first_handle
    for item in process.dispatches:
        sizes = dict(zip(("grid_size_x", "grid_size_y", "grid_size_z"), item["grid"]))
        sizes |= dict(
            zip(("workgroup_size_x", "workgroup_size_y", "workgroup_size_z"), item["block"])
        )
        event = writer.event("KERNEL_DISPATCH", item["correlation"], {})
        if is_counted:
            write_counts(writer, event, item)
        writer.add(
            "kernel_dispatch",
            **own,
            **sizes,
            agent_id=item["agent"] - first,
            kernel_id=item["kernel"],
            dispatch_id=item["dispatch"],
            queue_id=item["queue"],
            stream_id=item["stream"],
            start=item["start"],
            end=item["end"],
            group_segment_size=item["shared"],
            event_id=event,
        )
    for item in process.copies:
        name = process.operations["MEMORY_COPY"][item["operation"]]
        writer.add(
            "memory_copy",
            **own,
            start=item["start"],
            end=item["end"],
            name_id=writer.string(name),
            dst_agent_id=item["destination"] - first,
            src_agent_id=item["source"] - first,
            size=item["bytes"],
            stream_id=item["stream"],
            event_id=writer.event("MEMORY_COPY", item["correlation"], {}),
        )
    write_regions(writer, process, own)


def write_rocpd(path: Path, processes: list[Process], shape: str = "own") -> None:
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    for number, process in enumerate(processes):
        guid = f"0198{number:04x}-7c1b-7000-8000-{GPU_FIRST_NODE:012x}"
        is_counted = shape == "counted"
        writer = RocpdWriter(connection, guid, "own" if is_counted else shape)
        write_process(writer, process, is_counted)
    connection.commit()
    connection.close()


def main() -> None:
    arguments = parser_of(__doc__, SHAPES, "own").parse_args()
    write_rocpd(arguments.output, processes_asked(arguments), arguments.shape)


if __name__ == "__main__":
    main()
