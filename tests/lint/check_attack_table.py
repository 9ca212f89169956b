#!/usr/bin/env python3
"""docs/security.md has a row for every kind of attack that tests/attack tries, and no other: `./dev test attack --table` writes them.

A kind is what `book.kind(...)` is called with. Of a name that is made of several texts, the one row that fits is enough.
"""

import ast
import re
from pathlib import Path

from source_files import ROOT, finish

PAGE = ROOT / "docs" / "security.md"
ROW = re.compile(r"^\| (?P<kind>[^|]+?) \| [\d,]+ \|", re.MULTILINE)


def pattern_of(name: ast.expr) -> str:
    """A regular expression of the names that it can be."""
    if isinstance(name, ast.Constant):
        return re.escape(str(name.value))
    if isinstance(name, ast.JoinedStr):
        return "".join(
            re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+"
            for part in name.values
        )
    return ".+"  # any: such a name can't be found, and is told of below


def kinds_of(path: Path) -> list[str]:
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return [
        pattern_of(call.args[0])
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "kind" and call.args
    ]


def main() -> None:
    rows = ROW.findall(PAGE.read_text())
    problems = []
    known: list[str] = []
    for path in sorted((ROOT / "tests" / "attack").glob("attack_*.py")):
        kinds = kinds_of(path)
        if not kinds or ".+" in kinds:
            problems.append(f"{path.name}: no kind of attack, or one whose name is not written out")
        for kind in kinds:
            if not any(re.fullmatch(kind, row) for row in rows):
                problems.append(f"{path.name}: {PAGE.name} has no row for '{kind}'")
        known += kinds
    for row in rows:
        if not any(re.fullmatch(kind, row) for kind in known):
            problems.append(f"{PAGE.name}: nothing tries '{row}'")
    finish(len(known) + len(rows), problems, len(problems))


if __name__ == "__main__":
    main()
