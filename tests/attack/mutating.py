"""Damages files: what disks, cut copies, editors and ill-meaning people do to them. The same seed makes the same damage."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

NUMBER = re.compile(rb"-?\d+(\.\d+)?")
MEMBER = re.compile(rb'("[A-Za-z _]{1,20}"\s*:\s*)("[^"\\]*"|-?[0-9.]+)')
EXTREME_NUMBERS = [
    b"0",
    b"-1",
    b"-0.0",
    b"1e308",
    b"-1e308",
    b"1e999",
    b"NaN",
    b"9007199254740993",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"18446744073709551615",
    b"99999999999999999999999999",
    b"2147483648",
    b"4294967296",
    b"0.0000000000000000000001",
]
NASTY_TEXTS = [
    b"\x1b[2J",
    b"\\u001b]0;x\\u0007",
    b"\\u202e",
    b"\xff\xfe",
    b"\\ud800",
    b"</script><script>",
    b"=1+1",
    b"%n%s",
    b'"',
    b"\\",
    b"\n",
    b"\0",
]


def place(chance: random.Random, data: bytes) -> int:
    return chance.randrange(len(data) + 1)


def flip_bits(chance: random.Random, data: bytes) -> bytes:
    damaged = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 8])):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def cut(chance: random.Random, data: bytes) -> bytes:
    return data[: place(chance, data)]


def overwrite(chance: random.Random, data: bytes) -> bytes:
    at = place(chance, data)
    length = chance.choice([1, 4, 64, 4096])
    filled = chance.choice([bytes(length), b"\xff" * length, chance.randbytes(length)])
    return data[:at] + filled + data[at + length :]


def leave_out(chance: random.Random, data: bytes) -> bytes:
    at, length = place(chance, data), chance.choice([1, 16, 512, 4096])
    return data[:at] + data[at + length :]


def repeat(chance: random.Random, data: bytes) -> bytes:
    at, length = place(chance, data), chance.choice([1, 16, 512, 4096])
    return (
        data[: at + length]
        + data[at : at + length] * chance.choice([1, 1, 20])
        + data[at + length :]
    )


def move(chance: random.Random, data: bytes) -> bytes:
    begin, end = sorted((place(chance, data), place(chance, data)))
    rest = data[:begin] + data[end:]
    at = place(chance, rest)
    return rest[:at] + data[begin:end] + rest[at:]


def insert(chance: random.Random, data: bytes) -> bytes:
    at = place(chance, data)
    return data[:at] + chance.choice(NASTY_TEXTS) * chance.choice([1, 1, 100]) + data[at:]


def change_number(chance: random.Random, data: bytes) -> bytes:
    found = list(NUMBER.finditer(data))
    for number in sorted(
        chance.sample(found, min(len(found), chance.choice([1, 1, 3, 20]))),
        key=lambda n: -n.start(),
    ):
        data = data[: number.start()] + chance.choice(EXTREME_NUMBERS) + data[number.end() :]
    return data


def encode_otherwise(chance: random.Random, data: bytes) -> bytes:
    """What editors do when they save."""
    way = chance.randrange(4)
    if way == 0:
        return b"\xef\xbb\xbf" + data
    if way == 1:
        return data.replace(b"\n", b"\r\n")
    return data.decode("latin-1").encode(chance.choice(["utf-16", "utf-16-be", "utf-32"]))


def nest(chance: random.Random, data: bytes) -> bytes:
    at = place(chance, data)
    deep = chance.choice([b"[", b'{"a":', b"(", b"]", b"}", b"](", b"\x94"])
    return data[:at] + deep * chance.choice([2, 100, 20_000]) + data[at:]


def change_type(chance: random.Random, data: bytes) -> bytes:
    """Some values of members of JSON become values of other kinds."""

    def other(found: re.Match[bytes]) -> bytes:
        kinds = [b"[]", b"{}", b'"x"', b"-1", b"1e30", b"null", b"true", b'""']
        return found[1] + (chance.choice(kinds) if chance.random() < 0.05 else found[2])

    return MEMBER.sub(other, data)


def change_word(chance: random.Random, data: bytes) -> bytes:
    """A number as binary formats hold it."""
    at, width = place(chance, data), chance.choice([2, 4, 8])
    ends = [b"\x00" * width, b"\xff" * width, b"\x7f" + b"\xff" * (width - 1)]
    ends += [b"\xff" * (width - 1) + b"\x7f", b"\x80" + bytes(width - 1)]
    return data[:at] + chance.choice(ends) + data[at + width :]


DAMAGES: list[Callable[[random.Random, bytes], bytes]] = [
    flip_bits,
    cut,
    overwrite,
    leave_out,
    repeat,
    move,
    insert,
    change_number,
    encode_otherwise,
    nest,
    change_type,
    change_word,
]


def mutant(data: bytes, seed: int) -> bytes:
    """`data`, damaged once or a few times."""
    chance = random.Random(seed)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        data = chance.choice(DAMAGES)(chance, data) or b"\0"
    return data
