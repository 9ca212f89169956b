#!/usr/bin/env python3
"""Programs of JAX, recorded now on a processor: our FLOPs of a step beside those of their sizes and XLA's, and when they compile.

    check_recorded_jax.py PROGRAM

Events and times are held beside JAX's own decoding, as check_xplane.py does. Skips where neither build/venv-jax nor Python has JAX.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from check_xplane import OF_JAX, ProfileData, check
from shared_traces import ROOT, Outcome, program_of, run_program


@dataclass(frozen=True)
class FreshProgram:
    """One of jax_programs.py: what a step of it has to have."""

    kind: str
    flops: int  # of the model
    executed: int  # with what is computed again
    by_xla: range  # what its compiler counts beforehand
    compiled: tuple[int, ...] = ()  # the steps in which it compiles


def about(flops: int, more: int = 1) -> range:
    """XLA adds tanh, sums and the like."""
    return range(flops, flops + flops * more // 100 + 1)


LAYERS = 5 * 2 * 128 * 256 * 512  # two products, two gradients of weights, one of the input
CONVOLUTION = 2 * 4 * 32 * 32 * 32 * 3 * 3 * 16
LOOP = 2 * 64 * 256 * 256 * 6  # of a forward
SHARDED = 2 * 2 * 64 * 256 * 128  # forward and one gradient, of both devices
SHAPES = 2 * 40 * 64 * 64  # of 32, 40 and 48 rows
FRESH = (
    FreshProgram("layers", LAYERS, LAYERS, about(LAYERS)),
    FreshProgram(
        "convolution", CONVOLUTION, CONVOLUTION, range(CONVOLUTION * 9 // 10, CONVOLUTION)
    ),
    FreshProgram("loop", 3 * LOOP, 4 * LOOP, about(4 * LOOP // 6)),
    FreshProgram("two_devices", SHARDED, SHARDED, about(SHARDED // 2, more=2)),
    FreshProgram("shapes", SHAPES, SHAPES, about(2 * 32 * 64 * 64), compiled=(2, 4)),
)


def check_fresh(program: Path, one: FreshProgram) -> Outcome:
    """What JAX records now, on a processor: our FLOPs of a step beside those of its sizes, and XLA's."""
    outcome = Outcome(f"recorded now: {one.kind}")
    with tempfile.TemporaryDirectory(prefix="flopledger-jax-") as folder:
        done = subprocess.run(
            [sys.executable, ROOT / "tests" / "oracle" / "jax_programs.py", one.kind, folder],
            capture_output=True,
            text=True,
            check=True,
            env={
                **os.environ,
                "JAX_PLATFORMS": "cpu",
                "PYTHONPATH": os.pathsep.join(map(str, OF_JAX)),
                "XLA_FLAGS": f"--xla_force_host_platform_device_count={1 + (one.kind == 'two_devices')}",
            },
        )
        path = next(Path(folder).rglob("*.xplane.pb"))
        sections = json.loads(run_program(program, "report", path, []).output)["ranks"][0][
            "sections"
        ]
        numbers = sections["model_flops_utilization"]["numbers"]
        ours, by_xla = numbers["model_flops_per_step"]["value"], round(float(done.stdout))
        executed = ours * (
            numbers["executed_flops_per_second"]["value"]
            / numbers["model_flops_per_second"]["value"]
        )
        steps = [s for s in sections["step_ledger"]["tables"]["steps"]["rows"] if s["depth"] == 0]
        compiled = tuple(s["step"] for s in steps if s["idle_compilation"] > 0)
        print(f"JAX {version('jax')}, {one.kind}: {ours:,} FLOPs a step, by XLA {by_xla:,}")
        outcome.check(ours == one.flops, f"{ours} FLOPs, wanted {one.flops}")
        outcome.check(round(executed) == one.executed, f"{executed} executed, not {one.executed}")
        outcome.check(by_xla in one.by_xla, f"{ours} FLOPs, by XLA {by_xla}")
        outcome.check(compiled == one.compiled, f"compiles in {compiled}, not {one.compiled}")
        recorder = json.loads(run_program(program, "inspect", path, []).output)["ranks"][0]
        told = recorder["sections"]["file"]["numbers"]["recorder"]["value"]
        outcome.check(told.endswith(f"JAX {version('jax')}"), f"recorder {told}")
        outcome.add(check(program, path))
    return outcome


def main() -> None:
    program = program_of(sys.argv)
    if not ProfileData:
        print("skipped: no JAX\n0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    total = Outcome("all")
    for one in FRESH:
        total.add(check_fresh(program, one))
    total.finish()


if __name__ == "__main__":
    main()
