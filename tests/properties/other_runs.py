"""Traces of different runs, given together: nothing is said of them as ranks of one, and `compare` is named.

Two ranks of one run are changed so that one thing speaks against it: the day, the size of the world, the rank that both say
they are, what their collectives move, or the device where no collective joins them. Unchanged they are a run.
"""

from __future__ import annotations

import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable

from many_ranks import Run, settings_of, write_run

Trace = dict[str, Any]
DAY_NS = 86_400_000_000_000


def a_day_later(traces: list[Trace]) -> str:
    traces[1]["baseTimeNanoseconds"] += DAY_NS
    return "more than a minute lies between them"


def of_another_size(traces: list[Trace]) -> str:
    traces[1]["distributedInfo"]["world_size"] = 16
    return "they tell of runs of different sizes"


def the_same_rank(traces: list[Trace]) -> str:
    traces[1]["distributedInfo"]["rank"] = traces[0]["distributedInfo"]["rank"]
    return "all say that they are of the same rank"


def other_messages(traces: list[Trace]) -> str:
    for event in traces[1]["traceEvents"]:
        for key in ("In msg nelems", "Out msg nelems"):
            if key in event["args"]:
                event["args"][key] = event["args"][key] // 3 + 7
    return "their collectives move different amounts"


def without_collectives(traces: list[Trace]) -> None:
    for trace in traces:
        events = trace["traceEvents"]
        trace["traceEvents"] = [event for event in events if "nccl" not in event["name"]]


def other_devices(traces: list[Trace]) -> str:
    without_collectives(traces)
    traces[1]["deviceProperties"][0]["name"] = "NVIDIA A100-SXM4-80GB"
    return "they ran on different devices, and no collective joins them"


def other_groups(traces: list[Trace]) -> str:
    for event in traces[1]["traceEvents"]:
        if "Process Group Name" in event["args"]:
            event["args"]["Process Group Name"] += ".other"
    return "no collective of one is one of another"


def one_run(_: list[Trace]) -> str:
    return ""


CASES: tuple[Callable[[list[Trace]], str], ...] = (
    a_day_later,
    of_another_size,
    the_same_rank,
    other_messages,
    other_devices,
    other_groups,
    one_run,
)


def screen_of(program: Path, folder: Path) -> str:
    words = [program, "report", "--width", "200", folder]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr[:300]}")
    return done.stdout


def check_other_runs(program: Path, seed: int) -> None:
    rng = random.Random(seed)
    change = CASES[seed % len(CASES)]
    settings = settings_of("dp=2", seed=seed, steps=rng.randint(1, 4))
    with tempfile.TemporaryDirectory(prefix="flopledger-ranks-") as name:
        folder = Path(name) / "traces"
        write_run(folder, Run(settings), set())
        paths = sorted(folder.iterdir())
        traces = [json.loads(path.read_text()) for path in paths]
        reason = change(traces)
        for path, trace in zip(paths, traces):
            path.write_text(json.dumps(trace))
        screen = screen_of(program, folder)
        if not reason:
            if "not ranks of one run" in screen:
                raise AssertionError(f"one run is not taken for one: {screen}")
            return
        for text in (f"2 traces, not ranks of one run: {reason}.", "flopledger compare A B"):
            if text not in screen:
                raise AssertionError(f"{change.__name__}: no {text!r} in {screen}")
        for text in ("missing", "straggler", "exposed communication", "of 8"):
            if text in screen:
                raise AssertionError(f"{change.__name__}: {text!r} in {screen}")


def later_window(trace: Trace, ns: int, steps: int) -> Trace:
    """What the same process did `ns` later, `steps` further on."""
    later: Trace = json.loads(json.dumps(trace))
    later["baseTimeNanoseconds"] += ns
    for event in later["traceEvents"]:
        name, _, number = event.get("name", "").partition("#")
        if name == "ProfilerStep":
            event["name"] = f"ProfilerStep#{int(number) + steps}"
    return later


def check_windows(program: Path, seed: int) -> None:
    """A profiler that recorded several times: its windows are told as such, and of each rank the first is compared."""
    rng = random.Random(seed)
    steps, windows = rng.randint(1, 3), rng.randint(2, 4)
    ranks = 1 + seed % 2
    apart_ns = rng.choice([1, 10, 50]) * 1_000_000_000
    with tempfile.TemporaryDirectory(prefix="flopledger-windows-") as name:
        folder = Path(name) / "traces"
        write_run(folder, Run(settings_of("dp=2", seed=seed, steps=steps)), set())
        for rank, path in enumerate(sorted(folder.iterdir())):
            trace = json.loads(path.read_text())
            path.unlink()
            for window in range(windows if rank < ranks else 0):
                later = later_window(trace, window * apart_ns, window * (steps + 20))
                named = folder / f"host_{rank}.{rng.randint(10**8, 10**9)}.pt.trace.json"
                named.write_text(json.dumps(later))
        screen = screen_of(program, folder)
        expected = (
            [f"{windows} windows of one process, recorded one after another.", "after the first"]
            if ranks == 1
            else [f"{windows * 2 - 2} later one", "2 ranks"]
        )
        for text in expected:
            if text not in screen:
                raise AssertionError(f"{windows} windows of {ranks} ranks: no {text!r} in {screen}")
        if "not ranks of one run" in screen or "more than once" in screen:
            raise AssertionError(f"windows are taken for other runs: {screen}")
