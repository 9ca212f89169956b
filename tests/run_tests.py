#!/usr/bin/env python3
"""Builds everything and runs every test; `./dev test` calls it.

    ./dev test                  all
    ./dev test unit golden      only these groups
    ./dev test attack --long    the attacks for an hour instead of minutes; --table writes docs/security.md
    ./dev test --list           which groups there are

One line a group; the output of a group is in build/log/GROUP.log, and shown where something failed. The last line counts
single tests: a cmocka test, a golden, a checked file, a random trace, ...
"""

import os
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Callable

from group_runs import (
    BUILD,
    LOGS,
    NOTHING,
    ROOT,
    SANITIZED_PROGRAM,
    SANITIZERS,
    WARNINGS_ARE_ERRORS,
    Counts,
    build,
    counted,
    failed_parts,
    gcc,
    meson_tests,
    run_command,
    scripts,
)


@dataclass(frozen=True)
class Group:
    name: str
    title: str
    run: Callable[[Path], Counts]  # given the file to log to
    _: KW_ONLY
    after: str = ""  # the group that builds what it runs
    alone: bool = False  # keeps all cores busy by itself, or measures: nothing runs beside it
    sleeps: bool = False  # mostly waits, for steps of other programs: needs no core of its own
    only_named: bool = False  # takes too long to be run unasked
    only_long: bool = False  # likewise, but for --long: what it finds others mostly find, too


def program(name: str, title: str, *lines: str, **flags: bool) -> Group:
    """Tests of the program that was built: each line is a script, or a pattern of scripts, and what follows the program's path."""
    return Group(name, title, scripts(*lines), after="build", **flags)


def lint(name: str, title: str, line: str, **flags: bool | str) -> Group:
    """Looks at the sources: it needs no program."""
    return Group(name, title, scripts(line, program=None), **flags)


def sanitized(name: str, title: str, run: Callable[[Path], Counts], **flags: bool) -> Group:
    return Group(name, title, run, after="sanitizers", **flags)


def wheel(log: Path) -> Counts:
    """Builds what a release has for this machine, looks at it, installs it and runs it; with --long what it has for all, once more
    for the same bytes, and on other systems."""
    machine = os.uname().machine
    is_long = "--long" in sys.argv
    own = [f"{machine}-gnu", f"{machine}-musl", f"static-{machine}", "sdist"]
    status, _ = run_command(["./dev", "wheel", *([] if is_long else own)], log)
    if status != 0:
        return Counts(0, 1, 0)
    counts = counted(*run_command(["./dev", "wheel", "--check"], log))
    counts = counts.plus(scripts("tests/wheel/check_install.py", program=None)(log))
    if is_long:
        counts = counts.plus(counted(*run_command(["./dev", "wheel", "--again"], log)))
        counts = counts.plus(scripts("tests/wheel/check_systems.py", program=None)(log))
        counts = counts.plus(scripts("tests/wheel/check_machines.py", program=None)(log))
    return counts


def when_long(*lines: str) -> list[str]:
    return list(lines) if "--long" in sys.argv else []


GROUPS = [
    Group(
        "build",
        "build with gcc, warnings are errors",
        build("test-gcc", gcc(), WARNINGS_ARE_ERRORS),
        alone=True,
    ),
    program(
        "properties", "properties: traces with a known ledger", "tests/properties/run", alone=True
    ),
    # Side by side, those that take minutes first: the short ones fill what is left of the time.
    program("recorder", "flopledger run and the recorder", "tests/python/test_[rs]*.py"),
    program(
        "attach",
        "jobs that run already, recorded, and windows by rules",
        "tests/python/test_attach_inside.py [--long]",
        "tests/python/test_attach.py",
        "tests/python/test_attach_refused.py",
        "tests/python/test_triggers.py [--long]",
        "tests/python/test_live_ranks.py [--long]",
        *when_long(
            "tests/python/attach_cycles.py --cycles=300", "tests/python/attach_cycles.py --count"
        ),
        sleeps=True,
    ),
    program(
        "gpu-stand-ins",
        "what is proven on a GPU, with stand-ins for it",
        "tests/gpu/test_proof.py",
        "tests/gpu/run_proof.py --stand-in [--long]",
        "tests/python/test_graph_captures.py",
    ),
    program("tutorials", "the tutorials, walked", "tests/python/test_tutorials.py"),
    program("browser", "the HTML report in a browser", "tests/browser/run.py"),
    lint(
        "guide",
        "the pages on adding an analysis, a reader and a metric, followed",
        "tests/lint/check_how_to_add.py",
        after="build",
    ),
    program(
        "model-profile",
        "what models cost, in Python and from their traces",
        "tests/python/test_model_*.py",
        *when_long("tests/python/test_model_goldens.py --all-recorded"),
    ),
    program("install", "installation", "tests/python/test_install.py"),
    program("demo", "./dev demo and the example", "tests/python/test_demo.py"),
    program("oracle", "other people's traces", "tests/oracle/check_*.py"),
    program(
        "compiled",
        "what torch.compile made of small models, and made-up traces of compiled code",
        "tests/properties/compiled_code.py",
        "tests/properties/compiled_notes.py",
        "tests/python/test_compiled.py [--long]",
    ),
    program(
        "formats",
        "properties: files of other recorders with a known ledger",
        "tests/properties/recorder_formats.py --real",
        "tests/properties/alike_packets.py",
        "tests/properties/recorder_folders.py",
        "tests/properties/merged_traces.py",
        "tests/properties/stumbling_blocks.py",
    ),
    program(
        "callbacks",
        "callbacks in the trainers of three frameworks",
        "tests/python/test_callbacks.py",
    ),
    program(
        "nvml",
        "GPUs that a stand-in for NVML tells of, and NVIDIA's own headers",
        "tests/gpu/*_nvml*.py",
    ),
    program(
        "dashboards",
        "what is logged to W&B, MLflow and OpenTelemetry, read back",
        "tests/python/test_dashboards.py",
    ),
    Group("unit", "unit tests", meson_tests("test-gcc", "unit"), after="build"),
    Group("fuzz", "fuzz corpus", meson_tests("test-gcc", "fuzz"), after="build"),
    program("golden", "goldens: what commands print", "tests/golden/run"),
    program("priced", "properties: traces with known FLOPs", "tests/properties/priced_work.py"),
    program(
        "paths", "properties: traces with a known critical path", "tests/properties/known_paths.py"
    ),
    program(
        "compared",
        "properties: pairs of runs with a known difference",
        "tests/properties/compared_runs.py",
    ),
    program(
        "job-logs", "properties: logs of jobs with known accounts", "tests/properties/job_logs.py"
    ),
    program(
        "kept-steps",
        "properties: recorded runs with known windows",
        "tests/properties/kept_steps.py",
    ),
    program(
        "graph-replays",
        "properties: CUDA graphs with known captures, servers and clocks",
        "tests/properties/graph_replays.py",
        "tests/properties/serving_steps.py",
        "tests/properties/recorded_clock.py",
    ),
    program(
        "plans",
        "plans of models and from recorded runs",
        "tests/python/test_plan_from.py [--long]",
        "tests/python/test_plan_against_run.py",
        "tests/python/test_planned_runs.py",
        "tests/oracle/check_own_plans.py",
        "tests/properties/plans_of_models.py [--long]",
    ),
    program(
        "mlperf-runs",
        "properties: MLPerf's logs of runs with known accounts",
        "tests/properties/mlperf_runs.py",
    ),
    program(
        "log-dialects",
        "properties: lines of steps as versions and launchers write them",
        "tests/properties/log_dialects.py",
    ),
    program(
        "hangs", "properties: jobs that hang for a known reason", "tests/properties/known_hangs.py"
    ),
    program(
        "ranks",
        "properties: runs of many ranks with known clocks and late ranks",
        "tests/properties/known_ranks.py",
    ),
    program(
        "digests",
        "properties: digests of very many ranks, with a known truth",
        "tests/properties/known_digests.py [--long]",
    ),
    program(
        "replays-of-ranks",
        "properties: several ranks with a known length of each step with any change",
        "tests/properties/known_replays.py",
    ),
    program(
        "memory-of-events",
        "how much memory an event takes",
        "tests/properties/memory_of_events.py",
    ),
    program(
        "speed",
        "instructions and memory of commands, as the table has them",
        "tests/speed/check_costs.py",
        "tests/speed/check_marks.py",
        *when_long("tests/speed/check_meta.py"),
    ),
    program("mpi", "processes under mpirun", "tests/mpi/check_mpi.py"),
    program(
        "stragglers",
        "properties: pipelines whose replays are known",
        "tests/properties/known_stragglers.py",
    ),
    program(
        "first-finding",
        "what an expert says first of other people's files, and what we say",
        "tests/oracle/check_first_findings.py",
    ),
    program(
        "correctness",
        "docs/correctness.md is what its command writes",
        "tests/oracle/correctness_table.py --check",
    ),
    program(
        "recorded-memory",
        "the memory of a recorded run, to the byte",
        "tests/python/test_memory.py",
    ),
    lint("runner", "how tests that fail or hang are told", "tests/python/test_count_line.py"),
    program("ci", "what CI reads, and the GitHub action", "tests/python/test_ci_formats.py"),
    program("api", "the Python API and its notebook", "tests/python/test_api.py"),
    program(
        "causes",
        "the benchmark of causes: the first finding is right",
        "tests/python/test_causes.py",
    ),
    program(
        "fleet",
        "many runs in one folder, asked with DuckDB and ClickHouse",
        "tests/python/test_fleet.py [--long]",
    ),
    program(
        "mcp", "answers to agents, asked by the protocol's own client", "tests/python/test_mcp.py"
    ),
    program("exports", "exports, beside the JSON report", "tests/golden/check_exports.py"),
    program("tensorboard", "exports, in TensorBoard", "tests/python/test_tensorboard.py"),
    program(
        "deepspeed",
        "the text of DeepSpeed's profiler, line by line",
        "tests/python/test_deepspeed_text.py",
    ),
    program("bench", "the page of the benchmarks", "tests/python/test_bench.py"),
    program("docs", "examples, options and links in the docs", "tests/lint/check_docs.py"),
    lint(
        "docs-site",
        "the documentation as a site: pages, links, search",
        "tests/python/test_docs_site.py",
    ),
    lint("page-types", "types of the HTML page", "tests/browser/check_types.py"),
    lint("workflows", "workflows of CI and releases", "tests/lint/check_workflows.py"),
    lint("advice", "thresholds of the advice", "tests/lint/check_advice_page.py"),
    lint("metric-list", "the list of metrics", "tests/lint/check_metric_list.py"),
    lint(
        "metric-index",
        "metrics by question, and by the field's words",
        "tests/lint/check_metric_index.py",
    ),
    lint("includes", "who includes whom", "tests/lint/check_includes.py"),
    lint("house", "rooms, arrows and circles of src", "tests/lint/house.py"),
    lint("style", "lengths, names, comments", "tests/lint/check_style.py"),
    lint("files-seen", "files that answers are made from", "tests/lint/check_files_seen.py"),
    lint(
        "attack-table",
        "docs/security.md tells of every attack",
        "tests/lint/check_attack_table.py",
    ),
    lint(
        "translations",
        "pages in Chinese, beside the English ones",
        "tests/lint/check_translations.py",
    ),
    lint("circles", "modules that import each other", "tests/lint/check_circles.py"),
    lint("words", "words of texts and names", "tests/lint/check_words.py"),
    lint("format", "layout", "tests/lint/check_format.py"),
    program(
        "gpu",
        "on a GPU: training, memory, products, overhead, attach",
        "tests/gpu/run_proof.py",
        alone=True,
    ),
    program(
        "attack",
        "attacks: damaged and hostile input, outputs, full disks, killed processes",
        "tests/attack/run [--long] [--table]",
        alone=True,
    ),
    Group(
        "clang",
        "build with clang, warnings are errors",
        build("test-clang", "clang", [*WARNINGS_ARE_ERRORS, "-Doptimization=0"]),
        alone=True,
    ),
    lint(
        "tidy",
        "clang-tidy",
        "tests/lint/check_analyzers.py clang-tidy build/test-clang [--long]",
        after="clang",
        alone=True,
    ),
    lint(
        "analyzer",
        "gcc -fanalyzer (only where it is named, and with --long)",
        "tests/lint/check_analyzers.py gcc build/test-gcc",
        after="build",
        alone=True,
        only_long=True,
    ),
    lint(
        "tutorials-from-clone",
        "the tutorials from a clean clone, installed and timed (only where it is named)",
        "tests/python/tutorials_from_clone.py",
        alone=True,
        only_named=True,
    ),
    Group(
        "wheel",
        "wheels, static program, source distribution (only where it is named)",
        wheel,
        alone=True,
        only_named=True,
    ),
    Group(
        "races-build",
        "build with the thread sanitizer (only where it is named)",
        build(
            "test-threads", "gcc", ["-Db_sanitize=thread", "-Doptimization=1", "-Dtests=disabled"]
        ),
        alone=True,
        only_named=True,
    ),
    Group(
        "races",
        "commands under the thread sanitizer (only where it is named)",
        scripts("tests/properties/watched_runs.py", program=BUILD / "test-threads" / "flopledger"),
        after="races-build",
        only_named=True,
    ),
    program(
        "valgrind",
        "commands under valgrind (only where it is named)",
        "tests/properties/watched_runs.py --valgrind",
        only_named=True,
    ),
    Group(
        "sanitizers",
        "build with address and undefined-behaviour sanitizers",
        build("test-sanitizers", "gcc", SANITIZERS),
        alone=True,
    ),
    sanitized(
        "sanitized-extremes",
        "numbers at the ends of their range under sanitizers",
        scripts("tests/properties/extreme_numbers.py", program=SANITIZED_PROGRAM),
    ),
    sanitized(
        "sanitized-unit", "unit tests under sanitizers", meson_tests("test-sanitizers", "unit")
    ),
    sanitized(
        "sanitized-properties",
        "properties under sanitizers",
        scripts("tests/properties/run --count 20", program=SANITIZED_PROGRAM),
    ),
    sanitized(
        "sanitized-fuzz", "fuzz corpus under sanitizers", meson_tests("test-sanitizers", "fuzz")
    ),
    sanitized(
        "sanitized-golden",
        "goldens under sanitizers (only where it is named, and with --long)",
        scripts("tests/golden/run", program=SANITIZED_PROGRAM),
        only_long=True,
    ),
]


def report(group: Group, counts: Counts, seconds: float, log: Path) -> None:
    skipped = f", {counts.skipped} skipped" if counts.skipped else ""
    failed = f", {counts.failed} FAILED" if counts.failed else ""
    print(
        f"{group.title:<58} {counts.passed:>6} passed{failed}{skipped}  ({seconds:.1f} s)",
        flush=True,
    )
    if counts.skipped and not counts.passed:
        lines = log.read_text(errors="replace").splitlines()
        print("\n".join("    " + line[:300] for line in lines if line.startswith("skipped: ")))
    if counts.failed:
        lines = failed_parts(log.read_text(errors="replace"))
        print("\n".join("    " + line[:300] for line in lines))
        print(f"    all of it: {log.relative_to(ROOT)}\n", flush=True)


def choose_groups(names: list[str]) -> list[Group]:
    """The groups named, and those that build what they run; where none is named, all that need not be."""
    by_name = {group.name: group for group in GROUPS}
    for name in names:
        if name not in by_name:
            sys.exit(f"dev test: there is no group '{name}'; ./dev test --list names them")
    is_long = "--long" in sys.argv
    usual = (
        name
        for name, group in by_name.items()
        if not group.only_named and (is_long or not group.only_long)
    )
    wanted = set(names or usual)
    wanted |= {by_name[name].after for name in wanted}
    return [group for group in GROUPS if group.name in wanted]


def run_group(group: Group, failed_groups: set[str]) -> tuple[Counts, float]:
    """What it counted, and the seconds that it took."""
    began = time.monotonic()
    log = LOGS / f"{group.name}.log"
    if group.after in failed_groups:
        log.write_text(f"not run: it needs the group '{group.after}', which failed\n")
        return Counts(0, 1, 0), 0.0
    log.write_text("")
    return group.run(log), time.monotonic() - began


class SideBySide:
    """Runs groups in their order, as many at once as there are cores, and beside them what sleeps; reports each when it ends."""

    def __init__(self) -> None:
        self.total = NOTHING
        self.failed_groups: set[str] = set()
        self.running: dict[Future, Group] = {}
        self.cores = os.cpu_count() or 1

    def is_too_much(self, left: int, name: str) -> bool:
        running = self.running.values()
        busy = sum(not group.sleeps for group in running)
        return left == 0 or busy > left or name in [group.name for group in running]

    def wait_until(self, left: int, name: str = "") -> None:
        """Until no more than `left` groups keep cores busy, none at all where that is 0, and that of this name has ended."""
        while self.running and self.is_too_much(left, name):
            for done in wait(self.running, return_when=FIRST_COMPLETED).done:
                group = self.running.pop(done)
                counts, seconds = done.result()
                report(group, counts, seconds, LOGS / f"{group.name}.log")
                self.total = self.total.plus(counts)
                if counts.failed:
                    self.failed_groups.add(group.name)

    def run(self, groups: list[Group]) -> None:
        with ThreadPoolExecutor(len(groups)) as pool:
            for group in groups:
                busy = self.cores if group.sleeps else self.cores - 1
                self.wait_until(0 if group.alone else busy, group.after)
                self.running[pool.submit(run_group, group, self.failed_groups)] = group
                if group.alone:
                    self.wait_until(0)
            self.wait_until(0)


def main() -> None:
    if sys.argv[1:] == ["--help"]:
        print(
            "usage: ./dev test [--list] [--long] [--table] [GROUP...]\n\nWithout a group: all of them, in this order:\n"
        )
    if sys.argv[1:] in (["--list"], ["--help"]):
        print("\n".join(f"{group.name:<22}{group.title}" for group in GROUPS))
        return
    LOGS.mkdir(parents=True, exist_ok=True)
    # Some groups build copies of the project, which a compiler's cache spares: wherever they lie, the objects are the same.
    # The copies are built as the program is, but for -Werror.
    os.environ |= {"CCACHE_DIR": str(BUILD / "ccache"), "CCACHE_NOHASHDIR": "1"}
    os.environ["CCACHE_IGNOREOPTIONS"] = "-Werror"
    began = time.monotonic()
    tests = SideBySide()
    tests.run(choose_groups([word for word in sys.argv[1:] if word not in ("--long", "--table")]))
    print(f"\n{time.monotonic() - began:.0f} s")
    print(tests.total)
    sys.exit(1 if tests.total.failed else 0)


if __name__ == "__main__":
    main()
