#!/usr/bin/env python3
"""`serve` and `top` beside GPUs that a stand-in for NVML tells of, as they should be and as they fail: test_nvml.py PROGRAM"""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from count_line import run_and_count  # noqa: E402
from stand_in_gpus import AT_WORK, LOST, build_nvml, compiler, write_gpus  # noqa: E402

PROGRAM = Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else Path()
OLDER = {"name": "Tesla T4", "memory": str(1 << 34), "memory_used": str(1 << 30), "reasons": "0x1"}
PART = "NVIDIA H100 80GB HBM3 MIG 1g.10gb"
TOLD = {
    'info{gpu="0",name="NVIDIA H200"}': 1,
    'lost{gpu="0"}': 0,
    'busy_ratio{gpu="0"}': 0.97,
    'memory_bytes{gpu="0"}': 143771 << 20,
    'memory_used_bytes{gpu="0"}': 1 << 36,
    'power_watts{gpu="0"}': 654.321,
    'power_limit_watts{gpu="0"}': 700,
    'energy_joules_total{gpu="0"}': 123456.789,
    'temperature_celsius{gpu="0"}': 71,
    'sm_clock_hertz{gpu="0"}': 1.98e9,
    'sm_clock_max_hertz{gpu="0"}': 1.98e9,
    'memory_clock_hertz{gpu="0"}': 3.201e9,
    'slowed{gpu="0",reason="power cap"}': 1,
    'slowed{gpu="0",reason="hardware thermal"}': 1,
    'slowed{gpu="0",reason="hardware slowdown"}': 0,
    'slowed{gpu="0",reason="reliability"}': 0,
}
COUNTED = {
    'activity_ratio{gpu="0",unit="graphics"}': 0.975,
    'activity_ratio{gpu="0",unit="sm"}': 0.9,
    'activity_ratio{gpu="0",unit="tensor"}': 0.5,
    'activity_ratio{gpu="0",unit="dram"}': 0.125,
    'link_bytes_per_second{gpu="0",unit="pcie sent"}': 100 * 1048576,
    'link_bytes_per_second{gpu="0",unit="pcie received"}': 200 * 1048576,
    'link_bytes_per_second{gpu="0",unit="nvlink received"}': 600 * 1048576,
    'link_bytes_per_second{gpu="0",unit="nvlink sent"}': 300 * 1048576,
}


@unittest.skipIf(compiler() is None, "needs a C compiler")
class Nvml(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.gpus = self.folder / "gpus"
        self.is_built = False

    def environment(self, version: int = 13, **more: str) -> dict[str, str]:
        if not self.is_built:
            build_nvml(self.folder, version)
            self.is_built = True
        paths = {"LD_LIBRARY_PATH": str(self.folder), "STAND_IN_GPUS": str(self.gpus)}
        return {**os.environ, **paths, "LC_ALL": "C.UTF-8", **more}

    def serve(self, version: int = 13, **more: str) -> int:
        server = subprocess.Popen(
            [str(PROGRAM), "serve", "--port", "0"],
            cwd=self.folder,
            env=self.environment(version, **more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert server.stdout is not None and server.stderr is not None
        line = server.stdout.readline()
        if not line and "built without libmicrohttpd" in server.stderr.read():
            server.communicate()
            self.skipTest("needs libmicrohttpd")

        def end() -> None:
            server.terminate()
            _, errors = server.communicate(timeout=20)
            self.assertEqual((server.returncode, errors), (0, ""))

        self.addCleanup(end)
        found = re.search(r"http://127\.0\.0\.1:(\d+)/metrics", line)
        assert found, line
        return int(found[1])

    def look(self, port: int) -> dict[str, float]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
        return {
            name.removeprefix("flopledger_gpu_"): float(value)
            for name, value in lines
            if name.startswith("flopledger_gpu_")
        }

    def look_twice(self, port: int) -> dict[str, float]:
        self.look(port)
        time.sleep(1.1)  # the server looks once a second at most
        return self.look(port)

    def top(self, version: int = 13) -> str:
        done = subprocess.run(
            [str(PROGRAM), "top", "--once", "--width", "200"],
            cwd=self.folder,
            env=self.environment(version),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def check(self, found: dict[str, float], expected: dict[str, float]) -> None:
        for name, value in expected.items():
            self.assertIn(name, found)
            self.assertAlmostEqual(found[name], value, places=9, msg=name)

    def names_of(self, found: dict[str, float], gpu: str) -> set[str]:
        return {name.split("{")[0] for name in found if f'gpu="{gpu}"' in name}

    def test_two_gpus_the_second_older(self) -> None:
        write_gpus(self.gpus, AT_WORK, OLDER)
        found = self.look_twice(self.serve())
        self.check(found, {**TOLD, **COUNTED})
        self.assertNotIn('activity_ratio{gpu="0",unit="sm occupancy"}', found)  # no such line
        told = {"info", "lost", "memory_bytes", "memory_used_bytes", "slowed"}
        self.assertEqual(self.names_of(found, "1"), told)
        self.assertEqual(found['slowed{gpu="1",reason="power cap"}'], 0)  # 0x1: being idle
        page = self.top()
        self.assertRegex(page, r"NVIDIA H200 +97\.0 % +90\.0 % +50\.0 % +12\.5 %")
        self.assertIn("power cap, hardware thermal", page)
        self.assertRegex(page, r"Tesla T4 +[-–] ")

    def test_each_call_can_fail(self) -> None:
        """One number is not there, the others are; and nothing wrong is in its place."""
        write_gpus(self.gpus, AT_WORK)
        port = self.serve()
        everything = set(self.look_twice(port))
        for key, numbers in {
            "utilization": {"busy_ratio"},
            "memory": {"memory_bytes", "memory_used_bytes"},
            "power": {"power_watts"},
            "power_limit": {"power_limit_watts"},
            "energy": {"energy_joules_total"},
            "temperature": {"temperature_celsius"},
            "clock_sm": {"sm_clock_hertz"},
            "clock_sm_max": {"sm_clock_max_hertz"},
            "clock_memory": {"memory_clock_hertz"},
            "reasons": {"slowed"},
            "gpm": {"activity_ratio", "link_bytes_per_second"},
        }.items():
            with self.subTest(key):
                write_gpus(self.gpus, {**AT_WORK, key: "!999"})
                time.sleep(1.1)
                found = self.look(port)
                gone = {name for name in everything if name.split("{")[0] in numbers}
                self.assertNotEqual(gone, set())
                self.assertEqual(set(found), everything - gone)
                if key == "gpm":  # the next pair of samples begins anew
                    write_gpus(self.gpus, AT_WORK)
                    time.sleep(1.1)
                    self.assertEqual(set(self.look(port)), everything - gone)
                    time.sleep(1.1)
                    self.check(self.look(port), COUNTED)

    def test_a_gpu_is_lost_meanwhile(self) -> None:
        write_gpus(self.gpus, AT_WORK, AT_WORK)
        port = self.serve()
        self.look_twice(port)
        write_gpus(self.gpus, AT_WORK, {**AT_WORK, "all": LOST})
        time.sleep(1.1)
        found = self.look(port)
        self.check(found, {**TOLD, **COUNTED, 'lost{gpu="1"}': 1})
        self.assertEqual(self.names_of(found, "1"), {"info", "lost"})
        self.assertIn("GPU 1: GPU is lost", self.top())
        write_gpus(self.gpus, AT_WORK, {**AT_WORK, "power": "!16"})  # it must be reset
        time.sleep(1.1)
        self.check(self.look(port), {'lost{gpu="1"}': 1, 'busy_ratio{gpu="1"}': 0.97})

    def test_a_gpu_that_has_no_handle(self) -> None:
        for handle, text in ("4", "Insufficient Permissions"), ("15", "GPU is lost"):
            write_gpus(self.gpus, {"handle": handle}, AT_WORK)
            page = self.top()
            self.assertIn(f"GPU 0: {text}", page)
            self.assertRegex(page, r"(?m)^ *1 +NVIDIA H200 +97\.0 %")

    def test_a_gpu_that_is_divided(self) -> None:
        """MIG: rates of use are not told of the whole, and of a part only memory and GPM."""
        whole = {k: v for k, v in AT_WORK.items() if k != "utilization" and not k.startswith("gpm")}
        parts = {"parts": "7", ":2.name": PART, ":5.name": PART}
        for key, value in AT_WORK.items():
            if key.startswith(("memory", "gpm")):
                parts[f":2.{key}"] = value
        write_gpus(self.gpus, {**whole, **parts}, OLDER)
        found = self.look_twice(self.serve())
        self.assertNotIn('busy_ratio{gpu="0"}', found)
        self.assertEqual(found['power_watts{gpu="0"}'], 654.321)
        self.check(
            found,
            {
                f'info{{gpu="0:2",name="{PART}"}}': 1,
                f'info{{gpu="0:5",name="{PART}"}}': 1,
                'memory_used_bytes{gpu="0:2"}': 1 << 36,
                'activity_ratio{gpu="0:2",unit="tensor"}': 0.5,
                'info{gpu="1",name="Tesla T4"}': 1,
            },
        )
        self.assertEqual(self.names_of(found, "0:5"), {"info", "lost"})
        self.assertIn("0:2", self.top())

    def test_older_libraries_lack_calls(self) -> None:
        gone = {
            10: {"activity_ratio", "link_bytes_per_second"},
            11: set(),
            12: set(),
        }
        for version, names in gone.items():
            with self.subTest(version):
                self.is_built = False
                write_gpus(self.gpus, AT_WORK)
                found = self.look_twice(self.serve(version))
                self.check(found, TOLD if names else {**TOLD, **COUNTED})
                self.assertEqual(names & self.names_of(found, "0"), set())

    def test_gpm_can_be_left_to_others(self) -> None:
        write_gpus(self.gpus, AT_WORK)
        found = self.look_twice(self.serve(FLOPLEDGER_GPM="0"))
        self.check(found, TOLD)
        self.assertNotIn("activity_ratio", self.names_of(found, "0"))

    def test_what_nvml_says_instead_of_gpus(self) -> None:
        for line, text in (
            ({"init": "9"}, "NVML does not start: Driver Not Loaded"),
            ({"init": "18"}, "NVML does not start: Driver/library version mismatch"),
            ({"count": "!999"}, "NVML does not count them: Unknown Error"),
            ({"count": "0"}, "NVML sees none"),
        ):
            with self.subTest(text):
                write_gpus(self.gpus, **line)
                self.assertIn(f"GPU: {text}" if "start" not in text else text, self.top())

    def test_a_library_without_the_calls_that_are_needed(self) -> None:
        source = self.folder / "empty.c"
        source.write_text("int nvmlInit_v2(void);\nint nvmlInit_v2(void)\n{\n    return 0;\n}\n")
        library = self.folder / "libnvidia-ml.so.1"
        subprocess.run(
            [compiler(), "-shared", "-fPIC", "-o", library, source], check=True  # type: ignore[list-item]
        )
        self.is_built = True
        self.assertIn("no NVML: libnvidia-ml.so.1 has no nvmlShutdown", self.top())


if __name__ == "__main__":
    run_and_count()
