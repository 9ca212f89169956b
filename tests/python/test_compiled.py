#!/usr/bin/env python3
"""Compiled models have the FLOPs of the eager ones, module by module, and their kernels have operators and lines:
test_compiled.py PROGRAM [--long]

Real runs of torch.compile on a CPU, in training and in evaluation: a GPT; with --long a ResNet, a mixture of experts, a model of
small products, one with a module in two places, and a compiled function with a model in it, too.
"""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from count_line import run_and_count
from recorded_runs import ROOT, Run, Runner, find_python

sys.path.insert(0, str(ROOT / "python"))
from flopledger import compiled_graphs  # noqa: E402

IS_LONG = "--long" in sys.argv
sys.argv = [word for word in sys.argv if word != "--long"]
PROGRAM = Path(sys.argv.pop(1)).resolve()
PYTHON = find_python()
SCRIPT = Path(__file__).resolve().parent / "training" / "compiled_models.py"
MODELS = ("gpt", "resnet", "moe", "small", "shared", "function") if IS_LONG else ("gpt",)
MODES = ("train", "eval")
ATTRIBUTED_MIN = 0.95
SECONDS_TO_COMPILE = 900  # ten on a machine that does nothing else

runner: Runner
folder: tempfile.TemporaryDirectory


def start(name: str, *options: str, script: Path = SCRIPT, **variables: str) -> None:
    assert PYTHON is not None
    words = [PYTHON, str(script), *name.split()[:3]]
    runner.start_command(
        name.replace(" ", "-"),
        words,
        "--no-report",
        *options,
        TORCHINDUCTOR_CACHE_DIR=str(Path(folder.name) / "cache"),
        TORCHINDUCTOR_COMPILE_THREADS="1",
        **variables,
    )


def setUpModule() -> None:
    global runner, folder
    if PYTHON is None or not shutil.which("g++"):
        raise unittest.SkipTest("needs torch and a C++ compiler")
    folder = tempfile.TemporaryDirectory()
    runner = Runner(PROGRAM, PYTHON, Path(folder.name), SECONDS_TO_COMPILE)
    for model in MODELS:
        for mode in MODES:
            start(f"{model} {mode} compiled", "--compiled")
            start(f"{model} {mode} eager")


def tearDownModule() -> None:
    runner.pool.shutdown(wait=True, cancel_futures=True)
    folder.cleanup()


def sections_of(command: str, run: Run, *options: str) -> dict[str, Any]:
    done = subprocess.run(
        [PROGRAM, command, "--json", "--top", "0", *options, run.captures],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["ranks"][0]["sections"]


def flops_of_modules(run: Run) -> dict[str, tuple[int, int]]:
    rows = sections_of("flops", run)["module_cost"]["tables"]["modules"]["rows"]
    own = ("own_forward_flops_in_all", "own_backward_flops_in_all")
    return {
        row["path"] if "path" in row else row["name"]: tuple(row[key] for key in own)
        for row in rows
    }


def lines_of(compiled: Path) -> list[list[int]]:
    graphs = json.loads(compiled.read_text())["graphs"]
    return [
        [int(line.rpartition(":")[2]) for line in call["lines"]]
        for graph in graphs
        for call in graph["calls"]
    ]


def node(op: str, sizes: tuple[Any, ...], *arguments: Any, **meta: Any) -> SimpleNamespace:
    """As one of torch.fx."""
    module, line = meta.pop("module", "up"), meta.pop("line", 1)
    stack = {"1": (f"L['self'].{module}", object)}
    trace = f'  File "m.py", line {line}, in f\n'
    meta |= {"val": SimpleNamespace(shape=sizes), "nn_module_stack": stack, "stack_trace": trace}
    target = SimpleNamespace(__name__=op)
    return SimpleNamespace(name=op, op="call_function", target=target, args=arguments, meta=meta)


class Notes(unittest.TestCase):
    """What is noted of a graph, without one."""

    def products_of(self, *nodes: SimpleNamespace, kernel: str = "cpp_fused_0") -> list[int] | None:
        graph = compiled_graphs.CompiledGraph(False, set(), {"cpp_template"}, {})
        found = compiled_graphs.products_in_kernel(kernel, nodes, graph)
        return None if found is None else [flops for _, flops in found]

    def test_products_in_kernels(self) -> None:
        a, b = node("x", (4, 8)), node("y", (8, 2))
        same = node("aten::mm", (4, 2), a, b)
        self.assertEqual(self.products_of(same), [2 * 4 * 8 * 2])
        self.assertEqual(self.products_of(same, same), [2 * 4 * 8 * 2])
        apart = node("aten::mul", (4, 8), a, a, original_aten="aten.mm")
        self.assertEqual(self.products_of(apart), [2 * 4 * 8])
        for op in ("aten::_to_copy", "prims::convert_element_type", "aten::upsample_bilinear2d"):
            self.assertEqual(self.products_of(node(op, (4, 8), a)), [], op)
        for op in ("aten::convolution", "mkldnn::_linear_pointwise", "aten::_scaled_mm"):
            self.assertIsNone(self.products_of(node(op, (4, 8), a)), op)
        self.assertIsNone(self.products_of(node("aten::mm", (object(), 2), a, b)))

    @unittest.skipUnless(importlib.util.find_spec("sympy"), "needs sympy")
    def test_sizes_of_each_run(self) -> None:
        sympy = importlib.import_module("sympy")
        s, t = sympy.symbols("s0 s1", positive=True, integer=True)

        def size(expression: Any) -> SimpleNamespace:
            return SimpleNamespace(node=SimpleNamespace(expr=expression))

        texts = {s: "s0", 16 * s * t: "16*s0*s1", s**2: "s0*s0", s + 1: "", s / t: "", -s: ""}
        for expression, text in texts.items():
            self.assertEqual(compiled_graphs.text_of_size(size(expression)), text)
        a, b = node("x", (size(2 * s), 8)), node("y", (8, size(t)))
        product = node("aten::mm", (size(2 * s), size(t)), a, b)
        self.assertEqual(self.products_of(product), ["2*2*s0*s1*8"])
        self.assertEqual(compiled_graphs.shapes_of_arguments([product]), ["2*s0,8", "8,s1"])
        b.meta["val"] = size(t)
        self.assertEqual(compiled_graphs.text_of_argument(b), "=s1")
        self.assertEqual(compiled_graphs.shapes_of_arguments([product, product]), [])

    def test_attention_counts_in_its_template(self) -> None:
        q, k, v = node("q", (2, 3, 64, 16)), node("k", (2, 3, 96, 16)), node("v", (2, 3, 96, 32))
        flex = node("flex_attention", (2, 3, 64, 32), q, k, v)
        self.assertEqual(self.products_of(flex), [])
        counted = self.products_of(flex, kernel="cpp_template")
        self.assertEqual(counted, [2 * 2 * 3 * 64 * 96 * (16 + 32)])
        source = "a = async_compile.cpp('void kernel(x)')\nb = async_compile.cpp('void b(x)')\n"
        self.assertEqual(compiled_graphs.templates_in(source), {"a"})

    def test_keys_know_of_places(self) -> None:
        def key(**meta: Any) -> str:
            graph = SimpleNamespace(nodes=[node("aten::mm", (4, 2), **meta)])
            made = ("f" + "a" * 51, ["line"])
            return str(compiled_graphs.with_places(made, SimpleNamespace(graph=graph))[0])

        self.assertEqual(key(), key())
        self.assertEqual((len(key()), key()[:2]), (52, "fa"))
        self.assertEqual(len({key(), key(line=2), key(module="down")}), 3)


class Compiled(unittest.TestCase):
    def recorded(self, name: str) -> Run:
        run = runner.get(name.replace(" ", "-"))
        self.assertEqual(run.status, 0, run.errors)
        self.assertNotIn("recording stopped", run.errors)
        return run

    def test_flops_by_module_are_those_of_the_eager_model(self) -> None:
        for model in MODELS:
            for mode in MODES:
                with self.subTest(model=model, mode=mode):
                    eager = flops_of_modules(self.recorded(f"{model} {mode} eager"))
                    compiled = self.recorded(f"{model} {mode} compiled")
                    self.assertGreater(sum(flops for flops, _ in eager.values()), 0)
                    self.assertEqual(flops_of_modules(compiled), eager)

    def test_kernels_have_operators_and_lines(self) -> None:
        for model in MODELS:
            for mode in MODES:
                with self.subTest(model=model, mode=mode):
                    run = self.recorded(f"{model} {mode} compiled")
                    section = sections_of("report", run, "--section", "compiled")["compiled"]
                    numbers = {key: each["value"] for key, each in section["numbers"].items()}
                    self.assertEqual(numbers["calls"], 10 if mode == "train" else 5)
                    self.assertEqual(numbers["known"], numbers["calls"])
                    self.assertGreaterEqual(numbers["attributed"], ATTRIBUTED_MIN)
                    for row in section["tables"]["kernels"]["rows"]:
                        self.assertRegex(row["lines"], r"^compiled_models\.py:\d+")
                        self.assertRegex(row["operators"], r"aten\.|prims\.")

    def test_kernels_have_bytes(self) -> None:
        """GELU reads and writes 128 numbers of 4 bytes for each of 64 tokens; the residual reads two times 32, and writes 32."""
        run = self.recorded("gpt eval compiled")
        graphs = json.loads(next(run.captures.glob("**/compiled.json")).read_text())["graphs"]
        calls = [call for graph in graphs for call in graph["calls"] if "::" not in call["op"]]
        sizes = {re.sub(r"_\d+$", "", call["op"]): call.get("bytes") for call in calls}
        self.assertEqual(sizes["cpp_fused_gelu_view"], 64 * 2 * 128 * 4)
        self.assertEqual(sizes["cpp_fused_add_view"], 64 * 3 * 32 * 4)
        # Tokens, a row for each, the weights of the norm; the normed, mean and deviation.
        words = 64 * 8 + 64 * 32 * 4 + 2 * 32 * 4
        self.assertEqual(
            sizes["cpp_fused_embedding_native_layer_norm"], words + 64 * 32 * 4 + 2 * 64 * 4
        )

    def test_computes_the_same(self) -> None:
        for model in MODELS:
            outputs = [
                self.recorded(f"{model} train {form}").output for form in ("eager", "compiled")
            ]
            losses = [[float(line) for line in output.split()] for output in outputs]
            self.assertEqual(len(losses[0]), 8)
            for one, other in zip(*losses):
                self.assertAlmostEqual(one, other, delta=2e-4)

    def test_from_the_cache(self) -> None:
        """What was noted when the code was compiled comes back with it."""
        first = self.recorded("gpt eval compiled")
        start("gpt eval compiled again", "--compiled")
        again = self.recorded("gpt eval compiled again")
        texts = [next(run.captures.glob("**/compiled.json")).read_text() for run in (first, again)]
        self.assertEqual(*texts)
        self.assertEqual(flops_of_modules(again), flops_of_modules(first))

    @unittest.skipUnless(IS_LONG, "with --long")
    def test_the_same_graph_of_another_file(self) -> None:
        """Its code is in the cache; its lines are its own."""
        first = self.recorded("gpt eval compiled")
        moved = Path(folder.name) / SCRIPT.name
        moved.write_text(SCRIPT.read_text().replace("from __future__", "\n\n\nfrom __future__", 1))
        start("gpt eval compiled moved", "--compiled", script=moved)
        run = self.recorded("gpt eval compiled moved")
        lines = [lines_of(next(each.captures.glob("**/compiled.json"))) for each in (first, run)]
        self.assertEqual([[line + 3 for line in call] for call in lines[0]], lines[1])

    @unittest.skipUnless(IS_LONG, "with --long")
    def test_what_torch_logs_tells_the_same(self) -> None:
        """Without the option, beside the log that torch itself writes: operators and lines, no module."""
        first = self.recorded("gpt eval compiled")
        logs = Path(folder.name) / "logs"
        options = {"TORCH_TRACE": str(logs), "INDUCTOR_PROVENANCE": "1"}
        options |= {"TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE": "1"}
        start("gpt eval compiled logged", **options)
        run = self.recorded("gpt eval compiled logged")
        (trace,) = run.captures.glob("**/*.pt.trace.json.gz")
        (log,) = logs.glob("dedicated_log_torch_trace_*.log")
        shutil.copy(log, trace.parent)
        tables = [sections_of("report", each)["compiled"] for each in (first, run)]
        numbers = {key: each["value"] for key, each in tables[1]["numbers"].items()}
        self.assertEqual((numbers["known"], numbers["calls"]), (5, 5))
        self.assertGreaterEqual(numbers["attributed"], ATTRIBUTED_MIN)
        told, logged = (
            {(row["kernel"], frozenset(row["lines"].split(", "))) for row in rows}
            for rows in (each["tables"]["kernels"]["rows"] for each in tables)
        )
        self.assertEqual({kernel for kernel, _ in logged}, {kernel for kernel, _ in told})
        for kernel, lines in told:  # the log has those of views, too
            if "::" in kernel:
                others = [other for name, other in logged if name == kernel]
                self.assertTrue(any(lines <= other for other in others), f"{kernel} {lines}")

    @unittest.skipUnless(IS_LONG, "with --long")
    def test_what_is_in_a_package(self) -> None:
        """AOTInductor's own description of its code, beside a trace of its runs: every call has its operator and its line."""
        assert PYTHON is not None
        name = "aoti_model.py"
        made = Path(folder.name) / "aoti"
        made.mkdir()
        script = SCRIPT.with_name(name)
        done = subprocess.run([PYTHON, script, made], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = subprocess.run(
            [PROGRAM, "report", "--json", "--top", "0", made / "trace.json"],
            capture_output=True,
            text=True,
            check=True,
        )
        section = json.loads(report.stdout)["ranks"][0]["sections"]["compiled"]
        numbers = {key: each["value"] for key, each in section["numbers"].items()}
        self.assertEqual((numbers["calls"], numbers["known"], numbers["attributed"]), (3, 3, 1))
        rows = section["tables"]["kernels"]["rows"]
        lines = script.read_text().splitlines()
        up, down = (
            1 + next(i for i, line in enumerate(lines) if f"self.{word}(" in line)
            for word in ("up", "down")
        )
        self.assertEqual(
            sorted((row["kernel"], row["lines"]) for row in rows),
            [
                ("aoti_torch_cpu_addmm_out", f"{name}:{up}"),
                ("aoti_torch_cpu_addmm_out", f"{name}:{down}"),
                ("cpp_fused_add_1", f"{name}:{down}"),
                ("cpp_fused_gelu_0", f"{name}:{up}"),
            ],
        )

    def test_without_the_option(self) -> None:
        """Nothing is noted, and the modules in compiled code are not known."""
        self.recorded("gpt eval compiled")
        start("gpt eval compiled plain")
        run = self.recorded("gpt eval compiled plain")
        self.assertEqual(list(run.captures.glob("**/compiled.json")), [])
        self.assertNotIn("compiled", sections_of("report", run))


if __name__ == "__main__":
    run_and_count()
