"""What the groups of tests/run_tests.py are made of: a script, scripts, a build, a suite of Meson; each gives what it counted."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
LOGS = BUILD / "log"
PROGRAM = BUILD / "test-gcc" / "flopledger"
SANITIZED_PROGRAM = BUILD / "test-sanitizers" / "flopledger"
SECONDS_OF_A_COMMAND = 1200  # more than any takes on a busy machine, less than a run of all may
COUNTS = re.compile(r"(\d+) passed, (\d+) failed, (\d+) skipped")

WARNINGS_ARE_ERRORS = ["-Dwerror=true", "-Dtests=enabled"]
# Not optimized: it is compiled in a third of the time that -O1 takes, and what it runs takes as long.
SANITIZERS = ["-Db_sanitize=address,undefined", "-Doptimization=0", "-Dtests=enabled"]
SANITIZER_ENVIRONMENT = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}


class Counts(NamedTuple):
    passed: int
    failed: int
    skipped: int

    def plus(self, other: "Counts") -> "Counts":
        return Counts(*(a + b for a, b in zip(self, other)))

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


NOTHING = Counts(0, 0, 0)


def run_command(
    command: list[str | Path], log: Path, environment: dict[str, str] | None = None
) -> tuple[int, str]:
    """Runs it in the project's folder, appends what it prints to `log`, and gives its exit status and output."""
    began = time.monotonic()
    variables = {**os.environ, "FLOPLEDGER": str(PROGRAM), "PYTHONDONTWRITEBYTECODE": "1"}
    variables |= environment or {}
    try:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=ROOT,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=7200 if "--long" in (*command, *sys.argv) else SECONDS_OF_A_COMMAND,
            check=False,
        )
        status, output = done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        status, output = (
            124,
            (late.stdout or b"").decode(errors="replace") + "\nstopped: it took too long\n",
        )
    except OSError as error:
        status, output = 127, str(error)
    with log.open("a") as file:
        file.write(f"$ {' '.join(str(word) for word in command)}\n{output}")
        file.write(f"-- exit status {status}, {time.monotonic() - began:.1f} s\n\n")
    return status, output


def failed_parts(log: str, most: int = 60) -> list[str]:
    """The last lines of each command that failed, of what run_command() wrote; of the whole log where none says so."""
    runs = re.split(r"^(?=\$ )", log, flags=re.MULTILINE)
    failed = [
        run.splitlines() for run in runs if re.search(r"^-- exit status [^0]", run, re.MULTILINE)
    ]
    return [line for lines in failed or [log.splitlines()] for line in lines[-most:]]


def counted(status: int, output: str) -> Counts:
    """What the last line of the kind `3 passed, 0 failed, 1 skipped` says; without one, the command is one test."""
    found = COUNTS.findall(output)
    if not found:
        return Counts(1, 0, 0) if status == 0 else Counts(0, 1, 0)
    counts = Counts(*(int(number) for number in found[-1]))
    if status != 0 and counts.failed == 0:
        return counts.plus(Counts(0, 1, 0))
    return counts


def scripts(*lines: str, program: Path | None = PROGRAM) -> Callable[[Path], Counts]:
    """A group of scripts, one after the other. A line is the path of one, or a pattern of paths, and the words behind `program`;
    a word in brackets is given to it where it was given to this."""

    def run(log: Path) -> Counts:
        counts = NOTHING
        environment = {"FLOPLEDGER": str(program)} if program else {}
        if program == SANITIZED_PROGRAM:
            environment |= SANITIZER_ENVIRONMENT
        for line in lines:
            pattern, *words = line.split()
            words = [word.strip("[]") for word in words if word[0] != "[" or word[1:-1] in sys.argv]
            for path in sorted(ROOT.glob(pattern)) or [ROOT / pattern]:
                command: list[str | Path] = [
                    sys.executable,
                    path,
                    *[program] * bool(program),
                    *words,
                ]
                counts = counts.plus(counted(*run_command(command, log, environment)))
        return counts

    return run


def gcc() -> str:
    """As Meson calls it where nothing is asked for, so that builds by other tests find its objects in the compiler's cache."""
    if shutil.which("ccache") is None or shutil.which("cc") is None:
        return "gcc"
    said = subprocess.run(["cc", "--version"], capture_output=True, text=True, check=False).stdout
    return "ccache cc" if "Free Software Foundation" in said else "gcc"


def build(folder: str, compiler: str, options: list[str]) -> Callable[[Path], Counts]:
    """Builds the program and all test programs in build/FOLDER. Where warnings are errors, one that the cache repeats is, too."""

    def run(log: Path) -> Counts:
        where = BUILD / folder
        setup = ["meson", "setup", *options, where]
        if (where / "build.ninja").exists():
            setup.insert(2, "--reconfigure")  # there may be new files
        status, _ = run_command(setup, log, {"CC": compiler})
        if status == 0:
            status, said = run_command(["ninja", "-C", where, "all", "meson-test-prereq"], log)
            if "-Dwerror=true" in options and re.search(r"\bwarning: ", said):
                status = 1
        return Counts(1, 0, 0) if status == 0 else Counts(0, 1, 0)

    return run


def count_tap(test: dict) -> Counts:
    """What cmocka printed: `ok 1 - name`, `not ok 2 - name`, `not ok 3 # SKIP name`."""
    output = test.get("stdout", "")
    passed = len(re.findall(r"^ok \d", output, re.MULTILINE))
    skipped = len(re.findall(r"^not ok \d+ # SKIP", output, re.MULTILINE))
    failed = len(re.findall(r"^not ok \d", output, re.MULTILINE)) - skipped
    if test["result"] != "OK" and failed == 0:
        failed = 1  # crashed, or the sanitizer found something
    return Counts(passed, failed, skipped)


def count_inputs(test: dict) -> Counts:
    """What tests/fuzz/run_corpus.c prints: `9 inputs`. A failure ends it at once."""
    if test["result"] != "OK":
        return Counts(0, 1, 0)
    return Counts(int(re.findall(r"(\d+) inputs", test.get("stdout", ""))[-1]), 0, 0)


def meson_tests(folder: str, suite: str) -> Callable[[Path], Counts]:
    def run(log: Path) -> Counts:
        where = BUILD / folder
        results = where / "meson-logs" / f"{suite}.json"
        results.unlink(missing_ok=True)
        command = [
            "meson",
            "test",
            "-C",
            where,
            "--no-rebuild",
            "--suite",
            suite,
            "--logbase",
            suite,
            "--print-errorlogs",
        ]
        environment = SANITIZER_ENVIRONMENT if folder == SANITIZED_PROGRAM.parent.name else {}
        status, _ = run_command(command, log, environment)
        if not results.exists():
            return Counts(0, 1, 0)
        counts = NOTHING
        for line in results.read_text().splitlines():
            test = json.loads(line)
            counts = counts.plus(count_tap(test) if suite == "unit" else count_inputs(test))
        if status != 0 and counts.failed == 0:
            counts = counts.plus(Counts(0, 1, 0))
        return counts

    return run
