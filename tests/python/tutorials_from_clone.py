#!/usr/bin/env python3
"""The tutorials as a newcomer walks them: a clean clone, installed by its own command, then each walk; all of it timed.

tutorials_from_clone.py [--minutes 10]     fails where a walk together with installing takes longer

On a machine that others use meanwhile the time on the clock is only printed: there, what must be below the limit is the time of
all processors together, for which one processor alone would have been busy.

Needs what `./dev demo` needs: a network for the packages, and minutes. `./dev test tutorials-from-clone` runs it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from machine_use import MachineUse

ROOT = Path(__file__).resolve().parents[2]
WALKED = re.compile(r"^([a-z-]+): (\d+) s, (\d+) s of processors, others (\d+) %$", re.MULTILINE)
MOST_OF_OTHERS = 20  # % of the processors' time, where the time on the clock counts
TUTORIALS = 4


def timed(command: list[str], folder: Path, log: Path) -> tuple[MachineUse, str]:
    """In an environment that knows nothing of this checkout."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("FLOPLEDGER", "PYTHON", "VIRTUAL_ENV"))
    }
    kept["CCACHE_DISABLE"] = "1"  # a newcomer has compiled nothing of it yet
    use = MachineUse()
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
    print(
        f"{' '.join(command[:3])}: {use.seconds():.0f} s, {use.processor_seconds():.0f} s of processors, "
        f"others {100 * use.share_of_others():.0f} %",
        flush=True,
    )
    return use, log.read_text()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    limit = 60 * parser.parse_args().minutes
    failed = 0
    with tempfile.TemporaryDirectory(prefix="flopledger-clone-") as name:
        clone = Path(name) / "flopledger"
        log = Path(name) / "log"
        timed(["git", "clone", "-q", str(ROOT), str(clone)], Path(name), log)
        installing, _ = timed(["./dev", "demo"], clone, log)
        seconds, of_processors = installing.seconds(), installing.processor_seconds()
        is_quiet = 100 * installing.share_of_others() < MOST_OF_OTHERS
        _, said = timed(
            [sys.executable, "tests/python/test_tutorials.py", "build/release/flopledger"],
            clone,
            log,
        )
        walks = WALKED.findall(said)
        for walk, own, own_of_processors, others in walks:
            total = seconds + int(own)
            used = of_processors + int(own_of_processors)
            print(
                f"{walk}: with installing {total:.0f} s, {used:.0f} s of processors, of {limit:.0f} s"
            )
            counts = total if is_quiet and int(others) < MOST_OF_OTHERS else used
            failed += counts > limit
    failed += len(walks) != TUTORIALS
    print(f"{len(walks)} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
