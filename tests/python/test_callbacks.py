#!/usr/bin/env python3
"""The callbacks for trainers, in small trainings by the frameworks themselves: test_callbacks.py PROGRAM"""

import csv
import io
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from count_line import run_and_count
from recorded_runs import environment_of, find_python, libraries_of, run_past_gloo

PROGRAM = Path(sys.argv.pop(1)).resolve()
PYTHON = find_python()
LIBRARIES = libraries_of(PYTHON) if PYTHON else {}
sys.path.insert(0, str(PROGRAM.parent / "python"))
SCRIPT = Path(__file__).resolve().parent / "training" / "trainer_callbacks.py"
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]

from flopledger.step_record import HEADER, HEADER_BYTES, LOSS, STEP, entries_of  # noqa: E402


class Callbacks(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def train(
        self, kind: str, how: str, words: list[str] | None = None, before: list[str] | None = None
    ) -> dict[str, Any]:
        """What the script printed last; `before`: a command that runs it."""
        if not LIBRARIES.get(kind):
            self.skipTest(f"needs {kind}")
        command = [*(before or []), str(PYTHON), *(words or []), str(SCRIPT), kind, how]
        environment = environment_of(
            PROGRAM, PYTHONPATH=str(PROGRAM.parent / "python"), FLOPLEDGER=str(PROGRAM)
        )
        made = self.folder / "made"
        done = run_past_gloo([*command, str(made)], 600, made, cwd=self.folder, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("recording stopped", done.stderr)
        said: dict[str, Any] = json.loads(re.findall(r"^\{.*\}$", done.stdout, re.MULTILINE)[-1])
        return {**said, "errors": done.stderr}

    def check(self, said: dict[str, Any], plain: dict[str, Any], kept_in: Path) -> None:
        self.assertEqual(said["losses"], plain["losses"])
        self.assertEqual(len(said["losses"]), 8)
        self.assertEqual(said["steps"], [2, 3, 4])
        self.assertIn(said["headline"], said["errors"])
        folder = Path(said["folder"])
        self.assertEqual(folder.parent.resolve(), kept_in.resolve())
        report = self.json_of("report", folder)
        step = report["ranks"][0]["sections"]["step_ledger"]["numbers"]["step_time_mean"]["value"]
        self.assertEqual(said["step_time_ms"], step / 1e6)

    def json_of(self, *words: str | Path) -> Any:
        return json.loads(subprocess.check_output([PROGRAM, *words, "--json"]))

    def test_transformers(self) -> None:
        plain = self.train("transformers", "without")
        self.assertIsNone(plain["logged"])
        said = self.train("transformers", "with")
        self.check(said, plain, self.folder / "made" / "flopledger")
        self.assertEqual(said["logged"]["step"], 8)
        self.assertEqual(said["logged"]["flopledger/step_time_ms"], said["step_time_ms"])
        self.assertEqual(said["logged"]["flopledger/accounts_share/matrix"], said["matrix"])

    def test_transformers_of_two_ranks(self) -> None:
        said = self.train("transformers", "with", TORCHRUN)
        self.assertEqual(said["ranks"], 2)
        self.assertEqual(said["steps"], [2, 3, 4])
        self.assertEqual(len(list(Path(said["folder"]).glob("steps/rank*.steps"))), 2)

    def test_under_flopledger_run(self) -> None:
        """The program is recorded already: the callback leaves it to that, and the training is the same."""
        run = [str(PROGRAM), "run", "--no-report", "--output", str(self.folder / "all"), "--"]
        said = self.train("transformers", "with", before=run)
        self.assertNotIn("steps", said)
        self.assertEqual(len(said["losses"]), 8)
        self.assertIn("the callback leaves it to", said["errors"])
        self.assertTrue(list((self.folder / "all").glob("**/*.pt.trace.json.gz")))

    def test_lightning(self) -> None:
        plain = self.train("lightning", "without")
        said = self.train("lightning", "with")
        self.check(said, plain, self.folder / "made" / "flopledger")
        rows = list(csv.DictReader(io.StringIO(said["logged"])))
        self.assertEqual(float(rows[-1]["flopledger/step_time_ms"]), said["step_time_ms"])
        self.assertEqual(rows[-1]["step"], "8")

    def test_accelerate(self) -> None:
        plain = self.train("accelerate", "without")
        said = self.train("accelerate", "with")
        self.check(said, plain, self.folder / "made")
        self.assertEqual(said["logged"], {"lr": 0.1})
        data = (Path(said["folder"]) / "steps" / "rank0.steps").read_bytes()
        whole = filter(None, entries_of(data[HEADER_BYTES:], HEADER.unpack_from(data)[5]))
        losses = [entry[-3] for entry in whole if entry[1] in (STEP, LOSS)]
        losses = [loss for loss in losses if loss == loss]
        self.assertEqual(losses, said["losses"])


if __name__ == "__main__":
    run_and_count()
