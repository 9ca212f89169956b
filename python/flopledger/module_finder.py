"""Tells when the program has loaded a module that is waited for."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


class LoaderThatTells(importlib.abc.Loader):
    """Loads the awaited module as its own loader does, then calls `act` with it."""

    def __init__(self, loader: importlib.abc.Loader, act: Callable[[ModuleType], None]) -> None:
        self.loader = loader
        self.act = act

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader  # as if this had never been here
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        from flopledger.messages import guarded

        guarded(self.act)(module)


class FinderOfModule(importlib.abc.MetaPathFinder):
    """Answers for one module, once."""

    def __init__(self, awaited: str, act: Callable[[ModuleType], None]) -> None:
        self.awaited = awaited
        self.act = act

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self.awaited:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = LoaderThatTells(spec.loader, self.act)
        return spec


def await_module(name: str, act: Callable[[ModuleType], None]) -> None:
    """Calls `act` with the module as soon as the program has loaded it; not where it is loaded already."""
    if name not in sys.modules and not any(
        isinstance(finder, FinderOfModule) and finder.awaited == name for finder in sys.meta_path
    ):
        sys.meta_path.insert(0, FinderOfModule(name, act))
