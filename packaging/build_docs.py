#!/usr/bin/env python3
"""Builds the documentation as one static site that can be searched, without a network: build_docs.py [FOLDER]

The Markdown is what it is in the repository; a copy of it, in the same places, gets what the site needs: an index for a folder
that a link names, and fences in the form that MkDocs reads. MkDocs checks links and parts of pages: a broken one is an error.
The site loads nothing from elsewhere. SHIM lets the search run in a page that was opened from a file; without it that needs a server.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "build" / "docs-source"
SITE = ROOT / "build" / "docs"
SHIM = ROOT / "build" / "docs-node" / "node_modules" / "iframe-worker" / "shim" / "index.js"
SHIM_TAG = re.compile(r'<script src="https://unpkg.com/iframe-worker/shim"></script>')
TOP = (
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "README.zh-CN.md",
    "SECURITY.md",
)
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^( *`{3,})console \w+$", re.MULTILINE)
CODE = re.compile(r"^( *`{3,}).*?^\1 *$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^(#{2,3}) (.+)$|^- \[([^\]]+)\]\(([\w-]+\.md)\)", re.MULTILINE)

Nav = list  # of {title: path or Nav}


def title_of(page: Path) -> str:
    return re.sub(r"`", "", page.read_text().split("\n")[0].removeprefix("# "))


def index_of(folder: Path) -> str:
    """A page for a folder that has none."""
    names = sorted(path.name + "/" * path.is_dir() for path in folder.iterdir())
    pages = [name for name in names if name != "README.md" and not name.endswith("/")]
    rows = [
        f"- [{title_of(folder / name) if name.endswith('.md') else name}]({name})" for name in pages
    ]
    return "\n".join([f"# {folder.name}", "", *rows, ""])


def link_for_site(page: Path, target: str) -> str:
    """A folder becomes its README.md; what lies outside of the documentation is copied beside it."""
    if re.match(r"[a-z]+:", target):
        return target
    source = (ROOT / page).parent / target
    if source.is_dir():
        folder = SOURCE / source.resolve().relative_to(ROOT)
        if not folder.exists():
            shutil.copytree(source, folder)
        if not (folder / "README.md").exists():
            (folder / "README.md").write_text(index_of(folder))
        return target.rstrip("/") + "/README.md"
    copy = SOURCE / source.resolve().relative_to(ROOT)
    if source.exists() and not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    return target


def page_for_site(page: Path) -> str:
    """Its links outside of code, and its fences."""
    text = (ROOT / page).read_text()
    parts, at = [], 0
    for code in [*CODE.finditer(text), None]:
        prose = text[at : code.start() if code else len(text)]
        parts.append(LINK.sub(lambda m: m[1] + link_for_site(page, m[2]) + m[3], prose))
        if code:
            parts.append(FENCE.sub(r"\1console", code[0]))
            at = code.end()
    return "".join(parts)


def metrics_nav() -> Nav:
    """By question, as docs/metrics/README.md has them."""
    nav: Nav = [
        {"All, by question": "docs/metrics/README.md"},
        {"By word": "docs/metrics/by-word.md"},
    ]
    for level, heading, title, page in ENTRY.findall((ROOT / "docs/metrics/README.md").read_text()):
        if level == "##":
            nav.append({heading.split(":")[0]: []})
        elif level:
            list(nav[-1].values())[0].append({heading: []})
        elif page:
            where = list(nav[-1].values())[0]
            inner = where[-1] if where else None
            lists = [v for v in inner.values() if isinstance(v, list)] if inner else []
            (lists[0] if lists else where).append({title: f"docs/metrics/{page}"})
    return nav


def folder_nav(folder: str) -> Nav:
    pages = sorted(
        (ROOT / folder).glob("*.md"), key=lambda page: (page.name != "README.md", page.name)
    )
    return [{title_of(page): page.relative_to(ROOT).as_posix()} for page in pages]


def site_nav() -> Nav:
    start = ["docs/getting-started.md", "README.zh-CN.md", "docs/getting-started.zh-CN.md"]
    named = {page for page in start if page.startswith("docs/")}
    more = [each for each in folder_nav("docs") if not named & set(each.values())]
    own = [{title_of(ROOT / page): page} for page in TOP if not page.startswith("README")]
    return [
        {"flopledger": "README.md"},
        {"Start": [{title_of(ROOT / page): page} for page in start]},
        {"Tutorials": folder_nav("docs/tutorials")},
        {"How to": folder_nav("docs/how-to")},
        {"Metrics": metrics_nav()},
        {"Formats": folder_nav("docs/formats")},
        {"More": more + own},
    ]


def settings(site: Path) -> dict:
    extensions: list = ["admonition", "attr_list", "md_in_html", "pymdownx.superfences", "tables"]
    extensions.append({"pymdownx.highlight": {"use_pygments": True}})
    extensions.append({"toc": {"permalink": True, "toc_depth": 3}})
    warn = {key: "warn" for key in ("not_found", "anchors", "unrecognized_links", "absolute_links")}
    palette = [
        {"media": f"(prefers-color-scheme: {name})", "scheme": scheme, "primary": "blue grey"}
        | {"toggle": {"icon": icon, "name": "light or dark"}}
        for name, scheme, icon in (
            ("light", "default", "material/weather-night"),
            ("dark", "slate", "material/weather-sunny"),
        )
    ]
    features = [
        "navigation.tabs",
        "navigation.top",
        "search.highlight",
        "search.suggest",
        "content.code.copy",
    ]
    return {
        "site_name": "flopledger",
        "docs_dir": str(SOURCE),
        "site_dir": str(site),
        "use_directory_urls": False,
        "theme": {"name": "material", "font": False, "palette": palette, "features": features},
        "plugins": ["search", "offline"],
        "markdown_extensions": extensions,
        "validation": {"links": warn, "nav": {"omitted_files": "info", "not_found": "warn"}},
        "nav": site_nav(),
    }


def use_own_shim(site: Path) -> None:
    """MkDocs Material would load it from a server of others."""
    if SHIM.exists():
        shutil.copy(SHIM, site / "assets" / "javascripts" / "iframe-worker.js")
    for page in site.rglob("*.html"):
        up = "../" * (len(page.relative_to(site).parts) - 1)
        tag = f'<script src="{up}assets/javascripts/iframe-worker.js"></script>'
        page.write_text(SHIM_TAG.sub(tag if SHIM.exists() else "", page.read_text()))


def main() -> None:
    site = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else SITE
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE / "docs")
    pages = [*map(Path, TOP), *(p.relative_to(ROOT) for p in sorted((ROOT / "docs").rglob("*.md")))]
    for page in pages:
        text = page_for_site(page)
        (SOURCE / page).write_text(text)
    configuration = SOURCE.parent / "mkdocs.yml"
    configuration.write_text(json.dumps(settings(site), indent=1))  # JSON is YAML
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "-f",
        str(configuration),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}build_docs.py: the site was not built: see above")
    use_own_shim(site)
    print(f"{len(pages)} pages: open {site / 'index.html'}")


if __name__ == "__main__":
    main()
