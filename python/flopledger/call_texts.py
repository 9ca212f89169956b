"""A call of an op as texts, as a trace with record_shapes has them: what the formulas in C are asked with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

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
if hasattr(torch, "float4_e2m1fn_x2"):
    TYPE_NAMES[torch.float4_e2m1fn_x2] = "c10::Float4_e2m1fn_x2"

# Where sequences of several lengths stand one behind the other in a tensor: these arguments say where each begins and ends.
ENDS_OF_QUERIES = {"cum_seq_q", "cu_seq_q", "cu_seqlens_q"}
ENDS_OF_KEYS = {"cum_seq_k", "cu_seq_k", "cu_seqlens_k"}
# and these hold them: [all tokens, heads, size] or [1, all tokens, heads, size]
OF_QUERIES = {"query", "q", "grad_out", "grad_out_", "dout", "out"}
OF_KEYS = {"key", "value", "k", "v"}

Texts = tuple[str, str, str, str]  # name, shapes, types, values


def numbers(sizes: Any) -> str:
    return "[" + ", ".join(str(int(size)) for size in sizes) + "]"


def shape_of(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return numbers(value.shape)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
        return "[" + ", ".join(shape_of(each) for each in value) + "]"
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
    if isinstance(value, torch.SymInt):
        return str(int(value))
    if isinstance(value, (list, tuple)) and not any(isinstance(v, torch.Tensor) for v in value):
        return "[" + ", ".join(str(each) for each in value) + "]"
    return ""


def named_values(
    call: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> list[tuple[str, Any]]:
    """In the order of the op's schema, those left out with their defaults. A higher-order op has no schema."""
    schema = getattr(call, "_schema", None)
    if schema is None:
        return [(str(i), value) for i, value in enumerate(arguments)] + list(keywords.items())
    named = []
    for i, argument in enumerate(schema.arguments):
        given = arguments[i] if i < len(arguments) else None
        if i >= len(arguments):
            given = keywords.get(argument.name, argument.default_value)
        named.append((argument.name, given))
    return named


def name_of(call: Any) -> str:
    schema = getattr(call, "_schema", None)
    return str(schema.name) if schema is not None else str(call.name())


def texts_of_each(
    call: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Iterator[Texts]:
    """One for a call; where it works on sequences of several lengths (nested tensors, packed ones), one for each of them."""
    named = named_values(call, arguments, keywords)
    types = ", ".join(f'"{type_name(value)}"' for _, value in named)
    values = ", ".join(f'"{concrete(value)}"' for _, value in named)
    for shapes in shapes_of_each(named):
        yield name_of(call), f"[{', '.join(shapes)}]", f"[{types}]", f"[{values}]"


def shapes_of_each(named: list[tuple[str, Any]]) -> Iterator[list[str]]:
    nested = [value for _, value in named if is_nested(value)]
    if nested:
        for i in range(nested[0].size(0)):
            yield [nested_shape(v, i) if is_nested(v) else shape_of(v) for _, v in named]
        return
    ends = {name: value for name, value in named if is_packed(name, value)}
    queries = next((ends[name] for name in ends if name in ENDS_OF_QUERIES), None)
    keys = next((ends[name] for name in ends if name in ENDS_OF_KEYS), queries)
    if queries is None or queries.is_meta or type(queries) is not torch.Tensor:
        yield [shape_of(value) for _, value in named]
        return
    for query, key in zip(lengths(queries), lengths(keys)):
        yield [packed_shape(name, value, query, key) for name, value in named]


def is_nested(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and bool(value.is_nested)


def nested_shape(tensor: torch.Tensor, index: int) -> str:
    """Of one of its parts, as a batch of one."""
    return numbers([1, *tensor._nested_tensor_size()[index].tolist()])


def is_packed(name: str, value: Any) -> bool:
    return (
        name in ENDS_OF_QUERIES | ENDS_OF_KEYS
        and isinstance(value, torch.Tensor)
        and value.numel() > 1
    )


def lengths(ends: Any) -> list[int]:
    places = ends.tolist()
    return [end - begin for begin, end in zip(places, places[1:])]


def packed_shape(name: str, value: Any, query: int, key: int) -> str:
    """Of the part that is one sequence's."""
    if name in ENDS_OF_QUERIES | ENDS_OF_KEYS or not isinstance(value, torch.Tensor):
        return "[]" if name in ENDS_OF_QUERIES | ENDS_OF_KEYS else shape_of(value)
    if name in OF_QUERIES | OF_KEYS and value.dim() >= 3:
        return numbers([1, query if name in OF_QUERIES else key, *value.shape[-2:]])
    return shape_of(value)
