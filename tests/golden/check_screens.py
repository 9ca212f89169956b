#!/usr/bin/env python3
"""The first screen of every report fits its screen, adds up, and hides nothing: check_screens.py

Of each input here, of generated ones of every reader, and of those of FLOPLEDGER_SHARED that are small, where it is there:
  - no page of 80 columns has more than 48 lines, none of 100 more than 60, and no line is wider than the page;
  - the rows of a chart that has a total add up to it, as printed;
  - no row of a chart is all zeros, and the sentence about the whole does not say what is not known;
  - it has no backtick, writes micro as µ, and no sentence of it is longer than 25 words;
  - the times that it prints have three significant digits;
  - a finding that is called as a row of the chart has that row's share; no warning stands there twice;
  - it is the same where all sections were made, as they are for an answer that is kept;
  - every line of --all stands in the sections that --list-sections names, each printed with --section, in the same order.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

from generated_screens import generated_inputs

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "tests" / "traces" / "golden"
LINES_OF_WIDTH = {80: 48, 100: 60, 200: 60}
SMALL_BYTES = 3_000_000
LONGEST_SENTENCE = 25  # words; a number and its unit are none

Command = list[str]


def own_inputs() -> list[Command]:
    reports = [
        TRACES / name
        for name in (
            "modules",
            "module_frames",
            "products",
            "memory_run",
            "two_ranks",
            "straggling",
            "queued_ranks",
            "pipeline_ranks",
            "what_if/training.json",
            "hostile.json",
            "device_memory.json",
            "ascend_trace_view.json",
            "compare/before.json.gz",
            "straggling/straggler.json.gz",
            "graphs",
        )
    ] + [ROOT / "examples/traces/train_gpt_cpu.json.gz"]
    before, after = TRACES / "compare/before.json.gz", TRACES / "compare/after.json.gz"
    return (
        [["report", str(path)] for path in reports]
        + [["flops", str(path)] for path in reports[:3] + reports[-1:]]
        + [["memory", str(path)] for path in (TRACES / "memory_run", TRACES / "memory/tags.pickle")]
        + [["ettr", str(path)] for path in sorted((TRACES / "job").glob("*.log"))]
        + [["compare", str(before), str(after)], ["compare", str(before), str(before)]]
        + [["ranks", str(path)] for path in sorted((TRACES / "flight").iterdir()) if path.is_dir()]
        + [["flops", "--seq", "128", "--model", str(ROOT / "tests/models/gpt2.json")]]
        + [["ettr", str(TRACES / "job/diary.md")], ["ettr", str(TRACES / "job/capture")]]
        + [["report", str(before), str(TRACES / "what_if/training.json")]]
    )


def shared_inputs() -> list[Command]:
    shared = Path(os.environ.get("FLOPLEDGER_SHARED", ROOT.parent / "shared"))
    if not shared.is_dir():
        return []
    traces = [
        path
        for pattern in ("*.json.gz", "*.json", "*.sqlite", "*.xplane.pb", "*.pftrace")
        for folder in ("traces", "nsys")
        for path in sorted((shared / folder).rglob(pattern))
        if path.stat().st_size < SMALL_BYTES and "broken" not in path.parts
    ]
    logs = [path for path in sorted((shared / "logs").iterdir()) if path.suffix in (".log", ".txt")]
    return (
        [["report", str(path)] for path in traces[::6]]
        + [["ettr", str(path)] for path in logs]
        + [["memory", str(path)] for path in sorted((shared / "snapshots").rglob("*.pickle"))]
    )


def printed(program: str, command: Command, *options: str) -> tuple[int, str]:
    done = subprocess.run(
        [program, command[0], *options, *command[1:]], capture_output=True, check=False
    )
    return done.returncode, done.stdout.decode(errors="replace")


def columns(line: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in line
    )


def number(text: str) -> float:
    return float(text.replace(",", ""))


def problems_of_sum(lines: list[str]) -> list[str]:
    """Amount and share stand in front of the bars: "  idle   waiting for data   58.7   33.6  ██"."""
    total = next(
        (i for i, line in enumerate(lines) if re.match(r"^ +total +[\d,.]+ +100\.0$", line)), None
    )
    if total is None:
        return []
    title = max(i for i in range(total) if lines[i].startswith(("Where", "At the peak")))
    right = [match.end() for match in re.finditer(r"[\d,.]+", lines[total])]
    rows = [
        (number(line[: right[0]].split()[-1]), number(line[right[0] : right[1]]))
        for line in lines[title + 1 : total]
    ]
    wanted = [number(word) for word in lines[total].split()[1:]]
    sums = [sum(row[i] for row in rows) for i in range(2)]
    return [
        f"the rows add up to {found:.2f}, not {want}"
        for found, want in zip(sums, wanted)
        if abs(found - want) > 0.001
    ]


def problems_of_words(text: str) -> list[str]:
    """What a first screen says, its lines joined as they were before the page was too narrow."""
    unit = r"(?:ns|µs|ms|s|h)"
    problems = [f"a backtick: {line}" for line in text.splitlines() if "`" in line]
    problems += [f"us, not µs: {found}" for found in re.findall(r".*\d us\b.*", text)]
    problems += [
        f"more than three digits: {found}"
        for found in re.findall(rf"(?<![\w.,-])[\d,]*\d\.\d+ {unit}(?![\w/])", text)
        if len(re.sub(r"\D", "", found.split()[0]).lstrip("0")) > 3
    ]
    problems += [
        f"a row of zeros: {line}"
        for line in text.splitlines()
        if re.search(r"^  \S.* 0\.0+ +0\.0(?:  |$)", line)
    ]
    verdict = re.search(r"\n\n((?:[A-Z].*[^ ]\n)+)\n", text)
    if verdict and "not known" in verdict[1]:
        problems.append(f"not known, in the verdict: {verdict[1]}")
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z])", verdict[1].replace("\n", " ") if verdict else "")
    problems += [
        f"a sentence of {len(words)} words: {sentence}"
        for sentence in sentences
        if len(words := re.findall(r"[^\W\d]+(?:[-'./_][^\W\d]+)*", sentence)) > LONGEST_SENTENCE
    ]
    return problems


def problems_of_findings(text: str) -> list[str]:
    """A reader who finds two shares of one thing on a page believes neither."""
    row = r"^  (?:[a-z]+ )? +(\S.*?)  +[\d,.]+ +([\d.]+)(?:  .*)?$"
    shares = {m[1]: m[2] for m in re.finditer(row, text, re.MULTILINE)}
    found = re.finditer(r"^ [1-3] (.*?): ([\d.]+) % of ", text, re.MULTILINE)
    problems = [
        f"{m[1]} is {m[2]} % in a finding, {shares[m[1]]} % in the chart"
        for m in found
        if m[1] in shares and abs(float(m[2]) - float(shares[m[1]])) > 0.051
    ]
    warnings = [line for line in text.splitlines() if line.startswith("! ")]
    problems += [f"twice: {line}" for line in set(warnings) if warnings.count(line) > 1]
    verdict = re.search(r"\n\n((?:[A-Z\d].*[^ ]\n)+)\n", text)
    end = " ".join(verdict[1].rstrip(".\n").split()[-6:]) if verdict else ""
    if len(end) > 20 and not re.search(r"\d", end) and end in text.partition("What to try")[2]:
        problems.append(f"the sentence about the whole is a finding, too: {end}")
    return problems


def problems_of_screen(program: str, command: Command, width: int) -> list[str]:
    code, text = printed(program, command, "--width", str(width))
    lines = text.splitlines()
    problems = problems_of_sum(lines) + problems_of_words(text) + problems_of_findings(text)
    if not lines and code in (0, 5):
        problems.append("nothing is printed")
    if len(lines) > LINES_OF_WIDTH[width]:
        problems.append(f"{len(lines)} lines")
    problems += [f"wider than the page: {line}" for line in lines if columns(line) > width]
    problems += [
        f"blanks at the end of a line: {line!r}" for line in lines if line != line.rstrip()
    ]
    return [f"{' '.join(command)}, {width} columns: {problem}" for problem in problems]


def body(text: str) -> list[str]:
    """What stands in sections: the head of a page and that of a rank sum up what they say."""
    lines: list[str] = []
    is_head = True
    for line in text.splitlines():
        if re.match(r"^(── |\S.*\.(?:json|sqlite|db|pb|pftrace))", line):
            is_head = not line.startswith("── ")
        if line and not is_head:
            lines.append(line)
    return lines


def problems_of_sections(program: str, command: Command) -> list[str]:
    whole = body(printed(program, command, "--all")[1])
    listed = printed(program, command, "--list-sections")[1].splitlines()
    names = [line.split()[0] for line in listed]
    text = body(printed(program, command, "--section", ",".join(names))[1]) if names else []
    missing = [line for line in whole if line not in set(text)]
    return [f"{' '.join(command)}: no section has the line {line!r}" for line in missing[:3]]


def problems_of_short_way(program: str, command: Command) -> list[str]:
    """Where the screen is all that is printed, sections that it only names are not made."""
    if command[0] != "report":
        return []
    short, whole = printed(program, command), printed(program, command, "--cache")
    return [] if short == whole else [f"{' '.join(command)}: not the screen of a whole report"]


def main() -> int:
    program = os.environ.get("FLOPLEDGER", "flopledger")
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="flopledger-screens-") as name:
        os.environ["XDG_CACHE_HOME"] = name
        for command in own_inputs() + generated_inputs(Path(name)) + shared_inputs():
            for width in LINES_OF_WIDTH:
                problems += problems_of_screen(program, command, width)
            problems += problems_of_sections(program, command)
            problems += problems_of_short_way(program, command)
    for problem in problems:
        print(problem)
    print("the first screens fit" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
