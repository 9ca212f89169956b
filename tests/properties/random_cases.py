"""Runs a property test: each kind of case with some seeds, and a line of counts at the end."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def run_kinds(
    kinds: list[Callable[[Any], None]],
    case_of: Callable[[Path, Path, int], Any],
    count: int,
    first_seed: int,
) -> None:
    """`case_of` makes a case for a program, in a folder, with a seed; a kind asserts what must be of it. `count`: of each kind."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, default=count, help="of each kind")
    parser.add_argument("--seed", type=int, default=first_seed)
    settings = parser.parse_args()
    passed = failed = 0
    for kind in kinds:
        for seed in range(settings.seed, settings.seed + settings.count):
            with tempfile.TemporaryDirectory() as folder:
                case = case_of(settings.program.resolve(), Path(folder), seed)
                try:
                    kind(case)
                    passed += 1
                except AssertionError as failure:
                    failed += 1
                    print(f"FAILED: {kind.__name__}, --seed {seed}: {str(failure)[:600]}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)
