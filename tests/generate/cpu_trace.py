"""Traces of runs without a device: the threads that execute operators are what works, and the ledger is known as well."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import event_names
import trace_event as te
from ledger_script import Plan
from trace_event import Event, Trace
from trace_styles import Style

WORK = ["matrix", "other_compute", "exposed_communication"]  # in the order of their priority
OPERATORS = {
    "matrix": ["aten::addmm", "aten::mm", "aten::bmm", "aten::mkldnn_convolution"],
    "other_compute": ["aten::add_", "aten::native_layer_norm", "aten::_softmax", "aten::copy_"],
    "exposed_communication": ["c10d::allreduce_", "record_param_comms", "gloo:all_reduce"],
}
PARTS_OF_ANY = ["aten::empty", "aten::view", "aten::expand", "aten::as_strided"]
IDLE = [
    "idle_data",
    "idle_compilation",
    "idle_garbage",
    "idle_annotation",
    "idle_python",
    "idle_nothing",
]


@dataclass
class Stretch:
    account: str
    start: int
    end: int
    window: int | None


class CpuLayer:
    def __init__(self, rng: random.Random, style: Style) -> None:
        self.rng = rng
        self.style = style
        self.grain = style.grain
        self.pid = rng.randint(1000, 60000)
        self.threads = [self.pid + i for i in range(rng.randint(1, 3))]  # the first is the step's
        self.events: list[Event] = []
        self.next_external_id = 1
        self.idle = [account for account in IDLE if account in style.host_accounts()]

    def choose_stretches(self, steps: int, blocks: int) -> list[Stretch]:
        stretches: list[Stretch] = []
        time = self.rng.randint(10**9, 10**12) // self.grain * self.grain
        windows: list[int | None] = []
        for step in range(steps):
            windows += [step] * self.rng.randint(1, 4 * blocks)
            if step + 1 < steps:
                windows += [None] * self.rng.choice((0, 0, 1, 3))
        for window in windows:
            account = self.rng.choice(WORK + self.idle)
            length = self.rng.choice((1, 10, 1000)) * self.rng.randint(1, 300) * 1000
            end = time + max(1, length // 1000 // self.grain) * self.grain * self.rng.choice((1, 7))
            stretches.append(Stretch(account, time, end, window))
            time = end
        return stretches

    def add(self, thread: int, kind: str, name: str, start: int, end: int) -> None:
        self.next_external_id += 1
        args = {self.style.external_id: self.next_external_id}
        self.events.append(Event(kind, name, start, end - start, self.pid, thread, args))

    def some_time_in(self, start: int, end: int) -> tuple[int, int]:
        grains = (end - start) // self.grain
        first = self.rng.randrange(grains)
        last = self.rng.randrange(first, grains) + 1
        return start + first * self.grain, start + last * self.grain

    def add_work(self, thread: int, account: str, start: int, end: int) -> None:
        """An operator with parts that are no work of their own; for matrix work perhaps another one around it."""
        rng = self.rng
        kind, name = te.OPERATOR, rng.choice(OPERATORS[account])
        if name == "gloo:all_reduce" and self.style.has_annotations:
            kind = te.ANNOTATION
        if account == "matrix" and rng.random() < 0.3:
            self.add(thread, te.OPERATOR, "aten::linear", start, end)
        self.add(thread, kind, name, start, end)
        if rng.random() < 0.5 and end - start > 2 * self.grain:
            inner = self.some_time_in(start, end - self.grain)
            self.add(thread, te.OPERATOR, rng.choice(PARTS_OF_ANY), *inner)

    def add_idle(self, account: str, start: int, end: int) -> None:
        thread = self.threads[0]
        if account == "idle_data":
            self.add(thread, te.OPERATOR, self.rng.choice(event_names.DATA_RANGES), start, end)
            inner = self.some_time_in(start, end)
            self.add(thread, te.OPERATOR, "aten::stack", *inner)  # no work of the step's
        elif account == "idle_compilation":
            self.add(thread, te.OPERATOR, self.rng.choice(event_names.COMPILATIONS), start, end)
            self.add(
                thread, te.OPERATOR, "aten::mm", *self.some_time_in(start, end)
            )  # of no numbers
        elif account == "idle_garbage":
            self.add(thread, te.PYTHON, event_names.GARBAGE_COLLECTIONS[0], start, end)
        elif account == "idle_annotation":
            self.add(thread, te.ANNOTATION, "save checkpoint", start, end)
        elif account == "idle_python":
            self.add(thread, te.PYTHON, self.rng.choice(event_names.PYTHON_FUNCTIONS), start, end)

    def lay(self, stretch: Stretch) -> None:
        rng = self.rng
        if stretch.account not in WORK:
            self.add_idle(stretch.account, stretch.start, stretch.end)
            for thread in self.threads[1:]:  # they explain nothing
                if self.style.has_python and rng.random() < 0.3:
                    name = rng.choice(event_names.PYTHON_FUNCTIONS)
                    self.add(thread, te.PYTHON, name, stretch.start, stretch.end)
            return
        worker = rng.choice(self.threads)
        self.add_work(worker, stretch.account, stretch.start, stretch.end)
        hidden = WORK[WORK.index(stretch.account) :]
        for thread in self.threads:
            if thread != worker and rng.random() < 0.5:
                inner = self.some_time_in(stretch.start, stretch.end)
                self.add_work(thread, rng.choice(hidden), *inner)

    def lay_trace(self, steps: int, blocks: int) -> Trace:
        stretches = self.choose_stretches(steps, blocks)
        for stretch in stretches:
            self.lay(stretch)
        number = self.rng.choice((0, 1, 5))
        built: list[dict[str, Any]] = []
        for step in range(steps):
            inside = [stretch for stretch in stretches if stretch.window == step]
            start, end = inside[0].start, inside[-1].end
            self.add(self.threads[0], te.ANNOTATION, f"ProfilerStep#{number + step}", start, end)
            accounts: dict[str, int] = {}
            for stretch in inside:
                length = stretch.end - stretch.start
                accounts[stretch.account] = accounts.get(stretch.account, 0) + length
            built.append(
                {"number": number + step, "start_ns": start, "end_ns": end, "accounts": accounts}
            )
        between = sum(
            after["start_ns"] - before["end_ns"] for before, after in zip(built, built[1:])
        )
        ledger = {
            "device": None,
            "device_events": 0,
            "unlinked_device_events": 0,
            "between_steps_ns": between,
            "steps": built,
        }
        return Trace(self.events, ledger, {"device": 0})


def lay_cpu_trace(rng: random.Random, style: Style, plan: Plan) -> Trace:
    return CpuLayer(rng, style).lay_trace(plan.steps, plan.blocks)
