"""Makes random runs as MLPerf's benchmarks log them, each in its own way, whose accounts are known.

All times are whole milliseconds and all lengths of steps too, so that what a log says is what happened.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from dialect_lines import mllog

# how the lines tell of steps
STYLES = (
    "blocks name their start",  # NeMo since v5.0: block_stop has the samples that the block began with
    "blocks name their end",  # NeMo before
    "blocks of samples, evaluated at last",  # stable diffusion: the last block's end is told by nothing
    "blocks of tokens, steps told",  # GPT-3: a line a step
    "evaluations name the step",  # step_num
    "epochs, evaluated beside training",  # object detection: the next epoch begins before eval_stop
    "epochs of parts",  # recommendation, graphs: shares of an epoch
    "evaluations without a length",  # eval_accuracy alone
)


@dataclass
class Run:
    """Lines in the order of the file, and what is right."""

    style: str
    lines: list[str] = field(default_factory=list)
    startup_ms: int = 0
    kept_ms: int = 0
    evaluations_ms: int | None = 0  # None: not told
    elapsed_ms: int = 0
    steps: int = 0
    is_numbered: bool = True
    devices: int = 1


class Writer:
    def __init__(self, run: Run, rng: random.Random) -> None:
        self.run, self.rng, self.at_ms, self.last_ms = run, rng, 0, 0

    def say(self, key: str, value: str = "null", at_ms: int | None = None, **data: object) -> None:
        ms = self.at_ms if at_ms is None else at_ms
        self.last_ms = max(self.last_ms, ms)
        rank = self.rng.choice(("", "0: ", " 0: ", "[1,0]<stdout>: "))
        self.run.lines.append(rank + mllog(ms, key, value, **data))

    def noise(self, text: str) -> None:
        self.run.lines.append(text)

    def train(self, ms: int) -> None:
        self.at_ms += ms
        self.run.kept_ms += ms

    def evaluate(self, ms: int) -> None:
        self.at_ms += ms
        if self.run.evaluations_ms is not None:
            self.run.evaluations_ms += ms


def begin(out: Writer, batch: int, sequence: int) -> None:
    rng, run = out.rng, out.run
    run.devices = rng.choice((1, 8, 64))
    out.noise("+ srun -l --mpi=pmix ./run_and_time.sh")
    out.noise("Error: /datasets is incorrect. Expected 2, but found 1.")
    out.say("cache_clear", "true")
    out.at_ms += rng.randrange(1000, 60_000)
    for _ in range(run.devices):
        out.say("init_start")
    out.noise(f"0: Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/{run.devices}")
    out.say("global_batch_size", str(batch))
    if sequence:
        out.say("max_sequence_length", str(sequence))
    out.at_ms += rng.randrange(1000, 600_000)
    out.say("init_stop")
    out.say("run_start")
    run.startup_ms = out.at_ms


def blocks(out: Writer, batch: int, ends: bool) -> None:
    """Each evaluated; some with losses in between, as often as the steps of ten."""
    rng, each, done = out.rng, out.rng.randrange(20, 2000), 0
    has_losses = rng.random() < 0.7
    for number in range(rng.randrange(1, 7)):
        count = rng.randrange(20, 60) if number == 0 else rng.randrange(3, 20)
        start = done
        out.say("block_start", samples_count=start * batch)
        for _ in range(count):
            out.train(each)
            done += 1
            if has_losses and done % 10 == 0:
                out.say("train_loss", "1.5", samples_count=done * batch, lr=0.0004)
        mean = '{"throughput": 5.2, "train_step_time": %.6f, "max_memory_usage": 30.0}'
        out.say("tracked_stats", mean % (each / 900), step=start * batch)
        out.say("block_stop", samples_count=(done if ends else start) * batch)
        out.say("eval_start", samples_count=done * batch)
        out.evaluate(rng.randrange(100, 20_000))
        out.say("eval_accuracy", "0.93", samples_count=done * batch)
        out.say("eval_stop", samples_count=done * batch)
    out.run.steps = done
    out.say("run_stop", samples_count=done * batch, status="success")


def diffusion_blocks(out: Writer, batch: int) -> None:
    """All as long; evaluated by other processes when training is over; run_stop tells of a time long ago."""
    rng, each, size = out.rng, out.rng.randrange(100, 300), out.rng.randrange(50, 500)
    count, stop_ms = rng.randrange(3, 7), 0
    for number in range(count):
        start = number * size * batch
        out.say("block_start", '"training_step"', samples_count=start)
        out.train(size * each)
        out.say("block_stop", '"training_step"', samples_count=start)
        out.say(
            "tracked_stats",
            f'{{"throughput": 2000.0, "train_step_time": {each / 1000}}}',
            step_num=number * size,
        )
        stop_ms = out.at_ms if number == count - 2 else stop_ms
        out.at_ms += rng.randrange(1, 3000)
    out.noise("0: Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8")
    out.noise("0: All distributed processes registered. Starting with 8 processes")
    for number in range(2, count):
        out.at_ms += rng.randrange(1000, 90_000)
        out.say("eval_start", samples_count=number * size * batch)
        out.evaluate(rng.randrange(1000, 700_000))
        out.say("eval_accuracy", "96.1", samples_count=number * size * batch, metric="FID")
        out.say("eval_stop", samples_count=number * size * batch)
    out.run.steps = count * size
    out.say("run_stop", at_ms=stop_ms, status="success", step_num=(count - 1) * size)


def token_blocks(out: Writer, batch: int, sequence: int) -> None:
    rng, each, done = out.rng, out.rng.randrange(100, 9000), 0
    size = rng.randrange(2, 12)
    unit = batch * sequence
    out.say("epoch_start", epoch_num=0)
    for _ in range(rng.randrange(1, 6)):
        place = {"first_epoch_num": done * unit, "epoch_count": size * unit}
        out.say("block_start", **place)
        for _ in range(size):
            out.train(each)
            done += 1
            value = f'{{"train_step_timing in s": {each / 1000:.3f}}}'
            out.say("tracked_stats", value, step=done * unit)
        out.say("block_stop", **place)
        out.say("eval_start", epoch_num=done * unit)
        out.evaluate(rng.randrange(100, 20_000))
        out.say("eval_stop", epoch_num=done * unit)
    out.run.steps = done
    out.say("run_stop", status="success")
    out.say("epoch_stop", epoch_num=done * unit)


def named_steps(out: Writer, batch: int) -> None:
    rng, each, size = out.rng, out.rng.randrange(100, 5000), out.rng.randrange(5, 200)
    out.say("epoch_start", "0", epoch_num=0)
    for number in range(1, rng.randrange(2, 9)):
        out.train(size * each)
        out.run.steps += size
        done = number * size
        out.say("eval_start", epoch_num=done * batch, step_num=done)
        out.evaluate(rng.randrange(100, 90_000))
        out.say("eval_stop", epoch_count=done * batch, step_num=done, samples_count=10_240)
    out.say("epoch_stop", epoch_num=out.run.steps * batch)
    out.say("run_stop", status="success")


def epochs_beside(out: Writer) -> None:
    """What of an evaluation lies before the next epoch held training up."""
    rng, count = out.rng, out.rng.randrange(1, 6)
    late_ms = 0
    for number in range(count):
        out.say("epoch_start", str(number), epoch_num=number)
        ms = rng.randrange(50_000, 200_000)
        if late_ms:
            out.train(late_ms)
            out.say("eval_accuracy", "0.2", epoch_num=number)
            out.say("eval_stop", str(number), epoch_num=number)
        out.train(ms)
        out.say("epoch_stop", str(number), epoch_num=number)
        out.say("tracked_stats", '{"throughput": 208.6}', step=number + 1)
        out.say("eval_start", str(number + 1), epoch_num=number + 1)
        out.evaluate(rng.randrange(1000, 20_000))
        late_ms = rng.choice((0, rng.randrange(1, 9000)))
        if late_ms == 0 or number == count - 1:
            out.say("eval_stop", str(number + 1), epoch_num=number + 1)
            late_ms = 0
    out.run.steps = count
    out.run.is_numbered = False
    out.say("run_stop", status="success")


def parts_of_epoch(out: Writer) -> None:
    rng, count = out.rng, out.rng.randrange(2, 15)
    out.at_ms += rng.randrange(0, 30_000)
    out.say("epoch_start", epoch_num=0)
    for number in range(1, count + 1):
        out.train(rng.randrange(5000, 9000))
        out.say("eval_start", epoch_num=number * 0.04998)
        out.evaluate(rng.randrange(100, 2000))
        out.say("eval_stop", epoch_num=number * 0.04998)
    out.run.steps = count
    out.run.is_numbered = False
    out.say("epoch_stop", epoch_num=count * 0.04998)
    out.say("run_stop", status="success", epoch_num=count * 0.04998)


def untold_evaluations(out: Writer, batch: int, sequence: int) -> None:
    rng, each, size, done = out.rng, out.rng.randrange(1000, 9000), out.rng.randrange(2, 9), 0
    unit = batch * sequence
    for _ in range(rng.randrange(2, 8)):
        out.say("block_start", epoch_count=size * unit, first_epoch_num=done * unit)
        out.train(size * each)
        out.say("block_stop", first_epoch_num=done * unit)
        done += size
        out.say("eval_accuracy", "2.7", epoch_num=done * unit)
    out.run.steps = done
    out.run.evaluations_ms = None
    out.say("run_stop", status="success")
    out.say("train_samples", str(done * unit))


def make_run(seed: int) -> Run:
    rng = random.Random(seed)
    run = Run(STYLES[seed % len(STYLES)])
    out = Writer(run, rng)
    batch = rng.choice((8, 64, 256, 768))
    has_sequence = "tokens" in run.style or "without a length" in run.style
    sequence = rng.choice((128, 2048)) if has_sequence else 0
    begin(out, batch, sequence)
    if "start" in run.style or "end" in run.style:
        blocks(out, batch, ends="end" in run.style)
    elif "samples" in run.style:
        diffusion_blocks(out, batch)
    elif "tokens" in run.style:
        token_blocks(out, batch, sequence)
    elif "name the step" in run.style:
        named_steps(out, batch)
    elif "beside" in run.style:
        epochs_beside(out)
    elif "parts" in run.style:
        parts_of_epoch(out)
    else:
        untold_evaluations(out, batch, sequence)
    run.elapsed_ms = out.last_ms
    return run
