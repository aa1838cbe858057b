"""The events of a training loop: a handler derives from those that it is called at."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Unpack

from ....base.errors import ParameterError, expected

if TYPE_CHECKING:
    from .estimator import Estimator
    from .types import BatchEvent

__all__ = ["BatchBegin", "BatchEnd", "EpochBegin", "EpochEnd", "EventHandler", "TrainBegin", "TrainEnd", "listed_handlers"]


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
    found = [handlers] if isinstance(handlers, EventHandler) else list(handlers) if isinstance(
        handlers, (list, tuple)) else handlers or []
    if not isinstance(found, list) or not all(isinstance(one, EventHandler) for one in found):
        raise ParameterError(expected("event_handlers", "an event handler or a list of them", handlers),
                             hint="derive it from TrainBegin, EpochEnd or another event of gluon.contrib.estimator.")
    return found


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
