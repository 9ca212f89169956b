"""Runs of which one rank sleeps before each step: do the text, `--all` and the HTML page begin with the job and its straggler?

Two ranks or more, whichever of them sleeps. The first sentence and the first finding are the sleeper's own, the step is a
step and not the sum of several, and no rank is told to overlap what is waiting.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from many_ranks import Run, settings_of, write_run

BLOCK = re.compile(r'<script type="application/json" id="screens">(.*?)</script>', re.DOTALL)
LAYOUTS = ("dp=2", "dp=3", "dp=5")


def output_of(program: Path, *words: str | Path) -> str:
    done = subprocess.run([program, "report", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{words}: exit {done.returncode}: {done.stderr[:300]}")
    return done.stdout


def unwrapped(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def screens_of(program: Path, folder: Path, traces: Path) -> dict[str, Any]:
    page = folder / "page.html"
    output_of(program, traces, "--html", page)
    block = BLOCK.search(page.read_text())
    if not block:
        raise AssertionError("the page has no first screens")
    screens: dict[str, Any] = json.loads(block.group(1))
    return screens


def short_time(ns: float) -> str:
    scale, unit = (1e6, "ms") if ns >= 1e6 else (1e3, "µs")
    digits = 2 if ns / scale < 9.995 else 1 if ns / scale < 99.95 else 0
    return f"{ns / scale:.{digits}f} {unit}"


def check_beginnings(program: Path, folder: Path, traces: Path, sleeper: int) -> None:
    """One sentence begins all three, and the first finding is the sleeper's."""
    screens = screens_of(program, folder, traces)
    headline = screens["job"]["verdict"]
    finding = screens["job"]["findings"][0]["what"]
    if not headline.startswith(f"The job waits for rank {sleeper} ("):
        raise AssertionError(f"the headline: {headline!r}")
    if not re.match(
        rf"the other(?:s wait| rank waits) for rank {sleeper}: [\d.]+ % of each step", finding
    ):
        raise AssertionError(f"the first finding: {finding!r}")
    text = unwrapped(output_of(program, traces, "--width", "200"))
    whole = unwrapped(output_of(program, traces, "--all"))
    if headline not in text[:400] or f"1 {finding[:60]}" not in text:
        raise AssertionError(f"the text does not begin with the job: {text[:400]!r}")
    if not whole.startswith(headline):
        raise AssertionError(f"--all does not begin with the job: {whole[:200]!r}")
    told = f"which waits for rank {sleeper}" if sleeper else "The one that the others wait for"
    if told not in whole:
        raise AssertionError(f"the rank in full does not say: {told}")


def check_advice(rank: dict[str, Any], truth: dict[str, Any], sleeper: int) -> None:
    """What a rank may win by overlap is its transfer; its waiting is the sleeper's."""
    findings = {f["id"]: f for f in rank["sections"]["advice"]["findings"] if f.get("id")}
    exposed, steps = truth["exposed"], len(truth["steps"])
    overlap = findings.get("exposed_communication")
    if overlap and overlap["cost_ns_per_step"] > exposed["transfer"] / steps + 1:
        raise AssertionError(f"{rank['label']} may overlap {overlap['cost_ns_per_step']} ns")
    waiting = findings.get("waiting_for_stragglers")
    is_told = exposed["waiting"] >= 0.02 * sum(truth["steps"])
    if is_told != (waiting is not None):
        raise AssertionError(f"{rank['label']} waits {exposed['waiting']} ns: {waiting}")
    if waiting and abs(waiting["cost_ns_per_step"] - exposed["waiting"] / steps) > 1:
        raise AssertionError(f"{rank['label']}: {waiting}")
    if waiting and f"rank {sleeper}" not in waiting["try"]:
        raise AssertionError(f"{rank['label']} is not told of rank {sleeper}: {waiting}")


def check_pages(program: Path, seed: int) -> None:
    rng = random.Random(seed)
    layout = LAYOUTS[seed % len(LAYOUTS)]
    settings = settings_of(layout, seed=seed, steps=rng.randint(2, 5), jitter=0.0)
    settings.sleeper = rng.randrange(settings.ranks)
    settings.pause = rng.randint(8_000_000, 40_000_000)
    with tempfile.TemporaryDirectory(prefix="flopledger-ranks-") as name:
        traces = Path(name) / "traces"
        truth = write_run(traces, Run(settings), set())["ranks"]
        check_beginnings(program, Path(name), traces, settings.sleeper)
        report = json.loads(output_of(program, traces, "--json"))
        for rank in report["ranks"]:
            check_advice(rank, truth[rank["rank"]], settings.sleeper)
        steps = [ns for true in truth.values() for ns in true["steps"]]
        figure = f"step {short_time(sum(steps) / len(steps))} mean"
        if figure not in output_of(program, traces):
            raise AssertionError(f"no {figure!r} in the first screen")
