#!/usr/bin/env python3
"""A running job at /metrics and in a terminal, from step records and kernel files made here: test_serve_and_top.py PROGRAM"""

import concurrent.futures
import fcntl
import http.client
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import urllib.request
from pathlib import Path
from unittest import mock

from count_line import run_and_count
from find_promtool import find_promtool

PROGRAM = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "generate")]

import make_capture  # noqa: E402
from flopledger import step_record  # noqa: E402
from flopledger.step_record import StepRecord  # noqa: E402
from step_record_file import StepRecordFile  # noqa: E402

MS = 1_000_000
PARSER = ROOT / "build" / "venv-exports" / "bin" / "python"
PARSE = (
    "import sys; from prometheus_client.openmetrics.parser import text_string_to_metric_families as f; "
    "print(len(list(f(sys.stdin.read()))))"
)
KERNEL_FILES = {
    "proc/stat": "cpu  1000 0 500 8000 100 0 7 0 0 0\ncpu0 1 0 0 0 0 0 0 0\ncpu1 1 0 0 0 0 0 0 0\nctxt 5\n",
    "proc/loadavg": "1.50 1.00 0.50 2/300 4711\n",
    "proc/meminfo": "MemTotal:       1048576 kB\nMemFree: 1 kB\nMemAvailable:    262144 kB\n",
    "proc/pressure/cpu": "some avg10=1.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
    "proc/pressure/io": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n",
    "proc/diskstats": "   8 0 sda 10 0 2000 5 20 0 4000 6 0 1500 11\n   8 1 sda1 1 0 2 0 0 0 0 0 0 0 0\n   7 0 loop0 1 0 2 0 0 0 0 0 0 0 0\n",
    "sys/block/sda/size": "1\n",
    "proc/net/dev": "Inter-| Receive\n face |bytes\n    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n  ib0:1000 1 2 3 0 0 0 0 5000 1 4 5 0 0 0 0\n",
    "sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data": "250\n",
    "sys/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data": "500\n",
    "sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error": "3\n",
}
UNKNOWN = float("nan")
# Behind which steps energy is looked at: mJ of the GPU and J of the processors since the look before. Of those from 2 to 10 only the
# GPU tells, of those from 10 to 20 both; a look without a step between is none.
DRAWN = {2: (-1, UNKNOWN), 10: (160_000, UNKNOWN), 20: (250_000, 40.0)}
ENERGY = {
    'flopledger_energy_joules_total{rank="0",source="gpu"}': 160 + 250,
    'flopledger_energy_steps_total{rank="0",source="gpu"}': 18,
    'flopledger_joules_per_step{rank="0",source="gpu"}': 25,
    'flopledger_joules_per_token{rank="0",source="gpu"}': 0.025,
    'flopledger_tokens_per_joule{rank="0",source="gpu"}': 40,
    'flopledger_energy_joules_total{rank="0",source="cpu"}': 40,
    'flopledger_energy_steps_total{rank="0",source="cpu"}': 10,
    'flopledger_joules_per_step{rank="0",source="cpu"}': 4,
    'flopledger_joules_per_token{rank="0",source="cpu"}': 0.004,
    'flopledger_tokens_per_joule{rank="0",source="cpu"}': 250,
}
EXPECTED = {
    'flopledger_host_cpu_seconds_total{mode="user"}': 10,
    'flopledger_host_cpu_seconds_total{mode="idle"}': 80,
    "flopledger_host_cpus": 2,
    "flopledger_host_load1": 1.5,
    "flopledger_host_memory_bytes": 1 << 30,
    "flopledger_host_memory_available_bytes": 1 << 28,
    'flopledger_host_pressure_seconds_total{resource="cpu",extent="some"}': 2.5,
    'flopledger_host_pressure_seconds_total{resource="io",extent="some"}': 0.001,
    'flopledger_host_disk_read_bytes_total{device="sda"}': 2000 * 512,
    'flopledger_host_disk_written_bytes_total{device="sda"}': 4000 * 512,
    'flopledger_host_disk_busy_seconds_total{device="sda"}': 1.5,
    'flopledger_host_network_received_bytes_total{interface="ib0"}': 1000,
    'flopledger_host_network_sent_bytes_total{interface="ib0"}': 5000,
    'flopledger_host_network_errors_total{interface="ib0"}': 14,
    'flopledger_infiniband_received_bytes_total{device="mlx5_0",port="1"}': 1000,
    'flopledger_infiniband_sent_bytes_total{device="mlx5_0",port="1"}': 2000,
    'flopledger_infiniband_errors_total{device="mlx5_0",port="1"}': 3,
}


class Job(unittest.TestCase):
    """A job of two ranks: rank 0 in its second attempt, which this process plays; rank 1 was killed."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.capture = self.folder / "captures" / "train" / "2026"
        self.root = self.folder / "root"
        for name, text in KERNEL_FILES.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        now = time.monotonic_ns()
        began = now - 60_000 * MS
        played = mock.patch.object(step_record, "process_start_ns", lambda: began)
        played.start()
        self.addCleanup(played.stop)
        first = self.record(0)
        self.steps(first, now - 9_000 * MS, 12, 100 * MS)  # steps 11 and 12 are made again
        first.writer.close()
        self.running = self.record(0)
        self.running.append(step_record.RESUMED, 0, 0, now, now, count=10)
        self.steps(self.running, now - 3_000 * MS, 20, 50 * MS, DRAWN)
        self.running.append(step_record.LOSS, 0, 20, now, now, number=2.5)
        self.addCleanup(self.running.writer.close)
        other = self.record(1)
        self.steps(other, now - 3_000 * MS, 19, 50 * MS)
        other.writer.close()

    def record(self, rank: int) -> StepRecord:
        record = StepRecord(str(self.capture), StepRecordFile())
        record.open(rank, 2, rank)
        return record

    def steps(
        self,
        record: StepRecord,
        start: int,
        count: int,
        length: int,
        drawn: dict[int, tuple[int, float]] | None = None,
    ) -> None:
        """A checkpoint of 400 ms lies in step 5, an evaluation of 300 ms around 200 ms of it."""
        for step in range(1, count + 1):
            end = start + length
            if step == 5:
                record.append(step_record.CHECKPOINT, 0, 5, start, start + 400 * MS)
                record.append(step_record.EVALUATION, 0, 5, start + 200 * MS, start + 500 * MS)
                end += 500 * MS
            record.append(
                step_record.STEP, 0, step, start, end, 5 * MS, 10 * MS, 20 * MS, 10 * MS, 1000, 2
            )
            start = end
            for joules in filter(None, [(drawn or {}).get(step)]):
                record.append(
                    step_record.ENERGY, 0, step, end, end, count=joules[0], number=joules[1]
                )

    def words(self, command: str, *options: str) -> list[str]:
        return [str(PROGRAM), command, "--root", str(self.root), *options]

    def start_server(self, *options: str, **variables: str) -> int:
        self.server = subprocess.Popen(
            self.words("serve", "--port", "0", *options),
            cwd=self.folder,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(self.end_server)
        assert self.server.stdout is not None and self.server.stderr is not None
        line = self.server.stdout.readline()
        if not line:
            errors = self.server.stderr.read()
            if "built without libmicrohttpd" in errors:
                self.skipTest("needs libmicrohttpd")
            self.fail(errors)
        match = re.search(r"http://127\.0\.0\.1:(\d+)/metrics", line)
        assert match, line
        return int(match[1])

    def end_server(self) -> None:
        self.server.terminate()
        self.assertEqual(self.server.wait(timeout=20), 0)
        for stream in (self.server.stdout, self.server.stderr):
            assert stream is not None
            stream.close()

    def get(self, port: int, path: str = "/metrics", **headers: str) -> tuple[int, str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers.get("Content-Type", ""), text


def values(text: str) -> dict[str, float]:
    """By name and labels; checks what OpenMetrics asks for."""
    found: dict[str, float] = {}
    families: list[str] = []
    kinds: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in families, f"{name} stands in two places"
            families.append(name)
            kinds[name] = kind
        elif not line.startswith("#"):
            name, number = line.rsplit(" ", 1)
            assert name not in found, name
            found[name] = float(number)
            plain = name.partition("{")[0]
            family = families[-1]
            wanted = (
                f"{family.removesuffix('_total')}_total" if kinds[family] == "counter" else family
            )
            assert plain == wanted, line
    return found


class Metrics(Job):
    def check(self, found: dict[str, float], expected: dict[str, float]) -> None:
        for name, value in expected.items():
            self.assertIn(name, found)
            self.assertAlmostEqual(found[name], value, places=9, msg=name)

    def test_openmetrics(self) -> None:
        port = self.start_server()
        status, kind, text = self.get(port, Accept="application/openmetrics-text; version=1.0.0")
        self.assertEqual(status, 200)
        self.assertTrue(kind.startswith("application/openmetrics-text; version=1.0.0"), kind)
        self.assertTrue(text.endswith("# EOF\n"))
        found = values(text)
        self.check(found, EXPECTED)
        self.check_training(found)
        self.check_with_the_parser(text)

    def check_with_the_parser(self, text: str) -> None:
        """That of Prometheus' own client, where ./dev has installed it."""
        if not PARSER.exists():
            self.skipTest("needs prometheus_client")
        done = subprocess.run([PARSER, "-c", PARSE], input=text, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(int(done.stdout), 20)

    def check_training(self, found: dict[str, float]) -> None:
        self.check(
            found,
            {
                'flopledger_rank_up{rank="0"}': 1,
                'flopledger_rank_up{rank="1"}': 0,
                'flopledger_step{rank="0"}': 20,
                'flopledger_step{rank="1"}': 19,
                'flopledger_recent_step_seconds{rank="0"}': 0.05,
                'flopledger_steps_total{rank="0"}': 19,
                'flopledger_step_seconds_total{rank="0"}': 19 * 0.05,
                'flopledger_step_part_seconds_total{rank="0",part="data wait"}': 19 * 0.005,
                'flopledger_step_part_seconds_total{rank="0",part="backward"}': 19 * 0.02,
                'flopledger_between_steps_seconds_total{rank="0",kind="checkpoint"}': 0.4,
                'flopledger_between_steps_seconds_total{rank="0",kind="evaluation"}': 0.1,
                'flopledger_between_steps_total{rank="0",kind="evaluation"}': 1,
                'flopledger_tokens_total{rank="0"}': 19_000,
                'flopledger_loss{rank="0"}': 2.5,
                **ENERGY,
            },
        )
        self.assertFalse([key for key in found if "joule" in key and 'rank="1"' in key])
        kept = 12 * 0.1 + 20 * 0.05 - 2 * 0.1
        elapsed = (time.monotonic_ns() - step_record.process_start_ns()) / 1e9
        self.assertLess(abs(found["flopledger_ettr_ratio"] * elapsed / kept - 1), 0.3)

    def test_the_older_format(self) -> None:
        _, kind, text = self.get(self.start_server())
        self.assertTrue(kind.startswith("text/plain; version=0.0.4"), kind)
        self.assertNotIn("# EOF", text)
        self.assertIn("# TYPE flopledger_steps_total counter", text)
        self.check(values(text), EXPECTED)
        promtool = find_promtool()
        if not promtool:
            self.skipTest("needs promtool")
        done = subprocess.run(
            [promtool, "check", "metrics"], input=text, capture_output=True, text=True
        )
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_other_paths(self) -> None:
        port = self.start_server()
        self.assertEqual(self.get(port, "/healthz")[0::2], (200, "ok\n"))
        self.assertEqual(self.get(port, "/")[0], 404)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("POST", "/metrics", body=b"x" * 1000)
        self.assertEqual(connection.getresponse().status, 405)
        connection.close()
        taken = subprocess.run(
            self.words("serve", "--port", str(port)),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(taken.returncode, 1)
        self.assertIn(f"cannot listen on 127.0.0.1, port {port}", taken.stderr)

    def test_many_scrapes(self) -> None:
        port = self.start_server()

        def scrape(count: int) -> int:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            for _ in range(count):
                connection.request("GET", "/metrics")
                answer = connection.getresponse()
                assert answer.status == 200 and b"flopledger_step{" in answer.read()
            connection.close()
            return count

        before = {path: path.stat().st_mtime_ns for path in self.capture.glob("**/*")}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(sum(pool.map(scrape, [250] * 4)), 1000)
        self.assertEqual(
            {path: path.stat().st_mtime_ns for path in self.capture.glob("**/*")}, before
        )


class Page(Job):
    def page(self, *options: str) -> str:
        done = subprocess.run(
            self.words("top", "--once", *options),
            cwd=self.folder,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_once(self) -> None:
        for width in ("80", "200"):
            page = self.page("--width", width)
            text = " ".join(page.split())
            self.assertRegex(page, r"(?m)^ +0 +20 +50\.000 ms +█████")
            self.assertRegex(page, r"(?m)^ +1 +19 .* gone$")
            self.assertIn("gone: its process was killed, or runs on another machine", text)
            self.assertIn(
                "host time of steps: before backward 20.0 %, backward 40.0 %, optimizer 20.0 %, data wait 10.0 %",
                " ".join(page.split()),
            )
            self.assertIn("1 checkpoints in 400.000 ms, 1 evaluations in 100.000 ms", text)
            self.assertIn(
                "energy: GPU 25 J a step, 0.0250 J a token, 40 tokens/J; "
                "processors of the machine 4 J a step, 0.00400 J a token, 250 tokens/J",
                text,
            )
            self.assertIn("2 attempts, lost work: 200.000 ms", text)
            self.assertIn("loss 2.5 at step 20", text)
            self.assertIn("MFU: not known: needs a recorded window", text)
            self.assertIn("no NVML: libnvidia-ml.so.1 is not on this machine", text)
            self.assertLessEqual(max(map(len, page.splitlines())), int(width))

    def test_time_left(self) -> None:
        """Of the planned steps at the median of the newest: 50 ms each, of which 20 are made."""
        for planned, told in (
            (20, "all 20 planned steps are done"),
            (21, "time left 50.0 ms: 1 of 21 steps, of 50.000 ms each"),
            (2_420, "time left 2 min 0 s: 2,400 of 2,420 steps, of 50.000 ms each"),
            (1_000_000, "time left 13 h 53 min: 999,980 of 1,000,000 steps"),
            (2**63 - 1, "time left: not known: needs steps that have ended"),
        ):
            self.assertIn(told, " ".join(self.page("--steps", str(planned)).split()))
        self.assertNotIn("time left", self.page())

    def test_the_machine_alone(self) -> None:
        shutil.rmtree(self.folder / "captures")
        page = self.page()
        self.assertIn("of 2, load 1.50", page)
        self.assertIn("only the machine is shown", page)

    def start_top(self, lines: int, columns: int) -> tuple[int, int, subprocess.Popen[bytes]]:
        """In a pseudo-terminal: its two ends, and the program."""
        try:
            leader, follower = pty.openpty()
        except OSError:
            self.skipTest("no pseudo-terminals here")
        self.addCleanup(os.close, leader)
        self.addCleanup(os.close, follower)
        self.resize(follower, lines, columns)

        def take_terminal() -> None:
            os.setsid()
            fcntl.ioctl(follower, termios.TIOCSCTTY, 0)

        program = subprocess.Popen(
            self.words("top"),
            cwd=self.folder,
            env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"},
            stdin=follower,
            stdout=follower,
            preexec_fn=take_terminal,
        )
        self.addCleanup(self.end_top, program)
        return leader, follower, program

    @staticmethod
    def end_top(program: subprocess.Popen[bytes]) -> None:
        if program.poll() is None:
            program.kill()
            program.wait()

    @staticmethod
    def resize(follower: int, lines: int, columns: int) -> None:
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def test_in_a_terminal(self) -> None:
        leader, follower, program = self.start_top(24, 80)
        first = self.read_until(leader, "q quits")
        self.assertIn("\x1b[?1049h", first)
        self.assertIn("before backward 20.0 %", first)
        self.assertLessEqual(first.count("\r\n"), 24)
        self.resize(follower, 40, 160)
        program.send_signal(signal.SIGWINCH)
        wide = self.read_until(leader, "q quits")
        self.assertNotRegex(first, "device +host")  # there was no room
        self.assertRegex(wide, "device +host")
        os.write(leader, b"q")
        last = self.read_until(leader, "\x1b[?1049l")
        self.assertIn("\x1b[?25h", last)
        self.assertEqual(program.wait(timeout=20), 0)
        self.assertTrue(termios.tcgetattr(follower)[3] & termios.ECHO)
        self.assertTrue(termios.tcgetattr(follower)[3] & termios.ICANON)

    def test_ctrl_c_leaves_a_clean_terminal(self) -> None:
        for key in (b"\x03", b"\x1c"):
            leader, follower, program = self.start_top(24, 80)
            self.read_until(leader, "q quits")
            self.assertFalse(termios.tcgetattr(follower)[3] & termios.ECHO)
            os.write(leader, key)
            last = self.read_until(leader, "\x1b[?1049l")
            self.assertIn("\x1b[?7h\x1b[?25h", last)
            self.assertEqual(program.wait(timeout=20), 0)
            settings = termios.tcgetattr(follower)
            self.assertTrue(settings[3] & termios.ECHO)
            self.assertTrue(settings[3] & termios.ICANON)

    def test_ctrl_z_gives_the_terminal_back(self) -> None:
        leader, follower, program = self.start_top(24, 80)
        self.read_until(leader, "q quits")
        program.send_signal(
            signal.SIGTSTP
        )  # no shell here: the terminal would discard it of a lone process
        self.read_until(leader, "\x1b[?1049l")
        self.await_state(program, "T")
        self.assertTrue(termios.tcgetattr(follower)[3] & termios.ECHO)
        program.send_signal(signal.SIGCONT)
        self.assertIn("\x1b[?1049h", self.read_until(leader, "q quits"))
        self.assertFalse(termios.tcgetattr(follower)[3] & termios.ECHO)
        os.write(leader, b"q")
        self.read_until(leader, "\x1b[?1049l")
        self.assertEqual(program.wait(timeout=20), 0)

    def await_state(self, program: subprocess.Popen[bytes], state: str) -> None:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            line = Path(f"/proc/{program.pid}/stat").read_text()
            if line.rpartition(")")[2].split()[0] == state:
                return
            time.sleep(0.02)
        self.fail(f"not in state {state}")

    def test_many_ranks(self) -> None:
        """Of 64 ranks those that are gone are seen, and so is the machine, on any screen."""
        now = time.monotonic_ns()
        for rank in range(2, 64):
            record = self.record(rank)
            slower = 60 if rank == 33 else 50
            self.steps(record, now - 3_000 * MS, 18, slower * MS)
            if rank in (7, 50):
                record.writer.close()
            else:
                self.addCleanup(record.writer.close)
        for lines in (24, 50):
            leader, follower, program = self.start_top(lines, 80)
            page = self.read_until(leader, "q quits").replace("\x1b[K", "")
            self.assertLessEqual(page.count("\r\n"), lines)
            for rank in (1, 7, 50):
                self.assertRegex(page, rf"(?m)^ +{rank} +1[89] .* gone\r+$")
            if lines == 50:
                self.assertRegex(page, r"(?m)^ +33 +18 +60\.000 ms")
            self.assertRegex(page, r"and \d+ more ranks, \d+ of them running: steps of 50\.000 ms")
            self.assertIn("load 1.50", page)
            os.write(leader, b"q")
            self.read_until(leader, "\x1b[?1049l")
            self.assertEqual(program.wait(timeout=20), 0)
        narrow = self.page("--width", "40")
        self.assertLessEqual(max(map(len, narrow.splitlines())), 40)

    def read_until(self, leader: int, end: str) -> str:
        text = b""
        until = time.monotonic() + 30
        while end.encode() not in text and time.monotonic() < until:
            if select.select([leader], [], [], 1)[0]:
                text += os.read(leader, 65536)
        self.assertIn(end, text.decode("utf-8", "replace"))
        return text.decode("utf-8", "replace")


class Mfu(unittest.TestCase):
    """A run of known FLOPs, on a device of a known peak: everybody who tells its MFU tells the same."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.capture = Path(folder.name) / "capture"
        shape = make_capture.Shape(4096, 500_000, 2_000_000, 300_000, 700_000, 512)
        steps = [
            make_capture.Step(number, 0, 0, is_traced=4 <= number <= 6) for number in range(1, 41)
        ]
        capture = make_capture.Capture(shape, [make_capture.Attempt(0, steps, True)], 1, True)
        make_capture.write_capture(capture, self.capture)
        self.mfu = 2 * 4096**3 / 100e12 / (shape.rest / 1e9)

    def run_program(self, *words: str | Path) -> str:
        done = subprocess.run(
            [PROGRAM, *words, self.capture],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def numbers(self, command: str, section: str) -> dict[str, float]:
        report = json.loads(self.run_program(command, "--json", "--peak", "100"))
        numbers = report["ranks"][0]["sections"][section]["numbers"]
        return {key: number["value"] for key, number in numbers.items()}

    def test_all_tell_the_same(self) -> None:
        ns = 1e-6  # of a step of 3.5 ms a nanosecond is less
        report = self.numbers("report", "model_flops_utilization")["mfu"]
        self.assertAlmostEqual(report, self.mfu, delta=ns)
        self.assertAlmostEqual(self.numbers("ettr", "job_rates")["mfu"], self.mfu, delta=ns)
        exported = self.run_program("ettr", "--peak", "100", "--export", "prometheus")
        found = re.search(r"(?m)^flopledger_job_mfu_ratio\{.*\} (\S+)$", exported)
        assert found
        self.assertAlmostEqual(float(found[1]), self.mfu, delta=ns)
        page = self.run_program("top", "--once", "--width", "160", "--peak", "100")
        self.assertIn(f"{100 * self.mfu:.1f} %", page)
        self.assertAlmostEqual(self.served(), self.mfu, delta=ns)

    def served(self) -> float:
        server = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0", "--peak", "100", self.capture],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None and server.stderr is not None
            address = re.search(r"http://\S+", server.stdout.readline())
            if not address:
                self.skipTest("needs libmicrohttpd")
            with urllib.request.urlopen(address[0], timeout=20) as answer:
                text = answer.read().decode()
        finally:
            server.terminate()
            server.communicate()
        found = re.search(r'(?m)^flopledger_mfu_ratio\{rank="0"\} (\S+)$', text)
        assert found, text
        return float(found[1])


class Contrib(unittest.TestCase):
    """The dashboard and the rules name metrics that there are."""

    def test_names(self) -> None:
        names = set()
        for source in (ROOT / "src" / "live").glob("*.c"):
            for name, kind in re.findall(
                r'"(flopledger_\w+)",\s*(?:"[^"]*"\s*)+,\s*LIVE_(GAUGE|COUNTER)', source.read_text()
            ):
                names.add(name + ("_total" if kind == "COUNTER" else ""))
        self.assertGreater(len(names), 40)
        dashboard = (ROOT / "contrib" / "grafana" / "flopledger.json").read_text()
        rules = (ROOT / "contrib" / "prometheus" / "flopledger-alerts.yml").read_text()
        panels = json.loads(dashboard)["panels"]
        self.assertGreater(len(panels), 5)
        for text in (dashboard, rules):
            used = set(re.findall(r"\bflopledger_\w+", text))
            self.assertEqual(used - names, set())
            self.assertGreater(len(used), 5)

    def test_label_values(self) -> None:
        """What the dashboard and the rules ask for by label is written by some source."""
        sources = "".join(path.read_text() for path in sorted((ROOT / "src" / "live").glob("*.c")))
        checked = 0
        for path in ("grafana/flopledger.json", "prometheus/flopledger-alerts.yml"):
            text = (ROOT / "contrib" / path).read_text().replace('\\"', '"')
            for label, value in re.findall(r'[{,](\w+)(?:=|!=|=~)"([^"$]+)"', text):
                for one in value.split("|"):
                    by_kernel = label == "extent" and one in ("some", "full")
                    is_written = f'"{label}"' in sources and f'"{one}"' in sources
                    self.assertTrue(is_written or by_kernel, f"{path}: {label}={one}")
                    checked += 1
        self.assertGreater(checked, 8)

    def promtool(self, *words: str | Path) -> str:
        promtool = find_promtool()
        if not promtool:
            self.skipTest("needs promtool")
        done = subprocess.run([promtool, *words], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_rules(self) -> None:
        folder = ROOT / "contrib" / "prometheus"
        rules = folder / "flopledger-alerts.yml"
        self.assertIn("SUCCESS", self.promtool("check", "rules", rules))
        self.assertIn(
            "SUCCESS", self.promtool("test", "rules", folder / "flopledger-alerts-test.yml")
        )

    def test_each_alert_fires_and_does_not(self) -> None:
        folder = ROOT / "contrib" / "prometheus"
        alerts = re.findall(r"- alert: (\w+)", (folder / "flopledger-alerts.yml").read_text())
        tests = (folder / "flopledger-alerts-test.yml").read_text()
        self.assertGreater(len(alerts), 5)
        for alert in alerts:
            cases = re.findall(rf"- alertname: {alert}\n.*\n +exp_alerts:(.*)", tests)
            self.assertEqual({bool(case.strip()) for case in cases}, {True, False}, alert)


if __name__ == "__main__":
    run_and_count()
