#!/usr/bin/env python3
"""What torch itself writes of compiled code, in generated traces: is it attributed right, or not at all? compiled_notes.py PROGRAM

kernel_information.json of AOTInductor's packages (PyTorch 2.13; with sizes, 2.14 and later), `stack` of kernels (PyTorch 2.14 and
later, TORCH_COMPILE_DEBUG_EXTEND=1), kernel_flop, kernel_num_gb and kernel_kwargs of Triton's operators
(TORCHINDUCTOR_BENCHMARK_KERNEL=1). Ends with a line of counts.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from random_cases import run_kinds

ROWS, INNER = 64, 32
RUNS = 3


class Case:
    def __init__(self, program: Path, folder: Path, seed: int) -> None:
        self.program, self.folder = program, folder
        self.random = random.Random(seed)
        self.events: list[dict[str, Any]] = []
        self.now = 1000
        self.correlation = 0
        # Calls of the code, of which some have one name.
        self.calls = [
            self.random.choice(["aoti_torch_cpu_addmm_out", f"cpp_fused_gelu_{number % 3}"])
            for number in range(self.random.randrange(2, 8))
        ]

    def add(self, category: str, name: str, length: int, **args: Any) -> int:
        event = {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1}
        self.events.append({**event, "ts": self.now, "dur": length, "args": args})
        self.now += length + self.random.randrange(1, 5)
        return self.now

    def run_code(self, calls: list[str]) -> None:
        for name in calls:
            self.add("cpu_op", f"graph_2_{name}" if name.startswith("cpp_") else name, 10)
            if self.random.random() < 0.5:
                self.add("cpu_op", "aten::empty", 1)
        given = {"Input Dims": [[8], [], []], "Input type": ["float", "ScalarList", "Scalar"]}
        self.add("cpu_op", "aten::expand", 1, **given)

    def launch(self, name: str, kernel: dict[str, Any], **args: Any) -> None:
        """An operator whose kernel runs at once."""
        self.correlation += 1
        given = {"External id": self.correlation, **args}
        start = self.now
        self.add("cpu_op", name, 10, **given)
        last = self.now
        self.now = start + 2
        ids = {"correlation": self.correlation, "External id": self.correlation}
        self.add("cuda_runtime", "cudaLaunchKernel", 4, **ids)
        self.now = last
        event = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7}
        on_device = {"device": 0, "stream": 7, **ids, **kernel}
        self.events.append({**event, "ts": last, "dur": 20, "args": on_device})
        self.now += 30

    def write(self) -> Path:
        path = self.folder / "trace.json"
        text = {"schemaVersion": 1, "record_shapes": 1, "traceEvents": self.events}
        path.write_text(json.dumps(text))
        return path

    def write_kernels(self, calls: list[str], sizes: bool = False) -> None:
        """Keys in any order: the number behind the name is that of the call."""
        told = {}
        for number, name in enumerate(calls):
            told[f"{name}:{number + 5}"] = {
                "stack_traces": [
                    f'File "/home/me/model.py", line {number + 1}, in forward\n    x\n'
                    f'  File "/v/site-packages/torch/nn/modules/linear.py", line 9, in forward'
                ],
                "post_grad_nodes": [f"op{number}x_3", f"op{number}x"],
                "pre_grad_nodes": ["linear"],
            }
            if sizes and "addmm" in name:
                told[f"{name}:{number + 5}"] |= {
                    "input_shapes": [[number + 1], [ROWS, INNER], [INNER, number + 1]],
                    "input_dtypes": ["torch.float32"] * 3,
                }
        keys = list(told)
        self.random.shuffle(keys)
        text = json.dumps({key: told[key] for key in keys})
        (self.folder / "kernel_information.json").write_text(text)

    def sections(self, command: str = "report") -> dict[str, Any]:
        done = subprocess.run(
            [self.program, command, "--json", "--top", "0", self.write()],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
        sections: dict[str, Any] = json.loads(done.stdout)["ranks"][0]["sections"]
        return sections

    def compiled(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        section = self.sections()["compiled"]
        numbers = {key: each["value"] for key, each in section["numbers"].items()}
        return numbers, section["tables"]["kernels"]["rows"]

    def total_flops(self) -> int:
        flops: int = self.sections("flops")["module_cost"]["numbers"]["total_flops"]["value"]
        return flops


def code_of_aotinductor(case: Case) -> None:
    for _ in range(RUNS):
        case.run_code(case.calls)
    case.write_kernels(case.calls)
    numbers, rows = case.compiled()
    assert (numbers["calls"], numbers["known"], numbers["attributed"]) == (RUNS, RUNS, 1), numbers
    found = sorted((row["lines"], row["kernel"], row["operators"], row["calls"]) for row in rows)
    wanted = [
        (f"model.py:{number + 1}", name, f"aten.op{number}x", RUNS)
        for number, name in enumerate(case.calls)
    ]
    assert found == sorted(wanted), f"{found}, not {wanted}"


def run_that_is_cut(case: Case) -> None:
    """At its end or its start, or a call is missing or one too many: nothing of that run, all of the others."""
    case.calls = ["cpp_fused_a_0", *case.calls, "cpp_fused_z_9"]
    other = [*case.calls]
    way = case.random.randrange(4)
    at = case.random.randrange(1, len(other) - 1)
    if way == 0:
        del other[at:]
    elif way == 1:
        del other[:at]
    elif way == 2:
        other[at] = "cpp_fused_z_9"
    else:
        other.insert(at, "cpp_fused_z_9")
    for calls in (case.calls, other, case.calls):
        case.run_code(calls)
    case.write_kernels(case.calls)
    numbers, rows = case.compiled()
    assert numbers["known"] == 2, f"{numbers}"
    assert {row["calls"] for row in rows} == {2}, f"{rows}"
    share = 2 * len(case.calls) / (2 * len(case.calls) + len(other))
    assert abs(numbers["attributed"] - share) < 1e-9, f"{numbers}, not {share}"


def other_code(case: Case) -> None:
    """Another package's: the same names in another order."""
    for _ in range(RUNS):
        case.run_code(["cpp_fused_b_1", *case.calls, "cpp_fused_a_0"])
    case.write_kernels(["cpp_fused_a_0", *case.calls, "cpp_fused_b_1"])
    numbers, rows = case.compiled()
    assert (numbers["known"], rows) == (0, []), f"{numbers}"


def sizes_of_library_calls(case: Case) -> None:
    case.calls.append("aoti_torch_cpu_addmm_out")
    for _ in range(RUNS):
        case.run_code(case.calls)
    case.write_kernels(case.calls, sizes=True)
    wanted = sum(
        RUNS * 2 * ROWS * INNER * (number + 1)
        for number, name in enumerate(case.calls)
        if "addmm" in name
    )
    assert case.total_flops() == wanted, f"{case.total_flops()}, not {wanted}"


def library_calls_without_sizes(case: Case) -> None:
    """Classed as matmuls; that their FLOPs are missing is said."""
    case.run_code(["aoti_torch_cpu_addmm_out"])
    done = subprocess.run(
        [case.program, "flops", case.write()], capture_output=True, text=True, check=False
    )
    assert "at least" in done.stdout, done.stdout
    rows = case.sections()["step_ledger"]["tables"]["ledger"]["rows"]
    assert any(row["account"].startswith("matmul") for row in rows), f"{rows}"


def damaged_information(case: Case) -> None:
    """Refused with its name, or read; never a crash."""
    case.run_code(case.calls)
    path = case.write()
    case.write_kernels(case.calls, sizes=True)
    side = case.folder / "kernel_information.json"
    whole = side.read_bytes()
    for _ in range(12):
        at = case.random.randrange(len(whole))
        put = bytes(case.random.randrange(256) for _ in range(case.random.randrange(4)))
        side.write_bytes(whole[:at] + put + whole[at + case.random.randrange(40) :])
        done = subprocess.run(
            [case.program, "flops", path], capture_output=True, text=True, check=False
        )
        said = "kernel_information.json" in done.stderr
        assert done.returncode == 0 or (done.returncode == 3 and said), done


def kernels_with_lines(case: Case) -> None:
    """Each kernel says where the program calls what it does; one without a stack is left aside."""
    wanted = []
    for number in range(case.random.randrange(2, 6)):
        name = case.random.choice(["aten::mm", f"triton_poi_fused_add_mul_{number}"])
        stack = [f'File "/home/me/model.py", line {number + 1}, in forward\n    x = y']
        case.launch(name, {"stack": stack})
        operators = "add_mul" if "triton" in name else "aten::mm"
        wanted.append((f"model.py:{number + 1}", name, operators))
    case.launch("triton_poi_fused_cos_9", {})
    _, rows = case.compiled()
    found = sorted((row["lines"], row["kernel"], row["operators"]) for row in rows)
    assert found == wanted, f"{found}, not {wanted}"


def triton_call(case: Case, name: str, dims: list[Any], numbers: int, **told: Any) -> None:
    dims = dims + [[]] * numbers
    types = ["float" if each else "Scalar" for each in dims]
    values = ["" if each else "64" for each in dims]
    args = {"Input Dims": dims, "Input type": types, "Concrete Inputs": values}
    args |= {"kernel_hash": "cabc", "kernel_backend": "triton", "kernel_kwargs": "XBLOCK=8"}
    case.launch(name, {"stack": ['File "m.py", line 1, in f']}, **args, **told)


def bytes_in(dims: list[list[int]]) -> int:
    total = 0
    for sizes in dims:
        elements = 1
        for size in sizes:
            elements *= size
        total += 4 * elements
    return total


def flops_that_inductor_expected(case: Case) -> None:
    """Of a template whose sizes no formula tells: where it moves what this call's arguments hold."""
    dims = [[2, 8, 16, 16], [32, 8, 3, 3], [2, 32, 14, 14]]
    flops = 2 * 2 * 32 * 14 * 14 * 8 * 9
    expected = bytes_in(dims) / 1e9
    is_other = case.random.random() < 0.5
    scale = case.random.choice([0.5, 2, 1 + 1e-6]) if is_other else 1
    told = {"kernel_flop": flops, "kernel_num_gb": expected * scale}
    triton_call(case, "triton_tem_fused_convolution_0", dims, 3, **told)
    assert case.total_flops() == (0 if is_other else flops), f"{case.total_flops()}"
    _, rows = case.compiled()
    assert [row["settings"] for row in rows] == ["XBLOCK=8"], f"{rows}"


def formula_goes_first(case: Case) -> None:
    dims = [[64, 32], [32, 16], [64, 16]]
    told = {"kernel_flop": 12345, "kernel_num_gb": bytes_in(dims) / 1e9}
    triton_call(case, "triton_tem_fused_mm_0", dims, 3, **told)
    assert case.total_flops() == 2 * 64 * 32 * 16, f"{case.total_flops()}"


def bytes_that_inductor_expected(case: Case) -> None:
    """Of a kernel that reads a part: where its sizes cannot differ from call to call, and no more than there is."""
    dims = [[4096, 32], [64]]
    numbers = case.random.choice([1, 2])
    moved = case.random.choice([64 * 32, 2 * bytes_in(dims)])
    told = {"kernel_num_gb": moved / 1e9}
    triton_call(case, "triton_poi_fused_embedding_0", dims, numbers, **told)
    _, rows = case.compiled()
    wanted = moved if numbers == 1 and moved <= bytes_in(dims) else None
    assert rows[0]["bytes"] == wanted, f"{rows[0]}, not {wanted}"


def replayed(case: Case, ran: list[str], gaps: int = 1) -> tuple[dict[str, int], dict[str, Any]]:
    """Mode "reduce-overhead": the code's range holds launches of graphs, whose captures were before any profiler ran."""
    code = [*case.calls]
    parts = [ran[at : at + 1 + len(ran) // gaps] for at in range(0, len(ran), 1 + len(ran) // gaps)]
    captured = Case(case.program, case.folder, 0)
    for part in parts:
        captured.add("cuda_runtime", "cudaStreamBeginCapture", 1)
        for name in part:
            captured.correlation += 1
            start = captured.now
            args = {"External id": captured.correlation}
            if "::" in name:
                args |= {"Input Dims": [[8, 8], [8, 8]], "Input type": ["float", "float"]}
            captured.add("cpu_op", name, 10, **args)
            last, captured.now = captured.now, start + 2
            ids = {"correlation": captured.correlation, "kernel": f"kernel_of_{name}"}
            captured.add("cuda_runtime", "cuLaunchKernel", 4, **ids)
            captured.now = last
        captured.add("cuda_runtime", "cudaStreamEndCapture", 1)
    (case.folder / "capture_traces").mkdir()
    captured.write().rename(case.folder / "capture_traces" / "graph_capture_rank_0.json")
    for phase in ("forward", "backward"):
        start = case.now
        case.now += 5
        for part in parts:
            case.correlation += 1
            case.add("cuda_runtime", "cudaGraphLaunch", 5, correlation=case.correlation)
            for name in part:
                event = {"ph": "X", "cat": "kernel", "name": f"kernel_of_{name}", "pid": 0}
                ids = {"device": 0, "stream": 7, "correlation": case.correlation}
                case.events.append({**event, "tid": 7, "ts": case.now, "dur": 20, "args": ids})
                case.now += 21
        last, case.now = case.now, start + 2
        case.add("user_annotation", "## Call CompiledFxGraph fabc ##", last - case.now)
        case.now = start
        around = "nn:Model" if phase == "forward" else "CompiledFunctionBackward"
        case.add("cpu_op", around, last + 2 - start)
        case.now = last + 10
    modules = [{"name": name, "mark": name or "Model"} for name in ("", *set(code))]
    model = {"class": "Model", "modules": modules}
    text = {"schema": "flopledger.capture", "models": [model]}
    (case.folder / "capture.json").write_text(json.dumps(text))
    calls = [
        {"op": f"aten::{name}", "module": name, "aten": ["aten.mm"], "lines": ["m.py:1"]}
        for name in code
    ]
    text = {"schema": "flopledger.compiled", "graphs": [{"key": "fabc", "calls": calls}]}
    (case.folder / "compiled.json").write_text(json.dumps(text))
    rows = case.sections("flops")["module_cost"]["tables"].get("modules", {"rows": []})["rows"]
    found = {row["name"]: row["own_forward_flops_in_all"] for row in rows}
    return found, case.sections()


def graphs_of_compiled_code(case: Case) -> None:
    """Each call has its module, and that of the replay around it, whatever number of graphs the code is cut into."""
    case.calls = ["mm", "bmm", "linear"][: case.random.randrange(1, 4)]
    gaps = case.random.randrange(1, 3)
    found, sections = replayed(case, [f"aten::{name}" for name in case.calls], gaps)
    numbers = {key: each["value"] for key, each in sections["compiled"]["numbers"].items()}
    assert (numbers["calls"], numbers["known"]) == (2, 2), f"{numbers}"
    assert numbers["attributed_module"] == 0.5, f"{numbers}"
    assert found.get("mm") == 2 * 8**3, f"{found}"


def graphs_of_other_code(case: Case) -> None:
    """A call more or in another place: no module is named."""
    case.calls = ["mm", "linear"]
    ran = case.random.choice([["mm", "mm", "linear"], ["linear", "mm"], ["mm"]])
    found, sections = replayed(case, [f"aten::{name}" for name in ran])
    numbers = {key: each["value"] for key, each in sections["compiled"]["numbers"].items()}
    assert (numbers["known"], numbers["attributed"]) == (0, 0), f"{numbers}"
    assert not found.get("mm"), f"{found}"


KINDS: list[Callable[[Case], None]] = [
    code_of_aotinductor,
    run_that_is_cut,
    other_code,
    sizes_of_library_calls,
    library_calls_without_sizes,
    damaged_information,
    kernels_with_lines,
    flops_that_inductor_expected,
    formula_goes_first,
    bytes_that_inductor_expected,
    graphs_of_compiled_code,
    graphs_of_other_code,
]


if __name__ == "__main__":
    run_kinds(KINDS, Case, count=6, first_seed=0)
