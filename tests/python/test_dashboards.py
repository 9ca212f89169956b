#!/usr/bin/env python3
"""Numbers in the runs of wandb, MLflow and OpenTelemetry, read back by their own packages: test_dashboards.py PROGRAM"""

import json
import logging
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from count_line import run_and_count
from recorded_runs import environment_of, find_python

PROGRAM = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
PYTHON = find_python()
SCRIPT = Path(__file__).resolve().parent / "training" / "dashboard_run.py"
PACKAGES = next(  # wandb, MLflow, OpenTelemetry's messages: by ./dev test
    iter((ROOT / "build" / "venv-dashboards").glob("lib/python3*/site-packages")), None
)
if PACKAGES is not None:
    sys.path.append(str(PACKAGES))
sys.path.insert(0, str(PROGRAM.parent / "python"))

from flopledger import energy, otlp  # noqa: E402


def has(module: str) -> bool:
    return PACKAGES is not None and (PACKAGES / module).is_dir()


def chunks(data: bytes) -> Iterator[bytes]:
    """Of a log as LevelDB writes it: blocks of 32 KiB, pieces with CRC, length and kind (1 whole, 2 first, 3 middle, 4 last)."""
    place, held = 7, b""
    while place + 7 <= len(data):
        if (1 << 15) - place % (1 << 15) < 7:
            place += (1 << 15) - place % (1 << 15)
            continue
        length, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        if kind == 0:
            return
        held = (held if kind in (3, 4) else b"") + data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield held


class Received:
    """What came to a collector: the path, the headers' kind of content, and OpenTelemetry's own message."""

    received: list[Any]
    address: str

    def values(self) -> dict[str, tuple[float, str]]:
        found = {}
        for _, _, message in self.received:
            for metric in message.resource_metrics[0].scope_metrics[0].metrics:
                found[metric.name] = (metric.gauge.data_points[0].as_double, metric.unit)
        return found


class TestServer(Received):
    """The sink of oteltest, the test server of OpenTelemetry's Python: it reads JSON and Protocol Buffers by their content type."""

    def __init__(self) -> None:
        from oteltest.sink import HttpSink
        from oteltest.sink.handler import AccumulatingHandler

        received: list[Any] = []

        class Handler(AccumulatingHandler):
            def handle_metrics(self, request: Any, headers: Any) -> None:
                received.append(("/v1/metrics", headers["Content-Type"], request))
                super().handle_metrics(request, headers)

        self.received = received
        with socket.socket() as free:
            free.bind(("", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self.sink = HttpSink(Handler(), logging.getLogger("oteltest"), port)
        self.sink.start()

    def close(self) -> None:
        self.sink.stop()


class Collector(Received):
    """An OTLP/HTTP server that parses each body as OpenTelemetry's own message, and refuses fields that it does not have."""

    def __init__(self) -> None:
        from google.protobuf import json_format
        from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2

        received: list[Any] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                message = metrics_service_pb2.ExportMetricsServiceRequest()
                json_format.Parse(body, message)
                received.append((self.path, self.headers["Content-Type"], message))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: Any) -> None:
                pass

        self.received = received
        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@unittest.skipIf(PYTHON is None, "needs a Python with PyTorch")
class Dashboards(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def train(
        self, kind: str, *options: str, ends: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Recorded, with the same losses as without."""
        words = [str(PYTHON), str(SCRIPT), kind, *(["ends"] if ends else [])]
        own = {"MLFLOW_TRACKING_URI": f"file://{self.folder}/mlruns", "WANDB_SILENT": "true"}
        own |= {"MLFLOW_ALLOW_FILE_STORE": "true", "WANDB_ERROR_REPORTING": "false"}
        environment = environment_of(PROGRAM, PYTHONPATH=str(PACKAGES or ""), **own)

        def run(words: list[str]) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                words,
                cwd=self.folder,
                env=environment,
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )

        done = run([str(PROGRAM), "run", "--no-report", *options, "--", *words])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("recording stopped", done.stderr)
        return done

    def report(self) -> Any:
        capture = next(self.folder.glob("captures/*/*"))
        return json.loads(subprocess.check_output([PROGRAM, "report", capture, "--json"]))["ranks"][
            0
        ]

    def check_recorded(self, found: dict[str, float], name: str = "flopledger/recorded/") -> None:
        ledger = self.report()["sections"]["step_ledger"]
        mean = ledger["numbers"]["step_time_mean"]["value"] / 1e6
        self.assertAlmostEqual(found[f"{name}step_time_ms"], mean, delta=1e-9 * mean)
        shares = {
            row["key"]: row["share"] for row in ledger["tables"]["ledger"]["rows"] if row["depth"]
        }
        for key, share in shares.items():
            self.assertAlmostEqual(found[f"{name}accounts_share/{key}"], share, delta=1e-12)

    def test_wandb(self) -> None:
        if not has("wandb"):
            self.skipTest("needs wandb")
        for ends in (True, False):
            with self.subTest(ends=ends):
                self.tearDown()
                self.setUp()
                self.train("wandb", "--wandb", ends=ends)
                history, summary = self.read_wandb()
                self.assertEqual(len([row for row in history if "loss" in row]), 12)
                self.assertTrue(any("flopledger/step_time_ms" in row for row in history))
                self.check_recorded(summary)
                self.assertIn(self.report()["headline"], summary["flopledger/headline"])

    def read_wandb(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Of the file that wandb keeps offline, by its own messages."""
        from wandb.proto import wandb_internal_pb2

        history, summary = [], {}
        for data in chunks(next(self.folder.glob("wandb/offline-run-*/*.wandb")).read_bytes()):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(data)

            def pairs(items: Any) -> dict[str, Any]:
                return {
                    item.key or "/".join(item.nested_key): json.loads(item.value_json)
                    for item in items
                }

            if record.WhichOneof("record_type") == "history":
                history.append(pairs(record.history.item))
            elif record.WhichOneof("record_type") == "summary":
                summary |= pairs(record.summary.update)
        return history, summary

    def test_mlflow(self) -> None:
        if not has("mlflow"):
            self.skipTest("needs mlflow")
        for ends in (True, False):
            with self.subTest(ends=ends):
                self.tearDown()
                self.setUp()
                self.train("mlflow", "--mlflow", ends=ends)
                metrics = next(self.folder.glob("mlruns/*/*/metrics"))
                found = {
                    str(path.relative_to(metrics)): float(
                        path.read_text().splitlines()[-1].split()[1]
                    )
                    for path in metrics.rglob("*")
                    if path.is_file()
                }
                self.assertIn("flopledger/step_time_ms", found)
                self.check_recorded(found)
                tag = (metrics.parent / "tags" / "flopledger.headline").read_text()
                self.assertIn(self.report()["headline"], tag)

    def test_otlp(self) -> None:
        if not has("opentelemetry"):
            self.skipTest("needs opentelemetry-proto")
        self.check_collected(Collector())

    def test_otlp_to_the_test_server(self) -> None:
        if not has("oteltest"):
            self.skipTest("needs oteltest")
        self.check_collected(TestServer())

    def check_collected(self, collector: Collector | TestServer) -> None:
        self.addCleanup(collector.close)
        self.train("none", "--otlp", collector.address)
        self.assertGreater(len(collector.received), 0)
        for path, kind, _ in collector.received:
            self.assertEqual((path, kind), ("/v1/metrics", "application/json"))
        values = collector.values()
        self.assertEqual(values["flopledger.recorded.step_time"][1], "ms")
        found = {name: value for name, (value, _) in values.items()}
        found["flopledger.recorded.step_time_ms"] = found["flopledger.recorded.step_time"]
        self.check_recorded({name.replace(".", "/"): value for name, value in found.items()})
        resource = collector.received[0][2].resource_metrics[0].resource.attributes
        names = {each.key: each.value for each in resource}
        self.assertEqual(names["service.name"].string_value, "flopledger")
        self.assertGreater(names["process.pid"].int_value, 1)

    def test_a_collector_that_is_not_there(self) -> None:
        done = self.train("none", "--otlp", "http://127.0.0.1:9")
        self.assertIn("was not reached", done.stderr)

    def test_nobody_is_told_unasked(self) -> None:
        if not has("mlflow"):
            self.skipTest("needs mlflow")
        self.train("mlflow")
        metrics = next(self.folder.glob("mlruns/*/*/metrics"))
        self.assertEqual([path.name for path in metrics.iterdir()], ["loss"])

    def test_units(self) -> None:
        self.assertEqual(
            otlp.name_and_unit("flopledger/step_time_ms"), ("flopledger.step_time", "ms")
        )
        said = otlp.name_and_unit("flopledger/tokens_per_second")
        self.assertEqual(said, ("flopledger.tokens_per_second", "{token}/s"))


class Energy(unittest.TestCase):
    """Of counters that stand in for the kernel's and NVIDIA's."""

    def domain(self, folder: Path, number: int, name: str, energy_uj: int) -> Path:
        there = folder / f"intel-rapl:{number}"
        there.mkdir(exist_ok=True)
        (there / "name").write_text(f"{name}\n")
        (there / "energy_uj").write_text(f"{energy_uj}\n")
        (there / "max_energy_range_uj").write_text("1000000000\n")
        return there

    def test_rapl(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            first = self.domain(folder, 0, "package-0", 999_000_000)
            self.domain(folder, 1, "package-1", 5_000_000)
            self.domain(folder, 2, "core", 1)
            rapl = energy.Rapl(folder)
            self.assertIsNone(rapl.since_last())
            (first / "energy_uj").write_text("2000000\n")  # it has begun again
            self.domain(folder, 1, "package-1", 7_000_000)
            self.domain(folder, 2, "core", 900_000_000)
            self.assertAlmostEqual(rapl.since_last() or 0, 5.0)
            (first / "energy_uj").unlink()
            self.assertIsNone(rapl.since_last())
            self.assertIsNone(energy.Rapl(folder / "absent").since_last())

    def test_nvml(self) -> None:
        class Library:
            drawn, fails = 10_000, 0

            def nvmlDeviceGetTotalEnergyConsumption(self, device: Any, found: Any) -> int:
                found._obj.value = self.drawn
                return self.fails

        library = Library()
        nvml = energy.Nvml(library)
        self.assertIsNone(nvml.since_last())  # no CUDA here
        nvml.device, nvml.is_off = object(), False
        self.assertIsNone(nvml.since_last())
        library.drawn = 25_500
        self.assertAlmostEqual(nvml.since_last() or 0, 15.5)
        library.fails = 3  # not supported
        self.assertIsNone(nvml.since_last())

    def test_short_steps_are_counted_together(self) -> None:
        """A look at NVML takes milliseconds: of a hundred short steps there are two, and nothing is lost."""

        class Meter:
            sources, looks = {"gpu": None}, 0

            def since_last(self) -> dict[str, float]:
                self.looks += 1
                return {"gpu": 3.0}

        meter: Any = Meter()
        steps = energy.StepEnergy()
        steps.meter = meter
        steps.begin()
        began = steps.at
        told = [steps.take(step == 99) for step in range(100)]
        self.assertEqual(meter.looks, 2)
        self.assertEqual(sum(step["gpu_uj"] or 0 for step in told), 3_000_000)
        self.assertEqual(sum(step["time_ns"] or 0 for step in told), steps.at - began)
        steps.at -= 2 * energy.LOOK_AT_STEP_NS
        self.assertGreater(steps.take(False)["time_ns"] or 0, energy.LOOK_AT_STEP_NS)

    def test_numbers(self) -> None:
        found = energy.numbers_of_energy({"gpu": 600.0}, 4, 1200)
        self.assertEqual(found["flopledger/gpu_joules_per_step"], 150)
        self.assertEqual(found["flopledger/gpu_joules_per_token"], 0.5)
        self.assertEqual(found["flopledger/tokens_per_gpu_joule"], 2)
        self.assertEqual(energy.numbers_of_energy({}, 4, 1200), {})
        without = energy.numbers_of_energy({"cpu": 8.0}, 4, None)
        self.assertEqual(without, {"flopledger/cpu_joules_per_step": 2})


class Grafana(unittest.TestCase):
    def test_the_dashboard_has_grafanas_types(self) -> None:
        """All of it is known to Grafana's own classes: read and written again, it is the same."""
        if not has("grafana_foundation_sdk"):
            self.skipTest("needs grafana-foundation-sdk")
        from grafana_foundation_sdk.cog.encoder import JSONEncoder
        from grafana_foundation_sdk.models import dashboard

        ours = json.loads((ROOT / "contrib" / "grafana" / "flopledger.json").read_text())
        read = json.loads(JSONEncoder().encode(dashboard.Dashboard.from_json(ours)))
        self.assertEqual(list(lost(ours, read)), [])
        ours["panels"][0]["invented"] = 1
        read = json.loads(JSONEncoder().encode(dashboard.Dashboard.from_json(ours)))
        self.assertEqual(list(lost(ours, read)), ["/panels/0/invented"])


def lost(ours: Any, read: Any, place: str = "") -> Iterator[str]:
    """Places of what is not there, or is something else."""
    if isinstance(ours, list):
        ours = dict(enumerate(ours))
        read = dict(enumerate(read)) if isinstance(read, list) else {}
    if isinstance(ours, dict):
        for key, value in ours.items():
            below = f"{place}/{key}"
            if not isinstance(read, dict) or key not in read:
                yield below
            else:
                yield from lost(value, read[key], below)
    elif ours != read:
        yield place


if __name__ == "__main__":
    run_and_count()
