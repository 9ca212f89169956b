"""Steps of a program without torch, for what the hooks around one cost: stand_in_steps.py PACKAGE_FOLDER STEPS [recorded FOLDER]

Its classes have what the hooks look at, and do nothing. With `recorded`, the extension's hooks stand around them.
"""

import sys
from typing import Any

sys.path.insert(0, sys.argv[1])

from flopledger import step_record  # noqa: E402
from flopledger.step_hooks import StepHooks  # noqa: E402


class Tensor:
    def __init__(self, shape: tuple[int, ...], dtype: str = "ids", place: int = 0) -> None:
        self.shape = shape
        self.dtype = dtype
        self.place = place

    def is_floating_point(self) -> bool:
        return self.dtype == "float"

    def is_complex(self) -> bool:
        return False

    def data_ptr(self) -> int:
        return self.place

    def numel(self) -> int:
        return 1 if self.shape == () else 2

    def detach(self) -> "Tensor":
        return Tensor(self.shape, self.dtype, self.place)

    def item(self) -> float:
        return 0.5


class Loader:
    """Gives what it was given."""

    def __init__(self, batches: list[Any]) -> None:
        self.batches = iter(batches)

    def __iter__(self) -> "Loader":
        return self

    def __next__(self) -> Any:
        return next(self.batches)


class Engine:
    """As a module of functions."""

    __name__ = "engine"

    @staticmethod
    def backward(outputs: Any, accumulate_grad: bool = True) -> None:
        pass


class Modes:
    is_grad_on = True
    compiler: dict[str, Any] = {"_is_compiling_flag": False}


def is_grad_enabled() -> bool:
    return Modes.is_grad_on


def install(hooks: StepHooks) -> None:
    running = hooks.running
    running.is_grad_enabled = is_grad_enabled
    running.compiler = Modes.compiler
    running.tensor_type = Tensor
    hooks.replacements.replace(Loader, "__next__", running.around_fetch)
    hooks.replacements.replace(Tensor, "item", running.around_item)
    hooks.replacements.replace(
        Engine, "backward", lambda _: running.around_backward(PLAIN_BACKWARD)
    )


PLAIN_BACKWARD = Engine.backward


def train(steps: int, optimizer: object, hooks: StepHooks | None) -> None:
    batch = (Tensor((4, 8)), Tensor((4,)))
    running = hooks.running if hooks else None
    for _ in Loader([batch] * steps):
        loss = Tensor((), "float", 64)
        Engine.backward((loss,), accumulate_grad=True)
        if running is not None:
            running.begin_optimizer()
            running.ends_plain_step(optimizer)
        loss.item()


def main() -> None:
    optimizer = object()
    if len(sys.argv) < 4:
        train(int(sys.argv[2]), optimizer, None)
        return
    record = step_record.StepRecord(sys.argv[4])
    record.open(0, 1, 0)
    hooks = StepHooks(record)
    install(hooks)
    hooks.running.ender = id(optimizer)
    hooks.running.poll_at = hooks.running.wakes_at = sys.maxsize
    train(int(sys.argv[2]), optimizer, hooks)
    hooks.remove()
    record.close()


if __name__ == "__main__":
    main()
