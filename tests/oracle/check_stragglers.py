"""What stragglers cost, beside the published results of a what-if study: check_stragglers.py PROGRAM

For each timeline-NAME.json.gz of traces/straggler/data, result-NAME.json says how many times as long a step is because of
stragglers, and because of those of one rank, stage or kind of operation alone. Ours must be within 1 %.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from shared_traces import SHARED, note_apart, print_furthest

TOLERANCE = 0.01
KINDS = {
    "forward-compute": "forward compute",
    "backward-compute": "backward compute",
    "forward-pp-comm": "forward send and receive",
    "backward-pp-comm": "backward send and receive",
    "params-all-gather": "all-gather of parameters",
    "grads-reduce-scatter": "reduce-scatter of gradients",
    "separate-grads-all-reduce": "separate all-reduce of gradients",
    "layernorm-grads-all-reduce": "all-reduce of norms' gradients",
    "embedding-grads-all-reduce": "all-reduce of embeddings' gradients",
    "optimizer-clip-main-grad": "clipping of gradients",
    "optimizer": "optimizer",
    "gc": "garbage collection",
}


def rows_of(section: dict[str, Any], table: str) -> dict[str, float]:
    return {row["what"]: row["alone"] for row in section["tables"][table]["rows"]}


def comparisons(sections: dict[str, Any], truth: dict[str, Any]) -> list[tuple[str, float, float]]:
    numbers, section = sections["pipeline"]["numbers"], sections["stragglers"]
    kinds, stages, ranks = (rows_of(section, name) for name in ("kinds", "stages", "data_ranks"))
    pairs = [
        ("slowdown", numbers["slowdown"]["value"], truth["blocking_slowdown"]),
        ("replay error", 1 + numbers["replay_error"]["value"], truth["launch_slowdown"]),
    ]
    for name, value in truth["blocking_decompose_by_optype"].items():
        pairs.append((name, kinds[KINDS[name]], value))
    for stage, value in truth["blocking_decompose_by_stage"].items():
        pairs.append((f"stage {stage}", stages[f"stage {stage}"], value))
    for rank, value in truth["blocking_decompose_by_dp_rank"].items():
        pairs.append((f"data rank {rank}", ranks[f"data rank {rank}"], value))
    steps = {str(row["step"]): row["slowdown"] for row in section["tables"]["steps"]["rows"]}
    for step, value in truth["blocking_step_slowdown"].items():
        pairs.append((f"step {step}", steps[step], value))
    return pairs


def check(program: str, timeline: Path, result: Path) -> tuple[int, int]:
    done = subprocess.run(
        [program, "report", "--json", "--top", "0", str(timeline)], capture_output=True, check=False
    )
    if done.returncode != 0:
        print(f"{timeline.name}: {done.stderr.decode(errors='replace')}")
        return 0, 1
    sections = json.loads(done.stdout)["ranks"][0]["sections"]
    pairs = comparisons(sections, json.loads(result.read_text()))
    wrong = [pair for pair in pairs if abs(pair[1] / pair[2] - 1) > TOLERANCE]
    worst = max(pairs, key=lambda pair: abs(pair[1] / pair[2] - 1))
    note_apart(100 * (worst[1] / worst[2] - 1), "%")
    print(
        f"{timeline.name}: slowdown {pairs[0][1]:.4f}, published {pairs[0][2]:.4f}; furthest off of {len(pairs)}: "
        f"{worst[0]} {worst[1]:.4f}, {worst[2]:.4f}"
    )
    for name, ours, theirs in wrong:
        print(f"{timeline.name}: {name} is {ours}, published {theirs}")
    return len(pairs) - len(wrong), len(wrong)


def main() -> None:
    program = sys.argv[1]
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else SHARED / "traces/straggler/data"
    passed = failed = 0
    timelines = sorted(folder.glob("timeline-*.json.gz"))
    for timeline in timelines:
        result = folder / timeline.name.replace("timeline-", "result-").replace(".json.gz", ".json")
        good, bad = check(program, timeline, result)
        passed, failed = passed + good, failed + bad
    print_furthest()
    print(f"{passed} passed, {failed} failed, {0 if timelines else 1} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
