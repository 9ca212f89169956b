#!/usr/bin/env python3
"""Scores a tool on the benchmark: score.py FOLDER ANSWERS.json [--table FILE]

ANSWERS.json: {"NAME": {"cause": "data_loading", "speedup": 1.27}, ...}; null for what the tool does not say. Prints a line for each run;
--table writes the table of docs/causes.md between its marks.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NEAR = 0.1
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"
MISSES = Path(__file__).with_name("misses.json")


@dataclass(frozen=True)
class Row:
    name: str
    causes: tuple[str, ...]
    origin: str
    measured: float
    said: str | None
    estimated: float | None

    @property
    def is_right(self) -> bool:
        return self.said in self.causes

    @property
    def is_near(self) -> bool:
        """The estimate is of the right cause."""
        if not self.is_right or self.estimated is None:
            return False
        return abs(self.estimated / self.measured - 1) <= NEAR


def rows_of(folder: Path, answers: dict[str, Any]) -> list[Row]:
    rows = []
    for path in sorted(folder.glob("*/label.json")):
        label, name = json.loads(path.read_text()), path.parent.name
        answer = answers.get(name) or {}
        rows.append(
            Row(
                name,
                tuple(label["causes"]),
                label["origin"],
                label["speedup"],
                answer.get("cause"),
                answer.get("speedup"),
            )
        )
    return rows


def summary(rows: list[Row]) -> str:
    right, near = sum(row.is_right for row in rows), sum(row.is_near for row in rows)
    return (
        f"right cause first: {right} of {len(rows)} ({100 * right / len(rows):.1f} %); "
        f"gain within {100 * NEAR:.0f} % of the measured one: {near} of {len(rows)}"
    )


def table(rows: list[Row]) -> str:
    lines = [
        "| run | cause | said first | gain, measured | estimated | |",
        "|---|---|---|--:|--:|---|",
    ]
    why = json.loads(MISSES.read_text())
    for row in rows:
        estimated = "–" if row.estimated is None else f"{row.estimated:.2f}"
        note = "" if row.is_near else why.get(row.name, "not explained")
        said = f"`{row.said}`" if row.said else "nothing"
        lines.append(
            f"| {row.name} | `{row.causes[0]}` | {said if row.is_right else f'**{said}**'} | "
            f"{row.measured:.2f} | {estimated} | {note} |"
        )
    return "\n".join([summary(rows).capitalize() + ".", "", *lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--table", type=Path)
    given = parser.parse_args()
    rows = rows_of(given.folder, json.loads(given.answers.read_text()))
    for row in rows:
        print(row.name, "right" if row.is_right else "WRONG", row.said, row.measured, row.estimated)
    print(summary(rows))
    if given.table is not None:
        text = given.table.read_text()
        before, rest = text.split(BEGIN)
        after = rest.split(END)[1]
        given.table.write_text(before + BEGIN + "\n" + table(rows) + "\n" + END + after)


if __name__ == "__main__":
    main()
