"""Cases of stumbling_blocks.py: profiles of Proton."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

from stumbling_case import Case, same


def proton_devices_are_texts_and_inner_nodes_empty(case: Case) -> None:
    leaf = {"count": 2, "device_id": "1", "device_type": "CUDA", "time (ns)": 2000, "flops16": 4e6}
    tree = {"frame": {"name": "ROOT", "type": "function"}, "metrics": {"time (ns)": 0}}
    inner = {"frame": {"name": "layer"}, "metrics": {"count": 0}}
    node = {"frame": {"name": "matmul"}, "metrics": leaf, "children": []}
    none = {"frame": {"name": "empty"}, "metrics": {}, "children": []}
    tree["children"] = [{**inner, "children": [node, none]}]
    path = case.folder / "a.hatchet"
    path.write_text(json.dumps([tree, {"CUDA": {"1": {"arch": "90", "num_sms": 132}}}]))
    text = case.printed(path, "report")
    same("matmul" in text and "2.00 µs" in text.replace("2.000 µs", "2.00 µs"), True)


def proton_of_2024_has_names_in_capitals(case: Case) -> None:
    leaf = {"Count": 10, "DeviceId": "0", "DeviceType": "CUDA", "Time (ns)": 2000, "flops8": 4e6}
    node = {"frame": {"name": "matmul", "type": "function"}, "metrics": leaf, "children": []}
    root = {"frame": {"name": "ROOT", "type": "function"}, "metrics": {"Count": 0, "Time (ns)": 0}}
    path = case.folder / "a.hatchet"
    devices = {"CUDA": {"0": {"arch": "90", "num_sms": 132}}}
    path.write_text(json.dumps([{**root, "children": [node]}, devices]))
    text = case.printed(path, "report")
    same("scope (µs) (TFLOP/s)" in text and "matmul 2 2.00" in text, True)
    same("Not used" in case.printed(path), False)


def node_of(made: random.Random, depth: int) -> dict[str, Any]:
    """Kernels have times; a name may have to be escaped. Keys in any order."""
    metrics: dict[str, Any] = {"flops8": made.randrange(10**9)} if made.random() < 0.5 else {}
    if depth == 0 or made.random() < 0.1:
        metrics |= {"time (ns)": made.randrange(10**6), "count": made.randrange(4)}
        metrics |= {"device_id": made.choice("01"), "device_type": "CUDA"}
    name = f"k{made.randrange(9)}" + made.choice(["", '"\\', "\u00e9"])
    children = [node_of(made, depth - 1) for _ in range(made.randrange(4) if depth else 0)]
    node = {"frame": {"name": name}, "metrics": metrics, "children": children}
    return {key: node[key] for key in made.sample(sorted(node), 3)}


def add_times(node: dict[str, Any], times: dict[str, int]) -> None:
    name, time = node["frame"]["name"], node["metrics"].get("time (ns)", 0)
    if time:
        times[name] = times.get(name, 0) + time
    for child in node["children"]:
        add_times(child, times)


def kernels_of(case: Case, path: Path) -> tuple[int, dict[str, int]]:
    """Exit code, and the time of each kernel."""
    words = ["report", "--json", "--top", "0", str(path)]
    done = subprocess.run([case.program, *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 5):
        return done.returncode, {}
    tables = json.loads(done.stdout)["ranks"][0]["sections"]["kernels"]["tables"]
    return done.returncode, {row["kernel"]: row["total"] for row in tables["by_name"]["rows"]}


def proton_trees_are_summed_and_cut_ones_to_where_they_end(case: Case) -> None:
    made = random.Random(7)
    path = case.folder / "a.hatchet"
    for indent in (None, 4, None, 1):
        root, times = node_of(made, 5), {}
        root["children"] += [node_of(made, 4) for _ in range(4)]
        add_times(root, times)
        text = json.dumps([root, {"CUDA": {}}], indent=indent)
        path.write_text(text)
        same(kernels_of(case, path), (0, times))
        for _ in range(3):
            path.write_text(text[: made.randrange(len(text) // 2, len(text) - 1)])
            code, found = kernels_of(case, path)
            same(code, 5)
            same(sum(found.values()) <= sum(times.values()), True)


def proton_trees_of_deep_stacks_are_known(case: Case) -> None:
    node: dict[str, Any] = {"children": [], "frame": {"name": "k"}, "metrics": {"time (ns)": 7}}
    for depth in range(300):
        node = {"children": [node], "frame": {"name": f"f{depth}"}, "metrics": {}}
    path = case.folder / "a.hatchet"
    path.write_text("\n" + json.dumps([node, {}], indent=4))
    same(kernels_of(case, path), (0, {"k": 7}))
