"""What `flopledger run` was asked for, as it reaches the recorder: by environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

FIRST_STEP, LAST_STEP = (
    4,
    8,
)  # three steps to warm up, five to record: fewer tell too little of their noise


@dataclass(frozen=True)
class Settings:
    capture: str  # the folder of the run: {name}/{start time}
    first_step: int = FIRST_STEP
    last_step: int = LAST_STEP
    every: int = 0  # the window comes again after so many steps; 0: once
    shapes: bool = True
    stacks: bool = False
    memory: bool = False
    markers: bool = True
    compiled: bool = False
    captures: bool = False  # of CUDA and HIP graphs
    step_of: str = ""  # what a step is: "module", the name of a range, or "": an optimizer's step
    modules: tuple[str, ...] = ()  # name patterns; none: all
    dashboards: tuple[str, ...] = ()  # "wandb", "mlflow"
    otlp: str = ""  # the address of a collector
    on: str = ""  # rules by which a window is recorded, commas between
    on_windows: int = 3  # at most, by those rules
    on_bytes: int = 1 << 30  # of their traces, at most

    def window_from(self, step: int) -> tuple[int, int] | None:
        """The first window that begins with `step` or later. None at all where the first step is 0."""
        length = self.last_step - self.first_step
        if step <= self.first_step:
            return self.first_step, self.last_step
        if self.every == 0:
            return None
        first = self.first_step + -(-(step - self.first_step) // self.every) * self.every
        return first, first + length


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    first, last = FIRST_STEP, LAST_STEP
    asked = re.fullmatch(r"(\d+)(?:-(\d+))?", environment.get("FLOPLEDGER_STEPS", ""))
    if asked:
        first = int(asked[1])
        last = int(asked[2] or first)
    kinds = environment.get("FLOPLEDGER_RECORD", "shapes,markers").split(",")
    modules = environment.get("FLOPLEDGER_MODULES", "")
    return Settings(
        capture=environment["FLOPLEDGER_CAPTURE"],
        first_step=first,
        last_step=max(first, last),
        every=int(environment.get("FLOPLEDGER_EVERY", "0")),
        shapes="shapes" in kinds,
        stacks="stacks" in kinds,
        memory="memory" in kinds,
        markers="markers" in kinds,
        compiled="compiled" in kinds,
        captures="captures" in kinds,
        step_of=environment.get("FLOPLEDGER_STEP_OF", ""),
        modules=tuple(filter(None, modules.split(","))),
        dashboards=tuple(environment.get("FLOPLEDGER_DASHBOARDS", "").split(",")),
        otlp=environment.get("FLOPLEDGER_OTLP", ""),
        on=environment.get("FLOPLEDGER_ON", ""),
        on_windows=int(environment.get("FLOPLEDGER_ON_WINDOWS", "3")),
        on_bytes=int(environment.get("FLOPLEDGER_ON_BYTES", str(1 << 30))),
    )
