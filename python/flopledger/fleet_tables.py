"""What a fleet's folder says of one run: rows for the tables runs, steps, ledger, kernels and findings."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flopledger import program
from flopledger.fleet_steps import Row, read_records, start_of_records
from flopledger.results import Document, NotKnown, Report, ettr, report

# Which column has which type: "text", "int", "float" (shares from 0 to 1), "time" (UTC), "bool", "labels". What is not known is NULL.
OF_ALL_TABLES = {"run": "text", "team": "text", "cluster": "text", "started": "time"}
SCHEMAS: dict[str, dict[str, str]] = {
    "runs": {
        **OF_ALL_TABLES,
        "job": "text",
        "image": "text",
        "labels": "labels",
        "name": "text",
        "device": "text",
        "ranks": "int",
        "step_time_ns": "int",
        "steps_recorded": "int",
        "mfu": "float",
        "busy_share": "float",
        "tokens_per_second": "float",
        "ettr": "float",
        "mfu_of_job": "float",
        "device_hours": "float",
        "steps_kept": "int",
        "interruptions": "int",
        "headline": "text",
        "version": "text",
    },
    "steps": {
        **OF_ALL_TABLES,
        "rank": "int",
        "step": "int",
        "duration_ns": "int",
        "data_wait_ns": "int",
        "forward_ns": "int",
        "backward_ns": "int",
        "optimizer_ns": "int",
        "tokens": "int",
        "samples": "int",
        "loss": "float",
        "is_recorded": "bool",
        "is_skipped": "bool",
    },
    "ledger": {
        **OF_ALL_TABLES,
        "rank": "int",
        "depth": "int",
        "account": "text",
        "key": "text",
        "mean_ns": "int",
        "total_ns": "int",
        "share": "float",
    },
    "kernels": {
        **OF_ALL_TABLES,
        "rank": "int",
        "kernel": "text",
        "class": "text",
        "operator": "text",
        "count": "int",
        "total_ns": "int",
        "mean_ns": "int",
        "share": "float",
    },
    "findings": {
        **OF_ALL_TABLES,
        "rank": "int",
        "place": "int",
        "id": "text",
        "what": "text",
        "cost_ns_per_step": "int",
        "share": "float",
        "ceiling_speedup": "float",
        "confidence": "text",
        "advice": "text",
    },
}
Tables = dict[str, list[Row]]

# What schedulers say of a job where no label does.
LABELS_OF_SCHEDULERS = {
    "team": ("SLURM_JOB_ACCOUNT",),
    "cluster": ("SLURM_CLUSTER_NAME",),
    "job": ("FLOPLEDGER_JOB", "SLURM_JOB_ID"),
    "image": ("SLURM_CONTAINER_IMAGE", "SLURM_CONTAINER"),
}


def labels_of(given: Sequence[str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """ "team=nlp,image=a:1" of options, then of FLOPLEDGER_LABELS, then what Slurm says."""
    labels: dict[str, str] = {}
    for name, variables in LABELS_OF_SCHEDULERS.items():
        for variable in reversed(variables):
            if environment.get(variable):
                labels[name] = environment[variable]
    for words in (environment.get("FLOPLEDGER_LABELS", ""), *given):
        for word in filter(None, words.split(",")):
            name, sign, value = word.partition("=")
            if not sign or not name.strip():
                raise ValueError(f"label '{word}': wanted NAME=VALUE, several with commas between")
            labels[name.strip()] = value.strip()
    return labels


def known(document: Document, section: str, number: str) -> Any:
    """The number, or None."""
    try:
        return document.number(section, number)
    except NotKnown:
        return None


def tables_of(
    sources: Sequence[str], labels: Mapping[str, str], options: Mapping[str, Any] | None = None
) -> tuple[str, float, Tables]:
    """The run's id, when it started (seconds since 1970) and its rows. ProgramError where nothing of it can be read."""
    records = [path for source in sources for path in sorted(Path(source).glob("steps/*.steps"))]
    try:
        found: Report | None = report(*sources, all=True, **(options or {}))
    except program.ProgramError:
        if not records:  # else no window was recorded, but all steps were noted
            raise
        found = None
    job = ettr(*sources, top=0) if records else None
    started = start_of_records(records) or start_of_report(found) or oldest(sources)
    name = name_of(sources[0], is_capture=bool(records))
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(started))
    run = f"{safe(labels.get('job') or name)}-{stamp}-{digest_of(sources)}"
    common: Row = {
        "run": run,
        "team": labels.get("team"),
        "cluster": labels.get("cluster"),
        "started": started,
    }
    tables: Tables = {
        "runs": [
            {**common, **row_of_run(found, job), "name": name, **names_of(labels)},
        ],
        "steps": [{**common, **row} for row in steps_of(records, found, job)],
        "ledger": [],
        "kernels": [],
        "findings": [],
    }
    for rank in found.ranks if found is not None else ():
        for table, rows in rows_of_rank(rank).items():
            tables[table] += [{**common, **row} for row in rows]
    return run, started, tables


def name_of(source: str, is_capture: bool) -> str:
    """What `flopledger run` called it: a capture is NAME/START TIME."""
    path = Path(source).resolve()
    return (path.parent.name if is_capture else path.name) or "run"


def names_of(labels: Mapping[str, str]) -> Row:
    rest = {k: v for k, v in labels.items() if k not in LABELS_OF_SCHEDULERS}
    return {"job": labels.get("job"), "image": labels.get("image"), "labels": rest}


def row_of_run(found: Report | None, job: Document | None) -> Row:
    row: Row = {}
    if found is not None:
        row |= {
            "device": known(found, "model_flops_utilization", "device"),
            "ranks": len(found.ranks),
            "step_time_ns": known(found, "step_ledger", "step_time_mean"),
            "steps_recorded": known(found, "step_ledger", "steps"),
            "mfu": mean_of(known(rank, "model_flops_utilization", "mfu") for rank in found.ranks),
            "busy_share": mean_of(
                known(rank, "step_ledger", "device_busy") for rank in found.ranks
            ),
            "tokens_per_second": known(found, "model_flops_utilization", "tokens_per_second"),
            "headline": found.headline,
            "version": found.json["flopledger_version"],
        }
    if job is not None:
        accounts = job.table("job", "accounts")
        row |= {
            "ettr": known(job, "job", "ettr"),
            "mfu_of_job": known(job, "job_rates", "mfu_of_job"),
            "device_hours": accounts[0]["device_hours"] if accounts else None,
            "steps_kept": known(job, "job", "steps_kept"),
            "interruptions": known(job, "job_failures", "interruptions"),
            "ranks": known(job, "job", "devices"),
        }
        row.setdefault("headline", job.headline)
        row.setdefault("step_time_ns", known(job, "job_step_times", "mean"))
        row.setdefault("version", job.json["flopledger_version"])
    return row


def mean_of(values: Iterator[float | None]) -> float | None:
    """None where one of them is not known."""
    numbers = list(values)
    there = [each for each in numbers if each is not None]
    return sum(there) / len(there) if there and len(there) == len(numbers) else None


def rows_of_rank(rank: Report) -> Tables:
    number = rank._rank.get("rank")
    return {
        "ledger": [
            {
                "rank": number,
                "depth": row["depth"],
                "account": row["account"],
                "key": row["key"],
                "mean_ns": row["mean"],
                "total_ns": row["total"],
                "share": row["share"],
            }
            for row in rank.ledger
        ],
        "kernels": [
            {
                "rank": number,
                "kernel": row["kernel"],
                "class": row["class_key"],
                "operator": row["operator"],
                "count": row["count"],
                "total_ns": row["total"],
                "mean_ns": row["mean"],
                "share": row["share"],
            }
            for row in rank.kernels
        ],
        "findings": [
            {
                "rank": number,
                "place": place,
                "id": each.id,
                "what": each.what,
                "cost_ns_per_step": each.cost_ns_per_step,
                "share": each.share_of_step,
                "ceiling_speedup": each.ceiling_speedup,
                "confidence": each.confidence,
                "advice": each.try_,
            }
            for place, each in enumerate(rank.findings, 1)
        ],
    }


def steps_of(records: Sequence[Path], found: Report | None, job: Document | None) -> Iterator[Row]:
    """All steps, of the record; without one, those of the recorded windows."""
    if job is not None:
        attempts = job.table("job_attempts", "attempts")
        yield from read_records(records, {row["log"]: row["first_step"] for row in attempts})
    if records or found is None:
        return
    for rank in found.ranks:
        for row in rank.steps:
            yield {
                "rank": rank._rank.get("rank"),
                "step": row["step"],
                "duration_ns": row["duration"],
                "data_wait_ns": row.get("idle_data"),
                "tokens": row.get("tokens"),
                "samples": row.get("samples"),
                "is_recorded": True,
            }


def start_of_report(found: Report | None) -> float | None:
    starts = [row.get("start_unix") for row in found.steps] if found is not None else []
    return starts[0] / 1e9 if starts and starts[0] is not None else None


def oldest(sources: Sequence[str]) -> float:
    """The time of the files, where nothing in them tells the time."""
    return min(path.stat().st_mtime for source in sources for path in files_of(source))


def files_of(source: str) -> list[Path]:
    path = Path(source)
    return sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]


def digest_of(sources: Sequence[str]) -> str:
    """The same for the same files, wherever they lie: a run that is written twice stands there once."""
    found = hashlib.sha256()
    for source in sources:
        for path in files_of(source):
            if path.suffix not in (".gz", ".zst", ".json", ".steps", ".sqlite", ".db"):
                continue
            data = path.open("rb").read(1 << 16)
            found.update(f"{path.name} {path.stat().st_size} ".encode() + data)
    return found.hexdigest()[:12]


def safe(name: str) -> str:
    """For a file's name."""
    return "".join(c if c.isalnum() or c in "._" else "_" for c in name)[:80]
