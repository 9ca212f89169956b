#!/usr/bin/env python3
"""/metrics under a thousand scrapes a second, and a training process beside it that must not notice: test_serve_load.py PROGRAM"""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from count_line import run_and_count

PROGRAM = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
RATE = 1000  # scrapes a second
SECONDS = 3
PHASES = 6
CONNECTIONS = 4
REQUEST = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
CPU_PER_SCRAPE_MAX = 0.0005  # s: half of one processor at 1,000 a second
SLOWER_MAX = 1.25  # of a step's own processor time, beside a server under load
TRAINING = """
import sys, time
sys.path[:0] = sys.argv[2:]
from flopledger.step_record import STEP, StepRecord
from step_record_file import StepRecordFile
record = StepRecord(sys.argv[1], StepRecordFile())
record.open(0, 1, 0)
step = 0
while True:
    step += 1
    start, used = time.monotonic_ns(), time.thread_time_ns()
    sum(range(100_000))
    end = time.monotonic_ns()
    record.append(STEP, 0, step, start, end, 0, -1, -1, -1, 1000, 1)
    print(end, time.thread_time_ns() - used, flush=True)
    time.sleep(0.002)
"""
# What would touch a process, or change a file.
TOUCHES = "kill,tgkill,tkill,ptrace,process_vm_readv,process_vm_writev,pidfd_open,perf_event_open"
CHANGES = "unlink,unlinkat,rename,renameat,renameat2,truncate,ftruncate,creat,mkdir,mkdirat,utimensat,fchmod,chmod"


class Load(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.capture = Path(folder.name) / "captures" / "train" / "now"
        self.capture.mkdir(parents=True)
        self.log = Path(folder.name) / "steps.log"
        paths = [str(ROOT / "python"), str(ROOT / "tests" / "generate")]
        words = [sys.executable, "-c", TRAINING, str(self.capture), *paths]
        with self.log.open("w") as output:
            self.training = subprocess.Popen(words, stdout=output)
        self.addCleanup(self.end, self.training)
        self.record = self.capture / "steps" / "rank0.steps"
        until = time.monotonic() + 20
        while not (self.record.exists() and self.log.stat().st_size) and time.monotonic() < until:
            time.sleep(0.05)

    def end(self, process: subprocess.Popen[str]) -> None:
        process.terminate()
        process.communicate(timeout=20)

    def serve(self, *before: str) -> subprocess.Popen[str]:
        words = [*before, str(PROGRAM), "serve", "--port", "0", str(self.capture)]
        server = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.capture
        )
        self.addCleanup(self.end, server)
        assert server.stdout is not None and server.stderr is not None
        address = re.search(r"127\.0\.0\.1:(\d+)/", server.stdout.readline())
        if not address:
            self.skipTest(f"no server: {server.stderr.read()}")
        self.port = int(address[1])
        return server

    # ------------------------------------------------------------------------------------------------------------------

    def scrape(self, first: float, every: float, count: int, times: list[float]) -> None:
        """Each when it is due, whether the one before was late or not; `times`: from then to its last byte."""
        own = []
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for i in range(count):
                due = first + i * every
                time.sleep(max(0.0, due - time.monotonic()))
                connection.sendall(REQUEST)
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(65536)
                head, _, body = head.partition(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: (\d+)", head)
                assert head.startswith(b"HTTP/1.1 200") and length, head
                while len(body) < int(length[1]):
                    body += connection.recv(65536)
                assert b"flopledger_step{" in body
                own.append(time.monotonic() - due)
        times += own

    def load(self, seconds: float) -> list[float]:
        times: list[float] = []
        begin = time.monotonic() + 0.05
        threads = [
            threading.Thread(
                target=self.scrape,
                args=(
                    begin + k / RATE,
                    CONNECTIONS / RATE,
                    int(RATE * seconds / CONNECTIONS),
                    times,
                ),
            )
            for k in range(CONNECTIONS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sorted(times)

    @staticmethod
    def cpu_seconds(pid: int) -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_a_thousand_a_second(self) -> None:
        server = self.serve()
        before = self.cpu_seconds(server.pid)
        began = time.monotonic()
        times = self.load(SECONDS)
        seconds = time.monotonic() - began
        cpu = self.cpu_seconds(server.pid) - before
        self.assertEqual(len(times), RATE * SECONDS)
        print(
            f"{len(times) / seconds:.0f} scrapes/s: p50 {times[len(times) // 2] * 1e3:.2f} ms, "
            f"p99 {times[len(times) * 99 // 100] * 1e3:.2f} ms, "
            f"{100 * cpu / seconds:.1f} % of a processor"
        )
        self.assertLess(cpu / len(times), CPU_PER_SCRAPE_MAX)

    def test_steps_beside_it(self) -> None:
        """Time of the step's own thread, without what caches and clocks shared with others add: the quickest tenth."""
        self.serve()
        phases: list[tuple[bool, int, int]] = []
        for phase in range(PHASES):
            begin = time.monotonic_ns()
            if phase % 2:
                self.load(0.8)
            else:
                time.sleep(0.8)
            phases.append((bool(phase % 2), begin, time.monotonic_ns()))
        steps = [tuple(map(int, line.split())) for line in self.log.read_text().splitlines()[:-1]]
        used: dict[bool, list[int]] = {False: [], True: []}
        for end, thread_ns in steps:
            for is_loaded, begin, until in phases:
                if begin <= end < until:
                    used[is_loaded].append(thread_ns)
        self.assertGreater(min(map(len, used.values())), 50)
        alone, beside = (sorted(times)[len(times) // 10] for times in used.values())
        print(
            f"a step alone {alone / 1e6:.3f} ms, beside 1,000 scrapes/s {beside / alone:.3f} of it"
        )
        self.assertLess(beside / alone, SLOWER_MAX)

    def test_files_are_open_for_reading_alone(self) -> None:
        server = self.serve()
        self.load(0.1)
        found = 0
        for link in Path(f"/proc/{server.pid}/fd").iterdir():
            if not os.readlink(link).startswith(str(self.capture)):
                continue
            found += 1
            info = Path(f"/proc/{server.pid}/fdinfo/{link.name}").read_text()
            flags = re.search(r"flags:\s+(\d+)", info)
            assert flags
            self.assertEqual(int(flags[1], 8) & os.O_ACCMODE, os.O_RDONLY, os.readlink(link))
        self.assertGreater(found, 0)
        for line in Path(f"/proc/{server.pid}/maps").read_text().splitlines():
            if str(self.capture) in line:
                self.assertNotIn("w", line.split()[1], line)

    def test_system_calls(self) -> None:
        strace = shutil.which("strace")
        if not strace:
            self.skipTest("needs strace")
        trace = self.log.with_name("strace.log")
        watched = f"openat,open,{TOUCHES},{CHANGES}"
        tried = subprocess.run([strace, "-o", trace, "true"], capture_output=True)
        if tried.returncode != 0:
            self.skipTest("strace may not be used here")
        server = self.serve(strace, "-D", "-f", "-o", str(trace), "-e", f"trace={watched}")
        self.load(0.2)
        time.sleep(1.2)
        self.load(0.2)
        self.end(server)  # -D: that is the traced program, and strace writes its last line after it
        until = time.monotonic() + 20
        last = re.compile(rf"(?m)^{server.pid} +\+\+\+")
        while not last.search(trace.read_text()) and time.monotonic() < until:
            time.sleep(0.05)
        calls = [line.split(None, 1)[1] for line in trace.read_text().splitlines()]
        of_capture = [call for call in calls if str(self.capture) in call]
        self.assertGreater(len([call for call in of_capture if "rank0.steps" in call]), 0)
        for call in of_capture:
            self.assertRegex(call, r"^open(at)?\(.*O_RDONLY", call)
        touching = re.compile(rf"^({TOUCHES.replace(',', '|')}|{CHANGES.replace(',', '|')})\(")
        for call in calls:
            self.assertIsNone(touching.match(call), call)


if __name__ == "__main__":
    run_and_count()
