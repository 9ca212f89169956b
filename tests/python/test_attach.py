#!/usr/bin/env python3
"""`flopledger attach`, asked by stand-ins that speak Kineto's protocol, and by PyTorch itself: test_attach.py PROGRAM"""

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from pathlib import Path
from typing import Any

from count_line import run_and_count
from recorded_runs import find_python

PROGRAM = Path(sys.argv.pop(1)).resolve()
PYTHON = find_python()
HEAD = "=Q32s"

# Asks as Kineto does (type 3: events and activities), and writes the trace that the answer names. It has mapped a file
# whose name is that of PyTorch's library.
STAND_IN = """
import json, mmap, os, socket, struct, sys, time
library = open(sys.argv[1], "rb")
mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)
how = sys.argv[2]
folder = os.environ["KINETO_IPC_SOCKET_DIR"]
asker = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
asker.bind(f"{folder}/asker{os.getpid()}")
body = struct.pack("=iiq2i", 3, 2, 0, os.getpid(), os.getppid())
question = struct.pack("=Q32s", len(body), b"req") + body
noise = [b"", b"x", question[:39], question[:-1], question + b"x", struct.pack("=Q32s", 0, b"r" * 32), os.urandom(5000)]
noise.append(struct.pack("=Q32s", 4, b"req") + b"abcd")
registration = struct.pack("=Q32s", 16, b"ctxt") + struct.pack("=iiq", 0, os.getpid(), 0)
asker.settimeout(0.3)
os.write(1, b"ready\\n")  # at once: others write there too
while True:
    try:
        if how == "noise":
            for message in noise:
                asker.sendto(message, f"{folder}/dynolog")
            asker.sendto(registration, f"{folder}/dynolog")
            assert asker.recv(4096)[:40] == struct.pack("=Q32s", 4, b"ctxt")
            how = "writes"
        asker.sendto(question, f"{folder}/dynolog")
        answer = asker.recv(4096)
        break
    except (OSError, TimeoutError):
        time.sleep(0.1)
length, kind = struct.unpack("=Q32s", answer[:40])
assert length == len(answer) - 40 and kind.rstrip(b"\\0") == b"req", answer
settings = dict(line.split("=", 1) for line in answer[40:].decode().splitlines())
os.write(1, json.dumps(settings).encode() + b"\\n")
if how == "dies":
    sys.exit(0)
start = int(settings.get("PROFILE_START_TIME", 0)) / 1000
time.sleep(max(0, start - time.time()))
path = settings["ACTIVITIES_LOG_FILE"].replace(".json", f"_{os.getpid()}.json")
us = time.time() * 1e6
events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": os.getpid(), "tid": 1, "ts": us + i * 100, "dur": 90,
           "args": {"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]}} for i in range(10)]
with open(path + ".tmp", "w") as file:
    json.dump({"schemaVersion": 1, "traceEvents": events}, file)
os.rename(path + ".tmp", path)
time.sleep(60)
"""

# Trains the same whatever is done to it, and prints what it has learned.
TRAINING = """
import hashlib, os, time, torch
torch.manual_seed(0)
torch.set_num_threads(1)
if "RANK" in os.environ:
    torch.distributed.init_process_group("gloo")
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256))
if "RANK" in os.environ:
    model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
digest = hashlib.sha256()
os.write(1, b"begins\\n")  # at once: the other rank writes there too
for step in range(int(os.environ["STEPS"])):
    loss = model(torch.randn(64, 256)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    digest.update(loss.detach().numpy().tobytes())
    time.sleep(0.02)  # it is still running when it is told to record
os.write(1, digest.hexdigest().encode() + b"\\n")
if "RANK" in os.environ:  # a thread of Gloo's may end the program while Python ends
    os._exit(0)
"""


class Job:
    """A program that runs in the background; ended at the latest when the test is."""

    def __init__(self, test: unittest.TestCase, words: list[Any], **environment: str) -> None:
        self.process = subprocess.Popen(
            [str(word) for word in words],
            env={**os.environ, "KINETO_LOG_LEVEL": "99", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        test.addCleanup(self.end)

    def end(self) -> None:
        """A launcher ends its workers, which are in sessions of their own, when it is asked to end."""
        for how in signal.SIGTERM, signal.SIGKILL:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.communicate(timeout=10)

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


class AttachTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="fla-")  # a socket's path is short
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.library = self.folder / "libtorch_cpu.so"
        self.library.write_bytes(b"no library" * 1000)
        self.environment = {
            "KINETO_USE_DAEMON": "1",
            "KINETO_IPC_SOCKET_DIR": str(self.folder),
            "KINETO_ONDEMAND_TRACE_DIR": str(self.folder),
        }

    def attach(self, *words: Any, **popen: Any) -> "subprocess.CompletedProcess[str]":
        command = [PROGRAM, "attach", "--output", self.folder / "captures", *map(str, words)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=300, **popen
        )

    def stand_in(self, how: str = "writes", **environment: str) -> Job:
        words = [sys.executable, "-c", STAND_IN, self.library, how]
        job = Job(self, words, **{**self.environment, **environment})
        self.assertEqual(job.line(), "ready")
        return job

    def traces(self) -> list[Path]:
        return sorted(self.folder.glob("captures/*/*/traces/rank*/*.pt.trace.json.gz"))

    def left_over(self) -> list[Path]:
        return list(self.folder.glob("flopledger-attach-*"))


class StandInTest(AttachTest):
    def test_a_process_is_told_what_to_record_and_reported(self) -> None:
        job = self.stand_in(RANK="5")
        # named twice is one process, which need not wait for another
        done = self.attach("--milliseconds", 700, "--stacks", job.process.pid, job.process.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("What to try", done.stdout)
        settings = json.loads(job.line())
        self.assertEqual(settings["ACTIVITIES_DURATION_MSECS"], "700")
        self.assertEqual(settings["PROFILE_REPORT_INPUT_SHAPES"], "true")
        self.assertEqual(settings["PROFILE_WITH_STACK"], "true")
        self.assertNotIn("PROFILE_START_TIME", settings)
        [trace] = self.traces()
        self.assertEqual(trace.parent.name, "rank5")
        self.assertEqual(self.left_over(), [])
        self.assertFalse((self.folder / "dynolog").exists())

    def test_what_is_no_question_is_passed_over(self) -> None:
        job = self.stand_in("noise")
        done = self.attach("--no-report", job.process.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.traces()), 1)

    def test_all_below_a_launcher_begin_together(self) -> None:
        words = [sys.executable, "-c", STAND_IN, str(self.library), "writes"]
        launcher = f"""
            import os, subprocess, sys
            for rank in range(3):
                subprocess.Popen({words!r}, env={{**os.environ, "RANK": str(rank)}})
            os.write(1, b"started\\n")
            sys.stdin.read()
        """
        command = [sys.executable, "-c", textwrap.dedent(launcher)]
        job = Job(self, command, **self.environment)
        lines = [job.line() for _ in range(4)]
        self.assertEqual(sorted(lines), ["ready", "ready", "ready", "started"])
        done = self.attach("--no-report", job.process.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        starts = {json.loads(job.line())["PROFILE_START_TIME"] for _ in range(3)}
        self.assertEqual(len(starts), 1)
        self.assertEqual([t.parent.name for t in self.traces()], ["rank0", "rank1", "rank2"])

    def test_one_that_ends_is_named(self) -> None:
        job = self.stand_in("dies")
        done = self.attach(job.process.pid)
        self.assertEqual(done.returncode, 4)
        self.assertIn(f"process {job.process.pid} ended before its trace was written", done.stderr)
        self.assertEqual((self.traces(), self.left_over()), ([], []))
        self.assertFalse((self.folder / "captures" / "attach").exists())

    def test_one_that_never_asks_is_named(self) -> None:
        program = "import mmap, sys, time; f = open(sys.argv[1], 'rb'); m = mmap.mmap(f.fileno(), 0, prot=1); print('ready', flush=True); time.sleep(60)"
        job = Job(self, [sys.executable, "-c", program, self.library], **self.environment)
        job.line()
        done = self.attach("--wait", 1, job.process.pid)
        self.assertEqual(done.returncode, 4)
        self.assertIn(f"process {job.process.pid} has not asked within 1 s", done.stderr)
        self.assertEqual(self.left_over(), [])

    def test_what_cannot_be_attached_to_is_refused(self) -> None:
        def check(code: int, message: str, *words: Any) -> None:
            done = self.attach(*words)
            self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
            self.assertIn(message, done.stderr)

        sleeper = Job(self, ["sleep", "60"])
        check(2, "no process given")
        check(2, "'train.py' is not the number of a process", "train.py")
        check(2, "'-0' is not", "--", "-0")
        check(3, "no process 999999999 runs on this machine", 999999999)
        check(4, "has loaded PyTorch", sleeper.process.pid)
        job = self.stand_in()
        words = [sys.executable, "-c", STAND_IN, self.library, "writes"]
        mute = Job(self, words, KINETO_IPC_SOCKET_DIR=str(self.folder), KINETO_USE_DAEMON="1")
        mute.line()
        program = "import mmap, sys, time; f = open(sys.argv[1], 'rb'); m = mmap.mmap(f.fileno(), 0, prot=1); print('ready', flush=True); time.sleep(60)"
        deaf = Job(self, [sys.executable, "-c", program, self.library])
        deaf.line()
        check(4, "was started without KINETO_USE_DAEMON=1", "--milliseconds", 50, deaf.process.pid)
        check(
            2,
            "--milliseconds is of PyTorch's own profiler",
            "--milliseconds",
            50,
            "--steps",
            3,
            deaf.process.pid,
        )
        check(4, "has run no Python meanwhile", "--wait", 1, deaf.process.pid)
        check(
            4,
            "no process of this user has loaded PyTorch and is of job 'none of ours'",
            "--job",
            "none of ours",
        )
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(listener.close)
        listener.bind(str(self.folder / "dynolog"))
        check(1, "another program listens where Kineto asks", job.process.pid)
        self.assertTrue((self.folder / "dynolog").exists())  # whose it is stays

    @unittest.skipIf(os.geteuid() != 0, "only root can be another user")
    def test_processes_of_others_are_refused(self) -> None:
        other = Job(self, ["setpriv", "--reuid", "65534", "--clear-groups", "sleep", "60"])
        time.sleep(0.5)
        done = self.attach(other.process.pid)
        self.assertEqual(done.returncode, 3)
        self.assertIn("belongs to user 65534", done.stderr)

    def test_a_killed_attach_leaves_a_job_that_can_be_attached_to(self) -> None:
        job = self.stand_in()
        command = [PROGRAM, "attach", "--no-report", str(job.process.pid)]
        stopped = self.stand_in(
            "dies"
        )  # holds the first one's answer back: both asks are answered at a time of its own
        killed = subprocess.Popen(
            [*command, str(stopped.process.pid)], cwd=self.folder, stderr=subprocess.DEVNULL
        )
        time.sleep(0.05)
        killed.kill()
        killed.wait()
        (self.folder / "dynolog").unlink(missing_ok=True)
        later = self.stand_in()
        done = self.attach("--no-report", later.process.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIsNone(job.process.poll())


@unittest.skipUnless(PYTHON, "PyTorch is not installed: ./dev test installs it")
class TorchTest(AttachTest):
    def training(self, steps: int, *launcher: Any, **environment: str) -> Job:
        script = self.folder / "train.py"
        script.write_text(TRAINING)
        words = [*(launcher or [PYTHON]), script]
        job = Job(self, words, STEPS=str(steps), **self.environment, **environment)
        self.assertEqual(job.line(), "begins")
        return job

    def test_a_running_job_is_recorded_and_computes_the_same(self) -> None:
        alone = self.training(1200)
        job = self.training(1200)
        done = self.attach("--no-report", "--milliseconds", 300, job.process.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(job.line(), alone.line())
        [trace] = self.traces()
        words = [PROGRAM, "report", "--json", str(trace)]
        report = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
        operators = json.dumps(report["ranks"][0]["sections"]["operators"])
        self.assertIn("aten::addmm", operators)

    def test_the_ranks_of_torchrun_are_recorded_in_one_window(self) -> None:
        launcher = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        job = self.training(1000000, *launcher)
        done = self.attach("--milliseconds", 300, job.process.pid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([trace.parent.name for trace in self.traces()], ["rank0", "rank1"])
        self.assertIsNone(job.process.poll())


if __name__ == "__main__":
    run_and_count()
