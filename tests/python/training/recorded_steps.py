"""A training program whose steps, waits, checkpoints and evaluations are known: recorded_steps.py KIND [STEPS] [SECONDS]

Kinds: plain; reads (in a thread of its own, reads its loss in many ways, evaluates without eval(), saves by a name of its own);
listed (no loader while it trains); whole (torch.compile of the whole step); fork (a child process trains, too); forks (the same, in the middle of its parent's run); frozen (a part
stays in eval()).
It prints `step LOSS`, to the last bit.
"""

import os
import pickle
import sys
import tempfile
import threading
import time
from pathlib import Path

import torch
from torch import nn, save
from torch.utils.data import DataLoader, Dataset

KIND = sys.argv[1] if len(sys.argv) > 1 else "plain"
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 0.002
WAIT, EVALUATION, CHECKPOINT = 0.01, 0.03, 0.02
BATCH, LENGTH, WORDS = 4, 8, 50


class Words(Dataset):
    def __len__(self) -> int:
        return STEPS * BATCH

    def __getitem__(self, index: int) -> torch.Tensor:
        if index % BATCH == 0 and index // BATCH == 5:
            time.sleep(WAIT)  # step 6 waits for data
        return torch.full((LENGTH,), index % WORDS)


class Slow:
    """Takes a while to be saved."""

    def __reduce__(self) -> tuple:
        time.sleep(CHECKPOINT)
        return str, ()


READS = (
    lambda loss: loss.item(),
    lambda loss: loss.detach().tolist(),
    lambda loss: float(loss.detach()),
    lambda loss: loss.detach().cpu().numpy().item(),
    lambda loss: loss.data.numpy().tolist(),
)


def read(step: int, loss: torch.Tensor) -> float:
    return READS[step % len(READS) if KIND == "reads" else 0](loss)


def evaluate(model: nn.Module) -> None:
    if KIND != "reads":
        model.eval()
    with torch.no_grad():
        for _ in DataLoader(torch.zeros(4, 2), 2):
            time.sleep(EVALUATION / 2)
    model.train()


class Model(nn.Sequential):
    """With an eval() of its own, as the models of transformers have."""

    def eval(self) -> nn.Module:
        return self.train(False)


children: list[int] = []


def train() -> None:
    torch.manual_seed(0)
    model = (Model if KIND == "plain" else nn.Sequential)(
        nn.Embedding(WORDS, 16), nn.Dropout(0.1), nn.Linear(16, WORDS)
    )
    optimizer = torch.optim.AdamW(model.parameters())
    resumed = os.environ.get("RESUMED")
    if resumed:
        state = torch.load(resumed, weights_only=False)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])

    def loss_of(batch: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(model(batch).flatten(0, 1), batch.flatten())

    calculate = torch.compile(loss_of, backend="eager") if KIND == "whole" else loss_of
    listed = torch.full((LENGTH,), 7).expand(STEPS, BATCH, LENGTH)
    for step, batch in enumerate(listed if KIND == "listed" else DataLoader(Words(), BATCH), 1):
        if KIND == "frozen":
            model[1].eval()
        loss = calculate(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, repr(read(step, loss)), flush=True)
        if KIND == "forks" and step == 8:
            children.append(os.fork())
        pickle.loads(pickle.dumps(batch))  # by torch.save, but no checkpoint
        time.sleep(SECONDS)
        if step % 10 == 0:
            evaluate(model)
            with tempfile.TemporaryDirectory() as folder:
                path = os.environ.get("SAVED", str(Path(folder) / "state.pt"))
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                (save if KIND == "reads" else torch.save)({**state, "slow": Slow()}, path)


if KIND == "fork":
    children.append(os.fork())  # before torch has threads
if KIND == "reads":
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
else:
    train()
for child in filter(None, children):
    os.waitpid(child, 0)
