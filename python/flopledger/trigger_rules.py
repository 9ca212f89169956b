"""What `--on` says: when a window is to be recorded by itself. src/live/run/trigger_rules.c refuses what is not read here."""

from __future__ import annotations

import re
from dataclasses import dataclass

NUMBER = r"(\d+(?:\.\d+)?)"
FORMS = (
    re.compile(rf"(step_time|rank_lag)>{NUMBER}(\*median|ms|s)"),
    re.compile(rf"(mfu)<{NUMBER}(\*median)"),
    re.compile(rf"(memory_growth)>{NUMBER}(steps)"),
)
NANOSECONDS = {"ms": 1e6, "s": 1e9}


@dataclass(frozen=True)
class Rule:
    text: str
    quantity: str
    number: float  # ns where it is a time
    is_of_median: bool

    def limit(self, median: float) -> float:
        return self.number * median if self.is_of_median else self.number


def parse_rule(text: str) -> Rule | None:
    for form in FORMS:
        found = form.fullmatch(text)
        if found:
            number = float(found[2]) * NANOSECONDS.get(found[3], 1)
            return Rule(text, found[1], number, found[3] == "*median")
    return None


def parse_rules(text: str) -> list[Rule]:
    """With commas between. One that is not understood is left out: whoever asked has been told."""
    parts = "".join(text.split()).split(",")
    return [rule for rule in map(parse_rule, parts) if rule is not None]
