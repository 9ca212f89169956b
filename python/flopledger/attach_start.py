"""What `flopledger attach` has a running program do first: it is run between two steps of the interpreter, in the main thread.

FOLDER is given: where the attaching side waits. Nothing of this may be seen by the program, whatever happens.
"""

import sys


def load_package(place: str) -> bool:
    """As start/sitecustomize.py does; whether the program has it by itself, and not from us, a moment ago."""
    import importlib.util

    if "flopledger" in sys.modules:
        return not hasattr(sys.modules["flopledger"], "was_brought")
    spec = importlib.util.spec_from_file_location(
        "flopledger", place + "/__init__.py", submodule_search_locations=[place]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    setattr(module, "was_brought", True)
    sys.modules["flopledger"] = module
    spec.loader.exec_module(module)
    return False


def tell(folder: str, state: str, why: str) -> None:
    import json
    import os

    descriptor = os.open(folder + "/state", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)
    os.write(descriptor, json.dumps({"state": state, "why": why}).encode() + b"\n")
    os.close(descriptor)


def note_run(folder: str) -> None:
    """That what was sent is run, once more: then nothing looks for it any longer."""
    import os

    descriptor = os.open(folder + "/ran", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)
    os.write(descriptor, b".")
    os.close(descriptor)


def begin(folder: str) -> None:
    note_run(folder)
    with open(folder + "/package", encoding="utf-8") as file:
        place = file.read()
    try:
        was_there = load_package(place)
        from flopledger.attached import begin_attachment
    except ImportError as error:
        tell(folder, "refused", f"the recorder does not load in it: {error}")
        if "flopledger.version" not in sys.modules:
            sys.modules.pop("flopledger", None)
        return
    begin_attachment(folder, was_there)


def begin_unseen(folder: str) -> None:
    """torch.compile looks at each function that is called within what it has compiled, until it is told not to."""
    dynamo = sys.modules.get("torch._C._dynamo.eval_frame")
    before = dynamo.set_eval_frame(None) if dynamo else None
    try:
        begin(folder)
    except KeyboardInterrupt:  # of the program's own Ctrl-C: it comes once more
        import _thread

        _thread.interrupt_main()
    except BaseException as error:
        try:
            tell(folder, "refused", f"{type(error).__name__}: {error}")
        except BaseException:
            pass
    finally:
        if dynamo:
            dynamo.set_eval_frame(before)


begin_unseen(FOLDER)  # type: ignore[name-defined]  # noqa: F821
