#!/usr/bin/env python3
"""Measures flopledger beside other programs, and writes docs/benchmarks.md; `./dev bench` calls it.

./dev bench                 a trace of about 340 MB, and sizes up to 1 GB: some minutes
./dev bench --full          3.4 GB, 1 GB of memory, 1,000 ranks and models on `meta` too: 26 GB of disk (FLOPLEDGER_RANKS=100: 10)
./dev bench --quick         a small trace and few rounds, to try the script; writes build/bench/benchmarks.md
./dev bench --only overhead what recording costs, and nothing else: rewrites that section of the page
./dev bench --only record   what the step record costs
./dev bench --only snapshots reading a memory snapshot of a million events, beside Python and PyTorch
./dev bench --only recorders readers of Perfetto, XSpaces, rocprofv3, Ascend and Proton on 100 MB of each
./dev bench --only again    the same question again, and a page beside JSON; large, ranks, meta: see the files of that name
"""

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path

from again_section import TITLE as AGAIN
from again_section import again_section
from large_section import TITLE as LARGE
from large_section import large_section
from make_input import FOLDER, PROGRAM, ROOT, Input, make_input
from measure import Contender, Failed, floor_rate, instructions, measure_in_turn, run
from meta_section import TITLE as META
from meta_section import meta_section
from others import holistic_trace_analysis, json_loads, trace_lens, trace_processor
from overhead_section import TITLE as OVERHEAD
from overhead_section import overhead_section
from ranks_section import TITLE as RANKS
from ranks_section import ranks_section
from recorders_section import TITLE as RECORDERS
from recorders_section import recorders_section
from snapshot_section import TITLE as SNAPSHOTS
from snapshot_section import snapshot_section
from step_record_section import TITLE as RECORD
from step_record_section import step_record_section
from write_page import Findings, SizeRow, replace_section, write_page

FLOORS = ROOT / "build/release/floors"
ZLIB = {"FLOPLEDGER_INFLATE": "zlib"}


def ours(title: str, command: str, path: Path, *options: str, **more: dict[str, str]) -> Contender:
    words = [str(PROGRAM), command, "--no-progress", *options, str(path)]
    return Contender(title, words, **more)


def contenders(trace: Input) -> dict[str, Contender | None]:
    """All that is measured in turn on the main trace."""
    result: dict[str, Contender | None] = {
        "report": ours("`flopledger report`, plain file", "report", trace.plain),
        "report1": ours("… one thread", "report", trace.plain, "--threads", "1"),
        "report_gz": ours("… from `.json.gz`, ISA-L", "report", trace.gzip),
        "report_zlib": ours("… from `.json.gz`, zlib", "report", trace.gzip, environment=ZLIB),
        "report_zst": (
            ours("… from `.json.zst`", "report", trace.zstd) if trace.zstd.exists() else None
        ),
        "inspect": ours("`flopledger inspect`, plain file (reading alone)", "inspect", trace.plain),
        "inspect1": ours("… one thread", "inspect", trace.plain, "--threads", "1"),
        "inspect_gz": ours("… from `.json.gz`, ISA-L", "inspect", trace.gzip),
        "inspect_zlib": ours("… from `.json.gz`, zlib", "inspect", trace.gzip, environment=ZLIB),
        "json_loads": json_loads(trace.plain),
        "hta": holistic_trace_analysis(trace.plain),
        "hta_gz": holistic_trace_analysis(trace.gzip),
        "trace_lens": trace_lens(trace.gzip, FOLDER),
        "trace_processor": trace_processor(trace.plain),
    }
    if trace.zstd.exists():
        result["inspect_zst"] = ours("… from `.json.zst`", "inspect", trace.zstd)
    return result


def measure_floors(trace: Input) -> dict[str, tuple[float, float]]:
    """(seconds, bytes a second); the bytes are those of the text."""
    result = {
        "memory": floor_rate([str(FLOORS), "memory"]),
        "read": floor_rate([str(FLOORS), "read", str(trace.plain)]),
        "isal": floor_rate([str(FLOORS), "unpack", str(trace.gzip)]),
        "zlib": floor_rate([str(FLOORS), "unpack", str(trace.gzip)], ZLIB),
    }
    if trace.zstd.exists():
        result["zstd"] = floor_rate([str(FLOORS), "unpack", str(trace.zstd)])
    return result


def measure_sizes(times_list: list[int], rounds: int) -> list[SizeRow]:
    rows = []
    for times in times_list:
        trace = make_input(FOLDER, PROGRAM, times, packed=False)
        contender = ours(f"{trace.bytes / 1e6:,.0f} MB", "report", trace.plain)
        measure_in_turn([contender], rounds)
        rows.append(SizeRow(trace.bytes, trace.events, contender))
    return rows


def check_same_events(trace: Input, loads: Contender) -> None:
    """A reader that skips something would be fast for a bad reason."""
    events = int(loads.runs[0].output.split()[0])
    if events != trace.events:
        raise Failed(f"json.loads finds {events} events and flopledger {trace.events}")


def check_isal() -> None:
    """Without it the rows of ISA-L would be zlib's."""
    if "unpacks gzip" not in run([str(PROGRAM), "--version", "--verbose"]).output:
        raise Failed("this program has no ISA-L: install libisal-dev, and build it again")


# What --only can ask for: its title, and what gives the section of so many rounds. The later ones take long: --full.
SECTIONS = {
    "again": (AGAIN, again_section),
    "overhead": (OVERHEAD, overhead_section),
    "record": (RECORD, step_record_section),
    "snapshots": (SNAPSHOTS, snapshot_section),
    "recorders": (RECORDERS, recorders_section),
    "meta": (META, meta_section),
    "large": (LARGE, large_section),
    "ranks": (RANKS, ranks_section),
}
ONLY_FULL = ("recorders", "meta", "large", "ranks")


def section_of(name: str, rounds: int) -> str:
    """What could not be measured says why, and the others are measured all the same."""
    title, measure = SECTIONS[name]
    began = time.monotonic()
    try:
        text = measure(rounds)
    except (Failed, OSError, subprocess.SubprocessError) as failure:
        text = f"{title}\n\nNot measured: {failure}\n"
    print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return text


def measure_page(quick: bool, full: bool, rounds: int) -> str:
    check_isal()
    times = 1 if quick else 8
    sizes = [1, 2] if quick else [2, 4, 8, 16, 24]
    small = make_input(FOLDER, PROGRAM, 1)
    trace = make_input(FOLDER, PROGRAM, times)
    measured = contenders(trace)
    measure_in_turn([one for one in measured.values() if one], rounds)
    check_same_events(trace, measured["json_loads"])
    findings = Findings(
        trace=trace,
        measured=measured,
        floors=measure_floors(trace),
        sizes=measure_sizes(sizes, min(rounds, 3)),
        small=small,
        instructions={
            command: instructions(
                [str(PROGRAM), command, "--no-progress", "--threads", "1", str(small.plain)],
                FOLDER,
            )
            for command in ("inspect", "report")
        },
        rounds=rounds,
        version=run([str(PROGRAM), "--version"]).output.strip(),
        command="./dev bench" + (" --full" if full else ""),
    )
    return write_page(findings)


def end_orderly() -> None:
    """As Ctrl-C: what lies in temporary folders, up to 21 GB, is removed."""
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, lambda number, _: sys.exit(128 + number))


def main() -> None:
    end_orderly()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="every section")
    parser.add_argument("--quick", action="store_true", help="a small trace, few rounds")
    parser.add_argument("--only", choices=SECTIONS, help="measure and rewrite this section only")
    parser.add_argument("--rounds", type=int, default=7, help="how often each is run")
    arguments = parser.parse_args()
    rounds = 2 if arguments.quick else arguments.rounds
    page = FOLDER / "benchmarks.md" if arguments.quick else ROOT / "docs/benchmarks.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    try:
        if arguments.only:
            text = page.read_text() if page.exists() else "# Benchmarks\n"
        else:
            text = measure_page(arguments.quick, arguments.full, rounds)
        left_out = () if arguments.full else ONLY_FULL
        for name in [arguments.only] if arguments.only else SECTIONS:
            if arguments.only or name not in left_out:
                text = replace_section(text, section_of(name, rounds))
    except Failed as failure:
        sys.exit(f"bench: {failure}")
    page.write_text(text)
    print(text)
    print(f"written to {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
