"""Recomputes the tables of a report from the JSON of real traces, plainly and independently, and compares every row.

    check_tables.py PROGRAM

Kernels, copies, operators, named ranges, runtime calls and launch delays; the kernels of golden/attribution; and what
HolisticTraceAnalysis found (overlap, longest queues). Needs the folder of other people's traces: FLOPLEDGER_SHARED, or
../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, Iterable

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("FLOPLEDGER_SHARED", ROOT.parent / "shared"))

TRACES = [
    "hta/trace_diff/control/control.json.gz",
    "hta/nccl_parser_config/nccl_data.json.gz",
    "hta/negative_queue_length_values_check/rank0.json.gz",
    "param/dlrm_kineto/worker0_step_12.1694128201545.pt.trace.json",
    "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
    "param/linear_kineto.json.gz",
]
GOLDEN = [
    "hta/df_index_resolver/df_index_resolver.json.gz",
    "hta/trace_diff/control/control.json.gz",
    "hta/nccl_parser_config/nccl_data.json.gz",
    "hta/negative_queue_length_values_check/rank0.json.gz",
    "param/resnet_kineto.json.gz",
]
DEVICE = {"kernel": "kernel", "gpu_memcpy": "copy", "memcpy": "copy"}
DEVICE |= {"gpu_memset": "memset", "memset": "memset"}
RUNTIME = {"runtime", "cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime"}
LEFT_OUT = {"[memory]", "[OutOfMemory]", "aten::is_leaf", "aten::output_nr", "aten::_version"}
LEFT_OUT |= {f"profiler::_record_function_{end}" for end in ("enter", "enter_new", "exit")}


@dataclass(eq=False)
class Event:
    name: str
    kind: str
    start: int
    end: int
    track: tuple[Any, Any]
    args: dict[str, Any]
    children: list["Event"] = field(default_factory=list)
    parent: "Event | None" = None
    device_self: int = 0
    is_merged: bool = False

    @property
    def duration(self) -> int:
        return self.end - self.start

    def device_total(self) -> int:
        return self.device_self + sum(child.device_total() for child in self.children)


def to_ns(microseconds: Any) -> int:
    exact = Decimal(microseconds) * 1000
    return int(exact.quantize(Decimal(1), rounding=ROUND_HALF_UP))


def kind_of(category: str) -> str:
    category = category.lower()
    if category in DEVICE:
        return DEVICE[category]
    if category in RUNTIME:
        return "call"
    kinds = {"cpu_op": "operator", "operator": "operator", "user_annotation": "range"}
    return kinds.get(category, "")


def load(path: Path) -> list[Event]:
    text = path.read_bytes()
    if path.suffix == ".gz":
        text = gzip.decompress(text)
    document = json.loads(text, strict=False, parse_float=Decimal)
    events = []
    for raw in document["traceEvents"]:
        kind = kind_of(str(raw.get("cat", "")))
        if raw.get("ph") != "X" or "dur" not in raw or not kind:
            continue
        start = to_ns(raw["ts"])
        track = (raw.get("pid"), raw.get("tid"))
        event = Event(raw["name"], kind, start, start + to_ns(raw["dur"]), track, {})
        event.args = raw.get("args") or {}
        if kind in ("kernel", "copy", "memset"):
            event.track = (event.args.get("device", track[0]), event.args.get("stream", track[1]))
        # torch 1.8 wrote the step marks as operators
        if kind == "operator" and event.name.startswith("ProfilerStep#"):
            event.kind = "range"
        events.append(event)
    return events


class Trace:
    """The events of one device and all threads, linked and nested."""

    def __init__(self, path: Path) -> None:
        events = load(path)
        on_device = [e for e in events if e.kind in ("kernel", "copy", "memset")]
        self.device_number = Counter(e.track[0] for e in on_device).most_common(1)[0][0]
        self.device = [e for e in on_device if e.track[0] == self.device_number]
        self.host = [e for e in events if e.kind in ("operator", "range", "call")]
        self.steps = sorted(
            (e.start, e.end) for e in self.host if e.name.startswith("ProfilerStep#")
        )
        self.launch_of = self.link()
        self.nest()
        self.give_device_time()
        self.merge()

    def link(self) -> dict[Event, Event]:
        calls: dict[Any, Event] = {}
        for call in sorted(
            (e for e in self.host if e.kind == "call"), key=lambda e: (e.start, -e.duration)
        ):
            if "correlation" in call.args:
                calls.setdefault(call.args["correlation"], call)
        return {
            e: calls[e.args["correlation"]]
            for e in self.device
            if e.args.get("correlation") in calls
        }

    def threads(self) -> Iterable[list[Event]]:
        by_track: dict[tuple[Any, Any], list[Event]] = defaultdict(list)
        for event in self.host:
            by_track[event.track].append(event)
        for events in by_track.values():
            yield sorted(events, key=lambda e: (e.start, -e.end, e.name))

    def nest(self) -> None:
        for events in self.threads():
            stack: list[Event] = []
            for event in events:
                if event.name in LEFT_OUT:
                    continue
                while stack and (event.start >= stack[-1].end or event.end > stack[-1].end):
                    stack.pop()
                if stack:
                    event.parent = stack[-1]
                    stack[-1].children.append(event)
                stack.append(event)

    def give_device_time(self) -> None:
        """To the innermost operator that is open when the launch call starts."""
        by_id = {
            e.args["External id"]: e
            for e in self.host
            if e.kind == "operator" and "External id" in e.args
        }
        launches: dict[Event, list[Event]] = defaultdict(list)
        for event, call in self.launch_of.items():
            launches[call].append(event)
        for events in self.threads():
            stack: list[Event] = []
            for event in events:
                if event.kind not in ("operator", "call"):
                    continue
                while stack and stack[-1].end <= event.start:
                    stack.pop()
                if event.kind == "operator":
                    stack.append(event)
                    continue
                for work in launches[event]:
                    number = work.args.get("External id")
                    other = by_id.get(number) if number != work.args.get("correlation") else None
                    owner = stack[-1] if stack else other
                    if owner:
                        owner.device_self += work.duration

    def merge(self) -> None:
        """An operator that is the only child of one of the same name is one call with it."""
        for events in self.threads():
            for event in events:
                parent = event.parent
                if (
                    parent
                    and parent.name == event.name
                    and parent.kind == event.kind
                    and len(parent.children) == 1
                ):
                    parent.children = event.children
                    parent.device_self += event.device_self
                    for child in event.children:
                        child.parent = parent
                    event.is_merged = True

    def is_counted(self, event: Event) -> bool:
        return not self.steps or any(a <= event.start < b for a, b in self.steps)


def device_rows(trace: Trace, kinds: set[str]) -> dict[str, tuple[int, ...]]:
    durations: dict[str, list[int]] = defaultdict(list)
    for event in trace.device:
        if event.kind in kinds and trace.is_counted(event):
            durations[event.name].append(event.duration)
    return {n: (len(d), sum(d), min(d), max(d)) for n, d in durations.items()}


def copy_rows(trace: Trace) -> dict[str, tuple[int, ...]]:
    rows = device_rows(trace, {"copy", "memset"})
    sizes: Counter[str] = Counter()
    for event in trace.device:
        if event.kind != "kernel" and trace.is_counted(event):
            sizes[event.name] += int(event.args.get("bytes", event.args.get("Bytes", -(10**15))))
    return {n: (r[0], r[1], sizes[n] if sizes[n] >= 0 else -1) for n, r in rows.items()}


def has_open_namesake(trace: Trace, event: Event) -> bool:
    parent = event.parent
    while parent:
        if parent.name == event.name and parent.kind == event.kind and trace.is_counted(parent):
            return True
        parent = parent.parent
    return False


def operator_rows(trace: Trace, kind: str) -> dict[str, tuple[int, ...]]:
    rows: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
    for event in trace.host:
        if event.kind != kind or event.is_merged or event.name in LEFT_OUT:
            continue
        if not trace.is_counted(event):
            continue
        is_step = kind == "range" and event.name.startswith("ProfilerStep#")
        row = rows["ProfilerStep*" if is_step else event.name]
        row[0] += 1
        row[1] += event.duration - sum(child.duration for child in event.children)
        row[3] += event.device_self
        if not has_open_namesake(trace, event):
            row[2] += event.duration
            row[4] += event.device_total()
    return {name: tuple(row) for name, row in rows.items()}


def call_rows(trace: Trace) -> dict[str, tuple[int, ...]]:
    launched = Counter(call for event, call in trace.launch_of.items() if trace.is_counted(event))
    rows: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for event in trace.host:
        if event.kind == "call" and trace.is_counted(event):
            row = rows[event.name]
            row[0] += 1
            row[1] += event.duration
            row[2] = max(row[2], event.duration)
            row[3] += launched[event]
    return {name: tuple(row) for name, row in rows.items()}


def launch_numbers(trace: Trace) -> dict[str, int]:
    delays, seen, short = [], set(), 0
    for event in sorted(trace.device, key=lambda e: (e.start, e.end)):
        call = trace.launch_of.get(event)
        if not call or not trace.is_counted(event):
            continue
        is_first = call not in seen
        seen.add(call)
        if event.kind != "kernel":
            continue
        if is_first and event.start >= call.start:
            delays.append(event.start - call.start)
        if "GraphLaunch" not in call.name:
            short += event.duration < call.duration
    delays.sort()
    rank = [max(0, -(-len(delays) * p // 100) - 1) for p in (50, 90)]
    return {
        "delay_mean": sum(delays) // len(delays),
        "delay_median": delays[rank[0]],
        "delay_p90": delays[rank[1]],
        "delay_max": delays[-1],
        "short_kernels": short,
    }


class Checker:
    def __init__(self, program: str) -> None:
        self.program = program
        self.passed = 0
        self.failed = 0

    def check(self, what: str, ours: Any, theirs: Any) -> None:
        if ours == theirs:
            self.passed += 1
            return
        self.failed += 1
        print(f"{what}: report {str(ours)[:300]}, recomputed {str(theirs)[:300]}")

    def sections(self, path: Path, *options: str) -> dict[str, Any]:
        command = [
            self.program,
            "report",
            "--json",
            "--clock",
            "host",
            "--top",
            "0",
            *options,
            str(path),
        ]
        report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        return report["ranks"][0]["sections"]

    def compare_rows(
        self, what: str, table: dict[str, Any], keys: list[str], rows: dict[str, tuple[int, ...]]
    ) -> None:
        ours = {
            row[keys[0]]: tuple(-1 if row[key] is None else row[key] for key in keys[1:])
            for row in table["rows"]
        }
        for name in sorted(set(ours) | set(rows)):
            if ours.get(name) != rows.get(name):
                self.check(f"{what}: {name[:80]}", ours.get(name), rows.get(name))
                return
        self.check(what, len(ours), len(rows))

    def check_trace(self, name: str) -> None:
        path = SHARED / "traces" / name
        trace = Trace(path)
        sections = self.sections(path, *([] if trace.steps else ["--window", "whole"]))
        kernels = sections["kernels"]["tables"]["by_name"]
        operators = sections["operators"]["tables"]
        columns = ["calls", "self_cpu", "total_cpu", "self_device", "total_device"]
        self.compare_rows(
            f"{name}: kernels",
            kernels,
            ["kernel", "count", "total", "min", "max"],
            device_rows(trace, {"kernel"}),
        )
        if "copies" in sections:
            table = sections["copies"]["tables"]["by_kind"]
            self.compare_rows(
                f"{name}: copies", table, ["kind", "count", "total", "bytes"], copy_rows(trace)
            )
        self.compare_rows(
            f"{name}: operators",
            operators["by_name"],
            ["operator", *columns],
            operator_rows(trace, "operator"),
        )
        ranges = operator_rows(trace, "range")
        if ranges:
            self.compare_rows(f"{name}: ranges", operators["ranges"], ["range", *columns], ranges)
        launches = sections["launches"]
        self.compare_rows(
            f"{name}: runtime calls",
            launches["tables"]["calls"],
            ["call", "count", "total", "max", "device_events"],
            call_rows(trace),
        )
        for key, value in launch_numbers(trace).items():
            self.check(f"{name}: {key}", launches["numbers"][key]["value"], value)

    def check_golden_kernels(self, name: str) -> None:
        stem = name.removesuffix(".gz").removesuffix(".json").replace("/", "_")
        golden = json.loads((SHARED / "golden" / "attribution" / f"{stem}.json").read_text())
        sections = self.sections(SHARED / "traces" / name, "--window", "whole")
        rows = sections["kernels"]["tables"]["by_name"]["rows"]
        # the oracle cuts names, and rounds times to doubles
        ours: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for row in rows:
            ours[row["kernel"][:140]][0] += row["total"]
            ours[row["kernel"][:140]][1] += row["count"]
        for kernel, total_ns, count in golden["top_kernels"]:
            if sum(kernel == other[0] for other in golden["top_kernels"]) > 1:
                continue
            total, calls = ours[kernel]
            is_close = abs(total - total_ns) <= max(1000, count // 4) and calls == count
            self.check(f"{name}: golden {kernel[:60]}", is_close or (total, calls), True)

    def check_hta(self) -> None:
        """HolisticTraceAnalysis leaves out the last step of several, and numbers its ranks from 0."""
        folder = SHARED / "reference" / "hta"
        control = SHARED / "traces" / TRACES[0]
        sections = self.sections(control, "--steps", "1009-1013")
        overlap = sections["overlap"]["numbers"]["overlap"]["value"]
        self.check("HTA overlap of control, per cent", round(100 * overlap, 2), 47.03)
        queues = [row["depth_max"] for row in sections["launches"]["tables"]["streams"]["rows"]]
        with open(folder / "control.queue.csv", encoding="utf-8") as file:
            theirs = [float(line[7]) for line in list(csv.reader(file))[2:]]
        # there the launch itself does not wait when the queue was empty
        difference = [abs(a - b) for a, b in zip(queues, theirs)]
        self.check("HTA longest queues of control", max(difference) <= 1, True)
        with open(folder / "dlrm8ranks.overlap.csv", encoding="utf-8") as file:
            overlaps = {int(row[0]): float(row[1]) for row in list(csv.reader(file))[1:]}
        for rank, per_cent in overlaps.items():
            (path,) = (SHARED / "traces" / "param" / "dlrm_kineto").glob(f"worker{rank}_*")
            overlap = self.sections(path, "--window", "whole")["overlap"]["numbers"]["overlap"]
            self.check(
                f"HTA overlap of dlrm rank {rank}", round(100 * overlap["value"], 2), per_cent
            )


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    if not (SHARED / "traces").is_dir():
        print("needs other people's traces (FLOPLEDGER_SHARED, or ../shared): skipped")
        print(f"0 passed, 0 failed, {len(TRACES) + len(GOLDEN) + 1} skipped")
        return 0
    checker = Checker(sys.argv[1])
    for name in TRACES:
        checker.check_trace(name)
    for name in GOLDEN:
        checker.check_golden_kernels(name)
    checker.check_hta()
    print(f"{checker.passed} passed, {checker.failed} failed, 0 skipped")
    return 1 if checker.failed else 0


if __name__ == "__main__":
    sys.exit(main())
