"""Outputs in the wrong place: no output replaces an input or other data; full and read-only disks are told as what they are."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from trying import ROOT, Book, Kind, Outcome, main

TESTS = ROOT / "tests"
NOBODY = 65534
PAGE, ONE_FILE, FOLDER = "page", "file", "folder"


@dataclass(frozen=True)
class Writer:
    """A command that writes: its words, in which IN, OTHER and OUT are paths."""

    words: tuple[str, ...]
    option: str
    kind: str
    reads: str = "trace"

    def arguments(self, given: Path, output: Path) -> list[str | Path]:
        return [{"IN": given, "OUT": output}.get(word, word) for word in self.words]

    def __str__(self) -> str:
        return " ".join(self.words)


def writers() -> list[Writer]:
    pages = {
        "trace": ["report IN", "flops IN", "inspect IN", "compare IN IN", "report -f deepspeed IN"],
        "log": ["ettr IN"],
        "snapshot": ["memory IN", "memory compare IN IN"],
        "dump": ["ranks IN"],
        "database": ["report IN"],
    }
    found = []
    for reads, commands in pages.items():
        for command in commands:
            words = command.split()
            found.append(Writer((*words, "--output", "OUT"), "--output", PAGE, reads))
            found.append(Writer((*words, "--json", "-o", "OUT"), "--output", PAGE, reads))
            found.append(Writer((words[0], "--html", "OUT", *words[1:]), "--html", PAGE, reads))
    found += [Writer(("digest", "-o", "OUT", "IN"), "--output", ONE_FILE)]
    found += [Writer(("nsys-stats", "-o", "OUT", "IN"), "--output", ONE_FILE, "database")]
    for name in ("sqlite", "jsonl", "prometheus", "chrome", "perfetto"):
        found.append(Writer(("export", name, "-o", "OUT", "IN"), "--output", ONE_FILE))
    for name in ("sqlite", "jsonl", "prometheus"):
        words = ("ettr", "--export", name, "--output", "OUT", "IN")
        found.append(Writer(words, "--output", ONE_FILE, "log"))
    found.append(Writer(("device", "-o", "OUT"), "--output", PAGE, ""))
    for words in (("export", "csv"), ("export", "tensorboard")):
        found.append(Writer((*words, "-o", "OUT", "IN"), "--output", FOLDER))
    found.append(Writer(("ettr", "--export", "csv", "-o", "OUT", "IN"), "--output", FOLDER, "log"))
    return [
        one
        for one in found
        if one.words[:2] != ("report", "--html") or "deepspeed" not in one.words
    ]


def make_data(folder: Path) -> dict[str, Path]:
    """One of each kind of data that no output may replace."""
    folder.mkdir()
    data = {
        "trace": folder / "trace.json.gz",
        "log": folder / "train.log",
        "snapshot": folder / "snapshot.pickle",
        "dump": folder / "dump_rank_0",
        "database": folder / "run.sqlite",
        "digest": folder / "rank.fld",
        "packets": folder / "trace.pftrace",
        "space": folder / "host.xplane.pb",
        "records": folder / "run_results.json",
        "rocpd": folder / "run_results.db",
        "archive": folder / "model.pt",
    }
    shutil.copy(ROOT / "examples" / "traces" / "train_gpt_cpu.json.gz", data["trace"])
    shutil.copy(TESTS / "fuzz" / "corpus" / "read_log" / "megatron.log", data["log"])
    shutil.copy(TESTS / "fuzz" / "corpus" / "flight_dump" / "protocol_2.pickle", data["dump"])
    corpus = TESTS / "fuzz" / "corpus"
    shutil.copy(corpus / "digest_set" / "one.fld", data["digest"])
    shutil.copy(corpus / "perfetto" / "plain", data["packets"])
    shutil.copy(corpus / "xplane" / "tpu", data["space"])
    shutil.copy(corpus / "rocprof_json" / "compact", data["records"])
    shutil.copy(corpus / "rocpd_database" / "own", data["rocpd"])
    data["archive"].write_bytes(b"PK\x03\x04" + bytes(100))
    make = TESTS / "generate"
    commands = [
        [make / "make_snapshot.py", data["snapshot"]],
        [make / "nsys_database.py", "--seed", "3", "--steps", "2", "--output", data["database"]],
    ]
    for command in commands:
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
    return data


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


class Outputs:
    def __init__(self, book: Book) -> None:
        self.book = book
        self.data = make_data(book.folder / "data")
        self.writers = writers()

    def fresh(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="try", dir=self.book.folder))
        folder.chmod(0o755)
        return folder

    def given(self, writer: Writer, folder: Path) -> Path:
        """A copy of what the command reads."""
        if not writer.reads:
            return folder
        source = self.data[writer.reads]
        return Path(shutil.copy(source, folder / source.name))

    def refused(
        self, kind: Kind, writer: Writer, outcome: Outcome, path: Path, before: bytes
    ) -> None:
        said = outcome.errors.decode(errors="replace")
        kind.expect(path.read_bytes() == before, f"{writer}: {path.name} was changed")
        kind.expect(outcome.status == 2, f"{writer} on {path.name}: exit {outcome.status}: {said}")
        told = f"'{path}' stands behind {writer.option}, so it was taken for the" in said
        kind.expect(told, f"{writer} on {path.name}: {said}")

    def over_input(self, kind: Kind, writer: Writer) -> None:
        if not writer.reads:
            return
        for way in ("itself", "hard link", "symbolic link", "other spelling", "forced"):
            folder = self.fresh()
            given = self.given(writer, folder)
            output = {
                "itself": given,
                "forced": given,
                "other spelling": folder / "." / ".." / folder.name / given.name,
            }.get(way, folder / "link")
            if way == "hard link":
                output.hardlink_to(given)
            if way == "symbolic link":
                output.symlink_to(given)
            words = writer.arguments(given, output) + ["--force"] * (way == "forced")
            before = given.read_bytes()
            self.refused(kind, writer, kind.try_program(words), output, before)
            kind.expect(given.read_bytes() == before, f"{writer}: {way} was changed")
            shutil.rmtree(folder)

    def over_data(self, kind: Kind, writer: Writer) -> None:
        for name, source in self.data.items():
            if writer.words[0] == "digest" and name == "digest":
                continue  # an earlier output of its own
            folder = self.fresh()
            given = self.given(writer, folder)
            output = Path(shutil.copy(source, folder / f"precious{source.suffix}"))
            before = output.read_bytes()
            words = writer.arguments(given, output)
            self.refused(kind, writer, kind.try_program(words), output, before)
            if writer.kind != FOLDER:
                outcome = kind.try_program([*words, "--force"])
                is_replaced = output.read_bytes() != before
                kind.expect(
                    outcome.status in (0, 4, 5), f"{writer} --force: {outcome.errors[-300:]!r}"
                )
                kind.expect(
                    is_replaced or outcome.status == 4, f"{writer} --force on {name}: not written"
                )
            shutil.rmtree(folder)

    def twice(self, kind: Kind, writer: Writer) -> None:
        """A second run replaces what the first one wrote."""
        folder = self.fresh()
        words = writer.arguments(self.given(writer, folder), folder / "output")
        outcomes = [kind.try_program(words) for _ in range(2)]
        same = outcomes[0].status == outcomes[1].status
        kind.expect(
            same, f"{writer}: exit {outcomes[0].status}, then {outcomes[1].errors[-300:]!r}"
        )
        shutil.rmtree(folder)

    def no_more_than(self, kind: Kind, writer: Writer, limit: int) -> None:
        """A disk that takes only so many bytes of a file."""
        folder = self.fresh()
        given = self.given(writer, folder)
        limits = (resource.RLIMIT_FSIZE, (limit, limit))
        words = writer.arguments(given, folder / "output")
        before = files_below(folder)
        outcome = kind.try_program(words, preexec_fn=lambda: resource.setrlimit(*limits))
        said = outcome.errors.decode(errors="replace")
        if outcome.status in (0, 5):
            written = files_below(folder)
            small = all(
                len(text) <= limit for text in written.values() if text not in before.values()
            )
            kind.expect(small, f"{writer}: exit {outcome.status} and more than {limit} bytes")
        elif kind.expect(outcome.status == 1, f"{writer}: exit {outcome.status}: {said}"):
            kind.expect("File too large" in said, f"{writer}: {said}")
            kind.expect(
                files_below(folder) == before, f"{writer}: left {sorted(files_below(folder))}"
            )
        shutil.rmtree(folder)

    def full(self, kind: Kind, writer: Writer) -> None:
        folder = self.fresh()
        outcome = kind.try_program(writer.arguments(self.given(writer, folder), Path("/dev/full")))
        said = outcome.errors.decode(errors="replace")
        if writer.kind == FOLDER:
            kind.expect(outcome.status == 2, f"{writer}: exit {outcome.status}: {said}")
        else:
            kind.expect(
                outcome.status == 1 and "No space left" in said,
                f"{writer}: {outcome.status}: {said}",
            )
        shutil.rmtree(folder)

    def read_only(self, kind: Kind, writer: Writer) -> None:
        folder = self.fresh()
        given = self.given(writer, folder)
        closed = folder / "closed"
        closed.mkdir()
        (closed / "there").write_text("an old page")
        closed.chmod(0o555)
        outcomes = []
        who = {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}
        for path in (self.book.folder, folder):
            path.chmod(0o755)
        for name in ("new", "there")[: 1 if writer.kind == FOLDER else 2]:
            outcomes.append(kind.try_program(writer.arguments(given, closed / name), **who))
        for outcome in outcomes:
            said = outcome.errors.decode(errors="replace")
            is_told = outcome.status == 1 and "Permission denied" in said
            kind.expect(is_told, f"{writer}: exit {outcome.status}: {said}")
        kind.expect(
            files_below(closed) == {"there": b"an old page"}, f"{writer}: wrote to {closed}"
        )
        closed.chmod(0o755)
        shutil.rmtree(folder)


def keeps_old_tables(book: Book, outputs: Outputs, kind: Kind) -> None:
    """A folder of tables that is there already stays as it is when a new table does not fit."""
    folder = outputs.fresh()
    shutil.copy(outputs.data["trace"], folder / "trace.json.gz")
    words: list[str | Path] = ["export", "csv", "-o", folder / "tables", folder / "trace.json.gz"]
    kind.try_program(words)
    (folder / "tables" / "note.txt").write_text("mine")
    steps = folder / "tables" / "step_ledger_steps.csv"
    steps.write_text("old")
    before = files_below(folder)
    outcome = kind.try_program(
        words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    )
    kind.expect(outcome.status == 1, f"exit {outcome.status}")
    kind.expect(
        files_below(folder) == before, "tables were changed, though not all could be written"
    )
    kind.expect(kind.try_program(words).status == 0, "the tables can't be written again")
    kind.expect(
        steps.read_text() != "old" and "note.txt" in os.listdir(folder / "tables"), "tables"
    )
    shutil.copy(outputs.data["log"], steps)
    outcome = kind.try_program(words)
    kind.expect(
        outcome.status == 2 and b"a log of training" in outcome.errors, f"{outcome.errors!r}"
    )
    kind.expect(
        steps.read_bytes() == outputs.data["log"].read_bytes(), "a log was replaced by a table"
    )
    shutil.rmtree(folder)


def attack(book: Book) -> None:
    book.folder.chmod(0o755)
    outputs = Outputs(book)
    ways = [
        ("over its input", outputs.over_input),
        ("over other data", outputs.over_data),
        ("a second time", outputs.twice),
        ("on a full disk", outputs.full),
        ("on a disk that fills, 500 bytes", lambda kind, one: outputs.no_more_than(kind, one, 500)),
        ("on a disk that fills, 20 kB", lambda kind, one: outputs.no_more_than(kind, one, 20_000)),
        ("in a read-only folder", outputs.read_only),
    ]
    for name, way in ways:
        with book.kind(f"an output {name}") as kind:
            for writer in outputs.writers:
                way(kind, writer)
    with book.kind("a folder of tables, written atomically") as kind:
        keeps_old_tables(book, outputs, kind)


if __name__ == "__main__":
    main(__doc__, attack)
