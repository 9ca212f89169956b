"""Texts of files that would run as markup or script: pages are opened in Chromium, exports in the programs that they are for."""

from __future__ import annotations

import gzip
import json
import pickle
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from attack_injection import trace_with
from trying import ROOT, Book, Kind, main

RUN = "document.documentElement.setAttribute('owned','1')"
HOSTILE = [
    f"</script><script>{RUN}</script><img src=x onerror=\"{RUN}\">",
    f"<img src=x onerror=\"{RUN}\">",
    f"</script><script>{RUN}</script>",
    f"\"'><svg onload=\"{RUN}\"></title><b>",
    f"<!--<script>{RUN}</script>--><iframe srcdoc=\"<script>parent.{RUN}</script>\">",
    f"[a](javascript:{RUN}) **b** <script>{RUN}</script>",
]  # fmt: skip
TRACES = ROOT / "tests" / "traces" / "golden"
TENSORBOARD = ROOT / "build" / "venv-exports" / "bin" / "python"
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
READ_EVENTS = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugin_util import markdown_to_safe_html
read = EventAccumulator(sys.argv[1], size_guidance={"tensors": 0})
read.Reload()
texts = [event.tensor_proto.string_val for tag in read.Tags()["tensors"]
         if read.SummaryMetadata(tag).plugin_data.plugin_name == "text" for event in read.Tensors(tag)]
shown = [markdown_to_safe_html(text) for each in texts for text in each]
print(json.dumps({"texts": len(shown), "all": " ".join(shown)}))
"""


def with_texts(value: Any, text: str, keys: set[str]) -> Any:
    """A copy in which what stands below these keys is the text."""
    if isinstance(value, dict):
        return {
            key: text if key in keys and isinstance(old, str) else with_texts(old, text, keys)
            for key, old in value.items()
        }
    if isinstance(value, list):
        return [with_texts(old, text, keys) for old in value]
    return value


def hostile_inputs(folder: Path, text: str) -> dict[str, list[str | Path]]:
    """What to say to have each kind of page, and the file of the kind whose texts are all this one."""
    folder.mkdir()
    trace = folder / "trace.json"
    trace.write_text(trace_with(text))
    snapshot, database = folder / "snapshot.pickle", folder / "run.sqlite"
    make = ROOT / "tests" / "generate"
    subprocess.run([sys.executable, make / "make_snapshot.py", snapshot], check=True)
    taken = pickle.loads(snapshot.read_bytes())  # our own
    names = {"filename", "name", "user_metadata"}
    snapshot.write_bytes(pickle.dumps(with_texts(taken, text, names)))
    dump = folder / "nccl_trace_rank_0"
    taken = pickle.loads((TRACES / "flight" / "stopped" / dump.name).read_bytes())
    names = {"name", "desc", "filename", "profiling_name", "process_group"}
    dump.write_bytes(pickle.dumps(with_texts(taken, text, names)))
    words = ["--seed", "7", "--steps", "2", "--output", str(database)]
    subprocess.run(
        [sys.executable, make / "nsys_database.py", *words], check=True, capture_output=True
    )
    with sqlite3.connect(database) as nsys:
        nsys.execute("UPDATE StringIds SET value = ? WHERE value NOT LIKE 'step%'", (text,))
    nsys.close()
    capture = Path(shutil.copytree(TRACES / "memory_run", folder / "memory_run"))
    for path in capture.glob("*.json"):
        taken = json.loads(path.read_text())
        changed = with_texts(taken, text, {"name", "class", "what", "device", "module"})
        path.write_text(json.dumps(changed))
    log = folder / "train.log"
    lines = [f" iteration {i}/ 99 | elapsed time per iteration (ms): 200.5 | {text} |\n{text}\n"
             for i in range(1, 50)]  # fmt: skip
    log.write_text("".join(lines))
    return {
        "report": ["report", trace],
        "compare": ["compare", trace, trace],
        "flops": ["flops", trace],
        "inspect": ["inspect", trace],
        "memory": ["memory", snapshot],
        "memory of a run": ["memory", capture],
        "report of a run": ["report", capture],
        "ranks": ["ranks", dump],
        "nsys": ["report", database],
        "ettr": ["ettr", log],
    }


class Browser:
    def __init__(self, path: str, folder: Path) -> None:
        self.path, self.folder = path, folder

    def dom(self, page: Path) -> str:
        """What the page is after its scripts have run."""
        words = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000"]
        profile = tempfile.mkdtemp(prefix="profile", dir=self.folder)
        done = subprocess.run(
            [self.path, *words, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()],
            capture_output=True, text=True, errors="replace", timeout=60, check=False,
        )  # fmt: skip
        shutil.rmtree(profile, ignore_errors=True)
        return done.stdout

    def is_owned(self, dom: str) -> bool:
        return "owned=" in dom.partition(">")[0] + dom.partition("<html")[2].partition(">")[0]


def look_at(kind: Kind, browser: Browser, page: Path, what: str, text: str) -> None:
    dom = browser.dom(page)
    kind.row.tries += 1
    kind.expect("<body" in dom, f"{what}: the page did not open: {dom[:200]!r}")
    kind.expect(not browser.is_owned(dom), f"{what}: {text[:40]!r} has run")


def try_pages(book: Book, browser: Browser) -> None:
    with book.kind("injection: pages, opened in Chromium") as kind:
        bare = book.folder / "bare.html"
        for text in HOSTILE[:5]:  # what is looked for is seen where a page lets it run
            bare.write_text(f"<!DOCTYPE html><html><body><script>/*{text}*/</script>{text}")
            kind.expect(browser.is_owned(browser.dom(bare)), f"{text!r} does not run by itself")
        chosen = HOSTILE if book.is_long else HOSTILE[:1]
        for number, text in enumerate(chosen):
            folder = book.folder / f"pages{number}"
            inputs = hostile_inputs(folder, text)
            pages = []
            for name, words in inputs.items():
                page = folder / f"{name}.html"
                outcome = kind.try_program([*words, "--format", "html", "-o", page])
                is_made = outcome.status in (0, 5) and page.exists()
                if kind.expect(is_made, f"{name}: {outcome.status}: {outcome.errors[-200:]!r}"):
                    pages.append(page)
            outcome = kind.try_program(
                ["memory", "-f", "internevo", "-o", folder / "sunbursts", folder / "memory_run"]
            )
            kind.expect(outcome.status in (0, 5), f"sunbursts: {outcome.errors[-200:]!r}")
            pages += sorted((folder / "sunbursts").rglob("*.html"))
            kind.for_each(
                pages,
                lambda page: look_at(kind, browser, page, str(page.relative_to(folder)), text),
            )


def read_tensorboard(kind: Kind, folder: Path, text: str) -> None:
    done = subprocess.run(
        [TENSORBOARD, "-c", READ_EVENTS, folder], capture_output=True, text=True, check=False
    )
    if not kind.expect(done.returncode == 0, f"TensorBoard: {done.stderr[-300:]}"):
        return
    shown = json.loads(done.stdout)
    kind.expect(shown["texts"] > 0, "TensorBoard: no text")
    for tag in ("<script", "<img", "<svg", "<iframe", 'href="javascript'):
        kind.expect(tag not in shown["all"], f"TensorBoard, {text[:30]!r}: {tag}")


def read_back(book: Book) -> None:
    with book.kind("injection: exports, read back by their programs") as kind:
        for number, text in enumerate(HOSTILE):
            folder = book.folder / f"exports{number}"
            inputs = hostile_inputs(folder, text)
            trace = inputs["report"][1]
            for name, words in inputs.items():
                outcome = kind.try_program([*words, "--json"])
                json.loads(outcome.output)
            for line in kind.try_program(["export", "jsonl", trace]).output.splitlines():
                json.loads(line)
            chrome = folder / "chrome.json.gz"
            kind.try_program(["export", "chrome", "-o", chrome, trace])
            events = json.loads(gzip.decompress(chrome.read_bytes()))["traceEvents"]
            kind.expect(any(event.get("name") == text for event in events), "chrome: text lost")
            logs = folder / "logs"
            kind.try_program(["export", "tensorboard", "-o", logs, trace])
            if TENSORBOARD.exists():
                read_tensorboard(kind, logs, text)


def attack(book: Book) -> None:
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    tried = book.folder / "tried.html"
    tried_outcome = subprocess.run(
        [book.program, "device", "--html", tried], capture_output=True, check=False
    )
    if browser and tried_outcome.returncode == 0:
        try_pages(book, Browser(browser, book.folder))
    else:
        book.skip("pages in Chromium", "there is no Chromium, or no page in the program")
    read_back(book)


if __name__ == "__main__":
    main(__doc__, attack)
