"""Metrics by OpenTelemetry's protocol: OTLP over HTTP, in JSON. https://opentelemetry.io/docs/specs/otlp/"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import urllib.request
from collections.abc import Mapping
from typing import Any

from flopledger.messages import say
from flopledger.version import VERSION

PATH = "/v1/metrics"
SECONDS = 5.0  # that a collector has to answer


def attribute(name: str, value: str | int) -> dict[str, Any]:
    """Whole numbers of 64 bits are texts in the JSON of Protocol Buffers."""
    key = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": name, "value": {key: str(value)}}


def metrics_request(
    numbers: Mapping[str, float], resource: Mapping[str, str | int], time_ns: int
) -> dict[str, Any]:
    """An ExportMetricsServiceRequest with a gauge for each number; "flopledger/step_time_ms" is flopledger.step_time in ms."""
    metrics = []
    for name, value in numbers.items():
        metric, unit = name_and_unit(name)
        point = {"timeUnixNano": str(time_ns), "asDouble": float(value)}
        metrics.append({"name": metric, "unit": unit, "gauge": {"dataPoints": [point]}})
    scope = {"scope": {"name": "flopledger", "version": VERSION}, "metrics": metrics}
    attributes = [attribute(name, value) for name, value in resource.items()]
    return {"resourceMetrics": [{"resource": {"attributes": attributes}, "scopeMetrics": [scope]}]}


def name_and_unit(name: str) -> tuple[str, str]:
    """As UCUM has units: "1" for shares."""
    dotted = name.replace("/", ".")
    if dotted.endswith("_ms"):
        return dotted.removesuffix("_ms"), "ms"
    if dotted.endswith("_per_second"):
        what = dotted.removesuffix("_per_second").rpartition(".")[2]
        return dotted, f"{{{what.removesuffix('s')}}}/s"
    return dotted, "1"


def resource_of_process() -> dict[str, str | int]:
    resource: dict[str, str | int] = {
        "service.name": os.environ.get("OTEL_SERVICE_NAME", "flopledger"),
        "host.name": socket.gethostname(),
        "process.pid": os.getpid(),
    }
    for name in ("RANK", "SLURM_PROCID"):
        if os.environ.get(name, "").isdigit():
            resource["flopledger.rank"] = int(os.environ[name])
            break
    for pair in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","):
        key, sign, value = pair.partition("=")
        if sign:
            resource[key.strip()] = value.strip()
    return resource


class OtlpSink:
    """A collector. Each message is sent by a thread of its own, so that none of the program's steps waits for it."""

    def __init__(self, address: str) -> None:
        self.address = address if address.endswith(PATH) else address.rstrip("/") + PATH
        self.resource = resource_of_process()
        self.sending: threading.Thread | None = None

    def watch(self, replace: Any, before_end: Any) -> None:
        """The process itself is its run."""

    def log(self, numbers: Mapping[str, float], step: int) -> None:
        if self.sending is not None and self.sending.is_alive():
            return  # the collector is slower than we: this look is left out
        request = metrics_request(
            {**numbers, "flopledger/step": step}, self.resource, time.time_ns()
        )
        self.sending = threading.Thread(target=self.send, args=(request,), daemon=True)
        self.sending.start()

    def conclude(self, numbers: Mapping[str, float], text: str, step: int) -> None:
        if self.sending is not None:
            self.sending.join(SECONDS)
        self.send(metrics_request(numbers, self.resource, time.time_ns()))

    def send(self, request: Mapping[str, Any]) -> None:
        body = json.dumps(request).encode()
        headers = {"Content-Type": "application/json"}
        for pair in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","):
            key, sign, value = pair.partition("=")
            if sign:
                headers[key.strip()] = value.strip()
        try:
            asked = urllib.request.Request(self.address, body, headers)
            with urllib.request.urlopen(asked, timeout=SECONDS):
                pass
        except (OSError, ValueError) as error:
            say(f"the collector at {self.address} was not reached: {error} (your program goes on)")
