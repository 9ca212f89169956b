#!/usr/bin/env python3
"""Makes memory snapshots of CUDA's caching allocator whose truth is known: make_snapshot.py OUTPUT [options]

A small allocator is run here: segments, blocks that are split and joined, two pools, streams, expandable segments, a limit
of the device. What it does is recorded as PyTorch records it, and written with Python's pickle in PyTorch's schema. Beside
the file OUTPUT, --truth writes what the replay has to find, as the allocator itself counted it.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
from dataclasses import dataclass, field
from typing import Any

MIB = 1 << 20
SMALL_MAX = MIB
SMALL_SEGMENT = 2 * MIB
LARGE_SEGMENT = 20 * MIB
LARGE_MAX = 10 * MIB

LINES = [
    ("project/model.py", 12, "forward"),
    ("project/model.py", 31, "attention"),
    ("project/model.py", 47, "mlp"),
    ("project/train.py", 80, "step"),
]
LIBRARY = ("/usr/lib/python3/site-packages/torch/nn/functional.py", 2100, "linear")


@dataclass
class Block:
    address: int
    size: int
    requested: int = 0
    state: str = "inactive"
    frames: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Segment:
    address: int
    size: int
    stream: int
    is_small: bool
    pool: tuple[int, int]
    blocks: list[Block]


class OutOfMemory(Exception):
    pass


def rounded(size: int, unit: int) -> int:
    return max(unit, (size + unit - 1) // unit * unit)


class Allocator:
    """One device. Its counters are the truth; its events and segments the snapshot."""

    def __init__(self, device: int, limit: int, is_expandable: bool) -> None:
        self.device = device
        self.limit = limit
        self.is_expandable = is_expandable
        self.segments: list[Segment] = []
        self.events: list[dict[str, Any]] = []
        self.is_recording = False
        self.metadata = ""
        self.time_us = 1_700_000_000_000_000
        self.next_address = 0x7F00_0000_0000 + (device << 40)
        self.live = 0  # requested bytes, those waiting included
        self.totals: list[int] = []  # after each event
        self.frames: dict[tuple[Any, ...], list[dict[str, Any]]] = {}

    @property
    def reserved(self) -> int:
        return sum(segment.size for segment in self.segments)

    def stack(self, *lines: tuple[str, int, str]) -> list[dict[str, Any]]:
        """The same lists for the same stacks, as PyTorch shares them."""
        if lines not in self.frames:
            self.frames[lines] = [
                {"name": name, "filename": filename, "line": line} for filename, line, name in lines
            ]
        return self.frames[lines]

    def record(
        self, action: str, address: int, size: int, stream: int, frames: Any, **more: int
    ) -> None:
        self.time_us += 7
        if not self.is_recording:
            return
        event = {"action": action, "addr": address, "size": size, "stream": stream} | more
        if action == "oom":
            del event["addr"]
        event |= {"time_us": self.time_us, "compile_context": "N/A"}
        event |= {"user_metadata": self.metadata, "frames": frames}
        self.events.append(event)
        self.totals.append(self.live)

    def find(self, size: int, segment_of: tuple[int, bool, tuple[int, int]]) -> Any:
        """The smallest free block that is large enough."""
        best = None
        for segment in self.segments:
            if (segment.stream, segment.is_small, segment.pool) != segment_of:
                continue
            for block in segment.blocks:
                fits = block.state == "inactive" and block.size >= size
                if fits and (best is None or block.size < best[1].size):
                    best = (segment, block)
        return best

    def new_segment(
        self, size: int, where: tuple[int, bool, tuple[int, int]], frames: Any
    ) -> tuple[Segment, Block]:
        stream, is_small, pool = where
        total = SMALL_SEGMENT if is_small else LARGE_SEGMENT
        if size > LARGE_MAX:
            total = rounded(size, 2 * MIB)
        if self.reserved + total > self.limit:
            self.release()
        if self.reserved + total > self.limit:
            raise OutOfMemory
        address = self.next_address
        self.next_address += total + (0 if self.is_expandable else 4 * MIB)
        action = "segment_map" if self.is_expandable else "segment_alloc"
        block = Block(address, total)
        last = self.segments[-1] if self.segments else None
        if (
            self.is_expandable
            and last
            and (last.stream, last.is_small, last.pool) == where
            and last.address + last.size == address
        ):
            last.size += total
            if last.blocks[-1].state == "inactive":
                last.blocks[-1].size += total
                block = last.blocks[-1]
            else:
                last.blocks.append(block)
            segment = last
        else:
            segment = Segment(address, total, stream, is_small, pool, [block])
            self.segments.append(segment)
        self.record(action, address, total, stream, frames)
        return segment, block

    def release(self) -> None:
        """Gives whole free segments back to the device."""
        for segment in list(self.segments):
            if len(segment.blocks) == 1 and segment.blocks[0].state == "inactive":
                self.segments.remove(segment)
                action = "segment_unmap" if self.is_expandable else "segment_free"
                self.record(action, segment.address, segment.size, segment.stream, [])

    def allocate(
        self, requested: int, frames: Any, stream: int = 0, pool: tuple[int, int] = (0, 0)
    ) -> Block:
        size = rounded(requested, 512)
        is_small = size <= SMALL_MAX
        where = (stream, is_small, pool)
        try:
            segment, block = self.find(size, where) or self.new_segment(size, where, frames)
        except OutOfMemory:
            free = self.limit - self.reserved
            self.record("oom", 0, requested, stream, frames, device_free=free)
            raise
        while block.size < size:  # an expandable segment grew by too little
            segment, block = self.new_segment(size - block.size, where, frames)
        rest = block.size - size
        if rest >= 512 if is_small else rest > SMALL_MAX:
            at = segment.blocks.index(block)
            segment.blocks.insert(at + 1, Block(block.address + size, rest))
            block.size = size
        block.requested, block.state, block.frames = requested, "active_allocated", frames
        self.live += requested
        self.record("alloc", block.address, requested, stream, frames)
        return block

    def request_free(self, block: Block, stream: int = 0) -> None:
        self.record("free_requested", block.address, block.requested, stream, [])
        block.state = "active_awaiting_free"

    def complete_free(self, block: Block, stream: int = 0) -> None:
        self.live -= block.requested
        self.record("free_completed", block.address, block.requested, stream, [])
        block.state, block.frames = "inactive", []
        for segment in self.segments:
            if block in segment.blocks:
                self.join(segment)

    def free(self, block: Block, stream: int = 0) -> None:
        self.request_free(block, stream)
        self.complete_free(block, stream)

    @staticmethod
    def join(segment: Segment) -> None:
        """Free neighbours become one block."""
        joined: list[Block] = []
        for block in segment.blocks:
            if joined and joined[-1].state == block.state == "inactive":
                joined[-1].size += block.size
            else:
                joined.append(block)
        segment.blocks[:] = joined

    def segments_as_written(self) -> list[dict[str, Any]]:
        return [
            {
                "device": self.device,
                "address": segment.address,
                "total_size": segment.size,
                "allocated_size": sum_of(segment, "size", "active_allocated"),
                "active_size": sum_of(segment, "size"),
                "requested_size": sum_of(segment, "requested"),
                "stream": segment.stream,
                "segment_type": "small" if segment.is_small else "large",
                "segment_pool_id": segment.pool,
                "is_expandable": self.is_expandable,
                "frames": [],
                "blocks": [
                    {
                        "address": block.address,
                        "size": block.size,
                        "requested_size": block.requested or block.size,
                        "state": block.state,
                        "frames": block.frames,
                    }
                    for block in segment.blocks
                ],
            }
            for segment in self.segments
        ]

    def truth(self, dropped: int) -> dict[str, int]:
        """What the replay of the events from number `dropped` on has to find."""
        totals = self.totals[dropped:]
        before = self.totals[dropped - 1] if dropped else self.start_live
        peak = max([before, *totals])
        stuck = releasable = pending = used = 0
        for segment in self.segments:
            free = sum(block.size for block in segment.blocks if block.state == "inactive")
            used += segment.size - free
            pending += sum_of(segment, "size", "active_awaiting_free")
            if free == segment.size:
                releasable += free
            else:
                stuck += free
        return {
            "events": len(totals),
            "start_bytes": before,
            "peak_bytes": peak,
            "peak_event": [before, *totals].index(peak),
            "end_bytes": self.live,
            "reserved": self.reserved,
            "allocated": used - pending,
            "pending": pending,
            "stuck": stuck,
            "releasable": releasable,
        }

    def begin_recording(self) -> None:
        self.is_recording = True
        self.start_live = self.live


def sum_of(segment: Segment, what: str, state: str | None = None) -> int:
    return sum(
        getattr(block, what)
        for block in segment.blocks
        if (block.state == state if state else block.state != "inactive")
    )


class Training:
    """Parameters before the recording; then steps of forward, backward and optimizer."""

    def __init__(self, allocator: Allocator, options: argparse.Namespace) -> None:
        self.allocator = allocator
        self.options = options
        self.random = random.Random(options.seed)
        self.annotations: list[dict[str, Any]] = []
        self.leaked: list[Block] = []

    def stack(self, line: int, through_library: bool = False) -> Any:
        if self.options.stacks == "none":
            return []
        main = ("project/train.py", 5, "main")
        frames = ([LIBRARY] if through_library else []) + [LINES[line], main]
        return self.allocator.stack(*frames)

    def backward_stack(self, node: str) -> Any:
        if self.options.stacks != "all":
            return []
        apply = f"torch::autograd::generated::{node}::apply(std::vector<at::Tensor>&&)"
        return self.allocator.stack(("??", 0, "at::_ops::empty::call()"), ("", 0, apply))

    def tag(self, phase: str, module: str) -> None:
        if self.options.tags:
            self.allocator.metadata = f"{phase}|{module}"

    def annotate(self, stage: str, name: str) -> None:
        time_us = self.allocator.time_us + 3
        self.annotations.append(
            {"stage": stage, "name": name, "device": self.allocator.device, "time_us": time_us}
        )

    def size(self, layer: int) -> int:
        return self.random.randrange(1000, 9 * MIB) if layer % 2 else (1 + layer) * 3 * MIB + 13

    def forward(self) -> list[Block]:
        activations = []
        for layer in range(self.options.layers):
            self.tag("forward", f"layers.{layer}")
            stack = self.stack(layer % 3, through_library=layer % 2 == 1)
            activations.append(self.allocator.allocate(self.size(layer), stack))
            temporary = self.allocator.allocate(self.random.randrange(1, 4 * MIB), self.stack(1))
            self.allocator.free(temporary)
        return activations

    def backward(self, activations: list[Block]) -> list[Block]:
        gradients = []
        for layer, block in reversed(list(enumerate(activations))):
            self.tag("backward", f"layers.{layer}")
            stack = self.backward_stack("MmBackward0" if layer % 2 else "SoftmaxBackward0")
            gradients.append(self.allocator.allocate(self.random.randrange(1, 2 * MIB), stack))
            if self.options.pending and layer == 0:
                self.allocator.request_free(block)
            else:
                self.allocator.free(block)
        return gradients

    def step(self, number: int) -> None:
        activations = self.forward()
        gradients = self.backward(activations)
        self.annotate("START", "Optimizer.step#AdamW.step")
        self.tag("optimizer", "")
        communication = self.allocator.allocate(3 * MIB, self.stack(3), stream=7)
        if number == 0:
            self.state = [self.allocator.allocate(MIB + 5, self.stack(3)) for _ in range(4)]
        for block in gradients:
            self.allocator.free(block)
        self.allocator.free(communication, stream=7)
        self.annotate("END", "Optimizer.step#AdamW.step")
        if self.options.leak:
            self.tag("forward", "loss")
            self.leaked.append(self.allocator.allocate(2 * MIB + 100, self.stack(3)))
        if self.options.pending and activations:
            self.allocator.complete_free(activations[0]) if number % 2 else None

    def run(self) -> None:
        self.tag("", "")
        self.parameters = [
            self.allocator.allocate(self.random.randrange(1000, 5 * MIB), []) for _ in range(6)
        ]
        self.allocator.begin_recording()
        self.allocator.free(self.parameters.pop())  # of which nobody saw the allocation
        try:
            for number in range(self.options.steps):
                self.step(number)
            if self.options.oom:
                self.tag("forward", "head")
                self.allocator.allocate(self.options.oom * MIB, self.stack(2))
        except OutOfMemory:
            pass


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("--truth", help="write what is to be found to this file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--limit", type=int, default=1 << 16, help="MiB of the device")
    parser.add_argument("--stacks", choices=["none", "python", "all"], default="all")
    parser.add_argument("--tags", action="store_true", help="user_metadata: phase|module")
    parser.add_argument("--leak", action="store_true")
    parser.add_argument("--pending", action="store_true", help="frees that wait for a stream")
    parser.add_argument("--expandable", action="store_true")
    parser.add_argument("--oom", type=int, default=0, help="ask for so many MiB at the end")
    parser.add_argument("--max-entries", type=int, default=0, help="keep only the last events")
    parser.add_argument("--protocol", type=int, default=4)
    parser.add_argument("--old", action="store_true", help="without keys that came later")
    return parser.parse_args()


def as_old_version(snapshot: dict[str, Any]) -> dict[str, Any]:
    for trace in snapshot["device_traces"]:
        for event in trace:
            event.pop("compile_context")
            event.pop("user_metadata")
    for segment in snapshot["segments"]:
        segment.pop("segment_pool_id")
        segment.pop("is_expandable")
        for block in segment["blocks"]:
            block.pop("address")
    return {key: snapshot[key] for key in ("segments", "device_traces")}


def main() -> None:
    options = arguments()
    snapshot: dict[str, Any] = {
        "segments": [],
        "device_traces": [],
        "allocator_settings": {
            "PYTORCH_CUDA_ALLOC_CONF": ("expandable_segments:True" if options.expandable else ""),
            "max_split_size": -1,
            "garbage_collection_threshold": 0.0,
            "expandable_segments": options.expandable,
        },
        "external_annotations": [],
    }
    truths = []
    for device in range(options.devices):
        allocator = Allocator(device, options.limit * MIB, options.expandable)
        training = Training(allocator, options)
        training.run()
        dropped = max(0, len(allocator.events) - options.max_entries) if options.max_entries else 0
        snapshot["device_traces"].append(allocator.events[dropped:])
        snapshot["segments"] += allocator.segments_as_written()
        snapshot["external_annotations"] += training.annotations
        truths.append(allocator.truth(dropped))
    if options.old:
        snapshot = as_old_version(snapshot)
    with open(options.output, "wb") as file:
        pickle.dump(snapshot, file, protocol=options.protocol)
    if options.truth:
        with open(options.truth, "w", encoding="utf-8") as file:
            json.dump(truths, file)


if __name__ == "__main__":
    main()
