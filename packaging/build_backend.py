"""What pip calls: meson-python, without the one thing that it cannot do for a program, and for Pythons without the interpreter's lock,
too."""

import sys
import sysconfig
from typing import Any, NoReturn

import mesonpy
from mesonpy import *  # noqa: F401,F403


def build_wheel(directory: str, settings: dict[str, Any] | None = None, *rest: Any) -> str:
    """A free-threaded Python has no stable ABI: it gets all but the extensions, and with them what records."""
    settings = dict(settings or {})
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        given = settings.get("setup-args", [])
        without = ["-Dextension=disabled", "-Dpython.allow_limited_api=false"]
        settings["setup-args"] = [*([given] if isinstance(given, str) else given), *without]
    return mesonpy.build_wheel(directory, settings, *rest)


def build_editable(*_: Any) -> NoReturn:
    """An editable install would have the Python files, and neither the program nor its extensions."""
    sys.exit(
        "flopledger cannot be installed with -e: type 'pip install .' here (again after each change), "
        "or './dev demo', which builds build/release/flopledger; that runs the Python files beside it"
    )
