#!/usr/bin/env python3
"""Plans of many models, devices and layouts: none is absurd, and what cannot be is refused in one sentence.

    plans_of_models.py PROGRAM [--seed N] [--count N] [--long]

Layouts are drawn at random, good and bad ones; a refusal that names the nearest that fits is tried with that. Configs are
those of tests/models, some with keys that are missing, of other types, zero, negative or huge, or cut off.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = sorted((ROOT / "tests/models").glob("*.json"))
DEVICES = ("H100 SXM", "A100-SXM4-80GB", "B200", "MI300X", "GB200", "L4", "TPU v5p", "RTX 4090")
VALUES = (0, -1, 1, 3, 7, 2**31, 2**63, 1e300, 0.5, "8", None, True, [], {}, [4, 4])
NEAREST = re.compile(
    r"(--[a-z-]+)(?: is| of)? .*nearest (--[a-z-]+ |number of devices )?that (?:fits|does) is (\d+)"
)
# Choices that change nothing in many layouts; None: the option has no value.
CHOICES = {
    "--no-overlap": None,
    "--overlap-gather": None,
    "--reshard": None,
    "--all-reduce-gradients": None,
    "--broadcast-weights": None,
    "--overlap-tp": None,
    "--overlap-ep": None,
    "--fused-experts": None,
    "--unfused-rotation": None,
    "--no-sequence-parallel": None,
    "--no-pxn": None,
    "--zero-bubble": None,
    "--dispatcher": "alltoall",
    "--attention": "unfused",
    "--network": 11,
    "--node": 2,
}
# A change of a plan, and what time and memory may then be of what they were: at least, at most.
MANY = math.inf
CHANGES = {
    "twice the tokens": (lambda of: {"--seq": 2 * of["--seq"]}, (1, MANY), (1, MANY)),
    "twice the samples": (
        lambda of: {"--global-batch": 2 * of["--global-batch"]},
        (1, 2.0001),
        (1, MANY),
    ),
    "all recomputed": (lambda of: {"--recompute": "full"}, (1, MANY), (0, 1)),
    "all but each first of two matmuls recomputed": (
        lambda of: {"--recompute": "selective", "--recompute-modules": "op"},
        (1, 1.34),
        (0, 1),
    ),
    "32 bits": (lambda of: {"--dtype": "fp32"}, (1, MANY), (0.8, 2)),
    "FlashAttention-2": (lambda of: {"--attention": "flash2"}, (1, MANY), (1, 1)),
    "unfused attention": (lambda of: {"--attention": "unfused"}, (1, MANY), (1, MANY)),
    "operators unfused": (lambda of: {"--eager": None}, (1, MANY), (0.7, MANY)),
    "nothing hidden": (lambda of: {"--no-overlap": None}, (1, MANY), (1, 1)),
    "a slower host": (lambda of: {"--launch": 40}, (1, MANY), (1, 1)),
    "the optimizer sharded": (lambda of: {"--zero": 1}, (0, MANY), (0, 1)),
}
OF_EACH, OF_EACH_LONG = 80, 4000


class Plans:
    def __init__(self, program: str, seed: int) -> None:
        self.program = program
        self.random = random.Random(seed)
        self.passed = 0
        self.failed = 0

    def run(self, options: dict[str, object], config: Path) -> subprocess.CompletedProcess[str]:
        words = [name if value is None else f"{name}={value}" for name, value in options.items()]
        command = [self.program, "plan", "--json", f"--model={config}", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    def note(self, what: str | None, options: dict[str, object], config: Path) -> None:
        if what is None:
            self.passed += 1
            return
        self.failed += 1
        words = " ".join(f"'{name}={value}'" for name, value in options.items())
        print(f"FAILED: {what}: flopledger plan --model={config} {words}")
        if config.parent != ROOT / "tests/models":
            print(config.read_text(errors="replace")[:2000])

    def layout(self) -> dict[str, object]:
        choose = self.random.choice
        options: dict[str, object] = {
            "--device": choose(DEVICES),
            "--devices": choose((1, 6, 8, 16, 64, 100, 512, 4096)),
            "--global-batch": choose((1, 12, 64, 100, 1024, 4096)),
        }
        sizes = {
            "--tp": (1, 2, 3, 4, 8, 16),
            "--pp": (1, 2, 3, 4, 5, 8),
            "--vp": (1, 2, 3),
            "--cp": (1, 2, 4),
            "--ep": (1, 2, 3, 8, 64),
            "--dp": (1, 2, 8),
            "--micro-batch": (1, 2, 3, 4),
            "--zero": (0, 1, 2, 3),
            "--recompute": ("none", "selective", "full"),
            "--seq": (1, 100, 2048, 8192),
        }
        rare = ("--vp", "--cp", "--ep", "--dp")
        for name, values in sizes.items():
            if self.random.random() < (0.15 if name in rare else 0.5):
                options[name] = choose(values)
        options.setdefault("--seq", 2048)
        options.setdefault("--tp", 1)  # no search
        return options

    def try_layout(self) -> None:
        config = self.random.choice(MODELS)
        options = self.layout()
        done = self.run(options, config)
        for _ in range(4):  # each refusal may be followed by another
            if done.returncode == 0 or not self.follow(done.stderr, options):
                break
            before = done.stderr
            done = self.run(options, config)
            if done.stderr == before:
                self.note("what is told as the nearest is refused as well", options, config)
                return
        self.note(fault_of(done), options, config)

    def follow(self, told: str, options: dict[str, object]) -> bool:
        found = NEAREST.search(told)
        if not found:
            return False
        of, other, number = found.groups()
        name = "--devices" if other and other.startswith("number") else (other or of).strip()
        if " times " in told.split(" is ")[0] or name not in options:
            if name not in ("--devices", "--global-batch"):
                return False
        options[name] = int(number)
        return True

    def try_config(self, folder: Path) -> None:
        source = self.random.choice(MODELS)
        config = folder / source.name
        tree = json.loads(source.read_text())
        for _ in range(self.random.randint(1, 3)):
            part = self.random.choice(
                [tree, *(v for v in tree.values() if isinstance(v, dict) and v)]
            )
            key = self.random.choice(list(part))
            if self.random.random() < 0.3:
                del part[key]
            else:
                part[key] = self.random.choice(VALUES)
            if not tree:
                break
        text = json.dumps(tree)
        if self.random.random() < 0.1:
            text = text[: self.random.randrange(len(text))]
        config.write_text(text)
        options = {"--device": "H100 SXM", "--devices": 64, "--global-batch": 64, "--seq": 2048}
        if self.random.random() < 0.8:
            options["--tp"] = self.random.choice((1, 2))
        done = self.run(options, config)
        self.note(fault_of(done), options, config)

    def sections(self, options: dict[str, object], config: Path) -> dict:
        done = self.run(options, config)
        return json.loads(done.stdout)["ranks"][0]["sections"] if done.returncode == 0 else {}

    def try_choice(self) -> None:
        """An option is told to have no effect where, and only where, step and memory are the same without it."""
        name, value = self.random.choice(list(CHOICES.items()))
        config, options = self.random.choice(MODELS), self.layout()
        plain = self.sections(options, config)
        chosen = self.sections(options | {name: value}, config)
        if not plain or not chosen:
            return
        same = all(plain[part] == chosen[part] for part in ("plan_ledger", "plan_memory"))
        told = f"{name}" in json.dumps(chosen["plan"]) and "no effect" in json.dumps(chosen["plan"])
        wrong = (
            None if same == told else f"{name} is told as without effect: {told}, and is: {same}"
        )
        self.note(wrong, options | {name: value}, config)

    def try_change(self) -> None:
        """More work takes no less time, and what saves memory takes no more of it."""
        name, (change, of_time, of_memory) = self.random.choice(list(CHANGES.items()))
        config, options = self.random.choice(MODELS), self.layout()
        options |= {"--zero": 0, "--recompute": "none"}
        device = {"--device": self.random.choice(("H100 SXM", "A100-SXM4-40GB", "MI300X", "L4"))}
        before = self.sections(options | device, config)
        after = self.sections(options | device | change(options), config)
        if before and after:
            wrong = fault_of_change(before, after, of_time, of_memory)
            told = options | device | change(options)
            self.note(wrong and f"{name}: {wrong}", told, config)

    def try_bill(self) -> None:
        """What a training costs, reckoned again from its step."""
        choose = self.random.choice
        bill = {
            "--tokens": choose((1, 1e9, 15e12, 1e18)),
            "--cost-per-hour": choose((0.01, 2.5, 1e4)),
            "--watts": choose((1, 1400, 1e5)),
            "--interruptions": choose((1e-9, 2e-4, 0.1, 1000)),
            "--restart": choose((0.001, 10, 1e5)),
            "--checkpoint-time": choose((0.001, 30, 1e4)),
        }
        if self.random.random() < 0.5:
            bill["--checkpoint-every"] = choose((0.001, 60, 1e6))
        if self.random.random() < 0.3:
            del bill["--watts"]
        size = {"--device": "H100 SXM", "--devices": 64, "--seq": 8192, "--global-batch": 128}
        options = size | {"--tp": 2, "--zero": 1} | bill
        config = ROOT / "tests/models/llama-3-8b.json"
        sections = self.sections(options, config)
        step = sections["plan"]["numbers"]["step_time"]["value"] / 1e9 if sections else 0
        wrong = "refused" if not sections else fault_of_bill(sections["plan_bill"], bill, step)
        self.note(wrong, options, config)

    def try_serving(self) -> None:
        """A dense decoder, served: weights and cache to the byte, and no step faster than its bytes at the peak."""
        name = self.random.choice(("llama-3-8b", "qwen3-8b", "mistral-7b", "llama-3.2-1b"))
        config = ROOT / f"tests/models/{name}.json"
        context, tensor = self.random.choice((256, 4000, 8192)), self.random.choice((1, 2, 4, 8))
        latency = self.random.choice((0.002, 0.01, 0.03, 0.2))
        options = {
            "--device": "H100 SXM",
            "--context": context,
            "--tp": tensor,
            "--latency": latency,
        }
        sections = self.sections(options, config)
        tree = json.loads(config.read_text())
        wrong = "refused" if not sections else fault_of_serving(sections, tree, options)
        self.note(wrong, options, config)
        self.note(self.fault_of_formats(options, config), options, config)

    def fault_of_formats(self, options: dict[str, object], config: Path) -> str | None:
        """Weights of fewer bits leave room for more requests, and take less time to read."""
        rows = [
            self.sections(options | {"--dtype": name}, config)["plan_serving"]["tables"]["decode"]
            for name in ("fp32", "bf16", "fp8")
        ]
        for more, fewer in zip(rows, rows[1:]):
            for one, other in zip(more["rows"], fewer["rows"]):
                if not (
                    other["memory"] < one["memory"] and other["token_time"] < one["token_time"]
                ):
                    return f"{other} of fewer bits than {one}"
        return None


def near(one: float, other: float, by: float = 1e-6) -> bool:
    return abs(one - other) <= by * max(abs(one), abs(other))


def fault_of_change(
    before: dict, after: dict, of_time: tuple[float, float], of_memory: tuple[float, float]
) -> str | None:
    times, memories = (
        [sections[part]["numbers"][key]["value"] for sections in (before, after)]
        for part, key in (("plan", "step_time"), ("plan_memory", "total"))
    )
    for what, (one, other), (least, most) in (
        ("time", times, of_time),
        ("memory", memories, of_memory),
    ):
        if not least * one * (1 - 1e-6) <= other <= most * one * (1 + 1e-6):
            return f"{what} {one} becomes {other}"
    return None


def fault_of_bill(section: dict, bill: dict[str, float], step: float) -> str | None:
    numbers = {key: number["value"] for key, number in section["numbers"].items()}
    steps = math.ceil(bill["--tokens"] / (128 * 8192))
    rate = bill["--interruptions"] * 64 / 86400
    checkpoint, restart = bill["--checkpoint-time"], bill["--restart"] * 60
    interval = bill.get("--checkpoint-every", 0) * 60 or math.sqrt(2 * checkpoint / rate)
    lost = rate * (restart + interval / 2)
    if lost >= 1:
        is_told = numbers["expected_ettr"] is None
        return None if is_told else f"an ETTR where interruptions leave none: {numbers}"
    ettr = (1 - lost) / (1 + checkpoint / interval)
    days = steps * step / 86400 / ettr
    rules = {
        "steps": near(numbers["steps"], steps),
        "ettr": near(numbers["expected_ettr"], ettr),
        "days": near(numbers["days"], days),
        "hours": near(numbers["device_hours"], days * 24 * 64),
        "energy": near(numbers["energy_mwh"], days * 24 * 64 * bill.get("--watts", 700) / 1e6),
        "cost": near(numbers["cost"], days * 24 * 64 * bill["--cost-per-hour"]),
    }
    wrong = [name for name, is_kept in rules.items() if not is_kept]
    return f"{', '.join(wrong)}: {numbers}, by hand {steps} {ettr} {days}" if wrong else None


def fault_of_serving(sections: dict, tree: dict, options: dict[str, object]) -> str | None:
    """H100 SXM: 3.35 TB/s, 80 GiB. By hand: grouped keys, gated feed-forwards, 16 bits."""
    width, heads = tree["hidden_size"], tree["num_attention_heads"]
    keys = tree["num_key_value_heads"] * tree.get("head_dim", width // heads)
    queries = heads * tree.get("head_dim", width // heads)
    layer = 2 * width * (queries + keys) + 3 * width * tree["intermediate_size"]
    products = tree["num_hidden_layers"] * layer + tree["vocab_size"] * width
    table = 0 if tree.get("tie_word_embeddings") else tree["vocab_size"] * width
    window = tree.get("sliding_window") if tree.get("model_type") == "mistral" else None
    context = min(options["--context"], window or options["--context"])
    cache = 2 * keys * tree["num_hidden_layers"] * 2 * context
    tensor = options["--tp"]
    section = sections["plan_serving"]
    numbers = {key: number["value"] for key, number in section["numbers"].items()}
    for row in section["tables"]["decode"]["rows"]:
        held = (2 * (products + table) + row["requests"] * cache) / tensor
        read = (2 * products + row["requests"] * cache) / tensor
        computed = 2 * products * row["requests"] / tensor
        # Norms and a new token's cache are little; a table of tokens may be whole on each device.
        if not held * 0.999 <= row["memory"] <= held * 1.01 + 2 * table:
            return f"memory of {row}: by hand {held}"
        least = max(read / 3.35e12, computed / 989.5e12)
        if (
            not least
            <= row["token_time"] / 1e9
            <= (read / 3.35e12 + computed / 989.5e12) / 0.6 + 0.03
        ):
            return f"time of {row}: at least {least}"
        if (row["fits"] == "yes") != (row["memory"] <= 0.9 * 80 * 2**30):
            return f"whether {row} fits"
    best = numbers["best_requests"]
    if best and numbers["decode_time"] / 1e9 > options["--latency"]:
        return f"a step of {numbers['decode_time']} for {options['--latency']}"
    more = (2 * (products + table) + (best + 1) * cache) / tensor
    if best and numbers["limited_by"] == "memory" and more * 1.01 + 2 * table < 0.9 * 80 * 2**30:
        return f"{best} requests are not all that fit"
    return None


def fault_of(done: subprocess.CompletedProcess[str]) -> str | None:
    if done.returncode in (2, 3, 4):
        lines = done.stderr.strip().split("\n")
        if len(lines) != 1 or not lines[0].startswith("flopledger: ") or len(lines[0]) > 600:
            return f"no refusal in one sentence: {done.stderr!r}"
        return None
    if done.returncode != 0:
        return f"ended with {done.returncode}: {done.stderr[:300]!r}"
    sections = json.loads(done.stdout)["ranks"][0]["sections"]
    numbers = {key: number["value"] for key, number in sections["plan"]["numbers"].items()}
    memory = {key: number["value"] for key, number in sections["plan_memory"]["numbers"].items()}
    rows = sections["plan_ledger"]["tables"]["accounts"]["rows"]
    parts = ("weights", "gradients", "optimizer", "activations", "other")
    rules = {
        "MFU": 0 < numbers["mfu"] <= 1,
        "HFU": numbers["mfu"] * 0.999 <= numbers["hfu"] <= 1,
        "an account": all(row["time"] >= 0 for row in rows),
        "the sum": abs(sum(row["time"] for row in rows) - numbers["step_time"]) <= 20,
        "the interval": numbers["step_time_low"]
        <= numbers["step_time"]
        <= numbers["step_time_high"],
        "tokens": numbers["tokens_per_second"] > 0,
        # Vocabularies that --tp does not divide are padded.
        "MFU as an account": abs(rows[0]["time"] - numbers["mfu"] * numbers["step_time"])
        <= 1 + 1e-3 * rows[0]["time"],
        "memory": min(memory[part] for part in parts) >= 0 and memory["weights"] > 0,
        "sum of memory": abs(sum(memory[part] for part in parts) - memory["total"]) <= 8,
        "least memory": 0 < memory["least"] <= memory["total"],
    }
    wrong = [name for name, is_kept in rules.items() if not is_kept]
    return f"absurd: {', '.join(wrong)}: {numbers} {memory}" if wrong else None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int)
    parser.add_argument("--long", action="store_true")
    wanted = parser.parse_args()
    plans = Plans(str(Path(wanted.program).resolve()), wanted.seed)
    count = wanted.count or (OF_EACH_LONG if wanted.long else OF_EACH)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(count):
            plans.try_layout()
            plans.try_config(Path(folder))
            plans.try_choice()
            plans.try_change()
        for _ in range(count // 5):
            plans.try_bill()
            plans.try_serving()
    print(f"{plans.passed} passed, {plans.failed} failed, 0 skipped")
    sys.exit(1 if plans.failed else 0)


if __name__ == "__main__":
    main()
