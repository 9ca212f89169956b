"""Trains where counters of energy stand in for the kernel's and NVIDIA's: 50 W of the processors, 300 W of a GPU. energy_run.py FOLDER"""

import sys
import time
from pathlib import Path
from typing import Any

import torch

from flopledger import energy

CPU_WATTS, GPU_WATTS, TOKENS = 50, 300, 64

domain = Path(sys.argv[1]) / "intel-rapl:0"
domain.mkdir(parents=True)
(domain / "name").write_text("package-0\n")


class Library:
    def nvmlDeviceGetTotalEnergyConsumption(self, device: Any, found: Any) -> int:
        found._obj.value = time.monotonic_ns() * GPU_WATTS // 1_000_000
        return 0


def find_device(self: energy.Nvml) -> None:
    self.library, self.device = Library(), object()


energy.POWERCAP = domain.parent
energy.LOOK_NS = 500_000_000
energy.number_of = lambda path: (
    time.monotonic_ns() * CPU_WATTS // 1000 if path.name == "energy_uj" else 1 << 62
)
energy.Nvml.find_device = find_device  # type: ignore[method-assign]


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(100, 16)
        self.head = torch.nn.Linear(16, 100)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.words(tokens))


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(14):
    time.sleep(float(sys.argv[2]))
    batch = torch.ones(2, TOKENS // 2, dtype=torch.long)
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
