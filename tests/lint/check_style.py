#!/usr/bin/env python3
"""Holds what no other tool does of the style: lengths, names, comments, guards, and what must not be in the project."""

import re
from collections import Counter
from pathlib import Path

from source_files import ROOT, finish, project_files

MAX_FILE_LINES = 700
MAX_PAGE_FILE_LINES = 400
PAGE = {".ts", ".mjs", ".css"}
MAX_FUNCTION_LINES = 60
MAX_COLUMNS = 100
EMPTY_NAMES = {"utils", "util", "common", "misc", "helpers", "helper", "stuff"}
TEXT = PAGE | {
    ".c",
    ".h",
    ".def",
    ".py",
    ".sh",
    ".md",
    ".txt",
    ".json",
    ".yml",
    ".golden",
    ".build",
    ".toml",
    "",
}

# Written so that this file does not find itself.
FORBIDDEN = {
    r"(?<![\w./~-])/(?:w[o]rk|r[o]ot)/": "a path of somebody's machine",
    r"(?:p[y]pi\.org|p[y]thonhosted\.org|d[e]b\.debian\.org|d[o]wnload\.pytorch\.org|n[p]mjs\.)": "the host of a registry",
}


def without_strings(line: str) -> str:
    return re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', '""', line)


def check_c(path: Path, lines: list[str]) -> list[str]:
    problems = []
    opened = 0  # line of the function's {
    in_comment = False
    for number, line in enumerate(lines, 1):
        code = without_strings(line)
        if len(line.expandtabs(8)) > MAX_COLUMNS and "http" not in line:
            problems.append(f"{path}:{number}: {len(line)} columns, the limit is {MAX_COLUMNS}")
        if not in_comment and re.search(r"(?<!:)//", code.split("/*")[0]):
            problems.append(f"{path}:{number}: comments are /* */")
        in_comment = ("/*" in code and "*/" not in code.split("/*")[-1]) or (
            in_comment and "*/" not in code
        )
        if re.match(r"\s*typedef\s+(struct|union|enum)\b", line):
            problems.append(f"{path}:{number}: no typedef for structs, unions and enums")
        if line == "{":
            opened = number
        elif line == "}" and opened:
            if number - opened + 1 > MAX_FUNCTION_LINES:
                problems.append(
                    f"{path}:{opened}: a function of {number - opened + 1} lines, the limit is {MAX_FUNCTION_LINES}"
                )
            opened = 0
    if path.suffix == ".h" and path.parts[0] == "src":
        guard = "_".join(("FLOPLEDGER", *path.parts[1:-1], path.stem, "H")).upper()
        if f"#ifndef {guard}" not in lines or f"#define {guard}" not in lines:
            problems.append(f"{path}: the include guard must be {guard}")
    if path.parts[0] == "src" and not (lines and lines[0].startswith("/*")):
        problems.append(f"{path}:1: a file starts with one sentence saying what it is for")
    return problems


def check_page(path: Path, lines: list[str]) -> list[str]:
    problems = [
        f"{path}:{number}: {len(line)} columns, the limit is {MAX_COLUMNS}"
        for number, line in enumerate(lines, 1)
        if len(line) > MAX_COLUMNS
    ]
    if len(lines) > MAX_PAGE_FILE_LINES:
        problems.append(f"{path}: {len(lines)} lines, the limit is {MAX_PAGE_FILE_LINES}")
    return problems


def check_text(path: Path, text: str) -> list[str]:
    problems = []
    for pattern, what in FORBIDDEN.items():
        for match in re.finditer(pattern, text):
            number = text.count("\n", 0, match.start()) + 1
            problems.append(f"{path}:{number}: {what} ({match[0]})")
    lines = text.splitlines()
    if path.suffix in (".c", ".h", ".py", ".sh") and len(lines) > MAX_FILE_LINES:
        problems.append(f"{path}: {len(lines)} lines, the limit is {MAX_FILE_LINES}")
    if path.suffix in PAGE:
        problems += check_page(path, lines)
    if path.suffix in (".c", ".h"):
        problems += check_c(path, lines)
    return problems


def main() -> None:
    files = [path for path in project_files() if path.suffix in TEXT]
    # A command's file has the name that users type.
    commands = {path for path in files if path.parts[-3:-1] == ("src", "commands")}
    code = (path for path in files if path.suffix in (".c", ".h", ".py"))
    by_name = Counter(path.name for path in code if path not in commands)
    problems: list[str] = []
    failed = 0
    for path in files:
        found = []
        if by_name[path.name] > 1 and path not in commands and path.name != "__init__.py":
            found.append(f"{path}: another file has the same name")
        if path.stem in EMPTY_NAMES or EMPTY_NAMES & set(path.stem.split("_")):
            found.append(f"{path}: a name that says nothing; name it by what it answers")
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            text = ""  # a damaged trace, made on purpose
            if path.suffix in (".c", ".h", ".py", ".md"):
                found.append(f"{path}: is not UTF-8")
        found += check_text(path, text)
        failed += bool(found)
        problems += found
    finish(len(files), problems, failed)


if __name__ == "__main__":
    main()
