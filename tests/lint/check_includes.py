#!/usr/bin/env python3
"""Holds the table of ARCHITECTURE.md: which room may include which, and in which order."""

import re
from pathlib import Path

from source_files import ROOT, c_files, finish

# Each room with the rooms below it that it may include; the lower a room, the later its row.
MAY_INCLUDE = {
    "main.c": {"commands", "pipeline", "base"},
    "commands": {
        "mcp",
        "pipeline",
        "live",
        "sections",
        "output",
        "ranks",
        "replay",
        "cost",
        "readers",
        "base",
    },
    "mcp": {"base"},
    "pipeline": {
        "live",
        "sections",
        "output",
        "ranks",
        "memory",
        "critical_path",
        "replay",
        "cost",
        "ledger",
        "readers",
        "job",
        "trace",
        "base",
    },
    "live": {"readers", "base"},
    "sections": {
        "output",
        "ranks",
        "memory",
        "critical_path",
        "replay",
        "cost",
        "ledger",
        "job",
        "trace",
        "base",
    },
    "output": {"cost", "ledger", "trace", "base"},
    "ranks": {"cost", "ledger", "trace", "base"},
    "memory": {"cost", "trace", "base"},
    "critical_path": {"replay", "ledger", "base"},
    "replay": {"ledger", "trace", "base"},
    "cost": {"ledger", "trace", "base"},
    "ledger": {"trace", "base"},
    "readers": {"trace", "base"},
    "job": {"trace", "base"},
    "trace": {"base"},
    "base": set(),
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)')


def list_folder(path: Path) -> Path | None:
    """The folder whose list.def speaks for the file: its own, or the nearest above it."""
    for folder in path.parents:
        if (ROOT / folder / "list.def").exists():
            return folder
    return None


def kinds_in(folder: Path | None) -> list[str]:
    """The names in the folder's list.def: READER(torch_profiler_json) is torch_profiler_json."""
    if folder is None:
        return []
    text = re.sub(r"/\*.*?\*/", "", (ROOT / folder / "list.def").read_text(), flags=re.DOTALL)
    return re.findall(r"^[A-Z_]+\((\w+)\)", text, flags=re.MULTILINE)


def kind_of(path: Path, kinds: list[str]) -> str | None:
    """The kind that a file belongs to: torch_profiler_json_args.c belongs to torch_profiler_json. What lies in a folder
    called like a kind belongs to that folder, whatever its name begins with."""
    owners = [
        kind
        for kind in kinds
        if path.stem == kind or (path.stem.startswith(kind + "_") and path.parent.name != kind)
    ]
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
            f"{path}: the room src/{folder} is not in the table of tests/lint/check_includes.py"
        ]
    problems = []
    speaks = list_folder(path)
    kinds = kinds_in(speaks)
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
        included = Path("src") / name
        neighbour = kind_of(included, kinds) if list_folder(included) == speaks else None
        if neighbour and neighbour != kind_of(path, kinds):
            problems.append(f"{where}: siblings do not include each other: {name}")
    return problems


def check_order(path: Path) -> list[str]:
    """The file's own header first, then the project's, then the system's."""
    includes = includes_of(path)
    problems = []
    own = str(Path(*path.parts[1:]).with_suffix(".h"))
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
    folder = list_folder(path)
    nouns = {
        "src/readers": "reader",
        "src/sections": "analysis",
        "src/output/reports": "report",
        "src/commands": "command",
    }
    noun = nouns.get(str(folder))
    if noun is None or path.suffix != ".c":
        return []
    kinds = kinds_in(folder)
    defined = re.findall(
        rf"^const struct {noun} (\w+)_{noun}\b\s*=", (ROOT / path).read_text(), re.MULTILINE
    )
    return [
        f"{path}: has {name}_{noun}, but {folder}/list.def has no line {noun.upper()}({name})"
        for name in defined
        if name not in kinds
    ]


def check_architecture() -> list[str]:
    """The table in ARCHITECTURE.md says the same as the one above."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    match = re.search(r"^\| room \| may include \|\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    if not match:
        return ["ARCHITECTURE.md: the table `| room | may include |` is gone"]
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
