#!/usr/bin/env python3
"""Traces of compiled code with known calls: is each given its module, or the whole call nothing? compiled_code.py PROGRAM

Ends with a line of counts.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from random_cases import run_kinds

SIZE = 8
FLOPS = 2 * SIZE**3  # of each product


@dataclass
class Call:
    op: str
    module: str
    products: dict[str, int] = field(default_factory=dict)  # FLOPs by module, of a kernel
    bytes: int | None = None


@dataclass
class Program:
    """A model whose forward is compiled: products in modules, kernels between them."""

    random: random.Random
    calls: list[Call] = field(default_factory=list)

    def make(self) -> None:
        for number in range(self.random.randrange(2, 9)):
            op = self.random.choice(["aten::mm", "aten::addmm"])
            self.calls.append(Call(op, f"layers.{number}.{self.random.choice(['up', 'down'])}"))
            if self.random.random() < 0.5:
                self.calls.append(Call(f"cpp_fused_add_{number % 3}", f"layers.{number}"))


def shapes_of(op: str) -> list[list[int]]:
    return [[SIZE, SIZE]] * (2 if op == "aten::mm" else 3)


class Trace:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.now = 1000

    def add(self, category: str, name: str, start: int, end: int, **args: Any) -> None:
        self.events.append(
            {
                "ph": "X",
                "cat": category,
                "name": name,
                "pid": 1,
                "tid": 1,
                "ts": start,
                "dur": end - start,
                "args": args,
            }
        )

    def operator(self, op: str) -> None:
        """With an operator inside that the code calls, too, but not here; and one beside that it does not call."""
        start = self.now
        shapes = shapes_of(op) if "::" in op else []
        if shapes:
            inner = {"Input Dims": shapes_of("aten::mm"), "Input type": ["float"] * 2}
            self.add("cpu_op", "aten::mm", start + 2, start + 5, **inner)
        self.add(
            "cpu_op",
            op,
            start,
            start + 10,
            **{"Input Dims": shapes, "Input type": ["float"] * len(shapes)},
        )
        self.add("cpu_op", "aten::empty", start + 11, start + 12)
        self.now += 20

    def step(self, key: str, ops: list[str], is_marked: bool) -> None:
        start = self.now
        self.now += 10
        for op in ops:
            self.operator(op)
        self.add("user_annotation", f"## Call CompiledFxGraph {key} ##", start + 5, self.now + 5)
        if is_marked:
            self.add("cpu_op", "nn:Model", start + 2, self.now + 8)
        self.now += 20
        self.add("user_annotation", "Optimizer.step#SGD.step", self.now, self.now + 5)
        self.now += 10

    def add_functions(self) -> None:
        """Given a number, None, and a tensor; right around the code."""
        args = {"Input Dims": [[], [], [SIZE, SIZE]], "Input type": ["Scalar", "", "float"]}
        args["Concrete Inputs"] = [str(SIZE), "", ""]
        for event in [each for each in self.events if each["name"].startswith("## Call")]:
            start, end = event["ts"] - 1, event["ts"] + event["dur"] + 1
            self.add("cpu_op", "CompiledFunction", start, end, **args)


class Case:
    def __init__(self, program: Path, folder: Path, seed: int) -> None:
        self.path = program
        self.folder = folder
        self.program = Program(random.Random(seed))
        self.program.make()
        self.ran = [
            f"graph_7_{call.op}" if "cpp_" in call.op else call.op for call in self.program.calls
        ]
        self.key = "fabc"
        self.code: Any = None
        self.alias = ""  # of all that is in "layers"
        self.root = ""  # the class of what a function calls
        self.is_known = True  # what kernels compute
        self.is_function = False  # of autograd, around the code

    def write(self) -> Path:
        trace = Trace()
        for _ in range(3):
            trace.step(self.key, self.ran, not self.root)
        if self.is_function:
            trace.add_functions()
        path = self.folder / "trace.json"
        path.write_text(
            json.dumps({"schemaVersion": 1, "record_shapes": 1, "traceEvents": trace.events})
        )
        called = [*self.program.calls]
        names = [name for call in called for name in (call.module, *call.products)]
        modules: list[dict[str, Any]] = [{"name": name} for name in ["", *names]]
        for module in modules:
            module["mark"] = module["name"] or "Model"
            module["class"] = "" if module["name"] else "Model"
            if self.alias and module["name"]:
                module["aliases"] = [f"{self.alias}.{module['name']}"]
        model = {"class": "Model", "modules": modules}
        (self.folder / "capture.json").write_text(
            json.dumps({"schema": "flopledger.capture", "models": [model]})
        )
        calls = [
            {
                "op": call.op,
                **self.place(call.module),
                "aten": ["aten.x"],
                "lines": ["m.py:1"],
                "bytes": call.bytes,
                "flops": (
                    sum(call.products.values()) if self.is_known and "::" not in call.op else None
                ),
                "products": [
                    {**self.place(module), "flops": flops}
                    for module, flops in call.products.items()
                ],
            }
            for call in self.program.calls
        ]
        text = json.dumps(
            {"schema": "flopledger.compiled", "graphs": [{"key": "fabc", "calls": calls}]}
        )
        (self.folder / "compiled.json").write_text(text if self.code is None else self.code)
        return path

    def place(self, module: str) -> dict[str, str]:
        """As the code knows it."""
        if self.root:
            return {"module": "", "root": self.root, "inner": module}
        return {"module": f"{self.alias}.{module}" if self.alias else module}

    def ask(self, command: str, *words: str | Path) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.path, command, "--json", *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def read(self, status: int = 0) -> tuple[dict[str, int], dict[str, Any], str]:
        """FLOPs of each module in the three steps, the numbers of the section, and what was said."""
        path = self.write()
        done = self.ask("flops", "--top", "0", path)
        assert done.returncode == status, f"exit {done.returncode}: {done.stderr}"
        if status:
            return {}, {}, done.stderr
        report = self.ask("report", path)
        assert report.returncode == 0, report.stderr
        section = json.loads(report.stdout)["ranks"][0]["sections"].get("compiled", {"numbers": {}})
        numbers = {key: each["value"] for key, each in section["numbers"].items()}
        return sums_by_path(rows_of_modules(done.stdout)), numbers, done.stderr

    def wanted(self) -> dict[str, int]:
        sums: dict[str, int] = {}
        for call in self.program.calls:
            if "::" in call.op:
                sums[call.module] = sums.get(call.module, 0) + 3 * FLOPS
            for module, flops in call.products.items():
                sums[module] = sums.get(module, 0) + 3 * flops
        return sums

    def add_products(self) -> None:
        """A kernel that computes those of several modules."""
        modules = {f"layers.{number}.gate": 2 * (number + 1) for number in range(3)}
        self.program.calls.append(Call("cpp_fused_mm_9", "layers", modules))
        self.ran.append("graph_7_cpp_fused_mm_9")


def rows_of_modules(flops: str) -> list[dict[str, Any]]:
    sections = json.loads(flops)["ranks"][0]["sections"]
    rows: list[dict[str, Any]] = sections["module_cost"]["tables"]["modules"]["rows"]
    return rows


def sums_by_path(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Rows stand below each other by depth; names are those of the last part."""
    sums: dict[str, int] = {}
    path: list[str] = []
    for row in rows:
        del path[row["depth"] :]
        path.append(row["name"])
        flops = row["own_forward_flops_in_all"]
        if flops:
            sums[".".join(path[1:])] = flops
    return sums


def all_fit(case: Case) -> None:
    sums, numbers, _ = case.read()
    assert sums == case.wanted(), f"{sums}, not {case.wanted()}"
    assert (numbers["known"], numbers["calls"]) == (3, 3), f"{numbers}"


def products_in_a_kernel(case: Case) -> None:
    case.add_products()
    all_fit(case)


def products_that_do_not_add_up(case: Case) -> None:
    """What is damaged counts where the kernel is."""
    case.add_products()
    path = case.write()
    text = (path.parent / "compiled.json").read_text().replace('"flops": 12,', '"flops": 20,')
    case.code = text
    sums, _, _ = case.read()
    assert sums.get("layers") == 3 * 20, f"{sums}"


def modules_by_another_name(case: Case) -> None:
    case.alias = "box.0"
    case.add_products()
    all_fit(case)


def compiled_function(case: Case) -> None:
    """No module is marked around it; the code calls the model."""
    case.root = "Model"
    case.add_products()
    all_fit(case)


def compiled_function_of_something_else(case: Case) -> None:
    """Of a class that is no model's: in no module."""
    case.root = "Teacher"
    done = case.ask("flops", "--top", "0", case.write())
    assert done.returncode == 0, done.stderr
    cost = json.loads(done.stdout)["ranks"][0]["sections"]["module_cost"]
    assert "modules" not in cost["tables"], f"{cost['tables']['modules']}"


def bytes_of_kernels(case: Case) -> None:
    """A row has them where they are known of each of its calls, and with them what it moves in a second."""
    case.add_products()
    kernels = [call for call in case.program.calls if "::" not in call.op]
    for call in kernels:
        call.bytes = case.program.random.choice([None, 0, 96, 2**40])
    _, rows = compiled_section(case, case.write())
    found = {(row["kernel"], row["module"]): row for row in rows if "::" not in row["kernel"]}
    assert len(found) == len(kernels), f"{found}"
    for call in kernels:
        row = found[call.op, call.module]
        wanted = 3 * call.bytes if call.bytes else None
        assert row["bytes"] == wanted, f"{row}, not {wanted}"
        rate = wanted and wanted / (row["time"] / 1e9)
        assert row["bandwidth"] == rate, f"{row}, not {rate}"
        assert row["of_bandwidth"] is None, f"{row}"
    rates_of_memory(case, rows)


def rates_of_memory(case: Case, rows: list[dict[str, Any]]) -> None:
    """With what the processor's memory reached, a row has its share of that."""
    reached = case.program.random.choice([1e9, 3e12])
    rates = {"schema": "flopledger-rates-1", "kind": "cpu", "device": "X", "date": "2026-11-26"}
    rates["memory_bytes_per_second"] = reached
    rates["matmuls"] = [{"dtype": "fp32", "m": 1, "n": 1, "k": 1, "flops_per_second": 1e9}]
    (case.folder / "rates.json").write_text(json.dumps(rates))
    numbers, measured = compiled_section(
        case, case.folder / "trace.json", "--rates", case.folder / "rates.json"
    )
    assert numbers["memory_bandwidth"] == reached, f"{numbers}"
    for row, plain in zip(measured, rows):
        share = plain["bandwidth"] and plain["bandwidth"] / reached
        assert row == plain | {"of_bandwidth": share}, f"{row}, not {share}"


def template_without_a_name(case: Case) -> None:
    case.add_products()
    case.ran[-1] = "graph_7_kernel"
    all_fit(case)


def kernel_of_unknown_sizes(case: Case) -> None:
    """Its FLOPs depend on each call: what is counted is said to be the least."""
    case.add_products()
    case.is_known = False
    done = subprocess.run(
        [case.path, "flops", case.write()], capture_output=True, text=True, timeout=60, check=False
    )
    assert "at least" in done.stdout, done.stdout


def sizes_of_each_run(case: Case, is_told: bool = True) -> None:
    """Dynamic shapes: symbols stand for what the operators, or the function around, are seen with."""
    case.add_products()
    kernel = case.program.calls[-1]
    for number, module in enumerate(kernel.products):
        kernel.products[module] = 2 * (number + 1) * SIZE * 4 if is_told else 0
    case.write()
    code = json.loads((case.folder / "compiled.json").read_text())
    (graph,) = code["graphs"]
    graph["calls"][-1]["flops"] = None
    for number, product in enumerate(graph["calls"][-1]["products"]):
        del product["flops"]
        product["sizes"] = f"{number + 1}*2*s0*s1"
    way = case.program.random.randrange(4)
    shapes = ["s0,8", "2*s1,8"] if is_told else WRONG_SHAPES[way]
    for number, call in enumerate(graph["calls"]):
        if "::" in call["op"] and not (is_told and way == 0):
            call["shapes"] = shapes
    if is_told and way == 0:
        graph["inputs"] = ["=s0", "", "8,2*s1"]
    case.code = json.dumps(code)
    case.is_function = way == 0
    if is_told:
        all_fit(case)
        return
    done = subprocess.run(
        [case.path, "flops", case.write()], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0 and "at least" in done.stdout, done.stdout
    kernel.products.clear()
    assert case.read()[0] == case.wanted()


WRONG_SHAPES = (["s0,8"], ["s0*s1,8", "8,8"], ["s0,s0", "3*s1,8"], ["s0,8", "s1,9"])


def sizes_not_told(case: Case) -> None:
    """By nothing, or by what cannot be: a size more, one that is no multiple, another one."""
    sizes_of_each_run(case, is_told=False)


def nothing_fits(case: Case) -> None:
    """The FLOPs are those of the model, in no module inside it."""
    sums, numbers, _ = case.read()
    products = sum("::" in op for op in case.ran)
    assert sums == ({"": 3 * FLOPS * products} if products else {}), f"{sums}"
    assert (numbers["known"], numbers["attributed"]) == (0, 0), f"{numbers}"


def one_is_missing(case: Case) -> None:
    del case.ran[case.program.random.randrange(len(case.ran))]
    nothing_fits(case)


def one_is_too_many(case: Case) -> None:
    case.ran.insert(
        case.program.random.randrange(len(case.ran) + 1), case.program.random.choice(case.ran)
    )
    nothing_fits(case)


def another_order(case: Case) -> None:
    first = case.ran[0]
    other = next((i for i, op in enumerate(case.ran) if op != first), None)
    if other is None:
        return
    case.ran[0], case.ran[other] = case.ran[other], first
    nothing_fits(case)


def another_graph(case: Case) -> None:
    case.key = "fabcd"
    nothing_fits(case)


def calls_not_known(case: Case) -> None:
    case.code = json.dumps({"graphs": [{"key": "fabc", "calls": None}, {"key": 7}, 5]})
    nothing_fits(case)


def damaged_file(case: Case) -> None:
    case.code = '{"graphs": [{"key": "fa'
    _, _, said = case.read(status=3)
    assert "compiled.json" in said, said


def random_damage(case: Case) -> None:
    """Bytes changed, left out or put in: read or refused, never a crash."""
    path = case.write()
    whole = (case.folder / "compiled.json").read_bytes()
    chance = case.program.random
    for _ in range(12):
        at = chance.randrange(len(whole))
        put = bytes(chance.randrange(256) for _ in range(chance.randrange(4)))
        changed = whole[:at] + put + whole[at + chance.randrange(40) :]
        (case.folder / "compiled.json").write_bytes(changed)
        done = subprocess.run(
            [case.path, "flops", path], capture_output=True, timeout=60, check=False
        )
        assert done.returncode in (0, 3), f"exit {done.returncode}: {changed!r}"


def log_of_torch(case: Case, key: str = "fabc") -> str:
    """As TORCH_TRACE writes it: a record, and behind a tab its content."""
    stack = '  File "/home/me/torch/x.py", line 7, in f\n    f()\n  File "/home/me/m.py", line {}, in g\n    g()\n'
    names = [
        f"{call.op.replace('aten::', 'extern_kernels.')}:{number}"
        for number, call in enumerate(case.program.calls, 1)
    ]
    lines = {name: [stack.format(n), stack.format(n)] for n, name in enumerate(names, 1)}
    nodes = {name: ["mul_12", "mul_3", "_to_copy"] for name in names}
    prefix = "inductor_provenance_tracking_"
    records = [
        ("graph_dump", "module"),
        (f"{prefix}node_mappings", {"preToPost": {}, "cppCodeToPost": nodes, "version": 2.0}),
        (f"{prefix}kernel_stack_traces", lines),
        ("fx_graph_cache_miss", {"cache_status_detailed": "full_miss", "key": key}),
    ]
    text = ""
    for name, content in records:
        header = {"artifact": {"name": name, "encoding": "json"}, "has_payload": "d1a11ff0"}
        text += f"V1124 18:26:37.89 15348 compile_fx.py:1624] {json.dumps(header)}\n"
        text += f"\t{json.dumps(content)}\n"
    return text


def write_logs(case: Case, *texts: str) -> Path:
    path = case.write()
    (case.folder / "compiled.json").unlink()
    for number, text in enumerate(texts):
        (case.folder / f"dedicated_log_torch_trace_{number}x.log").write_text(text)
    return path


def compiled_section(
    case: Case, path: Path, *words: str | Path
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    report = case.ask("report", "--top", "0", *words, path)
    assert report.returncode == 0, report.stderr
    section = json.loads(report.stdout)["ranks"][0]["sections"].get("compiled")
    if section is None:
        return {"known": 0, "attributed": 0}, []
    numbers = {key: each["value"] for key, each in section["numbers"].items()}
    return numbers, section["tables"]["kernels"]["rows"]


def told_by_torch(case: Case) -> None:
    """The log of another graph before it, and of the same one again."""
    text = log_of_torch(case, "fother") + log_of_torch(case) + log_of_torch(case)
    numbers, rows = compiled_section(case, write_logs(case, text))
    assert numbers["known"] == 3 and numbers["attributed"] > 0.9, f"{numbers}"
    found = sorted((row["kernel"], row["lines"], row["operators"]) for row in rows)
    calls = enumerate(case.program.calls, 1)
    wanted = sorted((call.op, f"m.py:{n}", "aten.mul, aten._to_copy") for n, call in calls)
    assert found == wanted, f"{found}, not {wanted}"


def told_by_torch_of_other_code(case: Case) -> None:
    """Another graph's log, another order, or two logs, of which nothing says whose they are."""
    way = case.program.random.randrange(3)
    texts = [log_of_torch(case, "fother" if way == 0 else "fabc")] * (1 + (way == 1))
    path = write_logs(case, *texts)
    if way == 2:
        case.program.calls.append(Call("aten::mm", ""))
        path = write_logs(case, log_of_torch(case))
    numbers, rows = compiled_section(case, path)
    assert (numbers["known"], numbers["attributed"], rows) == (0, 0, []), f"{numbers}"


def damaged_log(case: Case) -> None:
    """Read, or left out, never a crash."""
    path = case.write()
    whole = log_of_torch(case).encode()
    chance = case.program.random
    for _ in range(12):
        at = chance.randrange(len(whole))
        put = bytes(chance.randrange(256) for _ in range(chance.randrange(4)))
        changed = whole[:at] + put + whole[at + chance.randrange(40) :]
        write_logs(case)
        (case.folder / "dedicated_log_torch_trace_x.log").write_bytes(changed)
        done = case.ask("flops", path)
        assert done.returncode == 0, f"exit {done.returncode}: {changed!r}"


def module_that_is_not_there(case: Case) -> None:
    """Where a path leads to no module, the one whose code was compiled has it."""
    for call in case.program.calls:
        call.module = "x" * 2000 if case.program.random.random() < 0.5 else "..."
    case_modules = case.program.calls
    sums_wanted = {"": 3 * FLOPS * sum("::" in call.op for call in case_modules)}
    path = case.write()
    capture = {
        "schema": "flopledger.capture",
        "models": [{"class": "Model", "modules": [{"name": "", "mark": "Model"}]}],
    }
    (path.parent / "capture.json").write_text(json.dumps(capture))
    done = case.ask("flops", "--top", "0", path)
    assert done.returncode == 0, done.stderr
    sums = sums_by_path(rows_of_modules(done.stdout))
    assert sums == sums_wanted, f"{sums}"


KINDS: list[Callable[[Case], None]] = [
    all_fit,
    products_in_a_kernel,
    products_that_do_not_add_up,
    modules_by_another_name,
    compiled_function,
    compiled_function_of_something_else,
    template_without_a_name,
    kernel_of_unknown_sizes,
    sizes_of_each_run,
    sizes_not_told,
    bytes_of_kernels,
    one_is_missing,
    one_is_too_many,
    another_order,
    another_graph,
    calls_not_known,
    damaged_file,
    random_damage,
    module_that_is_not_there,
    told_by_torch,
    told_by_torch_of_other_code,
    damaged_log,
]


if __name__ == "__main__":
    run_kinds(KINDS, Case, count=8, first_seed=0)
