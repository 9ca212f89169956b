"""What holds for the advice on every trace: no price is higher than its accounts, and none comes without its parts."""

from __future__ import annotations

from typing import Any, Iterator

SPEED_TOLERANCE = 1e-6
# One account each, of which the rule prices all: it speaks from 2 % of the steps' time on.
OF_ONE_ACCOUNT = {
    "data_loading": "idle_data",
    "exposed_communication": "exposed_communication",
    "graph_gaps": "idle_graph",
}
LEAST_SHARE = 0.02
WAITING = "waiting_for_stragglers"  # a part of the exposed communication, where other ranks tell it
BEFORE_PRICES = ("unrecorded_work", "device_unused")
NOT_BY_ACCOUNT = "step_outliers"  # what slow steps take more, in whatever accounts


def advice_of(sections: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings, the dearest first."""
    findings: list[dict[str, Any]] = sections.get("advice", {"findings": []})["findings"]
    return findings


def lacks(finding: dict[str, Any]) -> list[str]:
    parts = ("id", "what", "evidence", "try", "confidence", "confidence_reason")
    return [part for part in parts if not finding.get(part)]


def problems_of(finding: dict[str, Any], rows: list[dict[str, int]]) -> Iterator[str]:
    """`rows`: the steps with their accounts."""
    name, cost = finding["id"], finding["cost_ns_per_step"]
    if lacks(finding):
        yield f"{name} has no {lacks(finding)}"
    if cost is None:
        return
    total = sum(row["duration"] for row in rows)
    held = sum(row[account] for row in rows for account in finding["accounts"])
    if name != NOT_BY_ACCOUNT and cost * len(rows) > held + len(rows):
        yield f"{name} costs {cost} ns a step, its accounts hold {held / len(rows)}"
    if cost * len(rows) > total + len(rows) or cost <= 0:
        yield f"{name} costs {cost} ns a step of {total / len(rows)}"
    if abs(finding["share_of_step"] * total - cost * len(rows)) > len(rows):
        yield f"{name}: share {finding['share_of_step']} is not {cost} ns a step"
    speedup = finding["ceiling_speedup"]
    left = 1 - finding["share_of_step"]
    replayed = max(finding.get(key) or 0 for key in ("replayed_speedup", "replayed_most_speedup"))
    ceiling = max(1 / left if left > 0 else 0, replayed)
    if speedup is not None and abs(speedup / ceiling - 1) > SPEED_TOLERANCE:
        yield f"{name}: at most {speedup} times as fast, but {left} of the time is left, replayed {replayed}"
    if not (finding.get("replayed_least_speedup") or 0) <= (finding.get("replayed_speedup") or 9e9):
        yield f"{name}: less than at least: {finding}"
    if not set(finding["steps"]) <= {row["step"] for row in rows}:
        yield f"{name} is about steps that are not there: {finding['steps']}"


def comes_first(findings: list[dict[str, Any]]) -> int:
    """1 where the first finding has no price and decides what the others are worth."""
    return int(bool(findings) and findings[0]["id"] in BEFORE_PRICES)


def problems_of_advice(sections: dict[str, Any]) -> list[str]:
    findings = advice_of(sections)
    if "the device time that they launched" in (sections.get("advice", {}).get("intro") or ""):
        return [f"no advice, but {findings}"] if findings else []
    rows = sections["step_ledger"]["tables"]["steps"]["rows"]
    problems = [text for finding in findings for text in problems_of(finding, rows)]
    costs = [finding["cost_ns_per_step"] or 0 for finding in findings[comes_first(findings) :]]
    if costs != sorted(costs, reverse=True):
        problems.append(f"not sorted by price: {costs}")
    names = [finding["id"] for finding in findings]
    if len(names) != len(set(names)):
        problems.append(f"a rule speaks twice: {names}")
    return problems + problems_of_accounts(findings, rows)


def problems_of_accounts(findings: list[dict[str, Any]], rows: list[dict[str, int]]) -> list[str]:
    """Rules that price one account whole speak if it is large enough, and else do not."""
    if findings and findings[0]["id"] == "unrecorded_work" and not findings[0]["cost_ns_per_step"]:
        return []  # no device: no rule is asked
    prices = {finding["id"]: finding["cost_ns_per_step"] for finding in findings}
    total = sum(row["duration"] for row in rows)
    problems = []
    for name, account in OF_ONE_ACCOUNT.items():
        held = sum(row[account] for row in rows)
        if name == "exposed_communication":  # what is left without the waiting
            held -= (prices.get(WAITING) or 0) * len(rows)
        share = held / total if total else 0
        if name in prices and abs(prices[name] * len(rows) - held) > len(rows):
            problems.append(f"{name} costs {prices[name]}, {account} is {held / len(rows)}")
        if name in prices and share < LEAST_SHARE - 1e-9:
            problems.append(f"{name} speaks of {share:.4%} of the time")
        if name not in prices and share > LEAST_SHARE + 1e-9:
            problems.append(f"{name} does not speak of {share:.4%} of the time")
    return problems + problems_of_synchronisation(prices, rows)


def problems_of_synchronisation(prices: dict[str, int], rows: list[dict[str, int]]) -> list[str]:
    """It is priced by the gaps that its calls open: at least by what lies in the calls themselves."""
    held = sum(row["idle_sync"] for row in rows)
    total = sum(row["duration"] for row in rows)
    price = prices.get("synchronisation", 0) * len(rows)
    if held > LEAST_SHARE * total and price < held - len(rows):
        return [f"synchronisation costs {price} ns in all, idle_sync is {held}"]
    return []
