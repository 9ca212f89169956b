"""A small training by each framework, with or without our callback: trainer_callbacks.py KIND with|without FOLDER

Prints a line of JSON: the losses of all steps, and what the callback has to say."""

import json
import sys
from pathlib import Path
from typing import Any

import torch

import flopledger as fl

STEPS, RECORDED = 8, 3
KIND, HAS_CALLBACK, FOLDER = sys.argv[1], sys.argv[2] == "with", Path(sys.argv[3])
torch.manual_seed(0)


class Points(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 8 * STEPS

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        x = torch.arange(8, dtype=torch.float32) * (index + 1) / 50
        return {"x": x, "labels": x.sum().sin().reshape(1)}


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
        )

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        found = self.layers(x)
        return {"loss": torch.nn.functional.mse_loss(found, labels), "logits": found}


def tell(losses: list[float], callback: Any, logged: Any, leads: bool = True) -> None:
    said: dict[str, Any] = {"losses": losses, "logged": logged}
    if HAS_CALLBACK and callback.report is not None:
        report = callback.report
        said |= {
            "steps": [row["step"] for row in report.steps],
            "ranks": len(report.ranks),
            "headline": report.headline,
            "step_time_ms": report.step_time_ns / 1e6,
            "matrix": report.ledger.row(key="matrix")["share"],
            "folder": callback.folder,
        }
    if leads:
        print(json.dumps(said))


def transformers() -> None:
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        output_dir=str(FOLDER),
        max_steps=STEPS,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    callback = fl.TrainerCallback(steps=RECORDED)
    trainer = Trainer(Model(), arguments, train_dataset=Points())
    if HAS_CALLBACK:
        trainer.add_callback(callback)
    trainer.train()
    log = trainer.state.log_history
    last = log[-1] if any("flopledger" in name for name in log[-1]) else None
    losses = [entry["loss"] for entry in log if "loss" in entry]
    tell(losses, callback, last, leads=trainer.is_world_process_zero())


def lightning() -> None:
    from lightning.pytorch import LightningModule, Trainer
    from lightning.pytorch.loggers import CSVLogger

    losses: list[float] = []

    class Module(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = Model()

        def training_step(self, batch: Any, index: int) -> Any:
            loss = self.model(**batch)["loss"]
            losses.append(float(loss.detach()))
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    callback = fl.LightningCallback(steps=RECORDED)
    logger = CSVLogger(FOLDER)
    trainer = Trainer(
        max_steps=STEPS,
        accelerator="cpu",
        default_root_dir=FOLDER,
        callbacks=[callback] if HAS_CALLBACK else [],
        logger=logger,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    trainer.fit(Module(), torch.utils.data.DataLoader(Points(), batch_size=4))
    logger.save()
    metrics = Path(logger.log_dir) / "metrics.csv"
    tell(losses, callback, metrics.read_text() if metrics.exists() else None)


def accelerate() -> None:
    from accelerate import Accelerator

    tracker = fl.AccelerateTracker(RECORDED, folder=FOLDER)
    accelerator = Accelerator(cpu=True, log_with=[tracker] if HAS_CALLBACK else None)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(Points(), batch_size=4)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    accelerator.init_trackers("points", config={"lr": 0.1})
    losses = []
    for step, batch in zip(range(STEPS), loader):
        loss = model(**batch)["loss"]
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
        accelerator.log({"loss": losses[-1]}, step=step)
    accelerator.end_training()
    config = Path(tracker.folder or "") / "config.json"
    tell(losses, tracker, json.loads(config.read_text()) if HAS_CALLBACK else None)


{"transformers": transformers, "lightning": lightning, "accelerate": accelerate}[KIND]()
