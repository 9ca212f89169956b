"""Writes a generated trace as a generation of PyTorch would, as pieces of text: head, events, tail."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Iterator

import trace_event as te
from trace_event import Event, Trace
from trace_styles import Style

BASE_TIME_NS = 1_711_964_646_000_000_000
BASE_TIME = f'  "displayTimeUnit": "ms",\n  "baseTimeNanoseconds": {BASE_TIME_NS}'


@dataclass
class TraceText:
    head: str
    events: list[str]
    tail: str

    def whole(self) -> str:
        return "".join(self.pieces())

    def pieces(self) -> Iterator[str]:
        yield self.head
        for i, event in enumerate(self.events):
            yield f",{event}" if i else event
        yield self.tail


def microseconds(ns: int, grain: int) -> str:
    if grain == 1000:
        return str(ns // 1000)
    sign = "-" if ns < 0 else ""
    return f"{sign}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"


class TraceWriter:
    def __init__(self, style: Style) -> None:
        self.style = style
        self.offset = 0 if style.is_relative else BASE_TIME_NS

    def pairs(self, event: Event, phase: str) -> list[tuple[str, str]]:
        """Keys and JSON values in the order in which Kineto writes them."""
        grain = self.style.grain
        tid: int | str = event.tid
        if grain == 1000 and event.kind in te.HOST_KINDS and self.style.name == "torch1.8":
            tid = str(tid)
        pairs = [("ph", json.dumps(phase))]
        if event.phase in "sf":
            pairs.append(("id", str(event.identity)))
        category = self.style.categories.get(event.kind)
        if category:
            pairs.append(("cat", json.dumps(category)))
        if phase == "i":
            pairs.append(("s", '"t"'))
        pairs += [
            ("name", json.dumps(event.name)),
            ("pid", json.dumps(event.pid)),
            ("tid", json.dumps(tid)),
        ]
        time = event.end if phase == "E" else event.start
        pairs.append(("ts", microseconds(time + self.offset, grain)))
        if phase == "X":
            pairs.append(("dur", microseconds(event.duration, grain)))
        if event.phase == "f":
            pairs.append(("bp", '"e"'))
        if event.args is not None and phase != "E":
            pairs.append(("args", json.dumps(event.args)))
        return pairs

    def text(self, event: Event, phase: str = "") -> str:
        pairs = self.pairs(event, phase or event.phase)
        if self.style.layout == "lines":
            lines = [f'    "{key}": {value}' for key, value in pairs]
            text = ",\n".join(lines)
            if phase in ("", "X") and event.args is not None:
                text = text.replace(',\n    "args"', '\n    ,\n    "args"', 1)
            return f"\n  {{\n{text}\n  }}"
        return "\n  {\n    " + ", ".join(f'"{key}": {value}' for key, value in pairs) + "\n  }"

    def begin_end(self, events: list[Event]) -> list[str]:
        """Host events as pairs, in the order of time: what is inside another begins after it and ends before it."""
        texts: list[str] = []
        by_thread: dict[int | str, list[Event]] = {}
        for event in events:
            by_thread.setdefault(event.tid, []).append(event)
        for thread in by_thread.values():
            thread.sort(key=lambda event: (event.start, -event.duration))
            open_events: list[Event] = []
            for event in thread:
                while open_events and open_events[-1].end <= event.start:
                    texts.append(self.text(open_events.pop(), "E"))
                texts.append(self.text(event, "B"))
                open_events.append(event)
            while open_events:
                texts.append(self.text(open_events.pop(), "E"))
        return texts

    def events(self, trace: Trace) -> list[str]:
        def is_paired(event: Event) -> bool:
            return (
                self.style.has_begin_end
                and event.kind in te.HOST_KINDS
                and not event.name.startswith("ProfilerStep")
            )

        order = {"M": 0, "X": 1, "s": 2, "f": 2, "i": 3, "C": 3}
        alone = [event for event in trace.events if not is_paired(event)]
        alone.sort(key=lambda event: (order[event.phase], event.kind not in te.HOST_KINDS))
        texts = [self.text(event) for event in alone]
        return texts + self.begin_end([event for event in trace.events if is_paired(event)])

    def head(self, facts: dict[str, Any]) -> str:
        if self.style.is_bare_array:
            return "["
        properties = [
            {
                "id": number,
                "name": "NVIDIA A100-SXM4-80GB",
                "totalGlobalMem": 84_987_740_160,
                "computeMajor": 8,
                "computeMinor": 0,
                "numSms": 108,
            }
            for number in (facts["device"], facts["device"] + 1)
        ]
        lines = ['  "schemaVersion": 1', f'  "deviceProperties": {json.dumps(properties)}']
        if facts.get("world_size"):
            distributed = {
                "backend": "nccl",
                "rank": facts["rank"],
                "world_size": facts["world_size"],
            }
            lines.append(f'  "distributedInfo": {json.dumps(distributed)}')
        if self.style.grain == 1:
            lines.append('  "record_shapes": 1')
        if self.style.is_relative and not self.style.is_base_time_last:
            lines.append(BASE_TIME)
        return "{\n" + ",\n".join(lines) + ',\n  "traceEvents": ['

    def tail(self) -> str:
        if self.style.is_bare_array:
            return "\n]\n"
        base_time = f",\n{BASE_TIME}" if self.style.is_base_time_last else ""
        return f'\n  ],\n  "traceName": "/tmp/trace]}}, {{.json"{base_time}\n}}\n'


def write_trace(trace: Trace, style: Style) -> TraceText:
    writer = TraceWriter(style)
    return TraceText(writer.head(trace.run_facts), writer.events(trace), writer.tail())
