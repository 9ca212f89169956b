"""What is seen of the models while steps are recorded in full: marks of their modules, what they are given, and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flopledger.allocator_history import AllocatorHistory, TaggedMarks
from flopledger.batch import BatchCounter
from flopledger.memory_marks import MemoryMarks
from flopledger.messages import guarded
from flopledger.models import Model, find_models, modules_to_mark, parameters_of, walk
from flopledger.module_markers import ModuleMarkers
from flopledger.parallel_layout import ParallelLayout, find_layout
from flopledger.settings import Settings
from flopledger.step_of import CountedMarks, StepCalls

NAMES_SHOWN = 6


class ModelWatch:
    """find(), then begin() and end() around each window."""

    def __init__(
        self,
        settings: Settings,
        optimizers: Iterable[Any],
        step_calls: StepCalls,
        tell: Callable[[str], None],
    ) -> None:
        """`tell` is given what is wrong."""
        self.settings = settings
        self.optimizers = optimizers
        self.step_calls = step_calls
        self.tell = tell
        self.models: list[Model] | None = None  # held while recording, and no longer
        self.markers: ModuleMarkers | None = None
        self.memory: MemoryMarks | None = None  # while recording, where it was asked for
        self.history = AllocatorHistory()
        self.batch = BatchCounter()
        self.batch.counts_all = bool(settings.step_of)

    def find(self) -> ParallelLayout:
        """The models of the optimizers; gives what their tensors tell of the layout."""
        parameters = {
            id(parameter)
            for optimizer in self.optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        }
        self.models = find_models(parameters)
        tensors = (
            tensor
            for model in self.models
            for module in walk(model.root)
            for _, tensor in parameters_of(module)
        )
        return find_layout(tensors)

    def forget(self) -> None:
        self.models = None

    # ------------------------------------------------------------------------------------------------------------------
    # A window

    def begin(self, step: int) -> None:
        """The profiler runs already, and `step` is the first of the window."""
        if self.settings.memory:
            self.history.start()
            self.memory = MemoryMarks(self.history)
            self.memory.start(self.models or [], self.optimizers, step)
        if self.settings.markers:
            self.mark_modules()

    def end_step(self) -> None:
        if self.memory is not None:
            self.memory.end_step()

    def note_optimizer_end(self, on_error: Callable[[], None]) -> None:
        if self.memory is not None:
            guarded(self.memory.mark, on_error)("optimizer end")

    def end(self) -> None:
        """Before the profiler stops. What the memory was stays, until end_memory()."""
        if self.markers is not None:
            self.markers.off()
        if self.memory is not None:
            self.memory.stop()

    def end_memory(self) -> None:
        memory, self.memory = self.memory, None
        if memory is not None:
            memory.stop()
        self.history.stop()

    # ------------------------------------------------------------------------------------------------------------------
    # Modules

    def observe_call(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        """Of each outermost call of a marked module."""
        self.batch.observe(module, arguments, keywords)
        if self.memory is not None:
            guarded(self.memory.before_call, self.end_memory)(module, arguments, keywords)

    def wrap_marks(self, marks: Any) -> Any:
        if self.history.is_on:
            marks = TaggedMarks(marks, self.history)
        return CountedMarks(marks, self.step_calls) if self.step_calls.is_watching else marks

    def mark_modules(self) -> None:
        if self.markers is None or self.history.is_on:
            self.markers = ModuleMarkers(self.wrap_marks, self.step_calls)
        models = self.models or []
        self.batch.models = [
            id(named.module) for model in models for named in model.modules if named.name == ""
        ]
        modules = modules_to_mark(models, self.settings.modules)
        self.markers.on(modules, self.observe_call)
        if self.markers.reason:
            self.tell(self.markers.reason)
        elif not models:
            self.tell("no module is marked: none was found that holds the optimizer's parameters")
        elif not modules:
            names = [model.mark_of(each.name) for model in models for each in model.modules]
            some = ", ".join(names[:NAMES_SHOWN]) + (", …" if len(names) > NAMES_SHOWN else "")
            self.tell(
                f"no module has a name like {', '.join(self.settings.modules)}: they are {some}"
            )
