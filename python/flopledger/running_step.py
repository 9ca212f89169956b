"""What the step that runs has had so far; running_step.c is the same at a tenth of the price, where it was built."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from flopledger import step_record
from flopledger.step_record import NOT_KNOWN

clock = time.monotonic_ns

MAX_END_TIMES = 1_000_000


class RunningStep:
    """Sums up one step until end_step(); only of the thread that trains, and only outermost calls.

    Times are nanoseconds of the monotonic clock, NOT_KNOWN where nothing was seen.
    """

    append_numbers: Callable[..., None]  # of the step record
    sizes_of: Callable[[Any], tuple[int, int]]  # of a batch: samples, and tokens or NOT_KNOWN
    end_false_evaluation: Callable[[int], None]  # a part of the model is kept in eval()
    is_grad_enabled: Callable[[], bool]
    compiler: dict[str, Any]  # of torch.compiler
    tensor_type: type
    user_dict_type: type

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.step = 1  # the one that runs
        self.started_at = clock()
        self.mark = self.started_at  # the last of: its start, the data's arrival, backward's end
        self.is_start_seen = False
        self.is_inside = False  # of a data loader, backward or a checkpoint
        self.data_wait = self.backward = self.optimizer = NOT_KNOWN
        self.optimizer_started = NOT_KNOWN
        self.tokens = self.samples = NOT_KNOWN
        self.window_tokens = self.window_samples = NOT_KNOWN  # of each step recorded in full
        self.forward = 0
        self.batches = 0
        self.backwards = 0
        self.evaluates_since = NOT_KNOWN
        self.looks = 0  # data that came while no gradients were asked for, since data to train on
        self.looks_since = self.looks_until = 0
        self.loss: weakref.ref[Any] | None = None
        self.loss_copy: weakref.ref[Any] | None = None  # what .cpu() made of it
        self.loss_step = 0
        self.has_read_loss = False  # that is not written yet
        self.read_loss = math.nan
        self.read_step = 0
        self.calls = 0  # of optimizers
        self.ender = 0  # id of the optimizer whose step ends a step
        self.poll_at = 0  # when what is not of each step is to be looked at
        self.wakes_at = 0  # the step at whose end there is other work
        self.skips_update = False
        self.memory_bytes = NOT_KNOWN
        self.ended_at: list[int] = []

    def end_times(self) -> list[int]:
        """When step 1, 2, ... ended; of a million steps at most."""
        return self.ended_at

    # ------------------------------------------------------------------------------------------------------------------
    # Data

    def around_fetch(self, original: Any) -> Any:
        get_ident = threading.get_ident

        def __next__(iterator: Any) -> Any:
            if self.is_inside or get_ident() != self.thread:
                return original(iterator)
            started = clock()
            self.is_inside = True
            try:
                batch = original(iterator)
            finally:
                self.is_inside = False
                is_training = self.end_wait(started)
            if is_training:
                self.count(batch)
            return batch

        return __next__

    def end_wait(self, started: int) -> bool:
        """True where the data is to train on."""
        if self.evaluates_since != NOT_KNOWN:
            self.looks_until = clock()
            return False
        if not self.is_grad_enabled():
            if self.looks == 0:
                self.looks_since = started
            self.looks += 1
            self.looks_until = clock()
            return False
        if self.looks > 0:
            self.end_looks(started)
        self.begin_first_step(started)
        self.mark = clock()
        self.data_wait = max(0, self.data_wait) + self.mark - started
        return True

    def begin_first_step(self, at: int) -> None:
        if not self.is_start_seen:
            self.is_start_seen = True
            self.started_at = at

    def end_looks(self, now: int) -> None:
        """It was an evaluation without eval()."""
        self.looks = 0
        if self.is_start_seen:  # before the first step it is of the start
            self.append_span(step_record.EVALUATION, self.step, self.looks_since, now)
            self.mark = now

    def end_looks_by_backward(self) -> None:
        """One batch that came without gradients was to train on after all."""
        if self.looks > 1:
            self.end_looks(self.looks_until)
            return
        self.looks = 0
        self.begin_first_step(self.looks_since)
        self.data_wait = max(0, self.data_wait) + self.looks_until - self.looks_since
        self.mark = max(self.mark, self.looks_until)

    def append_span(
        self, kind: int, step: int, start: int, end: int, number: float = math.nan
    ) -> None:
        self.append_numbers(end, kind, 0, step, start, end, *[NOT_KNOWN] * 8, number)

    def count(self, batch: Any) -> None:
        samples, tokens = self.sizes_of(batch)
        if samples < 0:
            return
        self.samples = max(0, self.samples) + samples
        if tokens >= 0 and (self.tokens >= 0 or self.batches == 0):
            self.tokens = max(0, self.tokens) + tokens
        else:
            self.tokens = NOT_KNOWN
        self.batches += 1

    # ------------------------------------------------------------------------------------------------------------------
    # Backward and the loss

    def around_backward(self, original: Any) -> Any:
        def _engine_run_backward(outputs: Any, *arguments: Any, **keywords: Any) -> Any:
            if (
                self.is_inside
                or threading.get_ident() != self.thread
                or not keywords.get("accumulate_grad", True)
                or self.compiler.get("_is_compiling_flag", False)
            ):
                return original(outputs, *arguments, **keywords)
            started = clock()
            self.begin_backward(outputs, started)
            self.is_inside = True
            try:
                return original(outputs, *arguments, **keywords)
            finally:
                self.is_inside = False
                self.mark = clock()
                self.backward = max(0, self.backward) + self.mark - started
                self.backwards += 1
                if self.optimizer_started != NOT_KNOWN:  # a closure: only what follows is its own
                    self.optimizer_started = self.mark

        return _engine_run_backward

    def begin_backward(self, outputs: Any, now: int) -> None:
        if self.evaluates_since != NOT_KNOWN:
            self.end_false_evaluation(now)
        if self.looks > 0:
            self.end_looks_by_backward()
        self.forward += max(0, now - self.mark)
        if self.loss_step != self.step or self.loss is None or self.loss() is None:
            self.note_loss(outputs[0])

    def note_loss(self, tensor: Any) -> None:
        self.loss_copy = None
        try:
            self.loss = weakref.ref(tensor)
        except TypeError:
            self.loss = None
        self.loss_step = self.step

    def is_loss(self, tensor: Any) -> bool:
        return threading.get_ident() == self.thread and any(
            reference is not None and is_same(reference(), tensor)
            for reference in (self.loss, self.loss_copy)
        )

    def around_item(self, original: Any) -> Any:
        """Reads no tensor by itself: it looks on where the program reads its loss."""

        def item(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
            value = original(tensor, *arguments, **keywords)
            if self.loss is not None and self.is_loss(tensor):
                try:
                    number = float(value)
                except (TypeError, ValueError):  # an array of more, or of one
                    return value
                self.loss = self.loss_copy = None
                self.tell_loss(number, self.loss_step)
            return value

        return item

    def around_copy(self, original: Any) -> Any:
        """A copy on the host, of which the number may be read."""

        def copy(tensor: Any, *arguments: Any, **keywords: Any) -> Any:
            value = original(tensor, *arguments, **keywords)
            if self.loss is not None and value is not tensor and self.is_loss(tensor):
                self.loss_copy = weakref.ref(value)
            return value

        return copy

    def tell_loss(self, value: float, step: int) -> None:
        """Of `step`: written with the step that runs."""
        self.flush_loss()
        self.has_read_loss = True
        self.read_loss = value
        self.read_step = step

    def flush_loss(self) -> None:
        """Where no entry of a step can take it."""
        if not self.has_read_loss:
            return
        self.has_read_loss = False
        now = clock()
        self.append_span(step_record.LOSS, self.read_step, now, now, self.read_loss)

    # ------------------------------------------------------------------------------------------------------------------
    # The end of a step

    def begin_optimizer(self) -> None:
        self.optimizer_started = clock()

    def end_optimizer(self, now: int) -> None:
        if self.optimizer_started != NOT_KNOWN:
            self.optimizer = max(0, self.optimizer) + now - self.optimizer_started
            self.optimizer_started = NOT_KNOWN

    def ends_plain_step(self, optimizer: Any) -> bool:
        """True: the step of this optimizer ended a step, nothing else was to do, and all is done. Here that is never tried."""
        self.calls += 1
        return False

    def end_step(self, now: int, flags: int) -> None:
        self.end_optimizer(now)
        if not self.is_start_seen:
            self.is_start_seen = True
            flags |= step_record.START_UNKNOWN
        if self.optimizer == NOT_KNOWN:
            flags |= step_record.COMPILED
        if self.memory_bytes >= 0:
            flags |= step_record.MEMORY_IS_DEVICE
        if self.has_read_loss and self.read_step < self.step - 1:
            self.flush_loss()
        loss = self.read_loss if self.has_read_loss else math.nan
        if self.has_read_loss and self.read_step != self.step:
            flags |= step_record.LOSS_OF_STEP_BEFORE
        self.has_read_loss = False
        if len(self.ended_at) < MAX_END_TIMES:
            self.ended_at.append(now)
        tokens, samples = self.tokens, self.samples
        if self.data_wait == NOT_KNOWN and self.window_samples >= 0:
            tokens, samples = self.window_tokens, self.window_samples
            flags |= step_record.TOKENS_OF_WINDOW
        has_backward = self.backward != NOT_KNOWN
        self.append_numbers(
            now,
            step_record.STEP,
            flags,
            self.step,
            self.started_at,
            now,
            self.data_wait,
            self.forward if has_backward else NOT_KNOWN,
            self.backward,
            self.optimizer,
            tokens,
            samples,
            self.memory_bytes,
            self.backwards if has_backward else NOT_KNOWN,
            loss,
        )
        self.begin_next(now)

    def begin_next(self, now: int) -> None:
        self.step += 1
        self.started_at = self.mark = now
        self.forward = self.batches = self.backwards = 0
        if self.data_wait != NOT_KNOWN:
            self.data_wait = 0  # there is a loader; this step may do without
        self.backward = self.optimizer = self.optimizer_started = NOT_KNOWN
        self.tokens = self.samples = NOT_KNOWN


def is_same(known: Any, tensor: Any) -> bool:
    """Or shares its memory, as `loss.detach()`."""
    if known is None or known is tensor:
        return known is not None
    try:
        return bool(tensor.data_ptr() == known.data_ptr() != 0 and known.numel() == 1)
    except (RuntimeError, AttributeError, TypeError):
        return False
