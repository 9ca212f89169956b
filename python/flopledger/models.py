"""Finds the models that a program trains, and gives each module its dotted name."""

from __future__ import annotations

import fnmatch
import gc
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

# Classes around a model that add nothing of their own to its names; `module` is what they call it.
LIBRARIES_WITH_WRAPPERS = ("torch", "deepspeed", "megatron", "accelerate", "apex", "lightning")
WRAPPED = {"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}


@dataclass
class NamedModule:
    module: Any
    name: str  # dotted, as of named_modules(), without wrappers; "" for the model itself
    is_marked: bool = True
    aliases: list[str] = field(default_factory=list)  # other places that hold it


@dataclass
class Model:
    top: Any  # the model with its wrappers
    root: Any  # ... and out of them
    name: str  # its class
    prefix: str  # of its modules' marks: "" for the main model, else "name."
    wrappers: list[str] = field(default_factory=list)  # classes around it, outermost first
    modules: list[NamedModule] = field(default_factory=list)

    def mark_of(self, name: str) -> str:
        return self.prefix + name if name else self.prefix.rstrip(".") or self.name


def class_name(module: Any) -> str:
    """FSDP2 puts a class of its own in front: FSDPLlama is a Llama."""
    kind = type(module)
    if kind.__name__.startswith("FSDP") and len(kind.__bases__) == 2:
        if kind.__bases__[0].__name__ == "FSDPModule":
            return kind.__bases__[1].__name__
    return kind.__name__


def held_by(module: Any, holder: str) -> Any:
    """What stands in `_modules` or `_parameters` of a module, which may be half made; {} for none.

    Those of scripted and traced modules are views of what is in C++, and of a traced one they are not among its attributes.
    """
    held = module.__dict__.get(holder)
    if held is None and is_scripted(module):
        try:
            held = getattr(module, holder, None)
        except RuntimeError:  # it is being made
            held = None
    return {} if held is None else held


def is_scripted(module: Any) -> bool:
    return issubclass(type(module), getattr(sys.modules.get("torch.jit"), "ScriptModule", ()))


def children_of(module: Any) -> Iterator[tuple[str, Any]]:
    for name, child in held_by(module, "_modules").items():
        if child is not None:
            yield name, child


def parameters_of(module: Any) -> Iterator[tuple[str, Any]]:
    """Its own, not those of modules in it."""
    for name, parameter in held_by(module, "_parameters").items():
        if parameter is not None:
            yield name, parameter


def wrapped_by(module: Any) -> Any:
    """What is inside of a wrapper; None where it is none."""
    for name, child in children_of(module):
        if name in WRAPPED:
            return child
        if name == "module" and type(module).__module__.split(".")[0] in LIBRARIES_WITH_WRAPPERS:
            return child
    return None


def is_compiled(wrapper: Any) -> bool:
    return "_orig_mod" in held_by(wrapper, "_modules")


def modules_alive() -> list[Any]:
    from torch import nn

    return [thing for thing in gc.get_objects() if issubclass(type(thing), nn.Module)]


def is_graph(module: Any) -> bool:
    """torch.compile makes modules, too, and in older versions of torch they hold the model's parameters."""
    kind = getattr(sys.modules.get("torch.fx.graph_module"), "GraphModule", ())
    return issubclass(type(module), kind)


def outermost(modules: Iterable[Any]) -> list[Any]:
    modules = list(modules)
    inner = {id(child) for module in modules for _, child in children_of(module)}
    return [module for module in modules if id(module) not in inner]


def walk(root: Any) -> Iterator[Any]:
    """The module and all in it, each once."""
    seen = {id(root)}
    waiting = [root]
    while waiting:
        module = waiting.pop()
        yield module
        for _, child in children_of(module):
            if id(child) not in seen:
                seen.add(id(child))
                waiting.append(child)


def find_models(parameters: set[int]) -> list[Model]:
    """`parameters`: the ids of those that the optimizers hold. The largest model comes first, and is the main one.

    A model is an outermost module that holds some of these; where none does (an optimizer may hold copies), one that has
    parameters to train; where there is no optimizer and none of these either, one that has any.
    """
    held: list[tuple[int, Any]] = []
    trainable: list[tuple[int, Any]] = []
    frozen: list[tuple[int, Any]] = []
    for top in outermost(modules_alive()):
        size, is_held, is_trainable = 0, False, False
        for module in walk(top):
            for _, parameter in parameters_of(module):
                size += parameter.numel()
                is_held = is_held or id(parameter) in parameters
                is_trainable = is_trainable or parameter.requires_grad
        if is_held:
            held.append((size, top))
        elif is_trainable:
            trainable.append((size, top))
        elif size > 0:
            frozen.append((size, top))
    held = [found for found in held if not is_graph(found[1])] or held
    chosen = sorted(
        held or trainable or ([] if parameters else frozen), key=lambda found: -found[0]
    )
    models: list[Model] = []
    for _, top in chosen:
        models.append(name_modules(top, [model.name for model in models]))
    return models


def name_modules(top: Any, names_taken: list[str]) -> Model:
    wrappers: list[str] = []
    root = top
    while (inside := wrapped_by(root)) is not None:
        wrappers.append(type(root).__name__)
        root = inside
    name = class_name(root)
    if name in names_taken:
        name = f"{name}#{1 + sum(taken.split('#')[0] == name for taken in names_taken)}"
    model = Model(top, root, name, f"{name}." if names_taken else "", wrappers)
    seen: set[int] = set()
    met_again: list[tuple[Any, str]] = []
    waiting: list[tuple[Any, str, bool]] = [(top, "", True)]
    while waiting:
        module, dotted, is_marked = waiting.pop()
        if id(module) in seen:
            met_again.append((module, dotted))
            continue
        seen.add(id(module))
        inside = wrapped_by(module)
        if inside is None:
            model.modules.append(NamedModule(module, dotted, is_marked))
        elif is_compiled(module) and is_marked:  # a call of it is the call of what is in it
            model.modules.append(NamedModule(module, dotted))
            is_marked = False
        for child_name, child in reversed(list(children_of(module))):
            if child is inside:
                waiting.append((child, dotted, is_marked))
            else:
                waiting.append((child, f"{dotted}.{child_name}" if dotted else child_name, True))
    name_other_places(model, met_again)
    return model


def name_other_places(model: Model, met_again: list[tuple[Any, str]]) -> None:
    """Those of modules that were met again, and of all in them; a second time, as one may hold another."""
    first = {id(named.module): named.name for named in model.modules}
    for module, place in met_again * 2:
        name = first.get(id(module))
        for named in model.modules if name is not None else ():
            for known in (named.name, *named.aliases):
                inside = known == name or known.startswith(f"{name}.")
                other = place + known[len(name or "") :]
                if inside and other != named.name and other not in named.aliases:
                    named.aliases.append(other)


def modules_to_mark(models: list[Model], patterns: tuple[str, ...]) -> list[tuple[Any, str]]:
    """With the names of their ranges. `patterns` choose by dotted name; none: all."""
    chosen = []
    for model in models:
        for named in model.modules:
            mark = model.mark_of(named.name)
            if not named.is_marked:
                continue
            if not patterns or any(fnmatch.fnmatchcase(mark, pattern) for pattern in patterns):
                chosen.append((named.module, f"nn:{mark}"))
    return chosen
