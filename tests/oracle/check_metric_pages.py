"""Every number and column of the JSON report has its page in docs/metrics, and every page is about numbers there are.

    check_metric_pages.py PROGRAM

A page ends with the names of what it explains, `section.number` or `section.table.column`. Reports of traces that the
project made itself say which names there are. The pages of what `top` and `serve` tell end with the names at /metrics: those
that the sources of src/live write, and no others.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "metrics"
NAME = re.compile(r"`([a-z0-9_]+(?:\.[a-z0-9_]+)+)`")
LIVE_NAME = re.compile(r"`(flopledger_[a-z0-9_]+)`")
FAMILY = re.compile(r'"(flopledger_\w+)",\s*(?:"[^"]*"\s*)+,\s*LIVE_(GAUGE|COUNTER)')
OF_MODEL = "flops --batch 4 --seq 128 --step-time 1s --peak 100 --model tests/models/"
SNAPSHOTS = "tests/traces/golden/memory"
COMPARED = "tests/traces/golden/compare"
OTHERS = [
    ["device"],
    *(
        ["ettr", "--device", "H100 SXM", f"tests/traces/golden/job/{name}"]
        for name in ("attempts.log", "rates.log", "of_job.log", "no_times.log", "diary.md")
    ),
    ["ettr", "--peak", "100", "tests/traces/golden/job/capture"],
    ["device", "NVIDIA H100 80GB HBM3"],
    ["flops", "tests/traces/golden/modules"],
    ["memory", "--fit", "8MiB", "tests/traces/golden/memory_run"],
    ["report", "tests/traces/golden/straggling/straggler.json.gz"],
    ["ranks", "tests/traces/golden/flight/stopped"],
    ["ranks", "tests/traces/golden/flight/swapped"],
    ["memory", f"{SNAPSHOTS}/tags.pickle"],
    ["memory", f"{SNAPSHOTS}/oom.pickle"],
    ["memory", f"{SNAPSHOTS}/two_devices.pickle"],
    ["report", "tests/traces/golden/products/made.json"],
    ["report", "tests/traces/golden/energy"],
    f"compare --fail-if step_time>+50% {COMPARED}/before.json.gz {COMPARED}/after.json.gz".split(),
    ["compare", *["tests/traces/golden/memory_run"] * 2],
    ["report", "--layout", "dp=2", "tests/traces/golden/two_ranks"],
    ["memory", "--compare", f"{SNAPSHOTS}/before.pickle", f"{SNAPSHOTS}/tags.pickle"],
    "report --what-if data=0 tests/traces/golden/what_if/training.json".split(),
    "report --model tests/models/gpt2.json tests/traces/golden/modules".split(),
    f"{OF_MODEL}deepseek-v3.json".split(),
    f"{OF_MODEL}bert-base-no-class.json".split(),
]
GENERATOR = ROOT / "tests" / "generate" / "make_trace.py"
DATABASE_GENERATOR = ROOT / "tests" / "generate" / "nsys_database.py"


def names_on_pages() -> dict[str, str]:
    names: dict[str, str] = {}
    for path in sorted(PAGES.glob("*.md")):
        _, _, end = path.read_text().partition("## In JSON\n")
        for name in NAME.findall(end):
            names[name] = path.name
    return names


def live_names_on_pages() -> dict[str, str]:
    names: dict[str, str] = {}
    for path in sorted(PAGES.glob("*.md")):
        _, _, end = path.read_text().partition("## At /metrics\n")
        for name in LIVE_NAME.findall(end):
            names[name] = path.name
    return names


def live_names_in_sources() -> set[str]:
    names = set()
    for path in sorted((ROOT / "src").rglob("*.c")):
        for name, kind in FAMILY.findall(path.read_text()):
            names.add(name + ("_total" if kind == "COUNTER" else ""))
    return names


def names_in_section(key: str, section: dict[str, Any]) -> Iterator[str]:
    for number in section["numbers"]:
        yield f"{key}.{number}"
    for table_key, table in section["tables"].items():
        for column in table["columns"]:
            yield f"{key}.{table_key}.{column['key']}"


def names_in_report(report: dict[str, Any]) -> Iterator[str]:
    if report["overview"]:
        yield from names_in_section("overview", report["overview"])
    for rank in report["ranks"]:
        for key, section in rank["sections"].items():
            yield from names_in_section(key, section)


def make_traces(folder: Path) -> list[list[Path]]:
    """Arguments of one report each."""
    command = [sys.executable, str(GENERATOR), "--seed", "5", "--steps", "4"]
    single, several = folder / "made.json", folder / "several"
    several.mkdir()
    subprocess.run([*command, "--output", str(single)], check=True, capture_output=True)
    ranks = [*command, "--ranks", "2", "--output", str(several / "made.json")]
    subprocess.run(ranks, check=True, capture_output=True)
    of_one_run = [path for path in several.iterdir() if "ledger" not in path.name]
    averages = ROOT / "tests" / "oracle" / "key_averages" / "trace.json.gz"
    sampled = folder / "sampled.sqlite"
    options = ["--seed", "5", "--steps", "2", "--blocks", "2", "--metrics", "--page-faults"]
    command = [sys.executable, str(DATABASE_GENERATOR), *options, "--output", str(sampled)]
    subprocess.run(command, check=True, capture_output=True)
    return [[single], of_one_run, [averages], [sampled]]


def names_in_reports(program: str) -> set[str]:
    names: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        for paths in make_traces(Path(folder)):
            for by in ("name", "shape"):
                command = [program, "report", "--json", "--by", by, *map(str, paths)]
                done = subprocess.run(command, capture_output=True, check=True)
                names.update(names_in_report(json.loads(done.stdout)))
    for arguments in OTHERS:
        command = [program, *arguments, "--json"]
        done = subprocess.run(command, capture_output=True, check=True, cwd=ROOT)
        names.update(names_in_report(json.loads(done.stdout)))
    return names


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    explained, reported = names_on_pages(), names_in_reports(sys.argv[1])
    sources = "".join(
        path.read_text()
        for folder in ("sections", "ledger")
        for path in sorted((ROOT / "src" / folder).rglob("*.*"))
    )
    problems = [
        f"{name}: no page in docs/metrics explains it" for name in reported - set(explained)
    ]
    for name, page in explained.items():
        if name not in reported and f'"{name.rpartition(".")[2]}"' not in sources:
            problems.append(f"{page}: there is no {name}")
    live, written = live_names_on_pages(), live_names_in_sources()
    problems += [f"{name}: no page in docs/metrics explains it" for name in written - set(live)]
    problems += [f"{live[name]}: nothing tells {name}" for name in set(live) - written]
    for problem in sorted(problems):
        print(problem)
    checked = len(reported | set(explained)) + len(written | set(live))
    print(f"{checked - len(problems)} passed, {len(problems)} failed, 0 skipped")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
