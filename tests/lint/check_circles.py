#!/usr/bin/env python3
"""No module of the Python package, and none of the page, imports one that imports it, not even through others or late."""

import ast
import re
from pathlib import Path

from source_files import ROOT, finish, project_files

PACKAGE = Path("python/flopledger")
PAGE = Path("web")
TYPESCRIPT_IMPORT = re.compile(
    r'^\s*(?:import|export)\b[^;"]*?(?:from\s*)?"(\.[^"]+)"', re.MULTILINE
)
CSS_IMPORT = re.compile(r'@import\s+"(\.[^"]+)"')

Graph = dict[str, set[str]]


def module_of(path: Path) -> str:
    """The name by which the package's files are imported."""
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    return name.removesuffix(".__init__")


def imported_by(path: Path, modules: set[str]) -> set[str]:
    """Of `modules`: a `from` that names a module imports it, one that names something in the package itself imports that."""
    found = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & modules
            if not inner <= modules:
                found.add(node.module)
    return found & modules - {module_of(path)}


def python_graph(files: list[Path]) -> Graph:
    mine = [path for path in files if PACKAGE in path.parents and path.suffix == ".py"]
    modules = {module_of(path) for path in mine}
    return {module_of(path): imported_by(path, modules) for path in mine}


def page_graph(files: list[Path]) -> Graph:
    graph = {}
    for path in files:
        if PAGE not in path.parents or path.suffix not in (".ts", ".mjs", ".css"):
            continue
        pattern = CSS_IMPORT if path.suffix == ".css" else TYPESCRIPT_IMPORT
        named = pattern.findall((ROOT / path).read_text())
        graph[str(path)] = {
            str((ROOT / path.parent / name).resolve().relative_to(ROOT)) for name in named
        }
    return graph


def circle_from(start: str, graph: Graph) -> list[str]:
    """The shortest way back to `start`; empty where there is none."""
    ways = [[start]]
    seen = set()
    for way in ways:  # grows while it is walked: breadth first
        for after in sorted(graph.get(way[-1], set())):
            if after == start:
                return [*way, start]
            if after not in seen:
                seen.add(after)
                ways.append([*way, after])
    return []


def circles(graph: Graph) -> list[list[str]]:
    """One for each set of modules that are in the same circle."""
    found: dict[frozenset[str], list[str]] = {}
    for start in sorted(graph):
        way = circle_from(start, graph)
        if way:
            found.setdefault(frozenset(way), way)
    return list(found.values())


def check_myself() -> None:
    """A lint that finds nothing has to find what is there."""
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c", "a"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
    text = 'import type {\n  A,\n} from "./a.ts";\nexport { b } from "../b.ts";\nimport "./c.css";'
    assert TYPESCRIPT_IMPORT.findall(text) == ["./a.ts", "../b.ts", "./c.css"]


def main() -> None:
    check_myself()
    files = project_files()
    problems = []
    checked = 0
    for graph in (python_graph(files), page_graph(files)):
        assert sum(map(len, graph.values())) > len(graph) / 2, "the imports were not found"
        checked += len(graph)
        problems += [f"a circle of imports: {' -> '.join(way)}" for way in circles(graph)]
    finish(checked, problems, min(checked, len(problems)))


if __name__ == "__main__":
    main()
