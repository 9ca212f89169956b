#!/usr/bin/env python3
"""The workflows of .github say what GitHub understands, as actionlint sees it, and take actions of others only by their commit.

actionlint is asked first about a workflow with mistakes: it must find each. It comes from npm, into build/lint-node (./dev test).
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from source_files import ROOT

FOLDER = ROOT / ".github" / "workflows"
PACKAGE = ROOT / "build" / "lint-node" / "node_modules" / "@tktco" / "node-actionlint"
USES = re.compile(r"^ *(?:- )?uses: (\S+)(.*)$", re.MULTILINE)
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
WRONG = """name: wrong
on: push
jobs:
  one:
    needs: nobody
    runs-on: ubuntu-24.04
    steps:
      - run: echo ${{ matrix.python }}
      - use: actions/checkout@v4
"""
FOUND_IN_IT = ("does not exist", 'property "python" is not defined', 'unexpected key "use"')
ASK = """globalThis.crypto ??= require("node:crypto").webcrypto; // of itself only from Node.js 20 on
const {{ readFileSync }} = require("node:fs");
const {{ runLint }} = require("{package}/build/run-lint.js");
(async () => {{
    const found = [];
    for (const path of process.argv.slice(2))
        for (const each of await runLint(readFileSync(path, "utf8"), path)) found.push([path, each.line, each.message]);
    console.log(JSON.stringify(found));
    process.exit(0); // the linter waits for more
}})();
"""


def actionlint(paths: list[Path]) -> list[tuple[str, int, str]]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "ask.cjs")
        script.write_text(ASK.format(package=PACKAGE))
        command = [shutil.which("node") or "nodejs", script, *paths]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [(path, line, message) for path, line, message in json.loads(done.stdout) if message]


def what_actionlint_says(paths: list[Path]) -> tuple[list[str], int]:
    """Problems, and how many checks were made."""
    with tempfile.TemporaryDirectory() as folder:
        wrong = Path(folder, "wrong.yml")
        wrong.write_text(WRONG)
        said = " ".join(message for _, _, message in actionlint([wrong]))
    problems = [
        f"actionlint does not find '{words}' in a wrong workflow"
        for words in FOUND_IN_IT
        if words not in said
    ]
    problems += [
        f"{Path(path).name}:{line}: {message}" for path, line, message in actionlint(paths)
    ]
    return problems, len(FOUND_IN_IT) + len(paths)


def not_pinned(path: Path) -> list[str]:
    text = path.read_text()
    problems = [
        f"{path.name}: {name} is not named by its commit, with its version behind '#'"
        for name, comment in USES.findall(text)
        if not PINNED.fullmatch(name) or not re.fullmatch(r" # v\d+\.\d+\.\d+", comment)
    ]
    checkouts = len(re.findall(r"uses: actions/checkout@", text))
    if checkouts != text.count("persist-credentials: false"):
        problems.append(f"{path.name}: a checkout keeps the token of its job")
    return problems


def main() -> None:
    paths = sorted(FOLDER.glob("*.yml"))
    with_others = [*paths, ROOT / "contrib" / "github" / "action.yml"]
    problems = [problem for path in with_others for problem in not_pinned(path)]
    checked = len(with_others)
    is_here = (PACKAGE / "main.wasm").exists()
    if is_here:
        said, count = what_actionlint_says(paths)
        problems += said
        checked += count
    else:
        print("skipped: actionlint is not in build/lint-node (./dev test puts it there)")
    for problem in problems:
        print(problem)
    failed = min(len(problems), checked)
    print(f"{checked - failed} passed, {failed} failed, {0 if is_here else 1} skipped")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
