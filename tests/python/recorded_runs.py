"""Runs the programs of training/loops.py, plain and under `flopledger run`, some at a time."""

import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LOOPS = Path(__file__).resolve().parent / "training" / "loops.py"
SECONDS = 180
DEFAULT_STEPS = [4, 5, 6, 7, 8]  # recorded where --steps is not given


def find_python() -> str | None:
    """One that has torch; None where there is none."""
    for python in (
        os.environ.get("FLOPLEDGER_TEST_PYTHON"),
        str(ROOT / "build" / "venv-frameworks" / "bin" / "python"),
        str(ROOT / "build" / "venv" / "bin" / "python"),
        sys.executable,
    ):
        if python and Path(python).exists() and libraries_of(python).get("torch"):
            return python
    return None


def can_unshare(*flags: str) -> bool:
    """Namespaces of its own, as a container has them."""
    words = ["unshare", *flags, "true"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def free_port() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


# PyTorch's, seen in plain torchrun too: a thread of Gloo's lets go of the last all-reduce while Python ends, is refused Python's
# lock and aborts. Nothing of the recorder can say this: its extensions are in C.
ABORTED_BY_GLOO = "terminate called without an active exception"


def run_past_gloo(
    words: list[str] | str, seconds: int, written: Path = Path("/nonexistent"), **settings: Any
) -> "subprocess.CompletedProcess[str]":
    """As subprocess.run does, without input. Once more where Gloo aborted a process: only that, and only once.

    What was `written` is removed before.
    """
    settings |= {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    for is_last in (False, True):
        done = subprocess.run(words, timeout=seconds, check=False, **settings)
        aborted = done.returncode == -signal.SIGABRT or "SIGABRT" in done.stderr
        if is_last or not aborted or ABORTED_BY_GLOO not in done.stderr:
            break
        print(f"once more, as Gloo aborted a process: {words}")
        shutil.rmtree(written, ignore_errors=True)
    return done


def libraries_of(python: str) -> dict[str, bool]:
    names = ("torch", "transformers", "accelerate", "lightning", "deepspeed")
    question = (
        f"import importlib.util as u; print([n for n in {names} if u.find_spec(n) is not None])"
    )
    done = subprocess.run([python, "-c", question], capture_output=True, text=True, check=False)
    return {name: repr(name) in done.stdout for name in names}


@dataclass
class Run:
    """What a program printed and left."""

    status: int
    output: str
    errors: str
    captures: Path
    traces: list[Path] = field(default_factory=list)
    side_files: list[dict] = field(default_factory=list)  # by folder

    def texts(self) -> list[str]:
        return [gzip.decompress(trace.read_bytes()).decode() for trace in self.traces]

    def names(self, trace: int = 0) -> list[str]:
        """Of all events with a duration, in the order of the file."""
        events = json.loads(self.texts()[trace])["traceEvents"]
        return [event["name"] for event in events if event["ph"] == "X"]

    def steps(self, trace: int = 0) -> list[int]:
        found = [re.fullmatch(r"ProfilerStep#(\d+)", name) for name in self.names(trace)]
        return sorted(int(match[1]) for match in found if match)

    def counts_of_modules(self, trace: int = 0) -> dict[str, int]:
        counts: dict[str, int] = {}
        for name in self.names(trace):
            if name.startswith("nn:"):
                counts[name[3:]] = counts.get(name[3:], 0) + 1
        return counts


def environment_of(program: Path, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FLOPLEDGER", "PYTHONPATH"))}
    kept |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"}
    kept |= {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "ACCELERATE_USE_CPU": "1"}
    return {**kept, **more}


def collect(status: int, output: str, errors: str, captures: Path) -> Run:
    run = Run(status, output, errors, captures)
    run.traces = sorted(captures.glob("**/*.pt.trace.json.gz"))
    run.side_files = [json.loads(f.read_text()) for f in sorted(captures.glob("**/capture.json"))]
    return run


class Runner:
    """Starts runs ahead of the tests that look at them: two at a time."""

    def __init__(self, program: Path, python: str, folder: Path, seconds: int = SECONDS) -> None:
        self.seconds = seconds  # for each of them
        self.program = program
        self.python = python
        self.folder = folder
        self.pool = ThreadPoolExecutor(max_workers=2)
        self.runs: dict[str, Future[Run]] = {}

    def words(self, kind: str) -> list[str]:
        ranks = "4" if kind == "mesh" else "2" if kind.startswith(("ddp", "fsdp")) else None
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
        return [self.python, *([*launcher, ranks] if ranks else []), str(LOOPS), kind]

    def start_plain(self, kind: str) -> None:
        self.runs[f"plain {kind}"] = self.pool.submit(self.go, f"plain-{kind}", self.words(kind))

    def start_recorded(self, kind: str, *options: str, name: str = "", **variables: str) -> None:
        self.start_command(name or kind, self.words(kind), *options, **variables)

    def start_command(self, name: str, words: list[str], *options: str, **variables: str) -> None:
        captures = self.folder / f"captures-{name}"
        words = [str(self.program), "run", "--output", str(captures), *options, "--", *words]
        self.runs[name] = self.pool.submit(self.go, f"recorded-{name}", words, captures, variables)

    def start_without_extension(self, name: str, content: bytes | None = None) -> None:
        """By a copy of the program beside a package whose extensions are not there, or are `content`."""
        there = self.folder / f"program-{name}"
        left_out = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(self.program.parent / "python", there / "python", ignore=left_out)
        for library in (self.program.parent / "python" / "flopledger").glob("*.so"):
            if content is not None:
                (there / "python" / "flopledger" / library.name).write_bytes(content)
        program = shutil.copy2(self.program, there / self.program.name)
        captures = self.folder / f"captures-{name}"
        words = [program, "run", "--output", str(captures), "--", *self.words("plain")]
        self.runs[name] = self.pool.submit(self.go, f"recorded-{name}", words, captures)

    def start_with_full_disk(self) -> None:
        """No file may grow beyond some kilobytes."""
        captures = self.folder / "captures-full"
        words = ["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", str(self.program), "run"]
        words += ["--output", str(captures), "--", *self.words("plain")]
        self.runs["full"] = self.pool.submit(self.go, "recorded-full", words, captures)

    def start_without_folder(self) -> None:
        """The folder of the capture is a file, which `flopledger run` would have noticed before."""
        (self.folder / "file").write_text("")
        start = self.program.parent / "python" / "flopledger" / "start"
        variables = {
            "PYTHONPATH": str(start),
            "FLOPLEDGER_CAPTURE": str(self.folder / "file" / "x"),
        }
        words = self.words("plain")
        nowhere = Path("/nonexistent")
        self.runs["nowhere"] = self.pool.submit(self.go, "nowhere", words, nowhere, variables)

    def go(
        self,
        name: str,
        words: list[str],
        captures: Path = Path("/nonexistent"),
        variables: dict[str, str] | None = None,
    ) -> Run:
        folder = self.folder / name
        folder.mkdir()
        environment = environment_of(self.program, **(variables or {}))
        done = run_past_gloo(words, self.seconds, captures, cwd=folder, env=environment)
        return collect(done.returncode, done.stdout, done.stderr, captures)

    def get(self, name: str) -> Run:
        return self.runs[name].result()
