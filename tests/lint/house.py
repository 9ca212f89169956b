#!/usr/bin/env python3
"""Measures how src/ is laid out: rooms, arrows between them, circles, and what is written more than once.

house.py            prints every figure beside its limit; one that is worse than its limit fails
house.py FOLDER     measures another checkout (an older one, to compare), and holds nothing

A room is a folder of src/. A limit is what has been reached: whoever makes a figure better writes the new one here.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from source_files import ROOT, finish

# Figure, the limit that holds today, and the goal. Higher is better only where the key stands in AT_LEAST.
LIMITS: dict[str, tuple[float, float]] = {
    "rooms in src/": (16, 16),
    "commands/: lines": (4986, 5000),
    "commands/: .c files": (25, 25),
    "commands/: rooms included": (10, 10),
    "floors": (8, 8),
    "arrows between rooms": (63, 70),
    "rooms that readers/ includes beside trace/ and base/": (0, 0),
    "circles of rooms": (0, 0),
    "circles of files, C": (0, 0),
    "circles of files, the extension": (0, 0),
    "circles of files, Python": (0, 0),
    "circles of files, web": (0, 0),
    "figures looked up by the text of a column": (0, 0),
    "cells[N] = by position": (0, 0),
    "bar as true/false": (0, 0),
    "growth by hand (realloc outside base/)": (0, 0),
    "binary searches by hand outside base/": (0, 0),
    "abort() outside base/": (0, 0),
    "function names defined more than once": (9, 20),
    "headers with one user beside their own .c": (20, 20),
    "comment lines in .c, %": (8, 8),
    ".c files in src": (591, 400),
    "lines of .c in src": (159474, 82000),
    "lines of .c and .h in src": (183169, 96000),
    "places that decode a summary of a rank": (1, 1),
    "lines of the longest class in Python": (250, 250),
    "web: lines > 100 columns": (0, 0),
    "web: files > 400 lines": (0, 0),
    "identifiers of old words in C": (0, 0),
}
AT_LEAST = {"comment lines in .c, %"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
COMMENT_OR_TEXT = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)
# A definition as clang-format lays it out: its head begins in the first column, its body with a `{` of its own line.
DEFINITION = re.compile(
    r"^(?P<head>[a-zA-Z_][\w \t*]*?[ *])(?P<name>\w+)\((?P<rest>[^;{}]*?)\)\s*\n\{\n", re.MULTILINE
)
WORD = re.compile(r"\b[A-Za-z_]\w*\b")


HALVING_LOOP = (
    r"\b(?:while|for)\s*\([^{}]*\)\s*\{\s*(?:(?!double\b|float\b)\w+\s+)?\w+\s*=\s*[^;{}]*"
    r"\(\s*\w+\s*[-+]\s*\w+\s*\)\s*(?:/\s*2|>>\s*1)\b"
)
assert re.search(
    HALVING_LOOP, "while (a < b) {\n uint32_t m = a + (b - a) / 2;\n if (x[m] < 3) a = m + 1; }"
)
assert re.search(HALVING_LOOP, "for (; low < high;) { at = (low + high) >> 1; }")
assert not re.search(HALVING_LOOP, "while (high - low > 1e-9) { double m = (low + high) / 2; }")
assert not re.search(HALVING_LOOP, "size_t low = first + (end - first) / 2; while (low < end) { }")


class House:
    """The sources of a checkout, read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.src = root / "src"
        self.c_files = sorted(path for path in self.src.rglob("*") if path.suffix in (".c", ".h"))
        self.text = {path: path.read_text() for path in self.c_files}
        self.code = {path: COMMENT_OR_TEXT.sub(blank, text) for path, text in self.text.items()}

    def name(self, path: Path) -> str:
        return str(path.relative_to(self.src))

    def room(self, path: Path) -> str:
        return path.relative_to(self.src).parts[0]

    def dot_c(self, below: str = "") -> list[Path]:
        folder = f"{below}/" if below else ""
        return [
            path
            for path in self.c_files
            if path.suffix == ".c" and self.name(path).startswith(folder)
        ]

    @lru_cache
    def includes(self) -> dict[Path, set[str]]:
        return {path: set(INCLUDE.findall(text)) for path, text in self.text.items()}

    @lru_cache
    def arrows(self) -> dict[str, set[str]]:
        """For each room those that it includes. main.c is the door, and no room."""
        found: dict[str, set[str]] = defaultdict(set)
        for path, names in self.includes().items():
            if path.parent != self.src:
                found[self.room(path)] |= {name.split("/")[0] for name in names} - {self.room(path)}
        return dict(found)

    @lru_cache
    def definitions(self) -> list[tuple[str, Path, bool]]:
        """(name, file, is it static) of every function that a .c file defines."""
        return [
            (match["name"], path, "static" in match["head"].split())
            for path in self.dot_c()
            for match in DEFINITION.finditer(self.code[path])
        ]


def blank(match: re.Match[str]) -> str:
    """What stands in place of a comment or a text: nothing but its line ends."""
    return "\n" * match[0].count("\n") or " "


# ---------------------------------------------------------------------------------------------------------------------
# Graphs


def circles_of(arrows: dict[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other (Tarjan's strongly connected components, those of several nodes)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(arrows.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(arrows):
        if node not in index:
            visit(node)
    return found


def floors_of(arrows: dict[str, set[str]]) -> int:
    """How many rooms stand above each other on the longest way down."""

    @lru_cache
    def height(room: str) -> int:
        return 1 + max((height(other) for other in arrows.get(room, ())), default=0)

    return max(height(room) for room in arrows) if not circles_of(arrows) else 0


def c_arrows(house: House) -> dict[str, set[str]]:
    """Between files of C, a header being one with its .c file: who includes whom, and who calls a function that another
    defines and a header that it includes declares, be that the other's own or one that several files share.
    """
    defined: dict[str, set[str]] = defaultdict(set)
    for name, path, is_static in house.definitions():
        if not is_static:
            defined[name].add(house.name(path)[:-2])
    words = {path: set(WORD.findall(code)) for path, code in house.code.items()}
    by_name = {house.name(path): path for path in house.c_files}
    arrows: dict[str, set[str]] = defaultdict(set)
    for path in house.c_files:
        unit = house.name(path)[:-2]
        headers = {by_name[name] for name in house.includes()[path] if name in by_name}
        arrows[unit] |= {house.name(header)[:-2] for header in headers}
        declared = set().union(*(words[header] for header in headers))
        for word in words[path] & declared if path.suffix == ".c" else ():
            if len(defined.get(word, ())) == 1:
                arrows[unit] |= defined[word]
        arrows[unit].discard(unit)
    return dict(arrows)


def extension_arrows(house: House) -> dict[str, set[str]]:
    """Likewise between the C files of the Python extension."""
    folder = house.root / "python" / "flopledger"
    texts = {
        path: COMMENT_OR_TEXT.sub(blank, path.read_text())
        for path in sorted(folder.iterdir())
        if path.suffix in (".c", ".h")
    }
    defined: dict[str, set[str]] = defaultdict(set)
    for path, text in texts.items():
        for match in DEFINITION.finditer(text) if path.suffix == ".c" else ():
            if "static" not in match["head"].split():
                defined[match["name"]].add(path.stem)
    arrows: dict[str, set[str]] = defaultdict(set)
    for path, text in texts.items():
        included = {Path(name).stem for name in INCLUDE.findall(path.read_text())}
        arrows[path.stem] |= included & {other.stem for other in texts}
        for word in set(WORD.findall(text)) if path.suffix == ".c" else ():
            if len(defined.get(word, ())) == 1:
                arrows[path.stem] |= defined[word]
        arrows[path.stem].discard(path.stem)
    return dict(arrows)


def python_arrows(house: House) -> dict[str, set[str]]:
    folder = house.root / "python" / "flopledger"
    modules = {
        path.relative_to(folder).with_suffix("").as_posix(): path for path in folder.rglob("*.py")
    }
    arrows: dict[str, set[str]] = {}
    for name, path in modules.items():
        used: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                base = (node.module or "").removeprefix("flopledger").strip(".").replace(".", "/")
                used |= {base, *(f"{base}/{alias.name}".strip("/") for alias in node.names)}
            elif isinstance(node, ast.Import):
                used |= {
                    alias.name.removeprefix("flopledger.").replace(".", "/") for alias in node.names
                }
        arrows[name] = (used & set(modules)) - {name}
    return arrows


def web_files(house: House) -> list[Path]:
    return sorted((house.root / "web" / "src").rglob("*.ts"))


def web_arrows(house: House) -> dict[str, set[str]]:
    """Imports of types alone are left out: nothing of them is in the page."""
    names = {path.resolve(): str(path.relative_to(house.root)) for path in web_files(house)}
    pattern = re.compile(r'^(?:import|export)\s+(?!type\b)[^;]*?from\s+"(\.[^"]+)"', re.MULTILINE)
    arrows: dict[str, set[str]] = {}
    for path, name in names.items():
        found = set()
        for where in pattern.findall(path.read_text()):
            target = (path.parent / where).resolve()
            found |= {
                names[other]
                for other in (target.with_suffix(".ts"), Path(f"{target}.ts"), target / "index.ts")
                if other in names
            }
        arrows[name] = found - {name}
    return arrows


# ---------------------------------------------------------------------------------------------------------------------
# Figures: each answers with a number


def count(house: House, pattern: str, below: str = "", but: str = "") -> int:
    """How often the pattern stands in the code of .c and .h files (not in comments and texts)."""
    found = re.compile(pattern)
    return sum(
        len(found.findall(code))
        for path, code in house.code.items()
        if house.name(path).startswith(below) and not (but and house.name(path).startswith(but))
    )


def folder_of(house: House, *names: str) -> str:
    """The one of the names that is a folder of this house: folders have moved."""
    return next((f"{name}/" for name in names if (house.src / name).is_dir()), names[0] + "/")


def rooms(house: House) -> int:
    return len({house.room(path) for path in house.c_files if path.parent != house.src})


def lines_of(house: House, paths: list[Path]) -> int:
    return sum(house.text[path].count("\n") for path in paths)


def commands_lines(house: House) -> int:
    return lines_of(house, [path for path in house.c_files if house.room(path) == "commands"])


def arrow_count(house: House) -> int:
    return sum(len(others) for others in house.arrows().values())


def readers_too_much(house: House) -> int:
    return len(house.arrows().get("readers", set()) - {"trace", "base"})


def comment_share(house: House) -> float:
    """Lines of comments, beyond the sentence that each file begins with."""
    comments = lines = 0
    for path in house.dot_c():
        text = house.text[path]
        lines += text.count("\n")
        body = re.sub(r"\A/\*.*?\*/\n", "", text, flags=re.DOTALL)
        for match in COMMENT_OR_TEXT.finditer(body):
            whole = body[body.rfind("\n", 0, match.start()) + 1 : match.start()].strip() == ""
            if match[0].startswith("/") and whole:
                comments += match[0].count("\n") + 1
    return round(100 * comments / lines, 1)


def defined_twice(house: House) -> int:
    return sum(n > 1 for n in Counter(name for name, _, _ in house.definitions()).values())


def headers_of_one(house: House) -> int:
    users: dict[str, set[str]] = defaultdict(set)
    for path, names in house.includes().items():
        for name in names:
            if name[:-2] != house.name(path)[:-2]:
                users[name].add(house.name(path))
    own = {house.name(path) for path in house.dot_c()}
    return sum(
        len(users[house.name(path)]) == 1 and house.name(path)[:-2] + ".c" in own
        for path in house.c_files
        if path.suffix == ".h"
    )


def by_column_text(house: House) -> int:
    """Calls of exports that look a figure up in a table made for people, and lines of lists that name such columns by
    their text, not by the identifier that metric_list.def gives them.
    """
    exports = folder_of(house, "output/exports", "exports")
    lists = [*(house.src / exports).glob("*_list.def"), *house.src.glob("output/*/metric_list.def")]
    lines = sum(
        bool(re.match(r'(?:SCALAR|NUMBER_METRIC|ROWS_METRIC)\("', line))
        for path in lists
        for line in path.read_text().splitlines()
    )
    return (
        count(house, r"\bfind_(?:cell|number|table|section|column|row|result)\w*\(", exports)
        + lines
    )


def binary_searches(house: House) -> int:
    """Loops whose body begins with halving an interval of indices: `middle = low + (high - low) / 2` and the like. Means and
    the areas of triangles are none, and neither is bisection, which halves an interval of real numbers.
    """
    return count(house, HALVING_LOOP, but="base/")


def bars_as_truth(house: House) -> int:
    """`true` or `false` at the end of a column's row: its bar."""
    return count(house, r"UNIT_\w+,[^{};\n]*\b(?:true|false)\s*\}")


def longest_class(house: House) -> int:
    sizes = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in (house.root / "python" / "flopledger").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    return max(sizes)


def long_web_lines(house: House) -> int:
    return sum(
        len(line) > 100 for path in web_files(house) for line in path.read_text().splitlines()
    )


def long_web_files(house: House) -> int:
    return sum(path.read_text().count("\n") > 400 for path in web_files(house))


def summary_decodings(house: House) -> int:
    """Places that make a summary of a rank from its bytes."""
    return count(house, r"(?<!bool )\b(?:digest|rank_summary)_decode\(")


def old_words(house: House) -> int:
    """Identifiers made of words that docs/glossary.md has others for."""
    left = (
        r"take_\w+|\w*_study|study|rank_course\w*|booked_\w+|booking_\w+|book_\w+|untold|tells_\w+|\w*stretch\w*"
        r"|price\w*|unpriced\w*|judge_\w+|mend_\w+|settle_\w+|dearest\w*"
    )
    pattern = re.compile(rf"^(?:{left})$")
    return sum(
        bool(pattern.match(word)) for code in house.code.values() for word in WORD.findall(code)
    )


FIGURES: dict[str, Callable[[House], float]] = {
    "rooms in src/": rooms,
    "commands/: lines": commands_lines,
    "commands/: .c files": lambda house: len(house.dot_c("commands")),
    "commands/: rooms included": lambda house: len(house.arrows()["commands"]),
    "floors": lambda house: floors_of(house.arrows()),
    "arrows between rooms": arrow_count,
    "rooms that readers/ includes beside trace/ and base/": readers_too_much,
    "circles of rooms": lambda house: len(circles_of(house.arrows())),
    "circles of files, C": lambda house: len(circles_of(c_arrows(house))),
    "circles of files, the extension": lambda house: len(circles_of(extension_arrows(house))),
    "circles of files, Python": lambda house: len(circles_of(python_arrows(house))),
    "circles of files, web": lambda house: len(circles_of(web_arrows(house))),
    "figures looked up by the text of a column": by_column_text,
    "cells[N] = by position": lambda house: count(house, r"cells\[\d+\]\s*=[^=]"),
    "bar as true/false": bars_as_truth,
    "growth by hand (realloc outside base/)": lambda house: count(
        house, r"\brealloc(?:array)?\(", but="base/"
    ),
    "binary searches by hand outside base/": binary_searches,
    "abort() outside base/": lambda house: count(house, r"\babort\(", but="base/"),
    "function names defined more than once": defined_twice,
    "headers with one user beside their own .c": headers_of_one,
    "comment lines in .c, %": comment_share,
    ".c files in src": lambda house: len(house.dot_c()),
    "lines of .c in src": lambda house: lines_of(house, house.dot_c()),
    "lines of .c and .h in src": lambda house: lines_of(house, house.c_files),
    "places that decode a summary of a rank": summary_decodings,
    "lines of the longest class in Python": longest_class,
    "web: lines > 100 columns": long_web_lines,
    "web: files > 400 lines": long_web_files,
    "identifiers of old words in C": old_words,
}


def problems_of(house: House, figures: dict[str, float]) -> Iterator[str]:
    for key, value in figures.items():
        limit, goal = LIMITS[key]
        if value < limit if key in AT_LEAST else value > limit:
            yield f"{key}: {value:g}, the limit is {limit:g} (the goal {goal:g}): see tests/lint/house.py"
    groups = {
        "C": c_arrows(house),
        "the extension": extension_arrows(house),
        "Python": python_arrows(house),
        "web": web_arrows(house),
    }
    for what, arrows in groups.items():
        key = f"circles of files, {what}"
        if figures[key] > LIMITS[key][0]:
            for circle in circles_of(arrows):
                yield f"circle: {' '.join(circle)}"


def main() -> None:
    sys.setrecursionlimit(10000)
    house = House(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
    figures = {key: figure(house) for key, figure in FIGURES.items()}
    for key, value in figures.items():
        limit, goal = LIMITS.get(key, (0, 0))
        print(f"{key:55} {value:>9g}   limit {limit:<9g} goal {goal:g}")
    if len(sys.argv) > 1:
        return
    problems = list(problems_of(house, figures))
    finish(len(figures), problems, sum(": see tests/lint/house.py" in line for line in problems))


if __name__ == "__main__":
    main()
