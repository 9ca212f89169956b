"""Timelines of data-parallel pipelines whose step times under any durations are known.

Each worker runs one forward and one backward compute a micro-batch in the order of the 1F1B schedule, between an all-gather
of its parameters and its reduce-scatter, clipping and optimizer. The times follow from an event-driven run of the schedule,
written without any graph: a worker takes its next piece as soon as what it receives has arrived.

    pipeline_timeline.py FILE --seed 3
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Key = tuple[int, int, int, str, int]  # step, data rank, stage, kind, number


def one_forward_one_backward(stage: int, stages: int, batches: int) -> list[tuple[str, int]]:
    warm = min(stages - stage - 1, batches)
    order = [("forward-compute", i) for i in range(warm)]
    for i in range(batches - warm):
        order += [("forward-compute", warm + i), ("backward-compute", i)]
    return order + [("backward-compute", i) for i in range(batches - warm, batches)]


@dataclass
class Pipeline:
    seed: int
    data: int
    stages: int
    batches: int
    steps: list[int]
    durations: dict[Key, int] = field(default_factory=dict)  # nanoseconds
    times: dict[Key, tuple[int, int]] = field(default_factory=dict)

    def draw(self) -> None:
        """Durations in whole microseconds; some stage, rank or operation is slow."""
        drawn = random.Random(self.seed)
        slow_stage, slow_rank = drawn.randrange(self.stages), drawn.randrange(self.data)
        kind_of_slow = drawn.choice(["stage", "rank", "noise", "none"])
        for step in self.steps:
            for rank in range(self.data):
                for stage in range(self.stages):
                    slow = {"stage": stage == slow_stage, "rank": rank == slow_rank}.get(
                        kind_of_slow
                    )
                    self.draw_worker(
                        drawn, (step, rank, stage), 2 if slow else 1, kind_of_slow == "noise"
                    )

    def draw_worker(
        self, drawn: random.Random, place: tuple[int, int, int], slow: int, noise: bool
    ) -> None:
        def put(kind: str, number: int, us: int) -> None:
            self.durations[(*place, kind, number)] = us * 1000

        for batch in range(self.batches):
            for kind, us in (("forward-compute", 900), ("backward-compute", 1700)):
                put(kind, batch, us * slow + (drawn.randint(0, 800) if noise else 0))
            for kind in self.transfers(place[2]):
                put(kind, batch, drawn.choice((5, 7, 9)))
        put("params-all-gather", 0, drawn.randint(40, 60))
        put("gc", 0, 0)
        put("layernorm-grads-all-reduce", 0, 11)
        put("grads-reduce-scatter", 0, drawn.randint(90, 120))
        if place[2] in (0, self.stages - 1) and self.stages > 1:
            put("embedding-grads-all-reduce", 0, 31)
        put("optimizer-clip-main-grad", 0, 17)
        put("optimizer", 0, drawn.randint(200, 210))

    def transfers(self, stage: int) -> list[str]:
        kinds = []
        if stage > 0:
            kinds += ["forward-recv", "backward-send"]
        if stage < self.stages - 1:
            kinds += ["forward-send", "backward-recv"]
        return kinds

    # ---- an event-driven run ----

    def run(self, durations: dict[Key, int], began: dict[int, int]) -> dict[Key, tuple[int, int]]:
        times: dict[Key, tuple[int, int]] = {}
        for step in self.steps:
            self.run_step(step, durations, times, began[step])
        return times

    def run_step(
        self, step: int, durations: dict[Key, int], times: dict[Key, tuple[int, int]], begin: int
    ) -> None:
        def finish(key: Key, start: int) -> int:
            times[key] = (start, start + durations[key])
            return start + durations[key]

        gathered = {}
        for rank in range(self.data):
            for stage in range(self.stages):
                gathered[rank, stage] = finish((step, rank, stage, "params-all-gather", 0), begin)
        ends = {}
        for rank in range(self.data):
            ends |= self.run_pipeline(step, rank, durations, times, gathered)
        for place in list(ends):
            ends[place] = finish((step, *place, "gc", 0), ends[place])
            ends[place] = finish((step, *place, "layernorm-grads-all-reduce", 0), ends[place])
        for rank in range(self.data):
            if self.stages > 1:
                both = [(rank, 0), (rank, self.stages - 1)]
                ready = max(ends[place] for place in both)
                for place in both:
                    ends[place] = finish((step, *place, "embedding-grads-all-reduce", 0), ready)
        for stage in range(self.stages):
            ready = max(ends[rank, stage] for rank in range(self.data))
            for rank in range(self.data):
                ends[rank, stage] = finish((step, rank, stage, "grads-reduce-scatter", 0), ready)
        ready = max(ends.values())
        for place in ends:
            clipped = finish((step, *place, "optimizer-clip-main-grad", 0), ready)
            finish((step, *place, "optimizer", 0), clipped)

    def run_pipeline(
        self,
        step: int,
        rank: int,
        durations: dict[Key, int],
        times: dict[Key, tuple[int, int]],
        gathered: dict[tuple[int, int], int],
    ) -> dict[tuple[int, int], int]:
        """Rounds over the stages: each does what it can. A send starts when the receiver has posted its receive, which is
        when its compute before that one of the kind has ended; the first backward receive is posted after the last but
        one forward of the warm-up."""
        orders = [
            one_forward_one_backward(s, self.stages, self.batches) for s in range(self.stages)
        ]
        place = [0] * self.stages
        free = [gathered[rank, s] for s in range(self.stages)]
        arrived: dict[tuple[int, str, int], int] = {}
        lanes: dict[tuple[int, str], int] = {}
        pending: list[tuple[str, int, int, int]] = []  # kind of compute, batch, from, ready
        moved = True
        while moved:
            moved = False
            for stage in range(self.stages):
                while place[stage] < len(orders[stage]):
                    kind, batch = orders[stage][place[stage]]
                    source = stage - 1 if kind == "forward-compute" else stage + 1
                    if 0 <= source < self.stages and (stage, kind, batch) not in arrived:
                        break
                    start = max(free[stage], arrived.get((stage, kind, batch), 0))
                    end = start + durations[(step, rank, stage, kind, batch)]
                    times[(step, rank, stage, kind, batch)] = (start, end)
                    free[stage] = end
                    place[stage] += 1
                    moved = True
                    target = stage + 1 if kind == "forward-compute" else stage - 1
                    if 0 <= target < self.stages:
                        pending.append((kind, batch, stage, end))
            for item in list(pending):
                if self.transfer(step, rank, item, durations, times, arrived, lanes, orders):
                    pending.remove(item)
                    moved = True
        return {(rank, stage): free[stage] for stage in range(self.stages)}

    def transfer(
        self,
        step: int,
        rank: int,
        item: tuple[str, int, int, int],
        durations: dict[Key, int],
        times: dict[Key, tuple[int, int]],
        arrived: dict[tuple[int, str, int], int],
        lanes: dict[tuple[int, str], int],
        orders: list[list[tuple[str, int]]],
    ) -> bool:
        kind, batch, stage, ready = item
        direction = kind.split("-")[0]
        target = stage + 1 if direction == "forward" else stage - 1
        post = self.posted_ns(step, rank, target, kind, batch, times, orders[target])
        mine = self.first_backward_ns(step, rank, stage, kind, batch, times, orders[stage])
        if post is None or mine is None:
            return False
        if batch > 0 and (target, kind, batch - 1) not in arrived:
            return False
        send = (step, rank, stage, f"{direction}-send", batch)
        receive = (step, rank, target, f"{direction}-recv", batch)
        start = max(
            ready, post, mine, lanes.get((stage, send[3]), 0), lanes.get((target, receive[3]), 0)
        )
        for key in (send, receive):
            times[key] = (start, start + durations[key])
            lanes[key[2], key[3]] = start + durations[key]
        arrived[target, kind, batch] = times[receive][1]
        return True

    def posted_ns(self, step, rank, stage, kind, batch, times, order):  # type: ignore[no-untyped-def]
        """When the receive for this compute is called; None: not yet known."""
        if batch > 0:
            before = times.get((step, rank, stage, kind, batch - 1))
            return before[1] if before else None
        return self.first_backward_ns(step, rank, stage, kind, batch, times, order)

    def first_backward_ns(self, step, rank, stage, kind, batch, times, order):  # type: ignore[no-untyped-def]
        if kind == "forward-compute" or batch > 0:
            return 0
        first = order.index(("backward-compute", 0))
        if first < 2:
            return 0
        before = times.get((step, rank, stage, *order[first - 2]))
        return before[1] if before else None

    # ---- what comes of it ----

    def begins(self) -> dict[int, int]:
        return {step: index * 10**9 for index, step in enumerate(self.steps)}

    def usual(self) -> dict[Key, int]:
        by_kind: dict[str, list[int]] = {}
        for key, duration in self.durations.items():
            by_kind.setdefault(key[3], []).append(duration)
        computing = ("forward-compute", "backward-compute", "optimizer", "gc")
        values = {}
        for kind, all_of in by_kind.items():
            all_of.sort()
            middle = len(all_of) // 2
            if kind in computing:
                values[kind] = int(sum(all_of) / len(all_of) + 0.5)
            elif len(all_of) % 2:
                values[kind] = all_of[middle]
            else:
                values[kind] = (all_of[middle - 1] + all_of[middle] + 1) // 2
        return {key: values[key[3]] for key in self.durations}

    def step_times(self, times: dict[Key, tuple[int, int]]) -> dict[int, int]:
        begins = self.begins()
        return {
            step: max(end for key, (_, end) in times.items() if key[0] == step) - begins[step]
            for step in self.steps
        }

    def events(self) -> list[dict[str, Any]]:
        lanes = {"compute": 0, "recv": 1, "send": 1}
        events: list[dict[str, Any]] = []
        for (step, rank, stage, kind, number), (start, end) in self.times.items():
            lane = lanes.get(kind.split("-")[-1], 3)
            worker = rank * self.stages + stage
            events.append(
                {
                    "name": kind,
                    "cat": kind,
                    "ph": "X",
                    "pid": rank,
                    "tid": worker * 5 + lane,
                    "ts": start / 1000,
                    "dur": (end - start) / 1000,
                    "args": {"step": step, "model_chunk": 0, "mb_id": number, "seq_id": number},
                }
            )
        random.Random(self.seed).shuffle(events)
        for rank in range(self.data):
            for stage in range(self.stages):
                for lane, name in enumerate(("compute", "pp-comm", "tp-comm", "dp-comm", "misc")):
                    events.append(
                        {
                            "name": "thread_name",
                            "ph": "M",
                            "pid": rank,
                            "tid": (rank * self.stages + stage) * 5 + lane,
                            "args": {"name": f"PP rank {stage}, TP rank 0, {name}"},
                        }
                    )
        return events

    def write(self, path: Path) -> None:
        opened = gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w")
        with opened as file:
            json.dump(self.events(), file)


def make_pipeline(seed: int) -> Pipeline:
    drawn = random.Random(seed * 7919 + 1)
    pipeline = Pipeline(
        seed,
        drawn.randint(1, 4),
        drawn.randint(1, 5),
        drawn.randint(1, 9),
        sorted(drawn.sample(range(1000), drawn.randint(1, 4))),
    )
    pipeline.draw()
    pipeline.times = pipeline.run(pipeline.durations, pipeline.begins())
    return pipeline


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--late-us", type=int, default=0, help="delays each optimizer, for no reason"
    )
    arguments = parser.parse_args()
    pipeline = make_pipeline(arguments.seed)
    for key, (start, end) in pipeline.times.items():
        late = 1000 * arguments.late_us if key[3] == "optimizer" else 0
        pipeline.times[key] = (start + late, end + late)
    pipeline.write(arguments.file)


if __name__ == "__main__":
    main()
