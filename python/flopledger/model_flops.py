"""What a call of a model costs: flops(model, input)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flopledger.model_profile import FlopsProfiler
from flopledger.parameters import count_parameters, flat_parts
from flopledger.tables import Column, Table

COLUMNS = (
    Column("name", "module", "text"),
    Column("class", "class", "text"),
    Column("parameters", "parameters", "count"),
    Column("flops", "FLOPs", "flop"),
    Column("macs", "multiply-adds", "count"),
)


@dataclass(frozen=True)
class ModelFlops:
    """Of one call, forward alone."""

    flops: int  # a multiply-add is 2
    macs: int
    parameters: int
    modules: Table  # a row a module, with what is inside it
    not_counted: Mapping[str, tuple[int, str]]  # ops without a formula: calls, and why

    def _repr_html_(self) -> str:
        return self.modules._repr_html_()


def flops(model: Any, *arguments: Any, **keywords: Any) -> ModelFlops:
    """Calls `model(*arguments, **keywords)` once, without gradients, and counts: `flops(model, torch.zeros(4, 128))`.

    Works on meta and fake tensors, too: then nothing is computed.
    """
    import torch

    profiler = FlopsProfiler(model)
    profiler.start_profile()
    try:
        with torch.no_grad():
            model(*arguments, **keywords)
    finally:
        profiler.stop_profile()
    rows = []
    parts = flat_parts(model)
    for name, module in model.named_modules():
        cost = profiler.cost_of(module)
        rows.append(
            {
                "depth": name.count(".") + 1 if name else 0,
                "name": name or type(model).__name__,
                "class": type(module).__name__,
                "parameters": count_parameters(module, parts),
                "flops": cost.flops,
                "macs": cost.macs,
            }
        )
    total = profiler.total()
    result = ModelFlops(
        total.flops,
        total.macs,
        profiler.get_total_params(),
        Table(type(model).__name__, COLUMNS, rows),
        dict(profiler.not_counted),
    )
    profiler.end_profile()
    return result
