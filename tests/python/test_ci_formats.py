#!/usr/bin/env python3
"""What CI reads: Markdown, JUnit, SARIF, and the GitHub action as a runner would call it: test_ci_formats.py PROGRAM"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from count_line import run_and_count

PROGRAM = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "traces" / "golden"
BEFORE, AFTER = GOLDEN / "compare" / "before.json.gz", GOLDEN / "compare" / "after.json.gz"
ACTION = ROOT / "contrib" / "github"
MET, NOT_MET, UNDECIDED = "kernel:gemm*>+5%", "step_time>+3%", "memory>40GiB"


def compare(form: str, *conditions: str) -> tuple[str, int]:
    words = [word for condition in conditions for word in ("--fail-if", condition)]
    done = subprocess.run(
        [PROGRAM, "compare", *words, "--format", form, BEFORE, AFTER],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout, done.returncode


def report(form: str, trace: Path) -> str:
    words = [PROGRAM, "report", "--format", form, trace]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


class GitNote(unittest.TestCase):
    def test_a_baseline_in_a_git_note(self) -> None:
        """The lines of the page, in a repository of one commit: the trace comes back byte for byte."""
        page = (ROOT / "docs" / "how-to" / "compare-two-runs.md").read_text()
        found = re.search(r"^```sh\n(git notes .*?)^```", page, re.MULTILINE | re.DOTALL)
        assert found is not None
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            shutil.copy(BEFORE, folder / "trace.json.gz")
            (folder / "captures").mkdir()
            shutil.copy(AFTER, folder / "captures" / "mine")
            begin = "git init -q . && git commit -q --allow-empty -m one && git update-ref refs/remotes/origin/main HEAD"
            person = {"NAME": "Test", "EMAIL": "test@localhost"}
            names = {
                f"GIT_{who}_{k}": v for who in ("AUTHOR", "COMMITTER") for k, v in person.items()
            }
            done = subprocess.run(
                ["sh", "-ec", f"{begin}\n{found[1]}"],
                cwd=folder,
                env={**os.environ, **names, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"},
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((folder / "baseline.json.gz").read_bytes(), BEFORE.read_bytes())
            self.assertIn("B is 1.12x as fast as A", done.stdout)


class Formats(unittest.TestCase):
    def test_junit_has_a_test_for_each_condition(self) -> None:
        text, code = compare("junit", MET, NOT_MET, UNDECIDED)
        self.assertEqual(code, 6)
        suite = ElementTree.fromstring(text).find("testsuite")
        assert suite is not None
        counts = [suite.get(name) for name in ("tests", "failures", "errors")]
        self.assertEqual(counts, ["3", "1", "1"])
        cases = {case.get("name"): [child.tag for child in case] for case in suite}
        self.assertEqual(cases, {MET: ["failure"], NOT_MET: [], UNDECIDED: ["error"]})
        failure = suite.find("testcase/failure")
        assert failure is not None
        self.assertIn("3.118 ms in B", failure.get("message", ""))

    def test_junit_without_conditions_passes(self) -> None:
        suite = ElementTree.fromstring(compare("junit")[0]).find("testsuite")
        assert suite is not None
        self.assertEqual([suite.get("tests"), suite.get("failures")], ["1", "0"])

    def test_sarif_says_how_bad_it_is(self) -> None:
        text, code = compare("sarif", MET, NOT_MET, UNDECIDED)
        self.assertEqual(code, 6)
        run = self.run_of(text)
        found = [(each["level"], each["message"]["text"]) for each in run["results"]]
        conditions = [each for each in found if each[1].startswith((MET, NOT_MET, UNDECIDED))]
        self.assertEqual([level for level, _ in conditions], ["error", "warning"])

    def run_of(self, text: str) -> Any:
        log = json.loads(text)
        self.assertEqual(log["version"], "2.1.0")
        (run,) = log["runs"]
        self.assertEqual(run["tool"]["driver"]["name"], "flopledger")
        for result in run["results"]:
            self.assertIn(result["level"], ("error", "warning", "note"))
            self.assertTrue(result["message"]["text"])
            for location in result.get("locations", []):
                uri = location["physicalLocation"]["artifactLocation"]["uri"]
                self.assertRegex(uri, r"^[A-Za-z0-9/._~%-]+$")
        return run

    def test_sarif_has_the_advice(self) -> None:
        trace = GOLDEN / "what_if" / "training.json"
        advice = json.loads(report("json", trace))["ranks"][0]["sections"]["advice"]["findings"]
        rules = [each["ruleId"] for each in self.run_of(report("sarif", trace))["results"]]
        self.assertTrue(advice)
        for finding in advice:
            self.assertIn(finding["id"], rules)

    def test_a_path_with_anything_in_it(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder) / 'a b<&"%41.json'
            shutil.copy(GOLDEN / "what_if" / "training.json", trace)
            self.run_of(report("sarif", trace))
            ElementTree.fromstring(report("junit", trace))

    def test_markdown_has_the_conditions(self) -> None:
        text, code = compare("markdown", MET, NOT_MET)
        self.assertEqual(code, 6)
        self.assertTrue(text.startswith("## B is 1.12x as fast as A"), text[:80])
        self.assertRegex(text, r"\| kernel:gemm\\\*\\>\+5% \| met \|")
        self.assertEqual(text.count("<details>"), text.count("</details>"))

    def test_tables_of_markdown_are_whole(self) -> None:
        for text in (compare("markdown")[0], report("markdown", GOLDEN / "hostile.json")):
            tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
            self.assertGreater(len(tables), 3)
            for table in tables:
                cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
                self.assertEqual(len(cells), 1, table)

    def test_nothing_in_markdown_is_markup_of_the_trace(self) -> None:
        text = report("markdown", GOLDEN / "hostile.json")
        tags = set(re.findall(r"<[^>]*>?", text))
        self.assertEqual(tags - {"<details>", "</details>", "<summary>", "</summary>"}, set())
        self.assertIsNone(re.search(r"(?<!\\)`|(?<!\\)\]\(", text))


@unittest.skipUnless(shutil.which("bash"), "needs bash")
class Action(unittest.TestCase):
    def act(self, conditions: str, **more: str) -> tuple[subprocess.CompletedProcess[str], Path]:
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / "flopledger").symlink_to(PROGRAM)
        environment = {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(folder),
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            "GITHUB_OUTPUT": str(folder / "output"),
            "BASELINE": str(BEFORE),
            "CANDIDATE": str(AFTER),
            "FAIL_IF": conditions,
            **more,
        }
        done = subprocess.run(
            [ACTION / "compare.sh"], env=environment, capture_output=True, text=True, check=False
        )
        return done, folder

    def outputs(self, folder: Path) -> dict[str, str]:
        lines = (folder / "output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)  # type: ignore[misc]

    def test_a_condition_that_is_met(self) -> None:
        done, folder = self.act(f"{NOT_MET}\n{MET}\n")
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertRegex(done.stdout, r"::error title=flopledger::--fail-if is met: kernel:gemm")
        outputs = self.outputs(folder)
        self.assertEqual(outputs["exit-code"], "6")
        made = {path.name for path in Path(outputs["folder"]).iterdir()}
        self.assertLessEqual({"page.html", "junit.xml", "flopledger.sarif", "summary.md"}, made)
        self.assertIn("B is 1.12x", (folder / "summary").read_text())

    def test_none_is_met(self) -> None:
        done, folder = self.act(NOT_MET)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(self.outputs(folder)["exit-code"], "0")

    def test_what_cannot_be_told(self) -> None:
        done, _ = self.act(UNDECIDED)
        self.assertEqual(done.returncode, 0)
        self.assertIn("::warning title=flopledger::", done.stdout)
        done, _ = self.act(UNDECIDED, UNDECIDED="fail")
        self.assertEqual(done.returncode, 7)

    def test_what_cannot_be_read(self) -> None:
        done, folder = self.act(NOT_MET, CANDIDATE="/nowhere")
        self.assertEqual(done.returncode, 3)
        self.assertIn("::error title=flopledger::'/nowhere': no such file", done.stdout)
        self.assertFalse((folder / "output").exists())

    def test_the_inputs_reach_the_script(self) -> None:
        """Each variable that the script reads is one that action.yml sets, and is declared there as an input."""
        script, action = (ACTION / "compare.sh").read_text(), (ACTION / "action.yml").read_text()
        read = set(re.findall(r"\$\{?(BASELINE|CANDIDATE|FAIL_IF|UNDECIDED)", script))
        given = dict(re.findall(r"^ +(\w+): \$\{\{ inputs\.([\w-]+) \}\}$", action, re.MULTILINE))
        self.assertLessEqual(read, given.keys())
        declared = action[action.index("inputs:") : action.index("outputs:")]
        for name in given.values():
            self.assertRegex(declared, rf"(?m)^  {name}:$")


if __name__ == "__main__":
    run_and_count()
