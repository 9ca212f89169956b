"""The parts of this package that are written in C: loads one of them, or says in one line what to do."""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType


class ExtensionMissing(ImportError):
    """Its text is one line for the user."""


def load(name: str) -> ModuleType:
    """`name`: step_writer, module_marks or flop_counts. Raises ExtensionMissing."""
    if is_free_threaded():
        # It may find the file, and its objects have another shape: that ends the process.
        raise ExtensionMissing(what_to_do(name, ImportError()))
    try:
        return importlib.import_module(f"flopledger.{name}")
    except ImportError as error:
        raise ExtensionMissing(what_to_do(name, error)) from error


def is_free_threaded() -> bool:
    return "t" in sys.abiflags


def what_to_do(name: str, error: ImportError) -> str:
    python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    file = f"{name}.abi3.so"
    if is_free_threaded():
        return (
            f"flopledger's C extension '{file}' does not load in free-threaded {python}: it needs the interpreter's lock; "
            f"run the program with a {python} that has one (python{python[7:]}, not python{python[7:]}t)"
        )
    if sys.implementation.name != "cpython":
        return f"flopledger's C extension '{file}' needs CPython 3.10 or later, and this is {sys.implementation.name}"
    folders = sys.modules["flopledger"].__path__
    if not any(os.path.exists(os.path.join(folder, file)) for folder in folders):
        return (
            f"flopledger was built without its C extension '{file}': install the package python3-dev, "
            "then build flopledger again"
        )
    return (
        f"flopledger's C extension '{file}' does not load in {python} of this program ({error}): "
        f"CPython 3.10 or later on the system that it was built for is needed; to build it for this one: "
        f"{sys.executable} -m pip install PATH_OF_FLOPLEDGER"
    )
