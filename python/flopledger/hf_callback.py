"""A callback for the Trainer of transformers: Trainer(..., callbacks=[flopledger.TrainerCallback(steps=3)])."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback as CallbackOfTrainer

from flopledger.loop_recording import RecordsLoop


class TrainerCallback(RecordsLoop, CallbackOfTrainer):  # type: ignore[misc,unused-ignore]
    """Records steps 2 to 1 + `steps` of `trainer.train()`, of all ranks; then `callback.report`.

    A step is one of the optimizer: it holds all of `gradient_accumulation_steps`. The losses are the same to the last bit. The recording
    is kept in `folder`, or in `flopledger/` in the trainer's output_dir; what the report says is the last entry of `state.log_history`.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **keywords: Any) -> None:
        self.loop.begin(args.output_dir or ".")

    def on_train_end(self, args: Any, state: Any, control: Any, **keywords: Any) -> None:
        self.loop.end(leads=bool(state.is_world_process_zero))
        if self.report is not None:
            state.log_history.append({**self.loop.numbers(), "step": state.global_step})
