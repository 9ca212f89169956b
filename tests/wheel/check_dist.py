#!/usr/bin/env python3
"""Looks at what `./dev wheel` made, without running it: tests/wheel/check_dist.py [FOLDER]

Every wheel holds what it must, loads nothing but the library of C, in no newer version than its name says, and its list of parts,
its licences and its RECORD are right; a static program loads nothing at all; the source distribution has its page and no traces.
auditwheel and abi3audit say what they think of it where they are installed (./dev wheel --check does that).
"""

import base64
import csv
import hashlib
import io
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

try:
    from elftools.elf.elffile import ELFFile
except ImportError:
    print("needs pyelftools: ./dev wheel --check")
    print("0 passed, 0 failed, 1 skipped")
    sys.exit(0)

from installed import COMMANDS, ROOT

LIMIT_BYTES = 6_000_000
SDIST_LIMIT_BYTES = 1_500_000
MACHINES = {
    "x86_64": "EM_X86_64",
    "aarch64": "EM_AARCH64",
    "amd64": "EM_X86_64",
    "arm64": "EM_AARCH64",
}
# How files for a machine are called.
FORMS = {"x86_64": ("x86_64", "amd64"), "aarch64": ("aarch64", "arm64"), "all": ("",)}
OF_LIBC = re.compile(
    r"^(lib(c|m|dl|pthread|rt)\.so\.\d+|ld-linux-.*\.so\.\d+|libc\.musl-.*\.so\.1)$"
)
PACKAGE = ROOT / "python" / "flopledger"
EXTENSIONS = ("module_marks", "flop_counts", "step_writer")
NAME = re.compile(
    r"flopledger-([\d.]+)-(cp310-abi3|py3-none)-(manylinux_2_28|musllinux_1_2)_(x86_64|aarch64)\.whl"
)

passed = failed = skipped = 0


def check(what: str, is_right: bool, details: object = "") -> None:
    global passed, failed
    if is_right:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {what} {details}")


def needed_versions(elf: ELFFile) -> Iterator[tuple[int, ...]]:
    """Versions of glibc's symbols that it asks for."""
    section = elf.get_section_by_name(".gnu.version_r")
    for _, entries in section.iter_versions() if section else ():
        for entry in entries:
            if match := re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", entry.name):
                yield int(match[1]), int(match[2])


def check_elf(name: str, content: bytes, machine: str, is_static: bool) -> None:
    elf = ELFFile(io.BytesIO(content))
    check(f"{name}: machine", elf["e_machine"] == MACHINES[machine], elf["e_machine"])
    dynamic = elf.get_section_by_name(".dynamic")
    tags = list(dynamic.iter_tags()) if dynamic else []
    needed = [tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"]
    if is_static:
        check(f"{name}: loads nothing", needed == [], needed)
        asks = [segment for segment in elf.iter_segments() if segment["p_type"] == "PT_INTERP"]
        check(f"{name}: asks for no loader", not asks)
    else:
        strangers = [library for library in needed if not OF_LIBC.match(library)]
        check(f"{name}: loads the library of C alone", not strangers, needed)
        is_linked = bool(needed) or "musllinux" in name  # a program of musl's wheel has it inside
        check(f"{name}: loads the library of C", is_linked, needed)
    paths = [tag.entry.d_tag for tag in tags if tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH")]
    check(f"{name}: has no search path", not paths, paths)
    newest = max(needed_versions(elf), default=(2, 0))
    check(f"{name}: glibc 2.28 will do", newest <= (2, 28), newest)
    check(f"{name}: no path of the machine that built it", str(ROOT).encode() not in content)


def check_record(name: str, wheel: zipfile.ZipFile, info: str) -> None:
    listed = {
        row[0]: row[1] for row in csv.reader(io.StringIO(wheel.read(f"{info}/RECORD").decode()))
    }
    check(f"{name}: RECORD lists all files", set(listed) == set(wheel.namelist()))
    for path, digest in listed.items():
        if digest:
            right = hashlib.sha256(wheel.read(path)).digest()
            text = base64.urlsafe_b64encode(right).rstrip(b"=").decode()
            check(f"{name}: RECORD of {path}", digest == f"sha256={text}")


def check_list(name: str, listing: bytes, has_libc: bool) -> set[tuple[str, str]]:
    """All parts, by name and version."""
    parts = json.loads(listing)
    check(f"{name}: CycloneDX", (parts["bomFormat"], parts["specVersion"]) == ("CycloneDX", "1.6"))
    listed = {(part["name"], part["version"]) for part in parts["components"]}
    known = json.loads((ROOT / "packaging" / "libraries.json").read_text())["libraries"]
    for library in known:
        is_there = (library["name"], library["version"]) in listed
        machines = library.get("machines", ["all"])
        is_meant = any(form in name for machine in machines for form in FORMS[machine])
        check(f"{name}: lists {library['name']}, or has no use for it", is_there == is_meant)
    for part in ("echarts", "zrender", *(("musl",) if has_libc else ())):
        check(f"{name}: lists {part}", any(part == found for found, _ in listed))
    return listed


def check_parts(name: str, wheel: zipfile.ZipFile, info: str) -> None:
    listing = wheel.read(f"{info}/sboms/flopledger.cdx.json")
    listed = check_list(name, listing, has_libc="musllinux" in name)
    metadata = wheel.read(f"{info}/METADATA").decode()
    check(f"{name}: licence", "License-Expression: Apache-2.0\n" in metadata)
    texts = re.findall(r"^License-File: (.*)$", metadata, re.MULTILINE)
    check(f"{name}: licences of all parts", len(texts) >= 1 + len(listed), texts)
    for text in texts:
        check(f"{name}: {text}", len(wheel.read(f"{info}/licenses/{text}")) > 100)


def check_wheel(path: Path) -> None:
    match = NAME.fullmatch(path.name)
    check(f"{path.name}: its name", match is not None)
    if not match:
        return
    version, abi, libc, machine = match.groups()
    extensions = [f"flopledger/{name}.abi3.so" for name in EXTENSIONS]
    check(f"{path.name}: at most 6 MB", path.stat().st_size <= LIMIT_BYTES, path.stat().st_size)
    info = f"flopledger-{version}.dist-info"
    share = f"flopledger-{version}.data/data/share"
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        program = f"flopledger-{version}.data/scripts/flopledger"
        for wanted in (
            *(program, "flopledger/__init__.py", "flopledger/py.typed"),
            *("flopledger/start/sitecustomize.py", f"{share}/man/man1/flopledger.1"),
            *(f"{share}/man/man1/flopledger-{command}.1" for command in COMMANDS),
            *(
                f"{share}/bash-completion/completions/flopledger",
                f"{share}/zsh/site-functions/_flopledger",
            ),
            *(f"{share}/fish/vendor_completions.d/flopledger.fish", f"{info}/licenses/LICENSE"),
        ):
            check(f"{path.name}: has {wanted}", wanted in names)
        ours = {f"flopledger/{path.relative_to(PACKAGE)}" for path in PACKAGE.rglob("*.py")}
        check(f"{path.name}: has the package", ours <= names, ours - names)
        held = sorted(name for name in names if name.endswith(".so"))
        wanted_ones = sorted(extensions) if abi == "cp310-abi3" else []
        check(f"{path.name}: its extensions", held == wanted_ones, held)
        mode = wheel.getinfo(program).external_attr >> 16
        check(f"{path.name}: the program can be run", mode & 0o111 == 0o111, oct(mode))
        check(f"{path.name}: one time for all", len({e.date_time for e in wheel.infolist()}) == 1)
        tags = wheel.read(f"{info}/WHEEL").decode()
        check(f"{path.name}: tag", f"Tag: {abi}-{libc}_{machine}\n" in tags)
        for name in sorted(names):
            if name.endswith(".so") or name == program:
                check_elf(f"{path.name}: {name}", wheel.read(name), machine, is_static=False)
        check_record(path.name, wheel, info)
        check_parts(path.name, wheel, info)


def check_static(path: Path) -> None:
    check(f"{path.name}: at most 8 MB", path.stat().st_size <= 8_000_000, path.stat().st_size)
    check_elf(path.name, path.read_bytes(), path.name.rsplit("-", 1)[1], is_static=True)
    listing = path.with_name(f"{path.name}.cdx.json")
    check(f"{path.name}: has a list of its parts", listing.exists())
    listed = check_list(path.name, listing.read_bytes(), has_libc=True) if listing.exists() else ()
    texts = path.with_name("flopledger-linux-licenses.txt")
    text = texts.read_text() if texts.exists() else ""
    for part in ("flopledger", *(part for part, _ in listed)):
        check(f"{path.name}: licence of {part}", f"\n{part}-" in text)


def packed_sources(sdist: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """Of sources.tar.xz: the sources in C, the page that Node.js made, and the documentation."""
    for member in sdist:
        if member.name.endswith("/sources.tar.xz"):
            with tarfile.open(fileobj=sdist.extractfile(member)) as archive:
                return archive.getmembers()
    return []


def check_sdist(path: Path) -> None:
    size = path.stat().st_size
    check(f"{path.name}: at most 1.5 MB", size <= SDIST_LIMIT_BYTES, size)
    with tarfile.open(path) as archive:
        members = {member.name.partition("/")[2]: member for member in archive}
        sources = packed_sources(archive)
        times = {member.mtime for member in [*members.values(), *sources]}
        check(f"{path.name}: one time for all, also within", len(times) == 1, times)
        packed = {member.name for member in sources}
        check(f"{path.name}: has the page", "web/built_page.html" in packed)
        wanted = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.[ch]")]
        wanted += [*PACKAGE.rglob("*.[ch]"), *PACKAGE.rglob("*.py"), PACKAGE / "py.typed"]
        names = {str(page.relative_to(ROOT)) for page in [*wanted, *(ROOT / "src").rglob("*.def")]}
        check(f"{path.name}: has sources and documentation", names <= packed, names - packed)
        check(
            f"{path.name}: no traces", not [name for name in members if name.startswith("tests/")]
        )
        for name in (
            "PKG-INFO",
            "LICENSE",
            "meson.build",
            "packaging/build_backend.py",
        ):
            check(f"{path.name}: has {name}", name in members)


def ask(tool: list[str], path: Path, is_fine: Callable[[str], bool]) -> None:
    global skipped
    try:
        done = subprocess.run([*tool, str(path)], capture_output=True, text=True, check=False)
    except OSError:
        skipped += 1
        return
    said = " ".join((done.stdout + done.stderr).split())
    check(f"{path.name}: {tool[0]}", done.returncode == 0 and is_fine(said), said[-600:])


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist")
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    for path in files:
        if path.suffix == ".whl":
            check_wheel(path)
            tag = path.stem.split("-")[-1]
            ask(
                ["auditwheel", "show"], path, lambda said, tag=tag: f'platform tag: "{tag}"' in said
            )
            if "-abi3-" in path.name:
                ask(
                    ["abi3audit", "--strict", "--verbose"],
                    path,
                    lambda said: "0 ABI violations" in said,
                )
        elif path.name.startswith("flopledger-linux-") and not path.suffix:
            check_static(path)
        elif path.name.endswith(".tar.gz"):
            check_sdist(path)
    check("something is there to look at", bool(files), folder)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
