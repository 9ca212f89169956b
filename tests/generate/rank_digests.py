#!/usr/bin/env python3
"""Digests of a run of very many ranks, written as docs/formats/digest.md describes them: who came last and who waited is known.

    rank_digests.py FILE --layout tp=8,dp=256,pp=8 [--steps 2] [--straggler RANK]

In each step every rank computes layer by layer, with an all-reduce among its tensor ranks behind each; then comes one among its
data ranks, and one among all. Times are whole nanoseconds, and all clocks are one.
"""

from __future__ import annotations

import argparse
import json
import random
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

VERSION = 2
TEXT, RANK = 0, 1
START_NS = 1_760_000_000_000_000_000
COMPUTE_NS, TRANSFER_NS, GAP_NS = 1_000_000, 50_000, 20_000
SLOWER = 3 / 2
ACCOUNTS = ["matrix", "exposed_communication"]
KINDS = ["all_reduce"]
TYPES = ["bf16"]
SHARED_LENGTH_MIN = 17


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def integer(number: int) -> bytes:
    return varint(2 * number if number >= 0 else -2 * number - 1)


def integers(*numbers: int) -> bytes:
    return b"".join(integer(number) for number in numbers)


def text(words: str) -> bytes:
    data = words.encode()
    return varint(len(data)) + data


def names(*lists: list[str]) -> bytes:
    return b"".join(varint(len(each)) + b"".join(map(text, each)) for each in lists)


def fnv(data: bytes) -> int:
    number = 0xCBF29CE484222325
    for byte in data:
        number = (number ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return number


class SharedTexts:
    """By their hash, each once."""

    def __init__(self) -> None:
        self.texts: dict[bytes, int] = {}

    def put(self, data: bytes) -> bytes:
        if len(data) < SHARED_LENGTH_MIN:
            return varint(len(data) + 1) + data
        if data not in self.texts:
            self.texts[data] = fnv(data)
        return b"\0" + self.texts[data].to_bytes(8, "little")


def record(kind: int, key: int, content: bytes) -> bytes:
    head = bytes([kind]) + key.to_bytes(8, "little") + len(content).to_bytes(4, "little")
    return head + zlib.crc32(content).to_bytes(4, "little") + content


@dataclass
class Rank:
    """Of each step, in ns: when it begins, and its calls: group, start, end."""

    number: int
    begins: list[int] = field(default_factory=list)
    calls: list[list[tuple[int, int, int]]] = field(default_factory=list)
    waiting_ns: int = 0
    came_last: int = 0


class ManyRanks:
    def __init__(
        self, layout: dict[str, int], steps: int, straggler: int | None, seed: int, layers: int = 1
    ) -> None:
        self.straggler, self.layers = straggler, layers
        self.tensor, self.data = layout.get("tp", 1), layout.get("dp", 1)
        self.size = self.tensor * self.data * layout.get("pp", 1)
        self.ranks = [Rank(number) for number in range(self.size)]
        numbers = range(self.size)
        self.groups: list[list[list[int]]] = [
            [list(numbers[i : i + self.tensor]) for i in range(0, self.size, self.tensor)],
            [
                list(numbers[first + tp : first + self.tensor * self.data : self.tensor])
                for first in range(0, self.size, self.tensor * self.data)
                for tp in range(self.tensor)
            ],
            [list(numbers)],
        ]
        rng = random.Random(seed)
        begin = START_NS
        for _ in range(steps):
            begin = self.step(begin, rng) + GAP_NS

    def step(self, begin: int, rng: random.Random) -> int:
        now = [begin] * self.size
        for rank in self.ranks:
            rank.begins.append(begin)
            rank.calls.append([])
        for _ in range(self.layers):
            now = [now[number] + self.compute_ns(number, rng) for number in range(self.size)]
            self.all_together(0, now)
        self.all_together(1, now)
        self.all_together(2, now)
        return max(now)

    def compute_ns(self, number: int, rng: random.Random) -> int:
        length = (COMPUTE_NS + rng.randrange(COMPUTE_NS // 100)) // self.layers
        return int(length * SLOWER) if number == self.straggler else length

    def all_together(self, kind: int, now: list[int]) -> None:
        for members in self.groups[kind]:
            self.together(kind, members, now)

    def together(self, kind: int, members: list[int], now: list[int]) -> None:
        last = max(members, key=lambda number: now[number])
        end = now[last] + TRANSFER_NS
        self.ranks[last].came_last += len(members) > 1
        for number in members:
            rank = self.ranks[number]
            rank.calls[-1].append((kind, now[number], end))
            rank.waiting_ns += end - TRANSFER_NS - now[number]
            now[number] = end

    # ---- bytes -------------------------------------------------------------------------------------------------------

    def groups_of(self, shared: SharedTexts) -> Iterator[bytes]:
        """Of each rank."""
        parts: list[list[bytes]] = [[] for _ in self.ranks]
        for name, groups in zip(("tensor", "data", "world"), self.groups):
            for place, members in enumerate(groups):
                own = shared.put(f"{name}.{place}".encode())
                own += shared.put(json.dumps(members).encode()) + integers(len(members), -1)
                for number in members:
                    parts[number].append(own)
        for own_groups in parts:
            yield varint(len(own_groups)) + b"".join(own_groups)

    def facts(self, rank: Rank, shared: SharedTexts) -> bytes:
        place = [
            rank.number % self.tensor,
            -1,
            rank.number // self.tensor % self.data,
            rank.number // self.tensor // self.data,
        ]
        words = text(f"rank{rank.number}.json") + shared.put(f"node{rank.number // 8}".encode())
        words += shared.put(b"NVIDIA H100 80GB HBM3")
        tail = integers(450_000_000_000, 80 << 30, -1, -1, GAP_NS * (len(rank.begins) - 1), 0)
        head = integers(rank.number, self.size) + varint(4) + integers(*place, 0) + varint(0)
        return head + words + tail + varint(0)

    @staticmethod
    def steps(rank: Rank) -> bytes:
        found = varint(len(rank.begins))
        for number, (begin, calls) in enumerate(zip(rank.begins, rank.calls)):
            end = calls[-1][2]
            communication = sum(until - start for _, start, until in calls)
            found += integers(10 + number, begin, end, communication, 0, -1) + varint(0)
            found += integers(end - begin - communication, communication)
        return found

    @staticmethod
    def calls(rank: Rank) -> bytes:
        found, before = varint(sum(map(len, rank.calls))), 0
        numbers = [0, 0, 0]
        for step, calls in enumerate(rank.calls):
            for group, start, end in calls:
                found += integers(start - before, end - start, 2_000_000, numbers[group], -1, -1)
                found += varint(group) + integer(step) + varint(0) + integer(0)
                numbers[group] += 1
                before = end
        return found

    @staticmethod
    def exposed(rank: Rank) -> bytes:
        found, before = varint(sum(map(len, rank.calls))), 0
        for step, calls in enumerate(rank.calls):
            for _, start, end in calls:
                found += integers(start - before, end - start) + varint(step)
                before = end
        return found

    def records(self, shared: SharedTexts) -> Iterable[bytes]:
        own_names = shared.put(names(ACCOUNTS, KINDS, TYPES, ["waits"]))
        for rank, groups in zip(self.ranks, self.groups_of(shared)):
            parts = [self.facts(rank, shared), own_names, self.steps(rank), groups]
            parts += [self.calls(rank), self.exposed(rank)]
            content = b"".join(
                varint(1 + i) + varint(len(part)) + part for i, part in enumerate(parts)
            )
            yield record(RANK, rank.number, content)

    def write(self, path: Path) -> None:
        shared = SharedTexts()
        ranks = list(self.records(shared))
        texts = sorted((key, data) for data, key in shared.texts.items())
        count = len(texts) + len(ranks)
        with path.open("wb") as file:
            file.write(b"FLDIGEST" + bytes([VERSION]) + count.to_bytes(4, "little"))
            for key, data in texts:
                file.write(record(TEXT, key, data))
            for each in ranks:
                file.write(each)


def layout_of(words: str) -> dict[str, int]:
    return {axis: int(size) for axis, _, size in (part.partition("=") for part in words.split(","))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--layout", default="dp=4", help="tp=2,dp=2,pp=2 (default: dp=4)")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--straggler", type=int, help="a rank that computes half as fast again")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    made = ManyRanks(
        layout_of(chosen.layout), chosen.steps, chosen.straggler, chosen.seed, chosen.layers
    )
    made.write(chosen.file)


if __name__ == "__main__":
    main()
