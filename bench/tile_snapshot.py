"""Makes a memory snapshot of any length out of another: tile_snapshot.py SNAPSHOT OUTPUT EVENTS

The trace is repeated until it has so many events. Between two rounds the allocations that one left alive are freed and those
that it freed from before are made again, so that each round begins with what the first one began with. Each event has a list
of frames of its own, as those of a long recording have; the frames themselves are shared, as PyTorch shares them.
"""

from __future__ import annotations

import pickle
import sys
from typing import Any


class PlainUnpickler(pickle.Unpickler):
    """Refuses whatever would run code."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"the snapshot asks for {module}.{name}")


def between_rounds(trace: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events that bring back what stood before the trace."""
    live: dict[int, dict[str, Any]] = {}
    from_before: list[dict[str, Any]] = []
    for event in trace:
        if event["action"] == "alloc":
            live[event["addr"]] = event
        elif event["action"] == "free_completed" and not live.pop(event["addr"], None):
            from_before.append(event)
    last = trace[-1]
    undone = []
    for event in live.values():
        for action in ("free_requested", "free_completed"):
            undone.append(event | {"action": action, "time_us": last["time_us"], "frames": []})
    for event in from_before:
        undone.append(event | {"action": "alloc", "time_us": last["time_us"]})
    return undone


def tile(trace: list[dict[str, Any]], wanted: int) -> list[dict[str, Any]]:
    memory_only = [event for event in trace if not event["action"].startswith("segment")]
    undo = between_rounds(memory_only)
    duration = trace[-1]["time_us"] - trace[0]["time_us"] + 1
    rounds = max(1, round(wanted / (len(memory_only) + len(undo))))
    result = []
    for number in range(rounds):
        events = memory_only if number == rounds - 1 else memory_only + undo
        for event in events:
            later = {"time_us": event["time_us"] + number * duration}
            result.append(event | later | {"frames": list(event["frames"])})
    return result


def main() -> None:
    source, output, wanted = sys.argv[1:]
    with open(source, "rb") as file:
        snapshot = PlainUnpickler(file).load()
    traces = snapshot["device_traces"]
    longest = max(range(len(traces)), key=lambda device: len(traces[device]))
    traces[longest] = tile(traces[longest], int(wanted))
    with open(output, "wb") as file:
        pickle.dump(snapshot, file, protocol=4)
    print(len(traces[longest]))


if __name__ == "__main__":
    main()
