"""What a program under `flopledger run` came to, for the message that says why nothing was recorded."""

from __future__ import annotations

import os

FILE = ".seen"  # in the capture's folder; `flopledger run` reads and removes it
PYTHON, TORCH = b"p", b"t"  # it has started; it is imported
CANNOT_LOAD = b"x"  # the extension
STOPPED = b"e"  # by an error, which was said


def note_seen(what: bytes) -> None:
    """A byte of a file that many processes append to."""
    try:
        path = os.path.join(os.environ["FLOPLEDGER_CAPTURE"], FILE)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            os.write(descriptor, what)
        finally:
            os.close(descriptor)
    except (OSError, KeyError):
        pass
