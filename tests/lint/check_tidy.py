#!/usr/bin/env python3
"""Runs clang-tidy over src/: check_tidy.py BUILD_FOLDER (one that Meson made with clang).

A file that passed is not looked at again until it, a header or the settings change.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from source_files import ROOT, c_files

VERSION = "14"  # other versions check other things under the same names


def find_clang_tidy() -> str | None:
    for name in (f"clang-tidy-{VERSION}", "clang-tidy"):
        program = shutil.which(name)
        if program:
            said = subprocess.run(
                [program, "--version"], capture_output=True, text=True, check=True
            )
            if re.search(rf"version {VERSION}\.", said.stdout):
                return program
    return None


def digest_of(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(str(path).encode() + b"\0" + (ROOT / path).read_bytes())
    return digest.hexdigest()


def main() -> None:
    build = Path(sys.argv[1])
    sources = [path for path in c_files() if path.suffix == ".c"]
    clang_tidy = find_clang_tidy()
    if clang_tidy is None:
        print(f"needs clang-tidy {VERSION}")
        print(f"0 passed, 0 failed, {len(sources)} skipped")
        return
    shared = [path for path in c_files() if path.suffix == ".h"] + [
        Path(".clang-tidy"),
        Path("meson.build"),
    ]
    shared_digest = digest_of(shared)
    passed_before = build / "tidy-passed"
    passed_before.mkdir(parents=True, exist_ok=True)

    def check(path: Path) -> str:
        mark = (
            passed_before / hashlib.sha256((shared_digest + digest_of([path])).encode()).hexdigest()
        )
        if mark.exists():
            return ""
        command = [clang_tidy, "--quiet", "-p", str(build), str(ROOT / path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            mark.touch()
            return ""
        return done.stdout + done.stderr

    with ThreadPoolExecutor(os.cpu_count()) as workers:
        said = [text for text in workers.map(check, sources) if text]
    print("\n".join(said))
    print(f"{len(sources) - len(said)} passed, {len(said)} failed, 0 skipped")
    sys.exit(1 if said else 0)


if __name__ == "__main__":
    main()
