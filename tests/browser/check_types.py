"""The types of web/src, checked by tsc --strict. Skipped where web/node_modules is not there.

check_types.py
"""

import shutil
import subprocess
import sys
from pathlib import Path

WEB = Path(__file__).resolve().parents[2] / "web"
TSC = WEB / "node_modules" / "typescript" / "bin" / "tsc"


def main() -> None:
    files = len(list((WEB / "src").rglob("*.ts")))
    node = shutil.which("node") or shutil.which("nodejs")
    if not node or not TSC.exists():
        print("needs node, and npm ci in web/\n0 passed, 0 failed, 1 skipped")
        return
    done = subprocess.run(
        [node, TSC, "--project", WEB], capture_output=True, text=True, check=False
    )
    print(done.stdout + done.stderr, end="")
    wrong = len({line.split("(")[0] for line in done.stdout.splitlines() if "error TS" in line})
    wrong = max(wrong, int(done.returncode != 0))
    print(f"{files - wrong} passed, {wrong} failed, 0 skipped")
    sys.exit(int(wrong > 0))


main()
