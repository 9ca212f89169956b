"""Train a small transformer whose attention is written out by hand, or is one fused call.

flopledger run -- python examples/tutorials/transformer.py
flopledger run -- python examples/tutorials/transformer.py --fused
"""

import argparse

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH = 256
HEADS = 8
LAYERS = 2
CONTEXT = 512
BATCH = 2
VOCABULARY = 1024


class Attention(nn.Module):
    def __init__(self, is_fused: bool) -> None:
        super().__init__()
        self.is_fused = is_fused
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        query, key, value = (
            part.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
            for part in self.query_key_value(x).split(width, dim=2)
        )
        if self.is_fused:
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:  # a matrix of CONTEXT x CONTEXT for each head, read and written five times
            scores = query @ key.transpose(2, 3) / (width // HEADS) ** 0.5
            hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
            weights = scores.masked_fill(hidden, float("-inf")).softmax(dim=3)
            mixed = F.dropout(weights, 0.0) @ value
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, is_fused: bool) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH)
        self.attention = Attention(is_fused)
        self.feed_forward_norm = nn.LayerNorm(WIDTH)
        self.feed_forward = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class Transformer(nn.Module):
    def __init__(self, is_fused: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.Sequential(*(Block(is_fused) for _ in range(LAYERS)))
        self.logits = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.logits(self.blocks(self.embedding(tokens)))


def train(is_fused: bool, steps: int) -> None:
    torch.manual_seed(0)
    model = Transformer(is_fused)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(steps):
        tokens = torch.randint(VOCABULARY, (BATCH, CONTEXT))
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.roll(-1, 1).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fused", action="store_true", help="one fused call of attention")
    parser.add_argument("--steps", type=int, default=9, help="training steps")
    arguments = parser.parse_args()
    train(arguments.fused, arguments.steps)
