"""An event of a generated trace, before a style writes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# Kinds; a style gives each its category.
OPERATOR = "operator"
ANNOTATION = "annotation"
PYTHON = "python"
RUNTIME = "runtime"
DRIVER = "driver"
OVERHEAD = "overhead"
KERNEL = "kernel"
MEMCPY = "memcpy"
MEMSET = "memset"
DEVICE_ANNOTATION = "device annotation"
SPAN = "span"
FLOW = "flow"
FORWARD_BACKWARD = "forward backward"
NO_KIND = ""

HOST_KINDS = {OPERATOR, ANNOTATION, PYTHON, RUNTIME, DRIVER}


@dataclass(slots=True)
class Event:
    kind: str
    name: str
    start: int  # ns
    duration: int  # ns
    pid: int | str
    tid: int | str
    args: dict[str, Any] | None = None
    phase: str = "X"
    identity: int | None = None  # of flows

    @property
    def end(self) -> int:
        return self.start + self.duration


@dataclass
class Trace:
    """A trace with the ledger that it must give."""

    events: list[Event]
    ledger: dict[str, Any]
    run_facts: dict[str, Any] = field(default_factory=dict)
