#!/usr/bin/env python3
"""What a marked module call costs a recorded step, beside what torch does: counted, so that what else the machine does is nothing to it.

    check_marks.py PROGRAM

Instructions of the two C functions around a call (module_marks.c), with a stand-in for torch that begins and ends ranges
by returning; and, where a Python with torch is here, how many functions are called for each module: those two in C and none in Python.
bench/record_overhead.py measures the time of whole steps.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(TESTS / "python"))

from recorded_runs import find_python  # noqa: E402

COUNTING = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
COUNTED = re.compile(r"I\s+refs:\s+([\d,]+)")
STAND_IN = """
int aoti_record_function_start(const char *name, void *words, void **inputs, unsigned long count, void **range)
{ *range = (void *)name; return 0; }
int aoti_record_function_end(void *range) { return range == 0; }
"""
MODULES, ROUNDS = 200, 20
# 880 at this writing with CPython 3.11, of which some 300 are the two functions and the rest the loop's own. An observer called for each
# module, a name made anew or a look-up that walks would be hundreds more.
AT_MOST = 1000


class Module:
    pass


def mark_calls(library: str, rounds: int) -> None:
    """`rounds` steps of a model of MODULES modules, each inside the outermost."""
    import ctypes

    from flopledger import module_marks

    ctypes.CDLL(library)
    assert module_marks.bind(library)
    modules = [Module() for _ in range(MODULES)]
    module_marks.mark([(module, f"nn:{i}") for i, module in enumerate(modules)], lambda *call: None)
    enter, leave = module_marks.enter, module_marks.leave
    for _ in range(rounds):
        outermost = enter(modules[0], (), {})
        for module in modules[1:]:
            leave(enter(module, (), {}))
        leave(outermost)


def count_calls() -> None:
    """Prints how many functions in C and in Python are called for each module more than without marks."""
    import torch
    from flopledger.batch import BatchCounter
    from flopledger.module_markers import ModuleMarkers
    from torch import nn

    def calls_of(depth: int, is_marked: bool) -> dict[str, int]:
        model = nn.Sequential(*(nn.Identity() for _ in range(depth)))
        counted = {"call": 0, "c_call": 0}
        markers = ModuleMarkers()
        if is_marked:
            assert markers.on(
                [(m, f"nn:{n}") for n, m in model.named_modules()], BatchCounter().observe
            )
        words = torch.zeros(1, 2)

        def count(frame: Any, event: str, what: Any) -> None:
            if event in counted:
                counted[event] += 1

        sys.setprofile(count)
        model(words)
        sys.setprofile(None)
        markers.off()
        return counted

    plain = [calls_of(depth, False) for depth in (50, 150)]
    marked = [calls_of(depth, True) for depth in (50, 150)]
    for event in ("c_call", "call"):
        more = [with_marks[event] - without[event] for with_marks, without in zip(marked, plain)]
        print((more[1] - more[0]) / 100)


def run_child(command: list[str], package: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command}: exit status {done.returncode}: {done.stderr[-800:]}")
    return done


def instructions_of(package: Path, library: Path, rounds: int) -> int:
    words = ["setarch", "-R", *COUNTING, sys.executable, __file__, "marks", str(library)]
    found = COUNTED.search(run_child([*words, str(rounds)], package).stderr)
    assert found is not None
    return int(found[1].replace(",", ""))


def instructions_of_mark(package: Path) -> float:
    with tempfile.TemporaryDirectory(prefix="flopledger-marks-") as name:
        library = Path(name) / "libtorch.so"
        build = ["gcc", "-O2", "-shared", "-fPIC", "-x", "c", "-o", str(library), "-"]
        subprocess.run(build, input=STAND_IN, text=True, check=True)
        with ThreadPoolExecutor(2) as pool:
            few, many = pool.map(
                lambda rounds: instructions_of(package, library, rounds), (ROUNDS, 6 * ROUNDS)
            )
    return (many - few) / (5 * ROUNDS * MODULES)


def main() -> int:
    package = Path(sys.argv[1]).resolve().parent / "python"
    problems, checks, skipped = [], 0, 0
    if shutil.which("valgrind") and shutil.which("gcc"):
        each, checks = instructions_of_mark(package), checks + 1
        print(f"{each:.0f} instructions for each marked call, {AT_MOST} at most")
        if each > AT_MOST:
            problems.append("a marked call takes more instructions than it may")
    else:
        print("needs valgrind and gcc")
        skipped += 1
    python = find_python()
    if python:
        said = run_child([python, __file__, "calls"], package).stdout.split()
        in_c, in_python = map(float, said)
        checks += 1
        print(f"for each module {in_c:g} calls in C and {in_python:g} in Python, 2 and 0 at most")
        if in_c > 2 or in_python > 0:
            problems.append("a marked call calls more functions than enter and leave")
    else:
        print("needs a Python with torch")
        skipped += 1
    for problem in problems:
        print(f"FAILED: {problem}")
    print(f"{checks - len(problems)} passed, {len(problems)} failed, {skipped} skipped")
    return 1 if problems else 0


if __name__ == "__main__":
    if sys.argv[1] == "marks":
        mark_calls(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == "calls":
        count_calls()
    else:
        sys.exit(main())
