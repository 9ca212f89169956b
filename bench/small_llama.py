"""A Llama of twelve layers, small enough that launching its operators takes longer than computing them does."""

from torch import Tensor, nn
from torch.nn import functional as F

LAYERS, WIDTH, HEADS, INNER, WORDS = 12, 256, 8, 688, 1000


def make_model(length: int) -> tuple[nn.Module, str]:
    """The model of transformers, else one of the same matrices; and what it is, in words."""
    sizes = f"{LAYERS} layers, hidden size {WIDTH}, one sequence of {length} tokens, fp32"
    try:
        from transformers import LlamaConfig, LlamaForCausalLM, __version__
    except ImportError:
        return Model(), f"a stand-in for Llama ({sizes})"
    config = LlamaConfig(
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=2,
        intermediate_size=INNER,
        vocab_size=WORDS,
        head_dim=WIDTH // HEADS,
        use_cache=False,
    )
    return LlamaForCausalLM(config), f"LlamaForCausalLM of transformers {__version__} ({sizes})"


class Block(nn.Module):
    """As a layer of Llama: two norms, four projections of attention, three of the feed-forward part."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(WIDTH, INNER, bias=False) for _ in range(2))
        self.down = nn.Linear(INNER, WIDTH, bias=False)
        self.activation = nn.SiLU()

    def forward(self, x: Tensor) -> Tensor:
        batch, length, _ = x.shape
        y = self.norm1(x)
        q, k, v = (
            f(y).view(batch, length, HEADS, -1).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, WIDTH))
        y = self.norm2(x)
        return x + self.down(self.activation(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words: Tensor) -> Tensor:
        x = self.embedding(words)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
