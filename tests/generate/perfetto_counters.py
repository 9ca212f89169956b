#!/usr/bin/env python3
"""Adds samples of GPU counters behind the packets of a .pftrace: perfetto_counters.py FILE START_NS STEP_NS

Two counters as the packet itself describes them, of the GPU that no packet numbers, and one that interned data describe,
of GPU 0. The value of the sample at START + i * STEP is i; ten samples of each.
"""

import struct
import sys
from pathlib import Path


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def bytes_field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def real_field(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def spec(counter: int, name: bytes, over: int, under: int = 0) -> bytes:
    units = number_field(7, over) + (number_field(8, under) if under else b"")
    return bytes_field(1, number_field(1, counter) + bytes_field(2, name) + units)


def packet(time_ns: int, sequence: int, *fields: bytes) -> bytes:
    return bytes_field(1, number_field(8, time_ns) + number_field(10, sequence) + b"".join(fields))


def main() -> None:
    path, start, step = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    described = spec(1, b"Compute Warps in Flight", 37) + spec(2, b"DRAM Read", 7, 22)
    interned = number_field(1, 5) + bytes_field(2, spec(1, b"GPC Clock", 15)) + number_field(3, 0)
    packets = bytearray()
    for i in range(10):
        time = start + i * step
        first = bytes_field(1, described) if i == 0 else b""
        real = bytes_field(2, number_field(1, 1) + real_field(3, i))
        whole = bytes_field(2, number_field(1, 2) + number_field(2, i))
        packets += packet(time, 7001, bytes_field(52, first + real + whole))
        first = number_field(4, 5) if i == 0 else b""
        packets += packet(
            time,
            7002,
            number_field(13, 1) + bytes_field(12, bytes_field(47, interned)) if i == 0 else b"",
            bytes_field(52, first + bytes_field(2, number_field(1, 1) + number_field(2, i))),
        )
    path.write_bytes(path.read_bytes() + packets)


main()
