#!/usr/bin/env python3
"""Samples of a clock for a database without metrics: nsys_clock.py RUN METRICS MHZ

RUN gets the metrics' tables of METRICS, and one sample of the multiprocessors' clock in the middle of each kernel.
"""

import sqlite3
import sys

from nsys_writer import METRIC_TYPE

CLOCK = 3  # of nsys_writer.METRICS


def main() -> None:
    path, metrics, clock = sys.argv[1:]
    run = sqlite3.connect(path)
    run.execute("ATTACH ? AS metrics", (metrics,))
    for table in ("TARGET_INFO_GPU_METRICS", "GPU_METRICS"):
        run.execute(f"CREATE TABLE {table} AS SELECT * FROM metrics.{table} WHERE 0")
    kernels = run.execute("SELECT start, end, deviceId FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchall()
    for device in {device for _, _, device in kernels}:
        run.execute(
            "INSERT INTO TARGET_INFO_GPU_METRICS (typeId, sourceId, typeName, metricId, metricName)"
            " VALUES (?, 1, 'GA100', ?, 'GPC Clock Frequency [MHz]')",
            (METRIC_TYPE + device, CLOCK),
        )
    run.executemany(
        "INSERT INTO GPU_METRICS (timestamp, typeId, metricId, value) VALUES (?, ?, ?, ?)",
        [
            ((start + end) // 2, METRIC_TYPE + device, CLOCK, int(clock))
            for start, end, device in kernels
        ],
    )
    run.commit()


if __name__ == "__main__":
    main()
