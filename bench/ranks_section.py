"""The section of docs/benchmarks.md on many ranks: a thousand traces, and digests of very many.

FLOPLEDGER_RANKS=100 takes fewer traces than 1,000, which need 21 GB of disk, and as much memory to stay in the page cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from make_input import FOLDER, PROGRAM, ROOT
from measure import Contender, Failed, measure_in_turn, ratio, run
from rank_scaling import TEXT_OF_AN_EVENT, largest_layout
from write_page import stamp, table

sys.path.insert(0, str(ROOT / "tests" / "generate"))

from many_ranks import Run, settings_of, write_run  # noqa: E402

TITLE = "## Many ranks"
RANKS, MEGABYTES = int(os.environ.get("FLOPLEDGER_RANKS", "1000")), 20.0
SPARE_DISK = 1.2  # of what the traces take
ROUNDS_MAX = 3
DIGESTS = {16_384: "tp=8,dp=256,pp=8", 131_072: "tp=8,dp=2048,pp=8"}
LAYERS = "30"
# PROGRAM@COMMIT: an older program, to be measured beside
OTHER, _, OTHER_COMMIT = os.environ.get("FLOPLEDGER_BASELINE", "").rpartition("@")


def check_disk() -> None:
    needed, free = SPARE_DISK * RANKS * MEGABYTES / 1e3, shutil.disk_usage(FOLDER).free / 1e9
    if free < needed:
        raise Failed(
            f"{RANKS:,} traces need {needed:.0f} GB of disk, and {free:.0f} are free; FLOPLEDGER_RANKS=100 takes fewer"
        )


def share_in_memory(traces: list[str]) -> float:
    """Of the files' bytes, by fincore of util-linux."""
    words = ["fincore", "--bytes", "--noheadings", "--raw", "--output", "RES,SIZE", *traces]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    sums = [sum(int(line.split()[column]) for line in lines) for column in (0, 1)]
    return sums[0] / sums[1]


def measure_traces(folder: Path, rounds: int) -> tuple[list[list[str]], str]:
    """Rows of the table, and what to know of them."""
    check_disk()
    layout = settings_of(largest_layout(RANKS), steps=4, micro_batches=8, straggler=RANKS // 3)
    write_run(folder, Run(layout), set(), MEGABYTES * TEXT_OF_AN_EVENT)
    traces = [str(folder / f"rank{number}.json") for number in range(RANKS)]
    size = sum(Path(trace).stat().st_size for trace in traces)
    programs = {"": str(PROGRAM)} | ({f", by commit {OTHER_COMMIT}": OTHER} if OTHER else {})
    title = f"{RANKS} traces of {size / RANKS / 1e6:.0f} MB"
    measured = [
        Contender(title + which, [program, "report", "--no-progress", *traces])
        for which, program in programs.items()
    ]
    before = share_in_memory(traces)
    measure_in_turn(measured, min(rounds, ROUNDS_MAX))
    cached = f"{100 * before:.0f} % before the rounds, {100 * share_in_memory(traces):.0f} % after"
    said = f"Of the traces' {size / 1e9:.1f} GB so much lay in the page cache: {cached} them."
    rows = [
        [
            each.title,
            f"{each.seconds():.2f}",
            f"{each.cpu_seconds():.2f}",
            f"{each.peak_bytes() / 1e6:,.0f}",
            f"{size / RANKS:,.0f}",
            f"{ratio(each, measured[0]):.2f}",
        ]
        for each in measured
    ]
    return rows, said


def measure_digests(folder: Path, ranks: int, layout: str) -> list[str]:
    """Digests are made by a script, and written once more by the program, whose bytes count."""
    made, written = folder / "made.fld", folder / "written.fld"
    maker = [sys.executable, ROOT / "tests/generate/rank_digests.py", made]
    subprocess.run([*maker, "--layout", layout, "--layers", LAYERS], check=True)
    run([str(PROGRAM), "digest", "--no-progress", str(made), "-o", str(written)])
    size = written.stat().st_size
    done = run([str(PROGRAM), "report", "--no-progress", str(written)])
    made.unlink()
    written.unlink()
    seconds = [f"{done.wall_seconds:.2f}", f"{done.cpu_seconds:.2f}"]
    peak = f"{done.peak_bytes / 1e6:,.0f}"
    return [f"{ranks:,} digests", *seconds, peak, f"{size / ranks:,.0f}", ""]


def ranks_section(rounds: int) -> str:
    """Markdown, with its title."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        rows, said = measure_traces(Path(name), rounds)
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        rows += [measure_digests(Path(name), *each) for each in DIGESTS.items()]
    head = ["`flopledger report`", "seconds", "CPU seconds", "peak memory, MB", "bytes a rank"]
    lines = [
        TITLE,
        "",
        "Traces by `tests/generate/many_ranks.py`, medians; digests by `tests/generate/rank_digests.py`, 64 calls a rank, written by "
        f"`flopledger digest` before they are reported, once each. {said}",
        "",
        table([*head, "times the first"], rows),
        "",
        stamp("ranks"),
    ]
    return "\n".join(lines) + "\n"
