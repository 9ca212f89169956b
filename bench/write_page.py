"""docs/benchmarks.md: every number on it comes from the run."""

import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from make_input import ROOT, Input
from measure import Contender, ratio
from others import version_of

COMPARED = ("HolisticTraceAnalysis", "TraceLens", "perfetto", "pandas")
MB = 1e6
GB = 1e9


@dataclass
class SizeRow:
    bytes: int
    events: int
    contender: Contender


@dataclass
class Findings:
    trace: Input
    measured: dict[str, Contender | None]
    floors: dict[str, tuple[float, float]]
    sizes: list[SizeRow]
    small: Input
    instructions: dict[str, tuple[int, list[tuple[float, str]]]]
    rounds: int
    version: str
    command: str


def processor() -> str:
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return f"{model[1].strip() if model else platform.machine()}, {os.cpu_count()} cores"


def memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GB


def commit() -> str:
    """Of what is measured; the page itself, which is to be written, does not count as a change."""
    command = ["git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no"]
    status = subprocess.run(command, capture_output=True, text=True, check=False)
    if status.returncode:
        return "not known (no git here)"
    changed = [line for line in status.stdout.splitlines() if "docs/benchmarks.md" not in line]
    told = first_line("git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD")
    return told + (" with changes" if changed else "")


def stamp(section: str) -> str:
    """What a section says of where it comes from."""
    today = date.today().isoformat()
    return (
        f"{today}, commit {commit()}, {processor()}; `./dev bench --only {section}` measures this."
    )


def first_line(*command: str) -> str:
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "not here"
    return said.splitlines()[0]


def versions(findings: Findings) -> list[str]:
    return [
        findings.version,
        first_line(os.environ.get("CC", "gcc"), "--version"),
        f"Linux {platform.release()}",
        f"Python {platform.python_version()}",
        *(f"{each} {version_of(each)}" for each in COMPARED),
    ]


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|---" + "|---:" * (len(header) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def contender_row(findings: Findings, contender: Contender) -> list[str]:
    if contender.failure:
        return [contender.title, f"not measured: {contender.failure}", *[""] * 6]
    seconds = contender.seconds()
    each = contender.each_seconds()
    trace = findings.trace
    return [
        contender.title,
        f"{seconds:.3f}",
        f"{min(each):.3f} – {max(each):.3f}",
        f"{contender.cpu_seconds():.2f}",
        f"{trace.bytes / seconds / MB:,.0f}",
        f"{trace.events / seconds / 1e6:.2f}",
        f"{contender.peak_bytes() / MB:,.0f}",
        f"{contender.peak_bytes() / trace.bytes:.2f}",
    ]


def main_table(findings: Findings) -> str:
    header = [
        "",
        "seconds",
        "least – most",
        "CPU s",
        "MB/s",
        "M events/s",
        "peak MB",
        "peak ÷ file",
    ]
    order = ["report", "report1", "report_gz", "report_zlib", "report_zst"]
    order += [
        "inspect",
        "inspect1",
        "inspect_gz",
        "inspect_zlib",
        "inspect_zst",
        "json_loads",
        "hta",
        "hta_gz",
        "trace_lens",
        "trace_processor",
    ]
    rows = [
        contender_row(findings, findings.measured[key])
        for key in order
        if findings.measured.get(key)
    ]
    return table(header, rows)


def comparison_lines(findings: Findings) -> list[str]:
    measured = findings.measured
    report = measured["report"]
    peak = report.peak_bytes() / findings.trace.bytes
    loads = measured["json_loads"]
    lines = [
        f"- The whole report is {ratio(loads, report):.1f} times as fast as Python's `json.loads` alone on the same text "
        f"({ratio(loads, measured['report1']):.1f} times with one thread). At its peak it takes {peak:.2f} times the "
        f"file's size in memory; `json.loads` takes {loads.peak_bytes() / findings.trace.bytes:.1f} times.",
    ]
    told = [
        hta_words(measured[theirs], measured[ours], file)
        for theirs, ours, file in (
            ("hta", "report", "plain file"),
            ("hta_gz", "report_gz", "`.json.gz`"),
        )
        if not measured[theirs].failure
    ]
    if told:
        lines.append(
            f"- HolisticTraceAnalysis takes for its temporal breakdown {'; '.join(told)}. It is not the same work: it makes "
            "pandas tables that further questions can use."
        )
    return lines


def hta_words(theirs: Contender, ours: Contender, file: str) -> str:
    """Against our report of the very file that it reads."""
    return (
        f"{theirs.seconds():.1f} s and {theirs.peak_bytes() / GB:.1f} GB for the {file}, {ratio(theirs, ours):.0f} times "
        f"as long and {theirs.peak_bytes() / ours.peak_bytes():.0f} times as much as the whole report of the same file"
    )


def packed_table(findings: Findings) -> str:
    measured, floors = findings.measured, findings.floors
    parse_alone = measured["inspect1"].seconds()
    rows = []
    for title, floor, inspect, report in [
        ("gzip, ISA-L", "isal", "inspect_gz", "report_gz"),
        ("gzip, zlib", "zlib", "inspect_zlib", "report_zlib"),
        ("zstd", "zstd", "inspect_zst", "report_zst"),
    ]:
        if floor not in floors or not measured.get(inspect):
            continue
        unpack_alone = floors[floor][0]
        both = measured[inspect].seconds()
        slower = max(unpack_alone, parse_alone)
        report_seconds = measured[report].seconds()
        rows.append(
            [
                title,
                f"{unpack_alone:.3f}",
                f"{floors[floor][1] / GB:.2f}",
                f"{parse_alone:.3f}",
                f"{both:.3f}",
                f"{both / slower:.2f}",
                f"{report_seconds:.3f}",
                f"{report_seconds / max(unpack_alone, measured['report1'].seconds()):.2f}",
            ]
        )
    header = [
        "",
        "unpack alone, s",
        "GB/s",
        "parse alone, s",
        "both (`inspect`), s",
        "÷ the slower",
    ]
    return table(
        [*header, "`report`, s", "÷ the slower of unpacking and `report` of the plain file"], rows
    )


def sizes_table(findings: Findings) -> str:
    rows = []
    for row in findings.sizes:
        seconds = row.contender.seconds()
        peak = row.contender.peak_bytes()
        rows.append(
            [
                f"{row.bytes / MB:,.0f} MB",
                f"{row.events:,}",
                f"{seconds:.3f}",
                f"{seconds / (row.bytes / GB):.3f}",
                f"{peak / MB:,.0f}",
                f"{peak / row.bytes:.2f}",
            ]
        )
    return table(["file", "events", "seconds", "s per GB", "peak MB", "peak ÷ file"], rows)


def memory_line(sizes: list[SizeRow]) -> str:
    """What a byte more of a file takes, and what the program would take without any."""

    def slope(small: SizeRow, large: SizeRow) -> float:
        peaks = [row.contender.peak_bytes() for row in (small, large)]
        return (peaks[1] - peaks[0]) / (large.bytes - small.bytes)

    first, last = slope(*sizes[:2]), slope(*sizes[-2:])
    own = sizes[0].contender.peak_bytes() - first * sizes[0].bytes
    ends = [f"{row.bytes / MB:,.0f}" for row in (*sizes[:2], *sizes[-2:])]
    return (
        f"Of the memory about {own / MB:,.0f} MB are there whatever the size: pages of the program itself, which all that "
        f"run share, and its tables. From {ends[0]} to {ends[1]} MB a byte more takes {first:.2f} bytes of memory, from "
        f"{ends[2]} to {ends[3]} MB {last:.2f}."
    )


def instruction_tables(findings: Findings) -> str:
    rows = []
    for command, (total, _) in findings.instructions.items():
        per_event = total / findings.small.events
        per_byte = total / findings.small.bytes
        rows.append(
            [
                f"`flopledger {command}`",
                f"{total / 1e6:,.0f} M",
                f"{per_event:,.0f}",
                f"{per_byte:.2f}",
            ]
        )
    text = table(["one thread", "instructions", "per event", "per byte"], rows)
    spent = [
        [f"`{name}`", f"{100 * share:.1f} %"] for share, name in findings.instructions["report"][1]
    ]
    return (
        text
        + "\n\nWhere `flopledger report` spends them (functions by themselves):\n\n"
        + table(["function", "share"], spent)
    )


def limits_paragraph(findings: Findings) -> str:
    measured, floors = findings.measured, findings.floors
    size = findings.trace.bytes
    memory_rate, read_rate = floors["memory"][1], floors["read"][1]
    report, report1 = measured["report"], measured["report1"]
    inspect, inspect1 = measured["inspect"], measured["inspect1"]
    share = inspect1.seconds() / report1.seconds()
    text = (
        f"Reading memory goes at {memory_rate / GB:.1f} GB/s on one core here, and reading the file from the page cache "
        f"through one small buffer at {read_rate / GB:.1f} GB/s ({size / read_rate:.3f} s for this file): no streaming "
        f"reader can be faster than that. `flopledger inspect` reaches {size / inspect1.seconds() / GB:.2f} GB/s with "
        f"one thread, {100 * size / inspect1.seconds() / read_rate:.0f} % of that limit, and "
        f"{size / inspect.seconds() / GB:.2f} GB/s with all {os.cpu_count()}. The rest is the scan itself: telling "
        "strings from structure, numbers from digits, and finding names in tables. Of the whole report with one thread, "
        f"reading takes {100 * share:.0f} %, and the analyses and the page {100 * (1 - share):.0f} %; with all threads "
        f"the report runs at {size / report.seconds() / GB:.2f} GB/s. "
    )
    unpack = floors["isal"][0]
    limit = "unpacking" if unpack > inspect1.seconds() else "parsing"
    text += (
        f"For a `.json.gz`, unpacking alone takes {unpack:.3f} s ({floors['isal'][1] / GB:.2f} GB/s of text) and parsing "
        f"alone {inspect1.seconds():.3f} s; side by side, {limit} is the limit, and both together take "
        f"{measured['inspect_gz'].seconds() / max(unpack, inspect1.seconds()):.2f} times as long as it alone."
    )
    return text


def write_page(findings: Findings) -> str:
    trace = findings.trace
    parts = [
        "# Benchmarks",
        "",
        f"Written by `{findings.command}` on {date.today().isoformat()}, commit {commit()}; every number comes from that run. To measure on "
        "your own machine: `./dev bench`.",
        "",
        f"- machine: {processor()}, {memory_gb():.0f} GB of memory",
        f"- versions: {'; '.join(versions(findings))}",
        f"- trace: {trace.what}: {trace.bytes / MB:,.0f} MB, {trace.events:,} events; "
        f"{trace.gzip.stat().st_size / MB:.1f} MB as `.json.gz`",
        f"- programs take turns, {findings.rounds} rounds (slow ones fewer); seconds are medians of wall-clock time, with "
        "the file in the page cache; peak memory is the largest resident set of the process",
        "",
        "## Side by side",
        "",
        main_table(findings),
        "",
        *comparison_lines(findings),
        "",
        "## Packed traces",
        "",
        "Unpacking has a thread of its own. *Unpack alone* reads and unpacks, and drops the text; *parse alone* is "
        "`flopledger inspect` of the plain file with one thread.",
        "",
        packed_table(findings),
        "",
        "## Time and size",
        "",
        sizes_table(findings),
        "",
        memory_line(findings.sizes),
        "",
        "## Instructions",
        "",
        "Counted by valgrind (callgrind), which a busy machine does not disturb, on "
        f"{findings.small.bytes / MB:,.0f} MB and {findings.small.events:,} events.",
        "",
        instruction_tables(findings),
        "",
        "## How close to the limits",
        "",
        limits_paragraph(findings),
        "",
    ]
    return "\n".join(parts)


def replace_section(page: str, section: str) -> str:
    """The page with this section, which begins with its title, in place of the one of the same title, or at the end."""
    title = section.splitlines()[0]
    before, found, rest = page.partition(f"{title}\n")
    _, next_title, after = rest.partition("\n## ") if found else ("", "", "")
    return before.rstrip() + f"\n\n{section.rstrip()}\n" + (f"{next_title}{after}" if after else "")


if __name__ == "__main__":
    sys.exit("bench/run_bench.py writes the page")
