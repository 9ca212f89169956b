#!/usr/bin/env python3
"""Digests of very many ranks, with a known truth: is the report right, and do bytes, memory and instructions a rank stay what they are?

    known_digests.py PROGRAM [--long]

Ends with a line of counts.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tests" / "generate")]

from many_ranks import Run, settings_of, write_run  # noqa: E402
from rank_digests import ManyRanks, layout_of  # noqa: E402

OLD_FILES = ROOT / "tests" / "fuzz" / "corpus" / "digest_set"
STRAGGLER = 5
BYTES_OF_A_RANK = 4000
GROWTH_AT_MOST = 1.12  # in groups of eight times as many
FEW, MANY = "tp=8,dp=16,pp=8", "tp=8,dp=64,pp=8"
LARGE = ("tp=8,dp=128,pp=8", "tp=8,dp=256,pp=8")
LINEAR_WITHIN = 1.05  # 1.020 and 1.009 at this writing
MEMORY_OF_A_RANK = 24_000  # bytes, of digests of 1,800
COUNTING = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
COUNTED = re.compile(r"I\s+refs:\s+([\d,]+)")


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{words}: exit {done.returncode}: {done.stderr[-300:]}")
    return done


def make(path: Path, layout: str, layers: int = 3) -> ManyRanks:
    made = ManyRanks(layout_of(layout), 2, STRAGGLER, 7, layers)
    made.write(path)
    return made


def report_of(program: str, *words: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(program, "report", "--json", *words).stdout)
    return found


def check_truth(program: str, folder: Path) -> None:
    for layout in ("dp=8", "tp=2,dp=4", "tp=4,dp=8,pp=2", "tp=8,dp=16,pp=2"):
        path = folder / "truth.fld"
        made = make(path, layout)
        overview = report_of(program, "--top", "0", path)["overview"]
        rows = overview["tables"]["ranks"]["rows"]
        found = {row["rank"]: (row["waiting"], row["came_last"]) for row in rows}
        truth = {f"rank {r.number}": (r.waiting_ns, r.came_last) for r in made.ranks}
        if found != truth:
            wrong = [name for name in truth if found.get(name) != truth[name]]
            raise AssertionError(
                f"{layout}: {wrong[:3]}: {found.get(wrong[0])}, not {truth[wrong[0]]}"
            )


def check_straggler(program: str, folder: Path) -> None:
    """It holds up its tensor ranks, these their data ranks, and these all: the waiting began with it alone."""
    for layout, layers in (("tp=4,dp=4", 1), ("tp=8,dp=16,pp=2", 20), ("tp=2,dp=32,pp=4", 5)):
        path = folder / "straggler.fld"
        made = make(path, layout, layers)
        report = report_of(program, "--top", "0", path)
        rows = report["overview"]["tables"]["ranks"]["rows"]
        began = {row["rank"]: row["waiting_began"] for row in rows}
        waiting = sum(rank.waiting_ns for rank in made.ranks)
        own = f"rank {made.straggler}"
        if sum(began.values()) != waiting or began[own] < 0.95 * waiting:
            raise AssertionError(f"{layout}: {began[own]} of {waiting} began with {own}")
        if f"waits for {own} " not in report["headline"]:
            raise AssertionError(f"{layout}: {report['headline']}")


def check_same_bytes(program: str, folder: Path) -> None:
    """What another has written as the page describes it is what the program writes, and little for each of 1,024 ranks."""
    path, again = folder / "made.fld", folder / "again.fld"
    for layout in (FEW, "dp=1024"):
        ranks = len(make(path, layout).ranks)
        run(program, "digest", path, "-o", again)
        if path.read_bytes() != again.read_bytes():
            raise AssertionError(f"{layout}: a file of digests is not written as it was read")
        if again.stat().st_size > BYTES_OF_A_RANK * ranks:
            raise AssertionError(f"{layout}: {again.stat().st_size} bytes of {ranks} ranks")


def check_first_version(program: str, folder: Path) -> None:
    for name in ("one", "four", "chains", "uneven"):
        old, new = OLD_FILES / f"{name}.fld", folder / f"{name}.fld"
        if old.read_bytes()[8] != 1:
            raise AssertionError(f"{name}.fld is not of the first version")
        run(program, "digest", old, "-o", new)
        if new.read_bytes()[8] != 2:
            raise AssertionError(f"{name}: written in another version")
        before, after = (run(program, "report", "--all", path).stdout for path in (old, new))
        if before != after:
            raise AssertionError(f"{name}: the report is another one of the new version")


def check_bytes(program: str, folder: Path) -> None:
    """Of digests made from traces: whatever the size of the groups, but for larger numbers of ranks."""
    sizes = {}
    for layout in ("tp=2,dp=8,pp=2", "tp=2,dp=64,pp=2"):
        settings = settings_of(layout, steps=2)
        traces, digest = folder / layout, folder / f"{layout}.fld"
        write_run(traces, Run(settings), set())
        run(program, "digest", traces, "-o", digest)
        sizes[layout] = digest.stat().st_size / settings.ranks
    few, many = sizes.values()
    if many > BYTES_OF_A_RANK or many > few * GROWTH_AT_MOST:
        raise AssertionError(f"bytes of a rank: {few:.0f}, in larger groups {many:.0f}")


def count(program: str, path: Path) -> int:
    done = run(*COUNTING, program, "report", path)
    found = COUNTED.search(done.stderr)
    assert found is not None, done.stderr[-300:]
    return int(found[1].replace(",", ""))


def check_linear(program: str, folder: Path, layouts: tuple[str, str]) -> None:
    """Instructions by bytes, which are as many for each rank."""
    of_bytes = []
    for layout in layouts:
        path = folder / "counted.fld"
        make(path, layout)
        of_bytes.append(count(program, path) / path.stat().st_size)
    if of_bytes[1] > LINEAR_WITHIN * of_bytes[0]:
        raise AssertionError(f"{of_bytes[0]:.1f} instructions a byte, then {of_bytes[1]:.1f}")


def check_instructions(program: str, folder: Path) -> None:
    check_linear(program, folder, (FEW, MANY))


def check_many_instructions(program: str, folder: Path) -> None:
    """From 8,192 ranks on, as it would have to be for 131,072."""
    check_linear(program, folder, LARGE)


def most_memory(program: str, path: Path) -> int:
    with open(os.devnull, "w", encoding="ascii") as nothing:
        process = subprocess.Popen([program, "report", str(path)], stdout=nothing)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise AssertionError(f"report of {path.name} ends with status {status}")
    return usage.ru_maxrss * 1024


def check_memory(program: str, folder: Path) -> None:
    path = folder / "large.fld"
    few = make(path, FEW, layers=30).size
    before = most_memory(program, path)
    many = make(path, MANY, layers=30).size
    more = (most_memory(program, path) - before) / (many - few)
    if more > MEMORY_OF_A_RANK:
        raise AssertionError(f"a rank more takes {more:.0f} bytes of memory")


def main() -> None:
    program = str(Path(sys.argv[1]).resolve())
    checks: list[Callable[[str, Path], None]] = [check_truth, check_straggler, check_same_bytes]
    checks += [check_first_version, check_bytes, check_instructions, check_memory]
    checks += [check_many_instructions] if "--long" in sys.argv else []
    failed = 0
    for check in checks:
        with tempfile.TemporaryDirectory(prefix="flopledger-digests-") as name:
            try:
                check(program, Path(name))
            except AssertionError as error:
                failed += 1
                print(f"FAILED: {check.__name__}: {error}")
    print(f"{len(checks) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
