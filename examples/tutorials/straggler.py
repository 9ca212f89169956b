"""Train on several ranks, one of which has more to do: rank --slow prepares its batch for 250 ms more.

flopledger run -- torchrun --nproc-per-node 8 examples/tutorials/straggler.py --slow 5
"""

import argparse
import time

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

WIDTH = 256
BATCH = 16
MORE_S = 0.25


def prepare_batch(is_slow: bool) -> Tensor:
    with torch.profiler.record_function("prepare_batch"):
        if is_slow:
            time.sleep(MORE_S)
        return torch.randn(BATCH, WIDTH)


def train(slow: int, steps: int) -> None:
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = [nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH)]
    model = DistributedDataParallel(nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        batch = prepare_batch(dist.get_rank() == slow)
        loss = F.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.barrier()  # a thread of Gloo's that is still busy when Python ends aborts the process
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slow", type=int, default=-1, help="the rank that has more to do")
    parser.add_argument("--steps", type=int, default=12, help="training steps")
    arguments = parser.parse_args()
    train(arguments.slow, arguments.steps)
