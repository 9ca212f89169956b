"""Trains and serves models of transformers on this GPU, and writes what a step took: what `flopledger plan` is held against.

    runs_to_plan.py OUTPUT [--only WORD] [--seconds 200] [--steps 6]

Weights are random and in 32 bits, products in bf16 by autocast, the optimizer is PyTorch's fused AdamW, attention is
scaled_dot_product_attention, the loss is the model's own. Each case is a line of JSON: the median of the steps by the device's own
events, the least and the most, the peak of the allocator; or how it ended. What does not fit into the seconds is left out, and said.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
import transformers
from torch.nn import functional as F

MODELS = Path(__file__).resolve().parents[1] / "models"
WARM_UP = 3


@dataclass(frozen=True)
class Case:
    model: str  # of tests/models
    seq: int
    batch: int
    way: str = "eager"  # or compile, recompute, decode, prefill

    @property
    def name(self) -> str:
        return f"{self.model} {self.way} {self.batch}x{self.seq}"


CASES = (
    *(Case("llama-3.2-1b", 2048, batch) for batch in (1, 2, 4, 8)),
    *(Case("llama-3.2-1b", 4096, batch) for batch in (1, 2, 4)),
    *(Case("llama-3.2-1b", 8192, batch) for batch in (1, 2)),
    Case("llama-3.2-1b", 2048, 8, "recompute"),
    Case("llama-3.2-1b", 8192, 2, "recompute"),
    *(Case("gpt2", 1024, batch) for batch in (4, 8, 16)),
    Case("smollm3-3b", 2048, 1),
    Case("smollm3-3b", 2048, 2),
    Case("smollm3-3b", 2048, 4, "recompute"),
    Case("gemma-2b", 2048, 1),
    Case("gemma-2b", 2048, 2),
    Case("phi-3-mini", 2048, 1),
    Case("opt-350m", 2048, 4),
    Case("llama-3-8b", 2048, 1, "prefill"),
    Case("llama-3-8b", 8192, 1, "prefill"),
    Case("llama-3.2-1b", 2048, 4, "compile"),
    Case("llama-3.2-1b", 8192, 1, "compile"),
    *(
        Case("llama-3-8b", seq, batch, "decode")
        for seq, batch in ((1024, 1), (8192, 1), (1024, 16))
    ),
    Case("smollm3-3b", 2048, 2, "compile"),
    Case("gpt2", 1024, 16, "compile"),
    *(Case("llama-3.2-1b", 1024, batch, "decode") for batch in (1, 64)),
)


def make_model(case: Case) -> Any:
    config = transformers.AutoConfig.from_pretrained(MODELS / f"{case.model}.json")
    config.use_cache = False
    dtype = torch.bfloat16 if case.way == "prefill" else torch.float32
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(
            config, attn_implementation="sdpa", dtype=dtype
        )
    if case.way == "recompute":
        model.gradient_checkpointing_enable({"use_reentrant": False})
    return model


def timed(step: Any, steps: int) -> list[float]:
    """Milliseconds of each."""
    marks = []
    for number in range(WARM_UP + steps + 1):
        if number >= WARM_UP:
            marks.append(torch.cuda.Event(enable_timing=True))
            marks[-1].record()
        if number < WARM_UP + steps:
            step()
    torch.cuda.synchronize()
    return [before.elapsed_time(after) for before, after in zip(marks, marks[1:])]


def training_step(case: Case) -> Any:
    model = make_model(case).train()
    called = torch.compile(model, dynamic=False) if case.way == "compile" else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    tokens = torch.randint(0, model.config.vocab_size, (case.batch, case.seq), device="cuda")

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16):
            loss = called(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


@torch.inference_mode()
def prefill_step(case: Case) -> Any:
    model = make_model(case).eval()
    tokens = torch.randint(0, model.config.vocab_size, (case.batch, case.seq), device="cuda")

    @torch.inference_mode()
    def step() -> None:
        model(input_ids=tokens, logits_to_keep=1)

    return step


class Decoder(torch.nn.Module):
    """A Llama that makes one token of each request behind a full cache: nothing of it but the matrices, the norms, the rotation and
    attention over all that is kept."""

    def __init__(self, config: Any, batch: int, seq: int) -> None:
        super().__init__()
        self.heads, self.groups = config.num_attention_heads, config.num_key_value_heads
        self.size = config.hidden_size // self.heads
        width, inner = config.hidden_size, config.intermediate_size
        both = (self.heads + 2 * self.groups) * self.size
        linear = lambda rows, columns: torch.nn.Linear(columns, rows, bias=False)  # noqa: E731
        layers = range(config.num_hidden_layers)
        self.embedding = torch.nn.Embedding(config.vocab_size, width)
        self.qkv = torch.nn.ModuleList(linear(both, width) for _ in layers)
        self.o = torch.nn.ModuleList(linear(width, width) for _ in layers)
        self.gate_up = torch.nn.ModuleList(linear(2 * inner, width) for _ in layers)
        self.down = torch.nn.ModuleList(linear(width, inner) for _ in layers)
        self.norms = torch.nn.ModuleList(
            torch.nn.RMSNorm(width) for _ in range(2 * len(layers) + 1)
        )
        self.head = linear(config.vocab_size, width)
        shape = (len(layers), 2, batch, self.groups, seq, self.size)
        self.register_buffer("cache", torch.randn(shape))
        self.register_buffer("turn", torch.randn(2, self.size))

    def rotated(self, x: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, -1)
        return x * self.turn[0] + torch.cat((-second, first), -1) * self.turn[1]

    def forward(self, token: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        x = self.embedding(token)
        sizes = [self.heads, self.groups, self.groups]
        for layer, (qkv, o, gate_up, down) in enumerate(
            zip(self.qkv, self.o, self.gate_up, self.down)
        ):
            parts = qkv(self.norms[2 * layer](x)).view(len(x), 1, -1, self.size).transpose(1, 2)
            q, k, v = parts.split(sizes, 1)
            keys, values = self.cache[layer]
            keys.index_copy_(2, place, self.rotated(k))
            values.index_copy_(2, place, v)
            y = F.scaled_dot_product_attention(self.rotated(q), keys, values, enable_gqa=True)
            x = x + o(y.transpose(1, 2).flatten(2))
            gate, up = gate_up(self.norms[2 * layer + 1](x)).chunk(2, -1)
            x = x + down(F.silu(gate) * up)
        return self.head(self.norms[-1](x)).argmax(-1)


def decode_step(case: Case) -> Any:
    """Compiled, and launched as one CUDA graph."""
    config = transformers.AutoConfig.from_pretrained(MODELS / f"{case.model}.json")
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = Decoder(config, case.batch, case.seq).eval()
        token = torch.zeros((case.batch, 1), dtype=torch.long)
        place = torch.tensor([case.seq - 1])
    torch.set_default_dtype(torch.float32)
    compiled = torch.compile(model, mode="reduce-overhead", dynamic=False)

    def step() -> None:
        with torch.inference_mode():
            compiled(token, place)

    return step


def measure(case: Case, steps: int) -> dict[str, Any]:
    torch.cuda.reset_peak_memory_stats()
    makers = {"decode": decode_step, "prefill": prefill_step}
    try:
        step = makers.get(case.way, training_step)(case)
        times = timed(step, 50 if case.way == "decode" else steps)
    except torch.cuda.OutOfMemoryError:
        return {"ended": "out of memory"}
    except Exception as error:  # of transformers, for example: the other cases go on
        return {"ended": f"{type(error).__name__}: {str(error)[:300]}"}
    return {
        "ms": median(times),
        "least_ms": min(times),
        "most_ms": max(times),
        "allocated_peak_bytes": torch.cuda.max_memory_allocated(),
        "reserved_peak_bytes": torch.cuda.max_memory_reserved(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--seconds", type=float, default=200)
    parser.add_argument("--steps", type=int, default=6)
    arguments = parser.parse_args()
    began = time.monotonic()
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    versions["device"] = torch.cuda.get_device_name()
    with arguments.output.open("w") as output:
        for case in CASES:
            if arguments.only not in case.name:
                continue
            at = time.monotonic() - began
            row = {"ended": "no time was left"} if at > arguments.seconds else None
            row = row or measure(case, arguments.steps)
            row |= {**asdict(case), **versions, "took_s": round(time.monotonic() - began - at, 1)}
            print(json.dumps(row), file=output, flush=True)
            print(
                case.name,
                row.get("ended") or f"{row['ms']:.3f} ms",
                f"{row['took_s']} s",
                file=sys.stderr,
            )
            with contextlib.suppress(Exception):
                torch.compiler.reset()
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
