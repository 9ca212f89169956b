"""The files of a fleet's folder: where they lie, and the types of Arrow that their columns have."""

from __future__ import annotations

import os
import sys
from typing import Any


class FleetError(RuntimeError):
    """What is wrong, in one line."""


def load_pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise FleetError(
            f"{sys.executable} has no pyarrow, which writes Parquet and Arrow files: pip install pyarrow"
        ) from error
    return pyarrow


def type_of(pyarrow: Any, name: str) -> Any:
    return {
        "text": pyarrow.string(),
        "int": pyarrow.int64(),
        "float": pyarrow.float64(),
        "bool": pyarrow.bool_(),
        "time": pyarrow.timestamp("us", tz="UTC"),
        "labels": pyarrow.map_(pyarrow.string(), pyarrow.string()),
    }[name]


def open_place(folder: str) -> tuple[Any, str]:
    """A file system of Arrow's, and the path in it: of a folder here, or of s3://..., gs://..."""
    load_pyarrow()
    from pyarrow import fs

    if "://" not in folder:
        return fs.LocalFileSystem(), os.path.abspath(folder)
    place, path = fs.FileSystem.from_uri(folder)
    return place, path


def is_object_store(place: Any) -> bool:
    """There a file appears when it is whole; elsewhere it is written beside, and renamed."""
    return place.type_name in ("s3", "gcs")
