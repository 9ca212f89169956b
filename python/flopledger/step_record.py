"""The step record: one entry a step in a file that survives whatever ends the process; docs/formats/step-record.md."""

from __future__ import annotations

import math
import os
import platform
import secrets
import socket
import struct
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from flopledger import native
from flopledger.messages import say
from flopledger.version import VERSION

MAGIC = b"FLSTEPS1"
HEADER_BYTES = 4096
HEADER = struct.Struct("<8sIIIIIiiiqqqq40s64s128s32s32s32s3696x")
ENTRY_BYTES = 128
BLOCK_BYTES = 4096 * ENTRY_BYTES  # taken apart at once
CHECKSUM_PLACE = 20

STEP, CHECKPOINT, RESTORE, EVALUATION, LOSS = 1, 2, 3, 4, 5
RECORDING, CLOCK, LOST, RESUMED, END, ENERGY = 6, 7, 8, 9, 10, 11
PROFILED, SKIPPED, START_UNKNOWN, MEMORY_IS_DEVICE, COMPILED = 1, 2, 4, 8, 16
LOSS_OF_STEP_BEFORE, TOKENS_OF_WINDOW = 32, 64
NOT_KNOWN = -1

RETRY_NS = 10_000_000_000  # after there was no room
MAX_RECORDS = 10_000  # of one rank in one capture
CLOCK_JUMP_NS = 1_000_000


def job_of(environment: Mapping[str, str] = os.environ) -> str:
    """What attempts of one job have in common; "" where nothing says it."""
    given = environment.get("FLOPLEDGER_JOB")
    if given:
        return given
    slurm = environment.get("SLURM_ARRAY_JOB_ID")
    if slurm:
        return f"slurm {slurm}_{environment.get('SLURM_ARRAY_TASK_ID', '')}"
    if environment.get("SLURM_JOB_ID"):
        return f"slurm {environment['SLURM_JOB_ID']}"
    elastic = environment.get("TORCHELASTIC_RUN_ID", "none")
    return "" if elastic == "none" else f"torchrun {elastic}"


def process_start_ns() -> int:
    """When this process began, on the clock of time.monotonic_ns()."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        since_boot = ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        asleep = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
        return since_boot - asleep
    except (OSError, ValueError, IndexError):
        return time.monotonic_ns()


def boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def text(value: str, size: int) -> bytes:
    """Cut at a whole character, with a zero behind it."""
    return value.encode("utf-8", "replace")[: size - 1].decode("utf-8", "ignore").encode()


def make_header(rank: int, world_size: int, local_rank: int) -> bytes:
    torch = sys.modules.get("torch")
    header = HEADER.pack(
        MAGIC,
        1,
        HEADER_BYTES,
        ENTRY_BYTES,
        0,
        secrets.randbits(32),
        rank,
        world_size,
        local_rank,
        os.getpid(),
        time.time_ns(),
        time.monotonic_ns(),
        process_start_ns(),
        text(boot_id(), 40),
        text(socket.gethostname(), 64),
        text(job_of(), 128),
        text(VERSION, 32),
        text(str(getattr(torch, "__version__", "")), 32),
        text(platform.python_version(), 32),
    )
    checksum = zlib.crc32(header).to_bytes(4, "little")
    return header[:CHECKSUM_PLACE] + checksum + header[CHECKSUM_PLACE + 4 :]


def entries_of(slots: bytes, mark: int) -> Iterator[tuple[Any, ...] | None]:
    """The entries, one after the other; None in place of one whose checksum does not hold: damaged, or not written yet.

    `mark`: what checksums of the file begin with, as its header has it.
    """
    entries = native.load("step_writer").entries_of
    for place in range(0, len(slots), BLOCK_BYTES):
        yield from entries(slots[place : place + BLOCK_BYTES], mark)


class StepRecord:
    """Of one process. Where it cannot be written, it says so once, and the program goes on without."""

    def __init__(self, capture: str, writer: Any = None) -> None:
        """`writer`: in place of step_writer.c, of which a process has one."""
        self.folder = os.path.join(capture, "steps")
        self.writer: Any = native.load("step_writer") if writer is None else writer
        self.path: str | None = None
        self.is_open = False
        self.lost = 0
        self.retry_at = 0
        self.clock_offset = 0

    def open(self, rank: int, world_size: int, local_rank: int) -> None:
        """Each process gets a file of its own: a second writer of one rank finds the name taken."""
        self.clock_offset = time.time_ns() - time.monotonic_ns()
        try:
            os.makedirs(self.folder, exist_ok=True)
            for number in range(1, MAX_RECORDS):
                name = f"rank{rank}.steps" if number == 1 else f"rank{rank}_{number}.steps"
                path = os.path.join(self.folder, name)
                try:
                    self.writer.open(path, make_header(rank, world_size, local_rank))
                except FileExistsError:
                    continue
                self.path = path
                self.is_open = True
                return
        except OSError as error:
            say(f"no step record is kept: {error} (your program goes on)")

    def append(
        self,
        kind: int,
        flags: int = 0,
        step: int = 0,
        start_ns: int = 0,
        end_ns: int = 0,
        data_wait_ns: int = NOT_KNOWN,
        forward_ns: int = NOT_KNOWN,
        backward_ns: int = NOT_KNOWN,
        optimizer_ns: int = NOT_KNOWN,
        tokens: int = NOT_KNOWN,
        samples: int = NOT_KNOWN,
        memory_bytes: int = NOT_KNOWN,
        count: int = NOT_KNOWN,
        number: float = math.nan,
    ) -> None:
        self.append_numbers(
            end_ns,
            kind,
            flags,
            step,
            start_ns,
            end_ns,
            data_wait_ns,
            forward_ns,
            backward_ns,
            optimizer_ns,
            tokens,
            samples,
            memory_bytes,
            count,
            number,
        )

    def append_numbers(self, now: int, kind: int, *numbers: Any) -> None:
        """All fields of an entry, in their order."""
        if not self.is_open:
            return
        if self.lost and not self.tell_lost(now):
            return
        try:
            self.writer.append(kind, *numbers)
        except OSError as error:
            self.lose(error, now)
            return

    def lose(self, error: OSError, now: int) -> None:
        self.lost += 1
        self.retry_at = now + RETRY_NS
        say(
            f"the step record has gaps from here: {error} (it is tried again; your program goes on)"
        )

    def tell_lost(self, now: int) -> bool:
        """There was no room: tries again from time to time, and then says how much is missing."""
        if now < self.retry_at:
            self.lost += 1
            return False
        unknown = [NOT_KNOWN] * 7
        try:
            self.writer.append(LOST, 0, 0, now, now, *unknown, self.lost, math.nan)
        except OSError:
            self.lost += 1
            self.retry_at = now + RETRY_NS
            return False
        self.lost = 0
        return True

    def check_clock(self) -> None:
        """Notes where the wall clock was set, or drifts."""
        now = time.monotonic_ns()
        offset = time.time_ns() - now
        if abs(offset - self.clock_offset) > CLOCK_JUMP_NS:
            self.clock_offset = offset
            self.append(CLOCK, 0, 0, now, now, count=now + offset)

    def close(self, now: int = 0, by_exception: bool = False, is_kept: bool = True) -> None:
        """`is_kept` False: the process did not train after all."""
        if not self.is_open:
            return
        if is_kept:
            self.append(END, 0, 0, now, now, count=int(by_exception))
        self.writer.close()
        self.is_open = False
        if not is_kept and self.path is not None:
            for remove, path in ((os.unlink, self.path), (os.rmdir, self.folder)):
                try:
                    remove(path)
                except OSError:
                    pass

    def forget(self) -> None:
        """In a child of fork(): the record stays its parent's."""
        self.writer.forget()
        self.is_open = False
