"""The parameters of a model as it was written, whatever holds them while it is trained.

FSDP1 lays the parameters of a module into one flat tensor and shards that; ZeRO-3 of DeepSpeed leaves an empty parameter.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from flopledger.models import parameters_of, walk


@dataclass(frozen=True)
class ModelParameter:
    name: str  # the module's own name for it
    shape: tuple[int, ...]
    local_shape: tuple[int, ...] | None  # what this rank holds of a sharded one
    key: Hashable  # one for all uses of a shared parameter
    dtype: Any
    is_trained: bool

    @property
    def size(self) -> int:
        size = 1
        for length in self.shape:
            size *= length
        return size


# By the id of the module that owns them.
FlatParts = dict[int, list[ModelParameter]]


def is_flat(parameter: Any) -> bool:
    return hasattr(parameter, "_param_infos") and hasattr(parameter, "_shapes")


def flat_parts(top: Any) -> FlatParts:
    """What FSDP1's flat parameters in `top` are made of."""
    parts: FlatParts = {}
    for module in walk(top):
        flat = getattr(module.__dict__.get("_handle"), "flat_param", None)
        if flat is not None and is_flat(flat):
            add_parts(parts, flat)
    return parts


def add_parts(parts: FlatParts, flat: Any) -> None:
    """Those of shared parameters stand with each of their modules."""
    shards = getattr(flat, "_shard_param_infos", None) or [None] * len(flat._shapes)
    originals = getattr(flat, "_params", None) or [flat] * len(flat._shapes)
    known: dict[tuple[int, str], ModelParameter] = {}
    for info, shape, shard, original in zip(flat._param_infos, flat._shapes, shards, originals):
        local = None if shard is None else (getattr(shard, "numel_in_shard", None) or 0,)
        key = (id(info.module), info.param_name)
        known[key] = ModelParameter(
            info.param_name, tuple(shape), local, key, flat.dtype, original.requires_grad
        )
        parts.setdefault(id(info.module), []).append(known[key])
    for shared in getattr(flat, "_shared_param_infos", ()):
        first = known.get((id(shared.prim_module), shared.prim_param_name))
        if first is not None:
            parts.setdefault(id(shared.module), []).append(
                ModelParameter(
                    shared.param_name,
                    first.shape,
                    first.local_shape,
                    first.key,
                    first.dtype,
                    first.is_trained,
                )
            )


def own_parameters(module: Any, parts: FlatParts) -> Iterator[ModelParameter]:
    """Those of the module itself, not of modules in it."""
    flat = parts.get(id(module), [])
    yield from flat
    names = {part.name for part in flat}
    for name, parameter in parameters_of(module):
        if name in names or is_flat(parameter):
            continue
        held = getattr(parameter, "_local_tensor", None)
        local = None if held is None else tuple(held.shape)
        whole = getattr(parameter, "ds_shape", None)
        if whole is not None:
            local = tuple(getattr(getattr(parameter, "ds_tensor", parameter), "shape", ()))
        yield ModelParameter(
            name,
            tuple(parameter.shape if whole is None else whole),
            local,
            id(parameter),
            parameter.dtype,
            parameter.requires_grad,
        )


def all_parameters(root: Any, parts: FlatParts) -> Iterator[ModelParameter]:
    """Each once."""
    seen: set[Hashable] = set()
    for module in walk(root):
        for parameter in own_parameters(module, parts):
            if parameter.key not in seen:
                seen.add(parameter.key)
                yield parameter


def count_parameters(module: Any, parts: FlatParts | None = None) -> int:
    """As of the module without wrappers; `parts`: those of the model that it is in."""
    parts = flat_parts(module) if parts is None else parts
    return sum(each.size for each in all_parameters(module, parts))
