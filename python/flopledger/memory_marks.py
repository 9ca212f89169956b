"""Marks of the tensors that are alive, at the points of a step where kinds of memory change.

The trace tells of each block when it was allocated and freed, and by which op; not what it was for. A mark is an empty range
`flopledger:mark#N` in the trace, and for N a list of the tensors whose purpose the program tells: parameters, buffers,
gradients, optimizer state and the model's inputs, each with the address of its memory. Names stand in the list once.

What was alive before recording began is listed at the first mark; torch does not tell when such a block of the host's memory is
freed, so a weak reference to the tensor does: `flopledger:freed#T`.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flopledger.allocator_history import AllocatorHistory, describe_devices
from flopledger.batch import named_tensors
from flopledger.messages import guarded
from flopledger.models import Model

MAX_OTHERS = 4096  # tensors of no known purpose that are alive at the start; the largest
MAX_FORWARD_MARKS = 32  # in a step: a model that is called in a loop of its own

# Which phase begins at a mark, for the tags of the allocator's history.
PHASES_AFTER = {
    "forward start": "forward",
    "forward end": "backward",
    "backward end": "optimizer",
    "optimizer end": "optimizer",
}

Place = tuple[int, int, int]  # address, bytes and device: -1 for the host


def place_of(tensor: Any) -> Place | None:
    """Of the memory that the tensor is a view of; None where it has none of its own."""
    tensor = getattr(tensor, "_local_tensor", tensor)
    try:
        storage = tensor.untyped_storage()
        address, size = storage.data_ptr(), storage.nbytes()
    except (RuntimeError, NotImplementedError, AttributeError):
        return None
    return (address, size, tensor.get_device()) if address and size else None


class MemoryMarks:
    """start() before the first step of a window, marks, take() after the last."""

    def __init__(self, history: AllocatorHistory | None = None) -> None:
        """`history` is told of the phases, where it is on."""
        from torch._C._profiler import _RecordFunctionFast

        self.range_type = _RecordFunctionFast
        self.history = history
        self.tensors: list[tuple[str, str, str]] = []  # kind, module, name
        self.ids: dict[tuple[str, str, str], int] = {}
        self.parameters: list[tuple[int, int, Any]] = []  # its id, its gradient's id, itself
        self.buffers: list[tuple[int, Any, str]] = []  # id, the module, the buffer's name
        self.names: dict[int, tuple[str, str]] = {}  # of parameters, by id()
        self.state_ids: dict[tuple[int, str], int] = {}
        self.optimizers: Iterable[Any] = ()
        self.inputs: list[tuple[int, Any]] = []  # weak references
        self.marks: list[dict[str, Any]] = []
        self.last: dict[int, Place] = {}
        self.watched: list[Any] = []  # weak references to what was alive at the start
        self.step = 0
        self.forward_marks = 0
        self.others_not_listed = 0
        self.backward: Callable[..., Any] | None = None  # torch's own, while ours is in its place
        self.is_on = False

    # ------------------------------------------------------------------------------------------------------------------
    # Beginning and end

    def start(self, models: list[Model], optimizers: Iterable[Any], step: int) -> None:
        """The profiler runs already. `step`: the one that begins."""
        self.optimizers = optimizers
        self.list_models(models)
        self.list_other_parameters()
        self.step = step
        self.is_on = True
        self.forward_marks = 0
        self.watch_backward()
        alive = self.alive()
        self.watch_start(alive)
        self.mark("start", alive)
        self.last = {i: place for i, place in alive.items() if self.tensors[i][0] != "other"}

    def stop(self) -> None:
        self.is_on = False
        self.leave_backward()
        self.watched = []
        self.inputs = []
        self.parameters = []
        self.buffers = []
        self.optimizers = ()

    def content(self, trace: str) -> dict[str, Any]:
        """What is written beside the trace; docs/formats/capture.md."""
        return {
            "schema": "flopledger.memory",
            "schema_version": 1,
            "trace": trace,
            "other_bytes_not_listed": self.others_not_listed,
            "tensors": [list(tensor) for tensor in self.tensors],
            "marks": self.marks,
        }

    # ------------------------------------------------------------------------------------------------------------------
    # Names

    def id_of(self, kind: str, module: str, name: str) -> int:
        key = (kind, module, name)
        known = self.ids.get(key)
        if known is None:
            known = self.ids[key] = len(self.tensors)
            self.tensors.append(key)
        return known

    def add_parameter(self, parameter: Any, module: str, name: str) -> None:
        if id(parameter) in self.names:
            return
        self.names[id(parameter)] = (module, name)
        own = self.id_of("parameter", module, name)
        self.parameters.append((own, self.id_of("gradient", module, name), parameter))

    def list_models(self, models: list[Model]) -> None:
        for model in models:
            for named in model.modules:
                mark = model.mark_of(named.name)
                for name, parameter in (named.module.__dict__.get("_parameters") or {}).items():
                    if parameter is not None:
                        self.add_parameter(parameter, mark, name)
                for name in named.module.__dict__.get("_buffers") or {}:
                    self.buffers.append((self.id_of("buffer", mark, name), named.module, name))

    def list_other_parameters(self) -> None:
        """Those of the optimizers that no model has: copies in full precision."""
        for optimizer in self.optimizers:
            for group, settings in enumerate(optimizer.param_groups):
                for i, parameter in enumerate(settings["params"]):
                    self.add_parameter(parameter, "", f"group {group}.{i}")

    # ------------------------------------------------------------------------------------------------------------------
    # What is alive

    def alive(self) -> dict[int, Place]:
        """By id. Memory that several share counts for the first: a parameter before its uses."""
        found: dict[int, Place] = {}
        taken: set[int] = set()

        def add(tensor_id: int, tensor: Any) -> None:
            place = place_of(tensor)
            if place is not None and place[0] not in taken:
                taken.add(place[0])
                found[tensor_id] = place

        for own, gradient, parameter in self.parameters:
            add(own, parameter)
            if parameter.grad is not None:
                add(gradient, parameter.grad)
        for own, module, name in self.buffers:
            buffer = module.__dict__["_buffers"].get(name)
            if buffer is not None:
                add(own, buffer)
        self.add_states(add)
        for own, reference in self.inputs:
            tensor = reference()
            if tensor is not None:
                add(own, tensor)
        return found

    def add_states(self, add: Callable[[int, Any], None]) -> None:
        for optimizer in self.optimizers:
            for parameter, state in optimizer.state.items():
                if not isinstance(state, Mapping):
                    continue
                for key, value in state.items():
                    if hasattr(value, "untyped_storage"):
                        add(self.state_id(parameter, str(key)), value)

    def state_id(self, parameter: Any, key: str) -> int:
        place = (id(parameter), key)
        known = self.state_ids.get(place)
        if known is None:
            module, name = self.names.get(id(parameter), ("", "parameter"))
            known = self.id_of("optimizer state", module, f"{name}.{key}")
            self.state_ids[place] = known
        return known

    # ------------------------------------------------------------------------------------------------------------------
    # What was alive at the start

    def watch_start(self, alive: dict[int, Place]) -> None:
        """Adds tensors of no known purpose to `alive`, and learns when gradients and these are freed."""
        import torch

        taken = {place[0]: tensor_id for tensor_id, place in alive.items()}
        kept = {id(parameter) for _, _, parameter in self.parameters}
        holders: dict[int, list[Any]] = {}
        others: dict[int, tuple[Place, Any]] = {}
        for thing in gc.get_objects():
            if not issubclass(type(thing), torch.Tensor) or id(thing) in kept:
                continue
            place = place_of(thing)
            if place is None or thing.device.type == "meta":
                continue
            if place[0] not in taken and place[0] not in others:
                others[place[0]] = (place, thing)
            holders.setdefault(place[0], []).append(thing)
        self.add_others(others, alive, taken)
        for _, gradient, parameter in self.parameters:  # not seen by the garbage collector
            if gradient in alive and parameter.grad is not None:
                holders.setdefault(alive[gradient][0], []).append(parameter.grad)
        for address, tensors in holders.items():
            tensor_id = taken.get(address)
            if tensor_id is not None and self.tensors[tensor_id][0] in ("gradient", "other"):
                self.watch(tensor_id, {id(tensor): tensor for tensor in tensors})

    def add_others(
        self,
        others: dict[int, tuple[Place, Any]],
        alive: dict[int, Place],
        taken: dict[int, int],
    ) -> None:
        largest = sorted(others.values(), key=lambda other: -other[0][1])
        for number, (place, tensor) in enumerate(largest):
            if number >= MAX_OTHERS:
                self.others_not_listed += place[1]
                continue
            shape = "x".join(map(str, tensor.shape)) or "scalar"
            dtype = str(tensor.dtype).removeprefix("torch.")
            tensor_id = self.id_of("other", "", f"tensor {number + 1}: {dtype} {shape}")
            alive[tensor_id] = place
            taken[place[0]] = tensor_id

    def watch(self, tensor_id: int, tensors: dict[int, Any]) -> None:
        """The memory is freed with the last of these."""
        left = [len(tensors)]

        def tell(_: Any) -> None:
            left[0] -= 1
            if left[0] == 0 and self.is_on:
                with self.range_type(f"flopledger:freed#{tensor_id}"):
                    pass

        self.watched.extend(weakref.ref(tensor, tell) for tensor in tensors.values())

    # ------------------------------------------------------------------------------------------------------------------
    # Marks

    def ask(self, options: str) -> None:
        """A mark that the program wants, with what its record is to hold."""
        self.mark("asked", options=options)

    def forget_asked(self) -> None:
        """Marks up to here are in no log that begins anew."""
        for mark in self.marks:
            mark["is_in_log"] = False

    def mark(
        self, point: str, alive: dict[int, Place] | None = None, options: str | None = None
    ) -> None:
        if not self.is_on:
            return
        number = len(self.marks)
        with self.range_type(f"flopledger:mark#{number}"):
            alive = self.alive() if alive is None else alive
            entry: dict[str, Any] = {"point": point, "step": self.step}
            if options is not None:
                entry["options"] = options
            self.add_changes(entry, alive)
            devices = describe_devices()
            if devices:
                entry["devices"] = devices
            self.marks.append(entry)
        if self.history is not None and self.history.is_on:
            self.history.tag(PHASES_AFTER.get(point, ""), "")

    def add_changes(self, entry: dict[str, Any], alive: dict[int, Place]) -> None:
        """`live`: id, address, bytes and device of what was not so at the mark before; `gone`: ids of what is no more."""
        changes: list[int] = []
        for tensor_id, place in alive.items():
            if self.last.get(tensor_id) != place:
                changes += (tensor_id, *place)
        if number_gone := [tensor_id for tensor_id in self.last if tensor_id not in alive]:
            entry["gone"] = number_gone
        entry["live"] = changes
        self.last = alive

    def end_step(self) -> None:
        self.mark("step end")
        self.step += 1
        self.forward_marks = 0

    def before_call(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> None:
        """Of each outermost call of a marked module."""
        import torch

        is_training = module.training and torch.is_grad_enabled()
        if not self.is_on or not is_training or self.forward_marks >= MAX_FORWARD_MARKS:
            return
        if torch._C._current_graph_task_id() != -1:  # computed once more for its gradient
            return
        self.forward_marks += 1
        for name, tensor in named_tensors(arguments, keywords):
            try:
                self.inputs.append((self.id_of("input", "", name), weakref.ref(tensor)))
            except TypeError:
                pass
        self.inputs = self.inputs[-64:]
        self.mark("forward start")

    # ------------------------------------------------------------------------------------------------------------------
    # Backward: torch.autograd has one function through which each goes

    def watch_backward(self) -> None:
        import torch

        autograd = torch.autograd
        original = getattr(autograd, "_engine_run_backward", None)
        if original is None or self.backward is not None:
            return
        before = guarded(lambda: self.mark("forward end"), self.stop)
        after = guarded(lambda: self.mark("backward end"), self.stop)

        def run(*arguments: Any, **keywords: Any) -> Any:
            if torch._C._current_graph_task_id() != -1:  # inside another
                return original(*arguments, **keywords)
            before()
            result = original(*arguments, **keywords)
            after()
            return result

        self.backward = original
        self.ours = run
        setattr(autograd, "_engine_run_backward", run)

    def leave_backward(self) -> None:
        autograd = sys.modules.get("torch.autograd")
        original, self.backward = self.backward, None
        if original is None or autograd is None:
            return
        if getattr(autograd, "_engine_run_backward", None) is self.ours:
            setattr(autograd, "_engine_run_backward", original)
