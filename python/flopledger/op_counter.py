"""Counts the FLOPs of every op that PyTorch runs, by the formulas of flopledger (src/flops); works on meta and fake tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

TYPE_NAMES = {  # as the profiler writes them
    torch.float32: "float",
    torch.float64: "double",
    torch.float16: "c10::Half",
    torch.bfloat16: "c10::BFloat16",
    torch.int64: "long int",
    torch.int32: "int",
    torch.int16: "short int",
    torch.int8: "signed char",
    torch.uint8: "unsigned char",
    torch.bool: "bool",
    torch.complex64: "c10::complex<float>",
    torch.complex128: "c10::complex<double>",
    torch.float8_e4m3fn: "c10::Float8_e4m3fn",
    torch.float8_e5m2: "c10::Float8_e5m2",
}


@dataclass
class OpCost:
    """Of one call, or a sum of them."""

    flops: int = 0  # as the device computes them, with pointwise work
    matrix_flops: int = 0  # of matmul, convolution, attention and recurrent ops alone
    macs: int = 0  # multiply-adds of these
    bytes: int = 0
    calls: int = 0

    def add(self, other: OpCost) -> None:
        self.flops += other.flops
        self.matrix_flops += other.matrix_flops
        self.macs += other.macs
        self.bytes += other.bytes
        self.calls += other.calls


def load_formulas() -> Any:
    try:
        from flopledger import flop_counts
    except ImportError as error:
        raise ImportError(
            "flopledger's extension in C is not built: install Python's headers (python3-dev), then `pip install .`"
        ) from error
    return flop_counts


def register_flop_formula(op: str, formula: str) -> None:
    """Counts an op that flopledger does not know: register_flop_formula("my::op", "2 * in0[0] * in0[1] * in1[1]").

    `inN[d]` is a size of argument N; also elements(inN), rank(inN), value(N). An op whose name ends in " pointwise" counts
    as pointwise work, in " bytes" gives the bytes that it moves.
    """
    load_formulas().add_formulas(f"{op} = {formula}\n")


def sizes(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "[" + ", ".join(str(int(size)) for size in value.shape) + "]"
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
        return "[" + ", ".join(sizes(each) for each in value) + "]"
    return "[]"


def type_name(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return TYPE_NAMES.get(value.dtype, str(value.dtype))
    if isinstance(value, (list, tuple)):
        return "TensorList" if value and isinstance(value[0], torch.Tensor) else "ScalarList"
    return "" if value is None else "Scalar"


def concrete(value: Any) -> str:
    if isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, (list, tuple)) and not any(isinstance(v, torch.Tensor) for v in value):
        return "[" + ", ".join(str(each) for each in value) + "]"
    return ""


def texts_of(call: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[str, ...]:
    """Name, shapes, types and values of a call, as a trace with record_shapes has them."""
    values = list(arguments)
    for argument in call._schema.arguments[len(values) :]:
        values.append(keywords.get(argument.name, argument.default_value))
    types = ", ".join(f'"{type_name(value)}"' for value in values)
    inputs = ", ".join(f'"{concrete(value)}"' for value in values)
    shapes = ", ".join(sizes(value) for value in values)
    return call._schema.name, f"[{shapes}]", f"[{types}]", f"[{inputs}]"


class OpCounter(TorchDispatchMode):
    """While it is entered, `take(name, cost)` is called with each op that has a cost; others are in `not_counted`."""

    def __init__(self, take: Callable[[str, OpCost], None]) -> None:
        super().__init__()
        self.formulas = load_formulas()
        self.take = take
        self.not_counted: dict[str, tuple[int, str]] = {}  # calls, and why

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self.count(func, args, kwargs or {})
        return result

    def count(self, func: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        kind, flops, _, _, macs, moved, why = self.formulas.count(
            *texts_of(func, arguments, keywords)
        )
        name = func._schema.name
        if kind == self.formulas.NOT_COUNTED:
            calls = self.not_counted.get(name, (0, ""))[0]
            self.not_counted[name] = (calls + 1, why or "")
        elif kind != self.formulas.FREE:
            is_matrix = kind == self.formulas.MATRIX
            self.take(name, OpCost(flops, flops if is_matrix else 0, macs, max(0, moved), 1))
