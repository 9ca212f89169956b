#!/usr/bin/env python3
"""What a processor computes at most, from what Linux says of it: test_recorded_processor.py"""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from flopledger.processor import clock_hz, facts_of, flops_per_cycle  # noqa: E402


def facts(vendor: str, family: int, model: int, flags: str) -> dict[str, str]:
    return {"vendor_id": vendor, "cpu family": str(family), "model": str(model), "flags": flags}


class Processor(unittest.TestCase):
    def test_flops_of_a_cycle(self) -> None:
        both = "fma avx2 avx512f"
        for expected, known in (
            (32, facts("AuthenticAMD", 25, 17, both)),  # Genoa: 512 bits in two halves
            (64, facts("AuthenticAMD", 26, 2, both)),  # Turin
            (16, facts("AuthenticAMD", 23, 1, "fma avx2")),  # Naples
            (32, facts("AuthenticAMD", 23, 49, "fma avx2")),  # Rome
            (64, facts("GenuineIntel", 6, 143, both)),  # Sapphire Rapids
            (32, facts("GenuineIntel", 6, 60, "fma avx2")),  # Haswell
            (None, facts("GenuineIntel", 6, 42, "avx")),  # no multiply-add
            (None, facts("of another maker", 6, 1, both)),
            (None, {}),
        ):
            self.assertEqual(flops_per_cycle(known), expected, known)

    def test_clock(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(clock_hz({"cpu MHz": "2596.5"}, folder), 2596.5e6)
            self.assertIsNone(clock_hz({}, folder))
            (Path(folder) / "cpuinfo_max_freq").write_text("3400000\n")
            self.assertEqual(clock_hz({"cpu MHz": "800.0"}, folder), 3.4e9)

    def test_first_processor_alone(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cpuinfo"
            path.write_text("processor\t: 0\nmodel\t\t: 17\n\nprocessor\t: 1\nmodel\t\t: 18\n")
            self.assertEqual(facts_of(str(path)), {"processor": "0", "model": "17"})
            self.assertEqual(facts_of(f"{folder}/none"), {})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
