"""The section of docs/benchmarks.md on many ranks: a hundred traces, and digests of very many."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from make_input import FOLDER, PROGRAM, ROOT
from measure import Contender, measure_in_turn, ratio, run
from rank_scaling import TEXT_OF_AN_EVENT, largest_layout
from write_page import stamp, table

sys.path.insert(0, str(ROOT / "tests" / "generate"))

from many_ranks import Run, settings_of, write_run  # noqa: E402

TITLE = "## Many ranks"
RANKS, MEGABYTES = 100, 20.0
ROUNDS_MAX = 3
DIGESTS = {16_384: "tp=8,dp=256,pp=8", 131_072: "tp=8,dp=2048,pp=8"}
LAYERS = "30"
# PROGRAM@COMMIT: an older program, to be measured beside
OTHER, _, OTHER_COMMIT = os.environ.get("FLOPLEDGER_BASELINE", "").rpartition("@")


def measure_traces(folder: Path, rounds: int) -> list[list[str]]:
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
    measure_in_turn(measured, min(rounds, ROUNDS_MAX))
    return [
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
        rows = measure_traces(Path(name), rounds)
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        rows += [measure_digests(Path(name), *each) for each in DIGESTS.items()]
    head = ["`flopledger report`", "seconds", "CPU seconds", "peak memory, MB", "bytes a rank"]
    lines = [
        TITLE,
        "",
        "Traces by `tests/generate/many_ranks.py`, medians; digests by `tests/generate/rank_digests.py`, 64 calls a rank, written by "
        "`flopledger digest` before they are reported, once each.",
        "",
        table([*head, "times the first"], rows),
        "",
        stamp("ranks"),
    ]
    return "\n".join(lines) + "\n"
