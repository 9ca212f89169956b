"""What the tests of get_model_profile and its like share. Imported first by a script that is called with PROGRAM: starts it
again in a Python that has torch, where this one has not."""

import importlib.util
import os
import sys
import unittest
import warnings
from pathlib import Path
from typing import Any

from recorded_runs import ROOT, find_python

PROGRAM = Path(sys.argv[1]).resolve()
SHARED = Path(os.environ.get("FLOPLEDGER_SHARED", ROOT.parent / "shared")) / "golden" / "flops"
HAS_TORCH = importlib.util.find_spec("torch") is not None
HAS_TRANSFORMERS = importlib.util.find_spec("transformers") is not None
HAS_EXTENSION = any((PROGRAM.parent / "python" / "flopledger").glob("flop_counts*.so"))

if not HAS_TORCH and (python := find_python()) is not None:
    os.execv(python, [python, *sys.argv])
sys.argv.pop(1)
sys.path.insert(0, str(PROGRAM.parent / "python"))
sys.dont_write_bytecode = True
warnings.filterwarnings("ignore")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

if HAS_TORCH:
    import torch
    from torch import nn

    torch.set_num_threads(1)


def has_linked_sanitizer() -> bool:
    """An extension built with the address sanitizer cannot be loaded into Python."""
    try:
        import flopledger.flop_counts  # noqa: F401
    except ImportError:
        return True
    return False


class ProfileCase(unittest.TestCase):
    def setUp(self) -> None:
        if not HAS_TORCH:
            self.skipTest("needs torch")
        if not HAS_EXTENSION or has_linked_sanitizer():
            self.skipTest("needs the extension in C (and Python's headers to build it)")
        torch.manual_seed(0)

    def profile_of(self, model: Any, *arguments: Any, **keywords: Any) -> tuple[int, int, int]:
        from flopledger import get_model_profile

        return get_model_profile(
            model,
            args=arguments,
            kwargs=keywords,
            print_profile=False,
            as_string=False,
            warm_up=0,
        )

    def macs_of(self, work: Any, *arguments: Any, **keywords: Any) -> int:
        class Model(nn.Module):
            def forward(self, *arguments: Any, **keywords: Any) -> Any:
                return work(*arguments, **keywords)

        return self.profile_of(Model(), *arguments, **keywords)[1]
