"""`flopledger memory` beside a slow reference, on snapshots whose truth is known and on recorded ones.

    check_memory_snapshots.py PROGRAM

Made snapshots (tests/generate/make_snapshot.py) tell what their allocator counted; recorded ones are looked for in
$FLOPLEDGER_SHARED, else ../shared, and counted again here, event by event, in Python. Then hostile pickles: none may be read,
run anything, crash or hang.
"""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from shared_traces import ROOT, SHARED

MIB = 1 << 20
MAKER = ROOT / "tests" / "generate" / "make_snapshot.py"
VARIANTS = [
    [],
    ["--tags", "--leak", "--pending"],
    ["--expandable"],
    ["--limit", "120", "--oom", "100"],
    ["--limit", "90", "--oom", "90", "--expandable"],
    ["--max-entries", "37"],
    ["--max-entries", "90", "--pending", "--steps", "5"],
    ["--old"],
    ["--devices", "3", "--stacks", "none"],
    *[["--protocol", str(protocol)] for protocol in (0, 1, 2, 3, 5)],
]
# MiB, as worked out by hand from the files.
RECORDED = {
    "wedsonlin/medium_1024_training_memory_snapshot.pickle": {
        "peak_bytes": 23085.75,
        "start_bytes": 4859.82,
        "reserved": 24012.00,
        "allocated": 6556.02,
        "stuck": 6410,
        "releasable": 11046,
    },
    "wedsonlin/medium_512_training_memory_snapshot.pickle": {"peak_bytes": 11850.96},
    "wedsonlin/medium_1024_inference_memory_snapshot.pickle": {"peak_bytes": 2744.14},
    "silmont2000/mem_snapshot.pickle": {
        "peak_bytes": 3098.63,
        "reserved": 3606,
        "allocated": 30.25,
    },
}


class Counts:
    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0

    def check(self, holds: bool, text: str) -> None:
        self.passed += holds
        self.failed += not holds
        if not holds:
            print(f"FAILED: {text}")


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"asks for {module}.{name}")


def load(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        return PlainUnpickler(file).load()


def report(program: str, path: Path, *options: str) -> list[dict[str, Any]]:
    """The sections of each device."""
    command = [program, "memory", "--json", "--top", "0", *options, str(path)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    if done.returncode != 0:
        raise RuntimeError(f"{path.name}: {done.stderr.decode(errors='replace')}")
    return [rank["sections"] for rank in json.loads(done.stdout)["ranks"]]


def numbers(sections: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for key in ("snapshot_peak", "snapshot_allocator"):
        found |= {name: number["value"] for name, number in sections[key]["numbers"].items()}
    return found


# ---- a slow reference


def reference(snapshot: dict[str, Any], device: int) -> dict[str, Any]:
    """Walks backwards from the blocks of the snapshot: another way than the program's."""
    segments = [one for one in snapshot["segments"] if one.get("device", 0) == device]
    blocks = [block for segment in segments for block in segment["blocks"]]
    active = [block for block in blocks if block["state"] != "inactive"]
    trace = snapshot["device_traces"][device]
    total = sum(block["requested_size"] for block in active)
    end = total
    totals = [total]
    for event in reversed(trace):
        total -= event["size"] if event["action"] == "alloc" else 0
        total += event["size"] if event["action"] == "free_completed" else 0
        totals.append(total)
    totals.reverse()
    used = sum(block["size"] for block in active)
    stuck = releasable = 0
    for segment in segments:
        free = sum(block["size"] for block in segment["blocks"] if block["state"] == "inactive")
        is_unused = all(block["state"] == "inactive" for block in segment["blocks"])
        releasable += free if is_unused else 0
        stuck += 0 if is_unused else free
    peak = max(totals)
    return {
        "peak_bytes": peak,
        "peak_event": totals.index(peak),
        "start_bytes": totals[0],
        "end_bytes": end,
        "reserved": sum(segment["total_size"] for segment in segments),
        "allocated": used,
        "stuck": stuck,
        "releasable": releasable,
    }


def user_line(frames: list[dict[str, Any]]) -> str | None:
    for frame in frames:
        name = frame["filename"]
        if name.endswith(".py") and "/site-packages/" not in name and "/lib/python3" not in name:
            return f"{Path(name).name}:{frame['line']} {frame['name']}"
    return None


def places_at(snapshot: dict[str, Any], device: int, moment: int) -> Counter[str]:
    """Bytes by the user's line, of what the trace allocated and holds at a moment."""
    live: dict[int, dict[str, Any]] = {}
    for event in snapshot["device_traces"][device][:moment]:
        if event["action"] == "alloc":
            live[event["addr"]] = event
        elif event["action"] == "free_completed":
            live.pop(event["addr"], None)
    places: Counter[str] = Counter()
    for event in live.values():
        line = user_line(event["frames"])
        if line:
            places[line] += event["size"]
    return places


def check_against_reference(counts: Counts, program: str, path: Path) -> None:
    snapshot = load(path)
    for sections in report(program, path):
        found = numbers(sections)
        device = found["device"]
        for key, value in reference(snapshot, device).items():
            counts.check(found[key] == value, f"{path.name}: {key} is {value}, not {found[key]}")
        rows = sections["snapshot_peak"]["tables"]["by_place"]["rows"]
        said: Counter[str] = Counter()
        for row in rows:
            said[row["what"]] += row["bytes"]
        counts.check(
            sum(said.values()) == found["peak_bytes"], f"{path.name}: places add up to the peak"
        )
        for line, size in places_at(snapshot, device, found["peak_event"]).items():
            counts.check(said[line] >= size, f"{path.name}: {line} holds {size}, not {said[line]}")
        calls = sections["snapshot_peak"]["tables"]["calls"]["rows"]
        outermost = sum(row["bytes"] for row in calls if row["depth"] == 0)
        counts.check(outermost == found["peak_bytes"], f"{path.name}: calls add up to the peak")
        slices = sections["snapshot_timeline"]["tables"]["slices"]["rows"]
        most = max(row["most"] for row in slices)
        counts.check(most == found["peak_bytes"], f"{path.name}: a slice holds the peak")


# ---- the checks


def check_made(counts: Counts, program: str, folder: Path) -> None:
    path, truth_path = folder / "made.pickle", folder / "truth.json"
    for seed in range(3):
        for variant in VARIANTS:
            command = [sys.executable, str(MAKER), str(path), "--truth", str(truth_path)]
            options = ["--seed", str(seed), *variant]
            subprocess.run([*command, *options], check=True)
            truths = json.loads(truth_path.read_text())
            devices = report(program, path)
            counts.check(len(devices) == len(truths), f"{options}: {len(devices)} devices")
            for sections, truth in zip(devices, truths):
                found = numbers(sections)
                for key, value in truth.items():
                    if key != "events":
                        said = found[key]
                        counts.check(said == value, f"{options}: {key} is {value}, not {said}")
                warnings = [one["what"] for one in sections["snapshot_peak"]["findings"]]
                bad = [text for text in warnings if "contradict" in text or "cannot be" in text]
                counts.check(not bad, f"{options}: {bad}")
                if "--oom" in options:
                    counts.check("snapshot_oom" in sections, f"{options}: names the failure")


def check_packed(counts: Counts, program: str, folder: Path) -> None:
    path = folder / "made.pickle"
    subprocess.run([sys.executable, str(MAKER), str(path), "--tags"], check=True)
    plain = report(program, path)
    packed = folder / "made.pickle.gz"
    packed.write_bytes(subprocess.run(["gzip", "-c", path], capture_output=True, check=True).stdout)
    counts.check(report(program, packed) == plain, "packed or not, the page is the same")


def check_recorded(counts: Counts, program: str) -> None:
    for name, wanted in RECORDED.items():
        path = SHARED / "snapshots" / name
        if not path.exists():
            counts.skipped += 1
            print(f"skipped: {path} is not here")
            continue
        found = numbers(report(program, path)[0])
        for key, mib in wanted.items():
            decimals = 2 if mib != int(mib) else 0
            said = round(found[key] / MIB, decimals)
            counts.check(said == mib, f"{name}: {key} is {mib} MiB, not {said}")
        check_against_reference(counts, program, path)


# ---- hostile pickles


class Runs:
    """Its pickle makes the folder named `touched` when it is loaded carelessly."""

    def __init__(self, touched: Path) -> None:
        self.touched = touched

    def __reduce__(self) -> tuple[Any, ...]:
        import os

        return os.mkdir, (str(self.touched),)


class Built:
    def __init__(self) -> None:
        self.field = 1


def hostile_pickles(touched: Path, good: bytes) -> list[tuple[str, bytes]]:
    snapshot = pickle.loads(good)
    files = []
    for protocol in range(6):
        for place in ("root", "setting", "frame"):
            copy = pickle.loads(good)
            if place == "root":
                copy = Runs(touched)
            elif place == "setting":
                copy["allocator_settings"]["x"] = Runs(touched)
            else:
                copy["device_traces"][0][0]["frames"] = [Runs(touched)]
            files.append((f"reduce {place} {protocol}", pickle.dumps(copy, protocol)))
        files.append((f"build {protocol}", pickle.dumps(snapshot | {"x": Built()}, protocol)))
        files.append((f"class {protocol}", pickle.dumps(snapshot | {"x": Counts}, protocol)))
    files.append(("set of protocol 2", pickle.dumps(snapshot | {"x": {1, 2}}, 2)))
    files.append(("deep", b"\x80\x04" + b"]\x94(" * 200_000 + b"e" * 200_000 + b"."))
    files.append(("marks", b"\x80\x04" + b"(" * 1_000_000))
    files.append(("a long text", b"\x80\x04\x8d" + (1 << 40).to_bytes(8, "little") + b"x"))
    files.append(("a long number", b"\x80\x04\x8b" + (1 << 30).to_bytes(4, "little") + b"x"))
    return files


def check_refused(counts: Counts, program: str, name: str, path: Path, is_told: bool) -> None:
    """Refused with a message, or read (damage may hit what does not matter); never a crash."""
    command = [program, "memory", str(path)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    message = done.stderr.decode(errors="replace")
    if is_told:
        told = done.returncode == 3 and path.name in message and "byte" in message
        counts.check(told, f"{name}: exit {done.returncode}: {message}")
    else:
        is_calm = done.returncode in (0, 3, 4, 5) and "internal error" not in message
        counts.check(is_calm, f"{name}: exit {done.returncode}: {message}")


def check_hostile(counts: Counts, program: str, folder: Path) -> None:
    path, touched = folder / "hostile.pickle", folder / "touched"
    maker = [sys.executable, str(MAKER), str(path), "--steps", "1", "--layers", "2"]
    subprocess.run([*maker, "--tags"], check=True)
    good = path.read_bytes()
    for name, content in hostile_pickles(touched, good):
        path.write_bytes(content)
        check_refused(counts, program, name, path, name not in ("deep",))
    counts.check(not touched.exists(), "nothing was run")
    for size in range(0, len(good), max(1, len(good) // 40)):
        path.write_bytes(good[:size])
        check_refused(counts, program, f"cut to {size}", path, size > 2)
    chance = random.Random(7)
    for number in range(60):
        damaged = bytearray(good)
        for _ in range(1 + number % 4):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        check_refused(counts, program, f"damaged {number}", path, False)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    counts = Counts()
    program = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_made(counts, program, folder)
        check_packed(counts, program, folder)
        check_hostile(counts, program, folder)
    check_recorded(counts, program)
    print(f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped")
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
