"""What a report says in few numbers and lines, for the logs of others."""

from __future__ import annotations

from flopledger.results import Report
from flopledger.tables import format_value


def numbers_of(report: Report) -> dict[str, float]:
    """By the names that `flopledger export jsonl` has for a step; shares and MFU from 0 to 1."""
    found: dict[str, float] = {"flopledger/step_time_ms": report.step_time_ns / 1e6}
    for row in report.ledger:
        if row["depth"] and row.get("share") is not None:
            found[f"flopledger/accounts_share/{row['key']}"] = float(row["share"])
    try:
        found["flopledger/mfu"] = report.mfu
    except LookupError:  # it is not known
        pass
    return found


def text_of(report: Report) -> str:
    """The headline, and what costs most."""
    lines = [report.headline]
    for each in report.findings[:3]:
        if each.cost_ns_per_step is not None:
            lines.append(f"{each.what}: {format_value(each.cost_ns_per_step, 'ns')} per step")
    return "\n".join(lines)
