#!/usr/bin/env python3
"""Recordings of several ranks that were merged into one file: is each rank read as its own file is, or the file refused?

    tests/properties/merged_traces.py PROGRAM [--count N] [--seed S]

They are merged as the tools do that are known: with a label in each pid, with numbers moved and names of processes, as our own
exports, one behind the other or mixed. All sections of each rank have to be those of its own file. Ends with a line of counts.
"""

from __future__ import annotations

import json
import random
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable, Iterator

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from ascend_recording import known_part, write_trace_view  # noqa: E402
from ledger_script import Plan  # noqa: E402
from make_trace import make_trace  # noqa: E402
from random_cases import run_kinds  # noqa: E402
from recorder_formats import run, sections_of, timed_json  # noqa: E402
from trace_styles import STYLES  # noqa: E402
from write_trace import write_trace  # noqa: E402

Events = list[dict[str, Any]]
WORK = ("kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation")
STYLE = STYLES["torch2.0"]
REFUSED = 3


def recording(seed: str, rank: int, shares_device: bool, steps: int = 2) -> Events:
    """Of one rank: its process has a pid of its own, its device is the only one that it sees, or the one of its number.
    Correlations are those of all processes, which count from 1."""
    made = make_trace(seed, Plan(steps=steps, blocks=4), STYLE)
    trace = json.loads(write_trace(made, STYLE).whole(), parse_float=Decimal)
    events: Events = []
    numbers: dict[int, int] = {}
    for event in trace["traceEvents"]:
        if event.get("ph") != "X" or "dur" not in event or "ts" not in event:
            continue
        if "correlation" in event.get("args", {}):
            event["args"]["correlation"] = numbers.setdefault(
                event["args"]["correlation"], len(numbers) + 1
            )
        if event.get("cat") in WORK:
            device = 0 if shares_device else rank
            event = {**event, "pid": device, "args": {**event.get("args", {}), "device": device}}
        elif isinstance(event["pid"], int):
            event = {**event, "pid": 4242 + 3 * rank}
        events.append(event)
    pids = {str(event["pid"]): event["pid"] for event in events}
    return [called(pid, "python") for pid in pids.values()] + events


def called(pid: Any, name: str) -> dict[str, Any]:
    return {"name": "process_name", "ph": "M", "pid": pid, "tid": 0, "args": {"name": name}}


def moved(events: Events, rank: int, names: tuple[str, ...], by: int) -> Iterator[dict[str, Any]]:
    """Numbers of processes, and of `names` among the arguments, are those of this rank alone."""
    for event in events:
        event = {**event, "args": dict(event.get("args", {}))}
        if isinstance(event["pid"], int):
            event["pid"] += rank * by
        for name in names:
            if name in event["args"]:
                event["args"][name] += rank * 10**7
        yield event


def by_labels(events: Events, rank: int) -> Events:
    """As SGLang merges."""
    return [{**event, "pid": f"[TP{rank:02d}-EP{rank:02d}] {event['pid']}"} for event in events]


def by_prefix(events: Events, rank: int) -> Events:
    return [{**event, "pid": f"rank{rank}_{event['pid']}"} for event in events]


def by_names(events: Events, rank: int) -> Events:
    """As TraceLens' TraceFuse merges: processes are called by their ranks."""
    made = [e for e in moved(events, rank, ("correlation",), 10**8) if e["ph"] != "M"]
    pids = {event["pid"]: event["cat"] in WORK for event in made}
    return made + [called(pid, f"RANK {rank} - {'GPU' if pids[pid] else 'CPU'}") for pid in pids]


def by_one_pid(events: Events, rank: int) -> Events:
    """As scripts do: host and device of a rank have one pid, which is called by it."""
    return [{**e, "pid": rank + 1} for e in events] + [called(rank + 1, f"Rank {rank}")]


def by_correlations(events: Events, rank: int) -> Events:
    """As TraceFuse merged before: nothing but the numbers tells."""
    return list(moved(events, rank, ("correlation",), 10**8))


def without_a_sign(events: Events, rank: int) -> Events:
    return list(moved(events, rank, (), 10**8))


def of_hosts(events: Events, rank: int) -> Events:
    """A recording of processors alone."""
    return [event for event in events if event.get("cat") not in (*WORK, "cuda_runtime")]


def of_devices(events: Events, rank: int) -> Events:
    """The work of devices alone, as TraceFuse's filters leave it."""
    return by_names([event for event in events if event.get("cat", WORK[0]) in WORK], rank)


Way = Callable[[Events, int], Events]
WAYS: tuple[Way, ...] = (
    by_labels,
    by_prefix,
    by_names,
    by_one_pid,
    by_correlations,
    of_hosts,
    of_devices,
)
MAY_SHARE = (by_labels, by_prefix, by_names, by_one_pid, by_correlations)


class Case:
    def __init__(self, program: Path, folder: Path, seed: int) -> None:
        self.program, self.folder = program, folder
        self.rng = random.Random(seed)
        self.way = WAYS[seed % len(WAYS)]
        self.count = self.rng.choice((2, 2, 3, 11))
        shares = self.way in MAY_SHARE and self.rng.random() < 0.5
        steps = 12 if self.way is of_hosts else 2  # a few operators are no recording
        self.parts = [recording(f"{seed} {r}", r, shares, steps) for r in range(self.count)]
        if self.way is of_hosts:
            self.parts = [of_hosts(part, 0) for part in self.parts]
        if self.way is of_devices:
            self.parts = [[e for e in part if e.get("cat", WORK[0]) in WORK] for part in self.parts]

    def write(self, name: str, events: Events) -> Path:
        path = self.folder / name
        path.write_text(timed_json({"traceEvents": events, "baseTimeNanoseconds": 0}))
        return path

    def merge(self, way: Way) -> Path:
        events = [event for rank, part in enumerate(self.parts) for event in way(part, rank)]
        if self.rng.random() < 0.5:
            self.rng.shuffle(events)
        return self.write("merged.json", events)

    def files(self) -> list[Path]:
        return [self.write(f"alone_rank{rank}.json", part) for rank, part in enumerate(self.parts)]

    def sections(self, path: Path) -> list[Any]:
        code, found = sections_of(self.program, path)
        for rank in found or []:  # there where an operator of any rank has shapes
            rank.get("operators", {"tables": {}})["tables"].pop("by_shape", None)
        return [code, *(found or [])]


def ranks_are_read_as_their_files(case: Case) -> None:
    wanted = [0, *(case.sections(path)[1] for path in case.files())]
    same("merged", case.sections(case.merge(case.way)), wanted)
    for form in ("chrome", "perfetto"):
        to = case.folder / f"exported.{form}"
        run(case.program, "export", form, "--force", "-o", to, *case.files())
        same(f"exported as {form}", case.sections(to), wanted)


def what_nothing_tells_is_refused(case: Case) -> None:
    if case.way in (of_hosts, of_devices):
        return
    code, out, err = run(case.program, "report", case.merge(without_a_sign))
    same("exit code", (code, out), (REFUSED, ""))
    same("told", "processes were merged into it, and nothing tells whose" in err, True)


def layers_of_several_ranks_are_refused(case: Case) -> None:
    """torch_npu's pids are those of layers; merged, each ends with the rank, and so may the name of the layer."""
    merged: Events = []
    has_names = case.rng.random() < 0.5
    for rank in (0, 1):
        path = case.folder / "trace_view.json"
        part = {"traceEvents": recording(f"{case.rng.random()}", 0, True, 12)}
        write_trace_view(known_part(part), path, case.rng)
        alone = json.loads(path.read_text(), parse_float=Decimal)
        same("alone", run(case.program, "report", path)[0], 0)
        for event in alone if isinstance(alone, list) else alone["traceEvents"]:
            event["pid"] = int(f"{event['pid']}{rank}")
            if event["name"] == "process_name" and has_names:
                event["args"]["name"] += f"_{rank}"
            merged.append(event)
    path.write_text(timed_json({"traceEvents": merged})[len('{"traceEvents": ') : -1])
    code, _, err = run(case.program, "report", path)
    same("merged layers", (code, "recordings of 2 processes were merged" in err), (REFUSED, True))


def beside_its_parts_it_is_left_out(case: Case) -> None:
    case.merge(case.way)
    case.files()
    names = case.folder.glob("*.json")
    code, out, _ = run(case.program, "report", "--json", *sorted(names))
    report = json.loads(out)
    same("ranks", len(report["ranks"]), case.count)
    told = [p["what"] for p in report["problems"] if "were merged into it" in p["what"]]
    same("left out", (code, len(told)), (5, 1))


PROPERTIES = [
    ranks_are_read_as_their_files,
    what_nothing_tells_is_refused,
    layers_of_several_ranks_are_refused,
    beside_its_parts_it_is_left_out,
]


def same(what: str, found: Any, wanted: Any) -> None:
    if found == wanted:
        return
    if isinstance(found, list) and len(found) == len(wanted) and found[0] == wanted[0]:
        pairs = [(r, key) for r, (a, b) in enumerate(zip(found[1:], wanted[1:])) for key in {*a, *b} if a.get(key) != b.get(key)]  # fmt: skip
        raise AssertionError(f"{what}: other sections of ranks: {pairs}")
    raise AssertionError(f"{what}: {str(found)[:300]}, wanted {str(wanted)[:300]}")


if __name__ == "__main__":
    run_kinds(PROPERTIES, Case, count=20, first_seed=1)
