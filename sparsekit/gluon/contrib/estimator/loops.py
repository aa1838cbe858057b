"""The loops of an estimator, which call handlers at their events."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ....base import rng
from ....base.epoch_loop import EpochLoop
from ....base.errors import ParameterError
from ....base.plain_data import decoded, encoded
from ...data.dataloader import Origin
from .event_handler import StoppingHandler
from .events import BatchBegin, BatchEnd, EpochBegin, EpochEnd

if TYPE_CHECKING:
    from ....base.types import JSON, Array
    from ....kvstore import DistKVStore
    from ....metric import EvalMetric
    from ...data import DataLoader
    from .estimator import Estimator
    from .events import EventHandler
    from .types import Kind, Loaded, Outcome, Saved


def handlers_of(kind: type[Kind], handlers: Sequence[EventHandler]) -> list[Kind]:
    """The handlers of one event, in their order."""
    return [handler for handler in handlers if isinstance(handler, kind)]


class EvaluationLoop(EpochLoop["Loaded", "Outcome"]):
    """Evaluates batches, and calls handlers, which cannot end it.

    Parameters
    ----------
    estimator : Estimator
    handlers : sequence of EventHandler
    data : DataLoader
    batch_axis : int
    """

    def __init__(self, estimator: Estimator, handlers: Sequence[EventHandler], data: DataLoader, batch_axis: int) -> None:
        self.estimator, self.handlers, self.data, self.batch_axis = estimator, handlers, data, batch_axis
        self._before, self._after = handlers_of(BatchBegin, handlers), handlers_of(BatchEnd, handlers)

    def batches(self) -> Iterable[Loaded]:
        """All batches of the data."""
        return self.data

    def step(self, batch: Loaded) -> Outcome:
        """Evaluate a batch."""
        return self.estimator.batch_processor.evaluate_batch(self.estimator, batch, self.batch_axis)

    def epoch_begin(self) -> None:
        """Call the handlers."""
        for handler in handlers_of(EpochBegin, self.handlers):
            handler.epoch_begin(self.estimator)

    def batch_begin(self, batch: Loaded) -> None:
        """Call the handlers."""
        for handler in self._before:
            handler.batch_begin(self.estimator, batch=batch)

    def batch_end(self, batch: Loaded, outcome: Outcome) -> bool | None:
        """Call the handlers."""
        self._stopping(batch, outcome)
        return None

    def _stopping(self, batch: Loaded, outcome: Outcome) -> bool:
        """Call the handlers; whether one of them wants to stop."""
        _, label, pred, loss = outcome
        stopping = [handler.batch_end(self.estimator, batch=batch, pred=pred, label=label, loss=loss) for handler in self._after]
        return any(stopping)

    def epoch_end(self) -> bool | None:
        """Call the handlers."""
        self._ending()
        return None

    def _ending(self) -> list[str]:
        """Call the handlers; the names of those that end the run."""
        return [type(handler).__name__ for handler in handlers_of(EpochEnd, self.handlers) if handler.epoch_end(self.estimator)]


class FitLoop(EvaluationLoop):
    """Trains on batches, and calls handlers, any of which may end an epoch or the run.

    Attributes
    ----------
    store : DistKVStore or None
        The servers that take snapshots of the run, if there are any.
    """

    store: DistKVStore | None = None
    #: What the order of this epoch was drawn from.
    _order: Origin | None = None
    #: The handlers that have ended the run, beside that of a number.
    _stopped: Sequence[str] = ()
    #: The state that the run goes on from, until it has.
    _from: dict[str, Any] | None = None

    def batches(self) -> Iterator[Loaded]:
        """The batches of an epoch; of the one that a state was kept in, those that come after it."""
        state, self._from = self._from, None
        if state is None or "now" not in state:
            yield from self.data
            return
        if state["batch"]:
            self._restore(state)  # what the beginning of the epoch has reset
        now = rng.states()
        order, latest = (origin_of(state[name], state["arrays"]) for name in ("order", "now"))
        if order is None:  # the epoch had not been begun
            assert latest is not None
            self.data._go_on(latest._replace(random=now))
            yield from self.data
            return
        self.data._go_on(order)
        batches = iter(self.data)
        for number in range(state["batch"]):
            if next(batches, None) is None:
                raise ParameterError(f"The checkpoint is from batch {state['batch']} of an epoch, and train_data has {number}.",
                                     hint="resume with the data and the batch size of the start of the run.")
        rng.restore(now)
        yield from batches

    def step(self, batch: Loaded) -> Outcome:
        """Train on a batch."""
        self._order = self._order or self.data._origin
        return self.estimator.batch_processor.fit_batch(self.estimator, batch, self.batch_axis)

    def batch_end(self, batch: Loaded, outcome: Outcome) -> bool | None:
        """Call the handlers, then complete checkpoints and the step of servers."""
        stop = self._stopping(batch, outcome)
        self.estimator._settle()
        if self.store is not None:
            self.store.end_step()
        return stop

    def epoch_end(self) -> bool | None:
        """Call the handlers, then complete checkpoints."""
        ending, self._order = self._ending(), None
        self._stopped = [name for name in ending if name != StoppingHandler.__name__]
        self.estimator._settle()
        return bool(ending)

    # checkpoints

    def kept(self) -> dict[str, Any]:
        """The run as it is, between two batches, as JSON, and ``arrays``."""
        estimator = self.estimator
        order = self._order if self.batches_done or self.data._epoch is None else self.data._origin
        arrays: list[Array] = []
        return {"epoch": self.epochs_done, "batch": self.batches_done, "total": self.steps_done,
                "handlers": attributes_of(self.handlers, arrays),
                "metrics": [metrics_of(group, arrays) for group in (estimator.train_metrics, estimator.val_metrics)],
                "now": saved_origin(self.data._now(), arrays), "order": saved_origin(order, arrays),
                "stopped": list(self._stopped), "arrays": arrays}

    def go_on(self, state: dict[str, Any]) -> None:
        """Let the run go on from what was kept of it, when all handlers have been told that it begins."""
        self._from = state
        self._restore(state)

    def _restore(self, state: dict[str, Any]) -> None:
        """Give counts, handlers, metrics and generators what they had."""
        self.epochs_done, self.batches_done, self.steps_done = state["epoch"], state["batch"], state["total"]
        if "handlers" not in state:  # MXNet's checkpoint
            for handler in self.handlers:
                for name, value in (("current_epoch", self.epochs_done), ("current_batch", self.steps_done)):
                    if name in type(handler).resumed:
                        setattr(handler, name, value)
            return
        arrays = state["arrays"]
        set_attributes(self.handlers, state["handlers"], arrays)
        for metrics, saved in zip((self.estimator.train_metrics, self.estimator.val_metrics), state["metrics"], strict=True):
            set_metrics(metrics, saved, arrays)
        now = origin_of(state["now"], arrays)
        assert now is not None
        rng.restore(now.random)


# --------------------------------------------------------------------------- what a run is besides weights and optimizer


#: What the order of an epoch is made of.
ORIGIN = {"Origin": Origin, "States": rng.States}


def attributes_of(handlers: Sequence[EventHandler], arrays: list[Array]) -> list[JSON]:
    """Of each handler its class and the attributes that it names in ``resumed``."""
    return [[type(handler).__name__, {name: encoded(getattr(handler, name), arrays, f"{type(handler).__name__}.{name}")
                                      for name in type(handler).resumed if hasattr(handler, name)}] for handler in handlers]


def set_attributes(handlers: Sequence[EventHandler], saved: Sequence[Saved], arrays: list[Array]) -> None:
    """Give handlers what ``attributes_of`` noted, to each class in the order of its handlers."""
    left = list(saved)
    for handler in handlers:
        noted = next((each for each in left if each[0] == type(handler).__name__), None)
        if noted is None:
            continue
        left.remove(noted)
        for name, value in noted[1].items():
            if name in type(handler).resumed:
                setattr(handler, name, decoded(value, arrays))


def metrics_of(metrics: Sequence[EvalMetric], arrays: list[Array]) -> list[JSON]:
    """Of each metric its name and its sums: every attribute that is not one of its arguments."""
    described: list[JSON] = []
    for metric in metrics:
        fixed = {"name", "output_names", "label_names", "_has_global_stats", "_kwargs", *metric._kwargs}
        described.append([metric.name, {name: encoded(value, arrays, f"{type(metric).__name__}.{name}", _classes_beside(metric))
                                        for name, value in vars(metric).items() if name not in fixed and not callable(value)}])
    return described


def set_metrics(metrics: Sequence[EvalMetric], saved: Sequence[Saved], arrays: list[Array]) -> None:
    """Give metrics what ``metrics_of`` noted, if they have the same names."""
    for metric, (name, sums) in zip(metrics, saved, strict=False):
        if metric.name == name:
            vars(metric).update({key: decoded(value, arrays, _classes_beside(metric)) for key, value in sums.items()
                                 if key in vars(metric)})


def _classes_beside(metric: EvalMetric) -> dict[str, type[Any]]:
    """The classes of the module of a metric, of which it may keep its sums in."""
    module = type(metric).__module__
    return {name: value for name, value in vars(sys.modules[module]).items()
            if isinstance(value, type) and value.__module__ == module}


def saved_origin(origin: Origin | None, arrays: list[Array]) -> JSON:
    """Where a data loader drew the order of an epoch from."""
    return encoded(origin, arrays, "The rest of the sampler", ORIGIN)


def origin_of(saved: Saved, arrays: list[Array]) -> Origin | None:
    """What ``saved_origin`` noted."""
    origin: Origin | None = decoded(saved, arrays, ORIGIN)
    return origin
