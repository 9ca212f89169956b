#!/usr/bin/env python3
"""A page in another language says what the English page says: X.zh-CN.md beside X.md.

Section by section, what needs no translation is equal: the level of headings, blocks of code but for their comments, code
and figures in the prose, where links and pictures lead, and how many rows and items there are.
"""

import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from source_files import ROOT, finish, project_files

LANGUAGE = re.compile(r"\.zh-CN(?=\.md$)")
HEADING = re.compile(r"^(#+) (.*)$")
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
COMMENT = re.compile(r"(?:^| )\s*#(?!!).*$")


@dataclass
class Section:
    level: int
    title: str
    line: int
    blocks: list[list[str]] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)


def sections_of(text: str) -> list[Section]:
    """What stands above the first heading is a section of level 0."""
    sections = [Section(0, "", 1)]
    block: list[str] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        heading = HEADING.match(line)
        if line.startswith("```"):
            if block is None:
                block = [line]
                sections[-1].blocks.append(block)
            else:
                block = None
        elif block is not None:
            block.append(COMMENT.sub("", line).rstrip())
        elif heading:
            sections.append(Section(len(heading[1]), heading[2], number))
        else:
            sections[-1].prose.append(line)
    return sections


def held_equal(section: Section, languages: set[str]) -> dict[str, object]:
    """What of a section is the same in every language. The link to the page's other language is none of it."""
    prose = "\n".join(section.prose)
    links = [link for link in LINK.findall(prose) if Path(link).name not in languages]
    words = LINK.sub("]", prose)
    return {
        "level of heading": section.level,
        "blocks of code": section.blocks,
        "links": Counter(LANGUAGE.sub("", link) for link in links),
        "code": Counter(CODE.findall(words)),
        "figures": Counter(FIGURE.findall(CODE.sub(" ", words))),
        "rows": len(re.findall(r"^\|", prose, re.MULTILINE)),
        "items": len(re.findall(r"^\s*[-*] ", prose, re.MULTILINE)),
    }


def difference(english: object, other: object) -> str:
    if isinstance(english, Counter) and isinstance(other, Counter):
        missing, more = list((english - other).elements()), list((other - english).elements())
        return f"missing {missing}, too much {more}"
    if isinstance(english, list) and isinstance(other, list):
        pairs = zip(english + [[]], other + [[]])
        return next((f"{theirs} is not {own}" for own, theirs in pairs if own != theirs), "")
    return f"{other} is not {english}"


def compare(english: str, other: str, languages: set[str], name: str) -> list[str]:
    own, theirs = sections_of(english), sections_of(other)
    if len(own) != len(theirs):
        return [
            f"{name}: {len(theirs)} headings, not {len(own)}: {[each.title for each in theirs]}"
        ]
    problems = []
    for section, translated in zip(own, theirs):
        wanted, found = held_equal(section, languages), held_equal(translated, languages)
        for what, value in wanted.items():
            if value != found[what]:
                where = f"{name}:{translated.line}: {translated.title}"
                problems.append(f"{where}: {what}: {difference(value, found[what])}")
    return problems


def check_myself() -> None:
    english = (
        "# A\n\n[B](a.zh-CN.md)\n\nIn 3 steps, see [b](b.md): `x`.\n\n```sh\nrun it  # now\n```\n"
    )
    same = (
        "# 甲\n\n[A](a.md)\n\n用 `x` 走 3 步,见[乙](b.zh-CN.md)。\n\n```sh\nrun it  # 现在\n```\n"
    )
    both = {"a.md", "a.zh-CN.md"}
    assert not compare(english, same, both, "a")
    for old, new in (
        ("3", "4"),
        ("run it", "run"),
        ("`x`", "x"),
        ("b.zh", "c.zh"),
        ("# 甲", "## 甲"),
    ):
        assert len(compare(english, same.replace(old, new, 1), both, "a")) == 1, (old, new)


def main() -> None:
    check_myself()
    problems = []
    pages = [path for path in project_files() if LANGUAGE.search(path.name)]
    for path in pages:
        english = path.with_name(LANGUAGE.sub("", path.name))
        if not (ROOT / english).exists():
            problems.append(f"{path}: there is no {english}")
            continue
        names = {path.name, english.name}
        problems += compare(
            (ROOT / english).read_text(), (ROOT / path).read_text(), names, str(path)
        )
    if not pages:
        sys.exit("there is no page in another language")
    finish(len(pages), problems, len({problem.split(":")[0] for problem in problems}))


if __name__ == "__main__":
    main()
