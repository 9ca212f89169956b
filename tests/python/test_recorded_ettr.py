#!/usr/bin/env python3
"""`flopledger ettr` of step records whose every second is known: test_recorded_ettr.py PROGRAM"""

import json
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path
from typing import Any

from count_line import run_and_count

PROGRAM = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "generate")]

from flopledger import step_record  # noqa: E402
from flopledger.step_record import HEADER, HEADER_BYTES, MAGIC  # noqa: E402
from step_record_file import ENTRY, StepRecordFile  # noqa: E402

S = 1_000_000_000
NOON = 1_795_000_000 * S


def header(rank: int, start: int, wall: int, boot: str, job: str) -> bytes:
    """Of a process that began at `start` (s, monotonic), and opened its record 1 s later."""
    texts = [step_record.text(text, 64) for text in (boot, "node", job, "0.1.0", "2", "3")]
    fields = (rank, 2, rank, 1, wall + (start + 1) * S, (start + 1) * S, start * S)
    packed = HEADER.pack(MAGIC, 1, HEADER_BYTES, ENTRY.size, 0, 7 + start, *fields, *texts)
    return packed[:20] + zlib.crc32(packed).to_bytes(4, "little") + packed[24:]


class Record:
    """Times in whole seconds of the monotonic clock."""

    def __init__(
        self,
        path: Path,
        start: int,
        rank: int = 0,
        wall: int = NOON,
        boot: str = "a",
        job: str = "",
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.writer = StepRecordFile()
        self.writer.open(str(path), header(rank, start, wall, boot, job))

    def add(
        self, kind: int, step: int, start: int, end: int, count: int = -1, flags: int = 0
    ) -> None:
        unknown = [-1] * 6
        self.writer.append(kind, flags, step, start * S, end * S, *unknown, -1, count, float("nan"))

    def steps(self, first: int, last: int, start: int, seconds: int = 1) -> int:
        for step in range(first, last + 1):
            self.add(step_record.STEP, step, start, start + seconds)
            if step == 1 and self.resumed is not None:
                self.add(step_record.RESUMED, 0, start, start, self.resumed)
            start += seconds
        return start

    resumed: int | None = 0

    def close(self) -> None:
        self.writer.close()


def ettr(*operands: object) -> tuple[int, dict[str, Any], str]:
    done = subprocess.run(
        [str(PROGRAM), "ettr", "--json", *map(str, operands)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def accounts(report: dict[str, Any]) -> dict[str, float]:
    """Seconds by account, of all that are not 0."""
    found: dict[str, float] = {}

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if "account" in node and "meaning" in node and node["time"]:
                found[node["account"]] = node["time"] / S
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(report)
    return found


class TwoAttempts(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def first(self, path: Path, **more: Any) -> None:
        """Starts at 100, steps 1 to 20 from 110 on, a checkpoint of 2 s after step 10; killed at 132."""
        record = Record(path, 100, **more)
        record.steps(1, 10, 110)
        record.add(step_record.CHECKPOINT, 11, 120, 122)
        record.add(step_record.STEP, 11, 120, 123)
        record.steps(12, 20, 123)
        record.close()

    def second(self, path: Path, resumed: int | None = 10, loaded: int = -1, **more: Any) -> None:
        """Starts at 150, loads a checkpoint, 15 steps from 160 on, ends at 176."""
        record = Record(path, 150, **more)
        record.resumed = resumed
        record.add(step_record.RESTORE, 1, 155, 157, loaded)
        record.steps(1, 15, 160)
        record.add(step_record.END, 0, 176, 176, 0)
        record.close()

    def check(self, report: dict[str, Any], kept: float, discarded: float) -> None:
        found = accounts(report)
        self.assertEqual(found.pop("kept steps"), kept, found)
        self.assertEqual(found.pop("discarded steps", 0), discarded, found)
        self.assertEqual(found.pop("startup"), 20)
        self.assertEqual(found.pop("loading checkpoints"), 2)  # of the start-up
        self.assertEqual(found.pop("checkpoints"), 2)
        self.assertEqual(found.pop("downtime"), 18)
        self.assertEqual(found.pop("the job"), 76)
        self.assertEqual(sum(found.values()), 1, found)  # from the last step to the end

    def test_exact(self) -> None:
        steps = self.folder / "steps"
        self.first(steps / "rank0.steps")
        self.second(steps / "rank0_2.steps")
        self.first(steps / "rank1.steps", rank=1)
        status, report, errors = ettr(self.folder)
        self.assertEqual((status, errors), (0, ""))
        self.check(report, 25, 10)

    def test_a_wall_clock_that_was_set_back(self) -> None:
        steps = self.folder / "steps"
        self.first(steps / "rank0.steps")
        self.second(steps / "rank0_2.steps", wall=NOON - 3600 * S)
        status, report, _ = ettr(self.folder)
        self.assertEqual(status, 0)
        self.check(report, 25, 10)

    def test_captures_of_one_job(self) -> None:
        self.first(self.folder / "a" / "steps" / "rank0.steps", job="slurm 7")
        self.second(self.folder / "b" / "steps" / "rank0.steps", job="slurm 7")
        self.first(self.folder / "c" / "steps" / "rank0.steps", job="slurm 6", wall=NOON - 9000 * S)
        status, report, _ = ettr(self.folder)
        self.check(report, 25, 10)
        self.assertIn("1 older record is below", json.dumps(report))

    def test_where_the_restart_is_not_known(self) -> None:
        steps = self.folder / "steps"
        self.first(steps / "rank0.steps")
        self.second(steps / "rank0_2.steps", resumed=None)
        _, report, _ = ettr(self.folder)
        self.check(report, 35, 0)
        self.assertIn("does not tell at which step it went on", json.dumps(report))

    def test_the_checkpoint_that_was_loaded_tells_it(self) -> None:
        """By when its file was written: within the checkpoint after step 10."""
        for number, (written, kept, discarded) in enumerate(
            ((121 * S, 25, 10), (120 * S - 9_000_000, 25, 10), (119 * S, 35, 0), (123 * S, 35, 0))
        ):
            steps = self.folder / str(number) / "steps"
            self.first(steps / "rank0.steps")
            self.second(steps / "rank0_2.steps", resumed=None, loaded=NOON + written)
            _, report, _ = ettr(steps.parent)
            self.check(report, kept, discarded)
            text = "does not tell at which step it went on"
            self.assertEqual(text in json.dumps(report), discarded == 0)

    def test_a_child_that_trains_while_its_parent_waits(self) -> None:
        """Before or after the parent's own steps: it is no attempt of the job."""
        for number, start in enumerate((200, 101)):
            steps = self.folder / f"child{number}" / "steps"
            parent = Record(steps / "rank0.steps", 100)
            parent.steps(1, 20, 150)
            parent.add(step_record.END, 0, 300, 300, 0)
            parent.close()
            child = Record(steps / "rank0_2.steps", start)
            child.steps(1, 15, start + 1)
            child.close()
            status, report, _ = ettr(steps.parent)
            self.assertEqual(status, 0)
            numbers = report["ranks"][0]["sections"]["job"]["numbers"]
            self.assertEqual(numbers["attempts"]["value"], 1)
            self.assertEqual(numbers["steps_made"]["value"], 20)
            self.assertIn("rank0_2.steps' is left out: process", json.dumps(report))

    def test_damage(self) -> None:
        path = self.folder / "steps" / "rank0.steps"
        self.first(path)
        data = bytearray(path.read_bytes())
        data[HEADER_BYTES + 5 * ENTRY.size + 30] ^= 4
        path.write_bytes(data)
        status, report, _ = ettr(path)
        self.assertEqual(status, 5)
        self.assertIn("1 damaged entry is left out", json.dumps(report))
        data[-1 - ENTRY.size // 2] ^= 4  # the last one, too
        path.write_bytes(data)
        status, report, _ = ettr(path)
        self.assertEqual(status, 5)
        self.assertIn("2 damaged entries are left out", json.dumps(report))
        path.write_bytes(data[:3000])
        status, _, errors = ettr(path)
        self.assertEqual(status, 3)
        path.write_bytes(bytes(data[:60]) + b"x" + bytes(data[61:]))
        status, _, errors = ettr(self.folder)
        self.assertEqual(status, 3)
        self.assertIn("no step record can be read", errors)

    def test_impossible_times(self) -> None:
        """Their checksums hold, but no clock shows that: left out, and no account becomes negative."""
        path = self.folder / "steps" / "rank0.steps"
        record = Record(path, 100)
        now = record.steps(1, 20, 110)
        record.add(step_record.STEP, 21, now, now - 50)
        record.add(step_record.STEP, 22, -7, now)
        record.add(step_record.STEP, 2**62, now, now + 1)
        record.add(step_record.CHECKPOINT, 21, now, 9_000_000_000)
        record.steps(21, 25, now)
        record.close()
        status, report, _ = ettr(path)
        self.assertEqual(status, 5)
        self.assertIn("4 damaged entries are left out", json.dumps(report))
        found = accounts(report)
        self.assertEqual(found["kept steps"], 25, found)
        self.assertGreaterEqual(min(found.values()), 0)


if __name__ == "__main__":
    run_and_count()
