"""Lines of steps and checkpoints as training programs write them, each version and launcher in its own way."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Dialect:
    name: str
    text: str
    format: str
    made: int
    last: int
    kept_s: float | None  # None: not told
    elapsed_s: float | None = None
    more: dict[str, Any] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)  # what other files of the job say


def megatron(
    step: int, head: str = " ", tail: str = "", unit: str = "ms", each: str = "2000.0"
) -> str:
    return (
        f"{head}iteration {step:8d}/{50:8d} | consumed samples: {step * 8:12d} | elapsed time per iteration ({unit}): {each} |"
        f" learning rate: 1.000000E-04 | global batch size:     8 | lm loss: 2.500000E+00 |{tail} loss scale: 1.0 |"
        " grad norm: 1.000 | number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


def stamped(before: str, after: str) -> str:
    """Two steps of 2 s, the times between `before` and `after`."""
    return "\n".join(megatron(s, f"{before}2025-03-05 09:00:{s * 2:02d}{after} ") for s in (1, 2))


def mllog(ms: int, key: str, value: str = "null", **metadata: Any) -> str:
    return (
        f':::MLLOG {{"namespace": "", "time_ms": {1_741_165_200_000 + ms if ms >= 0 else 0}, "event_type": "X", '
        f'"key": "{key}", "value": {value}, "metadata": {json.dumps(metadata)}}}'
    )


def bar(done: int, total: int, seconds: int, head: str = "", rest: str = "1.0it/s") -> str:
    clock = f"{seconds // 60:02d}:{seconds % 60:02d}"
    return f"{head}{done * 100 // total:3d}%|###   | {done}/{total} [{clock}<01:00,  {rest}]"


NEOX = "\n".join(
    f"[2023-07-25 21:03:{10 + 4 * s},500] [INFO] [logging.py:96:log_dist] [Rank 0] step={s}, skipped=0, lr=[1e-06]\n"
    f"[2023-07-25 21:03:{10 + 4 * s},900] [INFO] [timer.py:215:stop] epoch=0/micro_step={4 * s}/global_step={s}, "
    "RunningAvgSamplesPerSec=7.8, CurrSamplesPerSec=8.0\n"
    f" samples/sec: 7.799 | iteration {s:8d}/   10000 | elapsed time per iteration (ms): 4000.0 | learning rate: 2.1E-06 |"
    " approx flops per GPU: 112.9TFLOPS | lm_loss: 1.118665E+01 | number of skipped iterations:   0 |"
    " number of nan iterations:   0 |\ntime (ms) | forward: 659.86 | backward: 2164.69"
    for s in (1, 2, 3)
)

MODDED_WARMUP = "\n".join(
    [
        "step:0/40 val_loss:16.0 train_time:278ms step_avg:nanms",
        *(
            f"step:{s}/40 train_loss:9.0 train_time:{30_000 + 100 * s}ms step_avg:nanms"
            for s in range(1, 11)
        ),
        *(
            f"step:{s}/40 train_loss:9.0 train_time:{(s - 10) * 100}ms step_avg:100.00ms"
            for s in range(11, 21)
        ),
    ]
)

BLOCKS = "\n".join(
    [
        mllog(0, "init_start"),
        mllog(1_000, "global_batch_size", "64"),
        mllog(10_000, "run_start"),
        mllog(10_000, "epoch_start", epoch_num=1),
        mllog(110_000, "eval_start", epoch_num=1),
        mllog(120_000, "eval_stop", epoch_num=1),
        mllog(220_000, "eval_start", epoch_num=2),
        mllog(230_000, "eval_stop", epoch_num=2),
        mllog(230_001, "epoch_stop", epoch_num=2),
        mllog(230_002, "run_stop"),
    ]
)

TOKENS = 8 * 16  # of a step
OPEN_BLOCKS = "\n".join(
    [
        mllog(-1, "cache_clear", "true"),
        mllog(0, "init_start"),
        mllog(1, "global_batch_size", "8"),
        mllog(2, "max_sequence_length", "16"),
        mllog(10_000, "run_start"),
        mllog(40_000, "block_stop", first_epoch_num=0),
        *(
            line
            for n in range(1, 4)
            for line in (
                mllog(
                    10_000 + 30_000 * n,
                    "block_start",
                    epoch_count=10 * TOKENS,
                    first_epoch_num=10 * TOKENS * n,
                ),
                mllog(40_000 + 30_000 * n, "block_stop", first_epoch_num=10 * TOKENS * n),
            )
        ),
        mllog(130_000, "run_stop"),
    ]
)


def dlrover(second: float, mark: str, kind: str, data: str) -> str:
    minute, second = divmod(second, 60)
    return f"[2025-04-21T23:{int(minute):02d}:{second:09.6f}] [426] [22b7ca89] [AtorchTrainerV2] [#{mark}] [{kind}] {{{data}}}"


# checkpoints prove steps 3 to 102 and 103 to 202; the rates of a step come behind its end
DLROVER_SAVES = "\n".join(
    [
        dlrover(0, "step", "BEGIN", '"global_step": 0, "epoch": 0'),
        dlrover(10, "step", "END", '"global_step": 1, "epoch": 0.1'),
        dlrover(10, "log", "INSTANT", '"global_step": 1, "logs": {"TFLOPS": 100.0, "lr": 0.1}'),
        dlrover(10, "step", "BEGIN", '"global_step": 1'),
        dlrover(20, "step", "END", '"global_step": 2'),
        dlrover(20, "log", "INSTANT", '"global_step": 2, "logs": {"TFLOPS": 300.0, "lr": 0.1}'),
        dlrover(520, "save", "BEGIN", '"global_step": 102'),
        dlrover(530, "save", "END", '"global_step": 102'),
        dlrover(1030, "save", "BEGIN", '"global_step": 202'),
        dlrover(1040, "save", "END", '"global_step": 202'),
    ]
)

# DeepSpeed's engine skips one of two steps; their number follows from their rate
OVERFLOW = "\n".join(
    [
        "[2021-05-26 04:50:00,000] [INFO] [config.py:752:print] DeepSpeedEngine configuration:",
        "[2021-05-26 04:51:40,000] [INFO] [logging.py:60:log_dist] [Rank 0] step=0, skipped=0, lr=[5e-05], mom=[0.9]",
        "[2021-05-26 04:55:00,000] [INFO] [stage3.py:2708:_overflow_clean_up] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
        "Attempted loss scale: 256, reducing to 128",
        *[
            "{'train_runtime': 200.0, 'train_samples_per_second': 3.6, 'train_steps_per_second': 0.01, 'epoch': 1.0}"
        ]
        * 4,
        "[2021-05-26 04:55:00,000] [INFO] [engine.py:1867:save_fp16_model] Did not save the model",
    ]
)


def modded_run(run: int, steps: int = 40) -> str:
    """A complete run; each takes as long."""
    return "\n".join(
        f"step:{s}/{steps} val_loss:{4 - s / 99 + run / 999:.5f} train_time:{s * 0.5:.3f}s step_avg:500.00ms"
        for s in range(0, steps + 1, 5)
    )


def state(step: int, runtime_s: float | None = None, predicts: bool = False) -> str:
    """A trainer_state.json of a job that logs each tenth step."""
    history: list[dict[str, Any]] = []
    for s in range(10, step + 1, 10):
        history.append({"loss": 3 - s / 64, "step": s})
        if predicts:
            history.append({"eval_loss": 2.5, "eval_runtime": 30.0, "step": s})
            history.append({"predict_loss": 2.5, "predict_runtime": 40.5, "epoch": 0.5})
            history.append({"test_bleu": 12.5, "test_runtime": 9.5, "epoch": 0.5})
    if runtime_s is not None:
        history.append({"step": step, "train_loss": 2.5, "train_runtime": runtime_s})
    return json.dumps({"global_step": step, "max_steps": 45, "log_history": history})


# what lines mean that look like others, and what they leave open
WHAT_LOGS_CANNOT_TELL = [
    *(
        Dialect(
            f"times are told with their zone: {zone!r}",
            "\n".join(megatron(s, f"[2025-03-05T09:00:{s * 2:02d}{zone}] ") for s in (1, 2)),
            "megatron",
            2,
            2,
            4.0,
            4.0,
            {"begins": begins},
        )
        for zone, begins in (
            ("", "2025-03-05 09:00:00"),
            ("Z", "2025-03-05 09:00:00 UTC"),
            ("+08:00", "2025-03-05 01:00:00 UTC"),
        )
    ),
    Dialect(
        "predictions are no training",
        state(40, 500.0, predicts=True),
        "hf-trainer-state",
        40,
        40,
        500.0 - 4 * 80.0,
        more={"evaluations": 4 * 80.0},
    ),
    Dialect(
        "a prediction within training",
        bar(10, 20, 20)
        + "{'predict_loss': 1.2, 'predict_runtime': '4.0', 'epoch': '0.5'}\n"
        + bar(20, 20, 44)
        + "\n{'train_runtime': '44', 'train_loss': '0.28', 'epoch': '1'}\n",
        "hf-trainer",
        20,
        20,
        40.0,
        more={"evaluations": 4.0},
    ),
    Dialect(
        "a step that an engine skipped",
        OVERFLOW,
        "hf-trainer",
        2,
        2,
        100.0,
        300.0,
        {"skipped updates": 100.0, "startup": 100.0},
    ),
    Dialect(
        "checkpoints that prove steps",
        DLROVER_SAVES,
        "dlrover-events",
        202,
        202,
        1020.0,
        1040.0,
        {"tflops": 200.0, "checkpoints": 20.0, "startup": None},
    ),
    Dialect(
        "complete runs one after another",
        "\n".join(modded_run(run) for run in range(4)),
        "nanogpt",
        160,
        40,
        80.0,
        more={"discarded steps": 0.0, "evaluations": None, "checkpoints": None},
    ),
    Dialect(
        "a run that broke off, made again",
        modded_run(0).rsplit("\n", 2)[0] + "\n" + modded_run(1),
        "nanogpt",
        70,
        40,
        20.0,
        more={"discarded steps": 15.0, "kept": 40},
    ),
]
