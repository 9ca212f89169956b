"""The script of a trace: its accounts are chosen here, at random, before there is any event.

A trace is a row of items, Busy and Gap in turn. Steps are windows laid over that row: a boundary of a window may lie inside
an item, so a kernel may run from one step into the next, and a gap may last over several steps. Times are integer
nanoseconds, all multiples of the style's grain (1000 where a style writes whole microseconds).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

# The keys of src/ledger/account_list.def, in its order.
WORK_ACCOUNTS = ["matrix", "other_compute", "exposed_communication", "exposed_copy", "data_copy"]
HOST_ACCOUNTS = [  # in the order of their priority
    "idle_data",
    "idle_compilation",
    "idle_sync",
    "idle_allocator",
    "idle_garbage",
    "idle_runtime",
    "idle_operator",
    "idle_annotation",
    "idle_python",
    "idle_nothing",
]
QUEUE_ACCOUNTS = ["idle_launch_latency", "idle_queue_gap", "idle_queued_wait", "idle_graph"]
ACCOUNTS = WORK_ACCOUNTS + HOST_ACCOUNTS + QUEUE_ACCOUNTS

QUEUE_GAP_LIMIT_NS = 10_000

# How a gap ends, that is: when the work that ends it was launched.
QUEUED = "queued"  # before the gap began
GRAPH = "graph"  # it is a node of the graph launch that the work before the gap belongs to
LIVE = "live"  # during the gap
LATE = "late"  # after the gap's end: the call's time lies behind its kernel's
UNLINKED = "unlinked"  # by no call in the trace
NEVER = "never"  # there is no more work


@dataclass
class Segment:
    """A stretch of time in which the device works, all of it booked to one account."""

    account: str
    length: int
    window: int | None  # the step it lies in; None between steps
    start: int = 0

    @property
    def end(self) -> int:
        return self.start + self.length


@dataclass
class Busy:
    segments: list[Segment] = field(default_factory=list)
    starts_in_graph: bool = False  # its first work is a node of the graph before the gap
    ends_in_graph: bool = False  # its last work is one of the graph that goes on after the gap

    @property
    def start(self) -> int:
        return self.segments[0].start

    @property
    def end(self) -> int:
        return self.segments[-1].end


@dataclass
class Part:
    """The part of a gap that lies in one window, or between two."""

    window: int | None
    length: int
    pieces: list[tuple[str, int]] = field(default_factory=list)  # account and length
    start: int = 0

    @property
    def end(self) -> int:
        return self.start + self.length


@dataclass
class Gap:
    parts: list[Part] = field(default_factory=list)
    how: str = QUEUED
    launch_time: int | None = None  # LIVE: when the call starts

    @property
    def start(self) -> int:
        return self.parts[0].start

    @property
    def end(self) -> int:
        return self.parts[-1].end


@dataclass
class Window:
    number: int
    start: int = 0
    end: int = 0
    accounts: dict[str, int] = field(default_factory=dict)

    def add(self, account: str, length: int) -> None:
        self.accounts[account] = self.accounts.get(account, 0) + length


@dataclass
class Script:
    items: list[Busy | Gap]
    windows: list[Window]
    between_steps: int = 0

    @property
    def start(self) -> int:
        return self.items[0].start

    @property
    def end(self) -> int:
        return self.items[-1].end


class ScriptWriter:
    def __init__(
        self, rng: random.Random, grain: int, host_accounts: list[str], blocks: int
    ) -> None:
        self.rng = rng
        self.grain = grain
        self.host_accounts = host_accounts
        self.blocks = blocks
        self.items: list[Busy | Gap] = [Busy() if rng.random() < 0.5 else Gap()]

    def length(self, longest: int = 2_000_000) -> int:
        """From one grain to `longest`, small ones often, and often right at the 10 us that part two accounts."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.05:
            length = self.grain
        elif kind < 0.12:
            length = QUEUE_GAP_LIMIT_NS + rng.choice((-1, 0, 1)) * self.grain
        elif kind < 0.5:
            length = rng.randint(1_000, 30_000)
        elif kind < 0.95:
            length = rng.randint(1_000, 300_000)
        else:
            length = rng.randint(100_000, longest)
        return max(self.grain, length // self.grain * self.grain)

    def add_time(self, window: int | None) -> None:
        """Makes the open item longer."""
        item = self.items[-1]
        if isinstance(item, Gap):
            length = self.length()
            if item.parts and item.parts[-1].window == window:
                item.parts[-1].length += length
            else:
                item.parts.append(Part(window, length))
            return
        for _ in range(self.rng.choice((1, 1, 2, 3, 5))):
            account = self.rng.choices(WORK_ACCOUNTS, (5, 5, 3, 2, 1))[0]
            item.segments.append(Segment(account, self.length(500_000), window))

    def switch(self) -> None:
        """Closes the open item, if there is anything in it, and opens one of the other kind."""
        item = self.items[-1]
        if isinstance(item, Gap):
            if item.parts:
                self.items.append(Busy())
        elif item.segments:
            self.items.append(Gap())

    def add_stretch(self, window: int | None, count: int) -> None:
        for i in range(count):
            self.add_time(window)
            if i + 1 < count:
                self.switch()
        if self.rng.random() < 0.5:
            self.switch()

    def write_items(self, step_count: int, has_time_between: bool) -> None:
        rng = self.rng
        if rng.random() < 0.5:
            self.add_stretch(None, rng.randint(1, 4))
        for step in range(step_count):
            self.add_stretch(step, rng.randint(1, 2 * self.blocks))
            if has_time_between and step + 1 < step_count and rng.random() < 0.5:
                self.add_stretch(None, rng.randint(1, 3))
        if rng.random() < 0.5:
            self.add_stretch(None, rng.randint(1, 3))
        if isinstance(self.items[-1], Busy) and not self.items[-1].segments:
            self.items.pop()
        elif isinstance(self.items[-1], Gap) and not self.items[-1].parts:
            self.items.pop()
        if not any(isinstance(item, Busy) for item in self.items):
            self.items.append(Busy([Segment("matrix", self.length(), None)]))

    def set_times(self, start: int) -> None:
        for item in self.items:
            for part in item.segments if isinstance(item, Busy) else item.parts:
                part.start = start
                start = part.end

    def choose_how(self, index: int) -> str:
        if index + 1 == len(self.items):
            return NEVER
        previous = self.items[index - 1] if index else None
        following = self.items[index + 1]
        assert isinstance(following, Busy)
        is_input = following.segments[0].account == "data_copy"
        kinds = {QUEUED: 6, LIVE: 10}
        if index and not is_input:
            assert isinstance(previous, Busy)
            before = self.items[index - 2] if index > 1 else None
            is_unlinked = isinstance(before, Gap) and before.how == UNLINKED
            if previous.segments[-1].account != "data_copy" and not is_unlinked:
                kinds[GRAPH] = 3
        if following.end - following.start >= 16 * self.grain:
            kinds[LATE] = 1
        if not is_input:
            kinds[UNLINKED] = 1
        return self.rng.choices(list(kinds), list(kinds.values()))[0]

    def split(self, length: int) -> list[tuple[str, int]]:
        """What a host thread does for a while: some activities one after the other."""
        cuts = min(self.rng.choice((0, 0, 1, 1, 2, 3, 6)), length // self.grain - 1)
        inner = {self.rng.randrange(1, length // self.grain) for _ in range(cuts)}
        bounds = [0, *sorted(inner), length // self.grain]
        return [
            (self.rng.choice(self.host_accounts), (b - a) * self.grain)
            for a, b in zip(bounds, bounds[1:])
        ]

    @staticmethod
    def queued(part: Part) -> list[tuple[str, int]]:
        is_short = part.length < QUEUE_GAP_LIMIT_NS
        return [("idle_queue_gap" if is_short else "idle_queued_wait", part.length)]

    def fill_live(self, gap: Gap) -> None:
        launched_in = self.rng.randrange(len(gap.parts))
        for i, part in enumerate(gap.parts):
            if i < launched_in:
                part.pieces = self.split(part.length)
            elif i > launched_in:
                part.pieces = self.queued(part)
            else:
                grains = part.length // self.grain
                latency = min(grains, self.rng.choice((1, grains, self.rng.randint(1, 20_000))))
                latency = max(1, latency) * self.grain
                if part.length > latency:
                    part.pieces = self.split(part.length - latency)
                part.pieces.append(("idle_launch_latency", latency))
                gap.launch_time = part.end - latency

    def fill_gap(self, index: int) -> None:
        gap = self.items[index]
        assert isinstance(gap, Gap)
        gap.how = self.choose_how(index)
        if gap.how == LIVE:
            self.fill_live(gap)
            return
        for part in gap.parts:
            if gap.how == QUEUED:
                part.pieces = self.queued(part)
            elif gap.how == GRAPH:
                part.pieces = [("idle_graph", part.length)]
            else:
                part.pieces = self.split(part.length)
        if gap.how == GRAPH:
            before, after = self.items[index - 1], self.items[index + 1]
            assert isinstance(before, Busy) and isinstance(after, Busy)
            before.ends_in_graph = after.starts_in_graph = True

    def book(self, step_count: int, first_number: int) -> Script:
        windows = [Window(first_number + i) for i in range(step_count)]
        seen: set[int] = set()
        for item in self.items:
            for part in item.segments if isinstance(item, Busy) else item.parts:
                if part.window is None:
                    continue
                window = windows[part.window]
                if part.window not in seen:
                    seen.add(part.window)
                    window.start = part.start
                window.end = part.end
                if isinstance(part, Segment):
                    window.add(part.account, part.length)
                else:
                    for account, length in part.pieces:
                        window.add(account, length)
        between = sum(b.start - a.end for a, b in zip(windows, windows[1:]))
        return Script(self.items, windows, between)


@dataclass(frozen=True)
class Plan:
    steps: int
    blocks: int  # how long a step is, in stretches of work and gaps after them
    has_step_marks: bool = True  # else only the optimizer tells where a step begins


def write_script(rng: random.Random, plan: Plan, grain: int, host_accounts: list[str]) -> Script:
    """Chooses everything. `host_accounts`: those of HOST_ACCOUNTS that the style can show."""
    writer = ScriptWriter(rng, grain, host_accounts, plan.blocks)
    writer.write_items(plan.steps, has_time_between=plan.has_step_marks)
    start = rng.randint(10**9, 10**12) // grain * grain
    writer.set_times(start)
    for index, item in enumerate(writer.items):
        if isinstance(item, Gap):
            writer.fill_gap(index)
    return writer.book(plan.steps, rng.choice((0, 1, 5, 550, 1009)) if plan.has_step_marks else 0)
