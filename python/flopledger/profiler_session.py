"""One session of torch.profiler, and respect for the program's own ones: a process can have one at a time."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

from flopledger.settings import Settings


class ProfilerSession:
    """prepare, start, mark steps, stop, save."""

    def __init__(self, settings: Settings) -> None:
        from torch.profiler import profiler

        self.profiler: Any = profiler._KinetoProfile(
            record_shapes=settings.shapes,
            profile_memory=settings.memory,
            with_stack=settings.stacks,
            experimental_config=None if settings.stacks else config_that_only_traces(),
        )
        self.is_prepared = False
        self.is_started = False
        self.step_range: Any = None
        self.open_step: int | None = None  # when stopped within a step: its number

    def prepare(self) -> None:
        if not self.is_prepared:
            self.profiler.prepare_trace()
            self.is_prepared = True

    def start(self) -> None:
        self.prepare()
        self.profiler.start_trace()
        self.is_started = True

    def begin_step(self, number: int) -> None:
        from torch.autograd.profiler import record_function

        self.end_step()
        self.open_step = number
        self.step_range = record_function(f"ProfilerStep#{number}")
        self.step_range.__enter__()

    def end_step(self) -> None:
        if self.step_range is not None:
            self.step_range.__exit__(None, None, None)
        self.step_range = None
        self.open_step = None

    def stop(self) -> None:
        """A step that is open stays open; `open_step` tells it."""
        if self.is_started:
            self.profiler.stop_trace()
        elif self.is_prepared:  # torch wants it so, before another can begin
            self.profiler.start_trace()
            self.profiler.stop_trace()
        self.is_started = self.is_prepared = False

    def save(self, path: str) -> None:
        """As JSON text; an error is raised where the file is not whole, of which torch says nothing."""
        self.profiler.export_chrome_trace(path)
        try:
            with open(path, "rb") as file:
                file.seek(max(0, os.path.getsize(path) - 16))
                is_whole = file.read().rstrip().endswith(b"}")
        except FileNotFoundError:
            is_whole = False
        if not is_whole:
            raise OSError(errno.ENOSPC, "torch could not write it whole (is the disk full?)", path)


def config_that_only_traces() -> Any:
    """Leaves out the work on the events in Python that torch does for its own tables, and, where no device is recorded, the
    number of each op that a device's events would ask for; newer versions of torch can. None: an older one.
    """
    try:
        from torch._C._profiler import _ExperimentalConfig
        from torch.profiler import ProfilerActivity, supported_activities
    except ImportError:
        return None
    wanted = {"trace_only": True}
    if supported_activities() <= {ProfilerActivity.CPU}:
        wanted["disable_external_correlation"] = True
    for options in (wanted, {"trace_only": True}):
        try:
            return _ExperimentalConfig(**options)
        except TypeError:
            continue
    return None


class OwnProfilerWatch:
    """Sees when the program itself starts a profiler, which must win."""

    NAMES = ("_prepare_profiler", "_enable_profiler", "_disable_profiler")

    def __init__(self, module: Any, make_way: Callable[[], None]) -> None:
        """`module`: torch.autograd.profiler. `make_way` ends the session of ours, before theirs begins."""
        self.module = module
        self.make_way = make_way
        self.originals: dict[str, Any] = {}
        self.is_ours = 0  # calls that we made ourselves
        self.program_profiles = False

    def install(self) -> None:
        for name in self.NAMES:
            if hasattr(self.module, name):
                self.originals[name] = getattr(self.module, name)
                setattr(self.module, name, self.watched(name, self.originals[name]))

    def remove(self) -> None:
        for name, original in self.originals.items():
            setattr(self.module, name, original)
        self.originals = {}

    def watched(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            if self.is_ours:
                return original(*arguments, **keywords)
            if name == "_disable_profiler":
                try:
                    return original(*arguments, **keywords)
                finally:
                    self.program_profiles = False
            if not self.program_profiles:
                self.program_profiles = True
                self.make_way()
            return original(*arguments, **keywords)

        return call

    def __enter__(self) -> None:
        self.is_ours += 1

    def __exit__(self, *exception: Any) -> None:
        self.is_ours -= 1
