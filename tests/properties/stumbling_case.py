"""What each case of stumbling_blocks.py is given: a folder, and what the program says of a file in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recorder_formats import report_of, rows, run


class Case:
    """A file to be written, and what is asked of it."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder

    def kernels(self, path: Path, rank: int = 0) -> dict[str, tuple[int, int]]:
        """Calls and ns of each kernel."""
        _, ranks = report_of(self.program, path)
        found = rows(ranks[rank]["sections"]["kernels"], "by_name")
        return {row["kernel"]: (row["count"], row["total"]) for row in found}

    def rows(self, path: Path, section: str, table: str) -> list[dict[str, Any]]:
        _, ranks = report_of(self.program, path)
        return rows(ranks[0]["sections"][section], table)

    def numbers(self, path: Path, section: str, rank: int = 0) -> dict[str, Any]:
        _, ranks = report_of(self.program, path)
        found = ranks[rank]["sections"][section]["numbers"]
        return {key: number["value"] for key, number in found.items()}

    def export(self, path: Path, to: Path) -> Path:
        """In Perfetto's form."""
        run(self.program, "export", "perfetto", "--force", "-o", to, path)
        return to

    def printed(self, path: Path, command: str = "inspect") -> str:
        _, out, err = run(self.program, *command.split(), path)
        return " ".join((out + err).split())

    def code(self, path: Path) -> int:
        return run(self.program, "report", path)[0]


def same(found: Any, wanted: Any) -> None:
    if found != wanted:
        raise AssertionError(f"{found}, wanted {wanted}")
