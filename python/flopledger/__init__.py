"""flopledger's recorder, which runs inside a PyTorch program, and what a model costs:

    from flopledger import FlopsProfiler, get_model_profile, profile, register_flop_formula
    from flopledger import SimpleMemoryProfiler

Importing this does no work and does not import torch.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = [
    "FlopsProfiler",
    "SimpleMemoryProfiler",
    "get_model_profile",
    "profile",
    "register_flop_formula",
]

if TYPE_CHECKING:
    from flopledger.memory_profiler import SimpleMemoryProfiler
    from flopledger.model_profile import FlopsProfiler, get_model_profile, profile
    from flopledger.op_counter import register_flop_formula


def __getattr__(name: str) -> Any:
    if name == "register_flop_formula":
        from flopledger.op_counter import register_flop_formula

        return register_flop_formula
    if name == "SimpleMemoryProfiler":
        from flopledger.memory_profiler import SimpleMemoryProfiler

        return SimpleMemoryProfiler
    if name in __all__:
        from flopledger import model_profile

        return getattr(model_profile, name)
    raise AttributeError(f"module 'flopledger' has no attribute {name!r}")
