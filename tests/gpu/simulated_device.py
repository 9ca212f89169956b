"""A device that is not there: gives the operators of a trace that was recorded on a CPU the launches and kernels they would have
had, as Kineto writes them, so that the checks of the GPU suite have something to check where there is no GPU.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

DEVICE = {
    "id": 0,
    "name": "NVIDIA H200",
    "totalGlobalMem": 150109880320,
    "computeMajor": 9,
    "computeMinor": 0,
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerBlock": 65536,
    "warpSize": 32,
    "sharedMemPerBlock": 49152,
    "numSms": 132,
}
PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"}
HALF = "nvjet_tst_128x128_64x4_2x1_v_bz_TNN"
FULL = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas"
WITHOUT_KERNEL = {
    f"aten::{name}"
    for name in (
        "as_strided detach empty empty_like empty_strided expand item resolve_conj resolve_neg select slice split "
        "t transpose unsqueeze view _local_scalar_dense _unsafe_view"
    ).split()
} | {"detach"}
POINTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>"
LAUNCH_NS = 1000
DELAY_NS = 3000


def nanoseconds(value: Any) -> int:
    return round(float(value) * 1000)


class SimulatedDevice:
    """Kernels of a stream, one after the other, each launched in the middle of the operator that it belongs to."""

    def __init__(self, trace: dict[str, Any], slowness: float, is_graph: bool) -> None:
        self.trace = trace
        self.slowness = slowness  # length of a kernel to that of the operator on the CPU
        self.is_graph = is_graph
        self.events: list[dict[str, Any]] = []
        self.free_at = 0
        self.correlation = 1_000_000
        self.graph_launch: dict[str, Any] | None = None

    def workers(self) -> list[tuple[dict[str, Any], int]]:
        """Operators that have a kernel, and until when others ran inside of them; what lies in such a one has none of its own."""
        operators = [
            event
            for event in self.trace["traceEvents"]
            if event.get("ph") == "X" and event.get("cat") == "cpu_op"
        ]
        operators.sort(key=lambda event: (str(event["tid"]), event["ts"], -event["dur"]))
        found: list[tuple[dict[str, Any], int]] = []
        until, thread = 0, None  # of the product that is open, on its thread
        for operator, after in zip(operators, [*operators[1:], None]):
            start, end = self.times_of(operator)
            if thread == operator["tid"] and end <= until:
                found[-1] = (found[-1][0], end)  # a part of the one before
                continue
            is_product = operator["name"] in PRODUCTS or "flash_attention" in operator["name"]
            is_leaf = (
                after is None or after["tid"] != operator["tid"] or self.times_of(after)[0] >= end
            )
            if is_product or (is_leaf and operator["name"] not in WITHOUT_KERNEL):
                found.append((operator, start))
            if is_product:
                until, thread = end, operator["tid"]
        return sorted(found, key=lambda each: each[0]["ts"])

    @staticmethod
    def times_of(event: dict[str, Any]) -> tuple[int, int]:
        return nanoseconds(event["ts"]), nanoseconds(event["ts"]) + nanoseconds(event["dur"])

    def add(self, category: str, name: str, start: int, length: int, **event: Any) -> None:
        times = {"ts": f"{start / 1000:.3f}", "dur": f"{length / 1000:.3f}"}
        self.events.append({"ph": "X", "cat": category, "name": name, **event, **times})

    def launch(self, operator: dict[str, Any], at: int, length: int) -> None:
        name = "cudaGraphLaunch" if self.is_graph else "cudaLaunchKernel"
        where = {"pid": operator["pid"], "tid": operator["tid"]}
        self.correlation += 1
        args = {"cbid": 211, "correlation": self.correlation}
        self.add("cuda_runtime", name, at, length, **where, args=args)

    def kernel(self, operator: dict[str, Any], at: int) -> None:
        kinds = " ".join(map(str, operator.get("args", {}).get("Input type", [])))
        name = POINTWISE
        if operator["name"] in PRODUCTS:
            name = HALF if "BFloat16" in kinds else FULL
        elif "flash_attention" in operator["name"]:
            name = "pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits>"
        length = max(1000, round(nanoseconds(operator["dur"]) * self.slowness))
        start = max(self.free_at, at + LAUNCH_NS + DELAY_NS)
        self.free_at = start + length
        args = {
            "device": 0,
            "context": 1,
            "stream": 7,
            "correlation": self.correlation,
            "External id": operator.get("args", {}).get("External id", 0),
            "grid": [132, 1, 1],
            "block": [128, 1, 1],
            "registers per thread": 168,
            "shared memory": 0,
            "est. achieved occupancy %": 25,
        }
        if self.is_graph:
            args["graph node id"] = 1
        self.add("kernel", name, start, length, pid=0, tid=7, args=args)

    def run(self) -> None:
        step_starts = sorted(
            nanoseconds(event["ts"])
            for event in self.trace["traceEvents"]
            if event.get("name", "").startswith("ProfilerStep") and event.get("ph") == "X"
        )
        first = step_starts.pop(0) if step_starts else 0
        is_new = True
        launched = 0
        for operator, inside_until in self.workers():
            start, end = self.times_of(operator)
            room = end - inside_until
            if start < first or room < 4:
                continue
            while step_starts and start >= step_starts[0]:
                step_starts.pop(0)
                is_new = True
            if is_new or not self.is_graph:  # a graph is launched once a step
                launched = inside_until + room // 4
                self.launch(operator, launched, min(LAUNCH_NS, room // 2))
            self.kernel(operator, launched)
            is_new = False
        self.trace["traceEvents"] += self.events
        self.trace["deviceProperties"] = [DEVICE]


def simulate(path: Path, slowness: float = 0.5, is_graph: bool = False) -> None:
    """Writes the trace anew, with the device's work in it."""
    trace = json.loads(gzip.decompress(path.read_bytes()))
    SimulatedDevice(trace, slowness, is_graph).run()
    # times are numbers with three digits behind the point, as Kineto writes them: no double in between
    text = re.sub(r'"(ts|dur)": "(\d+\.\d{3})"', r'"\1": \2', json.dumps(trace))
    path.write_bytes(gzip.compress(text.encode(), 1))
