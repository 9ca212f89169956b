#!/usr/bin/env python3
"""On a terminal a page has color, its width, and a pager; in a pipe it has none of them: check_pager.py"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRACE = "examples/traces/train_gpt_cpu.json.gz"


def on_terminal(columns: int, *options: str, **variables: str) -> str:
    """What `flopledger report` writes to a terminal of so many columns."""
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "PAGER", "NO_COLOR")}
    environment |= {"TERM": "xterm", "LC_ALL": "C.UTF-8"} | variables
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 60, columns, 0, 0))
    with subprocess.Popen(
        [os.environ.get("FLOPLEDGER", "flopledger"), "report", "--no-progress", *options, TRACE],
        cwd=ROOT,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            written += part
        process.wait()
    os.close(ours)
    return written.decode(errors="replace").replace("\r\n", "\n")


def main() -> int:
    problems = []
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        print("no pseudo-terminals here")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        seen = Path(folder) / "seen"
        pager = f"tee {seen} >/dev/null"
        if on_terminal(100, PAGER=pager) or "Where a step goes" not in seen.read_text():
            problems.append("the page does not go through PAGER")
        if "\033[" not in seen.read_text():
            problems.append("the pager gets no color")
        seen.unlink()
        plain = on_terminal(100, "--no-pager", PAGER=pager)
        if seen.exists() or "Where a step goes" not in plain:
            problems.append("--no-pager does not print to the terminal")
        if "\033[" in on_terminal(100, PAGER="cat", NO_COLOR="1"):
            problems.append("NO_COLOR is not obeyed")
        narrow = on_terminal(60, PAGER="", NO_COLOR="1").splitlines()
        if not narrow or max(map(len, narrow)) > 60:
            problems.append("the width of the terminal is not obeyed")
        piped = subprocess.run(
            [os.environ.get("FLOPLEDGER", "flopledger"), "report", TRACE],
            cwd=ROOT,
            env=os.environ | {"PAGER": pager, "TERM": "xterm"},
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        if seen.exists() or "\033[" in piped or "Where a step goes" not in piped:
            problems.append("a pipe has a pager or color")
    for problem in problems:
        print(problem)
    print("terminal and pipe are told apart" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
