"""What a model costs: get_model_profile, FlopsProfiler and profile, with the names, arguments and results that DeepSpeed's
flops profiler has.

Ops are counted where PyTorch dispatches them, so that also operators like `@`, keyword arguments, functions imported long ago
and custom ops with a formula count; nothing of torch is replaced, and nothing stays behind when a forward pass fails.
"""

from __future__ import annotations

import contextlib
import time
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import nn

from flopledger.op_counter import OpCost, OpCounter
from flopledger.parameters import count_parameters
from flopledger.profile_text import (
    aggregated_text,
    macs_to_string,
    number_to_string,
    params_to_string,
    profile_text,
)

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass
class ModuleCost:
    """Of the calls of one module: its own work, without that of modules in it; the time with it."""

    forward: OpCost = field(default_factory=OpCost)
    recomputed: OpCost = field(
        default_factory=OpCost
    )  # in the backward pass, by activation checkpointing
    seconds: float = 0.0
    calls: int = 0


def is_in_backward() -> bool:
    return torch._C._current_graph_task_id() != -1


class RecordingBackwards:
    """Ops of backward passes that record gradients: of a backward pass with create_graph=True all do; of any other only those
    that a checkpointed function computes again. Which one it is shows with its first op that does not.
    """

    def __init__(self) -> None:
        self.waiting: dict[int, OpCost] = {}  # by graph task
        self.plain: set[int] = set()  # graph tasks in which an op recorded none

    def take(self, cost: OpCost, recomputed: OpCost) -> None:
        task = torch._C._current_graph_task_id()
        (recomputed if task in self.plain else self.waiting.setdefault(task, OpCost())).add(cost)

    def is_plain(self, recomputed: OpCost) -> None:
        task = torch._C._current_graph_task_id()
        self.plain.add(task)
        if task in self.waiting:
            recomputed.add(self.waiting.pop(task))

    def total(self) -> OpCost:
        """Of passes in which all ops did."""
        total = OpCost()
        for cost in self.waiting.values():
            total.add(cost)
        return total


def run_uncompiled() -> contextlib.ExitStack:
    """Until it is closed, what torch.compile made runs op by op: compiled code hides its ops, and cannot be made while they
    are counted."""
    stack = contextlib.ExitStack()
    set_stance = getattr(getattr(torch, "compiler", None), "set_stance", None)
    if set_stance is not None:  # torch 2.6
        stack.enter_context(set_stance("force_eager"))
    return stack


class FlopsProfiler:
    """Counts what a model does between start_profile() and stop_profile().

    As DeepSpeed's: `get_total_flops()` is of the forward pass with pointwise work, `get_total_macs()` of its matmuls,
    convolutions, attention and recurrent layers. More than there: `get_total_backward_flops()`, `get_total_recomputed_flops()`
    and `not_counted`, the ops without a formula.
    """

    def __init__(
        self, model: nn.Module, ds_engine: Any = None, recompute_fwd_factor: float = 0.0
    ) -> None:
        self.model = model
        self.ds_engine = ds_engine
        self.recompute_fwd_factor = (
            recompute_fwd_factor  # kept; recomputation is counted as it happens
        )
        self.started = False
        self.costs: dict[nn.Module, ModuleCost] = {}
        self.backward = OpCost()
        self.by_op: dict[str, OpCost] = {}  # of the forward pass
        self.outside = OpCost()  # forward ops while no module of the model ran
        self.recomputed_outside = OpCost()  # by a checkpointed function, while none ran
        self.recording = RecordingBackwards()
        self.inside: list[tuple[nn.Module, float]] = []  # modules that run now, and since when
        self.hooks: list[Any] = []
        self.counter: OpCounter | None = None
        self.running = contextlib.ExitStack()
        self.flops: Any = 0
        self.macs: Any = 0
        self.params: Any = 0

    # ------------------------------------------------------------------------------------------------------------------

    def start_profile(self, ignore_list: Iterable[type] | None = None) -> None:
        """Modules whose class is in `ignore_list` do not count by themselves: their work is that of the module around them."""
        self.end_profile()
        self.reset_profile()
        ignored = tuple(ignore_list or ())
        for module in self.model.modules():
            if type(module) not in ignored and not isinstance(module, torch.jit.ScriptModule):
                self.hooks.append(module.register_forward_pre_hook(self.before_call))
                self.hooks.append(module.register_forward_hook(self.after_call, always_call=True))
        with OpCounter(
            lambda name, cost: None
        ):  # torch loads what it needs for this with the first op
            torch.ones(1).add(1)
        self.counter = OpCounter(self.take, self.see)
        self.running = run_uncompiled()
        self.counter.__enter__()
        self.started = True

    def stop_profile(self) -> None:
        if self.counter is not None and self.started:
            self.counter.__exit__(None, None, None)
            self.running.close()
        self.started = False
        for hook in self.hooks:
            hook.remove()
        self.hooks = []
        self.inside = []

    def reset_profile(self) -> None:
        self.costs = {module: ModuleCost() for module in self.model.modules()}
        self.backward = OpCost()
        self.by_op = {}
        self.outside = OpCost()
        self.recomputed_outside = OpCost()
        self.recording = RecordingBackwards()

    def end_profile(self) -> None:
        """Forgets what was counted."""
        self.stop_profile()
        self.reset_profile()
        self.counter = None

    def before_call(self, module: nn.Module, arguments: Any) -> None:
        self.inside.append((module, time.perf_counter()))

    def after_call(self, module: nn.Module, arguments: Any, result: Any) -> None:
        while any(running is module for running, _ in self.inside):  # some may have failed within
            running, began = self.inside.pop()
            if running is module:
                if not is_in_backward():
                    self.costs[module].seconds += time.perf_counter() - began
                    self.costs[module].calls += 1
                return

    def take(self, name: str, cost: OpCost) -> None:
        """One op, from the counter."""
        if not is_in_backward():
            self.place_of_forward().add(cost)
            if name not in self.by_op:
                self.by_op[name] = OpCost()
            self.by_op[name].add(cost)
        elif self.inside:
            self.costs[self.inside[-1][0]].recomputed.add(cost)
        elif torch.is_grad_enabled():
            self.recording.take(cost, self.recomputed_outside)
        else:
            self.backward.add(cost)

    def place_of_forward(self) -> OpCost:
        if self.inside:
            return self.costs[self.inside[-1][0]].forward
        if isinstance(self.model, torch.jit.ScriptModule):  # tells nobody when it is called
            return self.costs[self.model].forward
        return self.outside

    def see(self) -> None:
        if is_in_backward() and not torch.is_grad_enabled():
            self.recording.is_plain(self.recomputed_outside)

    # ------------------------------------------------------------------------------------------------------------------

    def cost_of(self, module: nn.Module) -> OpCost:
        """Of its forward calls, with the modules in it."""
        total = OpCost()
        for each in module.modules():
            total.add(self.costs.get(each, ModuleCost()).forward)
        return total

    def seconds_of(self, module: nn.Module) -> float:
        """Of its calls; of a list of modules, which is never called, of those in it."""
        cost = self.costs.get(module, ModuleCost())
        if cost.calls:
            return cost.seconds
        return sum(self.seconds_of(child) for child in module.children())

    @property
    def not_counted(self) -> dict[str, tuple[int, str]]:
        """Ops that have no formula: how often each ran, and why it does not count."""
        return self.counter.not_counted if self.counter is not None else {}

    def total(self) -> OpCost:
        """Of the model's forward calls; `outside` has the forward ops around them, as of the loss."""
        return self.cost_of(self.model)

    def get_total_flops(self, as_string: bool = False) -> Any:
        flops = self.total().flops
        return number_to_string(flops) if as_string else flops

    def get_total_macs(self, as_string: bool = False) -> Any:
        macs = self.total().macs
        return macs_to_string(macs) if as_string else macs

    def get_total_duration(self, as_string: bool = False) -> Any:
        seconds = self.seconds_of(self.model)
        return number_to_string(seconds) + "s" if as_string else seconds

    def get_total_params(self, as_string: bool = False) -> Any:
        parameters = count_parameters(self.model)
        return params_to_string(parameters) if as_string else parameters

    def get_total_backward_flops(self, as_string: bool = False) -> Any:
        """Of backward passes since start_profile(), without what was computed once more for them."""
        flops = self.backward.flops + self.recording.total().flops
        return number_to_string(flops) if as_string else flops

    def get_total_recomputed_flops(self, as_string: bool = False) -> Any:
        flops = sum(cost.recomputed.flops for cost in self.costs.values())
        flops += self.recomputed_outside.flops
        return number_to_string(flops) if as_string else flops

    def is_expert_tensor_parallelism_enabled(self) -> bool:
        return False

    def print_model_profile(
        self,
        profile_step: int = 1,
        module_depth: int = -1,
        top_modules: int = 1,
        detailed: bool = True,
        output_file: str | None = None,
    ) -> None:
        self.flops, self.macs = self.get_total_flops(), self.get_total_macs()
        self.params = self.get_total_params()
        text = profile_text(self, profile_step, module_depth, top_modules, detailed)
        if output_file is None:
            print(text, end="")
            return
        with open(output_file, "w", encoding="utf-8") as file:
            file.write(text)

    def print_model_aggregated_profile(self, module_depth: int = -1, top_modules: int = 1) -> None:
        print(aggregated_text(self, module_depth, top_modules), end="")


class profile(contextlib.ContextDecorator):
    """`with profile(model) as p: model(x)`, or `@profile(model)` before a function: then p.flops, p.macs, p.params, and with
    a backward pass p.profiler.get_total_backward_flops(). Prints nothing unless asked to."""

    def __init__(
        self,
        model: nn.Module,
        print_profile: bool = False,
        ignore_modules: Iterable[type] | None = None,
        **print_arguments: Any,
    ) -> None:
        self.profiler = FlopsProfiler(model)
        self.prints = print_profile
        self.ignored = ignore_modules
        self.print_arguments = print_arguments

    def __enter__(self) -> profile:
        self.profiler.start_profile(self.ignored)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self.profiler.stop_profile()
        if self.prints and kind is None:
            self.profiler.print_model_profile(**self.print_arguments)

    @property
    def flops(self) -> int:
        return self.profiler.get_total_flops()

    @property
    def macs(self) -> int:
        return self.profiler.get_total_macs()

    @property
    def params(self) -> int:
        return self.profiler.get_total_params()

    @property
    def duration(self) -> float:
        return self.profiler.get_total_duration()


def input_for(model: nn.Module, shape: tuple[int, ...]) -> torch.Tensor:
    """Of the first parameter's type and place."""
    first = next(model.parameters(), None)
    if first is None:
        return torch.ones(shape)
    return torch.ones(shape, dtype=first.dtype, device=first.device)


def get_model_profile(
    model: nn.Module,
    input_shape: tuple[int, ...] | None = None,
    args: Iterable[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    print_profile: bool = True,
    detailed: bool = True,
    module_depth: int = -1,
    top_modules: int = 1,
    warm_up: int = 1,
    as_string: bool = True,
    output_file: str | None = None,
    ignore_modules: Iterable[type] | None = None,
    mode: str = "forward",
) -> tuple[Any, Any, Any]:
    """(flops, macs, params) of one forward pass; the model's training mode is as before when it returns."""
    if mode not in ("forward", "generate"):
        raise ValueError(f"mode is 'forward' or 'generate', not {mode!r}")
    if input_shape is not None:
        if not isinstance(input_shape, tuple) or not input_shape:
            raise ValueError("input_shape is a tuple of at least one size")
        args = [input_for(model, input_shape)]
    arguments, keywords = list(args), dict(kwargs or {})
    if not arguments and not keywords:
        raise ValueError("give input_shape, args or kwargs")
    call = model if mode == "forward" else model.generate  # type: ignore[operator]
    were_training = {module for module in model.modules() if module.training}
    profiler = FlopsProfiler(model)
    try:
        model.eval()
    except NotImplementedError:  # a module of torch.export: its mode was fixed when it was exported
        pass
    try:
        for _ in range(warm_up):
            call(*arguments, **keywords)
        profiler.start_profile(ignore_modules)
        call(*arguments, **keywords)
    finally:
        profiler.stop_profile()
        for module in model.modules():
            module.training = module in were_training
    if print_profile:
        profiler.print_model_profile(warm_up, module_depth, top_modules, detailed, output_file)
    return (
        profiler.get_total_flops(as_string),
        profiler.get_total_macs(as_string),
        profiler.get_total_params(as_string),
    )
