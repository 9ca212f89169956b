#!/usr/bin/env python3
"""The table of torch.optim's options, which the advice keeps to, is that of PyTorch itself: test_model_optimizers.py PROGRAM"""

import inspect
import re
import sys
import unittest
from pathlib import Path

from count_line import run_and_count

sys.argv[1:2] = []  # the program: what is compared here is its source
ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "src" / "sections" / "advice" / "optimizer_option_list.def"
ROW = re.compile(r"^OPTIMIZER\((\w+), (true|false), (true|false)\)$", re.MULTILINE)

try:
    from torch import optim
except ImportError:
    optim = None  # type: ignore[assignment]


@unittest.skipIf(optim is None, "needs torch")
class Options(unittest.TestCase):
    def test_each_optimizer(self) -> None:
        rows = {
            name: (fused == "true", each == "true")
            for name, fused, each in ROW.findall(TABLE.read_text())
        }
        installed = {}
        for name, kind in inspect.getmembers(optim, inspect.isclass):
            if issubclass(kind, optim.Optimizer) and kind is not optim.Optimizer:
                options = inspect.signature(kind.__init__).parameters
                installed[name] = ("fused" in options, "foreach" in options)
        for name, options in installed.items():
            self.assertEqual(rows.get(name), options, name)


if __name__ == "__main__":
    run_and_count()
