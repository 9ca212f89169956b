"""The trace that is measured: plain, gzip and zstd."""

import gzip
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/release/flopledger"
FOLDER = ROOT / "build/bench"
SEED_TRACE = Path("traces/hta/df_index_resolver/df_index_resolver.json.gz")


@dataclass
class Input:
    what: str  # for the page
    plain: Path
    events: int

    @property
    def gzip(self) -> Path:
        return self.plain.with_suffix(".json.gz")

    @property
    def zstd(self) -> Path:
        return self.plain.with_suffix(".json.zst")

    @property
    def bytes(self) -> int:
        return self.plain.stat().st_size


def shared_folder() -> Path | None:
    """Traces of other people, where they are at hand; no part of the project."""
    folder = Path(os.environ.get("FLOPLEDGER_SHARED", ROOT.parent / "shared"))
    return (
        folder
        if (folder / SEED_TRACE).exists() and (folder / "tools/make_big_trace.py").exists()
        else None
    )


def count_events(program: Path, trace: Path) -> int:
    """As flopledger itself counts them; json.loads must find as many (bench/run_bench.py compares)."""
    text = subprocess.run(
        [program, "inspect", "--json", trace], capture_output=True, text=True, check=True
    ).stdout
    found = re.search(r'"events": ?(?:\{"value": ?)?(\d+)', text)
    if not found:
        sys.exit("bench: flopledger inspect --json names no number of events")
    return int(found[1])


def repeat_real_trace(folder: Path, shared: Path, times: int) -> Path:
    plain = folder / f"df_index_resolver_x{times}.json"
    if not plain.exists():
        command = [
            sys.executable,
            shared / "tools/make_big_trace.py",
            shared / SEED_TRACE,
            plain,
            str(times),
        ]
        subprocess.run(command, check=True)
    return plain


def generate_trace(folder: Path, times: int) -> Path:
    plain = folder / f"generated_x{times}.json"
    if not plain.exists():
        events = 212_500 * times
        command = [sys.executable, ROOT / "tests/generate/make_trace.py", "--seed", "1"]
        subprocess.run([*command, "--events", str(events), "--output", plain], check=True)
    return plain


def pack(plain: Path) -> None:
    """As PyTorch does it: gzip at its usual level; zstd at its usual level."""
    packed = plain.with_suffix(".json.gz")
    if not packed.exists():
        with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
            shutil.copyfileobj(source, target, 1 << 20)
    if shutil.which("zstd") and not plain.with_suffix(".json.zst").exists():
        subprocess.run(
            ["zstd", "-q", "-3", plain, "-o", plain.with_suffix(".json.zst")], check=True
        )


def make_input(folder: Path, program: Path, times: int, packed: bool = True) -> Input:
    """`times` 8 is about 340 MB and 1.7 million events."""
    folder.mkdir(parents=True, exist_ok=True)
    shared = shared_folder()
    if shared:
        plain = repeat_real_trace(folder, shared, times)
        what = f"a real trace of two V100 (df_index_resolver, test data of HolisticTraceAnalysis), {times} times in a row"
    else:
        plain = generate_trace(folder, times)
        what = "a trace made by tests/generate/make_trace.py"
    if packed:
        pack(plain)
    return Input(what, plain, count_events(program, plain))
