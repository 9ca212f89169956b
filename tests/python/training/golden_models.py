"""The models of the golden files, built anew: MODELS[name]() gives a model and what to call it with.

Meta tensors are made by calling it under torch.device("meta"); FakeTensors under FakeTensorMode.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn


@dataclass
class Case:
    model: nn.Module
    arguments: tuple[Tensor, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)

    def call(self) -> Tensor:
        """What its backward pass starts from."""
        result = self.model(*self.arguments, **self.keywords)
        result = getattr(result, "logits", result)
        return result[0] if isinstance(result, tuple) else result


def mlp() -> Case:
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    return Case(model, (torch.randn(32, 64),))


class LeNet5(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.f = nn.Sequential(
            nn.Conv2d(1, 6, 5),
            nn.Tanh(),
            nn.AvgPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.Tanh(),
            nn.AvgPool2d(2),
            nn.Conv2d(16, 120, 5),
            nn.Tanh(),
        )
        self.c = nn.Sequential(nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10))

    def forward(self, x: Tensor) -> Tensor:
        return self.c(self.f(x).flatten(1))


def lenet() -> Case:
    return Case(LeNet5(), (torch.randn(1024, 1, 32, 32),))


class AlexNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, stride=4, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(384, 256, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(256, 256, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(3, 2),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(6)
        self.classifier = nn.Sequential(
            nn.Dropout(),
            nn.Linear(9216, 4096),
            nn.ReLU(),
            nn.Dropout(),
            nn.Linear(4096, 4096),
            nn.ReLU(),
            nn.Linear(4096, 1000),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def alexnet(batch: int = 8) -> Case:
    return Case(AlexNet().eval(), (torch.randn(batch, 3, 224, 224),))


def gru() -> Case:
    return Case(nn.GRU(8, 16, batch_first=True), (torch.randn(2, 5, 8),))


def lstm() -> Case:
    model = nn.LSTM(8, 16, num_layers=2, bidirectional=True, batch_first=True)
    return Case(model, (torch.randn(2, 5, 8),))


def encoder() -> Case:
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    return Case(nn.TransformerEncoder(layer, 2).eval(), (torch.randn(2, 10, 64),))


class Custom(nn.Module):
    """Products in many ways of writing, with a parameter of its own that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(64, 64))
        self.wq = nn.Linear(64, 64, bias=False)
        self.wk = nn.Linear(64, 64, bias=False)
        self.wv = nn.Linear(64, 64, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.wq(x), self.wk(x), self.wv(x)
        bias = torch.zeros(4, 32, 32, device=x.device)
        scores = torch.baddbmm(bias, q, k.transpose(1, 2)).softmax(-1)
        seen = scores @ v + scores.bmm(x)
        shift = torch.matmul(q, k.transpose(-1, -2)).sum(-1, keepdim=True)
        return torch.einsum("bsd,de->bse", seen + shift, self.w) @ self.w


def custom() -> Case:
    return Case(Custom(), (torch.randn(4, 32, 64),))


def is_without_data() -> bool:
    """Whether torch makes meta tensors or FakeTensors here."""
    made = torch.empty(0)
    return made.is_meta or type(made) is not Tensor


def words(vocabulary: int, batch: int, length: int) -> dict[str, Any]:
    """With a mask where torch makes meta tensors: transformers then cannot look into its own."""
    if torch.empty(0).is_meta:
        return {
            "input_ids": torch.zeros(batch, length, dtype=torch.long),
            "attention_mask": torch.ones(batch, 1, length, length, dtype=torch.bool),
        }
    return {"input_ids": torch.randint(0, vocabulary, (batch, length))}


def from_library(kind: str, batch: int, length: int, **sizes: Any) -> Case:
    """A model of transformers; `implementation` is that of attention."""
    import transformers

    implementation = sizes.pop("implementation", None)
    name = kind.split("For")[0].removesuffix("LMHeadModel")
    config = getattr(transformers, name + "Config")(**sizes)
    if implementation is not None:
        config._attn_implementation = implementation
    model = getattr(transformers, kind)(config).eval()
    return Case(model, (), words(config.vocab_size, batch, length))


def bert(implementation: str = "sdpa") -> Case:
    return from_library("BertForMaskedLM", 4, 128, implementation=implementation)


def gpt2() -> Case:
    return from_library("GPT2LMHeadModel", 2, 128)


LLAMA_12_LAYERS = {
    "hidden_size": 256,
    "num_hidden_layers": 12,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "intermediate_size": 688,
    "vocab_size": 1000,
    "head_dim": 32,
}
LLAMA_2_7B = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "intermediate_size": 11008,
    "vocab_size": 32000,
    "head_dim": 128,
}
LLAMA_3_8B = {
    **LLAMA_2_7B,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
}


def llama(implementation: str = "sdpa") -> Case:
    return from_library(
        "LlamaForCausalLM", 2, 128, implementation=implementation, **LLAMA_12_LAYERS
    )


@contextlib.contextmanager
def half_precision() -> Iterator[None]:
    """Models built within are of bfloat16."""
    torch.set_default_dtype(torch.bfloat16)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def llama_in_half_precision() -> Case:
    with half_precision():
        return llama()


def llama_with_checkpoints() -> Case:
    case = llama()
    case.model.train()
    case.model.gradient_checkpointing_enable({"use_reentrant": False})
    case.keywords["use_cache"] = False
    return case


def mamba() -> Case:
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "state_size": 16, "vocab_size": 200}
    sizes |= {"expand": 2, "conv_kernel": 4, "time_step_rank": 4}
    case = from_library("MambaForCausalLM", 2, 32, **sizes)
    case.keywords.pop("attention_mask", None)
    return case


def mixtral(experts: str = "grouped_mm") -> Case:
    sizes: dict[str, Any] = {
        "hidden_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 256,
        "vocab_size": 500,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
    }
    precision = half_precision() if is_without_data() else contextlib.nullcontext()
    with precision:  # torch has grouped products on meta in half precision only
        case = from_library("MixtralForCausalLM", 2, 64, **sizes)
    case.model.set_experts_implementation(experts)
    return case


MODELS: dict[str, Callable[[], Case]] = {
    "mlp_64_128_10_b32": mlp,
    "lenet5_b1024": lenet,
    "alexnet_b8": alexnet,
    "alexnet_b256_meta": lambda: alexnet(256),
    "gru_b2_t5_i8_h16": gru,
    "lstm_b2_t5_i8_h16_l2_bidir": lstm,
    "torch_transformer_encoder_2l_d64": encoder,
    "custom_functional_b4_s32_d64": custom,
    "bert_base_mlm_b4_s128": bert,
    "bert_base_mlm_eager_b4_s128": lambda: bert("eager"),
    "gpt2_small_b2_s128": gpt2,
    "llama_12l_h256_b2_s128": llama,
    "llama_12l_h256_eager_b2_s128": lambda: llama("eager"),
    "llama_12l_h256_bf16_b2_s128": llama_in_half_precision,
    "llama_12l_h256_gradckpt_b2_s128": llama_with_checkpoints,
    "llama2_7b_meta_b1_s2048": lambda: from_library("LlamaForCausalLM", 1, 2048, **LLAMA_2_7B),
    "llama3_8b_meta_b1_s8192": lambda: from_library("LlamaForCausalLM", 1, 8192, **LLAMA_3_8B),
    "mamba_tiny_b2_s32": mamba,
    "mixtral_tiny_b2_s64": mixtral,
    "mixtral_tiny_eagerexperts_b2_s64": lambda: mixtral("eager"),
}
