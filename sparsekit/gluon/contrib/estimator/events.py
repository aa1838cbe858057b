"""The events of a training loop: a handler derives from those that it is called at."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Unpack

from ....base.errors import ParameterError, expected

if TYPE_CHECKING:
    from .estimator import Estimator
    from .types import BatchEvent


class EventHandler:
    """Base of handlers.

    Attributes
    ----------
    resumed : tuple of str
        Names of the attributes that a checkpoint saves and a resumed run restores.  Their values may be numbers, strings, None,
        numpy arrays, and lists, tuples and dicts of these.
    """

    resumed: ClassVar[tuple[str, ...]] = ()


def listed_handlers(handlers: object) -> list[EventHandler]:
    """Handlers as a new list.

    Raises
    ------
    ParameterError
        If anything else is among them.
    """
    listed = [handlers] if isinstance(handlers, EventHandler) else list(handlers) if isinstance(
        handlers, (list, tuple)) else handlers or []
    if not isinstance(listed, list) or not all(isinstance(handler, EventHandler) for handler in listed):
        raise ParameterError(expected("event_handlers", "an event handler or a list of them", handlers),
                             hint="derive it from TrainBegin, EpochEnd or another event of gluon.contrib.estimator.")
    return listed


class TrainBegin(EventHandler):
    """Called before the first batch."""

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Do nothing; for subclasses to override."""


class TrainEnd(EventHandler):
    """Called after the last batch."""

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Do nothing; for subclasses to override."""


class EpochBegin(EventHandler):
    """Called before each epoch."""

    def epoch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Do nothing; for subclasses to override."""


class EpochEnd(EventHandler):
    """Called after each epoch."""

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> bool | None:
        """Whether to stop training; for subclasses to override."""
        return False


class BatchBegin(EventHandler):
    """Called before each batch, with ``batch``."""

    def batch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Do nothing; for subclasses to override."""


class BatchEnd(EventHandler):
    """Called after each batch, with ``batch``, ``pred``, ``label`` and ``loss``."""

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: Unpack[BatchEvent]) -> bool | None:
        """Whether to stop training; for subclasses to override."""
        return False


class Periodic(TrainBegin, BatchEnd, EpochEnd):
    """Counts batches and epochs from the beginning of training, and does ``_work`` after some of them.

    Attributes
    ----------
    batch_period, epoch_period : int or None
        Numbers of batches and of epochs from one time to the next.
    """

    resumed: ClassVar[tuple[str, ...]] = ("current_batch", "current_epoch")

    current_batch = current_epoch = 0
    batch_period: int | None = None
    epoch_period: int | None = None

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Begin to count."""
        self.current_batch = self.current_epoch = 0

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: Unpack[BatchEvent]) -> None:
        """Count a batch, and do the work if it is time."""
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self._work(estimator, self.current_epoch + 1)

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Count an epoch, and do the work if it is time."""
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self._work(estimator, self.current_epoch)

    def _work(self, estimator: Estimator, epoch: int) -> None:
        """What a subclass does, in an epoch or at its end; ``epoch`` is its number from 1."""
