"""What the recorder says, and the fence around all of its work: an error of ours never reaches the program."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from flopledger.seen import STOPPED, note_seen

said: set[str] = set()
listener: Callable[[str], None] | None = None  # hears it, where the program must not


def is_the_one_to_speak() -> bool:
    """Of many ranks, one says what all have in common."""
    return os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0")) == "0"


def say(message: str) -> None:
    """Once each, to standard error."""
    if message in said:
        return
    said.add(message)
    if listener is not None:
        listener(message)
        return
    try:
        print(f"flopledger: {message}", file=sys.stderr, flush=True)
    except (OSError, ValueError):  # standard error is closed
        pass


def say_once_of_all_ranks(message: str) -> None:
    if is_the_one_to_speak():
        say(message)


def describe(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: '{error.filename}'" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def guarded(
    work: Callable[..., Any], on_error: Callable[[], None] | None = None
) -> Callable[..., Any]:
    """`work`, that says an error in place of raising it, and then calls `on_error`. Ctrl-C passes."""

    @functools.wraps(work)
    def fenced(*arguments: Any, **keywords: Any) -> Any:
        try:
            return work(*arguments, **keywords)
        except Exception as error:
            say(f"recording stopped: {describe(error)} (your program goes on)")
            note_seen(STOPPED)
            if os.environ.get("FLOPLEDGER_DEBUG"):
                traceback.print_exc()
            if on_error is not None:
                guarded(on_error)()
            return None

    return fenced
