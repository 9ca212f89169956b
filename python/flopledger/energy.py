"""Energy that was drawn since the last look: of the GPU that this process uses (NVML), and of the machine's processors (RAPL).

What cannot be read is not known, and left out: RAPL is often readable by root alone, NVML counts energy from Volta on.
"""

from __future__ import annotations

import ctypes
import math
import sys
import time
from pathlib import Path
from typing import Any

from flopledger import step_record
from flopledger.step_record import StepRecord

POWERCAP = Path("/sys/class/powercap")
PACKAGE = "package"  # of the domains, those that hold a whole processor; others are parts of one
MILLI, MICRO = 1e-3, 1e-6
CLOCK_OF_MULTIPROCESSORS = 1  # NVML_CLOCK_SM
LOOK_AT_STEP_NS = 900_000_000  # between two looks at recorded steps
LOOK_NS = 5_000_000_000  # between two looks at the energy of a whole run


class Rapl:
    """Counters in microjoules, that begin again at 0 behind their range. Of all programs on the machine."""

    def __init__(self, folder: Path | None = None) -> None:
        self.domains = [
            path.parent
            for path in sorted((folder or POWERCAP).glob("*/name"))
            if text_of(path).startswith(PACKAGE)
        ]
        self.before: dict[Path, int] = {}

    def since_last(self) -> float | None:
        """Joules; None where one of the processors does not tell, and at the first look."""
        drawn, is_known = 0, bool(self.domains)
        for domain in self.domains:
            now, reach = number_of(domain / "energy_uj"), number_of(domain / "max_energy_range_uj")
            before = self.before.get(domain)
            if now is None:
                is_known = False
                continue
            self.before[domain] = now
            if before is None or (now < before and reach is None):
                is_known = False
            else:
                drawn += now - before if now >= before else now + (reach or 0) - before
        return drawn * MICRO if is_known else None


class Nvml:
    """The counter of the GPU that torch computes on, in millijoules. Never asked before the program has begun with CUDA."""

    def __init__(self, library: Any = None) -> None:
        self.library = library
        self.device: Any = None
        self.before: int | None = None
        self.is_off = False

    def find_device(self) -> None:
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
            return
        self.is_off = True  # unless all of this succeeds
        identity = getattr(
            torch.cuda.get_device_properties(torch.cuda.current_device()), "uuid", None
        )
        if identity is None:
            return
        library = self.library or ctypes.CDLL("libnvidia-ml.so.1")
        device = ctypes.c_void_p()
        if library.nvmlInit_v2() == 0 and (
            library.nvmlDeviceGetHandleByUUID(f"GPU-{identity}".encode(), ctypes.byref(device)) == 0
        ):
            self.library, self.device, self.is_off = library, device, False

    def since_last(self) -> float | None:
        if self.device is None and not self.is_off:
            try:
                self.find_device()
            except (OSError, AttributeError):  # there is no NVML, or an old one
                self.is_off = True
        now = ctypes.c_ulonglong()
        if self.device is None or (
            self.library.nvmlDeviceGetTotalEnergyConsumption(self.device, ctypes.byref(now)) != 0
        ):
            return None
        before, self.before = self.before, now.value
        return None if before is None or now.value < before else (now.value - before) * MILLI

    def clock_mhz(self) -> int | None:
        """Of the multiprocessors, now; the device is known once energy was asked for."""
        ask = getattr(self.library, "nvmlDeviceGetClockInfo", None) if self.device else None
        clock = ctypes.c_uint()
        if ask is None or ask(self.device, CLOCK_OF_MULTIPROCESSORS, ctypes.byref(clock)) != 0:
            return None
        return clock.value


class EnergyMeter:
    """Both of them."""

    def __init__(self, rapl: Rapl | None = None, nvml: Nvml | None = None) -> None:
        self.sources: dict[str, Nvml | Rapl] = {"gpu": nvml or Nvml(), "cpu": rapl or Rapl()}
        self.since_last()

    def since_last(self) -> dict[str, float]:
        """Joules by "gpu" and "cpu"; what is not known is left out."""
        drawn = {name: source.since_last() for name, source in self.sources.items()}
        return {name: joules for name, joules in drawn.items() if joules is not None}


class StepEnergy:
    """Of one recorded step after the other, from end to end, as capture.json has it: whole microjoules."""

    def __init__(self) -> None:
        self.meter: EnergyMeter | None = None
        self.at = 0

    def begin(self) -> None:
        """The program computes by now: NVML may be asked for its device."""
        if self.meter is None:
            self.meter = EnergyMeter()
        self.meter.since_last()
        self.at = time.monotonic_ns()

    def take(self, is_last: bool) -> dict[str, int | None]:
        """Since the look before; nothing where that was just now: a look at NVML takes milliseconds, and its counter is read anew some
        ten times a second. The next look counts it, too."""
        assert self.meter is not None
        if not is_last and time.monotonic_ns() - self.at < LOOK_AT_STEP_NS:
            return {"time_ns": 0, **{f"{name}_uj": 0 for name in self.meter.sources}}
        drawn, before = self.meter.since_last(), self.at
        self.at = time.monotonic_ns()
        found: dict[str, int | None] = {"time_ns": self.at - before}
        for name in self.meter.sources:
            found[f"{name}_uj"] = round(drawn[name] / MICRO) if name in drawn else None
        clock = getattr(self.meter.sources["gpu"], "clock_mhz", None)
        found["sm_clock_mhz"] = clock() if clock else None
        return found


class RunEnergy:
    """Of a whole run: an entry of its step record from time to time, and none where nothing is told."""

    def __init__(self, record: StepRecord) -> None:
        self.record = record
        self.meter: EnergyMeter | None = None
        self.at = 0
        self.tries = 3  # in which nothing may be told: CUDA begins some time after the first step

    def look(self, now: int, step: int) -> None:
        """Right behind the end of `step`. The first entry only says from where on the next one counts."""
        if self.tries == 0 or (self.meter is not None and now - self.at < LOOK_NS):
            return
        drawn: dict[str, float] = {}
        if self.meter is None:
            self.meter, self.at = EnergyMeter(), now
        else:
            drawn = self.meter.since_last()
            self.tries = 3 if drawn else self.tries - 1
        before, self.at = self.at, now
        gpu = round(drawn["gpu"] / MILLI) if "gpu" in drawn else step_record.NOT_KNOWN
        cpu = drawn.get("cpu", math.nan)
        self.record.append(step_record.ENERGY, 0, step, before, now, count=gpu, number=cpu)


def numbers_of_energy(drawn: dict[str, float], steps: int, tokens: int | None) -> dict[str, float]:
    """Joules a step and a token, tokens a joule."""
    found = {}
    for name, joules in drawn.items():
        if steps > 0:
            found[f"flopledger/{name}_joules_per_step"] = joules / steps
        if tokens and joules > 0:
            found[f"flopledger/{name}_joules_per_token"] = joules / tokens
            found[f"flopledger/tokens_per_{name}_joule"] = tokens / joules
    return found


def text_of(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def number_of(path: Path) -> int | None:
    text = text_of(path)
    return int(text) if text.isdigit() else None
