#!/usr/bin/env python3
"""The parts of the recorder that only a GPU needs, with stand-ins for torch.cuda: test_recorder_on_cuda.py PROGRAM"""

import importlib.util
import inspect
import os
import sys
import types
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from count_line import run_and_count
from recorded_runs import find_python

if importlib.util.find_spec("torch") is None and (python := find_python()):
    os.execv(python, [python, *sys.argv])
PROGRAM = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(PROGRAM.parent / "python"))

from flopledger import allocator_history  # noqa: E402

try:
    from flopledger import ask_program, side_file, step_record  # noqa: E402
except ImportError:
    ask_program = side_file = step_record = None  # type: ignore[assignment]
from flopledger.allocator_history import AllocatorHistory, TaggedMarks  # noqa: E402


class StandInMemory:
    """Of torch.cuda.memory: remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def _record_memory_history(self, **keywords: Any) -> None:
        self.calls.append(("record", keywords))

    def _set_memory_metadata(self, text: str) -> None:
        self.calls.append(("tag", text))

    def _dump_snapshot(self, path: str) -> None:
        self.calls.append(("dump", path))


def must_not_be_called() -> bool:
    raise AssertionError("asks the driver, which a program that forks later may not want")


def stand_in_torch(
    is_initialized: bool = True, is_recording: bool = False, is_capturing: bool = False
) -> Any:
    cuda = types.SimpleNamespace(
        is_available=must_not_be_called,
        is_initialized=lambda: is_initialized,
        is_current_stream_capturing=lambda: is_capturing,
        max_memory_allocated=lambda: 77,
        device_count=lambda: 2,
        get_device_properties=lambda index: types.SimpleNamespace(
            name=f"NVIDIA H200 {index}", total_memory=1000, multi_processor_count=132
        ),
        memory=StandInMemory(),
        current_device=lambda: 1,
        memory_stats=lambda device: {
            "allocated_bytes.all.current": 70,
            "reserved_bytes.all.current": 100,
            "num_ooms": 2,
        },
        mem_get_info=lambda device: (400, 1000),
    )
    c = types.SimpleNamespace(
        _cuda_isHistoryEnabled=lambda: is_recording, _current_graph_task_id=lambda: -1
    )
    return types.SimpleNamespace(cuda=cuda, _C=c)


class OnCuda(unittest.TestCase):
    def with_torch(self, torch: Any) -> Any:
        patch = mock.patch.dict(sys.modules, {"torch": torch})
        patch.start()
        self.addCleanup(patch.stop)
        return torch

    def test_figures_of_the_device(self) -> None:
        self.with_torch(stand_in_torch())
        (device,) = allocator_history.describe_devices()
        self.assertEqual(device["device"], 1)
        self.assertEqual(device["reserved_bytes"], 100)
        self.assertEqual(device["used_bytes"], 600)
        self.assertEqual(device["out_of_memory_errors"], 2)
        self.assertEqual(device["inactive_split_bytes"], -1)  # not told

    def test_the_driver_is_not_asked_within_a_capture_of_a_graph(self) -> None:
        self.with_torch(stand_in_torch(is_capturing=True))
        (device,) = allocator_history.describe_devices()
        self.assertEqual((device["used_bytes"], device["total_bytes"]), (-1, -1))
        self.assertEqual(device["allocated_bytes"], 70)

    @unittest.skipIf(ask_program is None, "needs torch")
    def test_what_is_told_of_the_machine_starts_no_device(self) -> None:
        torch = self.with_torch(stand_in_torch())
        torch.get_num_threads = lambda: 1
        torch.get_default_dtype = lambda: None
        self.assertEqual(ask_program.device_memory_high_water(), 77)
        used = [d["is_used_by_this_rank"] for d in side_file.describe_hardware()["devices"]]
        self.assertEqual(used, [False, True])
        torch.cuda.is_initialized = lambda: False
        self.assertEqual(ask_program.device_memory_high_water(), step_record.NOT_KNOWN)
        self.assertEqual(side_file.describe_hardware()["devices"], [])

    def test_nothing_is_started_where_the_program_does_not_use_it(self) -> None:
        torch = self.with_torch(stand_in_torch(is_initialized=False))
        history = AllocatorHistory()
        history.start()
        self.assertFalse(history.is_on)
        self.assertEqual(allocator_history.describe_devices(), [])
        self.assertFalse(history.save("x"))
        self.assertEqual(torch.cuda.memory.calls, [])

    def test_history_is_recorded_and_ended(self) -> None:
        torch = self.with_torch(stand_in_torch())
        history = AllocatorHistory()
        history.start()
        history.tag("forward", "layers.0")
        self.assertTrue(history.save("x.pickle"))
        self.assertFalse(history.is_on)
        (_, begun), tag, dump, (_, ended) = torch.cuda.memory.calls
        self.assertEqual((begun["enabled"], begun["stacks"]), ("all", "python"))
        self.assertEqual(tag, ("tag", "forward|layers.0"))
        self.assertEqual(dump, ("dump", "x.pickle"))
        self.assertEqual(ended, {"enabled": None})

    def test_history_of_the_programs_own_wins(self) -> None:
        torch = self.with_torch(stand_in_torch(is_recording=True))
        history = AllocatorHistory()
        history.start()
        history.stop()
        self.assertEqual(torch.cuda.memory.calls, [])

    def test_calls_of_modules_are_tagged(self) -> None:
        torch = self.with_torch(stand_in_torch())
        history = AllocatorHistory()
        history.start()
        inner = mock.Mock()
        marks = TaggedMarks(inner, history)
        outer_module, module, other = object(), object(), object()
        marks.mark([(outer_module, "nn:Net"), (module, "nn:lin")], None)
        outer = marks.enter(outer_module, (), {})
        token = marks.enter(module, (), {})
        unnamed = marks.enter(other, (), {})
        marks.leave(unnamed)
        marks.leave(token)
        marks.leave(outer)
        tags = [text for kind, text in torch.cuda.memory.calls if kind == "tag"]
        self.assertEqual(tags, ["forward|Net", "forward|lin", "forward|Net", "forward|"])
        self.assertEqual(inner.enter.call_count, 3)
        self.assertEqual(inner.leave.call_count, 3)


@unittest.skipIf(ask_program is None, "needs torch")
class RealTorch(unittest.TestCase):
    """What is asked of torch.cuda is there in this torch, and takes what it is given: nothing is called."""

    def test_calls_fit(self) -> None:
        from torch import _C, cuda

        memory = cuda.memory
        history = getattr(memory, "_record_memory_history_impl", memory._record_memory_history)
        words = {"context": "alloc", "stacks": "python", "max_entries": 1}
        for call, given, named in (
            (history, ("all",), words),
            (history, (), {"enabled": None}),
            (memory._dump_snapshot, ("path",), {}),
            (cuda.memory_stats, (0,), {}),
            (cuda.mem_get_info, (0,), {}),
            (cuda.get_device_properties, (0,), {}),
            (cuda.max_memory_allocated, (), {}),
            (cuda.is_initialized, (), {}),
            (cuda.is_current_stream_capturing, (), {}),
            (cuda.current_device, (), {}),
            (cuda.device_count, (), {}),
        ):
            inspect.signature(call).bind(*given, **named)
        if hasattr(memory, "_set_memory_metadata"):
            inspect.signature(memory._set_memory_metadata).bind("text")
        stub = Path(_C.__file__).with_name("_C") / "__init__.pyi"
        self.assertIn("_cuda_isHistoryEnabled", stub.read_text())

    def test_figures_have_these_names(self) -> None:
        from torch import cuda

        told = cuda.memory_stats.__doc__ or ""
        for name in (
            "allocated_bytes",
            "requested_bytes",
            "reserved_bytes",
            "inactive_split_bytes",
        ):
            self.assertIn(f"{name}.{{all,large_pool,small_pool}}.{{current,peak", told)
        self.assertIn('"num_alloc_retries"', told)
        self.assertIn('"num_ooms"', told)


if __name__ == "__main__":
    run_and_count()
