#!/usr/bin/env python3
"""Attaches to one training again and again: attach_cycles.py PROGRAM [--cycles N] [--seconds S | --count] [--collect] [--write] [PYTHON...]

PYTHON is a command: of a virtual environment, or "chroot ROOT python3". Prints a row of docs/how-to/attach.md for each: whether the losses
are those of a training that nobody attached to, to the bit, what was left in it, and how long an attachment took. After S seconds no more
are begun. With --count the instructions of five steps of a small training are counted before and after three attachments, one by one, and
beside them those of a training that nobody attaches to, which takes minutes. With --collect Python's garbage is collected in full behind
every twentieth attachment, and what memory is resident then printed. --write puts the rows into that page.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from recorded_runs import find_python

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "how-to" / "attach.md"
CYCLES_BEGIN = "<!-- table of attachments -->\n"
COUNT_BEGIN = "<!-- table of instructions -->\n"
END = "<!-- end of the table -->\n"
TRAINING = (HERE / "attached_training.py").read_text()
OPTIONS = (["--steps", "2"], ["--steps", "1", "--memory"], ["--steps", "1", "--stacks"])
WARM = 20  # attachments until allocators and caches have what they keep
HEAD = (
    "| Python | torch | attached | failed | losses | left | more threads, files, memory "
    "| command: median, longest |\n"
    "|---|---|---:|---:|---|---|---|---|\n"
)
COUNT_HEAD = (
    "| Python | torch | before | after three attachments | median | another training then: before | after | median |\n"
    "|---|---|---|---|---:|---|---|---:|\n"
)
COUNTED = 5  # steps
VERSIONS = "import platform, torch; print(platform.python_version(), '|', torch.__version__)"


class Training:
    def __init__(self, python: list[str], **environment: str) -> None:
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*python, "-c", TRAINING],
            env={**os.environ, "KINETO_LOG_LEVEL": "99", "OMP_NUM_THREADS": "1", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
        )
        assert self.process.stdout is not None
        begins = self.process.stdout.readline()
        assert begins == "begins\n", self.said()

    @property
    def pid(self) -> int:
        return self.process.pid  # chroot becomes what it runs

    def said(self) -> str:
        self.errors.seek(0)
        return self.errors.read()

    def end(self) -> dict[str, Any]:
        out, _ = self.process.communicate("end\n", timeout=3600)
        words: dict[str, Any] = json.loads(out or "{}")
        return words

    def resident_mib(self, signal_number: int) -> float:
        """Without what its allocator keeps for the next time: much of what PyTorch's profiler frees. SIGUSR1: nor Python's garbage."""
        os.kill(self.pid, signal_number)
        time.sleep(1)
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def stands(self) -> tuple[int, int]:
        """Threads and open files."""
        place = Path("/proc", str(self.pid))
        return len(list((place / "task").iterdir())), len(list((place / "fd").iterdir()))


class Cycles:
    def __init__(self, program: str, folder: Path) -> None:
        self.program = program
        self.folder = folder
        self.failures: list[str] = []
        self.seconds: list[float] = []
        self.ends_at = float("inf")
        self.collects = False

    def attach(self, pid: int, options: list[str]) -> None:
        output = self.folder / "captures"
        command = [self.program, "attach", "--no-report", "--output", str(output), *options]
        began = time.monotonic()
        done = subprocess.run(
            [*command, str(pid)], capture_output=True, text=True, check=False, timeout=300
        )
        self.seconds.append(time.monotonic() - began)
        traces = list(output.glob("*/*/traces/rank*/*.pt.trace.json.gz"))
        if done.returncode or len(traces) != 1:
            self.failures.append(f"{done.returncode}, {len(traces)} traces: {done.stderr.strip()}")
        elif self.seconds[-1] > 15:
            print(f"{self.seconds[-1]:.1f} s:", done.stderr.strip(), file=sys.stderr, flush=True)
        shutil.rmtree(output, ignore_errors=True)

    def run(self, training: Training, count: int) -> str:
        """What has grown since the first ones."""
        at_first, resident = training.stands(), training.resident_mib(signal.SIGUSR1)
        for cycle in range(count):
            if time.monotonic() > self.ends_at:
                break
            if training.process.poll() is not None:
                self.failures.append(f"the training ended with {training.process.returncode}")
                break
            self.attach(training.pid, OPTIONS[cycle % len(OPTIONS)])
            if cycle == min(WARM, count) - 1:
                at_first, resident = training.stands(), training.resident_mib(signal.SIGUSR1)
            if self.collects and (cycle + 1) % WARM == 0:
                print(f"{cycle + 1}: {training.resident_mib(signal.SIGUSR1):.1f} MiB", flush=True)
        at_end = training.stands()
        more = [end - first for first, end in zip(at_first, at_end, strict=True)]
        grown = [training.resident_mib(how) - resident for how in (signal.SIGUSR2, signal.SIGUSR1)]
        return f"{more[0]}, {more[1]}, {grown[0]:.0f} MiB ({grown[1]:.0f} collected)"


def count_instructions(counter: Path, training: Training) -> list[int]:
    """Of whole steps of the main thread, each instruction executed alone."""
    words = [str(counter), str(training.pid), str(COUNTED)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=3600)
    return [int(word) for word in done.stdout.split()]


def instructions_of(program: str, python: list[str], folder: Path) -> list[list[int]]:
    """Before the first attachment and behind the last, and at the same times of a training that nobody attaches to."""
    counter = folder / "count_instructions"
    subprocess.run(["cc", "-O2", "-o", counter, HERE / "count_instructions.c"], check=True)
    cycles = Cycles(program, folder)
    fixed = ["setarch", "-R", *python]  # addresses decide where a dictionary looks first
    pair = [Training(fixed, COUNTED="1", PYTHONHASHSEED="0", SLEEP="0.002") for _ in range(2)]
    time.sleep(2)  # each line has been specialized by then
    before = [count_instructions(counter, training) for training in pair]
    for options in OPTIONS:
        cycles.attach(pair[0].pid, options)
    time.sleep(2)
    after = [count_instructions(counter, training) for training in pair]
    left = [training.end()["left"] for training in pair]
    assert not cycles.failures and left == [{}, {}], (cycles.failures, left)
    return [before[0], after[0], before[1], after[1]]


def count_row(asked: argparse.Namespace, python: list[str], rows: list[str]) -> bool:
    """Whether the median has grown by no more than half a percent above what the other's has."""
    with tempfile.TemporaryDirectory(prefix="fla-") as name:
        counted = instructions_of(asked.program, python, Path(name))
    medians = [statistics.median(counts) for counts in counted]
    more = [medians[k + 1] / medians[k] - 1 for k in (0, 2)]
    cells = [f"{min(counts):,} to {max(counts):,}" for counts in counted]
    rows.append(
        f"| {versions_of(python)} | {cells[0]} | {cells[1]} | {more[0]:+.2%} | {cells[2]} | {cells[3]} | {more[1]:+.2%} |\n"
    )
    print(rows[-1], end="", flush=True)
    return more[0] - more[1] < 0.005


def versions_of(python: list[str]) -> str:
    words = [*python, "-c", VERSIONS]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def show_row(asked: argparse.Namespace, python: list[str], rows: list[str]) -> bool:
    with tempfile.TemporaryDirectory(prefix="fla-") as name:
        cycles = Cycles(asked.program, Path(name))
        cycles.ends_at = time.monotonic() + asked.seconds
        cycles.collects = asked.collect
        training = Training(python)
        grown = cycles.run(training, asked.cycles)
        words = training.end()
        alone = Training(python, STEPS=str(words.get("step", 1)), SLEEP="0").end()
        is_equal = words.get("digest") == alone["digest"]
        left = words.get("left", "its end")
    rows.append(
        f"| {versions_of(python)} | {len(cycles.seconds)} | {len(cycles.failures)} "
        f"| {words.get('step')} steps, {'equal' if is_equal else 'DIFFERENT'} | {left or 'nothing'} "
        f"| {grown} | {statistics.median(cycles.seconds):.2f} s, {max(cycles.seconds):.2f} s |\n"
    )
    print(rows[-1], end="", flush=True)
    for failure in cycles.failures[:5]:
        print("   ", failure, flush=True)
    if cycles.failures:
        print("   ", training.said()[-2000:], flush=True)
    return is_equal and not left and not cycles.failures


def row_key(row: str) -> list[list[int]]:
    """Python and torch, by their numbers."""
    cells = [cell.strip().partition("+")[0] for cell in row.split("|")[1:3]]
    return [[int(part) for part in cell.split(".") if part.isdigit()] for cell in cells]


def write_rows(begins: str, head: str, rows: list[str]) -> None:
    """In place of those of the same versions; others stay."""
    before, begin, rest = PAGE.read_text().partition(begins)
    table, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE}: no place for the table")
    table_rows = [line + "\n" for line in table.splitlines()[2:]] + rows
    by_versions = {str(row_key(row)): row for row in table_rows}
    in_order = "".join(sorted(by_versions.values(), key=row_key))
    PAGE.write_text(f"{before}{begin}{head}{in_order}{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--collect", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("pythons", nargs="*")
    asked = parser.parse_intermixed_args()
    pythons = asked.pythons or [p for p in [find_python()] if p]
    begin, head = (COUNT_BEGIN, COUNT_HEAD) if asked.count else (CYCLES_BEGIN, HEAD)
    print(head, end="", flush=True)
    rows: list[str] = []
    passed = []
    for python in pythons:
        show = count_row if asked.count else show_row
        passed.append(show(asked, python.split(), rows))
        if asked.write:
            write_rows(begin, head, rows[-1:])
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed, 0 skipped")
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
