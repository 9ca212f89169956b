"""Writes what was recorded into the capture's folder: the traces, and capture.json beside them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any

from flopledger.capture_folder import CaptureFolder, remove
from flopledger.compiled_graphs import describe_compiled_graphs
from flopledger.messages import say_once_of_all_ranks
from flopledger.model_watch import ModelWatch
from flopledger.parallel_layout import ParallelLayout
from flopledger.profiler_session import ProfilerSession
from flopledger.settings import Settings


class CaptureWriter:
    """Of one rank; docs/formats/capture.md."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.layout = ParallelLayout()
        self.folder: CaptureFolder | None = None
        self.recorded: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self.described: dict[str, Any] = {}  # what capture.json says of models and optimizers
        self.started_ns = time.time_ns()

    def tell(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)
        say_once_of_all_ranks(problem)

    def open_folder(self, layout: ParallelLayout) -> None:
        self.layout = layout
        if self.folder is None:
            self.folder = CaptureFolder(self.settings.capture, layout.folder_name)

    # ------------------------------------------------------------------------------------------------------------------
    # A window

    def save_window(self, session: ProfilerSession, told: dict[str, Any], watch: ModelWatch) -> str:
        """The path of its trace. `told`: its steps, and what else capture.json says of it."""
        assert self.folder is not None
        steps = told["steps"]
        first, last = steps[0]["step"], steps[-1]["step"]
        stem = f"steps{first}-{last}" if last > first else f"step{first}"
        name = f"{stem}.pt.trace.json.gz"
        text = ""
        try:
            text = os.path.join(self.folder.path, f"{name}.text.part")
            session.save(text)
            self.folder.pack_trace(text, name, session.open_step)
        except OSError as error:
            for path in (text, f"{text}.tmp"):  # the second is what torch writes to
                remove(path)
            self.folder.remove_if_empty()
            raise OSError(
                error.errno, f"cannot write the trace: {error.strerror or error}", error.filename
            ) from error
        if self.settings.compiled:
            self.save_compiled()
        self.recorded.append({"trace": name, **self.save_memory(stem, name, watch), **told})
        return os.path.join(self.folder.path, name)

    def save_memory(self, stem: str, trace: str, watch: ModelWatch) -> dict[str, str]:
        """What stands beside the trace: the marks, and the allocator's own history of a device."""
        assert self.folder is not None
        if watch.memory is None:
            return {}
        files = {"memory": f"{stem}.memory.json"}
        self.folder.write_json(files["memory"], watch.memory.content(trace), is_compact=True)
        snapshot = f"{stem}.memory.pickle"
        if watch.history.save(os.path.join(self.folder.path, snapshot)):
            files["memory_snapshot"] = snapshot
        return files

    def save_compiled(self) -> None:
        """compiled.json, of all that torch.compile has made so far."""
        assert self.folder is not None
        content = describe_compiled_graphs()
        if not content:
            return
        if any(graph["calls"] is None for graph in content["graphs"]):
            self.tell(
                "of some compiled code the modules are not known: it was cached without --compiled, or this version of torch "
                "does not tell (TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 compiles it anew)"
            )
        self.folder.write_json("compiled.json", content, is_compact=True)

    # ------------------------------------------------------------------------------------------------------------------
    # What is told beside the traces

    def describe_models(self, watch: ModelWatch, optimizers: Iterable[Any]) -> None:
        from flopledger import side_file

        models = watch.models or []
        if models or not self.described:
            self.described = {
                "precision": side_file.describe_precision(models, watch.batch.autocast),
                "models": [side_file.describe_model(model) for model in models],
                "optimizers": [side_file.describe_optimizer(each) for each in optimizers],
            }

    def write_side_file(
        self, state: str, watch: ModelWatch, step_count: int, end_times: list[int]
    ) -> None:
        """`end_times`: of steps 1, 2, ..., of a million at most."""
        from flopledger import side_file

        assert self.folder is not None
        self.folder.write_json(
            "capture.json",
            {
                "schema": "flopledger.capture",
                "schema_version": 1,
                "state": state,
                "problems": self.problems,
                "started_unix_ns": self.started_ns,
                "parallel": side_file.describe_layout(self.layout),
                "recorded": self.recorded,
                "steps": {
                    "of": self.settings.step_of or "optimizer",
                    "count": step_count,
                    "durations_ns": differences(end_times),
                },
                "module_marks": watch.markers.means if watch.markers and self.recorded else None,
                "inputs": watch.batch.inputs,
                **self.described,
                "hardware": side_file.describe_hardware(),
                "versions": side_file.describe_versions(),
                "command": side_file.describe_command(),
                "environment": side_file.describe_environment(),
            },
        )


def differences(times: list[int]) -> list[int]:
    """How long step 2, 3, ... took."""
    return [after - before for before, after in zip(times, times[1:])]
