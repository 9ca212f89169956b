"""A trace of GPT-2's training steps on one H100: its products by shape, an optimizer, and what tells samples and tokens."""

from __future__ import annotations

import json
import random
from pathlib import Path

from priced_trace import DEVICE, PEAKS, PricedTrace

HIDDEN, LAYERS, WORDS = 768, 12, 50257
RATE = 0.5  # of the peak
# k and n of a layer's products
LAYER = ((HIDDEN, 3 * HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 4 * HIDDEN), (4 * HIDDEN, HIDDEN))


class TrainedTrace(PricedTrace):
    def matmul(self, m: int, k: int, n: int) -> None:
        self.op("aten::mm", [[m, k], [k, n]], ["c10::BFloat16"] * 2, [])
        self.kernel(
            "nvjet_hsh_128x128_64x4_TNN", int(2e9 * m * k * n / float(PEAKS["bf16"]) / RATE)
        )
        self.now += 6000

    def train(self, number: int, samples: int, tokens: int, has_optimizer: bool) -> None:
        start, m = self.now, samples * tokens
        self.op(
            "aten::embedding",
            [[WORDS, HIDDEN], [samples, tokens], []],
            ["float", "long int", ""],
            [],
        )
        self.kernel("vectorized_gather_kernel", 20_000)
        self.now += 6000
        for k, n in (*LAYER * LAYERS, (HIDDEN, WORDS)):
            self.matmul(m, k, n)
            self.matmul(m, n, k)
            self.matmul(k, m, n)
        if has_optimizer:
            mark = self.add("user_annotation", "Optimizer.step#AdamW.step", self.now, 0)
            self.kernel("multi_tensor_apply_kernel<adam>", 3_000_000)
            self.now += 6000
            mark["dur"] = 6
        until = max(self.now, self.device) + 1000
        self.correlation += 1
        wait = {"correlation": self.correlation}
        self.add("cuda_runtime", "cudaDeviceSynchronize", self.now, until - self.now, **wait)
        self.now = until + 1000
        self.add("user_annotation", f"ProfilerStep#{number}", start, self.now - start)


def write_trained(path: Path, samples: int, tokens: int, has_optimizer: bool = True) -> None:
    trace = TrainedTrace(random.Random(1))
    for number in range(3):
        trace.train(number, samples, tokens, has_optimizer)
    whole = {"schemaVersion": 1, "deviceProperties": [DEVICE], "traceEvents": trace.events}
    path.write_text(json.dumps(whole))
