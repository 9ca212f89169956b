"""Lays kernels, copies and memsets so that each stretch of a script is booked to its account."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import event_names
import trace_event as te
from ledger_script import UNLINKED, Busy, Gap, Script, Segment
from trace_styles import Style

# Where several run at once, the lowest decides. Copies of input data never run beside other copies here.
PRIORITY = {
    "matrix": 0,
    "other_compute": 1,
    "exposed_communication": 2,
    "exposed_copy": 3,
    "data_copy": 3,
}
FIRST_STREAM = {
    "matrix": 7,
    "other_compute": 7,
    "exposed_communication": 20,
    "exposed_copy": 40,
    "data_copy": 40,
}


@dataclass(slots=True)
class Launch:
    """One call that puts work on the device; a graph launch is shared by its nodes."""

    what: str  # key of Style.calls: "launch kernel", ...
    operators: list[str] = field(default_factory=list)  # around the call, outermost first
    in_data_loading: bool = False
    on_step_thread: bool = False
    correlation: int = 0
    external_id: int = 0
    time: int | None = None
    thread: int = 0  # tid of the caller


@dataclass(slots=True)
class Work:
    account: str
    start: int
    end: int
    name: str = ""
    kind: str = te.KERNEL
    launch: Launch | None = None
    collective: bool = False  # says so in its metadata
    stream: int = 0


class DeviceLayer:
    def __init__(self, rng: random.Random, script: Script, style: Style) -> None:
        self.rng = rng
        self.grain = style.grain
        self.style = style
        self.script = script
        self.work: list[Work] = []
        self.firsts: dict[int, Work] = {}  # by index of the Busy item: what ends the gap before
        self.graph: Launch | None = None

    def inside(self, segment: Segment) -> int | None:
        """A time inside a stretch, not at its ends."""
        grains = segment.length // self.grain
        if grains < 2:
            return None
        return segment.start + self.rng.randrange(1, grains) * self.grain

    def lay_long(self, busy: Busy, works: list[Work]) -> set[int]:
        """Work that lasts over several stretches, or runs hidden beside work that counts more. Gives the stretches of
        its own account that need nothing else."""
        segments, rng = busy.segments, self.rng
        covered: set[int] = set()
        starts_taken = False
        for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
            first = rng.randrange(len(segments))
            last = min(len(segments) - 1, first + rng.choice((0, 0, 1, 2, 4)))
            account = rng.choice(list(PRIORITY))
            run = range(first, last + 1)
            if any(
                segments[i].account != account
                and PRIORITY[segments[i].account] >= PRIORITY[account]
                for i in run
            ):
                continue
            own_first = segments[first].account == account
            own_last = segments[last].account == account
            if own_last and last == len(segments) - 1 and busy.ends_in_graph:
                continue
            start = segments[first].start if own_first else self.inside(segments[first])
            end = segments[last].end if own_last else self.inside(segments[last])
            if start is None or end is None or start >= end:
                continue
            if start == busy.start:
                if starts_taken:
                    continue
                starts_taken = True
            works.append(Work(account, start, end))
            covered |= {i for i in run if segments[i].account == account}
        return covered

    def tile(self, account: str, start: int, end: int, works: list[Work]) -> None:
        """Fills [start, end) with one or more pieces of work, one after the other or overlapping."""
        grains = (end - start) // self.grain
        count = min(self.rng.choice((1, 1, 1, 2, 3)), grains)
        cuts = sorted(self.rng.sample(range(1, grains), count - 1)) if count > 1 else []
        bounds = [start, *(start + cut * self.grain for cut in cuts), end]
        for left, right in zip(bounds, bounds[1:]):
            overlaps = count > 1 and self.rng.random() < 0.4
            if overlaps and right < end:
                right += self.rng.randint(0, (end - right) // self.grain) * self.grain
            works.append(Work(account, left, right))

    def lay_busy(self, index: int, busy: Busy) -> None:
        works: list[Work] = []
        covered = self.lay_long(busy, works)
        last_work: Work | None = None
        for i, segment in enumerate(busy.segments):
            if i in covered:
                continue
            end = segment.end
            if busy.ends_in_graph and i == len(busy.segments) - 1:
                middle = self.inside(segment)
                if middle is not None and self.rng.random() < 0.7:
                    end = middle
                    last_work = Work(segment.account, middle, segment.end)
                    works.append(last_work)
                else:
                    last_work = Work(segment.account, segment.start, segment.end)
                    works.append(last_work)
                    continue
            self.tile(segment.account, segment.start, end, works)
        first = next(work for work in works if work.start == busy.start)
        limit = last_work.start if last_work else busy.segments[0].end
        if self.rng.random() < 0.15 and first.end < min(limit, busy.segments[0].end):
            # a second one starts at the same time, but ends later: the first counts as what ended the gap
            works.append(
                Work(busy.segments[0].account, busy.start, min(limit, busy.segments[0].end))
            )
        self.firsts[index] = first
        self.choose_launches(index, works, first, last_work)
        self.work += works

    def how_before(self, index: int) -> str:
        gap = self.script.items[index - 1]
        assert isinstance(gap, Gap)
        return gap.how

    def choose_launches(
        self, index: int, works: list[Work], first: Work, last: Work | None
    ) -> None:
        busy = self.script.items[index]
        assert isinstance(busy, Busy)
        rng = self.rng
        is_whole_graph = False
        if busy.starts_in_graph:
            assert self.graph
            first.launch = self.graph
            is_whole_graph = rng.random() < 0.5
        if last:
            if not (last is first and busy.starts_in_graph):
                if not (busy.starts_in_graph and rng.random() < 0.5):
                    self.graph = Launch("launch graph")
                last.launch = self.graph
        elif is_whole_graph and rng.random() < 0.5:
            for work in works:  # the graph has more nodes after the gap
                if work.account != "data_copy" and rng.random() < 0.5:
                    work.launch = self.graph
        is_unlinked = index > 0 and self.how_before(index) == UNLINKED
        for work in works:
            self.describe(work, work is first, work is first and is_unlinked)
        if not last:
            self.graph = None

    def describe(self, work: Work, is_first: bool, is_unlinked: bool) -> None:
        """Gives the work a name and, unless it has one, a launch (or none) that make up its account."""
        rng = self.rng
        in_graph = work.launch is not None
        by_operator = not in_graph and not is_unlinked and rng.random() < 0.5
        if work.account == "matrix":
            names = event_names.MATRIX_KERNELS
            operators = self.around(event_names.OTHER_OPERATORS)
            if by_operator:
                names = event_names.MATRIX_KERNELS + event_names.OTHER_KERNELS
                operators = [*self.outer(), rng.choice(event_names.MATRIX_OPERATORS)]
            work.name = rng.choice(names)
        elif work.account == "other_compute":
            work.name = rng.choice(event_names.OTHER_KERNELS)
            operators = self.around(event_names.OTHER_OPERATORS)
        elif work.account == "exposed_communication":
            operators = self.around(["c10d::allreduce_", "record_param_comms"])
            work.name = rng.choice(event_names.COMMUNICATION_KERNELS)
            work.collective = self.style.has_collective_metadata and rng.random() < 0.5
            if work.collective and rng.random() < 0.3:
                work.name = event_names.PLAIN_COLLECTIVE_KERNEL
        else:
            self.describe_copy(work)
            operators = self.around(["aten::copy_", "aten::fill_"])
        if in_graph:
            return
        can_be_unlinked = not is_first and work.account != "data_copy" and not by_operator
        if is_unlinked or (can_be_unlinked and rng.random() < 0.05):
            return
        what = {te.KERNEL: "kernel", te.MEMCPY: "copy", te.MEMSET: "memset"}[work.kind]
        work.launch = Launch(
            "launch " + what,
            operators,
            in_data_loading=work.account == "data_copy",
            on_step_thread=work.name in event_names.INPUT_COPIES and work.account == "exposed_copy",
        )

    def describe_copy(self, work: Work) -> None:
        rng = self.rng
        work.kind = te.MEMCPY
        if work.account == "data_copy":
            work.name = rng.choice(event_names.INPUT_COPIES)
        elif rng.random() < 0.3:
            work.kind, work.name = te.MEMSET, event_names.MEMSET
        elif work.launch is None and rng.random() < 0.4:
            work.name = rng.choice(event_names.INPUT_COPIES)
        else:
            work.name = rng.choice(event_names.OTHER_COPIES)

    def outer(self) -> list[str]:
        return [self.rng.choice(event_names.OUTER_OPERATORS)] if self.rng.random() < 0.4 else []

    def around(self, operators: list[str]) -> list[str]:
        if self.rng.random() < 0.4:
            return []
        return [*self.outer(), self.rng.choice(operators)]

    def start_graphs_now_and_then(self) -> None:
        """Some of what ends a gap is the first node of a graph of its own."""
        for index, work in self.firsts.items():
            busy = self.script.items[index]
            assert isinstance(busy, Busy)
            is_free = (
                not busy.starts_in_graph and work.launch and work.launch.what != "launch graph"
            )
            by_name = work.name in event_names.MATRIX_KERNELS or work.account != "matrix"
            if is_free and by_name and work.account != "data_copy" and self.rng.random() < 0.1:
                if work.name not in event_names.INPUT_COPIES:
                    work.launch = Launch("launch graph")

    def give_streams(self) -> None:
        """Work of one stream never overlaps."""
        busy_until: dict[str, list[int]] = {"kernel": [], "comm": [], "copy": []}
        family = {
            "matrix": "kernel",
            "other_compute": "kernel",
            "exposed_communication": "comm",
            "exposed_copy": "copy",
            "data_copy": "copy",
        }
        for work in self.work:
            ends = busy_until[family[work.account]]
            for i, end in enumerate(ends):
                if end <= work.start:
                    break
            else:
                i = len(ends)
                ends.append(0)
            ends[i] = work.end
            work.stream = FIRST_STREAM[work.account] + i

    def lay(self) -> None:
        for index, item in enumerate(self.script.items):
            if isinstance(item, Busy):
                self.lay_busy(index, item)
        self.start_graphs_now_and_then()
        self.work.sort(key=lambda work: (work.start, work.end))
        self.give_streams()

    def first_after(self, gap_index: int) -> Work | None:
        return self.firsts.get(gap_index + 1)
