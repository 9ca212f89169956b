#!/usr/bin/env python3
"""Texts say what engineers who train models say: the words that the project has given up stand in no text and no name.

check_words.py           says where they stand
check_words.py --count   only how often, by word

What is read as text: prose of Markdown (not its code), strings of C, TypeScript and Python with more than one word, comments of
neither. Names are identifiers of C. docs/glossary.md has the words that are used in their place.
"""

import io
import re
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from source_files import ROOT, finish, project_files


@dataclass(frozen=True)
class Word:
    pattern: str  # of the text in small letters
    instead: str


WORDS = (
    Word(r"(?:matrix |matrix-)products?\b", "matmul"),
    Word(r"\bmatrix work\b", "matmul, convolution and attention, or matmul time"),
    Word(r"\bdear(?:er|est)?\b|\bcosts? (?:the )?most\b", "largest first, most expensive"),
    Word(r"\b(?:un)?priced?\b|\bprices\b|\bpricing\b", "cost, estimated"),
    Word(r"\bbook(?:s|ed|ing|ings)?\b", "attribute, belongs to an account"),
    Word(r"\bhow sure\b|\bsure: ", "confidence: high, medium, low"),
    Word(r"\blate ranks?\b|\bwho waits for whom\b", "straggler, waiting for stragglers"),
    Word(r"\b\d+ % below\b|\bthe middle one\b", "p90, median"),
    Word(r"\b(?:stands?|stood|standing) out\b", "outlier"),
    Word(r"\bin all(?=[\"'.,;:)|\]]| \||\s*$)", "total"),
    Word(r"\b(?:computed|made) again\b", "recomputed; lost work after a restart"),
    Word(r"\bhow unequal\b", "load imbalance"),
    Word(r"\b(?:stands?|stood) still\b", "stalled"),
    Word(r"\bsteps? leaves? behind\b", "memory growth per step"),
    Word(r"\bcut up\b", "inactive split memory (fragmentation)"),
    Word(r"\bmemory was too little\b", "allocation retries"),
    Word(r"\bmasks? hides?\b", "masked attention excluded"),
    Word(r"\bachieved of the peak\b", "fraction of peak"),
    Word(r"\blinks? of the (?:critical )?path\b|\bto one link\b", "segment of the critical path"),
    Word(r"\btrace leaves open\b", "incomplete step"),
    Word(r"\bwhole or not at all\b", "written atomically"),
    Word(r"\bper cent\b", "%"),
    Word(
        r"\b(?:neighbour|colour|behaviour|synchronis|utilis|normalis|optimis|favour|centre\b|grey\b)",
        "US spelling",
    ),
)
# Of identifiers, split into their parts by underscores.
NAMES = (
    Word(r"^take_", "read_, parse_, collect_, record_"),
    Word(r"(?:^|_)study(?:$|_)", "replay_model, simulation"),
    Word(r"(?:^|_)rank_course", "rank_replay_input"),
    Word(r"(?:^|_)(?:booked|booking|book)(?:$|_)", "analyzed_rank, attribution, attribute_"),
    Word(r"(?:^|_)(?:told|untold|tells)(?:$|_)", "known, unknown, has_, reports_"),
    Word(r"(?:^|_)(?:price|prices|priced|unpriced)(?:$|_)", "cost, uncosted"),
    Word(
        r"(?:^|_)(?:judge|mend|settle|dearest)(?:$|_)", "check_, repair_, resolve_, most_expensive"
    ),
    Word(r"(?:^|_)stretch(?:es)?(?:$|_)", "interval"),
    Word(r"^(?:rank_rows|ranked_row)", "sort_rows, sorted_row"),
)
# How often they may stand, by folder; what is not here: never. Who takes some away lowers the number.
TEXTS_LEFT: dict[str, int] = {}
NAMES_LEFT: dict[str, int] = {}

MARKDOWN_CODE = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)\n]*\)|<!--.*?-->", re.DOTALL)
C_TOKEN = re.compile(
    r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#[ \t]*include[^\n]*',
    re.DOTALL | re.MULTILINE,
)
PAGE_TOKEN = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`', re.DOTALL)
IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")

Text = tuple[int, str]  # line, and what stands there


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def texts_of_markdown(text: str) -> list[Text]:
    """Paragraphs, so that a word that goes over the end of a line is found; code is blanked out, its lines stay."""
    prose = MARKDOWN_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    found = []
    for match in re.finditer(r"(?:[^\n]*\S[^\n]*\n?)+", prose):
        found.append((line_of(prose, match.start()), match[0]))
    return found


def texts_of_strings(text: str, token: re.Pattern[str]) -> list[Text]:
    """Strings that stand side by side are one text. A string of one word is a key."""
    found: list[Text] = []
    end = -1
    for match in token.finditer(text):
        if match[0][0] not in '"`':
            continue
        own = match[0][1:-1]
        if end >= 0 and not text[end : match.start()].strip(" \n\t+"):
            found[-1] = (found[-1][0], found[-1][1] + own)
        else:
            found.append((line_of(text, match.start()), own))
        end = match.end()
    return [(line, own) for line, own in found if " " in own.strip()]


def texts_of_python(text: str) -> list[Text]:
    """Strings but docstrings, which stand alone."""
    found: list[Text] = []
    last = tokenize.NEWLINE
    for part in tokenize.generate_tokens(io.StringIO(text).readline):
        is_text = part.type == tokenize.STRING or tokenize.tok_name[part.type] == "FSTRING_MIDDLE"
        if (
            is_text
            and last not in (tokenize.NEWLINE, tokenize.INDENT, tokenize.NL)
            and " " in part.string
        ):
            found.append((part.start[0], part.string))
        if part.type not in (tokenize.COMMENT, tokenize.NL):
            last = part.type
    return found


def texts_of(path: Path, text: str) -> list[Text]:
    if path.suffix == ".md":
        return texts_of_markdown(text)
    if path.suffix in (".c", ".h", ".def"):
        return texts_of_strings(text, C_TOKEN)
    if path.suffix in (".ts", ".mjs"):
        return texts_of_strings(text, PAGE_TOKEN)
    return texts_of_python(text)


def names_of(text: str) -> Counter[str]:
    """Identifiers, with how often each stands."""
    return Counter(IDENTIFIER.findall(C_TOKEN.sub(" ", text)))


def is_read(path: Path) -> bool:
    if path.parts[0] == "docs" or path.parts == (path.name,):
        return path.suffix == ".md"
    return path.parts[0] in ("src", "web", "python") and path.suffix in (
        ".c",
        ".h",
        ".def",
        ".ts",
        ".py",
    )


def found_in_texts(path: Path, text: str) -> list[tuple[str, Word, str]]:
    found = []
    for line, own in texts_of(path, text):
        flat = re.sub(r"\s+", " ", own.replace("\\n", " ")).lower()
        for word in WORDS:
            for match in re.finditer(word.pattern, flat):
                near = flat[max(0, match.start() - 30) : match.end() + 30]
                found.append((f"{path}:{line}: …{near}…", word, match[0]))
    return found


def found_in_names(path: Path, text: str) -> list[tuple[str, Word, str]]:
    found = []
    for name, count in sorted(names_of(text).items()):
        for word in NAMES:
            if re.search(word.pattern, name):
                found += [(f"{path}: {name}", word, name)] * count
    return found


def check_myself() -> None:
    """A lint that finds nothing has to find what is there."""
    c = '/* dearest */ f("what is\\n"\n  "dear to", "dearest", \'"\', "a \\" b in all");'
    assert [own for _, own in texts_of_strings(c, C_TOKEN)] == [
        "what is\\ndear to",
        'a \\" b in all',
    ]
    assert names_of('#include "x.h"\n/* a */ b("c", d);\n') == Counter("bd")
    prose = "Of the `dearest`, what stands\nout.\n\n```\nin all\n```\n[a](in all)\n"
    found = found_in_texts(Path("a.md"), prose)
    assert [what for _, _, what in found] == ["stands out"], found
    python = 'def f():\n    """In all, dear."""\n    return say("3 in all")  # dear me\n'
    assert [what for _, _, what in found_in_texts(Path("a.py"), python)] == ["in all"]


def over(found: list[tuple[str, Word, str]], left: dict[str, int], what: str) -> list[str]:
    """What is too much, by folder."""
    problems = []
    folders: dict[str, list[tuple[str, Word, str]]] = {}
    for each in found:
        folders.setdefault(each[0].split("/")[0].split(":")[0], []).append(each)
    for folder in sorted(folders.keys() | left.keys()):
        mine, allowed = folders.get(folder, []), left.get(folder, 0)
        if len(mine) > allowed:
            problems += [f"{where}: say {word.instead}, not '{own}'" for where, word, own in mine]
            problems.append(f"{folder}: {len(mine)} such {what}, {allowed} at most")
        elif len(mine) < allowed:
            print(f"{folder}: {len(mine)} such {what} are left: lower the {allowed} in this check")
    return problems


def main() -> None:
    check_myself()
    files = [path for path in project_files() if is_read(path)]
    texts, names = [], []
    for path in files:
        text = (ROOT / path).read_text()
        texts += found_in_texts(path, text)
        if path.suffix in (".c", ".h", ".def"):
            names += found_in_names(path, text)
    if "--count" in sys.argv[1:]:
        for title, found in (("texts", texts), ("names", names)):
            counts = Counter(
                (where.split("/")[0].split(":")[0], word.instead) for where, word, _ in found
            )
            print(f"{title}: {len(found)}")
            for (folder, instead), count in sorted(counts.items(), key=lambda each: -each[1]):
                print(f"{count:6} {folder}: {instead}")
        return
    problems = over(texts, TEXTS_LEFT, "texts") + over(names, NAMES_LEFT, "names")
    finish(len(files), problems, min(len(files), len(problems)))


if __name__ == "__main__":
    main()
