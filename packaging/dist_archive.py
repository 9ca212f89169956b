"""Called by `meson dist`: puts the page that Node.js made into the source distribution, in place of the sources that only Node.js can
use, and leaves out what only the repository needs (tests and their traces, pictures, benchmarks, what builds wheels).

The sources in C and Python, the page and the documentation, which is part of the program, are in one archive, which the build unpacks: gzip, the
only packing that a source distribution may have, makes a quarter more of them, and everybody who builds from source downloads it.
"""

import io
import lzma
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

LEFT_OUT = (
    *("tests", "bench", "examples", "contrib", "debian", "dev", ".ci", ".github", "Dockerfile"),
    *("src", "python", "docs", "packaging/conda", ".dockerignore", "ARCHITECTURE.md"),
    *("CONTRIBUTING.md", "README.zh-CN.md"),
    *("web/src", "web/page.html"),
    *("web/package.json", "web/package-lock.json", "web/tsconfig.json", "web/.npmrc"),
    *(".clang-format", ".clang-tidy", ".editorconfig", ".gitignore", ".prettierrc.json"),
)
# Of packaging/, all but these only make what is published.
NEEDED = ("build_backend.py", "meson.build", "pack_folder.py", "dist_archive.py", "completion")
TEXT = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "pb": 0}


def commit_time() -> int:
    """What all files get, so that the same commit gives the same bytes: Debian takes no package with files of 1970."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if not given:
        command = ["git", "-C", os.environ["MESON_SOURCE_ROOT"], "log", "-1", "--format=%ct"]
        given = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return int(given)


def archive_of(files: dict[str, bytes], modified: int) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(content), modified
            archive.addfile(entry, io.BytesIO(content))
    return lzma.compress(plain.getvalue(), filters=[TEXT])


def leave_out(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def main() -> None:
    build = Path(os.environ["MESON_BUILD_ROOT"])
    place = Path(os.environ["MESON_DIST_ROOT"])
    subprocess.run(["ninja", "-C", str(build), "web/page.html"], check=True)
    files = {"web/built_page.html": (build / "web" / "page.html").read_bytes()}
    packed = [path for name in ("src", "python") for path in (place / name).rglob("*.*")]
    packed += (place / "docs").rglob("*.md")
    for path in sorted(packed):
        files[path.relative_to(place).as_posix()] = path.read_bytes()
    (place / "sources.tar.xz").write_bytes(archive_of(files, commit_time()))
    for name in LEFT_OUT:
        leave_out(place / name)
    for path in [*(place / "packaging").iterdir(), *(place / "web").glob("*.mjs")]:
        if path.name not in NEEDED:
            leave_out(path)


main()
