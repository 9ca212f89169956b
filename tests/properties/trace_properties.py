"""The properties that every trace with a known ledger must have, whatever is done to its file."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable

from advice_prices import problems_of_advice
from database_properties import every_form_of_a_database_is_read, write_any_database
from ledger_script import Plan
from make_trace import make_trace
from nsys_database import write_database
from nsys_writer import NSYS_STYLE, SCHEMAS
from program_report import (
    DAMAGED,
    DOCUMENTED_CODES,
    FACTS,
    SECONDS_MAX,
    Failure,
    Report,
    compare_ledger,
    compare_output,
    compare_steps,
    run_report,
    unlike,
)
from rewritten_text import (
    DAMAGED_EVENTS,
    PACKINGS,
    SET_ASIDE,
    complete_events,
    damaged_part,
    gzip_text,
    respaced,
    several_members,
    shuffled,
    with_holes,
    strange_event,
    with_bare_words,
    zstd_text,
)
from rocprof_properties import damaged_rocprof_files_are_told, every_form_of_rocprof_is_read
from trace_event import Trace
from trace_styles import STYLES, Style
from write_trace import TraceText, write_trace

CUTS = 4  # per trace and packing
NAME = "trace.json"  # of every variant, so that the reports may be compared byte for byte


class Skip(Exception):
    """Something that the property needs is not installed."""


@dataclass
class Case:
    """One random trace."""

    program: Path
    folder: Path  # of its own, empty
    seed: int
    style: Style
    trace: Trace
    text: TraceText
    rng: random.Random

    def report(
        self,
        what: str,
        data: bytes,
        arguments: tuple[str, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> Report:
        folder = self.folder / what
        folder.mkdir(exist_ok=True)
        (folder / NAME).write_bytes(data)
        return run_report(self.program, folder / NAME, arguments, environment)

    @property
    def data(self) -> bytes:
        return encoded(self.text)


def encoded(text: TraceText) -> bytes:
    return text.whole().encode(errors="surrogateescape")


def new_case(program: Path, folder: Path, seed: int) -> Case:
    rng = random.Random(f"case {seed}")
    style = rng.choice(list(STYLES.values()))
    is_cpu_only = rng.random() < 0.15
    has_step_marks = is_cpu_only or not style.has_annotations or rng.random() < 0.85
    plan = Plan(rng.randint(1, 6), rng.choice((1, 2, 4, 8, 20)), has_step_marks)
    style = replace(style, compiles=rng.random() < 0.4)
    trace = make_trace(seed, plan, style, is_cpu_only)
    return Case(program, folder, seed, style, trace, write_trace(trace, style), rng)


def ledger_comes_out_as_built(case: Case) -> None:
    report = case.report("built", case.data)
    if report.code != 0:
        raise Failure(f"a sound file, but code {report.code}: {report.warnings}")
    compare_ledger(report, case.trace.ledger)
    problems = problems_of_advice(report.sections)
    if problems:
        raise Failure(f"advice: {'; '.join(problems)}")
    if report.events != len(case.text.events):
        raise Failure(f"{report.events} events read, {len(case.text.events)} are there")
    if len(report.steps) > 1:
        between = report.sections["step_ledger"]["numbers"]["between_steps"]["value"]
        if between != case.trace.ledger["between_steps_ns"]:
            wanted = case.trace.ledger["between_steps_ns"]
            raise Failure(f"{between} ns between the steps, {wanted} ns were built")
    unlinked = case.trace.ledger["unlinked_device_events"]
    told = r"(\d+) kernels, copies or memsets (?:without the call|launched before the recording)"
    others = sum(int(count) for count in re.findall(told, report.warnings))
    if others < unlinked:
        raise Failure(f"{others} events without a launch are told, {unlinked} were built")


def windows_of_the_device_hold_its_work(case: Case) -> None:
    """By the device's clock: no step overlaps another, its accounts sum to it, and none holds more than it has."""
    report = case.report("by_device", case.data, ("--clock", "device"))
    numbers = report.sections.get("step_ledger", {}).get("numbers", {})
    if "clock" not in numbers:
        return  # one window, or no device, or no step launched anything (code 4)
    if numbers["clock"]["value"] != "device":
        raise Failure(f"--clock device, but the clock is {numbers['clock']['value']}")
    reached = 0
    for row in report.steps:
        accounts = sum(value for key, value in row.items() if key not in FACTS)
        if row["start"] < reached or row["duration"] <= 0 or accounts != row["duration"]:
            raise Failure(f"step {row['step']}: {row}, the one before ends at {reached}")
        reached = row["start"] + row["duration"]
    inside = numbers.get("work_in_windows", {}).get("value", 0)
    if not 0 <= inside <= 1:
        raise Failure(f"{inside} of the work of the steps is inside their windows")


def order_does_not_matter(case: Case) -> None:
    built = case.report("built", case.data)
    for number in range(2):
        other = case.report("shuffled", encoded(shuffled(case.text, case.rng)))
        compare_ledger(other, case.trace.ledger)
        compare_output(built, other, f"events in another order (number {number})")


def a_pipe_is_read_as_a_file(case: Case) -> None:
    built = case.report("built", case.data)
    packing = case.rng.choice((PACKINGS["plain"], PACKINGS["gzip"]))
    piped = run_report(case.program, case.folder / "built" / "-", data=packing.pack(case.data))
    compare_ledger(piped, case.trace.ledger)
    compare_steps(built, piped, "from a pipe")


def spelling_does_not_matter(case: Case) -> None:
    built = case.report("built", case.data)
    other = case.report("respaced", encoded(respaced(case.text, case.rng)))
    compare_ledger(other, case.trace.ledger)
    compare_output(built, other, "keys in another order, other white space")


def holes_cost_only_their_keys(case: Case) -> None:
    built = case.report("built", case.data)
    other = case.report("with_holes", encoded(with_holes(case.text, case.rng)))
    compare_ledger(other, case.trace.ledger)
    compare_output(built, other, "events with holes")


def compression_does_not_matter(case: Case) -> None:
    built = case.report("built", case.data)
    packed = {
        "gzip": gzip_text(case.data),
        "gzip of several members": several_members(case.data, case.rng),
    }
    if shutil.which("zstd"):
        packed["zstd"] = zstd_text(case.data)
        packed["zstd of several frames"] = zstd_text(case.data[:1000]) + zstd_text(case.data[1000:])
    for what, data in packed.items():
        compare_output(built, case.report("packed", data), what)
        if what.startswith("gzip"):
            other = case.report("packed", data, environment={"FLOPLEDGER_INFLATE": "zlib"})
            compare_output(built, other, what + " by zlib")


def large_case(case: Case) -> Case:
    """A file that is worth to be split over threads."""
    trace = make_trace(f"{case.seed} large", Plan(4, 300), case.style)
    return replace(case, trace=trace, text=write_trace(trace, case.style))


def same_with_all_threads(case: Case, what: str, data: bytes) -> Report:
    counts = ("1", "2", "3", "5", "8")
    outputs = [case.report("threads", data, ("--threads", n)) for n in counts]
    for count, other in zip(counts[1:], outputs[1:]):
        compare_output(outputs[0], other, f"{count} threads instead of one, {what}")
    return outputs[0]


def threads_do_not_matter(case: Case) -> None:
    large = large_case(case)
    report = same_with_all_threads(large, "a sound file", large.data)
    compare_ledger(report, large.trace.ledger)
    cut = case.rng.randrange(len(large.data))
    same_with_all_threads(large, f"cut after {cut} bytes", large.data[:cut])
    if case.style.has_begin_end:
        return  # a damaged piece may take a half of a pair with it
    events = large.text.events[:]
    for _ in range(10):
        place = (
            f'"pid": 4711, "tid": 99000, "ts": {large.trace.ledger["steps"][0]["start_ns"] // 1000}'
        )
        events.insert(case.rng.randrange(1, len(events)), "\n  " + case.rng.choice(DAMAGED_EVENTS))
        events.insert(case.rng.randrange(1, len(events)), "\n  " + strange_event(case.rng, place))
    text = encoded(TraceText(large.text.head, events, large.text.tail))
    damaged = same_with_all_threads(large, "with ten damaged pieces", text)
    check_ledger_with(damaged, large, "with ten damaged pieces")


def inspect_agrees(case: Case) -> None:
    """`inspect` reads as much as `report`, also of a file that is cut."""
    cut = case.rng.randrange(1, len(case.data))
    for what, data in (("built", case.data), ("cut", case.data[:cut])):
        report = case.report(what, data)
        inspected = run_report(case.program, case.folder / what / NAME, command="inspect")
        if report.code != 4 and inspected.code != report.code:  # 4: whole, but nothing to report
            raise Failure(
                f"after {cut} bytes, {what}: inspect ends with {inspected.code}, report with "
                f"{report.code}: {inspected.message}"
            )
        if not inspected.sections or not report.sections:
            continue
        count = inspected.sections["file"]["numbers"]["events"]["value"]
        if count != report.events:
            raise Failure(f"{what}: inspect counts {count} events, report {report.events}")


def steps_can_be_chosen(case: Case) -> None:
    numbers = [step["number"] for step in case.trace.ledger["steps"]]
    first = case.rng.choice(numbers)
    last = case.rng.choice([number for number in numbers if number >= first])
    whole = case.report("built", case.data)
    part = case.report("built", case.data, ("--steps", f"{first}-{last}"))
    wanted = [row for row in whole.steps if first <= row["step"] <= last]
    if part.steps != wanted:
        raise Failure(f"--steps {first}-{last} gives {part.steps} instead of {wanted}")


def ranks_are_reported_together(case: Case) -> None:
    """Several files, and the folder that holds them."""
    folder = case.folder / "ranks"
    folder.mkdir()
    ledgers = []
    for rank in range(case.rng.randint(2, 5)):
        trace = make_trace(f"{case.seed} rank {rank}", Plan(2, 3), case.style)
        trace.run_facts |= {"rank": rank, "world_size": 5}
        data = encoded(write_trace(trace, case.style))
        is_packed = case.rng.random() < 0.5
        name = f"rank{rank}.json" + (".gz" if is_packed else "")
        (folder / name).write_bytes(gzip_text(data) if is_packed else data)
        ledgers.append(trace.ledger)
    report = run_report(case.program, folder)
    if report.code != 0 or len(report.ranks) != len(ledgers):
        raise Failure(f"code {report.code}, {len(report.ranks)} ranks of {len(ledgers)}")
    for sections, ledger in zip(report.ranks, ledgers):
        compare_ledger(replace(report, sections=sections), ledger)


def whole_file_of(case: Case, count: int) -> TraceText:
    return TraceText(case.text.head, case.text.events[:count], case.text.tail)


ZSTD_CLOSING_BYTES = 4  # the checksum after the last block


def check_cut(case: Case, packing: str, data: bytes, cut: int) -> None:
    part = data[:cut]
    text = PACKINGS[packing].unpack_part(part)
    count = complete_events(case.text, len(text))
    got = case.report("cut", part)
    misses_text = len(text) < len(case.data.rstrip())
    if packing == "zstd":
        misses_text = len(data) - cut > ZSTD_CLOSING_BYTES
        if got.sections:
            count = max(count, got.events)  # the zstd program holds back what it could give
    where = f"{packing} file cut after {cut} of {len(data)} bytes, {count} whole events"
    wanted = case.report("whole", encoded(whole_file_of(case, count)))
    if got.code in (3, 4):
        if wanted.code == 0 and wanted.steps:
            raise Failure(f"{where}: code {got.code}: {got.message}")
        return
    if misses_text and (got.code != DAMAGED or "cut" not in got.warnings):
        raise Failure(f"{where}: code {got.code}, and not said to be cut: {got.warnings}")
    if wanted.code in (3, 4):
        raise Failure(f"{where}: a report, but of the whole file: {wanted.message}")
    if got.events != wanted.events:
        raise Failure(f"{where}: {got.events} events read instead of {wanted.events}")
    compare_steps(wanted, got, where)


def cut_anywhere(case: Case) -> None:
    for packing, kind in PACKINGS.items():
        if packing == "zstd" and not shutil.which("zstd"):
            raise Skip("zstd is not installed")
        data = kind.pack(case.data.rstrip())
        cuts = [case.rng.randrange(1, len(data)) for _ in range(CUTS)]
        cuts.append(len(data) - case.rng.randint(1, 12))  # in what closes the stream
        for cut in cuts:
            check_cut(case, packing, data, cut)


def damage_stays_where_it_is(case: Case) -> None:
    """Pieces that are no event between the events: the others' ledger is the same, and the pieces are counted."""
    events = case.text.events[:]
    pieces = case.rng.randint(1, 3)
    said = []
    for _ in range(pieces):
        said.append(case.rng.choice(DAMAGED_EVENTS))
        events.insert(case.rng.randrange(1, len(events)), "\n  " + said[-1])
    report = case.report("damaged", encoded(TraceText(case.text.head, events, case.text.tail)))
    what = f"with {said} between the events"
    if report.code != DAMAGED:
        raise Failure(f"{what}: code {report.code}: {report.message}")
    check_ledger_with(report, case, what)
    told = re.search(r"(\d+) pieces? of the file", report.warnings)
    if not told:
        raise Failure(f"{what}: {pieces} damaged pieces are not told: {report.warnings}")
    if report.events != len(case.text.events):
        raise Failure(f"{what}: {report.events} events read, {len(case.text.events)} are sound")


def check_ledger_with(report: Report, case: Case, what: str) -> None:
    try:
        compare_ledger(report, case.trace.ledger)
    except Failure as failure:
        raise Failure(f"{what}: {failure}") from None


def strange_events_are_read(case: Case) -> None:
    """What profilers really write, though it is no JSON."""
    pid = 4711
    events = case.text.events[:]
    added = []
    for i in range(case.rng.randint(1, 5)):
        time = case.trace.ledger["steps"][0]["start_ns"] // 1000 - 1000 + i
        added.append(
            "\n  " + strange_event(case.rng, f'"pid": {pid}, "tid": {99000 + i}, "ts": {time}')
        )
        events.insert(case.rng.randrange(len(events)), added[-1])
    for i in case.rng.sample(range(len(events)), min(4, len(events))):
        events[i] = with_bare_words(events[i], case.rng)
    report = case.report("strange", encoded(TraceText(case.text.head, events, case.text.tail)))
    what = f"with {[event[:120] for event in added]}"
    check_ledger_with(report, case, what)
    if report.events != len(events):
        raise Failure(f"{what}: {report.events} events read, {len(events)} are there")


def impossible_events_are_set_aside(case: Case) -> None:
    """Durations that cannot be, missing times, halves of pairs: counted, and nothing else changes."""
    ledger = case.trace.ledger
    events = case.text.events[:]
    counts: Counter[str] = Counter()
    for i in range(case.rng.randint(1, 6)):
        kind = case.rng.choice(SET_ASIDE)
        time = ledger["steps"][0]["start_ns"] // 1000 + case.rng.randrange(-50, 50)
        place = f'"cat": "kernel", "pid": {ledger["device"] or 0}, "tid": 7, "ts": {time}'
        if '"X"' not in kind.event:
            place = f'"cat": "cpu_op", "pid": 4711, "tid": {99000 + i}, "ts": {time}'
        events.insert(case.rng.randrange(len(events)), "\n  " + kind.event.format(place=place))
        counts[kind.says] += 1
    report = case.report("set-aside", encoded(TraceText(case.text.head, events, case.text.tail)))
    check_ledger_with(report, case, f"with {dict(counts)}")
    for says, count in counts.items():
        told = re.search(says, report.warnings)
        if not told or int(told[1]) != count:
            raise Failure(f"{count} × '{says}' is not told so: {report.warnings}")


# Sections that both forms of one run must fill alike. Where the device and host clocks, the host and the names of threads
# are told in other words, they are not compared.
SAME_IN_BOTH_FORMS = ("step_ledger", "gpu_idle", "kernels", "copies", "overlap", "launches")
ONLY_IN_TRACES = {"occupancy"}  # nsys does not estimate it


def without(section: Any, left_out: set[str]) -> Any:
    """The section without the columns that only one of the forms can fill. Of what is not known the words are each recorder's."""
    if isinstance(section, dict):
        kept = {k: without(v, left_out) for k, v in section.items() if k not in left_out}
        if isinstance(kept.get("not_known"), dict):
            kept["not_known"] = sorted(kept["not_known"])
        return kept
    if isinstance(section, list):
        return [
            without(item, left_out)
            for item in section
            if not isinstance(item, dict) or item.get("key") not in left_out
        ]
    return section


def both_forms_give_one_ledger(case: Case) -> None:
    """A run written as a trace of torch.profiler and as a database of Nsight Systems, several ranks in one file."""
    plan = Plan(case.rng.randint(1, 4), case.rng.choice((1, 2, 4, 8)), True)
    count = case.rng.randint(1, 3)
    traces = [make_trace(f"{case.seed} {rank}", plan, NSYS_STYLE) for rank in range(count)]
    for event in (event for trace in traces for event in trace.events):
        (event.args or {}).pop("Input type", None)  # which NVTX does not tell
    folder = case.folder / "both"
    folder.mkdir()
    for schema in SCHEMAS.values():
        database = folder / f"{schema.version}.sqlite"
        write_database(database, traces, schema)
        read = run_report(case.program, database)
        if read.code or len(read.ranks) != count:
            raise Failure(f"{schema.version}: code {read.code}, {len(read.ranks)} ranks")
        for rank, trace in enumerate(traces):
            text = encoded(write_trace(trace, NSYS_STYLE))
            other = case.report("as-json", text)
            sections = read.ranks[rank]
            compare_ledger(other, trace.ledger)
            compare_ledger(replace(read, sections=sections), trace.ledger)
            for name in SAME_IN_BOTH_FORMS:
                left = without(other.sections.get(name), ONLY_IN_TRACES)
                right = without(sections.get(name), ONLY_IN_TRACES)
                if left != right:
                    raise Failure(f"{schema.version}, rank {rank}: {name}: {unlike(left, right)}")


def a_damaged_database_is_told(case: Case) -> None:
    """Bytes changed anywhere, or the end cut off: a report of the rest or a reason, never a crash."""
    folder = case.folder / "damaged"
    folder.mkdir()
    whole = folder / "whole.sqlite"
    schema = case.rng.choice(list(SCHEMAS.values()))
    write_any_database(whole, case.seed, schema, case.rng.randint(0, 1))
    data = whole.read_bytes()
    for number in range(CUTS):
        file = folder / f"damaged{number}.sqlite"
        file.write_bytes(damaged_part(data, case.rng, number, (1, 10, 300)))
        run_report(case.program, file)
        run_report(case.program, file, command="inspect")
        check_stats_end(case.program, file)
        if sorted(path.name for path in folder.iterdir()) != sorted({whole.name, file.name}):
            raise Failure("something was written beside the file")
        file.unlink()


def check_stats_end(program: Path, file: Path) -> None:
    reports = ("cuda_gpu_trace", "nvtx_gpu_proj_sum", "nvtx_kern_sum", "cuda_kern_exec_sum")
    for report in (*reports, "osrt_sum"):
        words = [str(program), "nsys-stats", "--json", str(file), report]
        done = subprocess.run(words, capture_output=True, timeout=SECONDS_MAX, check=False)
        if done.returncode not in DOCUMENTED_CODES:
            raise Failure(f"nsys-stats ends with {done.returncode}: {done.stderr[-1500:]!r}")


Property = Callable[[Case], None]

# The first holds for every trace, of the others one in turn.
OTHERS: list[Property] = [
    windows_of_the_device_hold_its_work,
    order_does_not_matter,
    spelling_does_not_matter,
    holes_cost_only_their_keys,
    compression_does_not_matter,
    a_pipe_is_read_as_a_file,
    threads_do_not_matter,
    inspect_agrees,
    steps_can_be_chosen,
    ranks_are_reported_together,
    cut_anywhere,
    damage_stays_where_it_is,
    strange_events_are_read,
    impossible_events_are_set_aside,
    both_forms_give_one_ledger,
    every_form_of_a_database_is_read,
    a_damaged_database_is_told,
    every_form_of_rocprof_is_read,
    damaged_rocprof_files_are_told,
]
