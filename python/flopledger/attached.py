"""The recorder in a program that ran already: `flopledger attach` begins it, and it takes itself away again.

Both sides talk by files in a folder: `settings.json` and `lock` (held by the attaching side as long as it lives) come from there,
`begin` and `stop` too; `state` is written here, a line of JSON for each thing that happened. `room` says where memory was made for
what was sent, and how often that was sent; `ran` has a byte for each time that it was run.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import linecache
import os
import stat
import sys
from typing import Any

from flopledger import messages
from flopledger.at_exit import at_exit
from flopledger.messages import guarded

FOLDER_NAME = "flopledger-attach-"
FIRST_STEP = 2  # the first one that ends began before we came, and readies the profiler
OPTIMIZER = "torch.optim.optimizer"
OPTIMIZER_FILE = os.path.join("torch", "optim", "optimizer.py")


class Attachment:
    """One in a process."""

    current: Attachment | None = None

    def __init__(self, folder: str, was_there: bool) -> None:
        """`was_there`: the program has imported flopledger itself."""
        self.folder = folder
        self.was_there = was_there
        with open(os.path.join(folder, "settings.json"), encoding="utf-8") as file:
            self.asked: dict[str, Any] = json.load(file)
        self.recorder: Any = None
        self.is_over = False
        self.pid = os.getpid()

    def tell(self, state: str, **more: Any) -> None:
        """Nobody need be there to hear it."""
        line = json.dumps({"state": state, **more}).encode() + b"\n"
        try:
            path = os.path.join(self.folder, "state")
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError:
            pass

    def is_left(self) -> bool:
        return is_left(self.folder)

    # ------------------------------------------------------------------------------------------------------------------
    # Beginning

    def why_not(self) -> str:
        """Empty where it can be recorded."""
        from flopledger.native import ExtensionMissing, load

        if OPTIMIZER not in sys.modules:
            return "it has not imported torch.optim: there is no training yet"
        data = sys.modules.get("torch.utils.data")
        if data is not None and data.get_worker_info() is not None:
            return "it is a data loader's worker"
        try:
            load("step_writer")
            load("module_marks")
        except ExtensionMissing as error:
            return str(error)
        from flopledger.recorder import Recorder

        if Recorder.current is not None and not Recorder.current.is_off:
            return "it is recorded already, by 'flopledger run' or fl.profile(): 'flopledger trace' asks that for a window"
        if not hasattr(sys.modules[OPTIMIZER], "register_optimizer_step_post_hook"):
            return "its torch is older than 2.0"
        profiler = sys.modules.get("torch.autograd.profiler")
        if getattr(profiler, "_is_profiler_enabled", False):
            return "it runs a profiler of its own, and there can be only one"
        return ""

    def begin(self) -> None:
        why = self.why_not()
        if why:
            self.tell("refused", why=why)
            self.forget_modules()
            return
        Attachment.current = self
        messages.listener = lambda message: self.tell("said", text=message)
        self.at_end = at_exit(self.end_with_program)
        self.start_recorder()
        self.tell("attached", pid=self.pid)

    def begins(self, now: int, collectives: int) -> bool:
        """Whether all ranks begin behind this step: told by how many collectives they have called, or else by the clock."""
        try:
            with open(os.path.join(self.folder, "begin"), encoding="ascii") as file:
                what, number = file.read().split()
        except (OSError, ValueError):
            return False
        return (collectives if what == "collectives" else now) >= int(number)

    def start_recorder(self) -> None:
        from flopledger.attached_recorder import AttachedRecorder
        from flopledger.settings import Settings

        asked = self.asked
        first = 0 if asked["watch"] or asked["on"] else FIRST_STEP  # 0: a rule says when
        settings = Settings(
            capture=asked["capture"],
            first_step=first,
            last_step=first + int(asked["steps"]) - 1,
            on=asked["on"],
            on_windows=int(asked["on_windows"]),
            on_bytes=int(asked["on_bytes"]),
            shapes=bool(asked["shapes"]),
            stacks=bool(asked["stacks"]),
            memory=bool(asked["memory"]),
            markers=bool(asked["markers"]),
            step_of=asked["step_of"],
            modules=tuple(filter(None, asked["modules"].split(","))),
        )
        self.recorder = AttachedRecorder(settings, sys.modules[OPTIMIZER])
        self.recorder.begin(self)

    # ------------------------------------------------------------------------------------------------------------------
    # End

    def leave(self, keeps_modules: bool = False) -> None:
        """Takes away all that was brought, but for the modules where they are needed once more."""
        if self.is_over:
            return
        self.is_over = True
        recorded = 0
        if self.recorder is not None:
            guarded(self.recorder.take_away)()
            recorded = self.recorder.recorded
        atexit.unregister(self.at_end)
        messages.listener = None
        messages.said.clear()
        Attachment.current = None
        is_left = self.is_left()
        if not keeps_modules:
            self.forget_modules()
        self.tell("gone", recorded=recorded)
        if is_left:
            clear_folder(self.folder)

    def end_with_program(self) -> None:
        guarded(self.leave)()

    def forget_modules(self) -> None:
        if self.was_there:
            return
        for name in [n for n in sys.modules if n == "flopledger" or n.startswith("flopledger.")]:
            del sys.modules[name]


# ----------------------------------------------------------------------------------------------------------------------
# What an attaching side leaves that was killed, or gave up: else it takes its things away itself


def is_left(folder: str) -> bool:
    """The attaching side has ended: its lock is free, or its folder gone."""
    try:
        descriptor = os.open(os.path.join(folder, "lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def read_words(folder: str, name: str) -> list[str]:
    try:
        with open(os.path.join(folder, name), encoding="ascii") as file:
            return file.read().split()
    except (OSError, ValueError):
        return []


def is_room(address: int, size: int) -> bool:
    """Memory of just this size is there, and no file in it: it was told before it was made."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        lines = [line.split() for line in file]
    return any(words[0] == f"{address:x}-{address + size:x}" and len(words) == 5 for words in lines)


def free_room(folder: str, all_has_run: bool) -> bool:
    """False: what was sent is still to be run, and looks there."""
    words = read_words(folder, "room")
    libraries = sys.modules.get("ctypes")  # torch has it
    if len(words) != 3 or libraries is None:
        return True
    address, size, sent = (int(word) for word in words)
    if not all_has_run and sum(map(len, read_words(folder, "ran"))) < sent:
        return False
    if is_room(address, size):
        libraries.CDLL(None).munmap(libraries.c_void_p(address), libraries.c_size_t(size))
    return True


def remove_folder(folder: str) -> None:
    """But for what was recorded, where the attaching side would have brought that to its own files."""
    for place, folders, names in os.walk(folder, topdown=True):
        if place == folder and "capture" in folders:
            folders.remove("capture")
        for name in names:
            os.remove(os.path.join(place, name))
    for place, _, _ in os.walk(folder, topdown=False):
        if not os.listdir(place):
            os.rmdir(place)


def clear_folder(folder: str, all_has_run: bool = False) -> None:
    try:
        if free_room(folder, all_has_run):
            remove_folder(folder)
    except (OSError, ValueError):
        pass  # the next attachment tries again


def is_own_folder(path: str) -> bool:
    try:
        about = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()


def clear_others(folder: str) -> None:
    """Of attachments to this process that were killed before: what they sent has been run before this, or never will be."""
    place = os.path.dirname(folder)
    process = read_words(folder, "process")
    for name in os.listdir(place):
        path = os.path.join(place, name)
        if name.startswith(FOLDER_NAME) and path != folder and is_own_folder(path):
            if read_words(path, "process") == process and is_left(path):
                clear_folder(path, all_has_run=True)


def is_being_imported() -> bool:
    spec = getattr(sys.modules.get("torch"), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def is_among_hooks() -> bool:
    """A thread goes through the hooks of optimizers at this moment: none may be added or removed now."""
    for frame in sys._current_frames().values():
        at: Any = frame
        while at is not None:
            code = at.f_code
            if code.co_name == "wrapper" and code.co_filename.endswith(OPTIMIZER_FILE):
                line = linecache.getline(code.co_filename, at.f_lineno or 0)
                if "func(" not in line:  # else it is within the step itself, which calls a closure
                    return True
            at = at.f_back
    return False


def begin_attachment(folder: str, was_there: bool) -> None:
    attachment = Attachment(folder, was_there)
    running = Attachment.current
    if attachment.is_left() and (running is None or running.folder != folder):
        clear_folder(folder)  # it has given up before this was run, or was killed
        if running is None:
            attachment.forget_modules()
        return
    if is_being_imported() or is_among_hooks():
        attachment.tell("later")
        if running is None:
            attachment.forget_modules()
        return
    if running is not None and running.folder == folder and running.is_left():
        running.leave()
        return
    if running is not None and os.path.exists(os.path.join(folder, "stop")):
        running.leave()
        return
    if running is not None and running.is_left():  # it was killed, and no step has ended since
        running.leave(keeps_modules=True)
        running = None
    if running is not None:
        attachment.tell("refused", why="another 'flopledger attach' records it now")
        return
    clear_others(folder)
    guarded(attachment.begin, attachment.leave)()
