"""Small training programs of many kinds, none of which knows that it is recorded: loops.py KIND

Each prints its losses to the last bit.
"""

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

STEPS = 9
BATCH, LENGTH, WORDS, WIDTH = 4, 8, 50, 16


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return x + F.gelu(self.layer(self.norm(x)))


class Language(nn.Module):
    """Its input and output share their weights."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.logits = nn.Linear(WIDTH, WORDS, bias=False)
        self.logits.weight = self.embedding.weight

    def forward(self, input_ids: Tensor) -> Tensor:
        x = self.embedding(input_ids)
        for block in self.blocks:
            x = block(x)
        return self.logits(x)


def batches(workers: int = 0) -> Iterator[Tensor]:
    words = torch.randint(0, WORDS, (64 * BATCH, LENGTH))
    for (batch,) in DataLoader(TensorDataset(words), BATCH, num_workers=workers):
        yield batch


def loss_of(model: nn.Module, batch: Tensor) -> Tensor:
    return F.cross_entropy(model(batch).flatten(0, 1), batch.flatten())


def say(loss: Tensor) -> None:
    print(repr(loss.item()), flush=True)


def train(
    model: nn.Module,
    steps: int = STEPS,
    workers: int = 0,
    before_step: Callable[[int], None] = lambda step: None,
) -> nn.Module:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step, batch in enumerate(batches(workers), 1):
        before_step(step)
        loss = loss_of(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        say(loss)
        if step == steps:
            break
    return model


def plain() -> None:
    model = train(Language())
    print(repr(sum(p.double().sum().item() for p in model.parameters())))


def workers() -> None:
    train(Language(), workers=2)


def accumulation() -> None:
    """Three micro-batches a step, and a look at other data between steps."""
    model = Language()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    data = batches()
    for _ in range(STEPS):
        optimizer.zero_grad()
        for _ in range(3):
            loss = loss_of(model, next(data))
            loss.backward()
        optimizer.step()
        say(loss)
        model.eval()
        with torch.no_grad():
            model(torch.zeros(1, LENGTH, dtype=torch.long))
        model.train()


def scaler() -> None:
    """The gradients of two steps are infinite: GradScaler leaves the optimizer out."""
    model = Language()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    scaling = torch.amp.GradScaler("cpu", init_scale=2.0)
    for step, batch in zip(range(1, STEPS + 1), batches()):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(model, batch)
        scaling.scale(loss * (float("inf") if step in (3, 5) else 1.0)).backward()
        scaling.step(optimizer)
        scaling.update()
        say(loss)


def two_optimizers() -> None:
    """A generator, and a critic that steps twice as often."""

    class Critic(nn.Sequential):
        pass

    model, critic = Language(), Critic(nn.Linear(WORDS, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizers = [torch.optim.SGD(each.parameters(), lr=1e-2) for each in (critic, model)]
    for _, batch in zip(range(STEPS), batches()):
        for _ in range(2):
            optimizers[0].zero_grad()
            loss = critic(model(batch).detach()).mean()
            loss.backward()
            optimizers[0].step()
        optimizers[1].zero_grad()
        loss = critic(model(batch)).mean()
        loss.backward()
        optimizers[1].step()
        say(loss)


def fails() -> None:
    """In step 6."""

    def before_step(step: int) -> None:
        if step == 6:
            raise ValueError("the script's own error")

    train(Language(), before_step=before_step)


def interrupted() -> None:
    """Ctrl-C in step 6."""
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # whoever started the test may ignore it

    def before_step(step: int) -> None:
        if step == 6:
            os.kill(os.getpid(), signal.SIGINT)

    train(Language(), before_step=before_step)


def raises() -> None:
    """Inside of the forward in step 5, which the program gets over; tells whether torch is as it was."""

    class Failing(Language):
        fails = False

        def forward(self, input_ids: Tensor) -> Tensor:
            x = self.blocks[0](self.embedding(input_ids))
            if self.fails:
                self.blocks[1](x[..., :-1])  # of the wrong size
            return self.logits(self.blocks[1](x))

    model = Failing()
    code = nn.Module._wrapped_call_impl.__code__

    def before_step(step: int) -> None:
        if step == 5:
            model.fails = True
            try:
                model(torch.zeros(1, LENGTH, dtype=torch.long))
            except RuntimeError as error:
                print(type(error).__name__)
            model.fails = False

    train(model, before_step=before_step)
    print(
        nn.Module._wrapped_call_impl.__code__ is code, torch.nn.modules.module._global_forward_hooks
    )


def unknown_op() -> None:
    """An operator of the program's own, of which nobody can know what it computes."""

    @torch.library.custom_op("ours::mix", mutates_args=())
    def mix(x: Tensor) -> Tensor:
        return torch.from_numpy(x.numpy()[::-1].copy())

    class Mixing(Language):
        def forward(self, input_ids: Tensor) -> Tensor:
            x = self.embedding(input_ids)
            x = x + mix(x.detach())
            return self.logits(self.blocks[1](self.blocks[0](x)))

    train(Mixing())


def waits() -> None:
    """Until somebody ends it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    train(Language())
    print("waiting", flush=True)
    signal.pause()


def few_steps() -> None:
    train(Language(), steps=2)


def infers() -> None:
    """Two models in turn, the second compiled; nothing is trained. Tells what was compiled, and whether torch is as it was."""
    from torch._dynamo.testing import CompileCounter

    counter = CompileCounter()
    code = nn.Module._wrapped_call_impl.__code__
    first, second = Language().eval(), Language().eval().requires_grad_(False)
    compiled = torch.compile(second, backend=counter)
    with torch.no_grad():
        for _, batch in zip(range(STEPS), batches()):
            with torch.profiler.record_function("answer"):
                first(batch)
                print(repr(compiled(batch).sum().item()), flush=True)
    print(counter.frame_count, counter.op_count, code is nn.Module._wrapped_call_impl.__code__)


def never_steps() -> None:
    say(loss_of(Language(), next(batches())))


def profiles_itself(first: int = 5) -> None:
    """The program's own profiler, on in two steps."""
    own = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])

    def before_step(step: int) -> None:
        if step == first:
            own.start()
        if step == first + 2:
            own.stop()

    train(Language(), steps=14, before_step=before_step)
    names = [event.key for event in own.key_averages()]
    print("aten::mm" in names, any(name.startswith("nn:") for name in names))


def profiles_itself_first() -> None:
    profiles_itself(3)


def compiled() -> None:
    """Compiled with a graph break, and compiled anew while steps are recorded; prints what was compiled."""
    from torch._dynamo.testing import CompileCounter
    from torch._dynamo.utils import counters

    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = Language()

        def forward(self, words: Tensor) -> Tensor:
            x = self.model.embedding(words)
            torch._dynamo.graph_break()
            return self.model.logits(self.model.blocks[1](self.model.blocks[0](x)))

    counter = CompileCounter()
    whole = torch.compile(Language(), backend=counter)
    broken = torch.compile(Broken(), backend=counter)
    parameters = [*whole.parameters(), *broken.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=1e-2)
    for step, batch in zip(range(1, STEPS + 1), batches()):
        batch = batch[:, : LENGTH - step % 3]  # new shapes: compiled again
        optimizer.zero_grad()
        loss = loss_of(whole, batch) + loss_of(broken, batch)
        loss.backward()
        optimizer.step()
        say(loss)
        print(counter.frame_count, counter.op_count, sum(counters["graph_break"].values()))


def own_calls() -> None:
    """Blocks call nn.Module's call themselves, as those of transformers did: compiled whole, anew while steps are recorded, and not
    compiled. Prints what was compiled."""
    from torch._dynamo.testing import CompileCounter

    class CallingBlock(Block):
        def __call__(self, *arguments: Tensor, **keywords: Tensor) -> Tensor:
            return super().__call__(*arguments, **keywords)

    def make() -> Language:
        model = Language()
        model.blocks = nn.ModuleList(CallingBlock() for _ in range(2))
        return model

    counter, plain = CompileCounter(), make()
    whole = torch.compile(make(), backend=counter, fullgraph=True, dynamic=False)
    optimizer = torch.optim.SGD([*plain.parameters(), *whole.parameters()], lr=1e-2)
    for step, batch in zip(range(1, STEPS + 1), batches()):
        optimizer.zero_grad()
        loss = loss_of(plain, batch) + loss_of(whole, batch[:, : LENGTH - step // 5])
        loss.backward()
        optimizer.step()
        say(loss)
        print(counter.frame_count, counter.op_count)


def compiled_optimizer(in_function: bool = False) -> None:
    """Its step is compiled, or a function that calls it; prints what was compiled."""
    from torch._dynamo.testing import CompileCounter
    from torch._dynamo.utils import counters

    counter = CompileCounter()
    model = Language()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def update() -> None:
        optimizer.step()

    step = torch.compile(update if in_function else optimizer.step, backend=counter)
    for _, batch in zip(range(STEPS), batches()):
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        step()
        say(loss)
    print(counter.frame_count, counter.op_count, sum(counters["graph_break"].values()))


def compiled_update() -> None:
    compiled_optimizer(in_function=True)


def checkpointed() -> None:
    from torch.utils.checkpoint import checkpoint

    class Saving(Language):
        def forward(self, input_ids: Tensor) -> Tensor:
            x = self.embedding(input_ids)
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False)
            return self.logits(x)

    train(Saving())


def distributed(model: nn.Module) -> None:
    train(model)
    torch.distributed.barrier()  # as in examples/tutorials/straggler.py
    torch.distributed.destroy_process_group()


def mesh() -> None:
    """Four ranks: two stages of a pipeline (which do the same here), two parts of each matrix."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
    from torch.distributed.tensor.placement_types import Replicate

    whole = init_device_mesh("cpu", (2, 2), mesh_dim_names=("pp", "tp"))
    model = Language()
    plan = {f"blocks.{i}.layer": ColwiseParallel(output_layouts=Replicate()) for i in range(2)}
    distributed(parallelize_module(model, whole["tp"], plan))


def accelerator() -> None:
    from accelerate import Accelerator

    work = Accelerator(cpu=True)
    model = Language()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model, optimizer = work.prepare(model, optimizer)
    for _, batch in zip(range(STEPS), batches()):
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        work.backward(loss)
        optimizer.step()
        say(loss)
    work.wait_for_everyone()  # as in examples/tutorials/straggler.py
    work.end_training()


def ddp() -> None:
    torch.distributed.init_process_group("gloo")
    distributed(nn.parallel.DistributedDataParallel(Language()))


def ddp_hangs() -> None:
    """In step 6, until Ctrl-C."""

    def before_step(step: int) -> None:
        if step == 6:
            print("hangs", flush=True)
            time.sleep(600)

    torch.distributed.init_process_group("gloo")
    train(nn.parallel.DistributedDataParallel(Language()), before_step=before_step)


def fsdp() -> None:
    from torch.distributed.device_mesh import init_device_mesh

    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:  # torch 2.5 and older
        from torch.distributed._composable.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp",))
    model = Language()
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    distributed(fully_shard(model, mesh=mesh))


def fsdp1(keeps_originals: bool = False) -> None:
    """Flat parameters, sharded: the model's own are of no module, or empty."""
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    torch.distributed.init_process_group("gloo")
    model = Language()
    distributed(
        FullyShardedDataParallel(
            model,
            device_id=torch.device("cpu"),
            use_orig_params=keeps_originals,
            auto_wrap_policy=ModuleWrapPolicy({type(model.blocks[0])}),
        )
    )


def fsdp1_originals() -> None:
    fsdp1(keeps_originals=True)


def trainer() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

    class Words(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return 64

        def __getitem__(self, index: int) -> dict[str, Tensor]:
            words = (torch.arange(LENGTH) * 7 + index) % WORDS
            return {"input_ids": words, "labels": words}

    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=WIDTH,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
    )
    arguments = TrainingArguments(
        output_dir="trainer",
        max_steps=STEPS,
        per_device_train_batch_size=BATCH,
        gradient_accumulation_steps=2,
        report_to=[],
        save_strategy="no",
        logging_steps=1,
        disable_tqdm=True,
        use_cpu=True,
    )
    work = Trainer(model=LlamaForCausalLM(config), args=arguments, train_dataset=Words())
    work.train()
    for entry in work.state.log_history:
        print(repr(entry.get("loss")))


def lightning() -> None:
    import logging

    import lightning.pytorch as pl

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")

    class Lit(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = Language()

        def training_step(self, batch: list[Tensor], index: int) -> Tensor:
            loss = loss_of(self.model, batch[0])
            say(loss)
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=1e-2)

    words = torch.randint(0, WORDS, (64 * BATCH, LENGTH))
    training = pl.Trainer(
        max_steps=STEPS,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    training.fit(Lit(), DataLoader(TensorDataset(words), BATCH))


def needs_modules() -> None:
    """Not a test: tells which of the libraries are there."""
    import importlib.util

    for name in ("transformers", "accelerate", "lightning"):
        print(name, importlib.util.find_spec(name) is not None)


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    globals()[sys.argv[1]]()
