#!/usr/bin/env python3
"""Traces of ranks that queue all work of a step at once and then wait for it: each step's length with any change is known.

    queued_ranks.py FOLDER --ranks 4 --straggler 2

Each rank computes and communicates by turns: all-reduces of all ranks, or sends from rank to rank. Times are whole nanoseconds.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

BASE_TIME_NS = 1_760_000_000_000_000_000
LAUNCH, LATENCY, GAP, RETURN = 2_000, 6_000, 1_000, 3_000
COMPUTE_STREAM, MEETING_STREAM = 7, 20


@dataclass(frozen=True)
class Work:
    """Compute of one rank, or its part of what several ranks do together (`meeting`)."""

    length: int
    meeting: int | None = None
    sender: int | None = None
    receiver: int | None = None


@dataclass
class Plan:
    """`steps[step][rank]` is what that rank queues; `clocks` how far each rank's clock is ahead."""

    ranks: int
    steps: list[list[list[Work]]]
    clocks: list[int]
    names: dict[int | None, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """What becomes of compute (of one rank, or all) and transfers, and for whom nobody waits."""

    compute: float = 1.0
    rank: int | None = None
    transfer: float = 1.0
    not_awaited: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Done:
    work: Work
    launch: int
    start: int
    end: int


@dataclass
class RankRun:
    spans: list[tuple[int, int]] = field(default_factory=list)
    done: list[list[Done]] = field(default_factory=list)

    @property
    def length(self) -> int:
        return self.spans[-1][1] - self.spans[0][0]


def changed(work: Work, rank: int, change: Change) -> int:
    if work.meeting is not None:
        return round(work.length * change.transfer)
    return round(work.length * change.compute) if change.rank in (None, rank) else work.length


def simulate_step(plan: Plan, step: int, begins: list[int], change: Change) -> list[list[Done]]:
    """Goes on with any rank that can, until all have ended."""
    queues = plan.steps[step]
    done: list[list[Done]] = [[] for _ in queues]
    members = [
        {rank for rank, queue in enumerate(queues) if any(w.meeting == meeting for w in queue)}
        for meeting in range(1 + max((w.meeting or 0 for queue in queues for w in queue)))
    ]
    came: dict[int, dict[int, int]] = {}
    while any(len(done[rank]) < len(queue) for rank, queue in enumerate(queues)):
        for rank, queue in enumerate(queues):
            at = len(done[rank])
            if at == len(queue):
                continue
            work, launch = queue[at], begins[rank] + at * LAUNCH
            start = launch + LATENCY
            if at:
                start = max(start, done[rank][-1].end + GAP)
            begin = start
            if work.meeting is not None:
                starts = came.setdefault(work.meeting, {})
                starts[rank] = start
                if len(starts) < len(members[work.meeting]):
                    continue
                awaited = [s for r, s in starts.items() if r not in change.not_awaited]
                begin = max([start, *awaited])
            done[rank].append(Done(work, launch, start, begin + changed(work, rank, change)))
    return done


def simulate(plan: Plan, change: Change = Change()) -> list[RankRun]:
    runs = [RankRun() for _ in range(plan.ranks)]
    begins = [0] * plan.ranks
    for step in range(len(plan.steps)):
        for rank, done in enumerate(simulate_step(plan, step, begins, change)):
            end = done[-1].end + RETURN
            runs[rank].spans.append((begins[rank], end))
            runs[rank].done.append(done)
            begins[rank] = end
    return runs


# ---- plans -----------------------------------------------------------------------------------------------------------


def all_reduces(rng: random.Random, ranks: int, count: int, jitter: float) -> list[list[Work]]:
    """Computes of about the same length, an all-reduce after each."""
    queues: list[list[Work]] = [[] for _ in range(ranks)]
    for meeting in range(count):
        length, transfer = rng.randint(80_000, 400_000), rng.randint(20_000, 90_000)
        for queue in queues:
            queue.append(Work(int(length * (1 + rng.uniform(0, jitter)) / 2) * 2))
            queue.append(Work(transfer, meeting))
    return queues


def sends(rng: random.Random, ranks: int, count: int, jitter: float) -> list[list[Work]]:
    """Batches that go from rank to rank: a receive, a compute, a send."""
    queues: list[list[Work]] = [[] for _ in range(ranks)]
    for batch in range(count):
        for rank, queue in enumerate(queues):
            length = int(rng.randint(100_000, 300_000) * (1 + rng.uniform(0, jitter)))
            queue.append(Work(length))
            if rank + 1 < ranks:
                meeting = batch * ranks + rank
                work = Work(rng.randint(20_000, 50_000), meeting, rank, rank + 1)
                queue.append(work)
                queues[rank + 1].append(work)
    return queues


def new_plan(rng: random.Random, ranks: int, jitter: float, is_pipeline: bool = False) -> Plan:
    make = sends if is_pipeline else all_reduces
    steps = [make(rng, ranks, rng.randint(2, 4), jitter) for _ in range(rng.randint(2, 3))]
    clocks = [0] + [rng.randint(-3_000_000, 3_000_000) for _ in range(ranks - 1)]
    return Plan(ranks, steps, clocks)


def with_straggler(plan: Plan, straggler: int, delay: int) -> Plan:
    """Each compute of that rank takes so much longer."""
    steps = [
        [
            [
                (
                    replace(work, length=work.length + delay)
                    if rank == straggler and work.meeting is None
                    else work
                )
                for work in queue
            ]
            for rank, queue in enumerate(queues)
        ]
        for queues in plan.steps
    ]
    return replace(plan, steps=steps)


# ---- writing ---------------------------------------------------------------------------------------------------------


def event(category: str, name: str, track: int, span: tuple[int, int], **args: Any) -> str:
    start, end = span
    return json.dumps(
        {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": 1000 if category in ("user_annotation", "cuda_runtime") else 0,
            "tid": track,
            "ts": start / 1000,
            "dur": (end - start) / 1000,
            "args": args,
        }
    )


def meeting_args(plan: Plan, work: Work, number: int) -> dict[str, Any]:
    is_pair = work.sender is not None
    ranks = list(range(plan.ranks))
    args: dict[str, Any] = {
        "Collective name": "allreduce",
        "In msg nelems": 1_000_000,
        "Out msg nelems": 1_000_000,
        "dtype": "BFloat16",
        "Group size": plan.ranks,
        "Process Group Name": "0",
        "Process Group Ranks": str(ranks),
        "Seq": number,
    }
    if is_pair:
        args |= {"Src Rank": work.sender, "Dst Rank": work.receiver}
    return args


def events_of(plan: Plan, rank: int, run: RankRun) -> list[str]:
    offset = 50_000_000 + plan.clocks[rank]
    events, correlation, number = [], 0, 0
    for step, (start, end) in enumerate(run.spans):
        here = (start + offset, end + offset)
        events.append(event("user_annotation", f"ProfilerStep#{step + 5}", 1000, here))
        for done in run.done[step]:
            correlation += 1
            call = (done.launch + offset, done.launch + LAUNCH + offset)
            args: dict[str, Any] = {"correlation": correlation}
            events.append(event("cuda_runtime", "cudaLaunchKernel", 1000, call, **args))
            args |= {"device": 0, "stream": COMPUTE_STREAM}
            name = "ampere_bf16_gemm"
            if done.work.meeting is not None:
                args |= {"stream": MEETING_STREAM, **meeting_args(plan, done.work, number)}
                name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
                number += 1
                if done.work.sender is not None:
                    name = "ncclDevKernel_SendRecv"
                    args["Collective name"] = "send" if done.work.sender == rank else "recv"
            span = (done.start + offset, done.end + offset)
            events.append(event("kernel", name, args["stream"], span, **args))
        sync = (run.done[step][-1].launch + LAUNCH + offset, here[1])
        events.append(event("cuda_runtime", "cudaDeviceSynchronize", 1000, sync))
    return events


def write_ranks(folder: Path, plan: Plan, runs: list[RankRun]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    device = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_017_755_648}
    for rank, run in enumerate(runs):
        info = {"backend": "nccl", "rank": rank, "world_size": plan.ranks}
        paths.append(folder / f"rank{rank}.json")
        with paths[-1].open("w") as file:
            file.write(f'{{"schemaVersion": 1, "distributedInfo": {json.dumps(info)},\n')
            file.write(f'"deviceProperties": [{json.dumps(device)}],\n')
            file.write(f'"baseTimeNanoseconds": {BASE_TIME_NS},\n"traceEvents": [\n')
            file.write(",\n".join(events_of(plan, rank, run)) + "\n]}\n")
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jitter", type=float, default=0.0)
    parser.add_argument("--straggler", type=int)
    parser.add_argument("--delay", type=int, default=100_000, help="of each compute, in ns")
    parser.add_argument("--pipeline", action="store_true")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    plan = new_plan(rng, arguments.ranks, arguments.jitter, arguments.pipeline)
    if arguments.straggler is not None:
        plan = with_straggler(plan, arguments.straggler, arguments.delay)
    write_ranks(arguments.folder, plan, simulate(plan))


if __name__ == "__main__":
    main()
