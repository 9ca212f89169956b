#!/usr/bin/env python3
"""Holds the table of ARCHITECTURE.md: who may include whom, and in which order."""

import re
from pathlib import Path

from source_files import ROOT, c_files, finish

MAY_INCLUDE = {
    "main.c": {"commands", "base"},
    "commands": {
        "readers",
        "nsys_stats",
        "nsys",
        "analyses",
        "comparison",
        "reports",
        "exports",
        "ledger",
        "modules",
        "flops",
        "devices",
        "architectures",
        "efficiency",
        "ranks",
        "memory",
        "logs",
        "job",
        "flight_recorder",
        "critical_path",
        "replay",
        "results",
        "step_record",
        "live",
        "trace",
        "base",
    },
    "comparison": {
        "ledger",
        "efficiency",
        "modules",
        "flops",
        "memory",
        "trace",
        "results",
        "base",
    },
    "advice": {
        "replay",
        "efficiency",
        "devices",
        "ledger",
        "modules",
        "flops",
        "trace",
        "results",
        "base",
    },
    "analyses": {
        "advice",
        "ledger",
        "modules",
        "flops",
        "devices",
        "architectures",
        "efficiency",
        "ranks",
        "memory",
        "flight_recorder",
        "critical_path",
        "replay",
        "trace",
        "results",
        "base",
    },
    "ranks": {
        "efficiency",
        "devices",
        "architectures",
        "ledger",
        "modules",
        "flops",
        "trace",
        "base",
    },
    "efficiency": {"devices", "architectures", "ledger", "modules", "flops", "trace", "base"},
    "readers": {"memory", "nsys", "trace", "base"},
    "nsys": {"base"},
    "nsys_stats": {"nsys", "base"},
    "ledger": {"trace", "base"},
    "modules": {"trace", "flops", "architectures", "base"},
    "flops": {"base"},
    "memory": {"modules", "trace", "base"},
    "logs": {"job", "base"},
    "job": {"base"},
    "flight_recorder": {"base"},
    "replay": {"ledger", "trace", "base"},
    "critical_path": {"replay", "ledger", "trace", "base"},
    "devices": {"base"},
    "architectures": {"base"},
    "reports": {"results", "base"},
    "exports": {"efficiency", "ledger", "modules", "trace", "results", "base"},
    "results": {"base"},
    "trace": {"base"},
    "step_record": {"base"},
    "live": {"step_record", "base"},
    "base": set(),
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')


def kinds_in(folder: str) -> list[str]:
    """The names in the folder's list.def: READER(torch_profiler_json) is torch_profiler_json."""
    list_file = ROOT / "src" / folder / "list.def"
    if not list_file.exists():
        return []
    text = re.sub(r"/\*.*?\*/", "", list_file.read_text(), flags=re.DOTALL)
    return re.findall(r"^[A-Z_]+\((\w+)\)", text, flags=re.MULTILINE)


def kind_of(stem: str, kinds: list[str]) -> str | None:
    """The kind that a file belongs to: torch_profiler_json_args.c belongs to torch_profiler_json."""
    owners = [kind for kind in kinds if stem == kind or stem.startswith(kind + "_")]
    return max(owners, key=len, default=None)


def includes_of(path: Path) -> list[tuple[int, str, bool]]:
    """(line number, what, is it ours) of every include but those of tables (list.def and the like)."""
    result = []
    for number, line in enumerate((ROOT / path).read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match and not (match[1] or "").endswith(".def"):
            result.append((number, match[1] or match[2], match[1] is not None))
    return result


def check_arrows(path: Path) -> list[str]:
    folder = path.parts[1]
    allowed = MAY_INCLUDE.get(folder)
    if allowed is None:
        return [
            f"{path}: the folder src/{folder} is not in the table of tests/lint/check_includes.py"
        ]
    problems = []
    kinds = kinds_in(folder)
    for number, name, is_ours in includes_of(path):
        if not is_ours:
            continue
        where = f"{path}:{number}"
        if "/" not in name:
            problems.append(f'{where}: write the folder too: #include "{folder}/{name}"')
            continue
        other = name.split("/")[0]
        if other != folder and other not in allowed:
            may = ", ".join(sorted(allowed)) or "nothing"
            problems.append(
                f"{where}: {folder} may not include {other} ({name}); it may include {may}"
            )
        neighbour = kind_of(Path(name).stem, kinds) if other == folder else None
        if neighbour and neighbour != kind_of(path.stem, kinds):
            problems.append(f"{where}: siblings do not include each other: {name}")
    return problems


def check_order(path: Path) -> list[str]:
    """The file's own header first, then the project's, then the system's."""
    includes = includes_of(path)
    problems = []
    own = f"{path.parts[1]}/{path.stem}.h"
    if path.suffix == ".c" and (ROOT / "src" / own).exists():
        if not includes or includes[0][1] != own:
            problems.append(f'{path}: #include "{own}" must come first')
    last_system = 0
    for number, name, is_ours in includes:
        if not is_ours:
            last_system = number
        elif last_system:
            problems.append(f"{path}:{number}: {name} must stand above the system's headers")
    return problems


def check_registered(path: Path) -> list[str]:
    """A file that defines a reader, an analysis, ... has a line in list.def."""
    noun = {"readers": "reader", "analyses": "analysis", "reports": "report", "commands": "command"}
    kind = noun.get(path.parts[1])
    if kind is None or path.suffix != ".c":
        return []
    kinds = kinds_in(path.parts[1])
    defined = re.findall(
        rf"^const struct {kind} (\w+)_{kind}\b\s*=", (ROOT / path).read_text(), re.MULTILINE
    )
    return [
        f"{path}: has {name}_{kind}, but src/{path.parts[1]}/list.def has no line {kind.upper()}({name})"
        for name in defined
        if name not in kinds
    ]


def check_architecture() -> list[str]:
    """The table in ARCHITECTURE.md says the same as the one above."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    match = re.search(r"^\| folder \| may include \|\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    if not match:
        return ["ARCHITECTURE.md: the table `| folder | may include |` is gone"]
    written = {}
    for row in match[1].splitlines():
        folders, may = (re.findall(r"[\w.]+", cell) for cell in row.strip("| ").split("|"))
        written |= {folder: set(may) for folder in folders}
    return [
        f"ARCHITECTURE.md says that {folder} may include {sorted(written.get(folder, set()))}, "
        f"tests/lint/check_includes.py {sorted(allowed)}"
        for folder, allowed in MAY_INCLUDE.items()
        if written.get(folder, set()) != allowed
    ]


def main() -> None:
    problems = check_architecture()
    failed = int(bool(problems))
    files = c_files()
    for path in files:
        found = check_arrows(path) + check_order(path) + check_registered(path)
        failed += bool(found)
        problems += found
    finish(len(files) + 1, problems, failed)


if __name__ == "__main__":
    main()
