"""Which files the checks look at, and how they say what they found."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def project_files() -> list[Path]:
    """Every file of the project, relative to its root: what git tracks, and what it would track after `git add`."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        files = [Path(line) for line in listed.stdout.splitlines()]
    else:  # unpacked from an archive
        files = [path.relative_to(ROOT) for path in ROOT.rglob("*")]
        files = [path for path in files if not path.parts[0].startswith("build")]
    return sorted(path for path in files if (ROOT / path).is_file())


def c_files(folder: str = "src") -> list[Path]:
    return [
        path for path in project_files() if path.parts[0] == folder and path.suffix in (".c", ".h")
    ]


def finish(checked: int, problems: list[str], failed_files: int) -> None:
    """One line a problem, then the line that tests/run_tests.py counts: a file is a test."""
    for problem in problems:
        print(problem)
    print(f"{checked - failed_files} passed, {failed_files} failed, 0 skipped")
    sys.exit(1 if problems else 0)
