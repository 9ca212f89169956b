#!/usr/bin/env python3
"""Files of other recorders with a known ledger: do steps, busy time, FLOPs and counts of events come out as built, and does
a file that is cut or changed end in an answer or an error that names the place?

    tests/properties/recorder_formats.py PROGRAM [--count N] [--seed S] [--real]

--real: recordings of other people, too, where they are at hand (../shared, or FLOPLEDGER_SHARED): each is written in Perfetto's
form by the real classes and by `flopledger export perfetto`, and what rocprofv3 and RocmProfileData can tell of it as their files. Ends
with a line of counts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]
# the real classes of Perfetto's messages, where they are installed for this Python
sys.path += map(str, HERE.parents[1].glob("build/venv-formats/lib/python3*/site-packages"))

from ascend_recording import (  # noqa: E402
    known_part,
    queue_calls,
    write_database,
    write_trace_view,
)
from ledger_script import Plan  # noqa: E402
from make_trace import make_trace  # noqa: E402
from perfetto_file import Form, nanoseconds, protos, write_pftrace  # noqa: E402
from rocpd_database import write_rocpd  # noqa: E402
from rocprof_json import write_json  # noqa: E402
from rocprof_recording import process_of_part, rocprof_part  # noqa: E402
from rpd_database import rpd_part, write_rpd  # noqa: E402
from trace_styles import STYLES  # noqa: E402
from wild_events import make_wild  # noqa: E402
from write_trace import write_trace  # noqa: E402
from xplane_file import (  # noqa: E402
    WAYS_OF_LAUNCHES,
    KnownSpace,
    gpu_space,
    tpu_space,
    write_space,
)

PLACES = ("byte", "cut or damaged: ", "an SQLite database, but")  # of a database: its tables
OK, DAMAGED, NO_DATA, PARTIAL = 0, 3, 4, 5


def run(program: Path, *arguments: str | Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


def rows(section: dict[str, Any], table: str) -> list[dict[str, Any]]:
    found = section["tables"].get(table, {"columns": [], "rows": []})
    keys = [column["key"] for column in found["columns"]]
    return [row if isinstance(row, dict) else dict(zip(keys, row)) for row in found["rows"]]


def value(section: dict[str, Any], key: str) -> Any:
    return section["numbers"].get(key, {}).get("value")


def report_of(program: Path, path: Path) -> tuple[int, list[dict[str, Any]]]:
    code, out, _ = run(program, "report", "--json", path)
    return code, json.loads(out)["ranks"] if out else []


def counted(program: Path, path: Path) -> tuple[int, int]:
    """Complete events of all ranks' devices, and once those of the host."""
    _, out, _ = run(program, "inspect", "--json", path)
    host: set[int] = set()
    device = 0
    for rank in json.loads(out)["ranks"]:
        of_host = 0
        for row in rows(rank["sections"]["events"], "categories"):
            if str(row["category"]).startswith("/host"):
                of_host += row["count"]
            else:
                device += row["count"]
        host.add(of_host)
    return device + (host.pop() if len(host) == 1 else -1), len(json.loads(out)["ranks"])


def expect(problems: list[str], what: str, found: Any, wanted: Any) -> None:
    if found != wanted:
        problems.append(f"{what}: {found}, wanted {wanted}")


def check_ledger(program: Path, path: Path, known: KnownSpace) -> list[str]:
    problems: list[str] = []
    events, ranks = counted(program, path)
    expect(problems, "events", events, known.events)
    expect(problems, "ranks", ranks, known.ranks)
    if known.ranks > 1:
        return problems
    code, reports = report_of(program, path)
    expect(problems, "exit", code, OK)
    sections = reports[0]["sections"]
    ledger = sections["step_ledger"]
    expect(problems, "steps", value(ledger, "steps"), len(known.steps))
    kinds = {row["class_key"]: row for row in rows(sections["kernels"], "by_class")}
    matrix = sum(row["total"] for key, row in kinds.items() if key in ("matmul", "convolution"))
    expect(problems, "matrix time", matrix, known.busy_ns["matrix"])
    if known.flops and known.busy_ns["matrix"]:
        found = value(sections["model_flops_utilization"], "model_flops_per_step")
        expect(problems, "FLOPs", round(found * len(known.steps)), known.flops)
        names = {row["operator"] for row in rows(sections["operators"], "by_name")}
        short = known.operator.split("::")[1]
        expect(problems, "operators", names & {known.operator, short}, {known.operator})
        device = str(value(sections["model_flops_utilization"], "device"))
        expect(problems, "peak of", device.split(":")[0], known.device)
    return problems


def check_damage(program: Path, path: Path, data: bytes, rng: random.Random) -> list[str]:
    """Cut anywhere: the whole part is read, the place told; changed bytes never end the program."""
    problems = []
    for cut in [min(1500, len(data) - 1), *(rng.randrange(1, len(data)) for _ in range(6))]:
        path.write_bytes(data[:cut])
        code, out, err = run(program, "report", path)
        if code not in (DAMAGED, NO_DATA, PARTIAL, OK) or (
            code != OK and not err and "cut" not in out
        ):
            problems.append(f"cut at {cut}: exit {code}: {err}")
        is_told = any(word in err for word in PLACES)
        if (
            any(wrong in err for wrong in ("holds no timed event", "not one of Nsight"))
            and cut > 64
        ):
            problems.append(f"cut at {cut}, and not told: {err}")
        if "()" in err:
            problems.append(f"cut at {cut}: nothing told in: {err}")
        if code == DAMAGED and not is_told and cut > 64:
            problems.append(f"cut at {cut}: no place in: {err}")
    for _ in range(6):
        changed = bytearray(data)
        for _ in range(rng.randint(1, 8)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        path.write_bytes(changed)
        code, _, err = run(program, "report", path)
        if code not in (OK, DAMAGED, NO_DATA, PARTIAL):
            problems.append(f"changed: exit {code}: {err}")
    return problems


def check(program: Path, folder: Path, seed: int) -> list[str]:
    rng = random.Random(seed)
    path = folder / "run.xplane.pb"
    known = (
        tpu_space(rng)
        if seed % 2
        else gpu_space(rng, rng.choice((1, 1, 2, 4)), WAYS_OF_LAUNCHES[seed % 3])
    )
    data = write_space(path, known.planes)
    problems = check_ledger(program, path, known)
    plain = run(program, "report", "--all", path)[1]
    packed = folder / "run.xplane.pb.gz"
    packed.write_bytes(gzip.compress(data))
    if run(program, "report", "--all", packed)[1].replace(".pb.gz", ".pb") != plain:
        problems.append("packed, the report is another one")
    return problems + check_damage(program, path, data, rng)


def timed_json(trace: dict[str, Any]) -> str:
    """As JSON, with the digits of times as they were."""

    def exact(number: Any) -> str:
        return f"@@{number}@@"

    text = json.dumps(trace, default=exact)
    return text.replace('"@@', "").replace('@@"', "")


# As JSON has them, and one of more than one byte.
ODD = ['\\"', "\\\\", "\\u0001", "\\u001f", "\\n", "\u00fc"]


def sections_of(program: Path, path: Path) -> tuple[int, Any]:
    """All of the report of each rank but what names the file, and the advice, which has the recorder's words."""
    code, reports = report_of(program, path)
    apart = ("run", "advice")
    found = [
        {key: text for key, text in rank["sections"].items() if key not in apart}
        for rank in reports
    ]
    return code, found or None


def made_text(seed: int, rng: random.Random, is_from_zero: bool = False) -> str:
    """A trace as torch.profiler writes it: a tidy one, or, each other time that a style comes, one with wild events."""
    style = list(STYLES.values())[seed % len(STYLES)]
    made = make_trace(seed, Plan(steps=rng.randint(1, 4), blocks=rng.randint(1, 12)), style)
    text = write_trace(made, style).whole()
    if seed // len(STYLES) % 2 == 0:
        return text
    trace = json.loads(text, parse_float=Decimal)
    events = make_wild(trace["traceEvents"] if isinstance(trace, dict) else trace, rng)
    first = min((Decimal(str(event["ts"])) for event in events), default=Decimal(0))
    if is_from_zero and first < 1000:
        for event in events:
            event["ts"] = Decimal(str(event["ts"])) - first + 1000
    base = trace.get("baseTimeNanoseconds", 0) if isinstance(trace, dict) else 0
    return timed_json({"traceEvents": events, "baseTimeNanoseconds": base})


def check_equality(program: Path, folder: Path, seed: int) -> list[str]:
    """One trace as torch.profiler's JSON and in Perfetto's form: one report, to the nanosecond."""
    rng = random.Random(f"equality {seed}")
    text = made_text(seed, rng, is_from_zero=True)  # Perfetto's times have no sign
    if seed % 4 == 0:
        text = with_odd_names(text, rng)
    if seed % 3 == 0:
        text = with_notes(text, rng)
    return compare_forms(program, folder, text, rng)


def with_odd_names(text: str, rng: random.Random) -> str:
    """Some names with what JSON escapes, at any place of theirs."""

    def odd(match: re.Match[str]) -> str:
        if rng.random() < 0.8:
            return match[0]
        at = rng.randint(0, len(match[2]))
        return f'{match[1]}{match[2][:at]}{rng.choice(ODD)}{match[2][at:]}"'

    return re.sub(r'("name": ?")([ -!#-\[\]-~]*)"', odd, text)


# What torch.compile and others write of an operator or a kernel.
NOTES = {
    "kernel_hash": "cabc",
    "kernel_kwargs": "XBLOCK=8",
    "kernel_num_gb": Decimal("0.25"),
    "kernel_flop": 4096,
    "stack": "model.py:7",
    "name": "conv",
}


def with_notes(text: str, rng: random.Random) -> str:
    """Some events with notes, before or behind their other arguments."""
    trace = json.loads(text, parse_float=Decimal)
    for event in trace["traceEvents"] if isinstance(trace, dict) else trace:
        if event.get("ph") == "X" and rng.random() < 0.3:
            notes = {key: note for key, note in NOTES.items() if rng.random() < 0.3}
            args = event.get("args", {})
            event["args"] = notes | args if rng.random() < 0.5 else args | notes
    return timed_json(trace)


def compare_forms(program: Path, folder: Path, text: str, rng: random.Random) -> list[str]:
    trace = json.loads(text, parse_float=Decimal)
    if isinstance(trace, list):
        trace = {"traceEvents": trace}
    events = [
        event
        for event in trace["traceEvents"]
        if event.get("ph") == "X" and "dur" in event and "ts" in event
    ]
    kept = {"traceEvents": events, "baseTimeNanoseconds": trace.get("baseTimeNanoseconds", 0)}
    plain = folder / "trace.json"
    plain.write_text(timed_json(kept))
    form = Form.of(rng)
    first = min((nanoseconds(event["ts"]) for event in events), default=0)
    form.is_incremental &= first >= 10**6  # where the clock of the packets begins
    packed = folder / "trace.pftrace"
    data = write_pftrace(kept, form, rng)
    packed.write_bytes(gzip.compress(data) if rng.random() < 0.3 else data)
    wanted = sections_of(program, plain)
    found = sections_of(program, packed)
    problems = [] if found == wanted else [f"{form}: {first_difference(wanted, found)}"]
    if (
        problems
        and form.begins_first
        and "that begin when another ends" in inspected(program, packed)
    ):
        problems = []  # what the form cannot tell is told
    problems += check_export(program, folder, plain)
    if not form.is_compressed:
        problems += check_damage(program, packed, data, rng)
    return problems


def without_makers(results: Any) -> Any:
    """Without words of whose device it is: those of a GPU's maker in one form, and of Ascend in another."""
    if isinstance(results, dict):
        words = ("title", "intro", "meaning", "advice")
        why = results.get("not_known")
        found = {key: without_makers(one) for key, one in results.items() if key not in words}
        return found | (
            {"not_known": sorted(why) if isinstance(why, dict) else True} if why else {}
        )
    if isinstance(results, (list, tuple)):
        return [without_makers(one) for one in results]
    if isinstance(results, str):
        return re.sub(r"\b(?:CUDA|HIP) (?=graph)", "", results)
    return results


def check_ascend(program: Path, folder: Path, seed: int) -> list[str]:
    """What Ascend's formats can tell of a trace, as torch.profiler, torch_npu's JSON and its database write it."""
    rng = random.Random(f"ascend {seed}")
    trace = json.loads(made_text(seed, rng), parse_float=Decimal)
    kept = known_part({"traceEvents": trace} if isinstance(trace, list) else trace)
    if not any(event["cat"] == "kernel" for event in kept["traceEvents"]):
        return []
    if seed % 3 == 0:
        queue_calls(kept)
    plain, view, database = (folder / name for name in ("k.json", "trace_view.json", "ascend.db"))
    plain.write_text(timed_json(kept))
    write_trace_view(kept, view, rng)
    write_database(kept, database, rng)
    wanted = without_makers(sections_of(program, plain))
    problems = []
    for path in (view, database):
        found = without_makers(sections_of(program, path))
        if found != wanted:
            problems.append(f"{path.name}: {first_difference(wanted, found)}")
        problems += check_damage(program, path, path.read_bytes(), rng)
    return problems


def numbers_alone(results: Any) -> Any:
    """Without why something is not known: each recorder has its own remedy."""
    if isinstance(results, dict):
        return {key: numbers_alone(part) for key, part in results.items() if key != "not_known"}
    if isinstance(results, (list, tuple)):
        return [numbers_alone(part) for part in results]
    return results


def check_rocprof(program: Path, folder: Path, text: str, rng: random.Random) -> list[str]:
    """What rocprofv3's formats can tell of a trace, as torch.profiler, and as its database and its text write it."""
    trace = json.loads(text, parse_float=Decimal)
    kept = rocprof_part({"traceEvents": trace} if isinstance(trace, list) else trace)
    if not any(event["cat"] == "kernel" for event in kept["traceEvents"]):
        return []
    plain = folder / "rocprof_part.json"
    plain.write_text(timed_json(kept))
    process = process_of_part(kept, rng.randrange(2, 99_999), rng.randrange(1, 99_999))
    shapes = [(rng.choice(("own", "common", "lean")), write_rocpd), ("compact", write_json)]
    wanted = numbers_alone(sections_of(program, plain))
    problems = []
    for shape, write in shapes:
        path = folder / f"run_results.{'json' if write is write_json else 'db'}"
        write(path, [process], shape)
        found = numbers_alone(sections_of(program, path))
        if found != wanted:
            problems.append(f"{path.name}, {shape}: {first_difference(wanted, found)}")
    return problems


def check_rpd(program: Path, folder: Path, text: str, rng: random.Random) -> list[str]:
    """What RocmProfileData can tell of a trace, as torch.profiler and as its database write it."""
    trace = json.loads(text, parse_float=Decimal)
    kept = rpd_part({"traceEvents": trace} if isinstance(trace, list) else trace)
    if not any(event["cat"] == "kernel" for event in kept["traceEvents"]):
        return []
    plain, path = folder / "rpd_part.json", folder / "trace.rpd"
    plain.write_text(timed_json(kept))
    process = process_of_part(kept, rng.randrange(2, 99_999), rng.randrange(1, 99_999))
    shape = rng.choice(("2", "3"))
    write_rpd(path, [process], shape)
    wanted = numbers_alone(sections_of(program, plain))
    found = numbers_alone(sections_of(program, path))
    if found != wanted:
        return [f"{path.name}, {shape}: {first_difference(wanted, found)}"]
    return check_damage(program, path, path.read_bytes(), rng)


def check_rocprof_of(program: Path, folder: Path, seed: int) -> list[str]:
    rng = random.Random(f"rocprof {seed}")
    text = made_text(seed, rng)
    return check_rocprof(program, folder, text, rng) + check_rpd(program, folder, text, rng)


class SequenceRules:
    """What Perfetto asks of the packets of one sequence: names are given before they are used, by packets that say so; times
    count from a clock of the sequence."""

    def __init__(self) -> None:
        self.is_cleared = False
        self.clock = 0
        self.names: dict[str, set[int]] = {}

    def problems(self, packet: Any) -> list[str]:
        found = []
        if packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED:
            self.is_cleared, self.names = True, {}
        if packet.HasField("trace_packet_defaults"):
            self.clock = packet.trace_packet_defaults.timestamp_clock_id
        for field, entries in packet.interned_data.ListFields():
            self.names.setdefault(field.name, set()).update(entry.iid for entry in entries)
        event = packet.track_event
        used = {"event_names": [event.name_iid], "event_categories": event.category_iids}
        annotations = event.debug_annotations
        used["debug_annotation_names"] = [each.name_iid for each in annotations]
        used["debug_annotation_string_values"] = [each.string_value_iid for each in annotations]
        for kind, iids in used.items():
            missing = set(iids) - {0} - self.names.get(kind, set())
            found += [f"{kind} {sorted(missing)} are not given"] if missing else []
        uses_state = self.clock or any(iid for iids in used.values() for iid in iids)
        says_so = packet.sequence_flags & packet.SEQ_NEEDS_INCREMENTAL_STATE
        if packet.HasField("track_event") and uses_state and not (self.is_cleared and says_so):
            found.append("an event does not say that it needs what stands before it")
        return found


def proto_problems(path: Path) -> list[str]:
    """What the real classes find in an export: fields that they don't know, begins without ends, texts and tracks nobody gave."""
    if not protos:
        return []
    data = path.read_bytes()
    trace = protos.Trace()
    trace.ParseFromString(gzip.decompress(data) if path.suffix == ".gz" else data)
    problems = []
    if trace.ByteSize() == 0 or trace.SerializeToString() == b"":
        problems.append("the real classes read nothing")
    open_slices: dict[int, int] = {}
    sequences: dict[int, SequenceRules] = {0: SequenceRules()}  # 0: nobody's
    described: set[int] = set()
    for packet in trace.packet:
        number = packet.trusted_packet_sequence_id
        problems += sequences.setdefault(number, SequenceRules()).problems(packet)
        described.add(packet.track_descriptor.uuid)
        if packet.track_descriptor.parent_uuid not in described | {0}:
            problems.append(f"{packet.track_descriptor.uuid} stands before its parent")
        event = packet.track_event
        if event.track_uuid not in described | {0}:
            problems.append(f"a slice stands before its track {event.track_uuid}")
        if event.type == event.TYPE_SLICE_BEGIN:
            open_slices[event.track_uuid] = open_slices.get(event.track_uuid, 0) + 1
            if not event.name and not event.name_iid:
                problems.append("a slice has no name")
        elif event.type == event.TYPE_SLICE_END:
            open_slices[event.track_uuid] = open_slices.get(event.track_uuid, 0) - 1
            if open_slices[event.track_uuid] < 0:
                problems.append(f"an end without a begin on {event.track_uuid}")
    problems += [
        f"{count} slices of {uuid} do not end" for uuid, count in open_slices.items() if count
    ]
    return problems[:5]


def check_export(program: Path, folder: Path, path: Path) -> list[str]:
    """`flopledger export perfetto` of a trace: the same report, right for the real classes, smaller than Chrome's JSON."""
    packed, chrome = folder / "export.pftrace", folder / "export.json"
    for form, output in (("perfetto", packed), ("chrome", chrome)):
        code, _, err = run(program, "export", form, "--force", "-o", output, path)
        if code not in (OK, PARTIAL):
            return [f"export {form}: exit {code}: {err}"]
    wanted, found = sections_of(program, path), sections_of(program, packed)
    problems = proto_problems(packed)
    if found[1] != wanted[1]:
        problems.append(f"export perfetto: {first_difference(wanted[1], found[1])}")
    if packed.stat().st_size >= chrome.stat().st_size:
        problems.append(f"{packed.stat().st_size} bytes, Chrome's {chrome.stat().st_size}")
    return problems


REAL_BYTES_MAX, REAL_COUNT = 1_500_000, 20


def check_real(program: Path) -> tuple[int, int]:
    """(passed, failed) of other people's recordings: the smallest, each from another place where there are enough."""
    shared = Path(os.environ.get("FLOPLEDGER_SHARED", HERE.parents[2] / "shared"))
    files = sorted(
        (path for path in (shared / "traces").rglob("*.json*") if path.suffix in (".json", ".gz")),
        key=lambda path: (path.stat().st_size, path),
    )
    passed = failed = 0
    for number, path in enumerate(files):
        if passed + failed == REAL_COUNT or path.stat().st_size > REAL_BYTES_MAX:
            break
        code, reports = report_of(program, path)
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        if (
            code != OK
            or len(reports) != 1
            or not str(report_kind(program, path)).startswith("torch")
        ):
            continue
        with tempfile.TemporaryDirectory(prefix="flopledger-formats-") as folder:
            alone = Path(folder) / path.name  # without captures beside it
            alone.write_bytes(path.read_bytes())
            problems = check_export(program, Path(folder), alone)
            rng = random.Random(number)
            problems += check_rocprof(program, Path(folder), text.decode(), rng)
            problems += check_rpd(program, Path(folder), text.decode(), rng)
            if protos:
                problems += compare_forms(program, Path(folder), text.decode(), rng)
        for problem in problems:
            print(f"FAILED: {path.name}: {problem}")
        failed += bool(problems)
        passed += not problems
    return passed, failed


def inspected(program: Path, path: Path) -> str:
    return " ".join(run(program, "inspect", path)[1].split())


def report_kind(program: Path, path: Path) -> Any:
    _, out, _ = run(program, "inspect", "--json", path)
    return value(json.loads(out)["ranks"][0]["sections"]["file"], "format") if out else None


def first_difference(wanted: Any, found: Any, where: str = "") -> str:
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in wanted:
            if wanted[key] != found.get(key):
                return first_difference(wanted[key], found.get(key), f"{where}/{key}")
    if isinstance(wanted, (list, tuple)) and isinstance(found, (list, tuple)):
        for i, (a, b) in enumerate(zip(wanted, found)):
            if a != b:
                return first_difference(a, b, f"{where}[{i}]")
    return f"{where}: {str(wanted)[:200]} became {str(found)[:200]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--real", action="store_true")
    arguments = parser.parse_args()
    failed = 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        with tempfile.TemporaryDirectory(prefix="flopledger-formats-") as folder:
            program = arguments.program.resolve()
            problems = check(program, Path(folder), seed)
            problems += check_ascend(program, Path(folder), seed)
            problems += check_rocprof_of(program, Path(folder), seed)
            if protos:
                problems += check_equality(program, Path(folder), seed)
        failed += bool(problems)
        for problem in problems:
            print(f"FAILED: seed {seed}: {problem}")
    if arguments.real:
        passed, lost = check_real(arguments.program.resolve())
        print(f"{passed + lost} recordings of other people")
        arguments.count += passed + lost
        failed += lost
    if not protos:
        print("skipped: Perfetto's own form needs the package perfetto")
    print(f"{arguments.count - failed} passed, {failed} failed, {0 if protos else 1} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
