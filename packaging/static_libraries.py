"""Builds the libraries that a wheel holds, as static ones, from their sources of libraries.json.

    static_libraries.py TARGET      into build/wheel/cache/TARGET-HASH: include/, lib/, lib/pkgconfig/

They are built once: the folder's name has a hash of libraries.json, of this file and of the compiler's version.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from targets import CACHE, MACHINES, TARGETS, Target, zig

LIST = Path(__file__).with_name("libraries.json")
# No paths of this machine, no debugging data, nothing that differs between two builds. Zig's own default is a sanitizer.
FLAGS = ["-O2", "-g0", "-fPIC", "-fno-sanitize=undefined", "-ffunction-sections", "-fdata-sections"]
SQLITE_FLAGS = [
    "-DSQLITE_THREADSAFE=1",
    "-DSQLITE_ENABLE_COLUMN_METADATA",
    "-DSQLITE_OMIT_LOAD_EXTENSION",
    "-DSQLITE_MAX_VARIABLE_NUMBER=250000",
    "-DHAVE_USLEEP=1",
]


@dataclass(frozen=True)
class Library:
    name: str
    version: str
    source: str
    sha256: str
    folder: str
    license: str
    license_files: list[str]
    use: str
    machines: tuple[str, ...] = MACHINES


def read_list(machine: str) -> list[Library]:
    """What its programs are made of."""
    listed = [Library(**entry) for entry in json.loads(LIST.read_text())["libraries"]]
    return [library for library in listed if machine in library.machines]


def debian_mirrors() -> list[str]:
    """FLOPLEDGER_MIRROR, or what apt of this machine takes Debian's packages from: both have the sources, too."""
    named = os.environ.get("FLOPLEDGER_MIRROR")
    if named:
        return [named.rstrip("/")]
    try:
        done = subprocess.run(
            ["apt-get", "indextargets", "--format", "$(REPO_URI)"],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return []
    sites = sorted({line.rstrip("/") for line in done.stdout.splitlines()})
    return [site for site in sites if re.search(r"debian(?!-security)", site)]


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-4000:]}\nin {folder}: {' '.join(command)}: failed")


def download(library: Library) -> Path:
    """The archive of its sources, which has the checksum that stands in the list."""
    path = CACHE / "sources" / Path(library.source).name
    if path.exists() and sha256_of(path) == library.sha256:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    problems = []
    for mirror in debian_mirrors():
        url = f"{mirror}/{library.source.replace('+', '%2B')}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                path.write_bytes(answer.read())
        except OSError as error:
            problems.append(f"{url}: {error}")
            continue
        if sha256_of(path) == library.sha256:
            return path
        problems.append(f"{url}: not the file that packaging/libraries.json has the checksum of")
        path.unlink()
    places = "\n  ".join(problems or ["apt of this machine knows no mirror of Debian"])
    sys.exit(
        f"cannot get the sources of {library.name} {library.version}:\n  {places}\n"
        f"put the file into {path.parent}, or set FLOPLEDGER_MIRROR to a mirror of Debian"
    )


def unpack(library: Library) -> Path:
    """The folder of its sources. Of Python, only the headers."""
    place = CACHE / "sources" / library.folder
    mark = place / ".unpacked"
    if mark.exists() and mark.read_text() == library.sha256:
        return place
    shutil.rmtree(place, ignore_errors=True)
    with tarfile.open(download(library)) as archive:
        for member in archive:
            inner = member.name.removeprefix(f"{library.folder}/")
            wanted = library.name != "cpython-headers" or inner.startswith(("Include/", "LICENSE"))
            if wanted:
                archive.extract(member, place.parent, filter="data")
    mark.write_text(library.sha256)
    return place


@dataclass(frozen=True)
class Workshop:
    """Where the libraries of one target are put together."""

    target: Target
    folder: Path

    @property
    def include(self) -> Path:
        return self.folder / "include"

    def compile(self, name: str, root: Path, sources: list[str], flags: list[str]) -> None:
        """lib/libNAME.a of these files below `root`."""
        objects = self.folder / "objects" / name
        shutil.rmtree(objects, ignore_errors=True)
        objects.mkdir(parents=True)

        def compile_one(source: str) -> str:
            output = str(objects / (source.replace("/", "_") + ".o"))
            if source.endswith(".asm"):
                command = ["nasm", "-f", "elf64", *[f for f in flags if f[:2] in ("-I", "-D")]]
            else:
                command = [*self.target.compiler, *FLAGS, *flags, "-c"]
            run([*command, "-o", output, source], root)
            return output

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            built = list(pool.map(compile_one, sources))
        library = self.folder / "lib" / f"lib{name}.a"
        library.parent.mkdir(exist_ok=True)
        library.unlink(missing_ok=True)
        run([zig(), "ar", "rcsD", str(library), *built], root)

    def describe(self, name: str, library: Library, link: str) -> None:
        """A file for pkg-config, by which Meson finds it."""
        folder = self.folder / "lib" / "pkgconfig"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.pc").write_text(
            f"prefix=${{pcfiledir}}/../..\nName: {name}\nDescription: {library.use}\n"
            f"Version: {library.version}\nLibs: -L${{prefix}}/lib {link}\nCflags: -I${{prefix}}/include\n"
        )

    def copy_headers(self, root: Path, headers: list[str], below: str = "") -> None:
        place = self.include / below
        place.mkdir(parents=True, exist_ok=True)
        for header in headers:
            shutil.copyfile(root / header, place / Path(header).name)


def build_zlib(shop: Workshop, library: Library, root: Path) -> None:
    names = "adler32 crc32 deflate inffast inflate inftrees trees zutil compress uncompr"
    names += " gzclose gzlib gzread gzwrite"
    flags = ["-DHAVE_UNISTD_H", "-D_LARGEFILE64_SOURCE=1", "-I."]
    shop.compile("z", root, [f"{name}.c" for name in names.split()], flags)
    shop.copy_headers(root, ["zlib.h", "zconf.h"])
    shop.describe("zlib", library, "-lz")


def build_zstd(shop: Workshop, library: Library, root: Path) -> None:
    folders = ("common", "compress", "decompress")
    sources = sorted(
        str(path.relative_to(root))
        for name in folders
        for path in (root / "lib" / name).glob("*.c")
    )
    if shop.target.machine == "x86_64":
        sources.append("lib/decompress/huf_decompress_amd64.S")
    shop.compile("zstd", root, sources, ["-DZSTD_MULTITHREAD", "-Ilib", "-Ilib/common"])
    shop.copy_headers(root, ["lib/zstd.h", "lib/zstd_errors.h"])
    shop.describe("libzstd", library, "-lzstd")


def build_sqlite(shop: Workshop, library: Library, root: Path) -> None:
    amalgamation = CACHE / "sources" / f"{library.folder}-one-file"
    if not (amalgamation / "sqlite3.c").exists():  # the same for all targets
        compiler = f"{zig()} cc"
        amalgamation.mkdir(exist_ok=True)
        run(
            [str(root / "configure"), "--disable-readline", "--disable-shared", "--disable-tcl"],
            amalgamation,
            {"CC": compiler, "CFLAGS": "-O1"},
        )
        run(["make", "sqlite3.c"], amalgamation)
    shop.compile("sqlite3", amalgamation, ["sqlite3.c"], SQLITE_FLAGS)
    shop.copy_headers(amalgamation, ["sqlite3.h"])
    shop.describe("sqlite3", library, "-lsqlite3")


def build_libmicrohttpd(shop: Workshop, library: Library, root: Path) -> None:
    place = shop.folder / "objects" / "libmicrohttpd"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    host = f"{shop.target.machine}-linux-{'musl' if shop.target.is_musl else 'gnu'}"
    left_out = "https doc examples tools curl bauth dauth httpupgrade postprocessor shared"
    run(
        [
            str(root / "configure"),
            f"--host={host}",
            f"--prefix={shop.folder}",
            "--enable-static",
            "--enable-build-type=release",
            *[f"--disable-{name}" for name in left_out.split()],
        ],
        place,
        {
            "CC": " ".join(shop.target.compiler),
            "AR": f"{zig()} ar",
            "RANLIB": f"{zig()} ranlib",
            "CFLAGS": " ".join([*FLAGS, f"-ffile-prefix-map={root}=libmicrohttpd"]),
        },
    )
    run(
        ["make", "-C", "src/microhttpd", f"-j{os.cpu_count()}", "ARFLAGS=rcD", "libmicrohttpd.la"],
        place,
    )
    shutil.copyfile(
        place / "src" / "microhttpd" / ".libs" / "libmicrohttpd.a",
        shop.folder / "lib" / "libmicrohttpd.a",
    )
    shop.copy_headers(root, ["src/include/microhttpd.h"])
    shop.describe("libmicrohttpd", library, "-lmicrohttpd")


def listed_sources(folder: Path, kinds: tuple[str, ...]) -> list[str]:
    """What ISA-L's own Makefile.am, there and a folder below, lists under `lsrc_KIND +=`."""
    files = sorted([*folder.glob("Makefile.am"), *folder.glob("*/Makefile.am")])
    text = "\n".join(path.read_text() for path in files).replace("\\\n", " ")
    found = []
    for kind, names in re.findall(r"^lsrc(\w*)\s*\+=(.*)$", text, re.MULTILINE):
        if kind in kinds:
            found += [name for name in names.split() if name.endswith((".c", ".S", ".asm"))]
    return list(dict.fromkeys(found))


def build_isal(shop: Workshop, library: Library, root: Path) -> None:
    kinds = ("", f"_{shop.target.machine}")
    sources = [name for part in ("igzip", "crc") for name in listed_sources(root / part, kinds)]
    shop.compile("isal", root, sources, ["-Iinclude/", "-Iigzip/", "-Icrc/", "-I./"])
    shop.copy_headers(root, ["include/igzip_lib.h"], "isa-l")
    shop.describe("libisal", library, "-lisal")


def copy_python_headers(shop: Workshop, library: Library, root: Path) -> None:
    """The stable ABI needs only sizes of pyconfig.h, which are the same on every 64-bit Linux.

    Headers of 3.13 or later won't do: they know no PY_SSIZE_T_CLEAN, and call what Python before 3.13 refuses.
    """
    place = shop.folder / "python"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(root / "Include", place)
    sizes = {
        "INT": 4,
        "LONG": 8,
        "LONG_LONG": 8,
        "VOID_P": 8,
        "SIZE_T": 8,
        "SHORT": 2,
        "WCHAR_T": 4,
    }
    lines = [f"#define SIZEOF_{name} {size}" for name, size in sizes.items()]
    lines += [f"#define HAVE_{name} 1" for name in ("STDDEF_H", "STDINT_H", "UNISTD_H", "WCHAR_H")]
    lines += ["#define ALIGNOF_LONG 8", "#define WITH_THREAD 1"]
    (place / "pyconfig.h").write_text("\n".join(lines) + "\n")
    del library


BUILDERS = {
    "zlib": build_zlib,
    "zstd": build_zstd,
    "sqlite": build_sqlite,
    "libmicrohttpd": build_libmicrohttpd,
    "isa-l": build_isal,
    "cpython-headers": copy_python_headers,
}


def build(target: Target) -> Path:
    """The folder with the target's libraries, built if they are not there yet."""
    parts = [LIST.read_bytes(), Path(__file__).read_bytes(), version("ziglang").encode()]
    key = hashlib.sha256(b"\0".join([*parts, target.triple.encode()])).hexdigest()[:12]
    folder = CACHE / f"{target.name}-{key}"
    done = folder / "built"
    if done.exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    shop = Workshop(target, folder)
    for library in read_list(target.machine):
        print(f"  {target.name}: {library.name} {library.version}", flush=True)
        BUILDERS[library.name](shop, library, unpack(library))
    shutil.rmtree(folder / "objects")
    done.write_text("")
    return folder


if __name__ == "__main__":
    print(build(TARGETS[sys.argv[1]]))
