"""How much a step trained on: samples and tokens, read from what the model is called with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

TOKENS = ("input_ids", "tokens", "idx", "tokens_ids", "decoder_input_ids")
MAX_DESCRIBED = 16  # inputs of one call


class BatchCounter:
    """Given each outermost call of a model in training; sums up until take()."""

    def __init__(self) -> None:
        self.clear()
        self.inputs: list[dict[str, Any]] = []  # of the first call seen
        self.autocast: str | None = None
        self.was_in_autocast = False

    def clear(self) -> None:
        self.calls = 0
        self.samples = 0
        self.tokens: int | None = 0

    def take(self) -> dict[str, Any]:
        """What the step had: {"micro_batches", "samples", "tokens"}; None for what is not known."""
        known = self.calls > 0
        counted = {
            "micro_batches": self.calls,
            "samples": self.samples if known else None,
            "tokens": self.tokens if known else None,
        }
        self.clear()
        return counted

    def observe(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        import torch

        if not module.training or not torch.is_grad_enabled():
            return
        tensors = list(named_tensors(arguments, keywords))
        if not self.inputs:
            self.inputs = [describe(name, tensor) for name, tensor in tensors[:MAX_DESCRIBED]]
            self.note_autocast(tensors)
        samples, tokens = sizes(tensors)
        self.calls += 1
        self.samples += samples
        self.tokens = None if self.tokens is None or tokens is None else self.tokens + tokens

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
