#!/usr/bin/env python3
"""The text of `--format deepspeed` and of print_model_profile is DeepSpeed's, line by line: test_deepspeed_text.py PROGRAM

DeepSpeed prints of models where it counts right; ours of the same models, by Python and from what `flopledger run` recorded.
What is measured is not compared, only that it stands there. What differs on purpose is named at each test.
"""

import contextlib
import difflib
import importlib.util
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from profile_case import HAS_TORCH, HAS_TRANSFORMERS, PROGRAM, ProfileCase
from recorded_runs import environment_of, free_port

from count_line import run_and_count

TRAINING = Path(__file__).resolve().parent / "training"
HAS_DEEPSPEED = importlib.util.find_spec("deepspeed") is not None
MLP, LLAMA = "mlp_64_128_10_b32", "llama_12l_h256_b2_s128"
TITLE = "\n-------------------------- DeepSpeed Flops Profiler --------------------------\n"
END = "\n" + "-" * 78 + "\n"

if HAS_TORCH:
    sys.path.insert(0, str(TRAINING))
    from golden_models import MODELS


def profile_in(output: str) -> str:
    """From its title to the line that closes it."""
    begin = output.index(TITLE)
    return output[begin : output.index(END, begin) + len(END)]


def without_deepest(text: str) -> str:
    """The aggregated profile without its last level, which DeepSpeed never prints."""
    levels = re.findall(r"^depth \d+:\n(?:    .*\n)*", text, re.MULTILINE)
    return text.replace(levels[-1], "")


def comparable(text: str, flops_too: bool) -> list[str]:
    """Its lines, with (measured) for times and rates. DeepSpeed's own factors of the forward stand for what we measured."""
    text = re.sub(r"[\d.]+ (?:[munKMGT]?s\b|[KMGTmu]?FLOPS)", "(measured)", text)
    text = re.sub(r"[\d.]+% latency", "(measured)", text)
    text = re.sub(r"(samples/second: +)[\d.]+", r"\1(measured)", text)
    text = re.sub(r"at step \d+", "at step (some)", text)
    text = text.replace("2 * fwd flops", "bwd flops").replace("3 * fwd flops", "fwd+bwd flops")
    # which class takes longest at a depth is measured, too
    text = re.sub(r"(fwd latency - )\{.*", r"\1(measured)", text)
    if not flops_too:  # of pointwise work it counts other ops in another way
        text = re.sub(r"(fwd flops .*: +)\d.*", r"\1(counted)", text)
    return [re.sub(r" +", " ", line).rstrip() for line in text.splitlines()]


class Texts(ProfileCase):
    def setUp(self) -> None:
        super().setUp()
        if not HAS_DEEPSPEED:
            self.skipTest("needs deepspeed")
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)

    def run_script(self, *words: object) -> str:
        done = subprocess.run(
            [str(word) for word in words],
            env=environment_of(PROGRAM, TMPDIR=str(self.scratch), DS_TEST_PORT=free_port()),
            cwd=self.scratch,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return done.stdout

    def theirs(self, name: str, *how: str) -> str:
        script = TRAINING / "deepspeed_profile.py"
        return profile_in(self.run_script(sys.executable, script, name, *how))

    def ours(self, name: str) -> str:
        """From a trace."""
        script = [sys.executable, TRAINING / "golden_step.py", name]
        output = self.scratch / "captures"
        settings = ["--no-report", "--steps", "2", "--output", output]
        self.run_script(PROGRAM, "run", *settings, "--", *script)
        (capture,) = (output / "golden_step").iterdir()
        return self.run_script(PROGRAM, "flops", "--format", "deepspeed", "--top", "3", capture)

    def ours_by_python(self, name: str) -> str:
        from flopledger import get_model_profile

        case, printed = MODELS[name](), io.StringIO()
        with contextlib.redirect_stdout(printed):
            get_model_profile(case.model, args=case.arguments, kwargs=case.keywords, top_modules=3)
        return printed.getvalue()

    def check_same(self, ours: str, theirs: str, flops_too: bool) -> None:
        lines = [comparable(text, flops_too) for text in (theirs, ours)]
        problems = list(difflib.unified_diff(*lines, "theirs", "ours", lineterm="", n=0))
        self.assertEqual(problems, [], "\n".join(problems[:20]))

    def test_training_step(self) -> None:
        """With its engine: the summary has all lines. Ours has the backward that was measured, not twice the forward."""
        theirs, ours = self.theirs(MLP, "engine"), without_deepest(self.ours(MLP))
        self.assertGreater(len(theirs.splitlines()), 50)
        self.check_same(ours, theirs, True)

    def test_python(self) -> None:
        """Without an engine DeepSpeed says that the model has 0 parameters."""
        theirs, ours = self.theirs(MLP), without_deepest(self.ours_by_python(MLP))
        theirs = re.sub(r"(params of model = .*: +)0 +\n", r"\g<1>9.61 K\n", theirs)
        self.check_same(ours, theirs, True)

    def test_python_of_a_language_model(self) -> None:
        if not HAS_TRANSFORMERS:
            self.skipTest("needs transformers")
        theirs, ours = self.theirs(LLAMA), without_deepest(self.ours_by_python(LLAMA))
        theirs = re.sub(r"(params of model = .*: +)0 +\n", r"\g<1>8.83 M\n", theirs)
        self.assertGreater(len(theirs.splitlines()), 200)
        self.check_same(ours, theirs, False)

    def test_trace_of_a_language_model(self) -> None:
        """Without an engine DeepSpeed has neither the first four lines of the summary nor those of the backward."""
        if not HAS_TRANSFORMERS:
            self.skipTest("needs transformers")
        theirs, ours = self.theirs(LLAMA), without_deepest(self.ours(LLAMA))
        theirs = re.sub(r"(params of model = .*: +)0 +\n", r"\g<1>8.83 M\n", theirs)
        ours = re.sub(r"world size: (?:.*\n)*?(?=params per GPU)", "", ours)
        ours = re.sub(r"bwd latency: (?:.*\n)*?(?=\n)", "", ours)
        self.check_same(ours, theirs, False)


if __name__ == "__main__":
    run_and_count()
