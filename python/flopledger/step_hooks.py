"""Sees where a step's time goes without a profiler: the data loader, backward, checkpoints, evaluation and the loss.

Each hook is a Python function around one of torch's; together they cost some microseconds a step.
"""

from __future__ import annotations

import math
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from flopledger import step_record
from flopledger.batch import named_tensors, sizes
from flopledger.step_record import NOT_KNOWN, StepRecord

clock = time.monotonic_ns

# What saves and loads checkpoints: module, name in it, kind. Only what the program has imported is touched.
CHECKPOINTS = (
    ("torch", "save", step_record.CHECKPOINT),
    ("torch", "load", step_record.RESTORE),
    ("torch.distributed.checkpoint", "save", step_record.CHECKPOINT),
    ("torch.distributed.checkpoint", "async_save", step_record.CHECKPOINT),
    ("torch.distributed.checkpoint", "load", step_record.RESTORE),
    ("safetensors.torch", "save_file", step_record.CHECKPOINT),
    ("safetensors.torch", "save_model", step_record.CHECKPOINT),
    ("transformers.trainer", "Trainer._save_checkpoint", step_record.CHECKPOINT),
    ("transformers.trainer", "Trainer._load_from_checkpoint", step_record.RESTORE),
    ("accelerate.accelerator", "Accelerator.save_state", step_record.CHECKPOINT),
    ("accelerate.accelerator", "Accelerator.load_state", step_record.RESTORE),
    ("lightning.pytorch.trainer.trainer", "Trainer.save_checkpoint", step_record.CHECKPOINT),
    ("pytorch_lightning.trainer.trainer", "Trainer.save_checkpoint", step_record.CHECKPOINT),
    ("deepspeed.runtime.engine", "DeepSpeedEngine.save_checkpoint", step_record.CHECKPOINT),
    ("deepspeed.runtime.engine", "DeepSpeedEngine.load_checkpoint", step_record.RESTORE),
    ("megatron.training.training", "save_checkpoint", step_record.CHECKPOINT),
    ("megatron.training.training", "load_checkpoint", step_record.RESTORE),
)


class StepHooks:
    """Sums up what one step had, until end_step(); only of the thread that trains, and only outermost calls."""

    def __init__(self, record: StepRecord) -> None:
        self.record = record
        self.undo: list[Callable[[], None]] = []
        self.is_on = False
        self.thread = threading.get_ident()
        self.step = 1  # the one that runs
        self.started_at = clock()
        self.is_start_seen = False
        self.mark = (
            self.started_at
        )  # the last of: the step's start, the data's arrival, backward's end
        self.data_wait: int | None = None
        self.forward = 0
        self.backward: int | None = None
        self.optimizer: int | None = None
        self.optimizer_started: int | None = None
        self.tokens: int | None = None
        self.samples: int | None = None
        self.batches = 0
        self.backwards = 0
        self.is_inside = False  # of a data loader, backward or a checkpoint
        self.evaluates_since: int | None = None
        self.evaluated = 0  # id of the module whose eval() began it
        self.frozen: set[int] = set()  # modules that stay in eval() while others train
        self.undo_train: Callable[[], None] | None = None
        self.loss: weakref.ref[Any] | None = None
        self.loss_step = 0
        self.read_loss: float | None = None  # not written yet
        self.read_step = 0

    # ------------------------------------------------------------------------------------------------------------------
    # Putting hooks in place, and taking them away

    def install(self) -> None:
        if self.is_on:
            return
        self.is_on = True
        import torch
        from torch import autograd
        from torch.utils.data import dataloader

        self.is_grad_enabled = torch.is_grad_enabled
        self.replace(dataloader._BaseDataLoaderIter, "__next__", self.around_fetch)
        self.replace(dataloader.DataLoader, "__iter__", self.around_loader)
        for module in (autograd, autograd.graph):
            if hasattr(module, "_engine_run_backward"):
                self.replace(module, "_engine_run_backward", self.around_backward)
        self.replace(torch.nn.Module, "eval", self.around_eval)
        self.replace(torch.Tensor, "item", self.around_item)
        self.replace(torch.amp.GradScaler, "scale", self.around_scale)
        for module_name, path, kind in CHECKPOINTS:
            self.watch_checkpoints(module_name, path, kind)

    def watch_checkpoints(self, module_name: str, path: str, kind: int) -> None:
        owner: Any = sys.modules.get(module_name)
        holder, _, name = path.rpartition(".")
        if owner is not None and holder:
            owner = getattr(owner, holder, None)
        if owner is not None and callable(getattr(owner, name, None)):
            self.replace(owner, name, lambda original: self.around_span(original, kind))

    def replace(self, owner: Any, name: str, around: Callable[[Any], Any]) -> Callable[[], None]:
        original = getattr(owner, name)
        is_own = name in vars(owner)
        replacement = around(original)
        for copied in ("__name__", "__qualname__", "__doc__", "__module__", "__wrapped__"):
            try:
                setattr(
                    replacement,
                    copied,
                    original if copied == "__wrapped__" else getattr(original, copied),
                )
            except AttributeError:
                pass
        setattr(owner, name, replacement)

        def undo() -> None:
            if vars(owner).get(name) is not replacement:  # someone replaced it after us
                return
            if is_own:
                setattr(owner, name, original)
            else:
                delattr(owner, name)

        self.undo.append(undo)
        return undo

    def remove(self) -> None:
        self.is_on = False
        for undo in reversed(self.undo):
            undo()
        self.undo.clear()
        self.undo_train = None

    def is_other_thread(self) -> bool:
        return self.is_inside or threading.get_ident() != self.thread

    # ------------------------------------------------------------------------------------------------------------------
    # Data

    def around_fetch(self, original: Any) -> Any:
        get_ident, thread = threading.get_ident, self.thread

        def __next__(iterator: Any) -> Any:
            if self.is_inside or get_ident() != thread:
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

    def around_loader(self, original: Any) -> Any:
        def __iter__(loader: Any) -> Any:
            if self.is_other_thread():
                return original(loader)
            started = clock()
            self.is_inside = True
            try:
                return original(loader)
            finally:
                self.is_inside = False
                self.end_wait(started)

        return __iter__

    def end_wait(self, started: int) -> bool:
        """True where the data is to train on."""
        if self.evaluates_since is not None or not self.is_grad_enabled():
            return False
        if not self.is_start_seen:
            self.begin_first_step(started)
        self.mark = clock()
        self.data_wait = (self.data_wait or 0) + self.mark - started
        return True

    def begin_first_step(self, at: int) -> None:
        self.is_start_seen = True
        self.started_at = at

    def count(self, batch: Any) -> None:
        kind = type(batch)
        if (kind is list or kind is tuple) and self.count_tensors(batch):
            return
        try:
            given = batch if isinstance(batch, (tuple, list)) else (batch,)
            samples, tokens = sizes(list(named_tensors(tuple(given), {})))
        except Exception:  # the program's own kind of batch
            return
        self.samples = (self.samples or 0) + samples
        if tokens is not None and (self.tokens is not None or self.batches == 0):
            self.tokens = (self.tokens or 0) + tokens
        else:
            self.tokens = None
        self.batches += 1

    def count_tensors(self, batch: Any) -> bool:
        """The usual case at once: a 2-D tensor of token ids comes first."""
        try:
            first = batch[0]
            shape = first.shape
            if len(shape) != 2 or first.is_floating_point() or first.is_complex():
                return False
        except (AttributeError, IndexError, TypeError):
            return False
        self.samples = (self.samples or 0) + shape[0]
        if self.tokens is not None or self.batches == 0:
            self.tokens = (self.tokens or 0) + shape[0] * shape[1]
        self.batches += 1
        return True

    # ------------------------------------------------------------------------------------------------------------------
    # Backward, the optimizer, and the loss

    def around_backward(self, original: Any) -> Any:
        from torch.compiler import is_compiling

        def _engine_run_backward(outputs: Any, *arguments: Any, **keywords: Any) -> Any:
            if (
                is_compiling()
                or self.is_other_thread()
                or not keywords.get("accumulate_grad", True)
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
                self.backward = (self.backward or 0) + self.mark - started
                self.backwards += 1

        return _engine_run_backward

    def begin_backward(self, outputs: Any, now: int) -> None:
        if self.evaluates_since is not None:  # no train() came: a part of the model is kept so
            self.frozen.add(self.evaluated)
            self.end_evaluation(now, was_one=False)
        self.forward += max(0, now - self.mark)
        if self.loss_step != self.step or self.loss is None or self.loss() is None:
            self.note_loss(outputs[0])

    def note_loss(self, tensor: Any) -> None:
        try:
            self.loss = weakref.ref(tensor) if tensor.numel() == 1 else None
        except (TypeError, AttributeError, RuntimeError):
            self.loss = None
        self.loss_step = self.step

    def around_scale(self, original: Any) -> Any:
        def scale(scaler: Any, outputs: Any) -> Any:
            if hasattr(outputs, "grad_fn"):
                self.note_loss(outputs)
            return original(scaler, outputs)

        return scale

    def around_item(self, original: Any) -> Any:
        """Reads no tensor by itself: it looks on where the program reads its loss."""

        def item(tensor: Any) -> Any:
            value = original(tensor)
            known = self.loss
            if known is not None and threading.get_ident() == self.thread:
                loss = known()
                if loss is tensor or (loss is not None and shares_memory(loss, tensor)):
                    self.tell_loss(value)
            return value

        return item

    def tell_loss(self, value: Any) -> None:
        self.loss = None
        if isinstance(value, (int, float)):
            self.flush_loss()
            self.read_loss = float(value)
            self.read_step = self.loss_step

    def flush_loss(self) -> None:
        """Where no entry of a step can take it."""
        value, self.read_loss = self.read_loss, None
        if value is not None:
            now = clock()
            self.record.append(step_record.LOSS, 0, self.read_step, now, now, number=value)

    def begin_optimizer(self) -> None:
        self.optimizer_started = clock()

    def end_optimizer(self, now: int) -> None:
        if self.optimizer_started is not None:
            self.optimizer = (self.optimizer or 0) + now - self.optimizer_started
            self.optimizer_started = None

    # ------------------------------------------------------------------------------------------------------------------
    # Evaluation and checkpoints

    def around_eval(self, original: Any) -> Any:
        def eval(module: Any) -> Any:
            started = clock()
            result = original(module)
            if (
                self.is_on
                and self.evaluates_since is None
                and id(module) not in self.frozen
                and not self.is_other_thread()
            ):
                self.evaluates_since = started
                self.evaluated = id(module)
                self.await_train()
            return result

        return eval

    def await_train(self) -> None:
        """Only during an evaluation: Module.train() is called for each module of a model."""
        from torch.nn import Module

        if self.undo_train is None:
            self.undo_train = self.replace(Module, "train", self.around_train)

    def around_train(self, original: Any) -> Any:
        def train(module: Any, mode: bool = True) -> Any:
            if mode and not self.is_other_thread() and self.evaluates_since is not None:
                self.end_evaluation(clock())
            return original(module, mode)

        return train

    def end_evaluation(self, now: int, was_one: bool = True) -> None:
        since, self.evaluates_since = self.evaluates_since, None
        if self.undo_train is not None:
            self.undo_train()
            self.undo.remove(self.undo_train)
            self.undo_train = None
        if since is None or not was_one:
            return
        if self.step > 1 or self.is_start_seen:  # before the first step it is part of the start
            self.record.append(step_record.EVALUATION, 0, self.step, since, now)
        self.mark = now

    def around_span(self, original: Any, kind: int) -> Any:
        def span(*arguments: Any, **keywords: Any) -> Any:
            if self.is_other_thread():
                return original(*arguments, **keywords)
            started = clock()
            self.is_inside = True
            try:
                return original(*arguments, **keywords)
            finally:
                self.is_inside = False
                self.mark = clock()
                self.record.append(kind, 0, self.step, started, self.mark)

        return span

    # ------------------------------------------------------------------------------------------------------------------
    # Steps

    def end_step(self, now: int, flags: int, memory_bytes: int) -> None:
        if not self.is_start_seen:
            self.is_start_seen = True
            flags |= step_record.START_UNKNOWN
        if self.optimizer is None:
            flags |= step_record.COMPILED
        loss = math.nan
        if self.read_loss is not None:
            if self.read_step < self.step - 1:
                self.flush_loss()
            else:
                loss, self.read_loss = self.read_loss, None
                if self.read_step != self.step:
                    flags |= step_record.LOSS_OF_STEP_BEFORE
        self.record.append_numbers(
            now,
            step_record.STEP,
            flags,
            self.step,
            self.started_at,
            now,
            known(self.data_wait),
            self.forward if self.backward is not None else NOT_KNOWN,
            known(self.backward),
            known(self.optimizer),
            known(self.tokens),
            known(self.samples),
            memory_bytes,
            self.backwards if self.backward is not None else NOT_KNOWN,
            loss,
        )
        self.step += 1
        self.started_at = self.mark = now
        self.forward = self.batches = self.backwards = 0
        if self.data_wait is not None:
            self.data_wait = 0  # there is a loader; this step may do without
        self.backward = self.optimizer = self.optimizer_started = None
        self.tokens = self.samples = None


def known(value: int | None) -> int:
    return NOT_KNOWN if value is None else value


def shares_memory(loss: Any, tensor: Any) -> bool:
    """`loss.detach()` is the loss."""
    try:
        return bool(tensor.numel() == 1 and loss.data_ptr() == tensor.data_ptr() != 0)
    except (RuntimeError, AttributeError, TypeError):
        return False
