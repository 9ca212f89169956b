"""SimpleMemoryProfiler with the constructor, `point()` and `step()` of InternEvo's, and with what memory is really for.

The steps are recorded as `flopledger run --memory` does; after the last one the program `flopledger` writes memory.log and the
five pages into the folder. Nothing is added to the model, and no kind of module or of result is refused.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from flopledger.allocator_history import AllocatorHistory
from flopledger.at_exit import at_exit
from flopledger.memory_marks import MemoryMarks
from flopledger.messages import guarded, say
from flopledger.models import Model, modules_to_mark, name_modules
from flopledger.module_markers import ModuleMarkers
from flopledger.profiler_session import ProfilerSession
from flopledger.settings import Settings

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # messages of the profiler's own

TRACE = "steps.pt.trace.json"
OPTIONS = ("params", "grads", "os_params", "os_state", "activation_base", "all")


def find_program() -> str:
    """Of this package: beside it in a build folder, in the environment that it is installed in, or on PATH."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = (
        os.environ.get("FLOPLEDGER_PROGRAM", ""),
        os.path.join(here, "..", "..", "flopledger"),
        os.path.join(here, "..", "..", "..", "..", "bin", "flopledger"),
        os.path.join(os.path.dirname(sys.executable), "flopledger"),
        shutil.which("flopledger") or "",
    )
    for place in places:
        if place and os.path.isfile(place) and os.access(place, os.X_OK):
            return place
    raise FileNotFoundError(
        "the program 'flopledger' is not found: put it on PATH, or name it in FLOPLEDGER_PROGRAM"
    )


def chunks_of(model: Any) -> list[Any]:
    """A ModuleList of several is a pipeline's chunks; InternEvo's NaiveAMPModel wraps a model as `.model`."""
    from torch import nn

    chunks = list(model) if isinstance(model, nn.ModuleList) and len(model) > 1 else [model]
    return [chunk.model if type(chunk).__name__ == "NaiveAMPModel" else chunk for chunk in chunks]


class SimpleMemoryProfiler:
    """Call step() at the end of each step; after `total_steps` of them the files are written.

    `point("params,grads")` adds a record with these layouts to the log ("all" for each), `point()` one without; `create`
    begins the log anew.
    """

    def __init__(self, model: Any, optimizer: Any, log_folder: str, total_steps: int = 5) -> None:
        self.program = find_program()
        self.log_folder = os.fspath(log_folder)
        self.remaining_steps = total_steps
        self.stopped = False
        os.makedirs(self.log_folder, exist_ok=True)
        self.models = self.name_models(model)
        self.session = ProfilerSession(Settings(capture="", shapes=False, memory=True))
        self.marks = MemoryMarks(AllocatorHistory())
        self.markers = ModuleMarkers()
        self.number = 1
        self.start([optimizer])

    def name_models(self, model: Any) -> list[Model]:
        models: list[Model] = []
        for chunk in chunks_of(model):
            models.append(name_modules(chunk, [named.name for named in models]))
        return models

    def start(self, optimizers: list[Any]) -> None:
        self.session.start()
        self.marks.start(self.models, optimizers, self.number)
        self.markers.on(modules_to_mark(self.models, ()), self.marks.before_call)
        if self.markers.reason:
            say(self.markers.reason)
        self.session.begin_step(self.number)
        self.at_end = at_exit(self.stop)

    def point(self, with_options: str = "", create: bool = False) -> None:
        options = [option.strip() for option in with_options.split(",") if option.strip()]
        unknown = [option for option in options if option not in OPTIONS]
        if unknown:
            raise ValueError(
                f"unknown option {unknown[0]!r} of point(): give some of {', '.join(OPTIONS)}"
            )
        if not self.stopped:
            if create:
                self.marks.forget_asked()
            self.marks.ask(",".join(options))

    def step(self) -> None:
        if self.stopped:
            return
        self.session.end_step()
        self.marks.end_step()
        self.remaining_steps -= 1
        self.number += 1
        if self.remaining_steps <= 0:
            self.stop()
        else:
            self.session.begin_step(self.number)

    def stop(self) -> None:
        """Writes what was recorded; done after the last step, and where the program ends before that."""
        if self.stopped:
            return
        self.stopped = True
        atexit.unregister(self.at_end)
        self.marks.stop()
        self.markers.off()
        self.session.stop()
        guarded(self.write)()

    def write(self) -> None:
        with tempfile.TemporaryDirectory(prefix="flopledger-") as folder:
            trace = os.path.join(folder, TRACE)
            self.session.save(trace)
            content = self.marks.content(TRACE)
            with open(os.path.join(folder, "steps.memory.json"), "w", encoding="utf-8") as file:
                json.dump(content, file)
            done = subprocess.run(
                [self.program, "memory", "--format", "internevo", "--no-progress"]
                + ["--output", folder, trace],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise RuntimeError(done.stderr.strip() or f"exit status {done.returncode}")
            written = os.path.join(folder, "memory_trace", "rank0_dp0_tp0")
            for name in sorted(os.listdir(written)):
                shutil.copyfile(os.path.join(written, name), os.path.join(self.log_folder, name))
