"""Tensors whose purpose the program tells: parameters, gradients, buffers, optimizer state, inputs; each by an id, and where in
memory it is now."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flopledger.models import Model

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


class KnownTensors:
    """Ids are indices in `tensors`; a name stands there once, however often it is seen."""

    def __init__(self) -> None:
        self.tensors: list[tuple[str, str, str]] = []  # kind, module, name
        self.ids: dict[tuple[str, str, str], int] = {}
        self.parameters: list[tuple[int, int, Any]] = []  # its id, its gradient's id, itself
        self.buffers: list[tuple[int, Any, str]] = []  # id, the module, the buffer's name
        self.names: dict[int, tuple[str, str]] = {}  # of parameters, by id()
        self.state_ids: dict[tuple[int, str], int] = {}
        self.optimizers: Iterable[Any] = ()
        self.inputs: list[tuple[int, Any]] = []  # weak references

    def begin(self, models: list[Model], optimizers: Iterable[Any]) -> None:
        self.optimizers = optimizers
        self.list_models(models)
        self.list_other_parameters()

    def forget(self) -> None:
        """The tensors themselves; ids and names stay."""
        self.inputs = []
        self.parameters = []
        self.buffers = []
        self.optimizers = ()

    def add_input(self, name: str, tensor: Any) -> None:
        try:
            self.inputs.append((self.id_of("input", "", name), weakref.ref(tensor)))
        except TypeError:
            pass

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
