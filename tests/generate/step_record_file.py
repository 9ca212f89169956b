"""Writes step records without the extension, several in one process, for tests of what reads them; docs/formats/step-record.md."""

from __future__ import annotations

import fcntl
import os
import resource
import struct
import zlib
from typing import Any

from flopledger.step_record import HEADER_BYTES

ENTRY = struct.Struct("<IHHQqqqqqqqqqqqdqq")


class StepRecordFile:
    """Has the methods of step_writer.c; each entry is a write of its own."""

    def __init__(self) -> None:
        self.descriptor = -1
        self.mark = 0
        self.place = HEADER_BYTES

    def open(self, path: str, header: bytes) -> None:
        self.close()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self.descriptor = os.open(path, flags, 0o666)
        try:
            fcntl.lockf(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            pass  # a file system without locks
        try:
            self.write(header, 0)
        except OSError:
            os.unlink(path)
            self.forget()
            raise
        self.mark = int.from_bytes(header[24:28], "little")
        self.place = HEADER_BYTES

    def append(self, kind: int, flags: int, *numbers: Any) -> None:
        host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        sequence = (self.place - HEADER_BYTES) // ENTRY.size + 1
        entry = ENTRY.pack(0, kind, flags, sequence, *numbers, host, 0)
        checksum = zlib.crc32(entry, self.mark)
        self.write(checksum.to_bytes(4, "little") + entry[4:], self.place)
        self.place += ENTRY.size

    def write(self, data: bytes, place: int) -> None:
        while data:
            written = os.pwrite(self.descriptor, data, place)
            data = data[written:]
            place += written

    def has_entries(self) -> bool:
        return self.place > HEADER_BYTES

    def close(self) -> None:
        self.forget()

    def forget(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
        self.descriptor = -1
