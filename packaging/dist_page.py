"""Called by `meson dist`: puts the page that Node.js made into the source distribution, in place of the sources that only Node.js can
use, and leaves out what only the repository needs (tests and their traces, pictures, benchmarks).
"""

import lzma
import os
import shutil
import subprocess
from pathlib import Path

LEFT_OUT = (
    *("tests", "bench", "examples", "contrib", "debian", "dev", ".ci", ".github", "Dockerfile"),
    *("docs/pictures", "docs/benchmarks.md", "packaging/conda", ".dockerignore"),
    *("web/src", "web/build.mjs", "web/account_list.mjs", "web/metric_pages.mjs", "web/page.html"),
    *("web/package.json", "web/package-lock.json", "web/tsconfig.json"),
)

build = Path(os.environ["MESON_BUILD_ROOT"])
place = Path(os.environ["MESON_DIST_ROOT"])
subprocess.run(["ninja", "-C", str(build), "web/page.html"], check=True)
page = (build / "web" / "page.html").read_bytes()
(place / "web" / "built_page.html.xz").write_bytes(lzma.compress(page, preset=9))
for name in LEFT_OUT:
    path = place / name
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
