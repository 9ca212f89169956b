"""A training that logs to wandb, MLflow, both or none: dashboard_run.py KIND [ends]; prints its losses.

"ends": the run is ended by the program; else by the library when the process ends."""

import json
import sys
import time

import torch

KIND, ENDS = sys.argv[1], "ends" in sys.argv
torch.manual_seed(0)
run = None
if KIND == "wandb":
    import wandb

    run = wandb.init(project="points", mode="offline")
elif KIND == "mlflow":
    import mlflow

    run = mlflow.start_run()
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for step in range(12):
    time.sleep(0.02)
    loss = model(torch.full((4, 8), step / 12)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
    if KIND == "wandb":
        wandb.log({"loss": losses[-1]})
    elif KIND == "mlflow":
        mlflow.log_metric("loss", losses[-1], step=step)
if ENDS and KIND == "wandb":
    wandb.finish()
elif ENDS and KIND == "mlflow":
    mlflow.end_run()
print(json.dumps(losses))
