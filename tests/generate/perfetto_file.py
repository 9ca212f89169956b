"""Writes a trace in Chrome's JSON, as torch.profiler writes it, in Perfetto's own format: with the real classes of the
`perfetto` package, which callers look for first."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos
except ImportError:  # the tests that need it are skipped
    protos = None

BEGIN, END, INSTANT = 1, 2, 3
BOOTTIME, MONOTONIC, REALTIME = 6, 3, 1
STATE_CLEARED, STATE_NEEDED = 1, 2


@dataclass
class Form:
    """How a file is laid out; what is in it is the same."""

    is_interned: bool = True
    begins_first: bool = False
    is_compressed: bool = False
    clock: int = BOOTTIME
    is_incremental: bool = False
    clears_state: bool = False
    sequences: int = 1
    has_stages: bool = (
        False  # work of the device twice: as stages, and as slices that are cut short
    )

    @staticmethod
    def of(rng: random.Random) -> "Form":
        form = Form(rng.random() < 0.7, rng.random() < 0.3, rng.random() < 0.3)
        form.clock = rng.choice((BOOTTIME, MONOTONIC, 64))
        form.is_incremental = form.clock == 64 and not form.begins_first and rng.random() < 0.5
        form.clears_state = rng.random() < 0.4
        form.sequences = rng.choice((1, 1, 3))
        form.has_stages = not form.is_incremental and rng.random() < 0.3
        return form


def nanoseconds(microseconds: Any) -> int:
    exact = Decimal(str(microseconds)) * 1000
    return int(exact.to_integral_value(ROUND_HALF_UP))


def fill(annotation: Any, value: Any) -> None:
    if isinstance(value, bool):
        annotation.bool_value = value
    elif isinstance(value, int):
        if value < 0 or value < 2**31:
            annotation.int_value = value
        else:
            annotation.uint_value = value
    elif isinstance(value, (float, Decimal)):
        annotation.double_value = float(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            entry = annotation.dict_entries.add()
            entry.name = key
            fill(entry, inner)
        if not value:
            annotation.legacy_json_value = "{}"
    elif isinstance(value, list):
        for inner in value:
            fill(annotation.array_values.add(), inner)
        if not value:
            annotation.legacy_json_value = "[]"
    elif value is not None:
        annotation.string_value = value


class Writer:
    def __init__(self, form: Form) -> None:
        self.form = form
        self.trace = protos.Trace()
        self.interned: dict[tuple[int, str, str], int] = {}
        self.last_id = 0
        self.tracks: dict[tuple[Any, Any, int], int] = {}
        self.time = 0
        self.started: set[int] = set()
        self.offset = 5_000_000 if form.clock == MONOTONIC else 0

    def packet(self, sequence: int = 1) -> Any:
        packet = self.trace.packet.add()
        packet.trusted_packet_sequence_id = sequence
        return packet

    def write_clocks(self, base: int, sequence: int) -> None:
        snapshot = self.packet(sequence).clock_snapshot
        for clock, time in ((BOOTTIME, 0), (REALTIME, base), (MONOTONIC, self.offset)):
            entry = snapshot.clocks.add()
            entry.clock_id, entry.timestamp = clock, time + 10**6
        if self.form.clock == 64:
            entry = snapshot.clocks.add()
            entry.clock_id, entry.timestamp = 64, 10**6
            entry.is_incremental = self.form.is_incremental
        self.time = 10**6

    def intern(self, packet: Any, sequence: int, field: str, text: str) -> int:
        key = (sequence, field, text)
        if key not in self.interned:
            self.last_id += 1  # of all sequences: what one forgets frees no id of another
            self.interned[key] = self.last_id
            entry = getattr(packet.interned_data, field).add()
            entry.iid, entry.name = self.interned[key], text
        return self.interned[key]

    def track(self, pid: Any, tid: Any, lane: int) -> int:
        if (pid, tid, lane) not in self.tracks:
            uuid = self.tracks[pid, tid, lane] = 1000 + 7 * len(self.tracks)
            parent = 0
            is_thread = isinstance(pid, int) and isinstance(tid, int) and 0 <= pid < 2**31
            if not is_thread and tid is not None:
                parent = self.track(pid, None, 0)
            descriptor = self.packet().track_descriptor
            descriptor.uuid = uuid
            if parent:
                descriptor.parent_uuid = parent
            if is_thread:
                descriptor.thread.pid, descriptor.thread.tid = pid, tid
            elif tid is None and isinstance(pid, int):
                descriptor.process.pid = pid
            else:
                descriptor.name = str(pid if tid is None else tid)
        return self.tracks[pid, tid, lane]

    def start(self, packet: Any, sequence: int, rng: random.Random) -> None:
        is_new = sequence not in self.started
        if is_new or (self.form.clears_state and rng.random() < 0.02):
            self.started.add(sequence)
            self.interned = {k: v for k, v in self.interned.items() if k[0] != sequence}
            packet.sequence_flags = STATE_CLEARED | STATE_NEEDED
            if self.form.clock != BOOTTIME:
                packet.trace_packet_defaults.timestamp_clock_id = self.form.clock
        else:
            packet.sequence_flags = STATE_NEEDED

    def write_stage(self, event: dict[str, Any]) -> None:
        packet = self.packet()
        packet.timestamp = nanoseconds(event["ts"])
        packet.timestamp_clock_id = BOOTTIME
        stage = packet.gpu_render_stage_event
        stage.duration = nanoseconds(event["dur"])
        stage.name = event["name"]
        if "correlation" in event.get("args", {}):
            extra = stage.extra_data.add()
            extra.name, extra.value = "correlation", str(event["args"]["correlation"])

    def write(self, half: tuple[int, int, dict[str, Any], int], rng: random.Random) -> None:
        time, kind, event, lane = half
        uuid = self.track(event.get("pid"), event.get("tid"), lane)
        sequence = 1 + uuid % self.form.sequences if not self.form.is_incremental else 1
        packet = self.packet(sequence)
        self.start(packet, sequence, rng)
        packet.timestamp = time + self.offset
        if self.form.is_incremental:
            packet.timestamp = time - self.time
            self.time = time
        track_event = packet.track_event
        track_event.type, track_event.track_uuid = kind, uuid
        if kind == END:
            return
        names = (("name", "event_names"), ("cat", "event_categories"))
        if self.form.is_interned:
            track_event.name_iid = self.intern(packet, sequence, names[0][1], event["name"])
            if "cat" in event:
                track_event.category_iids.append(
                    self.intern(packet, sequence, names[1][1], event["cat"])
                )
        else:
            track_event.name = event["name"]
            if "cat" in event:
                track_event.categories.append(event["cat"])
        for key, value in event.get("args", {}).items():
            annotation = track_event.debug_annotations.add()
            if self.form.is_interned:
                annotation.name_iid = self.intern(packet, sequence, "debug_annotation_names", key)
            else:
                annotation.name = key
            fill(annotation, value)


DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")


def is_device_work(event: dict[str, Any]) -> bool:
    return str(event.get("cat", "")).lower() in DEVICE_WORK


def clamped(event: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The slice cut short, as writers do where slices of a track would overlap."""
    length = nanoseconds(event["dur"])
    if not is_device_work(event) or length < 2:
        return event
    return event | {"dur": Decimal(rng.randint(1, length)) / 1000}


def halves_of(events: list[dict[str, Any]]) -> list[tuple[int, int, dict[str, Any], int]]:
    """(time, kind, event, lane): begins and ends that nest. Where events do not nest, lanes of their own do, as
    Perfetto wants it: tracks of the same thread."""
    halves = []
    lanes: list[list[tuple[int, dict[str, Any]]]] = []  # the open events of each

    def close(lane: int, until: int | None) -> None:
        while lanes[lane] and (until is None or lanes[lane][-1][0] <= until):
            end, closed = lanes[lane].pop()
            halves.append((end, END, closed, lane))

    for event in sorted(events, key=lambda e: (nanoseconds(e["ts"]), -nanoseconds(e["dur"]))):
        start = nanoseconds(event["ts"])
        end = start + nanoseconds(event["dur"])
        for lane in range(len(lanes) + 1):
            if lane == len(lanes):
                lanes.append([])
            close(lane, start)
            if not lanes[lane] or end <= lanes[lane][-1][0]:
                break
        halves.append((start, BEGIN, event, lane))
        lanes[lane].append((end, event))
    for lane in range(len(lanes)):
        close(lane, None)
    return halves


def write_pftrace(trace: dict[str, Any], form: Form, rng: random.Random) -> bytes:
    """The timed events of the trace."""
    writer = Writer(form)
    for sequence in range(1, form.sequences + 1):
        writer.write_clocks(int(trace.get("baseTimeNanoseconds", 0)), sequence)
    by_track: dict[Any, list[dict[str, Any]]] = {}
    for event in trace["traceEvents"]:
        if form.has_stages and is_device_work(event):
            writer.write_stage(event)
            event = clamped(event, rng)
        by_track.setdefault((event.get("pid"), event.get("tid")), []).append(event)
    order = [half for events in by_track.values() for half in halves_of(events)]
    if form.begins_first:
        order.sort(key=lambda half: half[1])
    else:
        order.sort(key=lambda half: half[0])
    for half in order:
        writer.write(half, rng)
    data: bytes = writer.trace.SerializeToString()
    if form.is_compressed:
        outer = protos.Trace()
        outer.packet.add().compressed_packets = zlib.compress(data)
        data = outer.SerializeToString()
    return data
