#!/usr/bin/env python3
"""The tutorials as a newcomer walks them: a clean clone, installed by its own command, then each walk; all of it timed.

tutorials_from_clone.py [--minutes 10]     fails where a walk together with installing takes longer

Needs what `./dev demo` needs: a network for the packages, and minutes. `./dev test tutorials-from-clone` runs it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WALKED = re.compile(r"^([a-z-]+): (\d+) s$", re.MULTILINE)
TUTORIALS = 4


def timed(command: list[str], folder: Path, log: Path) -> tuple[float, str]:
    """In an environment that knows nothing of this checkout."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("FLOPLEDGER", "PYTHON", "VIRTUAL_ENV"))
    }
    began = time.monotonic()
    with log.open("w") as output:
        done = subprocess.run(
            command,
            cwd=folder,
            env=kept,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{log.read_text()[-4000:]}")
    return time.monotonic() - began, log.read_text()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    limit = 60 * parser.parse_args().minutes
    failed = 0
    with tempfile.TemporaryDirectory(prefix="flopledger-clone-") as name:
        clone = Path(name) / "flopledger"
        log = Path(name) / "log"
        cloning, _ = timed(["git", "clone", "-q", str(ROOT), str(clone)], Path(name), log)
        installing, _ = timed(["./dev", "demo"], clone, log)
        print(f"clone {cloning:.0f} s, ./dev demo {installing:.0f} s")
        _, said = timed(
            [sys.executable, "tests/python/test_tutorials.py", "build/release/flopledger"],
            clone,
            log,
        )
        walks = WALKED.findall(said)
        for walk, seconds in walks:
            total = cloning + installing + int(seconds)
            print(f"{walk}: {seconds} s, with installing {total:.0f} s of {limit:.0f} s")
            failed += total > limit
    failed += len(walks) != TUTORIALS
    print(f"{len(walks)} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
