"""Writes what is known of runs into a folder of Parquet or Arrow files, for questions about many runs: docs/how-to/fleet.md.

    python -m flopledger.fleet parquet -o FOLDER TRACE...       what `flopledger export parquet` calls
    python -m flopledger.fleet parquet -o FOLDER --pack         and `flopledger export parquet --pack`

Needs pyarrow: it is what writes Parquet; nanoarrow is a hundredth of its size, but writes Arrow's own format alone.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from flopledger import program
from flopledger.fleet_files import FleetError, is_object_store, load_pyarrow, open_place, type_of
from flopledger.fleet_pack import PACKED, pack
from flopledger.fleet_steps import Row
from flopledger.fleet_tables import SCHEMAS, labels_of, tables_of

FORMATS = {"parquet": "parquet", "arrow": "arrow"}  # the ends of the files' names
OPTIONS_OF_REPORT: tuple[str, ...] = (
    "steps",
    "window",
    "step-range",
    "clock",
    "device",
    "device-name",
    "peak",
    "dtype",
)
OPTIONS_OF_REPORT += ("rates", "memory-limit")
ROWS_A_GROUP = 1 << 20


def week_of(started: float) -> str:
    """2026-W48, as ISO counts weeks, in UTC."""
    return time.strftime("%G-W%V", time.gmtime(started))


def value_of(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "time":
        return round(value * 1e6)
    return list(value.items()) if kind == "labels" else value


def arrow_table(table: str, rows: Sequence[Row]) -> Any:
    """A pyarrow.Table with the columns of SCHEMAS, in their order."""
    pyarrow = load_pyarrow()
    columns = SCHEMAS[table]
    arrays = [
        pyarrow.array([value_of(row.get(name), kind) for row in rows], type_of(pyarrow, kind))
        for name, kind in columns.items()
    ]
    return pyarrow.table(arrays, names=list(columns))


def write_tables(
    folder: str, run: str, started: float, tables: Mapping[str, list[Row]], form: str
) -> list[str]:
    """FOLDER/TABLE/week=2026-W48/RUN.parquet, each whole or not there: a temporary file that is renamed. Gives their paths."""
    place, above = open_place(folder)
    paths = []
    for table, rows in tables.items():
        if not rows:
            continue
        below = f"{above}/{table}/week={week_of(started)}"
        place.create_dir(below, recursive=True)
        path = f"{below}/{run}.{FORMATS[form]}"
        if is_object_store(place):
            write_file(place, path, arrow_table(table, rows), form)
        else:
            half = f"{below}/.{run}.{secrets.token_hex(4)}.part"
            write_file(place, half, arrow_table(table, rows), form)
            place.move(half, path)
        paths.append(path)
    return paths


def write_file(place: Any, path: str, table: Any, form: str) -> None:
    with place.open_output_stream(path) as stream:
        if form == "parquet":
            from pyarrow import parquet

            parquet.write_table(table, stream, compression="zstd", row_group_size=ROWS_A_GROUP)
        else:
            from pyarrow import ipc

            with ipc.new_file(stream, table.schema) as writer:
                writer.write_table(table)


def add_run(
    folder: str,
    *sources: str | os.PathLike[str],
    labels: Mapping[str, str] | None = None,
    form: str = "parquet",
    **options: Any,
) -> list[str]:
    """Writes one run (a capture, or the traces of its ranks) into a fleet's folder, and gives the paths of its files.

    `labels`: team, cluster, job, image, and others; what is left out is what FLOPLEDGER_LABELS and Slurm say. `options` are those of
    `flopledger report`. The same run written again replaces its files.
    """
    load_pyarrow()
    given = {**labels_of([]), **(labels or {})}
    run, started, tables = tables_of([os.fspath(each) for each in sources], given, options)
    return write_tables(folder, run, started, tables, form)


def say_packed(folder: str, written: Sequence[str], problems: Sequence[str]) -> int:
    for problem in problems:
        print(f"flopledger: {problem}", file=sys.stderr)
    what = f"{len(written)} files were written" if written else "all was packed already"
    print(f"flopledger: {folder}/{PACKED}: {what}", file=sys.stderr)
    return 5 if problems else 0


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="flopledger export", add_help=False, allow_abbrev=False)
    parser.add_argument("form", choices=FORMATS)
    parser.add_argument("sources", nargs="*")
    parser.add_argument("--pack", action="store_true")
    parser.add_argument("-o", "--output", "--logdir", required=True)
    parser.add_argument("--label", default="")
    parser.add_argument("-j", "--threads")
    for option in OPTIONS_OF_REPORT:
        parser.add_argument(f"--{option}")
    for flag in ("--force", "--no-progress"):  # nothing else is replaced, nothing is drawn
        parser.add_argument(flag, action="store_true", default=None, dest="unused")
    given = vars(parser.parse_intermixed_args(list(words)))
    form, sources, folder = given.pop("form"), given.pop("sources"), given.pop("output")
    del given["unused"]
    packs = given.pop("pack")
    try:
        if packs:
            return say_packed(folder, *pack(folder))
        if not sources:
            raise ValueError("no trace given: flopledger export parquet -o FOLDER TRACE...")
        labels = labels_of([given.pop("label")])
        options = {name: value for name, value in given.items() if value is not None}
        paths = add_run(folder, *sources, labels=labels, form=form, **options)
    except program.ProgramError as error:
        print(f"flopledger: {error}", file=sys.stderr)
        return error.exit_code
    except (FleetError, ValueError) as error:
        print(f"flopledger: {error}", file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 1
    except OSError as error:
        print(f"flopledger: cannot write to '{folder}': {error}", file=sys.stderr)
        return 1
    print(f"flopledger: {len(paths)} tables of the run are in {folder}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
