"""The section of docs/benchmarks.md on other recorders' files: GB/s of each reader on one core, and memory beside the file."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from make_input import FOLDER, PROGRAM, ROOT
from measure import Contender, measure_in_turn
from write_page import stamp, table

TITLE = "## Files of other recorders"
GENERATE = ROOT / "tests/generate/recorder_file.py"
# Title, recorder of recorder_file.py, events for more than 100 MB, name of the file, and whether it is packed, too.
RECORDERS = [
    ("Perfetto", "perfetto", 850_000, "run.pftrace", True),
    ("XSpace of JAX", "xplane", 1_500_000, "run.xplane.pb", True),
    ("rocprofv3's JSON", "rocprof", 165_000, "run_results.json", False),
    ("Ascend's trace_view.json", "ascend", 140_000, "trace_view.json", False),
    ("rocprofv3's database (rocpd)", "rocpd", 370_000, "run_results.db", False),
    ("RPD's database", "rpd", 560_000, "trace.rpd", False),
    ("RPD's JSON", "rpd-json", 220_000, "trace.json", False),
    ("Ascend's database", "ascend-database", 600_000, "ascend_pytorch_profiler_0.db", False),
    ("Proton", "proton", 190_000, "run.hatchet", False),
    ("Proton, each kernel in 41 scopes", "proton-deep", 12_000, "deep.hatchet", False),
]
COMMANDS = ("inspect", "report")
GB_A_SECOND, OF_THE_FILE = 0.5, 0.3  # what `inspect` is held to


def packed_forms(plain: Path) -> list[tuple[str, Path]]:
    forms = [(", gzip -1", plain.with_name(plain.name + ".gz"))]
    with open(plain, "rb") as text, gzip.open(forms[0][1], "wb", compresslevel=1) as packed:
        shutil.copyfileobj(text, packed, 1 << 20)
    if shutil.which("zstd"):
        forms.append((", zstd -3", plain.with_name(plain.name + ".zst")))
        subprocess.run(["zstd", "-q", "-3", "-f", str(plain), "-o", str(forms[1][1])], check=True)
    return forms


def measured(title: str, path: Path, text_bytes: int, rounds: int) -> tuple[list[str], bool]:
    """A row, and whether `inspect` is as fast and as small as it is to be."""
    words = {one: [str(PROGRAM), one, "--no-progress", "-j1", str(path)] for one in COMMANDS}
    contenders = {one: Contender(f"{title}, {one}", words[one]) for one in COMMANDS}
    measure_in_turn(list(contenders.values()), rounds)
    row, is_good = [title, f"{text_bytes / 1e6:.1f}", f"{path.stat().st_size / 1e6:.1f}"], True
    for one, contender in contenders.items():
        seconds = min(run.cpu_seconds for run in contender.runs)
        rate, share = text_bytes / seconds / 1e9, contender.peak_bytes() / text_bytes
        row += [f"{seconds:.2f}", f"{rate:.2f}", f"{share:.2f}"]
        is_good &= one != "inspect" or (rate >= GB_A_SECOND and share <= OF_THE_FILE)
    return row, is_good


def rows_of(recorder: tuple[str, str, int, str, bool], folder: Path, rounds: int):
    title, kind, events, name, is_packed = recorder
    plain = folder / name
    words = [sys.executable, str(GENERATE), kind, "--events", str(events), "--output", str(plain)]
    subprocess.run(words, check=True)
    forms = [("", plain), *(packed_forms(plain) if is_packed else [])]
    text_bytes = plain.stat().st_size
    for form, path in forms:
        yield measured(title + form, path, text_bytes, rounds)
    for _, path in forms:
        path.unlink()


def recorders_section(rounds: int) -> str:
    """Markdown, with its title."""
    rows, missed = [], []
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        for recorder in RECORDERS:
            for row, is_good in rows_of(recorder, Path(folder), rounds):
                rows.append(row)
                missed += [] if is_good else [row[0]]
    head = ["file", "text, MB", "file, MB"]
    for one in COMMANDS:
        head += [f"`{one} -j1`, CPU s", "GB/s", "memory ÷ text"]
    verdict = f"not so: {'; '.join(missed)}" if missed else "all are"
    lines = [
        TITLE,
        "",
        f"Files that `tests/generate/recorder_file.py` writes, of one thread: processor time, the least of {rounds} runs by turns, and GB/s "
        "of the text as it is unpacked; the largest resident size beside it. `inspect` reads all and keeps sums, `report` keeps each "
        f"event. A reader is to take in {GB_A_SECOND} GB/s, with {OF_THE_FILE} of the text in memory, in `inspect`: {verdict}.",
        "",
        table(head, rows),
        "",
        stamp("recorders"),
    ]
    return "\n".join(lines) + "\n"
