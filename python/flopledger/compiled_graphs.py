"""What torch.compile made of a model: which operators, lines and modules each call in its code stands for (--compiled).

Inductor's own provenance tells which nodes of the graph a kernel was fused from; the nodes know the operator, the line and the
module that they came from, in a backward those of the forward. Both are gone when the program runs, so they are noted when a graph
is compiled, as an attribute of its code: so they come back with it from inductor's cache. Nothing else is compiled than without us.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from flopledger.module_finder import await_module

COMPILER = "torch._inductor.compile_fx"
COMPILES = "fx_codegen_and_compile"
NOTE = "flopledger_calls"
SCHEMA_VERSION = 1

HANDLE = re.compile(r"\[Provenance debug handles\] (\S+):(\d+)$", re.MULTILINE)
FRAME = re.compile(r'^ *File "(.+)", line (\d+)', re.MULTILINE)
LINES_MAX = 16  # of one kernel

# What a node may be and still say nothing of the work: it is how tensors are looked at.
VIEWS = frozenset(
    "alias as_strided detach expand permute reshape select slice split split_with_sizes squeeze t transpose unsqueeze view "
    "_unsafe_view _reshape_alias getitem".split()
)

# Where the first matrix stands in the arguments. A small one is taken apart, into a product by elements and a sum.
PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}
OTHER_PRODUCTS = ("mm", "conv", "attention", "linear", "matmul", "lstm", "gru", "rnn")


def watch_compiler() -> None:
    """Whatever is compiled from here on is noted."""
    module = sys.modules.get(COMPILER)
    if module is not None:
        note_what_is_compiled(module)
    else:
        await_module(COMPILER, note_what_is_compiled)


def note_what_is_compiled(module: ModuleType) -> None:
    original: Callable[..., Any] | None = getattr(module, COMPILES, None)
    if original is None:  # another version of torch: its code stays unknown
        return

    def compile_and_note(graph: Any, *arguments: Any, **keywords: Any) -> Any:
        products = products_in(graph)
        code = original(graph, *arguments, **keywords)
        try:
            note_calls(graph, code, products)
        except Exception:  # another version of torch: this code stays unknown, and that is said
            pass
        return code

    setattr(module, COMPILES, compile_and_note)


# ----------------------------------------------------------------------------------------------------------------------
# One graph


def products_in(graph: Any) -> dict[tuple[str, ...], Any]:
    """By the names of their matrices: inductor makes one with a sum (mm, add) into another, which forgets the module."""
    nodes = getattr(getattr(graph, "graph", None), "nodes", ())
    return {matrices_of(node): node for node in nodes if short_name(node) in PRODUCTS}


def matrices_of(node: Any) -> tuple[str, ...]:
    return tuple(str(each) for each in node.args[PRODUCTS[short_name(node)] :])


def note_calls(graph: Any, code: Any, products: dict[tuple[str, ...], Any]) -> None:
    """Calls in the order in which the code makes them."""
    from torch._inductor import debug

    fused = getattr(debug, "_inductor_triton_kernel_to_post_grad_node_info", {})
    nodes = {node.name: (place, node) for place, node in enumerate(graph.graph.nodes)}
    counted: set[str] = set()  # a product that two kernels compute is one of the program's
    calls = []
    for name, number in HANDLE.findall(getattr(code, "source_code", "")):
        origins = sorted(nodes[each] for each in fused.get(f"{name}:{number}", ()) if each in nodes)
        found = [as_written(node, products) for _, node in origins]
        calls.append(describe_call(name, found, counted))
    if calls:
        setattr(code, NOTE, calls)


def as_written(node: Any, products: dict[tuple[str, ...], Any]) -> Any:
    is_made = short_name(node) in PRODUCTS and not original_operator(node).endswith(tuple(PRODUCTS))
    return products.get(matrices_of(node), node) if is_made else node


def describe_call(name: str, origins: list[Any], counted: set[str]) -> dict[str, Any]:
    operator = operator_of_call(name)
    is_kernel = operator == name
    own = [node for node in origins if name_of_target(node) == operator]
    if short_name_of(operator) in PRODUCTS:
        own = [node for node in origins if short_name(node) in PRODUCTS]
    work = own or [node for node in origins if short_name(node) not in VIEWS] or origins
    return {
        "op": operator,
        "module": common_module(module_of(node) for node in work),
        "aten": unique(map(original_operator, work)),
        "lines": unique(map(line_of, work))[:LINES_MAX],
        "flops": flops_in_kernel(work, counted) if is_kernel else None,
    }


def operator_of_call(name: str) -> str:
    """The name under which a profiler sees what the code calls."""
    if name.startswith("extern_kernels."):
        return "aten::" + name.removeprefix("extern_kernels.")
    parts = name.split(".")
    return f"{parts[2]}::{parts[3]}" if name.startswith("torch.ops.") and len(parts) > 3 else name


def name_of_target(node: Any) -> str:
    """aten::mm; the name of a function where it is none of torch's operators."""
    schema = getattr(node.target, "_schema", None)
    return str(getattr(schema, "name", getattr(node.target, "__name__", node.target)))


def short_name(node: Any) -> str:
    return short_name_of(name_of_target(node))


def short_name_of(operator: str) -> str:
    return operator.rpartition("::")[2]


def original_operator(node: Any) -> str:
    """The operator that the program called, before it was taken apart."""
    original = node.meta.get("original_aten")
    return str(getattr(original, "_overloadpacket", original or name_of_target(node)))


def module_of(node: Any) -> str:
    """Dotted, seen from the compiled function's own module; that itself is ""."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return ""
    path = re.sub(r"\._modules\['([^']+)'\]|\[(\d+)\]", r".\1\2", str(list(stack.values())[-1][0]))
    return re.sub(r"^[A-Z]\['\w+'\]\.?", "", path)


def common_module(modules: Iterable[str]) -> str:
    """The innermost that holds all of them."""
    paths = [module.split(".") for module in modules]
    common: list[str] = []
    for parts in zip(*paths):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return ".".join(common)


def flops_in_kernel(nodes: Iterable[Any], counted: set[str]) -> int | None:
    """Of products that a generated kernel computes itself; None where one of another kind may be in it."""
    flops = 0
    for node in nodes:
        name = short_name(node)
        if node.name in counted:
            continue
        if name in PRODUCTS:
            counted.add(node.name)
            flops += 2 * node.meta["val"].numel() * node.args[PRODUCTS[name]].meta["val"].shape[-1]
        elif name == "mul" and original_operator(node).rpartition(".")[2] in PRODUCTS:
            if all(hasattr(each, "meta") for each in node.args):  # not by a number
                counted.add(node.name)
                flops += 2 * node.meta["val"].numel()
        elif any(word in name for word in OTHER_PRODUCTS):
            return None
    return int(flops)


def line_of(node: Any) -> str:
    """model.py:12: of the program, not of torch."""
    frames = FRAME.findall(node.meta.get("stack_trace") or "")
    if not frames:
        return ""
    path, line = frames[-1]
    return f"{os.path.basename(path)}:{line}"


def unique(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, texts)))


# ----------------------------------------------------------------------------------------------------------------------
# All of them


def describe_compiled_graphs() -> dict[str, Any]:
    """What compiled.json holds of the graphs of this process; {} where nothing is compiled."""
    code = sys.modules.get("torch._inductor.output_code")
    kind = getattr(code, "CompiledFxGraph", None)
    found = [each for each in gc.get_objects() if type(each) is kind] if kind else []
    graphs = {str(each._fx_graph_cache_key): getattr(each, NOTE, None) for each in found}
    if not graphs:
        return {}
    return {
        "schema": "flopledger.compiled",
        "schema_version": SCHEMA_VERSION,
        "graphs": [{"key": key, "calls": calls} for key, calls in graphs.items()],
    }
