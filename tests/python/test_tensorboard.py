#!/usr/bin/env python3
"""The real TensorBoard reads what we write: test_tensorboard.py PROGRAM

It is started on the logs of the project's traces, and asked through its HTTP API. Without it (build/venv-exports, which
`./dev test` makes) all is skipped.
"""

import json
import math
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from count_line import run_and_count
from recorded_runs import find_python

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.argv.pop(1)).resolve()
TENSORBOARD = ROOT / "build" / "venv-exports" / "bin" / "tensorboard"
TRACES = ROOT / "tests" / "traces" / "golden"
SECONDS_MAX = 60


def export(kind: str, *words: str | Path) -> str:
    return subprocess.run(
        [PROGRAM, "export", kind, *words], capture_output=True, check=True, text=True
    ).stdout


class Server:
    """TensorBoard on a folder of logs, on a port that it chooses."""

    def __init__(self, logs: Path) -> None:
        self.errors = (logs.parent / "tensorboard.log").open("w+")
        self.process = subprocess.Popen(
            [TENSORBOARD, "--logdir", logs, "--port", "0", "--host", "127.0.0.1"],
            stdout=self.errors,
            stderr=self.errors,
        )
        self.address = ""

    def log(self) -> str:
        self.errors.seek(0)
        return self.errors.read()

    def wait(self, runs: int) -> None:
        """Until it has loaded so many runs."""
        until = time.monotonic() + SECONDS_MAX
        while time.monotonic() < until and self.process.poll() is None:
            for word in self.log().split():
                if word.startswith("http://127.0.0.1:"):
                    self.address = word.rstrip("/")
            if self.address and len(self.get("plugin/scalars/tags")) >= runs:
                return
            time.sleep(0.3)
        raise RuntimeError(f"TensorBoard did not load {runs} runs: {self.log()}")

    def get(self, what: str, **parameters: str) -> Any:
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        with urllib.request.urlopen(f"{self.address}/data/{what}{query}", timeout=30) as answer:
            return json.load(answer)

    def post(self, what: str, body: Any) -> Any:
        request = urllib.request.Request(
            f"{self.address}/data/{what}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(30)
        self.errors.close()


class TensorBoardTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        if not TENSORBOARD.exists():
            raise unittest.SkipTest("no TensorBoard in build/venv-exports")
        cls.folder = tempfile.TemporaryDirectory()
        logs = Path(cls.folder.name) / "logs"
        export("tensorboard", "--logdir", logs / "ranks", TRACES / "two_ranks")
        export("tensorboard", "--logdir", logs / "memory", "--peak", "1", TRACES / "memory_run")
        export("tensorboard", "--logdir", logs / "hostile", TRACES / "hostile.json")
        cls.server = Server(logs)
        cls.server.wait(4)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()
        cls.folder.cleanup()

    def test_scalars_are_those_of_each_step(self) -> None:
        for run, words in {
            "ranks/rank0": ("--rank", "0", TRACES / "two_ranks"),
            "ranks/rank1": ("--rank", "1", TRACES / "two_ranks"),
            "memory": ("--peak", "1", TRACES / "memory_run"),
        }.items():
            lines = [json.loads(line) for line in export("jsonl", *words).splitlines()]
            tags = self.server.get("plugin/scalars/tags")[run]
            own = {tag for tag in tags if not tag.startswith("accounts_stacked_ms/")}
            self.assertEqual(own, {tag for line in lines for tag in line["scalars"]})
            for tag in ("step_time_ms", "mfu", "accounts_ms/matrix", "accounts_share/matrix"):
                self.assertIn(tag, own)
            for tag in own:
                self.assertTrue(tags[tag]["description"], tag)
                points = self.server.get("plugin/scalars/scalars", tag=tag, run=run)
                self.assertEqual([point[1] for point in points], [line["step"] for line in lines])
                for (wall, _, value), line in zip(points, lines):
                    self.assertAlmostEqual(wall, line["time"], places=5)
                    self.assertTrue(math.isclose(value, line["scalars"][tag], rel_tol=1e-6), tag)

    def test_stacked_accounts_end_at_the_step_time(self) -> None:
        tags = [
            tag
            for tag in self.server.get("plugin/scalars/tags")["ranks/rank1"]
            if tag.startswith("accounts_stacked_ms/")
        ]
        last = self.server.get("plugin/scalars/scalars", tag=max(tags), run="ranks/rank1")
        self.assertEqual([round(point[2], 4) for point in last], [2.0, 2.0, 2.4])

    def test_memory_by_kind_sums_to_the_peak(self) -> None:
        tags = self.server.get("plugin/scalars/tags")["memory"]
        kinds = [tag for tag in tags if tag.startswith("memory_bytes/")]
        values = {
            tag: self.server.get("plugin/scalars/scalars", tag=tag, run="memory")[0][2]
            for tag in kinds
        }
        peak = values.pop("memory_bytes/peak")
        del values["memory_bytes/at_the_end"]
        self.assertEqual(sum(values.values()), peak)

    def test_text_is_the_report_and_the_advice(self) -> None:
        self.assertEqual(
            {run: sorted(tags) for run, tags in self.server.get("plugin/text/tags").items()},
            {
                run: ["advice", "report"]
                for run in ("hostile", "memory", "ranks/rank0", "ranks/rank1")
            },
        )
        advice = self.server.get("plugin/text/text", tag="advice", run="ranks/rank0")[0]["text"]
        self.assertIn("<strong>exposed communication</strong>", advice)
        report = self.server.get("plugin/text/text", tag="report", run="ranks/rank1")[0]["text"]
        self.assertIn("rank1.json", report)
        self.assertIn("Step ledger", report)
        hostile = self.server.get("plugin/text/text", tag="advice", run="hostile")[0]["text"]
        self.assertIn("k&lt;&lt;", hostile)
        self.assertNotIn("\\", hostile)

    def test_settings_and_metrics_are_in_hparams(self) -> None:
        experiment = self.server.post("plugin/hparams/experiment", {"experimentName": "any"})
        names = [info["name"] for info in experiment["hparamInfos"]]
        for name in ("device", "model", "parameters", "rank", "world_size"):
            self.assertIn(name, names)
        asked = {
            "experimentName": "any",
            "allowedStatuses": ["STATUS_SUCCESS", "STATUS_UNKNOWN"],
            "colParams": [],
            "startIndex": 0,
            "sliceSize": 10,
        }
        groups = self.server.post("plugin/hparams/session_groups", asked)["sessionGroups"]
        settings = {group["sessions"][0]["name"]: group["hparams"] for group in groups}
        self.assertEqual(settings["ranks/rank1"]["device"], "NVIDIA A100-SXM4-80GB")
        self.assertEqual(settings["ranks/rank1"]["rank"], 1.0)
        self.assertGreater(settings["memory"]["parameters"], 1000)
        self.assertNotIn("device", settings["memory"])  # not known: left out

    def test_charts_are_laid_out(self) -> None:
        layout = self.server.get("plugin/custom_scalars/layout")
        self.assertEqual(
            [category["title"] for category in layout["category"]],
            ["Step ledger", "Efficiency", "Memory"],
        )
        tags = self.server.get("plugin/scalars/tags")
        for category in layout["category"]:
            for chart in category["chart"]:
                for pattern in chart["multiline"]["tag"]:
                    found = self.server.get(
                        "plugin/custom_scalars/scalars", tag=pattern, run="memory"
                    )
                    if category["title"] != "Efficiency":
                        self.assertTrue(found["tag_to_events"], pattern)
                    self.assertLessEqual(set(found["tag_to_events"]), set(tags["memory"]))

    def test_the_same_trace_writes_the_same_files(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            contents = []
            for _ in range(2):
                export("tensorboard", "--logdir", folder, TRACES / "two_ranks")
                contents.append(
                    {
                        path.relative_to(folder): path.read_bytes()
                        for path in Path(folder).rglob("*tfevents*")
                    }
                )
            self.assertEqual(contents[0], contents[1])
            self.assertEqual(len(contents[0]), 2)


# Trains, and in step 9 waits until what was recorded so far is in the logs.
TRAINS = """
import pathlib, sys, time, torch

logs = pathlib.Path(sys.argv[1])
model = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(model.parameters())
for step in range(1, 11):
    loss = model(torch.randn(8, 16)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    until = time.monotonic() + 60
    while step == 9 and time.monotonic() < until:
        text = b"".join(path.read_bytes() for path in logs.glob("*tfevents*"))
        if b"live/step_time_ms" in text and b"accounts_ms/matrix" in text:
            print("seen while it ran")
            break
        time.sleep(0.1)
"""


class LiveTest(unittest.TestCase):
    def test_events_are_there_while_the_program_runs(self) -> None:
        python = find_python()
        if python is None:
            self.skipTest("no Python with torch")
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            (folder / "train.py").write_text(TRAINS)
            words = [PROGRAM, "run", "--tensorboard", folder / "logs", "--steps", "4-5"]
            words += ["--no-report", "--output", folder / "captures", "--"]
            done = subprocess.run(
                [*words, python, folder / "train.py", folder / "logs"],
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("seen while it ran", done.stdout)
            self.assertNotIn("TensorBoard", done.stderr)
            if TENSORBOARD.exists():
                self.check_logs(folder / "logs")

    def check_logs(self, logs: Path) -> None:
        server = Server(logs)
        try:
            server.wait(1)
            tags = server.get("plugin/scalars/tags")["."]
            steps = server.get("plugin/scalars/scalars", tag="live/step_time_ms", run=".")
            self.assertEqual([point[1] for point in steps], list(range(2, 11)))
            recorded = server.get("plugin/scalars/scalars", tag="step_time_ms", run=".")
            self.assertEqual([point[1] for point in recorded], [4, 5])
            for (wall, step, _), (other_wall, _, _) in zip(recorded, steps[2:]):
                self.assertLess(abs(wall - other_wall), 1, f"step {step} was at another time")
            self.assertTrue(tags["live/step_time_ms"]["description"])
            self.assertIn("accounts_ms/matrix", tags)
            self.assertEqual(sorted(server.get("plugin/text/tags")["."]), ["advice", "report"])
        finally:
            server.close()

    def test_a_folder_that_cannot_be_written_is_told_first(self) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            file = Path(temporary) / "file"
            file.write_text("")
            done = subprocess.run(
                [PROGRAM, "run", "--tensorboard", file / "logs", "--", "echo", "it ran"],
                capture_output=True,
                text=True,
                check=False,
                cwd=temporary,
            )
            self.assertEqual(done.returncode, 1)
            self.assertNotIn("it ran", done.stdout)
            self.assertIn("cannot write to", done.stderr)


if __name__ == "__main__":
    run_and_count()
