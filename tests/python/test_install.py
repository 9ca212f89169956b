#!/usr/bin/env python3
"""`meson install` brings the program, its man pages and the completions: test_install.py PROGRAM"""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from count_line import run_and_count

PROGRAM = Path(sys.argv.pop(1)).resolve()


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


if __name__ == "__main__":
    run_and_count()
