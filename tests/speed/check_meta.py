#!/usr/bin/env python3
"""That counting the FLOPs of a model on PyTorch's device `meta` takes no more instructions than FlopCounterMode does.

    check_meta.py PROGRAM

Counted by valgrind: a process that passes the same model many times with one of them, less one that passes it not once more.
bench/meta_counting.py measures the time of large models.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(TESTS / "python"), str(TESTS.parent / "bench")]

from recorded_runs import find_python  # noqa: E402

COUNTING = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
COUNTED = re.compile(r"I\s+refs:\s+([\d,]+)")
LAYERS, WIDTH, HEADS, LENGTH = 2, 512, 8, 128
PASSES = 20
AT_MOST = 1.0
RUNS = [("ours", 0), ("ours", PASSES), ("theirs", PASSES)]


def pass_model(way: str, passes: int) -> None:
    import meta_counting
    import torch
    from torch import nn

    torch.set_num_threads(1)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, device="meta", batch_first=True)
    model: Any = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).eval()
    words = torch.zeros((1, LENGTH, WIDTH), device="meta")
    with torch.no_grad():
        for each in ("ours", "theirs"):  # what is made once
            getattr(meta_counting, each)(model, words)
        for _ in range(passes):
            getattr(meta_counting, way)(model, words)


def instructions_of(python: str, package: Path, way: str, passes: int) -> int:
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONHASHSEED": "0"}
    words = ["setarch", "-R", *COUNTING, python, __file__, way, str(passes)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    found = COUNTED.search(done.stderr)
    if done.returncode or not found:
        raise SystemExit(f"{way}: exit status {done.returncode}: {done.stderr[-800:]}")
    return int(found[1].replace(",", ""))


def main() -> int:
    python = find_python()
    if python is None or shutil.which("valgrind") is None:
        print("needs valgrind and a Python with torch\n0 passed, 0 failed, 1 skipped")
        return 0
    found, package = python, Path(sys.argv[1]).resolve().parent / "python"
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = pool.map(lambda run: instructions_of(found, package, *run), RUNS)
        start, ours, theirs = counts
    ratio = (ours - start) / (theirs - start)
    print(f"{ratio:.3f} of FlopCounterMode's instructions, {AT_MOST} at most")
    print(f"{int(ratio <= AT_MOST)} passed, {int(ratio > AT_MOST)} failed, 0 skipped")
    return int(ratio > AT_MOST)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        pass_model(sys.argv[1], int(sys.argv[2]))
    else:
        sys.exit(main())
