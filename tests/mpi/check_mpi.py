#!/usr/bin/env python3
"""Processes under Open MPI's mpirun print what one process prints, byte for byte; and one that dies ends them all, clearly.

    check_mpi.py PROGRAM

Skips, visibly, where there is no mpirun. Ends with a line of counts.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from many_ranks import Run, settings_of, write_run  # noqa: E402
from queued_ranks import new_plan, simulate, with_straggler, write_ranks  # noqa: E402

SECONDS_MAX = 60
PROCESSES = 4


def mpirun(count: int) -> list[str]:
    words = ["mpirun", "--oversubscribe", "-n", str(count)]
    return words[:1] + ["--allow-run-as-root"] + words[1:] if os.geteuid() == 0 else words


def run(words: list[str | Path]) -> tuple[int, bytes, bytes]:
    done = subprocess.run(words, capture_output=True, timeout=SECONDS_MAX)
    return done.returncode, done.stdout, done.stderr


def make_traces(folder: Path) -> Path:
    run_of_six = Run(settings_of("tp=2,dp=3", steps=2, seed=3))
    traces = folder / "traces"
    write_run(traces, run_of_six, dropped=set())
    return traces


def same_for_any_number(program: Path, traces: Path, words: list[str]) -> str | None:
    alone = run([program, *words, traces])
    for count in (1, 2, PROCESSES):
        code, output, message = run([*mpirun(count), program, *words, traces])
        if output != alone[1]:
            return f"{count} processes print other bytes than one"
        if code != alone[0]:
            return (
                f"{count} processes end with {code}, one with {alone[0]}: {message.decode()[:300]}"
            )
    return None


def text_is_the_same(program: Path, folder: Path) -> str | None:
    return same_for_any_number(program, make_traces(folder), ["report"])


def json_is_the_same(program: Path, folder: Path) -> str | None:
    return same_for_any_number(program, make_traces(folder), ["report", "--json"])


def one_rank_in_full_is_the_same(program: Path, folder: Path) -> str | None:
    return same_for_any_number(program, make_traces(folder), ["report", "--rank", "4"])


def replays_are_the_same(program: Path, folder: Path) -> str | None:
    plan = with_straggler(new_plan(random.Random(5), 4, 0.1), 2, 90_000)
    write_ranks(folder / "queued", plan, simulate(plan))
    words = ["report", "--json", "--what-if", "waiting@2=0", "--what-if", "matrix/2"]
    return same_for_any_number(program, folder / "queued", words)


def digests_are_the_same(program: Path, folder: Path) -> str | None:
    return same_for_any_number(program, make_traces(folder), ["digest", "-o", "-"])


def a_damaged_rank_is_named(program: Path, folder: Path) -> str | None:
    traces = make_traces(folder)
    (traces / "rank1.json").write_text("{}")
    path = traces / "rank4.json"
    path.write_text(path.read_text()[:3000])
    names = sorted(str(path) for path in traces.iterdir())
    alone = run([program, "report", *names])
    there = run([*mpirun(PROCESSES), program, "report", *names])
    if alone[0] != 5 or b"rank1.json" not in alone[1]:
        return f"one process: {alone}"
    return None if there[:2] == alone[:2] else "four processes say something else than one"


def process_of_place(mpirun_pid: int, place: int) -> int | None:
    """The process id of the program in that place of the world, among mpirun's children."""
    children = Path(f"/proc/{mpirun_pid}/task/{mpirun_pid}/children").read_text().split()
    for pid in children:
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"OMPI_COMM_WORLD_RANK={place}".encode() in environment:
            return int(pid)
    return None


def a_killed_process_ends_all(program: Path, folder: Path) -> str | None:
    """Process 2 waits for a trace that never comes, and is killed there."""
    traces = make_traces(folder)
    pipe = traces / "rank2.json"
    pipe.unlink()
    os.mkfifo(pipe)
    output = folder / "report.txt"
    files = [str(traces / f"rank{i}.json") for i in range(6)]
    command = [*mpirun(PROCESSES), str(program), "report", "--output", str(output), *files]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        victim = None
        for _ in range(200):
            time.sleep(0.1)
            victim = victim or process_of_place(started.pid, 2)
            if victim and Path(f"/proc/{victim}/comm").read_text().startswith("flopledger"):
                break
        if not victim:
            return "process 2 did not start"
        time.sleep(0.5)
        os.kill(victim, signal.SIGKILL)
        printed, message = started.communicate(timeout=SECONDS_MAX)
    finally:
        started.kill()
    if started.returncode == 0:
        return "mpirun says that all went well"
    if printed or output.exists():
        return "something was printed although a rank is lost"
    return None if b"signal 9" in message else f"no word of the killed process: {message[:300]!r}"


CHECKS = [
    text_is_the_same,
    json_is_the_same,
    one_rank_in_full_is_the_same,
    replays_are_the_same,
    digests_are_the_same,
    a_damaged_rank_is_named,
    a_killed_process_ends_all,
]


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = Path(sys.argv[1]).resolve()
    if not shutil.which("mpirun"):
        print(f"skipped: no mpirun here\n0 passed, 0 failed, {len(CHECKS)} skipped")
        return
    failed = 0
    for check in CHECKS:
        with tempfile.TemporaryDirectory(prefix="flopledger-mpi-") as folder:
            problem = check(program, Path(folder))
        if problem:
            failed += 1
            print(f"FAILED: {check.__name__}: {problem}")
    print(f"{len(CHECKS) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
