"""Runs the program on a file and takes from its JSON report what the properties compare."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SECONDS_MAX = 20
DOCUMENTED_CODES = {0, 3, 4, 5}  # 1 and 2 are for failures that no input causes
DAMAGED = 5


class Failure(Exception):
    """A property does not hold."""


@dataclass
class Report:
    code: int
    output: bytes
    message: str
    sections: dict[str, Any]  # of the first rank
    ranks: list[dict[str, Any]]  # the sections of all

    @property
    def steps(self) -> list[dict[str, int]]:
        """Every step with its accounts, in ns."""
        rows: list[dict[str, int]] = self.sections["step_ledger"]["tables"]["steps"]["rows"]
        return rows

    @property
    def events(self) -> int:
        count: int = self.sections["run"]["numbers"]["events"]["value"]
        return count

    @property
    def warnings(self) -> str:
        """What the report says of the input, one finding a line."""
        findings = self.sections["run"]["findings"]
        return "\n".join(f"{f['what']} {f['evidence'] or ''}" for f in findings)


def run_report(
    program: Path,
    source: Path,
    arguments: tuple[str, ...] = (),
    environment: dict[str, str] | None = None,
    data: bytes = b"",
    command: str = "report",
) -> Report:
    """Runs in the file's folder, so that the report names the file without it. `data` is given to standard input.

    Made traces have marks wherever they like: their steps are the marks, unless `arguments` name a clock.
    """
    clock = ("--clock", "host") if command == "report" and "--clock" not in arguments else ()
    words = [str(program), command, "--json", "--no-progress", *clock, *arguments, source.name]
    try:
        done = subprocess.run(
            words,
            cwd=source.parent,
            env=os.environ | (environment or {}),
            input=data,
            capture_output=True,
            timeout=SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Failure(f"hangs: no report within {SECONDS_MAX} s") from None
    return judged(done.returncode, done.stdout, done.stderr.decode(errors="replace"))


def judged(code: int, output: bytes, message: str) -> Report:
    if code not in DOCUMENTED_CODES:
        raise Failure(f"ends with code {code}: {message[-1500:]}")
    ranks: list[dict[str, Any]] = []
    if code in (0, DAMAGED):
        ranks = [rank["sections"] for rank in json.loads(output)["ranks"]]
    elif not message.strip():
        raise Failure(f"ends with code {code} and no message")
    return Report(code, output, message, ranks[0] if ranks else {}, ranks)


FACTS = (
    *("depth", "step", "start", "duration", "busy", "tail", "opened_by_sync", "is_cut"),
    *("start_unix", "samples", "tokens", "not_known"),
)


def compare_ledger(report: Report, ledger: dict[str, Any]) -> None:
    """Every account of every step is as it was built, to the nanosecond."""
    if report.code not in (0, DAMAGED):
        raise Failure(f"ends with code {report.code}: {report.message}")
    if len(report.steps) != len(ledger["steps"]):
        raise Failure(f"{len(report.steps)} steps, {len(ledger['steps'])} were built")
    for row, built in zip(report.steps, ledger["steps"]):
        accounts = {key: value for key, value in row.items() if key not in FACTS}
        duration = built["end_ns"] - built["start_ns"]
        facts = {"step": built["number"], "start": built["start_ns"], "duration": duration}
        unlike = [key for key in facts if row[key] != facts[key]]
        if unlike:
            raise Failure(f"step {built['number']}: {unlike[0]} is {row[unlike[0]]}, not {facts}")
        if sum(accounts.values()) != duration:
            raise Failure(
                f"step {row['step']}: parts sum to {sum(accounts.values())}, not {duration}"
            )
        busy = sum(value for key, value in accounts.items() if not key.startswith("idle_"))
        if row["busy"] != busy:
            raise Failure(f"step {row['step']}: busy is {row['busy']}, its parts sum to {busy}")
        for account in accounts.keys() | built["accounts"].keys():
            if account not in accounts:
                raise Failure(f"there is no account '{account}' in the report")
            wanted = built["accounts"].get(account, 0)
            if accounts[account] != wanted:
                raise Failure(
                    f"step {row['step']}: {account} is {accounts[account]} ns, {wanted} ns were "
                    f"built; difference of all: {differences(accounts, built['accounts'])}"
                )


def differences(accounts: dict[str, int], built: dict[str, int]) -> dict[str, int]:
    keys = accounts.keys() | built.keys()
    unlike = {key: accounts.get(key, 0) - built.get(key, 0) for key in sorted(keys)}
    return {key: difference for key, difference in unlike.items() if difference}


def compare_output(one: Report, other: Report, what: str) -> None:
    """Byte for byte."""
    if one.code == other.code and one.output == other.output:
        return
    if one.code != other.code:
        raise Failure(f"{what}: code {other.code} instead of {one.code}: {other.message[-500:]}")
    lines = zip(one.output.splitlines(), other.output.splitlines())
    for number, (left, right) in enumerate(lines, 1):
        if left != right:
            at = next(i for i, pair in enumerate(zip(left, right)) if pair[0] != pair[1])
            where = slice(max(0, at - 60), at + 60)
            raise Failure(
                f"{what}: line {number} of the report is {right[where]!r} instead of {left[where]!r}"
            )
    raise Failure(f"{what}: the report has another length")


def compare_steps(one: Report, other: Report, what: str) -> None:
    """The same steps with the same accounts. Whether the last is cut may differ, and since when the clock counts: that may
    stand in the part that is missing."""
    may_differ = {"is_cut", "start_unix", "not_known"}
    left, right = (
        [
            {key: value for key, value in row.items() if key not in may_differ}
            for row in report.steps
        ]
        for report in (one, other)
    )
    if left != right:
        raise Failure(f"{what}: another ledger: {right} instead of {left}")


def unlike(left: Any, right: Any, path: str = "") -> str:
    """The first place where two sections are not the same."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in left.keys() | right.keys():
            if left.get(key) != right.get(key):
                return unlike(left.get(key), right.get(key), f"{path}.{key}")
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for i, pair in enumerate(zip(left, right)):
            if pair[0] != pair[1]:
                return unlike(*pair, f"{path}[{i}]")
    return f"{path}: {left!r} in the one, {right!r} in the other"
