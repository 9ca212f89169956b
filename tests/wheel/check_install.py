#!/usr/bin/env python3
"""Installs what `./dev wheel` made as a user does, and asks it: tests/wheel/check_install.py [FOLDER]

The wheel of this machine goes into a fresh environment of every Python at hand (3.10 to 3.14), without network; the static program
into an empty folder. Each reports on a trace, writes the page, prints its documentation, and records; the time from `pip install` to
the first answer is printed. A Python with torch (FLOPLEDGER_TEST_PYTHON, or build/venv) records a training script. What is for other
machines is run under qemu where that is installed.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "examples" / "traces" / "train_gpt_cpu.json.gz"
SCRIPT = ROOT / "tests" / "python" / "training" / "loops.py"
EXTENSIONS = "from flopledger import module_marks, flop_counts, step_writer"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}

passed = failed = skipped = 0


def check(what: str, is_right: bool, details: object = "") -> None:
    global passed, failed
    if is_right:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {what}: {details}")


def skip(why: str) -> None:
    global skipped
    skipped += 1
    print(f"skipped: {why}")


def call(*words: str | Path, **variables: str) -> subprocess.CompletedProcess:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLOPLEDGER")}
    return subprocess.run(
        [str(word) for word in words],
        env={**kept, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def check_program(name: str, program: list[str], folder: Path, **variables: str) -> None:
    """What every form of the program must do."""
    said = call(*program, "report", TRACE, **variables)
    check(
        f"{name}: report", said.returncode == 0 and "Where a step goes" in said.stdout, said.stderr
    )
    page = folder / "page.html"
    said = call(*program, "report", "--html", page, TRACE, **variables)
    is_page = page.exists() and "</html>" in page.read_text()[-200:]
    check(f"{name}: --html", said.returncode == 0 and is_page, said.stderr)
    page.unlink(missing_ok=True)
    said = call(*program, "help", "mfu", **variables)
    check(f"{name}: help mfu", said.returncode == 0 and said.stdout.startswith("# "), said.stderr)
    said = call(*program, "--version", "--verbose", **variables)
    right = all(word in said.stdout for word in ("unpacks gzip", "libmicrohttpd  1.", "HTML page"))
    check(f"{name}: --version --verbose", right and "left out" not in said.stdout, said.stdout)


def pythons() -> dict[str, str]:
    """Those on PATH, by version; environments are made of them."""
    found = {}
    for minor in range(10, 15):
        path = shutil.which(f"python3.{minor}")
        if path and call(path, "-c", "import ensurepip, venv").returncode == 0:
            found[f"3.{minor}"] = path
    return found


def python_with_torch() -> str | None:
    for path in (os.environ.get("FLOPLEDGER_TEST_PYTHON"), str(ROOT / "build/venv/bin/python")):
        if path and Path(path).exists() and call(path, "-c", "import torch").returncode == 0:
            return path
    return None


def check_recording(
    name: str, program: Path, python: Path | str, folder: Path, **more: str
) -> None:
    output = folder / "captures"
    command = [program, "run", "--output", output, "--", python, SCRIPT, "plain"]
    said = call(*command, **more)
    traces = list(output.glob("*/*/traces/*/*.json.gz"))
    check(
        f"{name}: run",
        said.returncode == 0 and "Where a step goes" in said.stdout,
        said.stderr[-900:],
    )
    if not traces:
        check(f"{name}: a trace", False, said.stderr[-900:])
        return
    check(f"{name}: modules are marked", b'"nn:' in gzip.decompress(traces[0].read_bytes()))
    side = json.loads(traces[0].with_name("capture.json").read_text())
    is_whole = (side["state"], side["module_marks"]) == ("complete", "code")
    check(f"{name}: by the extension in C", is_whole, (side["state"], side["module_marks"]))
    shutil.rmtree(output)


def check_wheel(wheel: Path, scratch: Path) -> None:
    torch = python_with_torch()
    for version, python in pythons().items():
        place = scratch / f"python{version}"
        if call(python, "-m", "venv", place).returncode != 0:
            skip(f"no environment of Python {version}")
            continue
        began = time.monotonic()
        pip = [place / "bin/python", "-m", "pip", "install", "-q", "--no-index", wheel]
        said = call(*pip, PIP_DISABLE_PIP_VERSION_CHECK="1")
        first = call(place / "bin" / "flopledger", "report", TRACE)
        seconds = time.monotonic() - began
        check(f"{version}: pip install", said.returncode == 0, said.stderr)
        check(f"{version}: within a minute", first.returncode == 0 and seconds < 60, seconds)
        print(f"Python {version}: {seconds:.1f} s from pip install to the first answer")
        check_program(f"Python {version}", [str(place / "bin" / "flopledger")], scratch)
        said = call(place / "bin/python", "-c", EXTENSIONS)
        check(f"{version}: extensions", said.returncode == 0, said.stderr)
        said = call(
            place / "bin/flopledger", "run", "-o", scratch / "none", "--", "python3", "-c", ""
        )
        check(f"{version}: run without torch", said.returncode == 0, said.stderr)
        if torch and call(torch, "-V").stdout.startswith(f"Python {version}."):
            check_recording(f"Python {version}", place / "bin/flopledger", torch, scratch)
    if not torch:
        skip("no Python with torch records")


def check_static(program: Path, scratch: Path) -> None:
    place = scratch / "static"
    place.mkdir()
    copy = Path(shutil.copy(program, place / "flopledger"))
    cache = {"XDG_CACHE_HOME": str(scratch / "cache")}
    check_program("static program", [str(copy)], scratch, **cache)
    if torch := python_with_torch():
        check_recording("static program", copy, torch, scratch, **cache)
        check_recording("static program, again", copy, torch, scratch, **cache)
    nowhere = {"XDG_CACHE_HOME": "/proc/none", "HOME": "/proc/none", "TMPDIR": "/proc/none"}
    said = call(copy, "run", "-o", scratch / "none", "--", "python3", "-c", "", **nowhere)
    told = "cannot unpack the recorder" in said.stderr and "XDG_CACHE_HOME" in said.stderr
    check("static program: no place for the recorder", said.returncode == 1 and told, said.stderr)


def check_foreign(folder: Path, scratch: Path) -> None:
    """Programs for another machine, under qemu."""
    for machine, name in MACHINES.items():
        program = folder / f"flopledger-linux-{name}"
        qemu = shutil.which(f"qemu-{machine}-static")
        if machine == os.uname().machine or not program.exists():
            continue
        if qemu:
            check_program(f"{machine} under qemu", [qemu, str(program)], scratch)
        else:
            skip(f"no qemu-{machine}-static runs {program.name}")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve()
    machine = os.uname().machine
    wheels = list(folder.glob(f"flopledger-*-manylinux_2_28_{machine}.whl"))
    static = folder / f"flopledger-linux-{MACHINES.get(machine, machine)}"
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        if wheels:
            check_wheel(wheels[0], scratch)
        else:
            skip(f"no wheel for {machine} in {folder}: ./dev wheel makes it")
        if static.exists():
            check_static(static, scratch)
        else:
            skip(f"no static program for {machine} in {folder}: ./dev wheel makes it")
        check_foreign(folder, scratch)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
