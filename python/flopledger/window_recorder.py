"""Records the windows of steps that were asked for in full, and gives way to a profiler of the program's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from flopledger.capture_writer import CaptureWriter
from flopledger.energy import StepEnergy
from flopledger.messages import guarded, say_once_of_all_ranks
from flopledger.model_watch import ModelWatch
from flopledger.processor_time import ProcessorTime
from flopledger.profiler_session import OwnProfilerWatch, ProfilerSession
from flopledger.settings import Settings
from flopledger.step_ends import StepEnds
from flopledger.step_record import NOT_KNOWN
from flopledger.trace_requests import TraceRequests
from flopledger.triggers import make_triggers


class WindowRecorder:
    """work_between_steps() runs after each step that RunningStep.wakes_at names.

    The profiler is readied one step before the window begins.
    """

    def __init__(self, settings: Settings, running: Any, ends: StepEnds) -> None:
        self.settings = settings
        self.running = running
        self.optimizers = ends.optimizers
        self.window = settings.window_from(2)
        self.session: ProfilerSession | None = None
        self.steps: list[dict[str, Any]] = []  # of the window, that have ended
        self.processor = ProcessorTime()
        self.energy = StepEnergy()
        self.is_over = False  # no more of them
        self.is_kept_busy = False  # the profiler records the capture of a graph
        self.watch: OwnProfilerWatch | None = None
        self.requests = TraceRequests(settings.capture)
        self.triggers = make_triggers(settings)
        self.trigger: dict[str, Any] | None = None  # that the window is recorded for
        self.capture = CaptureWriter(settings)
        self.models = ModelWatch(settings, ends.optimizers, ends.calls, self.capture.tell)
        self.plan_next_work()

    @property
    def step(self) -> int:
        """Steps that have ended."""
        return int(self.running.step) - 1

    @property
    def is_recording(self) -> bool:
        return self.session is not None and self.session.is_started

    @property
    def has_profiled(self) -> bool:
        return self.session is not None or bool(self.capture.recorded)

    def watch_profilers(self) -> None:
        """torch is loaded whole by now."""
        if self.watch is not None:
            return
        from torch.autograd import profiler

        self.watch = OwnProfilerWatch(profiler, self.make_way)
        self.watch.install()
        self.watch.program_profiles = bool(getattr(profiler, "_is_profiler_enabled", False))

    # ------------------------------------------------------------------------------------------------------------------
    # Beginning and end of all of them

    def record_none(self) -> None:
        """In a child of a process whose profiler has run."""
        self.window = None
        self.is_over = True
        self.plan_next_work()

    def stop(self) -> None:
        """After an error in recording one: the step record goes on."""
        self.record_none()
        self.running.wakes_at = sys.maxsize
        self.requests.answer("refused", why="recording failed: the program's messages say why")
        self.models.end()
        self.models.end_memory()
        session, self.session = self.session, None
        if session is not None and self.watch is not None:
            with self.watch:
                session.stop()

    def remove(self) -> None:
        if self.watch is not None:
            self.watch.remove()

    def finish(self) -> None:
        """At exit: keeps what is recorded of a window that is not over."""
        awaited = self.window
        if self.requests.current is not None and self.session is None:
            self.requests.answer("refused", why=f"the program ended after step {self.step}")
        if self.session is not None:
            self.end_window(is_cut=True)
        recorded = self.capture.recorded
        self.write_side_file("complete" if not awaited or recorded else "not recorded")
        if not recorded and awaited and not self.capture.problems:
            say_once_of_all_ranks(
                f"the program ended after {count_of(self.step, 'step')}, before the end of step {awaited[0]} with which "
                f"recording would begin: try --steps 2" + (f"-{self.step}" if self.step > 2 else "")
            )

    # ------------------------------------------------------------------------------------------------------------------
    # Between steps

    def look_for_request(self) -> None:
        """`flopledger trace` may want a window."""
        if self.requests.current is not None:
            return
        request = self.requests.look()
        if request is None:
            return
        why = ""
        if self.is_over:
            why = "recording a window failed before: the program's messages say why"
        elif self.watch is not None and self.watch.program_profiles:
            why = "the program runs a profiler of its own, and there can be only one"
        elif self.session is not None and self.window is not None:
            why = f"steps {self.window[0]} to {self.window[1]} are being recorded: ask again after them"
        elif request.first_step < self.step + 2:
            why = f"step {self.step + 1} runs already, and recording takes a step to begin"
        if why:
            self.requests.answer("refused", why=why)
            return
        self.window = (request.first_step, max(request.first_step, request.last_step))
        self.requests.answer("accepted", step=self.step)
        self.plan_next_work()

    def work_between_steps(self) -> None:
        if (session := self.session) is not None and session.is_started:
            used = self.processor.take()
            session.end_step()
            self.models.end_step()
            is_last = self.window is None or self.step >= self.window[1]
            told = {"processor": used, "energy": self.energy.take(is_last)}
            self.steps.append({"step": self.step, **self.models.batch.take(), **told})
            if is_last:
                self.end_window()
            else:
                session.begin_step(self.step + 1)
                self.processor.begin()
        if self.triggers is not None:
            self.look_for_trigger()
        if not self.is_recording:
            self.look_ahead()
        self.plan_next_work()

    def look_for_trigger(self) -> None:
        """A rule of --on may want a window."""
        assert self.triggers is not None
        is_free = self.session is None and self.requests.current is None and not self.is_over
        if self.window is not None and self.window[0] - self.step < self.triggers.length + 2:
            is_free = False  # one comes by itself
        if self.trigger is not None or (self.watch is not None and self.watch.program_profiles):
            is_free = False
        asked = self.triggers.look(is_free)
        if asked is None:
            return
        self.trigger = {name: asked.get(name) for name in ("rule", "why", "rank", "step")}
        first = max(int(asked["first_step"]), self.step + 2)
        self.window = (first, first + self.triggers.length - 1)

    def plan_next_work(self) -> None:
        if self.is_recording or (self.triggers is not None and not self.triggers.are_over):
            self.running.wakes_at = 0  # after each step
        elif self.window is None:
            self.running.wakes_at = sys.maxsize
        else:
            self.running.wakes_at = self.window[0] - (1 if self.session is not None else 2)

    def look_ahead(self) -> None:
        """Begins the window before its first step, and readies the profiler one step earlier."""
        if self.window is None or self.is_kept_busy:
            return
        assert self.watch is not None
        first, last = self.window
        if self.watch.program_profiles:
            if self.step + 2 >= first:
                say_once_of_all_ranks(
                    "the program runs a profiler of its own, and there can be only one: recording waits until it ends"
                )
                self.window = (self.step + 3, self.step + 3 + last - first)
            return
        if self.step + 2 >= first and self.session is None:
            session = ProfilerSession(self.settings)
            with self.watch:
                session.prepare()
            self.session = session
        if self.step + 1 >= first:
            self.begin_window()

    def make_way(self) -> None:
        """The program starts a profiler of its own: it wins."""
        if self.session is None:
            return
        if not self.session.is_started:  # look_ahead() tells, and waits
            guarded(self.end_window, self.stop)()
            return
        say_once_of_all_ranks(
            f"the program starts a profiler of its own in step {self.step + 1}, and there can be only one: "
            "recording ends here, and what was recorded of steps before is kept"
        )
        guarded(self.end_window, self.stop)()
        self.plan_next_work()

    # ------------------------------------------------------------------------------------------------------------------
    # A window

    def begin_window(self) -> None:
        assert self.session is not None and self.watch is not None and self.window is not None
        self.window = (self.step + 1, self.step + 1 + self.window[1] - self.window[0])
        self.steps = []
        self.models.batch.calls.clear()
        if self.models.models is None:
            self.capture.open_folder(self.models.find())
        with self.watch:
            self.session.start()
        self.models.begin(self.step + 1)
        self.energy.begin()
        self.session.begin_step(self.step + 1)
        self.processor.begin()

    def end_window(self, is_cut: bool = False) -> None:
        """Stops, saves what was recorded if any step of it ended, and plans the next window."""
        session, self.session = self.session, None
        assert session is not None and self.watch is not None
        was_started = session.is_started
        self.models.end()
        with self.watch:
            session.stop()
        if not was_started:
            return
        if self.steps:
            self.note_sizes()
            self.save_window(session)
        self.models.end_memory()
        self.window = self.settings.window_from(self.step + 2)
        self.trigger = None
        self.capture.describe_models(self.models, self.optimizers)
        self.models.forget()
        if not is_cut:
            self.write_side_file("running")

    def note_sizes(self) -> None:
        """Where no data loader tells what a step trains on: where it was the same in all of the window."""
        sizes = {(step["tokens"], step["samples"]) for step in self.steps}
        tokens, samples = sizes.pop() if len(sizes) == 1 else (None, None)
        self.running.window_tokens = NOT_KNOWN if tokens is None else tokens
        self.running.window_samples = NOT_KNOWN if samples is None else samples

    def save_window(self, session: ProfilerSession) -> None:
        told = {"trigger": self.trigger} if self.trigger is not None else {}
        trace = self.capture.save_window(session, {"steps": self.steps, **told}, self.models)
        if self.trigger is not None and self.triggers is not None:
            self.triggers.note_window(trace)
        first, last = self.steps[0]["step"], self.steps[-1]["step"]
        self.requests.answer("recorded", trace=trace, first_step=first, last_step=last)

    def write_side_file(self, state: str) -> None:
        capture = self.capture
        if not capture.described:
            capture.open_folder(self.models.find())
            capture.describe_models(self.models, self.optimizers)
        capture.write_side_file(state, self.models, self.step, self.running.end_times())


def count_of(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
