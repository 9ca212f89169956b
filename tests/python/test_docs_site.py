#!/usr/bin/env python3
"""`./dev docs`: every page is in the site, links and their parts lead somewhere, nothing is loaded from elsewhere, the search finds."""

import json
import re
import shutil
import subprocess
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from count_line import run_and_count

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build" / "venv-docs" / "bin" / "python"
NODE_MODULES = ROOT / "web" / "node_modules"
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src"}  # and link, but canonical
SEARCH = """
const { chromium } = require(process.argv[1]);
(async () => {
  const browser = await chromium.launch({ executablePath: process.argv[2], args: ["--no-sandbox"] });
  const page = await browser.newPage();
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(process.argv[3]);
  await page.locator("input[data-md-component=search-query]").fill(process.argv[4], { force: true });
  await page.waitForSelector(".md-search-result__link", { state: "attached", timeout: 60000 });
  const found = await page.$$eval(".md-search-result__link", (all) => all.map((a) => a.href));
  console.log(JSON.stringify({ found, asked }));
  await browser.close();
})();
"""


class Page(HTMLParser):
    """Where its links lead, what it loads, and the names of its parts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.parts: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attributes}
        self.parts |= {own[name] for name in ("id", "name") if name in own}
        if tag == "a" and "href" in own:
            self.links.append(own["href"])
        if tag in LOADS and LOADS[tag] in own:
            self.loaded.append(own[LOADS[tag]])
        if tag == "link" and own.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.loaded.append(own["href"])


class DocsSite(unittest.TestCase):
    site: Path
    pages: dict[Path, Page]

    @classmethod
    def setUpClass(cls) -> None:
        try:
            subprocess.run(
                [PYTHON, "-c", "import mkdocs, material"], check=True, capture_output=True
            )
        except (OSError, subprocess.CalledProcessError) as error:
            raise unittest.SkipTest("needs MkDocs Material in build/venv-docs") from error
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.site = Path(cls.folder.name).resolve()
        command = [PYTHON, ROOT / "packaging" / "build_docs.py", cls.site]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.pages = {path: Page(path.read_text()) for path in cls.site.rglob("*.html")}

    def test_every_page_is_there(self) -> None:
        for page in (ROOT / "docs").rglob("*.md"):
            name = page.relative_to(ROOT).with_suffix(".html")
            name = name.with_name("index.html") if page.name == "README.md" else name
            self.assertIn(self.site / name, self.pages)

    def test_links_lead_somewhere(self) -> None:
        checked = 0
        for path, page in self.pages.items():
            for link in page.links:
                where = urlsplit(link)
                if where.scheme or link.startswith("/") or path.name == "404.html":
                    continue
                target = (path.parent / unquote(where.path)).resolve() if where.path else path
                self.assertTrue(target.is_file(), f"{path}: {link}")
                if where.fragment and target in self.pages:
                    parts = self.pages[target].parts
                    self.assertIn(unquote(where.fragment), parts, f"{path}: {link}")
                checked += 1
        self.assertGreater(checked, 1000)

    def test_nothing_is_loaded_from_elsewhere(self) -> None:
        for path, page in self.pages.items():
            elsewhere = [url for url in page.loaded if re.match(r"(https?:)?//", url)]
            self.assertEqual(elsewhere, [], path)

    def test_search_finds_words_of_the_field(self) -> None:
        index = json.loads((self.site / "search" / "search_index.json").read_text())["docs"]
        for word in ("goodput", "busbw", "straggler", "cudaStreamSynchronize"):
            self.assertTrue(any(word in entry["text"] for entry in index), word)

    def test_search_in_a_browser(self) -> None:
        """Of a page that was opened from a file."""
        browser = shutil.which("chromium") or shutil.which("google-chrome")
        shim = self.site / "assets" / "javascripts" / "iframe-worker.js"
        playwright = NODE_MODULES / "playwright-core"
        if not browser or not shutil.which("node") or not shim.exists() or not playwright.exists():
            self.skipTest("needs Chromium, node, playwright-core and iframe-worker")
        page = (self.site / "index.html").as_uri()
        command = ["node", "-e", SEARCH, str(playwright), browser, page, "busbw"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads(done.stdout)
        self.assertTrue(any("by-word" in url or "bandwidth" in url for url in said["found"]), said)
        self.assertEqual([url for url in said["asked"] if url.startswith("http")], [])


if __name__ == "__main__":
    run_and_count()
