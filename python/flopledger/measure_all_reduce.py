"""What an all-reduce of this machine's devices takes, by size: part of `flopledger device --measure`.

Each device is a process of its own, as in training; GPUs reduce by NCCL, processors by gloo.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from flopledger.measure_timing import seconds_of

# Bytes: the smallest tells the latency, the largest the bandwidth.
SIZES = {"cpu": (4 << 10, 1 << 20, 16 << 20), "cuda": (4 << 10, 1 << 20, 64 << 20, 512 << 20)}
BACKENDS = {"cpu": "gloo", "cuda": "nccl"}
SECONDS_TO_END = 120.0


def device_count(torch: Any, device: str) -> int:
    """Two processes stand for a processor: more would share its cores."""
    if device == "cuda":
        return int(torch.cuda.device_count())
    return 2 if (os.cpu_count() or 1) > 1 else 1


def reduced(rank: int, count: int, meeting: str, device: str) -> list[dict[str, Any]]:
    """Of one of `count` processes that meet by a file. All repeat a size as often: rank 0's clock would end the others'
    loops at another count."""
    import torch
    from torch import distributed

    if device == "cuda":
        torch.cuda.set_device(rank)
    distributed.init_process_group(
        BACKENDS[device], init_method=f"file://{meeting}", rank=rank, world_size=count
    )
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    entries = []
    for size in SIZES[device]:
        data = torch.ones(size // 4, device=device)
        seconds = seconds_of(
            lambda: distributed.all_reduce(data), wait, of_seconds=0.0, at_least=20
        )
        entries.append(
            {
                "backend": BACKENDS[device],
                "devices": count,
                "bytes": size,
                "seconds": round(seconds, 9),
            }
        )
        data.fill_(1.0)
    distributed.destroy_process_group()
    return entries


def measured_all_reduces(torch: Any, device: str) -> list[dict[str, Any]]:
    """Nothing where there is one device, or torch has no communication; what went wrong is said."""
    count = device_count(torch, device)
    if count < 2 or not torch.distributed.is_available():
        return []
    print(f"flopledger: all-reduce of {count} ...", file=sys.stderr, flush=True)
    packages = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (packages, os.environ.get("PYTHONPATH"))))
    with tempfile.TemporaryDirectory() as folder:
        words = [str(count), str(Path(folder) / "meeting"), device]
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "flopledger.measure_all_reduce", str(rank), *words],
                env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(count)
        ]
        try:
            ends = [process.communicate(timeout=SECONDS_TO_END) for process in processes]
        except subprocess.TimeoutExpired:
            print("flopledger: no all-reduce: it did not end", file=sys.stderr)
            return []
        finally:
            for process in processes:
                process.kill()
                process.wait()
    for process, (_, errors) in zip(processes, ends, strict=True):
        if process.returncode != 0:
            last = errors.strip().splitlines()[-1:] or ["no message"]
            print(f"flopledger: no all-reduce: {last[0]}", file=sys.stderr)
            return []
    return list(json.loads(ends[0][0]))


if __name__ == "__main__":
    print(json.dumps(reduced(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])))
