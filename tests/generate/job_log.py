"""Makes random training jobs whose Level A accounts are known, and writes them as logs of several formats.

All times are whole milliseconds, so that what a log says is what happened. A job is a list of attempts; an attempt starts,
loads a checkpoint, makes steps in intervals that one line tells of, saves checkpoints, evaluates, pauses, and ends: it
completes, breaks, or hangs and is then killed. The next attempt goes on from a checkpoint, which may be an older one.
"""

from __future__ import annotations

import copy
import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

BEGINS_MS = 1_741_165_200_000  # 2025-03-05 09:00:00 UTC, a Wednesday
ACCOUNTS = (
    "kept steps",
    "skipped updates",
    "discarded steps",
    "checkpoints",
    "evaluations",
    "other between steps",
    "hang and detection",
    "startup",
    "downtime",
)


@dataclass
class Interval:
    """Steps that one line tells of, and what came between them and the next ones."""

    last_step: int
    count: int
    each_ms: int
    skipped: int = 0
    end_ms: int = 0  # of its steps
    checkpoint_ms: int = 0
    evaluation_ms: int = 0
    pause_ms: int = 0


@dataclass
class Attempt:
    start_ms: int
    restored_step: int
    restore_ms: int
    training_ms: int
    zone_hours: int
    intervals: list[Interval] = field(default_factory=list)
    end_ms: int = 0
    ending: str = "completed"  # "broken": an exception; "hung": killed after a while


@dataclass
class Job:
    attempts: list[Attempt]
    per_line: int
    last_step: int
    devices: int
    tells_skipped: bool = True  # does the format have words for a step without an update?

    def accounts(self) -> dict[str, int]:
        """Milliseconds of each account: fate decides, by the attempts that follow."""
        times = dict.fromkeys(ACCOUNTS, 0)
        kept_until = self.last_step
        for index in reversed(range(len(self.attempts))):
            attempt = self.attempts[index]
            times["startup"] += attempt.training_ms - attempt.start_ms
            if index > 0:
                times["downtime"] += attempt.start_ms - self.attempts[index - 1].end_ms
            for interval in attempt.intervals:
                whole = interval.count * interval.each_ms
                skipped = interval.skipped * interval.each_ms
                if interval.last_step > kept_until:
                    times["discarded steps"] += whole
                else:
                    times["skipped updates"] += skipped
                    times["kept steps"] += whole - skipped
                times["checkpoints"] += interval.checkpoint_ms
                times["evaluations"] += interval.evaluation_ms
                times["other between steps"] += interval.pause_ms
            last = attempt.intervals[-1]
            over = last.checkpoint_ms + last.evaluation_ms + last.pause_ms
            if attempt.ending != "completed":
                times["checkpoints"] -= last.checkpoint_ms
                times["evaluations"] -= last.evaluation_ms
                times["other between steps"] -= last.pause_ms
                times["hang and detection"] += attempt.end_ms - last.end_ms
            else:
                times["other between steps"] += attempt.end_ms - last.end_ms - over
            kept_until = self.kept_before(index, kept_until)
        return times

    def kept_before(self, index: int, kept_until: int) -> int:
        """Of the attempts before this one, which steps it does not make again: all, where they were another run's."""
        if index > 0 and self.attempts[index - 1].ending == "completed":
            return self.last_step
        return min(kept_until, self.attempts[index].restored_step)

    def steps_made(self) -> int:
        return sum(interval.count for attempt in self.attempts for interval in attempt.intervals)

    def steps_discarded(self) -> int:
        total, kept_until = 0, self.last_step
        for index, attempt in reversed(list(enumerate(self.attempts))):
            total += sum(i.count for i in attempt.intervals if i.last_step > kept_until)
            kept_until = self.kept_before(index, kept_until)
        return total


def make_attempt(
    rng: random.Random, start_ms: int, restored: int, per_line: int, end: int
) -> Attempt:
    """Steps from `restored` to `end`, as an attempt that completes."""
    restore_ms = rng.randrange(500, 60_000) if restored else 0
    training_ms = start_ms + restore_ms + rng.randrange(1000, 300_000)
    attempt = Attempt(start_ms, restored, restore_ms, training_ms, rng.choice((-7, 0, 2, 8)))
    usual_ms = rng.randrange(20, 5000)
    at_ms = training_ms
    for last in range(restored + per_line, end + 1, per_line):
        each_ms = usual_ms * rng.choice((100, 100, 100, 101, 99, 300)) // 100
        interval = Interval(last, per_line, each_ms)
        if rng.random() < 0.1:
            interval.skipped = rng.randrange(1, per_line + 1)
        at_ms += per_line * each_ms
        interval.end_ms = at_ms
        if last % (4 * per_line) == 0:
            interval.checkpoint_ms = rng.randrange(10, 30_000)
        if last % (6 * per_line) == 0:
            interval.evaluation_ms = rng.randrange(10, 60_000)
        if rng.random() < 0.05:
            interval.pause_ms = rng.randrange(3000, 20_000)
        at_ms += interval.checkpoint_ms + interval.evaluation_ms + interval.pause_ms
        attempt.intervals.append(interval)
    attempt.end_ms = at_ms
    return attempt


def make_job(seed: int, max_attempts: int = 5, per_lines: tuple[int, ...] = (1, 5, 10)) -> Job:
    rng = random.Random(seed)
    per_line = rng.choice(per_lines)
    last_step = per_line * rng.randrange(16, 60)
    job = Job([], per_line, last_step, rng.choice((8, 256, 16_384)))
    start_ms, restored = BEGINS_MS + rng.randrange(86_400_000), 0
    for left in reversed(range(rng.randrange(1, max_attempts + 1))):
        attempt = make_attempt(rng, start_ms, restored, per_line, last_step)
        job.attempts.append(attempt)
        if left and len(attempt.intervals) > 4:
            break_attempt(rng, attempt)
            saved = [i.last_step for a in job.attempts for i in a.intervals[:-1] if i.checkpoint_ms]
            reached = attempt.intervals[-1].last_step
            older = [step for step in saved if step <= reached] or [0]
            restored = rng.choice(older[-2:])
            start_ms = attempt.end_ms + rng.randrange(1000, 7_200_000)
        else:
            break
    return job


def make_runs(seed: int, max_attempts: int, per_lines: tuple[int, ...]) -> Job:
    """Complete runs, one after another: each makes all steps, and takes nothing of those before."""
    job = make_job(seed, max_attempts, per_lines)
    run, rng = list(job.attempts), random.Random(seed)
    for _ in range(rng.randrange(1, 4)):
        shift_ms = job.attempts[-1].end_ms - run[0].start_ms + rng.randrange(1000, 90_000_000)
        for attempt in copy.deepcopy(run):
            attempt.start_ms += shift_ms
            attempt.training_ms += shift_ms
            attempt.end_ms += shift_ms
            for interval in attempt.intervals:
                interval.end_ms += shift_ms
            job.attempts.append(attempt)
    return job


def break_attempt(rng: random.Random, attempt: Attempt) -> None:
    """It ends behind some of its lines."""
    del attempt.intervals[rng.randrange(3, len(attempt.intervals)) :]
    attempt.ending = rng.choice(("broken", "hung"))
    hang_ms = (
        rng.randrange(1, 5000) if attempt.ending == "broken" else rng.randrange(60_000, 1_800_000)
    )
    last = attempt.intervals[-1]
    last.checkpoint_ms = last.evaluation_ms = last.pause_ms = 0
    attempt.end_ms = last.end_ms + hang_ms


@dataclass
class Line:
    """`ms`: when it was written; None where the line tells no time and must stay where it is."""

    text: str
    ms: int | None = None
    attempt: int = 0


def stamp(ms: int, zone_hours: int = 0) -> datetime:
    zone = timezone(timedelta(hours=zone_hours))
    return datetime.fromtimestamp(ms / 1000, zone).replace(microsecond=ms % 1000 * 1000)


def comma_time(ms: int) -> str:
    return stamp(ms).strftime("%Y-%m-%d %H:%M:%S,") + f"{ms % 1000:03d}"


def dot_time(ms: int) -> str:
    return stamp(ms).strftime("%Y-%m-%d %H:%M:%S.%f")


def megatron_lines(
    job: Job, shift_ms: int = 0, shift_after: tuple[int, int] = (99, 0)
) -> list[Line]:
    """`shift_ms`: the clock is put back by so much behind line `shift_after` (attempt, interval)."""
    lines = []
    for number, attempt in enumerate(job.attempts):
        back = shift_ms if number > shift_after[0] else 0

        def add(text: str) -> None:
            lines.append(Line(text, None, number))

        add(f"[{dot_time(attempt.start_ms - back)}] > initializing torch distributed ...")
        add(f"using world size: {job.devices}, data-parallel size: {job.devices}")
        if attempt.restored_step:
            add(f" loading checkpoint from /ckpt at iteration {attempt.restored_step}")
            add(
                f" successfully loaded checkpoint from /ckpt [ t 1/1, p 1/1 ] at iteration {attempt.restored_step}"
            )
            add("(min, max) time across ranks (ms):")
            add(
                f"    load-checkpoint ................................: ({attempt.restore_ms}.00, {attempt.restore_ms}.00)"
            )
        for index, interval in enumerate(attempt.intervals):
            if (number, index) > shift_after:
                back = shift_ms
            loss = (
                f"lm loss: {10 / (1 + interval.last_step):.6E} | "
                if interval.skipped < interval.count
                else ""
            )
            add(
                f" [{dot_time(interval.end_ms - back)}] iteration {interval.last_step:8d}/{job.last_step:8d} | consumed samples: "
                f"{interval.last_step * 16:12d} | elapsed time per iteration (ms): {interval.each_ms}.0 | "
                f"throughput per GPU (TFLOP/s/GPU): {400_000 / interval.each_ms:.1f} | "
                f"learning rate: 4.000000E-05 | global batch size:    16 | {loss}"
                f"loss scale: 131072.0 | grad norm: 3.874 | number of skipped iterations: {interval.skipped:3d} | "
                "number of nan iterations:   0 |"
            )
            if interval.evaluation_ms:
                add("(min, max) time across ranks (ms):")
                add(
                    f"    evaluate .......................................: ({interval.evaluation_ms}.00, {interval.evaluation_ms}.00)"
                )
                add(
                    f" validation loss at iteration {interval.last_step} | lm loss value: 7.398865E+00 | lm loss PPL: 1.634128E+03 |"
                )
            if interval.checkpoint_ms:
                add(
                    f"saving checkpoint at iteration {interval.last_step:7d} to /ckpt in torch_dist format"
                )
                add(
                    f"  successfully saved checkpoint from iteration {interval.last_step:7d} to /ckpt [ t 1/1, p 1/1 ]"
                )
                add("(min, max) time across ranks (ms):")
                add(
                    f"    save-checkpoint ................................: ({interval.checkpoint_ms}.00, {interval.checkpoint_ms}.00)"
                )
        end = dot_time(attempt.end_ms - back)
        if attempt.ending == "broken":
            add("[rank3]: Traceback (most recent call last):")
            add('[rank3]:   File "train.py", line 7, in <module>')
            add("[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
            add(f"[{end}] torch elastic: closing")
        elif attempt.ending == "hung":
            add(
                f"[{end}] [E ProcessGroupNCCL.cpp:616] Watchdog caught collective operation timeout"
            )
        else:
            add(f"[{end}] all done")
    return lines


def torchtitan_lines(job: Job) -> list[Line]:
    """Times of steps are not told: whoever reads it takes all time between lines for steps, but for what has a line."""
    lines = []
    for number, attempt in enumerate(job.attempts):

        def add(ms: int, text: str) -> None:
            lines.append(Line(f"[titan] {comma_time(ms)} - root - INFO - {text}", ms, number))

        add(attempt.start_ms, "Starting job: a made one")
        add(attempt.start_ms, f"Building 1-D device mesh with ['dp_shard'], [{job.devices}]")
        if attempt.restored_step:
            begin = attempt.training_ms - attempt.restore_ms
            add(begin, f"Loading the checkpoint at step {attempt.restored_step}.")
            add(
                attempt.training_ms,
                f"Finished loading the checkpoint in {attempt.restore_ms / 1000:.3f} seconds.",
            )
        add(attempt.training_ms, f"Training starts at step {attempt.restored_step + 1}.")
        for interval in attempt.intervals:
            ms = interval.end_ms
            add(
                ms,
                f"step: {interval.last_step:2d}  loss: 10.7069  memory: 30.99GiB(32.62%)  tps: 7,034  "
                "tflops: 407.35  mfu: 41.19%",
            )
            if interval.checkpoint_ms:
                add(ms, "Saving the checkpoint (or staging if async is enabled).")
                ms += interval.checkpoint_ms
                seconds = interval.checkpoint_ms / 1000
                add(
                    ms,
                    f"Finished saving the checkpoint (or staging if async is enabled)in {seconds:.3f} seconds.",
                )
        if attempt.ending == "completed":
            add(attempt.end_ms, "Training completed")
        else:
            add(
                attempt.end_ms, "RuntimeError: CUDA error: an illegal memory access was encountered"
            )
    return lines


def internevo_lines(job: Job) -> list[Line]:
    """Steps count from 0; each attempt may be in another time zone."""
    lines, skipped = [], 0
    for number, attempt in enumerate(job.attempts):
        skipped = 0

        def add(ms: int, place: str, text: str) -> None:
            time = stamp(ms, attempt.zone_hours).isoformat(timespec="milliseconds")
            lines.append(Line(f"{time} INFO [{place}] - pid=6794 : {text}", ms, number))

        sizes = f"data parallel size: {job.devices // 8}, pipeline parallel size: 1, tensor parallel size: 8"
        add(
            attempt.start_ms,
            "launch.py, line 9, in initialize",
            f"Distributed environment is initialized, {sizes}",
        )
        add(attempt.training_ms, "train.py, line 9, in main", "begins")
        for interval in attempt.intervals:
            skipped += interval.skipped
            add(
                interval.end_ms,
                "training_internlm.py, line 413, in record_current_batch_training_metrics",
                f"tflops=63.28 step={interval.last_step - 1} loss=11.64 tgs (tokens/gpu/second)=1424.93 lr=4e-07 "
                f"loss_scale=65536.0 grad_norm={{'0_default': 66.5, '1_fp32': 0.0}} micro_num=4 "
                f"inf_nan_skip_batches={skipped} acc/.git=0.0 loss/code=nan",
            )
            if interval.checkpoint_ms:
                add(
                    interval.end_ms,
                    "c.py, line 1, in save",
                    f"Saving checkpoint to `x` at batch count:`{interval.last_step}`",
                )
                ms = interval.end_ms + interval.checkpoint_ms
                seconds = interval.checkpoint_ms / 1000
                add(
                    ms,
                    "c.py, line 2, in save",
                    f"Step: {interval.last_step}, rank 0 save ckpt use {seconds:.3f} s, num_tasks: 8",
                )
        if attempt.ending == "completed":
            add(attempt.end_ms, "train.py, line 10, in main", "ends")
        else:
            lines.append(Line("RuntimeError: NCCL communicator was aborted", None, number))
            add(attempt.end_ms, "train.py, line 11, in main", "closing")
    return lines


def mlperf_lines(job: Job) -> list[Line]:
    """One step a line; the job has one attempt or more."""
    lines = []
    for number, attempt in enumerate(job.attempts):

        def add(ms: int, key: str, value: str = "null", metadata: str = "") -> None:
            text = (
                f'"time_ms": {ms}, "event_type": "POINT_IN_TIME", "key": "{key}", "value": {value}'
            )
            lines.append(
                Line(
                    f':::MLLOG {{"namespace": "", {text}, "metadata": {{"file": "a.py"{metadata}}}}}',
                    ms,
                    number,
                )
            )

        for _ in range(job.devices if job.devices < 300 else 8):
            add(attempt.start_ms, "init_start")
        add(attempt.start_ms, "global_batch_size", "2048")
        add(attempt.training_ms, "init_stop")
        add(attempt.training_ms, "run_start")
        for interval in attempt.intervals:
            value = (
                f'{{"train_step_time": {interval.each_ms / 1000:.3f}, "reduced_train_loss": 2.75}}'
            )
            add(interval.end_ms, "tracked_stats", value, f', "step": {interval.last_step * 2048}')
            if interval.evaluation_ms:
                begin = interval.end_ms + interval.checkpoint_ms
                add(begin, "eval_start")
                add(begin + interval.evaluation_ms, "eval_stop")
        if attempt.ending == "completed":
            add(attempt.end_ms, "run_stop", "null", ', "status": "success"')
        else:
            add(attempt.end_ms, "run_stop", "null", ', "status": "aborted"')
    return lines


def trainer_text(attempt: Attempt, last_step: int) -> str:
    """Output of Hugging Face's Trainer for one attempt: a bar that is overwritten, in whole seconds, and dictionaries."""

    def clock(ms: int) -> str:
        return f"{ms // 60_000:02d}:{ms // 1000 % 60:02d}"

    def bar(done: int, ms: int) -> str:
        percent = 100 * done // last_step
        return f"\r{percent:3d}%|{'█' * (percent // 10):10s}| {done}/{last_step} [{clock(ms)}<10:00,  1.00s/it]"

    text = "***** Running training *****\n"
    if attempt.restored_step:
        text += f"  Continuing training from global step {attempt.restored_step}\n"
    text += bar(0, 0)
    for interval in attempt.intervals:
        text += bar(interval.last_step, interval.end_ms - attempt.training_ms)
        text += f"{{'loss': {9 / interval.last_step:.4f}, 'grad_norm': 1.5, 'learning_rate': 5e-05, 'epoch': 0.1}}\n"
        if interval.evaluation_ms:
            text += f"{{'eval_loss': 2.1, 'eval_runtime': {interval.evaluation_ms / 1000}, 'epoch': 0.1}}\n"
        if interval.checkpoint_ms:
            text += f"\nSaving model checkpoint to out/checkpoint-{interval.last_step}\n"
    if attempt.ending == "completed":
        text += "{'train_runtime': 100.0, 'train_loss': 2.0, 'epoch': 1.0}\n"
    return text


def own_lines(job: Job) -> list[Line]:
    """A format of nobody's, for --pattern."""
    lines = []
    for number, attempt in enumerate(job.attempts):
        lines.append(
            Line("Setting OMP_NUM_THREADS environment variable for each process", None, number)
        )
        for x in attempt.intervals:
            text = f"at {comma_time(x.end_ms)}: it {x.last_step} of {job.last_step}, {x.each_ms} ms each, {x.skipped} bad"
            lines.append(Line(text, x.end_ms, number))
    return lines
