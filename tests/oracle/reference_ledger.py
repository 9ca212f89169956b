"""Level B of the ledger, once more, slowly and plainly: what check_golden.py decides by where two others disagree.

Times are taken from the decimal digits of the file to whole nanoseconds; there is no floating point anywhere.
"""

from __future__ import annotations

import bisect
import gzip
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, Iterable

DEVICE_KINDS = {
    "kernel": "kernel",
    "gpu_memcpy": "copy",
    "memcpy": "copy",
    "gpu_memset": "memset",
    "memset": "memset",
}
RUNTIME = {"runtime", "cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime"}
COMMUNICATION = re.compile(
    r"ep::(internode|intranode|internode_ll)::|nccl|rccl|mscclpp|nvshmem|deep_ep|oneccl|hccl"
    r"|hcom_|aicpukernel|aivkernel|cross_device_reduce|custom_all_?reduce|multimem|quick_?all_?reduce",
    re.IGNORECASE,
)
SYNC = re.compile(
    r"^((cuda|hip)(Stream|Device|Event|Ctx)Synchronize|cu(Stream|Ctx|Event)Synchronize"
    r"|(cuda|hip|cu)Memcpy(?!.*(Async|Peer|DtoD)).*)$"
)
ALLOCATOR = re.compile(
    r"^((cuda|hip)(Malloc|Free|HostAlloc|HostRegister|HostUnregister|MallocHost|HostMalloc|FreeHost)"
    r"|(cu|hip)Mem(Create|Map|Unmap|Release|SetAccess|Address)"
    r"|cuMem(Alloc|Free|HostAlloc|HostRegister|HostUnregister))"
)
GARBAGE = re.compile(
    r"^Python GC|^gc\.collect|<built-in function collect>|built-in method collect of"
)
DATA = re.compile(
    r"^enumerate\(Data(Loader|Pipe)\)#|DataLoader.*__next__|^\[pl\].*train_dataloader_next"
    r"|^## ?(next|data|get_batch|load).*##$",
    re.IGNORECASE,
)
# What torch.compile, JAX, XLA and Triton call their compiling.
COMPILATION = re.compile(
    r"^(?!guard_collective).* \(dynamo_timed\)$|^(dynamo|entire_(frame|backward)_compile|inductor_compile)$"
    r"|^(\$.* )?(backend_compile|lower_sharding_computation|trace_to_jaxpr|compile_or_get_cached|_resolve_and_lower"
    r"|_cached_compilation|_trace_for_jit)|^XlaCompile:|Client::Compile|triton/compiler/compiler\.py\(.*\): compile"
)
# In the order of their priority.
WORK = ["compute", "communication", "copy", "memset", "data_copy"]
HOST = [
    "idle_data",
    "idle_compilation",
    "idle_sync",
    "idle_allocator",
    "idle_garbage",
    "idle_runtime",
    "idle_operator",
    "idle_annotation",
    "idle_python",
]
QUEUE_GAP_LIMIT_NS = 10_000

Changes = list[tuple[int, int]]  # from this time on, this set of bits


def nanoseconds(value: Any) -> int:
    """Microseconds, as the digits of the file, to nanoseconds."""
    if isinstance(value, int):
        return value * 1000
    return int((Decimal(value) * 1000).to_integral_value(ROUND_HALF_UP))


def read_events(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    text = data.decode(errors="replace")
    try:
        trace = json.loads(text, strict=False, parse_float=str)
    except json.JSONDecodeError:
        text = re.sub(r'(?<!")N/A(?!")', '"N/A"', text)
        trace = json.loads(text, strict=False, parse_float=str)
    events: list[dict[str, Any]] = trace["traceEvents"] if isinstance(trace, dict) else trace
    return events


def number(value: Any) -> tuple[bool, Any]:
    """Numbers in their order, before texts."""
    return (not isinstance(value, int), value if isinstance(value, int) else str(value))


@dataclass
class Work:
    start: int
    end: int
    kind: str
    stream: Any
    correlation: Any
    name: str
    launch: "Call | None" = None
    is_in_graph: bool = False

    def order(self) -> tuple[Any, ...]:
        """Of two that start and end together, a copy counts as the first, as in the golden files."""
        kinds = {"copy": 0, "kernel": 1, "communication": 1, "memset": 2}
        return (
            self.start,
            self.end,
            kinds[self.kind],
            number(self.stream),
            number(self.correlation),
        )


@dataclass
class Call:
    start: int
    end: int
    thread: Any
    name: str


@dataclass
class Step:
    name: str
    start: int
    end: int
    thread: Any
    accounts: Counter[str] = field(default_factory=Counter)
    facts: Counter[str] = field(default_factory=Counter)


@dataclass
class Ledger:
    steps: list[Step]
    device: Any
    work: list[Work]
    totals: Counter[str]
    clock: str = "host"


def changes_of(intervals: Iterable[tuple[int, int, int]]) -> Changes:
    """From (start, end, bit) to the times at which the set of open bits changes."""
    marks = []
    for start, end, bit in intervals:
        if end > start:
            marks.append((start, bit, 1))
            marks.append((end, bit, -1))
    marks.sort()
    changes: Changes = []
    open_count: Counter[int] = Counter()
    mask = 0
    for i, (time, bit, step) in enumerate(marks):
        open_count[bit] += step
        mask = mask | 1 << bit if open_count[bit] else mask & ~(1 << bit)
        if i + 1 == len(marks) or marks[i + 1][0] != time:
            changes.append((time, mask))
    return changes


def stretches(changes: Changes, start: int, end: int) -> Iterable[tuple[int, int, int]]:
    """(start, end, mask) of all stretches of [start, end)."""
    i = bisect.bisect_right(changes, (start, 1 << 62)) - 1
    while start < end:
        mask = changes[i][1] if i >= 0 else 0
        until = min(end, changes[i + 1][0]) if i + 1 < len(changes) else end
        if until > start:
            yield start, until, mask
        start = until
        i += 1


def lowest_bit(mask: int) -> int:
    return (mask & -mask).bit_length() - 1


class Booking:
    def __init__(self, events: list[dict[str, Any]], window: str, clock: str) -> None:
        self.work: list[Work] = []
        self.calls: dict[Any, Call] = {}
        self.steps: list[Step] = []
        self.host: dict[Any, list[tuple[int, int, int]]] = defaultdict(list)
        self.devices: list[Any] = []
        self.all_device_events = 0
        for event in events:
            if event.get("ph") == "X" and event.get("dur") is not None:
                self.take(event)
        self.choose_device()
        self.link()
        if window == "whole" or not self.steps:
            end = max((work.end for work in self.work), default=0)
            self.steps = [Step("whole", self.work[0].start, end, None)] if self.work else []
        self.steps.sort(key=lambda step: step.start)
        self.clock = "host"
        if self.steps and self.steps[0].thread is not None and clock != "host":
            self.take_clock(clock)
        self.host_changes: dict[Any, Changes] = {}
        self.starts = [work.start for work in self.work]

    def take(self, event: dict[str, Any]) -> None:
        category = str(event.get("cat", "")).lower()
        name = event.get("name") or ""
        start = nanoseconds(event["ts"])
        end = start + nanoseconds(event["dur"])
        args = event.get("args") or {}
        thread = event.get("tid")
        if category in DEVICE_KINDS:
            kind = DEVICE_KINDS[category]
            if kind == "kernel" and ("Collective name" in args or COMMUNICATION.search(name)):
                kind = "communication"
            stream = args.get("stream", thread)
            self.work.append(Work(start, end, kind, stream, args.get("correlation"), name))
            self.devices.append(args.get("device", event.get("pid")))
        elif category in RUNTIME:
            self.add_call(args.get("correlation"), Call(start, end, thread, name))
            kind = "sync" if SYNC.search(name) else "runtime"
            kind = "allocator" if ALLOCATOR.search(name) and kind != "sync" else kind
            self.add_host(thread, "idle_" + kind, start, end)
        elif category == "gpu_user_annotation":
            return
        elif name.startswith("ProfilerStep"):
            self.steps.append(Step(name, start, end, thread))
        elif category in ("cpu_op", "operator", "user_annotation"):
            kind = "idle_operator" if category != "user_annotation" else "idle_annotation"
            if kind == "idle_annotation" and GARBAGE.search(name):
                kind = "idle_garbage"
            kind = "idle_data" if DATA.search(name) else kind
            self.add_host(thread, self.or_compilation(name, kind), start, end)
        elif category == "python_function":
            kind = "idle_garbage" if GARBAGE.search(name) else "idle_python"
            self.add_host(thread, self.or_compilation(name, kind), start, end)

    @staticmethod
    def or_compilation(name: str, kind: str) -> str:
        return "idle_compilation" if COMPILATION.search(name) else kind

    def add_call(self, correlation: Any, call: Call) -> None:
        """Of several with one correlation the outermost launches: the driver's call is a part of the runtime's."""
        other = self.calls.get(correlation)
        if correlation is None or (other and (other.start, -other.end) <= (call.start, -call.end)):
            return
        self.calls[correlation] = call

    def add_host(self, thread: Any, account: str, start: int, end: int) -> None:
        self.host[thread].append((start, end, HOST.index(account)))

    def choose_device(self) -> None:
        counts = Counter(self.devices)
        self.device = counts.most_common(1)[0][0] if counts else None
        self.all_device_events = len(self.work)
        self.all_linked = sum(1 for work in self.work if work.correlation in self.calls)
        self.work = [w for w, device in zip(self.work, self.devices) if device == self.device]
        self.work.sort(key=Work.order)

    def link(self) -> None:
        seen: set[int] = set()
        threads: Counter[Any] = Counter()
        for work in self.work:
            work.launch = self.calls.get(work.correlation)
            if not work.launch:
                continue
            threads[work.launch.thread] += 1
            if "GraphLaunch" in work.launch.name:
                work.is_in_graph = id(work.launch) in seen
                seen.add(id(work.launch))
        self.main_thread = threads.most_common(1)[0][0] if threads else None

    def take_clock(self, clock: str) -> None:
        """Steps in the device's windows, where the marks do not hold half of what was launched in them."""
        marks = [(step.start, step.end) for step in self.steps]
        work: list[list[Work]] = [[] for _ in marks]
        for event in self.work:
            for i, (start, end) in enumerate(marks):
                if event.launch and start <= event.launch.start < end:
                    work[i].append(event)
        windows = self.device_windows(marks, work)
        launched = sum(event.end - event.start for events in work for event in events)
        running = sum(inside(event, mark) for event in self.work for mark in marks)
        in_marks = sum(inside(e, mark) for mark, events in zip(marks, work) for e in events)
        in_windows = sum(inside(e, window) for window, events in zip(windows, work) for e in events)
        fits = (
            2 * launched >= running and 2 * in_marks < launched and 2 * in_windows >= launched > 0
        )
        if clock == "device" or (fits and all(start < end for start, end in windows)):
            self.clock = "device"
            for step, (start, end) in zip(self.steps, windows):
                step.start, step.end = start, end
            self.steps = [step for step in self.steps if step.start < step.end]

    def device_windows(
        self, marks: list[tuple[int, int]], work: list[list[Work]]
    ) -> list[tuple[int, int]]:
        windows = []
        reached = 0
        for i, events in enumerate(work):
            if not events or max(event.end for event in events) <= reached:
                windows.append((reached, reached))
                continue
            start = max(reached, min(event.start for event in events))
            end = max(event.end for event in events)
            if i + 1 < len(work) and work[i + 1]:
                following = min(event.start for event in work[i + 1])
                gap = marks[i + 1][0] - marks[i][1]
                if following > end and gap <= (marks[i][1] - marks[i][0]) // 100:
                    end = following
            windows.append((start, end))
            reached = end
        return windows

    def changes_of_host(self, thread: Any, step_thread: Any) -> Changes:
        key = (thread, step_thread)
        if key not in self.host_changes:
            own = self.host.get(thread, [])
            data = HOST.index("idle_data")
            if step_thread is not None and step_thread != thread:
                own = own + [i for i in self.host.get(step_thread, []) if i[2] == data]
            self.host_changes[key] = changes_of(own)
        return self.host_changes[key]

    def is_input_copy(self, work: Work, step_thread: Any) -> bool:
        if work.kind != "copy" or "HtoD" not in work.name or not work.launch:
            return False
        changes = self.changes_of_host(work.launch.thread, step_thread)
        start = work.launch.start
        masks = [mask for _, _, mask in stretches(changes, start, start + 1)]
        return bool(masks and masks[0] & 1 << HOST.index("idle_data"))

    def timeline(self, step_thread: Any) -> Changes:
        intervals = []
        for work in self.work:
            kind = "compute" if work.kind == "kernel" else work.kind
            if self.is_input_copy(work, step_thread):
                kind = "data_copy"
            intervals.append((work.start, work.end, WORK.index(kind)))
        return changes_of(intervals)

    def book_work(self, step: Step, mask: int, length: int) -> None:
        accounts = {
            "communication": "exposed_communication",
            "copy": "exposed_copy",
            "memset": "exposed_copy",
        }
        kind = WORK[lowest_bit(mask)]
        step.accounts[accounts.get(kind, kind)] += length
        step.facts["busy"] += length
        bits = {name for i, name in enumerate(WORK) if mask >> i & 1}
        for fact in ("compute", "communication", "memset"):
            step.facts[fact] += length if fact in bits else 0
        step.facts["copy"] += length if bits & {"copy", "data_copy"} else 0
        step.facts["hidden"] += length if {"compute", "communication"} <= bits else 0

    def book_gap(self, step: Step, start: int, end: int) -> None:
        index = bisect.bisect_left(self.starts, end)
        following = self.work[index] if index < len(self.work) else None
        thread = step.thread if step.thread is not None else self.main_thread
        until = end
        if following and following.launch:
            thread = following.launch.thread
            if following.launch.start < start:
                account = "idle_queue_gap"
                if end - start >= QUEUE_GAP_LIMIT_NS:
                    account = "idle_queued_wait"
                if following.is_in_graph:
                    account = "idle_graph"
                step.accounts[account] += end - start
                return
            until = min(end, following.launch.start)
            step.accounts["idle_launch_latency"] += end - until
        for a, b, mask in stretches(self.changes_of_host(thread, step.thread), start, until):
            step.accounts[HOST[lowest_bit(mask)] if mask else "idle_nothing"] += b - a

    def launched_before(self) -> int:
        """Work of a stream without a launch, before the first that has one: launched before the recording began."""
        waiting: Counter[Any] = Counter()
        before: dict[Any, int] = {}
        for work in self.work:
            if work.launch:
                before.setdefault(work.stream, waiting[work.stream])
            waiting[work.stream] += not work.launch
        return sum(before.values())

    def book(self) -> Ledger:
        step_thread = self.steps[0].thread if self.steps else None
        timeline = self.timeline(step_thread)
        for step in self.steps:
            for start, end, mask in stretches(timeline, step.start, step.end):
                if mask:
                    self.book_work(step, mask, end - start)
                else:
                    self.book_gap(step, start, end)
            if sum(step.accounts.values()) != step.end - step.start:
                raise AssertionError(f"{step.name}: the parts do not sum to the step")
        totals: Counter[str] = Counter(
            device_events=len(self.work),
            linked=sum(1 for work in self.work if work.launch),
            launched_before=self.launched_before(),
            all_device_events=self.all_device_events,
            all_linked=self.all_linked,
        )
        return Ledger(self.steps, self.device, self.work, totals, self.clock)


def inside(event: Work, window: tuple[int, int]) -> int:
    return max(0, min(event.end, window[1]) - max(event.start, window[0]))


def book(events: list[dict[str, Any]], window: str = "auto", clock: str = "host") -> Ledger:
    return Booking(events, window, clock).book()
