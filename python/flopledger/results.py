"""What the program says of traces, as objects: report(), compare(), memory(), ettr()."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from flopledger import program
from flopledger.program import Paths
from flopledger.tables import Table, format_value

Words = Sequence[str | Paths]
FINDINGS_SHOWN = 5


@dataclass(frozen=True)
class Finding:
    """One loss, or one remark on the input."""

    what: str
    id: str | None  # of the rule: "data_wait"; None for remarks
    cost_ns_per_step: int | None
    share_of_step: float | None  # 0 to 1
    ceiling_speedup: float | None  # at most, were all of it gone
    evidence: str | None
    try_: str | None  # what to try
    confidence: str | None  # "high", "medium", "low"
    steps: tuple[int, ...]
    is_warning: bool

    @classmethod
    def of_json(cls, finding: dict[str, Any]) -> Finding:
        return cls(
            what=finding["what"],
            id=finding.get("id"),
            cost_ns_per_step=finding.get("cost_ns_per_step"),
            share_of_step=finding.get("share_of_step"),
            ceiling_speedup=finding.get("ceiling_speedup"),
            evidence=finding.get("evidence"),
            try_=finding.get("try"),
            confidence=finding.get("confidence"),
            steps=tuple(finding.get("steps") or ()),
            is_warning=bool(finding.get("is_warning")),
        )


class Findings(tuple[Finding, ...]):
    """Findings in their order, as a tuple or as a data frame with a row each and their fields as columns."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """`steps` as lists; `cost_ns_per_step` in ns, `share_of_step` from 0 to 1."""
        return [{**vars(each), "steps": list(each.steps)} for each in self]

    def to_pandas(self) -> Any:
        """A pandas.DataFrame. Needs pandas."""
        import pandas

        return pandas.DataFrame(self.to_dicts(), columns=[each.name for each in fields(Finding)])

    def to_polars(self) -> Any:
        """A polars.DataFrame. Needs polars."""
        import polars

        rows = self.to_dicts()
        return polars.DataFrame(
            {each.name: [row[each.name] for row in rows] for each in fields(Finding)}, strict=False
        )


class NotKnown(LookupError):
    """The input does not tell this number; the text says which input would."""


class Document:
    """A report of any kind, of the rank that is shown; `json` is all of it (docs/formats/report-json.md)."""

    def __init__(self, json: dict[str, Any], words: Words, rank: int = 0) -> None:
        """`words`: the command that the program was given, without `--json`."""
        self.json = json
        self.words = tuple(words)
        self._rank = json["ranks"][rank]

    @property
    def headline(self) -> str:
        """One sentence."""
        return str(self._rank.get("headline") or self.json.get("headline") or self._rank["label"])

    @property
    def label(self) -> str:
        return str(self._rank["label"])

    @property
    def sections(self) -> tuple[str, ...]:
        """Keys of the sections."""
        return tuple(self._rank["sections"])

    def _section(self, section: str) -> dict[str, Any]:
        if section == "overview":
            return self.json.get("overview") or {}
        found: dict[str, Any] = self._rank["sections"].get(section, {})
        return found

    def table(self, section: str, table: str) -> Table:
        """Without rows where the report has none of that name. Section "overview" is that of all ranks."""
        return Table.of_json(self._section(section).get("tables", {}).get(table))

    def number(self, section: str, number: str) -> Any:
        """In the unit that the JSON says. Raises NotKnown, with what would tell it."""
        found = self._section(section).get("numbers", {}).get(number)
        if found is None:
            raise NotKnown(f"this report has no {section}.{number}")
        if found["value"] is None:
            raise NotKnown(f"{found['title']}: {found.get('not_known', 'not known')}")
        return found["value"]

    @cached_property
    def findings(self) -> Findings:
        """Losses, largest first; then remarks."""
        sections = self._rank["sections"].values()
        found = [Finding.of_json(each) for one in sections for each in one["findings"]]
        return Findings(sorted(found, key=lambda each: -(each.cost_ns_per_step or 0)))

    @cached_property
    def problems(self) -> tuple[Finding, ...]:
        """What is wrong with the input."""
        return tuple(Finding.of_json(each) for each in self.json["problems"])

    def text(self) -> str:
        """The report as the program prints it for people."""
        return program.run(self.words, GOOD)[0].decode()

    def page(self) -> Page:
        """The page of the HTML report, which a notebook shows inline."""
        return Page(program.run([*self.words, "--format", "html"], GOOD)[0].decode())

    def save_html(self, path: Paths) -> None:
        """Writes the page to a file."""
        program.run([*self.words, "--html", path, "--force"], GOOD)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.label}: {self.headline}>"

    def first_screen(self) -> list[str]:
        """Parts of HTML: what a notebook shows below the headline."""
        return []

    def _repr_html_(self) -> str:
        """The headline and what is most expensive; the whole page opens by a click."""
        parts = [f"<h3>{html.escape(self.headline)}</h3>", *self.first_screen()]
        parts.append(
            f"<details><summary>The whole report</summary>{self.page()._repr_html_()}</details>"
        )
        return "\n".join(parts)


GOOD = (0, program.DAMAGED, program.MET, program.UNDECIDED)


class Page:
    """A whole page of HTML, without any request of its own."""

    def __init__(self, content: str) -> None:
        self.content = content

    def _repr_html_(self) -> str:
        source = html.escape(self.content, quote=True)
        return (
            f'<iframe srcdoc="{source}" title="flopledger" loading="lazy" '
            'style="width:100%;height:85vh;border:1px solid #8884" sandbox="allow-scripts"></iframe>'
        )


def findings_html(findings: Sequence[Finding]) -> str:
    items = []
    for each in findings[:FINDINGS_SHOWN]:
        if each.cost_ns_per_step is None:
            continue
        cost = format_value(each.cost_ns_per_step, "ns")
        share = f", {format_value(each.share_of_step, 'fraction')}" if each.share_of_step else ""
        advice = f"<br>{html.escape(each.try_)}" if each.try_ else ""
        items.append(f"<li><b>{html.escape(each.what)}</b>: {cost} per step{share}{advice}</li>")
    return f"<ol>{''.join(items)}</ol>" if items else ""


@dataclass(frozen=True)
class WhatIf:
    """The steps replayed with a change."""

    change: str
    step_time_ns: int
    speedup: float  # to the steps as they were replayed without it
    replay_error: float  # of the replay without a change, 0 to 1


class Report(Document):
    """Of one run: where the time of its steps went."""

    @cached_property
    def ranks(self) -> tuple[Report, ...]:
        """One of each rank."""
        return tuple(Report(self.json, self.words, i) for i in range(len(self.json["ranks"])))

    @property
    def ledger(self) -> Table:
        """A row an account: `mean`, `min`, `max`, `total` in ns, `share` of the steps; parts have a larger `depth`."""
        return self.table("step_ledger", "ledger")

    @property
    def steps(self) -> Table:
        """A row a step: `duration` and the time of each account in ns."""
        return self.table("step_ledger", "steps")

    @property
    def kernels(self) -> Table:
        """A row a kernel: `count`, `total` and `mean` in ns, `share` of kernel time."""
        return self.table("kernels", "by_name")

    @property
    def operators(self) -> Table:
        """A row an operator: `calls`, its own and all time on host and device in ns."""
        return self.table("operators", "by_name")

    @property
    def modules(self) -> Table:
        """A row a module of the model: parameters, FLOPs, times in ns."""
        return self.table("module_cost", "modules")

    @property
    def idle(self) -> Table:
        """A row a cause of idle time of the device, in ns."""
        return self.table("gpu_idle", "causes")

    @property
    def step_time_ns(self) -> int:
        """Mean of the steps."""
        return int(self.number("step_ledger", "step_time_mean"))

    @property
    def mfu(self) -> float:
        """Model FLOPs utilization, 0 to 1. Raises NotKnown where shapes or the peak are missing."""
        return float(self.number("model_flops_utilization", "mfu"))

    def what_if(self, change: str) -> WhatIf:
        """Replays the steps: "data=0", "host*0.9", "kernel:REGEX*0.7", ... Raises NotKnown where they can't be replayed."""
        report = Report(program.run_json([*self.words, "--what-if", change]), self.words)
        rows = report.table("what_if", "changes")
        if not rows:
            findings = report._section("what_if").get("findings", [])
            raise NotKnown(findings[0]["what"] if findings else f"'{change}' was not replayed")
        error = float(report.number("what_if", "replay_error"))
        row = rows[0]
        return WhatIf(row["change"], int(row["step_time"]), float(row["speedup"]), error)

    def first_screen(self) -> list[str]:
        return [findings_html(self.findings), self.ledger._repr_html_()]


class Comparison(Document):
    """Of run B to run A."""

    @property
    def speedup(self) -> float:
        """How many times as fast B's step is as A's."""
        return float(self.number("difference", "speedup"))

    @property
    def change_ns(self) -> int:
        """Of the mean step, B less A."""
        return int(self.number("difference", "change"))

    @property
    def accounts(self) -> Table:
        """A row an account: `a`, `b` and `change` in ns per step, and the `verdict` on it."""
        return self.table("difference", "waterfall")

    @property
    def kernels(self) -> Table:
        return self.table("kernel_changes", "by_name")

    @property
    def operators(self) -> Table:
        return self.table("operator_changes", "device_time")

    @property
    def conditions(self) -> Table:
        """A row a condition of `fail_if`: `condition`, `state` and what it `said`."""
        return self.table("conditions", "conditions")

    def first_screen(self) -> list[str]:
        tables = [self.conditions] if self.conditions else []
        return [table._repr_html_() for table in [*tables, self.accounts]]


class MemoryReport(Document):
    """Of the memory of a recorded run, or of a snapshot of CUDA's allocator."""

    @property
    def peak_bytes(self) -> int:
        section = "memory" if "memory" in self.sections else "snapshot_peak"
        return int(self.number(section, "peak" if section == "memory" else "peak_bytes"))

    @property
    def kinds(self) -> Table:
        """A row a kind of memory: bytes at the peak, and at the ends of forward, backward and step."""
        return self.table("memory", "kinds")

    def first_screen(self) -> list[str]:
        return [self.kinds._repr_html_()] if self.kinds else []


class JobReport(Document):
    """Of a whole job: which part of its time was effective training time."""

    @property
    def ettr(self) -> float:
        """0 to 1."""
        return float(self.number("job", "ettr"))

    @property
    def accounts(self) -> Table:
        """A row an account of the job's time."""
        return self.table("job", "accounts")

    def first_screen(self) -> list[str]:
        return [self.accounts._repr_html_()]


def options_of(given: dict[str, Any]) -> list[str | Paths]:
    """`only_significant=True` is --only-significant, `steps="3-5"` is --steps 3-5, a list is the option for each of it."""
    words: list[str | Paths] = []
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        values = value if isinstance(value, (list, tuple)) else [value]
        for each in values:
            if each is True:
                words.append(option)
            elif each is not None and each is not False:
                words += [option, os.fspath(each) if isinstance(each, os.PathLike) else str(each)]
    return words


def report(*traces: Paths, **options: Any) -> Report:
    """Where the time of a run went: `report("trace.json.gz")`, `report("folder/of/ranks", steps="3-5", peak=989)`.

    Options are those of `flopledger report`, with _ for -. Raises ProgramError where nothing can be read.
    """
    words = ["report", *options_of(options), *traces]
    return Report(program.run_json(words), words)


def compare(a: Paths, b: Paths, **options: Any) -> Comparison:
    """What changed from run `a` to run `b`: `compare("a.json", "b.json", fail_if=["step_time>+3%"])`.

    A condition that is met raises nothing: see `conditions`.
    """
    words = ["compare", *options_of(options), a, b]
    return Comparison(program.run_json(words, GOOD), words)


def memory(source: Paths, **options: Any) -> MemoryReport:
    """What held memory: of a capture recorded with `memory=True`, or of a snapshot (`snapshot.pickle`)."""
    words = ["memory", *options_of(options), source]
    return MemoryReport(program.run_json(words), words)


def ettr(*sources: Paths, **options: Any) -> JobReport:
    """Effective training time of a job, of its captures or logs."""
    words = ["ettr", *options_of(options), *sources]
    return JobReport(program.run_json(words), words)
