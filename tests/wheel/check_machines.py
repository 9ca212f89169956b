#!/usr/bin/env python3
"""Both machines print the same bytes: tests/wheel/check_machines.py [FOLDER]

The static programs of FOLDER (dist/) for x86_64 and aarch64 are asked the same of every trace of the tests, and of the small ones
of other people where these are (FLOPLEDGER_SHARED, or ../shared): what they print, where, and how they end must be equal. The one
that is not for this machine runs under qemu. Gzip is unpacked by zlib, since ISA-L tells damage at another place.
"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import installed
from installed import MACHINES, ROOT, check, skip

SHARED = Path(os.environ.get("FLOPLEDGER_SHARED", ROOT.parent / "shared"))
QUESTIONS = [
    ["inspect"],
    ["report", "--json", "--all"],
    ["report", "--html=/dev/stdout"],
    ["memory", "--json"],
]
BYTES_MAX = 400_000
SECONDS_MAX = 300


def asked_files() -> list[Path]:
    """None that is a link: what it names may not be there."""
    places = [ROOT / "tests" / "traces", ROOT / "examples" / "traces", SHARED]
    files = [path for place in places for path in place.rglob("*")]
    return sorted(
        path
        for path in files
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= BYTES_MAX
    )


def answer(program: list[str], question: list[str], path: Path) -> tuple[int, bytes, bytes]:
    said = subprocess.run(
        [*program, *question, str(path)],
        capture_output=True,
        timeout=SECONDS_MAX,
        check=False,
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "FLOPLEDGER_INFLATE": "zlib"},
    )
    return said.returncode, said.stdout, said.stderr


def programs_of(folder: Path) -> list[list[str]]:
    """Empty where one cannot run here."""
    programs = []
    for machine, name in MACHINES.items():
        program = folder / f"flopledger-linux-{name}"
        qemu = shutil.which(f"qemu-{machine}-static") or shutil.which(f"qemu-{machine}")
        if not program.exists():
            skip(f"no {program}: ./dev wheel static-{machine} makes it")
        elif machine != os.uname().machine and not qemu:
            skip(f"no qemu-{machine}-static runs {program.name}")
        else:
            programs.append([qemu] * (machine != os.uname().machine) + [str(program)])
    return programs if len(programs) == len(MACHINES) else []


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve()
    programs = programs_of(folder)
    asked = [(question, path) for path in asked_files() for question in QUESTIONS]
    answered = 0

    def compare(one: tuple[list[str], Path]) -> tuple[str, list[tuple[int, bytes, bytes]]]:
        question, path = one
        said = [answer(program, question, path) for program in programs]
        return f"{' '.join(question)} {path}", said

    if programs:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for what, (one, other) in pool.map(compare, asked):
                answered += one[0] == 0
                check(what, one == other, f"ended with {one[0]} and {other[0]}, or printed else")
        check("some were answered", answered > len(QUESTIONS))
        print(f"{answered} of {len(asked)} questions have an answer", flush=True)
    print(installed.counts())
    sys.exit(1 if installed.failed else 0)


if __name__ == "__main__":
    main()
