"""Traces in which one list is long: each function of TRACES fills one with n of a thing. long_lists.py has all shapes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOST, THREAD, DEVICE, STREAM = 100, 100, 0, 7
DEVICE_FACTS = {
    "id": 0,
    "name": "NVIDIA H100 80GB HBM3",
    "totalGlobalMem": 85014478848,
    "computeMajor": 9,
    "computeMinor": 0,
    "numSms": 132,
}
BFLOAT = "c10::BFloat16"


@dataclass
class Lines:
    """Events of a torch.profiler trace; times in microseconds."""

    n: int
    facts: dict[str, Any] = field(default_factory=lambda: {"deviceProperties": [DEVICE_FACTS]})
    events: list[dict[str, Any]] = field(default_factory=list)

    def add(self, category: str, name: str, start: float, length: float, /, **more: Any) -> None:
        """`more`: keys of the event; all other words are its args."""
        event = {"ph": "X", "cat": category, "name": name, "pid": HOST, "tid": THREAD}
        event |= {"ts": start, "dur": length}
        args = {}
        for key, value in more.items():
            if key in ("ph", "pid", "tid", "id", "bp"):
                event[key] = value
            else:
                args[key.replace("_", " ")] = value
        self.events.append(event | ({"args": args} if args else {}))

    def work(self, i: int, at: float, length: float = 5, name: str = "k", **more: Any) -> None:
        """A call and the kernel that it launches. `more`: of the kernel."""
        self.add("cuda_runtime", "cudaLaunchKernel", at, 2, correlation=i + 1)
        given = {"pid": DEVICE, "tid": STREAM, "device": 0, "stream": STREAM, "correlation": i + 1}
        self.add("kernel", name, at + 3, length, **(given | more))

    def steps(self, count: int, length: float) -> None:
        for i in range(count):
            self.add("user_annotation", f"ProfilerStep#{i}", i * length, length)

    def write(self, path: Path) -> list[Path]:
        self.events = [{**event, "ts": event["ts"] + 1000} for event in self.events]
        path.write_text(json.dumps(self.facts | {"traceEvents": self.events}))
        return [path]


def of_trace(fill: Callable[[Lines], None]) -> Callable[[int, Path], list[Path]]:
    def make(n: int, folder: Path) -> list[Path]:
        lines = Lines(n)
        fill(lines)
        return lines.write(folder / "trace.json")

    return make


def kernel_names(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.work(i, i * 10, name=f"kernel_{i}")


def operator_names(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.add("cpu_op", f"aten::op_{i}", i * 10, 8, External_id=i)
        t.work(i, i * 10 + 1)


def threads(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.add("cpu_op", "aten::add", i * 10, 9, tid=1000 + i)
        t.work(i, i * 10)


def processes(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.add("process_name", "process_name", 0, 0, ph="M", pid=1000 + i, name=f"python {i}")
        t.add("cpu_op", "aten::add", i * 10, 9, pid=1000 + i, tid=1000 + i)
        t.work(i, i * 10)


def streams(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.work(i, i * 10, 25, tid=i, stream=i)


def devices(t: Lines) -> None:
    t.facts["deviceProperties"] = [DEVICE_FACTS | {"id": i} for i in range(t.n)]
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.work(i, i * 10, pid=i, device=i)


def steps(t: Lines) -> None:
    t.steps(t.n, 20)
    for i in range(t.n):
        t.work(i, i * 20 + 3)


def overlapping_steps(t: Lines) -> None:
    for i in range(t.n):
        t.add("user_annotation", f"ProfilerStep#{i}", i, t.n * 2)
        t.work(i, i * 2)


def nested_steps(t: Lines) -> None:
    for i in range(t.n):
        t.add("user_annotation", f"ProfilerStep#{i}", i, 4 * t.n - 2 * i)
        t.work(i, i * 4)


def nested_operators(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.add("cpu_op", "aten::linear", i, 8 * t.n - 2 * i, External_id=i)
        t.work(i, t.n + i * 6)


def overlapping_operators(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.add("cpu_op", "aten::linear", i * 2, t.n * 4, External_id=i)
        t.work(i, i * 6)


def equal_operators(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.add("cpu_op", "aten::linear", 5, t.n * 8, External_id=i)
        t.work(i, 6 + i * 6)


def overlapping_kernels(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.work(i, i * 4, t.n * 4, tid=STREAM + i % 32, stream=STREAM + i % 32)


def equal_kernels(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.add("cuda_runtime", "cudaLaunchKernel", i * 3, 2, correlation=i)
        t.add("kernel", "k", 50, t.n, pid=0, tid=7, device=0, stream=7, correlation=i)


def equal_correlations(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.work(0, i * 10)


def equal_external_ids(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.add("cpu_op", "aten::mm", i * 10, 8, External_id=1)
        t.work(i, i * 10 + 1, External_id=1)


def equal_sequences(t: Lines) -> None:
    t.steps(3, t.n * 8)
    shapes = {"Input_Dims": [[64, 64], [64, 64]], "Input_type": [BFLOAT, BFLOAT]}
    for i in range(t.n):
        t.add("cpu_op", "aten::mm", i * 10, 8, Sequence_number=5, Fwd_thread_id=0, **shapes)
        name = "autograd::engine::evaluate_function: MmBackward0"
        at, thread = t.n * 10 + i * 10, THREAD + 1
        t.add("cpu_op", name, at, 9, tid=thread, Sequence_number=5, Fwd_thread_id=1)
        t.add("cpu_op", "aten::mm", at + 1, 7, tid=thread, **shapes)
        t.work(i, at + 2)


def flows(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.work(i, i * 10)
        t.add("ac2g", "ac2g", i * 10, 0, ph="s", id=7)
        t.add("ac2g", "ac2g", i * 10 + 4, 0, ph="f", id=7, bp="e")
        t.add("fwdbwd", "fwdbwd", i * 10, 0, ph="s", id=i)


def collective(t: Lines, i: int, group: str, **more: Any) -> None:
    given = {
        "Collective_name": "allreduce",
        "Process_Group_Name": group,
        "Process_Group_Description": group,
        "Process_Group_Ranks": "[0, 1]",
        "Group_size": 2,
        "In_msg_nelems": 4096,
        "Out_msg_nelems": 4096,
        "dtype": "BFloat16",
    }
    t.work(i, i * 10, name="ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", **(given | more))


def groups(t: Lines) -> None:
    t.facts["distributedInfo"] = {"backend": "nccl", "rank": 0, "world_size": 2}
    t.steps(3, t.n * 4)
    for i in range(t.n):
        collective(t, i, str(i))


def large_groups(t: Lines) -> None:
    """Groups of up to n ranks, n of them in all, are written as texts of n numbers: n^(1/2) of each."""
    root = max(1, round(t.n**0.5))
    t.facts["distributedInfo"] = {"backend": "nccl", "rank": 0, "world_size": root}
    t.steps(3, t.n * 4)
    for i in range(root):
        collective(t, i, str(i), Process_Group_Ranks=str(list(range(root))), Group_size=root)


def collectives(t: Lines) -> None:
    t.facts["distributedInfo"] = {"backend": "nccl", "rank": 0, "world_size": 2}
    t.steps(3, t.n * 4)
    for i in range(t.n):
        collective(t, i, "0")


def frames(t: Lines, name: Callable[[int], str], is_nested: bool) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        start, length = (i, 8 * t.n - 2 * i) if is_nested else (i * 8, 7)
        more = {"Python_id": i, "Python_parent_id": i - 1 if is_nested and i else None}
        t.add("python_function", name(i), start, length, **more)
        at = t.n + i * 6 if is_nested else i * 8
        shapes = {"Input_Dims": [[64, 64], [64, 64]], "Input_type": [BFLOAT, BFLOAT]}
        t.add("cpu_op", "aten::mm", at, 6 if not is_nested else 5, External_id=i, **shapes)
        t.work(i, at + 1)


def modules(t: Lines) -> None:
    frames(t, lambda i: f"nn.Module: Block_{i}", False)


def nested_modules(t: Lines) -> None:
    frames(t, lambda i: f"nn.Module: Block_{i}", True)


def nested_frames(t: Lines) -> None:
    frames(t, lambda i: f"model.py({i}): forward", True)


def module_names(t: Lines) -> None:
    frames(t, lambda i: f"nn.Module: Kind{i}_0", False)


def products(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        shapes = {"Input_Dims": [[64, 8 * i], [8 * i, 64]], "Input_type": [BFLOAT, BFLOAT]}
        t.add("cpu_op", "aten::mm", i * 10, 8, External_id=i, **shapes)
        t.work(i, i * 10 + 1, name="nvjet_hsh_128x128_64x4_TNN")


def compiled_region(t: Lines) -> None:
    """One forward and one backward of a compiled model, of n products each."""
    t.steps(3, t.n * 8)
    for turn, region in enumerate(("CompiledFunction", "CompiledFunctionBackward")):
        begin = turn * t.n * 10 + 1
        t.add("cpu_op", region, begin, t.n * 10 - 2, Sequence_number=1, Fwd_thread_id=0)
        for i in range(t.n):
            at = begin + i * 9.5 + 1
            sizes = [[8 * (i + 1), 16], [16, 64]]
            types = [BFLOAT, BFLOAT]
            t.add("cpu_op", "aten::mm", at, 8, Input_Dims=sizes, Input_type=types)
            t.work(turn * t.n + i, at + 1)


def equal_compiled_region(t: Lines) -> None:
    """The same, where all products are equal."""
    compiled_region(t)
    for event in t.events:
        if event["name"] == "aten::mm":
            event["args"]["Input Dims"] = [[16, 16], [16, 64]]


def counters(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.work(i, i * 10)
        t.add("counter", f"GPU {i} Utilization", i * 10, 0, ph="C", value=i)


def memory_events(t: Lines) -> None:
    t.steps(3, t.n * 4)
    given = {"ph": "i", "Device_Type": 1, "Device_Id": 0}
    for i in range(t.n):
        t.add("cpu_op", "aten::empty", i * 10, 8, External_id=i)
        t.work(i, i * 10 + 2)
        at = {"Addr": 512 * i, "Bytes": 512, "Total_Allocated": 512 * i, "Total_Reserved": 1 << 40}
        t.add("cpu_instant_event", "[memory]", i * 10 + 1, 0, **given, **at)


def halves(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.add("cpu_op", "aten::add", i, 0, ph="B")
        t.work(i, i * 10)


def wrong_halves(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.add("cpu_op", f"a{i}", i, 0, ph="B", tid=3)
        t.add("cpu_op", f"a{t.n - i}", i, 0, ph="E", tid=3)
        t.work(i, i * 10)


def annotations(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.add("user_annotation", f"range {i}", i * 10, t.n)
        t.work(i, i * 10)
        t.add("gpu_user_annotation", f"range {i}", i * 10, t.n, pid=0, tid=7)


def waits(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        at = i * 20
        t.work(2 * i, at, tid=7 + i % 9, stream=7 + i % 9)
        t.add("cuda_runtime", "cudaEventRecord", at + 6, 1, correlation=2 * i + 1)
        t.add("cuda_runtime", "cudaStreamWaitEvent", at + 8, 1, correlation=10**6 + i)
        given = {"pid": 0, "tid": 8, "device": 0, "stream": 8}
        more = {"wait_on_stream": 7, "wait_on_cuda_event_id": 3}
        t.add("cuda_sync", "Stream Wait Event", at + 9, 1, **given, **more)
        t.add("cuda_runtime", "cudaStreamSynchronize", at + 12, 4, correlation=2 * 10**6 + i)


def graph_nodes(t: Lines) -> None:
    t.steps(3, t.n * 4)
    t.add("cuda_runtime", "cudaGraphLaunch", 1, 9, correlation=5)
    for i in range(t.n):
        more = {"graph_id": 1, "graph_node_id": i, "correlation": 5}
        t.add("kernel", "k", 20 + i * 10, 8, pid=0, tid=7, device=0, stream=7, **more)


def graphs(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.add("cuda_runtime", "cudaGraphLaunch", i * 10, 4, correlation=i)
        for k in range(2):
            more = {"graph_id": i, "graph_node_id": k, "correlation": i}
            at = 5 + i * 10 + 3 * k
            t.add("kernel", "k", at, 2, pid=0, tid=7, device=0, stream=7, **more)


def copies(t: Lines) -> None:
    t.steps(3, t.n * 4)
    for i in range(t.n):
        t.add("cuda_runtime", "cudaMemcpyAsync", i * 10, 2, correlation=i)
        more = {
            "pid": 0,
            "tid": i % 99,
            "device": 0,
            "stream": i % 99,
            "bytes": i,
            "correlation": i,
        }
        t.add("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", i * 10 + 3, 30, **more)


def inputs_of_one(t: Lines) -> None:
    t.steps(3, 100)
    types = [BFLOAT] * t.n
    t.add("cpu_op", "aten::cat", 1, 50, Input_Dims=[[8, 8]] * t.n, Input_type=types)
    t.work(0, 3)


def data_loader(t: Lines) -> None:
    t.steps(t.n, 20)
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    for i in range(t.n):
        t.add("user_annotation", name, i * 20 + 1, 5)
        t.work(i, i * 20 + 8)
        t.add("user_annotation", "Optimizer.step#AdamW.step", i * 20 + 14, 4)


def properties(t: Lines) -> None:
    kernel_names(Lines(1))
    t.facts["deviceProperties"] = [DEVICE_FACTS | {"id": i, "name": f"d{i}"} for i in range(t.n)]
    t.steps(1, 100)
    t.work(0, 3)


TRACES: list[Callable[[Lines], None]] = [
    kernel_names,
    operator_names,
    threads,
    processes,
    streams,
    devices,
    steps,
    overlapping_steps,
    nested_steps,
    nested_operators,
    overlapping_operators,
    equal_operators,
    overlapping_kernels,
    equal_kernels,
    equal_correlations,
    equal_external_ids,
    equal_sequences,
    flows,
    groups,
    large_groups,
    collectives,
    modules,
    nested_modules,
    nested_frames,
    module_names,
    products,
    compiled_region,
    equal_compiled_region,
    counters,
    halves,
    wrong_halves,
    annotations,
    waits,
    graph_nodes,
    graphs,
    copies,
    inputs_of_one,
    data_loader,
    properties,
]
COMPARED = (kernel_names, operator_names, steps, modules, products)
