"""Tags a release: make_release.py VERSION [--check]; `./dev release` calls it.

The version stands in meson.build; other files that have to repeat it are looked at, and so is the changelog. Nothing is changed but
the tag that is made, and nothing is pushed. --check: makes no tag; without VERSION it only looks whether all files say the same.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+(?:rc\d+)?")
# Where the version is repeated, and how.
PLACES = {
    "meson.build": r"^  version: '([^']+)'",
    "python/flopledger/version.py": r'^VERSION = "([^"]+)"',
    "CITATION.cff": r"^version: (\S+)",
    "packaging/conda/recipe.yaml": r'^  version: "([^"]+)"',
    "debian/changelog": r"^flopledger \(([^-)]+)-",
    "web/package.json": r'^  "version": "([^"]+)"',
}


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def said_versions() -> dict[str, str]:
    found = {}
    for name, pattern in PLACES.items():
        match = re.search(pattern, (ROOT / name).read_text(), re.MULTILINE)
        found[name] = match[1] if match else "none"
    return found


def problems_of(version: str, is_released: bool) -> list[str]:
    """Why this commit can't be the release of that version."""
    found = [
        f"{name} says {said}, not {version}"
        for name, said in said_versions().items()
        if said != version
    ]
    changes = (ROOT / "CHANGELOG.md").read_text()
    heading = re.search(rf"^## {re.escape(version)}\b(.*)$", changes, re.MULTILINE)
    if not heading:
        found.append(f"CHANGELOG.md has no heading '## {version}, DATE'")
    elif is_released and not re.search(r"\d{4}-\d{2}-\d{2}", heading[1]):
        found.append(f"CHANGELOG.md: the heading of {version} has no date (2026-12-31)")
    if is_released and "UNRELEASED" in (ROOT / "debian/changelog").read_text().split("\n", 1)[0]:
        found.append("debian/changelog: its first line says UNRELEASED, not unstable")
    return found


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--check"]
    is_check = "--check" in sys.argv
    if is_check and not words:
        words = [said_versions()["meson.build"]]
    if len(words) != 1 or not VERSION.fullmatch(words[0]):
        sys.exit("usage: ./dev release VERSION [--check], as ./dev release 1.2.0")
    (version,) = words
    problems = problems_of(version, is_released=not is_check or version in sys.argv)
    if not is_check:
        if git("status", "--porcelain"):
            problems.append("there are changes that are not committed")
        if git("tag", "--list", f"v{version}"):
            problems.append(f"there is a tag v{version} already")
    if problems:
        sys.exit("not tagged:\n  " + "\n  ".join(problems))
    if is_check:
        print(f"all files say {version}")
        return
    git("tag", "-a", f"v{version}", "-m", f"flopledger {version}")
    print(f"tagged v{version}. To publish it: git push origin v{version}")


if __name__ == "__main__":
    main()
