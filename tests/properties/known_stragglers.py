#!/usr/bin/env python3
"""Timelines of pipelines whose replays are known: `flopledger report` finds the same step times, to the nanosecond.

    tests/properties/known_stragglers.py PROGRAM [--count N] [--seed S]

Ends with a line of counts.
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from pipeline_timeline import Pipeline, make_pipeline  # noqa: E402
from random_cases import run_seeds  # noqa: E402


def mixed(pipeline: Pipeline, rank: int, stage: int) -> dict:
    """Usual times for all but one worker."""
    usual = pipeline.usual()
    return {
        key: duration if key[1:3] == (rank, stage) else usual[key]
        for key, duration in pipeline.durations.items()
    }


def problems_of(program: str, seed: int, folder: Path) -> list[str]:
    pipeline = make_pipeline(seed)
    path = folder / ("timeline.json.gz" if seed % 3 == 0 else "timeline.json")
    pipeline.write(path)
    done = subprocess.run(
        [program, "report", "--json", "--top", "0", str(path)], capture_output=True, check=False
    )
    if done.returncode != 0:
        return [done.stderr.decode(errors="replace")]
    sections = json.loads(done.stdout)["ranks"][0]["sections"]
    rows = sections["stragglers"]["tables"]["steps"]["rows"]
    begins = pipeline.begins()
    recorded = pipeline.step_times(pipeline.times)
    usual = pipeline.step_times(pipeline.run(pipeline.usual(), begins))
    expected = [
        {"step": step, "recorded": recorded[step], "replayed": recorded[step], "usual": usual[step]}
        for step in pipeline.steps
    ]
    found = [{key: row[key] for key in expected[0]} for row in rows]
    problems = [] if found == expected else [f"steps {found}, built {expected}"]
    rank, stage = pipeline.data - 1, pipeline.stages // 2
    alone = pipeline.step_times(pipeline.run(mixed(pipeline, rank, stage), begins))
    ratio = sum(alone.values()) / sum(usual.values())
    workers = {
        row["what"]: row["alone"] for row in sections["stragglers"]["tables"]["workers"]["rows"]
    }
    said = workers[f"data rank {rank}, stage {stage}"]
    if abs(said / ratio - 1) > 1e-9:
        problems.append(f"worker {rank}, {stage} alone: {said}, built {ratio}")
    return problems + problems_of_path(pipeline, sections["pipeline_path"], recorded)


def problems_of_path(pipeline: Pipeline, section: dict, recorded: dict[int, int]) -> list[str]:
    """The path is as long as the steps, its rows add up to it, and what has slack can take it longer."""
    mean = sum(recorded.values()) / len(recorded)
    problems = []
    if abs(section["numbers"]["path"]["value"] - mean) > 1:
        problems.append(f"path {section['numbers']['path']['value']}, steps {mean}")
    for name in ("kinds", "workers"):
        rows = section["tables"][name]["rows"]
        if abs(sum(row["mean"] for row in rows) - mean) > len(rows):
            problems.append(f"{name} of the path sum to {sum(row['mean'] for row in rows)}")
    rng = random.Random(pipeline.seed)
    for row in section["tables"]["workers"]["rows"]:
        words = row["what"].replace(",", "").split()
        place = (int(words[2]), int(words[4]))
        key = rng.choice([key for key in pipeline.durations if key[1:3] == place])
        longer = {**pipeline.durations, key: pipeline.durations[key] + row["least_slack"]}
        if pipeline.step_times(pipeline.run(longer, pipeline.begins())) != recorded:
            problems.append(f"{key} cannot take {row['least_slack']} ns longer")
    return problems


def events_of(path: Path) -> list[dict]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    timeline = json.loads(text)
    return timeline if isinstance(timeline, list) else timeline["traceEvents"]


def report_of(program: str, path: Path) -> dict:
    done = subprocess.run(
        [program, "report", "--json", "--top", "0", path], capture_output=True, check=True
    )
    return json.loads(done.stdout)["ranks"][0]["sections"]


def problems_of_gaps(program: str, seed: int, folder: Path) -> list[str]:
    """An operation of one rank is missing: its step is left out and named; in another order of events nothing changes."""
    pipeline, rng = make_pipeline(seed), random.Random(seed)
    if pipeline.data < 2 or len(pipeline.steps) < 2:
        return []
    path = folder / "timeline.json"
    pipeline.write(path)
    events = events_of(path)
    gone = rng.choice([e for e in events if e["ph"] == "X"])
    step, rank = gone["args"]["step"], gone["pid"]
    left = [e for e in events if e is not gone]
    rng.shuffle(left)
    without = [e for e in left if e.get("args", {}).get("step") != step]
    reports = []
    for kept in (left, without):
        path.write_text(json.dumps({"traceEvents": kept}))
        reports.append(report_of(program, path))
    said = [f["what"] for f in reports[0]["pipeline"]["findings"] if "are missing" in f["what"]]
    wanted = f"operations of some ranks are missing in 1 step (step {step}: data rank {rank}): it is left out"
    problems = [] if said == [wanted] else [f"said {said}, not {wanted}"]
    if any(f for f in reports[1]["pipeline"]["findings"] if "are missing" in f["what"]):
        problems.append("something is said to be missing where nothing is")
    if reports[0]["stragglers"] != reports[1]["stragglers"]:
        problems.append("a step that is left out counts")
    return problems


def check(program: Path, seed: int, folder: Path) -> list[str]:
    words = (str(program), seed, folder)
    return problems_of(*words) + problems_of_gaps(*words)


if __name__ == "__main__":
    run_seeds(check, 60, 0)
