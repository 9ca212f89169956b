#!/usr/bin/env python3
"""Traces of many ranks of one run, made by a simulation: who came last, who waited, and how far the clocks are apart is known.

    many_ranks.py FOLDER --layout tp=2,dp=2,pp=2 --steps 3 [--truth FILE]

Each step is a pipeline of micro-batches (all forward, then all backward), with an all-reduce among tensor ranks after each and
an all-reduce among data ranks at the end that overlaps the last backward. Times are whole nanoseconds.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Iterable

BASE_TIME_NS = 1_760_000_000_000_000_000
COMPUTE, TENSOR_STREAM, DATA_STREAM, SEND_STREAM, EXPERT_STREAM = 7, 20, 24, 28, 32
ROUTED = 1000  # elements a data rank
HIDDEN = 64


@dataclass
class Call:
    """One communication kernel of one rank; `joint` is the same for all calls of one collective."""

    joint: tuple[Any, ...]
    name: str
    start: int
    end: int
    stream: int
    step: int
    args: dict[str, Any]


@dataclass
class Step:
    number: int
    start: int
    end: int = 0


@dataclass
class Rank:
    number: int
    place: dict[str, int]
    clock: int = 0  # ahead of the true time by so much
    now: int = 0
    slowness: float = 1.0
    compute: list[tuple[int, int]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    streams: dict[int, int] = field(default_factory=dict)  # until when each is busy
    routed: int = 0  # bytes that all-to-all calls brought its experts, or took from them


@dataclass
class Settings:
    tensor: int = 1
    data: int = 1
    pipeline: int = 1
    steps: int = 3
    micro_batches: int = 4
    seed: int = 1
    jitter: float = 0.05
    clock_range: int = 5_000_000
    straggler: int | None = None
    sleeper: int | None = None  # its host does nothing for `pause` before each step's work
    pause: int = 0
    slow_group: int | None = (
        None  # the data group (by its first rank) whose transfers take three times as long
    )
    has_metadata: bool = True
    forward: int = 400_000
    backward: int = 800_000
    last_stage: float = 1.0  # how many times as long its work takes
    transfer: int = 50_000
    is_uneven: bool = False  # ranks differ in tokens, FLOPs, memory and in what their experts get

    @property
    def ranks(self) -> int:
        return self.tensor * self.data * self.pipeline


class Run:
    """Ranks are numbered as Megatron does: tensor first, then data, then pipeline."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.rng = random.Random(settings.seed)
        self.counts: dict[str, int] = {}
        self.pairs: dict[tuple[int, int], int] = {}
        self.ranks = [self.new_rank(number) for number in range(settings.ranks)]
        for number in range(settings.steps):
            self.simulate_step(10 + number)

    def new_rank(self, number: int) -> Rank:
        settings = self.settings
        place = {
            "tp": number % settings.tensor,
            "dp": number // settings.tensor % settings.data,
            "pp": number // settings.tensor // settings.data,
        }
        spread = settings.clock_range if number else 0
        rank = Rank(number, place, clock=self.rng.randint(-spread, spread))
        if number == settings.straggler:
            rank.slowness = 1.5
        return rank

    def at(self, tp: int, dp: int, pp: int) -> Rank:
        return self.ranks[tp + self.settings.tensor * (dp + self.settings.data * pp)]

    def work(self, rank: Rank, length: int) -> None:
        jitter = 1 + self.rng.uniform(-1, 1) * self.settings.jitter
        length = max(1, int(length * jitter * rank.slowness))
        rank.compute.append((rank.now, rank.now + length))
        rank.now += length

    def together(self, members: list[Rank], starts: list[int], stream: int, transfer: int) -> int:
        """All-reduce: each kernel starts when its rank comes and its stream is free; all end at once."""
        group = f"{stream}.{members[0].number}"
        number = self.counts.get(group, 0)
        self.counts[group] = number + 1
        starts = [max(s, r.streams.get(stream, 0)) for r, s in zip(members, starts)]
        end = max(starts) + max(1, int(transfer * (1 + self.rng.random() * 0.1)))
        args = {
            "Collective name": "allreduce",
            "In msg nelems": 1_000_000,
            "Out msg nelems": 1_000_000,
            "dtype": "BFloat16",
            "Group size": len(members),
            "Process Group Name": group,
            "Process Group Ranks": str([member.number for member in members]),
            "Seq": 100 + number,
        }
        for rank, start in zip(members, starts):
            rank.streams[stream] = end
            rank.calls.append(
                Call(
                    (group, number),
                    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                    start,
                    end,
                    stream,
                    rank.steps[-1].number,
                    args,
                )
            )
        return end

    def pass_on(self, sender: Rank, receiver: Rank) -> None:
        """The sender goes on at once, the receiver when the data is there."""
        pair = (sender.number, receiver.number)
        number = self.pairs.get(pair, 0)
        self.pairs[pair] = number + 1
        stream = SEND_STREAM + 2 * (receiver.number < sender.number)
        starts = [max(rank.now, rank.streams.get(stream, 0)) for rank in (sender, receiver)]
        end = max(starts) + max(1, int(self.settings.transfer * (1 + self.rng.random() * 0.1)))
        place = (sender.place["tp"], sender.place["dp"])
        pipeline = [
            rank.number for rank in self.ranks if (rank.place["tp"], rank.place["dp"]) == place
        ]
        for rank, start, name in ((sender, starts[0], "send"), (receiver, starts[1], "recv")):
            rank.streams[stream] = end
            args = {
                "Collective name": name,
                "In msg nelems": 500_000,
                "Out msg nelems": 500_000,
                "dtype": "BFloat16",
                "Group size": len(pipeline),
                "Process Group Name": f"pipeline.{sender.place['tp']}.{sender.place['dp']}",
                "Process Group Ranks": str(pipeline),
                "Src Rank": sender.number,
                "Dst Rank": receiver.number,
                "Seq": len(rank.calls),
            }
            joint = ("pair", *pair, number)
            call = Call(
                joint, "ncclDevKernel_SendRecv", start, end, stream, rank.steps[-1].number, args
            )
            rank.calls.append(call)
        receiver.now = max(receiver.now, end)

    def stage(self, pp: int, length: int, source: int | None) -> None:
        """One micro-batch on all ranks of a stage, from the stage `source`."""
        settings = self.settings
        if pp == settings.pipeline - 1:
            length = round(length * settings.last_stage)
        for dp in range(settings.data):
            members = [self.at(tp, dp, pp) for tp in range(settings.tensor)]
            if source is not None:
                for tp, rank in enumerate(members):
                    self.pass_on(self.at(tp, dp, source), rank)
            for rank in members:
                self.work(rank, length)
            if settings.tensor > 1:
                starts = [rank.now for rank in members]
                end = self.together(members, starts, TENSOR_STREAM, settings.transfer)
                for rank in members:
                    rank.now = end

    def exchange(self, members: list[Rank], sent: list[int], received: list[int]) -> None:
        """An all-to-all of so many elements."""
        begun = [len(rank.calls) for rank in members]
        starts = [rank.now for rank in members]
        end = self.together(members, starts, EXPERT_STREAM, self.settings.transfer)
        for rank, first, out, into in zip(members, begun, sent, received):
            call = rank.calls[first]
            call.name = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
            parts = {"In split size": f"[{out}]", "Out split size": f"[{into}]"}
            changed = {
                "Collective name": "all_to_allv",
                "In msg nelems": out,
                "Out msg nelems": into,
            }
            call.args = {**call.args, **changed, **parts}
            rank.now = max(rank.now, end)
            rank.routed += 2 * (into if len(set(sent)) == 1 else out)

    def route(self) -> None:
        """To experts of uneven popularity among the data ranks, and back."""
        settings = self.settings
        for pp in range(settings.pipeline):
            for tp in range(settings.tensor):
                members = [self.at(tp, dp, pp) for dp in range(settings.data)]
                own = [ROUTED * len(members)] * len(members)
                loads = [ROUTED * (2 * dp + 1) for dp in range(settings.data)]
                self.exchange(members, own, loads)
                self.exchange(members, loads, own)

    def reduce_gradients(self) -> None:
        settings = self.settings
        for pp in range(settings.pipeline):
            for tp in range(settings.tensor):
                members = [self.at(tp, dp, pp) for dp in range(settings.data)]
                starts = []
                for rank in members:
                    begin, end = rank.compute[-1]
                    starts.append(begin + (end - begin) // 2)
                is_slow = members[0].number == settings.slow_group
                transfer = settings.transfer * 8 * (3 if is_slow else 1)
                done = self.together(members, starts, DATA_STREAM, transfer)
                for rank in members:
                    rank.now = max(rank.now, done)

    def simulate_step(self, number: int) -> None:
        settings = self.settings
        for rank in self.ranks:
            rank.steps.append(Step(number, rank.now))
            rank.now += settings.pause if rank.number == settings.sleeper else 0
        for _ in range(settings.micro_batches):
            for pp in range(settings.pipeline):
                self.stage(pp, settings.forward, pp - 1 if pp else None)
        if settings.is_uneven and settings.data > 1:
            self.route()
        for _ in range(settings.micro_batches):
            for pp in reversed(range(settings.pipeline)):
                self.stage(pp, settings.backward, pp + 1 if pp + 1 < settings.pipeline else None)
        if settings.data > 1:
            self.reduce_gradients()
        for rank in self.ranks:
            rank.now = max([rank.now, *rank.streams.values()])
            rank.steps[-1].end = rank.now


# ---- what is true ----------------------------------------------------------------------------------------------------


def shortest_calls(ranks: Iterable[Rank]) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    """Of each collective: its shortest kernel, whose rank that is, and how many ranks have it."""
    found: dict[tuple[Any, ...], tuple[int, int, int]] = {}
    for rank in sorted(ranks, key=lambda rank: rank.number):
        for call in rank.calls:
            length, late, count = found.get(call.joint, (1 << 62, -1, 0))
            if call.end - call.start < length:
                length, late = call.end - call.start, rank.number
            found[call.joint] = (length, late, count + 1)
    return found


def split_exposed(rank: Rank, known: dict[tuple[Any, ...], tuple[int, int, int]]) -> dict[str, int]:
    """Moment by moment: what goes on between any two moments at which something begins or ends."""
    marks = {time for span in rank.compute for time in span}
    spans = []
    for call in rank.calls:
        length, _, count = known[call.joint]
        ready = call.end - length if count > 1 else None
        spans.append(
            (call.start, ready, call.end, call.args["Collective name"] in ("send", "recv"))
        )
        marks.update((call.start, call.end, *([ready] if ready is not None else [])))
    parts = {"waiting": 0, "bubble": 0, "transfer": 0, "unknown": 0}
    ordered = sorted(marks)
    for begin, end in zip(ordered, ordered[1:]):
        if any(a <= begin < b for a, b in rank.compute):
            continue
        here = [span for span in spans if span[0] <= begin < span[2]]
        if not here:
            continue
        if any(span[1] is not None and span[1] <= begin for span in here):
            parts["transfer"] += end - begin
        elif any(span[1] is None for span in here):
            parts["unknown"] += end - begin
        else:
            parts["waiting"] += end - begin
            parts["bubble"] += (end - begin) * min(here)[3]
    return parts


def uneven_work(rank: Rank) -> dict[str, int]:
    """Of each step, and at most."""
    return {
        "tokens": 8 * (16 + rank.number),
        "flops": 2 * 32 * HIDDEN * HIDDEN * (rank.number + 1),
        "allocated": (1 << 30) * (rank.number + 2),
        "routed": rank.routed // len(rank.steps),
    }


def truth_of(ranks: list[Rank]) -> dict[str, Any]:
    known = shortest_calls(ranks)
    truth: dict[int, dict[str, Any]] = {}
    for rank in ranks:
        truth[rank.number] = {
            "clock": rank.clock - ranks[0].clock,
            "kernels": sum(call.end - call.start for call in rank.calls),
            "waiting": 0,
            "transfer": 0,
            "came_last": 0,
            "caused": 0,
            "exposed": split_exposed(rank, known),
            "steps": [step.end - step.start for step in rank.steps],
            **uneven_work(rank),
        }
    for rank in ranks:
        for call in rank.calls:
            length, late, count = known[call.joint]
            if count < 2:
                continue
            mine = truth[rank.number]
            mine["waiting"] += call.end - call.start - length
            mine["transfer"] += length
            mine["came_last"] += late == rank.number
            truth[late]["caused"] += call.end - call.start - length
    return {"ranks": truth}


# ---- writing ---------------------------------------------------------------------------------------------------------


def microseconds(ns: int) -> str:
    sign = "-" if ns < 0 else ""
    return f"{sign}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"


def event(
    category: str, name: str, place: tuple[int, int], span: tuple[int, int], args: str
) -> str:
    start, end = span
    return (
        f'{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": {place[0]}, "tid": {place[1]}, '
        f'"ts": {microseconds(start)}, "dur": {microseconds(end - start)}, "args": {{{args}}}}}'
    )


def uneven_events(rank: Rank, step: Step, number: int, offset: int) -> list[str]:
    """What a step of its own size leaves in a trace: looking up tokens and positions, a product, a peak of memory."""
    work = uneven_work(rank)
    length = work["tokens"] // 8
    kernel = next(i for i, (start, _) in enumerate(rank.compute) if start >= step.start)
    at = step.start + offset
    host = (1000, 1000)
    memory = {"Device Type": 1, "Device Id": 0, "Addr": 1, "Bytes": 512}
    totals = {"Total Allocated": work["allocated"], "Total Reserved": work["allocated"] + 512}
    shapes = (
        ("aten::embedding", [[50304, HIDDEN], [8, length], [], [], []]),
        ("aten::embedding", [[4096, HIDDEN], [1, length], [], [], []]),
        ("aten::mm", [[32 * (rank.number + 1), HIDDEN], [HIDDEN, HIDDEN]]),
    )
    events = []
    for i, (name, dims) in enumerate(shapes):
        span = (at + 1000 + 2000 * i, at + 2000 + 2000 * i)
        args = f'"External id": {number * 8 + i + 1}, "Input Dims": {json.dumps(dims)}, "Input type": ["c10::BFloat16", "c10::BFloat16"]'
        events.append(event("cpu_op", name, host, span, args))
    launch = (at + 5100, at + 5200)
    events.append(
        event("cuda_runtime", "cudaLaunchKernel", host, launch, f'"correlation": {kernel + 1}')
    )
    events.append(
        f'{{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1000, "tid": 1000, '
        f'"ts": {microseconds(at + 7500)}, "args": {json.dumps({**memory, **totals})}}}'
    )
    return events


def events_of(rank: Rank, settings: Settings) -> list[str]:
    offset = 1_000_000_000 + rank.clock
    events = []
    for step in rank.steps:
        span = (step.start + offset, step.end + offset)
        name = f"ProfilerStep#{step.number}"
        events.append(event("user_annotation", name, (1000, 1000), span, ""))
    for i, (start, end) in enumerate(rank.compute):
        args = f'"stream": {COMPUTE}, "device": 0, "correlation": {i + 1}'
        span = (start + offset, end + offset)
        events.append(event("kernel", "ampere_bf16_gemm", (0, COMPUTE), span, args))
    for number, step in enumerate(rank.steps):
        if settings.is_uneven:
            events += uneven_events(rank, step, number, offset)
    for call in rank.calls:
        args = f'"stream": {call.stream}, "device": 0'
        if settings.has_metadata:
            args += ", " + json.dumps(call.args)[1:-1]
        span = (call.start + offset, call.end + offset)
        events.append(event("kernel", call.name, (0, call.stream), span, args))
    return events


def filler(megabytes: float) -> str:
    """Operators of the host, the same for every rank: as much text as traces have."""
    one = event("cpu_op", "aten::add", (1000, 1000), (0, 1), '"External id": 1')
    count = int(megabytes * 1e6 / (len(one) + 40))
    lines = (
        event(
            "cpu_op",
            f"aten::op{i % 40}",
            (1000, 1001),
            (i * 200, i * 200 + 150),
            f'"External id": {i + 9}',
        )
        for i in range(count)
    )
    return "".join(",\n" + line for line in lines)


def write_rank(path: Path, rank: Rank, settings: Settings, more: str) -> None:
    info = {"backend": "nccl", "rank": rank.number, "world_size": settings.ranks}
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_017_755_648}
    with path.open("w") as file:
        file.write(f'{{"schemaVersion": 1, "distributedInfo": {json.dumps(info)},\n')
        file.write(f'"deviceProperties": [{json.dumps(device)}],\n')
        file.write(f'"baseTimeNanoseconds": {BASE_TIME_NS},\n"traceEvents": [\n')
        file.write(",\n".join(events_of(rank, settings)))
        file.write(more + "\n]}\n")


def write_run(folder: Path, run: Run, dropped: set[int], megabytes: float = 0) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    more = filler(megabytes)
    here = [rank for rank in run.ranks if rank.number not in dropped]
    for rank in here:
        write_rank(folder / f"rank{rank.number}.json", rank, run.settings, more)
    return truth_of(here)


def settings_of(layout: str, **others: Any) -> Settings:
    sizes = {key: int(size) for key, size in (part.split("=") for part in layout.split(","))}
    return Settings(
        tensor=sizes.get("tp", 1), data=sizes.get("dp", 1), pipeline=sizes.get("pp", 1), **others
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layout", default="dp=4", help="tp=2,dp=2,pp=2 (default: dp=4)")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--micro-batches", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--straggler", type=int, help="a rank that computes half as fast again")
    parser.add_argument("--slow-group", type=int, help="first rank of a data group with slow links")
    parser.add_argument("--drop", type=int, nargs="*", default=[], help="ranks without a trace")
    parser.add_argument("--megabytes", type=float, default=0, help="of other events in each trace")
    parser.add_argument("--truth", type=Path, help="where to write what is true, as JSON")
    arguments = parser.parse_args()
    run = Run(
        settings_of(
            arguments.layout,
            steps=arguments.steps,
            micro_batches=arguments.micro_batches,
            seed=arguments.seed,
            straggler=arguments.straggler,
            slow_group=arguments.slow_group,
        )
    )
    truth = write_run(arguments.folder, run, set(arguments.drop), arguments.megabytes)
    if arguments.truth:
        arguments.truth.write_text(json.dumps(truth))


if __name__ == "__main__":
    main()
