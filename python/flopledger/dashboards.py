"""`flopledger run --wandb --mlflow --otlp URL`: what the steps take, and what was recorded, in the run that the program itself logs to.

Nothing is imported that the program has not imported: its run is found in sys.modules. Nothing of this is done unasked.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from flopledger.energy import EnergyMeter, numbers_of_energy
from flopledger.messages import guarded, say
from flopledger.otlp import OtlpSink
from flopledger.report_numbers import numbers_of, text_of
from flopledger.results import Report, report
from flopledger.step_record import (
    ENTRY_BYTES,
    HEADER,
    HEADER_BYTES,
    NOT_KNOWN,
    START_UNKNOWN,
    STEP,
    entries_of,
)

TELL_NS = 5_000_000_000  # between two looks at the steps
Replace = Callable[[Any, str, Callable[[Any], Any]], Any]
Numbers = dict[str, float]


class Sink(Protocol):
    """Where numbers go."""

    def watch(self, replace: Replace, before_end: Callable[[Sink], None]) -> None:
        """Has `before_end` called before the program ends its run. Called again until the program has imported what it logs with."""

    def log(self, numbers: Numbers, step: int) -> None: ...

    def conclude(self, numbers: Numbers, text: str, step: int) -> None:
        """Once, at the end."""


class WandbSink:
    """The run of wandb.init(). Steps of its own charts stay as they are: our numbers stand with the step that comes next."""

    is_watched = False
    is_at_exit = False

    def run(self) -> Any:
        return getattr(sys.modules.get("wandb"), "run", None)

    def watch(self, replace: Replace, before_end: Callable[[Sink], None]) -> None:
        if not self.is_at_exit and self.run() is not None:
            self.is_at_exit = True  # what is registered after wandb's own runs before it
            atexit.register(guarded(before_end), self)
        kind = getattr(sys.modules.get("wandb.sdk.wandb_run"), "Run", None)
        if self.is_watched or kind is None:
            return
        self.is_watched = True
        replace(kind, "finish", lambda original: before(original, lambda: before_end(self)))

    def log(self, numbers: Numbers, step: int) -> None:
        run = self.run()
        if run is not None:
            run.log({**numbers, "flopledger/step": step}, commit=False)

    def conclude(self, numbers: Numbers, text: str, step: int) -> None:
        run = self.run()
        if run is not None:
            run.summary.update({**numbers, "flopledger/headline": text})


class MlflowSink:
    """The active run of MLflow."""

    is_watched = False

    def run(self) -> Any:
        mlflow = sys.modules.get("mlflow")
        return mlflow if mlflow is not None and mlflow.active_run() is not None else None

    def watch(self, replace: Replace, before_end: Callable[[Sink], None]) -> None:
        fluent = sys.modules.get("mlflow.tracking.fluent")
        if self.is_watched or not hasattr(fluent, "end_run"):
            return
        self.is_watched = True
        original = fluent.end_run  # type: ignore[union-attr]
        for module in (fluent, sys.modules.get("mlflow")):
            if getattr(module, "end_run", None) is original:
                replace(module, "end_run", lambda end: before(end, lambda: before_end(self)))

    def log(self, numbers: Numbers, step: int) -> None:
        mlflow = self.run()
        if mlflow is not None:
            mlflow.log_metrics(numbers, step=step)

    def conclude(self, numbers: Numbers, text: str, step: int) -> None:
        mlflow = self.run()
        if mlflow is not None:
            mlflow.log_metrics(numbers, step=step)
            mlflow.set_tag("flopledger.headline", text)


def before(original: Any, work: Callable[[], None]) -> Any:
    def call(*arguments: Any, **keywords: Any) -> Any:
        guarded(work)()
        return original(*arguments, **keywords)

    return call


class StepTail:
    """What a step record has got since it was last looked at."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.place = HEADER_BYTES

    def read(self) -> list[tuple[Any, ...]]:
        steps = []
        with open(self.path, "rb") as file:
            mark = HEADER.unpack(file.read(HEADER_BYTES))[5]
            file.seek(self.place)
            for entry in entries_of(file.read(), mark):
                if entry is None:
                    break  # what comes next is not written yet
                self.place += ENTRY_BYTES
                if entry[1] == STEP:
                    steps.append(entry)
        return steps


def numbers_of_steps(steps: Sequence[tuple[Any, ...]]) -> Numbers:
    """Means over some steps; what no step tells is left out."""
    whole = [entry for entry in steps if not entry[2] & START_UNKNOWN]
    time = sum(entry[6] - entry[5] for entry in whole)
    if not whole or time <= 0:
        return {}
    found = {"flopledger/step_time_ms": time / len(whole) / 1e6}
    for place, name in ((7, "data_wait"), (8, "forward"), (9, "backward"), (10, "optimizer")):
        if all(entry[place] != NOT_KNOWN for entry in whole):
            found[f"flopledger/{name}_share"] = sum(entry[place] for entry in whole) / time
    for place, name in ((11, "tokens"), (12, "samples")):
        if all(entry[place] != NOT_KNOWN for entry in whole):
            found[f"flopledger/{name}_per_second"] = (
                sum(entry[place] for entry in whole) * 1e9 / time
            )
    return found


class Dashboards:
    """Of one process. An error of it is said once, and nothing more is logged."""

    def __init__(self, names: Sequence[str], otlp: str, capture: str) -> None:
        kinds: dict[str, Callable[[], Sink]] = {"wandb": WandbSink, "mlflow": MlflowSink}
        self.sinks: list[Sink] = [kinds[name]() for name in names if name in kinds]
        if otlp:
            self.sinks.append(OtlpSink(otlp))
        self.capture = capture
        self.tail: StepTail | None = None
        self.energy: EnergyMeter | None = None
        self.step = 0
        self.tells_at = 0
        self.concluded: set[int] = set()
        self.replace: Replace | None = None

    def begin(self, path: str | None, replace: Replace) -> None:
        if self.sinks and path is not None:
            self.tail = StepTail(path)
            self.energy = EnergyMeter()
            self.replace = replace
            guarded(self.watch, self.turn_off)()

    def turn_off(self) -> None:
        self.sinks = []

    def watch(self) -> None:
        assert self.replace is not None
        for sink in self.sinks:
            sink.watch(self.replace, self.conclude)

    def look(self, now: int) -> bool:
        """From time to time, between steps. True where it had something to do."""
        if not self.sinks or self.tail is None:
            return False
        guarded(self.watch, self.turn_off)()
        if now < self.tells_at:
            return False
        self.tells_at = now + TELL_NS
        guarded(self.tell, self.turn_off)()
        return True

    def tell(self) -> None:
        assert self.tail is not None
        assert self.energy is not None
        steps = self.tail.read()
        drawn = self.energy.since_last()
        tokens = [entry[11] for entry in steps]
        is_known = NOT_KNOWN not in tokens
        numbers = numbers_of_steps(steps)
        numbers |= numbers_of_energy(drawn, len(steps), sum(tokens) if is_known else None)
        if numbers:
            self.step = steps[-1][4]
            for sink in self.sinks:
                sink.log(numbers, self.step)

    def conclude(self, sink: Sink) -> None:
        """The last steps, and what was recorded in full."""
        if id(sink) in self.concluded or sink not in self.sinks or self.tail is None:
            return
        self.concluded.add(id(sink))
        self.tell()
        found = self.report()
        if found is not None:
            numbers = {
                name.replace("flopledger/", "flopledger/recorded/", 1): value
                for name, value in numbers_of(found).items()
            }
            sink.conclude(numbers, text_of(found), self.step)

    def report(self) -> Report | None:
        try:
            return report(self.capture)
        except (RuntimeError, OSError):  # no window is recorded so far
            say("no window was recorded before the program ended its run: its dashboard lacks it")
            return None

    def end(self) -> None:
        for sink in list(self.sinks):
            guarded(self.conclude, self.turn_off)(sink)
