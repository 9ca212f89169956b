"""Windows that record themselves: a step is slow, MFU falls, memory grows step by step, a rank lags (`--on`).

What is looked at stands in the step records, this rank's and those of others. Ranks agree on a window by a file in the capture's
folder, triggers/N.json: the first rank that sees a reason writes it, and all record the steps that it names.
"""

from __future__ import annotations

import glob
import json
import math
import os
from collections import deque
from statistics import median
from typing import Any

from flopledger.allocator_history import cuda_in_use
from flopledger.messages import say
from flopledger.record_tail import RecordedStep, RecordTail
from flopledger.settings import Settings
from flopledger.trigger_rules import Rule, parse_rules

HISTORY = 100  # steps of which the median is taken
HISTORY_MIN = 10  # fewer tell nothing yet
OTHERS_MAX = 16  # ranks that a rank compares itself with
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def memory_in_use() -> int:
    """Of the device's allocator where one is in use, else the process's own: pages of files come and go as the kernel likes."""
    cuda = cuda_in_use()
    if cuda is not None:
        return int(cuda.memory_allocated())
    with open("/proc/self/statm", "rb") as file:
        _, resident, of_files = file.read().split()[:3]
    return (int(resident) - int(of_files)) * PAGE_BYTES


def milliseconds(time_ns: float) -> str:
    return f"{time_ns / 1e6:.4g} ms"


class Triggers:
    """Of one rank. look() is called after each step."""

    def __init__(self, settings: Settings) -> None:
        self.rules = parse_rules(settings.on)
        self.windows_left = settings.on_windows
        self.bytes_left = settings.on_bytes
        self.largest = 0  # window so far, bytes
        self.length = max(1, settings.last_step - settings.first_step + 1)
        self.folder = os.path.join(settings.capture, "triggers")
        self.seen = len(glob.glob(os.path.join(self.folder, "*.json")))
        self.own: RecordTail | None = None
        self.others: dict[str, RecordTail] = {}
        self.steps_of_others: dict[int, dict[int, RecordedStep]] = {}
        self.rank = 0
        self.world_size = 1
        self.times: deque[int] = deque(maxlen=HISTORY)
        self.rates: deque[float] = deque(maxlen=HISTORY)
        self.last: RecordedStep | None = None
        self.memory = 0
        self.growth = 0  # plain steps in a row in which it grew
        self.grown = 0  # bytes in those

    def begin(self, path: str | None, rank: int, world_size: int) -> None:
        """`path`: of this rank's step record."""
        self.rank, self.world_size = rank, world_size
        if path is not None:
            self.own = RecordTail(path)

    @property
    def are_over(self) -> bool:
        return self.windows_left <= 0

    # ------------------------------------------------------------------------------------------------------------------
    # After each step

    def look(self, may_begin: bool) -> dict[str, Any] | None:
        """The window to record, where a rule or another rank says so: what stands in its file."""
        if self.own is None or self.are_over:
            return None
        steps = self.own.read()
        asked = self.read_next() if may_begin else None
        for step in steps:
            why = self.why_of(step) if may_begin and asked is None else None
            if why is not None:
                asked = self.ask(step, *why)
            self.note(step)
        return asked

    def note(self, step: RecordedStep) -> None:
        if self.last is not None and self.last.work_of != step.work_of:
            self.rates.clear()  # those before are of another kind
        self.last = step
        if step.is_plain and step.number > 1:
            self.times.append(step.time_ns)
            self.rates.append(step.rate)

    def why_of(self, step: RecordedStep) -> tuple[Rule, str] | None:
        for rule in self.rules:
            why = getattr(self, rule.quantity)(rule, step)
            if why:
                return rule, why
        return None

    def has_history(self, rule: Rule) -> bool:
        return not rule.is_of_median or len(self.times) >= HISTORY_MIN

    # ------------------------------------------------------------------------------------------------------------------
    # The rules: each says why, or ""

    def step_time(self, rule: Rule, step: RecordedStep) -> str:
        if not step.is_plain or step.number <= 1 or not self.has_history(rule):
            return ""
        usual = median(self.times) if self.times else 0
        if step.time_ns <= rule.limit(usual):
            return ""
        beside = f", {step.time_ns / usual:.3g} times the median of {milliseconds(usual)}"
        return f"step {step.number} took {milliseconds(step.time_ns)}{beside if usual else ''}"

    def mfu(self, rule: Rule, step: RecordedStep) -> str:
        """The model's FLOPs go with its tokens (or samples), and the peak stays: so MFU falls as they do, each second."""
        if not step.is_plain or len(self.rates) < HISTORY_MIN:
            return ""
        if self.last is None or self.last.work_of != step.work_of:
            return ""
        usual = median(self.rates)
        if step.rate >= rule.limit(usual):
            return ""
        return f"MFU of step {step.number} was {step.rate / usual:.3g} times the median"

    def memory_growth(self, rule: Rule, step: RecordedStep) -> str:
        before, self.memory = self.memory, memory_in_use()
        if not step.is_plain:  # what grew may be ours
            return ""
        if not before or self.memory <= before:
            self.growth = 0
            return ""
        self.grown = self.memory - before + (self.grown if self.growth else 0)
        self.growth += 1
        if self.growth <= rule.number:
            return ""
        steps, grown = self.growth, self.grown / (1 << 20)
        self.growth = 0
        return f"memory has grown in each of the last {steps} steps without recording, by {grown:.4g} MiB, until step {step.number}"

    def rank_lag(self, rule: Rule, step: RecordedStep) -> str:
        """Of the step before: other ranks have ended it by now, or they lag themselves."""
        self.read_others(step.number - 2)
        mine = self.last
        if self.world_size < 2 or mine is None or not mine.is_plain or not self.has_history(rule):
            return ""
        theirs = [
            steps[mine.number]
            for steps in self.steps_of_others.values()
            if mine.number in steps and steps[mine.number].is_plain
        ]
        if not theirs or mine.number <= 1:
            return ""
        lag = mine.end_ns - median(other.end_ns for other in theirs)
        leads = [other.lead_ns for other in theirs if other.lead_ns is not None]
        if mine.lead_ns is not None and leads:  # they wait within their backward
            lag = max(lag, mine.lead_ns - median(leads))
        if lag <= rule.limit(median(self.times) if self.times else 0):
            return ""
        return f"rank {self.rank} was {milliseconds(lag)} behind others in step {mine.number}"

    def read_others(self, from_step: int) -> None:
        """Their clocks are this one's where they run on this machine; else they are left out."""
        if self.own is None or self.world_size < 2:
            return
        if len(self.others) < min(OTHERS_MAX, self.world_size - 1):
            for path in sorted(glob.glob(os.path.join(os.path.dirname(self.own.path), "*.steps"))):
                if path != self.own.path and len(self.others) < OTHERS_MAX:
                    self.others.setdefault(path, RecordTail(path))
        for tail in self.others.values():
            steps = self.steps_of_others.setdefault(tail.rank if tail.rank >= 0 else id(tail), {})
            for step in tail.read():
                steps[step.number] = step
            for number in [n for n in steps if n < from_step]:
                del steps[number]

    # ------------------------------------------------------------------------------------------------------------------
    # Agreeing on a window

    def ask(self, step: RecordedStep, rule: Rule, why: str) -> dict[str, Any] | None:
        if self.largest > self.bytes_left:
            say(
                "no more windows are recorded by --on: the next would take more bytes than --on-bytes leaves"
            )
            self.windows_left = 0
            return None
        first = step.number + 2
        if self.world_size > 1:  # all ranks must have seen the file by then
            first = step.number + 4 + math.ceil(5e8 / max(1.0, median(self.times or [1e9])))
        asked = {
            "rule": rule.text,
            "why": why,
            "rank": self.rank,
            "step": step.number,
            "first_step": first,
            "last_step": first + self.length - 1,
        }
        try:
            self.write_next(asked)
        except FileExistsError:  # another rank was first
            return self.read_next()
        except OSError as error:
            say(f"no window is recorded by --on: {error} (your program goes on)")
            self.windows_left = 0
            return None
        self.take(asked)
        return asked

    def path_of_next(self) -> str:
        return os.path.join(self.folder, f"{self.seen + 1}.json")

    def write_next(self, asked: dict[str, Any]) -> None:
        os.makedirs(self.folder, exist_ok=True)
        part = os.path.join(self.folder, f".{os.getpid()}.part")
        with open(part, "w", encoding="utf-8") as file:
            json.dump(asked, file)
            file.write("\n")
        try:
            os.link(part, self.path_of_next())  # whole, and only once
        finally:
            os.unlink(part)

    def read_next(self) -> dict[str, Any] | None:
        try:
            with open(self.path_of_next(), encoding="utf-8") as file:
                asked: dict[str, Any] = json.load(file)
            int(asked["first_step"]), int(asked["last_step"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        self.take(asked)
        return asked

    def take(self, asked: dict[str, Any]) -> None:
        self.seen += 1
        self.windows_left -= 1
        self.growth = 0

    def note_window(self, trace: str) -> None:
        """One has been saved."""
        try:
            size = os.path.getsize(trace)
        except OSError:
            return
        self.bytes_left -= size
        self.largest = max(self.largest, size)


def make_triggers(settings: Settings) -> Triggers | None:
    return Triggers(settings) if settings.on else None
