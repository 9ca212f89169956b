"""Builds wheels from this checkout, without a container: zig is the compiler for every target.

    build_wheel.py TARGET...    into dist/; without TARGET: all of them

Each wheel holds the program, the recorder with its extensions, the HTML page, man pages, completion and the documentation;
of the system it loads only the library of C. The same commit gives the same bytes: times come from SOURCE_DATE_EPOCH, or else
from the commit.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import static_libraries
from finish_sdist import rewrite_sdist
from finish_wheel import finish
from make_release import said_versions
from parts_list import all_licenses, parts_list
from targets import ROOT, STATIC, TARGETS, WORK, Target, zig

# A program that reads other people's files is built so that a mistake in it is hard to use.
HARDENING = ["-fstack-protector-strong", "-D_FORTIFY_SOURCE=2"]
LINK = ["-s", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,--build-id=none", "-Wl,--gc-sections"]


def commit_time() -> str:
    """Of the last commit: what SOURCE_DATE_EPOCH is where nobody set it."""
    done = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "315532800"  # the first time that a zip file can hold


def quoted(words: list[str]) -> str:
    return "[" + ", ".join(f"'{word}'" for word in words) + "]"


def write_compiler(target: Target) -> Path:
    """A script, as Meson asks two things in a way that zig does not understand: predefined names of text that has no language,
    and which linker this is (one that takes LLD's options)."""
    path = target.folder / "cc"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        "'-E -dM -') set -- -E -dM -x c - ;;\n"
        "-Wl,--version*) echo 'LLD (zig)'; exit ;;\n"
        "esac\n"
        f'exec {" ".join(target.compiler)} "$@"\n'
    )
    path.chmod(0o755)
    return path


def write_cross_file(target: Target, libraries: Path) -> Path:
    """What Meson wants to know of a machine that it does not ask itself."""
    path = target.folder / "cross.ini"
    path.parent.mkdir(parents=True, exist_ok=True)
    compile_flags = [
        "-fno-sanitize=undefined",
        "-ffunction-sections",
        "-fdata-sections",
        f"-ffile-prefix-map={ROOT}=.",
        f"-ffile-prefix-map={os.path.relpath(ROOT, target.folder / 'meson')}=.",
        f"-isystem{libraries / 'include'}",
        *([] if target.is_musl else HARDENING),
    ]
    lines = [
        "[binaries]",
        f"c = '{write_compiler(target)}'",
        f"ar = {quoted([zig(), 'ar'])}",
        "pkg-config = 'pkg-config'",
        "pkgconfig = 'pkg-config'",  # its name until Meson 1.3
        f"python = '{sys.executable}'",
        f"python3 = '{sys.executable}'",
        (
            f"exe_wrapper = {quoted([target.qemu, '-L', target.sysroot])}"
            if needs_qemu(target)
            else ""
        ),
        "[properties]",
        f"pkg_config_libdir = '{libraries / 'lib' / 'pkgconfig'}'",
        "needs_exe_wrapper = " + ("true" if needs_qemu(target) else "false"),
        "[built-in options]",
        f"c_args = {quoted(compile_flags)}",
        f"c_link_args = {quoted(LINK)}",
        f"b_pie = {'false' if target.is_musl else 'true'}",
        "[host_machine]",
        "system = 'linux'",
        f"cpu_family = '{target.machine}'",
        f"cpu = '{target.machine}'",
        "endian = 'little'",
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def needs_qemu(target: Target) -> bool:
    return target.machine != os.uname().machine


def environment() -> dict[str, str]:
    times = {"SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH") or commit_time()}
    return {**os.environ, **times, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}


def run(command: list[str], log: Path) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as file:
        done = subprocess.run(
            command, cwd=ROOT, env=environment(), stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
    if done.returncode != 0:
        sys.exit(f"{log.read_text()[-6000:]}\n{' '.join(command)}: failed, see {log}")


def configure_anew(target: Target, libraries: Path) -> None:
    """Meson looks for libraries once: where they are others than last time, it begins anew."""
    mark = target.folder / "libraries"
    if mark.exists() and mark.read_text() == libraries.name:
        return
    shutil.rmtree(target.folder / "meson", ignore_errors=True)
    target.folder.mkdir(parents=True, exist_ok=True)
    mark.write_text(libraries.name)


def build(target: Target) -> list[Path]:
    """dist/flopledger-VERSION-cp310-abi3-PLATFORM.whl, and the one without extensions"""
    libraries = static_libraries.build(target)
    configure_anew(target, libraries)
    raw = target.folder / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    setup = [
        f"--cross-file={write_cross_file(target, libraries)}",
        "-Dstatic_libraries=true",
        f"-Dstatic_program={'true' if target.is_musl else 'false'}",
        f"-Dpython_headers={libraries / 'python'}",
        "-Dpacked_recorder=",
    ]
    run(
        [
            *(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(raw)),
            f"-Cbuild-dir={target.folder / 'meson'}",
            *(f"-Csetup-args={word}" for word in setup),
            ".",
        ],
        target.folder / "build.log",
    )
    (wheel,) = raw.glob("*.whl")
    return finish(wheel, target, ROOT / "dist", int(environment()["SOURCE_DATE_EPOCH"]))


def unpack_recorder(machine: str) -> Path:
    """The recorder with the extensions for both libraries of C, out of the two wheels of a machine."""
    place = WORK / f"recorder-{machine}"
    shutil.rmtree(place, ignore_errors=True)
    for libc in ("gnu", "musl"):
        wheels = list((WORK / f"{machine}-{libc}" / "raw").glob("*.whl"))
        if not wheels:
            build(TARGETS[f"{machine}-{libc}"])
            wheels = list((WORK / f"{machine}-{libc}" / "raw").glob("*.whl"))
        with zipfile.ZipFile(wheels[0]) as wheel:
            for name in wheel.namelist():
                if not name.startswith("flopledger/") or name.endswith("/"):
                    continue
                folder, file = name.rsplit("/", 1)
                path = place / folder / (libc if file.endswith(".so") else "") / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(wheel.read(name))
    return place


def build_static(machine: str) -> list[Path]:
    """dist/flopledger-linux-MACHINE: the program alone, which loads nothing at all and has the recorder inside; beside it the list of
    its parts, and their licences.

    It is the one of the musllinux wheel, linked once more with the recorder of both wheels.
    """
    recorder = unpack_recorder(machine)
    target = TARGETS[f"{machine}-musl"]
    folder = str(target.folder / "meson")
    meson = [sys.executable, "-m", "mesonbuild.mesonmain"]
    run(
        [*meson, "configure", f"-Dpacked_recorder={recorder}", folder], target.folder / "static.log"
    )
    run([*meson, "compile", "-C", folder, "flopledger"], target.folder / "static.log")
    names = {"x86_64": "amd64", "aarch64": "arm64"}  # as Docker and Debian call them
    output = ROOT / "dist" / f"flopledger-linux-{names[machine]}"
    output.parent.mkdir(exist_ok=True)
    shutil.copy(Path(folder) / "flopledger", output)
    listing = output.with_name(f"{output.name}.cdx.json")
    modified = int(environment()["SOURCE_DATE_EPOCH"])
    listing.write_bytes(parts_list(said_versions()["meson.build"], target, modified))
    licenses = output.with_name("flopledger-linux-licenses.txt")
    licenses.write_bytes(all_licenses(target))
    return [output, listing, licenses]


def build_sdist() -> Path:
    """dist/flopledger-VERSION.tar.gz, with the page that Node.js made."""
    raw = WORK / "sdist"
    shutil.rmtree(raw, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "build",
        "--sdist",
        "--no-isolation",
        "--outdir",
        str(raw),
        ".",
    ]
    run(command, WORK / "sdist.log")
    (archive,) = raw.glob("*.tar.gz")
    return rewrite_sdist(archive, ROOT / "dist", int(environment()["SOURCE_DATE_EPOCH"]))


def main() -> None:
    everything = [*TARGETS, *STATIC, "sdist"]
    names = sys.argv[1:] or everything
    unknown = [name for name in names if name not in everything]
    if unknown:
        sys.exit(f"no target {unknown[0]}: there are {', '.join(everything)}")
    WORK.mkdir(parents=True, exist_ok=True)
    for name in names:
        if name == "sdist":
            paths = [build_sdist()]
        else:
            paths = build_static(STATIC[name]) if name in STATIC else build(TARGETS[name])
        for path in paths:
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.2f} MB", flush=True)


if __name__ == "__main__":
    main()
