"""Python runs this at its start in every program under `flopledger run`: it waits for PyTorch, and does nothing else."""

import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def wait_for_pytorch() -> None:
    """Loads the recorder's first, small file from beside this folder; sys.path stays as it is."""
    package = os.path.dirname(HERE)
    if "flopledger" not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            "flopledger",
            os.path.join(package, "__init__.py"),
            submodule_search_locations=[package],
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["flopledger"] = module
        spec.loader.exec_module(module)
    from flopledger.at_import import wait_for_optimizer
    from flopledger.seen import PYTHON, note_seen

    note_seen(PYTHON)

    wait_for_optimizer()


def run_the_other_sitecustomize() -> None:
    """This file hides a sitecustomize.py of the machine or of the user, which must run all the same."""
    others = [path for path in sys.path if os.path.abspath(path or os.curdir) != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("FLOPLEDGER_CAPTURE") and sys.version_info < (3, 10):
    version = "%d.%d" % sys.version_info[:2]
    print(
        f"flopledger: cannot record: {sys.executable} is Python {version}, and the recorder needs 3.10 or later",
        file=sys.stderr,
    )
elif os.environ.get("FLOPLEDGER_CAPTURE"):
    try:
        wait_for_pytorch()
    except Exception as error:  # ours must never stop the user's program
        print(f"flopledger: cannot record: {error!r}", file=sys.stderr)

run_the_other_sitecustomize()
