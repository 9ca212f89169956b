"""The recorder under kill -9 of either side, on disks that are or get full, and in folders that turn read-only or go: the program computes the same, one message comes, and what was recorded can be read."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trying import ROOT, Book, Kind, Outcome, main, run_once

sys.path.insert(0, str(ROOT / "tests" / "python"))
from recorded_runs import environment_of, find_python  # noqa: E402

SCRIPT = ROOT / "tests" / "python" / "training" / "recorded_steps.py"
LIMIT_S = 120
STEPS = 20
RUN_S = 4.0  # of a recorded run, on a quiet machine
FILES = ["*.steps", "*.text.part", "*.gz.part", "*.pt.trace.json.gz", "capture.json"]
SIZES_KIB = [4, 16, 64, 512]
NO_RIGHTS = ["setpriv", "--bounding-set=-all"]  # root, too, must ask the folder's mode


@dataclass(frozen=True)
class Recorded:
    """The program under `flopledger run`, in a folder of its own."""

    program: Path
    python: str
    folder: Path

    def words(self, *options: str) -> list[str]:
        run = [str(self.program), "run", "--no-report", "-o", "captures", *options, "--"]
        return [*run, self.python, str(SCRIPT), "plain", str(STEPS)]

    @property
    def environment(self) -> dict[str, str]:
        return environment_of(self.program)


def expect_readable(kind: Kind, program: Path, captures: Path, what: str) -> None:
    """Files that have their last name are whole, and the commands that read them take what there is, or say what they miss."""
    for trace in captures.glob("**/*.pt.trace.json.gz"):
        try:
            json.loads(gzip.decompress(trace.read_bytes()))
        except (OSError, EOFError, ValueError) as error:
            kind.fail(f"{what}: {trace.name}: {error}")
    for side_file in captures.glob("**/capture.json"):
        try:
            json.loads(side_file.read_text())
        except ValueError as error:
            kind.fail(f"{what}: {side_file.name}: {error}")
    for command in ("report", "ettr"):
        outcome = run_once([program, command, captures], 30)
        kind.note(outcome, f"{what}: {command}")
        is_told = outcome.status == 0 or (outcome.status in (3, 4, 5) and bool(outcome.errors))
        kind.expect(is_told, f"{what}: {command}: {outcome.status}: {outcome.errors[-300:]!r}")


# ---- kill -9 ----


def wait_for(captures: Path, pattern: str, seconds: float) -> None:
    """Until there is such a file, or for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and (not pattern or not any(captures.glob(f"**/{pattern}"))):
        time.sleep(0.001)


@dataclass(frozen=True)
class Blow:
    """Who is killed, and when."""

    victim: str  # "program", "flopledger", "both"
    pattern: str  # when such a file is there; empty: after `delay_s`
    delay_s: float


def blows(book: Book) -> Iterator[Blow]:
    chance = random.Random(18)
    for victim in ("program", "flopledger", "both"):
        for pattern in FILES if victim == "program" or book.is_long else FILES[1:3]:
            yield Blow(victim, pattern, RUN_S * 5)
        for _ in range(book.count(1, 60)):
            yield Blow(victim, "", chance.uniform(0.2, RUN_S))


def child_of(process: int) -> int | None:
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return int(found[0]) if found else None


def kill(process: int | None) -> None:
    try:
        if process:
            os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        pass


def try_blow(kind: Kind, recorded: Recorded, blow: Blow) -> None:
    recorded.folder.mkdir()
    what = f"{blow.victim} killed at {blow.pattern or f'{blow.delay_s:.1f} s'}"
    captures = recorded.folder / "captures"
    running = subprocess.Popen(
        recorded.words(),
        cwd=recorded.folder,
        env=recorded.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_for(captures, blow.pattern, blow.delay_s)
    try:
        child = child_of(running.pid)
    except OSError:
        child = None  # it has ended
    if blow.victim != "flopledger":
        kill(child)
    if blow.victim != "program":
        kill(running.pid)
    try:
        _, errors = running.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        _, errors = running.communicate()
        kind.row.hangs += 1
    kind.row.tries += 1
    if blow.victim == "program":  # flopledger is there, and says how it ended
        is_told = running.returncode == 0 or b"SIGKILL" in errors or b"137" in errors
        kind.expect(is_told, f"{what}: {running.returncode}: {errors[-300:]!r}")
        left = [str(path) for path in captures.glob("**/*.part*")]
        kind.expect(not left, f"{what}: {left} are left")
    expect_readable(kind, recorded.program, captures, what)
    shutil.rmtree(recorded.folder)


# ---- disks ----


@contextmanager
def small_disk(folder: Path, size_kib: int) -> Iterator[list[str]]:
    """What to put before a command so that captures/ is a disk of this size; what was on it is in kept/ then."""
    folder.mkdir()
    (folder / "captures").mkdir()
    script = (
        f"mount -t tmpfs -o size={size_kib}k small captures || exit 77\n"
        '"$@"\nstatus=$?\ncp -a captures kept\nexit $status'
    )
    yield ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]
    shutil.rmtree(folder)


def can_mount(folder: Path) -> bool:
    with small_disk(folder, 64) as before:
        done = subprocess.run([*before, "true"], cwd=folder, capture_output=True, check=False)
    return done.returncode == 0


def expect_same(kind: Kind, outcome: Outcome, plain: bytes, what: str, needs_word: bool) -> None:
    said = [line for line in outcome.errors.decode(errors="replace").splitlines() if line]
    kind.expect(outcome.status == 0, f"{what}: exit {outcome.status}: {said}")
    kind.expect(outcome.output == plain, f"{what}: the program computed something else")
    kind.expect(len(said) == len(set(said)), f"{what}: said twice: {said}")
    kind.expect(len(said) <= 5, f"{what}: {len(said)} messages: {said}")
    told = any("recording stopped" in line or "has gaps" in line for line in said)
    kind.expect(told or not needs_word, f"{what}: not told: {said}")
    wrong = [line for line in said if "no step of an optimizer" in line or "no Python" in line]
    kind.expect(not wrong, f"{what}: {wrong}")


def fill_disks(book: Book, python: str, plain: bytes) -> None:
    with book.kind("the recorder on a disk that gets full") as kind:

        def try_size(size: int) -> None:
            folder = book.folder / f"disk{size}"
            recorded = Recorded(book.program, python, folder)
            with small_disk(folder, size) as before:
                outcome = run_once(
                    [*before, *recorded.words()],
                    LIMIT_S,
                    environment=recorded.environment,
                    cwd=folder,
                )
                kind.note(outcome, f"{size} KiB")
                expect_same(kind, outcome, plain, f"a disk of {size} KiB", size < 512)
                left = list((folder / "kept").glob("**/*part"))
                kind.expect(not left, f"{size} KiB: {left} are left")
                expect_readable(kind, book.program, folder / "kept", f"{size} KiB")

        chosen = range(4, 260, 4) if book.is_long else SIZES_KIB
        kind.for_each(chosen, try_size)


def change_folder(captures: Path, way: str) -> None:
    wait_for(captures, "*.steps", LIMIT_S)
    if way == "goes":
        shutil.rmtree(captures, ignore_errors=True)
        return
    for path in [captures, *captures.rglob("*")]:
        if path.is_dir():
            path.chmod(0o555)


def lose_folders(book: Book, python: str, plain: bytes) -> None:
    with book.kind("the recorder in a folder that turns read-only, or goes") as kind:

        def try_way(way: str) -> None:
            folder = book.folder / f"folder-{way.replace(' ', '-')}"
            folder.mkdir()
            recorded = Recorded(book.program, python, folder)
            began = time.monotonic()
            before = NO_RIGHTS if os.geteuid() == 0 else []
            running = subprocess.Popen(
                [*before, *recorded.words()], cwd=folder, env=recorded.environment,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            change_folder(folder / "captures", way)
            output, errors = running.communicate(timeout=LIMIT_S)
            outcome = Outcome(
                running.returncode, output, errors, time.monotonic() - began, 0, False
            )
            kind.note(outcome, way)
            # What goes is made again for the next file: only what was in it is lost.
            expect_same(kind, outcome, plain, f"a folder that {way}", way != "goes")
            if way != "goes":
                expect_readable(kind, book.program, folder / "captures", way)
            for path in folder.rglob("*"):
                if path.is_dir():
                    path.chmod(0o755)
            shutil.rmtree(folder)

        kind.for_each(["turns read-only", "goes"], try_way)


def attack(book: Book) -> None:
    python = find_python()
    if python is None:
        book.skip("the recorder", "needs torch")
        return
    plain = subprocess.run(
        [python, SCRIPT, "plain", str(STEPS)], env=environment_of(book.program),
        capture_output=True, check=True,
    ).stdout  # fmt: skip
    with book.kind("kill -9 of a recorded program, of `flopledger run`, of both") as kind:
        cases = list(enumerate(blows(book)))
        kind.for_each(
            cases,
            lambda case: try_blow(
                kind, Recorded(book.program, python, book.folder / f"run{case[0]}"), case[1]
            ),
        )
    if can_mount(book.folder / "tried"):
        fill_disks(book, python, plain)
    else:
        book.skip("the recorder on a disk that gets full", "no disk may be mounted here")
    if os.geteuid() != 0 or shutil.which("setpriv"):
        lose_folders(book, python, plain)


if __name__ == "__main__":
    main(__doc__, attack)
