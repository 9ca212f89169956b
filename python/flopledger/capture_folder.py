"""Where a process writes: {name}/{start time}/traces/rank{r}_dp{d}_tp{t}_pp{p}/, one folder a process."""

from __future__ import annotations

import gzip
import json
import os
from typing import Any

COMPRESSION = 1  # a trace shrinks to a tenth; more would cost the program time
BLOCK_BYTES = 1 << 20


class CaptureFolder:
    """Makes its folder when first asked for; a name that another process has taken gets a number."""

    def __init__(self, capture: str, name: str) -> None:
        self.traces = os.path.join(capture, "traces")
        self.name = name
        self.made: str | None = None

    @property
    def path(self) -> str:
        if self.made is None:
            os.makedirs(self.traces, exist_ok=True)
            number = 1
            while self.made is None:
                name = self.name if number == 1 else f"{self.name}_{number}"
                path = os.path.join(self.traces, name)
                try:
                    os.mkdir(path)
                    self.made = path
                except FileExistsError:
                    number += 1
        return self.made

    def remove_if_empty(self) -> None:
        for folder in filter(None, (self.made, self.traces)):
            try:
                os.rmdir(folder)
            except OSError:
                pass  # there is something in it

    def pack_trace(self, text: str, name: str, open_step: int | None) -> str:
        """Compresses the trace in file `text`, then removes that. A step that did not end is no step: it is renamed."""
        path = os.path.join(self.path, name)
        part = path + ".part"
        mark = f'"ProfilerStep#{open_step}"'.encode()
        try:
            with open(text, "rb") as file, gzip.open(part, "wb", COMPRESSION) as packed:
                while block := file.read(BLOCK_BYTES):
                    block += file.readline()  # what is looked for lies within one line
                    if open_step is not None:
                        block = block.replace(mark, f'"unfinished step {open_step}"'.encode())
                    if b'"traceName"' in block:
                        block = block.replace(text.encode(), name.encode())
                    packed.write(block)
            os.replace(part, path)
        finally:
            remove(part)
            remove(text)
        return path

    def write_json(self, name: str, content: dict[str, Any], is_compact: bool = False) -> None:
        """Whole or not at all."""
        path = os.path.join(self.path, name)
        part = f"{path}.part"
        try:
            with open(part, "w", encoding="utf-8") as file:
                indent = None if is_compact else 1
                json.dump(content, file, indent=indent, ensure_ascii=False, default=str)
                file.write("\n")
            os.replace(part, path)
        finally:
            remove(part)


def remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass
