"""The memory of a recorded training run, made by other code than ours, comes out to the byte.

    check_memory_marks.py PROGRAM

Needs the folder of other people's data: FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it. The recording
(recordings/memory_marks: a small Llama with AdamW, two steps) has marks of its own form, which are translated to ours here.
What must come out was counted by five other means: arithmetic on the shapes, torch's _memory_profiler, MemTracker on real
and on fake tensors, and a library in front of the allocator.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from shared_traces import SHARED, Outcome

RECORDING = SHARED / "recordings" / "memory_marks"
EXPECTED = {
    "parameters": ("peak", 16_753_664),
    "buffers": ("peak", 65_536),
    "gradients": ("backward_end", 16_753_664),
    "optimizer state": ("step_end", 33_507_484),
    "total": ("peak", 107_762_852),
}
ACTIVATIONS = 49_235_976
POINTS = {
    "begin": "forward start",
    "fwd_end": "forward end",
    "bwd_end": "backward end",
    "opt_end": "optimizer end",
    "end": "step end",
}
KINDS = {"param": "parameter", "grad": "gradient", "optstate": "optimizer state"}


class Marks:
    """The list of marks in our form."""

    def __init__(self) -> None:
        self.tensors: list[list[str]] = []
        self.ids: dict[tuple[str, ...], int] = {}
        self.marks: list[dict[str, Any]] = []
        self.last: dict[int, list[int]] = {}

    def id_of(self, kind: str, name: str) -> int:
        kind = KINDS.get(kind, kind)
        if kind == "optimizer state":
            owner, _, state = name.rpartition(".")
            module, _, own = owner.rpartition(".")
            own = f"{own}.{state}"
        else:
            module, _, own = name.rpartition(".")
        key = (kind, module if module or kind == "input" else "Llama", own)
        if key not in self.ids:
            self.ids[key] = len(self.tensors)
            self.tensors.append(list(key))
        return self.ids[key]

    def add(self, what: str, tensors: list[list[Any]]) -> None:
        step, point = what.removeprefix("step").split(".")
        now = {self.id_of(kind, name): [address, size, -1] for address, size, kind, name in tensors}
        changes = [[i, *place] for i, place in now.items() if self.last.get(i) != place]
        self.marks.append(
            {
                "point": "start" if not self.marks else POINTS[point],
                "step": int(step),
                "live": sum(changes, []),
                "gone": [i for i in self.last if i not in now],
            }
        )
        self.last = now


def translate(folder: Path) -> Path:
    marks = Marks()
    for mark in json.loads((RECORDING / "marks.json").read_text()):
        marks.add(mark["what"], mark["tensors"])
    content = {"schema": "flopledger.memory", "schema_version": 1}
    content |= {"tensors": marks.tensors, "marks": marks.marks}
    (folder / "rec.memory.json").write_text(json.dumps(content))
    trace = json.loads(gzip.open(RECORDING / "trace_rec.json.gz").read())
    begun: dict[str, float] = {}
    for event in trace["traceEvents"]:
        name = event["name"]
        if name.startswith("mark|"):
            number, what = name.split("|")[1:]
            event["name"] = f"flopledger:mark#{int(number) - 1}"
            begun[what] = event["ts"]
        elif name.startswith("mod|"):
            event["name"] = f"nn:{name[4:] or 'Llama'}"
    steps = [what.split(".")[0] for what in begun if what.endswith(".begin")]
    pattern = next(e for e in trace["traceEvents"] if "flopledger:mark" in e["name"])
    for step in steps:
        start, end = begun[f"{step}.begin"], begun[f"{step}.end"]
        mark = {"name": f"ProfilerStep#{re.sub(r'[^0-9]', '', step)}", "ts": start}
        trace["traceEvents"].append({**pattern, **mark, "dur": end - start})
    path = folder / "rec.pt.trace.json"
    path.write_text(json.dumps(trace))
    return path


def check(program: str, folder: Path) -> Outcome:
    outcome = Outcome("memory_marks")
    words = [program, "memory", "--json", "--top", "0", str(translate(folder))]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    sections = json.loads(done.stdout)["ranks"][0]["sections"]
    memory = sections["memory"]
    kinds = {row["kind"]: row for row in memory["tables"]["kinds"]["rows"]}
    for kind, (when, expected) in EXPECTED.items():
        found = kinds[kind][when]
        outcome.check(found == expected, f"{kind}, {when}: {found}, not {expected}")
    found = kinds["activations"]["forward_end"]
    outcome.check(found == ACTIVATIONS, f"activations: {found}, not {ACTIVATIONS}")
    phase = memory["numbers"]["peak_phase"]["value"]
    outcome.check(phase == "backward", f"the peak is in the {phase}")
    peaks = [row["peak"] for row in memory["tables"]["steps"]["rows"]]
    outcome.check(peaks[-1] == EXPECTED["total"][1], f"peaks of the steps: {peaks}")
    modules = {
        row["module"]: row for row in sections["memory_modules"]["tables"]["modules"]["rows"]
    }
    for name, expected in {"blocks.0.mlp.gate": 1_409_024, "blocks.0.n1": 1_050_624}.items():
        found = modules[name]["forward_end"]
        outcome.check(found == expected, f"activations of {name}: {found}, not {expected}")
    return outcome


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    if not RECORDING.exists():
        print("0 passed, 0 failed, 1 skipped: needs recordings/memory_marks of FLOPLEDGER_SHARED")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        outcome = check(sys.argv[1], Path(folder))
    print("\n".join(outcome.lines))
    print(f"{outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped")
    return 1 if outcome.failed else 0


if __name__ == "__main__":
    sys.exit(main())
