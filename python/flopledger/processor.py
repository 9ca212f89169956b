"""What the processor of this machine can compute at most, derived from what Linux says of it."""

from __future__ import annotations

import os
from typing import Any

# FLOPs a cycle of one core in fp32, a multiply-add as two: width of a vector in numbers x 2 x units for multiply-add.
# AMD's cores of families 23 and 25 run 512 bits in two halves; family 23 began with units of 128 bits (models below 48).
AVX512, AVX2 = 64, 32


def facts_of(path: str = "/proc/cpuinfo") -> dict[str, str]:
    """The first processor's lines."""
    facts: dict[str, str] = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                key, colon, value = line.partition(":")
                if not colon:
                    break
                facts[key.strip()] = value.strip()
    except OSError:
        pass
    return facts


def flops_per_cycle(facts: dict[str, str]) -> int | None:
    """In fp32; None where the kind of processor does not tell."""
    flags = set(facts.get("flags", "").split())
    if "fma" not in flags or "avx2" not in flags:
        return None
    try:
        family, model = int(facts.get("cpu family", "")), int(facts.get("model", ""))
    except ValueError:
        return None
    if facts.get("vendor_id") in ("AuthenticAMD", "HygonGenuine"):
        if family == 23 and model < 48:
            return AVX2 // 2
        return AVX512 if family >= 26 and "avx512f" in flags else AVX2
    if facts.get("vendor_id") == "GenuineIntel":
        return AVX512 if "avx512f" in flags else AVX2
    return None


def clock_hz(
    facts: dict[str, str], folder: str = "/sys/devices/system/cpu/cpu0/cpufreq"
) -> float | None:
    """The highest that the system says, else what runs now."""
    try:
        with open(f"{folder}/cpuinfo_max_freq", encoding="ascii") as file:
            return 1e3 * int(file.read())
    except (OSError, ValueError):
        pass
    try:
        return 1e6 * float(facts.get("cpu MHz", ""))
    except ValueError:
        return None


def derived_peak(threads: int) -> dict[str, Any] | None:
    """Peak rates of `threads` cores and how they are derived; None where something is not known."""
    facts = facts_of()
    each, clock = flops_per_cycle(facts), clock_hz(facts)
    cores = min(threads, len(os.sched_getaffinity(0)))
    if each is None or clock is None or clock <= 0:
        return None
    flags = set(facts.get("flags", "").split())
    fp32 = round(cores * each * clock)
    peak: dict[str, Any] = {
        "how": f"derived: {cores} cores x {each} FLOPs a cycle x {clock / 1e9:.2f} GHz",
        "fp32": fp32,
        "fp64": fp32 // 2,
    }
    if "avx512_bf16" in flags and "amx_bf16" not in flags:
        peak["bf16"] = 2 * fp32
    return peak
