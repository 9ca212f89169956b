"""Train a small GPT on the bytes of a text file: plain PyTorch, without a line about profiling.

    flopledger run -- python examples/train_gpt.py
    flopledger run -- torchrun --nproc-per-node 2 examples/train_gpt.py

`flopledger run` records some steps from outside, and reports on them. No GPU is needed: about ten seconds on two cores.
"""

import argparse
import os
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

VOCABULARY = 256  # a token is a byte
CONTEXT = 128  # tokens the model looks at
WIDTH = 192
HEADS = 6
LAYERS = 4
BATCH = 16


class TextDataset(Dataset[tuple[Tensor, Tensor]]):
    """Every stretch of CONTEXT bytes of a file, with the same stretch one byte later as what to predict."""

    def __init__(self, path: Path) -> None:
        self.tokens = torch.tensor(list(path.read_bytes()), dtype=torch.long)

    def __len__(self) -> int:
        return len(self.tokens) - CONTEXT

    def __getitem__(self, start: int) -> tuple[Tensor, Tensor]:
        stretch = self.tokens[start : start + CONTEXT + 1]
        return stretch[:-1], stretch[1:]


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
            for part in self.query_key_value(x).split(width, dim=2)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.feed_forward_norm = nn.LayerNorm(WIDTH)
        self.feed_forward = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.position_embedding = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.logits = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.token_embedding(tokens) + self.position_embedding(positions)
        for block in self.blocks:
            x = block(x)
        return self.logits(self.norm(x))


def train(text: Path, steps: int, device: str) -> None:
    torch.manual_seed(0)
    loader = DataLoader(TextDataset(text), batch_size=BATCH, shuffle=True, drop_last=True)
    model: nn.Module = GPT().to(device)
    if torch.distributed.is_initialized():
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step, (tokens, targets) in zip(range(1, steps + 1), loader):
        tokens, targets = tokens.to(device), targets.to(device)
        loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 1 or step % 5 == 0:
            print(f"step {step:3}  loss {loss.item():.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).resolve().parent
    parser.add_argument("--text", type=Path, default=here.parent / "LICENSE", help="train on this")
    parser.add_argument("--steps", type=int, default=15, help="training steps")
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
