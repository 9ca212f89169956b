"""Train a deep network with less memory than it needs: --limit MIB is all that the process may have beside what it has at the start.

python examples/tutorials/out_of_memory.py --batch 64 --limit 400
flopledger run --memory -- python examples/tutorials/out_of_memory.py
"""

import argparse
import resource
from pathlib import Path

import torch
import torch._dynamo  # the first step loads it otherwise, and its memory is not the training's
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

WIDTH = 256
LAYERS = 8
TOKENS = 128  # of each sample


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Network(nn.Module):
    def __init__(self, recomputes: bool) -> None:
        super().__init__()
        self.recomputes = recomputes
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.recomputes else layer(x)
        return x


def limit_memory(mebibytes: int) -> None:
    """Of data, from now on: a stand-in for the size of a GPU's memory."""
    status = Path("/proc/self/status").read_text()
    now = int(status.split("VmData:")[1].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (now + mebibytes * 2**20,) * 2)


def train(batch: int, recomputes: bool, steps: int) -> None:
    torch.manual_seed(0)
    network = Network(recomputes)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4)
    for _ in range(steps):
        samples = torch.randn(batch, TOKENS, WIDTH)
        loss = network(samples).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=8, help="samples of a step")
    parser.add_argument(
        "--checkpoint", action="store_true", help="recompute layers in the backward"
    )
    parser.add_argument("--limit", type=int, help="memory in MiB")
    parser.add_argument("--steps", type=int, default=4, help="training steps")
    arguments = parser.parse_args()
    if arguments.limit:
        limit_memory(arguments.limit)
    train(arguments.batch, arguments.checkpoint, arguments.steps)
    print("trained")
