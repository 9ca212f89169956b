"""Changes a trace in Chrome's JSON as recordings differ from tidy ones: work that takes no time or overlaps, a second device,
launches that are lost or have many kernels, ids and times at the ends of their range, collectives, copies of any size.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any, Callable

Event = dict[str, Any]
WORK = ("kernel", "gpu_memcpy", "gpu_memset")
COLLECTIVES = (
    "allreduce",
    "_allgather_base",
    "_reduce_scatter_base",
    "all_to_allv",
    "send",
    "recv",
)
TEXTS = ("\u00fc\u4e2d\U0001f600", 'a"b\\c', "</script>", "x" * 300, " ", "%s%n", "a\tb")


def is_work(event: Event) -> bool:
    return str(event.get("cat", "")).lower() in WORK


def some_work(events: list[Event], rng: random.Random, share: float) -> list[Event]:
    return [event for event in events if is_work(event) and rng.random() < share]


def end_at_once(events: list[Event], rng: random.Random) -> list[Event]:
    for event in some_work(events, rng, 0.3):
        event["dur"] = Decimal(0)
    return events


def overlap(events: list[Event], rng: random.Random) -> list[Event]:
    for event in some_work(events, rng, 0.3):
        event["dur"] = Decimal(str(event["dur"])) * rng.choice((2, 3, 10)) + Decimal("0.001")
    return events


def use_second_device(events: list[Event], rng: random.Random) -> list[Event]:
    for event in some_work(events, rng, 0.4):
        event["args"] = event.get("args", {}) | {"device": 1}
        if isinstance(event.get("pid"), int):
            event["pid"] = 1
    return events


def use_other_streams(events: list[Event], rng: random.Random) -> list[Event]:
    for event in some_work(events, rng, 0.4):
        stream = rng.choice((20, 21, 2**31 - 1))
        event["args"] = event.get("args", {}) | {"stream": stream}
        event["tid"] = stream
    return events


def move(events: list[Event], rng: random.Random) -> list[Event]:
    offset = rng.choice((-(10**6), -(10**9), 5 * 10**6, 10**10, 1_700_000_000_000_000))
    for event in events:
        event["ts"] = Decimal(str(event["ts"])) + offset
    return events


def wrap_ids(events: list[Event], rng: random.Random) -> list[Event]:
    offset = rng.choice((2**31 - 5, 2**32 - 5))
    for event in events:
        args = event.get("args", {})
        if "correlation" in args:
            args["correlation"] = (int(args["correlation"]) + offset) % 2**32
    return events


def lose_launches(events: list[Event], rng: random.Random) -> list[Event]:
    return [
        event
        for event in events
        if is_work(event) or "correlation" not in event.get("args", {}) or rng.random() < 0.8
    ]


def launch_together(events: list[Event], rng: random.Random) -> list[Event]:
    """Some kernels in a row are nodes of one graph: the launch of the first launches all."""
    kernels = sorted((e for e in events if is_work(e)), key=lambda e: Decimal(str(e["ts"])))
    calls = {
        event["args"]["correlation"]: event
        for event in events
        if not is_work(event) and "correlation" in event.get("args", {})
    }
    lost: set[int] = set()
    for at in range(0, len(kernels), 7):
        first, *others = kernels[at : at + rng.randint(1, 6)]
        call = calls.get(first.get("args", {}).get("correlation"))
        if call is None:
            continue
        call["name"] = f"{'hip' if call['name'].startswith('hip') else 'cuda'}GraphLaunch"
        for node, kernel in enumerate(others):
            lost.add(id(calls.get(kernel.get("args", {}).get("correlation"))))
            kernel["args"]["correlation"] = first["args"]["correlation"]
            kernel["args"]["graph node id"] = node + 2
        first["args"]["graph node id"] = 1
    lost -= {id(call) for call in calls.values() if "GraphLaunch" in call["name"]}
    return [event for event in events if id(event) not in lost]


def communicate(events: list[Event], rng: random.Random) -> list[Event]:
    for event in some_work(events, rng, 0.2):
        if event["cat"] == "kernel":
            event["name"] = (
                "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
            )
            event["args"] = event.get("args", {}) | {
                "Collective name": rng.choice(COLLECTIVES),
                "In msg nelems": rng.choice((0, 1, 2**20, 2**33)),
                "Out msg nelems": rng.choice((0, 1, 2**20, 2**33)),
                "Group size": rng.choice((1, 2, 8)),
                "dtype": rng.choice(("BFloat16", "Float", "Int")),
                "Process Group Name": rng.choice(("0", "tp", "\u00fc")),
                "Process Group Ranks": "[0, 1, 2, 3, 4, 5, 6, 7]",
            }
    return events


def copy(events: list[Event], rng: random.Random) -> list[Event]:
    for event in some_work(events, rng, 0.2):
        if event["cat"] == "kernel":
            event["cat"] = rng.choice(("gpu_memcpy", "gpu_memset"))
            ways = (
                "HtoD (Pinned -> Device)",
                "DtoH (Device -> Pageable)",
                "DtoD (Device -> Device)",
            )
            kind = f"Memcpy {rng.choice(ways)}"
            event["name"] = kind if event["cat"] == "gpu_memcpy" else "Memset (Device)"
            event["args"] = event.get("args", {}) | {
                "bytes": rng.choice((0, 1, 4095, 2**31, 2**40)),
                "memory bandwidth (GB/s)": Decimal("12.345"),
            }
    return events


def name_oddly(events: list[Event], rng: random.Random) -> list[Event]:
    for event in events:
        is_call = "_runtime" in str(event.get("cat")) or "_driver" in str(event.get("cat"))
        if rng.random() < 0.2 and "#" not in event["name"] and not is_call:
            event["name"] += rng.choice(TEXTS)
    return events


CHANGES: tuple[Callable[[list[Event], random.Random], list[Event]], ...] = (
    copy,
    communicate,
    launch_together,
    lose_launches,
    end_at_once,
    overlap,
    use_second_device,
    use_other_streams,
    wrap_ids,
    move,
    name_oddly,
)


def make_wild(events: list[Event], rng: random.Random) -> list[Event]:
    """The timed events, changed in some of these ways."""
    events = [event for event in events if event.get("ph") == "X" and "dur" in event]
    for change in CHANGES:
        if rng.random() < 0.3:
            events = change(events, rng)
    return events
