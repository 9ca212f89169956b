#!/usr/bin/env python3
"""The step record holds what a program did, and survives what ends it: test_recorded_steps.py PROGRAM"""

import contextlib
import json
import math
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zlib
from pathlib import Path
from typing import Any

from count_line import run_and_count
from recorded_runs import environment_of, find_python, libraries_of

PROGRAM = Path(sys.argv.pop(1)).resolve()
PYTHON = find_python()
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).resolve().parent / "training" / "recorded_steps.py"
TRAINER = SCRIPT.with_name("recorded_trainer.py")
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "generate")]

from flopledger import step_record  # noqa: E402
from flopledger.step_record import HEADER, HEADER_BYTES  # noqa: E402
from step_record_file import ENTRY, StepRecordFile  # noqa: E402

FIELDS = "checksum kind flags sequence step start end wait forward backward optimizer tokens samples memory count number host zero"


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header, and the entries whose checksums hold; docs/formats/step-record.md in Python."""
    data = path.read_bytes()
    header = HEADER.unpack(data[:HEADER_BYTES])
    assert zlib.crc32(data[:20] + bytes(4) + data[24:HEADER_BYTES]) == header[4], "header"
    entries = []
    for place in range(HEADER_BYTES, len(data) - ENTRY.size + 1, ENTRY.size):
        slot = data[place : place + ENTRY.size]
        entry = dict(zip(FIELDS.split(), ENTRY.unpack(slot)))
        if entry["sequence"] and zlib.crc32(bytes(4) + slot[4:], header[5]) == entry["checksum"]:
            entries.append(entry)
    texts = [text.rstrip(b"\0").decode() for text in header[13:]]
    names = ("boot", "host", "job", "recorder", "torch", "python")
    return {"rank": header[6], "world": header[7], **dict(zip(names, texts))}, entries


def words(*arguments: object, options: tuple[str, ...] = ("--no-report",)) -> list[str]:
    assert PYTHON is not None
    return [str(PROGRAM), "run", *options, "--", PYTHON, str(SCRIPT), *map(str, arguments)]


class Recorded(unittest.TestCase):
    def setUp(self) -> None:
        if PYTHON is None:
            self.skipTest("needs torch")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_recorded(
        self, *arguments: object, variables: dict[str, str] | None = None, status: int = 0
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            words(*arguments),
            cwd=self.folder,
            env=environment_of(PROGRAM, **(variables or {})),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertNotIn("recording stopped", done.stderr)
        return done

    def records(self) -> list[Path]:
        return sorted(self.folder.glob("captures/**/*.steps"))

    def of_kind(self, entries: list[dict[str, Any]], kind: int) -> list[dict[str, Any]]:
        return [entry for entry in entries if entry["kind"] == kind]


class Fields(Recorded):
    def check(self, variables: dict[str, str]) -> None:
        done = self.run_recorded("plain", variables=variables)
        header, entries = read(self.records()[0])
        self.assertEqual(self.records()[0].stat().st_size, HEADER_BYTES + len(entries) * 128)
        steps = self.of_kind(entries, step_record.STEP)
        self.assertEqual([entry["step"] for entry in steps], list(range(1, 21)))
        self.assertEqual({(e["tokens"], e["samples"], e["count"]) for e in steps}, {(32, 4, 1)})
        self.assertEqual((header["rank"], header["world"], header["job"]), (0, 1, "night 7"))
        for before, after in zip(steps, steps[1:]):
            self.assertEqual(before["end"], after["start"])
        for entry in steps:
            parts = [entry[name] for name in ("wait", "forward", "backward", "optimizer")]
            self.assertTrue(all(part > 0 for part in parts), entry)
            self.assertLessEqual(sum(parts), entry["end"] - entry["start"])
        self.assertEqual(
            [e["step"] for e in steps if e["flags"] & step_record.PROFILED], [4, 5, 6, 7, 8]
        )
        self.assertGreaterEqual(steps[5]["wait"], 10_000_000)
        self.check_spans(entries)
        losses = {e["step"]: e["number"] for e in self.of_kind(entries, step_record.LOSS)}
        for e in steps:
            if not math.isnan(e["number"]):
                before = e["flags"] & step_record.LOSS_OF_STEP_BEFORE
                losses[e["step"] - bool(before)] = e["number"]
        printed = re.findall(r"^(\d+) (\S+)$", done.stdout, re.M)
        self.assertEqual(
            {step: repr(loss) for step, loss in losses.items()}, {int(s): v for s, v in printed}
        )
        self.assertEqual([e["count"] for e in self.of_kind(entries, step_record.RESUMED)], [0])
        self.assertEqual((entries[-1]["kind"], entries[-1]["count"]), (step_record.END, 0))
        self.check_kept_steps(steps)

    def check_kept_steps(self, steps: list[dict[str, Any]]) -> None:
        """What the five recorded steps show of the devices, scaled to all twenty."""
        capture = self.records()[0].parents[1]
        words = [str(PROGRAM), "ettr", "--json", "--peak", "1", str(capture)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
        section = json.loads(done.stdout)["ranks"][0]["sections"]["kept_steps"]
        numbers = {key: number["value"] for key, number in section["numbers"].items()}
        self.assertEqual((numbers["kept_steps"], numbers["traced_steps"]), (20, 5))
        self.assertEqual(numbers["windows"], 5)
        rows = section["tables"]["ledger"]["rows"]
        self.assertEqual(sum(r["time"] for r in rows if r["depth"] == 1), rows[0]["time"])
        waits = {row["key"]: row["time"] for row in rows}["idle_data"]
        self.assertGreaterEqual(waits, 10_000_000)  # of step 6
        self.assertLess(waits, sum(step["wait"] for step in steps) * 1.5)

    def test_losses_evaluations_and_checkpoints_by_other_names(self) -> None:
        """In a thread, which is known to train from the end of its first step on."""
        done = self.run_recorded("reads")
        _, entries = read(self.records()[0])
        steps = self.of_kind(entries, step_record.STEP)
        self.assertEqual([e["tokens"] for e in steps], [-1] + [32] * 19)
        printed = dict(re.findall(r"^(\d+) (\S+)$", done.stdout, re.M))
        self.assertEqual(
            self.losses(entries), {step: printed[step] for step in printed if step != "1"}
        )
        self.check_spans(entries)

    def test_without_a_loader_nothing_else_is_taken_for_forward(self) -> None:
        self.run_recorded("listed")
        _, entries = read(self.records()[0])
        beside = (step_record.RECORDING, step_record.CHECKPOINT, step_record.EVALUATION)
        for e in self.of_kind(entries, step_record.STEP)[1:]:
            spans = [s["end"] - s["start"] for s in entries if s["kind"] in beside and s["step"] == e["step"]]  # fmt: skip
            work = e["forward"] + e["backward"] + e["optimizer"]
            self.assertLessEqual(work, e["end"] - e["start"] - max(spans, default=0), e)
        self.assertGreater(len(self.of_kind(entries, step_record.RECORDING)), 1)
        steps = self.of_kind(entries, step_record.STEP)
        told = [bool(e["flags"] & step_record.TOKENS_OF_WINDOW) for e in steps]
        self.assertEqual(told, [False] * 8 + [True] * 12)  # the window was of steps 4 to 8
        self.assertEqual([e["tokens"] for e in steps], [-1] * 8 + [32] * 12)

    def test_trainer_of_transformers(self) -> None:
        """Its models have an eval() of their own, its losses are means of what it never reads one by one."""
        if not libraries_of(str(PYTHON))["transformers"]:
            self.skipTest("needs transformers")
        command = [word if word != str(SCRIPT) else str(TRAINER) for word in words()]
        said = []
        for given in (command, command[4:]):
            done = subprocess.run(given, cwd=self.folder, env=environment_of(PROGRAM), capture_output=True, text=True, timeout=180)  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            said.append(re.findall(r"^(\d+) (\d\S+)$", done.stdout, re.M))
        self.assertEqual(said[0], said[1])
        self.assertEqual(len(said[0]), 6)
        _, entries = read(self.records()[0])
        self.assertEqual(self.losses(entries), dict(said[0]))
        spans = [self.of_kind(entries, kind) for kind in (step_record.EVALUATION, step_record.CHECKPOINT)]  # fmt: skip
        self.assertEqual([e["step"] for e in spans[0]], [5, 9, 13])
        self.assertEqual([e["step"] for e in spans[1]], [5, 9, 13])
        steps = self.of_kind(entries, step_record.STEP)
        self.assertEqual({e["count"] for e in steps}, {2})
        self.assertEqual({e["tokens"] for e in steps[1:4]}, {2 * 2 * 8})

    def losses(self, entries: list[dict[str, Any]]) -> dict[str, str]:
        """By step, as the program prints them."""
        known = {}
        for e in entries:
            if not math.isnan(e["number"]):
                before = e["flags"] & step_record.LOSS_OF_STEP_BEFORE
                known[str(e["step"] - bool(before))] = repr(e["number"])
        return known

    def check_spans(self, entries: list[dict[str, Any]]) -> None:
        for kind, least in ((step_record.EVALUATION, 30e6), (step_record.CHECKPOINT, 20e6)):
            spans = self.of_kind(entries, kind)
            self.assertEqual(len(spans), 2)
            for span in spans:
                self.assertGreaterEqual(span["end"] - span["start"], least)
            self.assertEqual(spans[0]["step"], 11)  # the one that had begun

    def test_by_the_extension(self) -> None:
        self.check({"FLOPLEDGER_JOB": "night 7", "SLURM_JOB_ID": "1"})

    def test_a_compiled_step_prints_the_same(self) -> None:
        plain = subprocess.run(
            words("whole")[4:],
            env=environment_of(PROGRAM),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=180,
        )
        self.assertEqual(self.run_recorded("whole").stdout, plain.stdout)
        self.assertEqual(len(self.of_kind(read(self.records()[0])[1], step_record.STEP)), 20)

    def test_a_part_that_stays_in_eval_is_no_evaluation(self) -> None:
        self.run_recorded("frozen")
        _, entries = read(self.records()[0])
        self.assertEqual(len(self.of_kind(entries, step_record.EVALUATION)), 2)
        self.assertTrue(all(e["tokens"] == 32 for e in self.of_kind(entries, step_record.STEP)[1:]))

    def test_a_job_goes_on_where_it_was(self) -> None:
        saved = str(self.folder / "state.pt")
        self.run_recorded("plain", variables={"SAVED": saved, "SLURM_JOB_ID": "12"})
        self.run_recorded("plain", variables={"RESUMED": saved, "SLURM_JOB_ID": "12"})
        header, entries = read(self.records()[1])
        self.assertEqual(header["job"], "slurm 12")
        self.assertEqual([e["count"] for e in self.of_kind(entries, step_record.RESUMED)], [20])
        self.assertEqual(len(self.of_kind(entries, step_record.RESTORE)), 1)

    def test_an_attempt_that_fails_early_is_kept(self) -> None:
        done = self.run_recorded("plain", variables={"RESUMED": "/nowhere"}, status=1)
        self.assertIn("no window was recorded; the record of its steps is in", done.stderr)
        _, entries = read(self.records()[0])
        self.assertEqual([(e["kind"], e["count"]) for e in entries][-1], (step_record.END, 1))

    def test_a_child_has_a_record_of_its_own(self) -> None:
        self.run_recorded("fork")
        records = self.records()
        self.assertEqual([path.name for path in records], ["rank0.steps", "rank0_2.steps"])
        counts = [len(self.of_kind(read(path)[1], step_record.STEP)) for path in records]
        self.assertEqual(counts, [20, 20])
        self.one_job_of_20_steps(records[1])

    def test_a_child_of_the_middle_of_a_run(self) -> None:
        """Its parent's profiler has run: the child keeps its steps, and records none in full."""
        self.run_recorded("forks")
        records = self.records()
        counts = [len(self.of_kind(read(path)[1], step_record.STEP)) for path in records]
        self.assertEqual(counts, [20, 12])
        self.one_job_of_20_steps(records[1])

    def one_job_of_20_steps(self, left_out: Path) -> None:
        done = subprocess.run(
            [PROGRAM, "ettr", "--json", left_out.parent.parent],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        numbers = report["ranks"][0]["sections"]["job"]["numbers"]
        self.assertEqual(numbers["steps_made"]["value"], 20)
        self.assertEqual(numbers["attempts"]["value"], 1)
        told = [p["what"] for p in report["problems"] if "is left out: process" in p["what"]]
        self.assertEqual(len(told), 1)
        self.assertIn(left_out.name, told[0])


class Trouble(Recorded):
    def test_kill_9(self) -> None:
        for _ in range(3):
            program = subprocess.Popen(words("plain", 5000), cwd=self.folder, env=environment_of(PROGRAM), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True)  # fmt: skip
            assert program.stdout is not None
            for _ in range(random.randrange(5, 60)):
                printed = program.stdout.readline()
            os.killpg(program.pid, signal.SIGKILL)
            rest = program.stdout.read().splitlines()
            program.wait()
            program.stdout.close()
            last = int((rest[-1] if rest else printed).split()[0])
            newest = max(self.records(), key=lambda path: path.stat().st_mtime)
            steps = self.of_kind(read(newest)[1], step_record.STEP)
            self.assertEqual([e["step"] for e in steps], list(range(1, len(steps) + 1)))
            self.assertIn(len(steps) - last, (0, 1))

    def test_without_room_the_program_goes_on(self) -> None:
        """The limit lets through the header and some entries."""
        done = subprocess.run(
            ["sh", "-c", 'ulimit -f 11; exec "$@"', "sh", *words("plain")],
            cwd=self.folder,
            env=environment_of(PROGRAM, SAVED="/dev/null"),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 20)
        self.assertEqual(done.stderr.count("the step record has gaps from here"), 1)
        (record,) = self.records()  # what there was room for can be read
        self.assertGreater(len(self.of_kind(read(record)[1], step_record.STEP)), 2)
        ettr = subprocess.run([PROGRAM, "ettr", record], capture_output=True, check=False)
        self.assertEqual(ettr.returncode, 0, ettr.stderr)


class Writer(unittest.TestCase):
    def test_what_was_lost_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            record = step_record.StepRecord(folder, StepRecordFile())
            record.open(0, 1, 0)
            self.addCleanup(record.close)
            old = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (HEADER_BYTES + 2 * 128, old[1]))
            second = 1_000_000_000
            for step in range(1, 8):
                record.append(step_record.STEP, 0, step, step, second)
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
            record.append(step_record.STEP, 0, 8, 8, second + 1)  # too early to try again
            record.append(step_record.STEP, 0, 9, 9, second * 60)
            record.close()
            _, entries = read(Path(folder) / "steps" / "rank0.steps")
        self.assertEqual([e["step"] for e in entries if e["kind"] == 1], [1, 2, 9])
        self.assertEqual([e["count"] for e in entries if e["kind"] == step_record.LOST], [6])


class Requests(Recorded):
    def start(self, *launcher: str, seconds: float = 0.01) -> subprocess.Popen[bytes]:
        command = words("plain", 100_000, seconds)
        if launcher:
            command[command.index(str(SCRIPT)) : command.index(str(SCRIPT))] = list(launcher)
        printed = self.folder / "printed"
        # a pipe would be full after some thousand steps, and they would end
        with printed.open("w") as file:
            program = subprocess.Popen(command, cwd=self.folder, env=environment_of(PROGRAM), stdout=file, stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        self.addCleanup(program.wait)
        self.addCleanup(self.kill_workers)
        self.addCleanup(self.kill, program)
        while program.poll() is None and "\n9 " not in printed.read_text():
            time.sleep(0.05)
        return program

    def kill_workers(self) -> None:
        """Those of torchrun are in sessions of their own, and write on when it is killed. A process holds its files as long as
        one of its threads lives, and the first may be the first to go."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            left = [p for p in Path("/proc").glob("[0-9]*/task/*/cwd") if self.runs_here(p)]
            for path in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(path.parent.name), signal.SIGKILL)
            if not left:
                break
            time.sleep(0.01)

    def runs_here(self, path: Path) -> bool:
        with contextlib.suppress(OSError):
            return Path(os.readlink(path)) == self.folder.resolve()
        return False

    def kill(self, program: subprocess.Popen[bytes]) -> None:
        try:
            os.killpg(program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def trace(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(PROGRAM), "trace", *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def test_a_running_program_records_now(self) -> None:
        program = self.start()
        for given in ((), (str(program.pid),)):
            done = self.trace("--steps", "2", *given)
            self.assertEqual(done.returncode, 0, done.stderr)
            path = Path(done.stdout.splitlines()[1].strip())
            self.assertTrue((self.folder / path).is_file(), done.stdout)
        self.assertEqual(len(list(self.folder.glob("captures/**/*.pt.trace.json.gz"))), 3)
        self.kill(program)
        program.wait()
        self.kill_workers()  # gone, and not only told to go
        done = self.trace()
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("no process writes to", done.stderr)

    def test_of_two_requests_at_once_one_is_told_of_the_other(self) -> None:
        self.start()
        words = [str(PROGRAM), "trace", "--steps", "2"]
        both = [subprocess.Popen(words, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]  # fmt: skip
        said = [program.communicate(timeout=60) for program in both]
        self.assertEqual(sorted(program.returncode for program in both), [0, 1], said)
        failed = said[0 if both[0].returncode else 1][1]
        self.assertRegex(failed, "another 'flopledger trace' has asked|runs already|being recorded")

    def test_two_ranks_record_the_same_steps(self) -> None:
        self.start("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
        done = self.trace("--steps", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [Path(line.strip()).name for line in done.stdout.splitlines()[1:3]]
        self.assertEqual(names[0], names[1])
        self.assertIn("of 2 of 2 ranks", done.stdout)

    def test_what_is_no_recorded_program(self) -> None:
        done = self.trace(str(os.getpid()))
        self.assertEqual(done.returncode, 4)
        self.assertIn("is not recorded: 'flopledger attach --watch ", done.stderr)
        done = self.trace()
        self.assertIn("no step record is in 'captures'", done.stderr)
        done = self.trace("--steps", "0")
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    run_and_count()
