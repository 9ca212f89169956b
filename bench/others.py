"""What other programs need for the same file. Each function makes a Contender, or None where its program is missing."""

import importlib.util
import sys
from pathlib import Path

from measure import Contender

JSON_LOADS = """
import json, sys, time
text = open(sys.argv[1], "rb").read()
began = time.perf_counter()
trace = json.loads(text)
print(len(trace["traceEvents"]), time.perf_counter() - began)
"""

TEMPORAL_BREAKDOWN = """
import sys
from hta.trace_analysis import TraceAnalysis
print(TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="").get_temporal_breakdown(visualize=False))
"""


def json_loads(plain: Path) -> Contender:
    command = [sys.executable, "-c", JSON_LOADS, str(plain)]
    return Contender(
        "Python `json.loads`, without reading the file", command, says_seconds=True, rounds=3
    )


def holistic_trace_analysis(packed: Path) -> Contender | None:
    if importlib.util.find_spec("hta") is None:
        return None
    command = [sys.executable, "-c", TEMPORAL_BREAKDOWN, str(packed)]
    return Contender(
        "HolisticTraceAnalysis, temporal breakdown, from `.json.gz`", command, rounds=1
    )
