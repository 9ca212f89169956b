"""The section of docs/benchmarks.md on the same question again (--cache), and on what a page costs beside JSON."""

from __future__ import annotations

import shutil
import time
from statistics import median

from make_input import FOLDER, PROGRAM, make_input
from measure import instructions, run
from write_page import stamp, table

TITLE = "## The same question again, and the page"
FORMS = {"text": ["-o"], "`--json`": ["--json", "-o"], "`--html`": ["--html"]}  # and the file
SETTLED_SECONDS = (
    0.1  # a file is taken for finished where its last write lies a tick of the kernel's clock back
)


def seconds_of(words: list[str], rounds: int) -> tuple[float, float]:
    """The first answer and the second: medians."""
    cache = FOLDER / "answers"
    first, second = [], []
    for _ in range(rounds):
        shutil.rmtree(cache, ignore_errors=True)
        for times in (first, second):
            times.append(run(words, {"FLOPLEDGER_CACHE": str(cache)}).wall_seconds)
    shutil.rmtree(cache)
    return median(first), median(second)


def again_section(rounds: int) -> str:
    """Markdown, with its title."""
    trace = make_input(FOLDER, PROGRAM, 1, packed=False)
    time.sleep(SETTLED_SECONDS)
    target = FOLDER / "page.out"
    rows, counts = [], {}
    for title, options in FORMS.items():
        words = [str(PROGRAM), "report", "--no-progress", *options, str(target)]
        words.append(str(trace.plain))
        first, second = seconds_of(words, rounds)
        target.unlink(missing_ok=True)
        counts[title], _ = instructions([*words, "-j1"], FOLDER)
        size = target.stat().st_size
        row = [title, f"{first:.3f}", f"{1e3 * second:.1f}", f"{first / second:.0f}"]
        rows.append([*row, f"{counts[title] / 1e6:,.0f}", f"{size / 1e6:.2f}"])
    target.unlink()
    more = 100 * (counts["`--html`"] / counts["`--json`"] - 1)
    head = ["`report`", "first, s", "again with `--cache`, ms", "times as fast"]
    lines = [
        TITLE,
        "",
        f"Of {trace.bytes / 1e6:.0f} MB: medians, and instructions of the first answer with one thread (callgrind). The page "
        f"takes {more:.1f} % more of them than JSON.",
        "",
        table([*head, "M instructions", "answer, MB"], rows),
        "",
        stamp("again"),
    ]
    return "\n".join(lines) + "\n"
