"""Texts from files, and names of files, that would move a cursor, run a formula or end a block: in no output do they."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from pathlib import Path

from trying import Book, Kind, main

NASTY = [
    "\x1b[2J\x1b]0;owned\x07",
    "\u009b31m",
    "\u202egnp.exe",
    "\u2066\u061c\ufeff",
    "=HYPERLINK(1)",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"}\n# HELP x\nx{y="',
    "\r\nx 1",
    "%s%n" * 20,
    "long" * 5000,
]
CONTROLS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
SAYS = [
    "report",
    "report --all",
    "report --color always",
    "report -f deepspeed",
    "flops",
    "inspect",
    "memory",
    "ettr",
    "nsys-stats",
    "compare",
    "ranks",
    "export jsonl",
    "export prometheus",
    "report --json",
]


def trace_with(text: str) -> str:
    """Two steps with a kernel and an operator, in which every text is this one."""
    events: list[dict] = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": text}}]
    for step in (1, 2):
        at = 1000 * step
        mark = {
            "ph": "X",
            "cat": "user_annotation",
            "name": f"ProfilerStep#{step}",
            "pid": 1,
            "tid": 1,
        }
        events.append({**mark, "ts": at, "dur": 900})
        call = {
            "ph": "X",
            "cat": "cpu_op",
            "name": text,
            "pid": 1,
            "tid": 1,
            "ts": at + 1,
            "dur": 50,
        }
        events.append(
            {**call, "args": {"External id": step, "Input Dims": [[text]], "Input type": [text]}}
        )
        launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1}
        events.append({**launch, "ts": at + 5, "dur": 5, "args": {"correlation": step}})
        kernel = {
            "ph": "X",
            "cat": "kernel",
            "name": text,
            "pid": 0,
            "tid": 7,
            "ts": at + 100,
            "dur": 300,
        }
        events.append({**kernel, "args": {"device": 0, "stream": 7, "correlation": step}})
    device = {"id": 0, "name": text, "totalGlobalMem": 1 << 35}
    return json.dumps({"deviceProperties": [device], "host_name": text, "traceEvents": events})


def harmless(kind: Kind, words: str, output: bytes) -> None:
    text = output.decode("utf-8", errors="replace")
    if "color" in words:
        text = re.sub("\x1b\\[[0-9;]*m", "", text)
    found = CONTROLS.search(text)
    if found:
        around = text[max(0, found.start() - 40) : found.end() + 20]
        kind.fail(f"{words}: {found[0]!r} in {around!r}")


def check_tables(kind: Kind, folder: Path) -> None:
    for path in folder.glob("*.csv"):
        for row in csv.reader(path.open(newline="")):
            for cell in row:
                is_number = re.fullmatch(r"[-+]?[0-9.]+(e[-+]?\d+)?", cell)
                kind.expect(
                    is_number is not None or cell[:1] not in ("=", "+", "-", "@", "\t", "\r"),
                    f"{path.name}: {cell!r}",
                )


def check_metrics(kind: Kind, words: str, output: bytes) -> None:
    line = re.compile(
        r'(# (HELP|TYPE) .*|[a-z_]+(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)*\})? [-+0-9.eNaInf]+)'
    )
    for text in output.decode().splitlines():
        kind.expect(line.fullmatch(text) is not None, f"{words}: {text[:200]!r}")


def check_page(kind: Kind, path: Path, plain: int) -> None:
    """Text stays inside the blocks of data: no more scripts or images than a page has of itself."""
    text = path.read_text()
    blocks = re.findall(
        r'<script type="application/json" id="[^"]*">\n(.*?)</script>', text, re.DOTALL
    )
    kind.expect(len(blocks) > 0, "a page without data")
    for block in blocks:
        kind.expect(not re.search("[<>&]", block), "markup in a block of data")
        json.loads(block)
    kind.expect(text.count("<script") == plain, f"{text.count('<script')} scripts, not {plain}")


def attack(book: Book) -> None:
    plain = book.folder / "plain.json"
    page = book.folder / "page.html"
    plain.write_text(trace_with("aten::add"))
    with book.kind("injection: texts of a trace, in all outputs") as kind:
        kind.try_program(["report", "--html", page, plain])
        scripts = page.read_text().count("<script")
        for number, text in enumerate(NASTY):
            trace = book.folder / f"trace{number}.json"
            trace.write_text(trace_with(text))
            for words in SAYS:
                twice = [trace] if words == "compare" else []
                outcome = kind.try_program([*words.split(), trace, *twice])
                harmless(kind, f"{words} with {text[:20]!r}", outcome.output + outcome.errors)
                if words == "export prometheus":
                    check_metrics(kind, f"{words} with {text[:20]!r}", outcome.output)
                if words == "report --json":
                    json.loads(outcome.output)
            kind.try_program(["report", "--html", page, trace])
            check_page(kind, page, scripts)
            tables = book.folder / f"tables{number}"
            kind.try_program(["export", "csv", "-o", tables, trace])
            check_tables(kind, tables)
            database = book.folder / f"run{number}.sqlite"
            kind.try_program(["export", "sqlite", "-o", database, trace])
            names = (
                sqlite3.connect(database).execute("SELECT kernel FROM kernels_by_name").fetchall()
            )
            kind.expect(
                (text,) in names, f"{text[:20]!r} is not in the database as it was: {names}"
            )
    with book.kind("injection: names of files") as kind:
        for number, text in enumerate(NASTY[:6]):
            folder = book.folder / f"names{number}"
            folder.mkdir()
            name = text.replace("/", "_")
            for content, ending in (
                (trace_with("x"), ".json"),
                ("iteration", ".log"),
                ("SQLite format 3\0" + "x" * 200, ".sqlite"),
                ("\x80\x04.", ".pickle"),
                ("", ".json.gz"),
            ):
                path = folder / f"x{name}{ending}"
                path.write_text(content)
                for words in [
                    *SAYS,
                    "report -o OUT",
                    "digest -o OUT",
                    "nothing",
                    "flops --model",
                    "report --steps",
                ]:
                    given = [
                        str(folder / name / "out") if word == "OUT" else word
                        for word in words.split()
                    ]
                    twice = [path] if words == "compare" else []
                    outcome = kind.try_program([*given, path, *twice])
                    harmless(kind, f"{words} {path.name!r}", outcome.output + outcome.errors)


if __name__ == "__main__":
    main(__doc__, attack)
