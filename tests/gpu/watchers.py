"""What other programs say of a GPU while it works: nvidia-smi, and DCGM where it is installed; and what `flopledger serve` says."""

from __future__ import annotations

import http.client
import re
import subprocess
from pathlib import Path
from typing import Any

SMI_FIELDS = {  # of `nvidia-smi --help-query-gpu`, and our number with what makes it the same unit
    "utilization.gpu": ("busy_ratio", 100.0),
    "power.draw": ("power_watts", 1.0),
    "enforced.power.limit": ("power_limit_watts", 1.0),
    "clocks.current.sm": ("sm_clock_hertz", 1e-6),
    "clocks.current.memory": ("memory_clock_hertz", 1e-6),
    "temperature.gpu": ("temperature_celsius", 1.0),
    "memory.used": ("memory_used_bytes", 1 / 1048576),
}
# "Memory reserved by the driver and firmware", which NVML's plain call counts as used, and nvidia-smi does not since driver 510.
RESERVED = "memory.reserved"
ASKED = [*SMI_FIELDS, RESERVED]
# Of DCGM's profiling fields: DCGM_FI_PROF_SM_ACTIVE, ..._PIPE_TENSOR_ACTIVE, ..._DRAM_ACTIVE.
DCGM_FIELDS = {1002: "sm", 1004: "tensor", 1005: "dram"}


def number_of(text: str) -> float | None:
    """None of what nvidia-smi puts into brackets: [N/A], [Not Supported], [GPU is lost], [Unknown Error], ..."""
    try:
        return float(text.strip())
    except ValueError:
        return None


def read_smi(text: str) -> dict[str, float | None]:
    """A line of --format=csv,noheader,nounits; the memory used with what is reserved."""
    cells = text.strip().split(",")
    if len(cells) != len(ASKED):
        raise ValueError(f"nvidia-smi wrote {text.strip()!r}")
    told = {field: number_of(cell) for field, cell in zip(ASKED, cells)}
    reserved, used = told.pop(RESERVED), told["memory.used"]
    told["memory.used"] = None if used is None else used + (reserved or 0)
    return told


def ask_smi(program: str) -> dict[str, float | None]:
    query = f"--query-gpu={','.join(ASKED)}"
    words = [program, query, "--format=csv,noheader,nounits", "--id=0"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True)
    return read_smi(done.stdout)


def read_dcgm(text: str) -> dict[str, float]:
    """The mean of the lines of `dcgmi dmon`: "GPU 0     0.987     0.804     0.301"; lines with # are heads, N/A is none."""
    rows = [line.split()[2:] for line in text.splitlines() if re.match(r"GPU \d+\s", line)]
    values: dict[str, list[float]] = {}
    for row in rows:
        for unit, cell in zip(DCGM_FIELDS.values(), row):
            value = number_of(cell)
            if value is not None:
                values.setdefault(unit, []).append(value)
    return {unit: sum(each) / len(each) for unit, each in values.items()}


def ask_dcgm(program: str | None) -> dict[str, float] | None:
    """None where it is not installed or does not answer."""
    if program is None:
        return None
    fields = ",".join(map(str, DCGM_FIELDS))
    words = [program, "dmon", "-e", fields, "-i", "0", "-d", "1000", "-c", "3"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return read_dcgm(done.stdout) or None


class Server:
    """`flopledger serve` on a free port."""

    def __init__(self, program: Path, folder: Path, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [str(program), "serve", "--port", "0"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)/metrics", self.process.stdout.readline())
        self.port = int(found[1]) if found else 0

    def look(self, gpu: str = "0") -> dict[str, float]:
        """Numbers of a GPU; activity by its unit alone."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        numbers: dict[str, float] = {}
        for line in text.splitlines():
            match = re.fullmatch(
                rf'flopledger_gpu_(\w+){{gpu="{gpu}"(?:,unit="(\w+)")?}} (\S+)', line
            )
            if match:
                numbers[match[2] or match[1]] = float(match[3])
        return numbers

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=20)


def compare(ours: dict[str, float], smi: dict[str, float | None]) -> list[tuple[str, Any, Any]]:
    """Field, our number in its unit, theirs; of what both know."""
    return [
        (field, ours[name] * factor, smi[field])
        for field, (name, factor) in SMI_FIELDS.items()
        if name in ours and smi[field] is not None
    ]
