"""How much a step trained on: samples and tokens, read from what the model is called with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

TOKENS = ("input_ids", "tokens", "idx", "tokens_ids", "decoder_input_ids")
MAX_DESCRIBED = 16  # inputs of one call


@dataclass
class Calls:
    """Of one module, in one step."""

    count: int = 0
    samples: int = 0
    tokens: int | None = 0


class BatchCounter:
    """Given each outermost call of a marked module; sums up those in training until take()."""

    def __init__(self) -> None:
        self.calls: dict[int, Calls] = {}
        self.models: list[int] = []  # ids of the models, the main one first
        self.inputs: list[dict[str, Any]] = []  # of the first call seen
        self.autocast: str | None = None
        self.counts_all = False  # calls outside of training, too

    def take(self) -> dict[str, Any]:
        """What the step had: of the main model, or of what was called in its place (a part of it). None: not known."""
        calls, self.calls = self.calls, {}
        ids = [model for model in self.models if model in calls] or list(calls)
        if not ids:
            return {"micro_batches": None, "samples": None, "tokens": None}
        main = calls[ids[0]]
        return {"micro_batches": main.count, "samples": main.samples, "tokens": main.tokens}

    def observe(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        import torch

        in_backward = torch._C._current_graph_task_id() != -1  # computed once more for its gradient
        is_training = module.training and torch.is_grad_enabled() and not in_backward
        if not is_training and not self.counts_all:
            return
        tensors = list(named_tensors(arguments, keywords))
        if not self.inputs:
            self.inputs = [describe(name, tensor) for name, tensor in tensors[:MAX_DESCRIBED]]
            self.note_autocast(tensors)
        samples, tokens = sizes(tensors)
        calls = self.calls.setdefault(id(module), Calls())
        calls.count += 1
        calls.samples += samples
        calls.tokens = None if calls.tokens is None or tokens is None else calls.tokens + tokens

    def note_autocast(self, tensors: list[tuple[str, Any]]) -> None:
        import torch

        device = tensors[0][1].device.type if tensors else "cpu"
        try:
            if torch.is_autocast_enabled(device):
                self.autocast = str(torch.get_autocast_dtype(device)).removeprefix("torch.")
        except (TypeError, RuntimeError, AttributeError):  # an older torch, or a device without it
            pass


def named_tensors(
    arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Those among the arguments, and one level into dictionaries and lists."""
    import torch

    given: list[tuple[str, Any]] = [(str(i), value) for i, value in enumerate(arguments)]
    given.extend(keywords.items())
    for name, value in given:
        if isinstance(value, torch.Tensor):
            yield name, value
        elif isinstance(value, Mapping):
            for key, inner in value.items():
                if isinstance(inner, torch.Tensor):
                    yield str(key), inner
        elif isinstance(value, (list, tuple)):
            for i, inner in enumerate(value[:MAX_DESCRIBED]):
                if isinstance(inner, torch.Tensor):
                    yield f"{name}[{i}]", inner


def sizes(tensors: list[tuple[str, Any]]) -> tuple[int, int | None]:
    """(samples, tokens) of one call; tokens are None where the input is not a sequence of them."""
    by_name = {name: tensor for name, tensor in tensors}
    for name in TOKENS:
        if name in by_name and by_name[name].dim() == 2:
            return by_name[name].shape[0], by_name[name].numel()
    if "inputs_embeds" in by_name and by_name["inputs_embeds"].dim() == 3:
        samples, length = by_name["inputs_embeds"].shape[:2]
        return samples, samples * length
    for _, tensor in tensors:
        if tensor.dim() == 2 and not tensor.is_floating_point() and not tensor.is_complex():
            return tensor.shape[0], tensor.numel()
    for _, tensor in tensors:
        if tensor.dim() > 0:
            return tensor.shape[0], None
    return 0, None


def describe(name: str, tensor: Any) -> dict[str, Any]:
    return {
        "name": name,
        "shape": list(tensor.shape),
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "device": str(tensor.device),
    }
