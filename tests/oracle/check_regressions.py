#!/usr/bin/env python3
"""Files on which a report was once wrong with confidence, and what is right of them now: check_regressions.py PROGRAM

What is right was counted by hand, by other tools' own tests (HolisticTraceAnalysis) or by the run's authors; each line says
what. Needs the folder of other people's files: FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shared_traces import SHARED, Outcome, note_apart, program_of, skip_without

NOT_SAID = "needs deviceProperties"
HTOD, DTOH = "Memcpy HtoD (Host -> Device)", "Memcpy DtoH (Device -> Host)"


@dataclass(frozen=True)
class Report:
    text: str  # as a terminal shows it
    sections: dict[str, Any]  # of the first rank

    def account(self, key: str, column: str = "mean") -> float:
        return self.row("step_ledger", "ledger", key)[column]

    def job(self, key: str) -> float:
        return self.row("job", "accounts", key)["time"] / 1e9

    def row(self, section: str, table: str, key: str) -> dict[str, Any]:
        rows = self.sections[section]["tables"][table]["rows"]
        return next(row for row in rows if row["key"] == key)

    def number(self, section: str, key: str) -> Any:
        return self.sections[section]["numbers"][key]["value"]

    def bytes_by_kind(self) -> list[tuple[str, int]]:
        rows = self.sections["copies"]["tables"]["by_kind"]["rows"]
        return [(row["kind"], row["bytes"]) for row in rows]

    def findings(self) -> list[dict[str, Any]]:
        return list(self.sections["advice"]["findings"])

    def tries(self, text: str) -> list[str]:
        return [each["try"] for each in self.findings() if text in each["try"]]

    def first(self) -> str:
        return str(self.findings()[0]["id"])

    def finding(self, key: str) -> dict[str, Any]:
        return next((each for each in self.findings() if each["id"] == key), {})


def near(value: float, right: float, by: float = 0.001) -> bool:
    if abs(value - right) > by * abs(right):
        return False
    note_apart(100 * (value / right - 1), "%")
    return True


def words(*parts: str) -> Callable[[Report], bool]:
    return lambda report: all(part in " ".join(report.text.split()) for part in parts)


# File, command and options; then what holds, and what it is.
Check = tuple[str, Callable[[Report], bool]]
CASES: list[tuple[str, list[str], list[Check]]] = [
    (
        "traces/tracelens/inference/vllm_prefilldecode_piecewise/graph_execution.json.gz",
        ["report", "--step-range", "^execute_", "--device-name", "MI300X"],
        [
            (
                "156 ms of kernels, not a window of 26 ms",
                lambda r: near(r.account("step"), 156.466e6),
            ),
            ("and they run all of it", lambda r: r.account("idle", "share") < 0.01),
        ],
    ),
    (
        "regressions/mtia_training_rank_0.json.gz",
        ["report"],
        [
            # HolisticTraceAnalysis: compute 54.8 %, 7.3056 of 13.328 s, rounded to us
            ("compute as HTA counts it", lambda r: near(r.account("compute"), 7.3056e9)),
            ("... of the step", lambda r: near(r.account("compute", "share"), 0.548, 0.002)),
            # aten::mm, addmm and bmm: what ran on the device for them, by their kernels' times
            ("matmuls behind a range named hccl", lambda r: near(r.account("matrix"), 5.83785e9)),
            ("one rank is not late", lambda r: "straggler" not in r.text),
            ("in the words of MTIA", lambda r: not r.tries("CUDA") and bool(r.tries("torch.mtia"))),
        ],
    ),
    (
        "regressions/mtia_inference_rank_0.json.gz",
        ["report"],
        [
            # the sums of args.size of each args.direction, by a loop over the JSON
            ("bytes each way", lambda r: r.bytes_by_kind() == [(HTOD, 788439608), (DTOH, 460800)]),
            ("one rank is not late", lambda r: "straggler" not in r.text),
            # 93.5 % are kernels called pe_exe, merge and remote
            ("whether matmuls run is not known", words("names do not tell their work")),
        ],
    ),
    (
        "regressions/nccl_empty_description.json.gz",
        ["report"],
        [
            (
                "39.56 ms in three steps",
                lambda r: near(3 * r.account("exposed_communication"), 39.56e6),
            )
        ],
    ),
    (
        "regressions/mlperf50_dell_b200_llama2_70b_lora.txt",
        ["ettr"],
        [
            ("one attempt", lambda r: r.number("job", "attempts") == 1),
            ("384 steps", lambda r: r.number("job", "steps_kept") == 384),
            ("startup", lambda r: near(r.job("startup"), 303.8)),
            ("evaluation", lambda r: near(r.job("evaluations"), 74.0)),
        ],
    ),
    (
        "regressions/mlperf50_nvidia_tyche512_llama2_70b_lora.txt",
        ["ettr"],
        [
            ("one attempt", lambda r: r.number("job", "attempts") == 1),
            ("108 steps", lambda r: r.number("job", "steps_kept") == 108),
            ("12.2 %", lambda r: near(r.number("job", "ettr"), 0.122, 0.005)),
        ],
    ),
    (
        "regressions/mlperf50_nvidia_nyx_stable_diffusion.txt",
        ["ettr"],
        [
            ("five blocks of 2,000", lambda r: r.number("job", "steps_kept") == 10000),
            ("kept", lambda r: near(r.job("kept_steps"), 1156.7)),
            ("in all", lambda r: near(r.job("job"), 3499.3)),
        ],
    ),
    (
        "regressions/hf_trainer_state_with_prediction.json",
        ["ettr"],
        [("prediction is no training", words("step 565 ms", "Kept steps are 4.8 %"))],
    ),
    (
        "regressions/dlrover_events_0.log",
        ["ettr"],
        [("saves prove steps", words("395 steps", "TFLOP/s of one device"))],
    ),
    (
        "regressions/modded_nanogpt_twenty_runs.txt",
        ["ettr"],
        [("nothing is discarded", words("67,000 steps", "Kept steps are 100.0 %"))],
    ),
    (
        "regressions/bs_hf_ds_gpt2_perf_n16_bs4-mbs8.out",
        ["ettr"],
        [("OVERFLOW is a skipped update", lambda r: near(r.job("skipped_updates"), 136.5, 0.01))],
    ),
    (
        "regressions/nsys-ai_mfu_2gpu_after.sqlite",
        ["report"],
        [
            (
                "blocking copies by replay",
                lambda r: near(r.finding("synchronisation").get("ceiling_speedup", 0), 1.21, 0.01)
                or near(r.finding("synchronisation").get("replayed_speedup", 0), 1.21, 0.01),
            )
        ],
    ),
    (
        "regressions/nsys_pageable_copy.sqlite",
        ["report", "--what-if", "copies=0"],
        [("the wait in blocking copies goes, too", words("2.85"))],
    ),
    (
        "regressions/resnet50_workers4_profiler_stop.pt.trace.json.gz",
        ["report"],
        [
            ("launch bound first", lambda r: r.first() == "launch_bound"),
            ("a device that is near to several", words("of about 15.7 TFLOP/s")),
        ],
    ),
    (
        "nsys/pipit_saxpy_mpi.sqlite",
        ["report"],
        [("a C++ program has no Python", lambda r: "Python" not in r.text)],
    ),
    (
        "traces/primus_pp/pp_rank_0.json",
        ["report"],
        [("timings of stages tell of no Python", lambda r: "Python" not in r.text)],
    ),
    (
        "regressions/vllm_piecewise_graph_capture.json.gz",
        ["report"],
        [
            ("capture first", lambda r: r.first() == "graph_capture"),
            ("45.2 of 55.2 ms", lambda r: near(r.account("idle_capture"), 45.195e6)),
            ("never launch bound", lambda r: not r.finding("launch_bound")),
        ],
    ),
    (
        "regressions/particle_transformer_cpu.pt.trace.json.gz",
        ["report"],
        [("a device stands unused", lambda r: bool(r.finding("device_unused")))],
    ),
]


def run(program: str, command: list[str]) -> str:
    done = subprocess.run([program, *command], capture_output=True, text=True, timeout=120)
    return done.stdout


def report_of(program: str, path: str, options: list[str]) -> Report:
    command = [*options, path]
    sections = json.loads(run(program, [*command, "--json"]))["ranks"][0]["sections"]
    return Report(run(program, command), sections)


def main() -> None:
    program = str(program_of(sys.argv))
    skip_without(SHARED / "regressions")
    outcome = Outcome("regressions")
    for name, options, checks in CASES:
        path = SHARED / name
        found = Outcome(name)
        if not path.exists():
            found.skipped = 1
            outcome.add(found)
            continue
        report = report_of(program, str(path), options)
        for what, holds in checks:
            try:
                found.check(holds(report), what)
            except (KeyError, StopIteration) as missing:
                found.check(False, f"{what}: {missing!r} is not there")
        found.check(NOT_SAID not in report.text, f"'{NOT_SAID}' is not said")
        outcome.add(found)
    outcome.finish()


if __name__ == "__main__":
    main()
