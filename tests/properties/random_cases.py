"""Runs a property test: each kind of case, or each check, with some seeds, and a line of counts at the end."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def settings_of(count: int, first_seed: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, default=count, help="seeds of each kind")
    parser.add_argument("--seed", type=int, default=first_seed, help="the first one")
    settings = parser.parse_args()
    settings.program = settings.program.resolve()
    return settings


def run_seeds(
    check: Callable[[Path, int, Path], Iterable[str] | None], count: int, first_seed: int = 1
) -> None:
    """`check` is given the program, a seed and an empty folder, and gives or asserts what is wrong."""
    settings = settings_of(count, first_seed)
    failed = 0
    for seed in range(settings.seed, settings.seed + settings.count):
        with tempfile.TemporaryDirectory(prefix="flopledger-property-") as folder:
            try:
                problems = list(check(settings.program, seed, Path(folder)) or [])
            except AssertionError as failure:
                problems = [str(failure)]
        failed += bool(problems)
        for problem in problems[:6]:
            print(f"FAILED: {problem[:600]}\n    again: --seed {seed} --count 1")
    print(f"{settings.count - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


def run_kinds(
    kinds: list[Callable[[Any], None]],
    case_of: Callable[[Path, Path, int], Any],
    count: int,
    first_seed: int,
) -> None:
    """`case_of` makes a case for a program, in a folder, with a seed; a kind asserts what must be of it. `count`: of each kind."""
    settings = settings_of(count, first_seed)
    passed = failed = 0
    for kind in kinds:
        for seed in range(settings.seed, settings.seed + settings.count):
            with tempfile.TemporaryDirectory() as folder:
                case = case_of(settings.program, Path(folder), seed)
                try:
                    kind(case)
                    passed += 1
                except AssertionError as failure:
                    failed += 1
                    print(f"FAILED: {kind.__name__}, --seed {seed}: {str(failure)[:600]}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)
