"""Train on samples that come slowly: each is read from a store that answers after 8 ms.

flopledger run -- python examples/tutorials/slow_loader.py
flopledger run -- python examples/tutorials/slow_loader.py --workers 2
"""

import argparse
import time

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

FEATURES = 256
CLASSES = 10
BATCH = 16
ANSWER_S = 0.008  # what a disk behind a network takes for a small file


class StoredSamples(Dataset[tuple[Tensor, int]]):
    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        time.sleep(ANSWER_S)
        return torch.full((FEATURES,), index / len(self)), index % CLASSES


def train(workers: int, steps: int) -> None:
    torch.manual_seed(0)
    loader = DataLoader(StoredSamples(), batch_size=BATCH, num_workers=workers)
    hidden = 2 * FEATURES
    model = nn.Sequential(
        nn.Linear(FEATURES, hidden),
        nn.GELU(),
        nn.Linear(hidden, hidden),
        nn.GELU(),
        nn.Linear(hidden, CLASSES),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _, (samples, targets) in zip(range(steps), loader):
        loss = F.cross_entropy(model(samples), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=0, help="processes that load samples")
    parser.add_argument("--steps", type=int, default=14, help="training steps")
    arguments = parser.parse_args()
    train(arguments.workers, arguments.steps)
