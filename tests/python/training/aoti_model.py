"""A model packaged by AOTInductor, run under a profiler, with what the package says of its code: aoti_model.py FOLDER"""

import sys
import zipfile
from pathlib import Path

import torch
from torch._inductor import config

FOLDER = Path(sys.argv[1])
RUNS = 3


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(32, 128)
        self.down = torch.nn.Linear(128, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.nn.functional.gelu(self.up(x))
        return x + self.down(hidden)


def main() -> None:
    config.trace.provenance_tracking_level = 1
    config.cpp.enable_kernel_profile = True
    x = torch.randn(64, 32)
    package = FOLDER / "model.pt2"
    with torch.no_grad():
        exported = torch.export.export(Block().eval(), (x,))
        torch._inductor.aoti_compile_and_package(exported, package_path=str(package))
        run = torch._inductor.aoti_load_package(str(package))
        run(x)
        with torch.profiler.profile(record_shapes=True) as profile:
            for _ in range(RUNS):
                run(x)
    profile.export_chrome_trace(str(FOLDER / "trace.json"))
    with zipfile.ZipFile(package) as file:
        (name,) = (each for each in file.namelist() if each.endswith("kernel_information.json"))
        (FOLDER / "kernel_information.json").write_bytes(file.read(name))


if __name__ == "__main__":
    main()
