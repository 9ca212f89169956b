"""How long a piece of work takes that is repeated: for what `flopledger device --measure` measures."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds_of(
    work: Callable[[], object], wait: Callable[[], object], of_seconds: float, at_least: int
) -> float:
    """Of the fastest repetition: `at_least` of them, and until they took `of_seconds` together."""
    fastest, spent, count = float("inf"), 0.0, 0
    work()
    wait()
    while count < at_least or spent < of_seconds:
        start = time.perf_counter()
        work()
        wait()
        took = time.perf_counter() - start
        fastest, spent, count = min(fastest, took), spent + took, count + 1
    return fastest
