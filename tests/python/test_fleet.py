#!/usr/bin/env python3
"""Runs in a folder of Parquet files, asked with DuckDB and ClickHouse: test_fleet.py PROGRAM [--long]

--long: 10,000 runs of 1,000 steps; prints how long loading and asking takes."""

import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from count_line import run_and_count
from recorded_runs import environment_of, find_python

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "build" / "venv-fleet" / "bin" / "python"  # pyarrow, duckdb, chdb: by ./dev test
if PACKAGES.exists() and Path(sys.executable) != PACKAGES:
    os.execv(PACKAGES, [str(PACKAGES), __file__, *sys.argv[1:]])

IS_LONG = "--long" in sys.argv
sys.argv[:] = [word for word in sys.argv if word != "--long"]
PROGRAM = Path(sys.argv.pop(1)).resolve()
GOLDEN = ROOT / "tests" / "traces" / "golden"
EXAMPLE = ROOT / "examples" / "traces" / "train_gpt_cpu.json.gz"
PAGE = (ROOT / "docs" / "how-to" / "fleet.md").read_text()
sys.path[:0] = [str(PROGRAM.parent / "python"), str(ROOT / "tests" / "generate")]
os.environ["FLOPLEDGER"] = str(PROGRAM)
RUNS, STEPS = (10_000, 1_000) if IS_LONG else (120, 20)


def has(module: str) -> bool:
    try:
        __import__(module)
    except ImportError:
        return False
    return True


import fleet_runs  # noqa: E402

from flopledger import fleet, fleet_pack, fleet_tables  # noqa: E402

Rows = list[tuple[Any, ...]]


def sql(name: str) -> str:
    found = re.search(rf"^```sql {name}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return found[1]


@unittest.skipUnless(has("pyarrow"), "needs pyarrow")
class Exports(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def command(self, *words: str | Path, status: int = 0, **more: str) -> str:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            [PROGRAM, *words],
            cwd=self.folder,
            env=environment_of(PROGRAM, PATH=path, **more),
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def rows(self, table: str, fleet_folder: str = "fleet", form: str = "parquet") -> list[Any]:
        from pyarrow import ipc, parquet

        found: list[Any] = []
        for path in sorted((self.folder / fleet_folder / table).glob(f"week=*/*.{form}")):
            read = parquet.ParquetFile(path).read() if form == "parquet" else None
            found += (ipc.open_file(path).read_all() if read is None else read).to_pylist()
        return found

    def json_of(self, *words: str | Path) -> Any:
        return json.loads(subprocess.check_output([PROGRAM, *words, "--json"]))

    def test_a_trace(self) -> None:
        """All numbers are the JSON report's."""
        self.command("export", "parquet", EXAMPLE, "-o", "fleet", "--label", "team=nlp,who=me")
        rank = self.json_of("report", EXAMPLE, "--all")["ranks"][0]
        tables = {name: each["tables"] for name, each in rank["sections"].items()}
        run = self.rows("runs")[0]
        self.assertEqual(
            (run["team"], run["cluster"], dict(run["labels"])), ("nlp", None, {"who": "me"})
        )
        self.assertEqual(run["headline"], rank["headline"])
        self.assertIsNone(run["mfu"])
        ledger = [(row["key"], row["mean_ns"], row["share"]) for row in self.rows("ledger")]
        expected = tables["step_ledger"]["ledger"]["rows"]
        self.assertEqual(ledger, [(row["key"], row["mean"], row["share"]) for row in expected])
        steps = [(row["step"], row["duration_ns"]) for row in self.rows("steps")]
        expected = tables["step_ledger"]["steps"]["rows"]
        self.assertEqual(steps, [(row["step"], row["duration"]) for row in expected])
        self.assertGreater(len(self.rows("findings")), 0)

    def test_a_recorded_job(self) -> None:
        """All steps, of its record; kept ones once where an attempt made them again."""
        capture = GOLDEN / "job" / "capture"
        self.command("export", "parquet", "--peak", "100", "-o", "fleet", capture)
        self.command("export", "parquet", "--peak=100", "-o", "fleet", capture)  # once more
        self.assertEqual(len(self.rows("runs")), 1)
        run = self.rows("runs")[0]
        job = self.json_of("ettr", capture)["ranks"][0]["sections"]["job"]["numbers"]
        self.assertEqual(run["ettr"], job["ettr"]["value"])
        self.assertEqual(run["steps_kept"], job["steps_kept"]["value"])
        report = self.json_of("report", "--peak", "100", capture)["ranks"]
        mfu = [
            each["sections"]["model_flops_utilization"]["numbers"]["mfu"]["value"]
            for each in report
        ]
        self.assertAlmostEqual(run["mfu"], sum(mfu) / len(mfu), delta=1e-15)
        steps = self.rows("steps")
        self.assertEqual([row["step"] for row in steps], list(range(1, 70)))
        self.assertEqual(steps[1]["data_wait_ns"], 438125)
        self.assertEqual(sum(row["is_recorded"] for row in steps), 3)
        self.assertTrue(all(row["loss"] is None for row in steps))
        self.assertGreater(len(self.rows("kernels")), 0)

    def test_columns_are_those_of_the_page(self) -> None:
        page = (ROOT / "docs" / "formats" / "export-parquet.md").read_text()
        for table, columns in fleet_tables.SCHEMAS.items():
            part = page.split(f"## {table}\n")[1].split("\n## ")[0]
            own = [name for name in columns if name not in fleet_tables.OF_ALL_TABLES]
            self.assertEqual(re.findall(r"^\| `(\w+)`", part, re.MULTILINE), own, table)

    def test_arrow(self) -> None:
        for form in ("arrow", "parquet"):
            self.command("export", form, "-o", "fleet", EXAMPLE)
        for table in ("runs", "steps", "ledger", "findings"):
            self.assertEqual(self.rows(table), self.rows(table, form="arrow"))

    def test_an_address(self) -> None:
        self.command("export", "parquet", "-o", f"file://{self.folder}/fleet", EXAMPLE)
        self.assertEqual(len(self.rows("runs")), 1)

    def test_what_is_said(self) -> None:
        said = self.command("export", "parquet", EXAMPLE, status=2)
        self.assertIn("say which with --output FOLDER", said)
        said = self.command("export", "parquet", "-o", "fleet", "absent.json", status=3)
        self.assertIn("'absent.json'", said)
        said = self.command("export", "arrow", "-o", "x", "--label", "team", EXAMPLE, status=2)
        self.assertIn("wanted NAME=VALUE", said)
        (self.folder / "file").write_text("")
        said = self.command("export", "parquet", "-o", "file/below", EXAMPLE, status=1)
        self.assertIn("cannot write to 'file/below'", said)
        shutil.copy(sys.executable, self.folder / "none")
        said = self.command("export", "parquet", "-o", "x", "--rank", "0", EXAMPLE, status=2)
        self.assertIn("it holds all ranks", said)

    def test_labels(self) -> None:
        slurm = {"SLURM_JOB_ACCOUNT": "vision", "SLURM_CLUSTER_NAME": "north", "SLURM_JOB_ID": "7"}
        said = fleet_tables.labels_of(["team=nlp"], {**slurm, "FLOPLEDGER_LABELS": "cluster=a,b=c"})
        self.assertEqual(said, {"team": "nlp", "cluster": "a", "job": "7", "b": "c"})

    def packed(self, table: str) -> list[Any]:
        return sorted(self.rows(f"packed/{table}"), key=str)

    def test_packed(self) -> None:
        """All rows of all runs; only weeks that have changed are written again."""
        fleet_runs.write_runs(str(self.folder / "fleet"), 120, 3)
        pack = ("export", "parquet", "--pack", "-o", "fleet")
        self.command(*pack)
        files = {path: path.stat().st_mtime_ns for path in self.folder.rglob("packed/*/*/*")}
        self.assertEqual({path.name for path in files}, {"all.parquet"})
        weeks = {path.name for path in (self.folder / "fleet" / "runs").iterdir()}
        self.assertEqual(len(files), 5 * len(weeks))
        for table in fleet_tables.SCHEMAS:
            self.assertEqual(self.packed(table), sorted(self.rows(table), key=str), table)
        self.assertIn("all was packed already", self.command(*pack))
        self.command("export", "parquet", EXAMPLE, "-o", "fleet")  # of another week
        self.command(*pack)
        self.assertEqual({path: path.stat().st_mtime_ns for path in files}, files)
        for table in fleet_tables.SCHEMAS:
            self.assertEqual(self.packed(table), sorted(self.rows(table), key=str), table)
        gone = next((self.folder / "fleet" / "steps").glob("*/job00007.parquet"))
        gone.unlink()
        self.command(*pack)
        self.assertEqual(self.packed("steps"), sorted(self.rows("steps"), key=str))
        self.assertEqual(list(self.folder.rglob("*.part")), [])

    def test_what_cannot_be_packed(self) -> None:
        from pyarrow import parquet

        fleet_runs.write_runs(str(self.folder / "fleet"), 4, 3)
        pack = ("export", "parquet", "--pack", "-o", "fleet")
        runs = sorted((self.folder / "fleet" / "runs").glob("*/*.parquet"))
        older = parquet.ParquetFile(runs[0]).read().drop_columns(["busy_share"])
        parquet.write_table(older, runs[0])
        runs[1].write_bytes(runs[1].read_bytes()[:200])
        (runs[2].parent / ".job.part").write_text("of a job that is being written")
        said = self.command(*pack, status=5)
        self.assertIn(f"{runs[1].name}' is left out", said)
        rows = {row["run"]: row["busy_share"] for row in self.packed("runs")}
        self.assertEqual(rows, {"job00000": None, "job00002": 0.9, "job00003": 0.9})
        self.assertIn("is left out", self.command(*pack, status=5))  # said each time
        newer = older.append_column("invented", older["run"])
        parquet.write_table(newer, runs[1])
        self.assertIn("has the column 'invented'", self.command(*pack, status=1))
        self.assertEqual(len(self.packed("runs")), 3)  # what was packed before is still there
        self.assertEqual(list(self.folder.rglob("packed/**/*.part")), [])
        said = self.command("export", "parquet", "--pack", "-o", "none", status=1)
        self.assertIn("'none' has no Parquet files of runs", said)
        said = self.command("export", "parquet", "--pack", "-o", "fleet", EXAMPLE, status=2)
        self.assertIn("takes no trace", said)
        for form in ("arrow", "csv"):
            said = self.command("export", form, "--pack", "-o", "fleet", status=2)
            self.assertIn("--pack is of Parquet files", said)

    @unittest.skipIf(find_python() is None, "needs a Python with PyTorch")
    def test_a_job_at_its_end(self) -> None:
        """The program fails after its steps: the run is there, and the exit code is the program's."""
        script = self.folder / "train.py"
        script.write_text(
            "import torch, sys\n"
            "p = torch.nn.Parameter(torch.ones(3))\n"
            "o = torch.optim.SGD([p], lr=0.1)\n"
            "for i in range(9):\n"
            "    loss = (p * p).sum(); loss.backward(); o.step(); o.zero_grad(); print(loss.item())\n"
            "sys.exit(7)\n"
        )
        words = ["run", "--no-report", "--fleet", "fleet", "--label", "team=nlp", "--"]
        self.command(*words, str(find_python()), script, status=7)
        run = self.rows("runs")[0]
        self.assertEqual((run["name"], run["team"], run["steps_kept"]), ("train", "nlp", 9))
        steps = self.rows("steps")
        self.assertEqual([row["is_recorded"] for row in steps], [4 <= i <= 8 for i in range(1, 10)])
        self.assertEqual(steps[0]["loss"], 3.0)


class Truth:
    """What the questions of the page must be answered, of the generated rows."""

    def __init__(self, count: int, step_count: int) -> None:
        self.runs: list[Any] = []
        self.waits: dict[Any, list[int]] = defaultdict(lambda: [0, 0, 0])
        for number in range(count):
            _, _, tables = fleet_runs.run_of(number, step_count)
            self.runs += tables["runs"]
            for step in tables["steps"]:
                found = self.waits[step["team"]]
                for i, value in enumerate((1, step["data_wait_ns"], step["duration_ns"])):
                    found[i] += value

    def by_team(self) -> Rows:
        groups = defaultdict(list)
        for run in self.runs:
            groups[fleet.week_of(run["started"]), run["team"], run["cluster"]].append(run)

        def weighted(runs: list[Any], name: str) -> float | None:
            known = [run for run in runs if run[name] is not None]
            hours = sum(run["device_hours"] for run in known)
            return sum(run[name] * run["device_hours"] for run in known) / hours if known else None

        return [
            (*key, len(runs), sum(run["device_hours"] for run in runs))
            + (weighted(runs, "mfu"), weighted(runs, "ettr"))
            for key, runs in groups.items()
        ]

    def worst(self) -> Rows:
        known = [run for run in self.runs if run["ettr"] is not None]
        lost = [(run["device_hours"] * (1 - run["ettr"]), run) for run in known]
        lost.sort(key=lambda each: (-each[0], each[1]["run"]))
        return [(run["run"], run["team"], hours, "waiting for data") for hours, run in lost[:20]]

    def image(self) -> Rows:
        groups: dict[Any, Any] = defaultdict(lambda: defaultdict(list))
        for run in self.runs:
            groups[run["team"], run["name"]][run["image"]].append(run["step_time_ns"])
        found = []
        for key, images in groups.items():
            before, after = (sum(images[i]) / max(1, len(images[i])) for i in fleet_runs.IMAGES)
            if before and after > 1.1 * before:
                found.append((*key, before / 1e6, after / 1e6, after / before))
        return found

    def waiting(self) -> Rows:
        return [(team, count, wait / all_) for team, (count, wait, all_) in self.waits.items()]


def in_duckdb(folder: Path, loading: str) -> Callable[[str], Rows]:
    import duckdb

    connection = duckdb.connect()
    os.chdir(folder)
    connection.execute(loading)
    return lambda question: connection.execute(question).fetchall()


def in_clickhouse(folder: Path, loading: str) -> Callable[[str], Rows]:
    from chdb import session

    opened = session.Session(str(folder / "clickhouse"))
    os.chdir(folder)
    for table in ("runs", "steps", "findings"):
        opened.query(f"DROP TABLE IF EXISTS {table}")
    for statement in filter(str.strip, loading.split(";")):
        opened.query(statement.replace("'fleet/", f"'{folder}/fleet/"))

    def ask(question: str) -> Rows:
        lines = str(opened.query(question.rstrip().rstrip(";"), "JSONCompactEachRow")).splitlines()
        return [tuple(json.loads(line)) for line in lines if line.strip()]

    return ask


ENGINES = {"duckdb": ("duckdb", in_duckdb), "chdb": ("clickhouse", in_clickhouse)}


@unittest.skipUnless(has("pyarrow"), "needs pyarrow")
class Questions(unittest.TestCase):
    folder: Path
    truth: Truth

    @classmethod
    def setUpClass(cls) -> None:
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        cls.folder = Path(cls.kept.name)
        began = time.process_time()
        fleet_runs.write_runs(str(cls.folder / "fleet"), RUNS, STEPS)
        if IS_LONG:
            print(f"{RUNS} runs made and written: {time.process_time() - began:.1f} s of processor")
        began, worked = time.monotonic(), time.process_time()
        fleet_pack.pack(str(cls.folder / "fleet"))
        if IS_LONG:
            took = f"{time.monotonic() - began:.1f} s, {time.process_time() - worked:.1f} s of processor"
            print(f"packed: {took}")
        cls.truth = Truth(RUNS, STEPS)

    def tearDown(self) -> None:
        os.chdir(ROOT)

    def assert_alike(self, found: Rows, expected: Rows, name: str) -> None:
        def key(row: tuple[Any, ...]) -> Any:
            return [
                (each is not None, str(each)) for each in row[:3] if not isinstance(each, float)
            ]

        self.assertEqual(len(found), len(expected), name)
        for mine, theirs in zip(sorted(found, key=key), sorted(expected, key=key)):
            for a, b in zip(mine, theirs, strict=True):
                if isinstance(b, float):
                    self.assertTrue(math.isclose(float(a), b, rel_tol=1e-9), (name, mine, theirs))
                else:
                    self.assertEqual(type(b)(a) if isinstance(b, int) else a, b, (name, mine))

    def ask(self, engine: str) -> None:
        """Of the packed files, as the page says, and of those of each job."""
        if not has(engine):
            self.skipTest(f"needs {engine}")
        name, load = ENGINES[engine]
        loading = sql(name)
        self.assertEqual(loading.count("fleet/packed/"), 3)
        for kind, statements in (
            ("packed", loading),
            ("a file a job", loading.replace("fleet/packed/", "fleet/")),
        ):
            with self.subTest(files=kind):
                began, worked = time.monotonic(), time.process_time()
                ask = load(self.folder, statements)
                said = f"{engine}, {kind}: loaded in {time.monotonic() - began:.1f} s"
                said += f" ({time.process_time() - worked:.1f} s of processor)"
                said += self.ask_all(ask)
                if IS_LONG:
                    print(f"{said}; {time.process_time() - worked:.1f} s of processor in all")

    def ask_all(self, ask: Callable[[str], Rows]) -> str:
        said = ""
        for name in ("by_team", "worst", "image", "waiting"):
            asked = time.monotonic()
            found = ask(sql(name))
            said += f", {name} {time.monotonic() - asked:.2f} s"
            expected = getattr(self.truth, name)()
            self.assertGreater(len(expected), 0, name)
            self.assert_alike(found, expected, name)
            if name == "worst":
                self.assertEqual([row[0] for row in found], [row[0] for row in expected])
        return said

    def test_duckdb(self) -> None:
        self.ask("duckdb")

    def test_clickhouse(self) -> None:
        self.ask("chdb")


if __name__ == "__main__":
    run_and_count()
