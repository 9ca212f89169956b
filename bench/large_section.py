"""The section of docs/benchmarks.md on a trace ten times as large, and on one that does not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from make_input import FOLDER, PROGRAM, make_input
from measure import Contender, Failed, measure_in_turn, ratio
from write_page import stamp, table

TITLE = "## Ten times as large"
SMALL, LARGE = 8, 80  # times the recorded trace
LIMIT_BYTES = 1_000_000_000
ROUNDS_MAX = 5
CGROUPS = (  # of version 2 and of version 1: folder, and the file that takes the limit
    (Path("/sys/fs/cgroup"), "memory.max"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
)
ENTER = 'echo $$ >"$1" && shift && exec "$@"'


@contextmanager
def limited_memory() -> Iterator[list[str] | None]:
    """Words before a command that hold it within LIMIT_BYTES; None where this machine lets nobody do that."""
    for base, limit in CGROUPS:
        group = base / f"flopledger-bench-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if not (group / limit).exists():
                continue
            (group / limit).write_text(str(LIMIT_BYTES))
            yield ["sh", "-c", ENTER, "sh", str(group / "cgroup.procs")]
            return
        finally:
            group.rmdir()
    yield None


def rows_of(measured: list[Contender]) -> list[list[str]]:
    return [
        [
            one.title,
            f"{one.seconds():.2f}",
            f"{one.cpu_seconds():.2f}",
            f"{one.peak_bytes() / 1e6:,.0f}",
            f"{ratio(one, measured[0]):.1f}",
        ]
        for one in measured
    ]


def large_section(rounds: int) -> str:
    """Markdown, with its title."""
    small = make_input(FOLDER, PROGRAM, SMALL, packed=False)
    large = make_input(FOLDER, PROGRAM, LARGE, packed=False)
    words = [str(PROGRAM), "report", "--no-progress"]
    measured = [
        Contender(f"{each.bytes / 1e6:,.0f} MB", [*words, str(each.plain)])
        for each in (small, large)
    ]
    not_limited = "Nothing was measured in a cgroup of 1 GB: none could be made here."
    try:
        with limited_memory() as prefix:
            measure_in_turn(measured, min(rounds, ROUNDS_MAX))
            if prefix is not None:
                title = f"{measured[1].title}, in a cgroup of 1 GB"
                measured.append(Contender(title, prefix + measured[1].command))
                not_limited = "The one in the cgroup after the others, for it leaves no large pages to the next."
                measure_in_turn(measured[2:], min(rounds, ROUNDS_MAX))
    except OSError as error:
        raise Failed(str(error)) from error
    finally:
        large.plain.unlink()
    header = ["`flopledger report`", "seconds", "CPU seconds", "peak memory, MB", "times the first"]
    lines = [
        TITLE,
        "",
        "Medians; all in one run, by turns, with the files in the page cache. " + not_limited,
        "",
        table(header, rows_of(measured)),
        "",
        stamp("large"),
    ]
    return "\n".join(lines) + "\n"
