"""What the recorder asks of PyTorch, and of the process that it runs in."""

from __future__ import annotations

import atexit
import functools
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from flopledger import step_record
from flopledger.allocator_history import cuda_in_use
from flopledger.messages import guarded


def await_first_optimizer(module: ModuleType, tell: Callable[[], None]) -> Callable[[], None]:
    """Calls `tell` when the first optimizer is made; returns what takes that back."""
    kind = getattr(module, "Optimizer", None)
    if kind is None:
        return lambda: None
    original = kind.__init__

    @functools.wraps(original)
    def __init__(optimizer: Any, *arguments: Any, **keywords: Any) -> None:
        guarded(tell)()
        original(optimizer, *arguments, **keywords)

    def undo() -> None:
        if kind.__init__ is __init__:
            kind.__init__ = original

    kind.__init__ = __init__
    return undo


def is_compiling() -> bool:
    """torch.compile takes this for true while it traces the step of an optimizer."""
    return torch.compiler.is_compiling()


def steps_before(optimizer: Any) -> int | None:
    """One less than what it counts after the first step; None where it does not, or on a device alone."""
    for state in optimizer.state.values():
        count = state.get("step") if isinstance(state, Mapping) else None
        if isinstance(count, int):
            return max(0, count - 1)
        if count is not None and getattr(getattr(count, "device", None), "type", "") == "cpu":
            return max(0, int(count) - 1)
        break
    return None


def device_memory_high_water() -> int:
    """Of the process's current device; never makes a program use one."""
    cuda = cuda_in_use()
    return step_record.NOT_KNOWN if cuda is None else int(cuda.max_memory_allocated())


def end_without_destructors() -> None:
    """Ends this process, once Python has ended, without those of C++: torch's profiler would wait for ever for its threads,
    which were lost in the fork. A child that multiprocessing makes ends so, too."""
    import ctypes

    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # of glibc: hands the exit status on
        libc.on_exit(ctypes.cast(getattr(libc, "_exit"), ctypes.c_void_p), None)
        atexit.register(libc.fflush, None)
