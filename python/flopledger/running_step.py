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
        self.forward = 0
        self.batches = 0
        self.backwards = 0
        self.evaluates_since = NOT_KNOWN
        self.loss: weakref.ref[Any] | None = None
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
        if self.evaluates_since != NOT_KNOWN or not self.is_grad_enabled():
            return False
        if not self.is_start_seen:
            self.is_start_seen = True
            self.started_at = started
        self.mark = clock()
        self.data_wait = max(0, self.data_wait) + self.mark - started
        return True

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

        return _engine_run_backward

    def begin_backward(self, outputs: Any, now: int) -> None:
        if self.evaluates_since != NOT_KNOWN:
            self.end_false_evaluation(now)
        self.forward += max(0, now - self.mark)
        if self.loss_step != self.step or self.loss is None or self.loss() is None:
            self.note_loss(outputs[0])

    def note_loss(self, tensor: Any) -> None:
        try:
            self.loss = weakref.ref(tensor)
        except TypeError:
            self.loss = None
        self.loss_step = self.step

    def around_item(self, original: Any) -> Any:
        """Reads no tensor by itself: it looks on where the program reads its loss."""

        def item(tensor: Any) -> Any:
            value = original(tensor)
            known = self.loss
            if known is not None and threading.get_ident() == self.thread:
                loss = known()
                if loss is tensor or (loss is not None and shares_memory(loss, tensor)):
                    self.loss = None
                    self.tell_loss(value, self.loss_step)
            return value

        return item

    def tell_loss(self, value: Any, step: int) -> None:
        """Of `step`: written with the step that runs."""
        if isinstance(value, (int, float)):
            self.flush_loss()
            self.has_read_loss = True
            self.read_loss = float(value)
            self.read_step = step

    def flush_loss(self) -> None:
        """Where no entry of a step can take it."""
        if not self.has_read_loss:
            return
        self.has_read_loss = False
        now = clock()
        unknown = [NOT_KNOWN] * 8
        self.append_numbers(
            now, step_record.LOSS, 0, self.read_step, now, now, *unknown, self.read_loss
        )

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
            self.tokens,
            self.samples,
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


def shares_memory(loss: Any, tensor: Any) -> bool:
    """`loss.detach()` is the loss. The tensor has one element: a number was read of it."""
    try:
        return bool(tensor.data_ptr() == loss.data_ptr() != 0 and loss.numel() == 1)
    except (RuntimeError, AttributeError, TypeError):
        return False
