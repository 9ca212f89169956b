#!/usr/bin/env python3
"""src/live/nvml_api.h beside NVIDIA's own headers: sizes, places, numbers and calls. check_nvml_header.py

The headers come from PyPI (`nvidia-nvml-dev`), which `./dev test` puts into build/venv-nvml; they are never part of the project.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from stand_in_gpus import ROOT, build_nvml, compiler, nvml_headers

OURS = ROOT / "src" / "live" / "nvml_api.h"

# Ours, NVIDIA's: types, and then the places of their fields.
STRUCTS = {
    ("struct nvml_utilization", "nvmlUtilization_t"): [("gpu", "gpu"), ("memory", "memory")],
    ("struct nvml_memory", "nvmlMemory_t"): [
        ("total", "total"),
        ("free", "free"),
        ("used", "used"),
    ],
    ("struct nvml_temperature", "nvmlTemperature_t"): [
        ("version", "version"),
        ("sensor", "sensorType"),
        ("degrees", "temperature"),
    ],
    ("struct nvml_gpm_support", "nvmlGpmSupport_t"): [
        ("version", "version"),
        ("is_supported", "isSupportedDevice"),
    ],
    ("struct nvml_gpm_metric", "nvmlGpmMetric_t"): [
        ("id", "metricId"),
        ("result", "nvmlReturn"),
        ("value", "value"),
        ("names", "metricInfo"),
    ],
    ("struct nvml_gpm_request", "nvmlGpmMetricsGet_t"): [
        ("version", "version"),
        ("count", "numMetrics"),
        ("before", "sample1"),
        ("after", "sample2"),
        ("metrics", "metrics"),
    ],
}
LARGER = {"struct nvml_gpm_request"}  # has room for more than the header knows

NUMBERS = {
    "NVML_SUCCESS": "NVML_SUCCESS",
    "NVML_ERROR_NOT_SUPPORTED": "NVML_ERROR_NOT_SUPPORTED",
    "NVML_ERROR_NO_PERMISSION": "NVML_ERROR_NO_PERMISSION",
    "NVML_ERROR_NOT_FOUND": "NVML_ERROR_NOT_FOUND",
    "NVML_ERROR_FUNCTION_NOT_FOUND": "NVML_ERROR_FUNCTION_NOT_FOUND",
    "NVML_ERROR_GPU_IS_LOST": "NVML_ERROR_GPU_IS_LOST",
    "NVML_ERROR_RESET_REQUIRED": "NVML_ERROR_RESET_REQUIRED",
    "NVML_ERROR_NO_DATA": "NVML_ERROR_NO_DATA",
    "NVML_ERROR_DEPRECATED": "NVML_ERROR_DEPRECATED",
    "NVML_TEMPERATURE_GPU": "NVML_TEMPERATURE_GPU",
    "NVML_CLOCK_SM": "NVML_CLOCK_SM",
    "NVML_CLOCK_MEMORY": "NVML_CLOCK_MEM",
    "NVML_NAME_BYTES": "NVML_DEVICE_NAME_V2_BUFFER_SIZE",
    "NVML_GPM_SUPPORT_VERSION": "NVML_GPM_SUPPORT_VERSION",
    "NVML_GPM_METRICS_GET_VERSION": "NVML_GPM_METRICS_GET_VERSION",
    "NVML_TEMPERATURE_VERSION": "nvmlTemperature_v1",
    "NVML_GPM_GRAPHICS_UTIL": "NVML_GPM_METRIC_GRAPHICS_UTIL",
    "NVML_GPM_SM_UTIL": "NVML_GPM_METRIC_SM_UTIL",
    "NVML_GPM_SM_OCCUPANCY": "NVML_GPM_METRIC_SM_OCCUPANCY",
    "NVML_GPM_ANY_TENSOR_UTIL": "NVML_GPM_METRIC_ANY_TENSOR_UTIL",
    "NVML_GPM_DRAM_BW_UTIL": "NVML_GPM_METRIC_DRAM_BW_UTIL",
    "NVML_GPM_PCIE_TX_PER_SEC": "NVML_GPM_METRIC_PCIE_TX_PER_SEC",
    "NVML_GPM_PCIE_RX_PER_SEC": "NVML_GPM_METRIC_PCIE_RX_PER_SEC",
    "NVML_GPM_NVLINK_TOTAL_RX_PER_SEC": "NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC",
    "NVML_GPM_NVLINK_TOTAL_TX_PER_SEC": "NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC",
    "NVML_SLOWED_BY_POWER_CAP": "nvmlClocksEventReasonSwPowerCap",
    "NVML_SLOWED_BY_HARDWARE": "nvmlClocksThrottleReasonHwSlowdown",
    "NVML_SLOWED_BY_SYNC_BOOST": "nvmlClocksEventReasonSyncBoost",
    "NVML_SLOWED_BY_SOFTWARE_THERMAL": "nvmlClocksEventReasonSwThermalSlowdown",
    "NVML_SLOWED_BY_HARDWARE_THERMAL": "nvmlClocksThrottleReasonHwThermalSlowdown",
    "NVML_SLOWED_BY_POWER_BRAKE": "nvmlClocksThrottleReasonHwPowerBrakeSlowdown",
    "NVML_SLOWED_BY_DISPLAY_CLOCK": "nvmlClocksEventReasonDisplayClockSetting",
    "NVML_SLOWED_BY_BOARD_LIMIT": "nvmlClocksEventReasonBoardLimit",
    "NVML_SLOWED_BY_RELIABILITY": "nvmlClocksEventReasonReliability",
}
ROOM = ("NVML_GPM_METRICS", "NVML_GPM_METRIC_MAX")  # ours is at least theirs

# What our pointers to the calls take; a handle, and an enum, is passed as any pointer and as int.
CALLS = {
    "nvmlInit_v2": "void",
    "nvmlShutdown": "void",
    "nvmlErrorString": "nvmlReturn_t",
    "nvmlDeviceGetCount_v2": "unsigned int *",
    "nvmlDeviceGetHandleByIndex_v2": "unsigned int, nvmlDevice_t *",
    "nvmlDeviceGetName": "nvmlDevice_t, char *, unsigned int",
    "nvmlDeviceGetUtilizationRates": "nvmlDevice_t, nvmlUtilization_t *",
    "nvmlDeviceGetMemoryInfo": "nvmlDevice_t, nvmlMemory_t *",
    "nvmlDeviceGetPowerUsage": "nvmlDevice_t, unsigned int *",
    "nvmlDeviceGetEnforcedPowerLimit": "nvmlDevice_t, unsigned int *",
    "nvmlDeviceGetTotalEnergyConsumption": "nvmlDevice_t, unsigned long long *",
    "nvmlDeviceGetTemperatureV": "nvmlDevice_t, nvmlTemperature_t *",
    "nvmlDeviceGetTemperature": "nvmlDevice_t, nvmlTemperatureSensors_t, unsigned int *",
    "nvmlDeviceGetClockInfo": "nvmlDevice_t, nvmlClockType_t, unsigned int *",
    "nvmlDeviceGetMaxClockInfo": "nvmlDevice_t, nvmlClockType_t, unsigned int *",
    "nvmlDeviceGetCurrentClocksEventReasons": "nvmlDevice_t, unsigned long long *",
    "nvmlDeviceGetCurrentClocksThrottleReasons": "nvmlDevice_t, unsigned long long *",
    "nvmlDeviceGetMaxMigDeviceCount": "nvmlDevice_t, unsigned int *",
    "nvmlDeviceGetMigDeviceHandleByIndex": "nvmlDevice_t, unsigned int, nvmlDevice_t *",
    "nvmlGpmQueryDeviceSupport": "nvmlDevice_t, nvmlGpmSupport_t *",
    "nvmlGpmSampleAlloc": "nvmlGpmSample_t *",
    "nvmlGpmSampleFree": "nvmlGpmSample_t",
    "nvmlGpmSampleGet": "nvmlDevice_t, nvmlGpmSample_t",
    "nvmlGpmMetricsGet": "nvmlGpmMetricsGet_t *",
}


class Counts:
    def __init__(self) -> None:
        self.passed = self.failed = 0

    def check(self, is_right: bool, text: str) -> None:
        self.passed += is_right
        self.failed += not is_right
        if not is_right:
            print(f"FAILED {text}")


def ask(include: str, questions: dict[str, str]) -> dict[str, int]:
    """The values of C expressions, by name."""
    found = compiler()
    assert found is not None
    lines = [f'printf("{name}=%lld\\n", (long long)({what}));' for name, what in questions.items()]
    head = f"#include <stddef.h>\n#include <stdio.h>\n#include {include}\n"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "ask.c"
        source.write_text(f"{head}int main(void)\n{{\n" + "\n".join(lines) + "\n}\n")
        program = source.with_suffix("")
        subprocess.run([found, "-I", str(ROOT / "src"), "-o", program, source], check=True)
        told = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return {name: int(value) for name, value in (line.split("=") for line in told.splitlines())}


def questions(side: int, text: str | None) -> dict[str, str]:
    """Side 0 is ours. Of the header only what this version of it names: older ones have fewer."""

    def is_there(name: str) -> bool:
        return text is None or re.search(rf"\b{name}\b", text) is not None

    asked = {}
    for types, fields in STRUCTS.items():
        if is_there(types[side]):
            asked[f"size of {types[0]}"] = f"sizeof({types[side]})"
            for field in fields:
                asked[f"{types[0]}.{field[0]}"] = f"offsetof({types[side]}, {field[side]})"
    for pair in [*NUMBERS.items(), ROOM]:
        name = pair[side]
        if side == 1 and not is_there(name):
            name = name.replace("ClocksEvent", "ClocksThrottle")  # as it was called before 12.2
        if is_there(name):
            asked[pair[0]] = name
    return asked


def parameters_of(text: str, call: str) -> str | None:
    """Types alone: "nvmlDevice_t, unsigned int *"; None where there is no such call."""
    found = re.search(rf"DECLDIR\s+{call}\s*\(([^)]*)\)", text)
    if found is None:
        return None
    types = []
    for parameter in " ".join(found[1].split()).split(","):
        kept = re.sub(r"\bconst\b", "", parameter).strip()
        match = re.fullmatch(r"(.*?)(\**)\s*(\w+)", kept) if kept != "void" else None
        types.append(f"{match[1].strip()} {match[2]}".strip() if match else kept)
    return ", ".join(types)


def compare(counts: Counts, header: Path, ours: dict[str, int]) -> None:
    text = header.read_text(errors="replace")
    version = re.search(r"define NVML_API_VERSION\s+(\d+)", text)
    name = f"NVML {version[1] if version else '?'}"
    theirs = ask(f'"{header}"', questions(1, text))
    for what, value in theirs.items():
        is_larger = what == ROOM[0] or what.removeprefix("size of ") in LARGER
        is_right = ours[what] >= value if is_larger else ours[what] == value
        counts.check(is_right, f"{name}: {what}: ours {ours[what]}, the header's {value}")
    for call, wanted in CALLS.items():
        found = parameters_of(text, call)
        if found is not None:
            counts.check(found == wanted, f"{name}: {call}({found}), not ({wanted})")
    major = int(version[1]) if version else 13
    with tempfile.TemporaryDirectory() as folder:
        try:
            build_nvml(Path(folder), major, header)
            counts.check(True, "")
        except subprocess.CalledProcessError:
            counts.check(False, f"{name}: the stand-in does not fit this header")


def main() -> None:
    headers = nvml_headers()
    counts = Counts()
    used = set(re.findall(r'"(nvml\w+)"', OURS.with_suffix(".c").read_text()))
    counts.check(used == set(CALLS), f"calls that no table has: {used ^ set(CALLS)}")
    if not headers or compiler() is None:
        print("skipped: needs a C compiler, and NVIDIA's headers: ./dev test installs them")
        print(f"{counts.passed} passed, {counts.failed} failed, 1 skipped")
        sys.exit(counts.failed > 0)
    ours = ask('"live/nvml_api.h"', questions(0, None))
    for header in headers:
        compare(counts, header, ours)
    print(f"{counts.passed} passed, {counts.failed} failed, 0 skipped")
    sys.exit(counts.failed > 0)


if __name__ == "__main__":
    main()
