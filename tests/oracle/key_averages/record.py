"""Records the trace beside this file, and what torch's own key_averages() says of it. Needs PyTorch.

    python3 tests/oracle/key_averages/record.py

check_key_averages.py compares the report of trace.json.gz with key_averages.json.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule

FOLDER = Path(__file__).resolve().parent


def table(profiler: Any, by_shape: bool) -> list[dict[str, Any]]:
    rows = []
    for row in profiler.key_averages(group_by_input_shape=by_shape):
        rows.append(
            {
                "name": row.key,
                "shapes": row.input_shapes if by_shape else None,
                "is_range": bool(row.is_user_annotation),
                "calls": row.count,
                "self_cpu_us": row.self_cpu_time_total,
                "total_cpu_us": row.cpu_time_total,
            }
        )
    return rows


def save(profiler: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        data = trace.read_bytes()
    with open(FOLDER / "trace.json.gz", "wb") as file:
        file.write(gzip.compress(data, 9, mtime=0))
    tables = {"by_name": table(profiler, False), "by_shape": table(profiler, True)}
    parts = [f'"torch": {json.dumps(torch.__version__)}']
    for name, rows in tables.items():
        parts.append(f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]")
    (FOLDER / "key_averages.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64), torch.nn.LayerNorm(64)
    )
    lstm = torch.nn.LSTM(64, 32)
    optimizer = torch.optim.AdamW([*model.parameters(), *lstm.parameters()])
    with profile(
        activities=[ProfilerActivity.CPU],
        record_shapes=True,
        schedule=schedule(wait=1, warmup=1, active=2),
        on_trace_ready=save,
    ) as profiler:
        for _ in range(4):
            with record_function("forward"):
                output, _ = lstm(model(torch.randn(16, 8, 64)))
                with record_function("loss"):
                    loss = (output * output).sum() + torch.linalg.norm(output)
                    loss = loss + torch.einsum("abc,abc->", output, output)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()


if __name__ == "__main__":
    main()
