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
from collections.abc import Callable, Iterable
from typing import Any

from flopledger.allocator_history import AllocatorHistory, describe_devices
from flopledger.batch import named_tensors
from flopledger.known_tensors import KnownTensors, Place, place_of
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


class MemoryMarks:
    """start() before the first step of a window, marks, take() after the last."""

    def __init__(self, history: AllocatorHistory | None = None) -> None:
        """`history` is told of the phases, where it is on."""
        from torch._C._profiler import _RecordFunctionFast

        self.range_type = _RecordFunctionFast
        self.history = history
        self.known = KnownTensors()
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
        self.known.begin(models, optimizers)
        self.step = step
        self.is_on = True
        self.forward_marks = 0
        self.watch_backward()
        alive = self.known.alive()
        self.watch_start(alive)
        self.mark("start", alive)
        self.last = {i: place for i, place in alive.items() if self.known.tensors[i][0] != "other"}

    def stop(self) -> None:
        self.is_on = False
        self.leave_backward()
        self.watched = []
        self.known.forget()

    def content(self, trace: str) -> dict[str, Any]:
        """What is written beside the trace; docs/formats/capture.md."""
        return {
            "schema": "flopledger.memory",
            "schema_version": 1,
            "trace": trace,
            "other_bytes_not_listed": self.others_not_listed,
            "tensors": [list(tensor) for tensor in self.known.tensors],
            "marks": self.marks,
        }

    # ------------------------------------------------------------------------------------------------------------------
    # What was alive at the start

    def watch_start(self, alive: dict[int, Place]) -> None:
        """Adds tensors of no known purpose to `alive`, and learns when gradients and these are freed."""
        import torch

        taken = {place[0]: tensor_id for tensor_id, place in alive.items()}
        kept = {id(parameter) for _, _, parameter in self.known.parameters}
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
        for _, gradient, parameter in self.known.parameters:  # not seen by the garbage collector
            if gradient in alive and parameter.grad is not None:
                holders.setdefault(alive[gradient][0], []).append(parameter.grad)
        for address, tensors in holders.items():
            tensor_id = taken.get(address)
            if tensor_id is not None and self.known.tensors[tensor_id][0] in ("gradient", "other"):
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
            tensor_id = self.known.id_of("other", "", f"tensor {number + 1}: {dtype} {shape}")
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
            alive = self.known.alive() if alive is None else alive
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
            self.known.add_input(name, tensor)
        self.known.inputs = self.known.inputs[-64:]
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
