#!/usr/bin/env python3
"""Attaches to one training again and again: attach_cycles.py PROGRAM [--cycles N] [--seconds S] [--count] [--write] [PYTHON...]

PYTHON is a command: of a virtual environment, or "chroot ROOT python3". Prints a row of docs/how-to/attach.md for each: whether the losses
are those of a training that nobody attached to, to the bit, what was left in it, and how long an attachment took. After S seconds no more
are begun. With --count the instructions of two steps are counted before and after, one by one, which takes minutes. --write puts the rows
into that page.
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
BEGIN, END = "<!-- table of attachments -->\n", "<!-- end of the table -->\n"
TRAINING = (HERE / "attached_training.py").read_text()
OPTIONS = (["--steps", "2"], ["--steps", "1", "--memory"], ["--steps", "1", "--stacks"])
WARM = 20  # attachments until allocators and caches have what they keep
HEAD = (
    "| Python | torch | attached | failed | losses | left | more threads, files, memory "
    "| command: median, longest | instructions of a step: before, after |\n"
    "|---|---|---:|---:|---|---|---|---|---|\n"
)
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

    def resident_mib(self) -> float:
        """Without what its allocator keeps for the next time: much of what PyTorch's profiler frees."""
        os.kill(self.pid, signal.SIGUSR2)
        time.sleep(0.5)
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
        shutil.rmtree(output, ignore_errors=True)

    def run(self, training: Training, count: int) -> str:
        """What has grown since the first ones."""
        at_first, resident = training.stands(), training.resident_mib()
        for cycle in range(count):
            if time.monotonic() > self.ends_at:
                break
            if training.process.poll() is not None:
                self.failures.append(f"the training ended with {training.process.returncode}")
                break
            self.attach(training.pid, OPTIONS[cycle % len(OPTIONS)])
            if cycle == min(WARM, count) - 1:
                at_first, resident = training.stands(), training.resident_mib()
        at_end = training.stands()
        more = [end - first for first, end in zip(at_first, at_end, strict=True)]
        return f"{more[0]}, {more[1]}, {training.resident_mib() - resident:.0f} MiB"


def count_instructions(counter: Path, training: Training) -> list[int]:
    """Of whole steps, each one executed alone."""
    words = [str(counter), str(training.pid), "2"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=3600)
    return [int(word) for word in done.stdout.split()]


def instructions_of(program: str, python: list[str], folder: Path) -> str:
    """Of the step with the fewest, before the first attachment and behind the last."""
    counter = folder / "count_instructions"
    subprocess.run(["cc", "-O2", "-o", counter, HERE / "count_instructions.c"], check=True)
    cycles = Cycles(program, folder)
    training = Training(python, COUNTED="1", PYTHONHASHSEED="0", SLEEP="0.002")
    time.sleep(2)  # each line has been specialized by then
    before = count_instructions(counter, training)
    for options in OPTIONS:
        cycles.attach(training.pid, options)
    after = count_instructions(counter, training)
    training.end()
    assert not cycles.failures, cycles.failures
    return f"{min(before):,} and {min(after):,}"


def show_row(asked: argparse.Namespace, python: list[str], rows: list[str]) -> bool:
    with tempfile.TemporaryDirectory(prefix="fla-") as name:
        cycles = Cycles(asked.program, Path(name))
        cycles.ends_at = time.monotonic() + asked.seconds
        training = Training(python)
        grown = cycles.run(training, asked.cycles)
        words = training.end()
        alone = Training(python, STEPS=str(words.get("step", 1)), SLEEP="0").end()
        is_equal = words.get("digest") == alone["digest"]
        left = words.get("left", "its end")
        counted = instructions_of(asked.program, python, Path(name)) if asked.count else ""
    versions = subprocess.run([*python, "-c", VERSIONS], capture_output=True, text=True, check=True)
    rows.append(
        f"| {versions.stdout.strip()} | {len(cycles.seconds)} | {len(cycles.failures)} "
        f"| {words.get('step')} steps, {'equal' if is_equal else 'DIFFERENT'} | {left or 'nothing'} "
        f"| {grown} | {statistics.median(cycles.seconds):.2f} s, {max(cycles.seconds):.2f} s "
        f"| {counted or 'not counted'} |\n"
    )
    print(rows[-1], end="", flush=True)
    for failure in cycles.failures[:5]:
        print("   ", failure, flush=True)
    if cycles.failures:
        print("   ", training.said()[-2000:], flush=True)
    return is_equal and not left and not cycles.failures


def write_rows(rows: list[str]) -> None:
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE}: no place for the table")
    PAGE.write_text(f"{before}{BEGIN}{HEAD}{''.join(sorted(rows))}{END}{after}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("pythons", nargs="*")
    asked = parser.parse_intermixed_args()
    pythons = asked.pythons or [p for p in [find_python()] if p]
    print(HEAD, end="", flush=True)
    rows: list[str] = []
    passed = [show_row(asked, python.split(), rows) for python in pythons]
    if asked.write:
        write_rows(rows)
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed, 0 skipped")
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
