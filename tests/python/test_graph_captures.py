#!/usr/bin/env python3
"""What `flopledger run` keeps of captured CUDA graphs, with stand-ins for CUDA: test_graph_captures.py PROGRAM

Programs that capture and replay are recorded on a CPU (training/graphed_training.py). Their replays get the kernels that a device
would have had, with known operators, modules and FLOPs: the report must find them by the capture alone. The driver that tells the
nodes of a graph is a library in C that answers as NVIDIA's header has it.
"""

import ctypes
import gzip
import importlib.util
import inspect
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from count_line import run_and_count
from recorded_runs import Run, Runner, find_python

if importlib.util.find_spec("torch") is None and (python := find_python()):
    os.execv(python, [python, *sys.argv])
PROGRAM = Path(sys.argv.pop(1)).resolve()
PYTHON = find_python()
HERE = Path(__file__).resolve().parent
SCRIPT = HERE / "training" / "graphed_training.py"
STAND_IN = HERE.parent / "gpu" / "stand_in_cuda.c"
sys.path.insert(0, str(PROGRAM.parent / "python"))

WAYS = ("eager", "graph", "callables", "several")

runner: Runner
folder: tempfile.TemporaryDirectory


def setUpModule() -> None:
    global runner, folder
    folder = tempfile.TemporaryDirectory()
    if PYTHON is None:
        return
    runner = Runner(PROGRAM, PYTHON, Path(folder.name))
    for way in WAYS:
        runner.start_command(way, [PYTHON, str(SCRIPT), way], "--no-report")
    words = [PYTHON, str(SCRIPT), "inference"]
    runner.start_command("inference", words, "--no-report", "--step-of", "serve")


def tearDownModule() -> None:
    if PYTHON is not None:
        runner.pool.shutdown(wait=True, cancel_futures=True)
    folder.cleanup()


def read_trace(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def spans(events: list[Any], category: str) -> list[tuple[float, float, str, Any]]:
    """Start, end, name and arguments, in the order of their starts."""
    found = [event for event in events if event.get("cat") == category and event["ph"] == "X"]
    return sorted(
        (float(e["ts"]), float(e["ts"]) + float(e["dur"]), e["name"], e.get("args", {}))
        for e in found
    )


def innermost(spans: list[Any], time: float) -> str:
    around = [span for span in spans if span[0] <= time < span[1]]
    return str(max(around, key=lambda span: (span[0], -span[1]))[2]) if around else ""


class Replays:
    """The window of a recorded run, whose graphs get kernels: each step launches all that were captured, in their order."""

    def __init__(self, run: Run) -> None:
        (recorded,) = run.captures.glob("**/*.pt.trace.json.gz")
        copied = Path(tempfile.mkdtemp(dir=folder.name)) / "rank0"
        shutil.copytree(recorded.parent, copied)
        self.path = copied / recorded.name
        (self.capture,) = copied.glob("capture_traces/*.json.gz")
        events = read_trace(self.capture)["traceEvents"]
        calls = spans(events, "cuda_runtime")
        inside = spans(events, "cpu_op") + spans(events, "user_annotation")
        marks = [span for span in inside if span[2].startswith("nn:")]
        operators = [span for span in inside if span not in marks]
        self.graphs: list[list[Any]] = []
        for start, _, name, args in calls:
            if name == "cudaStreamBeginCapture":
                self.graphs.append([])
            elif "LaunchKernel" in name:
                names = innermost(operators, start), innermost(marks, start)
                self.graphs[-1].append((args.get("kernel", "not told"), args, *names))
        self.by_operator: dict[str, int] = {}
        self.by_module: dict[str, int] = {}

    def write(self, order: list[int] | None = None, other_grid: bool = False) -> None:
        trace = read_trace(self.path)
        trace["deviceProperties"] = [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]
        steps = [s for s in spans(trace["traceEvents"], "user_annotation") if "Profiler" in s[2]]
        thread = next(e for e in trace["traceEvents"] if e.get("cat") == "cpu_op")
        added, correlation, now = [], 10**6, 0
        for start, *_ in steps:
            for number in order or range(len(self.graphs)):
                correlation += 1
                call = round(start * 1000) + 10 * (number + 1)
                launch = {"correlation": correlation}
                where = (thread["pid"], thread["tid"])
                added.append(("cuda_runtime", "cudaGraphLaunch", call, 5, where, launch))
                now = max(now, call + 50)
                for place, (kernel, args, operator, module) in enumerate(self.graphs[number]):
                    length = 1000 + 7 * place + number
                    grid = [9, 9, 9] if other_grid else args.get("grid", [1, 1, 1])
                    on_device = {**launch, "device": 0, "stream": 7, "grid": grid}
                    on_device["block"] = args.get("block", [64, 1, 1])
                    added.append(("kernel", kernel, now, length, (0, 7), on_device))
                    now += length + 1
                    self.by_operator[operator] = self.by_operator.get(operator, 0) + length
                    self.by_module[module] = self.by_module.get(module, 0) + length
        for category, name, start, length, (process, thread_id), args in added:
            trace["traceEvents"].append(
                {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread_id}
                | {"ts": f"{start / 1000:.3f}", "dur": f"{length / 1000:.3f}", "args": args}
            )
        self.path.write_bytes(gzip.compress(json.dumps(trace).encode()))


def sections_of(command: str, path: Path) -> dict[str, Any]:
    done = subprocess.run(
        [PROGRAM, command, "--json", "--top", "0", path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["ranks"][0]["sections"]


def number(sections: dict[str, Any], name: str) -> Any:
    return sections["graphs"]["numbers"][name]["value"]


def flops_of_modules(path: Path) -> dict[str, tuple[int, int]]:
    rows = sections_of("flops", path)["module_cost"]["tables"]["modules"]["rows"]
    own = ("own_forward_flops_in_all", "own_backward_flops_in_all")
    found, path = {}, list[str]()
    for row in rows:
        path = [*path[: row["depth"]], row["name"]]
        flops = tuple(row[key] for key in own)
        if any(flops):
            found[".".join(path[1:])] = flops
    return found


@unittest.skipIf(PYTHON is None, "needs torch")
class Recorded(unittest.TestCase):
    def recorded(self, name: str) -> Run:
        run = runner.get(name)
        self.assertEqual(run.status, 0, run.errors)
        self.assertNotIn("recording stopped", run.errors)
        return run

    def test_a_graph_has_the_operators_of_its_capture(self) -> None:
        eager = self.recorded("eager")
        (plain,) = eager.captures.glob("**/*.pt.trace.json.gz")
        for way, graphs in (("graph", 1), ("callables", 2)):
            with self.subTest(way):
                replays = Replays(self.recorded(way))
                self.assertEqual(len(replays.graphs), graphs)
                replays.write()
                sections = sections_of("report", replays.path)
                self.assertEqual(number(sections, "attributed"), 1)
                self.assertEqual(number(sections, "captured"), graphs)
                rows = sections["operators"]["tables"]["by_name"]["rows"]
                times = {row["operator"]: row["self_device"] for row in rows if row["self_device"]}
                self.assertEqual(times, replays.by_operator)

    def test_flops_by_module_are_those_of_the_eager_program(self) -> None:
        (plain,) = self.recorded("eager").captures.glob("**/*.pt.trace.json.gz")
        eager = flops_of_modules(plain)
        self.assertEqual(sum(eager["0.up"]), 5 * 3 * 2 * 4 * 16 * 64 - 5 * 2 * 4 * 16 * 64)
        for way in ("graph", "callables"):
            with self.subTest(way):
                replays = Replays(self.recorded(way))
                replays.write()
                self.assertEqual(flops_of_modules(replays.path), eager)

    def test_pieces_that_are_equal_have_operators_and_no_module(self) -> None:
        replays = Replays(self.recorded("several"))
        self.assertEqual(len(replays.graphs), 3)
        replays.write()
        sections = sections_of("report", replays.path)
        self.assertEqual(number(sections, "attributed"), 1)
        (equal, _) = sections["graphs"]["tables"]["graphs"]["rows"]
        self.assertEqual(
            (equal["capture"], equal["reason"]), ("one of 2 that fit", "module not known")
        )
        rows = sections["module_cost"]["tables"]["modules"]["rows"]
        known = {row["name"] for row in rows if row["device_time"] and row["depth"] == 1}
        self.assertEqual(known, {"2"})

    def test_kernels_of_another_size_are_of_another_graph(self) -> None:
        replays = Replays(self.recorded("several"))
        replays.write(other_grid=True)
        sections = sections_of("report", replays.path)
        self.assertEqual(number(sections, "attributed"), 0)

    def test_inference_without_an_optimizer(self) -> None:
        replays = Replays(self.recorded("inference"))
        modules = [module for graph in replays.graphs for *_, module in graph]
        self.assertEqual(
            set(modules), {"nn:0.up", "nn:0.down", "nn:0", "nn:1.up", "nn:1.down", "nn:1", "nn:2"}
        )

    def test_a_capture_that_fails_leaves_nothing(self) -> None:
        """It came before the others."""
        run = self.recorded("several")
        self.assertIn("the first capture failed", run.output)
        self.assertEqual(run.steps(), [4, 5, 6, 7, 8])


@unittest.skipIf(importlib.util.find_spec("torch") is None, "needs torch")
class Hooks(unittest.TestCase):
    def test_all_ways_to_capture_go_through_the_class_that_is_watched(self) -> None:
        import torch
        from torch._inductor import cudagraph_trees

        self.assertIn("torch.cuda.graph(", inspect.getsource(cudagraph_trees.CUDAGraphNode._record))
        self.assertIn(
            "torch.cuda.graph(", inspect.getsource(torch.cuda.graphs.make_graphed_callables)
        )


class Driver(unittest.TestCase):
    """The library in C, compiled with NVIDIA's own header where there is one."""

    library: Any

    @classmethod
    def setUpClass(cls) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise unittest.SkipTest("needs a C compiler")
        built = Path(folder.name) / "libcuda_stand_in.so"
        header = os.environ.get("FLOPLEDGER_CUDA_HEADERS")
        with_header = ["-DHAS_CUDA_H", "-isystem", header] if header else []
        words = [compiler, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", *with_header]
        subprocess.run([*words, "-o", built, STAND_IN], check=True)
        cls.library = ctypes.CDLL(str(built))

    def nodes(self, *lines: str) -> Any:
        return self.captured(*lines).nodes

    def captured(self, *lines: str) -> Any:
        from flopledger.graph_nodes import GraphDriver

        text = "\n".join(lines) + "\n"
        self.library.stand_in_graph(text.encode())
        return GraphDriver(self.library).nodes(7)

    def test_names_sizes_and_order(self) -> None:
        found = self.nodes(
            "kernel 0 _Z4gemmPfi 2 3 4 64 2 1",
            "memcpy 1",
            "empty 2",
            "loaded 3 triton_poi_fused_0 128 1 1 256 1 1",
            "memset 4",
        )
        self.assertEqual(
            [node.name for node in found], ["gemm(float*, int)", "", "triton_poi_fused_0", ""]
        )
        self.assertEqual((found[0].grid, found[0].block), ([2, 3, 4], [64, 2, 1]))
        self.assertEqual((found[2].grid, found[2].block), ([128, 1, 1], [256, 1, 1]))

    def test_names_that_cannot_be_demangled_stay(self) -> None:
        long = "_Z1a" + "1b" * 600
        names = ["_Znonsense", long, "plain"]
        found = self.nodes(*(f"kernel {i} {name} 1 1 1 1 1 1" for i, name in enumerate(names)))
        self.assertEqual([node.name for node in found], names)

    def test_what_is_not_known_is_refused(self) -> None:
        from flopledger.graph_nodes import NotTold

        kernel = "kernel 0 _Z4gemmPfi 1 1 1 1 1 1"
        for lines in (
            ["status 0", kernel],  # the stream is not captured
            [kernel, "graph 1"],  # a graph within
            [kernel, "conditional 1"],
            [kernel, "lost 1"],  # the driver fails
            ["before 1", kernel, "memset 1"],  # the first waits for the second
        ):
            with self.subTest(lines), self.assertRaises(NotTold):
                self.nodes(*lines)

    def test_edges_with_data(self) -> None:
        """Of kernels that begin before the one in front of them has ended, as cuBLAS launches its own on Hopper."""
        kernels = [f"kernel {place} _Z4gemmPfi 1 1 1 1 1 1" for place in range(3)]
        found = self.nodes("programmatic 1", *kernels)
        self.assertEqual([node.name for node in found], 3 * ["gemm(float*, int)"])
        found = self.nodes("without edges", *kernels)
        self.assertEqual([node.name for node in found], 3 * ["gemm(float*, int)"])

    def test_whether_nodes_are_in_a_row(self) -> None:
        kernels = [f"kernel {place} _Z4gemmPfi 1 1 1 1 1 1" for place in range(3)]
        for lines, is_in_a_row in (
            (kernels, True),
            ([*kernels, "empty 3", "memset 4"], True),  # by way of a node without work
            (["branched 1", *kernels[:2]], True),
            (["branched 1", *kernels], False),  # the second and the third wait for the first
            (["without edges", *kernels], False),  # not known
        ):
            with self.subTest(lines):
                self.assertEqual(self.captured(*lines).is_in_a_row, is_in_a_row)

    def test_older_and_newer_drivers(self) -> None:
        kernel = "kernel 0 _Z4gemmPfi 1 1 1 1 1 1"
        for version in ("without v2", "without v3"):
            with self.subTest(version):
                self.assertEqual(
                    [n.name for n in self.nodes(version, kernel)], ["gemm(float*, int)"]
                )


class Map(unittest.TestCase):
    def calls(self, *names: str) -> list[dict[str, Any]]:
        return [
            {"cat": "cuda_runtime", "name": name, "ts": place, "args": {}}
            for place, name in enumerate(names)
        ]

    def test_calls_get_the_kernels_of_the_nodes(self) -> None:
        from flopledger.graph_captures import name_launches
        from flopledger.graph_nodes import Node

        begin, end = "cudaStreamBeginCapture", "cudaStreamEndCapture"
        calls = self.calls("cudaLaunchKernel", begin, "cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamIsCapturing", "cuLaunchKernelEx", end, "cudaLaunchKernel")  # fmt: skip
        one, other = Node("one", [1, 2, 3], [4, 5, 6]), Node("other", [1, 1, 1], [1, 1, 1])
        self.assertTrue(name_launches(calls, [one, Node(), other]))
        names = [call["args"].get("kernel") for call in calls]
        self.assertEqual(names, [None, None, "one", None, None, "other", None, None])
        self.assertEqual(calls[2]["args"]["grid"], [1, 2, 3])
        for nodes in ([one, other], [one, other, Node()], [one, Node(), other, other]):
            calls = self.calls(begin, "cudaLaunchKernel", "cudaMemsetAsync", "cuLaunchKernel", end)
            self.assertFalse(name_launches(calls, nodes))
            self.assertFalse(any(call["args"] for call in calls))
        for names in ([begin, "cudaLaunchKernel"], [begin, end, begin, "cudaLaunchKernel", end]):
            self.assertFalse(name_launches(self.calls(*names), [one]))

    def test_is_whole_after_each_capture(self) -> None:
        from flopledger.graph_captures import MapFile

        path = Path(folder.name) / "map.json.gz"
        written = MapFile(str(path))
        for count, events in enumerate(([1, 2], [], [3]), 1):
            written.add({"schemaVersion": 1, "traceEvents": []}, [{"name": e} for e in events])
            found = [event["name"] for event in read_trace(path)["traceEvents"]]
            self.assertEqual(found, [1, 2, 3][: (2, 2, 3)[count - 1]])


if __name__ == "__main__":
    run_and_count()
