"""What a device reaches: a sweep of matmuls by number format and shape, the bandwidth of its memory, an all-reduce.

`flopledger device --measure` runs it. It needs torch, and writes the file that `--rates FILE` reads.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from flopledger.measure_all_reduce import measured_all_reduces
from flopledger.measure_timing import seconds_of
from flopledger.processor import facts_of

SCHEMA = "flopledger-rates-1"
# [m, n, k] of [m, k] by [k, n]: square ones up to what fills the device, those of a transformer's layer and of its decoding, and
# on a GPU logits of a vocabulary whose rows are of whole 16 bytes, of an even number of columns, and of an odd one (GPT-2's).
CPU_SHAPES = (
    (256, 256, 256),
    (512, 512, 512),
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (512, 2048, 512),
    (64, 1024, 1024),
)
GPU_SHAPES = (
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (4096, 16384, 4096),
    (64, 8192, 8192),
    (4096, 50304, 2048),
    (4096, 50258, 2048),
    (4096, 50257, 2048),
)
# dtype of torch, whether fp32 may use TF32
FORMATS = {
    "fp32": ("float32", False),
    "tf32": ("float32", True),
    "fp64": ("float64", False),
    "bf16": ("bfloat16", False),
    "fp16": ("float16", False),
}
SECONDS_OF_SHAPE = 0.3  # how long a shape is repeated, but at least REPETITIONS
REPETITIONS = 3
SLOW_SECONDS = (
    1.5  # a format whose smallest shape would take this long for the next one stops there
)
COPY_BYTES = {"cpu": 256 << 20, "cuda": 1 << 30}


def matmuls_of(
    torch: Any, device: str, name: str, wait: Callable[[], None]
) -> Iterator[dict[str, Any]]:
    dtype, may_use_tf32 = FORMATS[name]
    if device == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = may_use_tf32
    rate = 0.0
    for m, n, k in CPU_SHAPES if device == "cpu" else GPU_SHAPES:
        flops = 2 * m * n * k
        if rate > 0 and flops / rate > SLOW_SECONDS:
            break
        a = torch.randn(m, k, device=device).to(getattr(torch, dtype))
        b = torch.randn(k, n, device=device).to(getattr(torch, dtype))
        result = torch.mm(a, b)
        seconds = seconds_of(
            lambda: torch.mm(a, b, out=result), wait, SECONDS_OF_SHAPE, REPETITIONS
        )
        rate = flops / seconds
        yield {"dtype": name, "m": m, "n": n, "k": k, "flops_per_second": round(rate)}


def memory_rate(torch: Any, device: str, wait: Callable[[], None]) -> int:
    """Bytes read and written each second by a copy that is larger than caches."""
    count = COPY_BYTES[device] // 4
    source = torch.ones(count, device=device)
    target = torch.empty_like(source)
    seconds = seconds_of(lambda: target.copy_(source), wait, SECONDS_OF_SHAPE, REPETITIONS)
    return round(2 * 4 * count / seconds)


def device_name(torch: Any, device: str) -> str:
    if device == "cuda":
        return str(torch.cuda.get_device_name())
    return facts_of().get("model name") or os.uname().machine


def measured(torch: Any, device: str) -> dict[str, Any]:
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    formats = [name for name in FORMATS if device == "cuda" or name != "tf32"]
    matmuls: list[dict[str, Any]] = []
    load = round(os.getloadavg()[0], 2)
    if load > 0.5 * (os.cpu_count() or 1):
        print(
            f"flopledger: other programs run (load average {load}): the rates will be too low",
            file=sys.stderr,
        )
    with torch.inference_mode():
        for name in formats:
            print(f"flopledger: matmuls in {name} ...", file=sys.stderr, flush=True)
            try:
                matmuls += matmuls_of(torch, device, name, wait)
            except RuntimeError as error:  # this torch or this device has no matmul of the format
                print(f"flopledger: no matmuls in {name}: {error}", file=sys.stderr)
        memory = memory_rate(torch, device, wait)
    return {
        "schema": SCHEMA,
        "kind": "gpu" if device == "cuda" else "cpu",
        "device": device_name(torch, device),
        "threads": torch.get_num_threads() if device == "cpu" else 0,
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "torch": str(torch.__version__),
        "load_average": load,
        "memory_bytes_per_second": memory,
        "matmuls": matmuls,
        "all_reduces": measured_all_reduces(torch, device),
    }


def main() -> int:
    path, device = Path(sys.argv[1]), sys.argv[2]
    try:
        import torch
    except ImportError as error:
        print(
            f"flopledger: measuring needs torch in this Python ({sys.executable}): {error}",
            file=sys.stderr,
        )
        return 2
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    elif device == "cuda" and not torch.cuda.is_available():
        print("flopledger: torch sees no GPU here", file=sys.stderr)
        return 2
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(measured(torch, device), indent=1) + "\n", encoding="utf-8")
    part.replace(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
