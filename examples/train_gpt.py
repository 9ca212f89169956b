"""Train a small GPT on the bytes of a text file, and record a trace of four steps with torch.profiler.

    python examples/train_gpt.py --trace trace.json.gz
    flopledger report trace.json.gz

Plain PyTorch, no GPU needed: about ten seconds on two cores. What a trace needs is at the end, in train().
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile, schedule
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


def train(text: Path, steps: int, trace: Path, device: str) -> None:
    torch.manual_seed(0)
    loader = DataLoader(TextDataset(text), batch_size=BATCH, shuffle=True, drop_last=True)
    model = GPT().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    activities = [ProfilerActivity.CPU]
    if device.startswith("cuda"):
        activities.append(ProfilerActivity.CUDA)
    with profile(
        activities=activities,
        schedule=schedule(wait=1, warmup=1, active=4, repeat=1),  # steps 2 to 5 are recorded
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(trace)),
        record_shapes=True,
    ) as profiler:
        for step, (tokens, targets) in enumerate(loader):
            if step == steps:
                break
            tokens, targets = tokens.to(device), targets.to(device)
            loss = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            profiler.step()  # tells the profiler that a step is over
            if step % 5 == 0:
                print(f"step {step:3}  loss {loss.item():.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = Path(__file__).resolve().parent
    parser.add_argument("--text", type=Path, default=here.parent / "LICENSE", help="train on this")
    parser.add_argument("--steps", type=int, default=16, help="training steps (at least 6)")
    parser.add_argument("--trace", type=Path, default=Path("trace.json.gz"), help="write to this")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    if arguments.steps < 6:
        parser.error("--steps must be at least 6: steps 2 to 5 are the ones recorded")
    train(arguments.text, arguments.steps, arguments.trace, arguments.device)
    print(f"trace of steps 2 to 5: {arguments.trace}")


if __name__ == "__main__":
    main()
