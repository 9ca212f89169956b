#!/usr/bin/env python3
"""`flopledger attach` where the system forbids it, as it really does, or as a filter and files in its place say: test_attach_refused.py
PROGRAM"""

import contextlib
import ctypes
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from count_line import run_and_count
from recorded_runs import can_unshare

PROGRAM = Path(sys.argv.pop(1)).resolve()
PYTHON = "/usr/bin/python3"  # that any user may run
NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
DUMPABLE, NO_NEW_PRIVILEGES, FILTER = 4, 38, 22  # of prctl

# Looks as if it had loaded PyTorch, and waits.
STAND_IN = """
import ctypes, mmap, os, sys, time
library = open(sys.argv[1], "rb")
mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
exec(sys.argv[2])
os.write(1, b"ready\\n")
while True:
    time.sleep(0.01)
"""

# The same in C: a Python that shows none of its functions.
STRIPPED = """
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int count, char **words)
{
    return count == 2 && mmap(0, 4096, PROT_READ, MAP_PRIVATE, open(words[1], O_RDONLY), 0) != MAP_FAILED &&
           write(1, "ready\\n", 6) == 6 && pause();
}
"""


def forbid_ptrace() -> None:
    """A filter of system calls as a container has it: ptrace() fails with EPERM, which is what Yama has it do, too."""
    load, equals, answer = 0x20, 0x15, 0x06  # of struct sock_filter
    program = b"".join(
        struct.pack("=HBBI", *words)
        for words in (
            (load, 0, 0, 0),  # the number of the call
            (equals, 0, 1, 101),  # ptrace of x86-64
            (answer, 0, 0, 0x00050001),  # EPERM
            (answer, 0, 0, 0x7FFF0000),  # allowed
        )
    )
    buffer = ctypes.create_string_buffer(program)
    whole = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None)
    assert libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    assert libc.prctl(FILTER, 2, ctypes.byref(whole), 0, 0) == 0


@unittest.skipIf(os.geteuid() != 0, "only root can be another user")
@unittest.skipUnless(os.uname().machine == "x86_64", "the filter is of x86-64")
@unittest.skipUnless(os.access(PYTHON, os.X_OK) and shutil.which("setpriv"), "no Python for all")
class RefusedTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="fla-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.folder.chmod(0o777)
        self.library = self.folder / "libtorch_cpu.so"
        self.library.write_bytes(b"no library" * 1000)
        self.program = self.folder / "flopledger"  # where any user may run it
        shutil.copy(PROGRAM, self.program)
        shutil.copytree(PROGRAM.parent / "python", self.folder / "python")

    def begin(self, *words: str) -> int:
        process = subprocess.Popen(
            [*words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd="/"
        )

        def end() -> None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate()

        self.addCleanup(end)
        assert process.stdout is not None
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process.pid

    def stand_in(self, *before: str, what: str = "") -> int:
        return self.begin(*before, PYTHON, "-c", STAND_IN, str(self.library), what)

    def attach(self, pid: int, *before: str, is_filtered: bool = False) -> str:
        """What it says; the process is as it was."""
        words = [*before, str(self.program), "attach", "--wait", "5", "--output"]
        done = subprocess.run(
            [*words, str(self.folder / "captures"), str(pid)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            preexec_fn=forbid_ptrace if is_filtered else None,
        )
        self.assertIn(done.returncode, (1, 3, 4), done.stderr)
        os.kill(pid, 0)
        return done.stderr

    def with_scope(self, scope: int) -> list[str]:
        """Under a setting of Yama, which this kernel need not have: the file says it, and the filter does it."""
        place = "/proc/sys/kernel"
        script = f"mount -t tmpfs none {place} && mkdir {place}/yama && echo {scope} > {place}/yama/ptrace_scope"
        return ["unshare", "-m", "sh", "-c", f'{script} && exec "$@"', "sh", *NOBODY]

    @unittest.skipUnless(can_unshare("-m"), "no other mount namespace can be made here")
    def test_the_setting_of_yama_is_named(self) -> None:
        pid = self.stand_in(*NOBODY)
        for scope, what in (
            (1, "ptrace_scope is 1, which allows a process to trace only what it started"),
            (2, "ptrace_scope is 2, which allows it to CAP_SYS_PTRACE only"),
            (3, "ptrace_scope is 3, which forbids it to all until the machine starts anew"),
        ):
            said = self.attach(pid, *self.with_scope(scope), is_filtered=True)
            self.assertIn(f"process {pid} may not be traced: kernel.yama.{what}", said)
            self.assertIn("ask the administrator", said)
        said = self.attach(pid, *self.with_scope(0), is_filtered=True)
        self.assertIn("seccomp", said)
        said = self.attach(pid, *NOBODY)  # as nothing forbids it
        self.assertIn("has not imported torch.optim", said)

    def test_the_filter_of_a_container_is_named(self) -> None:
        said = self.attach(self.stand_in(), is_filtered=True)
        self.assertRegex(said, "the filter of system calls .* with --cap-add SYS_PTRACE")

    def test_what_hides_a_process_is_named(self) -> None:
        """The system does not even let its files be seen: that tells nothing of what it has loaded."""
        pid = self.stand_in(*NOBODY, what=f"ctypes.CDLL(None).prctl({DUMPABLE}, 0, 0, 0, 0)")
        self.assertIn(
            f"process {pid} may not be traced: it is marked as not dumpable",
            self.attach(pid, *NOBODY),
        )
        more = (*NOBODY, "--inh-caps", "+net_raw", "--ambient-caps", "+net_raw")
        pid = self.stand_in(*more)
        self.assertIn(
            f"process {pid} has capabilities that this one lacks", self.attach(pid, *NOBODY)
        )
        less = ("setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps", "-sys_ptrace")
        pid = self.stand_in()
        self.assertIn(
            f"process {pid} has capabilities that this one lacks", self.attach(pid, *less)
        )

    def test_processes_of_others_are_refused(self) -> None:
        for owner, asker, uid in (((), NOBODY, 0), (NOBODY, (), 65534)):
            said = self.attach(self.stand_in(*owner), *asker)
            self.assertIn(f"belongs to user {uid}, and this is user", said)

    @unittest.skipUnless(shutil.which("cc") and shutil.which("strip"), "no compiler")
    def test_a_python_that_shows_nothing_is_refused(self) -> None:
        source, python = self.folder / "python.c", self.folder / "python3.11"
        source.write_text(STRIPPED)
        for how in ("-static", "-rdynamic"):
            subprocess.run(["cc", how, "-s", "-o", str(python), str(source)], check=True)
            said = self.attach(self.begin(str(python), str(self.library)))
            self.assertIn("shows no function Py_AddPendingCall", said)
            self.assertIn("linked statically and stripped; record it with 'flopledger run'", said)

    @unittest.skipUnless(shutil.which("strip"), "no binutils")
    def test_a_stripped_python_that_exports_its_functions_is_attached_to(self) -> None:
        whole = os.path.realpath(PYTHON)
        stripped = self.folder / Path(whole).name
        subprocess.run(["strip", "-s", "-o", str(stripped), whole], check=True)
        pid = self.begin(str(stripped), "-c", STAND_IN, str(self.library), "")
        self.assertIn("has not imported torch.optim", self.attach(pid))

    @unittest.skipUnless(can_unshare("-m", "-p", "-f"), "no other namespaces can be made here")
    def test_a_process_that_has_another_number_inside_is_attached_to(self) -> None:
        """As in a container, seen from outside: other mounts and numbers of processes; or as another user there."""
        for flags in (
            ("-m", "-p", "-f", "--mount-proc"),
            ("-U", "-r", "-m", "-p", "-f", "--mount-proc"),
        ):
            if not can_unshare(*flags):
                continue
            starter = self.stand_in("unshare", "--kill-child", *flags)
            children = Path(f"/proc/{starter}/task/{starter}/children").read_text().split()
            self.assertIn("has not imported torch.optim", self.attach(int(children[0])))
            self.assertIn("has not imported torch.optim", self.attach(starter))
            os.kill(int(children[0]), signal.SIGKILL)


if __name__ == "__main__":
    run_and_count()
