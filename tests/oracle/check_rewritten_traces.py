#!/usr/bin/env python3
"""Real traces with their events in another order, with holes, and cut off: what is whole is kept.

    check_rewritten_traces.py PROGRAM

The report of a shuffled file must be the same, byte for byte, and so must that of events with holes as Kineto leaves
them; a cut file, plain or gzip, must give the ledger of its complete
events. Needs the folder of other people's traces: FLOPLEDGER_SHARED, or ../shared beside the checkout; skips without it.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
import tempfile
from pathlib import Path

from shared_traces import ROOT, SHARED, Outcome, program_of, skip_without

sys.path[:0] = [str(ROOT / "tests" / "properties"), str(ROOT / "tests" / "generate")]

from program_report import (  # noqa: E402
    DAMAGED,
    Failure,
    Report,
    compare_output,
    compare_steps,
    run_report,
)
from rewritten_text import PACKINGS, complete_events, shuffled, with_holes  # noqa: E402
from write_trace import TraceText  # noqa: E402

TRACES = [
    "hta/negative_queue_length_values_check/rank0.json.gz",
    "hta/nccl_parser_config/nccl_data.json.gz",
    "hta/trace_compare/base/base.json.gz",
    "hta/old/cpu_only/rank-34.pt.trace.json.gz",
    "kineto/test/gpu_metrics_input.json",
    "param/dlrm_kineto/worker0_step_12.1694128201545.pt.trace.json",
    "tracelens/h100/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "tracelens/b200/eager_trace.json.gz",
    "tracelens/mi210/gpu_only_trace/gpu_only_trace.json.gz",
    "tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
]
CUTS = 3


def text_of(path: Path) -> TraceText:
    """The file's own words: what is before the events, each event, and what is after them."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    text = data.decode("latin-1")  # a character is a byte
    begin = re.search(r'"traceEvents"\s*:\s*\[', text)
    assert begin
    decoder = json.JSONDecoder(strict=False)
    between = re.compile(r"[\s,]*")
    events: list[str] = []
    end = begin.end()
    while True:
        start = between.match(text, end).end()  # type: ignore[union-attr]
        if text[start] == "]":
            return TraceText(text[: begin.end()], events, text[start:])
        _, end = decoder.raw_decode(text, start)
        events.append(text[start:end])


def encoded(text: TraceText) -> bytes:
    return text.whole().encode("latin-1")


class Rewriting:
    def __init__(self, program: Path, name: str, folder: Path) -> None:
        self.program = program
        self.text = text_of(SHARED / "traces" / name)
        self.rng = random.Random(name)
        self.folder = folder

    def report(self, data: bytes) -> Report:
        path = self.folder / "trace.json"
        path.write_bytes(data)
        return run_report(self.program, path, ("--top", "0"))

    def check_order(self) -> None:
        built = self.report(encoded(self.text))
        other = self.report(encoded(shuffled(self.text, self.rng)))
        compare_output(built, other, "events in another order")

    def check_holes(self) -> None:
        built = self.report(encoded(self.text))
        other = self.report(encoded(with_holes(self.text, self.rng)))
        compare_output(built, other, "events with holes")

    def check_cut(self, packing: str) -> None:
        data = PACKINGS[packing].pack(encoded(self.text))
        cut = self.rng.randrange(len(data) // 50, len(data) - 20)
        text = PACKINGS[packing].unpack_part(data[:cut])
        count = complete_events(self.text, len(text))
        where = f"{packing} file cut after {cut} of {len(data)} bytes, {count} whole events"
        got = self.report(data[:cut])
        whole = self.report(
            encoded(TraceText(self.text.head, self.text.events[:count], self.text.tail))
        )
        if not whole.sections:
            return
        if count < len(self.text.events) and got.code != DAMAGED:
            raise Failure(f"{where}: code {got.code}: {got.message}")
        if got.events != whole.events:
            raise Failure(f"{where}: {got.events} events read instead of {whole.events}")
        compare_steps(whole, got, where)


def main() -> None:
    program = program_of(sys.argv)
    skip_without(SHARED / "traces")
    outcome = Outcome("all")
    for name in TRACES:
        with tempfile.TemporaryDirectory(prefix="flopledger-oracle-") as folder:
            rewriting = Rewriting(program, name, Path(folder))
            found = Outcome(name)
            checks = [rewriting.check_order, rewriting.check_holes]
            checks += [
                lambda: rewriting.check_cut("plain"),
                lambda: rewriting.check_cut("gzip"),
            ] * CUTS
            for check in checks:
                try:
                    check()
                    found.passed += 1
                except Failure as failure:
                    found.check(False, str(failure)[:1000])
            outcome.add(found)
    outcome.finish()


if __name__ == "__main__":
    main()
