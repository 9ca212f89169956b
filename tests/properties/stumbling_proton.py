"""Cases of stumbling_blocks.py: profiles of Proton."""

from __future__ import annotations

import json
import random
import struct
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


def proton_folders_are_told(case: Case) -> None:
    """They are no traces, and each is read by itself: the message names the first."""
    leaf = {"count": 2, "device_id": "0", "device_type": "CUDA", "time (ns)": 2000}
    node = {"frame": {"name": "matmul"}, "metrics": leaf, "children": []}
    for folder in (case.folder / "one", case.folder / "two" / "inner"):
        folder.mkdir(parents=True)
        (folder / "a.hatchet").write_text(json.dumps([node, {}]))
        (folder / "b.hatchet").write_text(json.dumps([node, {}]))
    told = case.printed(case.folder / "one", "report")
    same("holds a profile of Proton: 'flopledger report" in told and "a.hatchet' reads" in told, 1)
    told = case.printed(case.folder / "two")
    same("inner/a.hatchet': a profile of Proton" in told, True)
    (case.folder / "three").mkdir()
    told = case.printed(case.folder / "three", f"inspect {case.folder / 'one' / 'a.hatchet'}")
    same("Proton" in told, False)  # of another folder


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


TEXTS, ARRAYS, MAPS = {">B": 0xD9, ">H": 0xDA, ">I": 0xDB}, {">H": 0xDC, ">I": 0xDD}, {">H": 0xDE}
INTEGERS = {">B": 0xCC, ">H": 0xCD, ">I": 0xCE, ">Q": 0xCF, ">b": 0xD0, ">h": 0xD1, ">q": 0xD3}


def of_length(made: random.Random, length: int, few: range, forms: dict[str, int]) -> bytes:
    """How a text or a list begins: in any form that its length fits in."""
    begins = [bytes([few[length]])] if length < len(few) else []
    for form, first in forms.items():
        if length < 256 ** struct.calcsize(form):
            begins.append(bytes([first]) + struct.pack(form, length))
    return made.choice(begins)


def packed(made: random.Random, value: Any) -> bytes:
    """As MessagePack, each value in any of its forms."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, int):
        forms = [bytes([value % 256])] if -32 <= value < 128 else []
        for form, first in INTEGERS.items():
            low = -(256 ** struct.calcsize(form)) // 2 if form[1].islower() else 0
            if low <= value < low + 256 ** struct.calcsize(form):
                forms.append(bytes([first]) + struct.pack(form, value))
        return made.choice(forms)
    if isinstance(value, str):
        text = value.encode()
        return of_length(made, len(text), range(0xA0, 0xC0), TEXTS) + text
    if isinstance(value, list):
        head = of_length(made, len(value), range(0x90, 0xA0), ARRAYS)
        return head + b"".join(packed(made, item) for item in value)
    head = of_length(made, len(value), range(0x80, 0x90), MAPS)
    return head + b"".join(packed(made, item) for pair in value.items() for item in pair)


def proton_trees_in_messagepack_are_those_in_json(case: Case) -> None:
    """Whatever form a number or a length has; a cut one is read to where it ends."""
    made = random.Random(11)
    plain, path = case.folder / "a.hatchet", case.folder / "a.hatchet_msgpack"
    for _ in range(4):
        root, times = node_of(made, 5), {}
        root["children"] += [node_of(made, 4) for _ in range(20)]
        root["metrics"] |= {"list": [1, -5, 2.5, None, True, {"a": []}], "low": -(2**40)}
        add_times(root, times)
        devices = {"CUDA": {"0": {"arch": "90", "num_sms": 132}}}
        plain.write_text(json.dumps([root, devices]))
        text = b"\x92\x83" + packed(made, devices)
        for key, value in reversed(root.items()):  # the first of which tells the form
            text = (
                b"\x92\x83"
                + bytes([0xA0 + len(key)])
                + key.encode()
                + packed(made, value)
                + text[2:]
            )
        path.write_bytes(text)
        same(kernels_of(case, path), (0, times))
        same("a profile of Proton" in case.printed(path, f"report {plain}"), True)
        told = [case.printed(place, "report --all").split(" ", 1)[1] for place in (path, plain)]
        same(told[0], told[1])
        for _ in range(3):
            path.write_bytes(text[: made.randrange(len(text) // 2, len(text) - 1)])
            code, found = kernels_of(case, path)
            same((code, sum(found.values()) <= sum(times.values())), (5, True))
    path.write_bytes(text[:100] + b"\xc1" + text[100:])  # no first byte of anything
    same(kernels_of(case, path)[0] in (1, 2, 3, 4, 5), True)


def proton_timelines_have_scopes(case: Case) -> None:
    """Those around launches are no calls, but they are ranges: steps by their names."""
    events: list[dict[str, Any]] = []
    for i in range(3):
        for name, category, tid, at, length in (
            (f"step_{i}", "scope", 0, 0, 90),
            ("mm", "scope", 0, 1, 1),
            ("matmul_kernel", "kernel", 200_000, 3, 47),
        ):
            event = {"name": name, "cat": category, "tid": tid, "ts": 100 * i + at, "dur": length}
            events.append(event | {"ph": "X", "pid": 0, "args": {"call_stack": ["ROOT"]}})
    path = case.folder / "a.chrome_trace"
    path.write_text(json.dumps({"displayTimeUnit": "us", "traceEvents": events}))
    same("recorder Proton of Triton" in case.printed(path), True)
    found = case.rows(path, "step_ledger", "steps")
    same([(row["step"], row["duration"]) for row in found], [(i, 90_000) for i in range(3)])
    same(case.kernels(path), {"matmul_kernel": (3, 141_000)})
    events = [event for event in events if event["cat"] == "scope"]
    path.write_text(json.dumps({"traceEvents": events}))
    same("recorder a program that writes" in case.printed(path), True)  # anybody's
