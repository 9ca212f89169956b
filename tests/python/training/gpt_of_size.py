"""A GPT on one core: gpt_of_size.py SAMPLES TOKENS STEPS; prints the least seconds of the processor that a step took."""

import sys
import time

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTH, HEADS, LAYERS, VOCABULARY = 384, 6, 4, 2048


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.feed_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.inputs, self.output = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        samples, tokens, _ = x.shape
        query, key, value = (
            part.view(samples, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in self.inputs(self.norm(x)).split(WIDTH, dim=2)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).reshape(samples, tokens, WIDTH))
        return x + self.down(F.gelu(self.up(self.feed_norm(x))))


class GPT(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(1024, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def main() -> None:
    samples, tokens, steps = (int(word) for word in sys.argv[1:])
    torch.set_num_threads(1)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    least = float("inf")
    for _ in range(steps):
        before = time.process_time()
        ids = torch.randint(0, VOCABULARY, (samples, tokens + 1))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        least = min(least, time.process_time() - before)
    print(f"least {least:.6f}")


if __name__ == "__main__":
    main()
