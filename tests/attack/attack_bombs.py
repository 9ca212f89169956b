"""Small files that ask for much memory: they get what fits their size, or a message, and never SIGABRT."""

from __future__ import annotations

import gzip
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trying import ROOT, Book, Kind, main

sys.path.insert(0, str(ROOT / "tests" / "generate"))
from long_recordings import RECORDINGS  # noqa: E402

MIB = 1 << 20
UNSEEN = 17 * MIB  # a bomb is known for one behind 16 MiB
PER_BYTE = 25  # what the smallest thing of a file, an empty list of one byte, may take
EVENT = b'{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":5,"args":{"stream":7}}'
HEAD = b'{"traceEvents":[' + b",".join(EVENT % (10 * i) for i in range(50))
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
PACKETS = (CORPUS / "perfetto" / "plain").read_bytes()
SPACE = (CORPUS / "xplane" / "gpu").read_bytes()


def packed_bombs(folder: Path) -> list[tuple[list[str], Path]]:
    """200 MB of one byte behind a good beginning, in some 200 KB."""
    zeros = bytes(200 * MIB)
    spaces = b" " * (200 * MIB)
    contents = {
        "name.json.gz": (["report"], HEAD + b',{"name":"', spaces),
        "space.json.gz": (["report"], HEAD + b",", spaces),
        "header.json.gz": (["report"], b'{"deviceProperties":[{"name":"', spaces),
        "text.pickle.gz": (["memory"], b"\x80\x04X\xff\xff\xff\x10", zeros),
        "lists.pickle.gz": (["memory"], b"\x80\x04](", b"]" * (100 * MIB)),
        "dump_rank_0.gz": (["ranks"], b'{"entries":[', b"[]," * (40 * MIB)),
        "train.log.gz": (["ettr"], b" iteration 1/ 9 | elapsed time per iteration (ms): 3.5 |\n", spaces),
        "trace.pftrace.gz": (["report"], PACKETS + b"\x0a\x80\x80\x80\x64\x5a\x80\x80\x80\x64", zeros),
        "host.xplane.pb.gz": (["report"], SPACE + b"\x0a\x80\x80\x80\x64\x12\x80\x80\x80\x64", zeros),
        "run_results.json.gz": (["report"], b'{"rocprofiler-sdk-tool":[{"metadata":{"pid":"', spaces),
        "records.json.gz": (["report"], b'{"rocprofiler-sdk-tool":[{"agents":[', b"{}," * (60 * MIB)),
        "pipeline.json.gz": (["report"], b'{"1":{"fwd_start":[1],"fwd_end":[2],"x":"', spaces),
    }  # fmt: skip
    made = []
    for name, (command, head, rest) in contents.items():
        path = folder / name
        path.write_bytes(gzip.compress(head + rest, 6, mtime=0))
        made.append((command, path))
    return made


def shared_pickles(folder: Path) -> list[tuple[list[str], Path]]:
    """One list at many places: its rows would be many times what the file holds."""
    many = 20_000
    block = {"size": 512, "requested_size": 512, "state": "inactive", "address": 0}
    entry = {"action": "alloc", "addr": 0, "size": 512, "stream": 0, "frames": []}
    frames = [{"filename": "a", "name": "b", "line": i} for i in range(20)]
    blocks = [block] * many
    segment = {"device": 0, "address": 0, "total_size": 512, "stream": 0, "blocks": blocks}
    shapes: dict[str, Any] = {
        "blocks": {"segments": [segment] * many, "device_traces": []},
        "traces": {"segments": [], "device_traces": [[entry] * many] * 500},
        "frames": {"segments": [], "device_traces": [[{**entry, "frames": frames * many}] * 900]},
    }
    made = []
    for name, shape in shapes.items():
        path = folder / f"shared_{name}.pickle"
        path.write_bytes(pickle.dumps(shape, 4))
        made.append((["memory"], path))
    return made


def long_values(folder: Path) -> list[tuple[list[str], Path]]:
    made = []
    for name, text in (
        ("event", HEAD + b',{"name":"' + b"x" * (150 * MIB) + b'"}]}'),
        ("header", b'{"deviceProperties":[{"name":"' + b"x" * (150 * MIB) + b'"}],' + HEAD[1:] + b"]}"),
        ("array", HEAD + b',{"args":[' + b"1," * (75 * MIB) + b"1]}]}"),
    ):  # fmt: skip
        path = folder / f"long_{name}.json"
        path.write_bytes(text)
        made.append((["report"], path))
    return made


def good_files(folder: Path) -> list[tuple[list[str], Path]]:
    """More than fits the limits below."""
    trace = folder / "trace.json"
    events = b",\n".join(
        EVENT.replace(b'"k"', b'"k%d%s"' % (i, b"x" * 300)) % (10 * i) for i in range(120_000)
    )
    trace.write_bytes(b'{"traceEvents":[' + events + b"]}")
    snapshot, database = folder / "snapshot.pickle", folder / "run.sqlite"
    rows = [{"action": "alloc", "addr": 512 * i, "size": 512, "stream": 0, "frames": []}
            for i in range(400_000)]  # fmt: skip
    snapshot.write_bytes(pickle.dumps({"segments": [], "device_traces": [rows]}, 4))
    words = ["--seed", "7", "--steps", "2", "--output", str(database)]
    script = str(ROOT / "tests" / "generate" / "nsys_database.py")
    subprocess.run([sys.executable, script, *words], check=True, capture_output=True)
    return [
        (["report"], trace),
        (["inspect"], trace),
        (["memory"], snapshot),
        (["report"], database),
    ]


def try_all(
    kind: Kind,
    files: list[tuple[list[str], Path]],
    is_right: Callable[[int, bytes], bool],
    ratio: float,
) -> None:
    for command, path in files:
        size = path.stat().st_size
        outcome = kind.try_program([*command, path], size=size)
        what = f"{path.name}: exit {outcome.status}: {outcome.errors[-200:]!r}"
        kind.expect(is_right(outcome.status, outcome.errors), what)
        limit = UNSEEN * PER_BYTE + ratio * size
        kind.expect(outcome.peak_bytes <= limit, f"{path.name}: {outcome.peak_bytes // MIB} MiB")
        path.unlink()


def try_many_ranks(kind: Kind) -> None:
    """Each rank is a pass over the file: 128 are read, and more are refused rather than left out in silence."""
    for name in ("space_planes", "rocprof_processes", "rocpd_processes"):
        for ranks, status in ((128, 0), (129, 3)):
            folder = kind.book.folder / f"{name}-{ranks}"
            folder.mkdir()
            (path,) = RECORDINGS[name](ranks, folder)
            outcome = kind.try_program(["report", path], size=path.stat().st_size)
            what = f"{name}, {ranks} ranks: exit {outcome.status}: {outcome.errors[-200:]!r}"
            kind.expect(outcome.status == status, what)
            told = b"more than 128" in outcome.errors if status else b"128 ranks" in outcome.output
            kind.expect(told, what)


def attack(book: Book) -> None:
    def is_told(status: int, _: bytes) -> bool:
        return status in (3, 4, 5)

    def is_refused_or_right(status: int, _: bytes) -> bool:
        return status in (0, 3, 4, 5)

    with book.kind("gzip that unpacks to 1,000 times its size") as kind:
        try_all(kind, packed_bombs(book.folder), is_told, 2)
    with book.kind("pickles with one list at many places") as kind:
        try_all(kind, shared_pickles(book.folder), is_refused_or_right, 30)
    with book.kind("an event or a header of 150 MB") as kind:
        try_all(kind, long_values(book.folder), is_told, 4)
    with book.kind("more ranks in a file than one machine has") as kind:
        try_many_ranks(kind)
    files = good_files(book.folder)
    with book.kind("--memory-limit and ulimit -v: an end with a message, or a report") as kind:
        for command, path in files:
            ends = 0
            for limit in (64, 100, 4000):
                words = [*command, "--memory-limit", f"{limit}MiB", path]
                outcome = kind.try_program(words, environment={"FLOPLEDGER_MEMORY_MIB": "100000"})
                ends += outcome.status == 1
                told = b"out of memory: the limit is %d MiB" % limit in outcome.errors
                what = f"{path.name}, {limit} MiB: exit {outcome.status}: {outcome.errors[-200:]!r}"
                kind.expect(outcome.status == 0 or (outcome.status == 1 and told), what)
            kind.expect(ends > 0 or path.suffix == ".sqlite", f"{path.name}: no limit was reached")
            for limit in (24, 64, 120):
                size = limit * MIB
                outcome = kind.try_program(
                    [*command, path],
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
                )
                # 127: not even the libraries of the program fit
                told = b"ulimit -v" in outcome.errors or outcome.status in (0, 127)
                what = f"{path.name}, ulimit {limit} MiB: exit {outcome.status}: {outcome.errors[-200:]!r}"
                kind.expect(told and outcome.status in (0, 1, 127), what)


if __name__ == "__main__":
    main(__doc__, attack)
