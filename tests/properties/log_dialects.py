#!/usr/bin/env python3
"""Lines of steps as versions and launchers write them: does `flopledger ettr` read each as a reader of the log would?

    tests/properties/log_dialects.py PROGRAM

All logs are made here. Ends with a line of counts.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from dialect_lines import (  # noqa: E402
    BLOCKS,
    MODDED_WARMUP,
    NEOX,
    OPEN_BLOCKS,
    WHAT_LOGS_CANNOT_TELL,
    Dialect,
    bar,
    megatron,
    stamped,
    state,
)

DIALECTS = [
    # names of launchers and times before the line
    *(
        Dialect(f"prefix {before!r} {after!r}", stamped(before, after), "megatron", 2, 2, 4.0, 4.0)
        for before, after in (
            ("[", "]"),
            (" [", "]"),
            ("[default7]: [", "]"),
            ("[default7]:[rank7]: [", "]"),
            ("[lrdn3321:3]: [", "]"),
            ("0: [", "]"),
            ("  7: [", "]"),
            ("[1,0]<stdout>: [", "]"),
            ("[1,mpirank:0,algo-1]<stdout>: [", "]"),
            ("(TrainWorker pid=1234, ip=10.0.0.1) [", "]"),
            ("train_fp8_mx/0  [", "]"),
            ("worker-1  | [", "]"),
            ("[pod/train-master-0/pytorch] [", "]"),
            ("\x1b[36m(RayTrainWorker pid=1)\x1b[0m [", "]"),
            ("", ".123 | INFO     | train:log:12 -"),
            ("\ufeff[", "]"),
        )
    ),
    Dialect(
        "time of kubernetes before that of the program",
        "\n".join(
            megatron(s, f"2025-03-05T08:00:0{s * 2}.123456789Z [2025-03-05 09:00:0{s * 2}] ")
            for s in (1, 2)
        ),
        "megatron",
        2,
        2,
        4.0,
        4.0,
    ),
    *(
        Dialect(
            name,
            "\n".join(megatron(s, form.format(s * 2)) for s in (1, 2)),
            "megatron",
            2,
            2,
            4.0,
            4.0,
        )
        for name, form in (
            ("glog", "I0305 09:00:{:02d}.000000 140 train.py:12] "),
            ("glog with the year", "I20250305 09:00:{:02d}.000000 140 train.py:12] "),
            ("syslog", "Mar  5 09:00:{:02d} node12 python[123]: "),
            ("no year", "INFO 03-05 09:00:{:02d} train.py:12] "),
            ("day first", "05.03.2025 09:00:{:02d} "),
        )
    ),
    # Megatron-LM and its children
    Dialect(
        "seconds",
        "\n".join(megatron(s, unit="s", each="2.5000") for s in (10, 20)),
        "megatron",
        20,
        20,
        50.0,
    ),
    Dialect(
        "mean beside",
        "\n".join(megatron(s, each="2000.0/2010.0") for s in (1, 2)),
        "megatron",
        2,
        2,
        4.0,
    ),
    Dialect(
        "no last step",
        "\n".join(megatron(s).replace("/      50", "/infinity") for s in (1, 2)),
        "megatron",
        2,
        2,
        4.0,
    ),
    Dialect(
        "the oldest",
        "\n".join(
            f" iteration {s:8d}/  320000 | elapsed time per iteration (ms): 500.0 | learning rate 1.5E-06 |"
            " lm loss 9.3E+00 | loss scale 32768.0 |\ntime (ms) | forward: 120.00 | backward: 300.00"
            for s in (100, 200, 300)
        ),
        "megatron",
        300,
        300,
        150.0,
    ),
    Dialect("times of DeepSpeed's engine", NEOX, "megatron", 3, 3, 12.0, 12.0, {"tflops": 112.9}),
    Dialect(
        "an engine's step 0 before",
        "[2021-05-27 19:54:20,386] [INFO] [logging.py:60:log_dist] [Rank 0] step=0, skipped=0, lr=[1e-05], mom=[0.9]\n"
        + "\n".join(megatron(s) for s in (1, 2, 3)),
        "megatron",
        3,
        3,
        6.0,
    ),
    Dialect(
        "progress.txt whose throughput counts more than the job",
        "2025-02-24 17:31:25\tJob ID: 1\t# GPUs: 8\tStarting job\n"
        "2025-02-24 17:35:03\tJob ID: 1\t# GPUs: 8\tSaved checkpoint\tIteration: 100\tJob throughput: 360.0 TFLOP/s/GPU\t"
        "Cumulative throughput: 387.0 TFLOP/s/GPU\tFloating-point operations: 6.76e+17\tTokens (in billions): 0.05\n",
        "megatron-progress",
        100,
        100,
        218.0,
        218.0,
    ),
    # DeepSpeed
    Dialect(
        "several losses",
        "\n".join(
            f"steps: {s} loss: 5.56 lm loss: 5.52 moe loss: 0.04 iter time (s): 0.500 samples/sec: 10.0"
            for s in (1, 2)
        ),
        "deepspeed",
        2,
        2,
        1.0,
    ),
    Dialect(
        "only the timer",
        "\n".join(
            f"[2023-07-25 21:03:{10 + s},000] [INFO] [timer.py:215:stop] epoch=0/micro_step={4 * s}/global_step={s}, "
            "RunningAvgSamplesPerSec=7.8"
            for s in (1, 2, 3)
        ),
        "deepspeed",
        3,
        3,
        2.0,
        2.0,
    ),
    # Hugging Face Trainer
    Dialect(
        "a dictionary before the first bar",
        "{'loss': '0.13', 'grad_norm': '0.14', 'learning_rate': '2.7e-05', 'epoch': '0.5'}\n"
        + bar(10, 20, 20)
        + "{'eval_loss': '1.2', 'eval_runtime': '4.0', 'epoch': '0.5'}\n"
        + bar(20, 20, 44)
        + "\n{'train_runtime': '44', 'train_loss': '0.28', 'epoch': '1'}\n",
        "hf-trainer",
        20,
        20,
        40.0,
    ),
    Dialect(
        "a bar of each node, one after another",
        "\n".join(bar(done, 4, done * 10 + node) for node in range(3) for done in range(5))
        + "\n{'train_runtime': 40.0, 'train_loss': 0.28, 'epoch': 1.0}\n",
        "hf-trainer",
        4,
        4,
        40.0,
    ),
    Dialect(
        "a bar of each rank, one among another",
        "\n".join(
            bar(done, 40, max(0, done * 10 - rank)) for done in range(41) for rank in range(3)
        )
        + "\n{'train_runtime': 400.0, 'train_loss': 0.28, 'epoch': 1.0}\n",
        "hf-trainer",
        40,
        40,
        400.0,
    ),
    Dialect(
        "a bar and nothing else",
        "".join("\r" + bar(done, 40, done * 2) for done in range(41)),
        "hf-trainer",
        40,
        40,
        80.0,
    ),
    Dialect(
        "only the whole",
        "{'train_runtime': 273.0, 'train_samples_per_second': 3.663, 'train_loss': 2.0, 'epoch': 1.0}\n",
        "hf-trainer",
        1,
        1,
        273.0,
    ),
    # trainer_state.json
    Dialect(
        "a state whose last steps have no loss",
        '{"global_step": 45, "max_steps": 45, "log_history": [{"loss": 8.3, "step": 10}, {"loss": NaN, "step": 20}, '
        '{"loss": 0.5, "step": 40}, {"step": 45, "train_loss": 2.4, "train_runtime": 450.0}]}\n',
        "hf-trainer-state",
        45,
        45,
        450.0,
    ),
    Dialect(
        "a state with one loss",
        '{"global_step": 12, "logging_steps": 10, "max_steps": 12, "log_history": [{"epoch": 2.5, "loss": 0.0, "step": 10}]}',
        "hf-trainer-state",
        12,
        12,
        None,
    ),
    Dialect(
        "a state without a loss",
        '{"global_step": 15, "logging_steps": 500, "max_steps": 15,'
        ' "log_history": [{"step": 15, "train_loss": 2.4, "train_runtime": 30.0}]}',
        "hf-trainer-state",
        15,
        15,
        30.0,
    ),
    *WHAT_LOGS_CANNOT_TELL,
    Dialect(
        "states of several checkpoints",
        state(20),
        "hf-trainer-state",
        45,
        45,
        450.0,
        beside=[state(45), state(45, 450.0)],
    ),
    Dialect(
        "a log and the state of its end",
        "\n".join(
            bar(s, 45, s * 10) + (f"\n{{'loss': {3 - s / 64}, 'epoch': 1}}" if s % 10 == 0 else "")
            for s in range(1, 46)
        )
        + "\n{'train_runtime': 450.0, 'train_loss': 2.5, 'epoch': 1.0}\n",
        "hf-trainer, hf-trainer-state",
        45,
        45,
        450.0,
        beside=[state(45, 450.0)],
    ),
    Dialect(
        "objects with steps",
        "\n".join(f'{{"learning_rate": 4.8e-05, "loss": 0.5, "step": {s}}}' for s in (50, 100)),
        "hf-trainer",
        100,
        100,
        None,
    ),
    # torchtitan
    Dialect(
        "modules as loggers, words a second",
        "\n".join(
            f"[rank0]:[titan] 2026-09-11 23:05:4{s},000 - torchtitan.trainer - INFO - step: {s}  loss:  3.24405  "
            "grad_norm:  0.8319  memory:  9.46GiB(64.99%)  wps: 7,282  mfu: 20.00%"
            for s in (1, 2, 3)
        ),
        "torchtitan",
        3,
        3,
        2.0,
        2.0,
    ),
    # MaxText
    Dialect(
        "older",
        "\n".join(
            f"completed step: {s}, seconds: 2.000, TFLOP/s: 36.700, loss: 2.191" for s in (7, 8)
        ),
        "maxtext",
        2,
        8,
        4.0,
        more={"tflops": 36.7},
    ),
    Dialect(
        "without its first word",
        "\n".join(
            f"step: {s}, seconds: 2.000, TFLOP/s/device: 464.000, Tokens/s/device: 431.3, loss: 0.0"
            for s in (7, 8)
        ),
        "maxtext",
        2,
        8,
        4.0,
        more={"tflops": 464.0},
    ),
    # NeMo
    Dialect(
        "bar with two colons",
        "\n".join(
            bar(s, 100, s * 3, "Epoch 0: : ", f"reduced_train_loss=0.0182, global_step={s - 1}.00")
            for s in range(97, 101)
        ),
        "lightning",
        99,
        99,
        300.0,
    ),
    Dialect(
        "consumed samples early or never",
        "\n".join(
            f"Training epoch 0, iteration {s}/249 | lr: 1.9e-06 |{' consumed_samples: 8 |' if s else ''} global_step: {s} |"
            " reduced_train_loss: 1.315 | train_step_timing in s: 2.5 | val_loss: 4.1"
            for s in range(3)
        ),
        "nemo",
        3,
        2,
        7.5,
    ),
    Dialect(
        "DLLogger",
        "\n".join(
            f'DLLL {{"timestamp": "{1739210331 + 5 * s}.500000", "datetime": "2025-02-10 17:58:51.5", "type": "LOG", "step": {s}, '
            '"data": {"reduced_train_loss": 10.9, "global_step": 1.0, "train_step_timing in s": 5.0, "epoch": 0}}'
            for s in (1, 2, 3)
        ),
        "nemo",
        3,
        3,
        15.0,
        15.0,
    ),
    # Lightning
    Dialect(
        "a bar that is not drawn",
        "\n".join(
            f"Epoch 0:  {s * 10}% {s}/10 [00:{s * 3:02d}<01:18,  3.0s/it, loss=0.4, v_num=1]"
            for s in range(1, 6)
        ),
        "lightning",
        5,
        5,
        15.0,
    ),
    Dialect(
        "a run that goes on",
        "\n".join(
            bar(s, 100, s * 2, "Epoch 7: ", f"v_num=1, global_step={5000 + s}.0")
            for s in range(1, 6)
        ),
        "lightning",
        5,
        5005,
        8.0,
    ),
    Dialect(
        "nobody knows how many",
        "Sanity Checking: 0it [00:00, ?it/s]\nEpoch 0: : 0it [00:00, ?it/s]\nValidation: 0it [00:00, ?it/s]\n"
        + "\n".join(
            f"Epoch 0: : {s}it [00:{s * 3:02d},  3.00s/it, v_num=0, train_loss=13.0]"
            for s in range(1, 6)
        ),
        "lightning",
        5,
        5,
        15.0,
    ),
    Dialect(
        "a bar of epochs",
        "\n".join(
            bar(s, 20, s * 2, f"Epoch {s}/20: ", "v_num=1, train_loss_step=9.58e+3")
            for s in range(1, 21)
        )
        + "`Trainer.fit` stopped: `max_epochs=20` reached.",
        "lightning",
        20,
        20,
        40.0,
        more={"ending": "completed"},
    ),
    # nanoGPT and its relatives
    Dialect(
        "build-nanogpt",
        "\n".join(
            f"step {s:4d} | loss: 9.22 | lr: 1.8000e-04 | norm: 5.6  | dt: 2000.00ms | tok/sec: 193208.23"
            for s in range(3)
        ),
        "nanogpt",
        3,
        2,
        6.0,
    ),
    Dialect(
        "a bar before the fields",
        "\n".join(
            f"step {s:4d}| loss: 9.22 | norm: 5.6  | dt: 2000.00ms | tok/sec: 193,208"
            for s in range(3)
        ),
        "nanogpt",
        3,
        2,
        6.0,
    ),
    Dialect(
        "per cent of a time budget",
        "".join(
            f"\rstep {s:05d} ({s}.0%) | loss: 4.12 | lrm: 0.04 | dt: 100ms | tok/sec: 4,429 | mfu: 41.2% | epoch: 1 |"
            for s in range(9)
        ),
        "nanogpt",
        9,
        8,
        0.9,
    ),
    Dialect(
        "no MFU",
        "\n".join(
            f"step {s:4d}/74 | loss 4.28 (+nanz)| norm 13.0 (+nanz)| lr 3.00e-04 | 250.00 ms | -100.0% bf16 MFU | 11720 tok/s"
            for s in range(1, 5)
        ),
        "nanogpt",
        4,
        4,
        1.0,
        more={"mfu": None},
    ),
    Dialect(
        "an evaluation within an iteration",
        "\n".join(
            [
                *(
                    f"2023-03-22 09:30:{s:02d} iter {s}: loss 4.0, time 1000.00ms, mfu 15.0%"
                    for s in range(1, 6)
                ),
                "2023-03-22 09:30:39 step 6: train loss 4.0390, val loss 4.0427",
                "2023-03-22 09:30:40 iter 6: loss 4.0, time 35000.00ms, mfu 15.0%",
            ]
        ),
        "nanogpt",
        6,
        6,
        6.0,
        40.0,
        {"evaluations": 34.0},
    ),
    Dialect(
        "time of training in seconds",
        "\n".join(
            f"step:{s}/40 train_time:{s * 0.25:.3f}s step_avg:250.00ms" for s in range(1, 41)
        ),
        "nanogpt",
        40,
        40,
        10.0,
    ),
    Dialect(
        "steps told by evaluations",
        "\n".join(
            f"step:{s}/40 val_loss:4.62997 train_time:{s * 0.25:.3f}s step_avg:250.00ms"
            for s in range(0, 41, 10)
        ),
        "nanogpt",
        40,
        40,
        10.0,
    ),
    Dialect(
        "one line",
        "step:40/40 val_loss:3.27 val_bpb:1.1 train_time:10.000s step_avg:250.00ms",
        "nanogpt",
        40,
        40,
        10.0,
    ),
    Dialect("the first ten are warm-up", MODDED_WARMUP, "nanogpt", 20, 20, 32.0),
    # MLPerf
    Dialect("epochs and evaluations", BLOCKS, "mlperf", 2, 2, 200.0, 230.002),
    Dialect("blocks without a beginning", OPEN_BLOCKS, "mlperf", 40, 40, 120.0, 130.0),
    Dialect(
        "with a rank",
        "\n".join("[0] " + line for line in BLOCKS.split("\n")),
        "mlperf",
        2,
        2,
        200.0,
        230.002,
    ),
    # files as they come
    Dialect("a hole of zero bytes", "\0" * 300_000 + stamped("[", "]"), "megatron", 2, 2, 4.0, 4.0),
    Dialect(
        "a hole in the middle",
        stamped("[", "]").replace("\n", "\n" + "\0" * 70_000),
        "megatron",
        2,
        2,
        4.0,
        4.0,
    ),
    Dialect(
        "bytes that are no UTF-8",
        "\udc80\udcfe\udcff junk\n" + stamped("[", "]") + "\n\udcc3(",
        "megatron",
        2,
        2,
        4.0,
        4.0,
    ),
    Dialect(
        "each line twice",
        "\n".join(x for x in stamped("[", "]").split("\n") for _ in range(2)),
        "megatron",
        2,
        2,
        4.0,
        4.0,
    ),
]

# What is no log: (name, bytes, words of the message)
REFUSED = [
    ("empty", b"", "empty"),
    ("binary", bytes(range(256)) * 40, "not a log: byte 0 is zero"),
    ("zeros", b"\0" * 100, "is zero"),
    ("UTF-16", "﻿step 1".encode("utf-16-le"), "iconv -f UTF-16"),
    ("no training", b"hello\n" * 100, "--pattern"),
    ("cut gzip", gzip.compress(stamped("[", "]").encode() * 50)[:20], "ends in the middle"),
]


# Words for steps without an update: nothing else tells of them, so silence is no zero.
SKIPPED_WORDS = ("number of skipped iterations", " skipped=", "inf_nan_skip_batches=", "OVERFLOW! ")


def told(program: str, paths: list[Path]) -> dict[str, Any]:
    done = subprocess.run([program, "ettr", "--json", *paths], capture_output=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr.decode(errors='replace')}")
    return json.loads(done.stdout)["ranks"][0]["sections"]


def near(value: float | None, wanted: float) -> bool:
    return value is not None and abs(value - wanted) < 1e-6 * max(1.0, wanted)


def problems_of(dialect: Dialect, sections: dict[str, Any]) -> list[str]:
    numbers = {key: x["value"] for key, x in sections["job"]["numbers"].items()}
    rows = {
        row["account"]: row.get("time") for row in sections["job"]["tables"]["accounts"]["rows"]
    }
    kept_ns = rows.get("kept steps")
    wanted = {
        "format": dialect.format,
        "steps_made": dialect.made,
        "steps_kept": dialect.more.get("kept", dialect.made),
        "last_step": dialect.last,
    }
    problems = [
        f"{key}: {numbers.get(key)}, not {value}"
        for key, value in wanted.items()
        if numbers.get(key) != value
    ]
    if dialect.kept_s is None:
        if kept_ns:
            problems.append(f"kept steps: {kept_ns} ns, though nothing tells")
    elif not near(kept_ns and kept_ns / 1e9, dialect.kept_s):
        problems.append(f"kept steps: {kept_ns} ns, not {dialect.kept_s} s")
    elapsed_ns = numbers.get("elapsed")
    if dialect.elapsed_s is None:
        if elapsed_ns is not None:
            problems.append(f"elapsed: {elapsed_ns} ns, though nothing tells")
    elif not near(elapsed_ns and elapsed_ns / 1e9, dialect.elapsed_s):
        problems.append(f"elapsed: {elapsed_ns} ns, not {dialect.elapsed_s} s")
    rate = sections["job_rates"]["numbers"]["flops_per_second"]["value"]
    if "tflops" in dialect.more and not near(rate and rate / 1e12, dialect.more["tflops"]):
        problems.append(f"rate: {rate}")
    if "mfu" in dialect.more and sections["job_rates"]["numbers"]["mfu"]["value"] is not None:
        problems.append(f"MFU: {sections['job_rates']['numbers']['mfu']}")
    skipped_ns = rows["skipped updates"]
    if (skipped_ns is not None) != any(word in dialect.text for word in SKIPPED_WORDS):
        problems.append(f"skipped updates: {skipped_ns} ns")
    attempts = sections["job_attempts"]["tables"]["attempts"]["rows"]
    if "ending" in dialect.more and attempts[-1]["why_it_ended"] != dialect.more["ending"]:
        problems.append(f"ending: {attempts[-1]['why_it_ended']}")
    if numbers["begins"] != dialect.more.get("begins", numbers["begins"]):
        problems.append(f"begins: {numbers['begins']}")
    for account in set(rows) & set(dialect.more):
        told_ns, wanted_s = rows[account], dialect.more[account]
        if wanted_s is None or told_ns is None:
            if told_ns != wanted_s:
                problems.append(f"{account}: {told_ns} ns, not {wanted_s} s")
        elif not near(told_ns / 1e9, wanted_s):
            problems.append(f"{account}: {told_ns} ns, not {wanted_s} s")
    if any("clock went back" in x["what"] for x in sections["job"]["findings"]):
        problems.append("the clock is said to have gone back")
    return problems


def main() -> int:
    program, failed = sys.argv[1], 0
    with tempfile.TemporaryDirectory(prefix="flopledger-dialects-") as folder:
        for number, dialect in enumerate(DIALECTS):
            paths = []
            for text in [dialect.text, *dialect.beside]:
                paths.append(Path(folder) / f"{number}_{len(paths)}.log")
                paths[-1].write_bytes((text + "\n").encode(errors="surrogateescape"))
            try:
                problems = problems_of(dialect, told(program, paths))
            except AssertionError as failure:
                problems = [str(failure)]
            failed += bool(problems)
            for problem in problems:
                print(f"FAILED: {dialect.name}: {problem}")
        for name, data, words in REFUSED:
            path = Path(folder) / "refused.log"
            path.write_bytes(data)
            done = subprocess.run([program, "ettr", path], capture_output=True, check=False)
            message = done.stderr.decode(errors="replace")
            if done.returncode != 3 or words not in message:
                failed += 1
                print(f"FAILED: {name}: exit {done.returncode}: {message}")
    print(f"{len(DIALECTS) + len(REFUSED) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
