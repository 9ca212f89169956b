"""Counts the FLOPs of every op that PyTorch runs, by the formulas of flopledger (src/cost/flops); works on meta and fake tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from flopledger import native
from flopledger.call_texts import ENDS_OF_KEYS, ENDS_OF_QUERIES, name_of, texts_of_each

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


@dataclass(frozen=True)
class Outcome:
    """Of a call: its cost; None: it has none, or none that is known, and then `why` says it."""

    name: str
    cost: OpCost | None = None
    why: str | None = None


# Outcomes of calls by op, sizes, types and plain arguments: the layers of a model are alike.
KNOWN: dict[tuple[Any, ...], Outcome] = {}
KNOWN_MAX = 10_000
PLAIN = {
    int,
    float,
    bool,
    str,
    type(None),
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
}


def add_to_key(key: list[Any], values: Any) -> bool:
    """False where an argument tells more than its sizes, type or value, or not all of that."""
    for value in values:
        kind = type(value)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            if value.layout is not torch.strided or value.is_nested:
                return False
            key += value.shape, value.dtype
        elif kind in PLAIN:
            key += kind, value  # 1, 1.0 and True are equal
        elif kind is list or kind is tuple:
            key.append(len(value))
            if not add_to_key(key, value):
                return False
        else:
            return False
    return True


def key_of(
    func: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[Any, ...] | None:
    """Equal for calls that cost the same; None where that is not known."""
    key = [func, *keywords]
    if type(func) is not torch._ops.OpOverload or not add_to_key(key, arguments):
        return None
    return tuple(key) if add_to_key(key, keywords.values()) else None


def tells_lengths(func: Any) -> bool:
    """What an argument holds counts, not only how long it is."""
    ends = ENDS_OF_QUERIES | ENDS_OF_KEYS
    return any(argument.name in ends for argument in func._schema.arguments)


def register_flop_formula(op: str, formula: str) -> None:
    """Counts an op that flopledger does not know: register_flop_formula("my::op", "2 * in0[0] * in0[1] * in1[1]").

    `inN[d]` is a size of argument N; also elements(inN), rank(inN), value(N). An op whose name ends in " pointwise" counts
    as pointwise work, in " bytes" gives the bytes that it moves.
    """
    native.load("flop_counts").add_formulas(f"{op} = {formula}\n")
    KNOWN.clear()


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
        key = key_of(func, arguments, keywords)
        outcome = KNOWN.get(key) if key else None
        if outcome is None:
            outcome = self.outcome_of(func, arguments, keywords)
            if key and not tells_lengths(func):
                if len(KNOWN) >= KNOWN_MAX:
                    KNOWN.clear()
                KNOWN[key] = outcome
        if outcome.cost is not None:
            self.take(outcome.name, outcome.cost)
        elif outcome.why is not None:
            self.miss(outcome.name, outcome.why)

    def outcome_of(
        self, func: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Outcome:
        total = OpCost()
        for texts in texts_of_each(func, arguments, keywords):
            kind, flops, _, _, macs, moved, why = self.formulas.count(*texts)
            if kind == self.formulas.NOT_COUNTED:
                # else it is arithmetic of plain numbers
                is_work = has_tensors(arguments, keywords)
                return Outcome(texts[0], why=(why or "") if is_work else None)
            if kind == self.formulas.FREE:
                return Outcome(texts[0])
            is_matrix = kind == self.formulas.MATRIX
            if is_matrix and has_sparse(arguments, keywords):
                why = "an operand is sparse: its shape does not tell its non-zeros"
                return Outcome(texts[0], why=why)
            total.add(OpCost(flops, flops if is_matrix else 0, macs, max(0, moved)))
        total.calls = 1
        return Outcome(name_of(func), total)

    def miss(self, name: str, why: str) -> None:
        calls = self.not_counted.get(name, (0, ""))[0]
        self.not_counted[name] = (calls + 1, why)
