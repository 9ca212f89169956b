#!/usr/bin/env python3
"""Installs what `./dev wheel` made as a user does, and asks it: tests/wheel/check_install.py [FOLDER]

The wheel of this machine goes into a fresh environment of every Python at hand (3.10 to 3.14, and those without the interpreter's
lock), without network; the static program into an empty folder. Each reports on a trace, writes the page, prints its documentation,
and records; the time from `pip install` to the first answer is printed. A Python with torch (FLOPLEDGER_TEST_PYTHON, or build/venv)
records a training script. What is for other machines is run under qemu where that is installed. Other systems: check_systems.py.
"""

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import installed
from installed import (
    EXTENSIONS,
    MACHINES,
    ROOT,
    System,
    check,
    check_commands,
    check_program,
    check_recording,
    skip,
)


def pythons(system: System) -> dict[str, str]:
    """Those on PATH, by version; environments are made of them."""
    found = {}
    for version in [f"3.{minor}{lock}" for minor in range(10, 15) for lock in ("", "t")]:
        path = shutil.which(f"python{version}")
        if path and system.call(path, "-c", "import ensurepip, venv").returncode == 0:
            found[version] = path
    return found


def python_with_torch(system: System) -> str | None:
    for path in (os.environ.get("FLOPLEDGER_TEST_PYTHON"), str(ROOT / "build/venv/bin/python")):
        if path and Path(path).exists() and system.call(path, "-c", "import torch").returncode == 0:
            return path
    return None


def check_extensions(version: str, place: Path, system: System) -> None:
    """They load, or where they cannot, one line says which Python can."""
    said = system.call(place / "bin/python", "-c", EXTENSIONS)
    if not version.endswith("t"):
        check(f"{version}: extensions", said.returncode == 0, said.stderr)
        return
    check(f"{version}: no extensions", said.returncode != 0)
    load = "from flopledger import native; native.load('step_writer')"
    said = system.call(place / "bin/python", "-c", load)
    told = said.stderr.strip().split("\n")[-1]
    check(f"{version}: says so", f"python{version[:-1]}, not python{version}" in told, told)


def check_wheels(folder: Path, system: System) -> None:
    torch = python_with_torch(system)
    for version, python in pythons(system).items():
        place = system.folder / f"python{version}"
        if system.call(python, "-m", "venv", place).returncode != 0:
            skip(f"no environment of Python {version}")
            continue
        began = time.monotonic()
        pip = [place / "bin/python", "-m", "pip", "install", "-q", "--no-index", "--find-links"]
        said = system.call(*pip, folder, "flopledger", PIP_FIND_LINKS="")
        program = place / "bin" / "flopledger"
        first = system.call(program, "report", system.trace)
        seconds = time.monotonic() - began
        check(f"{version}: pip install", said.returncode == 0, said.stderr)
        check(f"{version}: within a minute", first.returncode == 0 and seconds < 60, seconds)
        print(f"Python {version}: {seconds:.1f} s from pip install to the first answer", flush=True)
        check_program(system, [str(program)], f"Python {version}")
        check_commands(system, [str(program)], f"Python {version}")
        check_extensions(version, place, system)
        nothing = ["run", "-o", system.folder / "none", "--", "python3", "-c", ""]
        said = system.call(program, *nothing)
        check(f"{version}: run without torch", said.returncode == 0, said.stderr)
        if torch and system.call(torch, "-V").stdout.startswith(f"Python {version}."):
            check_recording(system, program, torch, f"Python {version}")
    if not torch:
        skip("no Python with torch records")


def check_static(program: Path, system: System) -> None:
    place = system.folder / "static"
    place.mkdir()
    copy = Path(shutil.copy(program, place / "flopledger"))
    cache = {"XDG_CACHE_HOME": str(system.folder / "cache")}
    check_program(system, [str(copy)], "static program", **cache)
    check_commands(system, [str(copy)], "static program", **cache)
    if torch := python_with_torch(system):
        check_recording(system, copy, torch, "static program", **cache)
        check_recording(system, copy, torch, "static program, again", **cache)
    nowhere = {"XDG_CACHE_HOME": "/proc/none", "HOME": "/proc/none", "TMPDIR": "/proc/none"}
    nothing = ["run", "-o", system.folder / "none", "--", "python3", "-c", ""]
    said = system.call(copy, *nothing, **nowhere)
    told = "cannot unpack the recorder" in said.stderr and "XDG_CACHE_HOME" in said.stderr
    check("static program: no place for the recorder", said.returncode == 1 and told, said.stderr)


def check_foreign(folder: Path, system: System) -> None:
    """Programs for another machine, under qemu."""
    for machine, name in MACHINES.items():
        program = folder / f"flopledger-linux-{name}"
        qemu = shutil.which(f"qemu-{machine}-static")
        if machine == os.uname().machine or not program.exists():
            continue
        if qemu:
            check_program(system, [qemu, str(program)], f"{machine} under qemu")
            check_commands(system, [qemu, str(program)], f"{machine} under qemu")
        else:
            skip(f"no qemu-{machine}-static runs {program.name}")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve()
    machine = os.uname().machine
    static = folder / f"flopledger-linux-{MACHINES.get(machine, machine)}"
    with tempfile.TemporaryDirectory() as name:
        system = System("this machine", Path(name))
        if list(folder.glob(f"flopledger-*-manylinux_2_28_{machine}.whl")):
            check_wheels(folder, system)
        else:
            skip(f"no wheel for {machine} in {folder}: ./dev wheel makes it")
        if static.exists():
            check_static(static, system)
        else:
            skip(f"no static program for {machine} in {folder}: ./dev wheel makes it")
        check_foreign(folder, system)
    print(installed.counts())
    sys.exit(1 if installed.failed else 0)


if __name__ == "__main__":
    main()
