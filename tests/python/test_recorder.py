#!/usr/bin/env python3
"""`flopledger run` records programs of many kinds, and changes nothing of what they compute: test_recorder.py PROGRAM"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from count_line import run_and_count
from recorded_runs import DEFAULT_STEPS, Run, Runner, find_python, libraries_of

PROGRAM = Path(sys.argv.pop(1)).resolve()
PYTHON = find_python()
LIBRARIES = libraries_of(PYTHON) if PYTHON else {}
LANGUAGE = {"Language", "embedding", "blocks.0", "blocks.0.norm", "blocks.0.layer"}
LANGUAGE |= {"blocks.1", "blocks.1.norm", "blocks.1.layer", "logits"}

runner: Runner
folder: tempfile.TemporaryDirectory


def setUpModule() -> None:
    global runner, folder
    if PYTHON is None:
        raise unittest.SkipTest("needs torch")
    folder = tempfile.TemporaryDirectory()
    runner = Runner(PROGRAM, PYTHON, Path(folder.name))
    for kind in (
        "plain",
        "accumulation",
        "scaler",
        "compiled",
        "own_calls",
        "compiled_optimizer",
        "compiled_update",
        "ddp",
        "fsdp",
    ):
        runner.start_plain(kind)
    silent = "--no-report"
    runner.start_recorded("plain", "--memory", "--stacks")
    for kind in (
        "accumulation scaler two_optimizers workers compiled own_calls compiled_optimizer compiled_update checkpointed ddp fsdp "
        "fsdp1 fsdp1_originals fails interrupted few_steps never_steps profiles_itself profiles_itself_first"
    ).split():
        runner.start_recorded(kind, silent)
    runner.start_recorded(
        "plain", silent, "--steps", "2", "--every", "3", "--modules", "blocks.*", name="every"
    )
    runner.start_recorded("plain", silent, "--steps", "10-12", name="late")
    runner.start_recorded("plain", silent, "--modules", "x.*", name="nowhere_named")
    config = Path(folder.name) / "deepspeed.json"
    config.write_text('{"flops_profiler": {"enabled": true, "profile_step": 3, "top_modules": 2}}')
    runner.start_recorded("plain", "--config", str(config), name="deepspeed")
    runner.start_without_extension("unbuilt")
    runner.start_without_extension("damaged", b"no library")
    runner.start_plain("infers")
    runner.start_recorded("infers", silent, "--step-of", "module", name="by_module")
    runner.start_recorded(
        "infers", silent, "--step-of", "ans*", "--no-markers", "--steps", "3-4", name="by_range"
    )
    runner.start_with_full_disk()
    runner.start_without_folder()
    if LIBRARIES["transformers"] and LIBRARIES["accelerate"]:
        runner.start_plain("trainer")
        runner.start_recorded("trainer", silent)
    if LIBRARIES["lightning"]:
        runner.start_plain("lightning")
        runner.start_recorded("lightning", silent)


def tearDownModule() -> None:
    if PYTHON is not None:
        runner.pool.shutdown(cancel_futures=True)
        folder.cleanup()


class RecorderCase(unittest.TestCase):
    def recorded(self, name: str, status: int = 0) -> Run:
        run = runner.get(name)
        self.assertEqual(run.status, status, run.errors)
        self.assertNotIn("recording stopped", run.errors)
        self.assertEqual(list(run.captures.glob("**/*.part")), [])
        return run

    def assert_same_losses(self, kind: str) -> None:
        losses = [
            sorted(re.findall(r"-?\d+\.\d+(?:e-?\d+)?|^\d+ .*$", run.output, re.MULTILINE))
            for run in (runner.get(f"plain {kind}"), runner.get(kind))
        ]
        self.assertGreaterEqual(len(losses[0]), 9)
        self.assertEqual(losses[0], losses[1][: len(losses[0])] if kind != "plain" else losses[1])

    def assert_marks(self, run: Run, counts: dict[str, int], trace: int = 0) -> None:
        self.assertEqual(run.counts_of_modules(trace), counts)


class PlainLoops(RecorderCase):
    def test_steps_modules_and_report(self) -> None:
        run = self.recorded("plain")
        self.assertEqual(run.steps(), DEFAULT_STEPS)
        self.assert_marks(run, {name: len(DEFAULT_STEPS) for name in LANGUAGE})
        self.assertIn("Where a step goes", run.output)
        self.assertIn("recorded in", run.errors)

    def test_same_losses_to_the_bit(self) -> None:
        plain, recorded = runner.get("plain plain"), runner.get("plain")
        self.assertEqual(recorded.output[: len(plain.output)], plain.output)
        self.assertEqual(len(plain.output.splitlines()), 10)

    def test_layout_of_the_capture(self) -> None:
        run = self.recorded("plain")
        path = run.traces[0].relative_to(run.captures).as_posix()
        self.assertRegex(
            path,
            r"^loops/\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d/traces/rank0_dp0_tp0_pp0/steps4-8\.pt\.trace\.json\.gz$",
        )

    def test_side_file(self) -> None:
        side = self.recorded("plain").side_files[0]
        model = side["models"][0]
        self.assertEqual(
            (model["class"], model["parameters"]), ("Language", 50 * 16 + 2 * (32 + 272))
        )
        modules = {module["name"]: module for module in model["modules"]}
        self.assertEqual(set(modules), LANGUAGE - {"Language"} | {"", "blocks"})
        self.assertEqual(
            modules["blocks.0.layer"]["extra_repr"], "in_features=16, out_features=16, bias=True"
        )
        self.assertEqual(modules["blocks.0.layer"]["parameters"][0]["shape"], [16, 16])
        self.assertEqual(modules["logits"]["parameters"][0]["shared_with"], "embedding.weight")
        self.assertEqual(side["optimizers"][0]["class"], "AdamW")
        tensors = 9  # of parameters; two moments and a counter each
        self.assertEqual(side["optimizers"][0]["state_bytes"], 2 * 4 * 1408 + 4 * tensors)
        self.assertEqual(
            side["inputs"],
            [{"name": "0", "shape": [4, 8], "dtype": "int64", "device": "cpu"}],
        )
        self.assertEqual(side["steps"]["count"], 9)
        self.assertEqual(len(side["steps"]["durations_ns"]), 8)
        self.assertEqual(side["recorded"][0]["steps"][0]["tokens"], 32)

    def test_memory_and_stacks(self) -> None:
        run = self.recorded("plain")
        self.assertIn('"[memory]"', run.texts()[0])
        self.assertIn("loops.py", run.texts()[0])

    def test_windows_again_and_modules_chosen(self) -> None:
        run = self.recorded("every")
        self.assertEqual(
            [trace.name for trace in run.traces],
            [f"step{n}.pt.trace.json.gz" for n in (2, 5, 8)],
        )
        self.assertEqual([run.steps(i) for i in range(3)], [[2], [5], [8]])
        chosen = {name: 1 for name in LANGUAGE if name.startswith("blocks.")}
        for i in range(3):
            self.assert_marks(run, chosen, i)

    def test_settings_of_deepspeed(self) -> None:
        """Its step 3 is the fourth, and its report follows ours."""
        run = self.recorded("deepspeed")
        self.assertEqual(run.steps(), [4])
        self.assertIn("Where a step goes", run.output)
        self.assertIn("Profile Summary at step 4:", run.output)
        self.assertRegex(run.output, r"fwd MACs per GPU: +41\.98 KMACs")  # 32 tokens

    def test_without_the_extension(self) -> None:
        """One line says what to do, and the program goes on."""
        for name, advice in (
            ("unbuilt", "install the package python3-dev"),
            ("damaged", "does not load in Python 3"),
        ):
            run = self.recorded(name)
            self.assertEqual(run.output, runner.get("plain plain").output)
            lines = run.errors.splitlines()
            self.assertEqual(sum("flopledger: cannot record: " in line for line in lines), 1, lines)
            self.assertIn(advice, run.errors)
            self.assertIn("nothing was recorded: the recorder's C extension", lines[-1])
            self.assertFalse(any(run.captures.iterdir()))

    def test_marks_of_an_older_torch(self) -> None:
        """Which has a type for ranges, and no functions: here they are not looked for."""
        done = subprocess.run(
            [sys.executable, "-c", MARKS_BY_TYPE, str(PROGRAM.parent / "python")],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(
            done.stdout.split(), ["seen", "+nn:a", "+nn:b", "-nn:b", "-nn:a", "None", "None"]
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_data_loader_with_workers(self) -> None:
        run = self.recorded("workers")
        self.assertEqual(run.steps(), DEFAULT_STEPS)
        waits = [name for name in run.names() if name.startswith("enumerate(DataLoader)")]
        self.assertEqual(len(waits), 5)
        self.assertEqual(len(run.side_files), 1)

    def test_gradient_accumulation(self) -> None:
        run = self.recorded("accumulation")
        self.assert_same_losses("accumulation")
        self.assertEqual(run.steps(), DEFAULT_STEPS)
        for step in run.side_files[0]["recorded"][0]["steps"]:
            self.assertEqual((step["micro_batches"], step["samples"], step["tokens"]), (3, 12, 96))

    def test_steps_that_the_scaler_leaves_out(self) -> None:
        run = self.recorded("scaler")
        self.assert_same_losses("scaler")
        self.assertEqual(run.side_files[0]["steps"]["count"], 9)
        self.assertEqual(run.steps(), DEFAULT_STEPS)
        self.assertEqual(run.names().count("Optimizer.step#SGD.step"), 4)  # 4 and 6 to 8, not 5
        self.assertEqual(run.side_files[0]["precision"]["autocast"], "bfloat16")

    def test_two_optimizers(self) -> None:
        run = self.recorded("two_optimizers")
        self.assertEqual(run.steps(), DEFAULT_STEPS)
        counts = run.counts_of_modules()
        self.assertEqual((counts["Language"], counts["Critic"], counts["Critic.0"]), (15, 15, 15))
        self.assertEqual(run.names().count("Optimizer.step#SGD.step"), 15)

    def test_recomputed_modules_are_marked_again(self) -> None:
        run = self.recorded("checkpointed")
        counts = run.counts_of_modules()
        self.assertEqual((counts["Saving"], counts["blocks.0.layer"]), (5, 10))
        self.assertEqual(run.side_files[0]["recorded"][0]["steps"][0]["micro_batches"], 1)


MARKS_BY_TYPE = """
import sys; sys.path.insert(0, sys.argv[1])
from flopledger import module_marks

class Range:
    def __init__(self, name):
        self.name = name
    def __enter__(self):
        print("+" + self.name)
    def __exit__(self, *exception):
        print("-" + self.name)

class Breaks(Range):
    def __enter__(self):
        raise ValueError

module_marks.bind_type(Range)
a, b, unmarked = object(), object(), object()
module_marks.mark([(a, "nn:a"), (b, "nn:b")], lambda *call: print("seen"))
outer = module_marks.enter(a, (), {})
inner = module_marks.enter(b, (), {})
module_marks.leave(inner)
module_marks.leave(outer)
print(module_marks.enter(unmarked, (), {}))
module_marks.mark([(a, "nn:a")], None)
module_marks.bind_type(Breaks)
print(module_marks.enter(a, (), {}))
"""

OTHER_TORCH = """
import functools, sys; sys.path.insert(0, sys.argv[1])
import torch
from torch import nn
from flopledger.module_markers import ModuleMarkers
def other(self, *args, **kwargs):
    return self._call_impl(*args, **kwargs)
nn.Module.__call__ = functools.partialmethod(other)  # no function
model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
markers = ModuleMarkers()
modules = [(model, "nn:Model"), (model[0], "nn:0")]
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
    print(markers.on(modules, None), markers.means)
    model(torch.ones(1, 2))
    try:
        model(torch.ones(1, 3))
    except RuntimeError:
        pass
    model(torch.ones(1, 2))
    markers.off()
    model(torch.ones(1, 2))
print(sorted((e.key, e.count) for e in profiler.key_averages() if e.key.startswith("nn:")))
modules = [(torch.compile(model), "nn:Model")]
print(markers.on(modules, None), "torch.compile" in markers.reason)
"""


class Markers(RecorderCase):
    def test_hooks_where_torch_is_not_as_expected(self) -> None:
        """Not where torch.compile may be in use: hooks would keep it from compiling."""
        package = str(PROGRAM.parent / "python")
        done = subprocess.run(
            [str(PYTHON), "-c", OTHER_TORCH, package], capture_output=True, text=True, check=False
        )
        self.assertEqual(
            done.stdout, "True hooks\n[('nn:0', 3), ('nn:Model', 3)]\nFalse True\n", done.stderr
        )


class Compiled(RecorderCase):
    def test_same_graphs_and_breaks(self) -> None:
        """The program prints, after each step, how many graphs, operators and graph breaks there were."""
        run = self.recorded("compiled")
        self.assertEqual(run.output, runner.get("plain compiled").output)
        graphs, operators, breaks = run.output.split()[-3:]
        self.assertGreater(int(graphs), 2)
        self.assertGreater(int(breaks), 0)
        self.assertEqual(run.counts_of_modules(), {"Language": 5, "Broken": 5})

    def test_blocks_that_call_the_call_of_all_modules(self) -> None:
        """torch.compile reads the code of that call, and asks whether it is still the same."""
        run = self.recorded("own_calls")
        self.assertEqual(run.output, runner.get("plain own_calls").output)
        self.assertEqual(run.output.split()[-2], "2")
        self.assertEqual(run.side_files[0]["module_marks"], "calls")
        counts = {name: len(DEFAULT_STEPS) for name in [*LANGUAGE, "Language#2"]}
        self.assertEqual(run.counts_of_modules(), counts)

    def test_steps_of_a_compiled_optimizer(self) -> None:
        """Are found all the same, and compiled as without us."""
        for kind in ("compiled_optimizer", "compiled_update"):
            run = self.recorded(kind)
            self.assertEqual(run.output, runner.get(f"plain {kind}").output)
            self.assertEqual(run.steps(), DEFAULT_STEPS)
            self.assertEqual(run.side_files[0]["steps"]["count"], 9)
            self.assertEqual(run.side_files[0]["optimizers"][0]["class"], "AdamW")


class SeveralRanks(RecorderCase):
    def check(self, kind: str) -> Run:
        run = self.recorded(kind)
        folders = [trace.parent.name for trace in run.traces]
        self.assertEqual(folders, ["rank0_dp0_tp0_pp0", "rank1_dp1_tp0_pp0"])
        for rank in range(2):
            self.assertEqual(run.steps(rank), DEFAULT_STEPS)
            self.assert_marks(run, {name: len(DEFAULT_STEPS) for name in LANGUAGE}, rank)
            parallel = run.side_files[rank]["parallel"]
            self.assertEqual((parallel["rank"], parallel["world_size"]), (rank, 2))
            self.assertIn("gloo", parallel["backend"])
        return run

    def test_ddp(self) -> None:
        run = self.check("ddp")
        self.assertEqual(run.side_files[0]["models"][0]["wrappers"], ["DistributedDataParallel"])
        printed = [
            "".join(sorted(each.output)) for each in (runner.get("plain ddp"), run)
        ]  # two ranks write at once
        self.assertEqual(printed[0], printed[1])

    def test_fsdp2(self) -> None:
        if runner.get("plain fsdp").status != 0:
            self.skipTest("needs a torch whose FSDP2 runs on a CPU")
        run = self.check("fsdp")
        self.assertEqual(run.side_files[0]["parallel"]["mesh"], {"dp": 2})
        model = run.side_files[0]["models"][0]
        weight = model["modules"][1]["parameters"][0]
        self.assertEqual((model["class"], weight["shape"]), ("Language", [50, 16]))
        self.assertEqual(weight["local_shape"], [25, 16])

    def test_fsdp1(self) -> None:
        """However it holds them, the parameters are the model's, on each rank."""
        whole = self.recorded("plain").side_files[0]["models"][0]
        expected = {
            (module["name"], entry["name"]): entry["shape"]
            for module in whole["modules"]
            for entry in module["parameters"]
        }
        for kind in ("fsdp1", "fsdp1_originals"):
            run = self.recorded(kind)
            for side_file in run.side_files:
                model = side_file["models"][0]
                self.assertEqual(model["parameters"], whole["parameters"], kind)
                self.assertEqual(model["trainable_parameters"], whole["trainable_parameters"])
                shapes = {
                    (module["name"], entry["name"]): entry["shape"]
                    for module in model["modules"]
                    for entry in module["parameters"]
                }
                self.assertEqual(shapes, expected, kind)


class Frameworks(RecorderCase):
    def test_trainer(self) -> None:
        if not (LIBRARIES["transformers"] and LIBRARIES["accelerate"]):
            self.skipTest("needs transformers and accelerate")
        run = self.recorded("trainer")
        losses = [
            re.findall(r"^(?:\d\.\d+|None)$", each.output, re.MULTILINE)
            for each in (run, runner.get("plain trainer"))
        ]
        self.assertEqual(losses[0], losses[1])
        self.assertEqual(run.steps(), DEFAULT_STEPS)
        counts = run.counts_of_modules()
        self.assertEqual(counts["LlamaForCausalLM"], 10)  # two micro-batches a step
        self.assertEqual(counts["model.layers.1.self_attn.q_proj"], 10)
        self.assertEqual(run.side_files[0]["recorded"][0]["steps"][0]["tokens"], 64)

    def test_lightning(self) -> None:
        if not LIBRARIES["lightning"]:
            self.skipTest("needs lightning")
        run = self.recorded("lightning")
        self.assertEqual(run.output, runner.get("plain lightning").output)
        self.assertEqual(run.steps(), DEFAULT_STEPS)
        self.assertEqual(run.counts_of_modules()["model.blocks.1.layer"], 5)


class Trouble(RecorderCase):
    def test_a_script_that_fails(self) -> None:
        run = self.recorded("fails", status=1)
        self.assertIn("the script's own error", run.errors)
        self.assertEqual(run.steps(), [4, 5])
        self.assertIn("unfinished step 6", run.names())

    def test_ctrl_c(self) -> None:
        run = self.recorded("interrupted", status=130)
        self.assertIn("KeyboardInterrupt", run.errors)
        self.assertEqual(run.steps(), [4, 5])

    def test_too_few_steps(self) -> None:
        run = self.recorded("few_steps")
        self.assertIn("ended after 2 steps, before the end of step 4", run.errors)
        self.assertEqual(run.traces, [])
        self.assertEqual(run.side_files[0]["state"], "not recorded")

    def test_one_step_too_few(self) -> None:
        """The window had begun, but none of its steps ended."""
        run = self.recorded("late")
        self.assertIn("ended after 9 steps, before the end of step 10", run.errors)
        self.assertIn("try --steps 2-9", run.errors)
        self.assertEqual(run.traces, [])

    def test_no_module_of_that_name(self) -> None:
        run = self.recorded("nowhere_named")
        self.assertIn("no module has a name like x.*: they are Language, embedding, ", run.errors)
        self.assertEqual((run.steps(), run.counts_of_modules()), (DEFAULT_STEPS, {}))

    def test_a_script_that_never_steps(self) -> None:
        run = self.recorded("never_steps")
        self.assertIn("no step of an optimizer of torch.optim was seen", run.errors)
        self.assertIn("--step-of module", run.errors)
        self.assertFalse(any(run.captures.iterdir()))

    def test_inference_by_calls_of_the_outermost_module(self) -> None:
        """A step ends with the second of the two; what runs compiled is compiled as without us."""
        run = self.recorded("by_module")
        plain = runner.get("plain infers").output.splitlines()
        self.assertEqual(run.output.splitlines()[:-1], plain[:-1])
        self.assertEqual(run.output.split()[-3:-1], plain[-1].split()[:2])
        self.assertEqual(run.steps(), DEFAULT_STEPS)
        counts = run.counts_of_modules()
        self.assertEqual((counts["Language"], counts["blocks.1.layer"]), (5, 5))
        self.assertEqual(run.side_files[0]["steps"]["of"], "module")
        step = run.side_files[0]["recorded"][0]["steps"][0]
        self.assertEqual((step["micro_batches"], step["samples"], step["tokens"]), (1, 4, 32))

    def test_inference_by_a_range(self) -> None:
        run = self.recorded("by_range")
        self.assertEqual(run.output, runner.get("plain infers").output)
        self.assertEqual(run.steps(), [3, 4])
        self.assertEqual(run.names().count("answer"), 2)

    def test_full_disk(self) -> None:
        run = runner.get("full")
        self.assertEqual((run.status, run.output), (0, runner.get("plain plain").output))
        self.assertIn("recording stopped: cannot write the trace", run.errors)
        self.assertEqual([f.name for f in run.captures.glob("**/*") if f.is_file()], [])

    def test_folder_that_cannot_be_made(self) -> None:
        run = runner.get("nowhere")
        self.assertEqual((run.status, run.output), (0, runner.get("plain plain").output))
        self.assertEqual(run.errors.count("recording stopped: "), 1)
        self.assertIn("Not a directory", run.errors)

    def test_own_profiler_wins(self) -> None:
        run = self.recorded("profiles_itself")
        self.assertIn("starts a profiler of its own in step 5", run.errors)
        self.assertEqual(run.steps(), [4])
        self.assertEqual(run.output.splitlines()[-1], "True False")  # theirs is as it should be

    def test_own_profiler_that_was_first(self) -> None:
        run = self.recorded("profiles_itself_first")
        self.assertIn("recording waits until it ends", run.errors)
        self.assertEqual(run.steps(), [7, 8, 9, 10, 11])
        self.assertEqual(run.output.splitlines()[-1], "True False")


if __name__ == "__main__":
    run_and_count()
