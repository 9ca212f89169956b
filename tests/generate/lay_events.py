"""Lays the events of a whole trace from its script: device work, launches, what the host did in the gaps, and noise."""

from __future__ import annotations

import random
from typing import Any

import event_names
import trace_event as te
from device_work import DeviceLayer, Launch, Work
from host_threads import HostThread
from ledger_script import (
    HOST_ACCOUNTS,
    LATE,
    LIVE,
    NEVER,
    QUEUED,
    UNLINKED,
    Busy,
    Gap,
    Script,
)
from trace_event import Event, Trace
from trace_styles import Style

RANK = {account: rank for rank, account in enumerate(HOST_ACCOUNTS)}
EXPLAINED = {LIVE, LATE, UNLINKED, NEVER}

Piece = tuple[str, int, int]  # account, start, end


class EventLayer:
    def __init__(
        self, rng: random.Random, script: Script, style: Style, has_step_marks: bool
    ) -> None:
        self.rng = rng
        self.script = script
        self.has_step_marks = has_step_marks
        self.style = style
        self.grain = style.grain
        self.events: list[Event] = []
        self.pid = rng.randint(1000, 60000)
        self.device = rng.choice((0, 0, 0, 1, 7))
        self.step_thread = HostThread(self.pid, "python")
        self.threads = [self.step_thread]
        for i, name in enumerate(("pt_autograd_0", "pt_main_thread")[: rng.randint(0, 2)]):
            self.threads.append(HostThread(self.pid + 100 + i, name))
        # Ids past 2^53 are not all whole numbers for readers that hold them as doubles.
        self.next_correlation = rng.choice((1, 34_000, 2**53 + 1))
        self.next_external_id = rng.choice((1, 500, 2**53 + 1))
        self.layer = DeviceLayer(rng, script, style)
        self.extra_work = 0  # of no length
        self.deadlines: dict[int, int] = {}  # by identity of the work: its launch comes before this

    def length(self, most: int) -> int:
        return self.rng.randint(1, max(1, most // self.grain)) * self.grain

    # --- single events

    def correlation(self) -> int:
        self.next_correlation += 1
        return self.next_correlation

    def add_call(
        self, thread: HostThread, kind: str, name: str, start: int, end: int, correlation: int
    ) -> None:
        args: dict[str, Any] = {"cbid": 211, "correlation": correlation}
        self.events.append(Event(kind, name, start, end - start, self.pid, thread.tid, args))

    def add_range(self, thread: HostThread, kind: str, name: str, start: int, end: int) -> int:
        """An operator, annotation or Python frame. Gives its external id."""
        args: dict[str, Any] = {}
        external_id = 0
        if kind == te.PYTHON:
            args = {"Python parent id": None, "Python id": len(self.events)}
        else:
            self.next_external_id += 1
            external_id = self.next_external_id
            args[self.style.external_id] = external_id
            if kind == te.OPERATOR and self.rng.random() < 0.3:
                args[self.style.input_dims] = [[8, 64], [64, 64]]
                args["Input type"] = ["float", "float"]
            if self.rng.random() < 0.02:
                args["Call stack"] = event_names.MISLEADING_STACK
        self.events.append(Event(kind, name, start, end - start, self.pid, thread.tid, args))
        return external_id

    def add_activity(self, thread: HostThread, account: str, start: int, end: int) -> None:
        """An event that, alone on its thread, books idle time to `account`."""
        rng, style = self.rng, self.style
        if end <= start or account == "idle_nothing":
            return
        if account in ("idle_sync", "idle_allocator", "idle_runtime"):
            what = account.removeprefix("idle_")
            kind, calls = te.RUNTIME, style.calls
            if style.driver_calls and rng.random() < 0.2:
                kind, calls = te.DRIVER, style.driver_calls
            self.add_call(thread, kind, rng.choice(calls[what]), start, end, self.correlation())
            return
        kind = te.OPERATOR
        names = event_names.OPERATORS
        if account == "idle_data":
            kind, names = self.data_range()
        elif account == "idle_compilation":
            kind = rng.choice((te.OPERATOR, te.ANNOTATION))
            names = event_names.COMPILATIONS
        elif account == "idle_annotation":
            kind, names = te.ANNOTATION, event_names.ANNOTATIONS
            if not self.has_step_marks:
                names = [name for name in names if not name.startswith("Optimizer.step")]
        elif account == "idle_python":
            kind, names = te.PYTHON, event_names.PYTHON_FUNCTIONS
        elif account == "idle_garbage":
            kind = rng.choice((te.PYTHON, te.ANNOTATION))
            names = [event_names.GARBAGE_COLLECTIONS[kind == te.ANNOTATION]]
        self.add_range(thread, kind, rng.choice(names), start, end)

    def data_range(self) -> tuple[str, list[str]]:
        if self.style.has_annotations and self.rng.random() < 0.7:
            return te.ANNOTATION, [
                *event_names.DATA_RANGES,
                *event_names.DATA_RANGES_SINCE_ANNOTATIONS,
            ]
        return te.OPERATOR, event_names.DATA_RANGES

    # --- what a thread does in a gap

    def lower(self, account: str, strictly: bool) -> list[str]:
        """Activities that do not show beside `account`."""
        return [
            other
            for other in self.style.host_accounts()
            if RANK[other] > RANK[account] - (not strictly) and other != "idle_nothing"
        ]

    def lay_pieces(self, thread: HostThread, pieces: list[Piece], early: int) -> None:
        """Lays activities so that each piece shows its account. The first event may begin up to `early` ns before."""
        rng = self.rng
        if not pieces:
            return
        start, end = pieces[0][1], pieces[-1][2]
        early = rng.randint(0, early // self.grain) * self.grain
        lowest = max((piece[0] for piece in pieces), key=RANK.__getitem__)
        if len(pieces) > 1:
            covers = [a for a in self.lower(lowest, False) if RANK[a] >= RANK["idle_operator"]]
            if lowest != "idle_nothing" and covers and rng.random() < 0.5:
                self.add_activity(thread, rng.choice(covers), start - early, end)
            middle = rng.randrange(1, len(pieces))
            self.lay_pieces(thread, pieces[:middle], early)
            self.lay_pieces(thread, pieces[middle:], 0)
            return
        self.add_activity(thread, lowest, start - early, end)
        hidden = self.lower(lowest, True)
        grains = (end - start) // self.grain
        if lowest != "idle_nothing" and hidden and grains > 4 and rng.random() < 0.3:
            inner = sorted(rng.sample(range(grains), 2))
            self.add_activity(
                thread,
                rng.choice(hidden),
                start + inner[0] * self.grain,
                start + inner[1] * self.grain,
            )

    def explained_pieces(self, gap: Gap) -> list[Piece]:
        """The pieces that a host thread explains: all before the launch."""
        pieces: list[Piece] = []
        for part in gap.parts:
            time = part.start
            for account, length in part.pieces:
                if account not in RANK or (gap.launch_time and time >= gap.launch_time):
                    return pieces
                pieces.append((account, time, time + length))
                time += length
        return pieces

    def lay_gap(self, index: int, gap: Gap) -> None:
        if gap.how not in EXPLAINED:
            return
        rng = self.rng
        first = self.layer.first_after(index)
        launch = first.launch if first else None
        thread = self.step_thread
        if launch and not launch.on_step_thread:
            thread = rng.choice(self.threads)
        before = self.margin(index - 1)
        after = self.margin(index + 1)
        thread.claim(gap.start - before, gap.end + after)
        pieces = self.explained_pieces(gap)
        if thread is not self.step_thread:
            self.step_thread.claim(gap.start, gap.end)
            pieces = self.move_some_data_loading(pieces, gap)
        if not launch:
            self.lay_pieces(thread, pieces, before)
            return
        assert first
        if gap.how == LIVE:
            assert gap.launch_time is not None
            if launch.in_data_loading and thread is not self.step_thread and rng.random() < 0.5:
                launch.in_data_loading = False  # the step's own thread loads data, and that counts
                kind, names = self.data_range()
                end = gap.launch_time + self.length(gap.end - gap.launch_time)
                name = rng.choice(names)
                self.add_range(self.step_thread, kind, name, gap.launch_time, end)
            self.lay_live_launch(thread, launch, pieces, (gap.launch_time, gap.end + after, before))
        else:
            self.lay_pieces(thread, pieces, before)
            at = first.start + rng.randint(0, (after // self.grain) // 2) * self.grain
            self.lay_launch(thread, launch, (at, at, gap.end + after))

    def margin(self, index: int) -> int:
        """How far a gap's host events may reach into the work beside it."""
        if index < 0 or index >= len(self.script.items):
            return 0
        busy = self.script.items[index]
        assert isinstance(busy, Busy)
        return (busy.end - busy.start) // (4 * self.grain) * self.grain

    def move_some_data_loading(self, pieces: list[Piece], gap: Gap) -> list[Piece]:
        """Data loading on the step's own thread counts too, nothing else there does."""
        rng = self.rng
        moved = []
        has_moved = False
        for account, start, end in pieces:
            if account == "idle_data" and rng.random() < 0.5:
                self.add_activity(self.step_thread, account, start, end)
                account = rng.choice(self.style.host_accounts())
                has_moved = True
            moved.append((account, start, end))
        if not has_moved and rng.random() < 0.5:
            others = [a for a in self.style.host_accounts() if a != "idle_data"]
            self.add_activity(self.step_thread, rng.choice(others), gap.start, gap.end)
        return moved

    def lay_live_launch(
        self, thread: HostThread, launch: Launch, pieces: list[Piece], times: tuple[int, int, int]
    ) -> None:
        """`times`: the call, the latest end of what is around it, and how early the first piece may begin."""
        call, limit, early = times
        wanted = "idle_data" if launch.in_data_loading else "idle_operator"
        start = call
        if (
            pieces
            and pieces[-1][0] == wanted
            and (launch.in_data_loading or self.rng.random() < 0.8)
        ):
            start = pieces[-1][1]
            pieces = pieces[:-1]
            if not launch.in_data_loading and not launch.operators:
                launch.operators = [self.rng.choice(event_names.OPERATORS)]
        self.lay_pieces(thread, pieces, early)
        self.lay_launch(thread, launch, (start, call, limit))

    # --- launches

    def lay_launch(self, thread: HostThread, launch: Launch, times: tuple[int, int, int]) -> None:
        """`times`: the start of what is around the call, the call, and the latest end of all."""
        start, call, limit = times
        end = call + self.length(min(limit - call, 12_000))
        outer_end = min(limit, end + self.length(3_000))
        if launch.in_data_loading:
            kind, names = self.data_range()
            self.add_range(thread, kind, self.rng.choice(names), start, outer_end)
        if start == call and outer_end == end:
            launch.operators = launch.operators[
                -1:
            ]  # which of two equal ones is inside is not told
        for depth, name in enumerate(launch.operators):
            is_innermost = depth + 1 == len(launch.operators)
            until = end if is_innermost else outer_end
            launch.external_id = self.add_range(thread, te.OPERATOR, name, start, until)
            start += min(self.grain, call - start)
        names = self.style.calls[launch.what]
        kind = te.RUNTIME
        if launch.what == "launch kernel" and self.style.driver_calls and self.rng.random() < 0.2:
            kind, names = te.DRIVER, self.style.driver_calls[launch.what]
        launch.correlation = self.correlation()
        launch.time, launch.thread = call, thread.tid
        self.add_call(thread, kind, self.rng.choice(names), call, end, launch.correlation)
        has_room = self.style.driver_calls and end - call > self.grain
        if kind == te.RUNTIME and has_room and self.rng.random() < 0.1:
            # the driver's part of the call, with the same correlation: the call is what launches
            inner = call + self.rng.randint(1, (end - call) // self.grain - 1) * self.grain
            name = self.style.driver_calls["launch kernel"][0]
            self.add_call(thread, te.DRIVER, name, inner, end, launch.correlation)

    def lay_other_launches(self) -> None:
        for work in self.layer.work:
            launch = work.launch
            if not launch or launch.time is not None:
                continue
            thread = self.step_thread
            if not launch.on_step_thread:
                thread = self.rng.choice(self.threads)
            length = self.length(15_000) + 4 * self.grain
            deadline = self.deadlines.get(id(work), work.start)
            start = thread.take(length, deadline, self.rng)
            call = start + self.rng.randint(0, 2) * self.grain
            self.lay_launch(thread, launch, (start, call, start + length))

    # --- the rest

    def lay_work(self) -> None:
        for work in self.layer.work:
            args: dict[str, Any] = {"device": self.device, "context": 1, "stream": work.stream}
            if work.launch:
                args["correlation"] = work.launch.correlation
                if work.launch.external_id:
                    args[self.style.external_id] = work.launch.external_id
            else:
                args["correlation"] = self.correlation()
            if work.kind == te.KERNEL:
                args |= {"grid": [80, 1, 1], "block": [128, 1, 1], "registers per thread": 32}
                args["est. achieved occupancy %"] = self.rng.randint(0, 100)
                if work.collective:
                    args |= {
                        "Collective name": "allreduce",
                        "In msg nelems": 2049000,
                        "Out msg nelems": 2049000,
                        "Group size": 2,
                        "dtype": "Float",
                        "Process Group Name": "0",
                        "Process Group Ranks": "[0, 1]",
                    }
            else:
                args["bytes"] = 4096
            self.events.append(
                Event(
                    work.kind,
                    work.name,
                    work.start,
                    work.end - work.start,
                    self.device,
                    work.stream if self.grain == 1 else f"stream {work.stream}",
                    args,
                )
            )
            if work.launch and self.rng.random() < 0.3:
                self.add_flow(work, work.launch)

    def add_flow(self, work: Work, launch: Launch) -> None:
        assert launch.time is not None
        ends = (
            ("s", launch.time, self.pid, launch.thread),
            ("f", work.start, self.device, work.stream),
        )
        for phase, time, pid, tid in ends:
            self.events.append(
                Event(
                    te.FLOW,
                    self.style.categories[te.FLOW],
                    time,
                    0,
                    pid,
                    tid,
                    phase=phase,
                    identity=launch.correlation,
                )
            )

    def lay_optimizer_marks(self) -> None:
        """A step lasts from one to the next."""
        times = [window.start for window in self.script.windows] + [self.script.windows[-1].end]
        thread = self.step_thread.tid
        for time in times:
            self.events.append(
                Event(te.ANNOTATION, event_names.OPTIMIZER_MARK, time, 0, self.pid, thread, {})
            )

    def lay_steps(self) -> None:
        if not self.has_step_marks:
            self.lay_optimizer_marks()
            return
        for window in self.script.windows:
            name = f"ProfilerStep#{window.number}"
            self.events.append(
                Event(
                    te.ANNOTATION,
                    name,
                    window.start,
                    window.end - window.start,
                    self.pid,
                    self.step_thread.tid,
                    {self.style.external_id: 1},
                )
            )
            if te.DEVICE_ANNOTATION in self.style.categories and self.rng.random() < 0.5:
                shift = (
                    self.rng.randint(-20, 20) * self.grain
                )  # a copy of the range on the device: no step
                args = {"device": self.device, "stream": 7}
                self.events.append(
                    Event(
                        te.DEVICE_ANNOTATION,
                        name,
                        window.start + shift,
                        self.length(window.end - window.start),
                        self.device,
                        7,
                        args,
                    )
                )

    def lay_noise(self) -> None:
        """Host events where no gap is explained by the thread, and what never explains anything."""
        rng = self.rng
        for thread in self.threads:
            for free in thread.free:
                room = free.end - free.cursor
                if room < 8 * self.grain or rng.random() < 0.6:
                    continue
                start = free.cursor + rng.randint(0, room // self.grain // 2) * self.grain
                account = rng.choice(self.style.host_accounts())
                end = start + self.length(free.end - start)
                self.lay_pieces(thread, [(account, start, end)], 0)
        span = self.script.end - self.script.start
        for _ in range(rng.randint(0, 12)):
            time = self.script.start + rng.randrange(span // self.grain) * self.grain
            if te.OVERHEAD in self.style.categories:
                name = rng.choice(event_names.OVERHEADS)
                length = self.length(200_000)
                self.events.append(Event(te.OVERHEAD, name, time, length, -1, 0, {}))
            memory = {"Device Type": 1, "Device Id": 0, "Bytes": -512, "Total Allocated": 4096}
            tid = self.step_thread.tid
            self.events.append(
                Event(te.NO_KIND, "[memory]", time, 0, self.pid, tid, memory, phase="i")
            )
            self.events.append(
                Event(te.NO_KIND, "GPU 0 Utilization", time, 0, 0, 0, {"util": 0.5}, phase="C")
            )
        self.lay_other_device()
        self.lay_work_of_no_length()

    def lay_work_of_no_length(self) -> None:
        """Kernels of 0 ns, inside other work and inside gaps: they are counted, but fill no time and end no gap."""
        for item in self.script.items:
            parts = item.segments if isinstance(item, Busy) else item.parts
            if len(parts) > 1 and isinstance(item, Gap):
                continue  # it would be the next work after the step's end
            start, end = item.start // self.grain, item.end // self.grain
            if end - start < 2 or self.rng.random() < 0.95:
                continue
            time = self.rng.randrange(start + 1, end) * self.grain
            args = {"device": self.device, "stream": 99, "correlation": self.correlation()}
            name = self.rng.choice(event_names.OTHER_KERNELS)
            self.events.append(Event(te.KERNEL, name, time, 0, self.device, 99, args))
            self.extra_work += 1

    def lay_other_device(self) -> None:
        """A second device with less work: its work is not booked here."""
        rng = self.rng
        if rng.random() < 0.7:
            return
        for _ in range(len(self.layer.work) // 3):
            span = (self.script.end - self.script.start) // self.grain
            start = self.script.start + rng.randrange(span) * self.grain
            args = {"device": self.device + 1, "stream": 7, "correlation": self.correlation()}
            name = rng.choice(event_names.OTHER_KERNELS)
            length = self.length(100_000)
            self.events.append(Event(te.KERNEL, name, start, length, self.device + 1, 7, args))

    def lay_metadata(self) -> None:
        start = self.script.start
        for thread in self.threads:
            for name, args in (
                ("thread_name", {"name": f"thread {thread.tid} ({thread.name})"}),
                ("thread_sort_index", {"sort_index": thread.tid}),
            ):
                self.events.append(
                    Event(te.NO_KIND, name, start, 0, self.pid, thread.tid, args, phase="M")
                )
        for pid, label in ((self.pid, "CPU"), (self.device, f"GPU {self.device}")):
            self.events.append(
                Event(te.NO_KIND, "process_name", start, 0, pid, 0, {"name": "python"}, phase="M")
            )
            self.events.append(
                Event(te.NO_KIND, "process_labels", start, 0, pid, 0, {"labels": label}, phase="M")
            )
        length = self.script.end - start
        self.events.append(
            Event(te.SPAN, "PyTorch Profiler (0)", start, length, "Spans", "PyTorch Profiler", {})
        )
        self.events.append(
            Event(
                te.NO_KIND,
                "Iteration Start: PyTorch Profiler",
                start,
                0,
                "Traces",
                "Trace PyTorch Profiler",
                phase="i",
            )
        )

    def lay(self) -> Trace:
        self.layer.lay()
        gaps = [(i, item) for i, item in enumerate(self.script.items) if isinstance(item, Gap)]
        for index, gap in gaps:
            self.lay_gap(index, gap)
            first = self.layer.first_after(index)
            if gap.how == QUEUED and first:
                self.deadlines[id(first)] = gap.start
        for thread in self.threads:
            thread.find_free_time(self.script.start, self.script.end)
        self.lay_other_launches()
        self.lay_work()
        self.lay_steps()
        self.lay_noise()
        self.lay_metadata()
        return Trace(self.events, self.ledger(), {"device": self.device})

    def ledger(self) -> dict[str, Any]:
        windows = self.script.windows
        return {
            "device": self.device,
            "device_events": len(self.layer.work) + self.extra_work,
            "unlinked_device_events": self.extra_work
            + sum(work.launch is None for work in self.layer.work),
            "between_steps_ns": self.script.between_steps,
            "steps": [
                {
                    "number": window.number,
                    "start_ns": window.start,
                    "end_ns": window.end,
                    "accounts": window.accounts,
                }
                for window in windows
            ],
        }


def lay_events(
    rng: random.Random, script: Script, style: Style, has_step_marks: bool = True
) -> Trace:
    return EventLayer(rng, script, style, has_step_marks).lay()
