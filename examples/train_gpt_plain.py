"""Train the small GPT of train_gpt.py without a line about profiling: `flopledger run` does that from outside.

flopledger run -- python examples/train_gpt_plain.py
flopledger run -- torchrun --nproc-per-node 2 examples/train_gpt_plain.py
"""

import argparse
import os
from pathlib import Path

import torch
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from train_gpt import BATCH, GPT, TextDataset


def train(text: Path, steps: int, device: str) -> None:
    torch.manual_seed(0)
    loader = DataLoader(TextDataset(text), batch_size=BATCH, shuffle=True, drop_last=True)
    model = GPT().to(device)
    if torch.distributed.is_initialized():
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step, (tokens, targets) in enumerate(loader):
        if step == steps:
            break
        tokens, targets = tokens.to(device), targets.to(device)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step:3}  loss {loss.item():.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).resolve().parent
    parser.add_argument("--text", type=Path, default=here.parent / "LICENSE", help="train on this")
    parser.add_argument("--steps", type=int, default=12, help="training steps")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    if "WORLD_SIZE" in os.environ:  # started by torchrun
        torch.distributed.init_process_group()
        if arguments.device == "cuda":
            arguments.device = f"cuda:{os.environ['LOCAL_RANK']}"
    train(arguments.text, arguments.steps, arguments.device)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
