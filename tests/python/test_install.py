#!/usr/bin/env python3
"""`meson install` and `pip install .` bring the program, its pages and the recorder: test_install.py PROGRAM"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from count_line import run_and_count
from recorded_runs import LOOPS, ROOT, environment_of, find_python

PROGRAM = Path(sys.argv.pop(1)).resolve()
PYTHON = find_python()
RELEASE = ROOT / "packaging" / "make_release.py"
USE_IN_PYTHON = """
import flopledger, torch
from flopledger import get_model_profile
print(flopledger.__file__)
model = torch.nn.Linear(4, 8)
print(get_model_profile(model, (2, 4), print_profile=False, as_string=False))
"""


def record(test: unittest.TestCase, program: Path, python: str) -> dict[str, Any]:
    """A run of a program somewhere else than the project; its capture.json."""
    with tempfile.TemporaryDirectory() as elsewhere:
        command = [str(program), "run", "--output", "here", "--", python, str(LOOPS), "plain"]
        done = subprocess.run(
            command,
            cwd=elsewhere,
            env=environment_of(program),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        test.assertEqual(done.returncode, 0, done.stderr)
        test.assertIn("Where a step goes", done.stdout)
        (trace,) = Path(elsewhere, "here").glob("loops/*/traces/rank0_dp0_tp0_pp0/*.json.gz")
        test.assertIn(b'"nn:blocks.1.layer"', gzip.decompress(trace.read_bytes()))
        return json.loads(trace.with_name("capture.json").read_text())


class Installation(unittest.TestCase):
    prefix: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        command = ["meson", "install", "-C", str(PROGRAM.parent), "--destdir", cls.folder.name]
        subprocess.run(command, check=True, capture_output=True)
        cls.prefix = next(Path(cls.folder.name).glob("**/bin")).parent

    def test_program_runs(self) -> None:
        command = [str(self.prefix / "bin" / "flopledger"), "--version"]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        self.assertRegex(said, r"^flopledger \d+\.\d+\.\d+")

    def test_recorder_works_from_there(self) -> None:
        if PYTHON is None:
            self.skipTest("needs torch")
        side = record(self, self.prefix / "bin" / "flopledger", PYTHON)
        self.assertEqual((side["state"], side["module_marks"]), ("complete", "calls"))

    def test_every_command_has_a_man_page(self) -> None:
        pages = {page.name for page in (self.prefix / "share" / "man" / "man1").iterdir()}
        self.assertLessEqual({"flopledger.1", "flopledger-report.1", "flopledger-inspect.1"}, pages)

    def test_man_pages_are_clean(self) -> None:
        if not shutil.which("groff"):
            self.skipTest("needs groff")
        for page in (self.prefix / "share" / "man" / "man1").iterdir():
            command = ["groff", "-man", "-Tutf8", "-ww", "-z", str(page)]
            said = subprocess.run(command, check=False, capture_output=True, text=True)
            self.assertEqual((said.returncode, said.stderr), (0, ""), page.name)

    def test_completions_are_valid(self) -> None:
        share = self.prefix / "share"
        for shell, path, option in [
            ("bash", share / "bash-completion" / "completions" / "flopledger", "--top"),
            ("zsh", share / "zsh" / "site-functions" / "_flopledger", "--top"),
            ("fish", share / "fish" / "vendor_completions.d" / "flopledger.fish", "-l top"),
        ]:
            self.assertIn(option, path.read_text(), shell)
            if shutil.which(shell):
                command = [shell, "-n", str(path)]
                done = subprocess.run(command, check=False, capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)


def call(*words: str | Path, **options: Any) -> subprocess.CompletedProcess:
    command = [str(word) for word in words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


class Building(unittest.TestCase):
    """What is missing is told at once, with the names of packages."""

    def told(self, **variables: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            command = ["meson", "setup", f"{folder}/build", "-Dtests=disabled"]
            done = call(*command, cwd=ROOT, env={**os.environ, **variables})
        self.assertNotEqual(done.returncode, 0)
        for word in ("apt-get install gcc", "dnf install gcc", "conda install"):
            self.assertIn(word, done.stdout)
        return done.stdout

    def test_without_a_compiler(self) -> None:
        self.assertIn("needs a C compiler", self.told(CC="/no/such/compiler"))

    def test_without_libraries(self) -> None:
        nowhere = {"PKG_CONFIG_LIBDIR": "/no/such/folder", "CMAKE_PREFIX_PATH": "/no/such/folder"}
        self.assertRegex(self.told(**nowhere), "cannot be built without [a-z0-9, ]*libzstd")


class Release(unittest.TestCase):
    """`./dev release`, in a small repository with the files that it looks at."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        repeating = re.findall(r'^    "([^"]+)": r', RELEASE.read_text(), re.MULTILINE)
        for name in ("CHANGELOG.md", "packaging/make_release.py", *repeating):
            place = self.folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place)
        version = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())
        assert version
        self.version = version[1]

    def git(self, *words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
        return call("git", *identity, *words, cwd=self.folder).stdout.strip()

    def release(self, *words: str) -> subprocess.CompletedProcess:
        names = {
            f"GIT_{who}_{what}": "a"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        command = [sys.executable, self.folder / "packaging/make_release.py", *words]
        return call(*command, env={**os.environ, **names})

    def test_all_files_say_the_same(self) -> None:
        said = self.release("--check")
        self.assertEqual(said.stdout, f"all files say {self.version}\n", said.stderr)

    def test_tags_what_is_dated_and_committed(self) -> None:
        changes = self.folder / "CHANGELOG.md"
        heading = re.compile(rf"^## {re.escape(self.version)}.*$", re.MULTILINE)
        changes.write_text(heading.sub(f"## {self.version}, not released yet", changes.read_text()))
        self.git("init", "-q")
        said = self.release(self.version).stderr
        self.assertIn("has no date", said)
        self.assertIn("debian/changelog: its first line says UNRELEASED", said)
        changes.write_text(heading.sub(f"## {self.version}, 2026-12-31", changes.read_text()))
        package = self.folder / "debian/changelog"
        package.write_text(package.read_text().replace("UNRELEASED", "unstable", 1))
        self.assertIn("not committed", self.release(self.version).stderr)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "all")
        self.assertIn("meson.build says", self.release("99.0.0").stderr)
        self.assertEqual(self.git("tag", "--list"), "")
        said = self.release(self.version)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(self.git("tag", "--list"), f"v{self.version}")
        self.assertIn("there is a tag", self.release(self.version).stderr)


class OtherPythons(unittest.TestCase):
    """Those that cannot load the extensions are told why, and what can."""

    def told(self, pretend: str) -> str:
        code = f"import sys; {pretend}; from flopledger.native import what_to_do"
        code += "; print(what_to_do('step_writer', ImportError()))"
        path = {**os.environ, "PYTHONPATH": str(PROGRAM.parent / "python")}
        done = call(sys.executable, "-c", code, env=path)
        self.assertEqual((done.returncode, done.stdout.count("\n")), (0, 1), done.stderr)
        return done.stdout

    def test_without_the_lock(self) -> None:
        said = self.told("sys.abiflags = 't'")
        minor = sys.version_info.minor
        self.assertIn(f"does not load in free-threaded Python 3.{minor}", said)
        self.assertIn(f"(python3.{minor}, not python3.{minor}t)", said)

    def test_without_the_lock_nothing_is_loaded(self) -> None:
        """Such a Python may find the file, which is of another ABI: to load it would end the process."""
        code = "import sys; sys.abiflags = 't'; from flopledger import native\n"
        code += "try: native.load('step_writer')\n"
        code += "except native.ExtensionMissing: print('flopledger.step_writer' in sys.modules)"
        path = {**os.environ, "PYTHONPATH": str(PROGRAM.parent / "python")}
        self.assertEqual(call(sys.executable, "-c", code, env=path).stdout, "False\n")

    def test_not_cpython(self) -> None:
        said = self.told("sys.implementation.name = 'pypy'")
        self.assertIn("needs CPython 3.10 or later", said)


class Documentation(unittest.TestCase):
    """It is part of the program."""

    def test_every_page_is_there_and_names_others_as_they_are_typed(self) -> None:
        listed = call(PROGRAM, "help", "pages").stdout
        for path in sorted((ROOT / "docs").rglob("*.md")):
            name = path.relative_to(ROOT / "docs").with_suffix("").as_posix()
            is_command = call(PROGRAM, name, "--help").returncode == 0
            page = call(PROGRAM, "help", f"docs/{name}" if is_command else name)
            title = path.read_text().split("\n")[0]
            self.assertEqual((page.returncode, page.stdout.split("\n")[0]), (0, title), name)
            self.assertIn(f"  {path.stem} ", listed)
            for other in re.findall(r"\(flopledger help ([^)]+)\)", page.stdout):
                self.assertEqual(call(PROGRAM, "help", other).returncode, 0, f"{name}: {other}")
            prose = re.sub(r"(?ms)^ *```.*?^ *```", "", page.stdout)
            self.assertEqual(re.findall(r"\]\((?!https?:)[^)]*\.md[^)]*\)", prose), [], name)

    def test_no_message_names_a_file_of_the_clone(self) -> None:
        """Who installed the program has none: `flopledger help PAGE` prints it."""
        for path in sorted((ROOT / "src").rglob("*.[chd]*")):
            code = re.sub(
                r"/\*.*?\*/|^ *//.*$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE
            )
            for text in re.findall(r'"(?:[^"\\\n]|\\.)*"', code):
                self.assertNotRegex(text, r"docs/[a-z/-]+\.md", path)

    def test_a_page_that_is_not_there(self) -> None:
        said = call(PROGRAM, "help", "etr")
        self.assertEqual(said.returncode, 2)
        self.assertIn("did you mean 'ettr'?", said.stderr)


class Wheel(unittest.TestCase):
    """Built from a copy of the sources, and installed into an environment of its own, which sees torch."""

    @classmethod
    def setUpClass(cls) -> None:
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        cls.python = cls.folder / "venv" / "bin" / "python"
        made = call(PYTHON or sys.executable, "-m", "venv", cls.folder / "venv")
        if made.returncode != 0:
            raise unittest.SkipTest("needs the module venv of Python")
        pip = [cls.python, "-m", "pip", "--disable-pip-version-check"]
        if call(*pip, "download", "-q", "--no-deps", "-d", cls.folder, "meson-python").returncode:
            raise unittest.SkipTest("needs meson-python, which pip could not get")
        quickly = "--config-settings=setup-args=-Doptimization=0"  # built, not measured
        built = call(*pip, "wheel", "-q", quickly, "--no-deps", "-w", cls.folder / "wheel", ROOT)
        if built.returncode != 0:
            raise AssertionError(f"pip wheel: {built.stdout}{built.stderr}")
        (cls.wheel,) = (cls.folder / "wheel").glob("flopledger-*.whl")
        installed = call(*pip, "install", "-q", "--no-deps", cls.wheel)
        if installed.returncode != 0:
            raise AssertionError(f"pip install: {installed.stderr}")

    def see_torch(self) -> None:
        if PYTHON is None:
            self.skipTest("needs torch")
        path = call(PYTHON, "-c", "import torch; print(torch.__path__[0])").stdout.strip()
        (packages,) = (self.folder / "venv").glob("lib/python3*/site-packages")
        (packages / "pytorch.pth").write_text(str(Path(path).parent) + "\n")

    def test_wheel_serves_every_python_from_its_own_on(self) -> None:
        self.assertRegex(self.wheel.name, r"-cp3\d+-abi3-linux_\w+\.whl$")

    def test_editable_is_refused_with_a_line_that_helps(self) -> None:
        said = call(self.python, "-m", "pip", "install", "-q", "--no-deps", "-e", ROOT)
        self.assertNotEqual(said.returncode, 0)
        self.assertIn(
            "cannot be installed with -e: type 'pip install .'", said.stderr + said.stdout
        )

    def test_program_is_beside_python(self) -> None:
        said = call(self.python.parent / "flopledger", "--version").stdout
        self.assertRegex(said, r"^flopledger \d+\.\d+\.\d+")
        for place in ("man/man1/flopledger-run.1", "bash-completion/completions/flopledger"):
            self.assertTrue((self.folder / "venv/share" / place).exists(), place)

    def test_recorder_works_from_there(self) -> None:
        self.see_torch()
        side = record(self, self.python.parent / "flopledger", str(self.python))
        self.assertEqual((side["state"], side["module_marks"]), ("complete", "calls"))

    def test_package_works_in_python(self) -> None:
        self.see_torch()
        done = call(self.python, "-c", USE_IN_PYTHON, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        path, results = done.stdout.splitlines()
        self.assertTrue(path.startswith(str(self.folder / "venv")), path)
        self.assertEqual(results, "(128, 64, 40)")


if __name__ == "__main__":
    run_and_count()
