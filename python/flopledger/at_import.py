"""Starts the recorder when, and only when, the program imports PyTorch's optimizers."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

AWAITED = "torch.optim.optimizer"


class LoaderThatTells(importlib.abc.Loader):
    """Loads the awaited module as its own loader does, then starts the recorder."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader  # as if this had never been here
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        from flopledger.messages import guarded

        guarded(start)(module)


def start(module: ModuleType) -> None:
    from flopledger.messages import say_once_of_all_ranks
    from flopledger.native import ExtensionMissing, load
    from flopledger.seen import CANNOT_LOAD, TORCH, note_seen

    note_seen(TORCH)
    try:
        load("step_writer")
        load("module_marks")
    except ExtensionMissing as error:
        note_seen(CANNOT_LOAD)
        say_once_of_all_ranks(f"cannot record: {error} (your program goes on)")
        return
    from flopledger.recorder import Recorder

    Recorder.start(module)


class FinderOfOptimizer(importlib.abc.MetaPathFinder):
    """Answers for one module, once."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != AWAITED:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LoaderThatTells(spec.loader)
        return spec


def wait_for_optimizer() -> None:
    if AWAITED not in sys.modules and not any(
        isinstance(finder, FinderOfOptimizer) for finder in sys.meta_path
    ):
        sys.meta_path.insert(0, FinderOfOptimizer())
