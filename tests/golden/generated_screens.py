"""Inputs of every reader, made anew: what check_screens.py looks at besides the files that lie here."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

GENERATE = Path(__file__).resolve().parents[1] / "generate"
sys.path.insert(0, str(GENERATE))
sys.dont_write_bytecode = True

from ascend_recording import write_trace_view  # noqa: E402
from flight_dumps import FAULTS  # noqa: E402
from make_trace import Plan, make_trace  # noqa: E402
from mlperf_log import make_run  # noqa: E402
from perfetto_file import Form, protos, write_pftrace  # noqa: E402
from trace_styles import STYLES  # noqa: E402
from write_trace import write_trace  # noqa: E402
from xplane_file import gpu_space, tpu_space, write_space  # noqa: E402

Command = list[str]
# script, its words, and the file that it writes; behind the file its words again where that comes last
SCRIPTS = {
    "nsys.sqlite": ("nsys_database.py", "--seed", "3", "--ranks", "2", "--metrics", "--output"),
    "rules.sqlite": ("nsys_database.py", "--seed", "4", "--rules", "--output"),
    "results.db": ("rocpd_database.py", "--seed", "5", "--steps", "3", "--output"),
    "results.json": ("rocprof_json.py", "--seed", "6", "--steps", "3", "--output"),
    "pipeline.json": ("pipeline_timeline.py", "--seed", "2"),
    "gpu.json": ("make_trace.py", "--seed", "7", "--steps", "4", "--output"),
    "cpu.json": ("make_trace.py", "--seed", "8", "--cpu-only", "--output"),
    "rocm.json": ("make_trace.py", "--seed", "9", "--style", "rocm", "--output"),
    "old.json": ("make_trace.py", "--seed", "10", "--style", "torch1.8", "--output"),
    "snapshot.pickle": ("make_snapshot.py", "--seed", "1", "--leak"),
    "oom.pickle": ("make_snapshot.py", "--seed", "2", "--tags", "--oom", "4096"),
}


def written(name: str, folder: Path) -> Path:
    script, *words = SCRIPTS[name]
    path = folder / name
    subprocess.run(
        [sys.executable, GENERATE / script, *words, path], check=True, capture_output=True
    )
    return path


def recorded_elsewhere(folder: Path) -> list[Path]:
    """A trace as Perfetto and as torch_npu write it, and XSpaces of JAX."""
    rng = random.Random("screens")
    style = STYLES["torch2"]
    text = write_trace(make_trace(3, Plan(steps=3, blocks=6), style), style).whole()
    trace = json.loads(text, parse_float=Decimal)
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X" and "dur" in e and "ts" in e]
    kept = {"traceEvents": events, "baseTimeNanoseconds": trace.get("baseTimeNanoseconds", 0)}
    perfetto, ascend = folder / "run.pftrace", folder / "trace_view.json"
    if protos:  # the messages of Perfetto are a package of their own
        perfetto.write_bytes(write_pftrace(kept, Form.of(rng), rng))
    write_trace_view(kept, ascend, rng)
    spaces = [folder / name for name in ("tpu.xplane.pb", "gpu.xplane.pb")]
    write_space(spaces[0], tpu_space(rng).planes)
    write_space(spaces[1], gpu_space(rng, 2).planes)
    return ([perfetto] if protos else []) + [ascend, *spaces]


def generated_inputs(folder: Path) -> list[Command]:
    paths = {name: written(name, folder) for name in SCRIPTS}
    traces = [path for name, path in paths.items() if not name.endswith(".pickle")]
    traces += recorded_elsewhere(folder)
    commands = [["report", str(path)] for path in traces]
    commands += [["flops", str(paths[name])] for name in ("gpu.json", "cpu.json", "nsys.sqlite")]
    commands += [["memory", str(paths[name])] for name in ("snapshot.pickle", "oom.pickle")]
    commands.append(["compare", str(paths["gpu.json"]), str(paths["rocm.json"])])
    for seed in range(3):
        log = folder / f"mlperf{seed}.txt"
        log.write_text("\n".join(make_run(seed).lines) + "\n")
        commands.append(["ettr", str(log)])
    for seed, fault in enumerate(FAULTS):
        dumps = folder / fault
        subprocess.run(
            [
                sys.executable,
                GENERATE / "flight_dumps.py",
                "--fault",
                fault,
                "--seed",
                str(seed),
                dumps,
            ],
            check=True,
            capture_output=True,
        )
        commands.append(["ranks", str(dumps)])
    return commands
