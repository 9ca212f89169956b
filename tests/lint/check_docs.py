#!/usr/bin/env python3
"""What the documents say is true: check_docs.py PROGRAM

- An example in a block that begins with ```console test is run in the project's folder, and prints what the block says.
  Lines that begin with `$ ` are commands; a line that is only `...` or `…` stands for any lines. `--bless` writes what
  the programs print into the blocks that have no such line.
- Commands and options of `flopledger` in any other block exist.
- Links to files lead somewhere.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from source_files import ROOT, project_files

FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)(?P=fence) *$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
ANY_LINES = ("...", "…")


class Checker:
    def __init__(self, program: Path, bless: bool) -> None:
        self.program = program
        self.bless = bless
        self.passed = 0
        self.problems: list[str] = []
        self.help_texts: dict[str, str] = {}

    def check(self, is_right: bool, problem: str) -> None:
        if is_right:
            self.passed += 1
        else:
            self.problems.append(problem)

    def run(self, command: str) -> str:
        environment = dict(os.environ, COLUMNS="80", NO_COLOR="1", LC_ALL="C.UTF-8")
        environment["PATH"] = f"{self.program.parent}:{environment['PATH']}"
        done = subprocess.run(
            command,
            shell=True,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )
        return done.stdout.decode(errors="replace")

    def help_text(self, command: str) -> str:
        """What `flopledger help COMMAND` prints; nothing where there is no such command."""
        if command not in self.help_texts:
            arguments = [str(self.program), "help"] + ([command] if command else [])
            done = subprocess.run(arguments, capture_output=True, text=True, check=False)
            self.help_texts[command] = done.stdout if done.returncode == 0 else ""
        return self.help_texts[command]


def matches(said: list[str], wanted: list[str]) -> bool:
    """Whether the lines said are the lines wanted, in which `...` stands for any lines."""
    if not wanted:
        return not said
    if wanted[0].strip() in ANY_LINES:
        return any(matches(said[skip:], wanted[1:]) for skip in range(len(said) + 1))
    return bool(said) and said[0].rstrip() == wanted[0].rstrip() and matches(said[1:], wanted[1:])


def split_examples(body: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Lines before the first command, and [(command, lines it prints)]."""
    before: list[str] = []
    examples: list[tuple[str, list[str]]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            examples.append((line[2:], []))
        else:
            (examples[-1][1] if examples else before).append(line)
    return before, examples


def without_indent(text: str, indent: str) -> str:
    """Of a block inside a list."""
    return "".join(line.removeprefix(indent) for line in text.splitlines(keepends=True))


def with_indent(text: str, indent: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(indent + line if line.strip() else line for line in lines)


def check_examples(checker: Checker, where: str, body: str) -> str:
    before, examples = split_examples(body)
    blessed = "".join(f"{line}\n" for line in before)
    for command, wanted in examples:
        said = checker.run(command).splitlines()
        is_open = any(line.strip() in ANY_LINES for line in wanted)
        if checker.bless and not is_open:
            wanted = [line.rstrip() for line in said]
        problem = f"{where}: `{command}` printed\n" + "\n".join(said[:60])
        checker.check(matches(said, wanted), problem)
        blessed += "\n".join([f"$ {command}", *wanted]) + "\n"
    return blessed


def check_options(checker: Checker, where: str, body: str) -> None:
    """`flopledger report --top 3 x.json`: is there a command `report`, and has it an option --top?"""
    for line in re.findall(
        r"(?:^|[|;&(`]\s*|\$ )flopledger((?: [^\n|;&`#>)]*)?)", body, re.MULTILINE
    ):
        line = line.split(" -- ")[0]  # what follows are another program's options
        words = line.split()
        command = words[0] if words and re.fullmatch(r"[a-z-]*[a-z]", words[0]) else ""
        text = checker.help_text(command)
        checker.check(bool(text), f"{where}: there is no command `flopledger {command}`")
        for option in re.findall(r"(?<=\s)--[a-z][a-z-]+", line):
            plain = option.replace("--no-", "--")
            is_known = option in text or plain in text or option in ("--help", "--version")
            checker.check(is_known, f"{where}: `flopledger {command}` has no option {option}")


def check_links(checker: Checker, path: Path, text: str) -> None:
    for target in (match[0] or match[1] for match in LINK.findall(text)):
        if re.match(r"[a-z]+:|#", target):
            continue
        file = (ROOT / path).parent / target.split("#")[0]
        checker.check(file.exists(), f"{path}: the link to {target} leads nowhere")


def check_document(checker: Checker, path: Path) -> None:
    text = (ROOT / path).read_text()

    def check_block(match: re.Match[str]) -> str:
        where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        info = match["info"].split()
        indent = match["indent"]
        body = without_indent(match["body"], indent)
        if info == ["console", "test"]:
            blessed = check_examples(checker, where, body)
            before, _, after = match[0].partition(match["body"])
            return match[0] if blessed == body else before + with_indent(blessed, indent) + after
        if not info or info[0] in ("console", "sh", "shell", "bash"):
            check_options(checker, where, body)
        return match[0]

    new_text = FENCE.sub(check_block, text)
    check_links(checker, path, FENCE.sub("", text))
    if checker.bless and new_text != text:
        (ROOT / path).write_text(new_text)


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--bless"]
    if len(arguments) != 1:
        sys.exit("usage: check_docs.py PROGRAM [--bless]")
    checker = Checker(Path(arguments[0]).resolve(), "--bless" in sys.argv)
    for path in project_files():
        if path.suffix == ".md":
            check_document(checker, path)
    print("\n".join(checker.problems))
    print(f"{checker.passed} passed, {len(checker.problems)} failed, 0 skipped")
    sys.exit(1 if checker.problems else 0)


if __name__ == "__main__":
    main()
