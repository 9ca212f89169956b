"""The same events in other words: another order, other white space, other compression; cut off, or with junk between."""

from __future__ import annotations

import gzip
import json
import random
import re
import subprocess
import zlib
from dataclasses import dataclass
from typing import Callable

from write_trace import TraceText

ROOM = ("", " ", "\n", "\t", "\r\n", "   ", "\n\n\t ")


def shuffled(text: TraceText, rng: random.Random) -> TraceText:
    events = text.events[:]
    rng.shuffle(events)
    return TraceText(text.head, events, text.tail)


class Spacer:
    """Writes JSON with random white space and random order of keys, and every number exactly as it stood."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def room(self) -> str:
        return self.rng.choice(ROOM)

    def write(self, value: object) -> str:
        if isinstance(value, dict):
            pairs = list(value.items())
            self.rng.shuffle(pairs)
            inner = f"{self.room()},{self.room()}".join(
                f"{json.dumps(key)}{self.room()}:{self.room()}{self.write(item)}"
                for key, item in pairs
            )
            return f"{{{self.room()}{inner}{self.room()}}}"
        if isinstance(value, list):
            inner = f"{self.room()},{self.room()}".join(self.write(item) for item in value)
            return f"[{self.room()}{inner}{self.room()}]"
        if isinstance(value, Digits):
            return str(value)
        return json.dumps(value)


class Digits(str):
    """A number of the file, by its digits."""


def respaced(text: TraceText, rng: random.Random) -> TraceText:
    spacer = Spacer(rng)
    events = [
        spacer.room() + spacer.write(json.loads(event, parse_float=Digits)) + spacer.room()
        for event in text.events
    ]
    return TraceText(text.head, events, text.tail)


# What is put behind the beginning of an event's arguments: keys that have no value, or no JSON for one.
HOLES = (
    '"Process Group Description": , ',
    '"Process Group Description": mesh of 2 [0]: tp, ',
    '"Process Group Ranks of all": "["[0, 1, ...]"]", ',
    '"GB/s": 7,757576, ',
    '"Hole": [ "a "b", c"],',
    ", ",
)


def with_holes(text: TraceText, rng: random.Random) -> TraceText:
    """A third of the events that have arguments get a hole, as Kineto leaves them."""
    events = [
        (
            re.sub(r'("args"\s*:\s*\{)(?=\s*")', lambda m: m[1] + rng.choice(HOLES), event, count=1)
            if rng.random() < 1 / 3
            else event
        )
        for event in text.events
    ]
    return TraceText(text.head, events, text.tail)


def several_members(data: bytes, rng: random.Random) -> bytes:
    """A gzip file of several members, as concatenation makes."""
    cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randint(1, 4)))
    bounds = [0, *cuts, len(data)]
    return b"".join(gzip.compress(data[a:b], mtime=0) for a, b in zip(bounds, bounds[1:]))


def damaged_part(data: bytes, rng: random.Random, number: int, counts: tuple[int, ...]) -> bytes:
    """The odd ones are cut anywhere; of the even ones so many bytes as one of `counts` are changed."""
    damaged = bytearray(data)
    if number % 2:
        del damaged[rng.randrange(len(data)) :]
    else:
        for _ in range(rng.choice(counts)):
            damaged[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(damaged)


def gzip_text(data: bytes) -> bytes:
    return gzip.compress(data, 6, mtime=0)


def zstd_text(data: bytes) -> bytes:
    return subprocess.run(
        ["zstd", "-q", "-3", "-c"], input=data, capture_output=True, check=True
    ).stdout


def inflated_part(data: bytes) -> bytes:
    """All that is in a gzip stream that breaks off."""
    inflater = zlib.decompressobj(31)
    return inflater.decompress(data) + inflater.flush()


def unpacked_zstd_part(data: bytes) -> bytes:
    """All whole blocks of a zstd stream that breaks off."""
    return subprocess.run(
        ["zstd", "-q", "-dc"], input=data, capture_output=True, check=False
    ).stdout


@dataclass(frozen=True)
class Packing:
    name: str
    pack: Callable[[bytes], bytes]
    unpack_part: Callable[[bytes], bytes]


PACKINGS = {
    "plain": Packing("plain", bytes, bytes),
    "gzip": Packing("gzip", gzip_text, inflated_part),
    "zstd": Packing("zstd", zstd_text, unpacked_zstd_part),
}


def complete_events(text: TraceText, length: int) -> int:
    """How many events stand whole in the first `length` bytes."""
    end = len(text.head)
    for count, event in enumerate(text.events):
        end += len(event) + (count > 0)
        if end > length:
            return count
    return len(text.events)


# Pieces of text that are no event. Each stands between two events, with commas around it.
DAMAGED_EVENTS = [
    '{"ph": "X", "cat": "kernel", "name": "lost value", "pid": 0, "tid": [7, "x": 7, "ts": 5, "dur": 5}',
    '{"ph": "X", "cat": "kernel", "name": "lost comma" "pid": 0, "tid": 7, "ts": 5, "dur": 5}',
    '{"ph": "X", "cat": "kernel", "name": "no colon", "pid" 0, "tid": 7, "ts": 5, "dur": 5}',
    '{"ph": "X", "cat": "kernel", "name": "never closed", "pid": 0, "args": {"stream": 7',
    '{"ph": "X", "cat": "kernel", "name": "broken off in a str',
    '{"ph": "X", "cat": "kernel", "name":',
    "garbage",
    "\x00\x00\x00\x00\x00\x00\x00\x00",
    '"only a string"',
]
# Events as profilers really write them: no JSON, but readable, or set aside and counted (`says`).
STRANGE_NAMES = [
    r'"C:\Users\new\train.py(12): \step"',
    '"a "quoted" word"',
    '"control \x01\x02\x1f characters, a tab \t and\na line"',
    '"brackets ]}],{[ in a name"',
    r'"a backslash at its end\\"',
    r'"C:\one\backslash\at its end\"',
    '"a quote at its end""',
    '"\\u00e9\\ud83d\\ude00 and \\ud800 alone"',
    '"bytes that are no UTF-8: \udcff\udcfe"',
    '"' + "long " * 5000 + '"',
    '"' + "\x1b[31mred\x1b[0m" + '"',
]
BARE_WORDS = ["NaN", "Infinity", "-Infinity", "N/A", "-nan", "nan", "inf", "null", "true"]


@dataclass(frozen=True)
class SetAside:
    event: str  # with {place} for cat, pid, tid and ts
    says: str  # pattern of the warning that counts it


SET_ASIDE = [
    SetAside(
        '{{"ph": "X", "name": "negative", {place}, "dur": -5}}', r"(\d+) events with a negative"
    ),
    SetAside(
        '{{"ph": "X", "name": "wrapped", {place}, "dur": 18446744073709551.615}}',
        r"(\d+) events with an impossibly long",
    ),
    SetAside(
        '{{"ph": "X", "name": "huge", {place}, "dur": 1e300}}',
        r"(\d+) events with an impossibly long",
    ),
    SetAside(
        '{{"ph": "X", "name": "64 bits", {place}, "dur": 9223372036854775807}}',
        r"(\d+) events with an impossibly long",
    ),
    SetAside(
        '{{"ph": "X", "name": "no duration", {place}}}', r"(\d+) timed events without a start"
    ),
    SetAside(
        '{{"ph": "X", "name": "no number", {place}, "dur": NaN}}',
        r"(\d+) timed events without a start",
    ),
    SetAside(
        '{{"ph": "X", "name": "no word", {place}, "dur": nil}}',
        r"(\d+) timed events without a start",
    ),
    SetAside(
        '{{"ph": "X", "name": "two points", {place}, "dur": 1.2.3}}',
        r"(\d+) timed events without a start",
    ),
    SetAside('{{"ph": "B", "name": "never ends", {place}}}', r"(\d+) begin events without"),
    SetAside('{{"ph": "E", "name": "never began", {place}}}', r"(\d+) end events without"),
]


def strange_event(rng: random.Random, place: str) -> str:
    """An event of a thread that launches nothing, hard to read but complete."""
    name = rng.choice(STRANGE_NAMES)
    word = rng.choice(BARE_WORDS)
    return (
        f'{{"ph": "X", "cat": "cpu_op", "name": {name}, {place}, "dur": 3, '
        f'"args": {{"Ev Idx": {word}, "list": [{word}, 1, {{"deep": {word}}}]}}}}'
    )


def with_bare_words(event: str, rng: random.Random) -> str:
    """Adds values that are no JSON to an event's args."""
    word = rng.choice(BARE_WORDS)
    return re.sub(
        r'"args": \{(?!\})', lambda match: f'{match.group()}"x": {word}, ', event, count=1
    )
