"""The HTML report in a real browser: makes pages of traces of all kinds, and opens them in headless Chromium.

    run.py PROGRAM [PAGE...]

Traces are those of the tests, generated ones, and real ones where that data is at hand (FLOPLEDGER_SHARED). What is done
with each page is in pages.mjs. Skipped without node, web/node_modules or Chromium.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hostile_trace import write_hostile_trace

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SHARED = Path(os.environ.get("FLOPLEDGER_SHARED", ROOT.parent / "shared"))
GENERATOR = ROOT / "tests" / "generate" / "make_trace.py"
GOLDEN = "tests/traces/golden"
TIMELINE_CHECKS = [
    "timeline",
    "timelineSearch",
    "timelineSums",
    "timelinePath",
    "timelineFrames",
    "timelineSteps",
]
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]


@dataclass(frozen=True)
class Page:
    """A report to open, as a page and as JSON: the arguments of the program, and what the page must hold."""

    name: str
    arguments: list[str]
    charts: list[str] = field(default_factory=list)  # that it must hold, and draw
    checks: list[str] = field(default_factory=list)  # of pages.mjs, beside those of every page


def generate(folder: Path, name: str, *options: str) -> str:
    path = folder / name
    command = [sys.executable, GENERATOR, "--seed", "11", *options, "--output", path]
    subprocess.run(command, check=True, capture_output=True)
    for ledger in path.parent.glob("*.ledger.json"):
        ledger.unlink()  # what is right; no trace
    return str(path)


def changes(*texts: str) -> list[str]:
    return [word for text in texts for word in ("--what-if", text)]


def own_pages(folder: Path) -> list[Page]:
    ranks = folder / "ranks"
    ranks.mkdir()
    generate(ranks, "trace.json", "--steps", "4", "--ranks", "4")
    many_steps = generate(folder, "many_steps.json", "--steps", "70")
    hostile = folder / "<img src=x onerror=alert(1)> \"'&.json"
    write_hostile_trace(ROOT / GOLDEN / "products" / "made.json", hostile)
    compared = [f"{GOLDEN}/compare/{name}.json.gz" for name in ("before", "after")]
    steps = ["waterfall", "step_accounts"]
    work = [*steps, "roofline", "kernel_classes"]
    memory = ["memory_kinds", "memory_steps", "memory_composition", "memory_modules"]
    return [
        Page(
            "gpu",
            ["report", many_steps],
            [*steps, "kernel_classes", "timeline"],
            [
                "hand",
                "filter",
                "zoom",
                "searches",
                "folds",
                "stepFragment",
                "explainsWords",
                *TIMELINE_CHECKS,
            ],
        ),
        Page(
            "path",
            ["report", f"{GOLDEN}/what_if/training.json"],
            [*steps, "critical_path", "timeline"],
            ["timelinePath"],
        ),
        Page("products", ["report", f"{GOLDEN}/products/made.json"], work, ["table", "help"]),
        Page(  # each rank has a clock of its own: it is told that they are of one run
            "ranks",
            ["report", "--layout", "dp=4", str(ranks)],
            [*steps, "rank_accounts", "rank_steps"],
            ["ranks"],
        ),
        Page(
            "replayed",
            ["report", *changes("data=workers", "host=graphs"), f"{GOLDEN}/what_if/training.json"],
            steps,
            ["replays"],
        ),
        Page(
            "refused",
            ["report", *changes("host=graphs"), f"{GOLDEN}/what_if/unexplained.json"],
            steps,
            ["replays"],
        ),
        Page(
            "replayed ranks",
            ["report", *changes("waiting@2=0", "waiting=0"), f"{GOLDEN}/queued_ranks"],
            [*steps, "rank_accounts", "rank_steps"],
            ["replays", "ranks"],
        ),
        Page(
            "planned",
            [
                *("plan", "--device", "H100 SXM", "--devices", "64", "--seq", "8192"),
                *("--global-batch", "128", "--model", "tests/models/llama-3-8b.json"),
            ],
            ["plan_layouts"],
            ["byteTicks"],
        ),
        Page("rank_path", ["report", f"{GOLDEN}/two_ranks"], [*steps, "rank_path"]),
        Page("cpu", ["report", "examples/traces/train_gpt_cpu.json.gz"], steps, ["table"]),
        Page("memory", ["memory", f"{GOLDEN}/memory_run"], ["timeline", *memory], ["trees"]),
        Page("capture", ["report", f"{GOLDEN}/memory_run"], ["timeline", *memory], ["trees"]),
        Page("compare", ["compare", *compared], ["difference"], ["difference"]),
        Page(
            "snapshot",
            ["memory", f"{GOLDEN}/memory/tags.pickle"],
            ["timeline", "memory_map", "snapshot_calls"],
            ["trees", "memoryMap"],
        ),
        Page("modules", ["flops", f"{GOLDEN}/modules"], ["module_costs"], ["trees"]),
        Page("hostile", ["report", str(hostile)], work, ["hostile"]),
    ]


def shared_pages() -> list[Page]:
    steps = ["waterfall", "step_accounts"]
    pages = [
        Page(
            "h100",
            [
                "report",
                str(SHARED / "traces/tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz"),
            ],
            [*steps, "roofline", "kernel_classes"],
            ["filter", "table"],
        ),
        Page(
            "b200",
            ["report", str(SHARED / "traces/tracelens/b200/eager_trace.json.gz")],
            [*steps, "collectives"],
        ),
    ]
    return [page for page in pages if Path(page.arguments[-1]).exists()]


def write_page(program: str, page: Page, folder: Path) -> dict[str, object]:
    """Writes NAME.html and NAME.json, with as many rows in both."""
    html, report = folder / f"{page.name}.html", folder / f"{page.name}.json"
    command, *rest = page.arguments
    rows = [] if command == "plan" else ["--top", "200"]
    for option, path in (("html", html), ("json", report)):
        arguments = [program, command, "--format", option, *rows, "-o", path, *rest]
        done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 5) or not path.exists():
            raise RuntimeError(f"{page.name}: {' '.join(map(str, arguments))}\n{done.stderr}")
    return {
        "name": page.name,
        "html": str(html),
        "json": str(report),
        "charts": page.charts,
        "checks": page.checks,
    }


def has_page(program: str) -> bool:
    """The program was built with the page."""
    command = [program, "device", "--html", "/dev/null"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def skip(reason: str) -> None:
    print(f"skipped: {reason}\n0 passed, 0 failed, 1 skipped")
    sys.exit(0)


def main(program: str, *names: str) -> None:
    node = shutil.which("node") or shutil.which("nodejs")
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if not node or not (ROOT / "web/node_modules/playwright-core").exists():
        skip("needs node, and npm ci in web/")
    if not browser:
        skip("needs Chromium")
    program = str(Path(program).resolve())
    if not has_page(program):
        sys.exit("the program was built without the page, although web/node_modules is there")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages = [*own_pages(folder), *shared_pages()]
        chosen = [page for page in pages if not names or page.name in names]
        plan = folder / "plan.json"
        plan.write_text(json.dumps([write_page(program, page, folder) for page in chosen]))
        sys.exit(subprocess.run([node, HERE / "pages.mjs", browser, plan], check=False).returncode)


main(*sys.argv[1:])
