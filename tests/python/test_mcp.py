#!/usr/bin/env python3
"""`flopledger mcp`, asked by the protocol's own Python client, beside what the program's JSON says: test_mcp.py PROGRAM"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from count_line import run_and_count

PROGRAM = Path(sys.argv.pop(1)).resolve()
ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "traces" / "golden"
TOOLS = ["report", "explain", "what_if", "compare", "memory", "ranks", "ettr", "inspect"]
BYTES_MAX = 128 * 1024  # of an answer as it is sent: its text, and the same once more as an object

PACKAGES = ROOT / "build" / "venv-api" / "bin" / "python"  # the client: by ./dev test
if PACKAGES.exists() and Path(sys.executable) != PACKAGES:
    os.execv(PACKAGES, [str(PACKAGES), __file__, str(PROGRAM), *sys.argv[1:]])

try:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
except ImportError:
    ClientSession = None


def ask(lines: list[Any], *options: str) -> list[Any]:
    """Answers to messages; those that are texts are sent as they are."""
    words = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    done = subprocess.run(
        [PROGRAM, "mcp", "--root", str(GOLDEN), *options],
        input="".join(f"{line}\n" for line in words).encode(),
        capture_output=True,
        check=True,
        timeout=120,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def call(tool: str, *options: str, **arguments: Any) -> Any:
    """The result of one call."""
    parameters = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
    [answer] = ask([message], *options)
    if len(json.dumps(answer)) > BYTES_MAX:
        raise AssertionError(f"{tool} {arguments}: {len(json.dumps(answer)):,} bytes")
    return answer["result"]


def content(tool: str, *options: str, **arguments: Any) -> Any:
    result = call(tool, *options, **arguments)
    if result["isError"]:
        raise AssertionError(result["content"][0]["text"])
    if json.loads(result["content"][0]["text"]) != result["structuredContent"]:
        raise AssertionError("the text and the object differ")
    return result["structuredContent"]


def json_of(command: str, *words: str | Path) -> Any:
    done = subprocess.run([PROGRAM, command, "--json", *words], capture_output=True, check=False)
    return json.loads(done.stdout)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(cell) for key, cell in value.items() if cell is not None}
    return [without_nulls(cell) for cell in value] if isinstance(value, list) else value


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as the JSON has it."""
    row = {key: cell for key, cell in row.items() if key != "id"}
    return {"id": row.pop("kind")} | row if "kind" in row else row


class Answers(unittest.TestCase):
    def test_every_row_of_every_table(self) -> None:
        """Page by page, each with few rows: all of it is what the JSON has, and once."""
        report = json_of("report", "--top", "0", GOLDEN / "two_ranks" / "rank0.json")
        sections = report["ranks"][0]["sections"]
        rows_seen = 0
        for section in ("kernels", "step_ledger", "gpu_idle"):
            for name, table in sections[section]["tables"].items():
                rows: list[Any] = []
                more: dict[str, Any] = {}
                while True:
                    path = "two_ranks/rank0.json"
                    page = content(
                        "report", paths=[path], section=section, table=name, limit=3, **more
                    )["tables"][name]
                    self.assertEqual(page["rows_in_all"], table["rows_in_all"])
                    self.assertLessEqual(len(page["rows"]), 3)
                    rows += page["rows"]
                    if "next_cursor" not in page:
                        break
                    more = {"cursor": page["next_cursor"]}
                expected = [
                    {key: cell for key, cell in row.items() if (key, cell) != ("depth", 0)}
                    for row in without_nulls(table["rows"])
                ]
                self.assertEqual([plain(row) for row in rows], expected)
                self.assertEqual(len({row["id"] for row in rows}), len(rows))
                rows_seen += len(rows)
        self.assertGreater(rows_seen, 40)

    def test_findings_are_the_jsons(self) -> None:
        path = GOLDEN / "two_ranks"
        report = json_of("report", path)
        expected = report["overview"]["findings"] + [
            finding
            for rank in report["ranks"]
            for section in rank["sections"].values()
            for finding in section["findings"]
        ]
        found: list[Any] = []
        cursor = {}
        while True:
            page = content("report", paths=["two_ranks"], limit=4, **cursor)
            self.assertEqual(page["headline"], report["headline"])
            found += page["findings"]
            if "next_cursor" not in page:
                break
            cursor = {"cursor": page["next_cursor"]}
        self.assertEqual([plain(finding) for finding in found], without_nulls(expected))
        for finding in found[:3]:
            again = content("report", paths=["two_ranks"], id=finding["id"])
            self.assertEqual(again["findings"], [finding])

    def test_a_row_by_its_id(self) -> None:
        page = content("report", paths=["two_ranks"], section="kernels", rank="rank 1")
        row = page["tables"]["by_name"]["rows"][2]
        self.assertTrue(row["id"].startswith("rank 1/kernels/by_name/"))
        again = content("report", paths=["two_ranks"], id=row["id"])
        self.assertEqual(again["tables"]["by_name"]["rows"], [row])

    def test_what_if_is_the_command_lines(self) -> None:
        answer = content("what_if", paths=["two_ranks/rank0.json"], change="data=0")
        report = json_of("report", "--what-if", "data=0", GOLDEN / "two_ranks" / "rank0.json")
        expected = report["ranks"][0]["sections"]["what_if"]["tables"]["changes"]["rows"]
        rows = answer["tables"]["changes"]["rows"]
        self.assertEqual(rows[0]["speedup"], expected[0]["speedup"])

    def test_every_tool_answers(self) -> None:
        pair = {"a": "two_ranks/rank0.json", "b": "compare/after.json.gz"}
        self.assertIn("sections", content("compare", **pair))
        self.assertIn("sections", content("memory", paths=["memory/tags.pickle"]))
        self.assertIn("sections", content("inspect", paths=["products"]))
        [log] = sorted((GOLDEN / "job").glob("*.log"))[:1]
        self.assertIn("sections", content("ettr", paths=[f"job/{log.name}"]))
        self.assertIn("# MFU", content("explain", name="mfu")["text"])

    def test_a_page_is_the_commands(self) -> None:
        done = subprocess.run([PROGRAM, "help", "export-sqlite"], capture_output=True, check=True)
        page = content("explain", name="export-sqlite")
        self.assertEqual(page, {"text": done.stdout.decode()})

    def test_answers_that_are_kept(self) -> None:
        """Other sections and pages are of the same answer; a file that changed has another."""
        with tempfile.TemporaryDirectory() as folder:
            kept, trace = Path(folder) / "flopledger", Path(folder) / "trace.json"

            def write(rank: str) -> None:
                trace.write_bytes((GOLDEN / "two_ranks" / rank).read_bytes())
                time.sleep(0.05)  # what was written this moment is not taken for finished

            def asked(tool: str = "report", **arguments: Any) -> tuple[Any, list[int]]:
                options = ["--root", folder, "--cache"]
                with unittest.mock.patch.dict(os.environ, {"XDG_CACHE_HOME": folder}):
                    os.environ.pop("FLOPLEDGER_CACHE", None)
                    found = content(tool, *options, paths=["trace.json"], **arguments)
                without = content(tool, "--root", folder, paths=["trace.json"], **arguments)
                self.assertEqual(found, without)
                return found, sorted(path.stat().st_ino for path in kept.glob("*.answer"))

            write("rank0.json")
            first, answers = asked()
            self.assertEqual(len(answers), 1)
            for arguments in ({}, {"section": "kernels"}, {"section": "step_ledger", "limit": 1}):
                self.assertEqual(asked(**arguments)[1], answers)
            write("rank1.json")
            self.assertNotEqual(asked()[0], first)
            trace.write_bytes((GOLDEN / "device_memory.json").read_bytes())
            time.sleep(0.05)
            answers = asked("memory")[1]
            self.assertEqual(len(answers), 2)
            self.assertEqual(asked("memory")[1], answers)

    def test_a_damaged_file_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            whole = (GOLDEN / "two_ranks" / "rank0.json").read_bytes()
            (Path(folder) / "cut.json").write_bytes(whole[: len(whole) * 3 // 4])
            result = call("report", "--root", folder, paths=["cut.json"])
        self.assertFalse(result["isError"])
        self.assertEqual(len(result["content"]), 2)
        self.assertIn("cut or damaged", result["content"][1]["text"])
        self.assertIn("the file is cut off", json.dumps(result["structuredContent"]["findings"]))


class Refusals(unittest.TestCase):
    def error(self, tool: str, *options: str, **arguments: Any) -> str:
        result = call(tool, *options, **arguments)
        self.assertTrue(result["isError"], f"{tool} {arguments}")
        return result["content"][0]["text"]

    def test_nothing_outside_the_root(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "root"
            root.mkdir()
            outside = Path(folder) / "root-too.json"
            outside.write_bytes((GOLDEN / "two_ranks" / "rank0.json").read_bytes())
            (root / "link.json").symlink_to(outside)
            (root / "inside.json").symlink_to(GOLDEN / "two_ranks" / "rank0.json")
            for path in ("../root-too.json", str(outside), "link.json", "..", "/", "/etc/passwd"):
                told = self.error("report", "--root", str(root), paths=[path])
                self.assertIn("does not lie below", told)
            self.assertIn("No such file", self.error("report", "--root", folder, paths=["none"]))
            self.assertIn(
                "headline", json.dumps(content("report", "--root", "/", paths=[str(outside)]))
            )

    def test_a_path_is_no_option(self) -> None:
        for path in ("--html", "-o", "--json", "-"):
            self.assertIn("No such file", self.error("report", paths=[path]))
        told = self.error("explain", name="--version")
        self.assertIn("there is no help with", told)

    def test_arguments_that_do_not_fit(self) -> None:
        for arguments, words in (
            ({}, "needs 'paths'"),
            ({"paths": []}, "list of 1 to"),
            ({"paths": "two_ranks"}, "list of 1 to"),
            ({"paths": ["two_ranks", 3]}, "list of 1 to"),
            ({"paths": ["two_ranks"], "limit": 0}, "from 1 to 200"),
            ({"paths": ["two_ranks"], "limit": "5"}, "from 1 to 200"),
            ({"paths": ["two_ranks"], "sections": "x"}, "no argument 'sections'"),
            ({"paths": ["two_ranks"], "section": "x"}, "there are overview, advice"),
            ({"paths": ["two_ranks"], "table": "x"}, "needs the section"),
            ({"paths": ["two_ranks"], "section": "kernels", "table": "x"}, "no table 'x'"),
            ({"paths": ["two_ranks"], "section": "kernels", "rank": "rank 7"}, "of rank 7"),
            ({"paths": ["two_ranks"], "cursor": "-1"}, "no cursor"),
            ({"paths": ["two_ranks"], "cursor": "99999999999999999999"}, "no cursor"),
            ({"paths": ["two_ranks"], "id": "kernels"}, "no id"),
            ({"paths": ["two_ranks"], "id": "rank 0/kernels/by_name/x"}, "no id"),
        ):
            self.assertIn(words, self.error("report", **arguments), arguments)
        told = self.error("what_if", paths=["two_ranks/rank0.json"], change="nothing=0")
        self.assertIn("data", told)  # the names that there are

    def test_a_question_that_takes_too_long(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(Path(folder) / "never.json")
            told = self.error("report", "--root", folder, "--time-limit", "1", paths=["never.json"])
        self.assertIn("within 1 seconds", told)

    def test_messages_that_are_none(self) -> None:
        ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
        answers = ask(
            [
                "nonsense",
                "[]",
                "3",
                '{"jsonrpc": "2.0", "id": 1}',
                '{"jsonrpc": "2.0", "id": 2.5, "method": "ping"}',
                '{"jsonrpc": "2.0", "id": 4, "method": "no/method"}',
                '{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "rm"}}',
                '{"jsonrpc": "2.0", "method": "notifications/cancelled"}',
                '{"jsonrpc": "2.0", "id": 6, "result": {}}',
                "",
                "x" * (1 << 20) + "yy",
                '{"jsonrpc": "2.0", "id": 7, "method": "resources/read", "params": {"uri": "file:///etc/passwd"}}',
                ping,
            ]
        )
        codes = [answer.get("error", {}).get("code") for answer in answers]
        invalid = [-32600] * 4
        self.assertEqual(codes, [-32700, *invalid, -32601, -32602, -32700, -32002, None])
        self.assertEqual(answers[-1], {"jsonrpc": "2.0", "id": "p", "result": {}})

    def test_versions(self) -> None:
        for wanted, given in (("2024-11-05", "2024-11-05"), ("2031-01-01", "2025-11-25")):
            message = {"jsonrpc": "2.0", "id": 0, "method": "initialize"}
            [answer] = ask([message | {"params": {"protocolVersion": wanted}}])
            self.assertEqual(answer["result"]["protocolVersion"], given)


@unittest.skipUnless(ClientSession, "needs the mcp package")
class OfficialClient(unittest.TestCase):
    def with_client(self, use: Callable[[Any], Awaitable[None]]) -> None:
        async def talk() -> None:
            words = ["mcp", "--root", str(GOLDEN)]
            server = StdioServerParameters(command=str(PROGRAM), args=words)
            async with (
                stdio_client(server) as (incoming, outgoing),
                ClientSession(incoming, outgoing) as session,
            ):
                await session.initialize()
                await use(session)

        asyncio.run(asyncio.wait_for(talk(), 120))

    def test_a_session(self) -> None:
        async def use(session: Any) -> None:
            tools = (await session.list_tools()).tools
            self.assertEqual([tool.name for tool in tools], TOOLS)
            await session.send_ping()
            done = await session.call_tool("report", {"paths": ["two_ranks"]})
            answer = json.loads(done.content[0].text)
            report = json_of("report", GOLDEN / "two_ranks")
            self.assertEqual(answer["headline"], report["headline"])
            pages = (await session.list_resources()).resources
            uris = [str(page.uri) for page in pages]
            self.assertIn("flopledger://docs/metrics/mfu.md", uris)
            read = await session.read_resource("flopledger://docs/metrics/mfu.md")
            written = (ROOT / "docs" / "metrics" / "mfu.md").read_text()
            self.assertEqual(read.contents[0].text, written)

        self.with_client(use)


if __name__ == "__main__":
    run_and_count()
