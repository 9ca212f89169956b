"""flopledger in Python: reports as objects, the recorder, and what a model costs.

    import flopledger as fl

    report = fl.report("trace.json.gz")         # headline, findings, ledger, steps, kernels, operators, modules
    with fl.profile(steps=3) as recording: ...  # around a training loop; then recording.report
    fl.compare(a, b), fl.memory(capture), fl.ettr(capture), fl.flops(model, input)
    fl.TrainerCallback(), fl.LightningCallback(), fl.AccelerateTracker()     # for the trainers of these frameworks

Importing this does no work and does not import torch.
"""

import os
from importlib.machinery import EXTENSION_SUFFIXES
from typing import TYPE_CHECKING, Any, overload

from flopledger.version import VERSION as __version__

# Where each name is: what is imported when it is asked for.
PLACES = {
    "Comparison": "results",
    "Document": "results",
    "Finding": "results",
    "FlopsProfiler": "model_profile",
    "JobReport": "results",
    "MemoryReport": "results",
    "ModelFlops": "model_flops",
    "NotKnown": "results",
    "ProgramError": "program",
    "Recording": "recording",
    "Report": "results",
    "SimpleMemoryProfiler": "memory_profiler",
    "Table": "tables",
    "WhatIf": "results",
    "compare": "results",
    "ettr": "results",
    "flops": "model_flops",
    "get_model_profile": "model_profile",
    "memory": "results",
    "register_flop_formula": "op_counter",
    "report": "results",
}
__all__ = [*PLACES, "__version__", "profile"]  # noqa: PLE0604
# Each needs its framework, which `import *` must not ask for.
PLACES |= {
    "AccelerateTracker": "accelerate_tracker",
    "LightningCallback": "lightning_callback",
    "TrainerCallback": "hf_callback",
}

if TYPE_CHECKING:
    from torch import nn

    from flopledger import model_profile
    from flopledger.accelerate_tracker import AccelerateTracker as AccelerateTracker
    from flopledger.hf_callback import TrainerCallback as TrainerCallback
    from flopledger.lightning_callback import LightningCallback as LightningCallback
    from flopledger.memory_profiler import SimpleMemoryProfiler as SimpleMemoryProfiler
    from flopledger.model_flops import ModelFlops as ModelFlops, flops as flops
    from flopledger.model_profile import (
        FlopsProfiler as FlopsProfiler,
        get_model_profile as get_model_profile,
    )
    from flopledger.op_counter import register_flop_formula as register_flop_formula
    from flopledger.program import ProgramError as ProgramError
    from flopledger.recording import Recording as Recording
    from flopledger.results import (
        Comparison as Comparison,
        Document as Document,
        Finding as Finding,
        JobReport as JobReport,
        MemoryReport as MemoryReport,
        NotKnown as NotKnown,
        Report as Report,
        WhatIf as WhatIf,
        compare as compare,
        ettr as ettr,
        memory as memory,
        report as report,
    )
    from flopledger.tables import Table as Table


# A program that is copied around alone brings the extensions for both libraries of C, each in a folder of its own.
_extensions = os.path.join(__path__[0], "musl" if "musl" in EXTENSION_SUFFIXES[0] else "gnu")
if os.path.isdir(_extensions):
    __path__.append(_extensions)


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"module 'flopledger' has no attribute {name!r}")
    import importlib

    found = getattr(importlib.import_module(f"flopledger.{PLACES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *PLACES])


@overload
def profile(model: "nn.Module", **options: Any) -> "model_profile.profile": ...


@overload
def profile(model: None = None, **options: Any) -> "Recording": ...


def profile(model: Any = None, **options: Any) -> Any:
    """`profile(steps=3)`: records the steps of a `with` block (see Recording). `profile(model)`: counts the FLOPs of the model's
    calls in it, as DeepSpeed's profiler does (see model_profile.profile)."""
    if model is None:
        from flopledger.recording import Recording

        return Recording(**options)
    from flopledger.model_profile import profile as profile_of_model

    return profile_of_model(model, **options)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext flopledger` makes `%%flopledger` record the steps of a cell."""
    from flopledger.notebook import load_ipython_extension as load

    load(shell)
