"""d. What recording costs on the GPU: each way beside the plain step, by turns, seven rounds. (That losses stay the same to the bit is
checked where training is recorded, in a.)"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from findings import Findings
from machine import ROOT, Setting
from recorded import run

PART = "d"
ROUNDS = 7
ROUNDS_ON_HOST = 1  # of the stand-in: whether it runs
PLAIN = "plain"
BETWEEN = "flopledger: between recorded windows"
BETWEEN_AT_MOST = 1.02  # times the plain step, in the median of the rounds
OURS, THEIRS = "flopledger: shapes, markers", "torch.profiler, shapes"
OURS_AT_MOST = 1.15  # times torch.profiler with shapes: the markers of modules


def ratios(seconds: dict[str, list[float]], way: str, to: str) -> list[float]:
    """Round by round."""
    return [own / other for own, other in zip(seconds[way], seconds[to])]


def package_of(program: Path) -> Path:
    """The folder of the recorder: beside a program that was built here, or where a wheel has put both."""
    nearby = [program.parent / "python", *program.parents[:4]]
    nearby += program.parent.parent.glob("lib/python3*/site-packages")
    for folder in nearby:
        if list(folder.glob("flopledger/step_writer*.so")):
            return folder
    return nearby[0]


def measure(setting: Setting, rounds: int) -> dict[str, Any]:
    result = setting.folder / "overhead.json"
    words = [setting.python, ROOT / "bench" / "record_overhead.py", "--rounds", rounds]
    words += ["--extension", package_of(setting.program), "--device", setting.device]
    run(setting, [*words, "--json", result])
    told: dict[str, Any] = json.loads(result.read_text())
    return told


def check_between(found: Findings, of_rounds: list[float]) -> None:
    """A host whose plain steps differ by a tenth does not tell two hundredths: rounds on both sides of them say nothing."""
    least, *_, most = sorted(of_rounds)
    between = median(of_rounds)
    if least <= BETWEEN_AT_MOST < between:
        told = f"rounds lie from {least:.3f} to {most:.3f} of it, their median at {between:.3f}"
        found.skip(PART, f"a step between windows beside the plain one: {told}")
        return
    where = (PART, "overhead")
    found.at_most(where, "a step between windows, of the plain one", between, BETWEEN_AT_MOST)


def check(setting: Setting, found: Findings) -> None:
    rounds = ROUNDS if setting.is_real else ROUNDS_ON_HOST
    told = measure(setting, rounds)
    seconds = told["seconds"]
    place = (PART, "overhead")
    wanted = {PLAIN, BETWEEN, OURS, f"{OURS}, memory", THEIRS, "torch.profiler", "FlopCounterMode"}
    found.equal(place, "ways that were measured", sorted(wanted - set(seconds)), [])
    found.equal(place, "rounds", {len(each) for each in seconds.values()}, {rounds})
    for way, each in seconds.items():
        beside = ratios(seconds, way, PLAIN)
        found.row(
            "overhead",
            way=way,
            ms=1e3 * median(each),
            ratio=median(beside),
            least=min(beside),
            most=max(beside),
        )
    if not any("DeepSpeed" in way for way in seconds):
        found.skip(PART, "DeepSpeed is not installed in this Python")
    if setting.is_real:
        check_between(found, ratios(seconds, BETWEEN, PLAIN))
        ours = median(ratios(seconds, OURS, THEIRS))
        found.at_most(place, "shapes and markers, of torch.profiler", ours, OURS_AT_MOST)
        found.row("window", **{key: told["window"][key] for key in sorted(told["window"])})
