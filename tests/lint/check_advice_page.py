#!/usr/bin/env python3
"""docs/metrics/advice.md shows the thresholds that src/sections/advice/rule_list.def has: the same rules, shares and limits;
and what is never said, as src/sections/advice/restraint_list.def has it."""

import re

from source_files import ROOT, finish

TABLE = ROOT / "src" / "sections" / "advice" / "rule_list.def"
PAGE = ROOT / "docs" / "metrics" / "advice.md"
RULE = re.compile(r'^ADVICE_RULE\((\w+), .*?, (\d+), "(.*?)"\)$', re.MULTILINE)
LIMIT = re.compile(r'^ADVICE_LIMIT\((\w+), (\d+), "(.*?)", "(.*?)"\)$', re.MULTILINE)
RESTRAINTS = ROOT / "src" / "sections" / "advice" / "restraint_list.def"
RESTRAINT = re.compile(r'^ADVICE_RESTRAINT\((\w+), "(.*?)", "(.*?)"\)$', re.MULTILINE)
RESTRAINT_ROW = re.compile(r"^\| `([a-z0-9_]+)` \| (.*?) \| (.*?) \|$", re.MULTILINE)
RULE_ROW = re.compile(r"^\| `(\w+)`: (.*?) \| (\S+)(?: %)? \| \S.* \|$", re.MULTILINE)
LIMIT_ROW = re.compile(r"^\| `([A-Z_]+)` \| (\d+) \| (.*?) \| (.*?) \|$", re.MULTILINE)


def share(thousandths: str) -> str:
    return "-" if thousandths == "0" else f"{int(thousandths) / 10:g}"


def differences(
    what: str, in_table: set[tuple[str, ...]], on_page: set[tuple[str, ...]]
) -> list[str]:
    problems = [f"{PAGE.name} lacks the {what} {entry}" for entry in sorted(in_table - on_page)]
    return problems + [
        f"{TABLE.name} lacks the {what} {entry} of {PAGE.name}"
        for entry in sorted(on_page - in_table)
    ]


def main() -> None:
    table, page = TABLE.read_text(), PAGE.read_text()
    rules = {(name, title, share(thousandths)) for name, thousandths, title in RULE.findall(table)}
    limits = set(LIMIT.findall(table))
    problems = differences("rule", rules, set(RULE_ROW.findall(page)))
    problems += differences("limit", limits, set(LIMIT_ROW.findall(page)))
    restraints = set(RESTRAINT.findall(RESTRAINTS.read_text()))
    problems += differences("restraint", restraints, set(RESTRAINT_ROW.findall(page)))
    if len(restraints) < 5:
        problems.append(f"{RESTRAINTS.name} cannot be read: its lines have another form")
    if len(rules) < 10 or len(limits) < 5:
        problems.append(f"{TABLE.name} cannot be read: its lines have another form")
    finish(len(rules) + len(limits) + len(restraints), problems, len(problems))


if __name__ == "__main__":
    main()
