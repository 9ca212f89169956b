"""The newest steps of a step record, of this rank or of another one: read behind its writer, while that goes on."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

from flopledger.step_record import (
    CHECKPOINT,
    ENTRY_BYTES,
    EVALUATION,
    HEADER_BYTES,
    PROFILED,
    RECORDING,
    RESTORE,
    START_UNKNOWN,
    STEP,
    entries_of,
)

BLOCK_BYTES = 16 * ENTRY_BYTES
MARK = struct.Struct("<24xIi")  # of the header: what checksums begin with, and the rank
NO_TRAINING = (CHECKPOINT, RESTORE, EVALUATION, RECORDING)


@dataclass(frozen=True)
class RecordedStep:
    number: int
    end_ns: int
    time_ns: int  # without checkpoints, evaluations and our own work in it
    lead_ns: int | None  # until its first backward: no other rank is waited for in that
    work: int  # tokens, else samples, else 1
    work_of: str  # which of these
    is_plain: bool  # not recorded, and little else of ours was done in it

    @property
    def rate(self) -> float:
        return self.work / max(1, self.time_ns)


class RecordTail:
    """Opens the file anew each time, and so keeps none open."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.offset = HEADER_BYTES
        self.mark: int | None = None
        self.rank = -1
        self.apart_ns = 0  # within the step that runs
        self.own_work_ns = 0  # of that, ours

    def read(self) -> list[RecordedStep]:
        """Those that have ended since the last call."""
        steps: list[RecordedStep] = []
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return steps
        try:
            if self.mark is None and not self.read_header(descriptor):
                return steps
            while self.take_block(os.pread(descriptor, BLOCK_BYTES, self.offset), steps):
                pass
        except OSError:
            pass
        finally:
            os.close(descriptor)
        return steps

    def read_header(self, descriptor: int) -> bool:
        header = os.pread(descriptor, MARK.size, 0)
        if len(header) < MARK.size:
            return False
        self.mark, self.rank = MARK.unpack(header)
        return True

    def take_block(self, block: bytes, steps: list[RecordedStep]) -> bool:
        """Whether there may be more behind it."""
        assert self.mark is not None
        for entry in entries_of(block, self.mark):
            if entry is None:
                return False  # not written yet
            self.offset += ENTRY_BYTES
            self.take_entry(entry, steps)
        return len(block) == BLOCK_BYTES

    def take_entry(self, fields: tuple[int, ...], steps: list[RecordedStep]) -> None:
        _, kind, flags, _, number, start, end, data_wait, forward = fields[:9]
        tokens, samples = fields[11:13]
        if kind in NO_TRAINING:
            self.apart_ns += end - start
            self.own_work_ns += end - start if kind == RECORDING else 0
        if kind != STEP:
            return
        lead = max(0, data_wait) + forward if forward >= 0 else None
        known = (("tokens", tokens), ("samples", samples), ("steps", 1))
        work_of, work = next(pair for pair in known if pair[1] > 0)
        time_ns = max(0, end - start - self.apart_ns)
        is_plain = not flags & (PROFILED | START_UNKNOWN) and 10 * self.own_work_ns < time_ns
        steps.append(RecordedStep(number, end, time_ns, lead, work, work_of, is_plain))
        self.apart_ns = 0
        self.own_work_ns = 0
