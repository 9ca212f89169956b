"""A training whose forward and backward are captured and replayed, with stand-ins for CUDA: graphed_training.py WAY

WAY: eager, graph (torch.cuda.graph around a step), callables (make_graphed_callables), several (a capture that raises, then graphs of
pieces), inference (no optimizer; steps are calls of the module). What is captured runs on the CPU once; a replay computes
nothing, as a profiler sees it. The calls that launch kernels, and the graph's nodes, are added to what the recorder saves of a capture.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

STEPS = 10
WIDTH = 16
WITH_KERNEL = {
    f"aten::{name}"
    for name in (
        "addmm mm gelu gelu_backward add add_ sum normal_ _log_softmax _log_softmax_backward_data nll_loss_forward "
        "nll_loss_backward copy_ fill_ zero_"
    ).split()
}


class StandInGraph:
    def capture_begin(self, *pool: Any, **options: Any) -> None:
        pass

    def capture_end(self) -> None:
        pass

    def replay(self) -> None:
        pass

    def pool(self) -> None:
        return None


def stand_in_for_cuda() -> None:
    cuda: Any = torch.cuda
    cuda.CUDAGraph = cuda.graphs.CUDAGraph = StandInGraph
    cuda.synchronize = cuda.empty_cache = lambda *device: None
    cuda.Stream = lambda *arguments, **options: contextlib.nullcontext()
    cuda.stream = lambda stream: contextlib.nullcontext()
    cuda.current_stream = lambda *device: StandInStream()
    cuda.graphs.graph_pool_handle = lambda: None
    if not hasattr(torch._C, "_host_emptyCache"):
        setattr(torch._C, "_host_emptyCache", lambda: None)


def stand_in_for_cupti() -> None:
    """In the recorder: a capture has the calls that launch kernels, and its driver tells which."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "gpu"))
    from flopledger import graph_captures
    from simulated_device import SimulatedDevice

    nodes: list[Any] = []
    save = graph_captures.ProfilerSession.save

    def save_with_launches(session: Any, path: str) -> None:
        save(session, path)
        if "graph_capture" not in path:
            return
        trace = json.loads(Path(path).read_text())
        device = SimulatedDevice(trace, 1, False)
        workers = operators_with_kernels(device)
        spans = [device.times_of(operator) for operator in workers]
        where = {"pid": workers[0]["pid"], "tid": workers[0]["tid"]}
        device.add("cuda_runtime", "cudaStreamBeginCapture", spans[0][0] - 900, 5, **where)
        for operator, (start, _) in zip(workers, spans):
            # as autograd waits for an event of the stream that it is on
            device.add("cuda_runtime", "cudaStreamWaitEvent", start - 500, 1, **where)
            device.launch(operator, start + 1, 1)
        device.add("cuda_runtime", "cudaStreamEndCapture", spans[-1][1] + 900, 5, **where)
        trace["traceEvents"] += device.events
        Path(path).write_text(json.dumps(trace))
        nodes[:] = [
            graph_captures.Node(
                f"kernel_of_{each['name']}_{place % 3}", [place + 1, 1, 1], [64, 1, 1]
            )
            for place, each in enumerate(workers)
        ]

    def see_nodes(captures: Any) -> None:
        captures.nodes = graph_captures.CapturedNodes(nodes, is_in_a_row=True)

    graph_captures.ProfilerSession.save = save_with_launches  # type: ignore[method-assign]
    graph_captures.GraphCaptures.see_nodes = see_nodes  # type: ignore[method-assign]


def operators_with_kernels(device: Any) -> list[Any]:
    """In the order of their starts; what runs inside of one has no kernel of its own."""
    chosen: list[Any] = []
    events = [event for event in device.trace["traceEvents"] if event.get("name") in WITH_KERNEL]
    for event in sorted(events, key=lambda event: float(event["ts"])):
        if not chosen or device.times_of(event)[0] >= device.times_of(chosen[-1])[1]:
            chosen.append(event)
    return chosen


class StandInStream:
    cuda_stream = 0

    def wait_stream(self, other: Any) -> None:
        pass


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Any:
        return x + self.down(functional.gelu(self.up(x)))


def main() -> None:
    way = sys.argv[1]
    stand_in_for_cuda()
    if "FLOPLEDGER_CAPTURE" in os.environ:
        stand_in_for_cupti()
    torch.manual_seed(0)
    model = nn.Sequential(Block(), Block(), nn.Linear(WIDTH, 8, bias=False))
    data, target = torch.randn(4, WIDTH), torch.arange(4)
    if way == "inference":
        infer(model, data)
        return
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(called: Any = model) -> None:
        optimizer.zero_grad()
        functional.cross_entropy(called(data), target).backward()

    run: Any = step
    step()
    optimizer.step()
    if way == "callables":
        called = torch.cuda.make_graphed_callables(model, (data,))
        run = lambda: step(called)  # noqa: E731
    elif way == "several":
        try:
            capture(lambda: 1 // 0)
        except ArithmeticError:
            print("the first capture failed")
        for block in model:
            capture(lambda block=block: block(torch.randn(4, WIDTH)))
    elif way != "eager":
        run = capture(step).replay
    for _ in range(STEPS):
        run()
        optimizer.step()


def infer(model: nn.Module, data: Tensor) -> None:
    with torch.no_grad():
        graph = capture(lambda: model(data))
        for _ in range(STEPS):
            with torch.profiler.record_function("serve"):
                graph.replay()


def capture(work: Any) -> Any:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


if __name__ == "__main__":
    main()
