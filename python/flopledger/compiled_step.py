"""Tells of optimizer steps that torch.compile has compiled, whose hooks run while they are traced, and never again.

What a traced hook stores in an object is stored each time that the compiled code runs; it costs no graph, no graph break and no
guard, as nothing is read. Storing takes away what was there before: an Alarm, and its weak reference tells that it is gone.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any


class CompiledStep:
    """`stepped` is for traced hooks to store the optimizer in. It has a slot: torch.compile holds on to attributes."""

    __slots__ = ("stepped",)


class Alarm:
    """Rings when it goes."""


class AlarmReference(weakref.ref):  # type: ignore[type-arg]
    __slots__ = ("ring", "set_eval_frame")
    ring: Callable[[], None]
    set_eval_frame: Callable[[Any], Any]


def when_gone(reference: AlarmReference) -> None:
    """Called from compiled code, where torch.compile looks at each function that is called, until it is told not to."""
    compiler = reference.set_eval_frame(None)
    try:
        reference.ring()
    finally:
        reference.set_eval_frame(compiler)


# This function itself it leaves alone where it takes it for one of Python's own.
assert isinstance(when_gone, FunctionType)
when_gone.__code__ = when_gone.__code__.replace(co_filename=weakref.__file__)


class CompiledStepWatch:
    """Calls `tell` with the optimizer at the end of each compiled step."""

    def __init__(self, tell: Callable[[Any], None]) -> None:
        self.tell = tell
        self.mailbox = CompiledStep()
        self.mailbox.stepped = None
        self.reference: AlarmReference | None = None
        try:
            import torch

            self.set_eval_frame: Any = torch._C._dynamo.eval_frame.set_eval_frame
        except (ImportError, AttributeError):  # a torch without torch.compile, or another one
            return
        self.set_alarm()

    def set_alarm(self) -> None:
        alarm = Alarm()
        self.reference = AlarmReference(alarm, when_gone)
        self.reference.ring = self.ring
        self.reference.set_eval_frame = self.set_eval_frame
        self.mailbox.stepped = alarm

    def ring(self) -> None:
        optimizer = self.mailbox.stepped
        self.set_alarm()
        try:
            self.tell(optimizer)
        except KeyboardInterrupt:  # Ctrl-C would be lost here: it comes once more, a moment later
            import _thread

            _thread.interrupt_main()

    def turn_off(self) -> None:
        self.reference = None  # before the alarm goes
        self.mailbox.stepped = None
