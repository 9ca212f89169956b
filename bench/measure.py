"""Runs programs and measures them: wall and CPU seconds, peak memory."""

import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

MEASURED_RUN = Path(__file__).resolve().parents[1] / "build/release/measured_run"


@dataclass
class Run:
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    output: str


@dataclass
class Contender:
    """One of the commands that are measured in turn. `says_seconds`: it prints the time that counts itself."""

    title: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    says_seconds: bool = False
    rounds: int | None = None  # fewer than the others, for slow ones
    may_fail: bool = False  # another program's: then `failure` says why nothing was measured
    failure: str = ""
    runs: list[Run] = field(default_factory=list)

    def seconds(self) -> float:
        return statistics.median(self.each_seconds())

    def each_seconds(self) -> list[float]:
        if self.says_seconds:
            return [float(run.output.split()[-1]) for run in self.runs]
        return [run.wall_seconds for run in self.runs]

    def cpu_seconds(self) -> float:
        return statistics.median(run.cpu_seconds for run in self.runs)

    def peak_bytes(self) -> int:
        return max(run.peak_bytes for run in self.runs)


class Failed(Exception):
    pass


def run(command: list[str], environment: dict[str, str] | None = None) -> Run:
    """Through build/release/measured_run, because of how Linux counts peak memory: see there."""
    with tempfile.NamedTemporaryFile("r") as result:
        done = subprocess.run(
            [MEASURED_RUN, result.name, *command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(os.environ, **(environment or {})),
            check=False,
        )
        figures = result.read().split()
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise Failed(f"{' '.join(command)}: exit status {done.returncode}: {last[0]}")
    wall, cpu, peak_kib = figures
    return Run(float(wall), float(cpu), int(peak_kib) * 1024, done.stdout.decode(errors="replace"))


def run_once(contender: Contender) -> Run | None:
    if contender.failure:
        return None
    try:
        return run(contender.command, contender.environment)
    except Failed as failure:
        if not contender.may_fail:
            raise
        contender.failure = str(failure)[-200:]
        return None


def measure_in_turn(contenders: list[Contender], rounds: int) -> None:
    """Round after round, each once: what else the machine does hits all of them alike. One run before, to warm up."""
    for contender in contenders:
        if contender.rounds is None:
            run_once(contender)
    for number in range(rounds):
        for contender in contenders:
            if contender.rounds is not None and number >= contender.rounds:
                continue
            print(f"round {number + 1} of {rounds}: {contender.title}", file=sys.stderr, flush=True)
            done = run_once(contender)
            if done is not None:
                contender.runs.append(done)


def ratio(slower: Contender, faster: Contender) -> float:
    """The median of the ratios round by round."""
    pairs = zip(slower.each_seconds(), faster.each_seconds())
    return statistics.median(slow / fast for slow, fast in pairs)


def floor_rate(
    command: list[str], environment: dict[str, str] | None = None, times: int = 5
) -> tuple[float, float]:
    """(seconds, bytes a second) of bench/floors: the best of some."""
    best = min(
        (run(command, environment).output.split() for _ in range(times)),
        key=lambda said: float(said[1]),
    )
    return float(best[1]), int(best[0]) / float(best[1])


def instructions(command: list[str], folder: Path) -> tuple[int, list[tuple[float, str]]]:
    """Instructions that valgrind counts, and the functions that spend most of them: (fraction, name)."""
    out = folder / "callgrind.out"
    out.unlink(missing_ok=True)
    run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command])
    text = run(["callgrind_annotate", "--auto=no", "--threshold=90", str(out)]).output
    total = 0
    functions: dict[str, int] = {}
    for line in text.splitlines():
        words = line.split()
        if not words or not words[0].replace(",", "").isdigit():
            continue
        count = int(words[0].replace(",", ""))
        if "PROGRAM TOTALS" in line:
            total = count
        elif total:
            name = line.split(":")[-1].split("[")[0].strip()
            functions[name] = functions.get(name, 0) + count
    most = sorted(functions.items(), key=lambda item: -item[1])[:12]
    return total, [(count / total, name) for name, count in most]
