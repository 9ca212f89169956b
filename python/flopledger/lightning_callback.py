"""A callback for Lightning: Trainer(callbacks=[flopledger.LightningCallback(steps=3)])."""

from __future__ import annotations

import sys
from typing import Any

from flopledger.loop_recording import RecordsLoop

if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning.callbacks import Callback  # the same under its older name
else:
    from lightning.pytorch.callbacks import Callback


class LightningCallback(RecordsLoop, Callback):  # type: ignore[misc,unused-ignore]
    """Records steps 2 to 1 + `steps` of `trainer.fit()`, of all ranks; then `callback.report`.

    The losses are the same to the last bit. The recording is kept in `folder`, or in `flopledger/` in the trainer's
    default_root_dir; the trainer's loggers are given what the report says.
    """

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self.loop.begin(trainer.default_root_dir)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self.loop.end(leads=bool(trainer.is_global_zero))
        numbers = self.loop.numbers()
        if numbers:
            for logger in trainer.loggers:
                logger.log_metrics(numbers, step=trainer.global_step)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self.loop.end_recording()
