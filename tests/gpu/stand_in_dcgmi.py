#!/usr/bin/env python3
"""Stands in for dcgmi: answers `dmon -e FIELDS -i 0 -d MS -c COUNT` with the activity of GPU 0 in the file that STAND_IN_GPUS names."""

import os
import sys

METRICS = {"1002": "0.gpm.2", "1004": "0.gpm.5", "1005": "0.gpm.10"}  # DCGM's field, GPM's metric
HEADS = {"1002": "SMACT", "1004": "TENSO", "1005": "DRAMA"}


def main() -> None:
    lines = open(os.environ["STAND_IN_GPUS"], encoding="utf-8").read().splitlines()
    values = dict(line.split(" ", 1) for line in lines)
    words = sys.argv[1:]
    fields = words[words.index("-e") + 1].split(",")
    print("#Entity   " + "".join(f"{HEADS[field]:<13}" for field in fields))
    print("ID" + " " * 8)
    for _ in range(int(words[words.index("-c") + 1])):
        cells = [values.get(METRICS[field]) for field in fields]
        texts = ["N/A" if cell is None else f"{float(cell) / 100:.3f}" for cell in cells]
        print("GPU 0     " + "".join(f"{text:<13}" for text in texts))


if __name__ == "__main__":
    main()
