"""`flopledger trace` asks a running program for a window: a file in its capture folder, looked at once a second."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

REQUEST = "trace-request.json"
ANSWERS = "trace-answers"


@dataclass
class TraceRequest:
    id: str
    first_step: int
    last_step: int


class TraceRequests:
    """Of one rank: sees what is asked for, and answers beside it. docs/formats/capture.md has both files."""

    def __init__(self, capture: str) -> None:
        self.path = os.path.join(capture, REQUEST)
        self.answers = os.path.join(capture, ANSWERS)
        self.seen: tuple[int, int] | None = self.stamp()  # one that was there before is not for us
        self.current: TraceRequest | None = None
        self.rank = 0

    def stamp(self) -> tuple[int, int] | None:
        try:
            about = os.stat(self.path)
        except OSError:
            return None
        return about.st_mtime_ns, about.st_ino

    def look(self) -> TraceRequest | None:
        """The request that came since the last look."""
        stamp = self.stamp()
        if stamp is None or stamp == self.seen:
            return None
        self.seen = stamp
        try:
            with open(self.path, encoding="utf-8") as file:
                asked = json.load(file)
            request = TraceRequest(
                str(asked["id"]), int(asked["first_step"]), int(asked["last_step"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not request.id.isalnum():
            return None
        self.current = request
        return request

    def answer(self, state: str, **more: Any) -> None:
        """`state`: "accepted", "recorded" or "refused"; the last two end the request."""
        request = self.current
        if request is None:
            return
        if state != "accepted":
            self.current = None
        path = os.path.join(self.answers, f"{request.id}.rank{self.rank}.json")
        part = f"{path}.part"
        try:
            os.makedirs(self.answers, exist_ok=True)
            with open(part, "w", encoding="utf-8") as file:
                json.dump({"id": request.id, "rank": self.rank, "state": state, **more}, file)
                file.write("\n")
            os.replace(part, path)
        except OSError:
            pass  # nobody hears it; what is recorded is recorded
