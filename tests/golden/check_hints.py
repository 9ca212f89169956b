#!/usr/bin/env python3
"""A hint knows who recorded: what `flopledger run` wrote is not told to be recorded with other programs' options.

Its capture.json is given holes, one by one and together (no models, no modules of them, no steps, no tokens, an empty file), as
programs without a model of torch.nn, renamed traces and broken-off runs leave them. What then is not known is said, but never
that capture.json is missing, nor in words of torch.profiler; where it is missing, that is said.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "traces" / "golden"
CAPTURES = [GOLDEN / name for name in ("modules", "products", "memory_run")]
COMMANDS = [
    ["report", "--all", "--width", "200"],
    ["report", "--width", "200"],
    ["flops", "--width", "200"],
    ["flops", "--format", "deepspeed"],
    ["compare", "--all", "--width", "200", str(GOLDEN / "modules" / "tiny.json.gz")],
]
OF_OTHERS = ("beside the trace", "with_stack=", "record_shapes=", "profile_memory=", "activities=")

Description = dict[str, Any]


def no_models(description: Description) -> None:
    description["models"] = []


def no_modules(description: Description) -> None:
    for model in description.get("models", []):
        model["modules"] = []


def no_steps(description: Description) -> None:
    description["recorded"] = []


def no_batches(description: Description) -> None:
    for window in description.get("recorded", []):
        for step in window["steps"]:
            for key in ("samples", "tokens"):
                step.pop(key, None)


HOLES: tuple[Callable[[Description], None], ...] = (no_models, no_modules, no_steps, no_batches)
GRAPHS = GOLDEN / "graphs"
WANTED_OF_GRAPHS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "that given has none of their kernels": lambda launch: launch.update(kernel="another"),
    "needs a capture that names its kernels": lambda launch: launch.pop("kernel"),
}
WANTED = {no_models: "needs the model in capture.json", no_steps: "needs the steps in capture.json"}


def outputs_of(program: str, trace: Path) -> list[tuple[str, str]]:
    found = []
    for words in COMMANDS:
        done = subprocess.run([program, *words, str(trace)], capture_output=True, text=True)
        if done.returncode not in (0, 4):
            raise SystemExit(f"{' '.join(words)}: exit {done.returncode}: {done.stderr}")
        found.append((" ".join(words[:3]), done.stdout + done.stderr))
    return found


def complaints_of(program: str, capture: Path, folder: Path) -> list[str]:
    complaints: list[str] = []
    description = json.loads((capture / "capture.json").read_text())
    trace = next(folder / path.name for path in capture.iterdir() if is_trace(path))
    for size in range(len(HOLES) + 1):
        for holes in combinations(HOLES, size):
            changed = copy.deepcopy(description)
            for hole in holes:
                hole(changed)
            (folder / "capture.json").write_text(json.dumps(changed))
            outputs = outputs_of(program, trace)
            name = f"{capture.name}, {', '.join(hole.__name__ for hole in holes) or 'as recorded'}"
            complaints += [
                f"{name}: {command}: {text!r}"
                for command, output in outputs
                for text in OF_OTHERS
                if text in output
            ]
            said = "\n".join(output for _, output in outputs)
            complaints += [
                f"{name}: not said: {WANTED[hole]}"
                for hole in holes
                if hole in WANTED and WANTED[hole] not in said
            ]
    (folder / "capture.json").unlink()
    if "capture.json beside the trace" not in outputs_of(program, trace)[0][1]:
        complaints.append(f"{capture.name}: that capture.json is missing is not said")
    return complaints


def is_trace(path: Path) -> bool:
    return path.name != "capture.json" and not path.name.endswith(".memory.json")


def told_of(words: list[Any]) -> str:
    """In one line."""
    return " ".join(subprocess.run(words, capture_output=True, text=True).stdout.split())


def complaints_of_graphs(program: str) -> list[str]:
    """What a replay lacks where its capture has no names, names of other kernels, or is not there."""
    (path,) = (GRAPHS / "capture_traces").iterdir()
    capture = json.loads(path.read_text())
    launches = [e["args"] for e in capture["traceEvents"] if "kernel" in e.get("args", {})]
    complaints = [] if launches else ["graphs: the capture has no names"]
    with tempfile.TemporaryDirectory(prefix="flopledger-hints-") as name:
        replay, given = Path(name) / "replay.json", Path(name) / "capture.json"
        shutil.copy(GRAPHS / "replay.json", replay)
        told = {"--capture tells them": told_of([program, "report", replay])}
        for wanted, change in WANTED_OF_GRAPHS.items():
            for launch in launches:
                change(launch)
            given.write_text(json.dumps(capture))
            told[wanted] = told_of([program, "report", "--capture", given, replay])
    return complaints + [f"graphs: not said: {text}" for text in told if text not in told[text]]


def main() -> None:
    program = os.environ.get("FLOPLEDGER", "flopledger")
    complaints: list[str] = []
    for capture in CAPTURES:
        with tempfile.TemporaryDirectory(prefix="flopledger-hints-") as name:
            folder = Path(name) / capture.name
            shutil.copytree(capture, folder)
            complaints += complaints_of(program, capture, folder)
    complaints += complaints_of_graphs(program)
    print("\n".join(complaints) or "hints in the words of who recorded")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
