"""Runs programs plain and under `flopledger run`, and asks the program about what was recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import Setting

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "oracle")]

import reference_ledger  # noqa: E402

SECONDS = 240


class Failed(Exception):
    """What was run ended with an error, or left nothing."""


@dataclass
class Recorded:
    truth: dict[str, Any]  # what the program measured itself
    trace: Path | None
    errors: str


def run(setting: Setting, words: list[Any], **variables: str) -> "subprocess.CompletedProcess[str]":
    kept = {k: v for k, v in os.environ.items() if not k.startswith("FLOPLEDGER_C")}
    kept |= {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", "KINETO_LOG_LEVEL": "99"}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=setting.folder,
        env={**kept, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(
            f"{' '.join(map(str, words))}: exit status {done.returncode}: {done.stderr[-600:]}"
        )
    return done


def train(
    setting: Setting,
    way: str,
    *options: Any,
    record: tuple[Any, ...] | None = (),
    name: str = "",
    **more: str,
) -> Recorded:
    """`record`: options of `flopledger run`; None: plain."""
    name = name or (way if record is not None else f"{way}-plain")
    truth = setting.folder / f"{name}.truth.json"
    words = [setting.python, HERE / "train_ways.py", way, "--device", setting.device]
    words += ["--truth", truth, *options]
    captures = setting.folder / f"captures-{name}"
    if record is not None:
        head = [setting.program, "run", "--output", captures, "--no-report", *record, "--"]
        words = [*head, *words]
    done = run(setting, words, **more)
    traces = sorted(captures.glob("**/*.pt.trace.json.gz"))
    if record is not None and len(traces) != 1:
        raise Failed(f"{name}: {len(traces)} traces were recorded: {done.stderr[-600:]}")
    return Recorded(json.loads(truth.read_text()), traces[0] if traces else None, done.stderr)


def ask(setting: Setting, command: str, *words: Any) -> dict[str, Any]:
    """The JSON of a command."""
    done = run(setting, [setting.program, command, "--json", *words])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def sections_of(report: dict[str, Any]) -> dict[str, Any]:
    sections: dict[str, Any] = report["ranks"][0]["sections"]
    return sections


def number(sections: dict[str, Any], section: str, name: str) -> Any:
    """None where it is not known."""
    found = sections.get(section, {}).get("numbers", {}).get(name)
    return None if found is None else found["value"]


def reference_of(trace: Path, clock: str) -> reference_ledger.Ledger:
    return reference_ledger.book(reference_ledger.read_events(trace), "auto", clock)
