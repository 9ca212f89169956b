"""Flight-recorder dumps of a job whose fault is known.

A job of dp x pp x tp ranks runs a few steps: all-reduces and all-gathers in its tensor groups, sends and receives between
pipeline stages, reduce-scatters in its data groups, all-to-alls and barriers of all. Each rank calls its operations in
order, up to a few ahead of the ones that are complete; an operation completes when all its ranks have called the same.
Then one fault is put in, the job runs until nothing moves, and every rank writes its ring.

    flight_dumps.py FOLDER --fault stopped --seed 3        writes the dumps and FOLDER/../expected.json
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FAULTS = (
    "none",
    "stopped",
    "silent",
    "skipped",
    "extra",
    "swapped",
    "size",
    "type",
    "exchange",
    "circle",
    "stuck",
    "lost_receive",
)
BEGAN_NS = 1_767_225_600_000_000_000


@dataclass
class Op:
    name: str
    group: str
    inputs: list[list[int]]
    outputs: list[list[int]]
    dtype: str = "BFloat16"
    peer: tuple[int, int] | None = None  # ranks of the job: from, to
    line: int = 0

    def signature(self) -> tuple[Any, ...]:
        return (self.name, self.dtype, str(self.inputs), str(self.outputs))


@dataclass
class Rank:
    number: int
    program: list[Op]
    called: int = 0
    done: set[int] = field(default_factory=set)
    stops_after: int | None = None


class Job:
    def __init__(self, seed: int, fault: str, ring: int) -> None:
        self.random = random.Random(seed)
        self.fault = fault
        self.ring = ring
        self.tp = self.random.choice((2, 4))
        self.pp = 2
        self.dp = self.random.choice((2, 3))
        self.world = self.tp * self.pp * self.dp
        self.groups: dict[str, tuple[str, list[int]]] = {
            "0": ("default_pg", list(range(self.world)))
        }
        self.steps = self.random.randint(3, 6)
        self.layers = self.random.randint(2, 4)
        self.expected: dict[str, Any] = {"fault": fault}
        self.never_complete: set[tuple[str, int]] = set()
        self.make_groups()
        self.ranks = [Rank(number, self.program_of(number)) for number in range(self.world)]
        self.put_fault()

    # ranks are ordered tensor fastest, then pipeline, then data
    def place(self, rank: int) -> tuple[int, int, int]:
        return rank % self.tp, rank // self.tp % self.pp, rank // (self.tp * self.pp)

    def rank_at(self, tp: int, pp: int, dp: int) -> int:
        return tp + self.tp * (pp + self.pp * dp)

    def make_groups(self) -> None:
        self.of: dict[tuple[str, int], str] = {}
        kinds = {
            "tp": lambda t, p, d: (p, d),
            "dp": lambda t, p, d: (t, p),
            "pp": lambda t, p, d: (t, d),
        }
        name = 1
        for kind, key in kinds.items():
            members: dict[Any, list[int]] = {}
            for rank in range(self.world):
                members.setdefault(key(*self.place(rank)), []).append(rank)
            for ranks in members.values():
                self.groups[str(name)] = (f"mesh_{kind}", ranks)
                for rank in ranks:
                    self.of[kind, rank] = str(name)
                name += 1

    def program_of(self, rank: int) -> list[Op]:
        program: list[Op] = []
        tp, pp, dp = self.place(rank)
        before = self.rank_at(tp, 0, dp)
        after = self.rank_at(tp, 1, dp)
        size = [8, 128]
        for step in range(self.steps):
            if pp == 1:
                program.append(
                    Op("recv", self.of["pp", rank], [], [size], peer=(before, after), line=40)
                )
            for layer in range(self.layers):
                width = 128 + 64 * layer
                group = self.of["tp", rank]
                program.append(Op("all_reduce", group, [[8, width]], [[8, width]], line=50 + layer))
                program.append(
                    Op(
                        "_all_gather_base",
                        group,
                        [[8, width]],
                        [[8 * self.tp, width]],
                        line=60 + layer,
                    )
                )
            if pp == 0:
                program.append(
                    Op("send", self.of["pp", rank], [size], [], peer=(before, after), line=41)
                )
            for bucket in range(2):
                program.append(
                    Op(
                        "_reduce_scatter_base",
                        self.of["dp", rank],
                        [[600 + bucket]],
                        [[(600 + bucket) // 1]],
                        line=70,
                    )
                )
            program.append(Op("all_to_all", "0", [[self.world * 4]], [[self.world * 4]], line=80))
            program.append(Op("all_reduce", "0", [[1]], [[1]], "Float", line=90 + step % 2))
        return program

    # ---- faults ----

    def put_fault(self) -> None:
        victim = self.random.randrange(self.world)
        rank = self.ranks[victim]
        tensor = [
            i
            for i, op in enumerate(rank.program)
            if op.group == self.of["tp", victim] and i > len(rank.program) // 2
        ]
        at = self.random.choice(tensor[:-1])  # one more of the group follows
        op = rank.program[at]
        number = 1 + sum(1 for other in rank.program[:at] if other.group == op.group)
        self.expected |= {"rank": victim, "group": self.groups[op.group][0], "number": number}
        self.expected |= {"name": op.name, "members": self.groups[op.group][1]}
        getattr(self, f"put_{self.fault}")(rank, at)

    def put_none(self, rank: Rank, at: int) -> None:
        pass

    def put_stopped(self, rank: Rank, at: int) -> None:
        rank.stops_after = at

    put_silent = put_stopped

    def put_skipped(self, rank: Rank, at: int) -> None:
        del rank.program[at]

    def put_extra(self, rank: Rank, at: int) -> None:
        op = rank.program[at]
        other = Op("broadcast", op.group, [[77]], [[77]], line=99)
        rank.program.insert(at, other)

    def put_swapped(self, rank: Rank, at: int) -> None:
        program = rank.program
        others = [i for i in range(at + 1, len(program)) if program[i].group == program[at].group]
        if not others or program[others[0]].name == program[at].name:
            at = next(i for i, op in enumerate(program) if op.group == self.of["tp", rank.number])
            others = [
                i for i in range(at + 1, len(program)) if program[i].group == program[at].group
            ]
            self.expected |= {"number": 1, "name": program[at].name}
        program[at], program[others[0]] = program[others[0]], program[at]

    def put_size(self, rank: Rank, at: int) -> None:
        op = rank.program[at]
        rank.program[at] = Op(op.name, op.group, [[7, 128]], [[7, 128]], line=op.line)

    def put_type(self, rank: Rank, at: int) -> None:
        op = rank.program[at]
        rank.program[at] = Op(op.name, op.group, op.inputs, op.outputs, "Half", line=op.line)

    def put_exchange(self, rank: Rank, at: int) -> None:
        at = next(i for i, op in enumerate(rank.program) if op.name == "all_to_all")
        op = rank.program[at]
        rank.program[at] = Op(op.name, op.group, [[self.world * 4 + 3]], op.outputs, line=op.line)
        self.expected |= {"number": 1, "group": "default", "name": "all_to_all"}

    def put_circle(self, rank: Rank, at: int) -> None:
        """Two ranks of one tensor group, and of one data group with others: each calls the two groups' operations in
        another order, waiting for each before the next."""
        del at
        other = next(r for r in self.groups[self.of["tp", rank.number]][1] if r != rank.number)
        for number, order in ((rank.number, 0), (other, 1)):
            first = Op("all_reduce", "98", [[5]], [[5]], line=101)
            second = Op("all_reduce", "99", [[6]], [[6]], line=102)
            self.ranks[number].program[0:0] = [first, second][:: 1 - 2 * order]
            self.ranks[number].stops_after = 1
        pair = sorted((rank.number, other))
        self.groups["98"] = ("one", pair)
        self.groups["99"] = ("two", pair)
        self.expected |= {"circle": pair}

    def put_stuck(self, rank: Rank, at: int) -> None:
        op = rank.program[at]
        self.never_complete.add((op.group, self.expected["number"]))

    def put_lost_receive(self, rank: Rank, at: int) -> None:
        del at
        receiver = next(r for r in self.ranks if self.place(r.number)[1] == 1)
        last = [i for i, op in enumerate(receiver.program) if op.name == "recv"][-1]
        receiver.stops_after = last
        self.expected |= {"rank": receiver.number}

    # ---- running ----

    def run(self) -> None:
        self.arrived: dict[tuple[str, Any], dict[int, int]] = {}
        self.counts: dict[tuple[int, str], int] = {}
        moved = True
        while moved:
            moved = False
            for rank in self.random.sample(self.ranks, len(self.ranks)):
                moved |= self.call_some(rank)
            moved |= self.complete_some()

    def call_some(self, rank: Rank) -> bool:
        moved = False
        limit = len(rank.program) if rank.stops_after is None else rank.stops_after
        ahead = 0 if self.fault == "circle" else 3
        while rank.called < limit and rank.called - len(rank.done) <= ahead:
            op = rank.program[rank.called]
            count_key = (rank.number, op.group if op.peer is None else f"{op.group} {op.peer}")
            self.counts[count_key] = self.counts.get(count_key, 0) + 1
            key = (
                op.group,
                self.counts[count_key] if op.peer is None else (op.peer, self.counts[count_key]),
            )
            self.arrived.setdefault(key, {})[rank.number] = rank.called
            rank.called += 1
            moved = True
        return moved

    def complete_some(self) -> bool:
        moved = False
        for (group, number), members in self.arrived.items():
            wanted = set(self.groups[group][1]) if isinstance(number, int) else set(number[0])
            if set(members) != wanted or (group, number) in self.never_complete:
                continue
            ops = [self.ranks[rank].program[i] for rank, i in members.items()]
            if isinstance(number, int) and len({op.signature() for op in ops}) > 1:
                continue
            if not all(self.is_next(rank, i) for rank, i in members.items()):
                continue
            for rank, i in members.items():
                if i not in self.ranks[rank].done:
                    self.ranks[rank].done.add(i)
                    moved = True
        return moved

    def is_next(self, rank: int, index: int) -> bool:
        """Operations of a group end in order."""
        program = self.ranks[rank].program
        return all(
            i in self.ranks[rank].done or program[i].group != program[index].group
            for i in range(index)
        )

    # ---- dumps ----

    def dump_of(self, rank: Rank) -> dict[str, Any]:
        entries = []
        numbers: dict[tuple[str, bool], int] = {}
        local = {name: i for i, name in enumerate(self.groups)}
        for index, op in enumerate(rank.program[: rank.called]):
            key = (op.group, op.peer is not None)
            numbers[key] = numbers.get(key, 0) + 1
            entries.append(self.entry_of(rank, index, op, numbers, local))
        status = {}
        for name in self.groups:
            of_group = [e for e in entries if e["process_group"][0] == name and not e["is_p2p"]]
            done = [e["collective_seq_id"] for e in of_group if e["state"] == "completed"]
            status[local[name]] = {
                "last_enqueued_collective": of_group[-1]["collective_seq_id"] if of_group else -1,
                "last_started_collective": -1,
                "last_completed_collective": done[-1] if done else -1,
            }
        config = {
            name: {"name": name, "desc": description, "ranks": str(ranks)}
            for name, (description, ranks) in self.groups.items()
            if rank.number in ranks
        }
        used = {e["pg_id"] for e in entries}
        return {
            "version": "2.10",
            "comm_lib_version": "2.27.3",
            "pg_config": config,
            "pg_status": {str(k): v for k, v in status.items() if k in used},
            "entries": entries[-self.ring :],
        }

    def entry_of(
        self,
        rank: Rank,
        index: int,
        op: Op,
        numbers: dict[tuple[str, bool], int],
        local: dict[str, int],
    ) -> dict[str, Any]:
        is_done = index in rank.done
        created = BEGAN_NS + index * 1_000_000 + rank.number * 1000
        name = op.name
        if op.peer:
            members = self.groups[op.group][1]
            own, other = (members.index(r) for r in (op.peer if name == "send" else op.peer[::-1]))
            name = f"{name} {own}{'->' if name == 'send' else '<-'}{other}"
        return {
            "record_id": index,
            "pg_id": local[op.group],
            "process_group": (op.group, self.groups[op.group][0]),
            "collective_seq_id": numbers.get((op.group, False), 0),
            "p2p_seq_id": numbers.get((op.group, True), 0),
            "op_id": index,
            "profiling_name": f"nccl:{name}",
            "time_created_ns": created,
            "time_discovered_started_ns": created + 5000 if is_done or index % 2 else None,
            "time_discovered_completed_ns": created + 400_000 if is_done else None,
            "input_sizes": op.inputs,
            "input_dtypes": [op.dtype] * len(op.inputs),
            "output_sizes": op.outputs,
            "output_dtypes": [op.dtype] * len(op.outputs),
            "state": "completed" if is_done else "started" if index % 2 else "scheduled",
            "retired": is_done,
            "timeout_ms": 600_000,
            "is_p2p": op.peer is not None,
            "frames": [
                {
                    "name": op.name,
                    "filename": "/env/lib/torch/distributed/distributed_c10d.py",
                    "line": 2806,
                },
                {"name": "forward", "filename": "/home/user/model/train.py", "line": op.line},
            ],
        }

    def old_dump_of(self, rank: Rank, version: str) -> Any:
        """As recorders before version 2.0 wrote it: groups have numbers, and there is one count for all operations."""
        dump = self.dump_of(rank)
        config = {e["pg_id"]: self.groups[e["process_group"][0]][1] for e in dump["entries"]}
        for entry in dump["entries"]:
            number = entry["p2p_seq_id" if entry["is_p2p"] else "collective_seq_id"]
            for key in (
                *("process_group", "collective_seq_id", "p2p_seq_id", "is_p2p", "timeout_ms"),
                *("input_dtypes", "output_dtypes"),
                *(("record_id", "op_id") if version < "1.4" else ()),
            ):
                del entry[key]
            entry["seq_id"] = number
        if version == "1.0":
            return dump["entries"]
        old = {"version": version, "entries": dump["entries"]}
        return (
            old
            if version < "1.4"
            else {**old, "pg_config": config, "nccl_comm_state": {"0x1": {"rank": "0"}}}
        )

    def write(self, folder: Path, as_json: bool, version: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for rank in self.ranks:
            if self.fault == "silent" and rank.number == self.expected["rank"]:
                continue
            dump = self.old_dump_of(rank, version) if version else self.dump_of(rank)
            if as_json:
                text = json.dumps(dump).replace("null", "0")
                (folder / f"dump_{rank.number}.json").write_text(text)
            else:
                (folder / f"nccl_trace_rank_{rank.number}").write_bytes(pickle.dumps(dump))


def make_job(seed: int, fault: str, ring: int = 2000) -> Job:
    job = Job(seed, fault, ring)
    job.run()
    return job


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fault", choices=FAULTS, default="stopped")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ring", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    job = make_job(arguments.seed, arguments.fault, arguments.ring)
    job.write(arguments.folder, arguments.json)
    print(json.dumps(job.expected))


if __name__ == "__main__":
    main()
