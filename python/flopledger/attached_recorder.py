"""A recorder that goes again once its window is over."""

from __future__ import annotations

import os
import sys
from typing import Any

from flopledger.messages import guarded
from flopledger.recorder import Recorder


TELL_NS = 1_000_000_000


class AttachedRecorder(Recorder):
    """Looks after each step whether it is to end."""

    attachment: Any = None
    waits = False
    told_at = 0  # that a step has ended

    def begin(self, attachment: Any) -> None:
        self.attachment = attachment
        Recorder.current = self
        self.waits = bool(attachment.asked["awaits_begin"])
        if not self.waits:
            self.begin_record()
        self.running.wakes_at = 0

    def end_step(self, optimizer: Any, now: int) -> None:
        if os.getpid() != self.attachment.pid:  # a child by fork(): none of its own is recorded
            self.turn_off_in_child()
            return
        if not self.is_off and (not self.waits or self.begins_now(now)):
            super().end_step(optimizer, now)
            self.tell_step(now)
        self.running.wakes_at = 0  # each step is seen here
        if (self.is_over() or self.attachment.is_left()) and self.hook_is_last():
            self.attachment.leave()

    def tell_step(self, now: int) -> None:
        """Each that is recorded; of those that are watched, for hours maybe, one a second."""
        if self.settings.first_step == 0 and now - self.told_at < TELL_NS and self.step > 3:
            return
        self.told_at = now
        self.attachment.tell("step", at=now, step=self.step)

    def begins_now(self, now: int) -> bool:
        """Ranks wait until all of them are told when to begin, so that they record the same steps."""
        collectives = collectives_called()
        if not self.attachment.begins(now, collectives):
            self.attachment.tell("step", at=now, collectives=collectives)
            return False
        self.waits = False
        self.begin_record()
        return True

    def hook_is_last(self) -> bool:
        """We are within our own hook: torch goes through all of them, and the last one alone may take itself away."""
        hooks = getattr(self.ends.optimizer_module, "_global_optimizer_post_hooks", {})
        return not hooks or next(reversed(hooks)) == self.ends.hook.id

    @property
    def recorded(self) -> int:
        """Windows of steps."""
        return len(self.windows.capture.recorded)

    def is_over(self) -> bool:
        windows = self.windows
        if self.is_off or self.waits or windows.window is not None or windows.is_recording:
            return self.is_off
        is_awaited = windows.triggers is not None and not windows.triggers.are_over
        return not (self.attachment.asked["watch"] or is_awaited)

    def turn_off_in_child(self) -> None:
        self.is_off = True
        self.record.forget()
        self.release_program()

    def take_away(self) -> None:
        """Keeps what was recorded so far."""
        if not self.is_off:
            guarded(self.finish, self.turn_off)()
        self.optimizers_forgotten()
        if Recorder.current is self:
            Recorder.current = None

    def optimizers_forgotten(self) -> None:
        self.windows.models.forget()
        self.ends.optimizers.clear()
        self.ends.known.clear()


def collectives_called() -> int:
    """By this rank, of the job's group: the same number in all ranks at the end of the same step. 0: not known."""
    distributed = sys.modules.get("torch.distributed.distributed_c10d")
    try:
        if distributed is None or not distributed.is_initialized():
            return 0
        return int(distributed._get_default_group()._get_sequence_number_for_group())
    except Exception:  # a backend that does not count
        return 0
