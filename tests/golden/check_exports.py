#!/usr/bin/env python3
"""Exports say what the JSON report says, whatever names the trace holds: check_exports.py [PROGRAM] [--bless]

On the project's traces, and on other people's where they are at hand ($FLOPLEDGER_SHARED, else ../shared):

- every number, cell and finding of `report --json --top 0` and `memory --json --top 0` stands in the CSV files and in the
  SQLite database, and nothing else does;
- JSON lines and Prometheus' text are of the same numbers; the accounts of each step sum to its time;
- each table of the database has a query in docs/formats/export-sqlite.md, which finds something, and its columns stand
  there as the program declares them (--bless writes them);
- a Chrome trace is strict JSON, has all events of the file, and our own reader finds the same report in it;
- the same of jobs: what `ettr --export` writes is what `ettr --json` says;
- Prometheus' own Python parser and promtool take the text, where they are installed (build/venv-exports, build/promtool).
"""

import csv
import gzip
import json
import math
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "python"))

from find_promtool import find_promtool  # noqa: E402

SHARED = Path(os.environ.get("FLOPLEDGER_SHARED", ROOT.parent / "shared"))
PARSER = ROOT / "build" / "venv-exports" / "bin" / "python"
PARSE = (
    "import sys; from prometheus_client.parser import text_string_to_metric_families as f; "
    "print(sum(len(m.samples) for m in f(sys.stdin.buffer.read().decode())))"
)
UNITS = {
    "ns": "_ns",
    "bytes": "_bytes",
    "fraction": "_fraction",
    "bytes/s": "_bytes_per_second",
    "flop": "_flops",
    "flop/s": "_flops_per_second",
}
SQLITE_PAGE = ROOT / "docs" / "formats" / "export-sqlite.md"
LEAD = ("trace", "rank", "row", "depth")
OF_OTHERS_MAX_BYTES = 2_000_000
OF_OTHERS = 12
SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)$')


def column_name(key: str, unit: str, is_overview: bool) -> str:
    suffix = UNITS.get(unit, "")
    if not is_overview and key in ("trace", "rank", "row", "depth"):
        return key + "_2"
    return key if key.endswith(suffix) or key == suffix[1:] else key + suffix


class Checker:
    def __init__(self, program: Path) -> None:
        self.program = program
        self.passed = 0
        self.failed = 0
        self.skipped = 0

    def check(self, holds: bool, text: str) -> None:
        self.passed += holds
        self.failed += not holds
        if not holds:
            print(f"FAILED: {text}")

    def run(self, *words: str | Path) -> bytes:
        done = subprocess.run([self.program, *words], capture_output=True, check=False)
        if done.returncode not in (0, 5):
            raise RuntimeError(f"{words}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def finish(self) -> None:
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        sys.exit(1 if self.failed else 0)


def sections_of(report: dict[str, Any]) -> Iterator[tuple[int | None, str, dict[str, Any]]]:
    """(index of the rank, key, section), the overview first."""
    if report["overview"]:
        yield None, "overview", report["overview"]
    for index, rank in enumerate(report["ranks"]):
        for key, section in rank["sections"].items():
            yield index, key, section


def expected_tables(report: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Name of a table -> its rows, as the JSON has them."""
    tables: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for index, name, section in sections_of(report):
        for key, table in section["tables"].items():
            rows = tables[f"{name}_{key}"]
            for place, row in enumerate(table["rows"]):
                cells = {
                    column_name(column["key"], column["unit"], index is None): row[column["key"]]
                    for column in table["columns"]
                }
                lead = {"row": place, "depth": row["depth"]}
                if index is not None:
                    lead |= {"trace": index, "rank": report["ranks"][index]["rank"]}
                rows.append(lead | cells)
    return tables


def expected_facts(report: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    facts: dict[str, list[dict[str, Any]]] = {"numbers": [], "findings": [], "not_known": []}
    findings = [(None, None, finding) for finding in report["problems"]]
    for index, name, section in sections_of(report):
        of = {"trace": index, "rank": None if index is None else report["ranks"][index]["rank"]}
        for key, number in section["numbers"].items():
            facts["numbers"].append(
                of
                | {"section": name, "key": key}
                | {part: number.get(part) for part in ("title", "value", "unit", "note")}
                | {"not_known": number.get("not_known")}
            )
        findings += [(index, name, finding) for finding in section["findings"]]
        for key, table in section["tables"].items():
            units = {column["key"]: column["unit"] for column in table["columns"]}
            for place, row in enumerate(table["rows"]):
                for column, needs in row.get("not_known", {}).items():
                    facts["not_known"].append(
                        of
                        | {"table_name": f"{name}_{key}", "row": place, "needs": needs}
                        | {"column": column_name(column, units[column], index is None)}
                    )
    for index, name, finding in findings:
        has_price = "id" in finding
        facts["findings"].append(
            {
                "trace": index,
                "rank": None if index is None else report["ranks"][index]["rank"],
                "section": name,
                "what": finding["what"],
                "evidence": finding["evidence"],
                "try": finding["try"],
                "cost_per_step_ns": finding["cost_ns_per_step"],
                "is_warning": int(finding["is_warning"]),
                "id": finding.get("id"),
                "accounts": " ".join(finding["accounts"]) if has_price else None,
                "share_of_step_fraction": finding.get("share_of_step"),
                "ceiling_speedup": finding.get("ceiling_speedup"),
                "steps": " ".join(map(str, finding["steps"])) if has_price else None,
                "confidence": finding.get("confidence"),
                "confidence_reason": finding.get("confidence_reason"),
                "change": finding.get("change"),
                "replayed_step_ns": finding.get("replayed_step_ns"),
                "replayed_speedup": finding.get("replayed_speedup"),
                "replayed_least_speedup": finding.get("replayed_least_speedup"),
                "replayed_most_speedup": finding.get("replayed_most_speedup"),
            }
        )
    facts["traces"] = [
        {"trace": index} | {key: rank.get(key) for key in ("rank", "label", "file", "headline")}
        for index, rank in enumerate(report["ranks"])
    ]
    return facts


def as_text(cell: Any) -> str:
    return "" if cell is None else str(cell)


CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)


def escaped(text: str) -> str:
    """As docs/formats/export-csv.md says: no formulas, no control characters."""
    if re.match(r"[=@\t\r]|[-+](?!(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$)", text):
        text = "'" + text
    return CONTROL.sub(
        lambda c: f"\\x{ord(c[0]):02x}" if c[0] < "\xa0" else f"\\u{ord(c[0]):04x}", text
    )


def is_same_text(cell: Any, text: str) -> bool:
    """A cell of the JSON, and what the CSV says."""
    if isinstance(cell, (int, float)) and not isinstance(cell, bool):
        return text != "" and json.loads(text) == cell  # not float(): it would round integers
    return escaped(as_text(cell)) == text


def sorted_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True, default=str))


def report_with_memory(checker: Checker, path: Path) -> dict[str, Any]:
    """The report, with the sections of `memory` where the trace has some."""
    report = json.loads(checker.run("report", "--json", "--top", "0", path))
    done = subprocess.run(
        [checker.program, "memory", "--json", "--top", "0", path], capture_output=True, check=False
    )
    if done.returncode == 0:
        for rank, other in zip(report["ranks"], json.loads(done.stdout)["ranks"]):
            rank["sections"] |= other["sections"]
    return report


def check_csv(checker: Checker, name: str, folder: Path, expected: dict[str, Any]) -> None:
    files = {path.stem: path for path in folder.glob("*.csv")}
    checker.check(set(files) == set(expected), f"{name}: tables {set(files) ^ set(expected)}")
    for table, rows in expected.items():
        text = files[table].read_bytes().decode("utf-8")  # strictly
        checker.check(
            re.fullmatch(
                r'(?:(?:"(?:[^"]|"")*"|[^",\r\n]*)[,]?)*\r\n', text.partition("\r\n")[0] + "\r\n"
            )
            is not None
            and text.endswith("\r\n"),
            f"{name}: {table}.csv has lines of another kind",
        )
        found = list(csv.DictReader(text.splitlines(keepends=True), strict=True))
        checker.check(len(found) == len(rows), f"{name}: {table}.csv: {len(found)} rows")
        wrong = [
            (key, row[key], other.get(key))
            for row, other in zip(rows, found)
            for key in row
            if not is_same_text(row[key], other.get(key) or "")
        ]
        checker.check(not wrong, f"{name}: {table}.csv: {wrong[:2]}")
        columns = set(found[0]) if found else set()
        extra = columns - {key for row in rows for key in row}
        checker.check(not extra, f"{name}: {table}.csv: columns {extra} are nowhere else")


def check_sqlite(checker: Checker, name: str, path: Path, expected: dict[str, Any]) -> None:
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    names = {row[0] for row in database.execute("SELECT name FROM table_titles")}
    checker.check(names == set(expected), f"{name}: tables {names ^ set(expected)}")
    for table, rows in expected.items():
        found = [dict(row) for row in database.execute(f'SELECT * FROM "{table}"')]
        wrong = [
            (key, row[key], other.get(key))
            for row, other in zip(rows, found)
            for key in row
            if row[key] != other.get(key)
        ]
        checker.check(not wrong and len(found) == len(rows), f"{name}: {table}: {wrong[:2]}")
    checker.check(
        not database.execute("PRAGMA foreign_key_check").fetchall(), f"{name}: references"
    )


def check_jsonl(checker: Checker, name: str, text: bytes, report: dict[str, Any]) -> None:
    lines = [json.loads(line) for line in text.decode("utf-8").splitlines()]
    steps = [
        (rank, row)
        for rank in report["ranks"]
        for row in rank["sections"]["step_ledger"]["tables"]["steps"]["rows"]
    ]
    checker.check(len(lines) == len(steps), f"{name}: {len(lines)} lines, {len(steps)} steps")
    for line, (rank, row) in zip(lines, steps):
        scalars = line["scalars"]
        checker.check(
            (line["step"], line["rank"], line["file"]) == (row["step"], rank["rank"], rank["file"]),
            f"{name}: a line is of another step",
        )
        checker.check(
            scalars["step_time_ms"] == row["duration"] / 1e6, f"{name}: step time of {row['step']}"
        )
        accounts = {
            key.removeprefix("accounts_ms/"): value
            for key, value in scalars.items()
            if key.startswith("accounts_ms/")
        }
        checker.check(
            all(value == row[key] / 1e6 for key, value in accounts.items())
            and math.isclose(sum(accounts.values()), row["duration"] / 1e6, abs_tol=1e-9),
            f"{name}: accounts of step {row['step']}",
        )
        if row["start_unix"] is not None:
            end = (row["start_unix"] + row["duration"]) / 1e9
            checker.check(line["time"] == end, f"{name}: time of step {row['step']}")
        tags = [key for key in scalars if not re.fullmatch(r"[A-Za-z0-9_\-. /]+", key)]
        checker.check(not tags, f"{name}: MLflow does not take {tags}")


def prometheus_samples(checker: Checker, name: str, text: bytes) -> dict[str, float]:
    """By name and labels; what Prometheus' own tools say of the text is checked, too."""
    samples: dict[str, float] = {}
    types: dict[str, str] = {}
    for line in text.decode("utf-8").split("\n")[:-1]:
        if line.startswith("# TYPE "):
            metric, kind = line.split()[2:]
            checker.check(metric not in types, f"{name}: {metric} stands in two places")
            types[metric] = kind
        elif not line.startswith("# HELP "):
            found = SAMPLE.match(line)
            checker.check(found is not None, f"{name}: {line[:100]} is no sample")
            key = line.rpartition(" ")[0]
            checker.check(key not in samples, f"{name}: {key[:100]} stands twice")
            samples[key] = float(line.rpartition(" ")[2])
    promtool = find_promtool()
    if promtool:
        done = subprocess.run(
            [promtool, "check", "metrics"], input=text, capture_output=True, check=False
        )
        said = (done.stdout + done.stderr).decode(errors="replace")
        checker.check(done.returncode == 0, f"{name}: promtool: {said[-300:]}")
    else:
        checker.skipped += 1
    if not PARSER.exists():
        checker.skipped += 1
        return samples
    done = subprocess.run([PARSER, "-c", PARSE], input=text, capture_output=True, check=False)
    checker.check(
        done.returncode == 0 and int(done.stdout or -1) == len(samples),
        f"{name}: Prometheus' parser: {done.stderr.decode(errors='replace')[-300:]}",
    )
    return samples


def check_prometheus(checker: Checker, name: str, text: bytes, report: dict[str, Any]) -> None:
    samples = prometheus_samples(checker, name, text)
    for rank in report["ranks"]:
        of = (
            f'rank="{rank["rank"]}"'
            if rank["rank"] is not None
            else 'file="' + re.sub(r'(["\\])', r"\\\1", rank["file"]).replace("\n", "\\n") + '"'
        )
        steps = rank["sections"]["step_ledger"]["tables"]["steps"]["rows"]
        accounts = sum(
            value
            for key, value in samples.items()
            if key.startswith("flopledger_account_seconds_total{" + of)
        )
        checker.check(
            math.isclose(accounts, sum(row["duration"] for row in steps) / 1e9, rel_tol=1e-9),
            f"{name}: accounts of {of}",
        )
        mfu = rank["sections"].get("model_flops_utilization", {}).get("numbers", {}).get("mfu")
        if mfu and mfu["value"] is not None:
            checker.check(
                samples.get(f"flopledger_mfu_ratio{{{of}}}") == mfu["value"], f"{name}: mfu of {of}"
            )


def check_many_ranks(checker: Checker, folder: Path) -> None:
    """More than a report prints in full."""
    text = (ROOT / "tests" / "traces" / "golden" / "two_ranks" / "rank0.json").read_text()
    (folder / "many").mkdir()
    for rank in range(66):
        own = text.replace('"rank": 0', f'"rank": {rank}').replace(
            '"world_size": 2', '"world_size": 66'
        )
        (folder / "many" / f"rank{rank}.json").write_text(own)
    lines = checker.run("export", "jsonl", folder / "many").decode().splitlines()
    ranks = {json.loads(line)["rank"] for line in lines}
    checker.check(ranks == set(range(66)), f"of 66 ranks {len(ranks)} are exported")


def check_job(checker: Checker, path: Path, folder: Path) -> None:
    """What `ettr --export` writes of a job."""
    name = f"job {path.name}"
    given = ("ettr", "--device", "H100 SXM", path)
    report = json.loads(checker.run(*given, "--json", "--top", "0"))
    if path.suffix == ".hatchet":
        return  # a profile without times: it has no ledger to export
    expected = dict(expected_facts(report)) | dict(expected_tables(report))
    checker.run(*given, "--export", "csv", "-o", folder / "csv")
    checker.run(*given, "--export", "sqlite", "-o", folder / "run.sqlite")
    check_csv(checker, name, folder / "csv", expected)
    check_sqlite(checker, name, folder / "run.sqlite", expected)
    lines = [json.loads(line) for line in checker.run(*given, "--export", "jsonl").splitlines()]
    rows: dict[str, int] = defaultdict(int)
    for line in lines:
        rows[line["table"]] += 1
    wanted = {table: len(cells) for table, cells in expected.items() if cells}
    checker.check(
        {table: rows.get(table, 0) for table in wanted} == wanted, f"{name}: lines {dict(rows)}"
    )
    text = checker.run(*given, "--export", "prometheus")
    samples = prometheus_samples(checker, name, text)
    sections = report["ranks"][0]["sections"]
    if "job" not in sections:
        return  # a diary
    of = f'{{file="{path}"'
    for section, number, metric in (
        ("job", "ettr", "flopledger_ettr_ratio"),
        ("job", "attempts", "flopledger_job_attempts_total"),
        ("job_rates", "mfu", "flopledger_job_mfu_ratio"),
        ("job_failures", "interruptions", "flopledger_job_interruptions_total"),
    ):
        known = sections[section]["numbers"].get(number, {}).get("value")
        checker.check(samples.get(f"{metric}{of}}}") == known, f"{name}: {metric}")
    for table, metric in (
        (sections["job"]["tables"]["accounts"], "flopledger_job_account_seconds_total"),
        (
            sections.get("kept_steps", {}).get("tables", {}).get("ledger"),
            "flopledger_job_kept_account_seconds_total",
        ),
    ):
        told = [value for key, value in samples.items() if key.startswith(metric + of)]
        whole = table["rows"][0]["time"] / 1e9 if table else 0
        checker.check(math.isclose(sum(told), whole, rel_tol=1e-9), f"{name}: {metric} {told}")


def documented_queries() -> dict[str, str]:
    page = SQLITE_PAGE.read_text()
    return dict(re.findall(r"^### (\w+)\n.*?^```sql\n(.*?)^```$", page, re.DOTALL | re.MULTILINE))


def check_queries(checker: Checker, databases: list[Path]) -> None:
    """Each runs on some database of our traces, and finds a row."""
    tables: set[str] = set()
    found: set[str] = set()
    queries = documented_queries()
    for path in databases:
        database = sqlite3.connect(path)
        own = {
            name
            for name, in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        tables |= own
        for table in own & set(queries):
            if database.execute(queries[table]).fetchone():
                found.add(table)
    for table in sorted(tables | set(queries)):
        checker.check(table in found, f"export-sqlite.md: no query of {table} that finds something")


def columns_of(databases: list[Path]) -> dict[str, list[str]]:
    """Of each table those beside what every table begins with; some traces have more of them than others."""
    columns: dict[str, list[str]] = defaultdict(list)
    for path in databases:
        database = sqlite3.connect(path)
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid"
        for (table,) in database.execute(tables).fetchall():
            own = [
                row[0] for row in database.execute("SELECT name FROM pragma_table_info(?)", [table])
            ]
            lead = () if table == "traces" else LEAD[2:] if table.startswith("overview_") else LEAD
            own = [name for name in own if name not in lead]
            before = 0  # where the column before this one stands
            for name in own:
                if name not in columns[table]:
                    columns[table].insert(before, name)
                before = columns[table].index(name) + 1
    return columns


def page_with_columns(page: str, columns: dict[str, list[str]]) -> str:
    """With the list of columns behind what each table is."""

    def listed(match: re.Match[str]) -> str:
        names = ", ".join(f"`{name}`" for name in columns.get(match[2], ()))
        lines = textwrap.fill(
            f"Columns: {names}", 130, break_long_words=False, break_on_hyphens=False
        )
        return f"{match[1]}{lines}\n\n```sql\n" if names else match[0]

    head = r"^(### (\w+)\n\n(?:(?!Columns: )[^#`\n][^\n]*\n)+\n)"
    return re.sub(head + r"(?:Columns: (?:[^\n]+\n)+\n)?```sql\n", listed, page, flags=re.MULTILINE)


def check_columns(checker: Checker, databases: list[Path]) -> None:
    page = SQLITE_PAGE.read_text()
    expected = page_with_columns(page, columns_of(databases))
    if "--bless" in sys.argv:
        SQLITE_PAGE.write_text(expected)
    checker.check(
        "--bless" in sys.argv or page == expected, "export-sqlite.md: other columns: --bless"
    )


def text_of(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def chrome_accounts(events: list[dict[str, Any]]) -> dict[tuple[int, int, str], int]:
    """(process, step, account) -> nanoseconds, of the track of accounts."""
    sums: dict[tuple[int, int, str], int] = defaultdict(int)
    for event in events:
        if event["ph"] == "X" and event["tid"] == 2:
            args = event["args"]
            sums[event["pid"], args["step"], args["account"]] += round(event["dur"] * 1000)
    return sums


def check_chrome(
    checker: Checker, name: str, path: Path, folder: Path, own: dict[str, Any]
) -> None:
    if len(own["ranks"]) != 1:
        check_merged_chrome(checker, name, path, folder, own)
        return
    out = folder / "chrome.json.gz"
    checker.run("export", "chrome", "-o", out, path)
    with gzip.open(out) as file:
        exported = json.load(file)
    ours = [event for event in exported["traceEvents"] if event.get("cat") == "flopledger"]
    others = [event for event in exported["traceEvents"] if event.get("cat") != "flopledger"]
    trace = Path(own["ranks"][0]["file"])
    raw = text_of(trace)
    try:
        original = json.loads(raw)
    except ValueError:
        checker.skipped += 1  # the file itself is no JSON
    else:
        if isinstance(original, list):
            original = {"traceEvents": original}
        checker.check(others == original.pop("traceEvents"), f"{name}: other events")
        del exported["traceEvents"]
        checker.check(exported.pop("flopledgerExport", "") != "", f"{name}: who wrote it")
        checker.check(exported == original, f"{name}: other members beside the events")
    sections = own["ranks"][0]["sections"]
    for row in sections["step_ledger"]["tables"]["steps"]["rows"]:
        sums = {
            account: ns
            for (_, step, account), ns in chrome_accounts(ours).items()
            if step == row["step"]
        }
        if len(sections["step_ledger"]["tables"]["steps"]["rows"]) == len(
            {other["step"] for other in sections["step_ledger"]["tables"]["steps"]["rows"]}
        ):
            checker.check(
                all(row[account] == ns for account, ns in sums.items())
                and sum(sums.values()) == row["duration"],
                f"{name}: accounts of step {row['step']} in the Chrome trace",
            )
    for name_beside in ("capture.json", "compiled.json"):
        if (trace.parent / name_beside).exists():
            shutil.copy(trace.parent / name_beside, folder)
    if (trace.parent / "capture_traces").exists():
        shutil.copytree(trace.parent / "capture_traces", folder / "capture_traces")
    again = json.loads(checker.run("report", "--json", "--top", "0", out))["ranks"][0]["sections"]
    before = json.loads(checker.run("report", "--json", "--top", "0", trace))["ranks"][0][
        "sections"
    ]
    for key, section in before.items():
        if key == "run":
            del section["numbers"]["file"], again[key]["numbers"]["file"]
            section["findings"] = again[key]["findings"] = []  # bytes that were no UTF-8
        if key.startswith("memory") and list(trace.parent.glob("*.memory.json")):
            continue  # what stands beside the trace has its name
        checker.check(
            again.get(key) == section or b"\xff" in raw, f"{name}: {key} of the Chrome trace"
        )


def events_of(trace: Any) -> list[dict[str, Any]]:
    return trace if isinstance(trace, list) else trace["traceEvents"]


def check_merged_chrome(
    checker: Checker, name: str, path: Path, folder: Path, own: dict[str, Any]
) -> None:
    out = folder / "chrome.json"
    checker.run("export", "chrome", "-o", out, path)
    events = json.loads(out.read_bytes())["traceEvents"]
    traces = [json.loads(text_of(Path(rank["file"]))) for rank in own["ranks"]]
    checker.check(
        len([event for event in events if event.get("cat") != "flopledger"])
        == sum(len(events_of(trace)) for trace in traces),
        f"{name}: events of all ranks",
    )
    names = {
        event["args"]["name"]
        for event in events
        if event["name"] == "process_name" and event["ph"] == "M"
    }
    for index, rank in enumerate(own["ranks"]):
        prefix = f"trace {index}: " if rank["rank"] is None else f"rank {rank['rank']}: "
        checker.check(any(text.startswith(prefix) for text in names), f"{name}: {prefix}{names}")
    pids = {event["pid"] for event in events}
    moved = {
        event["pid"] + index * 10_000_000
        for index, trace in enumerate(traces)
        for event in events_of(trace)
        if isinstance(event.get("pid"), int)
    }
    checker.check(moved and moved <= pids, f"{name}: pids {pids}")
    flows = [event["id"] for event in events if event["ph"] == "s"]
    checker.check(len(flows) == len(set(flows)), f"{name}: flows of two ranks have one id")
    steps = [
        (index, row)
        for index, rank in enumerate(own["ranks"])
        for row in rank["sections"]["step_ledger"]["tables"]["steps"]["rows"]
    ]
    sums = chrome_accounts([event for event in events if event.get("cat") == "flopledger"])
    for index, row in steps:
        pid = 9_000_000 + index * 10_000_000
        checker.check(
            sum(ns for key, ns in sums.items() if key[:2] == (pid, row["step"])) == row["duration"],
            f"{name}: accounts of step {row['step']} of trace {index}",
        )


def check_trace(checker: Checker, path: Path, folder: Path) -> None:
    name = path.name
    try:
        report = report_with_memory(checker, path)
    except RuntimeError:
        return  # nothing to report in it
    if "pipeline" in report["ranks"][0]["sections"] and "run" not in report["ranks"][0]["sections"]:
        return  # a timeline of pipelines, whose report is one of its own
    if path.suffix == ".hatchet":
        return  # a profile without times: it has no ledger to export
    expected = dict(expected_facts(report)) | dict(expected_tables(report))
    checker.run("export", "csv", "-o", folder / "csv", path)
    checker.run("export", "sqlite", "-o", folder / "run.sqlite", path)
    check_csv(checker, name, folder / "csv", expected)
    check_sqlite(checker, name, folder / "run.sqlite", expected)
    check_jsonl(checker, name, checker.run("export", "jsonl", path), report)
    check_prometheus(checker, name, checker.run("export", "prometheus", path), report)
    try:
        check_chrome(checker, name, path, folder, report)
    except RuntimeError as error:
        checker.check("is no trace of torch.profiler" in str(error), str(error))


def hostile_copy(folder: Path) -> Path:
    """A trace whose names are commas, quotes, line ends, formulas and bytes that are no UTF-8."""
    text = (ROOT / "tests" / "traces" / "golden" / "two_ranks" / "rank0.json").read_bytes()
    names = [
        b'a,b"c"',
        b"two\\nlines\\r\\n",
        b"=cmd|' /C calc'!A0",
        b"\\\\back\\\\",
        b"\xff\xfe\xc3",
        b"{}\\t,;",
    ]
    kernels = sorted(
        set(
            re.findall(
                rb'"(?:cat|ph)": ?"kernel".{0,200}?"name": ?"([^"]+)"|"name": ?"([^"]+)"', text
            )
        )
    )
    flat = [name for pair in kernels for name in pair if name and b"ProfilerStep" not in name]
    for index, old in enumerate(flat):
        text = text.replace(b'"' + old + b'"', b'"' + old[:20] + names[index % len(names)] + b'"')
    path = folder / 'rank "0", odd\nname.json'
    path.write_bytes(text)
    return path


def main() -> None:
    program = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ["FLOPLEDGER"]).resolve()
    checker = Checker(program)
    traces = sorted(
        path for path in (ROOT / "tests" / "traces" / "golden").iterdir() if path.name != "memory"
    )
    if SHARED.is_dir():
        small = [
            path
            for path in sorted((SHARED / "traces").rglob("*.json*"))
            if path.stat().st_size < OF_OTHERS_MAX_BYTES and "broken" not in path.parts
        ]
        traces += small[:: max(1, len(small) // OF_OTHERS)]
    with tempfile.TemporaryDirectory() as temporary:
        own_count = sum(path.is_relative_to(ROOT) for path in traces)
        traces.append(hostile_copy(Path(temporary)))
        for index, path in enumerate(traces):
            folder = Path(temporary) / str(index)
            folder.mkdir()
            check_trace(checker, path, folder)
        databases = [Path(temporary) / str(index) / "run.sqlite" for index in range(own_count)]
        for path in sorted((ROOT / "tests" / "traces" / "golden" / "job").iterdir()):
            if path.name != "own.log":
                folder = Path(temporary) / f"job {path.name}"
                folder.mkdir()
                check_job(checker, path, folder)
                databases.append(folder / "run.sqlite")
        check_many_ranks(checker, Path(temporary))
        databases = [path for path in databases if path.exists()]
        check_queries(checker, databases)
        check_columns(checker, databases)
    checker.finish()


main()
