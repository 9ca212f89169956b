"""The section of docs/benchmarks.md on memory snapshots: a million events, read by us and by what reads them in Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from make_input import FOLDER, PROGRAM, ROOT
from measure import Contender, measure_in_turn
from torch_python import find_python
from write_page import stamp, table

TITLE = "## Reading a memory snapshot"
SHARED = Path(os.environ.get("FLOPLEDGER_SHARED", ROOT.parent / "shared"))
RECORDED = SHARED / "snapshots/wedsonlin/medium_1024_training_memory_snapshot.pickle"
EVENTS = 1_000_000

PICKLE_LOAD = "import pickle, sys; pickle.load(open(sys.argv[1], 'rb'))"


def make_snapshot() -> tuple[Path, str, int]:
    """A million events, where they come from, and how many they are."""
    source, origin = RECORDED, "a recorded training step of a transformer with C++ stacks"
    if not source.exists():
        source, origin = FOLDER / "made.pickle", "a made snapshot"
        maker = ROOT / "tests/generate/make_snapshot.py"
        size = ["--steps", "20", "--layers", "24"]
        subprocess.run([sys.executable, str(maker), str(source), *size], check=True)
    target = FOLDER / "snapshot.pickle"
    tiler = [sys.executable, str(ROOT / "bench/tile_snapshot.py"), str(source), str(target)]
    done = subprocess.run([*tiler, str(EVENTS)], check=True, capture_output=True, text=True)
    return target, origin, int(done.stdout)


def contenders(snapshot: Path) -> list[Contender]:
    ours = [str(PROGRAM), "memory", "--no-progress", str(snapshot)]
    found = [
        Contender("`flopledger memory`, the whole page", ours),
        Contender(
            "Python's `pickle.load`, and nothing else",
            [sys.executable, "-c", PICKLE_LOAD, str(snapshot)],
            rounds=2,
        ),
    ]
    python = find_python()
    if python is not None:
        page = str(FOLDER / "trace_plot.html")
        module = [str(python), "-m", "torch.cuda._memory_viz", "trace_plot"]
        title = "PyTorch's `_memory_viz trace_plot`"
        found.append(Contender(title, [*module, str(snapshot), "-o", page], rounds=1))
    return found


def snapshot_section(rounds: int) -> str:
    """Markdown, with its title."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    snapshot, origin, events = make_snapshot()
    measured = contenders(snapshot)
    measure_in_turn(measured, rounds)
    rows = [
        [
            one.title,
            f"{one.seconds():.2f}",
            f"{one.cpu_seconds():.2f}",
            f"{one.peak_bytes() / 1e6:.0f}",
        ]
        for one in measured
    ]
    if len(measured) < 3:
        rows.append(["PyTorch's `_memory_viz`", "not here", "", ""])
    size = snapshot.stat().st_size / 1e6
    snapshot.unlink()
    lines = [
        TITLE,
        "",
        f"{events:,} events in a pickle of {size:.0f} MB: {origin}, repeated. Medians; all in one run.",
        "",
        table(["program", "seconds", "CPU seconds", "peak memory, MB"], rows),
        "",
        stamp("snapshots"),
    ]
    return "\n".join(lines) + "\n"
