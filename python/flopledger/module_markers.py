"""A range `nn:DOTTED.NAME` around each module call, in recorded steps only.

Every module call goes through one small function of torch, nn.Module._wrapped_call_impl. While markers are on, that function
has other code: the same, with two C functions around it (module_marks.c). torch.compile does not notice: it sees functions of
that file as torch's own. Where torch is not as expected, hooks do the work, or nothing does, and `reason` says why.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any

from flopledger import native

Observer = Callable[[Any, tuple[Any, ...], dict[str, Any]], None]

EXPECTED_NAMES = ("_compiled_call_impl", "_call_impl")
ENTER, LEAVE = "flopledger: enter", "flopledger: leave"
SOURCE = f"""
def _wrapped_call_impl(self, *args, **kwargs):
    leave = {LEAVE!r}
    enter = {ENTER!r}
    token = enter(self, args, kwargs)
    try:
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        else:
            return self._call_impl(*args, **kwargs)
    finally:
        leave(token)
"""


def code_with_marks(original: CodeType, enter: Any, leave: Any) -> CodeType:
    """The code of _wrapped_call_impl with the marks, each line under the number that it has in torch's file."""
    tree = ast.parse(SOURCE)
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = original.co_firstlineno
    returns = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
    for node, line in zip(returns, (2, 4)):
        for part in ast.walk(node):
            if hasattr(part, "lineno"):
                part.lineno = part.end_lineno = original.co_firstlineno + line
    space: dict[str, Any] = {}
    exec(compile(tree, original.co_filename, "exec"), space)  # defines the function, no more
    code: CodeType = space["_wrapped_call_impl"].__code__
    swap = {ENTER: enter, LEAVE: leave}
    constants = tuple(
        swap.get(value, value) if isinstance(value, str) else value for value in code.co_consts
    )
    changes: dict[str, Any] = {"co_consts": constants}
    if hasattr(original, "co_qualname"):
        changes["co_qualname"] = original.co_qualname
    return code.replace(**changes)


def code_of_calls(kind: Any) -> CodeType | None:
    """Of the function that each call of a module goes through; None where torch is not as expected."""
    code = getattr(getattr(kind, "_wrapped_call_impl", None), "__code__", None)
    is_expected = (
        isinstance(code, CodeType)
        and code.co_names == EXPECTED_NAMES
        and code.co_varnames == ("self", "args", "kwargs")
        and not code.co_freevars
    )
    return code if is_expected else None


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
        self,
        wrap: Callable[[Any], Any] | None = None,
        codes: tuple[CodeType, CodeType] | None = None,
    ) -> None:
        """`wrap` puts something of its own around the marks. `codes`: torch's, and what stands in its place (step_of.py)."""
        self.reason = ""
        self.codes = codes
        self.wrap = wrap
        self.marks: Any = None
        self.means = ""  # "code" or "hooks": how modules are marked
        self.original: CodeType | None = None
        self.code: CodeType | None = None
        self.hooks: list[Any] = []
        self.opened: list[tuple[int, Any]] = []  # by hooks
        self.is_on = False
        self.kept: list[tuple[Any, str]] = []  # keeps addresses from being used again
        try:
            self.prepare()
        except Exception as error:
            self.reason = f"module calls cannot be marked: {type(error).__name__}: {error}"

    def prepare(self) -> None:
        from torch import nn

        self.marks = self.wrap(load_marks()) if self.wrap else load_marks()
        code = self.codes[0] if self.codes else code_of_calls(nn.Module)
        if code is not None:
            self.means = "code"
            self.original = self.codes[1] if self.codes else code
            self.code = code_with_marks(code, self.marks.enter, self.marks.leave)
        else:
            self.means = "hooks"

    def on(self, modules: list[tuple[Any, str]], observer: Observer | None) -> bool:
        """`modules`: with the names of their ranges. False where nothing can be marked."""
        if self.is_on or self.reason or not modules:
            return self.is_on
        if self.means == "hooks" and is_compiled_in_part(modules):
            self.reason = (
                "module calls are not marked: this version of torch calls modules in another way, "
                "and hooks would keep torch.compile from compiling"
            )
            return False
        self.kept = modules
        self.marks.mark(modules, observer)
        if self.means == "code":
            self.swap_code(self.code)
        else:
            self.add_hooks()
        self.is_on = True
        return True

    def off(self) -> None:
        if not self.is_on:
            return
        self.is_on = False
        if self.means == "code":
            self.swap_code(self.original)
        for hook in self.hooks:
            hook.remove()
        self.hooks = []
        self.marks.unmark()
        self.kept = []

    def swap_code(self, code: Any) -> None:
        from torch import nn

        function: Any = nn.Module._wrapped_call_impl
        if function.__code__ in (self.original, self.code):  # else somebody else's by now
            function.__code__ = code

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
