"""Trains a small model in one of several ways, and prints after each step what the allocator held: one JSON object a line.

Run with allocation_shim.so preloaded, whose figures these are; without it only the model's own sums are printed.
"""

import ctypes
import json
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

WIDTH, INNER, WORDS, LENGTH, LAYERS, HEADS = 64, 172, 500, 32, 3, 4


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = (
            each(x).view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2)
            for each in (self.q, self.k, self.v)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, INNER, bias=False)
        self.up = nn.Linear(WIDTH, INNER, bias=False)
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n1, self.attn, self.n2, self.mlp = Norm(), Attention(), Norm(), Mlp()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class Llama(nn.Module):
    """With its loss inside, as models of the large libraries have it."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.emb = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = Norm()
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        if how == "tied":
            self.head.weight = self.emb.weight
        self.register_buffer("cos", torch.ones(LENGTH, 16))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        h = self.emb(x)
        for block in self.blocks:
            if self.how == "checkpoint":
                h = checkpoint(block, h, use_reentrant=False)
            elif self.how == "reentrant":
                h = checkpoint(block, h, use_reentrant=True)
            else:
                h = block(h)
        return F.cross_entropy(self.head(self.norm(h)).view(-1, WORDS), y.view(-1))


class Lstm(nn.Module):
    """A module that returns tuples."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(WORDS, WIDTH)
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        h, (_, _) = self.lstm(self.emb(x))
        return F.cross_entropy(self.head(h).view(-1, WORDS), y.view(-1))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(x)))


class Small(nn.Module):
    """Of few ops: tests/traces/golden/memory_run is its recording."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        h = self.emb(x)
        for layer in self.layers:
            h = layer(h)
        return F.cross_entropy(self.head(h).view(-1, WORDS), y.view(-1))


def make_model(how: str) -> nn.Module:
    if how == "small":
        return Small()
    return Lstm() if how == "lstm" else Llama(how)


def find_shim() -> ctypes.CDLL | None:
    path = os.environ.get("LD_PRELOAD", "")
    if not path:
        return None
    shim = ctypes.CDLL(path)
    shim.shim_current.restype = shim.shim_take_peak.restype = ctypes.c_int64
    return shim


def bytes_of(tensors: list[torch.Tensor]) -> int:
    return sum({t.data_ptr(): t.numel() * t.element_size() for t in tensors}.values())


def main() -> None:
    how, steps, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.backends.mkldnn.enabled = how != "lstm"  # oneDNN keeps memory of its own
    shim = find_shim()
    before = shim.shim_current() if shim else 0  # of libraries, and not of PyTorch's tensors
    model = make_model(how)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    kept = []  # a leak, where it is asked for
    for step in range(1, steps + 1):
        if shim:
            shim.shim_take_peak()
        for _ in range(3 if how == "accumulate" else 1):
            x = torch.randint(0, WORDS, (batch, LENGTH))
            y = torch.randint(0, WORDS, (batch, LENGTH))
            loss = model(x, y)
            if how == "zero late":
                optimizer.zero_grad()
            loss.backward()
        optimizer.step()
        if how in ("leak", "small"):
            kept.append(torch.zeros(1000))
        sums = {
            "step": step,
            "peak": shim.shim_take_peak() - before if shim else None,
            "parameters": bytes_of(list(model.parameters())),
            "gradients": bytes_of([p.grad for p in model.parameters()]),
            "state": bytes_of([t for s in optimizer.state.values() for t in s.values()]),
            "buffers": bytes_of(list(model.buffers())),
        }
        if how != "zero late":
            optimizer.zero_grad()
        print(json.dumps(sums), flush=True)


main()
