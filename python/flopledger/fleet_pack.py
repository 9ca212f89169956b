"""Packs a fleet's folder: one file a table and week beside those of the jobs, as opening files is what takes long: docs/how-to/fleet.md.

Nothing of a job is changed or removed, and each packed file is whole or not there, so jobs may end and others may read meanwhile.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from flopledger.fleet_files import (
    FleetError,
    is_object_store,
    load_pyarrow,
    open_place,
    type_of,
)
from flopledger.fleet_tables import SCHEMAS

PACKED = "packed"  # the folder below the fleet's
OF = b"flopledger.packed_of"  # what a packed file says of the files that are in it
ROWS_AT_ONCE = 1 << 18


def pack(folder: str) -> tuple[list[str], list[str]]:
    """FOLDER/packed/TABLE/week=2026-W23/all.parquet, of weeks that have changed since they were packed. Gives the paths that were
    written, and what is wrong with files that could not be read."""
    place, above = open_place(folder)
    written: list[str] = []
    problems: list[str] = []
    is_fleet = False
    for table in SCHEMAS:
        for week, files in weeks_of(place, f"{above}/{table}"):
            is_fleet = True
            path = f"{above}/{PACKED}/{table}/{week}/all.parquet"
            content = content_of(files)
            if content_packed(place, path) != content:
                problems += pack_files(place, path, [each.path for each in files], table, content)
                written.append(path)
    if not is_fleet:
        raise FleetError(
            f"'{folder}' has no Parquet files of runs: name the folder that 'flopledger run --fleet' "
            "or 'flopledger export parquet' writes to"
        )
    return written, problems


def weeks_of(place: Any, above: str) -> Iterator[tuple[str, list[Any]]]:
    """The names of week folders, and the files of runs in each, by name."""
    from pyarrow import fs

    for week in entries(place, above):
        if week.type == fs.FileType.Directory and week.base_name.startswith("week="):
            files = [
                each
                for each in entries(place, week.path)
                if each.is_file and each.extension == "parquet" and each.base_name[0] != "."
            ]
            if files:
                yield week.base_name, files


def entries(place: Any, path: str) -> list[Any]:
    from pyarrow import fs

    found = place.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return sorted(found, key=lambda each: str(each.base_name))


def content_of(files: list[Any]) -> bytes:
    """Another one where a run came, was written again or was removed."""
    found = hashlib.sha256()
    for each in files:
        found.update(f"{each.base_name} {each.size} {each.mtime_ns}\n".encode())
    return found.hexdigest().encode()


def content_packed(place: Any, path: str) -> bytes | None:
    from pyarrow import ArrowException, parquet

    try:
        with place.open_input_file(path) as file:
            metadata = parquet.read_metadata(file).metadata or {}
    except (OSError, ArrowException):
        return None
    return metadata.get(OF)


def pack_files(place: Any, path: str, files: list[str], table: str, content: bytes) -> list[str]:
    """Gives what is wrong with files that are left out: then it is packed anew the next time."""
    pyarrow = load_pyarrow()
    schema = pyarrow.schema(
        [(name, type_of(pyarrow, kind)) for name, kind in SCHEMAS[table].items()]
    )
    problems: list[str] = []
    place.create_dir(path.rpartition("/")[0], recursive=True)
    half = path if is_object_store(place) else f"{path}.{secrets.token_hex(4)}.part"
    try:
        write_packed(
            place, half, batches(place, files, schema, problems), schema, problems, content
        )
        if half != path:
            place.move(half, path)
    except BaseException:
        if half != path:
            with suppress(OSError):
                place.delete_file(half)
        raise
    return problems


def write_packed(
    place: Any, path: str, tables: Iterator[Any], schema: Any, problems: list[str], content: bytes
) -> None:
    from pyarrow import parquet

    with place.open_output_stream(path) as stream:
        with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
            for rows in tables:
                writer.write_table(rows, row_group_size=ROWS_AT_ONCE)
            if not problems:
                writer.add_key_value_metadata({OF: content})


def batches(place: Any, files: list[str], schema: Any, problems: list[str]) -> Iterator[Any]:
    """Tables of some hundred thousand rows: a fleet need not fit in memory."""
    pyarrow = load_pyarrow()
    held: list[Any] = []
    rows = 0
    for path in files:
        table = read_run(place, path, schema, problems)
        if table is not None:
            held.append(table)
            rows += table.num_rows
        if rows >= ROWS_AT_ONCE:
            yield pyarrow.concat_tables(held)
            held, rows = [], 0
    if held:
        yield pyarrow.concat_tables(held)


def read_run(place: Any, path: str, schema: Any, problems: list[str]) -> Any:
    """With the columns of `schema`: one that an older flopledger did not write is NULL. None where it cannot be read whole."""
    pyarrow = load_pyarrow()
    from pyarrow import parquet

    try:
        with place.open_input_file(path) as file:
            read = parquet.ParquetFile(file).read(use_threads=False)
    except (OSError, pyarrow.ArrowException) as error:
        problems.append(f"'{path}' is left out: {' '.join(str(error).split())}")
        return None
    unknown = set(read.column_names) - set(schema.names)
    if unknown:
        raise FleetError(
            f"'{path}' has the column '{min(unknown)}', which a later flopledger has written: pack with that one"
        )
    columns = [
        (
            read[field.name]
            if field.name in read.column_names
            else pyarrow.nulls(len(read), field.type)
        )
        for field in schema
    ]
    return pyarrow.table(columns, names=schema.names).cast(schema)
