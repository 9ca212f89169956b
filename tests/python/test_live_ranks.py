#!/usr/bin/env python3
"""`flopledger ranks --live`: a stand-in for NCCL's RAS, and step records of jobs that stand still: test_live_ranks.py PROGRAM"""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from pathlib import Path
from typing import Any
from unittest import mock

from count_line import run_and_count

LONG = "--long" in sys.argv
if LONG:
    sys.argv.remove("--long")
PROGRAM = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "generate")]

from flopledger import step_record  # noqa: E402
from flopledger.step_record import StepRecord  # noqa: E402
from step_record_file import StepRecordFile  # noqa: E402

STEP_NS = 200_000_000
OPERATIONS = ("Broadcast", "AllReduce")


class Ras(threading.Thread):
    """Answers as RAS does; `looks`: one answer for each time that the status is asked for."""

    def __init__(self, looks: list[str], knows_json: bool = True) -> None:
        super().__init__(daemon=True)
        self.looks, self.knows_json = looks, knows_json
        self.asked: list[str] = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"

    def run(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client, client.makefile("rw", newline="\n") as lines:
                self.talk(lines)

    def talk(self, lines: Any) -> None:
        for line in lines:
            line = line.strip().lower()
            self.asked.append(line)
            if line.startswith("client protocol "):
                answer = "SERVER PROTOCOL 2"
            elif line.startswith("timeout ") or (line == "set format json" and self.knows_json):
                answer = "OK"
            elif line in ("status", "verbose status"):
                lines.write(self.looks.pop(0) if len(self.looks) > 1 else self.looks[0])
                lines.flush()
                return
            else:
                answer = f"ERROR: Unknown command {line}"
            lines.write(answer + "\n")
            lines.flush()


def rank(number: int, calls: tuple[int, int], pid: int = 0, **status: Any) -> dict[str, Any]:
    told = {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False}
    return {
        "rank": number,
        "host": "10.0.0.2",
        "pid": pid or 5000 + number,
        "cuda_dev": number,
        "nvml_dev": number,
        "status": {**told, "abort_flag": False, **status},
        "collective_counts": dict(zip(OPERATIONS, calls)),
    }


def lost(number: int, is_dead: bool, is_silent: bool = True) -> dict[str, Any]:
    entry = rank(number, (0, 0))
    del entry["collective_counts"]
    entry["status"] = {"unresponsive": is_silent, "considered_dead": is_dead}
    return entry


def answer(
    ranks: list[dict[str, Any]], missing: list[dict[str, Any]] = [], more: list[Any] = []
) -> str:
    communicators = [
        {
            "hash": "0x8aef1",
            "secondary_hash": "0x1:0x2",
            "size": len(ranks) + len(missing),
            "ranks_count": len(ranks),
            "missing_ranks_count": len(missing),
            "ranks": ranks,
            "missing_ranks": missing,
        }
    ]
    head = {"nccl_version": "2.28.7", "cuda_runtime_version": 12080}
    return json.dumps({**head, "communicators_count": 1, "communicators": communicators + more})


TEXT = """NCCL version 2.24.3 compiled with CUDA 12.6
CUDA runtime version 12060, driver version 12060

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      1          8            1          8        8

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         1         8         8         8   RUNNING  MISMATCH

Errors
======

{errors}
Warnings
========

#0-0 (00000000008aef10) MISMATCH
  Communicator ranks have different AllReduce operation counts
  7 ranks have launched up to operation 1205
  Rank 3 has launched up to operation {calls} -- GPU 3 managed by process 5003 on node 10.0.0.2

"""


class AskingTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="flv-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def record(self, number: int, steps: int, ago_s: float) -> None:
        capture = str(self.folder / "captures" / "run" / "now")
        record = StepRecord(capture, StepRecordFile())
        record.open(number, 2, number)
        self.addCleanup(record.writer.close)
        end = time.monotonic_ns() - int(ago_s * 1e9)
        for step in range(1, steps + 1):
            at = end - (steps - step) * STEP_NS
            record.append(step_record.STEP, 0, step, at - STEP_NS, at)

    def ask(
        self, looks: list[str], *words: Any, knows_json: bool = True, code: int = 0
    ) -> "subprocess.CompletedProcess[str]":
        ras = Ras(looks, knows_json)
        ras.start()
        self.addCleanup(ras.socket.close)
        command = ["ranks", "--live", "--apart", "0.1", "--no-stacks", "--ras", ras.address, *words]
        done = subprocess.run(
            [str(word) for word in (PROGRAM, *command)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=self.folder,
        )
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def told(self, looks: list[str], *words: Any, knows_json: bool = True) -> tuple[str, list[str]]:
        page = json.loads(self.ask(looks, "--json", *words, knows_json=knows_json).stdout)
        (job,) = page["ranks"]
        section = job["sections"]["live_hang"]
        return job["headline"], [finding["what"] for finding in section["findings"]]


class RasTest(AskingTest):
    def test_a_rank_that_stands_behind_is_named(self) -> None:
        look = answer([rank(n, (3, 1204 if n == 3 else 1205)) for n in range(8)])
        headline, _ = self.told([look])
        self.assertEqual(
            headline,
            "rank 3 of communicator 0x8aef1 (8 ranks) has called AllReduce 1204 times, others "
            "1205 times: they wait for it (process 5003 on 10.0.0.2, GPU 3)",
        )
        shown = " ".join(self.ask([look]).stdout.split())
        self.assertIn("process 5003 on 10.0.0.2, GPU 3", shown)

    def test_ranks_that_move_hold_up_nobody(self) -> None:
        looks = [answer([rank(n, (3, 5 * k + n % 2)) for n in range(4)]) for k in (1, 2)]
        headline, findings = self.told(looks)
        self.assertIn("nothing hangs", headline)
        self.assertFalse([what for what in findings if "rank" in what and "wait" in what])

    def test_ranks_that_are_lost_come_first(self) -> None:
        ranks = [rank(n, (3, 9)) for n in range(2)] + [
            rank(4, (3, 8)),
            rank(5, (3, 9), async_error=6),
        ]
        look = answer(ranks, [lost(2, True), lost(3, False), lost(6, False, False)])
        _, findings = self.told([look])
        self.assertIn(
            "rank 2 of communicator 0x8aef1 (7 ranks) is considered dead (", " ".join(findings)
        )
        self.assertIn(
            "rank 3 of communicator 0x8aef1 (7 ranks) does not answer (", " ".join(findings)
        )
        self.assertIn("rank 6 of communicator 0x8aef1 (7 ranks) has left (", " ".join(findings))
        self.assertIn(
            "rank 5 of communicator 0x8aef1 (7 ranks) failed (ncclResult_t 6) (", " ".join(findings)
        )
        self.assertRegex(findings[-1], "rank 4 .* has called AllReduce 8 times, others 9 times")

    def test_the_text_of_older_ones_is_read(self) -> None:
        text = TEXT.format(errors="", calls=1204)
        headline, _ = self.told([text], knows_json=False)
        self.assertEqual(
            headline,
            "rank 3 of communicator 0x8aef10 (8 ranks) has called AllReduce 1204 times, others "
            "1205 times: they wait for it (process 5003 on 10.0.0.2, GPU 3)",
        )
        dead = (
            "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
            "  Process 5002 on node 10.0.0.2 managing GPU 2\n\n"
            "#0-0 (00000000008aef10) INCOMPLETE\n  Missing communicator data from 1 rank\n"
            "  Rank 2 -- GPU 2 managed by process 5002 on node 10.0.0.2\n"
        )
        headline, _ = self.told([TEXT.format(errors=dead, calls=1204)], knows_json=False)
        self.assertIn("rank 2 of communicator 0x8aef10 (8 ranks) does not answer (p", headline)

    def test_what_is_no_ras_is_said(self) -> None:
        for look in (
            "",
            "hello",
            "{",
            "[]",
            '{"communicators": 3}',
            '{"communicators": [{"ranks": 1}]}',
        ):
            done = self.ask([look], code=0 if "ranks" in look else 4)
            if "ranks" not in look:
                self.assertIn("NCCL's RAS", done.stderr)
        for place, words in (
            ("nowhere:1", "in numbers"),
            ("[::1", "HOST:PORT"),
            ("127.0.0.1:x", "HOST:PORT"),
        ):
            done = subprocess.run(
                [PROGRAM, "ranks", "--live", "--ras", place],
                capture_output=True,
                text=True,
                check=False,
                cwd=self.folder,
            )
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertIn(words, done.stderr)
        done = subprocess.run(
            [PROGRAM, "ranks", "--live", "--no-stacks", "--ras", "127.0.0.1:9"],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )
        self.assertEqual(done.returncode, 4)
        self.assertIn("NCCL_RAS_ENABLE", done.stderr)

    def test_an_answer_cut_anywhere_is_survived(self) -> None:
        whole = answer([rank(n, (3, 7)) for n in range(3)], [lost(3, True)])
        text = TEXT.format(errors="", calls=12)
        for at in range(0, len(whole), 211):
            self.assertIn(self.code([whole[:at]], True), (0, 4))
        for at in range(0, len(text), 173):
            self.assertIn(self.code([text[:at]], False), (0, 4))

    def code(self, looks: list[str], knows_json: bool) -> int:
        ras = Ras(looks, knows_json)
        ras.start()
        self.addCleanup(ras.socket.close)
        return subprocess.run(
            [PROGRAM, "ranks", "--live", "--apart", "0.01", "--ras", ras.address],
            capture_output=True,
            check=False,
            timeout=60,
            cwd=self.folder,
        ).returncode


class StepsTest(AskingTest):
    """Step records that this process holds, as a program that trains does."""

    def test_since_when_a_rank_ends_no_step(self) -> None:
        self.record(0, 20, 40)
        self.record(1, 19, 41)
        look = answer([rank(0, (1, 20)), rank(1, (1, 19))])
        headline, findings = self.told([look])
        self.assertIn("rank 1 of communicator 0x8aef1", headline)
        self.assertRegex(
            findings[1],
            r"rank 1 has ended no step for 4\d\.\d s: it has reached step 19, others 20",
        )

    def test_a_rank_of_ras_is_joined_with_its_record(self) -> None:
        self.record(1, 19, 41)
        look = answer([rank(0, (1, 20)), rank(1, (1, 19), os.getpid())])
        shown = " ".join(self.ask([look]).stdout.split())
        self.assertRegex(shown, r"GPU 1; its last step, 19, ended 4\d\.\d s ago")

    def test_the_stacks_of_a_rank_that_ends_no_step_are_read(self) -> None:
        """Of one that waits in a call of C, and goes on as if nothing had been."""
        program = (
            "import threading, time, os\n"
            "def aside():\n    time.sleep(60)\n"
            "def wait_for_others(lock):\n    assert not lock.acquire(timeout=6)\n"
            "threading.Thread(target=aside, daemon=True).start()\n"
            "lock = threading.Lock(); lock.acquire(); print('ready', flush=True)\n"
            "files = len(os.listdir('/proc/self/fd'))\n"
            "wait_for_others(lock); print(len(os.listdir('/proc/self/fd')) - files)\n"
        )
        job = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
        assert job.stdout is not None
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        self.assertEqual(job.stdout.readline(), "ready\n")
        with mock.patch.object(step_record.os, "getpid", lambda: job.pid):
            self.record(0, 20, 40)
        words = [PROGRAM, "ranks", "--live", "--ras", "127.0.0.1:9", "--section", "live"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        if "stripped of the function" not in done.stdout:
            self.assertRegex(done.stdout, r'File "<string>", line 5 in wait_for_others')
            self.assertRegex(done.stdout, r'File "<string>", line 3 in aside')
        self.assertEqual(job.stdout.readline(), "0\n")
        self.assertEqual(job.wait(), 0)
        self.assertEqual(list(Path("/tmp").glob("flopledger-stacks-*")), [])

    def waiting(self) -> "subprocess.Popen[str]":
        """A rank that waits in C, until a line comes; then it prints how many files of ours it has open, and how much memory."""
        program = (
            "import os, sys, time; print('ready', flush=True); sys.stdin.readline()\n"
            "names = [os.path.realpath('/proc/self/fd/' + n) for n in os.listdir('/proc/self/fd')]\n"
            "maps = [line.split() for line in open('/proc/self/maps')]\n"
            "sizes = [[int(p, 16) for p in words[0].split('-')] for words in maps if len(words) == 5]\n"
            "print(sum('flopledger' in n for n in names), sum(b - a == 1 << 18 for a, b in sizes))\n"
        )
        job = subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert job.stdin is not None and job.stdout is not None
        for end in (job.stdin.close, job.stdout.close, job.wait, job.kill):
            self.addCleanup(end)
        self.assertEqual(job.stdout.readline(), "ready\n")
        with mock.patch.object(step_record.os, "getpid", lambda: job.pid):
            self.record(0, 20, 40)
        return job

    def read_stacks(self, **environment: str) -> "subprocess.CompletedProcess[str]":
        words = [PROGRAM, "ranks", "--live", "--ras", "127.0.0.1:9", "--section", "live"]
        return subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env={**os.environ, **environment},
        )

    def shim(self) -> str:
        path = self.folder / "ending_calls.so"
        source = Path(__file__).parent / "ending_calls.c"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", path, source], check=True)
        return str(path)

    def test_the_reader_of_stacks_may_be_killed_in_each_call(self) -> None:
        """The next one takes away what it left: a file, also where it is open in the process, and memory there."""
        shim, job, call = self.shim(), self.waiting(), 1
        assert job.stdin is not None and job.stdout is not None
        while self.read_stacks(LD_PRELOAD=shim, FLOPLEDGER_TEST_KILL=str(call)).returncode != 0:
            call += 1 if LONG else 4
        self.assertGreater(call, 40)
        left = list(Path("/tmp").glob("flopledger-stacks-*"))
        self.assertGreater(len(left), 5)
        for path in left:
            os.utime(path, (0, 0))  # what was called is over
        self.assertIn("line 1 in <module>", self.read_stacks().stdout)
        self.assertEqual(list(Path("/tmp").glob("flopledger-stacks-*")), [])
        print("", file=job.stdin, flush=True)
        self.assertEqual(job.stdout.readline(), "0 0\n")

    def test_a_rank_may_be_killed_while_its_stacks_are_read(self) -> None:
        shim = self.shim()
        for call in range(2, 100, 1 if LONG else 9):
            job = self.waiting()
            done = self.read_stacks(LD_PRELOAD=shim, FLOPLEDGER_TEST_KILL_TARGET=str(call))
            self.assertEqual(done.returncode, 0, done.stderr)
            if "line 1 in <module>" in done.stdout:
                break
            self.assertRegex(done.stdout, f"process {job.pid} has ended|no rank", f"call {call}")
            self.doCleanups()
            self.setUp()
            shim = self.shim()
        self.assertGreater(call, 40)
        self.assertEqual(list(Path("/tmp").glob("flopledger-stacks-*")), [])

    def test_without_ras_the_records_tell(self) -> None:
        self.record(0, 20, 40)
        self.record(1, 20, 40)
        done = subprocess.run(
            [PROGRAM, "ranks", "--live", "--no-stacks", "--ras", "127.0.0.1:9"],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(
            done.stdout, r"no rank has ended a step for 4\d\.\d s: all have reached step 20"
        )

    def test_a_job_that_trains_hangs_nowhere(self) -> None:
        self.record(0, 20, 0.2)
        self.record(1, 20, 0.1)
        headline, _ = self.told([answer([rank(n, (1, 20)) for n in range(2)])])
        self.assertIn("nothing hangs", headline)


class WatchTest(AskingTest):
    """The same at /metrics and on the page of top, with the windows that rules asked for."""

    def look(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            [str(PROGRAM), *words], capture_output=True, text=True, check=False, cwd=self.folder
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return " ".join((done.stdout + done.stderr).split())

    def metrics(self, *words: str) -> str:
        serving = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0", *words],
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.folder,
        )
        assert serving.stdout is not None
        address = re.search(r"http://\S+", serving.stdout.readline())
        assert address
        try:
            return urllib.request.urlopen(address[0]).read().decode()
        finally:
            serving.terminate()
            serving.wait()
            serving.stdout.close()

    def ask_for_window(self, number: int, rule: str, why: str, step: int) -> None:
        folder = self.folder / "captures" / "run" / "now" / "triggers"
        folder.mkdir(parents=True, exist_ok=True)
        asked = {"rule": rule, "why": why, "rank": 0, "step": step}
        (folder / f"{number}.json").write_text(json.dumps(asked))

    def test_what_ras_and_rules_tell_is_shown(self) -> None:
        self.record(0, 20, 0.2)
        self.ask_for_window(1, "step_time>1.5*median", "step 7 took 520 ms", 7)
        self.ask_for_window(2, "memory_growth>20", "memory grew by 1 %", 9)
        self.ask_for_window(4, "mfu<1", "not there yet: 3 is missing", 11)
        ranks = [rank(n, (3, 1204 if n == 3 else 1205)) for n in range(7)]
        ras = Ras([answer(ranks, [lost(7, True)])])
        ras.start()
        self.addCleanup(ras.socket.close)
        shown = self.look("top", "--once", "--ras", ras.address)
        self.assertIn(
            "NCCL: 1 communicator: 7 ranks run, 1 rank dead, 1 rank behind in AllReduce", shown
        )
        self.assertIn("2 windows by --on; the last because memory grew by 1 %", shown)
        text = self.metrics("--ras", ras.address)
        for line in (
            "flopledger_nccl_ras_up 1",
            "flopledger_nccl_communicators 1",
            'flopledger_nccl_ranks{state="runs"} 7',
            'flopledger_nccl_ranks{state="dead"} 1',
            'flopledger_nccl_ranks_behind{operation="AllReduce"} 1',
            'flopledger_nccl_ranks_behind{operation="Broadcast"} 0',
            'flopledger_nccl_operations_total{operation="AllReduce"} 1205',
            'flopledger_triggered_windows_total{rule="step_time>1.5*median"} 1',
            'flopledger_last_trigger_step{why="memory grew by 1 %"} 9',
        ):
            self.assertIn("\n" + line + "\n", text)

    def test_where_ras_does_not_answer_the_rest_is_shown(self) -> None:
        self.record(0, 20, 0.2)
        shown = self.look("top", "--once", "--ras", "127.0.0.1:9")
        self.assertRegex(shown, "rank .* 20 .* nothing answers at 127.0.0.1:9")
        self.assertNotIn("NCCL:", shown)
        self.assertIn("\nflopledger_nccl_ras_up 0\n", self.metrics("--ras", "127.0.0.1:9"))
        self.assertNotIn("flopledger_nccl", self.metrics())
        self.assertIn("HOST:PORT", self.look("top", "--ras", "127.0.0.1:x", code=2))


if __name__ == "__main__":
    run_and_count()
