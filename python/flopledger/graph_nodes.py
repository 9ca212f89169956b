"""The nodes of a CUDA graph that is being captured, as its driver tells them: which kernel each launches, in which order.

A profiler's record of the calls that launch into a capture (CUPTI's) does not say which kernels they launch. The graph does. Only
questions are asked here: nothing of the graph is changed.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

SUCCESS = 0
KERNEL, MEMCPY, MEMSET = 0, 1, 2  # CUgraphNodeType
HOST, EMPTY, WAIT_EVENT, EVENT_RECORD, ALLOCATION, FREE = 3, 5, 6, 7, 10, 11
WITHOUT_WORK = (HOST, EMPTY, WAIT_EVENT, EVENT_RECORD, ALLOCATION, FREE)
IS_CAPTURED = 1  # CU_STREAM_CAPTURE_STATUS_ACTIVE
LONGEST_NAME = 1024  # of one that Kineto demangles

Handle = ctypes.c_void_p


class KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2"""

    _fields_ = [
        ("func", Handle),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_memory", ctypes.c_uint),
        ("parameters", Handle),
        ("extra", Handle),
        ("kern", Handle),
        ("context", Handle),
    ]


@dataclass
class Node:
    """A kernel; without a name it is a copy, or sets memory."""

    name: str = ""
    grid: list[int] = field(default_factory=list)
    block: list[int] = field(default_factory=list)


@dataclass
class CapturedNodes:
    """In the order of the capture."""

    nodes: list[Node]
    is_in_a_row: bool  # each waits for the one in front of it: they run in no other order


class NotTold(Exception):
    """The driver does not tell, or not in a way that is known here."""


class Room:
    """For the answers about one node of so many."""

    def __init__(self, count: int) -> None:
        self.nodes = (Handle * max(1, count))()
        self.edges = (ctypes.c_uint64 * max(1, count))()  # CUgraphEdgeData, of 8 bytes


class GraphDriver:
    def __init__(self, library: Any = None) -> None:
        self.library = library or ctypes.CDLL("libcuda.so.1")

    def ask(self, name: str, *arguments: Any) -> None:
        call = getattr(self.library, name, None)
        if call is None or call(*arguments) != SUCCESS:
            raise NotTold(name)

    def nodes(self, stream: int) -> CapturedNodes:
        """Of the graph that the stream is captured into, in an order in which each stands behind what it waits for."""
        handles = self.handles(self.graph_of(stream))
        room = Room(len(handles))
        ends: dict[int, int] = {}  # how many with work have ended where a node has
        nodes: list[Node] = []
        is_in_a_row = True
        for handle in handles:
            waits = self.before(handle, room)
            if any(before not in ends for before in waits):
                raise NotTold("the order of the nodes")
            ended = max((ends[before] for before in waits), default=0)
            node = self.node(handle)
            if node is not None:
                is_in_a_row &= ended == len(nodes)
                nodes.append(node)
                ended = len(nodes)
            ends[handle] = ended
        return CapturedNodes(nodes, is_in_a_row)

    def graph_of(self, stream: int) -> Any:
        status, number, graph = ctypes.c_int(), ctypes.c_uint64(), Handle()
        dependencies, count = Handle(), ctypes.c_size_t()
        outs = [ctypes.byref(each) for each in (status, number, graph, dependencies, count)]
        try:
            self.ask("cuStreamGetCaptureInfo_v2", Handle(stream), *outs)
        except NotTold:  # where edges have data
            edges = ctypes.byref(Handle())
            self.ask("cuStreamGetCaptureInfo_v3", Handle(stream), *outs[:4], edges, outs[4])
        if status.value != IS_CAPTURED:
            raise NotTold("the capture")
        return graph

    def handles(self, graph: Any) -> list[int]:
        count = ctypes.c_size_t()
        self.ask("cuGraphGetNodes", graph, None, ctypes.byref(count))
        found = (Handle * max(1, count.value))()
        self.ask("cuGraphGetNodes", graph, found, ctypes.byref(count))
        return [int(handle or 0) for handle in found[: count.value]]

    def before(self, handle: int, room: Room) -> list[int]:
        """What a node waits for. Its edges are always asked for with it: kernels that begin before the one in front has ended have
        data on theirs, and a question without room for that is refused, one for the number alone too.
        """
        count = ctypes.c_size_t(len(room.nodes))
        given = (Handle(handle), room.nodes)
        for name, edges in (
            ("cuGraphNodeGetDependencies_v2", (room.edges,)),
            ("cuGraphNodeGetDependencies", ()),  # of a driver before 12.3, whose edges have no data
        ):
            count = ctypes.c_size_t(len(room.nodes))
            try:
                self.ask(name, *given, *edges, ctypes.byref(count))
            except NotTold:
                continue
            return [int(each or 0) for each in room.nodes[: count.value]]
        # Captured nodes come in the order of their calls, and a report holds names beside those of the replay: this is one check more.
        return []

    def node(self, handle: int) -> Node | None:
        """None where it has no work for the device."""
        kind = ctypes.c_int()
        self.ask("cuGraphNodeGetType", Handle(handle), ctypes.byref(kind))
        if kind.value in (MEMCPY, MEMSET):
            return Node()
        if kind.value in WITHOUT_WORK:
            return None
        if kind.value != KERNEL:  # a graph within, or one that is conditional
            raise NotTold("a node of another kind")
        told = KernelNode()
        self.ask("cuGraphKernelNodeGetParams_v2", Handle(handle), ctypes.byref(told))
        name = ctypes.c_char_p()
        if told.func:
            self.ask("cuFuncGetName", ctypes.byref(name), Handle(told.func))
        else:
            self.ask("cuKernelGetName", ctypes.byref(name), Handle(told.kern))
        return Node(demangled(name.value or b""), list(told.grid), list(told.block))


def demangled(name: bytes) -> str:
    """As Kineto writes names of kernels."""
    if len(name) >= LONGEST_NAME or not name.startswith(b"_Z"):
        return name.decode(errors="replace")
    library = ctypes.CDLL("libstdc++.so.6")
    library.__cxa_demangle.restype = Handle
    status = ctypes.c_int()
    text = library.__cxa_demangle(name, None, None, ctypes.byref(status))
    if not text:
        return name.decode(errors="replace")
    try:
        return ctypes.string_at(text).decode(errors="replace")
    finally:
        free = ctypes.CDLL(None).free
        free.argtypes = [Handle]
        free(text)
