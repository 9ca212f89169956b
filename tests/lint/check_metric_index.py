#!/usr/bin/env python3
"""Every page of docs/metrics is found: once by its question (README.md), and by a word of the field (by-word.md)."""

import re
from collections import Counter

from source_files import ROOT, finish

FOLDER = ROOT / "docs" / "metrics"
QUESTIONS = ("Before all else", "Time: ", "FLOPs: ", "Memory: ", "Communication: ", "Job: ")
INDEXES = {"README", "by-word"}
ENTRY = re.compile(r"^- \[[^\]]*\]\(([a-z-]+)\.md\)", re.MULTILINE)
ROW = re.compile(r"^\| (.+) \| \[(.+)\]\(([a-z-]+)\.md\) \|$", re.MULTILINE)


def title_of(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text().split("\n")[0].removeprefix("# ")


def main() -> None:
    pages = {path.stem for path in FOLDER.glob("*.md")} - INDEXES
    problems = []
    index = (FOLDER / "README.md").read_text()
    headings = re.findall(r"^## (.*)$", index, re.MULTILINE)
    if [next((q for q in QUESTIONS if h.startswith(q)), h) for h in headings] != list(QUESTIONS):
        problems.append(f"README.md: its headings are not {QUESTIONS}")
    entries = Counter(ENTRY.findall(index))
    for page in sorted(pages):
        if entries[page] != 1:
            problems.append(f"README.md: {page}.md stands there {entries[page]} times, not once")
    rows = ROW.findall((FOLDER / "by-word.md").read_text())
    words = [word.lower() for word, _, _ in rows]
    if words != sorted(set(words)):
        problems.append("by-word.md: its words are not in order, or stand there twice")
    for page in sorted(pages - {page for _, _, page in rows}):
        problems.append(f"by-word.md: no word leads to {page}.md")
    for word, title, page in rows:
        if page in pages and title != title_of(page):
            problems.append(f"by-word.md: {word}: {page}.md is called '{title_of(page)}'")
    finish(len(pages), problems, min(len(pages), len(problems)))


if __name__ == "__main__":
    main()
