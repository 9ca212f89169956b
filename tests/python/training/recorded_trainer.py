"""Trainer of transformers with evaluations, checkpoints and logs: recorded_trainer.py; prints `STEP LOSS` as it logs them."""

from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

LENGTH, WORDS, STEPS = 8, 50, 12


class Words(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 4 * STEPS

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        words = (torch.arange(LENGTH) * 7 + index) % WORDS
        return {"input_ids": words, "labels": words}


def train(folder: str) -> None:
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
    )
    arguments = TrainingArguments(
        output_dir=folder,
        max_steps=STEPS,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        eval_strategy="steps",
        eval_steps=4,
        save_steps=4,
        logging_steps=2,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    torch.manual_seed(0)
    model = LlamaForCausalLM(config)
    work = Trainer(model=model, args=arguments, train_dataset=Words(), eval_dataset=Words())
    work.train()
    for entry in work.state.log_history:
        if "loss" in entry:
            print(entry["step"], repr(entry["loss"]))
    assert (Path(folder) / "checkpoint-4").is_dir()


with TemporaryDirectory() as folder:
    train(folder)
