"""The host threads of a trace: what is fixed by a gap that the thread explains, and what is free for launches and noise."""

from __future__ import annotations

import bisect
import random
from dataclasses import dataclass, field


@dataclass
class FreeTime:
    end: int
    cursor: int  # free from here on


@dataclass
class HostThread:
    tid: int
    name: str
    claims: list[tuple[int, int]] = field(default_factory=list)
    free: list[FreeTime] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    lead: int = 0  # before this time everything is free

    def claim(self, start: int, end: int) -> None:
        """Nothing but what explains the gap may happen in this time. Claims come in the order of time."""
        self.claims.append((start, end))

    def find_free_time(self, start: int, end: int) -> None:
        """To be called once, after the last claim; `start` and `end` of the whole script."""
        self.lead = min([start] + [claim[0] for claim in self.claims])
        time = self.lead
        for claim_start, claim_end in self.claims:
            if claim_start > time:
                self.free.append(FreeTime(claim_start, time))
            time = max(time, claim_end)
        if end > time:
            self.free.append(FreeTime(end, time))
        self.starts = [free.cursor for free in self.free]

    def take(self, length: int, deadline: int, rng: random.Random) -> int:
        """Takes `length` of free time that ends by `deadline`, and says where it starts."""
        index = bisect.bisect_left(self.starts, deadline) - 1 - rng.choice((0, 0, 0, 1, 2))
        for free in (self.free[i] for i in range(index, max(-1, index - 4), -1)):
            if free.cursor + length <= min(free.end, deadline):
                start = free.cursor
                free.cursor += length
                return start
        self.lead -= length
        return self.lead
