#!/usr/bin/env python3
"""The table of devices, beside a table that others collected: check_peaks.py PROGRAM

Each device of reference/peaks.tsv in the folder of other people's data (FLOPLEDGER_SHARED, or ../shared beside the
checkout) is asked for by its name, and must have the same figures, but for those in DEPARTURES. Skips without it.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

from shared_traces import SHARED, Outcome, note_apart, program_of, skip_without

TABLE = SHARED / "reference" / "peaks.tsv"
COLUMNS = {
    "fp64_vec": "fp64",
    "fp64_tc": "fp64-matrix",
    "fp32_vec": "fp32",
    "tf32": "tf32",
    "fp16": "fp16",
    "bf16": "bf16",
    "fp8": "fp8",
    "fp4": "fp4",
    "int8": "int8",
}
OUR_NAMES = {
    "NVIDIA H100 NVL (per GPU)": "NVIDIA H100 NVL",
    "NVIDIA GB200 (per GPU)": "NVIDIA GB200",
    "NVIDIA GB300 (per GPU)": "NVIDIA GB300",
    "NVIDIA RTX PRO 6000 Blackwell": "NVIDIA RTX PRO 6000 Blackwell Workstation",
    "AMD MI250X (card, 2 GCD)": "AMD Instinct MI250X",
    "AWS Trainium1 (per NeuronCore-v2)": "AWS Trainium1",
    "AWS Trainium2 (chip)": "AWS Trainium2",
    "Google TPU v7x (chip)": "TPU7x",
}
DIES_OF_ONE = {"AMD MI250X (card, 2 GCD)": 2, "Google TPU v7x (chip)": 2}

# (device, column): what our table has instead, and why. None stands for every device, or for no figure.
DEPARTURES: dict[tuple[str | None, str], tuple[float | None, str]] = {
    (None, "fp64_vec"): (
        None,
        "'-' there is 'a rate nobody trains at' on most cards, not 'no unit'",
    ),
    (None, "fp32_vec"): (None, "'-' there is 'not given'"),
    ("NVIDIA B200 SXM", "fp64_vec"): (37, "that of a GB200 there"),
    ("NVIDIA B200 SXM", "fp64_tc"): (37, "that of a GB200 there"),
    ("NVIDIA B200 SXM", "fp32_vec"): (75, "that of a GB200 there"),
    ("NVIDIA B300 SXM", "fp4"): (13500, "two figures there; 108000 of eight by the data sheet"),
    ("NVIDIA B300 SXM", "int8"): (None, "doubtful there, too"),
    ("NVIDIA RTX PRO 6000 Blackwell", "tf32"): (251.9, "follows from the 16-bit rate"),
    ("NVIDIA RTX PRO 6000 Blackwell", "fp8"): (1007.6, "follows from the 16-bit rate"),
    ("NVIDIA RTX PRO 6000 Blackwell", "fp4"): (2015.2, "follows from the 16-bit rate"),
    ("NVIDIA RTX PRO 6000 Blackwell", "int8"): (1007.6, "follows from the 16-bit rate"),
    ("Huawei Ascend 910B", "fp16"): (None, "four bins, four figures"),
    ("Huawei Ascend 910B", "bf16"): (None, "four bins, four figures"),
    ("AWS Trainium1 (per NeuronCore-v2)", "fp32_vec"): (23.75, "half of a chip's 47.5"),
    ("AWS Trainium1 (per NeuronCore-v2)", "tf32"): (95, "half of a chip's 190"),
    ("AWS Trainium1 (per NeuronCore-v2)", "fp16"): (95, "half of a chip's 190"),
    ("AWS Trainium1 (per NeuronCore-v2)", "bf16"): (95, "half of a chip's 190"),
    ("AWS Trainium1 (per NeuronCore-v2)", "fp8"): (95, "half of a chip's 190"),
    ("AWS Trainium1 (per NeuronCore-v2)", "int8"): (190, "half of a chip's 380"),
}


def our_peaks(program: Path, name: str) -> dict[str, float | None] | str:
    done = subprocess.run(
        [str(program), "device", "--json", name], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return done.stderr.strip()
    section = json.loads(done.stdout)["ranks"][0]["sections"]["device"]
    return {row["type"]: row["peak"] for row in section["tables"]["peaks"]["rows"]}


def check_device(outcome: Outcome, program: Path, row: dict[str, str]) -> None:
    device = row["device"]
    ours = our_peaks(program, OUR_NAMES.get(device, device))
    if isinstance(ours, str):
        outcome.check(False, ours)
        return
    for column, name in COLUMNS.items():
        theirs, mine = row[column], ours[name]
        if (device, column) in DEPARTURES:
            departure, why = DEPARTURES[device, column]
            outcome.check(mine == departure, f"{device} {name}: {mine}, not {departure}: {why}")
        elif theirs in ("-", "?"):
            is_none = mine is None or (None, column) in DEPARTURES
            outcome.check(is_none, f"{device} {name}: {mine}, but '{theirs}' there")
        else:
            expected = float(theirs) / DIES_OF_ONE.get(device, 1)
            is_same = mine is not None and abs(mine / expected - 1) < 1e-9
            if is_same:
                note_apart(mine / expected - 1, "of a rate")
            outcome.check(is_same, f"{device} {name}: {mine}, but {expected} there")


def main() -> None:
    skip_without(SHARED)
    program = program_of(sys.argv)
    outcome = Outcome("peaks.tsv")
    with TABLE.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader((line for line in lines if line[0] != "#"), delimiter="\t"))
    for row in rows:
        check_device(outcome, program, row)
    outcome.check(len(rows) >= 40, f"only {len(rows)} devices were read")
    total = Outcome("all")
    total.add(outcome)
    total.finish()


if __name__ == "__main__":
    main()
