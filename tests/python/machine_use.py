"""How much of the machine other programs used meanwhile: times that were taken beside them say little."""

from __future__ import annotations

import os
import time
from pathlib import Path


def busy_seconds() -> float:
    """Of all processors since the machine started, whoever used them."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    ticks = [int(word) for word in words]
    idle, waiting = ticks[3], ticks[4]
    return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """Of this process and of those of its children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


class MachineUse:
    """From when it is made on."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.busy = busy_seconds()
        self.own = own_seconds()

    def seconds(self) -> float:
        return time.monotonic() - self.began

    def processor_seconds(self) -> float:
        return own_seconds() - self.own

    def share_of_others(self) -> float:
        """Of the processors' time, from 0 to 1."""
        others = busy_seconds() - self.busy - self.processor_seconds()
        return max(0.0, others / (self.seconds() * (os.cpu_count() or 1)))
