"""Counts the FLOPs of every op that PyTorch runs, by the formulas of flopledger (src/cost/flops); works on meta and fake tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from flopledger import native
from flopledger.call_texts import name_of, texts_of_each

# Higher-order ops that call functions of the program, in which ops count; the others count as one, if by a formula.
CALLING = {"cond", "while_loop", "scan", "map_impl"}


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


def register_flop_formula(op: str, formula: str) -> None:
    """Counts an op that flopledger does not know: register_flop_formula("my::op", "2 * in0[0] * in0[1] * in1[1]").

    `inN[d]` is a size of argument N; also elements(inN), rank(inN), value(N). An op whose name ends in " pointwise" counts
    as pointwise work, in " bytes" gives the bytes that it moves.
    """
    native.load("flop_counts").add_formulas(f"{op} = {formula}\n")


def has_tensors(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    given = [*arguments, *keywords.values()]
    lists = [each for each in given if isinstance(each, (list, tuple))]
    return any(isinstance(each, torch.Tensor) for one in [given, *lists] for each in one)


def has_sparse(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    """Shapes of these do not tell how many numbers they hold."""
    return any(
        isinstance(each, torch.Tensor) and each.layout not in (torch.strided, torch.jagged)
        for each in (*arguments, *keywords.values())
    )


def is_made_of_others(types: Any) -> bool:
    """Tensors that wrap others (DTensor, jagged NestedTensor): the ops on what is inside count."""
    return any(hasattr(kind, "__tensor_flatten__") for kind in types)


class OpCounter(TorchDispatchMode):
    """While it is entered, `take(name, cost)` is called with each op that has a cost; others are in `not_counted`."""

    def __init__(
        self, take: Callable[[str, OpCost], None], see: Callable[[], None] = lambda: None
    ) -> None:
        """`see` is called with every op, whether it costs anything or not."""
        super().__init__()
        self.see = see
        self.formulas = native.load("flop_counts")
        self.take = take
        self.not_counted: dict[str, tuple[int, str]] = {}  # calls, and why

    supports_higher_order_operators = True  # torch passes them to __torch_dispatch__, too

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        keywords = kwargs or {}
        if is_made_of_others(types):
            return NotImplemented
        if isinstance(func, torch._ops.HigherOrderOperator) and func.name() in CALLING:
            return func(*(self.counting(each) for each in args), **keywords)
        result = func(*args, **keywords)
        self.see()
        try:
            self.count(func, args, keywords)
        except Exception as error:  # never the program's concern
            self.miss(name_of(func), f"its arguments cannot be read: {error}")
        return result

    def counting(self, value: Any) -> Any:
        """A function, so that what it does counts; anything else as it is."""
        if not callable(value) or isinstance(value, torch.Tensor):
            return value

        def call(*arguments: Any, **keywords: Any) -> Any:
            with self:
                return value(*arguments, **keywords)

        return call

    def count(self, func: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        total = OpCost()
        for texts in texts_of_each(func, arguments, keywords):
            kind, flops, _, _, macs, moved, why = self.formulas.count(*texts)
            if kind == self.formulas.NOT_COUNTED:
                if has_tensors(arguments, keywords):  # else it is arithmetic of plain numbers
                    self.miss(texts[0], why or "")
                return
            if kind == self.formulas.FREE:
                return
            is_matrix = kind == self.formulas.MATRIX
            if is_matrix and has_sparse(arguments, keywords):
                self.miss(texts[0], "an operand is sparse: its shape does not tell its non-zeros")
                return
            total.add(OpCost(flops, flops if is_matrix else 0, macs, max(0, moved)))
        total.calls = 1
        self.take(name_of(func), total)

    def miss(self, name: str, why: str) -> None:
        calls = self.not_counted.get(name, (0, ""))[0]
        self.not_counted[name] = (calls + 1, why)
