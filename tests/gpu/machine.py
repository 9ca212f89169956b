"""The machine that the GPU suite runs on: a Python whose torch reaches a GPU, the GPU, and what is lacking."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
QUESTION = """
import json, torch
found = {"torch": torch.__version__, "cuda": torch.version.cuda, "is_available": torch.cuda.is_available()}
if found["is_available"]:
    properties = torch.cuda.get_device_properties(0)
    found |= {"device": properties.name, "memory_bytes": properties.total_memory,
              "capability": list(torch.cuda.get_device_capability(0)), "devices": torch.cuda.device_count()}
print(json.dumps(found))
"""

# Dense peaks by NVIDIA's data sheets, FLOP/s with Tensor Cores, and of float32 without; by what torch calls the device. The SXM
# parts of H100 and H200 have the same.
HOPPER = {"bf16": 989.5e12, "fp32": 67e12}
PEAKS = {"NVIDIA H100 80GB HBM3": HOPPER, "NVIDIA H200": HOPPER}


@dataclass
class Setting:
    """Where and how the parts run."""

    program: Path
    python: str
    folder: Path  # of what is recorded
    is_real: bool  # on a GPU; else on stand-ins
    machine: dict[str, Any]
    is_long: bool = False  # all ways to train on stand-ins, too

    @property
    def device(self) -> str:
        return "cuda" if self.is_real else "cpu"

    @property
    def device_name(self) -> str:
        return self.machine.get("device", "NVIDIA H200")

    def peak(self, kind: str) -> float | None:
        return PEAKS.get(self.device_name, {}).get(kind)


def candidates() -> list[str]:
    named = os.environ.get("FLOPLEDGER_TEST_PYTHON")
    venvs = [ROOT / "build" / name / "bin" / "python" for name in ("venv-frameworks", "venv")]
    found = [
        named,
        *map(str, venvs),
        sys.executable,
        shutil.which("python3"),
        shutil.which("python"),
    ]
    return list(dict.fromkeys(path for path in found if path and Path(path).exists()))


def ask(python: str) -> dict[str, Any] | None:
    """What its torch says; None where it has none."""
    done = subprocess.run([python, "-c", QUESTION], capture_output=True, text=True, check=False)
    try:
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer
    except (IndexError, json.JSONDecodeError):
        return None


def find_gpu() -> tuple[str, dict[str, Any], str]:
    """A Python whose torch reaches a GPU, and what that is; or "" and one line that says what is lacking."""
    seen = []
    for python in candidates():
        answer = ask(python)
        if answer and answer["is_available"]:
            return python, {**answer, **driver()}, ""
        if answer:
            seen.append(f"torch {answer['torch']} of {python}")
    if not Path("/dev/nvidiactl").exists():
        return "", {}, "no GPU: this machine has no NVIDIA driver (/dev/nvidiactl is not there)"
    if not seen:
        return "", {}, "a GPU, but no torch: name a Python that has it by FLOPLEDGER_TEST_PYTHON"
    return "", {}, f"a driver, but {', '.join(seen)} reaches no GPU: is it a build for CUDA?"


def find_torch() -> str | None:
    """A Python with any torch, for the stand-ins."""
    return next((python for python in candidates() if ask(python)), None)


def driver() -> dict[str, Any]:
    words = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
        version = done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        version = "not known"
    return {"driver": version, "date": datetime.date.today().isoformat()}
