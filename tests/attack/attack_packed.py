"""Files with checksums, packed ones and others, with a bit flipped, a cut tail or something behind their end: told, or the numbers are the same."""

from __future__ import annotations

import gzip
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from trying import ROOT, Book, Kind, main

TRACES = ROOT / "tests" / "traces"
MAKE = ROOT / "tests" / "generate"


@dataclass(frozen=True)
class Sample:
    """A file of one reader, not packed, and the command that reads it."""

    name: str
    content: bytes
    file_name: str
    command: list[str]
    second: bytes = b""  # behind it; empty: the file once more


def samples(folder: Path) -> list[Sample]:
    made = folder / "made"
    made.mkdir()
    for command in (
        ["make_trace.py", "--seed", "3", "--steps", "2", "--output", made / "trace.json"],
        ["make_snapshot.py", made / "snapshot.pickle"],
        ["pipeline_timeline.py", made / "pipeline.json"],
    ):
        words = [str(word) for word in command[1:]]
        subprocess.run(
            [sys.executable, MAKE / str(command[0]), *words], check=True, capture_output=True
        )
    dump = sorted((TRACES / "golden" / "flight" / "stopped").glob("*0*"))[0]
    corpus = ROOT / "tests" / "fuzz" / "corpus"
    log = b"".join(
        b" iteration %8d/ 100 | elapsed time per iteration (ms): 2%d.5 |\n" % (i, i)
        for i in range(1, 100)
    )
    return [
        Sample("trace", (made / "trace.json").read_bytes(), "t.json", ["report"]),
        Sample("snapshot", (made / "snapshot.pickle").read_bytes(), "s.pickle", ["memory"]),
        Sample("flight dump", dump.read_bytes(), "dump_rank_0", ["ranks"]),
        Sample("pipeline timeline", (made / "pipeline.json").read_bytes(), "p.json", ["report"]),
        Sample("packets", (corpus / "perfetto" / "plain").read_bytes(), "t.pftrace", ["report"]),
        Sample("space", (corpus / "xplane" / "gpu").read_bytes(), "h.xplane.pb", ["report"]),
        Sample("records", (corpus / "rocprof_json" / "compact").read_bytes(), "r.json", ["report"]),
        Sample("log", log, "train.log", ["ettr"]),
    ]  # fmt: skip


def zstd(content: bytes) -> bytes:
    return subprocess.run(
        ["zstd", "-q", "-c", "--check"], input=content, capture_output=True, check=True
    ).stdout


@dataclass(frozen=True)
class Packing:
    name: str
    pack: Callable[[bytes], bytes]
    ending: str
    environment: dict[str, str]
    tail_bytes: int  # of the checksums at its end


def packings() -> list[Packing]:
    def pack_gzip(content: bytes) -> bytes:
        return gzip.compress(content, mtime=0)

    found = [
        Packing("gzip", pack_gzip, ".gz", {}, 8),
        Packing("gzip by zlib", pack_gzip, ".gz", {"FLOPLEDGER_INFLATE": "zlib"}, 8),
    ]
    return found + [Packing("zstd", zstd, ".zst", {}, 4)] * bool(shutil.which("zstd"))


class Trial:
    """One sample in one packing: tries damaged ones against the whole one."""

    def __init__(self, book: Book, kind: Kind, sample: Sample, packing: Packing) -> None:
        self.kind, self.sample, self.packing = kind, sample, packing
        self.folder = book.folder / f"{sample.name}-{packing.name}".replace(" ", "_")
        self.folder.mkdir(exist_ok=True)
        self.whole = packing.pack(sample.content)
        status, self.right = self.read("whole", self.whole)
        kind.expect(status == 0, f"{sample.name}, {packing.name}: exit {status} of the whole file")

    def read(self, name: str, content: bytes) -> tuple[int, bytes]:
        place = self.folder / name
        place.mkdir()
        path = place / (self.sample.file_name + self.packing.ending)
        path.write_bytes(content)
        outcome = self.kind.try_program(
            [*self.sample.command, path.name],
            size=len(content),
            environment=self.packing.environment,
            cwd=place,
        )
        shutil.rmtree(place)
        return outcome.status, outcome.output

    def expect_told(self, name: str, content: bytes, statuses: tuple[int, ...]) -> None:
        status, output = self.read(name, content)
        is_same = status == 0 and output == self.right
        what = f"{self.sample.name}, {self.packing.name}, {name}: exit {status}"
        if status == 0:
            self.kind.expect(is_same and name.startswith("bit"), what)
        else:
            self.kind.expect(status in statuses, what)

    def flip(self, bit: int) -> None:
        damaged = bytearray(self.whole)
        damaged[bit // 8] ^= 1 << bit % 8
        # A flip in the fields of a header that tell a name or a time is harmless; one in the magic
        # bytes makes another kind of file of it. 4: what is left holds no event.
        self.expect_told(f"bit {bit}", bytes(damaged), (1, 3, 4, 5))

    def cut(self, count: int) -> None:
        # Without its checksums the text is whole, and that it may be wrong must be told.
        statuses = (5,) if count <= self.packing.tail_bytes else (3, 4, 5)
        self.expect_told(f"cut by {count}", self.whole[:-count], statuses)

    def follow(self, name: str) -> None:
        behind = {
            "bytes": b"\x00\x01garbage",
            "zeros": bytes(512),
            "itself": self.whole,
            "half of itself": self.whole[: len(self.whole) // 2],
            "a member of bytes": self.packing.pack(b"\x80\x81\x82"),
        }
        if self.sample.name == "packets" and name == "itself":
            return  # traces of Perfetto behind one another are one trace, by its documentation
        statuses = (3, 5) if name != "itself" or self.sample.name == "pipeline timeline" else (5,)
        self.expect_told(f"followed by {name}", self.whole + behind[name], statuses)


def spread(book: Book, bits: int) -> list[int]:
    """All bits of the head and of the tail, and some between."""
    edges = set(range(min(bits, 144))) | set(range(max(0, bits - 96), bits))
    between = random.Random(5).sample(range(bits), min(bits, book.count(100, 3000)))
    return sorted(edges | set(between))


def checked() -> list[Sample]:
    """Files that have checksums of their own."""
    record = TRACES / "golden" / "job" / "capture" / "steps" / "rank0.steps"
    digest = ROOT / "tests" / "fuzz" / "corpus" / "digest_set" / "one.fld"
    return [
        Sample("step record", record.read_bytes(), "rank0.steps", ["ettr"]),
        Sample("digest", digest.read_bytes(), "rank0.fld", ["report"]),
    ]


def attack(book: Book) -> None:
    read = samples(book.folder)
    plain = Packing("not packed", lambda content: content, "", {}, 0)
    with book.kind("step records and digests, one bit flipped") as kind:
        for sample in checked():
            trial = Trial(book, kind, sample, plain)
            kind.for_each(spread(book, 8 * len(trial.whole)), trial.flip)
    for packing in packings():
        with book.kind(f"{packing.name}, one bit flipped") as kind:
            for sample in read:
                trial = Trial(book, kind, sample, packing)
                few = 1 if sample.name == "trace" else 4
                kind.for_each(spread(book, 8 * len(trial.whole))[::few], trial.flip)
        with book.kind(f"{packing.name}, tail cut off") as kind:
            for sample in read:
                trial = Trial(book, kind, sample, packing)
                half = len(trial.whole) // 2
                kind.for_each([*range(1, 13), 17, 33, half // 2, half], trial.cut)
        with book.kind(f"{packing.name}, something behind its end") as kind:
            for sample in read:
                if sample.name == "log":
                    continue  # lines that follow are lines
                trial = Trial(book, kind, sample, packing)
                names = ["bytes", "zeros", "itself", "half of itself", "a member of bytes"]
                kind.for_each(names, trial.follow)
    if not shutil.which("zstd"):
        book.skip("zstd", "there is no program zstd")
    with book.kind("not packed, something behind its end") as kind:
        for sample in read:
            if sample.name != "log":
                trial = Trial(book, kind, sample, plain)
                kind.for_each(
                    ["bytes", "zeros", "itself", "half of itself", "a member of bytes"],
                    trial.follow,
                )


if __name__ == "__main__":
    main(__doc__, attack)
