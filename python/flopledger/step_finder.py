"""Tells where a training step ends, from the steps of the optimizers alone."""

from __future__ import annotations

FORGOTTEN_AFTER = 64  # steps of others


class StepFinder:
    """A training step ends with the step of one optimizer: of those in use, the one that was first seen last.

    With one optimizer, that is each of its steps; with two in turn (as of a GAN), each step of the second; with a critic
    trained five times for each step of its generator, each step of the generator; with an optimizer for each parameter,
    the last one's. An optimizer that has fallen silent is forgotten.
    """

    def __init__(self) -> None:
        self.seen: list[int] = []  # ids, in the order of their first steps
        self.silent_for = 0
        self.silent_since = 0  # steps that had ended when the last one to end a step did

    def ends_step(self, optimizer: int, step: int) -> bool:
        """`step`: how many have ended. While one after the other ends, this need not be asked."""
        if self.seen and optimizer == self.seen[-1]:
            return True
        if step != self.silent_since:
            self.silent_since = step
            self.silent_for = 0
        if optimizer not in self.seen:
            self.seen.append(optimizer)
            self.silent_for = 0
            return (
                len(self.seen) == 1
            )  # a second one belongs to the step that has just been counted
        self.silent_for += 1
        if self.silent_for > FORGOTTEN_AFTER:
            self.seen.remove(optimizer)
            self.seen.append(optimizer)
            self.silent_for = 0
            return True
        return False
