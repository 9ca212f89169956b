#!/usr/bin/env python3
"""One name, one number: on one page no two numbers of the same name have different values.

Runs `report --json` and `flops --json` on the project's traces, and takes both as one page: numbers of all sections by title
and unit, "per step" and "a step" left out of the title. The model FLOPs of a step are the same in every table, in `compare`,
and, where the page says nothing of masks or recomputation, those that its modules sum to; also where the work that a step
launched ends behind its mark. With $FLOPLEDGER_SHARED, kineto's ResNet-50 sample has those of the closed form.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "traces" / "golden"
TRACES = [
    GOLDEN / "modules",
    GOLDEN / "module_frames",
    GOLDEN / "products",
    GOLDEN / "two_ranks" / "rank0.json",
    GOLDEN / "memory_run",
    GOLDEN / "queued_ranks" / "rank0.json",
    ROOT / "examples" / "traces" / "train_gpt_cpu.json.gz",
]
# What says by itself that it is of one section: how many rows there are, or the like.
OF_THE_SECTION = {"steps", "error of the replay", "their time, summed"}


def plain(title: str) -> str:
    return re.sub(r",? (per|of a|a|of each) step$", "", title.lower()).strip()


def numbers_of(program: str, command: str, trace: Path) -> list[tuple[str, str, str, object]]:
    done = subprocess.run(
        [program, command, "--json", str(trace)], capture_output=True, text=True, check=False
    )
    if not done.stdout:
        return []
    rank = json.loads(done.stdout)["ranks"][0]
    return [
        (plain(number["title"]), number["unit"], f"{command}: {section}.{key}", number["value"])
        for section, content in rank["sections"].items()
        for key, number in content["numbers"].items()
        if number.get("value") is not None
    ]


def problems_of(program: str, trace: Path) -> list[str]:
    seen: dict[tuple[str, str], tuple[str, object]] = {}
    problems = []
    for title, unit, where, value in numbers_of(program, "report", trace) + numbers_of(
        program, "flops", trace
    ):
        first = seen.setdefault((title, unit), (where, value))
        if first[1] != value and title not in OF_THE_SECTION:
            problems.append(
                f"{trace.relative_to(ROOT)}: {title!r} is {first[1]} in {first[0]}, {value} in {where}"
            )
    return problems


def printed_json(program: str, *arguments: str) -> Any:
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.stdout else None


def close(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b))


def model_flops_of(program: str, trace: Path) -> dict[str, float]:
    """Of a step, by where it stands."""
    sections = printed_json(program, "report", "--json", str(trace))["ranks"][0]["sections"]
    section = sections.get("model_flops_utilization", {"numbers": {}, "tables": {}})
    value = section["numbers"].get("model_flops_per_step", {}).get("value")
    if value is None:
        return {}
    steps = section["tables"]["steps"]["rows"]
    places = {
        "the MFU section": value,
        "its steps": sum(step["model_flops"] for step in steps) / len(steps),
    }
    modules = sections["module_cost"]["numbers"]
    if "model_flops" not in modules and "masked_flops" not in modules:
        places["the modules"] = modules["total_flops"]["value"]
    if len(steps) > 1:
        compared = printed_json(program, "compare", "--json", str(trace), str(trace))
        rows = compared["ranks"][0]["sections"]["work_changes"]["tables"]["flops"]["rows"]
        places["compare"] = next(row["a"] for row in rows if row["what"] == "model FLOPs")
    return places


def late_kernels(path: Path) -> None:
    """Two steps of one product each, and kernels that end or lie behind their marks."""
    events: list[dict[str, Any]] = []

    def add(category: str, name: str, start: int, duration: int, **arguments: object) -> None:
        on_device = category == "kernel"
        events.append(
            {"ph": "X", "cat": category, "name": name, "ts": start, "dur": duration}
            | ({"pid": 0, "tid": 7} if on_device else {"pid": 1, "tid": 1})
            | {"args": arguments}
        )

    for step, kernel in enumerate((700, 1900)):
        start = 1000 * step
        add("user_annotation", f"ProfilerStep#{step}", start, 1000)
        add("cpu_op", "aten::mm", start + 100, 100, **{
            "Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"],
            "External id": step + 1})  # fmt: skip
        add("cuda_runtime", "cudaLaunchKernel", start + 110, 10, correlation=step + 1)
        add("kernel", "ampere_sgemm_128x64_nn", kernel, 500, device=0, stream=7,
            correlation=step + 1)  # fmt: skip
    devices = [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}]
    path.write_text(json.dumps({"deviceProperties": devices, "traceEvents": events}))


def known_traces(folder: Path) -> list[tuple[Path, int | None]]:
    """With the model FLOPs of a step where a closed form tells them."""
    generated = folder / "late_kernels.json"
    late_kernels(generated)
    known: list[tuple[Path, int | None]] = [(trace, None) for trace in TRACES]
    known.append((generated, 2 * 64**3))
    shared = Path(os.environ.get("FLOPLEDGER_SHARED", ROOT.parent / "shared")) / "traces" / "kineto"
    for name in ("resnet50_num_workers_0", "resnet50_num_workers_4"):
        # batch 32: forward 261,707,792,384; the backward twice that, less the gradient of the images
        known += [(trace, 777_570_484_224) for trace in sorted((shared / name).glob("worker0.1*"))]
    return known


def unequal_flops(program: str, trace: Path, known: int | None) -> list[str]:
    places = model_flops_of(program, trace)
    if known is not None:
        places = {"the closed form": known, "no page": 0} | places
        if len(places) > 2:
            del places["no page"]
    first = next(iter(places.values()), 0)
    return [
        f"{trace.name}: model FLOPs of a step are {first} in {next(iter(places))}, {value} in {where}"
        for where, value in places.items()
        if not close(first, value)
    ]


def main() -> None:
    program = os.environ.get("FLOPLEDGER", "flopledger")
    problems = [problem for trace in TRACES for problem in problems_of(program, trace)]
    with tempfile.TemporaryDirectory() as folder:
        for trace, known in known_traces(Path(folder)):
            problems += unequal_flops(program, trace, known)
    print("\n".join(problems) or "one name, one number")
    sys.exit(int(bool(problems)))


if __name__ == "__main__":
    main()
