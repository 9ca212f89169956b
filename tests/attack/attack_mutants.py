"""Mutants of every format that the program reads, packed ones too: it may refuse them, and never crash, hang or eat the memory.

Parts: the names of formats."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mutating import mutant
from trying import ROOT, Book, Kind, main

TESTS = ROOT / "tests"
CORPUS = TESTS / "fuzz" / "corpus"
SIZE_MAX = 300_000
MEMORY_MAX = 256 << 20  # of a file of SIZE_MAX at most


@dataclass(frozen=True)
class Format:
    name: str
    samples: list[Path]
    file_name: str  # of a mutant; {} is its number
    commands: list[list[str]]
    usual: int
    long: int
    is_packed: bool = True  # some of them, too
    beside: Path | None = None  # the folder that the sample is of, and that is read


def files(*patterns: str) -> list[Path]:
    """Of the project, small ones."""
    found = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return [path for path in found if path.is_file() and 0 < path.stat().st_size < SIZE_MAX]


def generated(folder: Path) -> dict[str, Path]:
    """Files that the project does not keep, but makes."""
    make = TESTS / "generate"
    made = {"nsys": folder / "run.sqlite", "snapshot": folder / "snapshot.pickle"}
    made["pipeline"] = folder / "pipeline.json"
    words = {
        "nsys": ["nsys_database.py", "--seed", "7", "--steps", "2", "--output"],
        "snapshot": ["make_snapshot.py"],
        "pipeline": ["pipeline_timeline.py"],
    }
    for name, command in words.items():
        subprocess.run(
            [sys.executable, make / command[0], *command[1:], made[name]],
            check=True,
            capture_output=True,
        )
    return made


def made_plans(folder: Path, program: Path) -> list[Path]:
    """Of a model, and of a recording."""
    model = [
        "--model",
        TESTS / "models" / "gpt2.json",
        "--device=A100-SXM4-80GB",
        "--global-batch=8",
    ]
    recording = ["--from", ROOT / "examples" / "traces" / "train_gpt_cpu.json.gz", "--batch=2x"]
    plans = [folder / "of_model.json", folder / "of_recording.json"]
    for plan, words in zip(plans, ([*model, "--tp=2", "--seq=1024"], recording)):
        subprocess.run([program, "plan", "--json", *words, "-o", plan], check=True)
    return plans


def formats(folder: Path, program: Path) -> list[Format]:
    made = generated(folder)
    exports = [
        ["export", name, "-o", "OUT", "FILE"] for name in ("csv", "sqlite", "tensorboard", "chrome")
    ]
    lines = [["export", name, "FILE"] for name in ("jsonl", "prometheus")]
    traces = [["report", "FILE"], ["report", "--json", "FILE"], ["report", "--html", "OUT", "FILE"]]
    traces += [
        ["flops", "FILE"],
        ["memory", "FILE"],
        ["inspect", "FILE"],
        ["compare", "FILE", "FILE"],
    ]
    traces += [["digest", "-o", "OUT", "FILE"], ["report", "-f", "deepspeed", "FILE"]]
    traces += [["plan", "--json", "--from", "FILE", "--batch", "2x"]]
    run = str(ROOT / "examples" / "traces" / "train_gpt_cpu.json.gz")
    logs = [["ettr", "FILE"], ["ettr", "--json", "FILE"]]
    return [
        Format(
            "torch.profiler JSON",
            files(
                "tests/traces/succeed/*.json",
                "tests/traces/golden/*.json",
                "tests/fuzz/corpus/torch_profiler_json/*",
            ),
            "trace{}.json",
            traces + exports + lines,
            2500,
            60000,
        ),
        Format(
            "training logs", files("tests/fuzz/corpus/read_log/*"), "train{}.log", logs, 1500, 40000
        ),
        Format(
            "nsys databases",
            [made["nsys"]],
            "run{}.sqlite",
            [["report", "FILE"], ["nsys-stats", "FILE"]],
            800,
            20000,
            False,
        ),
        Format(
            "Perfetto's traces",
            files("tests/fuzz/corpus/perfetto/*"),
            "trace{}.pftrace",
            traces + exports + lines,
            800,
            15000,
        ),
        Format(
            "JAX's XSpaces",
            files("tests/fuzz/corpus/xplane/*"),
            "host{}.xplane.pb",
            traces + exports + lines,
            800,
            15000,
        ),
        Format(
            "rocprofv3's JSON",
            files("tests/fuzz/corpus/rocprof_json/*"),
            "run{}_results.json",
            traces + exports + lines,
            800,
            15000,
        ),
        Format(
            "rocprofv3's databases",
            files("tests/fuzz/corpus/rocpd_database/*"),
            "run{}_results.db",
            traces + exports + lines,
            800,
            15000,
            False,
        ),
        Format(
            "databases of Ascend",
            files("tests/fuzz/corpus/ascend_database/*"),
            "ascend_pytorch_profiler_{}.db",
            traces + exports + lines,
            600,
            15000,
            False,
        ),
        Format(
            "memory snapshots",
            [made["snapshot"], *files("tests/fuzz/corpus/memory_snapshot/*")],
            "snapshot{}.pickle",
            [["memory", "FILE"], ["memory", "--html", "OUT", "FILE"]],
            1200,
            20000,
        ),
        Format(
            "dumps of flight recorders",
            files("tests/fuzz/corpus/flight_dump/*"),
            "dump{}_rank_0",
            [["ranks", "FILE"]],
            800,
            10000,
        ),
        Format(
            "digests",
            files("tests/fuzz/corpus/digest_set/*.fld"),
            "rank{}.fld",
            [["report", "FILE"]],
            800,
            10000,
            False,
        ),
        Format(
            "timings of pipelines",
            [made["pipeline"]],
            "pipeline{}.json",
            [["report", "FILE"]],
            500,
            5000,
        ),
        Format(
            "step records",
            files("tests/fuzz/corpus/step_record/*", "tests/traces/golden/job/capture/steps/*"),
            "rank0_{}.steps",
            logs,
            800,
            10000,
            False,
        ),
        Format(
            "what a recording has beside its traces",
            files("tests/traces/golden/memory_run/*.json"),
            "run{}",
            [
                ["report", "FILE"],
                ["memory", "FILE"],
                ["flops", "FILE"],
                ["memory", "--json", "FILE"],
            ],
            600,
            10000,
            False,
            ROOT / "tests" / "traces" / "golden" / "memory_run",
        ),
        Format(
            "plans",
            made_plans(folder, program),
            "plan{}.json",
            [["compare", "--json", "FILE", run], ["compare", "FILE", run]],
            400,
            10000,
        ),
        Format(
            "settings of models",
            files("tests/fuzz/corpus/architecture/*.json"),
            "config{}.json",
            [["flops", "--model", "FILE", "--seq", "1024"]],
            800,
            10000,
            False,
        ),
    ]


def packed_or_not(form: Format, number: int, data: bytes, path: Path) -> tuple[bytes, Path]:
    """Every fourth is damaged and then packed, or packed and then damaged."""
    way = random.Random(number).randrange(8) if form.is_packed else 0
    packed = Path(f"{path}.gz")
    if way == 3:
        return gzip.compress(mutant(data, number), 1), packed
    if way == 7:
        return mutant(gzip.compress(data, 1, mtime=0), number), packed
    return mutant(data, number), path


def try_mutant(book: Book, kind: Kind, form: Format, number: int) -> None:
    sample = form.samples[number % len(form.samples)]
    path = book.folder / form.file_name.format(number)
    output = book.folder / f"out{number}"
    if form.beside:
        path = Path(shutil.copytree(form.beside, path)) / sample.name
    data, path = packed_or_not(form, number, sample.read_bytes(), path)
    path.write_bytes(data)
    given = path.parent if form.beside else path
    words = form.commands[number // len(form.samples) % len(form.commands)]
    arguments = [{"FILE": str(given), "OUT": str(output)}.get(word, word) for word in words]
    outcome = kind.try_program(arguments, size=len(data))
    told = f"mutant {number} of {sample.name}: {' '.join(words)}: "
    # 2: --seq beside the config, or a recording of another model beside the plan
    allowed = (0, 2, 3, 4, 5) if "--model" in words or form.name == "plans" else (0, 3, 4, 5)
    kind.expect(outcome.status in allowed, f"{told}exit {outcome.status}")
    kind.expect(
        outcome.status == 0 or bool(outcome.errors), f"{told}exit {outcome.status} without a word"
    )
    if "--json" in words and outcome.status in (0, 5):
        try:
            json.loads(outcome.output, parse_constant=lambda word: kind.fail(f"{told}{word}"))
        except ValueError as error:
            kind.fail(f"{told}{error}")
    if outcome.peak_bytes > MEMORY_MAX:
        kind.fail(f"{told}{outcome.peak_bytes >> 20} MiB")
    for left in {given, output}:
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink(missing_ok=True)


def attack(book: Book) -> None:
    for form in formats(book.folder, book.program):
        if book.only and form.name not in book.only:
            continue
        with book.kind(f"mutants: {form.name}") as kind:
            numbers = range(book.count(form.usual, form.long))
            kind.for_each(numbers, lambda number: try_mutant(book, kind, form, number))


if __name__ == "__main__":
    main(__doc__, attack)
