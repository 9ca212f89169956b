"""Forms in which versions of Nsight Systems write the same recording: each changes a database that nsys_database.py made.

What a report says of the recording must not change with them.
"""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Callable

from nsys_writer import FIRST_PROCESS

WORK = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
DATA = (*WORK, "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS")
Shape = Callable[[sqlite3.Connection, random.Random], None]


def has_column(database: sqlite3.Connection, table: str, column: str) -> bool:
    return any(row[1] == column for row in database.execute(f"PRAGMA table_info({table})"))


def later_tables(database: sqlite3.Connection, rng: random.Random) -> None:
    """NAME_V3 holds the rows; NAME_V2 was left behind."""
    for table in DATA:
        database.execute(f"ALTER TABLE {table} RENAME TO {table}_V3")
        database.execute(f"CREATE TABLE {table}_V2 AS SELECT * FROM {table}_V3 LIMIT 1")
        database.execute(f"CREATE TABLE {table}_VIEWED (start, end)")


def columns_nobody_knows(database: sqlite3.Connection, rng: random.Random) -> None:
    for table in DATA:
        database.execute(f"ALTER TABLE {table} ADD COLUMN \"order\" TEXT DEFAULT 'select'")
    database.execute("CREATE TABLE SOMETHING_NEW (start, end, globalPid, deviceId)")
    database.execute("INSERT INTO SOMETHING_NEW VALUES (1, 2, 3, 4)")


def rows_in_another_order(database: sqlite3.Connection, rng: random.Random) -> None:
    for table in (*DATA, "StringIds"):
        rows = database.execute(f"SELECT * FROM {table}").fetchall()
        rng.shuffle(rows)
        database.execute(f"DELETE FROM {table}")
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def ends_on_its_own_thread(database: sqlite3.Connection, rng: random.Random) -> None:
    database.execute("UPDATE NVTX_EVENTS SET endGlobalTid = globalTid")


def texts_by_id(database: sqlite3.Connection, rng: random.Random) -> None:
    strings = {value: key for key, value in database.execute("SELECT id, value FROM StringIds")}
    for (text,) in database.execute("SELECT DISTINCT text FROM NVTX_EVENTS WHERE text NOTNULL"):
        if text not in strings:
            strings[text] = 20_000_000 + len(strings)
            database.execute(
                "INSERT INTO StringIds (id, value) VALUES (?, ?)", (strings[text], text)
            )
        database.execute(
            "UPDATE NVTX_EVENTS SET text = NULL, textId = ? WHERE text = ?", (strings[text], text)
        )


def texts_as_they_are(database: sqlite3.Connection, rng: random.Random) -> None:
    database.execute(
        """UPDATE NVTX_EVENTS SET text = (SELECT value FROM StringIds WHERE id = textId), textId = NULL
        WHERE text IS NULL"""
    )


def names_by_mangled_alone(database: sqlite3.Connection, rng: random.Random) -> None:
    database.execute(
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET mangledName = demangledName, demangledName = NULL, shortName = NULL"
    )


def imported_ranges(database: sqlite3.Connection, rng: random.Random) -> None:
    database.execute("UPDATE NVTX_EVENTS SET eventType = 70 WHERE eventType = 59")


def no_host_in_ids(database: sqlite3.Connection, rng: random.Random) -> None:
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master")]
    for table in tables:
        for column in ("globalPid", "globalTid", "endGlobalTid"):
            if has_column(database, table, column):
                database.execute(f"UPDATE {table} SET {column} = {column} - {FIRST_PROCESS}")


def own_numbers_of_devices(database: sqlite3.Connection, rng: random.Random) -> None:
    """Each process sees only the devices that it uses, and counts them from 0."""
    seen: dict[int, set[int]] = {}
    for table in WORK:
        for process, device in database.execute(
            f"SELECT DISTINCT globalPid, deviceId FROM {table}"
        ):
            seen.setdefault(process, set()).add(device)
    database.execute("CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid, uuid)")
    for process, devices in seen.items():
        for number, device in enumerate(sorted(devices)):
            database.execute(
                "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, ?, ?, NULL)",
                (device, number, process >> 24 & 0xFFFFFF),
            )
            for table in WORK:
                database.execute(
                    f"UPDATE {table} SET deviceId = ? WHERE globalPid = ? AND deviceId = ?",
                    (number, process, device),
                )


def ranks_of_mpi(database: sqlite3.Connection, rng: random.Random) -> None:
    """As the processes are numbered anyway: in the order of their devices."""
    query = "SELECT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1 ORDER BY min(deviceId), globalPid"
    processes = [process for (process,) in database.execute(query)]
    database.execute("CREATE TABLE MPI_RANKS (globalTid, rank)")
    for rank, process in enumerate(processes):
        database.execute("INSERT INTO MPI_RANKS VALUES (?, ?)", (process + 1, rank))


SHAPES: tuple[Shape, ...] = (
    later_tables,
    columns_nobody_knows,
    rows_in_another_order,
    ends_on_its_own_thread,
    texts_by_id,
    texts_as_they_are,
    names_by_mangled_alone,
    imported_ranges,
    no_host_in_ids,
    own_numbers_of_devices,
    ranks_of_mpi,
)
# Those after which the reports of nsys-stats are to be the same, too. nsys itself prints other things after the others: it
# shows ids, nests ranges that start at once by the order of rows, and leaves out ranges with an end on a thread.
SAME_STATS = (
    later_tables,
    columns_nobody_knows,
    texts_by_id,
    texts_as_they_are,
    ranks_of_mpi,
)


def reshape(path: Path, shape: Shape, seed: object) -> None:
    database = sqlite3.connect(path)
    shape(database, random.Random(repr((seed, shape.__name__))))
    database.commit()
    database.close()
