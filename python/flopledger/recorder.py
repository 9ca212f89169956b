"""Finds the steps of a program that trains, and records the windows of them that were asked for."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import torch  # it is being imported: that is what starts the recorder

from flopledger.allocator_history import AllocatorHistory, TaggedMarks
from flopledger.ask_program import (
    await_first_optimizer,
    device_memory_high_water,
    end_without_destructors,
    is_compiling,
    steps_before,
)
from flopledger.batch import BatchCounter
from flopledger.capture_folder import CaptureFolder, remove
from flopledger.compiled_step import CompiledStepWatch
from flopledger.memory_marks import MemoryMarks
from flopledger.messages import describe, guarded, say, say_once_of_all_ranks
from flopledger.models import Model, find_models, modules_to_mark, parameters_of, walk
from flopledger.module_markers import ModuleMarkers
from flopledger.parallel_layout import ParallelLayout, find_layout
from flopledger.profiler_session import OwnProfilerWatch, ProfilerSession
from flopledger.settings import Settings, read_settings
from flopledger import step_record
from flopledger.step_finder import StepFinder
from flopledger.step_hooks import StepHooks
from flopledger.step_of import CountedMarks, StepCalls
from flopledger.step_record import StepRecord
from flopledger.trace_requests import TraceRequests

NAMES_SHOWN = 6
POLL_NS = 1_000_000_000  # how often what is not of each step is looked at: memory, clock, requests
WORTH_NOTING_NS = 100_000  # work of our own between two steps


class Recorder:
    """One in a process. A step is numbered from 1 and ends with an optimizer's step (step_finder.py).

    While nothing is recorded, all that runs after it is RunningStep.ends_plain_step().
    """

    current: Recorder | None = None

    @property
    def step(self) -> int:
        """Steps that have ended."""
        return self.running.step - 1

    def __init__(self, settings: Settings, optimizer_module: ModuleType) -> None:
        self.settings = settings
        self.finder = StepFinder()
        self.optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self.known: set[int] = set()  # ids of the optimizers seen
        self.window = settings.window_from(2)
        self.session: ProfilerSession | None = None
        self.recorded: list[dict[str, Any]] = []
        self.steps_in_window: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self.models: list[Model] | None = None  # held while recording, and no longer
        self.described: dict[str, Any] = {}  # what capture.json says of models and optimizers
        self.markers: ModuleMarkers | None = None
        self.memory: MemoryMarks | None = None  # while recording, where it was asked for
        self.history = AllocatorHistory()
        self.batch = BatchCounter()
        self.folder: CaptureFolder | None = None
        self.layout = ParallelLayout()
        self.started_ns = time.time_ns()
        self.is_off = False
        self.no_more_windows = False
        self.compiled_steps = CompiledStepWatch(self.after_uncalled_hook)
        self.watch: OwnProfilerWatch | None = None
        self.scaler_step: Any = None  # of torch.amp.GradScaler, while ours is around it
        self.record = StepRecord(self.settings.capture)
        self.hooks = StepHooks(self.record)
        self.running = self.hooks.running
        self.requests = TraceRequests(self.settings.capture)
        self.step_calls = StepCalls(self.settings.step_of, self.after_step_call)
        self.pre_hook: Any = None
        self.note_step_fenced = guarded(self.note_step, self.turn_off)
        self.undo_first_optimizer = await_first_optimizer(optimizer_module, self.begin_record)
        self.optimizer_module = optimizer_module
        self.hook = optimizer_module.register_optimizer_step_post_hook(self.after_hook())
        if self.settings.step_of:
            self.batch.counts_all = True
            guarded(self.step_calls.install, self.turn_off)()
        self.plan_next_work()

    # ------------------------------------------------------------------------------------------------------------------
    # Beginning and end of the process

    @classmethod
    def start(cls, optimizer_module: ModuleType) -> None:
        """Called once torch.optim.optimizer is there."""
        cls.current = cls(read_settings(), optimizer_module)
        atexit.register(cls.finish_current)
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
        if parent.markers is not None:
            parent.markers.off()
        if parent.memory is not None:
            parent.memory.stop()
        parent.hook.remove()
        parent.release_program()
        parent.record.forget()
        cls.current = None
        guarded(cls.restart)(has_profiled=parent.session is not None or bool(parent.recorded))

    @classmethod
    def restart(cls, has_profiled: bool) -> None:
        """A profiler that has run before the fork has lost its threads: the child must not use it again."""
        module = sys.modules.get("torch.optim.optimizer")
        if module is None:
            return
        cls.current = cls(read_settings(), module)
        if has_profiled:
            cls.current.window = None
            cls.current.no_more_windows = True
            cls.current.plan_next_work()
            end_without_destructors()

    def turn_off(self) -> None:
        """After an error of ours: leaves the program as if we had never been here."""
        self.is_off = True
        self.hook.remove()
        self.stop_windows()
        self.release_program()
        self.end_record()

    def stop_windows(self) -> None:
        """After an error in recording one: the step record goes on."""
        self.window = None
        self.running.wakes_at = sys.maxsize
        self.no_more_windows = True
        self.requests.answer("refused", why="recording failed: the program's messages say why")
        if self.markers is not None:
            self.markers.off()
        self.end_memory()
        session, self.session = self.session, None
        if session is not None and self.watch is not None:
            with self.watch:
                session.stop()

    def release_program(self) -> None:
        self.undo_first_optimizer()
        self.step_calls.remove()
        if self.pre_hook is not None:
            self.pre_hook.remove()
        self.hooks.remove()
        self.compiled_steps.turn_off()
        if self.watch is not None:
            self.watch.remove()
        if self.scaler_step is not None:
            from torch.amp import GradScaler

            setattr(GradScaler, "step", self.scaler_step)
            self.scaler_step = None

    def finish(self) -> None:
        """At exit: keeps what is recorded of a window that is not over."""
        if self.is_off:
            return
        if self.step == 0 or self.no_more_windows:
            self.turn_off()
            return
        awaited = self.window
        if self.requests.current is not None and self.session is None:
            self.requests.answer("refused", why=f"the program ended after step {self.step}")
        if self.session is not None:
            self.end_window(is_cut=True)
        self.write_side_file("complete" if not awaited or self.recorded else "not recorded")
        if not self.recorded and awaited and not self.problems:
            say_once_of_all_ranks(
                f"the program ended after {count_of(self.step, 'step')}, before the end of step {awaited[0]} with which "
                f"recording would begin: try --steps 2" + (f"-{self.step}" if self.step > 2 else "")
            )
        self.turn_off()

    # ------------------------------------------------------------------------------------------------------------------
    # The step record

    def begin_record(self) -> None:
        """Once the first optimizer is made: what makes one will train."""
        self.undo_first_optimizer()
        if self.record.is_open or self.is_off:
            return
        layout = self.layout = find_layout(())
        self.requests.rank = layout.rank
        self.record.open(layout.rank, layout.world_size, layout.local_rank)
        if not self.settings.step_of:  # else what comes between is no training
            self.hooks.install()
        global is_traced
        is_traced = getattr(torch.compiler, "is_dynamo_compiling", is_compiling)
        register = getattr(self.optimizer_module, "register_optimizer_step_pre_hook", None)
        if register is not None:
            self.pre_hook = register(self.before_hook())

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
        if self.requests.current is None and self.requests.look() is not None:
            self.take_request()

    def take_request(self) -> None:
        """`flopledger trace` wants a window."""
        request = self.requests.current
        assert request is not None
        why = ""
        if self.no_more_windows:
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

    # ------------------------------------------------------------------------------------------------------------------
    # Steps

    def before_hook(self) -> Callable[..., None]:
        """What torch calls before each step of any optimizer. Looks nothing up: it is called often."""
        begin_optimizer = self.running.begin_optimizer

        def before_optimizer_step(optimizer: Any, arguments: Any, keywords: Any) -> None:
            if not is_traced():
                begin_optimizer()

        return before_optimizer_step

    def after_hook(self) -> Callable[..., None]:
        """What torch calls after it."""
        ends_plain_step, note = self.running.ends_plain_step, self.note_optimizer_step
        mailbox = self.compiled_steps.mailbox

        def after_optimizer_step(optimizer: Any, arguments: Any, keywords: Any) -> None:
            if is_traced():  # what is stored here is stored in each compiled step
                mailbox.stepped = optimizer
            elif not ends_plain_step(optimizer):
                note(optimizer)

        return after_optimizer_step

    def after_uncalled_hook(self, optimizer: Any) -> None:
        """A step of which torch does not tell: it is compiled, or was left out."""
        if not self.running.ends_plain_step(optimizer):
            self.note_optimizer_step(optimizer)

    def note_optimizer_step(self, optimizer: Any) -> None:
        now = time.monotonic_ns()
        if not self.settings.step_of and self.finder.ends_step(id(optimizer), self.step):
            self.end_step(optimizer, now)
        else:
            self.running.end_optimizer(now)
            if id(optimizer) not in self.known:
                self.add_optimizer(optimizer)
            if self.memory is not None:
                guarded(self.memory.mark, self.turn_off)("optimizer end")
        is_plain = not self.is_off and not self.settings.step_of
        self.running.ender = self.finder.seen[-1] if is_plain else 0

    def after_step_call(self, what: int) -> None:
        """With --step-of: a call of an outermost module, or a range, has ended."""
        if self.is_off or not self.finder.ends_step(what, self.step):
            return
        self.running.optimizer = max(0, self.running.optimizer)  # not seen: there was none
        if self.watch is None:
            guarded(self.watch_program, self.turn_off)()
        self.end_step(None, time.monotonic_ns())

    def end_step(self, optimizer: Any, now: int) -> None:
        self.note_step_fenced(optimizer, now)
        if optimizer is not None and id(optimizer) not in self.known:
            self.add_optimizer(optimizer)
        if self.step >= self.running.wakes_at:
            guarded(self.work_between_steps, self.stop_windows)()
            self.note_own_work(now)

    def note_step(self, optimizer: Any, now: int) -> None:
        if self.is_off:
            return
        if not self.record.is_open and not self.hooks.is_on:
            self.begin_record()
        if now >= self.running.poll_at:
            self.poll(now)
        flags = 0
        if self.session is not None and self.session.is_started:
            flags |= step_record.PROFILED
        if self.running.skips_update:
            flags |= step_record.SKIPPED
            self.running.skips_update = False
        self.running.end_step(now, flags)
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

    def add_optimizer(self, optimizer: Any) -> None:
        self.known.add(id(optimizer))
        self.optimizers.add(optimizer)
        self.models = None  # there may be one more
        if self.watch is None and not self.is_off:
            guarded(self.watch_program, self.turn_off)()

    def watch_program(self) -> None:
        """torch is loaded whole by now: sees profilers of the program's own, and steps that GradScaler leaves out."""
        from torch.autograd import profiler

        self.watch = OwnProfilerWatch(profiler, self.make_way)
        self.watch.install()
        self.watch.program_profiles = bool(getattr(profiler, "_is_profiler_enabled", False))
        self.watch_scaler()

    def watch_scaler(self) -> None:
        try:
            from torch.amp import GradScaler
        except ImportError:  # an older torch
            return
        self.scaler_step = scaler_step = GradScaler.step

        def step(scaler: Any, optimizer: Any, *arguments: Any, **keywords: Any) -> Any:
            calls = self.running.calls
            result = scaler_step(scaler, optimizer, *arguments, **keywords)
            if calls == self.running.calls and not self.is_off:  # infinite gradients: left out
                self.running.skips_update = True
                guarded(self.after_uncalled_hook, self.turn_off)(optimizer)
            return result

        setattr(GradScaler, "step", step)

    def work_between_steps(self) -> None:
        if self.session is not None and self.session.is_started:
            self.session.end_step()
            if self.memory is not None:
                self.memory.end_step()
            self.steps_in_window.append({"step": self.step, **self.batch.take()})
            if self.window is None or self.step >= self.window[1]:
                self.end_window()
            else:
                self.session.begin_step(self.step + 1)
        if self.session is None or not self.session.is_started:
            self.look_ahead()
        self.plan_next_work()

    def plan_next_work(self) -> None:
        if self.session is not None and self.session.is_started:
            self.running.wakes_at = 0  # after each step
        elif self.window is None:
            self.running.wakes_at = sys.maxsize
        else:
            self.running.wakes_at = self.window[0] - (1 if self.session is not None else 2)

    def look_ahead(self) -> None:
        """Begins the window before its first step, and readies the profiler one step earlier."""
        if self.window is None:
            return
        first, last = self.window
        if self.watch is not None and self.watch.program_profiles:
            if self.step + 2 >= first:
                say_once_of_all_ranks(
                    "the program runs a profiler of its own, and there can be only one: recording waits until it ends"
                )
                self.window = (self.step + 3, self.step + 3 + last - first)
            return
        if self.step + 2 >= first and self.session is None:
            self.prepare_window()
        if self.step + 1 >= first:
            self.begin_window()

    # ------------------------------------------------------------------------------------------------------------------
    # Windows

    def prepare_window(self) -> None:
        session = ProfilerSession(self.settings)
        assert self.watch is not None
        with self.watch:
            session.prepare()
        self.session = session

    def find_models(self) -> None:
        parameters = {
            id(parameter)
            for optimizer in self.optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        }
        self.models = find_models(parameters)
        tensors = (
            tensor
            for model in self.models
            for module in walk(model.root)
            for _, tensor in parameters_of(module)
        )
        self.layout = find_layout(tensors)
        if self.folder is None:
            self.folder = CaptureFolder(self.settings.capture, self.layout.folder_name)

    def begin_window(self) -> None:
        assert self.session is not None and self.watch is not None and self.window is not None
        self.window = (self.step + 1, self.step + 1 + self.window[1] - self.window[0])
        self.steps_in_window = []
        self.batch.calls.clear()
        if self.models is None:
            self.find_models()
        with self.watch:
            self.session.start()
        self.begin_memory()
        self.mark_modules()
        self.session.begin_step(self.step + 1)

    def begin_memory(self) -> None:
        if not self.settings.memory:
            return
        self.history.start()
        self.memory = MemoryMarks(self.history)
        self.memory.start(self.models or [], self.optimizers, self.step + 1)

    def end_memory(self) -> None:
        memory, self.memory = self.memory, None
        if memory is not None:
            memory.stop()
        self.history.stop()

    def observe_call(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        """Of each outermost call of a marked module."""
        self.batch.observe(module, arguments, keywords)
        if self.memory is not None:
            guarded(self.memory.before_call, self.end_memory)(module, arguments, keywords)

    def wrap_marks(self, marks: Any) -> Any:
        if self.history.is_on:
            marks = TaggedMarks(marks, self.history)
        return CountedMarks(marks, self.step_calls) if self.step_calls.codes else marks

    def mark_modules(self) -> None:
        if not self.settings.markers:
            return
        if self.markers is None or self.history.is_on:
            self.markers = ModuleMarkers(self.wrap_marks, self.step_calls.codes)
        self.batch.models = [
            id(named.module)
            for model in self.models or []
            for named in model.modules
            if named.name == ""
        ]
        modules = modules_to_mark(self.models or [], self.settings.modules)
        self.markers.on(modules, self.observe_call)
        if self.markers.reason:
            self.tell(self.markers.reason)
        elif not self.models:
            self.tell("no module is marked: none was found that holds the optimizer's parameters")
        elif not modules:
            names = [model.mark_of(each.name) for model in self.models for each in model.modules]
            some = ", ".join(names[:NAMES_SHOWN]) + (", …" if len(names) > NAMES_SHOWN else "")
            self.tell(
                f"no module has a name like {', '.join(self.settings.modules)}: they are {some}"
            )

    def tell(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)
        say_once_of_all_ranks(problem)

    def end_window(self, is_cut: bool = False) -> None:
        """Stops, saves what was recorded if any step of it ended, and plans the next window."""
        session, self.session = self.session, None
        assert session is not None and self.watch is not None
        was_started, open_step = session.is_started, session.open_step
        if self.markers is not None:
            self.markers.off()
        if self.memory is not None:
            self.memory.stop()
        with self.watch:
            session.stop()
        if not was_started:
            return
        if self.steps_in_window:
            self.note_sizes()
            self.save_window(session, open_step)
        self.end_memory()
        self.window = self.settings.window_from(self.step + 2)
        self.describe_models()
        self.models = None
        if not is_cut:
            self.write_side_file("running")

    def note_sizes(self) -> None:
        """Where no data loader tells what a step trains on: where it was the same in all of the window."""
        sizes = {(step["tokens"], step["samples"]) for step in self.steps_in_window}
        tokens, samples = sizes.pop() if len(sizes) == 1 else (None, None)
        self.running.window_tokens = step_record.NOT_KNOWN if tokens is None else tokens
        self.running.window_samples = step_record.NOT_KNOWN if samples is None else samples

    def save_window(self, session: ProfilerSession, open_step: int | None) -> None:
        assert self.folder is not None
        first, last = self.steps_in_window[0]["step"], self.steps_in_window[-1]["step"]
        name = (
            f"steps{first}-{last}.pt.trace.json.gz"
            if last > first
            else f"step{first}.pt.trace.json.gz"
        )
        text = ""
        try:
            text = os.path.join(self.folder.path, f"{name}.text.part")
            session.save(text)
            self.folder.pack_trace(text, name, open_step)
        except OSError as error:
            for path in (text, f"{text}.tmp"):  # the second is what torch writes to
                remove(path)
            self.folder.remove_if_empty()
            raise OSError(
                error.errno, f"cannot write the trace: {error.strerror or error}", error.filename
            ) from error
        self.recorded.append(
            {"trace": name, **self.save_memory(name), "steps": self.steps_in_window}
        )
        self.requests.answer(
            "recorded", trace=os.path.join(self.folder.path, name), first_step=first, last_step=last
        )

    def save_memory(self, trace: str) -> dict[str, str]:
        """What stands beside the trace: the marks, and the allocator's own history of a device."""
        assert self.folder is not None
        if self.memory is None:
            return {}
        stem = trace.removesuffix(".pt.trace.json.gz")
        files = {"memory": f"{stem}.memory.json"}
        self.folder.write_json(files["memory"], self.memory.content(trace), is_compact=True)
        snapshot = f"{stem}.memory.pickle"
        if self.history.save(os.path.join(self.folder.path, snapshot)):
            files["memory_snapshot"] = snapshot
        return files

    def make_way(self) -> None:
        """The program starts a profiler of its own: it wins."""
        if self.session is None or self.is_off:
            return
        if not self.session.is_started:  # look_ahead() tells, and waits
            guarded(self.end_window, self.stop_windows)()
            return
        say_once_of_all_ranks(
            f"the program starts a profiler of its own in step {self.step + 1}, and there can be only one: "
            "recording ends here, and what was recorded of steps before is kept"
        )
        guarded(self.end_window, self.stop_windows)()
        self.plan_next_work()

    # ------------------------------------------------------------------------------------------------------------------
    # What is told beside the traces

    def describe_models(self) -> None:
        from flopledger import side_file

        models = self.models or []
        if models or not self.described:
            self.described = {
                "precision": side_file.describe_precision(models, self.batch.autocast),
                "models": [side_file.describe_model(model) for model in models],
                "optimizers": [side_file.describe_optimizer(each) for each in self.optimizers],
            }

    def write_side_file(self, state: str) -> None:
        from flopledger import side_file

        if not self.described:
            self.find_models()
            self.describe_models()
        assert self.folder is not None
        layout = self.layout
        self.folder.write_json(
            "capture.json",
            {
                "schema": "flopledger.capture",
                "schema_version": 1,
                "state": state,
                "problems": self.problems,
                "started_unix_ns": self.started_ns,
                "parallel": {
                    "rank": layout.rank,
                    "world_size": layout.world_size,
                    "local_rank": layout.local_rank,
                    "backend": layout.backend,
                    "data": {"rank": layout.data[0], "size": layout.data[1]},
                    "tensor": {"rank": layout.tensor[0], "size": layout.tensor[1]},
                    "pipeline": {"rank": layout.pipeline[0], "size": layout.pipeline[1]},
                    "mesh": layout.mesh,
                    "source": layout.source,
                },
                "recorded": self.recorded,
                "steps": {
                    "of": self.settings.step_of or "optimizer",
                    "count": self.step,
                    "durations_ns": differences(self.running.end_times()),
                },
                "module_marks": self.markers.means if self.markers and self.recorded else None,
                "inputs": self.batch.inputs,
                **self.described,
                "hardware": side_file.describe_hardware(),
                "versions": side_file.describe_versions(),
                "command": side_file.describe_command(),
                "environment": side_file.describe_environment(),
            },
        )


is_traced = is_compiling  # the same at less cost, once torch is there to be asked for it


def count_of(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def differences(times: list[int]) -> list[int]:
    """How long step 2, 3, ... took."""
    return [after - before for before, after in zip(times, times[1:])]
