"""Small models that are trained or evaluated, as they are or compiled: compiled_models.py MODEL train|eval eager|compiled

What they compute does not depend on the data, so that a compiled model has the FLOPs of the eager one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

STEPS = 8
WORDS, LENGTH, WIDTH = 64, 16, 32


class Attention(nn.Module):
    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        size = (*x.shape[:2], self.heads, WIDTH // self.heads)
        q, k, v = (each.view(size).transpose(1, 2) for each in self.qkv(x).split(WIDTH, 2))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(mixed.transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = Attention(4)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x).flatten(0, 1)


class Residual(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outer)
        self.short = nn.Conv2d(inner, outer, 1, stride) if stride > 1 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(y)) + self.short(x))


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 1, 1)
        self.layers = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2))
        self.head = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.layers(self.stem(x)).mean((2, 3)))


class Moe(nn.Module):
    """Each expert sees all tokens, weighted by the router's choice of two."""

    def __init__(self) -> None:
        super().__init__()
        self.before = nn.Linear(16, WIDTH)
        self.router = nn.Linear(WIDTH, 3, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH)) for _ in range(3)
        )
        self.after = nn.Linear(WIDTH, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.before(x)
        weights, chosen = self.router(x).softmax(-1).topk(2)
        gate = torch.zeros(x.shape[0], len(self.experts)).scatter(1, chosen, weights)
        mixed = [gate[:, i : i + 1] * expert(x) for i, expert in enumerate(self.experts)]
        return self.after(x + torch.stack(mixed).sum(0))


class Small(nn.Module):
    """Of one sample: products so small that a kernel computes several of them."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(16, 8)
        self.gate = nn.Linear(8, 1)
        self.outer = nn.Linear(8, 10)

    def forward(self, x: Tensor) -> Tensor:
        y = self.inner(x)
        norm = torch.bmm(y[:, None, :], y[:, :, None]).squeeze(-1)
        return self.outer(y * torch.sigmoid(self.gate(y)) + norm)


class Shared(nn.Module):
    """A module in two places."""

    def __init__(self) -> None:
        super().__init__()
        self.before = nn.Linear(16, WIDTH)
        self.same = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU())
        self.box = nn.Sequential(nn.Sequential(self.same, nn.Tanh()), nn.Linear(WIDTH, WIDTH))
        self.after = nn.Linear(WIDTH, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.after(self.box(self.same(self.before(x))))


MODELS: dict[str, tuple[type[nn.Module], Callable[[], Tensor], int]] = {
    "gpt": (Gpt, lambda: torch.randint(WORDS, (4, LENGTH)), WORDS),
    "resnet": (ResNet, lambda: torch.randn(4, 3, 16, 16), 10),
    "moe": (Moe, lambda: torch.randn(64, 16), 10),
    "small": (Small, lambda: torch.randn(1, 16), 10),
    "shared": (Shared, lambda: torch.randn(64, 16), 10),
    "function": (Shared, lambda: torch.randn(64, 16), 10),
}


def main() -> None:
    name, mode, form = sys.argv[1:]
    torch.manual_seed(0)
    kind, make_batch, classes = MODELS[name]
    model = kind().train(mode == "train")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def scaled(x: Tensor) -> Tensor:
        return model(x) * 0.5

    called = scaled if name == "function" else model
    if form == "compiled":
        called = torch.compile(called)
    batch = make_batch()
    for _ in range(STEPS):
        with torch.set_grad_enabled(mode == "train"):
            output = called(batch)
            loss = functional.cross_entropy(output, torch.arange(len(output)) % classes)
        if mode == "train":
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"{loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
