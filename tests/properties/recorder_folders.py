#!/usr/bin/env python3
"""Folders of other recorders: several processes whose numbers are the same, and one run in several forms.

    tests/properties/recorder_folders.py PROGRAM [--count N] [--seed S]

Ranks of one folder have the ledgers of their files read alone, though pids, threads, devices, streams and correlations are the
same in all of them. Of one run in several forms the form that tells most is read, and the report says which. A recording that a folder has
twice, under other names or within a file that several were merged into, counts once. Ends with a line of counts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sqlite3
import sys
import tempfile
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]
# the real classes of Perfetto's messages, where they are installed for this Python
sys.path += map(str, HERE.parents[1].glob("build/venv-formats/lib/python3*/site-packages"))

from ascend_recording import known_part, write_database, write_trace_view  # noqa: E402
from ledger_script import Plan  # noqa: E402
from make_trace import make_trace  # noqa: E402
from perfetto_file import Form, protos, write_pftrace  # noqa: E402
from recorder_formats import run, sections_of, timed_json  # noqa: E402
from rocpd_database import write_rocpd  # noqa: E402
from rocprof_json import processes_of, write_json  # noqa: E402
from rocprof_process import ROCPROF_STYLE, process_of  # noqa: E402
from rpd_database import write_rpd, write_tracing  # noqa: E402
from trace_styles import STYLES  # noqa: E402
from write_trace import write_trace  # noqa: E402
from xplane_file import gpu_space, write_space  # noqa: E402

PID, HANDLE = 4321, 37_944


@dataclass
class Recording:
    """One process, as every recorder would have it; all have the same numbers."""

    seed: str

    def plain(self) -> dict[str, Any]:
        style = STYLES["torch2.0"]
        made = make_trace(self.seed, Plan(steps=2, blocks=4), style)
        trace: dict[str, Any] = json.loads(write_trace(made, style).whole(), parse_float=Decimal)
        events = [
            {**event, "pid": PID if isinstance(event["pid"], int) else event["pid"]}
            for event in trace["traceEvents"]
            if event.get("ph") == "X" and "dur" in event and "ts" in event
        ]
        return {"traceEvents": events, "baseTimeNanoseconds": trace.get("baseTimeNanoseconds", 0)}

    def rng(self) -> random.Random:
        return random.Random(self.seed)

    def torch(self, path: Path) -> None:
        text = timed_json(self.plain()).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)

    def perfetto(self, path: Path) -> None:
        path.write_bytes(write_pftrace(self.plain(), Form(), self.rng()))

    def ascend(self, path: Path) -> None:
        write = write_database if path.suffix == ".db" else write_trace_view
        write(known_part(self.plain()), path, self.rng())

    def rocprof(self, path: Path) -> None:
        made = make_trace(self.seed, Plan(2, 4, True), ROCPROF_STYLE)
        write = write_rocpd if path.suffix == ".db" else write_json
        write(path, [process_of(made, PID, HANDLE)])

    def rpd(self, path: Path) -> None:
        made = make_trace(self.seed, Plan(2, 4, True), ROCPROF_STYLE)
        database = path if path.suffix == ".rpd" else path.parent.parent / "as.rpd"
        write_rpd(database, [process_of(made, PID, HANDLE)])
        if database != path:
            write_tracing(path, database)

    def xplane(self, path: Path) -> None:
        write_space(path, gpu_space(self.rng(), 1).planes)

    def analysis(self, path: Path) -> None:
        """A database that a recorder puts beside a recording."""
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE StepTraceTime (deviceId TEXT, step TEXT)")
            connection.execute("INSERT INTO StepTraceTime VALUES ('0', '1')")


Writer = Callable[[Recording, Path], None]
NPU = "run/h{0}_ascend_pt/ASCEND_PROFILER_OUTPUT"
# How several processes of one job lie in a folder.
JOBS: list[tuple[str, Writer]] = [
    ("run/rank{0}.pt.trace.json", Recording.torch),
    ("run/rank{0}.pftrace", Recording.perfetto),
    (NPU + "/trace_view.json", Recording.ascend),
    (NPU + "/ascend_pytorch_profiler_{0}.db", Recording.ascend),
    ("run/rank{0}_results.db", Recording.rocprof),
    ("run/rank{0}_results.json", Recording.rocprof),
    ("run/node{0}/4321_results.db", Recording.rocprof),
    ("run/rank{0}.rpd", Recording.rpd),
    ("run/plugins/profile/2025_01_02_03_04_05/host{0}.xplane.pb", Recording.xplane),
]
# One run in several forms: the first is read.
FORMS: list[list[tuple[str, Writer]]] = [
    [("run/a.pt.trace.json", Recording.torch), ("run/a.pftrace", Recording.perfetto)],
    [("run/a.json.gz", Recording.torch), ("run/a.perfetto-trace", Recording.perfetto)],
    [("run/a.json", Recording.torch), ("run/a.json.gz", Recording.torch)],
    [("run/a_results.db", Recording.rocprof), ("run/a_results.json", Recording.rocprof)],
    [("run/trace.rpd", Recording.rpd), ("run/trace.json", Recording.rpd)],
    [("run/msprof_20240102.db", Recording.ascend), ("run/msprof_20240101.json", Recording.ascend)],
    [
        ("run/plugins/profile/2025_01_02_03_04_05/h.xplane.pb", Recording.xplane),
        ("run/plugins/profile/2025_01_02_03_04_05/h.trace.json.gz", Recording.torch),
    ],
    [
        (NPU.format(0) + "/ascend_pytorch_profiler_0.db", Recording.ascend),
        (NPU.format(0) + "/trace_view.json", Recording.ascend),
        (NPU.format(0) + "/analysis.db", Recording.analysis),
    ],
]

# What stands beside the recordings of two ranks, `first.db` and `second.db`: which of them it has.
COPIES = {
    "copy_of_one.db": [0],
    "in_another_form.json": [1],
    "merged.db": [0, 1],
    "as_merged.db": [0, 1],  # which is before both
}

# Devices of each host of a JAX run: every device is a rank.
HOSTS: list[list[int]] = [[2, 1], [1, 2], [1, 3, 2], [2, 2]]


def ranks_of(program: Path, path: Path) -> list[dict[str, Any]]:
    """Their sections, by the host's clock: ranks of one run would else share the device's."""
    _, out, _ = run(program, "report", "--json", "--clock", "host", path)
    return [rank["sections"] for rank in json.loads(out)["ranks"]] if out else []


def numbers_of(sections: dict[str, Any]) -> dict[str, Any]:
    """What a rank of a folder tells as its file alone does."""
    ledger, kernels = sections["step_ledger"]["numbers"], sections["kernels"]["tables"]["by_class"]
    kept = ("steps", "step_time_mean", "step_time_min", "step_time_max", "device_busy")
    return {key: ledger[key]["value"] for key in kept} | {"kernels": kernels["rows"]}


def check_job(program: Path, folder: Path, job: tuple[str, Writer], seed: int) -> list[str]:
    pattern, write = job
    alone = []
    for rank in range(2):
        path = folder / pattern.format(rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        write(Recording(f"{seed} {rank}"), path)
        alone += ranks_of(program, path)
    together = ranks_of(program, folder / "run")
    if len(together) != 2 or len(alone) != 2:
        return [f"{pattern}: {len(together)} ranks"]
    problems = []
    for rank, (one, sections) in enumerate(zip(alone, together)):
        wanted, found = numbers_of(one), numbers_of(sections)
        if wanted != found:
            problems.append(f"{pattern}, rank {rank}: {wanted} became {found}")
    return problems


def check_form(
    program: Path, folder: Path, forms: list[tuple[str, Writer]], seed: int
) -> list[str]:
    for name, write in forms:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write(Recording(str(seed)), path)
    first, other = (Path(name).name for name, _ in forms[:2])
    problems = []
    if sections_of(program, folder / "run") != sections_of(program, folder / forms[0][0]):
        problems.append(f"{first}: alone, its report is another one")
    _, out, err = run(program, "report", folder / "run")
    said = " ".join((out + err).split())
    if f"('{first}' is read, not '{other}')" not in said:
        problems.append(f"{first}, {other}: which is read is not said: {said[:300]}")
    return problems


def overview_of(program: Path, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """Of all ranks together: numbers, and warnings."""
    _, out, _ = run(program, "report", "--json", folder)
    overview = json.loads(out)["overview"]
    return overview["numbers"], [finding["what"] for finding in overview["findings"]]


def check_copy(program: Path, folder: Path, name: str, seed: int) -> list[str]:
    processes = processes_of(str(seed), Plan(3, 6, True), 2)
    alone, beside = folder / "alone", folder / "beside"
    for here in (alone, beside):
        here.mkdir()
        for file, process in zip(("first.db", "second.db"), processes):
            write_rocpd(here / file, [process])
    write = write_rocpd if name.endswith(".db") else write_json
    write(beside / name, [processes[rank] for rank in COPIES[name]])
    wanted, said_alone = overview_of(program, alone)
    found, said = overview_of(program, beside)
    problems = [
        f"{name}: {key}: {number['value']} became {found.get(key)}"
        for key, number in wanted.items()
        if number["unit"] in ("ns", "count") and number != found.get(key)
    ]
    told = [len([one for one in texts if "another file" in one]) for texts in (said_alone, said)]
    if told != [0, len(COPIES[name])] or wanted["ranks"]["value"] != 2:
        problems.append(f"{name}: {told} copies are told: {said}")
    return problems


def check_hosts(program: Path, folder: Path, hosts: list[int], seed: int) -> list[str]:
    alone = []
    for host, devices in enumerate(hosts):
        path = folder / f"run/plugins/profile/2025_01_02_03_04_05/host{host}.xplane.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_space(path, gpu_space(random.Random(f"{seed} {host}"), devices).planes)
        alone += ranks_of(program, path)
    numbers, said = overview_of(program, folder / "run")
    together = ranks_of(program, folder / "run")
    shown = numbers.get("ranks", numbers.get("traces", {})).get("value")
    problems = [f"hosts of {hosts} devices: {one}" for one in said if "left out" in one]
    if shown != sum(hosts) or list(map(numbers_of, alone)) != list(map(numbers_of, together)):
        problems.append(f"hosts of {hosts} devices: {shown} ranks are compared")
    return problems


def writers_of(case: Any) -> list[Writer]:
    if isinstance(case, tuple):
        return [case[1]]
    return [form[1] for form in case if isinstance(form, tuple)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    program = arguments.program.resolve()
    passed = failed = skipped = 0
    cases: list[tuple[Callable[..., list[str]], Any]] = []
    cases += [(check_job, job) for job in JOBS] + [(check_form, forms) for forms in FORMS]
    cases += [(check_copy, name) for name in COPIES] + [(check_hosts, hosts) for hosts in HOSTS]
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        for check, case in cases:
            if not protos and Recording.perfetto in writers_of(case):
                skipped += 1
                continue
            with tempfile.TemporaryDirectory(prefix="flopledger-folders-") as folder:
                problems = check(program, Path(folder), case, seed)
            failed += bool(problems)
            passed += not problems
            for problem in problems:
                print(f"FAILED: seed {seed}: {problem}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
