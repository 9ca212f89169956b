#!/usr/bin/env python3
"""The clock that the recorder read of a GPU: peaks and roofs at that clock stand beside those at boost. recorded_clock.py PROGRAM

Ends with a line of counts.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "tests" / "traces" / "golden" / "products" / "made.json"
# 989.4 TFLOP/s are 132 multiprocessors x 4,096 FLOPs a cycle x 1,830 MHz.
PEAK_CLOCK_MHZ = 1830
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "python")]

from flopledger.energy import Nvml  # noqa: E402


class Library:
    """Of NVML, as ctypes gives it; `status` 0 is success."""

    def __init__(self, clock: int, status: int = 0) -> None:
        self.clock = clock
        self.status = status
        self.asked: list[int] = []

    def nvmlDeviceGetClockInfo(self, device: Any, kind: int, found: Any) -> int:  # noqa: N802
        self.asked.append(kind)
        ctypes.cast(found, ctypes.POINTER(ctypes.c_uint))[0] = self.clock
        return self.status


def clock_read_by(library: Any) -> int | None:
    nvml = Nvml(library)
    nvml.device = ctypes.c_void_p(7)
    return nvml.clock_mhz()


def sections_with(program: Path, clocks: list[int | None]) -> dict[str, Any]:
    """Of a trace of two steps, and of what the recorder told of them."""
    steps = [
        {"step": i, "energy": {"time_ns": 1000, "sm_clock_mhz": clock}}
        for i, clock in enumerate(clocks)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / TRACE.name
        path.write_bytes(TRACE.read_bytes())
        side = json.loads(TRACE.with_name("capture.json").read_text())
        side["recorded"] = [{"trace": TRACE.name, "steps": steps}]
        (Path(folder) / "capture.json").write_text(json.dumps(side))
        text = subprocess.check_output([program, "report", "--json", path], text=True)
    return dict(json.loads(text)["ranks"][0]["sections"])


def numbers_of(sections: dict[str, Any], section: str) -> dict[str, float]:
    return {key: each["value"] for key, each in sections[section]["numbers"].items()}


def check_clock(program: Path, clocks: list[int | None], mean: float | None) -> None:
    sections = sections_with(program, clocks)
    roofs = numbers_of(sections, "roofline")
    if mean is None:
        assert "clock" not in roofs, f"{roofs}"
        return
    assert roofs["clock"] == mean, f"{roofs['clock']}, not {mean}"
    share = roofs["clock_share"]
    assert abs(share * PEAK_CLOCK_MHZ / mean - 1) < 1e-9, f"{share} of {PEAK_CLOCK_MHZ} MHz"
    utilization = numbers_of(sections, "model_flops_utilization")
    at_clock = [value for key, value in utilization.items() if key == "peak_at_clock"]
    assert len(at_clock) == 1 and at_clock[0] > 0, f"{utilization}"


def check_reading() -> None:
    library = Library(1410)
    assert clock_read_by(library) == 1410 and library.asked == [1], f"{library.asked}"
    assert clock_read_by(Library(1410, status=3)) is None
    assert clock_read_by(object()) is None  # an old library
    assert Nvml(library).clock_mhz() is None  # CUDA has not begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    program = parser.parse_args().program.resolve()
    checks = [
        check_reading,
        lambda: check_clock(program, [990, 990], 990),
        lambda: check_clock(program, [900, 1100], 1000),
        lambda: check_clock(program, [1200, None], 1200),
        lambda: check_clock(program, [None, None], None),
        lambda: check_clock(program, [0, -5], None),
    ]
    failed = 0
    for number, check in enumerate(checks):
        try:
            check()
        except AssertionError as failure:
            failed += 1
            print(f"FAILED: check {number}: {failure}")
    print(f"{len(checks) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
