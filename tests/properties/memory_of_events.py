#!/usr/bin/env python3
"""How much memory an event takes, and that a large file takes no more than it may.

    tests/properties/memory_of_events.py PROGRAM

Two databases of Nsight Systems of the same kind are read with all in memory: what the larger one needs more, by the events that
it has more, is the memory of an event. Then a larger one is read with a limit that its events alone would pass over: they then
lie in files, and what is printed is the same. Ends with a line of counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATE = ROOT / "tests" / "generate"
MEGABYTES = (10, 60)
# 52 and 120 at this writing; analyses run side by side, so that with more threads more is there at once.
BYTES_MAX = {"inspect": 60, "report": 145}
# In memory it takes 150 MiB and 302 MiB.
LARGE_MEGABYTES = 250
LARGE_MEMORY_LIMIT = {"inspect": "80MiB", "report": "110MiB"}
MEMORY_VARIABLE = "FLOPLEDGER_MEMORY_MIB"


def make(folder: Path, megabytes: int) -> Path:
    path = folder / f"{megabytes}.sqlite"
    generator = str(GENERATE / "nsys_database.py")
    words = [sys.executable, generator, "--megabytes", str(megabytes), "--output", str(path)]
    subprocess.run(words, check=True)
    return path


def most_memory(program: str, command: str, file: Path, memory_mib: str, *options: str) -> int:
    """The largest resident size of the process, in bytes."""
    environment = {**os.environ, MEMORY_VARIABLE: memory_mib}
    with open(os.devnull, "w", encoding="ascii") as nothing:
        words = [program, command, *options, str(file)]
        process = subprocess.Popen(words, stdout=nothing, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} of {file.name} ends with status {status}")
    return usage.ru_maxrss * 1024


def events_in(program: str, file: Path) -> int:
    words = [program, "inspect", "--json", str(file)]
    output = subprocess.run(words, check=True, capture_output=True).stdout
    file_section = json.loads(output)["ranks"][0]["sections"]["file"]
    return int(file_section["numbers"]["events"]["value"])


def check_event(program: str, folder: Path) -> int:
    """How many limits of an event's memory are passed over."""
    small, large = (make(folder, megabytes) for megabytes in MEGABYTES)
    events = events_in(program, large) - events_in(program, small)
    failed = 0
    for command, limit in BYTES_MAX.items():
        needs = [most_memory(program, command, file, "100000") for file in (small, large)]
        bytes_of_event = (needs[1] - needs[0]) / events
        print(f"{command}: {bytes_of_event:.1f} bytes an event, {limit} at most")
        failed += bytes_of_event > limit
    return failed


def output_of(program: str, command: str, file: Path, limit: str) -> bytes:
    words = [program, command, "--memory-limit", limit, str(file)]
    done = subprocess.run(words, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else done.stderr


def check_large(program: str, folder: Path) -> int:
    """For how many commands less memory makes another output."""
    file = make(folder, LARGE_MEGABYTES)
    failed = 0
    for command, limit in LARGE_MEMORY_LIMIT.items():
        is_same = output_of(program, command, file, limit) == output_of(
            program, command, file, "100GiB"
        )
        print(f"{command} of a larger file in {limit}: {'the same' if is_same else 'OTHER'} output")
        failed += not is_same
    return failed


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    program = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="flopledger-memory-", dir="/var/tmp") as name:
        checks = (check_event, check_large)
        failed = sum(check(program, Path(name)) for check in checks)
    total = len(BYTES_MAX) + len(LARGE_MEMORY_LIMIT)
    print(f"{total - failed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
