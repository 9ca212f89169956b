"""Sees where a step's time goes without a profiler: the data loader, backward, checkpoints, evaluation and the loss.

What happens in each step is seen by the hooks of running_step.c; what is rare is seen here.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections import UserDict
from collections.abc import Callable
from types import ModuleType
from typing import Any

from flopledger import native, step_record
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

PICKLES_TENSORS = "torch.storage"  # by torch.save, into memory: no checkpoint

# What is given numbers to log: a dictionary of them, or a name and a number.
LOGS = (
    ("transformers.trainer", "Trainer.log"),
    ("torch.utils.tensorboard.writer", "SummaryWriter.add_scalar"),
    ("lightning.fabric.loggers.csv_logs", "CSVLogger.log_metrics"),
)
WORDS_OF_A_TRAINING_LOSS = {"loss", "train", "training", "step", "batch", "lm", "total"}
SUMMARY = "train_runtime"  # of Trainer: its loss is the mean of the whole run


class Replacements:
    """What stands in the place of functions of others, until it is taken away again."""

    def __init__(self) -> None:
        self.undos: list[Callable[[], None]] = []

    def replace(self, owner: Any, name: str, around: Callable[[Any], Any]) -> Callable[[], None]:
        original = getattr(owner, name)
        replacement = around(original)
        is_module = isinstance(owner, ModuleType)
        replacement.__module__ = owner.__name__ if is_module else owner.__module__
        replacement.__name__ = name
        replacement.__qualname__ = name if is_module else f"{owner.__qualname__}.{name}"
        replacement.__doc__ = getattr(original, "__doc__", None)
        replacement.__wrapped__ = original
        return self.put(owner, name, replacement)

    def put(self, owner: Any, name: str, replacement: Any) -> Callable[[], None]:
        original = getattr(owner, name)
        is_own = name in vars(owner)
        setattr(owner, name, replacement)

        def undo() -> None:
            if vars(owner).get(name) is not replacement:  # someone replaced it after us
                return
            if is_own:
                setattr(owner, name, original)
            else:
                delattr(owner, name)

        self.undos.append(undo)
        return undo

    def undo(self, undo: Callable[[], None]) -> None:
        """One of them, by what replace() or put() gave."""
        undo()
        self.undos.remove(undo)

    def undo_all(self) -> None:
        for undo in reversed(self.undos):
            undo()
        self.undos.clear()


class StepHooks:
    """Puts hooks around torch's functions, and takes them away again."""

    is_compiling: Callable[[], bool]  # true for torch.compile, which then leaves out the rest

    def __init__(self, record: StepRecord) -> None:
        self.record = record
        self.running: Any = native.load(
            "step_writer"
        ).RunningStep()  # running_step.h has its attributes
        self.running.append_numbers = record.append_numbers
        self.running.sizes_of = sizes_of
        self.running.end_false_evaluation = self.end_false_evaluation
        self.replacements = Replacements()
        self.is_on = False
        self.watched: set[tuple[str, str]] = set()  # of CHECKPOINTS and LOGS
        self.evaluated = 0  # id of the module whose eval() began it
        self.frozen: set[int] = set()  # modules that stay in eval() while others train
        self.undo_train: Callable[[], None] | None = None

    # ------------------------------------------------------------------------------------------------------------------
    # Putting hooks in place, and taking them away

    def install(self) -> None:
        if self.is_on:
            return
        self.is_on = True
        import torch
        from torch import autograd
        from torch.utils.data import dataloader

        running = self.running
        self.is_compiling = torch.compiler.is_compiling
        running.is_grad_enabled = torch.is_grad_enabled
        running.compiler = vars(torch.compiler)
        running.tensor_type = torch.Tensor
        running.user_dict_type = UserDict
        self.replacements.replace(dataloader._BaseDataLoaderIter, "__next__", running.around_fetch)
        self.replacements.replace(dataloader.DataLoader, "__iter__", self.around_loader)
        for module in (autograd, autograd.graph):
            if hasattr(module, "_engine_run_backward"):
                self.replacements.replace(module, "_engine_run_backward", running.around_backward)
        for kind in (torch.nn.Module, *subclasses_with(torch.nn.Module, "eval")):
            self.replacements.replace(kind, "eval", self.around_eval)
        for name in ("item", "tolist", "__float__", "numpy"):
            self.replacements.replace(torch.Tensor, name, running.around_item)
        self.replacements.replace(torch.Tensor, "cpu", running.around_copy)
        self.replacements.replace(torch.amp.GradScaler, "scale", self.around_scale)
        self.watch_imported()

    def watch_imported(self) -> None:
        """What saves checkpoints and logs, as far as it is imported: called again from time to time."""
        for module_name, path, kind in CHECKPOINTS:
            owner, name = self.find(module_name, path)
            if owner is not None:
                self.watch_span(owner, name, kind)
        for module_name, path in LOGS:
            owner, name = self.find(module_name, path)
            if owner is not None:
                self.replacements.replace(owner, name, self.around_log)

    def find(self, module_name: str, path: str) -> tuple[Any, str]:
        """The module or class that has it, once; else None."""
        module = sys.modules.get(module_name)
        holder, _, name = path.rpartition(".")
        owner: Any = getattr(module, holder, None) if holder else module
        if (module_name, path) in self.watched or not callable(getattr(owner, name, None)):
            return None, name
        self.watched.add((module_name, path))
        return owner, name

    def watch_span(self, owner: Any, name: str, kind: int) -> None:
        original = getattr(owner, name)
        self.replacements.replace(owner, name, lambda original: self.around_span(original, kind))
        if isinstance(owner, ModuleType):
            for other in list(sys.modules.values()):  # `from torch import save`
                if other is not owner and vars_of(other).get(name) is original:
                    self.replacements.put(other, name, getattr(owner, name))

    def remove(self) -> None:
        self.is_on = False
        self.replacements.undo_all()
        self.watched.clear()
        self.undo_train = None

    def is_other_thread(self) -> bool:
        return self.running.is_inside or threading.get_ident() != self.running.thread

    # ------------------------------------------------------------------------------------------------------------------
    # Data

    def around_loader(self, original: Any) -> Any:
        def __iter__(loader: Any) -> Any:
            if self.is_other_thread():
                return original(loader)
            started = clock()
            self.running.is_inside = True
            try:
                return original(loader)
            finally:
                self.running.is_inside = False
                if self.running.is_grad_enabled():
                    self.running.end_wait(started)

        return __iter__

    # ------------------------------------------------------------------------------------------------------------------
    # The loss

    def around_scale(self, original: Any) -> Any:
        is_compiling = self.is_compiling

        def scale(scaler: Any, outputs: Any) -> Any:
            if not is_compiling() and hasattr(outputs, "grad_fn"):
                self.running.note_loss(outputs)
            return original(scaler, outputs)

        return scale

    def around_log(self, original: Any) -> Any:
        def log(*arguments: Any, **keywords: Any) -> Any:
            self.note_logged_values(*arguments[1:3], **keywords)
            return original(*arguments, **keywords)

        return log

    def note_logged_values(self, *logged: Any, **keywords: Any) -> None:
        if not self.is_other_thread():
            value = logged_loss(*logged, **keywords)
            if value is not None:
                self.note_logged(value)

    def note_logged(self, value: float) -> None:
        """Where the program read none of the tensor itself: what it logs may be a mean of some steps."""
        running = self.running
        step = running.step if running.backward != NOT_KNOWN else running.step - 1
        if step > 0 and running.read_step < step:
            running.tell_loss(value, step)

    # ------------------------------------------------------------------------------------------------------------------
    # Evaluation and checkpoints

    def around_eval(self, original: Any) -> Any:
        is_compiling = self.is_compiling

        def eval(module: Any) -> Any:
            if is_compiling():
                return original(module)
            started = clock()
            result = original(module)
            if (
                self.is_on
                and self.running.evaluates_since == NOT_KNOWN
                and id(module) not in self.frozen
                and not self.is_other_thread()
            ):
                self.running.evaluates_since = started
                self.running.looks = 0
                self.evaluated = id(module)
                self.await_train()
            return result

        return eval

    def await_train(self) -> None:
        """Only during an evaluation: Module.train() is called for each module of a model."""
        from torch.nn import Module

        if self.undo_train is None:
            self.undo_train = self.replacements.replace(Module, "train", self.around_train)

    def around_train(self, original: Any) -> Any:
        is_compiling = self.is_compiling

        def train(module: Any, mode: bool = True) -> Any:
            if is_compiling():
                return original(module, mode)
            if mode and not self.is_other_thread() and self.running.evaluates_since != NOT_KNOWN:
                self.end_evaluation(clock())
            return original(module, mode)

        return train

    def end_false_evaluation(self, now: int) -> None:
        """No train() came before the next backward: a part of the model is kept in eval()."""
        self.frozen.add(self.evaluated)
        self.end_evaluation(now, was_one=False)

    def end_evaluation(self, now: int, was_one: bool = True) -> None:
        running = self.running
        since, running.evaluates_since = running.evaluates_since, NOT_KNOWN
        if self.undo_train is not None:
            self.replacements.undo(self.undo_train)
            self.undo_train = None
        if since == NOT_KNOWN or not was_one:
            return
        if running.step > 1 or running.is_start_seen:  # before the first step it is of the start
            self.record.append(step_record.EVALUATION, 0, running.step, since, now)
        running.mark = now

    def end_open_evaluation(self) -> None:
        """The program ends: what it last evaluated, it did until its data ended."""
        running = self.running
        since, until = running.evaluates_since, running.looks_until
        if since == NOT_KNOWN and running.looks > 1:
            since = running.looks_since
        if since != NOT_KNOWN and until > since and running.is_start_seen:
            self.record.append(step_record.EVALUATION, 0, running.step, since, until)

    def around_span(self, original: Any, kind: int) -> Any:
        def span(*arguments: Any, **keywords: Any) -> Any:
            caller = sys._getframe(1).f_globals.get("__name__")
            if self.is_other_thread() or caller == PICKLES_TENSORS:
                return original(*arguments, **keywords)
            running = self.running
            started = clock()
            loaded = NOT_KNOWN
            if kind == step_record.RESTORE and running.step == 1:
                loaded = written_at([*arguments, *keywords.values()])
            running.is_inside = True
            try:
                return original(*arguments, **keywords)
            finally:
                running.is_inside = False
                running.mark = clock()
                self.record.append(kind, 0, running.step, started, running.mark, count=loaded)

        return span


def vars_of(module: Any) -> dict[str, Any]:
    """Without asking a module that makes its attributes when they are asked for."""
    return module.__dict__ if isinstance(module, ModuleType) else {}


def subclasses_with(kind: Any, name: str) -> list[Any]:
    """Those that have a method `name` of their own, and need not call that of `kind`."""
    found, to_see = set(), [kind]
    while to_see:
        for each in to_see.pop().__subclasses__():
            if each not in found:
                found.add(each)
                to_see.append(each)
    return [each for each in found if callable(vars(each).get(name))]


def written_at(given: list[Any]) -> int:
    """When the file or folder among the arguments was last written, ns since 1970."""
    for each in given:
        each = getattr(each, "path", getattr(each, "name", each))
        if isinstance(each, (str, os.PathLike)):
            try:
                return os.stat(each).st_mtime_ns
            except (OSError, ValueError):
                pass
    return NOT_KNOWN


def logged_loss(first: Any = None, second: Any = None, **keywords: Any) -> float | None:
    """The loss in training among what is logged, if it is a number already: no tensor is read."""
    logs = first if isinstance(first, dict) else {first: second}
    for given in keywords.values():
        logs = given if isinstance(given, dict) else logs
    for name, value in logs.items():
        words = set(re.findall("[a-z]+", name.lower())) if isinstance(name, str) else set()
        if "loss" in words and words <= WORDS_OF_A_TRAINING_LOSS and SUMMARY not in logs:
            return float(value) if isinstance(value, (int, float)) else None
    return None


def sizes_of(batch: Any) -> tuple[int, int]:
    """Samples and tokens of what a data loader gave; NOT_KNOWN where it does not tell."""
    try:
        given = batch if isinstance(batch, (tuple, list)) else (batch,)
        samples, tokens = sizes(list(named_tensors(tuple(given), {})))
    except Exception:  # the program's own kind of batch
        return NOT_KNOWN, NOT_KNOWN
    return samples, NOT_KNOWN if tokens is None else tokens
