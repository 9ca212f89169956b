"""Every command through a pipe of the shell, a named pipe and standard input: it prints what it prints of the file."""

from __future__ import annotations

import gzip
import os
import random
import re
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from trying import ROOT, Book, Kind, main

sys.path.insert(0, str(ROOT / "tests" / "generate"))
from xplane_file import gpu_space, write_space  # noqa: E402

TRACES = ROOT / "tests" / "traces" / "golden"
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
MAKE = ROOT / "tests" / "generate"


@dataclass(frozen=True)
class Reading:
    """A command, with FILE where the pipe is to stand."""

    name: str
    path: Path
    arguments: list[str]
    refusal: str = ""  # what is said where a pipe cannot do


def readings(folder: Path) -> list[Reading]:
    for command in (
        ["make_trace.py", "--seed", "3", "--steps", "2", "--output", folder / "trace.json"],
        # more than what is kept of a pipe that was only looked at
        ["make_trace.py", "--events", "9000", "--output", folder / "long.json"],
        ["make_snapshot.py", folder / "snapshot.pickle"],
        ["pipeline_timeline.py", folder / "pipeline.json"],
        ["nsys_database.py", "--seed", "7", "--steps", "2", "--output", folder / "run.sqlite"],
        ["rocprof_json.py", "--ranks", "2", "--steps", "2", "--output", folder / "two.json"],
    ):
        words = [str(word) for word in command[1:]]
        subprocess.run(
            [sys.executable, MAKE / str(command[0]), *words], check=True, capture_output=True
        )
    write_space(folder / "two.xplane.pb", gpu_space(random.Random(1), 2).planes)
    trace, long = folder / "trace.json", folder / "long.json"
    packed = folder / "long.json.gz"
    packed.write_bytes(gzip.compress(long.read_bytes()))
    log = folder / "train.log"
    log.write_text(
        "".join(f" iteration {i:8}/ 99 | elapsed time per iteration (ms): {200 + i}.5 |\n"
                for i in range(1, 99))
    )  # fmt: skip
    words = ["report", "flops", "inspect"]
    found = [Reading(f"{name} of {p.name}", p, [name, "FILE"]) for name in words
             for p in (trace, long, packed)]  # fmt: skip
    found += [
        Reading("report --json", packed, ["report", "--json", "FILE"]),
        Reading("compare, the second", trace, ["compare", str(trace), "FILE"]),
        Reading("compare, the first", packed, ["compare", "FILE", str(trace)]),
        Reading("digest", packed, ["digest", "-o", "OUT", "FILE"]),
        Reading("report of two ranks", packed, ["report", str(trace), "FILE"]),
        Reading("report of a timeline", folder / "pipeline.json", ["report", "FILE"]),
        Reading("memory", folder / "snapshot.pickle", ["memory", "FILE"]),
        Reading("ettr", log, ["ettr", "FILE"]),
        Reading("export jsonl", packed, ["export", "jsonl", "FILE"]),
        Reading("export prometheus", trace, ["export", "prometheus", "FILE"]),
        Reading("ranks", TRACES / "flight" / "stopped" / "nccl_trace_rank_0", ["ranks", "FILE"]),
    ]
    for name in ("perfetto/interned", "perfetto/compressed", "xplane/tpu", "rocprof_json/compact"):
        found += [Reading(f"{command} of {name}", CORPUS / name, [command, "FILE"])
                  for command in words]  # fmt: skip
    twice, once = "reads each trace twice", "can be read only once"
    database = folder / "run.sqlite"
    return found + [
        Reading("export chrome", trace, ["export", "chrome", "-o", "OUT", "FILE"], twice),
        Reading("report of a database", database, ["report", "FILE"], "pipe"),
        Reading("report of two processes", folder / "two.json", ["report", "FILE"], once),
        Reading("report of two devices", folder / "two.xplane.pb", ["report", "FILE"], once),
        Reading("report of rocpd", CORPUS / "rocpd_database" / "own", ["report", "FILE"], "pipe"),
        Reading("nsys-stats", database, ["nsys-stats", "FILE"], "pipe"),
    ]


def feed(path: str | int, content: bytes) -> threading.Thread:
    def write() -> None:
        try:
            with open(path, "wb") as pipe:
                pipe.write(content)
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


class Trial:
    def __init__(self, book: Book, kind: Kind, reading: Reading) -> None:
        self.kind, self.reading, self.place = kind, reading, str(book.folder).encode()
        self.folder = book.folder / f"{kind.row.kind}-{reading.name}".replace(" ", "_").replace(
            "/", ""
        )
        self.folder.mkdir()

    def words(self, name: str) -> list[str]:
        out = str(self.folder / "out")
        return [{"FILE": name, "OUT": out}.get(word, word) for word in self.reading.arguments]

    def numbers(self, output: bytes) -> Counter[bytes]:
        own = self.folder / "out"
        if own.exists():
            output += own.read_bytes()
            own.unlink()
        return Counter(re.findall(rb"[0-9][0-9.,]{2,}", output.replace(self.place, b"")))

    def expect_same(self, status: int, output: bytes, errors: bytes) -> None:
        """The same numbers, but for the size of the file, which a pipe does not tell, and those of its name."""
        what = f"{self.reading.name}: exit {status}: {errors[-300:].decode(errors='replace')}"
        if self.reading.refusal:
            told = self.reading.refusal.encode() in errors and status in (2, 3)
            self.kind.expect(told, what)
            return
        got = self.numbers(output)
        right = self.kind.try_program(self.words(str(self.reading.path)))
        wanted = self.numbers(right.output)
        other = sum(((got - wanted) + (wanted - got)).values())
        self.kind.expect(status == right.status, what)
        self.kind.expect(
            other <= 0.02 * wanted.total() + 4, f"{what}: {got - wanted} {wanted - got}"
        )

    def try_named(self) -> None:
        path = self.folder / self.reading.path.name
        os.mkfifo(path)
        feed(str(path), self.reading.path.read_bytes())
        outcome = self.kind.try_program(self.words(str(path)))
        self.expect_same(outcome.status, outcome.output, outcome.errors)

    def try_shell(self, name: str = "/dev/fd/{}") -> None:
        ours, theirs = os.pipe()
        name = name.format(ours)
        feed(theirs, self.reading.path.read_bytes())
        outcome = self.kind.try_program(self.words(name), pass_fds=[ours])
        os.close(ours)
        self.expect_same(outcome.status, outcome.output, outcome.errors)

    def try_standard_input(self, name: str) -> None:
        done = subprocess.run(
            [self.kind.book.program, *self.words(name)],
            input=self.reading.path.read_bytes(),
            capture_output=True,
            timeout=60,
        )
        self.kind.row.tries += 1
        self.expect_same(done.returncode, done.stdout, done.stderr)


def attack(book: Book) -> None:
    made = book.folder / "made"
    made.mkdir()
    every = readings(made)
    with book.kind("a named pipe in place of a file") as kind:
        kind.for_each(every, lambda reading: Trial(book, kind, reading).try_named())
    nameless = [reading for reading in every if reading.name != "ranks"]
    with book.kind("a pipe of the shell in place of a file") as kind:
        kind.for_each(nameless, lambda reading: Trial(book, kind, reading).try_shell())
    with book.kind("/dev/stdin in place of a file") as kind:
        kind.for_each(
            nameless, lambda reading: Trial(book, kind, reading).try_standard_input("/dev/stdin")
        )
    with book.kind("standard input in place of a file") as kind:
        dashed = [reading for reading in nameless if reading.name != "nsys-stats"]
        kind.for_each(dashed, lambda reading: Trial(book, kind, reading).try_standard_input("-"))


if __name__ == "__main__":
    main(__doc__, attack)
