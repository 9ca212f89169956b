"""A range `nn:DOTTED.NAME` around each module call, in recorded steps only.

Every module call goes through one small function of torch, nn.Module.__call__. While markers are on, the interpreter runs it by a C
function of ours (call_watch.c). The function and its code stay as they are, so torch.compile does not notice. Where that cannot be,
hooks do the work, or nothing does, and `reason` says why.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from flopledger import native

Observer = Callable[[Any, tuple[Any, ...], dict[str, Any]], None]


def function_of_calls() -> FunctionType | None:
    """That each call of a module goes through; None where torch is not as expected."""
    from torch.nn.modules.module import Module

    function = vars(Module).get("__call__")
    return function if isinstance(function, FunctionType) else None


def watch_module_calls(marks: Any, *callables: Callable[..., Any]) -> bool:
    """Has `marks` (module_marks.c) see each call of a module, or `callables`: enter and leave. False where that cannot be."""
    function = function_of_calls()
    if function is None:
        return False
    try:
        marks.watch(function, *callables)
    except TypeError:
        return False
    return True


def load_marks() -> Any:
    """module_marks.c, bound to the libtorch that is loaded."""
    import torch
    from torch._C._profiler import _RecordFunctionFast

    marks = native.load("module_marks")
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    if not any(
        marks.bind(os.path.join(folder, name)) for name in ("libtorch_cpu.so", "libtorch.so")
    ):
        marks.bind_type(_RecordFunctionFast)
    return marks


def is_compiled_in_part(modules: list[tuple[Any, str]]) -> bool:
    """Has torch.compile been at work, or will it be when one of these is called?"""
    dynamo = sys.modules.get("torch._dynamo.utils")
    if dynamo is not None and any(dynamo.counters.values()):
        return True
    return any(
        "_orig_mod" in module._modules or getattr(module, "_compiled_call_impl", None) is not None
        for module, _ in modules
    )


class ModuleMarkers:
    """on() and off(); `reason` says why there are none."""

    def __init__(
        self, wrap: Callable[[Any], Any] | None = None, step_calls: Any | None = None
    ) -> None:
        """`wrap` puts something of its own around the marks. `step_calls` (step_of.py) sees calls, too, while these do not."""
        self.reason = ""
        self.step_calls = step_calls
        self.wrap = wrap
        self.native: Any = None
        self.marks: Any = None  # the native ones, or what is around them
        self.means = ""  # "calls" or "hooks": how modules are marked
        self.hooks: list[Any] = []
        self.opened: list[tuple[int, Any]] = []  # by hooks
        self.is_on = False
        self.kept: list[tuple[Any, str]] = []  # keeps addresses from being used again
        try:
            self.prepare()
        except Exception as error:
            self.reason = f"module calls cannot be marked: {type(error).__name__}: {error}"

    def prepare(self) -> None:
        self.native = load_marks()
        self.marks = self.wrap(self.native) if self.wrap else self.native

    def on(self, modules: list[tuple[Any, str]], observer: Observer | None) -> bool:
        """`modules`: with the names of their ranges. False where nothing can be marked."""
        if self.is_on or self.reason or not modules:
            return self.is_on
        callables = () if self.marks is self.native else (self.marks.enter, self.marks.leave)
        self.means = "calls" if watch_module_calls(self.native, *callables) else "hooks"
        if self.means == "hooks" and is_compiled_in_part(modules):
            self.reason = (
                "module calls are not marked: this version of torch calls modules in another way, "
                "and hooks would keep torch.compile from compiling"
            )
            return False
        self.kept = modules
        self.marks.mark(modules, observer)
        if self.means == "hooks":
            self.add_hooks()
        self.is_on = True
        return True

    def off(self) -> None:
        if not self.is_on:
            return
        self.is_on = False
        if self.means == "calls":
            self.native.unwatch()
            if self.step_calls is not None:
                self.step_calls.watch_again()
        for hook in self.hooks:
            hook.remove()
        self.hooks = []
        self.marks.unmark()
        self.kept = []

    def add_hooks(self) -> None:
        from torch.nn.modules import module as torch_module

        self.hooks = [
            torch_module.register_module_forward_pre_hook(self.before_call),
            torch_module.register_module_forward_hook(self.after_call, always_call=True),
        ]

    def before_call(self, module: Any, arguments: Any) -> None:
        token = self.marks.enter(module, arguments, {})
        if token is not None:
            self.opened.append((id(module), token))

    def after_call(self, module: Any, arguments: Any, result: Any) -> None:
        while self.opened and any(opened == id(module) for opened, _ in self.opened):
            opened, token = self.opened.pop()
            self.marks.leave(token)
            if opened == id(module):
                return
