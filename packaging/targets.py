"""What is built: one entry for each kind of machine that has a wheel of its own."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheel"
CACHE = WORK / "cache"


def zig() -> str:
    """The program of PyPI's package ziglang, without Python in front of it: it is started hundreds of times."""
    found = find_spec("ziglang")
    assert found is not None and found.origin is not None, "the package ziglang is not installed"
    return str(Path(found.origin).with_name("zig"))


@dataclass(frozen=True)
class Target:
    name: str
    triple: str  # as zig names it: zig brings the headers and stubs of this libc with it
    platform: str  # as the wheel's file name has it
    machine: str
    qemu: str  # runs its programs on another machine, with the libraries of `sysroot`

    @property
    def folder(self) -> Path:
        return WORK / self.name

    @property
    def sysroot(self) -> str:
        """Where Debian's libc6-*-cross puts the library of C; musl's programs here load none."""
        return f"/usr/{self.machine}-linux-gnu"

    @property
    def is_musl(self) -> bool:
        return self.triple.endswith("musl")

    @property
    def compiler(self) -> list[str]:
        return [zig(), "cc", "-target", self.triple]


TARGETS = {
    target.name: target
    for target in (
        Target(
            "x86_64-gnu",
            "x86_64-linux-gnu.2.28",
            "manylinux_2_28_x86_64",
            "x86_64",
            "qemu-x86_64-static",
        ),
        Target(
            "aarch64-gnu",
            "aarch64-linux-gnu.2.28",
            "manylinux_2_28_aarch64",
            "aarch64",
            "qemu-aarch64-static",
        ),
        Target(
            "x86_64-musl",
            "x86_64-linux-musl",
            "musllinux_1_2_x86_64",
            "x86_64",
            "qemu-x86_64-static",
        ),
        Target(
            "aarch64-musl",
            "aarch64-linux-musl",
            "musllinux_1_2_aarch64",
            "aarch64",
            "qemu-aarch64-static",
        ),
    )
}

MACHINES = ("x86_64", "aarch64")
STATIC = {f"static-{machine}": machine for machine in MACHINES}

if __name__ == "__main__":
    print("\n".join([*TARGETS, *STATIC, "sdist"]))
