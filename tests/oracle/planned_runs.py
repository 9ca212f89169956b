"""How far planned steps are from measured ones: by configuration, in the order of layouts, and where one run calibrates
another's plan."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from statistics import NormalDist, mean, median

# Doublings between two runs' sizes in which half of what one says of the other is lost.
HALVED_IN = 8
# By how much repeats of one configuration differ: nearer times have no order.
NOISE = 0.056
# An error that is a cause of its own.
FAR = 0.15


@dataclass
class Run:
    """One measured run, and what was planned for it."""

    source: str
    name: str
    config: str
    options: list[str]
    measured: float
    group: str = ""
    says_recompute: bool = True
    precision: str = ""
    planned: float = 0.0
    low: float = 0.0
    high: float = 0.0
    fits: str = ""
    problem: str = ""
    accounts: dict[str, float] = field(default_factory=dict)

    @property
    def error(self) -> float:
        return self.planned / self.measured - 1


def by_configuration(runs: list[Run]) -> list[Run]:
    """Repeats of one configuration count once, with their median time."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.group or run.name].append(run)
    once = []
    for repeats in groups.values():
        middle = median(run.measured for run in repeats)
        first = min(repeats, key=lambda run: abs(run.measured - middle))
        once.append(Run(**{**first.__dict__, "measured": middle}))
    return once


def has_experts(run: Run) -> bool:
    return '"num_experts_per_tok"' in run.config


def held_by_intervals(tables: dict[str, list[Run]], together: str) -> dict[str, float]:
    """Share of the runs that took what their plan's interval says: of each kind that may err in its own way."""
    published = [run for run in tables[together] if "TPU" not in run.source]
    kinds = {
        "published, dense": [run for run in published if not has_experts(run)],
        "published, experts": [run for run in published if has_experts(run)],
        "TPU": [run for run in tables[together] if "TPU" in run.source],
        "vTrain, single node": tables["vTrain, single node"],
        "vTrain, multi node": tables["vTrain, multi node"],
    }
    return {
        kind: mean(run.low <= run.measured <= run.high for run in runs)
        for kind, runs in kinds.items()
    }


def has_odd_heads(run: Run) -> bool:
    """Of BLOOM's page, on which what such heads take was chosen."""
    sizes = json.loads(run.config)
    return run.source.startswith("bigscience") and sizes["n_embd"] // sizes["n_head"] % 8 > 0


def ninety(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(0.9 * len(ordered)) - 1)]


def report(title: str, runs: list[Run]) -> str:
    errors = [abs(run.error) for run in runs]
    bias = median(run.error for run in runs)
    return (
        f"| {title} | {len(runs)} | {100 * median(errors):.1f} | {100 * mean(errors):.1f} | "
        f"{100 * ninety(errors):.1f} | {100 * bias:+.1f} |"
    )


def kendall(same: int, other: int) -> tuple[float, int]:
    return (same - other) / (same + other), same + other


def software_of(run: Run) -> str:
    """Release and number format of Megatron-Bridge's runs; of BLOOM's, on which side of the day they were run on which
    its machine became faster, of which its page says that no times before are to be compared with those behind.
    """
    parts = run.name.split("-")
    if parts[0] == "mbridge":
        return parts[1] + run.precision
    return "before" if parts[0] == "bloom" and "-".join(parts[1:3]) < "02-25" else ""


def pairs_of_layouts(runs: list[Run]) -> Iterator[tuple[Run, Run]]:
    """Of one model, batch and number of devices, of one software. Megatron pads the vocabulary to a multiple of TP,
    which makes no other model."""
    groups: dict[str, list[Run]] = defaultdict(list)
    layout = ("--tp", "--pp", "--vp", "--cp", "--ep", "--micro", "--zero", "--recompute")
    for run in runs:
        rest = [option for option in run.options if not option.startswith(layout)]
        sizes = sorted((key, value) for key, value in json.loads(run.config).items())
        model = str([size for size in sizes if size[0] != "vocab_size"])
        groups["|".join([run.source, model, software_of(run), *rest])].append(run)
    for group in groups.values():
        yield from combinations(group, 2)


def order_of_layouts(runs: list[Run], noise: float = 0.0) -> tuple[int, int, int]:
    """Pairs of layouts that differ by more than `noise`: how many the plan has in the same order and in another, and
    in how many of those it is a run of FAR off."""
    same = other = far = 0
    for one, two in pairs_of_layouts(runs):
        product = (one.measured - two.measured) * (one.planned - two.planned)
        if max(one.measured, two.measured) > (1 + noise) * min(one.measured, two.measured):
            same += product > 0
            other += product < 0
            far += product < 0 and max(abs(one.error), abs(two.error)) > FAR
    return same, other, far


def order_without_error(runs: list[Run]) -> float:
    """Kendall's tau that is to be expected between these times and those of the same runs measured again, where the
    median difference of two such is NOISE."""
    deviation = NOISE / NormalDist().inv_cdf(0.75)
    apart = [abs(math.log(one.measured / two.measured)) for one, two in pairs_of_layouts(runs)]
    return mean(2 * NormalDist().cdf(one / deviation) - 1 for one in apart)


def follows(run: Run, one: Run, share: float = 1.0) -> float:
    """The error of `run` planned with --calibrate and the ratio of `one`, to the power of `share`."""
    planned = max(
        run.planned * (one.measured / one.planned) ** share, run.accounts.get("useful", 0)
    )
    return abs(planned / run.measured - 1)


def sizes_of(run: Run) -> dict[str, float]:
    """Of layout, batch and model, in doublings; 1 for each option without a number."""
    sizes = {}
    for option in run.options:
        name, _, value = option.partition("=")
        is_number = value.replace(".", "", 1).isdigit() and float(value) > 0
        sizes[name if is_number else option] = math.log2(float(value)) if is_number else 1.0
    for name, value in json.loads(run.config).items():
        if isinstance(value, (int, float)) and value > 0:
            sizes[name] = math.log2(value)
    return sizes


def doublings(one: dict[str, float], other: dict[str, float]) -> float:
    """Between the sizes of two runs."""
    return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in one | other)


def calibrated(runs: list[Run], by_whole: bool = False) -> list[float]:
    """Errors where one run of the source, each in turn, tells by how much all its plans are off: the less the farther
    it is, or by its whole ratio."""
    sizes = [sizes_of(run) for run in runs]
    return [
        follows(run, one, 1.0 if by_whole else 0.5 ** (doublings(sizes[i], sizes[j]) / HALVED_IN))
        for j, one in enumerate(runs)
        for i, run in enumerate(runs)
        if i != j
    ]


def uncalibrated(runs: list[Run]) -> list[float]:
    """The same runs as often."""
    return [abs(run.error) for run in runs for _ in runs[1:]]


def calibrated_by_nearest(runs: list[Run]) -> list[float]:
    """Errors where of the source's other runs the nearest tells by how much a plan is off: that with the fewest
    doublings between their sizes; of several, the median error."""
    sizes = [sizes_of(run) for run in runs]
    errors = []
    for i, run in enumerate(runs):
        others = [(doublings(sizes[i], sizes[j]), one) for j, one in enumerate(runs) if j != i]
        least = min(distance for distance, _ in others) + 1e-9
        errors.append(median(follows(run, one) for distance, one in others if distance <= least))
    return errors


def of_one_software(runs: list[Run]) -> list[list[Run]]:
    """What may tell of one another: runs of BLOOM's page on one side of the day on which its machine became faster."""
    by_software: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        is_bloom = run.source.startswith("bigscience")
        by_software[software_of(run) if is_bloom else ""].append(run)
    return [those for those in by_software.values() if len(those) > 2]
