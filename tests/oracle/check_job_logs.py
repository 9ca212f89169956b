"""Logs of other people's jobs: attempts, steps and times as a reader of the log counts them.

    check_job_logs.py PROGRAM

Each expectation was counted by hand, with the command that stands beside it. Without those logs, nothing is checked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from shared_traces import SHARED, Outcome, note_apart, program_of, skip_without

LOGS = SHARED / "logs"
REGRESSIONS = SHARED / "regressions"

# name of the file: what is expected of the sections of its report. Accounts are in seconds, "~" allows a part in 1,000: in
# those logs lengths of steps are measured a little longer than the time between their lines.
EXPECTED: dict[str, dict[str, Any]] = {
    # grep -cE '^ iteration +[0-9]+/' FILE: 62; awk -F'per iteration \\(ms\\): ' '/^ iteration/{split($2,a," "); s+=a[1]}
    # END{printf "%.1f\n",s}': 7866848.8 (one iteration a line); grep -o 'world size: [0-9]*': 64. No line has a time.
    "bigscience_meg_ds_3d_gpt2_perf_n16-ds-off.out": {
        "steps_made": 62,
        "attempts": 1,
        "devices": 64,
        "ettr": None,
        "kept steps": 7866.8488,
    },
    # 20 lines of 10 iterations; the same awk with s+=a[1]*10: 3404460.0 / 10; grep -oE 'skipped iterations: +[0-9]+' |
    # awk '{s+=$3} END{print s}': 19; the last line of the scheduler: CANCELLED AT 2021-05-23T08:29:53.
    "bigscience_meg_gpt2_base_n8_dp1_tp4_pp8-1809562.out": {
        "steps_made": 200,
        "steps_skipped": 19,
        "attempts": 1,
        "devices": 32,
        "ends": "2021-05-23 08:29:53",
        "why": ["cancelled"],
        "kept + skipped": 340.446,
    },
    # grep -c train_step_timing: 300; grep -c '"init_start"': 256 (one a rank); run_start - first line:
    # 1728322507882 - 1728322222324 ms; last - first line with MLLOG: 1728328534217 - 1728322222324 ms;
    # grep -oE 'train_step_timing in s": [0-9.]+' | awk '{s+=$4} END{print s}': 5512.656731
    "mlperf_nvidia_gpt3_eos_n32_result_0.txt": {
        "steps_made": 300,
        "attempts": 1,
        "devices": 256,
        "startup": 285.558,
        "~kept steps": 5512.656731,
        "~evaluations": 501.366,
        "elapsed": 6311.893,
    },
    # as above: 288 steps, 64 ranks, 10380.692635 s
    "mlperf_nvidia_gpt3_b200_n8_result_0.txt": {
        "steps_made": 288,
        "attempts": 1,
        "devices": 64,
        "elapsed": 11885.033,
        "~kept steps": 10380.692635,
    },
    # grep -c '"train_step_time"': 618; their sum 11801.458269 s; that of 78 "validation_step_time": 534.975550 s
    "mlperf50_nvidia_llama31_405b_tyche256.txt": {
        "steps_made": 618,
        "attempts": 1,
        "devices": 256,
        "~kept steps": 11801.458269,
        "~evaluations": 534.97555,
        "elapsed": 12868.868,
    },
    # the last samples_count 3072 / global_batch_size 8; run_start - init_start: 1728663744062 - 1728663631340 ms
    "mlperf_oracle_64xh100_llama2lora_result_0.txt": {
        "steps_made": 384,
        "attempts": 1,
        "devices": 64,
        "startup": 112.722,
        "elapsed": 384.836,
        "~ettr": 0.58,
    },
    # 29 blocks of 50331648 tokens / (6144 * 2048); the run is 1724615696539 - 1724614990627 ms, from init_start on
    # 1724615696539 - 1724613786066: 36.9 %
    "mlperf_google_maxtext_v5p_12288_result_0.txt": {
        "steps_made": 116,
        "attempts": 1,
        "ettr 3 digits": 0.369,
    },
    # grep -cE '^s:[0-9]+ trl': 19560, the last s:19559; no time at all
    "llmc_gpt2_124M_main.log": {
        "steps_made": 19560,
        "last_step": 19559,
        "attempts": 1,
        "ettr": None,
    },
    # grep -cE '^step:[0-9]+/1490 train_time': 1490; the last train_time:92808ms
    "modded_nanogpt_baseline0-1490.txt": {"steps_made": 1490, "attempts": 1, "kept steps": 92.808},
    # grep -c '^completed step': 5; grep -oE 'seconds: [0-9.]+' | awk '{s+=$2} END{print s}': 37.159; step 2 tells
    # 917442.589 TFLOP/s, steps 1, 3 and 4 tell 182.028, 193.354 and 194.526 in 12.444, 11.715 and 11.645 s
    "maxtext_getting_started_log.md": {
        "steps_made": 5,
        "attempts": 1,
        "kept steps": 37.159,
        "~rate": 189.799e12,
        "finding": "917.4 PFLOP/s",
    },
    # two runs are quoted: steps 0 to 9 (9 once more), and steps 8 and 9 of another
    "maxtext_understand_logs.md": {"steps_made": 12, "steps_kept": 10, "attempts": 2},
    # iterations 10, 20, 30, 100, 110, 120; skipped 10 + 6 + 5; save-checkpoint 3413.14 ms, evaluate 2052.52 ms; from
    # 23:41:00 to 23:42:55
    "megatron_core_2025_excerpt.log": {
        "steps_made": 120,
        "steps_skipped": 21,
        "attempts": 1,
        "checkpoints": 3.41314,
        "evaluations": 2.05252,
        "elapsed": 115.0,
    },
    # one line: 13372.8 ms, [rank-7/8]
    "amd_primus_style_excerpt.log": {
        "steps_made": 1,
        "devices": 8,
        "kept steps": 13.3728,
        "~rate": 567.6e12,
    },
    # steps 0 to 5, from 11:49:58.225 to 11:50:18.442; data parallel 8
    "internevo_7B_demo.rst": {"steps_made": 6, "attempts": 1, "devices": 8, "kept steps": 20.217},
    # "train_runtime": 64358.151; sums of "eval_runtime" and of "predict_runtime": 30625.526 and 30633.303 s
    "hf_trainer_state_with_prediction.json": {
        "steps_made": 5490,
        "attempts": 1,
        "~kept steps": 3099.322,
        "~evaluations": 61258.829,
        "startup": None,
        "checkpoints": None,
    },
    # the first time 06:37:48.000, "***** Running training *****" of the last rank at 06:38:26,360; its bar: 16/16 [15:19
    "bs_hf_ds_gpt2_base_n4-1832555.out": {
        "steps_made": 16,
        "attempts": 1,
        "startup": 38.36,
        "kept steps": 919.0,
        "elapsed": 957.862,
    },
    # three launches, of which two were killed; the third makes 2 steps (0.007 a second in 273.0148 s), one OVERFLOW
    "bs_hf_ds_gpt2_perf_n16_bs4-mbs8.out": {
        "steps_made": 2,
        "steps_skipped": 1,
        "attempts": 3,
        "kept steps": 136.5074,
        "skipped updates": 136.5074,
    },
    # [#save] of 177413 behind the begin of step 177018; 91.609161 + 91.014546 s of saves; "TFLOPS": 2.5173714360382524
    "dlrover_events_0.log": {
        "steps_made": 395,
        "last_step": 177413,
        "attempts": 1,
        "~checkpoints": 182.623707,
        "startup": None,
        "~rate": 2.5173714360382524e12,
    },
    # 20 lines of step:3350/3350; the sum of their train_time: 9857.429 s
    "modded_nanogpt_twenty_runs.txt": {
        "steps_made": 67000,
        "steps_kept": 67000,
        "attempts": 20,
        "runs": 20,
        "kept steps": 9857.429,
        "discarded steps": 0.0,
        "evaluations": None,
        "checkpoints": None,
    },
    # grep -cE '^## 20[0-9]{2}[-.]': 31 entries; grep -cE '^ *- glm-130B-2022': 32 lines, 2 of them before the
    # first entry and 1 entry with two; "restart from 4000 step", "7300", "15400", ...
    "glm130b_main-log-en.md": {
        "diary": {"entries": 31, "runs": 29},
        "restarts": {
            "2022-05-07 20:14:00": 4000,
            "2022-05-11 12:13:00": 7300,
            "2022-06-12 10:00:00": 33600,
            "2022-06-19 00:10:00": 39600,
            "2022-06-22 21:00:00": 42700,
        },
        "runs": {
            "2022-05-07 20:14:00": "2022-05-07 13:44:59",
            "2022-06-26 16:00:00": "2022-06-26 13:13:51",
        },
    },
    # grep -cE '^#+ [0-9]{4}-': 19; "lost 7.3h", "lost about 18h", "Lost 6h", "lost ~11h"
    "bigscience_train_tr11-176B-ml_chronicles.md": {
        "diary": {"entries": 19, "lost": int(42.3 * 3600) * 10**9},
        "restarts": {"2022-03-24 00:00:00": 17235, "2022-03-28 00:00:00": 20448},
    },
}


def same(name: str, told: Any, expected: Any) -> bool:
    if isinstance(expected, float) and told is not None:
        allowed = abs(expected) / 1000 if name.startswith("~") else 1e-9 * abs(expected) + 1e-12
        if abs(told - expected) > allowed:
            return False
        note_apart(100 * (told / expected - 1) if expected else 0.0, "%")
        return True
    return told == expected


def told_of(name: str, sections: dict[str, Any]) -> Any:
    """What the report says to one expectation."""
    bare = name.removeprefix("~")
    if bare == "diary":
        return {key: number["value"] for key, number in sections["job_diary"]["numbers"].items()}
    if bare in ("restarts", "runs") and "job_diary" in sections:
        column = {"restarts": "restart_step", "runs": "run_began"}[bare]
        return {
            row["date"]: row[column] for row in sections["job_diary"]["tables"]["entries"]["rows"]
        }
    accounts = {
        row["account"]: row["time"] for row in sections["job"]["tables"]["accounts"]["rows"]
    }
    if bare in accounts:
        return None if accounts[bare] is None else accounts[bare] / 1e9
    if bare == "kept + skipped":
        return (accounts["kept steps"] + accounts["skipped updates"]) / 1e9
    if bare == "why":
        return [
            row["why_it_ended"] for row in sections["job_attempts"]["tables"]["attempts"]["rows"]
        ]
    if bare == "rate":
        return sections["job_rates"]["numbers"]["flops_per_second"]["value"]
    if bare == "finding":
        return " ".join(f["what"] for section in sections.values() for f in section["findings"])
    if bare == "elapsed":
        return sections["job"]["numbers"]["elapsed"]["value"] / 1e9
    if bare == "ettr 3 digits":
        return round(sections["job"]["numbers"]["ettr"]["value"], 3)
    return sections["job"]["numbers"].get(bare, {"value": None})["value"]


def check_file(program: Path, path: Path, expected: dict[str, Any]) -> Outcome:
    outcome = Outcome(path.name)
    done = subprocess.run([program, "ettr", "--json", path], capture_output=True, check=False)
    if done.returncode != 0:
        outcome.check(False, done.stderr.decode(errors="replace"))
        return outcome
    sections = json.loads(done.stdout)["ranks"][0]["sections"]
    for name, value in expected.items():
        told = told_of(name, sections)
        if isinstance(value, dict):
            for key, part in value.items():
                outcome.check(
                    told.get(key) == part, f"{name} of {key}: {told.get(key)}, not {part}"
                )
        elif name == "finding":
            outcome.check(value in told, f"no finding says {value}")
        else:
            outcome.check(same(name, told, value), f"{name}: {told}, not {value}")
    return outcome


def check_sums(program: Path, path: Path, total: Outcome) -> None:
    """Of every log there is: the accounts add up, or it is refused with words and no crash."""
    done = subprocess.run([program, "ettr", "--json", path], capture_output=True, check=False)
    total.check(done.returncode in (0, 3, 4, 5), f"{path.name}: exit {done.returncode}")
    if done.returncode != 0:
        total.check(path.name in done.stderr.decode(), f"{path.name}: the error does not name it")
        return
    sections = json.loads(done.stdout)["ranks"][0]["sections"]
    if "job" not in sections:
        return
    rows = sections["job"]["tables"]["accounts"]["rows"]
    parts = sum(row["time"] or 0 for row in rows if row["depth"] == 1)
    total.check(parts == rows[0]["time"], f"{path.name}: {parts} ns are not {rows[0]['time']} ns")


def main() -> None:
    program = program_of(sys.argv)
    skip_without(LOGS)
    total = Outcome("job logs")
    for name, expected in EXPECTED.items():
        path = next((f / name for f in (LOGS, REGRESSIONS) if (f / name).exists()), None)
        if path:
            total.add(check_file(program, path, expected))
        else:
            total.skipped += 1
    for path in sorted(LOGS.iterdir()):
        check_sums(program, path, total)
    if total.lines:
        print("\n".join(total.lines))
    total.finish()


if __name__ == "__main__":
    main()
