#!/usr/bin/env python3
"""Makes a trace of a device whose matrix work is known: what each product computes, at which peak, and why.

    priced_trace.py --seed 7 --output trace.json

writes trace.json, and trace.json.priced.json: of each step the exact nanoseconds that FLOPs of each kind take at the peak
of the device (an NVIDIA H100 SXM5) and matrix time without a price.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from event_names import COMPILATIONS

PEAKS = {  # FLOP/s, dense: the line of the device in src/cost/devices/device_list.def
    "bf16": Fraction(9895, 10) * 10**12,
    "tf32": Fraction(4945, 10) * 10**12,
    "fp32": Fraction(67) * 10**12,
    "fp8": Fraction(1979) * 10**12,
}
RECORDED = {
    "bf16": "c10::BFloat16",
    "tf32": "float",
    "fp32": "float",
    "fp8": "c10::Float8_e4m3fn",
}
KERNELS = {
    "bf16": "nvjet_hsh_128x128_64x4_TNN",
    "tf32": "cutlass_80_tensorop_s1688gemm_128x128_32x3_nn_align4",
    "fp32": "sm80_simt_sgemm_128x64_nn",
    "fp8": "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x64x64",
}
DEVICE = {
    "id": 0,
    "name": "NVIDIA H100 80GB HBM3",
    "totalGlobalMem": 85014478848,
    "computeMajor": 9,
    "computeMinor": 0,
    "numSms": 132,
}
PARTS = ("model", "recomputed", "extra")
LAUNCH = 6000  # ns from one launch to the next


@dataclass
class Piece:
    """A kernel of a product: FLOPs of one kind at one peak; none where nothing is known of them."""

    called: int  # by the host; start and end are of the device
    start: int
    end: int
    flops: dict[str, int]
    precision: str


@dataclass
class PricedTrace:
    rng: random.Random
    compiles: bool = False  # code is compiled in the steps
    events: list[dict[str, Any]] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    steps: list[tuple[int, int]] = field(default_factory=list)
    now: int = 1_000_000  # of the host
    device: int = 1_004_000  # when the stream is free
    correlation: int = 100
    sequence: int = 10

    def add(self, category: str, name: str, start: int, length: int, **args: Any) -> dict[str, Any]:
        where = {"pid": 0, "tid": 7} if category == "kernel" else {"pid": 4711, "tid": 4711}
        event = {"ph": "X", "cat": category, "name": name, **where}
        event |= {"ts": start / 1000, "dur": length / 1000, "args": args}
        self.events.append(event)
        return event

    def kernel(self, name: str, length: int) -> tuple[int, int]:
        """Launched now; runs when the stream is free. Its own start and end."""
        self.correlation += 1
        self.add(
            "cuda_runtime",
            "cudaLaunchKernel",
            self.now + 1000,
            2000,
            correlation=self.correlation,
        )
        start = max(self.device, self.now + 4000)
        self.add(
            "kernel",
            name,
            start,
            length,
            correlation=self.correlation,
            device=0,
            stream=7,
            grid=[132, 1, 1],
            block=[256, 1, 1],
        )
        self.device = start + length
        return start, start + length

    def op(self, name: str, shapes: list[Any], types: list[str], inputs: list[str]) -> None:
        args: dict[str, Any] = {"Input Dims": shapes, "Input type": types}
        if inputs:
            args["Concrete Inputs"] = inputs
        self.add("cpu_op", name, self.now + 500, 4500, **args)

    def product(self, precision: str, part: str = "model") -> None:
        m, k, n = (64 * self.rng.randint(1, 40) for _ in range(3))
        recorded = RECORDED[precision]
        flops = 2 * m * k * n
        name = "aten::_scaled_mm" if precision == "fp8" else "aten::mm"
        ideal = Fraction(flops, PEAKS[precision]) * 10**9
        length = int(ideal * self.rng.uniform(1.2, 6)) + self.rng.randint(500, 5000)
        self.op(name, [[m, k], [k, n]], [recorded, recorded], [])
        start, end = self.kernel(KERNELS[precision], length)
        self.pieces.append(Piece(self.now, start, end, {part: flops}, precision))
        self.now += LAUNCH

    def attention(self) -> None:
        """Fused and causal: the kernel leaves masked pairs out."""
        batch, heads, length, size = 2, 8, 128 * self.rng.randint(2, 8), 64
        shape = [batch, heads, length, size]
        pairs = length * (length + 1) // 2
        flops = batch * heads * pairs * 2 * (size + size)
        recorded = RECORDED["bf16"]
        self.op(
            "aten::_scaled_dot_product_flash_attention",
            [shape, shape, shape, [], [], [], []],
            [recorded] * 3 + ["Scalar"] * 4,
            ["", "", "", "0.", "True", "False", ""],
        )
        ideal = Fraction(flops, PEAKS["bf16"]) * 10**9
        start, end = self.kernel("flash_fwd_kernel", int(ideal * 3) + 2000)
        self.pieces.append(Piece(self.now, start, end, {"model": flops}, "bf16"))
        self.now += LAUNCH

    def recomputed(self) -> None:
        """A forward that runs again inside a node of the backward."""
        start = self.now
        self.sequence += 1
        node = self.add(
            "cpu_op",
            "autograd::engine::evaluate_function: GeluBackward0",
            start,
            0,
            **{"Sequence number": 5},
        )
        linear = self.add(
            "cpu_op", "aten::linear", start + 100, 0, **{"Sequence number": self.sequence}
        )
        self.product("bf16", "recomputed")
        node["dur"] = (self.now - start) / 1000
        linear["dur"] = (self.now - start - 200) / 1000
        self.now += 500

    def optimizer(self) -> None:
        start = self.now
        mark = self.add("user_annotation", "Optimizer.step#Muon.step", start, 0)
        self.product("bf16", "extra")
        mark["dur"] = (self.now - start) / 1000
        self.now += 500

    def unpriced(self) -> None:
        name = self.rng.choice(["mine::gemm", "aten::mm"])  # no formula; no shapes
        self.add("cpu_op", name, self.now + 500, 4500)
        start, end = self.kernel("my_gemm_kernel", self.rng.randint(1000, 9000))
        self.pieces.append(Piece(self.now, start, end, {}, ""))
        self.now += LAUNCH

    def elementwise(self) -> None:
        self.op("aten::relu", [[64, 64 * self.rng.randint(1, 99)]], ["float"], [])
        self.kernel("vectorized_elementwise_kernel", self.rng.randint(1000, 4000))
        self.now += LAUNCH

    def compiled(self) -> None:
        """torch.compile traces products without numbers, and tries kernels: no FLOPs of the step's."""
        start = self.now
        around = self.add("cpu_op", self.rng.choice(COMPILATIONS), start, 0)
        for _ in range(self.rng.randint(1, 3)):
            self.op("aten::mm", [[64, 128], [128, 64]], [RECORDED["bf16"]] * 2, [])
            if self.rng.random() < 0.5:
                tried = self.kernel(KERNELS["bf16"], self.rng.randint(1000, 9000))
                self.pieces.append(Piece(self.now, *tried, {}, ""))
            self.now += LAUNCH
        around["dur"] = (self.now - start) / 1000
        self.now += 500

    def step(self, number: int) -> None:
        start = self.now
        makers = [
            lambda: self.product("bf16"),
            lambda: self.product("tf32"),
            lambda: self.product("fp32"),
            lambda: self.product("fp8"),
            self.attention,
            self.recomputed,
            self.unpriced,
            self.elementwise,
            *[self.compiled] * self.compiles,
        ]
        self.rng.shuffle(makers)
        for make in makers:
            for _ in range(self.rng.randint(1, 2)):
                make()
        self.optimizer()
        if self.rng.random() < 0.5:  # else its last kernels run on into the next one
            self.now = max(self.now, self.device)
        self.now += self.rng.randint(0, 20_000)
        self.steps.append((start, self.now))
        self.add("user_annotation", f"ProfilerStep#{number}", start, self.now - start)

    def priced(self) -> list[dict[str, Any]]:
        """Of each step: ns at the peak by part (as text of a fraction), and ns without a price.

        Time is of what ran in the step's mark; FLOPs are of what was called in it, wherever it ran.
        """
        rows = []
        for number, (start, end) in enumerate(self.steps):
            ideal = dict.fromkeys(PARTS, Fraction(0))
            flops = dict.fromkeys(PARTS, Fraction(0))
            unpriced = matrix = 0
            for piece in self.pieces:
                inside = max(0, min(end, piece.end) - max(start, piece.start))
                matrix += inside
                unpriced += 0 if piece.flops else inside
                if not start <= piece.called < end:
                    continue
                for part, amount in piece.flops.items():
                    flops[part] += amount
                    ideal[part] += amount / PEAKS[piece.precision] * 10**9
            rows.append(
                {"step": number, "matrix": matrix, "unpriced": unpriced}
                | {part: str(ideal[part]) for part in PARTS}
                | {f"{part}_flops": str(flops[part]) for part in PARTS}
            )
        return rows


def make_priced_trace(seed: int | str, steps: int = 3, compiles: bool = False) -> PricedTrace:
    trace = PricedTrace(random.Random(f"priced {seed}"), compiles)
    for number in range(steps):
        trace.step(number)
    return trace


def write_priced_trace(trace: PricedTrace, path: Path) -> None:
    document = {"schemaVersion": 1, "deviceProperties": [DEVICE], "traceEvents": trace.events}
    path.write_text(json.dumps(document, indent=1).replace(",\n   ", ", ").replace("\n    ", " "))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", default="1", help="the same seed makes the same trace")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    trace = make_priced_trace(arguments.seed, arguments.steps)
    write_priced_trace(trace, arguments.output)
    Path(f"{arguments.output}.priced.json").write_text(json.dumps(trace.priced(), indent=1) + "\n")


if __name__ == "__main__":
    main()
