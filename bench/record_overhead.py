#!/usr/bin/env python3
"""What recording costs: one training step of a small Llama, in each way side by side; bench/run_bench.py calls it.

    PYTHON bench/record_overhead.py [--rounds N] [--extension FOLDER] [--device cuda] [--json FILE]

PYTHON has torch, and for all ways DeepSpeed and transformers. One process, one thread; ways take turns, in another order each
round, and processor time is measured, so that what else the machine does matters little. With --device cuda the model lies on the
GPU, profilers record it too, and a step is measured from one synchronization to the next. FOLDER is where the package was built
(build/release/python), for its C extension. Prints a table of ratios to the plain step.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # messages of the profiler's own

import torch
from overhead_section import PLAIN, rows_of
from small_llama import WORDS, make_model
from torch import nn
from torch.nn import functional as F

ROOT = Path(__file__).resolve().parents[1]
LENGTH = 128
STEPS = 4  # of one way in one round; the first is not counted
WINDOW = 3  # steps of a recorded window
HOOK_CALLS = 100_000


@contextmanager
def recorded(optimizer: torch.optim.Optimizer, **kinds: bool) -> Iterator[None]:
    """As flopledger run does it."""
    from flopledger.batch import BatchCounter
    from flopledger.memory_marks import MemoryMarks
    from flopledger.models import find_models, modules_to_mark
    from flopledger.module_markers import ModuleMarkers
    from flopledger.profiler_session import ProfilerSession
    from flopledger.settings import Settings

    settings = Settings(capture="", **kinds)
    session, markers, memory = ProfilerSession(settings), ModuleMarkers(), MemoryMarks()
    models = find_models({id(p) for group in optimizer.param_groups for p in group["params"]})
    batch = BatchCounter()

    def observe(*call: Any) -> None:
        batch.observe(*call)
        if settings.memory:
            memory.before_call(*call)

    session.start()
    if settings.memory:
        memory.start(models, [optimizer], 1)
    if settings.markers:
        markers.on(modules_to_mark(models, ()), observe)
    step_end = optimizer.register_step_post_hook(lambda *arguments: memory.end_step())
    yield
    step_end.remove()
    memory.stop()
    markers.off()
    session.stop()


@contextmanager
def mem_tracker(model: nn.Module, optimizer: torch.optim.Optimizer) -> Iterator[None]:
    from torch.distributed._tools.mem_tracker import MemTracker

    tracker = MemTracker()
    tracker.track_external(model, optimizer)
    reset = optimizer.register_step_post_hook(lambda *arguments: tracker.reset_mod_stats())
    with tracker:
        yield
    reset.remove()


def recorder_between_windows(folder: str) -> Any:
    """As it is in a run whose next window is far away."""
    from flopledger.recorder import Recorder
    from flopledger.settings import Settings

    far = sys.maxsize // 2
    settings = Settings(capture=folder, first_step=far, last_step=far)
    return Recorder(settings, sys.modules["torch.optim.optimizer"])


@contextmanager
def between_windows() -> Iterator[None]:
    recorder = recorder_between_windows("")
    yield
    recorder.turn_off()


@contextmanager
def flop_counter() -> Iterator[None]:
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False):
        yield


@contextmanager
def deepspeed_profiler(model: nn.Module) -> Iterator[None]:
    from deepspeed.profiling.flops_profiler import FlopsProfiler

    profiler = FlopsProfiler(model)
    profiler.start_profile()
    yield
    profiler.end_profile()


def ways_to_measure(
    model: nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Callable[[], Any]]:
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU]  # and the device, where the model lies there
    if next(model.parameters()).is_cuda:
        activities.append(ProfilerActivity.CUDA)
    ways: dict[str, Callable[[], Any]] = {
        PLAIN: nullcontext,
        "flopledger: between recorded windows": between_windows,
        "flopledger: shapes, markers": lambda: recorded(optimizer),
        "flopledger: shapes, markers, memory": lambda: recorded(optimizer, memory=True),
        "torch.profiler": lambda: profile(activities=activities),
        "torch.profiler, shapes": lambda: profile(activities=activities, record_shapes=True),
        "torch.profiler, shapes, memory": lambda: profile(
            activities=activities, record_shapes=True, profile_memory=True
        ),
        "FlopCounterMode": flop_counter,
        "MemTracker": lambda: mem_tracker(model, optimizer),
    }
    try:
        import deepspeed

        name = f"DeepSpeed {deepspeed.__version__}'s flops profiler"
        ways[name] = lambda: deepspeed_profiler(model)
    except ImportError:
        pass
    return ways


class Training:
    """Steps of the model, one at a time."""

    def __init__(self, device: str = "cpu") -> None:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        self.is_cuda = device.startswith("cuda")
        model, self.what = make_model(LENGTH)
        self.model = model.to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, foreach=True)
        self.words = torch.randint(0, WORDS, (1, LENGTH)).to(device)

    def now(self) -> float:
        """Processor time in seconds; where a device works, too, the time of the clock once it has ended its work."""
        if not self.is_cuda:
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()

    def step(self) -> float:
        """Its time in seconds."""
        began = self.now()
        logits = self.model(self.words)
        logits = getattr(logits, "logits", logits)
        loss = F.cross_entropy(logits.flatten(0, 1), self.words.flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return self.now() - began


def measure_ways(training: Training, rounds: int) -> dict[str, list[float]]:
    """The median of each round."""
    ways = ways_to_measure(training.model, training.optimizer)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for name, way in ways.items():  # each once, to warm up
        with way():
            training.step()
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        for name in random.sample(list(ways), len(ways)):
            with ways[name]():
                seconds[name].append(statistics.median([training.step() for _ in range(STEPS)][1:]))
    return seconds


def measure_hook(optimizer: torch.optim.Optimizer) -> float:
    """Seconds that a step between windows spends in the recorder, without what the clock of the loop takes."""
    recorder = recorder_between_windows("")
    hook = recorder.ends.after_hook()
    nothing: Callable[..., None] = lambda optimizer, arguments, keywords: None

    def seconds_of(call: Callable[..., None]) -> float:
        began = time.perf_counter()
        for _ in range(HOOK_CALLS):
            call(optimizer, (), {})
        return (time.perf_counter() - began) / HOOK_CALLS

    result = min(seconds_of(hook) for _ in range(3)) - min(seconds_of(nothing) for _ in range(3))
    recorder.turn_off()
    return result


def measure_mark() -> float:
    """Seconds of one mark of the memory of 300 tensors: 60 parameters with gradients and AdamW's state."""
    from flopledger.memory_marks import MemoryMarks
    from flopledger.models import name_modules

    layers = [nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8)) for _ in range(15)]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 8)).sum().backward()
    optimizer.step()
    marks = MemoryMarks()
    marks.start([name_modules(model, [])], [optimizer], 1)
    assert len(marks.last) == 300
    seconds = []
    for _ in range(100):
        began = time.perf_counter()
        marks.mark("forward start")
        seconds.append(time.perf_counter() - began)
    marks.stop()
    return statistics.median(seconds)


def measure_window(training: Training) -> dict[str, float]:
    """Seconds around a window of three steps, where the program waits, and bytes of its trace."""
    from flopledger.recorder import Recorder
    from flopledger.settings import Settings

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(capture=folder, first_step=3, last_step=2 + WINDOW)
        recorder = Recorder(settings, sys.modules["torch.optim.optimizer"])
        work = recorder.windows.work_between_steps
        waits: list[float] = []

        def timed() -> None:
            began = time.perf_counter()
            work()
            waits.append(time.perf_counter() - began)

        recorder.windows.work_between_steps = timed  # type: ignore[method-assign]
        for _ in range(WINDOW + 4):
            training.step()
        recorder.turn_off()
        (trace,) = Path(folder).glob("traces/*/*.gz")
        return {
            "before_seconds": sum(waits[:2]),
            "after_seconds": waits[-1],
            "bytes": float(trace.stat().st_size),
        }


def findings_of(training: Training, rounds: int) -> dict[str, Any]:
    hook = measure_hook(training.optimizer)
    window = measure_window(training)
    return {
        "torch": torch.__version__,
        "model": training.what,
        "rounds": rounds,
        "seconds": measure_ways(training, rounds),
        "hook_seconds": hook,
        "mark_seconds": measure_mark(),
        "window_steps": WINDOW,
        "window": window,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--extension", type=Path, default=ROOT / "build" / "release" / "python")
    parser.add_argument("--device", default="cpu", help="where the model lies: cpu or cuda")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    arguments = parser.parse_args()
    sys.path[:0] = [str(arguments.extension), str(ROOT / "python")]
    found = findings_of(Training(arguments.device), arguments.rounds)
    if arguments.json:
        arguments.json.write_text(json.dumps(found))
        return
    print(f"torch {found['torch']}, {found['model']}, one thread\n")
    for row in rows_of(found["seconds"]):
        print("  ".join(f"{cell:>13}" if i else f"{cell:<40}" for i, cell in enumerate(row)))
    print(
        f"\nbetween windows: {1e9 * found['hook_seconds']:.0f} ns a step; window: {found['window']}"
    )


if __name__ == "__main__":
    main()
