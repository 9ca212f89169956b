#!/usr/bin/env python3
"""How a report of many ranks grows: seconds, processor time and memory by number of ranks, threads and processes.

    rank_scaling.py PROGRAM [--ranks 1000] [--megabytes 20] [--rounds 2] [--folder FOLDER]

One and two threads, and one and two processes, take turns, so that what else the machine does meets all alike; the speed-up is
that of their best rounds.
Makes the traces (of a run with tensor, data and pipeline groups and one slow rank) in FOLDER, measures, and removes them:
needs ranks x megabytes of disk. On a machine that does other work the wall time says little; processor time still counts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "generate"))

from many_ranks import Run, settings_of, write_run  # noqa: E402

TEXT_OF_AN_EVENT = 1.25  # the filler is a little longer in the file than it is asked for


def peak_memory(pid: int) -> int:
    """KiB so far; 0 where the process has just ended. What the kernel tells at the end counts Python's own, too."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(lines[0].split()[1]) if lines else 0


@dataclass
class Measured:
    seconds: float
    printed: bytes


def measure(what: str, words: list[str | Path]) -> Measured:
    """One line of the table. Of mpirun the memory is its own, without that of the processes that it starts."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(words, stdout=output)
        pid, peak = 0, 0
        while pid == 0:
            peak = max(peak, peak_memory(process.pid))
            time.sleep(0.01)
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        output.seek(0)
        printed = output.read()
    if status:
        sys.exit(f"{what}: status {status}")
    seconds = time.monotonic() - began
    processor = usage.ru_utime + usage.ru_stime
    print(
        f"{what:28} {seconds:8.2f} s  {processor:8.2f} s  " f"{peak / 1024:7.1f} MiB",
        flush=True,
    )
    return Measured(seconds, printed)


def measure_in_turn(
    ranks: int, ways: dict[str, list[str | Path]], rounds: int
) -> tuple[dict[str, float], set[bytes]]:
    """The best seconds of each way, and what they print."""
    best: dict[str, float] = {}
    outputs: set[bytes] = set()
    for _ in range(rounds):
        for way, words in ways.items():
            measured = measure(f"{ranks} ranks, {way}", words)
            best[way] = min(best.get(way, measured.seconds), measured.seconds)
            outputs.add(measured.printed)
    return best, outputs


def largest_layout(ranks: int) -> str:
    """tp=4 and pp=5 where they divide the number of ranks, the rest data parallel."""
    tensor = 4 if ranks % 4 == 0 else 1
    pipeline = 5 if ranks // tensor % 5 == 0 else 1
    return f"tp={tensor},dp={ranks // tensor // pipeline},pp={pipeline}"


def run(program: Path, ranks: int, megabytes: float, rounds: int, folder: Path) -> None:
    layout = largest_layout(ranks)
    made = Run(settings_of(layout, steps=4, micro_batches=8, straggler=ranks // 3))
    write_run(folder, made, set(), megabytes * TEXT_OF_AN_EVENT)
    traces = [folder / f"rank{number}.json" for number in range(ranks)]
    size = sum(trace.stat().st_size for trace in traces)
    print(f"{ranks} traces, {layout}, {size / 1e9:.2f} GB in all")
    print(f"{'':28} {'wall':>10}  {'processor':>10}  {'memory':>11}")
    for part in sorted({max(1, ranks // 4), max(1, ranks // 2)}):
        measure(f"{part} ranks, 1 thread", [program, "report", "-j1", *traces[:part]])
    ways: dict[str, list[str | Path]] = {
        "1 thread": [program, "report", "-j1", *traces],
        "2 threads": [program, "report", "-j2", *traces],
    }
    if shutil.which("mpirun"):
        mpirun = ["mpirun", "--oversubscribe"] + ["--allow-run-as-root"] * (os.geteuid() == 0)
        for name, count in (("1 process", "1"), ("2 processes", "2")):
            ways[name] = [*mpirun, "-n", count, program, "report", "-j1", *traces]
    best, outputs = measure_in_turn(ranks, ways, rounds)
    for one, two in (("1 thread", "2 threads"), ("1 process", "2 processes")):
        if two in best:
            print(f"{two} are {best[one] / best[two]:.2f} times as fast as {one}")
    digests = folder / "all.fld"
    measure(f"{ranks} ranks, digests", [program, "digest", "-j1", *traces, "-o", digests])
    measure(f"{ranks} ranks, from digests", [program, "report", digests])
    print(f"digests: {digests.stat().st_size / ranks:.0f} bytes a rank")
    print("all print the same" if len(outputs) == 1 else "OUTPUTS DIFFER")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("--ranks", type=int, default=1000)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to make the traces (default: TMPDIR)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="flopledger-", dir=arguments.folder) as folder:
        run(
            arguments.program.resolve(),
            arguments.ranks,
            arguments.megabytes,
            arguments.rounds,
            Path(folder),
        )


if __name__ == "__main__":
    main()
