"""What torch.compile made of a model: which operators, lines and modules each call in its code stands for (--compiled).

Inductor's own provenance tells which nodes of the graph a kernel was fused from; the nodes know the operator, the line and the
module that they came from, in a backward those of the forward. Both are gone when the program runs, so they are noted when a graph
is compiled, as an attribute of its code: so they come back with it from inductor's cache. Its keys do not know of lines and modules:
the same graph of another model, or of one whose file has changed, would come back with what was noted of the first. So they are made
part of the keys. Nothing else is compiled than without us.
"""

from __future__ import annotations

import base64
import gc
import hashlib
import importlib
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

from flopledger.models import modules_alive
from flopledger.module_finder import await_module

COMPILER = "torch._inductor.compile_fx"
COMPILES = "fx_codegen_and_compile"
# What makes the keys of the caches, of the graph that is its first argument.
KEYS = {
    "torch._inductor.codecache": "compiled_fx_graph_hash",
    "torch._functorch._aot_autograd.autograd_cache": "autograd_cache_key",
}
KERNELS = "torch._inductor.codegen.cpp"
NOTE = "flopledger_calls_4"  # new with what is noted, for what is in caches
SCHEMA_VERSION = 1
PLACES_LENGTH = 20

HANDLE = re.compile(r"\[Provenance debug handles\] (\S+):(\d+)$", re.MULTILINE)
OWN_MODULE = re.compile(r"L\['\w+'\]\.")  # what a method of a module calls: parts of the module
FRAME = re.compile(r'^ *File "(.+)", line (\d+)', re.MULTILINE)
LINES_MAX = 16  # of one kernel

# What a node may be and still say nothing of the work: it is how tensors are looked at.
VIEWS = frozenset(
    "alias as_strided detach expand permute reshape select slice split split_with_sizes squeeze t transpose unsqueeze view "
    "_unsafe_view _reshape_alias getitem".split()
)

# Where the first matrix stands in the arguments. A small one is taken apart, into a product by elements and a sum.
PRODUCTS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}
FLEX = "flex_attention"
# Words of the names of others.
OTHER_PRODUCTS = frozenset(
    "mm mv dot convolution conv1d conv2d conv3d attention linear matmul lstm gru rnn".split()
)


def watch_compiler() -> None:
    """Whatever is compiled from here on is noted."""
    module = sys.modules.get(COMPILER)
    if module is not None:
        note_what_is_compiled(module)
    else:
        await_module(COMPILER, note_what_is_compiled)


def note_what_is_compiled(module: ModuleType) -> None:
    original: Callable[..., Any] | None = getattr(module, COMPILES, None)
    if original is None or not all(map(put_places_in_keys, KEYS)):
        return  # another version of torch: its code stays unknown

    bytes_of: dict[str, int] = {}  # of the kernels in C++ of the graph that is compiled
    unless_strange(note_bytes, importlib.import_module(KERNELS), bytes_of)

    def compile_and_note(graph: Any, *arguments: Any, **keywords: Any) -> Any:
        bytes_of.clear()
        products = unless_strange(WrittenProducts, graph)
        code = original(graph, *arguments, **keywords)
        if products is not None:
            unless_strange(note_calls, graph, code, products, bytes_of)
        return code

    setattr(module, COMPILES, compile_and_note)


def unless_strange(ask: Callable[..., Any], *arguments: Any) -> Any:
    """None in another version of torch: its code stays unknown, and that is said."""
    try:
        return ask(*arguments)
    except Exception:
        return None


def put_places_in_keys(name: str) -> bool:
    module = importlib.import_module(name)
    original: Callable[..., Any] | None = getattr(module, KEYS[name], None)
    if original is None:
        return False

    def key_with_places(graph: Any, *arguments: Any, **keywords: Any) -> Any:
        made = original(graph, *arguments, **keywords)
        return unless_strange(with_places, made, graph) or made

    setattr(module, KEYS[name], key_with_places)
    return True


def with_places(made: tuple[str, Any], graph: Any) -> tuple[str, Any]:
    key, lines = made
    places = digest_of_places(graph)
    return f"{key[:-len(places)]}{places}", lines


def digest_of_places(graph: Any) -> str:
    """In the letters of inductor's keys."""
    nodes = getattr(getattr(getattr(graph, "gm", graph), "graph", None), "nodes", ())
    places = [(node.name, place_of(node), line_of(node)) for node in nodes]
    digest = hashlib.sha256(repr((NOTE, places)).encode()).digest()
    return base64.b32encode(digest)[:PLACES_LENGTH].decode().lower()


# ----------------------------------------------------------------------------------------------------------------------
# One graph


def calls_in(nodes: Iterable[Any]) -> Iterator[Any]:
    """Without what is given: that goes by the names of operators, too."""
    return (node for node in nodes if node.op == "call_function")


class WrittenProducts:
    """Those of a graph before it is compiled: inductor makes one with a sum (mm, add) into another, which forgets the module."""

    def __init__(self, graph: Any) -> None:
        nodes = getattr(getattr(graph, "graph", None), "nodes", ())
        products = [node for node in calls_in(nodes) if short_name(node) in PRODUCTS]
        self.by_matrices = {matrices_of(node): node for node in products}
        self.sizes = {node.name: sizes_of(node) for node in products}  # gone with the node


def matrices_of(node: Any) -> tuple[str, ...]:
    return tuple(str(each) for each in node.args[PRODUCTS[short_name(node)] :])


@dataclass
class CompiledGraph:
    is_backward: bool
    counted: set[str]  # products: one that two kernels compute is one of the program's
    templates: set[str]  # kernels
    sizes: dict[str, tuple[Any, ...]]  # of products as they were written

    def computes(self, kernel: str, node: Any) -> bool:
        """Kernels beside that of flex_attention lay out the blocks of its mask."""
        return node.name not in self.counted and (
            short_name(node) != FLEX or kernel in self.templates or "_tem_" in kernel
        )


def templates_in(source: str) -> set[str]:
    """Those of inductor in C++, which keep a name of their own."""
    bodies = re.split(r"^(\w+) = async_compile\.", source, flags=re.MULTILINE)
    return {name for name, body in zip(bodies[1::2], bodies[2::2]) if "void kernel(" in body}


def note_calls(graph: Any, code: Any, products: WrittenProducts, bytes_of: dict[str, int]) -> None:
    """Calls in the order in which the code makes them."""
    from torch._inductor import debug

    fused = getattr(debug, "_inductor_triton_kernel_to_post_grad_node_info", {})
    nodes = {node.name: (place, node) for place, node in enumerate(graph.graph.nodes)}
    is_backward = any(tag_of(node) == "is_backward" for _, node in nodes.values())
    source = getattr(code, "source_code", "")
    found = []
    for name, number in HANDLE.findall(source):
        origins = sorted(nodes[each] for each in fused.get(f"{name}:{number}", ()) if each in nodes)
        written = [
            as_written(node, products.by_matrices) for node in calls_in(node for _, node in origins)
        ]
        found.append((name, written, bytes_of.get(f"{name}:{number}")))
    # A product is computed once, and by a library if one is called for it: a kernel may lay out its matrices.
    counted = {
        node.name
        for name, origins, _ in found
        for node in origins
        if operator_of_call(name) != name and short_name(node) in PRODUCTS
    }
    compiled = CompiledGraph(is_backward, counted, templates_in(source), products.sizes)
    calls = [
        describe_call(name, origins, compiled) | ({} if size is None else {"bytes": size})
        for name, origins, size in found
    ]
    if calls:
        is_dynamic = any("sizes" in part for call in calls for part in call.get("products", ()))
        noted: dict[str, Any] = {"calls": calls}
        if is_dynamic:
            noted["inputs"] = [
                text_of_argument(node) for _, node in nodes.values() if node.op == "placeholder"
            ]
        setattr(code, NOTE, noted)


def as_written(node: Any, products: dict[tuple[str, ...], Any]) -> Any:
    if short_name(node) in PRODUCTS:
        is_made = not original_operator(node).endswith(tuple(PRODUCTS))
        return products.get(matrices_of(node), node) if is_made else node
    if tag_of(node) or not is_taken_apart(node):
        return node
    matrices = {str(each) for each in node.args}
    like = [each for names, each in products.items() if not matrices.isdisjoint(names)]
    return like[0] if len(like) == 1 else node


def is_taken_apart(node: Any) -> bool:
    """A small product, which became one of elements and a sum."""
    is_product = original_operator(node).rpartition(".")[2] in PRODUCTS
    # some are by a number
    return is_product and short_name(node) == "mul" and all(hasattr(a, "meta") for a in node.args)


def describe_call(name: str, origins: list[Any], compiled: CompiledGraph) -> dict[str, Any]:
    operator = operator_of_call(name)
    is_kernel = operator == name
    own = [node for node in origins if name_of_target(node) == operator]
    if short_name_of(operator) in PRODUCTS:
        own = [node for node in origins if short_name(node) in PRODUCTS]
    work = own or [node for node in origins if short_name(node) not in VIEWS] or origins
    products = products_in_kernel(name, work, compiled) if is_kernel else None
    call = {
        "op": operator,
        **common_place(work),
        "aten": unique(map(original_operator, work)),
        "lines": unique(map(line_of, work))[:LINES_MAX],
        "flops": sum_of_products(products),
    }
    shapes = shapes_of_arguments(own) if not is_kernel else []
    if shapes:
        call["shapes"] = shapes
    if compiled.is_backward and work and all(map(tag_of, work)):
        call["again"] = all(map(is_of_forward, work))
    if products:
        call["products"] = [
            {
                **common_place([node]),
                **({"sizes": flops} if isinstance(flops, str) else {"flops": flops}),
                "again": compiled.is_backward and is_of_forward(node),
            }
            for node, flops in products
        ]
    return call


def tag_of(node: Any) -> str:
    """Which of the two graphs of a training step a node was traced for; "" where that is not known."""
    return str(node.meta.get("partitioner_tag") or "")


def is_of_forward(node: Any) -> bool:
    """In a backward: it is computed again."""
    return tag_of(node) == "is_forward"


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


class Place(NamedTuple):
    """Where a node is in the program's modules."""

    module: str  # dotted, seen from the compiled function's own module; that itself is ""
    origin: str  # what the code calls the outermost module that it calls
    root: str  # its class
    inner: str  # dotted, seen from there


def place_of(node: Any) -> Place:
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return Place("", "", "", "")
    calls = list(stack.values())
    origin, innermost = (dotted_path(path) for path in (calls[0][0], calls[-1][0]))
    root = getattr(calls[0][1], "__name__", "")
    inner = innermost[len(origin) :].lstrip(".") if innermost.startswith(origin) else ""
    own = OWN_MODULE.match(origin)
    return Place(innermost[own.end() :] if own else "", origin, root, inner)


def dotted_path(path: str) -> str:
    """L['self'].layers.0 of L['self']._modules['layers'][0]."""
    return re.sub(r"\._modules\['([^']+)'\]|\[(\d+)\]", r".\1\2", path)


def common_place(nodes: Iterable[Any]) -> dict[str, str]:
    """The innermost module that holds all of them."""
    places = [place_of(node) for node in nodes]
    common = {"module": common_module(place.module for place in places)}
    if places and places[0].root and len({place.origin for place in places}) == 1:
        inner = common_module(place.inner for place in places)
        common |= {"root": places[0].root, "inner": inner}
    return common


def common_module(modules: Iterable[str]) -> str:
    paths = [module.split(".") for module in modules]
    common: list[str] = []
    for parts in zip(*paths):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return ".".join(common)


def products_in_kernel(
    kernel: str, nodes: Iterable[Any], compiled: CompiledGraph
) -> list[tuple[Any, int | str]] | None:
    """With the FLOPs of each that a generated kernel computes itself; None where they are not known: one of another kind may be
    in it. With dynamic shapes they are those of each call: "2*s77*64"."""
    products: list[tuple[Any, int | str]] = []
    for node in nodes:
        if not compiled.computes(kernel, node):
            continue
        sizes = compiled.sizes.get(node.name) or sizes_of(node)
        if not sizes and not OTHER_PRODUCTS.isdisjoint(re.split(r"[_.:]+", short_name(node))):
            return None
        factors = [text_of_size(size) for size in sizes]
        if not all(factors):
            return None
        compiled.counted.add(node.name)
        if all(type(size) is int for size in sizes):
            products.extend([(node, math.prod(sizes))] if sizes else [])
        else:
            products.append((node, "*".join(factors)))
    return products


def sum_of_products(products: list[tuple[Any, int | str]] | None) -> int | None:
    """None where they are those of each call."""
    counts = [flops for _, flops in products or () if isinstance(flops, int)]
    return sum(counts) if products is not None and len(counts) == len(products) else None


def text_of_size(size: Any) -> str:
    """A size as a product of numbers and symbols, "16*s77"; "" of any other."""
    if type(size) is int:
        return str(size)
    expression = getattr(getattr(size, "node", None), "expr", None)
    if expression is None:
        return ""
    words: list[str] = []
    for factor in expression.as_ordered_factors():
        base, power = factor.as_base_exp()
        if factor.is_Integer and factor > 0:
            words.append(str(factor))
        elif base.is_Symbol and power.is_Integer and power > 0:
            words.extend([str(base)] * int(power))
        else:
            return ""
    return "*".join(words)


def shapes_of_arguments(nodes: list[Any]) -> list[str]:
    """Of a call with symbols among the sizes that it is given: they tell what the symbols stand for in a run."""
    if len(nodes) != 1:
        return []
    shapes = [text_of_argument(each) for each in nodes[0].args]
    return shapes if re.search("[a-z]", "".join(shapes)) else []


def text_of_argument(argument: Any) -> str:
    """ "s77,3" of a tensor, "=s77" of a number that is one of its symbols, "" of what says nothing."""
    value = getattr(argument, "meta", {}).get("val")
    if hasattr(value, "shape"):
        sizes = [text_of_size(size) for size in value.shape]
        return ",".join(sizes) if all(sizes) else ""
    number = text_of_size(value)
    return f"={number}" if re.search("[a-z]", number) else ""


def sizes_of(node: Any) -> tuple[Any, ...]:
    """Of which the FLOPs of a product are one; () of anything else."""
    name = short_name(node)
    if name in PRODUCTS:
        return (2, *shape_of(node), shape_of(node.args[PRODUCTS[name]])[-1])
    if is_taken_apart(node):
        return (2, *shape_of(node))
    if name == FLEX:  # each query with each key, in the sizes of keys and of values
        queries, keys, values = map(shape_of, node.args[:3])
        return (2, *queries[:-1], keys[-2], keys[-1] + values[-1])
    return ()


def shape_of(node: Any) -> Any:
    return node.meta["val"].shape


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
# What a kernel in C++ reads and writes


def note_bytes(module: ModuleType, bytes_of: dict[str, int]) -> None:
    """By the handle that a kernel's call has just been given."""
    from torch._inductor import debug

    original = module.KernelGroup.call_kernel

    def call_and_note(group: Any, wrapper: Any, name: str) -> Any:
        size = unless_strange(bytes_of_kernel, group)
        if size is not None:
            bytes_of[f"{name}:{debug._inductor_kernel_provenance_debug_handle}"] = size
        return original(group, wrapper, name)

    module.KernelGroup.call_kernel = call_and_note


def bytes_of_kernel(group: Any) -> int | None:
    """Of each buffer from outside that it reads, and of each that it leaves behind, once; None where that is not known."""
    from torch._inductor.virtualized import V

    nodes = [node.read_writes for node in group.scheduled_nodes]
    real = V.graph.scheduler.mutation_real_name
    written = {access.name for node in nodes for access in node.writes}
    reads = {access for node in nodes for access in node.reads if access.name not in written}
    writes = {access for node in nodes for access in node.writes}
    total = 0
    for accesses in (reads, writes):
        by_buffer: dict[str, list[Any]] = {}
        for access in accesses:
            argument = argument_of(group.args, real.get(access.name, access.name))
            if argument is not None:
                by_buffer.setdefault(argument, []).append(access)
        for each in by_buffer.values():
            elements = elements_accessed(each, int(V.graph.get_numel(each[0].name)))
            if elements is None:
                return None
            total += elements * int(V.graph.get_dtype(each[0].name).itemsize)
    return total


def argument_of(arguments: Any, name: str) -> str | None:
    """What stands in one place goes by one name; None where it lives in registers alone."""
    for kind in (arguments.inplace_buffers, arguments.output_buffers, arguments.input_buffers):
        found = getattr(kind.get(name), "inner_name", kind.get(name))
        if isinstance(found, str):
            return found
    return None


def elements_accessed(accesses: list[Any], elements: int) -> int | None:
    """Of a buffer with so many: where it is read in several ways, only all are known. What is read by indices is read once for each
    of them."""
    if any(type(each).__name__ != "MemoryDep" for each in accesses):
        return None
    by_indices = any(each.is_indirect() for each in accesses)
    ways = {(str(each.index), tuple(map(int, each.size))): each for each in accesses}
    most = max(
        math.prod(map(int, each.size)) if by_indices else int(each.get_numel())
        for each in ways.values()
    )
    if most >= elements and not by_indices:
        return elements
    return most if len(ways) == 1 else None


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
    forget_doubtful_roots(
        [call for noted in graphs.values() for call in (noted or {"calls": ()})["calls"]]
    )
    return {
        "schema": "flopledger.compiled",
        "schema_version": SCHEMA_VERSION,
        "graphs": [{"key": key, **(noted or {"calls": None})} for key, noted in graphs.items()],
    }


def forget_doubtful_roots(calls: list[dict[str, Any]]) -> None:
    """A class tells which module it is only where there is one of it: not of a teacher beside a student."""
    alive = Counter(type(module).__name__ for module in modules_alive())
    for call in calls:
        for place in (call, *call.get("products", ())):
            if alive[place.get("root", "")] != 1:
                place.pop("root", None)
                place.pop("inner", None)
