#!/usr/bin/env python3
"""Proves on a GPU what the rest of the tests can only show with recorded files: run_proof.py PROGRAM [--stand-in [--long]] [--parts abcde]

On a machine with a GPU and a torch that reaches it this records, checks, and writes build/gpu/proof.json, of which
tests/gpu/gpu_page.py makes the tables of docs/gpu.md. Without one it says in a line what is lacking. --stand-in runs the same
checks on stand-ins: a CPU whose traces get the work of a simulated device, a simulated allocator, a library that answers as NVML.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from findings import Findings
from machine import ROOT, Setting, find_gpu, find_torch

PARTS = {
    "a": "part_training",
    "b": "part_memory",
    "c": "part_matmul",
    "d": "part_overhead",
    "e": "part_others",
}
RESULTS = ROOT / "build" / "gpu"


def find_setting(arguments: argparse.Namespace, folder: Path) -> Setting | None:
    """None where it can't be run here: a line says why."""
    program = arguments.program.resolve()
    if arguments.stand_in:
        python = find_torch()
        if python is None:
            print("skipped: needs torch: ./dev test installs it")
            return None
        return Setting(program, python, folder, False, {}, arguments.long)
    python, machine, lacks = find_gpu()
    if lacks:
        print(f"skipped: {lacks}")
        return None
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")  # as NVML numbers them
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")
    print(f"{machine['device']}, driver {machine['driver']}, torch {machine['torch']} of {python}")
    return Setting(program, python, folder, True, machine)


def say_what_is_lacking() -> int:
    """3 where it can't be run here."""
    lacks = find_gpu()[2]
    if lacks:
        print(f"skipped: {lacks}\n0 passed, 0 failed, 1 skipped")
    return 3 if lacks else 0


def run_parts(setting: Setting, names: str) -> Findings:
    found = Findings()
    for name in names:
        began = time.monotonic()
        with found.part(name, "all of it"):
            importlib.import_module(PARTS[name]).check(setting, found)
        found.row("seconds", part=name, seconds=round(time.monotonic() - began, 1))
    return found


def keep_small_files(folder: Path, kept: Path) -> None:
    """What was recorded, up to a few megabytes each: it can become test data."""
    for path in sorted(folder.glob("**/*")):
        is_data = path.name.endswith((".json.gz", ".json", ".pickle", ".pftrace", ".nsys-rep"))
        if path.is_file() and is_data and path.stat().st_size <= 8 << 20:
            target = kept / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, nargs="?")
    parser.add_argument(
        "--lacks", action="store_true", help="only say what is lacking here, if anything is"
    )
    parser.add_argument(
        "--stand-in", action="store_true", help="no GPU: the same checks on stand-ins"
    )
    parser.add_argument("--long", action="store_true", help="on stand-ins, too, all ways to train")
    parser.add_argument("--parts", default="".join(PARTS), help="only these (default: all)")
    parser.add_argument("--output", type=Path, default=RESULTS, help="where results are written")
    arguments = parser.parse_args()
    if arguments.lacks:
        sys.exit(say_what_is_lacking())
    if arguments.program is None:
        parser.error("which program?")
    with tempfile.TemporaryDirectory(prefix="flg-") as name:  # short: sockets lie in it
        setting = find_setting(arguments, Path(name))
        if setting is None:
            print("0 passed, 0 failed, 1 skipped")
            return
        found = run_parts(setting, arguments.parts)
        if setting.is_real:
            shutil.rmtree(arguments.output / "recorded", ignore_errors=True)
            keep_small_files(setting.folder, arguments.output / "recorded")
            found.write(arguments.output / "proof.json", setting.machine)
            print(
                f"written: {arguments.output / 'proof.json'}; tests/gpu/gpu_page.py makes docs/gpu.md of it"
            )
    print(found.count_line())
    sys.exit(found.failed > 0)


if __name__ == "__main__":
    main()
