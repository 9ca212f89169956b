"""Every command with less and less memory (ulimit -v): its output, or an end with a message and without any output."""

from __future__ import annotations

import gzip
import resource
import shutil
import subprocess
from pathlib import Path

from attack_outputs import Outputs, Writer
from trying import Book, Kind, main

MIB = 1 << 20
LIBRARIES_DO_NOT_FIT = 127


def packed(folder: Path, trace: Path) -> list[tuple[Path, dict[str, str]]]:
    """The trace for each library that unpacks, and what chooses it."""
    plain = gzip.decompress(trace.read_bytes())
    found = [(trace, {}), (trace, {"FLOPLEDGER_INFLATE": "zlib"})]
    if shutil.which("zstd"):
        path = folder / "trace.json.zst"
        done = subprocess.run(["zstd", "-q", "-c"], input=plain, capture_output=True, check=True)
        path.write_bytes(done.stdout)
        found.append((path, {}))
    return found


def try_one(
    kind: Kind, words: list[str | Path], limit_mib: int, output: Path, more: dict[str, str]
) -> None:
    size = limit_mib * MIB
    outcome = kind.try_program(
        words,
        environment=more,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )
    told = f"{words[0]} {words[1]}, {limit_mib} MiB: {outcome.status}: {outcome.errors[-200:]!r}"
    if outcome.status not in (0, 5, LIBRARIES_DO_NOT_FIT):
        is_told = outcome.status == 1 and b"out of memory" in outcome.errors
        kind.expect(is_told, told)
    is_written = outcome.status in (0, 5)
    kind.expect(output.exists() == is_written, f"{told}: {'no' if is_written else 'an'} output")
    left = list(output.parent.glob("*-part"))
    kind.expect(not left, f"{told}: left {left}")


def attack(book: Book) -> None:
    outputs = Outputs(book)
    limits = range(14, 64, 2 if book.is_long else 7)

    def try_writer(kind: Kind, case: tuple[Writer, int]) -> None:
        writer, limit = case
        folder = outputs.fresh()
        words = writer.arguments(outputs.given(writer, folder), folder / "out")
        try_one(kind, words, limit, folder / "out", {})
        shutil.rmtree(folder)

    def try_packed(kind: Kind, case: tuple[Path, dict[str, str], int]) -> None:
        path, more, limit = case
        folder = outputs.fresh()
        try_one(kind, ["report", path, "-o", folder / "out"], limit, folder / "out", more)
        shutil.rmtree(folder)

    with book.kind("ulimit -v: every command with less and less memory") as kind:
        cases = [(writer, limit) for writer in outputs.writers for limit in limits]
        kind.for_each(cases, lambda case: try_writer(kind, case))
    with book.kind("ulimit -v: every library that unpacks") as kind:
        sources = packed(book.folder, outputs.data["trace"])
        every = [(path, more, limit) for path, more in sources for limit in range(14, 50)]
        kind.for_each(every, lambda case: try_packed(kind, case))


if __name__ == "__main__":
    main(__doc__, attack)
