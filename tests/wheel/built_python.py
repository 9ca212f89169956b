"""Builds CPython for a system: where its own is too old, linked to musl, or without the interpreter's lock, none of which is a package
of Debian's. It is built in a copy of the system, so that the system itself never sees a compiler.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from installed import ROOT

sys.path.insert(0, str(ROOT / "packaging"))
import static_libraries  # noqa: E402

Run = Callable[..., bool]


@dataclass(frozen=True)
class Kind:
    name: str
    version: str
    packages: tuple[str, ...]
    configure: str
    before: str = "true"

    @property
    def prefix(self) -> Path:
        return Path("/opt") / f"python-{self.name}"


# musl's compiler looks into no folder of the system: zlib, without which there is no pip, is built for it, too. Where Python's configure
# asks, that compiler calls itself one for glibc.
ZLIB = "cd /build/zlib && CC=musl-gcc CFLAGS='-O1 -fPIC' ./configure --static --prefix=/build/musl && make install"
COMPILER = '#!/bin/sh\ncase $1 in *-print-multiarch) exit ;; esac\nexec musl-gcc "$@"\n'
MUSL = "CC=/build/cc CPPFLAGS=-I/build/musl/include LDFLAGS=-L/build/musl/lib ./configure"
LIBRARIES = ("gcc", "xz-utils", "libc6-dev", "make", "zlib1g-dev", "libffi-dev", "liblzma-dev")
# Of the system's own version, as its apt has the sources. Debian's mirrors drop those of what is not in a release yet, so it is built on
# releases alone.
SOURCE = (
    "sed -i 's/^Types: deb$/Types: deb deb-src/; s/^deb \\(.*\\)/&\\ndeb-src \\1/' "
    "$(find /etc/apt -name '*.sources' -o -name 'sources.list') && apt-get update -q && "
    "mkdir -p /build/python && cd /build && apt-get source --tar-only python{version} && "
    "tar -xf python*.orig.tar.?z --strip-components=1 -C python"
)
WITHOUT_LOCK = [
    Kind(
        f"{version}t",
        f"{version}t",
        LIBRARIES,
        "./configure --disable-gil",
        SOURCE.format(version=version),
    )
    for version in ("3.13", "3.14")
]
KINDS = {
    kind.name: kind
    for kind in (
        Kind("newer", "3.11", LIBRARIES, "./configure"),
        Kind("musl", "3.11", ("gcc", "make", "musl-tools"), MUSL, ZLIB),
        *WITHOUT_LOCK,
    )
}
BUILD = (
    "{before} && cd /build/python && {configure} -q --prefix={prefix} --disable-test-modules OPT=-O1 && "
    "make -s -j2 && make -s install"
)


def unpack(name: str, place: Path) -> None:
    """All of an archive's sources: packaging/ itself wants Python's headers alone."""
    (library,) = (each for each in static_libraries.read_list() if each.name == name)
    archive = static_libraries.download(library)
    place.mkdir(parents=True)
    command = ["tar", "-xf", str(archive), "--strip-components=1", "-C", str(place)]
    subprocess.run(command, check=True)


def make_python(root: Path, kind: Kind, run: Run, apt: Run) -> Path | None:
    """The interpreter, as the system calls it; None: it could not be built, and ROOT.python.log says why."""
    place, python = kind.prefix.relative_to("/"), kind.prefix / "bin" / f"python{kind.version}"
    if (root / place).exists():
        return python
    log, copy = root.with_name(f"{root.name}.python.log"), root.with_name(f"{root.name}.python")
    shutil.rmtree(copy, ignore_errors=True)
    subprocess.run(["cp", "-a", root, copy], check=True)
    if kind not in WITHOUT_LOCK:
        unpack("cpython-headers", copy / "build" / "python")
    if kind.name == "musl":
        unpack("zlib", copy / "build" / "zlib")
        (copy / "build" / "cc").write_text(COMPILER)
        (copy / "build" / "cc").chmod(0o755)
    command = BUILD.format(before=kind.before, configure=kind.configure, prefix=kind.prefix)
    made = apt(log, copy, *kind.packages) and run(log, "chroot", copy, "sh", "-c", command)
    if made:
        (root / place.parent).mkdir(exist_ok=True)
        shutil.move(copy / place, root / place)
    shutil.rmtree(copy, ignore_errors=True)
    return python if made else None
