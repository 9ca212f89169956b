#!/usr/bin/env python3
"""What the program says first of other people's traces, databases and logs, beside what an expert says.

    check_first_findings.py PROGRAM [--table] [NAME...]

first_findings.tsv holds the expert's words: written by hand from the raw events, before the program was asked, with one line of
why. At least 95 % of the files must agree, and the table explains the others; --table prints each file with both, NAME takes only files whose name has it. Needs
the folder of other people's traces: FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import multiprocessing
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from shared_traces import SHARED, Outcome, program_of, run_program, skip_without

import json

LABELS = Path(__file__).with_name("first_findings.tsv")
FILES_MIN = 60
AGREEMENT_MIN = 0.95
SHARE_MIN = 0.02


@dataclass(frozen=True)
class Label:
    file: str
    command: str
    first: str
    also: tuple[str, ...]
    why: str
    otherwise: str  # why the program says something else; "" where it does not


def labels() -> list[Label]:
    rows = []
    for line in LABELS.read_text().splitlines():
        if line and not line.startswith("#"):
            file, command, first, also, why, *otherwise = line.split("\t")
            also_right = tuple(filter(None, also.split(",")))
            rows.append(Label(file, command, first, also_right, why, "".join(otherwise)))
    return rows


def first_of_trace(report: dict[str, Any]) -> str:
    """The first finding of the advice; one that has no price says nothing of time."""
    for rank in report["ranks"]:
        findings = rank["sections"].get("advice", {}).get("findings", [])
        for finding in findings:
            if finding.get("id") and finding["id"] != "short_recording":
                return str(finding["id"])
    return "none"


def first_of_log(report: dict[str, Any]) -> str:
    """The first finding with a name."""
    for rank in report["ranks"]:
        for section in rank["sections"].values():
            for finding in section.get("findings", []):
                if finding.get("id"):
                    return str(finding["id"])
    return "none"


def first_finding(program: Path, label: Label) -> str:
    run = run_program(program, label.command, SHARED / label.file, [])
    try:
        report = json.loads(run.output)
    except ValueError:
        return "no_report"
    return first_of_trace(report) if label.command == "report" else first_of_log(report)


def main() -> None:
    shows_table = "--table" in sys.argv
    arguments = [word for word in sys.argv if word != "--table"]
    program = program_of(arguments)
    skip_without(SHARED)
    wanted = [
        label
        for label in labels()
        if not arguments[2:] or any(name in label.file for name in arguments[2:])
    ]
    outcome = Outcome("first findings")
    agreed = 0
    with multiprocessing.Pool(2) as pool:
        for label, said in zip(wanted, pool.imap(partial(first_finding, program), wanted)):
            agrees = said == label.first or said in label.also
            agreed += agrees
            outcome.check(
                agrees != bool(label.otherwise),
                f"{label.file}: {'agrees now' if agrees else 'why we say otherwise'} is not written down",
            )
            if shows_table or not agrees:
                outcome.note(
                    f"{'' if agrees else 'OTHERWISE '}{label.file}: expert {label.first}, we {said}"
                )
    outcome.note(f"{agreed} of {len(wanted)} agree")
    if not arguments[2:]:
        outcome.check(len(wanted) >= FILES_MIN, f"at least {FILES_MIN} files")
    outcome.check(
        agreed >= AGREEMENT_MIN * len(wanted),
        f"{agreed} of {len(wanted)} agree, at least {AGREEMENT_MIN:.0%} must",
    )
    all_counts = Outcome("all")
    all_counts.add(outcome)
    all_counts.finish()


if __name__ == "__main__":
    main()
