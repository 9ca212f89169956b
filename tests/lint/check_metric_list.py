#!/usr/bin/env python3
"""docs/metrics/list.md is what the declarations of metrics say: metric_list.def, and what exports call each.

check_metric_list.py         fails where the page is out of date
check_metric_list.py --fix   writes it
"""

import re
import sys

from source_files import ROOT, finish

PAGE = ROOT / "docs" / "metrics" / "list.md"
DECLARATIONS = ROOT / "src" / "output" / "results" / "metric_list.def"
METRIC = re.compile(r'^METRIC\((\w+), "(.*?)", "(.*?)", UNIT_(\w+), "(.*)"\)$', re.MULTILINE)
GROUP = re.compile(r"^/\* ([^*\n]*)\. \*/$", re.MULTILINE)
NUMBER = re.compile(r'^NUMBER_METRIC\((\w+), "(\w+)", "\w+"\)$', re.MULTILINE)
ROWS = re.compile(r'^ROWS_METRIC\((\w+), .*?, \w+, "(\w+)", "\w+"\)$', re.MULTILINE)
SCALAR = re.compile(r'^SCALAR\((\w+), \w+, "(.*?)", (\w+), ', re.MULTILINE)
UNITS = {"TIME_NS": "ns", "FLOPS_PER_SECOND": "flop/s", "FLOPS": "flop"}
HEAD = """# All metrics

What flopledger measures a step, a run or a job by: each is declared once, in `src/output/results/metric_list.def`, and every
export takes it from there. This page is written by `tests/lint/check_metric_list.py --fix`.

- *key*: in the [JSON report](../formats/report-json.md), of a number or of a column;
- *of each step*: its tag in the exports to [TensorBoard](../formats/export-jsonl.md) and JSON Lines;
- *Prometheus*: its name in [that export](../formats/export-prometheus.md), where times are in seconds.
"""


def name(text: str | None) -> str:
    return f"`{text}`" if text else ""


def page_of(declarations: str) -> tuple[str, int]:
    prometheus = dict(NUMBER.findall(declarations) + ROWS.findall(declarations))
    tags = {metric: tag for metric, tag, _ in SCALAR.findall(declarations)}
    metrics = list(METRIC.finditer(declarations))
    groups = list(GROUP.finditer(declarations))
    unknown = (prometheus.keys() | tags.keys()) - {metric[1] for metric in metrics}
    if unknown or len(metrics) != len(re.findall(r"^METRIC\(", declarations, re.MULTILINE)):
        raise ValueError(f"lines of another form, or of unknown metrics: {sorted(unknown)}")
    text = HEAD
    for i, group in enumerate(groups):
        end = groups[i + 1].start() if i + 1 < len(groups) else len(declarations)
        text += f"\n## {group[1]}\n\n| key | title | unit | of each step | Prometheus | what it is |\n|---|---|---|---|---|---|\n"
        for metric in metrics:
            if group.end() < metric.start() < end:
                identifier, key, title, unit, what = metric.groups()
                what = what[:1].upper() + what[1:]
                row = (
                    name(key),
                    title,
                    UNITS.get(unit, unit.lower()),
                    name(tags.get(identifier)),
                    name(prometheus.get(identifier)),
                    what or "names the rows",
                )
                text += "| " + " | ".join(row) + " |\n"
    return text, len(metrics)


def main() -> None:
    text, count = page_of(DECLARATIONS.read_text())
    if "--fix" in sys.argv[1:]:
        PAGE.write_text(text)
    problems = []
    if count < 50:
        problems.append(f"{DECLARATIONS.name} cannot be read: its lines have another form")
    if not PAGE.exists() or PAGE.read_text() != text:
        problems.append(f"{PAGE.name} is out of date: tests/lint/check_metric_list.py --fix")
    finish(count, problems, len(problems))


if __name__ == "__main__":
    main()
