"""What CUDA's caching allocator tells beside a trace: its own figures at each mark, and its history with the modules' names."""

from __future__ import annotations

import sys
from typing import Any

HISTORY_EVENTS = 1_000_000


def cuda_in_use() -> Any:
    """torch.cuda where the program has used it; else None. Never starts it: is_available() would, as it asks the driver, and
    what the program forks after that could not use the device any more."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


def describe_devices() -> list[dict[str, int]]:
    """Of the device in use: no kernel waits for this, and nothing is allocated."""
    cuda = cuda_in_use()
    if cuda is None:
        return []
    device = cuda.current_device()
    statistics = cuda.memory_stats(device)
    used = total = -1
    if not cuda.is_current_stream_capturing():  # asking the driver could break it
        free, total = cuda.mem_get_info(device)
        used = total - free
    return [
        {
            "device": device,
            "allocated_bytes": statistics.get("allocated_bytes.all.current", -1),
            "requested_bytes": statistics.get("requested_bytes.all.current", -1),
            "reserved_bytes": statistics.get("reserved_bytes.all.current", -1),
            "peak_allocated_bytes": statistics.get("allocated_bytes.all.peak", -1),
            "inactive_split_bytes": statistics.get("inactive_split_bytes.all.current", -1),
            "allocation_retries": statistics.get("num_alloc_retries", -1),
            "out_of_memory_errors": statistics.get("num_ooms", -1),
            "used_bytes": used,
            "total_bytes": total,
        }
    ]


class AllocatorHistory:
    """The allocator's own record of a window, as a snapshot that `flopledger memory` reads; the program's own one wins."""

    def __init__(self) -> None:
        self.memory: Any = None  # torch.cuda.memory while ours is on

    def start(self) -> None:
        cuda = cuda_in_use()
        if cuda is None or self.is_recording():
            return
        try:
            cuda.memory._record_memory_history(
                enabled="all", context="alloc", stacks="python", max_entries=HISTORY_EVENTS
            )
        except (AttributeError, TypeError, RuntimeError):  # an older torch, or another allocator
            return
        self.memory = cuda.memory

    def is_recording(self) -> bool:
        torch = sys.modules["torch"]
        asks = getattr(torch._C, "_cuda_isHistoryEnabled", None)
        return bool(asks and asks())

    @property
    def is_on(self) -> bool:
        return self.memory is not None

    def tag(self, phase: str, module: str) -> None:
        """Stands beside each block that is allocated from now on."""
        tag = getattr(self.memory, "_set_memory_metadata", None)
        if tag is not None:
            tag(f"{phase}|{module}")

    def save(self, path: str) -> bool:
        """Writes the snapshot and ends the record. False where there is none."""
        if self.memory is None:
            return False
        self.memory._dump_snapshot(path)
        self.stop()
        return True

    def stop(self) -> None:
        memory, self.memory = self.memory, None
        if memory is not None:
            memory._record_memory_history(enabled=None)


class TaggedMarks:
    """The marks of module calls (module_markers.py), which also tag what the allocator hands out meanwhile."""

    def __init__(self, marks: Any, history: AllocatorHistory) -> None:
        self.marks = marks
        self.history = history
        self.names: dict[int, str] = {}
        self.open: list[str] = []
        self.bound: list[tuple[Any, str]] = []

    def mark(self, modules: list[tuple[Any, str]], observer: Any) -> None:
        self.names = {id(module): name.removeprefix("nn:") for module, name in modules}
        self.open = []
        self.marks.mark(modules, observer)

    def unmark(self) -> None:
        self.names = {}
        self.marks.unmark()

    def enter(self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        token = self.marks.enter(module, arguments, keywords)
        name = self.names.get(id(module))
        if name is None:
            return token, False
        self.open.append(name)
        self.history.tag(self.phase(), name)
        return token, True

    def leave(self, opened: tuple[Any, bool]) -> None:
        token, is_named = opened
        self.marks.leave(token)
        if is_named and self.open:
            self.open.pop()
            self.history.tag(self.phase(), self.open[-1] if self.open else "")

    def phase(self) -> str:
        import torch

        return "recompute" if torch._C._current_graph_task_id() != -1 else "forward"
