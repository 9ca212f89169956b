#!/usr/bin/env python3
"""What flopledger says of each run of the benchmark: ask_flopledger.py PROGRAM FOLDER > answers.json"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def answer(program: str, run: Path) -> dict[str, Any]:
    """The first finding that has a price: of all ranks, where there are several; and how much faster it says the steps would be."""
    done = subprocess.run([program, "report", "--json", run], capture_output=True, check=True)
    report = json.loads(done.stdout)
    findings = (report.get("overview") or {}).get("findings", [])
    for rank in report["ranks"] if not findings else []:
        findings += rank["sections"].get("advice", {}).get("findings", [])
    for finding in findings:
        if finding.get("id") and finding.get("cost_ns_per_step"):
            gain = finding.get("replayed_speedup") or finding.get("ceiling_speedup")
            return {"cause": finding["id"], "speedup": gain}
    return {"cause": None, "speedup": None}


def answers(program: str, folder: Path) -> dict[str, dict[str, Any]]:
    return {
        path.parent.name: answer(program, path.parent / "slow")
        for path in sorted(folder.glob("*/label.json"))
    }


if __name__ == "__main__":
    json.dump(answers(sys.argv[1], Path(sys.argv[2])), sys.stdout, indent=1)
