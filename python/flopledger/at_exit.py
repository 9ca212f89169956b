"""Work at the program's end that leaves its exit status alone.

Python remembers in a flag that Ctrl-C ended the program, and then dies of SIGINT, so that a shell sees status 130. Each text that
it compiles and runs takes that flag back, also while it exits: a dataclass that is made when a module is imported late is such a
text. An uncaught KeyboardInterrupt of a text sets it again, whether or not somebody catches it further up.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable


def at_exit(work: Callable[[], object]) -> Callable[[], None]:
    """Has `work` called when the program ends. What is returned is for `atexit.unregister`."""

    def at_end() -> None:
        try:
            work()
        finally:
            if was_interrupted():
                remember_interrupt()

    atexit.register(at_end)
    return at_end


def was_interrupted() -> bool:
    """Whether Ctrl-C has ended the program: its last error that nobody caught."""
    return getattr(sys, "last_type", None) is KeyboardInterrupt


def remember_interrupt() -> None:
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        pass
