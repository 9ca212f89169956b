"""Trains on the CPU, and does wrong where it is told to: for test_triggers.py. Prints its last loss in full."""

import os
import time

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
model: torch.nn.Module = torch.nn.Sequential(
    torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
rank = int(os.environ.get("RANK", "0"))
if int(os.environ.get("WORLD_SIZE", "1")) > 1:
    torch.distributed.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(model)
slow = {int(step) for step in os.environ.get("SLOW", "").split(",") if step}
leaks = {int(step) for step in os.environ.get("LEAKS", "").split(",") if step}
kept = []
for step in range(1, int(os.environ["STEPS"]) + 1):
    if step in slow and rank == int(os.environ.get("SLOW_RANK", "0")):
        time.sleep(0.6)
    x = torch.randn(32, 64)
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step in leaks:
        kept.append(torch.ones(500_000))
    time.sleep(0.01)
print(f"{rank} {loss.item().hex()}", flush=True)
