#!/usr/bin/env python3
"""What a step had, summed up by hooks in C that are transparent and cheap: test_running_step.py PROGRAM"""

import copy
import gc
import inspect
import pickle
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import weakref
import zlib
from collections import UserDict
from pathlib import Path
from typing import Any

from count_line import run_and_count

PROGRAM = Path(sys.argv.pop(1)).resolve()
PACKAGE = PROGRAM.parent / "python"
TRAINING = Path(__file__).resolve().parent / "training"
sys.argv[1:1] = [str(PACKAGE)]  # as stand_in_steps.py is called
sys.path[:0] = [str(TRAINING), str(TRAINING.parents[1] / "generate")]

import stand_in_steps  # noqa: E402
from stand_in_steps import Engine, Loader, Modes, Tensor  # noqa: E402

del sys.argv[1]

from flopledger import native, step_record  # noqa: E402
from flopledger.step_hooks import StepHooks, logged_loss  # noqa: E402
from step_record_file import ENTRY  # noqa: E402

# Of a step, with what its hooks stand around. CPython 3.11: 10,170.
MOST_INSTRUCTIONS = 12_000


class Writer:
    """Keeps entries in place of writing them."""

    def __init__(self) -> None:
        self.entries: list[tuple[Any, ...]] = []

    def append(self, kind: int, flags: int, *numbers: Any) -> None:
        self.entries.append((kind, flags, *numbers))


class Hooked(unittest.TestCase):
    """With hooks in place, and what they write in `writer`."""

    def setUp(self) -> None:
        self.writer = Writer()
        record = step_record.StepRecord("/nowhere", self.writer)
        record.is_open = True
        self.hooks = StepHooks(record)
        self.addCleanup(self.take_away)
        self.running = self.hooks.running
        stand_in_steps.install(self.hooks)
        self.running.poll_at = self.running.wakes_at = sys.maxsize
        self.optimizer = object()
        self.running.ender = id(self.optimizer)

    def take_away(self) -> None:
        self.hooks.remove()
        Modes.is_grad_on = True
        Modes.compiler["_is_compiling_flag"] = False

    def step(self) -> None:
        self.running.begin_optimizer()
        if not self.running.ends_plain_step(self.optimizer):
            self.running.end_step(time.monotonic_ns(), 0)

    def steps(self) -> list[tuple[Any, ...]]:
        return [entry for entry in self.writer.entries if entry[0] == step_record.STEP]

    def sizes(self, batch: Any) -> tuple[int, int]:
        for _ in Loader([batch]):
            self.step()
        return self.steps()[-1][9], self.steps()[-1][10]


class Sums(Hooked):
    def test_a_plain_step(self) -> None:
        running = self.running
        running.sizes_of = lambda batch: (4, 32)
        for _ in Loader([(Tensor((4, 8)), Tensor((4,)))] * 3):
            loss = Tensor((), "float", 64)
            Engine.backward((loss,), accumulate_grad=True)
            self.step()
            loss.item()
        steps = self.steps()
        self.assertEqual([entry[2] for entry in steps], [1, 2, 3])
        for before, after in zip(steps, steps[1:]):
            self.assertEqual(before[4], after[3])
        for entry in steps:
            self.assertTrue(all(part >= 0 for part in entry[5:9]), entry)
            self.assertEqual(entry[9:13], (32, 4, -1, 1))
        before = step_record.LOSS_OF_STEP_BEFORE
        self.assertEqual([entry[1] for entry in steps], [0, before, before])
        self.assertEqual([entry[13] for entry in steps[1:]], [0.5, 0.5])
        running.flush_loss()
        last = self.writer.entries[-1]
        self.assertEqual((last[0], last[2], last[13]), (step_record.LOSS, 3, 0.5))
        self.assertEqual(len(running.end_times()), 3)
        self.assertEqual(running.calls, 3)

    def test_what_was_not_seen_is_not_known(self) -> None:
        running = self.running
        running.end_step(running.started_at + 5, 0)
        entry = self.steps()[0]
        flags = step_record.START_UNKNOWN | step_record.COMPILED
        self.assertEqual((entry[1], entry[5:11], entry[12]), (flags, (-1,) * 6, -1))
        self.assertNotEqual(entry[13], entry[13])

    def test_sizes_of_a_window_stand_in_for_a_loader(self) -> None:
        running = self.running
        running.sizes_of = lambda batch: (4, 32)
        running.window_tokens, running.window_samples = 64, 8
        self.step()
        next(Loader([(Tensor((4, 8)),)]))
        self.step()
        self.step()  # there is a loader: what it does not tell is not known
        self.assertEqual([e[9:11] for e in self.steps()], [(64, 8), (32, 4), (-1, -1)])
        traced = [bool(e[1] & step_record.TOKENS_OF_WINDOW) for e in self.steps()]
        self.assertEqual(traced, [True, False, False])

    def test_batches(self) -> None:
        ids, floats = Tensor((4, 8)), Tensor((4, 8), "float")
        self.running.sizes_of = lambda batch: (7, -1)
        self.running.user_dict_type = UserDict
        for batch, expected in (
            (ids, (32, 4)),
            ([ids, floats], (32, 4)),
            ((ids,), (32, 4)),
            ({"input_ids": ids}, (32, 4)),
            ({"labels": floats, "idx": floats}, (32, 4)),  # its name says that it is tokens
            (UserDict(tokens=ids), (32, 4)),
            ((floats, ids), (-1, 7)),
            (Tensor((4,)), (-1, 7)),
            ({"pixels": floats}, (-1, 7)),
            (7, (-1, 7)),
            ((), (-1, 7)),
        ):
            self.assertEqual(self.sizes(batch), expected, batch)

    def test_micro_batches_add_up(self) -> None:
        running = self.running
        running.sizes_of = lambda batch: (4, 32)
        for i, _ in enumerate(Loader([(Tensor((4, 8)),)] * 4)):
            Engine.backward((Tensor((), "float", 64),), accumulate_grad=True)
            if i % 2:
                self.step()
        self.assertEqual([entry[9:13] for entry in self.steps()], [(64, 8, -1, 2)] * 2)

    def test_one_batch_without_tokens_makes_them_unknown(self) -> None:
        running = self.running
        running.sizes_of = lambda batch: (3, -1)
        for _ in Loader([[Tensor((3,))], [Tensor((4, 8))]]):
            pass
        self.step()
        self.assertEqual(self.steps()[0][9], -1)

    def test_the_loss_is_what_backward_began_with(self) -> None:
        loss = Tensor((), "float", 64)
        Engine.backward((loss,))
        Tensor((), "float", 65).item()  # of another place
        Tensor((), "float", 0).item()
        self.assertFalse(self.running.has_read_loss)
        loss.detach().item()
        self.assertTrue(self.running.has_read_loss)
        self.running.has_read_loss = False
        loss.item()  # the second time: the same step, the same number
        self.assertFalse(self.running.has_read_loss)
        vector = Tensor((2,), "float", 64)
        self.step()
        Engine.backward((vector,))
        Tensor((), "float", 64).item()  # of its first element
        self.assertFalse(self.running.has_read_loss)

    def test_a_backward_in_a_closure_is_not_the_optimizers(self) -> None:
        running = self.running
        running.begin_optimizer()
        time.sleep(0.02)  # the forward
        Engine.backward((Tensor((), "float", 64),))
        running.end_step(time.monotonic_ns(), 0)
        running.begin_optimizer()
        time.sleep(0.02)  # an optimizer without a closure
        running.end_step(time.monotonic_ns(), 0)
        optimizer = [entry[8] for entry in self.steps()]
        self.assertLess(optimizer[0], 15_000_000)
        self.assertGreaterEqual(optimizer[1], 20_000_000)

    def test_the_loss_is_not_kept_alive(self) -> None:
        loss = Tensor((), "float", 64)
        gone = weakref.ref(loss)
        Engine.backward((loss,))
        del loss
        self.assertIsNone(gone())
        Tensor((), "float", 64).item()
        self.assertFalse(self.running.has_read_loss)

    def test_a_loss_is_read_in_many_ways(self) -> None:
        running = self.running
        loss = Tensor((), "float", 64)
        copies = running.around_copy(lambda tensor: Tensor((), "float", 99))
        lists = running.around_item(lambda tensor: [0.5])
        copies(Tensor((), "float", 7))
        Engine.backward((loss,))
        Tensor((), "float", 99).item()
        lists(loss)  # no number
        self.assertFalse(running.has_read_loss)
        copy_of_it = copies(loss)
        copy_of_it.item()
        self.assertTrue(running.has_read_loss)
        running.has_read_loss = False
        Engine.backward((Tensor((), "float", 65),))  # another loss: the copy was of the first
        copy_of_it.item()
        self.assertFalse(running.has_read_loss)

    def test_an_evaluation_without_eval(self) -> None:
        """Two batches without gradients are one; a single one before backward was to train on."""
        ids = (Tensor((4, 8)),)
        running = self.running
        running.sizes_of = lambda batch: (4, 32)
        Modes.is_grad_on = False
        next(Loader([ids]))
        Engine.backward((Tensor(()),))
        self.assertGreater(running.data_wait, 0)
        self.step()
        for _ in Loader([ids, ids]):
            pass
        Modes.is_grad_on = True
        next(Loader([ids]))
        Engine.backward((Tensor(()),))
        self.step()
        entries = [entry[0] for entry in self.writer.entries]
        self.assertEqual(entries, [step_record.STEP, step_record.EVALUATION, step_record.STEP])
        first, evaluation, second = self.writer.entries
        self.assertEqual(evaluation[2:4] + evaluation[5:13], (2, evaluation[3], *[-1] * 8))
        self.assertLessEqual(first[4], evaluation[3])
        self.assertLess(evaluation[4], second[4])
        self.assertLess(second[5] + second[6], second[4] - evaluation[4])

    def test_what_does_not_train(self) -> None:
        running = self.running
        Modes.is_grad_on = False
        next(Loader([(Tensor((4, 8)),)]))
        self.assertEqual((running.data_wait, running.samples), (-1, -1))
        Modes.is_grad_on = True
        Engine.backward((Tensor(()),), accumulate_grad=False)
        Modes.compiler["_is_compiling_flag"] = True
        Engine.backward((Tensor(()),))
        self.assertEqual(running.backward, -1)
        other = threading.Thread(target=next, args=(Loader([(Tensor((4, 8)),)]),))
        other.start()
        other.join()
        self.assertEqual(running.data_wait, -1)

    def test_an_evaluation_that_was_none(self) -> None:
        running = self.running
        told: list[int] = []

        def end(now: int) -> None:
            told.append(now)
            running.evaluates_since = -1

        running.end_false_evaluation = end
        running.evaluates_since = 5
        Engine.backward((Tensor(()),))
        self.assertEqual(len(told), 1)
        self.assertGreaterEqual(running.backward, 0)

    def test_errors_of_the_program_pass(self) -> None:
        class Own(Exception):
            pass

        running = self.running

        def raise_own(*_: Any, **__: Any) -> None:
            raise Own

        fetch = running.around_fetch(raise_own)
        backward = running.around_backward(raise_own)
        item = running.around_item(raise_own)
        for call in (lambda: fetch(1), lambda: backward((Tensor(()),)), lambda: item(1)):
            with self.assertRaises(Own):
                call()
        self.assertFalse(running.is_inside)
        self.assertGreaterEqual(running.backward, 0)
        with self.assertRaises(StopIteration):
            next(Loader([]))

    def test_the_end_of_data_ends_an_evaluation_too(self) -> None:
        """What writes the evaluation's entry is Python code, and runs while StopIteration is on its way."""

        class NoTruth:
            def __bool__(self) -> bool:
                raise ZeroDivisionError

        running = self.running
        next(Loader([(Tensor((4, 8)),)]))
        Modes.is_grad_on = False
        next(Loader([(Tensor((4, 8)),)]))
        Modes.is_grad_on = True
        with self.assertRaises(StopIteration):
            next(Loader([]))
        kinds = [entry[0] for entry in self.writer.entries]
        self.assertEqual(kinds, [step_record.EVALUATION])
        seen = running.around_backward(lambda *_, **__: "called")
        self.assertEqual(seen((Tensor(()),), accumulate_grad=NoTruth()), "called")

    def test_the_end_of_data_passes_a_full_record(self) -> None:
        program = """
import signal, resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, resource.RLIM_INFINITY))
record = step_record.StepRecord(sys.argv[2])
record.open(0, 1, 0)
hooks = StepHooks(record)
install(hooks)
hooks.running.ender = id(optimizer := object())
hooks.running.poll_at = hooks.running.wakes_at = sys.maxsize
train(5_000, optimizer, hooks)
assert record.lost > 0, record.lost
ended = 0
for _ in range(3):
    Modes.is_grad_on = False
    next(Loader([(Tensor((4, 8)),)]))
    Modes.is_grad_on = True
    for batch in Loader([]):
        raise AssertionError
    ended += 1
hooks.remove()
print("ended", ended, record.lost > 3)
"""
        with tempfile.TemporaryDirectory() as folder:
            source = f"import sys\nsys.path.insert(0, {str(TRAINING)!r})\n"
            source += (
                "from stand_in_steps import *\nfrom stand_in_steps import StepHooks, step_record\n"
            )
            done = subprocess.run(
                [sys.executable, "-c", source + program, str(PACKAGE), folder],
                capture_output=True,
                text=True,
                check=False,
            )
        self.assertEqual(done.stdout, "ended 3 True\n", done.stderr)
        self.assertIn("the step record has gaps from here", done.stderr)

    def test_errors_of_ours_do_not(self) -> None:
        def fail(*_: Any) -> Any:
            raise ValueError("ours")

        running = self.running
        running.sizes_of = fail
        running.is_grad_enabled = fail
        next(Loader([7]))
        running.is_grad_enabled = stand_in_steps.is_grad_enabled
        self.assertEqual(next(Loader([7])), 7)
        running.append_numbers = fail
        self.step()
        running.evaluates_since = 1
        running.end_false_evaluation = fail
        Engine.backward((object(),))
        Engine.backward(((),))
        Engine.backward(7)
        self.assertEqual(running.step, 2)

    def test_other_work_is_left_to_python(self) -> None:
        running = self.running
        self.assertFalse(running.ends_plain_step(object()))
        for name, value in (("poll_at", 0), ("wakes_at", 1), ("skips_update", True)):
            before = getattr(running, name)
            setattr(running, name, value)
            self.assertFalse(running.ends_plain_step(self.optimizer), name)
            setattr(running, name, before)
        self.assertEqual(running.step, 1)
        self.assertTrue(running.ends_plain_step(self.optimizer))
        self.assertEqual(running.step, 2)


class Logged(Hooked):
    def test_which_number_is_the_loss(self) -> None:
        for arguments, expected in (
            (({"loss": 0.5, "learning_rate": 1.0},), 0.5),
            (({"train/loss_step": 2},), 2.0),
            (({"loss": 0.5, "train_runtime": 9.0},), None),  # the mean of the whole run
            (({"eval_loss": 0.5, "val_loss": 0.5, "loss_scale": 1.0},), None),
            (("Loss/train", 0.5), 0.5),
            (("Loss/val", 0.5), None),
            (("loss", Tensor(())), None),  # which would have to be read
            ((7,), None),
            ((), None),
        ):
            self.assertEqual(logged_loss(*arguments), expected, arguments)
        self.assertEqual(logged_loss(metrics={"lm loss": 0.5}), 0.5)

    def test_it_is_of_the_step_it_is_logged_in(self) -> None:
        running = self.running
        Log = type("Log", (), {"log": lambda self, logs: None})
        self.hooks.replacements.replace(Log, "log", self.hooks.around_log)
        Log().log({"loss": 9.0})  # no step has ended
        for number in range(3):
            Engine.backward((Tensor((), "float", 64),))
            if number == 1:
                Log().log({"loss": 1.0})
            self.step()
            if number != 1:
                Log().log({"loss": float(number)})
        running.flush_loss()
        losses = [(entry[2], entry[13]) for entry in self.writer.entries[1:]]
        self.assertEqual(losses[-1], (3, 2.0))
        self.assertEqual([entry[13] for entry in self.steps()[1:2]], [1.0])
        self.assertEqual(self.writer.entries[1][:3], (step_record.LOSS, 0, 1))


class Transparent(Hooked):
    def test_it_is_what_it_stands_for(self) -> None:
        hook = Loader.__dict__["__next__"]
        self.assertEqual(type(hook).__name__, "CallHook")
        self.assertEqual(hook.__name__, "__next__")
        self.assertEqual(hook.__qualname__, "Loader.__next__")
        self.assertEqual(hook.__module__, Loader.__module__)
        self.assertEqual(str(inspect.signature(hook)), "(self) -> Any")
        self.assertEqual(hook.__code__.co_name, "__next__")  # what it does not have itself
        self.assertIs(inspect.unwrap(hook), hook.__wrapped__)
        with self.assertRaises(AttributeError):
            hook.no_such_attribute

    def test_it_binds_as_a_method(self) -> None:
        loader = Loader([1, 2, 3])
        bound = loader.__next__
        self.assertIs(bound.__self__, loader)
        self.assertEqual((bound(), next(loader), Loader.__next__(loader)), (1, 2, 3))
        self.assertEqual(Tensor((), "float").item(), 0.5)
        self.assertEqual(list(map(Tensor.item, [Tensor(())])), [0.5])

    def test_subclasses_and_super(self) -> None:
        class Twice(Loader):
            def __next__(self) -> Any:
                return 2 * super().__next__()

        self.assertEqual(list(Twice([1, 2])), [2, 4])

    def test_it_is_pickled_and_copied_by_its_name(self) -> None:
        hook = Loader.__dict__["__next__"]
        self.assertIs(pickle.loads(pickle.dumps(hook)), hook)
        self.assertIs(copy.deepcopy(hook), hook)
        again = pickle.loads(pickle.dumps(Loader([]).__class__))
        self.assertIs(again, Loader)

    def test_it_goes_when_it_is_taken_away(self) -> None:
        hook = weakref.ref(Loader.__dict__["__next__"])
        running = weakref.getweakrefcount(Loader)
        self.hooks.remove()
        self.hooks.replacements.undos.clear()
        gc.collect()
        self.assertIsNone(hook())
        self.assertEqual(weakref.getweakrefcount(Loader), running)
        self.assertEqual(Loader([1]).__next__(), 1)

    def test_nothing_leaks(self) -> None:
        def go() -> None:
            stand_in_steps.train(2000, self.optimizer, self.hooks)

        go()
        counts = [sys.getrefcount(each) for each in (Tensor, Loader, None, True, False)]
        self.writer.entries.clear()
        objects = len(gc.get_objects())
        go()
        self.writer.entries.clear()
        gc.collect()
        self.assertLess(abs(len(gc.get_objects()) - objects), 100)
        for before, each in zip(counts, (Tensor, Loader, None, True, False)):
            self.assertLess(abs(sys.getrefcount(each) - before), 100, each)

    def test_several_threads_take_from_one_loader(self) -> None:
        loader = Loader(list(range(4000)))
        taken: list[list[int]] = [[], [], []]

        def take(into: list[int]) -> None:
            into.extend(loader)

        threads = [threading.Thread(target=take, args=(into,)) for into in taken[1:]]
        for thread in threads:
            thread.start()
        take(taken[0])
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(sum(taken, [])), list(range(4000)))
        self.assertFalse(self.running.is_inside)

    def test_types_of_attributes(self) -> None:
        with self.assertRaises(TypeError):
            self.running.step = "one"
        with self.assertRaises(TypeError):
            self.running.around_fetch()
        with self.assertRaises(TypeError):
            self.running.end_step("now", 0)


class Cost(unittest.TestCase):
    """In instructions: those a busy machine does not change."""

    def count(self, steps: int, folder: str) -> int:
        script = str(TRAINING / "stand_in_steps.py")
        words = [sys.executable, "-S", "-B", script, str(PACKAGE), str(steps), "recorded", folder]
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *words],
            env={"PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        found = re.search(r"Collected : (\d+)", done.stderr)
        self.assertTrue(done.returncode == 0 and found, done.stderr)
        assert found is not None
        return int(found[1])

    def test_instructions_of_a_step(self) -> None:
        if not shutil.which("valgrind"):
            self.skipTest("needs valgrind")
        few, many = 500, 1500
        with tempfile.TemporaryDirectory() as folder:
            cost = (self.count(many, folder) - self.count(few, folder)) / (many - few)
        print(f"instructions of a step with its hooks: {cost:,.0f}", file=sys.stderr)
        self.assertLess(cost, MOST_INSTRUCTIONS)
        self.assertGreater(cost, 1000)  # it ran


class Entries(unittest.TestCase):
    """The extension takes entries apart as struct and zlib do."""

    def test_whole_damaged_and_missing_ones(self) -> None:
        draw = random.Random(1)
        slots = b""
        wanted: list[tuple[Any, ...] | None] = []
        for number in range(5000):  # more than are taken apart at once
            numbers = [draw.randrange(-(2**63), 2**63) for _ in range(11)]
            fields = (draw.randrange(2**16), 3, draw.choice([number + 1, 2**64 - 1]), *numbers)
            slot = ENTRY.pack(0, *fields, draw.random(), -1, 0)
            checksum = zlib.crc32(slot, 0xDEADBEEF)
            slot = checksum.to_bytes(4, "little") + slot[4:]
            wanted.append((checksum, *fields, *ENTRY.unpack(slot)[15:]))
            if number % 7 == 3:
                place = draw.randrange(len(slot))
                slot = (
                    slot[:place] + bytes([slot[place] ^ 1 << draw.randrange(8)]) + slot[place + 1 :]
                )
                wanted[-1] = None
            elif number % 7 == 5:
                slot = bytes(len(slot))
                wanted[-1] = None
            slots += slot
        self.assertEqual(list(step_record.entries_of(slots + slots[:127], 0xDEADBEEF)), wanted)
        self.assertEqual(list(step_record.entries_of(b"", 1)), [])

    def test_sizes_are_those_of_the_struct(self) -> None:
        writer = native.load("step_writer")
        self.assertEqual(step_record.ENTRY_BYTES, writer.ENTRY_BYTES)
        self.assertEqual(step_record.HEADER_BYTES, writer.HEADER_BYTES)


if __name__ == "__main__":
    run_and_count()
