#!/usr/bin/env python3
"""How much memory an event takes: a report of a large database must not need more than it does.

    tests/properties/memory_of_events.py PROGRAM

Two databases of Nsight Systems of the same kind are read; what the larger one needs more, by the events that it has more, is the
memory of an event. Limits are a tenth above what was measured when they were set. Ends with a line of counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "tests" / "generate" / "nsys_database.py"
MEGABYTES = (10, 60)
BYTES_MAX = {"inspect": 75, "report": 115}


def make(folder: Path, megabytes: int) -> Path:
    path = folder / f"{megabytes}.sqlite"
    words = [sys.executable, str(GENERATOR), "--megabytes", str(megabytes), "--output", str(path)]
    subprocess.run(words, check=True)
    return path


def most_memory(program: str, command: str, file: Path) -> int:
    """The largest resident size of the process, in bytes."""
    with open(os.devnull, "w", encoding="ascii") as nothing:
        process = subprocess.Popen([program, command, str(file)], stdout=nothing)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} of {file.name} ends with status {status}")
    return usage.ru_maxrss * 1024


def events_in(program: str, file: Path) -> int:
    words = [program, "inspect", "--json", str(file)]
    output = subprocess.run(words, check=True, capture_output=True).stdout
    file_section = json.loads(output)["ranks"][0]["sections"]["file"]
    return int(file_section["numbers"]["events"]["value"])


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    program = str(Path(sys.argv[1]).resolve())
    failed = 0
    with tempfile.TemporaryDirectory(prefix="flopledger-memory-") as folder:
        small, large = (make(Path(folder), megabytes) for megabytes in MEGABYTES)
        events = events_in(program, large) - events_in(program, small)
        for command, limit in BYTES_MAX.items():
            more = most_memory(program, command, large) - most_memory(program, command, small)
            print(f"{command}: {more / events:.1f} bytes an event, {limit} at most")
            failed += more > limit * events
    print(f"{len(BYTES_MAX) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
