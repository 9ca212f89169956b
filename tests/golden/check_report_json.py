#!/usr/bin/env python3
"""What docs/formats/report-json.md says of the JSON report is true: check_report_json.py [--bless]

Runs `flopledger report --json`, `inspect --json` and `flops --json` on the project's traces, and on other people's where they are at hand
($FLOPLEDGER_SHARED, else ../shared), and checks that

- it is JSON that a strict parser takes, and as docs/formats/report-json.schema.json says, of which each member is met, and whose
  units are those that the program declares,
- every key in it stands in the page, with its unit, and every key in the page is one that a trace of the project has.

--bless writes the list of keys into the page.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Iterator

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "formats" / "report-json.md"
VALUES = ROOT / "src" / "output" / "results" / "value.c"
SCHEMA = ROOT / "docs" / "formats" / "report-json.schema.json"
BEGIN = "<!-- keys: written by tests/golden/check_report_json.py --bless -->\n"
END = "<!-- end of the keys -->\n"
OF_OTHERS_MAX_BYTES = 4_000_000

TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
}


met: dict[int, set[str]] = {}  # by the rule that it was held to: members that reports had


def is_of_type(value: Any, name: str) -> bool:
    if name in ("integer", "number"):
        allowed = int if name == "integer" else (int, float)
        return isinstance(value, allowed) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def violations(
    value: Any, rule: dict[str, Any], schema: dict[str, Any], where: str
) -> Iterator[str]:
    """What in `value` is not as `rule` says: the part of JSON Schema that our schema uses."""
    if "$ref" in rule:
        rule = schema["$defs"][rule["$ref"].removeprefix("#/$defs/")]
    if isinstance(value, dict):
        met.setdefault(id(rule), set()).update(value)
    types = rule.get("type", list(TYPES) + ["number"])
    types = [types] if isinstance(types, str) else types
    if not any(is_of_type(value, name) for name in types):
        yield f"{where}: {json.dumps(value)[:60]} is not {' or '.join(types)}"
        return
    if "const" in rule and value != rule["const"]:
        yield f"{where}: {value!r} is not {rule['const']!r}"
    if "enum" in rule and value not in rule["enum"]:
        yield f"{where}: {value!r} is not one of {rule['enum']}"
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from violations(item, rule.get("items", {}), schema, f"{where}[{index}]")
    if isinstance(value, dict):
        for key in rule.get("required", []):
            if key not in value:
                yield f"{where}: has no {key}"
        properties = rule.get("properties", {})
        for key, item in value.items():
            other = rule.get("additionalProperties", {})
            if key not in properties and other is False:
                yield f"{where}: {key} is not in the schema"
                continue
            yield from violations(item, properties.get(key, other or {}), schema, f"{where}.{key}")


def problems_of_schema(schema: dict[str, Any]) -> Iterator[str]:
    """Members that no report has, and units that the program and the schema do not share."""
    for name, rule in [("report", schema), *schema["$defs"].items()]:
        for key in set(rule.get("properties", {})) - met.get(id(rule), set()):
            yield f"{SCHEMA.name}: no report has the member '{key}' of {name}"
    declared = re.findall(r'return "([^"]+)";', VALUES.read_text().partition("bool ")[0])
    if set(declared) != set(schema["$defs"]["unit"]["enum"]):
        yield f"{SCHEMA.name}: its units are not those of {VALUES.name}: {sorted(set(declared))}"


def refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def refuse_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError(f"a key stands twice in {sorted(key for key, _ in pairs)[:20]}")
    return result


def strictly(text: bytes) -> Any:
    return json.loads(
        text.decode("utf-8"), parse_constant=refuse_constant, object_pairs_hook=refuse_twins
    )


def keys_of(name: str, section: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(key, unit, title) of every number and column."""
    for key, number in section["numbers"].items():
        yield f"{name}.numbers.{key}", number["unit"], number["title"]
    for key, table in section["tables"].items():
        for column in table["columns"]:
            yield f"{name}.tables.{key}.{column['key']}", column["unit"], column["title"]


def in_words_of_cuda(title: str) -> str:
    """The project's traces are of other makers' devices, too, and their titles in those makers' words."""
    for said, of_cuda in (("Cube core", "Tensor Core"), ("HIP graph", "CUDA graph")):
        title = title.replace(said, of_cuda)
    return "SMs" if title in ("units", "CUs") else title


class Checker:
    def __init__(self) -> None:
        self.program = os.environ.get("FLOPLEDGER", "flopledger")
        self.schema = json.loads(SCHEMA.read_text())
        self.problems: list[str] = []
        self.keys: dict[str, tuple[set[str], str]] = {}  # units and the title first seen
        self.titles: dict[str, str] = {}  # of sections

    def take(self, command: list[str], is_ours: bool) -> None:
        done = subprocess.run([self.program, *command], capture_output=True, check=False)
        if done.returncode not in (0, 5):
            if is_ours:
                self.problems.append(f"{command}: {done.stderr.decode(errors='replace')}")
            return
        try:
            report = strictly(done.stdout)
        except ValueError as error:
            self.problems.append(f"{command}: {error}")
            return
        name = " ".join(command[:2] + [Path(word).name for word in command[2:]])
        self.problems += list(violations(report, self.schema, self.schema, name))[:5]
        prefix = "" if command[0] == "report" else f"{command[0]}: "
        for rank in report["ranks"]:
            for key, section in rank["sections"].items():
                self.take_section(prefix + key, section)
        if report["overview"]:
            self.take_section("overview", report["overview"])

    def take_section(self, name: str, section: dict[str, Any]) -> None:
        self.titles.setdefault(name, in_words_of_cuda(section["title"]))
        for key, unit, title in keys_of(name, section):
            units, _ = self.keys.setdefault(key, (set(), in_words_of_cuda(title)))
            if unit != "not_known":
                units.add(unit)

    def page_of_keys(self) -> str:
        lines = []
        for name, title in self.titles.items():
            lines += [f"\n### {name}\n", f"{title}\n", "| key | unit | title |", "|---|---|---|"]
            for key in sorted(self.keys, key=lambda key: ".tables." in key):
                units, of_key = self.keys[key]
                section, _, rest = key.partition(".")
                if section == name:
                    said = of_key or "for programs: on no screen"
                    lines.append(f"| `{rest}` | {' or '.join(sorted(units)) or '-'} | {said} |")
        return "\n".join(lines) + "\n"


def take_plans(checker: Checker) -> None:
    """By a model, a server, from a recording, and beside a run."""
    model = ["--model", str(ROOT / "tests/models/gpt2.json"), "--device", "H100 SXM"]
    trace = str(ROOT / "examples/traces/train_gpt_cpu.json.gz")
    planned = ["plan", "--json", *model, "--devices", "8", "--seq", "1024", "--global-batch", "8"]
    bill = ["--tokens", "1e12", "--interruptions", "1e-3", "--watts", "700", "--cost-per-hour", "2"]
    checker.take([*planned, *bill, "--search", "--micro-batch", "1"], True)
    checker.take([*planned, "--tp", "2", "--calibrate", "1.1"], True)
    checker.take(["plan", "--json", *model, "--context", "1024"], True)
    from_run = ["plan", "--json", "--from", trace, "--batch", "2x"]
    checker.take(from_run, True)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as plan:
        subprocess.run([checker.program, *from_run], stdout=plan, check=True)
        checker.take(["compare", "--json", plan.name, trace], True)


def take_own(checker: Checker) -> None:
    folder = ROOT / "tests" / "traces" / "golden"
    paths = [*folder.rglob("*.json"), *folder.rglob("*.json.gz")]
    paths += (ROOT / "examples" / "traces").glob("*.gz")
    for path in sorted(
        path
        for path in paths
        if path.name not in ("capture.json", "compiled.json")
        and path.parent.name not in ("job", "strangers")
        and not path.name.endswith(".memory.json")
    ):
        checker.take(["report", "--json", "--by", "shape", str(path)], True)
        checker.take(["inspect", "--json", str(path)], True)
    checker.take(["report", "--json", "--layout", "dp=2", str(folder / "two_ranks")], True)
    changes = ["--what-if", "data=workers", "--what-if", "waiting@2=0"]
    checker.take(["report", "--json", *changes, str(folder / "what_if" / "training.json")], True)
    checker.take(["report", "--json", *changes, str(folder / "queued_ranks")], True)
    for fault in ("stopped", "swapped"):
        checker.take(["ranks", "--json", str(folder / "flight" / fault)], True)
    checker.take(["flops", "--json", str(folder / "modules")], True)
    checker.take(["memory", "--json", "--fit", "8MiB", str(folder / "memory_run")], True)
    with tempfile.TemporaryDirectory() as made:
        database = Path(made) / "metrics.sqlite"
        generator = ROOT / "tests" / "generate" / "nsys_database.py"
        options = ["--seed", "5", "--steps", "2", "--blocks", "2", "--metrics", "--page-faults"]
        command = [sys.executable, str(generator), *options, "--output", str(database)]
        subprocess.run(command, check=True, capture_output=True)
        checker.take(["report", "--json", str(database)], True)
    snapshots = folder / "memory"
    for name in ("tags", "oom", "two_devices"):
        checker.take(["memory", "--json", str(snapshots / f"{name}.pickle")], True)
    after = str(snapshots / "tags.pickle")
    checker.take(["memory", "--json", "--compare", str(snapshots / "before.pickle"), after], True)
    models = ROOT / "tests" / "models"
    as_counted = ["--model", str(models / "gpt2.json"), "--convention", "megatron"]
    checker.take(["report", "--json", *as_counted, str(folder / "modules")], True)
    of_model = ["flops", "--json", "--batch", "4", "--model"]
    of_run = ["--seq", "128", "--step-time", "1s", "--peak", "100"]
    checker.take([*of_model, str(models / "deepseek-v3.json"), *of_run], True)
    checker.take([*of_model, str(models / "bert-base-no-class.json"), *of_run], True)
    two_runs = [str(folder / "compare" / f"{name}.json.gz") for name in ("before", "after")]
    checker.take(["compare", "--json", "--fail-if", "step_time>+50%", *two_runs], True)
    checker.take(["compare", "--json", *[str(folder / "memory_run")] * 2], True)
    for job in sorted((folder / "job").iterdir()):
        if job.name != "own.log":
            checker.take(["ettr", "--json", "--device", "H100 SXM", str(job)], True)
    take_plans(checker)
    checker.take(["device", "--json"], True)
    checker.take(["device", "--json", "NVIDIA H100 80GB HBM3"], True)


def take_those_of_others(checker: Checker) -> None:
    shared = Path(os.environ.get("FLOPLEDGER_SHARED", ROOT.parent / "shared"))
    for path in sorted((shared / "traces").rglob("*.json*")):
        if path.is_file() and path.stat().st_size <= OF_OTHERS_MAX_BYTES:
            checker.take(["report", "--json", "--top", "3", str(path)], False)
            checker.take(["inspect", "--json", "--top", "3", str(path)], False)
    for path in sorted((shared / "snapshots").rglob("*.pickle")):
        checker.take(["memory", "--json", "--top", "3", str(path)], False)


def main() -> int:
    checker = Checker()
    take_own(checker)
    own = dict(checker.keys)
    checker.problems += problems_of_schema(checker.schema)
    head, _, rest = PAGE.read_text().partition(BEGIN)
    written, _, tail = rest.partition(END)
    if "--bless" in sys.argv:
        PAGE.write_text(head + BEGIN + checker.page_of_keys() + END + tail)
    elif checker.page_of_keys() != written:
        checker.problems.append(
            f"the keys in {PAGE.name} are not those printed: --bless writes them"
        )
    take_those_of_others(checker)
    for key in checker.keys:
        if key not in own:
            checker.problems.append(f"no trace in tests/traces/golden has {key}: add one")
    print("\n".join(checker.problems[:40]) if checker.problems else "all keys are documented")
    return 1 if checker.problems else 0


if __name__ == "__main__":
    sys.exit(main())
