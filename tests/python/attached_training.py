"""Trains the same whatever is done to it, and prints what it has learned: for test_attach_inside.py.

Reads a line of standard input to end. Its last line is JSON: the losses' digest, and what stands in the process.
"""

import ctypes
import gc
import hashlib
import json
import os
import select
import signal
import sys
import threading
import time
import types

import torch


def make_model() -> torch.nn.Module:
    if os.environ.get("COUNTED"):  # one instruction after another: few of them
        return torch.nn.Linear(4, 4)
    model: torch.nn.Module = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64)
    )
    if os.environ.get("COMPILED"):
        model = torch.compile(model)  # type: ignore[assignment]
    if "RANK" in os.environ:
        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
    return model


def batches() -> "torch.utils.data.DataLoader[tuple[torch.Tensor, ...]]":
    if os.environ.get("COUNTED"):
        return [(torch.ones(1, 4),)] * 20  # type: ignore[return-value]
    data = torch.utils.data.TensorDataset(torch.randn(640, 64))
    workers = int(os.environ.get("WORKERS", "0"))
    return torch.utils.data.DataLoader(data, batch_size=32, num_workers=workers)


def what_stands(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, object]:
    """All that an attached recorder could leave behind. A compiled step would be compiled anew."""
    is_traced = not os.environ.get("COMPILED") and not os.environ.get("COUNTED")
    step = ""
    for _ in range(2 if is_traced else 0):  # the first time Python 3.12 leaves some out
        step = instructions_of_a_step(model, optimizer)
    gc.collect()
    optimizers = sys.modules["torch.optim.optimizer"]
    return {
        "hooks": len(optimizers._global_optimizer_post_hooks)
        + len(optimizers._global_optimizer_pre_hooks),
        "modules": [name for name in sys.modules if name.startswith("flopledger")],
        "objects": sorted(
            {
                type(thing).__qualname__
                for thing in gc.get_objects()
                if str(getattr(type(thing), "__module__", "")).startswith("flopledger")
            }
        ),
        "files": sorted(
            os.readlink(f"/proc/self/fd/{number}")
            for number in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{number}")
            and "flopledger" in os.readlink(f"/proc/self/fd/{number}")
        ),
        "backward": torch.autograd._engine_run_backward.__module__,
        "call": hash(torch.nn.Module._wrapped_call_impl.__code__.co_consts),
        "path": sys.path,
        "step": step,
        "profiler": torch.autograd.profiler._is_profiler_enabled,
        "threads": [  # a data loader's come and go
            thread.name
            for thread in threading.enumerate()
            if str(getattr(thread.run, "__module__", "")).startswith("flopledger")
            or "flopledger" in str(getattr(thread, "_target", ""))
        ],
    }


def instructions_of_a_step(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> str:
    """Of Python: each one that a step runs, in whose code. A hook, a wrapper or other code that is left there shows in it."""
    seen = hashlib.sha256()
    count = 0

    def note(frame: types.FrameType, event: str, _: object) -> object:
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            count += 1
            code = frame.f_code
            seen.update(f"{code.co_filename} {code.co_name} {frame.f_lasti}\n".encode())
        return note

    x = torch.ones(32, 64)
    is_collected = gc.isenabled()
    gc.disable()  # what it calls comes at any time
    sys.settrace(note)  # type: ignore[arg-type]
    (model(x) - x).square().mean().backward()
    optimizer.step()
    sys.settrace(None)
    if is_collected:
        gc.enable()
    return f"{count} instructions, {seen.hexdigest()}"


def give_memory_back(number: int, _: object) -> None:
    """What was freed, and is kept for the next time: so that what is left in use can be measured. Asked otherwise, what waits to be
    collected, too."""
    if number == signal.SIGUSR1:
        gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
    if trim:
        trim(0)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    if os.environ.get("SLOW_HOOK"):  # the recorder cannot come in between
        optimizer.register_step_post_hook(lambda *_: time.sleep(0.03))
    for number in signal.SIGUSR1, signal.SIGUSR2:
        signal.signal(number, give_memory_back)
    slow = {int(number) for number in os.environ.get("SLOW", "").split(",") if number}
    if os.environ.get("COUNTED"):  # count_instructions.c counts from mark to mark
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        os.sched_setaffinity(0, {0})  # where that one runs, too: twice as fast
        gc.disable()
    digest = hashlib.sha256()
    sleep = float(os.environ.get("SLEEP", "0.01"))
    stop_at = int(os.environ.get("STEPS", "0"))
    step = 0
    at_start = None
    while not stop_at or step < stop_at:
        for (x,) in batches():
            loss = (model(x) - x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            digest.update(loss.detach().numpy().tobytes())
            step += 1
            if os.environ.get("COUNTED"):
                os.kill(os.getpid(), signal.SIGUSR1)
            if step == 3:
                at_start = what_stands(model, optimizer)
                os.write(1, b"begins\n")
            time.sleep(0.5 if step in slow else sleep)
            if step == stop_at:
                break
        if not stop_at and select.select([0], [], [], 0)[0]:
            break
    at_end = what_stands(model, optimizer)
    os.write(
        1,
        json.dumps(
            {
                "step": step,
                "digest": digest.hexdigest(),
                "left": {k: v for k, v in at_end.items() if at_start and at_start[k] != v},
                "stands": at_end,
            }
        ).encode()
        + b"\n",
    )


def is_forked() -> bool:
    """Once PyTorch is loaded: each line of standard input names a training to be forked, by its environment and its three files. True in
    each of them; False at the end of the lines."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    for line in iter(sys.stdin.readline, ""):
        asked = json.loads(line)
        files = [os.open(path, how) for path, how in zip(asked["files"], (0, 1, 1))]
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            os.environ.update(asked["environment"])
            for number, file in enumerate(files):
                os.dup2(file, number)
        for file in files:
            os.close(file)
        if pid == 0:
            return True
        os.write(1, f"{pid}\n".encode())
    return False


if not os.environ.get("FORKS") or is_forked():
    main()
    if "RANK" in os.environ:  # a thread of Gloo's may end the program while Python ends
        os._exit(0)
