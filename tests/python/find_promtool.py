"""Where promtool is, which checks rules and metrics: of the system, or what ./dev took out of Debian's package."""

from __future__ import annotations

import shutil
from pathlib import Path

OWN = Path(__file__).resolve().parents[2] / "build" / "promtool" / "usr" / "bin" / "promtool"


def find_promtool() -> str | None:
    return shutil.which("promtool") or (str(OWN) if OWN.exists() else None)
