"""GPUs that are not there: the file that the stand-ins for NVML and nvidia-smi read, and NVML's stand-in, compiled."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOST = "!15"  # NVML_ERROR_GPU_IS_LOST

# As an H200 at work tells them, each in the unit of NVML's call.
AT_WORK: dict[str, str] = {
    "name": "NVIDIA H200",
    "utilization": "97",
    "memory": str(143771 << 20),
    "memory_used": str(1 << 36),
    "power": "654321",
    "power_limit": "700000",
    "energy": "123456789",
    "temperature": "71",
    "clock_sm": "1980",
    "clock_sm_max": "1980",
    "clock_memory": "3201",
    "clock_memory_max": "3201",
    "reasons": "0x44",  # power cap, hardware thermal
    "gpm": "1",
    "gpm.1": "97.5",
    "gpm.2": "90.0",
    "gpm.5": "50.0",
    "gpm.10": "12.5",
    "gpm.20": "100",
    "gpm.21": "200",
    "gpm.60": "600",
    "gpm.61": "300",
}


def compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def build_nvml(folder: Path, version: int = 13, header: Path | None = None) -> Path:
    """libnvidia-ml.so.1 in `folder`, with the calls that this version of NVML has."""
    found = compiler()
    assert found is not None
    library = folder / "libnvidia-ml.so.1"
    words = [found, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(library)]
    words += [f"-DSTAND_IN_VERSION={version}", str(HERE / "stand_in_nvml.c")]
    if header is not None:
        words += ["-DHAS_NVML_H", "-Wno-deprecated-declarations", "-I", str(header.parent)]
    subprocess.run(words, check=True)
    return library


def write_gpus(path: Path, *gpus: dict[str, str], **all_of_it: str) -> None:
    """Whole at once, as it is read while it is written. A key with a colon is of a part: ":2.name"."""
    lines = [f"{key} {value}" for key, value in {"count": str(len(gpus)), **all_of_it}.items()]
    for number, gpu in enumerate(gpus):
        for key, value in gpu.items():
            dot = "" if key.startswith(":") else "."
            lines.append(f"{number}{dot}{key} {value}")
    part = path.with_suffix(".part")
    part.write_text("".join(line + "\n" for line in lines))
    os.replace(part, path)


def nvml_headers() -> list[Path]:
    """NVIDIA's own, of several versions, where ./dev has installed them."""
    folders = [ROOT / "build" / "venv-nvml"]
    if os.environ.get("FLOPLEDGER_NVML_HEADERS"):
        folders.append(Path(os.environ["FLOPLEDGER_NVML_HEADERS"]))
    return sorted(header for folder in folders for header in folder.glob("**/nvml.h"))
