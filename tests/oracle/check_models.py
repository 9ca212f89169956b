#!/usr/bin/env python3
"""Parameters by config.json, beside the models that transformers makes: check_models.py PROGRAM

Each file in tests/models is made a model on the meta device, without any weight; `flopledger flops --model` must count as
many parameters. The file as transformers writes it again must count the same. Needs a Python with torch and transformers:
$TRANSFORMERS_PYTHON, else the one that ./dev makes, else the one in use; skips without it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from shared_traces import ROOT, Outcome, program_of
from transformers_models import answers, has_transformers

MODELS = ROOT / "tests" / "models"

COUNT = """
import json, sys
import torch, transformers
from transformers import CONFIG_MAPPING

SAME = {"kimi_k2": "deepseek_v3"}  # types of which transformers has no class of their own
NOT_TEXT = ("vision", "visual", "audio", "projector")

for path in sys.argv[2:]:
    sizes = json.load(open(path))
    class_name = sizes.get("architectures", ["BertModel"])[0]
    known = {key: value for key, value in sizes.items() if key not in ("model_type", "architectures")}
    model_type = sizes["model_type"]
    config = CONFIG_MAPPING[SAME.get(model_type, model_type)](**known)
    with torch.device("meta"):
        model = getattr(transformers, class_name)(config)
    count = 0
    for name, parameter in model.named_parameters():
        if not any(part in name for part in NOT_TEXT):
            count += parameter.numel()
    config.architectures = [class_name]
    written = f"{sys.argv[1]}/{path.rpartition('/')[2]}"
    open(written, "w").write(config.to_json_string())
    print(json.dumps([path, written, count]), flush=True)
"""


def counted_by(program: Path, path: str) -> int | str:
    command = [str(program), "flops", "--json", "--model", path]
    if not path.endswith("vit-base.json"):
        command += ["--seq", "128"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return done.stderr.strip()
    model = json.loads(done.stdout)["ranks"][0]["sections"]["model"]
    count: int = model["numbers"]["parameters"]["value"]
    return count


def main() -> None:
    program = program_of(sys.argv)
    if not has_transformers():
        return
    outcome = Outcome("parameters")
    paths = sorted(map(str, MODELS.glob("*.json")))
    with tempfile.TemporaryDirectory() as folder:
        for path, written, expected in answers(COUNT, folder, paths, outcome):
            for read in (path, written):
                mine = counted_by(program, read)
                outcome.check(mine == expected, f"{read}: {mine}, but {expected} in the model")
    total = Outcome("all")
    total.add(outcome)
    total.finish()


if __name__ == "__main__":
    main()
