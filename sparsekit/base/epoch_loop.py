"""The loop of all training: epochs of batches, with hooks that estimators, modules and examples fill in."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

Batch = TypeVar("Batch")
Outcome = TypeVar("Outcome")


class EpochLoop(ABC, Generic[Batch, Outcome]):
    """Makes a step with each batch of each epoch, until a hook ends it.

    A subclass defines ``batches`` and ``step``, and overrides the hooks that it needs.

    Attributes
    ----------
    epochs_done : int
        Epochs that have ended.
    batches_done : int
        Steps of the current epoch.
    steps_done : int
        Steps of all epochs.  A run that is resumed sets the three counts before it begins.
    """

    epochs_done = batches_done = steps_done = 0

    @abstractmethod
    def batches(self) -> Iterable[Batch]:
        """The batches of an epoch, after ``epoch_begin``; those that are left, of an epoch in which a run is resumed."""

    @abstractmethod
    def step(self, batch: Batch) -> Outcome:
        """Train on a batch, or evaluate it; ``batch_end`` is given the result."""

    def epoch_begin(self) -> None:
        """Called before the first batch of an epoch."""

    def batch_begin(self, batch: Batch) -> None:
        """Called before each step."""

    def batch_end(self, batch: Batch, outcome: Outcome) -> bool | None:
        """Called after each step, which the counts include; True ends the epoch."""

    def epoch_end(self) -> bool | None:
        """Called after each epoch, which the counts include; True ends the run."""

    def run(self, epochs: int | None = None) -> bool:
        """Run until a hook ends it, or until ``epochs`` epochs have ended; whether a hook ended it."""
        left: Iterable[int] = itertools.count() if epochs is None else range(self.epochs_done, epochs)
        return any(self.run_epoch() for _ in left)

    def run_epoch(self) -> bool:
        """Run an epoch, or what is left of it; whether the run ends with it."""
        self.epoch_begin()
        for batch in self.batches():
            self.batch_begin(batch)
            outcome = self.step(batch)
            self.batches_done += 1
            self.steps_done += 1
            if self.batch_end(batch, outcome):
                break
        self.epochs_done += 1
        self.batches_done = 0
        return bool(self.epoch_end())
