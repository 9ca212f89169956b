"""Runs of a fleet whose MFU, goodput, steps and images are known: rows as flopledger.fleet_tables makes them of real ones.

python fleet_runs.py FOLDER RUNS STEPS      writes them with flopledger.fleet, as each job does at its end
"""

import random
import sys
from collections.abc import Iterator
from typing import Any

TEAMS, CLUSTERS = ("nlp", "vision", "speech", None), ("north", "south")
NAMES = ("pretrain", "finetune", "distill")
IMAGES = ("train:1", "train:2")
FIRST_RUN = 1_780_272_000.0  # 2026-06-01
SECONDS_BETWEEN = 600
SLOWER_TEAM, SLOWER = "vision", 1.2  # whose steps take longer in the newer image
Row = dict[str, Any]


def run_of(number: int, step_count: int, seed: int = 1) -> tuple[str, float, dict[str, list[Row]]]:
    """The run's id, its start and its tables."""
    random_of = random.Random(seed * 1_000_003 + number)
    team, cluster = random_of.choice(TEAMS), random_of.choice(CLUSTERS)
    name, image = random_of.choice(NAMES), IMAGES[random_of.random() < 0.5]
    started = FIRST_RUN + number * SECONDS_BETWEEN
    run = f"job{number:05}"
    mean = (200_000_000 + 50_000_000 * NAMES.index(name)) * (
        SLOWER if (team, image) == (SLOWER_TEAM, IMAGES[1]) else 1
    )
    common = {"run": run, "team": team, "cluster": cluster, "started": started}
    steps = list(steps_of(random_of, common, mean, step_count))
    mean_ns = sum(step["duration_ns"] for step in steps) // len(steps)
    ettr = random_of.uniform(0.5, 0.99)
    row = {
        **common,
        "job": f"{number // 2}",
        "image": image,
        "labels": {"user": f"user{number % 50}"},
        "name": name,
        "device": "H100",
        "ranks": 8,
        "step_time_ns": mean_ns,
        "steps_recorded": 5,
        "mfu": random_of.uniform(0.2, 0.5) if random_of.random() < 0.9 else None,
        "busy_share": 0.9,
        "ettr": ettr if random_of.random() < 0.95 else None,
        "device_hours": 8 * step_count * mean_ns / 3.6e12 / ettr,
        "steps_kept": step_count,
        "interruptions": random_of.randrange(3),
        "headline": f"what {run} lost",
        "version": "0.1.0",
    }
    wait = sum(step["data_wait_ns"] for step in steps) // len(steps)
    tables = {
        "runs": [row],
        "steps": steps,
        "ledger": [ledger_row(common, "idle_data", wait, mean_ns)],
        "kernels": [kernel_row(common, kernel, mean_ns) for kernel in range(3)],
        "findings": [finding_row(common, place, wait, mean_ns) for place in (1, 2)],
    }
    return run, started, tables


def steps_of(random_of: random.Random, common: Row, mean: float, step_count: int) -> Iterator[Row]:
    for step in range(1, step_count + 1):
        duration = int(mean * (0.95 + 0.1 * random_of.random()))
        yield {
            **common,
            "rank": 0,
            "step": step,
            "duration_ns": duration,
            "data_wait_ns": duration // random_of.randrange(5, 50),
            "tokens": 8192,
            "is_recorded": 4 <= step <= 8,
            "is_skipped": False,
        }


def ledger_row(common: Row, key: str, time: int, step: int) -> Row:
    named = {"depth": 2, "account": key, "key": key, "rank": 0}
    return {**common, **named, "mean_ns": time, "total_ns": 5 * time, "share": time / step}


def kernel_row(common: Row, kernel: int, step: int) -> Row:
    named = {"rank": 0, "kernel": f"kernel {kernel}", "class": "matrix", "count": 10}
    return {**common, **named, "total_ns": step, "mean_ns": step // 10, "share": 1 / 3}


def finding_row(common: Row, place: int, wait: int, step: int) -> Row:
    what = ("waiting for data", "launch bound")[place - 1]
    named = {"rank": 0, "place": place, "id": what.replace(" ", "_"), "what": what}
    return {**common, **named, "cost_ns_per_step": wait // place, "share": wait / place / step}


def write_runs(folder: str, count: int, step_count: int) -> None:
    from flopledger.fleet import write_tables

    for number in range(count):
        write_tables(folder, *run_of(number, step_count), "parquet")


if __name__ == "__main__":
    write_runs(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
