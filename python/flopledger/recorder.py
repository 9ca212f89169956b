"""The recorder of a process: keeps the record of its steps, and hands the steps on to what records windows of them."""

from __future__ import annotations

import os
import sys
import threading
import time
from types import ModuleType
from typing import Any

import torch  # noqa: F401  it is being imported: that is what starts the recorder

from flopledger import step_record
from flopledger.ask_program import (
    device_memory_high_water,
    end_without_destructors,
    steps_before,
)
from flopledger.at_exit import at_exit
from flopledger.compiled_graphs import watch_compiler
from flopledger.energy import RunEnergy
from flopledger.graph_captures import GraphCaptures
from flopledger.messages import guarded
from flopledger.parallel_layout import find_layout
from flopledger.settings import Settings, read_settings
from flopledger.step_ends import StepEnds
from flopledger.step_hooks import StepHooks
from flopledger.step_record import StepRecord
from flopledger.window_recorder import WindowRecorder

POLL_NS = 1_000_000_000  # how often what is not of each step is looked at: memory, clock, requests
WORTH_NOTING_NS = 100_000  # work of our own between two steps


class Recorder:
    """One in a process. A step is numbered from 1; step_ends.py finds where it ends, window_recorder.py records some of them.

    While nothing is recorded, all that runs after a step is RunningStep.ends_plain_step().
    """

    current: Recorder | None = None

    def __init__(self, settings: Settings, optimizer_module: ModuleType) -> None:
        self.settings = settings
        self.is_off = False
        self.record = StepRecord(settings.capture)
        self.hooks = StepHooks(self.record)
        self.running = self.hooks.running
        self.note_step_fenced = guarded(self.note_step, self.turn_off)
        self.ends = StepEnds(optimizer_module, self.running, self, settings.step_of)
        self.windows = WindowRecorder(settings, self.running, self.ends)
        self.captures = GraphCaptures(self.windows)
        self.energy = RunEnergy(self.record)
        self.dashboards = make_dashboards(settings)
        if settings.compiled:
            guarded(watch_compiler)()
        if settings.captures:
            guarded(self.captures.watch)()
        if settings.step_of:
            guarded(self.ends.calls.install, self.turn_off)()

    @property
    def step(self) -> int:
        """Steps that have ended."""
        return int(self.running.step) - 1

    # ------------------------------------------------------------------------------------------------------------------
    # Beginning and end of the process

    @classmethod
    def start(cls, optimizer_module: ModuleType) -> None:
        """Called once torch.optim.optimizer is there."""
        cls.current = cls(read_settings(), optimizer_module)
        at_exit(cls.finish_current)
        os.register_at_fork(after_in_child=cls.begin_again_in_child)

    @classmethod
    def finish_current(cls) -> None:
        if cls.current is not None:
            guarded(cls.current.finish, cls.current.turn_off)()

    @classmethod
    def begin_again_in_child(cls) -> None:
        """Workers of a data loader never step, and so stay silent; a child that trains is recorded as its own process."""
        parent = cls.current
        if parent is None:
            return
        parent.windows.models.end()
        parent.release_program()
        parent.record.forget()
        cls.current = None
        guarded(cls.restart)(has_profiled=parent.windows.has_profiled)

    @classmethod
    def restart(cls, has_profiled: bool) -> None:
        """A profiler that has run before the fork has lost its threads: the child must not use it again."""
        module = sys.modules.get("torch.optim.optimizer")
        if module is None:
            return
        cls.current = cls(read_settings(), module)
        if has_profiled:
            cls.current.windows.record_none()
            end_without_destructors()

    def turn_off(self) -> None:
        """After an error of ours: leaves the program as if we had never been here."""
        self.is_off = True
        self.windows.stop()
        self.release_program()
        self.end_record()

    def release_program(self) -> None:
        self.ends.remove()
        self.hooks.remove()
        self.captures.remove()
        self.windows.remove()

    def finish(self) -> None:
        """At exit."""
        if self.is_off:
            return
        if self.step > 0 and not self.windows.is_over:
            self.windows.finish()
        if self.dashboards is not None:
            self.dashboards.end()
        self.turn_off()

    # ------------------------------------------------------------------------------------------------------------------
    # The step record

    def begin_record(self) -> None:
        """Once the first optimizer is made: what makes one will train."""
        self.ends.undo_first_optimizer()
        if self.record.is_open or self.is_off:
            return
        layout = self.windows.capture.layout = find_layout(())
        self.windows.requests.rank = layout.rank
        self.record.open(layout.rank, layout.world_size, layout.local_rank)
        if self.windows.triggers is not None:
            self.windows.triggers.begin(self.record.path, layout.rank, layout.world_size)
        if not self.settings.step_of:  # else what comes between is no training
            self.hooks.install()
        self.ends.watch_begins()
        if self.dashboards is not None:
            self.dashboards.begin(self.record.path, self.hooks.replacements.replace)

    def end_record(self) -> None:
        failed = getattr(sys, "last_type", None) is not None
        self.running.flush_loss()
        if self.step > 0:
            self.hooks.end_open_evaluation()
        has_steps = self.step > 0 and self.record.writer.has_entries()
        self.record.close(time.monotonic_ns(), failed, is_kept=has_steps or failed)

    def poll(self, now: int) -> None:
        self.running.poll_at = now + POLL_NS
        self.running.memory_bytes = device_memory_high_water()
        self.record.check_clock()
        self.hooks.watch_imported()
        self.windows.look_for_request()
        if self.dashboards is not None and self.dashboards.look(now):
            self.note_own_work(now)

    def note_step(self, optimizer: Any, now: int) -> None:
        if self.is_off:
            return
        if not self.record.is_open and not self.hooks.is_on:
            self.begin_record()
        is_time_to_look = now >= self.running.poll_at
        if is_time_to_look:
            self.poll(now)
        flags = step_record.PROFILED if self.windows.is_recording else 0
        if self.running.skips_update:
            flags |= step_record.SKIPPED
            self.running.skips_update = False
        self.running.end_step(now, flags)
        if is_time_to_look:
            self.energy.look(now, self.step)
        if self.step == 1:
            self.running.thread = threading.get_ident()  # it need not be the one that made it
            if optimizer is not None:
                self.note_steps_before(optimizer)

    def note_own_work(self, started: int) -> None:
        now = time.monotonic_ns()
        self.running.mark = now  # it is no part of the next forward
        if now - started > WORTH_NOTING_NS:
            self.record.append(step_record.RECORDING, 0, self.step + 1, started, now)

    def note_steps_before(self, optimizer: Any) -> None:
        """Steps that the optimizer had made when it was loaded from a checkpoint."""
        before = steps_before(optimizer)
        if before is not None:
            now = time.monotonic_ns()
            self.record.append(step_record.RESUMED, 0, 0, now, now, count=before)

    # ------------------------------------------------------------------------------------------------------------------
    # What StepEnds tells

    def end_step(self, optimizer: Any, now: int) -> None:
        self.note_step_fenced(optimizer, now)
        if optimizer is not None:
            self.ends.add_optimizer(optimizer)
        elif self.windows.watch is None and not self.is_off:
            guarded(self.watch_program, self.turn_off)()
        if self.step >= self.running.wakes_at:
            guarded(self.windows.work_between_steps, self.windows.stop)()
            self.note_own_work(now)

    def note_new_optimizer(self) -> None:
        self.windows.models.forget()  # there may be one more
        if not self.is_off:
            guarded(self.watch_program, self.turn_off)()

    def note_other_step(self) -> None:
        self.windows.models.note_optimizer_end(self.turn_off)

    def watch_program(self) -> None:
        """torch is loaded whole by now."""
        self.windows.watch_profilers()
        self.ends.watch_scaler()


def make_dashboards(settings: Settings) -> Any:
    """None where nobody asked for any: then none of it is loaded."""
    if not any(settings.dashboards) and not settings.otlp:
        return None
    from flopledger.dashboards import Dashboards

    return Dashboards(settings.dashboards, settings.otlp, settings.capture)
