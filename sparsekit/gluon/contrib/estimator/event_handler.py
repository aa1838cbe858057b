"""Handlers of the events of a training loop.

A handler is an instance of one or more of ``TrainBegin``, ``TrainEnd``, ``EpochBegin``, ``EpochEnd``, ``BatchBegin`` and
``BatchEnd``.  Handlers are called in the order of their ``priority``, 0 if they have none, the lowest first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Unpack

from ....base.errors import ParameterError, expected
from ....base.warn import warn_user
from ....metric import CompositeEvalMetric, EvalMetric
from ....metric import Loss as LossMetric
from ...utils import clip_global_norm
from .checkpoints import CheckpointHandler
from .events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, EventHandler, Periodic, TrainBegin, TrainEnd
from .utils import better, larger_is_better, listed_metrics

if TYPE_CHECKING:
    from ...data import DataLoader
    from .estimator import Estimator
    from .types import BatchEvent

__all__ = ["BatchBegin", "BatchEnd", "CheckpointHandler", "EarlyStoppingHandler", "EpochBegin", "EpochEnd", "EventHandler",
           "GradientUpdateHandler", "LoggingHandler", "MetricHandler", "StoppingHandler", "TrainBegin", "TrainEnd",
           "ValidationHandler"]


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Stops after a number of epochs or batches; every run has one.

    Parameters
    ----------
    max_epoch, max_batch : int, optional
        Largest numbers of epochs and batches.  When training begins, the arguments of ``fit`` replace them.
    """

    resumed: ClassVar[tuple[str, ...]] = ("current_batch", "current_epoch")

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch, self.max_batch = max_epoch, max_batch
        self.current_batch, self.current_epoch, self.stop_training = 0, 0, False

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Begin to count."""
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_batch, self.current_epoch, self.stop_training = 0, 0, False

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: Unpack[BatchEvent]) -> bool:
        """Count a batch; True if it was the last."""
        self.current_batch += 1
        self.stop_training = self.stop_training or self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> bool:
        """Count an epoch; True if it was the last."""
        self.current_epoch += 1
        self.stop_training = self.stop_training or self.current_epoch == self.max_epoch
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd):
    """Adds each batch to metrics, which are reset when an epoch begins.

    Parameters
    ----------
    metrics : list of EvalMetric
        A ``metric.Loss`` gets the losses, and all others get labels and predictions.
    priority : number
    """

    def __init__(self, metrics: object, priority: float = -1000) -> None:
        self.metrics, self.priority = listed_metrics(metrics), priority

    def epoch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Reset the metrics."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: Unpack[BatchEvent]) -> None:
        """Add a batch."""
        for metric in self.metrics:
            if isinstance(metric, LossMetric):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(Periodic):
    """Evaluates at intervals of epochs or batches.

    Parameters
    ----------
    val_data : DataLoader
    eval_fn : callable
        Function that is called as ``eval_fn(val_data=…, batch_axis=…, event_handlers=…)``, usually ``estimator.evaluate``.
    epoch_period : int or None
        Number of epochs between evaluations.
    batch_period : int, optional
        Number of batches between evaluations.
    priority : number
        Handlers with a smaller number run first.
    event_handlers : EventHandler or list of EventHandler, optional
        Handlers for ``eval_fn``.
    """

    def __init__(self, val_data: DataLoader, eval_fn: Callable[..., object], epoch_period: int | None = 1,
                 batch_period: int | None = None, priority: float = -1000, event_handlers: object = None) -> None:
        self.val_data, self.eval_fn, self.epoch_period, self.batch_period = val_data, eval_fn, epoch_period, batch_period
        self.priority, self.event_handlers = priority, event_handlers

    def _work(self, estimator: Estimator, epoch: int) -> None:
        self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers)


def values_of(metrics: Sequence[EvalMetric]) -> str:
    """``name: value, `` of each metric."""
    return "".join(f"{name}: {value:.4f}, " for metric in metrics for name, value in metric.get_name_value())


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs optimizer, times and metrics with ``estimator.logger``.

    Parameters
    ----------
    log_interval : int or "epoch"
        Number of batches from one line to the next; "epoch" logs one line at the end of each epoch.
    metrics : list of EvalMetric, optional
        Metrics in the lines.
    priority : number
        Infinite by default, so that this handler runs after all others.
    """

    resumed: ClassVar[tuple[str, ...]] = ("batch_index", "current_epoch", "processed_samples")

    def __init__(self, log_interval: int | str = "epoch", metrics: object = None, priority: float = math.inf) -> None:
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise ParameterError(expected("log_interval", "an integer or 'epoch'", log_interval), hint="log_interval=100.")
        self.metrics, self.log_interval, self.priority = listed_metrics(metrics), log_interval, priority
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = self.train_start = self.epoch_start = self.batch_start = 0.0

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log the optimizer, and the planned length of training."""
        self.train_start = time.time()
        trainer = estimator.trainer
        estimator.logger.info("Training begin: using optimizer %s with current learning rate %.4f ",
                              type(trainer.optimizer).__name__, trainer.learning_rate)
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)
        self.current_epoch = self.batch_index = self.processed_samples = 0
        self.log_interval_time = 0.0

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log the time of all epochs, and the metrics."""
        head = f"Train finished using total {int(time.time() - self.train_start)}s with {self.current_epoch} epochs. "
        estimator.logger.info((head + values_of(self.metrics)).rstrip(", "))

    def batch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Remember the time."""
        self.batch_start = time.time()

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: Unpack[BatchEvent]) -> None:
        """Log a line if it is time."""
        if isinstance(self.log_interval, int):
            self.processed_samples += kwargs["batch"][0].shape[0]
            self.log_interval_time += time.time() - self.batch_start
            if self.batch_index % self.log_interval == 0:
                head = (f"[Epoch {self.current_epoch}][Batch {self.batch_index}][Samples {self.processed_samples}] "
                        f"time/interval: {self.log_interval_time:.3f}s ")
                self.log_interval_time = 0.0
                estimator.logger.info((head + values_of(self.metrics)).rstrip(", "))
        self.batch_index += 1

    def epoch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log the number of the epoch, or that validation begins."""
        self.epoch_start = time.time()
        if any("training" in metric.name for metric in self.metrics):
            estimator.logger.info("[Epoch %d] Begin, current learning rate: %.4f", self.current_epoch,
                                  estimator.trainer.learning_rate)
        else:
            estimator.logger.info("Validation Begin")

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log the time of the epoch, and the metrics."""
        head = f"[Epoch {self.current_epoch}] Finished in {time.time() - self.epoch_start:.3f}s, "
        estimator.logger.info((head + values_of(self.metrics)).rstrip(", "))
        self.current_epoch += 1
        self.batch_index = 0


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Stops when a metric has not improved for some epochs.

    Parameters
    ----------
    monitor : EvalMetric
        One of ``estimator.train_metrics`` or ``estimator.val_metrics``.
    min_delta : float
        The smallest change that counts as an improvement.
    patience : int
        Number of epochs without improvement after which training stops.
    mode : {"auto", "min", "max"}
        Whether smaller or larger values are better.  "auto" goes by ``larger_is_better`` of the metric's class, and
        warns.  MXNet's "auto" always prefers larger values, even for a loss.
    baseline : float, optional
        Value that the metric must improve on at first.
    """

    resumed: ClassVar[tuple[str, ...]] = ("best", "current_epoch", "stop_training", "stopped_epoch", "wait")

    def __init__(self, monitor: EvalMetric, min_delta: float = 0, patience: int = 0, mode: str = "auto",
                 baseline: float | None = None) -> None:
        if not isinstance(monitor, EvalMetric) or isinstance(monitor, CompositeEvalMetric):
            raise ParameterError(expected("monitor", "a metric that is not composite", type(monitor)),
                                 hint="give one of estimator.train_metrics or estimator.val_metrics.")
        self.monitor, self.baseline, self.patience = monitor, baseline, patience
        self._larger = larger_is_better("EarlyStopping", monitor, mode)
        self.min_delta = min_delta if self._larger else -min_delta
        self._reset()

    def _reset(self) -> None:
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        worst = -math.inf if self._larger else math.inf
        self.best = worst if self.baseline is None else self.baseline

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Forget the best value."""
        self._reset()

    def epoch_end(self, estimator: Estimator, *args: object, **kwargs: object) -> bool:
        """Compare with the best value; True if there was no improvement for too long."""
        name, value = self.monitor.get()
        if math.isnan(value):
            warn_user(f"{name} is not updated, make sure you pass one of the metric objects from estimator.train_metrics "
                          "and estimator.val_metrics as monitor.", RuntimeWarning)
        elif better(value - self.min_delta, self.best, self._larger):
            self.best, self.wait = value, 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch, self.stop_training = self.current_epoch, True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Log that training was stopped."""
        if self.stopped_epoch > 0:
            estimator.logger.info("[Epoch %d] EarlyStoppingHandler: early stopping due to %s not improving", self.stopped_epoch,
                                  self.monitor.get()[0])


class GradientUpdateHandler(BatchEnd):
    """Updates the parameters after each batch; every run has one.

    Parameters
    ----------
    priority : number
        -2000 by default, so that this handler runs before the others.
    clip_norm : float, optional
        Upper bound of the global norm of all gradients divided by the batch size.  Gradients with a larger norm are scaled
        down.  Not in MXNet.
    """

    def __init__(self, priority: float = -2000, clip_norm: float | None = None) -> None:
        if clip_norm is not None and not clip_norm >= 0:
            raise ParameterError(expected("clip_norm", "a number of at least 0, or None", clip_norm), hint="clip_norm=1.0.")
        self.priority, self.clip_norm = priority, clip_norm

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: Unpack[BatchEvent]) -> None:
        """Update by the gradients of the batch, unless a ``TrainStep`` has done so."""
        loss = kwargs["loss"]
        size = sum(array.shape[0] for array in (loss if isinstance(loss, list) else [loss]))
        if estimator._take_update(size):
            return
        trainer = estimator.trainer
        if self.clip_norm is None:
            trainer.step(size)
            return
        trainer.allreduce_grads()  # which refuses where a kvstore makes the steps
        trained = [parameter for parameter in trainer._params if parameter._grad_req != "null"]
        for ctx in trainer._contexts:
            clip_global_norm([parameter.grad(ctx) for parameter in trained], self.clip_norm * size)
        trainer.update(size)
