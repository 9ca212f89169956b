"""The profile of a model as text, laid out as DeepSpeed's flops profiler does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from torch import nn

from flopledger.op_counter import OpCost
from flopledger.parameters import count_parameters, flat_parts


class ProfiledModel(Protocol):
    """What is known of a model: sums of its whole run."""

    model: nn.Module
    not_counted: Mapping[str, Any]

    def total(self) -> OpCost: ...

    def seconds_of(self, module: nn.Module) -> float: ...

    def cost_of(self, module: nn.Module) -> OpCost: ...


TITLE = "DeepSpeed Flops Profiler"
NOTATIONS = """Notations:
data parallel size (dp_size), model parallel size(mp_size),
number of parameters (params), number of multiply-accumulate operations(MACs),
number of floating-point operations (flops), floating-point operations per second (FLOPS),
fwd latency (forward propagation latency), bwd latency (backward propagation latency),
step (weights update latency), iter latency (sum of fwd, bwd and step latency)
"""
LEGEND = """Each module profile is listed after its name in the following order: 
params, percentage of total params, MACs, percentage of total MACs, fwd latency, percentage of total fwd latency, fwd FLOPS

Note: 1. A module can have torch.nn.module or torch.nn.functional to compute logits (e.g. CrossEntropyLoss). \
They are not counted as submodules, thus not to be printed out. However they make up the difference between a parent's \
MACs (or latency) and the sum of its submodules'.
2. Number of floating-point operations is a theoretical estimation, thus FLOPS computed using that could be larger than \
the maximum system throughput.
3. The fwd latency listed in the top module's profile is directly captured at the module forward function in PyTorch, \
thus it's less than the fwd latency shown above which is captured in DeepSpeed.
"""


def number_to_string(number: float, unit: str | None = None, precision: int = 2) -> str:
    """ "1.08 G"; a blank stands behind numbers without a prefix, too."""
    for size, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K"), (1, ""), (1e-3, "m")):
        if unit == name or (unit is None and number >= size) or (name == "" and number == 0):
            return f"{round(number / size, precision):g} {name}"
    return f"{round(number / 1e-6, precision):g} u"


def macs_to_string(macs: float) -> str:
    return number_to_string(macs) + "MACs"


def params_to_string(parameters: float) -> str:
    return number_to_string(parameters).replace("G", "B").strip()


def rate_to_string(flops: float, seconds: float) -> str:
    return number_to_string(flops / seconds if seconds > 0 else 0) + "FLOPS"


def share(part: float, whole: float) -> str:
    return f"{round(100 * part / whole, 2):g}%" if whole else "0%"


def line(title: str, value: object) -> str:
    return f"{title:<70}  {value!s:<8}\n"


def profile_text(
    profiler: ProfiledModel, step: int, module_depth: int, top_modules: int, detailed: bool
) -> str:
    total, seconds = profiler.total(), profiler.seconds_of(profiler.model)
    parameters = count_parameters(profiler.model)
    text = f"\n-------------------------- {TITLE} --------------------------\n"
    text += f"Profile Summary at step {step}:\n{NOTATIONS}\n"
    text += line("params per GPU: ", params_to_string(parameters))
    text += line("params of model = params per GPU * mp_size: ", params_to_string(parameters))
    text += line("fwd MACs per GPU: ", macs_to_string(total.macs))
    text += line("fwd flops per GPU: ", number_to_string(total.flops))
    text += line(
        "fwd flops of model = fwd flops per GPU * mp_size: ", number_to_string(total.flops)
    )
    text += line("fwd latency: ", number_to_string(seconds) + "s")
    text += line(
        "fwd FLOPS per GPU = fwd flops per GPU / fwd latency: ",
        rate_to_string(total.flops, seconds),
    )
    if profiler.not_counted:
        names = ", ".join(sorted(profiler.not_counted))
        text += f"not counted, as they have no formula: {names}\n"
    text += aggregated_text(profiler, module_depth, top_modules)
    if detailed:
        text += "\n------------------------------ Detailed Profile per GPU ------------------------------\n"
        text += LEGEND + "\n" + tree_text(profiler) + "\n"
    return text + "-" * 78 + "\n"


def modules_by_depth(model: nn.Module) -> list[list[nn.Module]]:
    levels: list[list[nn.Module]] = []
    waiting: list[tuple[nn.Module, int]] = [(model, 0)]
    while waiting:
        module, depth = waiting.pop()
        if depth == len(levels):
            levels.append([])
        levels[depth].append(module)
        waiting += [(child, depth + 1) for child in reversed(list(module.children()))]
    return levels


def aggregated_text(profiler: ProfiledModel, module_depth: int, top_modules: int) -> str:
    """Every depth down to `module_depth`, all for -1; too large a depth is all, too."""
    levels = modules_by_depth(profiler.model)
    parts = flat_parts(profiler.model)
    last = len(levels) - 1 if module_depth < 0 else min(module_depth, len(levels) - 1)
    text = (
        "\n----------------------------- Aggregated Profile per GPU -----------------------------\n"
    )
    text += f"Top {top_modules} modules in terms of params, MACs or fwd latency at different model depths:\n"
    quantities: list[tuple[str, Callable[[nn.Module], float], Callable[[float], str]]] = [
        ("params     ", lambda module: count_parameters(module, parts), params_to_string),
        ("MACs       ", lambda module: profiler.cost_of(module).macs, macs_to_string),
        ("fwd latency", profiler.seconds_of, lambda seconds: number_to_string(seconds) + "s"),
    ]
    for depth in range(last + 1):
        text += f"depth {depth}:\n"
        for title, measure, show in quantities:
            sums: dict[str, float] = {}
            for module in levels[depth]:
                name = type(module).__name__
                sums[name] = sums.get(name, 0) + measure(module)
            top = sorted(sums.items(), key=lambda entry: -entry[1])[:top_modules]
            text += f"    {title} - {({name: show(value) for name, value in top})}\n"
    return text


def tree_text(profiler: ProfiledModel) -> str:
    """As print(model), with the costs of each module before its own words."""
    total = profiler.total()
    seconds = profiler.seconds_of(profiler.model)
    parts = flat_parts(profiler.model)
    parameters = count_parameters(profiler.model, parts)

    def costs(module: nn.Module) -> str:
        cost, own_seconds = profiler.cost_of(module), profiler.seconds_of(module)
        own = count_parameters(module, parts)
        words = [
            f"{params_to_string(own)} = {share(own, parameters)} Params",
            f"{macs_to_string(cost.macs)} = {share(cost.macs, total.macs)} MACs",
            f"{number_to_string(own_seconds)}s = {share(own_seconds, seconds)} latency",
            rate_to_string(cost.flops, own_seconds),
        ]
        return ", ".join([*words, *filter(None, [module.extra_repr()])])

    def lines(module: nn.Module) -> list[str]:
        inner: list[str] = []
        for name, child in module.named_children():
            head, *rest = lines(child)
            inner += [f"  ({name}): {head}", *("  " + each for each in rest)]
        name = type(module).__name__
        if not inner:
            own = "" if isinstance(module, nn.ModuleList) else costs(module)
            return [f"{name}({own})"]
        if isinstance(module, nn.ModuleList):  # prints itself in its own way, without figures
            return [f"{name}(", *inner, ")"]
        return [f"{name}(", f"  {costs(module)}", *inner, ")"]

    return "\n".join(lines(profiler.model))
