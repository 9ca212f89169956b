"""Starts the recorder when, and only when, the program imports PyTorch's optimizers."""

from __future__ import annotations

from types import ModuleType

from flopledger.module_finder import await_module

AWAITED = "torch.optim.optimizer"


def start(module: ModuleType) -> None:
    from flopledger.messages import say_once_of_all_ranks
    from flopledger.native import ExtensionMissing, load
    from flopledger.seen import CANNOT_LOAD, TORCH, note_seen

    note_seen(TORCH)
    try:
        load("step_writer")
        load("module_marks")
    except ExtensionMissing as error:
        note_seen(CANNOT_LOAD)
        say_once_of_all_ranks(f"cannot record: {error} (your program goes on)")
        return
    from flopledger.recorder import Recorder

    Recorder.start(module)


def wait_for_optimizer() -> None:
    await_module(AWAITED, start)
