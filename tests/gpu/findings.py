"""What the parts of the GPU suite found: each check with our number, the truth, and how far apart they may be."""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = "flopledger.gpu_proof"


@dataclass
class Check:
    part: str  # "a"
    case: str  # "autocast"
    what: str  # "MFU"
    ours: Any
    truth: Any
    tolerance: float  # of the truth; 0: equal
    is_right: bool
    unit: str = ""

    def line(self) -> str:
        mark = "passed" if self.is_right else "FAILED"
        apart = "" if self.tolerance == 0 else f" (within {100 * self.tolerance:g} %)"
        numbers = f"{told(self.ours)} of {told(self.truth)} {self.unit}".rstrip()
        return f"{mark}: {self.part}. {self.case}: {self.what}: {numbers}{apart}"


def told(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


@dataclass
class Findings:
    """Of one run of the suite. A part that breaks off is a failed check, never a missing one."""

    checks: list[Check] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    tables: dict[str, list[dict[str, Any]]] = field(
        default_factory=dict
    )  # what is measured, not judged

    def add(self, check: Check) -> bool:
        self.checks.append(check)
        print(check.line(), flush=True)
        return check.is_right

    def equal(
        self, place: tuple[str, str], what: str, ours: Any, truth: Any, unit: str = ""
    ) -> bool:
        return self.add(Check(*place, what, ours, truth, 0, ours == truth, unit))

    def near(
        self,
        place: tuple[str, str],
        what: str,
        ours: Any,
        truth: Any,
        within: float,
        unit: str = "",
    ) -> bool:
        """Within a share of the truth. What is not a finite number is not near anything."""
        numbers = [ours, truth]
        is_right = all(isinstance(n, (int, float)) and math.isfinite(n) for n in numbers)
        is_right = is_right and abs(ours - truth) <= within * abs(truth)
        return self.add(Check(*place, what, ours, truth, within, is_right, unit))

    def at_most(self, place: tuple[str, str], what: str, ours: Any, most: float) -> bool:
        is_right = isinstance(ours, (int, float)) and math.isfinite(ours) and ours <= most
        return self.add(Check(*place, f"{what}, at most", ours, most, 0, is_right))

    def skip(self, part: str, why: str) -> None:
        self.skipped.append(f"{part}. {why}")
        print(f"skipped: {part}. {why}", flush=True)

    def row(self, table: str, **cells: Any) -> None:
        self.tables.setdefault(table, []).append(cells)

    @contextmanager
    def part(self, part: str, case: str) -> Iterator[None]:
        """What breaks off within it is a failed check; the rest of the suite goes on."""
        try:
            yield
        except Exception as error:  # pylint: disable=broad-except
            print(f"{part}. {case}: {error}", flush=True)  # whole; the line of the check is short
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__} in {Path(where.filename).name}:{where.lineno}: {error}"
            self.add(Check(part, case, "ran to its end", text, "yes", 0, False))

    @property
    def failed(self) -> int:
        return sum(not check.is_right for check in self.checks)

    def count_line(self) -> str:
        passed = len(self.checks) - self.failed
        return f"{passed} passed, {self.failed} failed, {len(self.skipped)} skipped"

    def write(self, path: Path, machine: dict[str, Any]) -> None:
        content = {"schema": SCHEMA, "schema_version": 1, "machine": machine}
        content["checks"] = [asdict(check) for check in self.checks]
        content |= {"skipped": self.skipped, "tables": self.tables}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1, default=str) + "\n")
