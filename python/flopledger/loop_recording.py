"""What the callbacks of trainers share: a recording from the first step of a training loop to its last, of all its ranks."""

from __future__ import annotations

import os
import time
from typing import Any

from flopledger.messages import guarded, say, say_once_of_all_ranks
from flopledger.program import Paths
from flopledger.recording import Recording
from flopledger.report_numbers import numbers_of
from flopledger.results import Report, report


def process_group() -> Any:
    """torch.distributed, where this program has several processes that know each other; else None."""
    from torch import distributed

    return distributed if distributed.is_available() and distributed.is_initialized() else None


def folder_of_run(above: Paths) -> str:
    """One for all ranks, named by the time, as `flopledger run` does it."""
    name = [time.strftime("%Y-%m-%d_%H-%M-%S")]
    group = process_group()
    if group is not None:
        group.broadcast_object_list(name)
    return os.path.join(os.fspath(above), name[0])


class LoopRecording:
    """Records as `with flopledger.profile()` does. An error of it is said, and the training goes on."""

    def __init__(
        self,
        steps: int = 3,
        *,
        memory: bool = False,
        stacks: bool = False,
        folder: Paths | None = None,
    ) -> None:
        self.steps = steps
        self.options = {"memory": memory, "stacks": stacks}
        self.above = folder
        self.recording: Recording | None = None
        self.report: Report | None = (
            None  # of all ranks; of the process that leads, once training has ended
        )

    @property
    def folder(self) -> str | None:
        """Of this recording: traces, the record of all steps, what the models are."""
        return None if self.recording is None else self.recording.folder

    def begin(self, default_folder: Paths) -> None:
        guarded(self._begin)(self.above or os.path.join(os.fspath(default_folder), "flopledger"))

    def _begin(self, above: Paths) -> None:
        from flopledger.recorder import Recorder

        self.report = None
        if self.recording is not None:  # of a training that did not end
            self.end_recording()
        if Recorder.current is not None and not Recorder.current.is_off:
            say_once_of_all_ranks(
                "`flopledger run` records this program: the callback leaves it to"
            )
            return
        recording = Recording(self.steps, folder=folder_of_run(above), **self.options)
        recording.__enter__()
        self.recording = recording

    def end_recording(self) -> None:
        if self.recording is not None and self.recording.is_running:
            self.recording.__exit__(None, None, None)

    def note_logged(self, values: dict[str, Any]) -> None:
        if self.recording is not None:
            guarded(self.recording.note_logged)(values)

    def end(self, leads: bool) -> None:
        """`leads`: this process is the one that makes the report."""
        if self.recording is None:
            return
        guarded(self.end_recording)()
        group = process_group()
        if group is not None:
            group.barrier()  # the others have written their traces
        if leads:
            guarded(self.make_report)()

    def make_report(self) -> None:
        assert self.recording is not None
        if not self.recording.has_traces():
            say(self.recording.why_nothing())
            return
        self.report = report(self.recording.folder)
        say(f"{self.report.headline} (flopledger report {self.recording.folder})")

    def numbers(self) -> dict[str, float]:
        """Of the report, for a log: the mean step, its accounts as shares of it, MFU where it is known."""
        return {} if self.report is None else numbers_of(self.report)


class RecordsLoop:
    """A callback of a trainer: mixed in before the trainer's own class, whose hooks call `loop`."""

    def __init__(
        self,
        steps: int = 3,
        *,
        memory: bool = False,
        stacks: bool = False,
        folder: Paths | None = None,
    ) -> None:
        super().__init__()
        self.loop = LoopRecording(steps, memory=memory, stacks=stacks, folder=folder)

    @property
    def report(self) -> Report | None:
        """Of all ranks; None before the end of training, and in processes other than the first."""
        return self.loop.report

    @property
    def folder(self) -> str | None:
        return self.loop.folder
