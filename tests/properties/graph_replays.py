#!/usr/bin/env python3
"""Replayed CUDA graphs with known kernels: is each attributed to its operator and module, or refused, and never to another?

    tests/properties/graph_replays.py PROGRAM [--count N] [--seed S]

Ends with a line of counts.
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parent / "generate")]

from graph_traces import (  # noqa: E402
    CaptureWriter,
    Graph,
    Kernel,
    Launch,
    Replay,
    ReplayWriter,
    random_graph,
)
from random_cases import run_kinds  # noqa: E402


@dataclass
class Found:
    """What the program says of a replay."""

    attributed: float
    with_module: float
    operators: dict[tuple[str, str], int]
    modules: dict[str, int]
    reasons: set[str]
    problems: str


class Case:
    """A replay and its captures in a folder."""

    def __init__(self, program: Path, folder: Path, seed: int) -> None:
        self.program = program
        self.folder = folder
        self.random = random.Random(seed)
        self.prefix = self.random.choice(["hip", "cuda"])
        self.writer = ReplayWriter(self.prefix, self.random)

    def capture(self, name: str, graphs: list[Graph], **marks: bool) -> Path:
        writer = CaptureWriter(self.prefix, marks.pop("has_names", True))
        for graph in graphs:
            if self.random.random() < 0.5:
                writer.eager(graph.launches[:5])
            writer.graph(graph, **marks)
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        writer.trace.write(path)
        return path

    @property
    def replay(self) -> Replay:
        return self.writer.replay

    def read(self, *arguments: str | Path) -> Found:
        path = self.folder / "replay.json"
        self.writer.trace.write(path)
        done = subprocess.run(
            [self.program, "report", "--json", "--no-progress", "--by", "shape", "--top", "0"]
            + [*arguments, path],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"exit {done.returncode}: {done.stderr}"
        report = json.loads(done.stdout)
        sections = report["ranks"][0]["sections"]
        graphs = sections["graphs"]
        tables = sections.get("operators", {"tables": {"by_name": {"rows": []}}})["tables"]
        modules = sections.get("module_cost", {}).get("tables", {}).get("modules", {"rows": []})
        return Found(
            graphs["numbers"]["attributed"]["value"],
            graphs["numbers"]["attributed_module"]["value"],
            {
                (row["operator"], row["input_shapes"]): row["self_device"]
                for row in tables["by_name"]["rows"]
                if row["self_device"]
            },
            {row["name"]: row["device_time"] for row in modules["rows"]},
            {row["reason"] for row in graphs["tables"]["graphs"]["rows"]},
            json.dumps(report["problems"]),
        )


def check_all_known(case: Case, found: Found) -> None:
    assert found.attributed == 1, f"attributed {found.attributed}: {found.reasons}"
    assert found.with_module == 1, f"with module {found.with_module}: {found.reasons}"
    assert found.operators == case.replay.by_operator(), "time of operators"
    if not found.modules:  # no operator has FLOPs: there is no table of modules
        return
    known = {n: time for n, time in found.modules.items() if n.startswith("Layer_") and time}
    assert known == case.replay.by_module(), f"time of modules {known}"


def check_refused(found: Found, reason: str) -> None:
    assert found.attributed == 0, f"attributed {found.attributed}"
    assert not found.operators, f"operators {found.operators}"
    assert any(reason in text for text in found.reasons), f"{found.reasons}"


def several_graphs(case: Case) -> None:
    """Graphs of random layers, each replayed now and then, from captures in one or two files."""
    graphs = [
        random_graph(case.random, case.random.randrange(1, 9), 10 * number)
        for number in range(case.random.randrange(1, 5))
    ]
    graphs = [graph for i, graph in enumerate(graphs) if names(graph) not in map(names, graphs[:i])]
    first = case.capture("first.json", graphs[:2])
    rest = [case.capture("second.json", graphs[2:])] if graphs[2:] else []
    for _ in range(case.random.randrange(1, 12)):
        case.writer.launch(case.random.choice(graphs))
    options = [word for path in [first, *rest] for word in ("--capture", path)]
    check_all_known(case, case.read(*options))


def names(graph: Graph) -> list[str]:
    return [launch.kernel for launch in graph.launches]


def equal_prefixes(case: Case) -> None:
    """One graph goes on where the other ends."""
    short = random_graph(case.random, 4)
    more = random_graph(case.random, 2, 50)
    same = [replace(launch, module=f"Layer_{i + 90}") for i, launch in enumerate(short.launches)]
    long = Graph(same + more.launches)
    capture = case.capture("capture.json", [long, short])
    for graph in case.random.choices([short, long], k=5):
        case.writer.launch(graph)
    check_all_known(case, case.read("--capture", capture))


def layer(number: int, shapes: tuple[tuple[int, ...], ...] = ((8, 16), (16, 32))) -> Graph:
    module = f"Layer_{number}"
    return Graph(
        [Launch(f"gemm_{i}", "aten::mm", shapes, module, 10 * number + i) for i in range(3)]
    )


def pieces_between_known_ones(case: Case) -> None:
    """Equal pieces of a model: the first and the last tell which each one is."""
    count = case.random.randrange(2, 9)
    first, last = random_graph(case.random, 2, 100), random_graph(case.random, 2, 200)
    if names(first) == names(last):
        return
    pieces = [first, *map(layer, range(count)), last]
    capture = case.capture("capture.json", pieces)
    for _ in range(3):
        for piece in pieces:
            case.writer.launch(piece)
    check_all_known(case, case.read("--capture", capture))


def pieces_alone(case: Case) -> None:
    """Equal pieces, and nothing tells which: operator and shapes are known, the module is not."""
    pieces = [layer(number) for number in range(case.random.randrange(2, 9))]
    capture = case.capture("capture.json", pieces)
    for piece in pieces[:-1]:
        case.writer.launch(piece)
    found = case.read("--capture", capture)
    assert (found.attributed, found.with_module) == (1, 0), f"{found}"
    assert found.operators == case.replay.by_operator(), "time of operators"
    assert not [name for name in found.modules if name.startswith("Layer_")], f"{found.modules}"


def sizes_of_batches(case: Case) -> None:
    """Captures of several batch sizes with the same kernels: shapes differ, so nothing is known."""
    sizes = [layer(0, ((2**power, 16), (16, 32))) for power in range(3)]
    capture = case.capture("capture.json", sizes)
    case.writer.launch(sizes[1])
    check_refused(case.read("--capture", capture), "several fit")


def cut_capture(case: Case) -> None:
    """The recording of the capture began too late, or ended too soon."""
    graph = random_graph(case.random, 6)
    cut = case.random.choice(["begin", "end", "last", "first"])
    launches = graph.launches
    part = Graph({"last": launches[:-1], "first": launches[1:]}.get(cut, launches))
    capture = case.capture("capture.json", [part], has_begin=cut != "begin", has_end=cut != "end")
    case.writer.launch(graph)
    if part.launches:
        check_refused(case.read("--capture", capture), "")


def other_program(case: Case) -> None:
    """A capture of another program, of a part of this one's graph, or of more than it."""
    graph = random_graph(case.random, 6)
    longer = Graph(graph.launches + [replace(graph.launches[0], kernel="another")])
    others = [random_graph(case.random, 5, 20, repeats=False), longer]
    capture = case.capture("capture.json", others)
    case.writer.launch(graph)
    found = case.read("--capture", capture)
    check_refused(found, "in no capture")
    assert "no graph captured in the file that --capture names" in found.problems, found.problems


def long_graph(case: Case, modules: int = 90) -> Graph:
    graph = random_graph(case.random, modules)
    while len(graph.launches) < 200:
        graph = Graph(graph.launches + random_graph(case.random, 20, len(graph.launches)).launches)
    return graph


def check_nothing_is_wrong(case: Case, found: Found) -> None:
    """No operator and no module has time that is not its own, and what is attributed is all of what they have."""
    truth, modules = case.replay.by_operator(), case.replay.by_module()
    for key, time in found.operators.items():
        assert time <= truth.get(key, 0), f"{key}: {time} of {truth.get(key, 0)}"
    for name, time in found.modules.items():
        if name.startswith("Layer_"):
            assert time <= modules.get(name, 0), f"{name}: {time} of {modules.get(name, 0)}"
    share = sum(found.operators.values()) / case.replay.total_ns
    assert abs(share - found.attributed) < 1e-9, f"{share} in operators, {found.attributed} said"


def loses_some(case: Case, launches: list[Launch]) -> list[Launch]:
    lost = case.random.choice(["first", "last", "any"])
    places = {"first": [0], "last": [len(launches) - 1]}.get(lost) or case.random.sample(
        range(len(launches)), case.random.randrange(1, 4)
    )
    return [launch for i, launch in enumerate(launches) if i not in places]


def replay_lost_some(case: Case) -> None:
    """A profiler lost a kernel or three of each replay."""
    graph = long_graph(case)
    capture = case.capture("capture.json", [graph])
    for _ in range(case.random.randrange(1, 4)):
        case.writer.launch(Graph(loses_some(case, graph.launches)))
    found = case.read("--capture", capture)
    check_nothing_is_wrong(case, found)
    assert found.attributed > 0.8, f"{found.attributed}: {found.reasons}"


def capture_lost_some(case: Case) -> None:
    """A profiler lost a call or three of the capture: of what they launched nothing is known."""
    graph = long_graph(case)
    capture = case.capture("capture.json", [Graph(loses_some(case, graph.launches))])
    for _ in range(case.random.randrange(1, 4)):
        case.writer.launch(graph)
    found = case.read("--capture", capture)
    check_nothing_is_wrong(case, found)
    assert 0.8 < found.attributed < 1, f"{found.attributed}: {found.reasons}"


def both_lost_some(case: Case) -> None:
    """Then either can be another graph's."""
    graph = long_graph(case)
    named = [replace(launch, kernel=f"{i}") for i, launch in enumerate(graph.launches)]
    capture = case.capture("capture.json", [Graph(named[1:])])
    case.writer.launch(Graph(named[:-1]))
    check_refused(case.read("--capture", capture), "in no capture")


def one_kernel_is_another(case: Case) -> None:
    """As in the graph of another size of a batch."""
    graph = long_graph(case)
    place = case.random.randrange(len(graph.launches))
    other = [*graph.launches]
    other[place] = replace(other[place], kernel="another")
    capture = case.capture("capture.json", [graph])
    case.writer.launch(Graph(other))
    check_refused(case.read("--capture", capture), "in no capture")


def lost_too_many(case: Case) -> None:
    graph = long_graph(case)
    kept = len(graph.launches) - len(graph.launches) // 30
    capture = case.capture("capture.json", [graph])
    case.writer.launch(Graph(graph.launches[:kept]))
    check_refused(case.read("--capture", capture), "in no capture")


def lost_of_several_sizes(case: Case) -> None:
    """The same kernels with other shapes in two captures, and neither fits whole."""
    graph = long_graph(case)
    other = [replace(launch, shapes=((3, 5), (5, 7))) for launch in graph.launches]
    capture = case.capture("capture.json", [graph, Graph(other)])
    case.writer.launch(Graph(loses_some(case, graph.launches)))
    check_refused(case.read("--capture", capture), "")


def runs_of_equals_lost_some(case: Case) -> None:
    """Nothing tells which of several equal kernels is gone."""
    graph = long_graph(case)
    place = case.random.randrange(len(graph.launches))
    run = [
        Launch("same", "aten::mm", ((4, 5), (5, 6)), f"Layer_{900 + i}", -1 - i) for i in range(9)
    ]
    captured = graph.launches[:place] + run + graph.launches[place:]
    capture = case.capture("capture.json", [Graph(captured)])
    lost = place + case.random.randrange(9)
    case.writer.launch(Graph(captured[:lost] + captured[lost + 1 :]))
    found = case.read("--capture", capture)
    check_nothing_is_wrong(case, found)
    assert not [name for name in found.modules if name.startswith("Layer_90")], f"{found.modules}"
    assert found.attributed > 0.7, f"{found.attributed}: {found.reasons}"


def with_blocks(graph: Graph, more: int = 0) -> Graph:
    return Graph([replace(l, blocks=i % 7 + 1 + more) for i, l in enumerate(graph.launches)])


def blocks_of_another_size(case: Case) -> None:
    """The kernels of a graph of another size of the batch, which only their blocks tell. HIP counts in other units."""
    graph = random_graph(case.random, 4)
    capture = case.capture("capture.json", [with_blocks(graph)])
    case.writer.launch(with_blocks(graph, 1 if case.prefix == "cuda" else 0))
    found = case.read("--capture", capture)
    if case.prefix == "cuda":
        check_refused(found, "in no capture")
    else:
        check_all_known(case, found)


def sizes_of_batches_by_blocks(case: Case) -> None:
    """The same kernels with other shapes, told apart by their blocks."""
    case.prefix = case.writer.trace.prefix = "cuda"
    graphs = [with_blocks(layer(0, ((2**power, 16), (16, 32))), power) for power in range(3)]
    capture = case.capture("capture.json", graphs)
    for graph in case.random.choices(graphs, k=4):
        case.writer.launch(graph)
    check_all_known(case, case.read("--capture", capture))


def both_in_one_trace(case: Case) -> None:
    """A recording that holds the captures and the replays."""
    graphs = [random_graph(case.random, 4, 10 * i, repeats=False) for i in range(2)]
    graphs = graphs[: 1 + (names(graphs[0]) != names(graphs[1]))]
    writer = CaptureWriter(case.prefix)
    for graph in graphs:
        writer.graph(graph)
    case.writer.trace.correlation += 1_000_000
    for graph in case.random.choices(graphs, k=3):
        case.writer.launch(graph)
    case.writer.trace.events += writer.trace.events
    check_all_known(case, case.read())


def without_names(case: Case) -> None:
    """CUPTI does not say what a launch call launches."""
    graph = random_graph(case.random, 4)
    capture = case.capture("capture.json", [graph], has_names=False)
    case.writer.launch(graph)
    check_refused(case.read("--capture", capture), "capture without names")


def warmed_up(case: Case, graphs: list[Graph], *warm_ups: list[Launch]) -> Path:
    """A capture without names, behind operators that ran."""
    writer = CaptureWriter(case.prefix, has_names=False)
    for launches in warm_ups:
        writer.warm_up(launches)
    for graph in graphs:
        writer.graph(graph)
    path = case.folder / "capture.json"
    writer.trace.write(path)
    return path


def consistent(graph: Graph) -> list[Launch]:
    """Equal operators with equal shapes launch equal kernels, as a library does."""
    known: dict[tuple[str, str, int], str] = {}
    launches: list[Launch] = []
    for launch in graph.launches:
        number = sum(other.call == launch.call for other in launches)
        key = (launch.operator, launch.dims, number)
        launches.append(replace(launch, kernel=known.setdefault(key, launch.kernel)))
    return launches


def names_of_a_warm_up(case: Case) -> None:
    """What ran before the capture tells what the same operators launch in it."""
    graphs = [Graph(consistent(random_graph(case.random, 4, 10 * i))) for i in range(2)]
    graphs = graphs[: 1 + (names(graphs[0]) != names(graphs[1]))]
    shared = consistent(Graph([launch for graph in graphs for launch in graph.launches]))
    graphs = [Graph(shared[: len(graphs[0].launches)])] + (
        [Graph(shared[len(graphs[0].launches) :])] if len(graphs) > 1 else []
    )
    if len(graphs) > 1 and names(graphs[0]) == names(graphs[1]):
        graphs = graphs[:1]
    capture = warmed_up(case, graphs, *[graph.launches for graph in graphs] * 2)
    for graph in case.random.choices(graphs, k=4):
        case.writer.launch(graph)
    check_all_known(case, case.read("--capture", capture))


def warm_up_of_a_part(case: Case) -> None:
    """One operator did not run before, or ran with other shapes."""
    graph = Graph(consistent(random_graph(case.random, 4)))
    calls = sorted({launch.call for launch in graph.launches})
    left_out = case.random.choice(calls)
    gone = next(launch for launch in graph.launches if launch.call == left_out)
    alike = (gone.operator, gone.dims)
    ran = [
        replace(launch, shapes=((1, 2), (2, 1)))
        for launch in graph.launches
        if (launch.operator, launch.dims) == alike
    ]
    ran = [launch for launch in graph.launches if (launch.operator, launch.dims) != alike] + (
        ran if case.random.random() < 0.5 else []
    )
    case.writer.launch(graph)
    check_refused(case.read("--capture", warmed_up(case, [graph], ran)), "capture without names")


def warm_up_that_changes(case: Case) -> None:
    """The same operator launched one kernel first, and another later: while a library tries some."""
    graph = Graph(consistent(random_graph(case.random, 4)))
    tried = [replace(launch, kernel=f"tried_{launch.kernel}") for launch in graph.launches]
    case.writer.launch(graph)
    capture = warmed_up(case, [graph], tried, graph.launches)
    check_refused(case.read("--capture", capture), "capture without names")


def warm_up_of_other_kernels(case: Case) -> None:
    """It tells names, and they are not those of the replay."""
    graph = Graph(consistent(random_graph(case.random, 4)))
    tried = [replace(launch, kernel=f"tried_{launch.kernel}") for launch in graph.launches]
    case.writer.launch(graph)
    check_refused(case.read("--capture", warmed_up(case, [graph], tried)), "in no capture")


def without_capture(case: Case) -> None:
    case.writer.launch(random_graph(case.random, 4))
    check_refused(case.read(), "no capture found")


def branched_graph(case: Case) -> tuple[Graph, list[int]]:
    """Branches on several streams, whose kernels run in any order that keeps each branch's."""
    launches: list[Launch] = []
    places: dict[int, list[int]] = {}
    for number in range(case.random.randrange(2, 5)):
        for launch in random_graph(case.random, 3, 10 * number).launches:
            places.setdefault(number, []).append(len(launches))
            launches.append(replace(launch, branch=number))
    order = []
    while places:
        number = case.random.choice(sorted(places))
        order.append(places[number].pop(0))
        if not places[number]:
            del places[number]
    return Graph(launches), order


def branches_with_nodes(case: Case) -> None:
    """The numbers of the nodes tell the order of the capture."""
    graph, order = branched_graph(case)
    capture = case.capture("capture.json", [graph])
    case.writer.launch(graph, order, has_nodes=True)
    check_all_known_branches(case, case.read("--capture", capture))


def check_all_known_branches(case: Case, found: Found) -> None:
    assert found.operators == case.replay.by_operator(), "time of operators"
    assert found.attributed == 1, f"attributed {found.attributed}"


def branches(case: Case) -> None:
    """Kernels of one name are told apart only where it makes no difference."""
    graph, order = branched_graph(case)
    capture = case.capture("capture.json", [graph])
    case.writer.launch(graph, order)
    found = case.read("--capture", capture)
    alike: dict[str, set[tuple[str, str]]] = {}
    for launch in graph.launches:
        alike.setdefault(launch.kernel, set()).add((launch.operator, launch.dims))
    known_calls = {launch.call for launch in graph.launches} - {
        launch.call for launch in graph.launches if len(alike[launch.kernel]) > 1
    }

    def is_known(kernel: Kernel) -> bool:
        return kernel.launch.call in known_calls

    wanted = case.replay.by_operator(filter(is_known, case.replay.kernels))
    assert found.operators == wanted, f"{found.operators} is not {wanted}"


def found_beside(case: Case) -> None:
    """Captures beside the trace: by vLLM's list, in its folder, or by their name."""
    graph = random_graph(case.random, 4)
    place = case.random.randrange(4)
    if place == 0:
        case.capture("capture_traces/bs_8.json", [graph])
        details = [{"file": "bs_8.json", "batch_size": 8, "mode": "FULL"}]
        (case.folder / "capture_traces/execution_details.json").write_text(json.dumps(details))
    elif place == 1:
        case.capture("capture_traces/bs_8.json", [graph])
    elif place == 2:
        path = case.capture("graph_capture_rank_0.pt.trace.json", [graph])
        with gzip.open(f"{path}.gz", "wb") as packed:
            packed.write(path.read_bytes())
        path.unlink()
    else:
        case.capture("somewhere.json", [graph])
        details = [{"file": "somewhere.json"}, {"file": "gone.json"}]
        (case.folder / "execution_details.json").write_text(json.dumps(details))
    case.writer.launch(graph)
    found = case.read()
    check_all_known(case, found)
    assert ("gone.json" in found.problems) == (place == 3), found.problems


KINDS: list[Callable[[Case], None]] = [
    several_graphs,
    equal_prefixes,
    pieces_between_known_ones,
    pieces_alone,
    sizes_of_batches,
    cut_capture,
    other_program,
    replay_lost_some,
    capture_lost_some,
    both_lost_some,
    one_kernel_is_another,
    lost_too_many,
    lost_of_several_sizes,
    runs_of_equals_lost_some,
    blocks_of_another_size,
    sizes_of_batches_by_blocks,
    both_in_one_trace,
    without_names,
    names_of_a_warm_up,
    warm_up_of_a_part,
    warm_up_that_changes,
    warm_up_of_other_kernels,
    without_capture,
    branches_with_nodes,
    branches,
    found_beside,
]


if __name__ == "__main__":
    run_kinds(KINDS, Case, count=10, first_seed=1)
