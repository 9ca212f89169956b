"""Trains with `SimpleMemoryProfiler` as a program written for InternEvo's does: internevo_loop.py FOLDER"""

import sys

import torch
from torch import nn

from flopledger import SimpleMemoryProfiler


class Model(nn.Module):
    """With an LSTM, whose tuple InternEvo's profiler refuses, and a layer that is called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(32, 32, batch_first=True)
        self.twice = nn.Linear(32, 32)
        self.head = nn.Linear(32, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h, _ = self.lstm(x)
        return self.head(torch.relu(self.twice(torch.relu(self.twice(h)))))


torch.manual_seed(0)
model = Model()
optimizer = torch.optim.AdamW(model.parameters())
profiler = SimpleMemoryProfiler(model, optimizer, sys.argv[1], total_steps=2)
try:
    profiler.point("weights")
except ValueError as error:
    print(error)
for step in range(3):
    for _ in range(2):
        model(torch.ones(4, 16, 32)).sum().backward()
    if step == 1:
        profiler.point("params,os_state")
    optimizer.step()
    optimizer.zero_grad()
    profiler.step()
print("parameters", sum(p.numel() * p.element_size() for p in model.parameters()))
