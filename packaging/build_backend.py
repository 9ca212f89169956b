"""What pip calls: meson-python, without the one thing that it cannot do for a program, and for Pythons without the interpreter's lock,
too."""

import sys
import sysconfig
from typing import Any, NoReturn

import mesonpy
from mesonpy import *  # noqa: F401,F403


def for_this_python(given: dict[str, Any] | None) -> dict[str, Any]:
    """A free-threaded Python has no stable ABI: it gets all but the extensions, and with them what records."""
    settings = dict(given or {})
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        words = settings.get("setup-args", [])
        without = ["-Dextension=disabled", "-Dpython.allow_limited_api=false"]
        settings["setup-args"] = [*([words] if isinstance(words, str) else words), *without]
    return settings


def build_wheel(folder: str, settings: dict[str, Any] | None = None, *rest: Any) -> str:
    return mesonpy.build_wheel(folder, for_this_python(settings), *rest)


if hasattr(mesonpy, "prepare_metadata_for_build_wheel"):  # older versions have none

    def prepare_metadata_for_build_wheel(
        folder: str, settings: dict[str, Any] | None = None
    ) -> str:
        return mesonpy.prepare_metadata_for_build_wheel(folder, for_this_python(settings))


def build_editable(*_: Any) -> NoReturn:
    """An editable install would have the Python files, and neither the program nor its extensions."""
    sys.exit(
        "flopledger cannot be installed with -e: type 'pip install .' here (again after each change), "
        "or './dev demo', which builds build/release/flopledger; that runs the Python files beside it"
    )
