"""Records where a CUDA graph is captured, and then its replays: graph_probe.py CAPTURE REPLAY, two traces of torch.profiler."""

from __future__ import annotations

import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function

STEPS = 5
ACTIVITIES = [ProfilerActivity.CPU, ProfilerActivity.CUDA]


def main() -> None:
    capture, replay = sys.argv[1:]
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(2048, 2048), nn.GELU()) for _ in range(6)]
    model = nn.Sequential(*layers).to("cuda", torch.bfloat16).eval()
    given = torch.randn(512, 2048, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                model(given)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with (
            profile(activities=ACTIVITIES, record_shapes=True) as recorded,
            torch.cuda.graph(graph),
        ):
            model(given)
        recorded.export_chrome_trace(capture)
        graph.replay()
        torch.cuda.synchronize()
        with profile(activities=ACTIVITIES, record_shapes=True) as recorded:
            for step in range(STEPS):
                with record_function(f"ProfilerStep#{step}"):
                    graph.replay()
        recorded.export_chrome_trace(replay)


if __name__ == "__main__":
    main()
