"""What every form of an installed flopledger must do: asked on this machine, or in the root of another system."""

import gzip
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRACE = ROOT / "examples" / "traces" / "train_gpt_cpu.json.gz"
SCRIPT = ROOT / "tests" / "python" / "training" / "loops.py"
EXTENSIONS = "from flopledger import module_marks, flop_counts, step_writer"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
COMMANDS = [
    path.stem.replace("_", "-")
    for path in sorted((ROOT / "src" / "commands").glob("*.c"))
    if f"COMMAND({path.stem})" in (ROOT / "src" / "commands" / "list.def").read_text()
    and path.stem not in ("help", "man", "completion")
]
MODEL = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}
# Mounted for one command alone: they vanish with it.
ENTER = 'mount --bind /proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" "$@"'
# Another machine's: the kernel hands its programs to qemu, in a namespace of users, which has handlers of its own (Linux 6.7).
ENTER_EMULATED = (
    "mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && "
    "printf '%s' \"$HANDLER\" >/proc/sys/fs/binfmt_misc/register && "
    'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
)
ELF_MACHINES = {"x86_64": "3e", "aarch64": "b7"}
CLEAN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}

passed = failed = skipped = 0


def check(what: str, is_right: bool, details: object = "") -> None:
    global passed, failed
    if is_right:
        passed += 1
    else:
        failed += 1
        print(f"FAILED {what}: {details}", flush=True)


def skip(why: str) -> None:
    global skipped
    skipped += 1
    print(f"skipped: {why}", flush=True)


def counts() -> str:
    return f"{passed} passed, {failed} failed, {skipped} skipped"


def handler(machine: str) -> str:
    """What binfmt_misc is told: programs of that machine, 64 bits, are qemu's."""
    head = r"\x7fELF\x02\x01\x01" + r"\x00" * 9 + r"\x02\x00" + rf"\x{ELF_MACHINES[machine]}\x00"
    mask = r"\xff" * 7 + r"\x00" + r"\xff" * 8 + r"\xfe\xff\xff\xff"
    return f":emulated:M::{head}:{mask}:{shutil.which(f'qemu-{machine}-static')}:F"


@dataclass(frozen=True)
class System:
    """Where commands run. Paths are those that it has itself; `folder` is one of them, for what is written."""

    name: str
    folder: Path
    trace: Path = TRACE
    script: Path = SCRIPT
    root: Path | None = None  # of a system of its own, which commands see alone
    machine: str = os.uname().machine

    def call(
        self, *words: str | Path, feed: str = "", **variables: str
    ) -> subprocess.CompletedProcess:
        command = [str(word) for word in words]
        kept = {k: value for k, value in os.environ.items() if not k.startswith("FLOPLEDGER")}
        if self.root:
            is_own = self.machine == os.uname().machine
            given = [f"{name}={value}" for name, value in {**CLEAN, **variables}.items()]
            spaces = ["--mount"] if is_own else ["--mount", "--user", "--map-root-user"]
            enter = ["unshare", *spaces, "sh", "-c", ENTER if is_own else ENTER_EMULATED]
            command = [*enter, str(self.root), "env", "-i", *given, *command]
            kept["HANDLER"] = handler(self.machine)
        return subprocess.run(
            command,
            env={**kept, **variables},
            input=feed,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def static_program(self) -> str:
        return f"flopledger-linux-{MACHINES[self.machine]}"

    def outside(self, path: Path) -> Path:
        """As this machine calls a path of that system."""
        return self.root / path.relative_to("/") if self.root else path


def check_program(
    system: System, program: list[str], name: str = "", **variables: str
) -> bytes | None:
    """What every form of the program must do. The page that it wrote."""
    name = name or system.name
    said = system.call(*program, "report", system.trace, **variables)
    is_right = said.returncode == 0 and "Where a step goes" in said.stdout
    check(f"{name}: report", is_right, said.stderr)
    path = system.folder / "page.html"
    said = system.call(*program, "report", "--html", path, system.trace, **variables)
    file = system.outside(path)
    page = file.read_bytes() if file.exists() else b""
    is_right = said.returncode == 0 and b"</html>" in page[-200:]
    check(f"{name}: --html", is_right, said.stderr)
    file.unlink(missing_ok=True)
    said = system.call(*program, "help", "mfu", **variables)
    check(f"{name}: help mfu", said.returncode == 0 and said.stdout.startswith("# "), said.stderr)
    said = system.call(*program, "--version", "--verbose", **variables)
    right = all(word in said.stdout for word in ("unpacks gzip", "libmicrohttpd  1.", "HTML page"))
    check(f"{name}: --version --verbose", right and "left out" not in said.stdout, said.stdout)
    return page


def check_commands(system: System, program: list[str], name: str = "", **variables: str) -> None:
    """Completion, man page and help of every command, each page of the documentation, and commands that need more than a trace."""
    name = name or system.name

    def call(*words: str | Path, feed: str = "") -> subprocess.CompletedProcess:
        return system.call(*program, *words, feed=feed, **variables)

    shells = {shell: call("completion", shell).stdout for shell in ("bash", "zsh", "fish")}
    for command in COMMANDS:
        lacking = [shell for shell, text in shells.items() if command not in text]
        check(f"{name}: {command} is completed", not lacking, lacking)
        check(f"{name}: man {command}", call("man", command).stdout.startswith(".TH "))
        said = call("help", command).stdout
        check(f"{name}: help {command}", said.startswith(f"flopledger {command}: "), said[:99])
    pages = {path.stem for path in (ROOT / "docs").rglob("*.md")} - {"README"}
    listed = set(call("help", "pages").stdout.split())
    check(f"{name}: has all pages", pages <= listed, sorted(pages - listed))
    model = system.folder / "config.json"
    system.outside(model).write_text(json.dumps(MODEL))
    layout = ["--devices", "8", "--seq", "2048", "--global-batch", "16", "--tp", "1"]
    said = call("plan", "--model", model, "--device", "H100 SXM", *layout)
    check(f"{name}: plan", said.returncode == 0 and "MFU" in said.stdout, said.stderr)
    if len(program) == 1:  # behind qemu it could not start itself again
        question = {"name": "report", "arguments": {"paths": [system.trace.name]}}
        told = call("mcp", "--root", system.trace.parent, feed=asked_of_mcp("tools/call", question))
        answer = json.loads(told.stdout)["result"] if told.returncode == 0 else {"isError": True}
        check(f"{name}: mcp", not answer.get("isError"), told.stdout[-300:] + told.stderr)
    said = call("attach", str(os.getpid()))
    is_told = said.returncode != 0 and "has loaded PyTorch" in said.stderr
    check(f"{name}: attach", is_told or system.root is not None, said.stderr)


def asked_of_mcp(method: str, parameters: dict) -> str:
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
    return json.dumps(asked) + "\n"


def check_recording(
    system: System, program: Path, python: Path | str, name: str = "", **more: str
) -> None:
    name = name or system.name
    output = system.folder / "captures"
    command = [program, "run", "--output", output, "--", python, system.script, "plain"]
    said = system.call(*command, **more)
    traces = list(system.outside(output).glob("*/*/traces/*/*.json.gz"))
    is_right = said.returncode == 0 and "Where a step goes" in said.stdout
    check(f"{name}: run", is_right, said.stderr[-900:])
    if not traces:
        check(f"{name}: a trace", False, said.stderr[-900:])
        return
    check(f"{name}: modules are marked", b'"nn:' in gzip.decompress(traces[0].read_bytes()))
    side = json.loads(traces[0].with_name("capture.json").read_text())
    is_whole = (side["state"], side["module_marks"]) == ("complete", "calls")
    check(f"{name}: by the extension in C", is_whole, (side["state"], side["module_marks"]))
    shutil.rmtree(system.outside(output))
