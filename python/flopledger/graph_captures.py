"""Records what is captured into CUDA and HIP graphs: operators with their shapes, modules, launches, and the kernels' names.

A trace of a replay has one call, and kernels behind it. What they stand for only the capture knows, which happens once, mostly
before anything is recorded. So the profiler runs for each capture; the events of all of them become one trace beside the others,
capture_traces/graph_capture_rank_N.json.gz, where a report finds it.
"""

from __future__ import annotations

import functools
import gzip
import json
import os
import sys
from types import ModuleType
from typing import Any

from flopledger.capture_folder import COMPRESSION, remove
from flopledger.graph_nodes import CapturedNodes, GraphDriver, Node, NotTold
from flopledger.messages import guarded
from flopledger.models import find_models, modules_alive, modules_to_mark, parameters_of
from flopledger.module_finder import await_module
from flopledger.module_markers import ModuleMarkers
from flopledger.profiler_session import ProfilerSession
from flopledger.window_recorder import WindowRecorder

GRAPHS = "torch.cuda.graphs"
FOLDER = "capture_traces"
CAPTURES_MAX = 256
# Some versions of CUPTI crash when they begin again in a program with graphs: it stays, as torch itself has it for those of inductor.
KEEP_CUPTI = {"TEARDOWN_CUPTI": "0", "DISABLE_CUPTI_LAZY_REINIT": "1"}

CATEGORIES = frozenset(
    "cpu_op user_annotation cuda_runtime cuda_driver kernel gpu_memcpy gpu_memset".split()
)
COPIES = ("MemcpyAsync", "MemsetAsync", "MemcpyPeer")


class GraphCaptures:
    """watch() sees each `with torch.cuda.graph(...)`, whoever writes it: make_graphed_callables and torch.compile do, too."""

    def __init__(self, windows: WindowRecorder) -> None:
        self.windows = windows
        self.session: ProfilerSession | None = None
        self.markers: ModuleMarkers | None = None
        self.nodes: CapturedNodes | None = None
        self.driver: GraphDriver | None = None
        self.file: MapFile | None = None
        self.count = 0
        self.is_off = False
        self.originals: tuple[Any, Any, Any] | None = None  # the class, and its functions

    def watch(self) -> None:
        module = sys.modules.get(GRAPHS)
        if module is not None and hasattr(module, "graph"):
            self.watch_captures(module)
        else:
            await_module(GRAPHS, self.watch_captures)

    def watch_captures(self, module: ModuleType) -> None:
        kind = module.graph
        enter, leave = kind.__enter__, kind.__exit__

        @functools.wraps(enter)
        def __enter__(context: Any) -> Any:
            self.fenced(self.begin)
            try:
                return enter(context)
            except BaseException:
                self.fenced(self.drop)
                raise

        @functools.wraps(leave)
        def __exit__(context: Any, *exception: Any) -> Any:
            failed = bool(exception) and exception[0] is not None
            if not failed:
                self.fenced(self.see_nodes)
            try:
                result = leave(context, *exception)
            except BaseException:
                self.fenced(self.drop)
                raise
            self.fenced(self.drop if failed else self.end)
            return result

        self.originals = (kind, enter, leave)
        kind.__enter__, kind.__exit__ = __enter__, __exit__

    def remove(self) -> None:
        self.is_off = True
        if self.originals is not None:
            kind, enter, leave = self.originals
            kind.__enter__, kind.__exit__ = enter, leave
        self.originals = None

    def fenced(self, work: Any) -> None:
        if not self.is_off:
            guarded(work, self.turn_off)()

    def turn_off(self) -> None:
        self.is_off = True
        self.drop()

    # ------------------------------------------------------------------------------------------------------------------
    # One capture

    def begin(self) -> None:
        windows = self.windows
        windows.watch_profilers()
        assert windows.watch is not None
        if self.session is not None or windows.session is not None:
            return  # within another, or a recorded step: that trace has it
        if windows.watch.program_profiles or self.is_full():
            return
        for name, value in KEEP_CUPTI.items():
            os.environ.setdefault(name, value)
        self.nodes = None
        self.session = ProfilerSession(windows.settings)
        windows.is_kept_busy = True
        with windows.watch:
            self.session.start()
        if windows.settings.markers:
            self.mark_modules()

    def is_full(self) -> bool:
        if self.count == CAPTURES_MAX:
            self.windows.capture.tell(
                f"the captures of the first {CAPTURES_MAX} graphs are recorded, and of no more"
            )
        return self.count >= CAPTURES_MAX

    def mark_modules(self) -> None:
        watch = self.windows.models
        layout = watch.find()
        self.windows.capture.open_folder(layout)
        models = watch.models or self.models_alive()
        watch.forget()  # what is recorded later looks for itself
        self.markers = ModuleMarkers(watch.wrap_marks, watch.step_calls)
        self.markers.on(modules_to_mark(models, watch.settings.modules), None)

    @staticmethod
    def models_alive() -> list[Any]:
        """Where nothing trains: all."""
        found = (parameters_of(module) for module in modules_alive())
        return find_models({id(parameter) for each in found for _, parameter in each})

    def see_nodes(self) -> None:
        """The stream is still captured: its graph can be asked."""
        if self.session is None:
            return
        import torch

        if torch.version.hip is not None or not torch.cuda.is_initialized():
            return  # calls of HIP tell their kernels themselves
        try:
            self.driver = self.driver or GraphDriver()
            self.nodes = self.driver.nodes(torch.cuda.current_stream().cuda_stream)
        except (NotTold, OSError) as error:
            self.windows.capture.tell(f"a captured graph does not tell its kernels: {error}")

    def stop(self) -> ProfilerSession | None:
        session, self.session = self.session, None
        markers, self.markers = self.markers, None
        if markers is not None:
            markers.off()
        if session is not None:
            assert self.windows.watch is not None
            with self.windows.watch:
                session.stop()
            self.windows.is_kept_busy = False
        return session

    def drop(self) -> None:
        """The capture failed, or ours did."""
        self.stop()

    def end(self) -> None:
        session = self.stop()
        if session is None:
            return
        capture = self.windows.capture
        if capture.folder is None:
            capture.open_folder(self.windows.models.find())
            self.windows.models.forget()
        assert capture.folder is not None
        folder = os.path.join(capture.folder.path, FOLDER)
        os.makedirs(folder, exist_ok=True)
        text = os.path.join(folder, "graph_capture.text.part")
        try:
            session.save(text)
            with open(text, encoding="utf-8") as file:
                trace = json.load(file)
        finally:
            remove(text)
        if self.file is None:
            name = f"graph_capture_rank_{capture.layout.rank}.json.gz"
            self.file = MapFile(os.path.join(folder, name))
        self.count += 1
        events = [event for event in trace["traceEvents"] if is_kept(event)]
        if self.nodes is not None:
            if not name_launches(events, self.nodes.nodes):
                capture.tell(
                    f"of captured graph {self.count} the calls that launched its kernels are not all recorded"
                )
            elif self.nodes.is_in_a_row:
                events = [event for event in events if not joins_streams(event)]
        self.file.add(trace, events)


def is_kept(event: dict[str, Any]) -> bool:
    name = str(event.get("name", ""))
    if event.get("cat") == "python_function":
        return name.startswith("nn.Module: ")
    return event.get("ph") == "M" or event.get("cat") in CATEGORIES


def joins_streams(event: dict[str, Any]) -> bool:
    """By such a call a report takes the order between branches to be unknown. Autograd waits for events of the stream it is on, too:
    where all nodes are in a row, it is known."""
    return "StreamWaitEvent" in str(event.get("name", ""))


# ----------------------------------------------------------------------------------------------------------------------
# Calls and nodes


def name_launches(events: list[dict[str, Any]], nodes: list[Node]) -> bool:
    """Gives each call that launched into the capture its kernel. False, and nothing, where they are not one for one."""
    calls = [event for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver")]
    calls.sort(key=lambda event: float(event["ts"]))
    begins = [i for i, call in enumerate(calls) if "StreamBeginCapture" in call["name"]]
    ends = [i for i, call in enumerate(calls) if "StreamEndCapture" in call["name"]]
    if len(begins) != 1 or len(ends) != 1:
        return False
    launches = [call for call in calls[begins[0] + 1 : ends[0]] if kind_of_call(call["name"])]
    kinds = [kind_of_call(call["name"]) for call in launches]
    if kinds != ["kernel" if node.name else "copy" for node in nodes]:
        return False
    for call, node in zip(launches, nodes):
        if node.name:
            call.setdefault("args", {}).update(kernel=node.name, grid=node.grid, block=node.block)
    return True


def kind_of_call(name: str) -> str:
    if "Launch" in name and "Kernel" in name:
        return "kernel"
    return "copy" if any(word in name for word in COPIES) else ""


class MapFile:
    """A trace to which events are added; it is whole at each moment between. Its parts are members of a gzip file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.end = 0  # where the last part begins, which closes the trace

    def add(self, trace: dict[str, Any], events: list[dict[str, Any]]) -> None:
        lines = ",\n".join(json.dumps(event, ensure_ascii=False) for event in events)
        if self.end == 0:
            head = {name: value for name, value in trace.items() if name != "traceEvents"}
            lines = json.dumps(head, ensure_ascii=False)[:-1] + ', "traceEvents": [\n' + lines
        else:
            lines = f",\n{lines}" if events else ""
        with open(self.path, "r+b" if self.end else "wb") as file:
            file.truncate(self.end)
            file.seek(self.end)
            file.write(gzip.compress(lines.encode(), COMPRESSION))
            self.end = file.tell()
            file.write(gzip.compress(b"\n]}\n"))
