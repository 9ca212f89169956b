"""Properties of what rocprofv3 records: whatever form it has, the ledger is the one that was built."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ledger_script import Plan
from make_trace import make_trace
from program_report import Failure, compare_ledger, run_report, unlike
from rewritten_text import damaged_part
from rocpd_database import SHAPES as DATABASE_SHAPES
from rocpd_database import write_rocpd
from rocprof_json import SHAPES, write_json
from rocprof_process import ROCPROF_STYLE, process_of

SECTIONS = ("step_ledger", "gpu_idle", "kernels", "copies", "overlap", "launches", "operators")
FIRST_PID = 900
CUTS = 12


def make_traces(case: Any) -> list[Any]:
    plan = Plan(case.rng.randint(1, 4), case.rng.choice((1, 2, 4, 8)), True)
    count = case.rng.randint(1, 3)
    return [make_trace(f"{case.seed} {rank}", plan, ROCPROF_STYLE) for rank in range(count)]


def check_words_of_ranks(ranks: list[dict[str, Any]], has_environment: bool) -> None:
    """Of several processes: each has its rank in its environment, where the form has that."""
    order = "those of RANK" if has_environment else "numbered in the order of the file"
    for rank, sections in enumerate(ranks if len(ranks) > 1 else []):
        said = sections["run"]["numbers"]["process"]["value"]
        wanted = f"process {FIRST_PID + rank} (of {len(ranks)} with device work; ranks are {order})"
        if said != wanted:
            raise Failure(f"{said!r}, not {wanted!r}")


def what_inspect_shows(program: Any, file: Any) -> list[Any]:
    """Of each rank: its threads and streams, when nothing was recorded, and what has no launch."""
    ranks = run_report(program, file, command="inspect").ranks
    return [[*map(rank.get, ("tracks", "gaps")), rank["file"]["findings"]] for rank in ranks]


def every_form_of_rocprof_is_read(case: Any) -> None:
    """Several processes in a file, whose agents have the same handles: each is a rank, in every form the same."""
    folder = case.folder / "rocprof"
    folder.mkdir()
    traces = make_traces(case)
    processes = [process_of(trace, FIRST_PID + i, 37_944) for i, trace in enumerate(traces)]
    for rank, process in enumerate(processes):
        process.rank = rank
    first: list[dict[str, Any]] = []
    seen: list[Any] = []
    counted: list[Any] = []
    forms = [(shape, False) for shape in SHAPES] + [(shape, True) for shape in DATABASE_SHAPES]
    for shape, is_database in forms:
        if not is_database:
            file = folder / f"{shape}_results.json{case.rng.choice(('', '.gz'))}"
            write_json(file, processes, shape)
        else:
            file = folder / f"{shape}_results.db"
            write_rocpd(file, processes, shape)
        read = run_report(case.program, file)
        if read.code or len(read.ranks) != len(traces):
            raise Failure(f"{shape}: code {read.code}, {len(read.ranks)} ranks: {read.message}")
        first = first or read.ranks
        check_words_of_ranks(read.ranks, is_database and shape != "lean")
        seen.append(what_inspect_shows(case.program, file))
        if seen[-1] != seen[0]:
            raise Failure(f"{shape}: inspect{unlike(seen[0], seen[-1])}")
        if shape == "counted":
            counted.append([sections.get("gpu_metrics") for sections in read.ranks])
        for rank, (trace, sections) in enumerate(zip(traces, read.ranks)):
            compare_ledger(replace(read, sections=sections), trace.ledger)
            for name in SECTIONS:
                if first[rank].get(name) != sections.get(name):
                    unequal = unlike(first[rank].get(name), sections.get(name))
                    raise Failure(f"{shape}, rank {rank}: {name}{unequal}")
    if len(counted) != 2 or None in counted[0] or counted[0] != counted[1]:
        raise Failure(f"counters{unlike(counted[0], counted[-1])}")


def damaged_rocprof_files_are_told(case: Any) -> None:
    """Bytes changed anywhere, or the end cut off: a report of the rest or a reason, never a crash."""
    folder = case.folder / "rocprof-damaged"
    folder.mkdir()
    whole = folder / "whole_results.json"
    processes = [process_of(trace, FIRST_PID, 37_944) for trace in make_traces(case)]
    if case.rng.random() < 0.5:
        write_json(whole, processes, case.rng.choice(SHAPES))
    else:
        write_rocpd(whole, processes, case.rng.choice(DATABASE_SHAPES))
    data = whole.read_bytes()
    for number in range(CUTS):
        file = folder / f"damaged{number}_results.json"
        file.write_bytes(damaged_part(data, case.rng, number, (1, 3, 100)))
        run_report(case.program, file)
        run_report(case.program, file, command="inspect")
