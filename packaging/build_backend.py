"""What pip calls: meson-python, without the one thing that it cannot do for a program."""

import sys
from typing import Any, NoReturn

from mesonpy import *  # noqa: F401,F403


def build_editable(*_: Any) -> NoReturn:
    """An editable install would have the Python files, and neither the program nor its extensions."""
    sys.exit(
        "flopledger cannot be installed with -e: type 'pip install .' here (again after each change), "
        "or './dev demo', which builds build/release/flopledger; that runs the Python files beside it"
    )
