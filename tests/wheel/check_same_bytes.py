#!/usr/bin/env python3
"""Builds what dist/ has once more, from a clone in another folder with no libraries yet, and compares: check_same_bytes.py [TARGET...]

SOURCE_DATE_EPOCH is the commit's time in both. `./dev wheel --again` calls it with the tools that wheels are built with. What is not
committed would not be in the clone: then it is skipped.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
SOURCES = "build/wheel/cache/sources"


def clone(place: Path) -> None:
    """With the archives and packages that were downloaded, and with nothing that was built."""
    subprocess.run(["git", "clone", "-q", ROOT, place], check=True)
    shutil.copytree(ROOT / "web/node_modules", place / "web/node_modules", symlinks=True)
    (place / SOURCES).mkdir(parents=True)
    for path in (ROOT / SOURCES).glob("*.tar.*"):
        shutil.copy(path, place / SOURCES)


def main() -> None:
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    if changed.stdout:
        print("what is not committed is in no clone\n0 passed, 0 failed, 1 skipped")
        return
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="built-again-") as name:
        place = Path(name) / "a-path-of-another-length"
        clone(place)
        caches = {f"ZIG_{kind}_CACHE_DIR": f"{name}/{kind}" for kind in ("GLOBAL", "LOCAL")}
        command = [sys.executable, place / "packaging/build_wheel.py", *sys.argv[1:]]
        built = subprocess.run(command, env={**os.environ, **caches}, check=False)
        files = sorted((place / "dist").glob("*"))
        for path in files:
            first = DIST / path.name
            if first.exists() and first.read_bytes() == path.read_bytes():
                passed += 1
            else:
                failed += 1
                print(f"FAILED {path.name}: {'other bytes' if first.exists() else 'not in dist/'}")
        if built.returncode != 0 or not files:
            failed += 1
            print("FAILED it could not be built again")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
