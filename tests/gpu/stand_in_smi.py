#!/usr/bin/env python3
"""Stands in for nvidia-smi: answers --query-gpu=... --format=csv,noheader,nounits of the GPUs in the file that STAND_IN_GPUS names, as
the real one does, what NVML refuses in brackets."""

import os
import sys

ERRORS = {"!3": "[N/A]", "!4": "[Insufficient Permissions]", "!15": "[GPU is lost]"}
RESERVED_MIB = 636  # of what NVML's nvmlDeviceGetMemoryInfo counts as used
FIELDS = {  # its key, and how it is written
    "utilization.gpu": ("utilization", lambda value: value),
    "power.draw": ("power", lambda value: f"{int(value) / 1000:.2f}"),
    "enforced.power.limit": ("power_limit", lambda value: f"{int(value) / 1000:.2f}"),
    "clocks.current.sm": ("clock_sm", lambda value: value),
    "clocks.current.memory": ("clock_memory", lambda value: value),
    "temperature.gpu": ("temperature", lambda value: value),
    "memory.used": ("memory_used", lambda value: str((int(value) >> 20) - RESERVED_MIB)),
    "memory.reserved": ("memory_used", lambda value: str(RESERVED_MIB)),
}


def cell(values: dict[str, str], field: str) -> str:
    key, write = FIELDS[field]
    value = values.get("0.all") or values.get(f"0.{key}", "!3")
    return ERRORS.get(value, "[Unknown Error]") if value.startswith("!") else write(value)


def main() -> None:
    lines = open(os.environ["STAND_IN_GPUS"], encoding="utf-8").read().splitlines()
    values = dict(line.split(" ", 1) for line in lines)
    options = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
    fields = options["--query-gpu"].split(",")
    for field in fields:
        if field not in FIELDS:
            print(f'Field "{field}" is not a valid field to query.\n')
            sys.exit(2)
    print(", ".join(cell(values, field) for field in fields))


if __name__ == "__main__":
    main()
