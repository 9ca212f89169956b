"""Records the steps of a block of code, as `flopledger run` does those of a program: in a script or a notebook."""

from __future__ import annotations

import os
import tempfile
from types import TracebackType
from typing import Any

from flopledger.program import Paths
from flopledger.results import Report, report

FIRST_STEP = 2  # the first one readies the profiler


class Recording:
    """`with flopledger.profile(steps=3) as recording:` around a training loop; then `recording.report`.

    Records steps 2 to 1 + `steps` of the block, in full; what comes after them runs without a profiler. A step ends with the step
    of an optimizer of torch. The losses are the same to the last bit.
    """

    def __init__(
        self,
        steps: int = 3,
        *,
        memory: bool = False,
        stacks: bool = False,
        folder: Paths | None = None,
    ) -> None:
        """`memory`: what memory is for, too. `stacks`: which Python code calls each operator. `folder`: keeps the recording."""
        if steps < 1:
            raise ValueError(f"steps={steps}: at least one step is to be recorded")
        self.steps = steps
        self.memory = memory
        self.stacks = stacks
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="flopledger-")
            folder = self._temporary.name
        self.folder = os.fspath(folder)
        self.step_count = 0  # that ended in the block
        self.is_running = False
        self._report: Report | None = None

    def __enter__(self) -> Recording:
        from torch.optim import optimizer

        from flopledger.recorder import Recorder
        from flopledger.settings import Settings

        if Recorder.current is not None and not Recorder.current.is_off:
            raise RuntimeError(
                "this program is recorded already, by `flopledger run` or another flopledger.profile()"
            )
        settings = Settings(
            capture=self.folder,
            first_step=FIRST_STEP,
            last_step=FIRST_STEP + self.steps - 1,
            memory=self.memory,
            stacks=self.stacks,
        )
        self._recorder = Recorder.current = Recorder(settings, optimizer)
        self._recorder.begin_record()
        self.is_running = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        from flopledger.recorder import Recorder

        self.is_running = False
        self.step_count = self._recorder.step
        Recorder.finish_current()
        Recorder.current = None

    def has_traces(self) -> bool:
        return any(
            name.endswith(".pt.trace.json.gz")
            for _, _, names in os.walk(self.folder)
            for name in names
        )

    def why_nothing(self) -> str:
        return (
            f"nothing was recorded: {self.step_count} steps of a torch optimizer ended in the block, "
            f"and recording {self.steps} takes {self.steps + FIRST_STEP - 1}"
        )

    def note_logged(self, values: dict[str, Any]) -> None:
        """The loss among what the program logs is the step's; other numbers are left."""
        if self.is_running:
            self._recorder.hooks.note_logged_values(values)

    @property
    def report(self) -> Report:
        """Of the recorded steps. RuntimeError where none ended."""
        if self._report is None:
            if not self.has_traces():
                raise RuntimeError(self.why_nothing())
            self._report = report(self.folder)
        return self._report

    def _repr_html_(self) -> str:
        return self.report._repr_html_()
