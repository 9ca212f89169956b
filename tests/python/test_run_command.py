#!/usr/bin/env python3
"""`flopledger run` as a command, and the parts of the recorder that need no torch: test_run_command.py PROGRAM"""

import enum
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from count_line import run_and_count

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(ROOT / "python"))
sys.dont_write_bytecode = True


class CommandCase(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name).resolve()

    def environment(self, **more: str) -> dict[str, str]:
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("FLOPLEDGER", "PYTHONPATH"))
        }
        return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **more}

    def run_it(self, *words: str, **variables: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [str(PROGRAM), "run", *words],
            cwd=self.folder,
            env=self.environment(**variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


class Command(CommandCase):
    def test_status_of_the_program_is_ours(self) -> None:
        self.assertEqual(self.run_it("--", "sh", "-c", "exit 0").returncode, 0)
        done = self.run_it("--", "sh", "-c", "echo out; echo err >&2; exit 42")
        self.assertEqual((done.returncode, done.stdout), (42, "out\n"))
        self.assertIn("err\n", done.stderr)
        self.assertIn("exit status 42", done.stderr)

    def test_end_by_a_signal(self) -> None:
        self.assertEqual(self.run_it("sh", "-c", "kill -KILL $$").returncode, 137)

    def test_signals_are_passed_on(self) -> None:
        script = "trap 'echo got it; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
        with subprocess.Popen(
            [str(PROGRAM), "run", "--", "sh", "-c", script],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.stdout.readline(), "got it\n")
            self.assertEqual(process.wait(timeout=30), 5)

    def test_words_reach_the_program_as_they_are(self) -> None:
        show = 'for word; do echo "[$word]"; done'
        done = self.run_it(
            "--steps", "10-12", "sh", "-c", show, "x", "--steps", "7", "--", "-m", "a b"
        )
        self.assertEqual(done.stdout, "[--steps]\n[7]\n[--]\n[-m]\n[a b]\n")

    def test_module_and_its_arguments(self) -> None:
        (self.folder / "pkg").mkdir()
        (self.folder / "pkg" / "train.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
        done = self.run_it("-s", "3", "-m", "pkg.train", "--every", "9")
        self.assertEqual(done.stdout, "__main__ ['--every', '9']\n")

    def test_script_without_python_before_it(self) -> None:
        (self.folder / "train.py").write_text("print('trained')\n")
        self.assertEqual(self.run_it("train.py").stdout, "trained\n")

    def test_settings_reach_the_recorder(self) -> None:
        config = self.folder / "run.json"
        config.write_text(
            '{"flopledger": {"every": 50, "steps": "5", "memory": true, "name": "n/m"}}'
        )
        done = self.run_it("--config", "run.json", "--steps", "10-12", "--", "env")
        said = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        self.assertEqual(said["FLOPLEDGER_STEPS"], "10-12")  # the option wins
        self.assertEqual(said["FLOPLEDGER_EVERY"], "50")
        self.assertEqual(said["FLOPLEDGER_RECORD"], "shapes,,memory,markers,captures")
        self.assertTrue(said["PYTHONPATH"].endswith("/flopledger/start"))
        self.assertTrue(
            said["FLOPLEDGER_CAPTURE"].startswith(str(self.folder / "captures" / "n_m"))
        )

    def test_compiled_code_is_asked_for(self) -> None:
        """What inductor must tell is asked for by its own variables, which the user's win over."""
        done = self.run_it("--compiled", "--", "env")
        said = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
        self.assertEqual(said["FLOPLEDGER_RECORD"], "shapes,,,markers,compiled,captures")
        self.assertEqual(said["INDUCTOR_PROVENANCE"], "1")
        self.assertEqual(said["TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE"], "1")
        plain = self.run_it("--", "env").stdout
        self.assertNotIn("INDUCTOR", plain)

    def test_nothing_recorded_says_why(self) -> None:
        """None of these needs torch."""
        (self.folder / "empty.py").write_text("")
        (self.folder / "fails.py").write_text("import no_such_module_of_ours\n")
        for words, message in (
            (["ls"], "'ls' started no Python that reads PYTHONPATH"),
            (["sh", "-c", "exit 3"], "by which the recorder gets in, and it ended with an error"),
            ([sys.executable, "--help"], "ended before it ran a program"),
            ([sys.executable, "-I", "empty.py"], "'-I' keeps Python from PYTHONPATH"),
            ([sys.executable, "-W", "ignore", "-uE", "empty.py"], "'-uE' keeps Python from"),
            ([sys.executable, "empty.py", "-I"], "the program never imported torch\n"),
            ([sys.executable, "fails.py"], "never imported torch, and it ended with an error"),
        ):
            done = self.run_it("--", *words)
            self.assertIn("nothing was recorded: ", done.stderr, words)
            self.assertIn(message, done.stderr)
            self.assertFalse(list(self.folder.glob("captures/*/*")), words)

    def test_config_that_says_no(self) -> None:
        (self.folder / "ds.json").write_text('{"flops_profiler": {"enabled": false}}')
        done = self.run_it("-c", "ds.json", "sh", "-c", "echo ${FLOPLEDGER_CAPTURE-none}")
        self.assertEqual((done.returncode, done.stdout), (0, "none\n"))
        self.assertIn("nothing is recorded", done.stderr)

    def test_nothing_recorded_leaves_nothing(self) -> None:
        done = self.run_it("true")
        self.assertIn("nothing was recorded", done.stderr)
        self.assertEqual(list((self.folder / "captures").iterdir()), [])

    def test_wrong_command_lines(self) -> None:
        for words, message in [
            ([], "no program given"),
            (["--steps", "1", "true"], "is not a step (10) or a range of steps (10-12), from 2 up"),
            (["--stepz", "3", "true"], "did you mean '--steps'"),
            (["--config", "missing.json", "true"], "cannot read 'missing.json'"),
            (["--", "no-such-program-here"], "cannot run 'no-such-program-here'"),
        ]:
            done = self.run_it(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(message, done.stderr)

    def test_folder_that_cannot_be_made(self) -> None:
        (self.folder / "file").write_text("")
        done = self.run_it("--output", "file/captures", "echo", "ran")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("--output names another place", done.stderr)


class StartOfPython(CommandCase):
    def python(self, code: str, **variables: str) -> str:
        start = PROGRAM.parent / "python" / "flopledger" / "start"  # with the extensions built
        path = os.pathsep.join(filter(None, [str(start), variables.pop("PYTHONPATH", "")]))
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=self.environment(PYTHONPATH=path, FLOPLEDGER_CAPTURE=str(self.folder), **variables),
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.stderr, "")
        return done.stdout

    def test_other_sitecustomize_runs(self) -> None:
        (self.folder / "sitecustomize.py").write_text("import builtins\nbuiltins.theirs = 1\n")
        said = self.python(
            "import sitecustomize; print(theirs, sitecustomize.__file__)",
            PYTHONPATH=str(self.folder),
        )
        self.assertEqual(said, f"1 {self.folder / 'sitecustomize.py'}\n")

    def test_nothing_is_imported(self) -> None:
        said = self.python("import sys; print('torch' in sys.modules, 'json' in sys.modules)")
        self.assertEqual(said, "False False\n")

    def test_awaited_module_is_loaded_as_ever(self) -> None:
        """A stand-in for torch: its optimizer module is imported by its own loader, and the hook registered once."""
        package = self.folder / "torch" / "optim"
        package.mkdir(parents=True)
        (package.parent / "__init__.py").write_text("")
        (package / "__init__.py").write_text("from torch.optim import optimizer\n")
        (package / "optimizer.py").write_text(
            "hooks = []\n\n\n"
            "class Handle:\n    def remove(self):\n        hooks.pop()\n\n\n"
            "def register_optimizer_step_post_hook(hook):\n"
            "    hooks.append(hook)\n    return Handle()\n"
        )
        said = self.python(
            "import torch.optim.optimizer as o, sys\n"
            "print(len(o.hooks), type(o.__loader__).__name__, o.__spec__.loader is o.__loader__)\n"
            "print([f for f in sys.meta_path if 'flopledger' in type(f).__module__])",
            PYTHONPATH=str(self.folder),
        )
        self.assertEqual(said, "1 SourceFileLoader True\n[]\n")


class Parts(unittest.TestCase):
    def test_where_steps_end(self) -> None:
        from flopledger.step_finder import StepFinder

        def ends(steps: str) -> str:
            finder = StepFinder()
            seen = ""
            for name in steps:
                seen += "|" if finder.ends_step(ord(name), seen.count("|")) else "."
            return seen

        self.assertEqual(ends("aaaa"), "||||")
        self.assertEqual(ends("abababab"), "|..|.|.|")
        self.assertEqual(ends("aaabaaabaaab"), "|||....|...|")
        self.assertEqual(ends("ab" + "a" * 65 + "aaa"), "|." + "." * 64 + "||||")

    def test_windows(self) -> None:
        from flopledger.settings import read_settings

        once = read_settings({"FLOPLEDGER_CAPTURE": "x"})
        self.assertEqual([once.window_from(step) for step in (2, 4, 5)], [(4, 8), (4, 8), None])
        again = read_settings(
            {
                "FLOPLEDGER_CAPTURE": "x",
                "FLOPLEDGER_STEPS": "10-12",
                "FLOPLEDGER_EVERY": "100",
            }
        )
        self.assertEqual(
            [again.window_from(step) for step in (2, 10, 11, 110, 111)],
            [(10, 12), (10, 12), (110, 112), (110, 112), (210, 212)],
        )

    def test_layout_of_launchers(self) -> None:
        from flopledger.parallel_layout import layout_of_environment

        def told(**environment: str) -> tuple[int, int, int, str]:
            layout = layout_of_environment(environment)
            return layout.rank, layout.world_size, layout.local_rank, layout.source

        self.assertEqual(told(), (0, 1, 0, "one process"))
        self.assertEqual(
            told(RANK="3", WORLD_SIZE="8", LOCAL_RANK="1", SLURM_PROCID="0", SLURM_NTASKS="2"),
            (3, 8, 1, "environment"),
        )
        self.assertEqual(told(SLURM_PROCID="5", SLURM_NTASKS="6"), (5, 6, 0, "environment"))
        self.assertEqual(
            told(
                OMPI_COMM_WORLD_RANK="1", OMPI_COMM_WORLD_SIZE="4", OMPI_COMM_WORLD_LOCAL_RANK="1"
            ),
            (1, 4, 1, "environment"),
        )
        self.assertEqual(told(RANK="x", WORLD_SIZE="8"), (0, 1, 0, "one process"))

    def test_layout_of_megatron(self) -> None:
        """A stand-in for its module: rank 13 of 2 x 4 x 2."""
        state = ModuleType("megatron.core.parallel_state")
        told = {
            "model_parallel_is_initialized": True,
            "get_data_parallel_rank": 2,
            "get_data_parallel_world_size": 4,
            "get_tensor_model_parallel_rank": 1,
            "get_tensor_model_parallel_world_size": 2,
            "get_pipeline_model_parallel_rank": 1,
            "get_pipeline_model_parallel_world_size": 2,
        }
        for name, value in told.items():
            setattr(state, name, lambda value=value: value)
        layout = self.layout_with(state)
        self.assertEqual(layout.folder_name, "rank13_dp2_tp1_pp1")
        self.assertEqual((layout.source, layout.data, layout.tensor), ("Megatron", (2, 4), (1, 2)))
        state.model_parallel_is_initialized = lambda: False  # type: ignore[attr-defined]
        self.assertEqual(self.layout_with(state).folder_name, "rank13_dp13_tp0_pp0")

    def test_layout_of_internevo(self) -> None:
        """A stand-in for its context, in which there is no pipeline."""
        context = ModuleType("internlm.core.context")

        class Mode(enum.Enum):
            GLOBAL, DATA, TENSOR, PIPELINE = "global", "data", "tensor", "pipe"

        class Groups:
            places = {Mode.GLOBAL: (13, 16), Mode.DATA: (6, 8), Mode.TENSOR: (1, 2)}

            def is_initialized(self, mode: Mode) -> bool:
                return mode in self.places

            def get_local_rank(self, mode: Mode) -> int:
                return self.places[mode][0]

            def get_world_size(self, mode: Mode) -> int:
                return self.places[mode][1]

        context.ParallelMode = Mode  # type: ignore[attr-defined]
        context.global_context = Groups()  # type: ignore[attr-defined]
        layout = self.layout_with(context)
        self.assertEqual(layout.folder_name, "rank13_dp6_tp1_pp0")
        self.assertEqual((layout.source, layout.pipeline), ("InternEvo", (0, 1)))

    def layout_with(self, module: ModuleType) -> Any:
        from flopledger.parallel_layout import find_layout

        environment = {"RANK": "13", "WORLD_SIZE": "16"}
        with mock.patch.dict(sys.modules, {module.__name__: module}):
            with mock.patch.dict(os.environ, environment):
                return find_layout([])

    def test_layout_of_a_mesh(self) -> None:
        """Replicas, shards and parts of a sequence count as data parallelism, the first the slowest."""
        from flopledger.parallel_layout import find_layout

        class Mesh:
            mesh_dim_names = ("pp", "dp_replicate", "dp_shard", "tp")
            shape = (2, 2, 3, 4)
            ndim = 4

            def get_coordinate(self) -> list[int]:
                return [1, 1, 2, 3]

        class Part:
            """The dimension that parameters are sharded over."""

            def _get_root_mesh(self) -> Mesh:
                return Mesh()

        layout = find_layout([object(), mock.Mock(device_mesh=Part())])
        self.assertEqual(layout.folder_name, "rank0_dp5_tp3_pp1")
        self.assertEqual((layout.data, layout.source), ((5, 6), "device mesh"))

    def test_secrets_are_hidden(self) -> None:
        from flopledger.side_file import describe_environment, without_secrets

        words = (
            "train.py --hf_token abc --api-key=abc --lr 1 --url https://me:pw@host/x --auth --wide"
        )
        self.assertEqual(
            " ".join(without_secrets(words.split())),
            "train.py --hf_token (hidden) --api-key=(hidden) --lr 1 --url https://(hidden)@host/x --auth --wide",
        )
        kept = describe_environment(
            {"NCCL_DEBUG": "INFO", "TORCH_TOKEN": "abc", "HOME": "/x", "RANK": "1"}
        )
        self.assertEqual(kept, {"NCCL_DEBUG": "INFO", "RANK": "1"})

    def test_folders_of_their_own(self) -> None:
        from flopledger.capture_folder import CaptureFolder

        with tempfile.TemporaryDirectory() as capture:
            folders = [CaptureFolder(capture, "rank0") for _ in range(3)]
            names = [Path(folder.path).name for folder in folders]
            self.assertEqual(names, ["rank0", "rank0_2", "rank0_3"])
            self.assertEqual(Path(folders[1].path).name, "rank0_2")

    def test_files_whole_or_not_at_all(self) -> None:
        from flopledger.capture_folder import CaptureFolder

        with tempfile.TemporaryDirectory() as capture:
            folder = CaptureFolder(capture, "rank0")
            circle: dict = {}
            circle["x"] = circle
            with self.assertRaises(ValueError):
                folder.write_json("capture.json", circle)
            self.assertEqual(os.listdir(folder.path), [])

    def test_versions_agree(self) -> None:
        import flopledger

        said = subprocess.run([str(PROGRAM), "--version"], capture_output=True, text=True)
        self.assertEqual(said.stdout.split()[1], flopledger.__version__)


if __name__ == "__main__":
    run_and_count()
