#!/usr/bin/env python3
"""`flopledger attach` by the recorder that is put into a running process: test_attach_inside.py PROGRAM [--long]"""

import atexit
import contextlib
import fcntl
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from count_line import run_and_count
from recorded_runs import can_unshare, find_python, free_port

LONG = "--long" in sys.argv
if LONG:
    sys.argv.remove("--long")
PROGRAM = Path(sys.argv.pop(1)).resolve()
HERE = Path(__file__).resolve().parent
PYTHON = find_python()
CYCLES = 300 if LONG else 4
KILLS = 90 if LONG else 24

QUIET = {"KINETO_LOG_LEVEL": "99", "OMP_NUM_THREADS": "1"}

# Looks as if it had loaded PyTorch, and is inside of something.
LOOKS_LIKE_TORCH = """
import ctypes, mmap, os, sys, time
library = open(sys.argv[1], "rb")
mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
os.write(1, b"ready\\n")
exec(sys.argv[2])
os.write(1, b"over\\n")
time.sleep(60)
"""


SRUN = """#!/bin/sh
while [ "$1" != "${1#-}" ]; do
    case "$1" in --ntasks-per-node) shift ;; esac
    shift
done
for node in $NODES; do
    nsenter -t "$node" -m -p "$@" &
    all="$all $!"
done
status=0
for one in $all; do
    wait "$one" || status=$?
done
exit $status
"""


class Job:
    """A program that runs in the background; ended at the latest when the test is. Without words it is a training that is forked."""

    def __init__(self, test: unittest.TestCase, words: list[Any], **environment: str) -> None:
        self.errors = tempfile.TemporaryFile("w+")
        self.process: Any
        if words:
            self.process = subprocess.Popen(
                [str(word) for word in words],
                env={**os.environ, **QUIET, **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                text=True,
                start_new_session=True,
            )
        else:
            self.process = ForkedProcess(self.errors.fileno(), environment)
        test.addCleanup(self.end)

    @property
    def pid(self) -> int:
        return int(self.process.pid)

    def end(self) -> None:
        for how in signal.SIGTERM, signal.SIGKILL:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.communicate(timeout=10)
        self.errors.close()

    def line(self) -> str:
        assert self.process.stdout is not None
        return str(self.process.stdout.readline().strip())

    def last_words(self) -> dict[str, Any]:
        """Of a training that was told to end."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write("end\n")
            self.process.stdin.flush()
        line = self.line()
        self.errors.seek(0)
        assert line, f"ended by {self.process.wait()}: {self.errors.read()}"
        words: dict[str, Any] = json.loads(line)
        return words

    def is_traced(self) -> bool:
        return "TracerPid:\t0" not in Path(f"/proc/{self.pid}/status").read_text()

    def mappings(self) -> int:
        """Writable ones without a name and of the size of what is brought."""
        count = 0
        for line in Path(f"/proc/{self.pid}/maps").read_text().splitlines():
            words = line.split()
            start, end = (int(place, 16) for place in words[0].split("-"))
            count += len(words) == 5 and end - start == 1 << 18
        return count


class ForkedProcess:
    """One that is forked from a program that has loaded PyTorch: it begins at once."""

    parent: "subprocess.Popen[str] | None" = None

    def __init__(self, errors: int, environment: dict[str, str]) -> None:
        parent = ForkedProcess.parent or self.begin_parent()
        reads, self_writes = os.pipe()
        self_reads, writes = os.pipe()
        files = [f"/proc/{os.getpid()}/fd/{number}" for number in (reads, writes, errors)]
        assert parent.stdin is not None and parent.stdout is not None
        parent.stdin.write(json.dumps({"files": files, "environment": environment}) + "\n")
        parent.stdin.flush()
        self.pid = int(parent.stdout.readline())
        os.close(reads)
        os.close(writes)
        self.stdin = os.fdopen(self_writes, "w")
        self.stdout = os.fdopen(self_reads)

    @staticmethod
    def begin_parent() -> "subprocess.Popen[str]":
        parent = subprocess.Popen(
            [str(PYTHON), str(HERE / "attached_training.py")],
            env={**os.environ, **QUIET, "FORKS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(parent.communicate)
        ForkedProcess.parent = parent
        return parent

    def poll(self) -> int | None:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self) -> int:
        while self.poll() is None:
            time.sleep(0.01)
        return 0

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def communicate(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("a forked training", timeout)
            time.sleep(0.01)
        for stream in self.stdin, self.stdout:
            with contextlib.suppress(BrokenPipeError):
                stream.close()


class InsideTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="fla-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.library = self.folder / "libtorch_cpu.so"
        self.library.write_bytes(b"no library" * 1000)

    def command(self, *words: Any) -> list[str]:
        return [str(w) for w in (PROGRAM, "attach", "--output", self.folder / "captures", *words)]

    def attach(self, *words: Any, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self.command(*words),
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env={**os.environ, **environment},
        )

    def training(self, *launcher: Any, begins: int = 1, **environment: str) -> Job:
        words = [*launcher, HERE / "attached_training.py"] if launcher else []
        job = Job(self, words, **environment)
        for _ in range(begins):
            self.assertEqual(job.line(), "begins")
        return job

    def alone(self, steps: int, **environment: str) -> str:
        """The digest of as many steps that nobody attached to."""
        job = self.training(STEPS=str(steps), SLEEP="0", **environment)
        return str(job.last_words()["digest"])

    def traces(self) -> list[Path]:
        return sorted(self.folder.glob("captures/*/*/traces/rank*/*.pt.trace.json.gz"))

    def stand_in(self, what: str, python: Any = PYTHON) -> Job:
        job = Job(self, [python, "-c", LOOKS_LIKE_TORCH, self.library, what])
        self.assertEqual(job.line(), "ready")
        return job

    def asleep(self, what: str, python: Any = PYTHON) -> Job:
        """In the call that it begins with: until then it runs Python, and may answer."""
        job = self.stand_in(what, python)
        wait_until(lambda: ") S " in Path(f"/proc/{job.pid}/stat").read_text())
        return job

    def shim(self) -> Path:
        path = self.folder / "ending_calls.so"
        command = ["cc", "-shared", "-fPIC", "-o", path, HERE / "ending_calls.c"]
        subprocess.run([str(word) for word in command], check=True)
        return path


def wait_until(holds: Callable[[], bool]) -> None:
    """However slow the machine is: no length of a sleep is right for all of them."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it has not come to that within a minute"
        time.sleep(0.01)


def can_chroot() -> bool:
    """Mounts of its own need a root of the file system that is a mount: that of a chroot is none."""
    return os.geteuid() == 0 and can_unshare("-m")


WINDOWS = (["--steps", "100"], ["--on", "step_time>1.01*median", "--steps", "100"], ["--watch"])


def phases(*delays: float) -> "list[tuple[list[str], float]]":
    """Kinds of windows, and how long after their begin something happens: each kind and each time at least once, with --long all of both."""
    if LONG:
        return [(options, delay) for options in WINDOWS for delay in delays]
    return [(WINDOWS[k % len(WINDOWS)], delay) for k, delay in enumerate(delays)]


def left_folders() -> set[str]:
    """Whose attaching side is not there any more: others may be attaching beside this test."""
    left = set()
    for path in Path("/tmp").glob("flopledger-attach-*"):
        with contextlib.suppress(OSError), open(path / "lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            left.add(str(path))
    return left


@unittest.skipUnless(PYTHON, "PyTorch is not installed: ./dev test installs it")
class TrainingTest(InsideTest):
    def check_end(self, job: Job, **environment: str) -> None:
        """Its losses are those of a run that nobody attached to, and nothing is left in it."""
        words = job.last_words()
        self.assertEqual(words["left"], {}, words["stands"])
        self.assertEqual(words["digest"], self.alone(words["step"], **environment))

    def test_it_is_recorded_as_by_run_and_computes_the_same(self) -> None:
        before = left_folders()
        job = self.training()
        for cycle in range(CYCLES):
            options = ["--memory"] if cycle % 4 == 1 else []
            options += ["--no-report"] if cycle else []
            began = time.monotonic()
            done = self.attach("--steps", 3, *options, job.pid)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertLess(time.monotonic() - began, 15)
            if cycle == 0:
                self.assertIn("steps 2 to 4", done.stdout)
        self.assertEqual(len(self.traces()), CYCLES)
        text = gzip.decompress(self.traces()[0].read_bytes()).decode()
        self.assertIn('"nn:', text)
        self.assertIn('"ProfilerStep#2"', text)
        self.assertIn('"Input Dims"', text)
        side = json.loads((self.traces()[0].parent / "capture.json").read_text())
        self.assertEqual([s["step"] for s in side["recorded"][0]["steps"]], [2, 3, 4])
        self.assertEqual(left_folders() - before, set())
        self.assertEqual(job.mappings(), 0)
        self.check_end(job)

    def test_it_leaves_wholly_where_it_had_to_come_twice(self) -> None:
        job = self.training(SLOW_HOOK="1")
        for _ in range(3):
            done = self.attach("--steps", 1, "--no-report", job.pid)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.check_end(job)

    def test_a_rule_is_waited_for_and_steps_are_watched(self) -> None:
        job = self.training(SLOW="350,351,352")
        watching = subprocess.Popen(
            self.command("--watch", job.pid), stderr=subprocess.PIPE, text=True
        )
        time.sleep(1.5)
        shown = subprocess.run(
            [PROGRAM, "top", "--once", str(job.pid)], capture_output=True, text=True, check=False
        )
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertRegex(shown.stdout, r"rank 0|step \d+")
        watching.terminate()
        _, said = watching.communicate(timeout=30)
        self.assertEqual(watching.returncode, 0, said)
        self.assertIn("no window was recorded", said)
        self.assertEqual(len(list(self.folder.glob("captures/*/*/steps/rank0.steps"))), 1)
        done = self.attach("--on", "step_time>5*median", "--steps", 2, job.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"Recorded because step \d+ took [56]\d\d")
        self.check_end(job)

    def test_all_ranks_of_a_launcher_record_the_same_steps(self) -> None:
        launcher = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        name = f"job {os.getpid()}"
        job = self.training(*launcher, begins=2, STEPS="1500", SLEEP="0.005", FLOPLEDGER_JOB=name)
        done = self.attach("--steps", 3, "--no-report", "--job", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.traces()), 2, done.stderr)
        ends = []
        for trace in self.traces():
            events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
            steps = [e for e in events if str(e.get("name", "")).startswith("ProfilerStep#")]
            ends.append([float(e["ts"]) + float(e["dur"]) for e in steps if e.get("ph") == "X"])
        self.assertEqual(len(ends[0]), 3)
        one, other = sorted(ends[0]), sorted(ends[1])
        for k in range(1, 3):  # each waits for the other's gradients within the step
            self.assertGreater(one[k], other[k - 1])
            self.assertGreater(other[k], one[k - 1])
        words = [json.loads(job.line()) for _ in range(2)]
        self.assertEqual([w["left"] for w in words], [{}, {}])
        alone = self.training(*launcher, begins=2, STEPS="1500", SLEEP="0")
        self.assertEqual(
            sorted(w["digest"] for w in words),
            sorted(json.loads(alone.line())["digest"] for _ in range(2)),
        )

    @unittest.skipUnless(LONG, "takes a while: --long")
    @unittest.skipUnless(can_unshare("-m", "-p", "-f"), "no other namespaces can be made here")
    def test_srun_attaches_on_all_nodes(self) -> None:
        """A node is what sees no processes but its own. What stands for srun has each of them run the command."""
        srun = self.folder / "srun"
        srun.write_text(SRUN)
        srun.chmod(0o755)
        node = ["unshare", "-m", "-p", "-f", "--mount-proc", "--kill-child", PYTHON]
        shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
        shared |= {"SLURM_JOB_ID": "4711", "STEPS": "1500", "SLEEP": "0.005"}
        words = [*node, HERE / "attached_training.py"]
        jobs = [Job(self, words, **shared, RANK=str(rank), LOCAL_RANK="0") for rank in range(2)]
        self.assertEqual([job.line() for job in jobs], ["begins", "begins"])
        nodes = [Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text() for job in jobs]
        command = self.command("--no-report", "--steps", 3, "--job", "4711")
        done = subprocess.run(
            [srun, "--overlap", "--ntasks-per-node", "1", *command],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "NODES": " ".join(nodes)},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        ranks = [path.parent.name.partition("_")[0] for path in self.traces()]
        self.assertEqual(sorted(ranks), ["rank0", "rank1"])
        self.assertEqual(len({path.parents[2] for path in self.traces()}), 2)  # a capture each
        self.assertEqual([json.loads(job.line())["left"] for job in jobs], [{}, {}])

    def test_workers_of_a_data_loader_are_left_out(self) -> None:
        job = self.training(WORKERS="2")
        done = self.attach("--steps", 2, "--no-report", job.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 steps of 1 process", done.stderr)
        self.assertEqual(len(self.traces()), 1)
        self.check_end(job, WORKERS="2")

    @unittest.skipUnless(shutil.which("g++"), "torch.compile needs a compiler")
    def test_a_compiled_model_computes_the_same(self) -> None:
        job = self.training(COMPILED="1")
        done = self.attach("--steps", 2, "--no-report", job.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_end(job, COMPILED="1")

    def test_it_may_be_killed_in_each_call(self) -> None:
        """Of ptrace: before the first, before the second, ..."""
        shim = self.shim()
        before = left_folders()
        job = self.training()
        rule = ("--on", "step_time>0.9*median")  # holds soon
        for call in range(1, KILLS + 1):
            words = (*(rule if call % 2 else ()), "--steps", "1", job.pid)
            done = self.attach(*words, LD_PRELOAD=str(shim), FLOPLEDGER_TEST_KILL=str(call))
            self.assertIsNone(job.process.poll(), f"killed before call {call}")
            if done.returncode == 0:
                break  # there are no more calls
            self.assertEqual(done.returncode, -signal.SIGKILL, done.stderr)
        time.sleep(0.5)
        done = self.attach("--steps", 2, "--no-report", job.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(left_folders() - before, set())  # the last one took them away
        self.assertEqual(job.mappings(), 0)
        self.check_end(job)

    def test_it_may_be_killed_while_it_records(self) -> None:
        before = left_folders()
        job = self.training(SLEEP="0.05")
        for options, delay in phases(0.1, 0.3, 0.6, 1.0):
            killed = subprocess.Popen(
                self.command(*options, job.pid), stderr=subprocess.DEVNULL, start_new_session=True
            )
            time.sleep(delay)
            self.assertIsNone(killed.poll(), options)
            killed.kill()
            killed.wait()
            end = time.monotonic() + 10
            while self.begun_folders() - before and time.monotonic() < end:
                time.sleep(0.1)  # the recorder goes with the next step
            self.assertEqual(self.begun_folders() - before, set(), delay)
        done = self.attach("--steps", 1, "--no-report", job.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(left_folders() - before, set())  # of one that was killed before, too
        self.assertEqual(job.mappings(), 0)
        self.check_end(job)

    def begun_folders(self) -> set[str]:
        """Of those that are left: where the recorder has begun."""
        return {path for path in left_folders() if Path(path, "ran").exists()}

    def test_the_program_may_be_killed_or_end(self) -> None:
        before = left_folders()
        for options, delay in phases(0.05, 0.5, 1.0):
            job = self.training(SLEEP="0.05")
            attaching = subprocess.Popen(
                self.command(*options, "--no-report", job.pid),
                stderr=subprocess.PIPE,
                text=True,
            )
            time.sleep(delay)
            job.process.kill()
            job.process.wait()
            _, errors = attaching.communicate(timeout=60)
            if (
                "--watch" not in options or attaching.returncode
            ):  # else steps were seen: they are kept
                self.assertEqual(attaching.returncode, 4, errors)
                self.assertRegex(errors, "has ended")
        job = self.training(STEPS="40", SLEEP="0.05")
        done = self.attach("--steps", 100, "--no-report", job.pid)
        self.assertEqual(done.returncode, 0, done.stderr)  # what came until then is kept
        self.assertEqual(len(self.traces()), 1)
        self.assertEqual(left_folders() - before, set())

    @unittest.skipUnless(can_unshare("-m"), "no other mount namespace can be made here")
    def test_a_process_that_sees_other_files_is_recorded(self) -> None:
        """As in a container: neither the recorder nor the folder of the capture is there."""
        hidden = PROGRAM.parent / "python"
        mounts = f"mount -t tmpfs none /tmp && mount -t tmpfs none '{hidden}' && exec \"$@\""
        job = self.training("unshare", "-m", "sh", "-c", mounts, "sh", PYTHON)
        done = self.attach("--steps", 2, "--no-report", job.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.traces()), 1)
        self.assertIn('"nn:', gzip.decompress(self.traces()[0].read_bytes()).decode())
        inside = Path("/proc", str(job.pid), "root", "tmp")
        self.assertEqual(list(inside.glob("flopledger*")), [])
        self.check_end(job)

    @unittest.skipUnless(
        can_chroot(), "no root, or one that is no mount: it runs in a chroot itself"
    )
    def test_a_process_below_another_root_is_recorded(self) -> None:
        """As by chroot: the system tells where its files lie from the root of all."""
        root = self.folder / "root"
        root.mkdir()
        mounts = f"mount --rbind / '{root}' && exec chroot '{root}' \"$@\""
        job = self.training("unshare", "-m", "sh", "-c", mounts, "sh", PYTHON)
        done = self.attach("--steps", 2, "--no-report", job.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.traces()), 1)
        self.check_end(job)

    def test_one_that_is_recorded_already_is_told_what_to_use(self) -> None:
        words = [PROGRAM, "run", "--output", self.folder / "run", "--no-report", "--", PYTHON]
        job = self.training(*words)
        done = self.attach(job.pid)
        self.assertEqual(done.returncode, 4)
        self.assertIn("flopledger trace", done.stderr)
        self.assertIsNone(job.process.poll())


class OtherTest(InsideTest):
    def test_the_program_may_be_killed_in_each_call(self) -> None:
        """Of ptrace: it is told that it has ended, whatever was being done with it."""
        shim = self.shim()
        before = left_folders()
        for call in range(1, 2 * KILLS + 1):
            job = self.stand_in("[time.sleep(0.001) for _ in range(60_000)]", sys.executable)
            environment = {"LD_PRELOAD": str(shim), "FLOPLEDGER_TEST_KILL_TARGET": str(call)}
            done = self.attach("--no-report", job.pid, **environment)
            is_over = "torch.optim" in done.stderr  # there are no more calls, or it was late
            job.end()
            if is_over and job.process.returncode != -signal.SIGKILL:
                break
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertRegex(done.stderr, "has ended|has not imported", f"before call {call}")
        self.assertGreater(call, 20)
        self.assertEqual(left_folders() - before, set())

    def test_a_long_call_of_c_is_waited_for_and_then_left_alone(self) -> None:
        """The first holds the interpreter's lock in a call of the system, the second in the interpreter."""
        for what, message in (
            ("ctypes.PyDLL(None).sleep(6)", "has run no Python meanwhile"),
            ("sum(range(400_000_000))", "stays within the interpreter|has run no Python|has not"),
        ):
            before = left_folders()
            begin = self.asleep if "sleep" in what else self.stand_in
            job = begin(what, sys.executable)
            done = self.attach("--wait", 1, job.pid)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertRegex(done.stderr, message)
            self.assertEqual(job.line(), "over")
            for _ in range(50):  # what was sent is run now, and takes itself away
                if not left_folders() - before:
                    break
                time.sleep(0.1)
            self.assertIsNone(job.process.poll())
            self.assertEqual((left_folders() - before, job.mappings()), (set(), 0), what)
            job.errors.seek(0)
            self.assertEqual(job.errors.read(), "")

    def test_a_call_that_the_stop_interrupts_goes_on(self) -> None:
        """Waits with a limit of time end as they would have."""
        what = (
            "import select, signal, threading; t = time.monotonic();"
            "assert select.poll().poll(1500) == []; assert select.select([], [], [], 1) == ([], [], []);"
            "assert not threading.Lock().acquire() or True;"
            "l = threading.Lock(); l.acquire(); assert not l.acquire(timeout=1);"
            "assert signal.sigtimedwait([signal.SIGUSR1], 1) is None; libc = ctypes.PyDLL(None);"
            "assert libc.usleep(700_000) == 0; assert libc.poll(None, 0, 700) == 0;"
            "assert 5.8 < time.monotonic() - t < 12, time.monotonic() - t"
        )
        job = self.stand_in(what, sys.executable)
        for _ in range(60):
            self.attach("--wait", 1, job.pid)
            if job.process.poll() is not None or self.is_over(job):
                break
        self.assertEqual(job.line(), "over", job.errors.seek(0) or job.errors.read())

    def is_over(self, job: Job) -> bool:
        import select

        return bool(select.select([job.process.stdout], [], [], 0)[0])

    def test_each_version_of_python_runs_what_it_is_given(self) -> None:
        found = 0
        for minor in range(10, 16):
            python = shutil.which(f"python3.{minor}")
            if python and ".pyenv" in python:  # what stands there chooses by itself
                some = sorted(Path(python).parents[1].glob(f"versions/3.{minor}.*/bin/python"))
                python = str(some[-1]) if some else None
            if not python:
                continue
            found += 1
            job = self.stand_in("[time.sleep(0.01) for _ in range(1500)]", python)
            done = self.attach(job.pid)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn("has not imported torch.optim", done.stderr, python)
            self.assertIsNone(job.process.poll())
            self.assertEqual(job.mappings(), 0)
            job.end()
        self.assertGreater(found, 0)

    def test_what_forbids_it_is_named(self) -> None:
        job = self.stand_in("time.sleep(60)", sys.executable)
        done = self.attach(job.pid, LD_PRELOAD=str(self.shim()), FLOPLEDGER_TEST_ERRNO="1")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, "may not be traced|seccomp")
        os.kill(job.pid, signal.SIGSTOP)
        wait_until(lambda: ") T " in Path(f"/proc/{job.pid}/stat").read_text())
        done = self.attach(job.pid)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("is stopped", done.stderr)
        os.kill(job.pid, signal.SIGCONT)

    def test_one_that_is_stopped_after_it_was_asked_is_named(self) -> None:
        job = self.asleep("ctypes.PyDLL(None).sleep(60)")
        words = self.command("--wait", 4, job.pid)
        asking = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: job.mappings() == 1 and not job.is_traced())  # it has been asked
        os.kill(job.pid, signal.SIGSTOP)
        said = asking.communicate(timeout=60)[1]
        os.kill(job.pid, signal.SIGCONT)
        self.assertEqual(asking.returncode, 4, said)
        self.assertIn("it is stopped (Ctrl-Z, SIGSTOP)", said)

    @unittest.skipUnless(shutil.which("gdb"), "gdb is not installed")
    def test_one_that_is_traced_already_is_named(self) -> None:
        job = self.stand_in("time.sleep(60)", sys.executable)
        words = ["gdb", "-batch", "-nx", "-p", str(job.pid), "-ex", "shell sleep 20"]
        debugger = subprocess.Popen(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            wait_until(job.is_traced)
            done = self.attach(job.pid)
        finally:
            os.killpg(debugger.pid, signal.SIGTERM)
            debugger.wait()
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"is traced by process {debugger.pid} already", done.stderr)


if __name__ == "__main__":
    run_and_count()
