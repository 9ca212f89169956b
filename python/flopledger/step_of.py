"""Steps of a program that makes none with an optimizer: `flopledger run --step-of module`, or `--step-of RANGE`."""

from __future__ import annotations

import fnmatch
import sys
import threading
from collections.abc import Callable
from typing import Any

from flopledger import native
from flopledger.messages import say_once_of_all_ranks
from flopledger.module_markers import watch_module_calls

MODULE = "module"


class StepCalls:
    """Calls `ended` at the end of each call of an outermost module, or of each range of record_function of the name, with a
    number that tells one module, or name, from the others.

    Calls of modules are seen as module_markers.py marks them: by what the interpreter runs the function by that each of them goes
    through, which torch.compile does not notice.
    """

    def __init__(self, kind: str, ended: Callable[[int], None]) -> None:
        self.kind = kind
        self.ended = ended
        self.thread = 0  # the one whose call came first
        self.is_inside = False
        self.compiler: dict[str, Any] = {}
        self.is_watching = False  # calls of modules
        self.undo: Callable[[], None] = lambda: None

    def install(self) -> None:
        """Only of what torch has loaded: this is called while it is being imported."""
        if self.kind == MODULE:
            self.watch_calls()
        else:
            self.watch_ranges()

    def remove(self) -> None:
        undo, self.undo = self.undo, lambda: None
        undo()

    def is_of_another_thread(self) -> bool:
        here = threading.get_ident()
        self.thread = self.thread or here
        return self.thread != here

    # ------------------------------------------------------------------------------------------------------------------
    # Modules

    def watch_calls(self) -> None:
        try:
            marks = native.load("module_marks")
        except native.ExtensionMissing as error:
            say_once_of_all_ranks(str(error))
            return
        self.is_watching = watch_module_calls(marks, self.enter, self.leave)
        if not self.is_watching:
            say_once_of_all_ranks(
                "this version of torch calls modules in another way, and calls of them are not seen: "
                "give --step-of the name of a range of record_function"
            )
            return

        def undo() -> None:
            self.is_watching = False
            marks.unwatch()

        self.undo = undo

    def watch_again(self) -> None:
        """Where marks of modules saw calls in between."""
        if self.is_watching:
            self.watch_calls()

    def enter(self, module: Any, arguments: Any, keywords: Any) -> Any:
        """The module, where its call is an outermost one."""
        if self.is_inside or self.is_compiling() or self.is_of_another_thread():
            return None
        self.is_inside = True
        return module

    def leave(self, module: Any) -> None:
        if module is not None:
            self.is_inside = False
            self.ended(id(module))

    def is_compiling(self) -> bool:
        if not self.compiler and "torch.compiler" in sys.modules:
            self.compiler = vars(sys.modules["torch.compiler"])
        return bool(self.compiler.get("_is_compiling_flag", False))

    # ------------------------------------------------------------------------------------------------------------------
    # Ranges

    def watch_ranges(self) -> None:
        from torch.autograd.profiler import record_function

        original = record_function.__exit__

        def __exit__(opened: Any, *error: Any) -> Any:
            result = original(opened, *error)
            name = getattr(opened, "name", "")
            if fnmatch.fnmatchcase(name, self.kind) and not self.is_of_another_thread():
                self.ended(hash(name))
            return result

        def undo() -> None:
            if vars(record_function).get("__exit__") is __exit__:
                setattr(record_function, "__exit__", original)

        setattr(record_function, "__exit__", __exit__)
        self.undo = undo


class CountedMarks:
    """Marks of modules that see outermost calls, too: while they are on, StepCalls' own code is not."""

    def __init__(self, marks: Any, calls: StepCalls) -> None:
        self.marks = marks
        self.calls = calls
        self.mark, self.unmark = marks.mark, marks.unmark

    def enter(self, module: Any, arguments: Any, keywords: Any) -> Any:
        return self.calls.enter(module, arguments, keywords), self.marks.enter(
            module, arguments, keywords
        )

    def leave(self, tokens: Any) -> None:
        outermost, token = tokens
        self.marks.leave(token)
        self.calls.leave(outermost)
