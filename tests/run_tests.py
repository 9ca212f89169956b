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
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from group_runs import (
    BUILD,
    LOGS,
    NOTHING,
    PROGRAM,
    ROOT,
    SANITIZED_PROGRAM,
    SANITIZERS,
    WARNINGS_ARE_ERRORS,
    Counts,
    build,
    counted,
    gcc,
    in_turn,
    meson_tests,
    run_command,
    script,
    scripts,
)


@dataclass(frozen=True)
class Group:
    name: str
    title: str
    run: Callable[[Path], Counts]  # given the file to log to
    after: str = ""  # the group that builds what it runs
    alone: bool = False  # keeps all cores busy by itself, or measures: nothing runs beside it
    only_named: bool = False  # takes too long to be run unasked
    only_long: bool = False  # likewise, but for --long: what it finds others mostly find, too


def attack(log: Path) -> Counts:
    """Minutes, or with --long an hour; --table writes what came out into docs/security.md."""
    flags = [word for word in ("--long", "--table") if word in sys.argv]
    return script("tests/attack/run", PROGRAM, *flags)(log)


def attach(log: Path) -> Counts:
    """With --long hundreds of cycles in place of a few, either side killed at each call, and the instructions of a step."""
    flags = [word for word in ("--long",) if word in sys.argv]
    counts = script("tests/python/test_attach.py", PROGRAM)(log)
    counts = counts.plus(script("tests/python/test_attach_refused.py", PROGRAM)(log))
    counts = counts.plus(script("tests/python/test_triggers.py", PROGRAM, *flags)(log))
    counts = counts.plus(script("tests/python/test_live_ranks.py", PROGRAM, *flags)(log))
    if flags:
        for words in ("--cycles=300", "--count"):
            counts = counts.plus(script("tests/python/attach_cycles.py", PROGRAM, words)(log))
    return counts.plus(script("tests/python/test_attach_inside.py", PROGRAM, *flags)(log))


def compiled(log: Path) -> Counts:
    """With --long three models in place of one."""
    flags = [word for word in ("--long",) if word in sys.argv]
    counts = script("tests/properties/compiled_code.py", PROGRAM)(log)
    counts = counts.plus(script("tests/properties/compiled_notes.py", PROGRAM)(log))
    return counts.plus(script("tests/python/test_compiled.py", PROGRAM, *flags)(log))


def plans(log: Path) -> Counts:
    """With --long a model is trained with four other sizes, and 50 times as many layouts are tried."""
    flags = [word for word in ("--long",) if word in sys.argv]
    counts = script("tests/python/test_plan_from.py", PROGRAM, *flags)(log)
    return counts.plus(script("tests/properties/plans_of_models.py", PROGRAM, *flags)(log))


def model_profile(log: Path) -> Counts:
    """With --long all models are recorded, too, and not a third of them."""
    counts = scripts("tests/python/test_model_*.py", PROGRAM)(log)
    if "--long" not in sys.argv:
        return counts
    return counts.plus(script("tests/python/test_model_goldens.py", PROGRAM, "--all-recorded")(log))


def fleet(log: Path) -> Counts:
    """With --long: 10,000 runs of 1,000 steps."""
    flags = [word for word in ("--long",) if word in sys.argv]
    return script("tests/python/test_fleet.py", PROGRAM, *flags)(log)


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
    counts = counts.plus(script("tests/wheel/check_install.py")(log))
    if is_long:
        counts = counts.plus(counted(*run_command(["./dev", "wheel", "--again"], log)))
        counts = counts.plus(script("tests/wheel/check_systems.py")(log))
    return counts


GROUPS = [
    Group(
        "build",
        "build with gcc, warnings are errors",
        build("test-gcc", gcc(), WARNINGS_ARE_ERRORS),
        alone=True,
    ),
    Group("unit", "unit tests", meson_tests("test-gcc", "unit"), "build"),
    Group("fuzz", "fuzz corpus", meson_tests("test-gcc", "fuzz"), "build"),
    Group("golden", "goldens: what commands print", script("tests/golden/run", PROGRAM), "build"),
    Group(
        "properties",
        "properties: traces with a known ledger",
        script("tests/properties/run", PROGRAM),
        "build",
        alone=True,
    ),
    Group(
        "priced",
        "properties: traces with known FLOPs",
        script("tests/properties/priced_work.py", PROGRAM),
        "build",
    ),
    Group(
        "paths",
        "properties: traces with a known critical path",
        script("tests/properties/known_paths.py", PROGRAM),
        "build",
    ),
    Group(
        "compared",
        "properties: pairs of runs with a known difference",
        script("tests/properties/compared_runs.py", PROGRAM),
        "build",
    ),
    Group(
        "job-logs",
        "properties: logs of jobs with known accounts",
        script("tests/properties/job_logs.py", PROGRAM),
        "build",
    ),
    Group(
        "kept-steps",
        "properties: recorded runs with known windows",
        script("tests/properties/kept_steps.py", PROGRAM),
        "build",
    ),
    Group(
        "formats",
        "properties: files of other recorders with a known ledger",
        script("tests/properties/recorder_formats.py", PROGRAM, "--real"),
        script("tests/properties/recorder_folders.py", PROGRAM),
        script("tests/properties/stumbling_blocks.py", PROGRAM),
        "build",
    ),
    Group(
        "graph-replays",
        "properties: CUDA graphs with known captures, servers and clocks",
        script("tests/properties/graph_replays.py", PROGRAM),
        script("tests/properties/serving_steps.py", PROGRAM),
        script("tests/properties/recorded_clock.py", PROGRAM),
        "build",
    ),
    Group(
        "compiled",
        "what torch.compile made of small models, and made-up traces of compiled code",
        compiled,
        "build",
    ),
    Group("plans", "plans of models and from recorded runs", plans, "build"),
    Group(
        "mlperf-runs",
        "properties: MLPerf's logs of runs with known accounts",
        script("tests/properties/mlperf_runs.py", PROGRAM),
        "build",
    ),
    Group(
        "log-dialects",
        "properties: lines of steps as versions and launchers write them",
        script("tests/properties/log_dialects.py", PROGRAM),
        "build",
    ),
    Group(
        "hangs",
        "properties: jobs that hang for a known reason",
        script("tests/properties/known_hangs.py", PROGRAM),
        "build",
    ),
    Group(
        "ranks",
        "properties: runs of many ranks with known clocks and late ranks",
        script("tests/properties/known_ranks.py", PROGRAM),
        "build",
    ),
    Group(
        "digests",
        "properties: digests of very many ranks, with a known truth",
        script("tests/properties/known_digests.py", PROGRAM),
        "build",
    ),
    Group(
        "replays-of-ranks",
        "properties: several ranks with a known length of each step with any change",
        script("tests/properties/known_replays.py", PROGRAM),
        "build",
    ),
    Group(
        "memory-of-events",
        "how much memory an event takes",
        script("tests/properties/memory_of_events.py", PROGRAM),
        "build",
    ),
    Group(
        "speed",
        "instructions and memory of commands, as the table has them",
        script("tests/speed/check_costs.py", PROGRAM),
        "build",
    ),
    Group(
        "mpi",
        "processes under mpirun",
        script("tests/mpi/check_mpi.py", PROGRAM),
        "build",
    ),
    Group(
        "stragglers",
        "properties: pipelines whose replays are known",
        script("tests/properties/known_stragglers.py", PROGRAM),
        "build",
    ),
    Group("oracle", "other people's traces", scripts("tests/oracle/check_*.py", PROGRAM), "build"),
    Group(
        "first-finding",
        "what an expert says first of other people's files, and what we say",
        script("tests/oracle/check_first_findings.py", PROGRAM),
        "build",
    ),
    Group(
        "correctness",
        "docs/correctness.md is what its command writes",
        script("tests/oracle/correctness_table.py", PROGRAM, "--check"),
        "build",
    ),
    Group(
        "demo",
        "./dev demo and the example",
        script("tests/python/test_demo.py", PROGRAM),
        "build",
    ),
    Group(
        "recorder",
        "flopledger run and the recorder",
        scripts("tests/python/test_[rs]*.py", PROGRAM),
        "build",
    ),
    Group(
        "tutorials",
        "the tutorials, walked",
        script("tests/python/test_tutorials.py", PROGRAM),
        "build",
    ),
    Group(
        "tutorials-from-clone",
        "the tutorials from a clean clone, installed and timed (only where it is named)",
        script("tests/python/tutorials_from_clone.py"),
        alone=True,
        only_named=True,
    ),
    Group(
        "recorded-memory",
        "the memory of a recorded run, to the byte",
        script("tests/python/test_memory.py", PROGRAM),
        "build",
    ),
    Group(
        "model-profile",
        "what models cost, in Python and from their traces",
        model_profile,
        "build",
    ),
    Group(
        "ci",
        "what CI reads, and the GitHub action",
        script("tests/python/test_ci_formats.py", PROGRAM),
        "build",
    ),
    Group(
        "api",
        "the Python API and its notebook",
        script("tests/python/test_api.py", PROGRAM),
        "build",
    ),
    Group(
        "callbacks",
        "callbacks in the trainers of three frameworks",
        script("tests/python/test_callbacks.py", PROGRAM),
        "build",
    ),
    Group(
        "dashboards",
        "what is logged to W&B, MLflow and OpenTelemetry, read back",
        script("tests/python/test_dashboards.py", PROGRAM),
        "build",
    ),
    Group(
        "causes",
        "the benchmark of causes: the first finding is right",
        script("tests/python/test_causes.py", PROGRAM),
        "build",
    ),
    Group(
        "fleet",
        "many runs in one folder, asked with DuckDB and ClickHouse",
        fleet,
        "build",
    ),
    Group(
        "mcp",
        "answers to agents, asked by the protocol's own client",
        script("tests/python/test_mcp.py", PROGRAM),
        "build",
    ),
    Group(
        "attach",
        "jobs that run already, recorded, and windows by rules",
        attach,
        "build",
    ),
    Group(
        "nvml",
        "GPUs that a stand-in for NVML tells of, and NVIDIA's own headers",
        scripts("tests/gpu/*_nvml*.py", PROGRAM),
        "build",
    ),
    Group(
        "gpu-stand-ins",
        "what is proven on a GPU, with stand-ins for it",
        in_turn(
            script("tests/gpu/test_proof.py", PROGRAM),
            script("tests/gpu/run_proof.py", PROGRAM, "--stand-in"),
            script("tests/python/test_graph_captures.py", PROGRAM),
        ),
        "build",
    ),
    Group(
        "gpu",
        "on a GPU: training, memory, products, overhead, attach",
        script("tests/gpu/run_proof.py", PROGRAM),
        "build",
        alone=True,
    ),
    Group(
        "exports",
        "exports, beside the JSON report",
        script("tests/golden/check_exports.py", PROGRAM),
        "build",
    ),
    Group(
        "tensorboard",
        "exports, in TensorBoard",
        script("tests/python/test_tensorboard.py", PROGRAM),
        "build",
    ),
    Group(
        "deepspeed",
        "the text of DeepSpeed's profiler, line by line",
        script("tests/python/test_deepspeed_text.py", PROGRAM),
        "build",
    ),
    Group(
        "bench",
        "the page of the benchmarks",
        script("tests/python/test_bench.py", PROGRAM),
        "build",
    ),
    Group(
        "install",
        "installation",
        script("tests/python/test_install.py", PROGRAM),
        "build",
    ),
    Group(
        "wheel",
        "wheels, static program, source distribution (only where it is named)",
        wheel,
        alone=True,
        only_named=True,
    ),
    Group(
        "docs",
        "examples, options and links in the docs",
        script("tests/lint/check_docs.py", PROGRAM),
        "build",
    ),
    Group(
        "docs-site",
        "the documentation as a site: pages, links, search",
        script("tests/python/test_docs_site.py"),
    ),
    Group(
        "guide",
        "the pages on adding an analysis, a reader and a metric, followed",
        script("tests/lint/check_how_to_add.py"),
        "build",
    ),
    Group(
        "attack",
        "attacks: damaged and hostile input, outputs, full disks, killed processes",
        attack,
        "build",
        alone=True,
    ),
    Group("page-types", "types of the HTML page", script("tests/browser/check_types.py")),
    Group(
        "browser",
        "the HTML report in a browser",
        script("tests/browser/run.py", PROGRAM),
        "build",
    ),
    Group("workflows", "workflows of CI and releases", script("tests/lint/check_workflows.py")),
    Group("advice", "thresholds of the advice", script("tests/lint/check_advice_page.py")),
    Group("metric-list", "the list of metrics", script("tests/lint/check_metric_list.py")),
    Group(
        "metric-index",
        "metrics by question, and by the field's words",
        script("tests/lint/check_metric_index.py"),
    ),
    Group("includes", "who includes whom", script("tests/lint/check_includes.py")),
    Group("house", "rooms, arrows and circles of src", script("tests/lint/house.py")),
    Group("style", "lengths, names, comments", script("tests/lint/check_style.py")),
    Group(
        "files-seen",
        "files that answers are made from",
        script("tests/lint/check_files_seen.py"),
    ),
    Group(
        "attack-table",
        "docs/security.md tells of every attack",
        script("tests/lint/check_attack_table.py"),
    ),
    Group(
        "translations",
        "pages in Chinese, beside the English ones",
        script("tests/lint/check_translations.py"),
    ),
    Group("circles", "modules that import each other", script("tests/lint/check_circles.py")),
    Group("words", "words of texts and names", script("tests/lint/check_words.py")),
    Group("format", "layout", script("tests/lint/check_format.py")),
    Group(
        "clang",
        "build with clang, warnings are errors",
        build("test-clang", "clang", [*WARNINGS_ARE_ERRORS, "-Doptimization=0"]),
        alone=True,
    ),
    Group(
        "tidy",
        "clang-tidy",
        script("tests/lint/check_analyzers.py", "clang-tidy", BUILD / "test-clang"),
        "clang",
        alone=True,
    ),
    Group(
        "analyzer",
        "gcc -fanalyzer (only where it is named, and with --long)",
        script("tests/lint/check_analyzers.py", "gcc", BUILD / "test-gcc"),
        "build",
        alone=True,
        only_long=True,
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
        script("tests/properties/watched_runs.py", BUILD / "test-threads" / "flopledger"),
        "races-build",
        only_named=True,
    ),
    Group(
        "valgrind",
        "commands under valgrind (only where it is named)",
        script("tests/properties/watched_runs.py", PROGRAM, "--valgrind"),
        "build",
        only_named=True,
    ),
    Group(
        "sanitizers",
        "build with address and undefined-behaviour sanitizers",
        build("test-sanitizers", "gcc", SANITIZERS),
        alone=True,
    ),
    Group(
        "sanitized-unit",
        "unit tests under sanitizers",
        meson_tests("test-sanitizers", "unit"),
        "sanitizers",
    ),
    Group(
        "sanitized-fuzz",
        "fuzz corpus under sanitizers",
        meson_tests("test-sanitizers", "fuzz"),
        "sanitizers",
    ),
    Group(
        "sanitized-golden",
        "goldens under sanitizers (only where it is named, and with --long)",
        script("tests/golden/run", SANITIZED_PROGRAM, program=SANITIZED_PROGRAM),
        "sanitizers",
        only_long=True,
    ),
    Group(
        "sanitized-extremes",
        "numbers at the ends of their range under sanitizers",
        script("tests/properties/extreme_numbers.py", SANITIZED_PROGRAM, program=SANITIZED_PROGRAM),
        "sanitizers",
    ),
    Group(
        "sanitized-properties",
        "properties under sanitizers",
        script(
            "tests/properties/run", SANITIZED_PROGRAM, "--count", "20", program=SANITIZED_PROGRAM
        ),
        "sanitizers",
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
        lines = log.read_text(errors="replace").splitlines()
        print("\n".join("    " + line[:300] for line in lines[-60:]))
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
    """Runs groups in their order, as many at once as there are cores; reports each when it ends."""

    def __init__(self) -> None:
        self.total = NOTHING
        self.failed_groups: set[str] = set()
        self.running: dict[Future, Group] = {}
        self.cores = os.cpu_count() or 1

    def wait_until(self, left: int, name: str = "") -> None:
        """Until no more than `left` groups run, and that of this name does not."""
        while len(self.running) > left or name in [group.name for group in self.running.values()]:
            for done in wait(self.running, return_when=FIRST_COMPLETED).done:
                group = self.running.pop(done)
                counts, seconds = done.result()
                report(group, counts, seconds, LOGS / f"{group.name}.log")
                self.total = self.total.plus(counts)
                if counts.failed:
                    self.failed_groups.add(group.name)

    def run(self, groups: list[Group]) -> None:
        with ThreadPoolExecutor(self.cores) as pool:
            for group in groups:
                self.wait_until(0 if group.alone else self.cores - 1, group.after)
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
