"""Finds where the steps of a program end: by its optimizers, or by the calls and ranges of --step-of."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

import torch

from flopledger.ask_program import await_first_optimizer, is_compiling
from flopledger.compiled_step import CompiledStepWatch
from flopledger.messages import guarded
from flopledger.step_finder import StepFinder
from flopledger.step_of import StepCalls


class StepListener(Protocol):
    """Is told what happens to the steps."""

    def begin_record(self) -> None:
        """The first optimizer is made: what makes one will train."""

    def end_step(self, optimizer: Any, now: int) -> None:
        """`optimizer`: whose step ended it; None with --step-of."""

    def note_new_optimizer(self) -> None: ...

    def note_other_step(self) -> None:
        """An optimizer has made a step that ends none."""

    def turn_off(self) -> None:
        """After an error of ours."""


class StepEnds:
    """Tells `listener`. A plain step ends in RunningStep.ends_plain_step() alone, which needs nothing of this."""

    def __init__(
        self, optimizer_module: ModuleType, running: Any, listener: StepListener, step_of: str
    ) -> None:
        self.running = running
        self.listener = listener
        self.step_of = step_of
        self.optimizer_module = optimizer_module
        self.finder = StepFinder()
        self.optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self.known: set[int] = set()  # ids of the optimizers seen
        self.is_off = False
        self.scaler_step: Any = None  # of torch.amp.GradScaler, while ours is around it
        self.pre_hook: Any = None
        self.compiled_steps = CompiledStepWatch(self.after_uncalled_hook)
        self.calls = StepCalls(step_of, self.after_step_call)
        self.undo_first_optimizer = await_first_optimizer(optimizer_module, listener.begin_record)
        self.hook = optimizer_module.register_optimizer_step_post_hook(self.after_hook())

    def remove(self) -> None:
        """Leaves the program as if this had never been here."""
        self.is_off = True
        self.hook.remove()
        self.undo_first_optimizer()
        self.calls.remove()
        if self.pre_hook is not None:
            self.pre_hook.remove()
        self.compiled_steps.turn_off()
        if self.scaler_step is not None:
            from torch.amp import GradScaler

            setattr(GradScaler, "step", self.scaler_step)
            self.scaler_step = None

    def watch_begins(self) -> None:
        """Sees where the steps of optimizers begin, too: once torch is loaded whole."""
        global is_traced
        is_traced = getattr(torch.compiler, "is_dynamo_compiling", is_compiling)
        register = getattr(self.optimizer_module, "register_optimizer_step_pre_hook", None)
        if register is not None:
            self.pre_hook = register(self.before_hook())

    # ------------------------------------------------------------------------------------------------------------------
    # Hooks: these look nothing up, as they are called often

    def before_hook(self) -> Callable[..., None]:
        """What torch calls before each step of any optimizer."""
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

    def watch_scaler(self) -> None:
        """GradScaler leaves out the step of an optimizer whose gradients are infinite."""
        if self.scaler_step is not None:
            return
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
                guarded(self.after_uncalled_hook, self.listener.turn_off)(optimizer)
            return result

        setattr(GradScaler, "step", step)

    # ------------------------------------------------------------------------------------------------------------------
    # What is no plain step

    def ends_step(self, what: int) -> bool:
        return self.finder.ends_step(what, self.running.step - 1)

    def note_optimizer_step(self, optimizer: Any) -> None:
        now = time.monotonic_ns()
        if not self.step_of and self.ends_step(id(optimizer)):
            self.listener.end_step(optimizer, now)
        else:
            self.running.end_optimizer(now)
            self.add_optimizer(optimizer)
            self.listener.note_other_step()
        is_plain = not self.is_off and not self.step_of
        self.running.ender = self.finder.seen[-1] if is_plain else 0

    def after_step_call(self, what: int) -> None:
        """With --step-of: a call of an outermost module, or a range, has ended."""
        if self.is_off or not self.ends_step(what):
            return
        self.running.optimizer = max(0, self.running.optimizer)  # not seen: there was none
        self.listener.end_step(None, time.monotonic_ns())

    def add_optimizer(self, optimizer: Any) -> None:
        if id(optimizer) not in self.known:
            self.known.add(id(optimizer))
            self.optimizers.add(optimizer)
            self.listener.note_new_optimizer()


is_traced = is_compiling  # the same at less cost, once torch is there to be asked for it
