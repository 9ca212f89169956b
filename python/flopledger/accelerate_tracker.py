"""A tracker for Accelerate: Accelerator(log_with=[flopledger.AccelerateTracker(folder="captures")])."""

from __future__ import annotations

import json
import os
from typing import Any

from accelerate.tracking import GeneralTracker

from flopledger.loop_recording import LoopRecording, RecordsLoop
from flopledger.program import Paths


class AccelerateTracker(RecordsLoop, GeneralTracker):  # type: ignore[misc,unused-ignore]
    """Records steps 2 to 1 + `steps` between `accelerator.init_trackers()` and `accelerator.end_training()`, of all ranks;
    then `tracker.report`.

    The losses are the same to the last bit. `folder` keeps the recording; the loss that the program logs stands with its steps.
    """

    name = "flopledger"
    requires_logging_directory = False
    main_process_only = False  # each rank records itself

    def __init__(
        self,
        steps: int = 3,
        *,
        memory: bool = False,
        stacks: bool = False,
        folder: Paths = "captures",
    ) -> None:
        super().__init__(steps, memory=memory, stacks=stacks, folder=folder)

    @property
    def tracker(self) -> LoopRecording:
        return self.loop

    def start(self) -> None:
        self.loop.begin(".")

    def store_init_configuration(self, values: dict[str, Any]) -> None:
        """What the program was configured with, beside the recording."""
        if self.folder is not None and leads():
            os.makedirs(self.folder, exist_ok=True)
            with open(os.path.join(self.folder, "config.json"), "w", encoding="utf-8") as file:
                json.dump(values, file, indent=1, default=str)

    def log(self, values: dict[str, Any], step: int | None = None, **keywords: Any) -> None:
        self.loop.note_logged(values)

    def finish(self) -> None:
        self.loop.end(leads=leads())


def leads() -> bool:
    from accelerate import PartialState

    return bool(PartialState().is_main_process)
