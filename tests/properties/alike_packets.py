#!/usr/bin/env python3
"""Perfetto's packets that look alike are read as a whole, and others field by field: do both ways tell the same?

    tests/properties/alike_packets.py PROGRAM [--count N] [--seed S]

Each case is written twice: as writers do, and with a clock in each packet, which is the one that it has anyway but makes it an
unusual packet. Numbers of names are given to others meanwhile, sequences have their own, tracks come from defaults, and
arguments are of any size. The two files must give one report. Ends with a line of counts.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from long_recordings import packet, track  # noqa: E402
from recorder_formats import run  # noqa: E402
from xplane_file import number, text, varint  # noqa: E402

CLEARED, NEEDED = 1, 2
CATEGORIES = ("cpu_op", "cuda_runtime", "kernel", "gpu_memcpy", "python_function", "hip_api")
ARGUMENTS = ("correlation", "External id", "device", "stream", "bytes", "Sequence number", "other")
BOOTTIME = 6


@dataclass
class Sequence:
    """A writer: what its numbers mean now, and the track that its events are on where they name none."""

    id: int
    track: int
    names: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)

    def begin(self, rng: random.Random) -> bytes:
        """Forgets, and gives the numbers anew."""
        self.kinds = rng.sample(CATEGORIES, len(CATEGORIES))
        self.arguments = rng.sample(ARGUMENTS, len(ARGUMENTS))
        self.names = [f"{rng.choice('abcd')}_{i}" for i in range(rng.randint(2, 150))]
        tables = ((1, self.kinds), (2, self.names), (3, self.arguments))
        interned = b"".join(
            text(kind, number(1, i + 1) + text(2, name))
            for kind, table in tables
            for i, name in enumerate(table)
        )
        defaults = text(59, number(58, BOOTTIME) + text(11, number(11, self.track)))
        return packet(text(12, interned), defaults, sequence=self.id, flags=CLEARED)

    def name_again(self, rng: random.Random) -> bytes:
        """Some numbers get other names without a new beginning."""
        table, kind = rng.choice(((self.names, 2), (self.kinds, 1), (self.arguments, 3)))
        i, k = rng.randrange(len(table)), rng.randrange(len(table))
        table[i], table[k] = table[k], table[i]
        entries = [text(kind, number(1, n + 1) + text(2, table[n])) for n in (i, k)]
        return packet(text(12, b"".join(entries)), sequence=self.id, flags=NEEDED)


def argument(rng: random.Random, sequence: Sequence) -> bytes:
    name = rng.randrange(len(ARGUMENTS))
    key = number(1, name + 1) if rng.random() < 0.7 else text(10, sequence.arguments[name])
    value = rng.choice((rng.randrange(4), rng.getrandbits(rng.randint(1, 62)), -5))
    return text(4, key + varint(4 << 3) + varint(value))


def begin_of(rng: random.Random, sequence: Sequence) -> bytes:
    """The fields of a TrackEvent, but for its track."""
    kind, name = rng.randint(1, len(CATEGORIES)), rng.randint(1, len(sequence.names))
    arguments = b"".join(argument(rng, sequence) for _ in range(rng.choice((0, 1, 2, 2, 3))))
    flow = varint(47 << 3 | 1) + rng.randbytes(8) if rng.random() < 0.2 else b""
    return number(9, 1) + number(3, kind) + number(10, name) + arguments + flow


def written(rng: random.Random, own_clock: bool) -> bytes:
    """A thread and a stream of each of two writers, whose slices do not nest."""
    found = [track(100 + i, 1000 + i) for i in range(4)]
    sequences = [Sequence(1, 100), Sequence(rng.choice((2, 3_000_000)), 102)]
    found += [sequence.begin(rng) for sequence in sequences]
    clock = number(58, BOOTTIME) if own_clock else b""
    now = rng.choice((1000, 10**6, 10**15))
    for _ in range(rng.randint(100, 600)):
        sequence = rng.choice(sequences)
        if rng.random() < 0.02:
            found.append(rng.choice((sequence.begin, sequence.name_again))(rng))
        uuid = sequence.track + rng.randrange(2)
        place = number(11, uuid) if uuid != sequence.track or rng.random() < 0.5 else b""
        body = begin_of(rng, sequence)
        for event in (body + place, number(9, 2) + place):
            found.append(
                packet(number(8, now), text(11, event), clock, sequence=sequence.id, flags=NEEDED)
            )
            now += rng.choice((1, 7, 500, 10**5))
    return b"".join(found)


def told(program: Path, path: Path) -> list[Any]:
    """All but what the packets take in the file."""
    found = []
    for command in ("inspect", "report"):
        _, out, err = run(program, command, "--json", path)
        told = json.loads(out)
        for rank in told["ranks"]:
            numbers = rank["sections"].get("file", {}).get("numbers", {})
            numbers.pop("file_size", None)
            numbers.pop("text_size", None)
        found.append((told, err))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="flopledger-alike-") as name:
        path = Path(name) / "trace.pftrace"
        for seed in range(given.seed, given.seed + given.count):
            both = []
            for own_clock in (False, True):
                path.write_bytes(written(random.Random(seed), own_clock))
                both.append(told(given.program.resolve(), path))
            if both[0] != both[1]:
                failed += 1
                print(f"seed {seed}: read in another way where packets look alike")
    print(f"{given.count - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
