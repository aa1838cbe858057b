"""Functions called during training, after each batch or epoch: ``mx.callback``.

A callback after a batch receives a ``BatchEndParam``, whose ``eval_metric`` may be None.  A callback after an epoch receives
the number of the epoch, the symbol, and the dictionaries of arguments and of auxiliary states.
"""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .base.checks import number
from .base.entry import entries, entry_classes
from .base.progress import Progress, in_notebook
from .ndarray.checkpoints import save_checkpoint

if TYPE_CHECKING:
    from .ndarray.ndarray import NDArray
    from .symbol.symbol import Symbol


__all__ = ["BatchEndParam", "LogValidationMetricsCallback", "ProgressBar", "Speedometer", "do_checkpoint", "log_train_metric",
           "module_checkpoint"]


class BatchEndParam(NamedTuple):
    """The argument of a batch callback: numbers of epoch and batch, metric, and local variables of the loop."""

    epoch: int
    nbatch: int
    eval_metric: Any
    locals: dict[str, Any]


def module_checkpoint(mod: Any, prefix: str, period: int = 1, save_optimizer_states: bool = False) -> Callable[..., None]:
    """Return an epoch callback that saves a module every ``period`` epochs.

    Parameters
    ----------
    mod : Module
    prefix : str
        Start of the file names.
    period : int
    save_optimizer_states : bool
        Also save the optimizer's states, so that training can resume.
    """
    period = int(max(1, period))

    def callback(iter_no: int, sym: object = None, arg: object = None, aux: object = None) -> None:
        if (iter_no + 1) % period == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return callback


def do_checkpoint(prefix: str, period: int = 1) -> Callable[..., None]:
    """Return an epoch callback that saves ``prefix-symbol.json`` and ``prefix-0001.params`` every ``period`` epochs.

    Parameters
    ----------
    prefix : str
    period : int
    """
    period = int(max(1, period))

    def callback(iter_no: int, sym: Symbol | None, arg: dict[str, NDArray], aux: dict[str, NDArray]) -> None:
        if (iter_no + 1) % period == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return callback


def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[Any], None]:
    """Return a batch callback that logs the training metric every ``period`` batches.

    Parameters
    ----------
    period : int
    auto_reset : bool
        Reset the metric after each line.
    """

    def callback(param: BatchEndParam) -> None:
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
            if auto_reset:
                param.eval_metric.reset_local()

    return callback


class Speedometer:
    """Logs samples per second and the training metric every ``frequent`` batches, with a progress bar in notebooks.

    Parameters
    ----------
    batch_size : int
    frequent : int
    auto_reset : bool
        Reset the metric after each line, so that each line covers its own batches only.
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        self.batch_size, self.frequent, self.auto_reset = batch_size, frequent, auto_reset
        self.init, self.tic, self.last_count = False, 0.0, 0
        self._bar: Progress | None = None
        self._longest = 0

    def __call__(self, param: BatchEndParam) -> None:
        """Count a batch, and log a line if it is due."""
        count = param.nbatch
        if self.last_count > count:  # a new epoch
            self.init = False
        if in_notebook(sys.stderr):
            self._draw(param)
        self.last_count = count
        if not self.init:
            self.init, self.tic = True, time.time()
        elif count % self.frequent == 0:
            elapsed = time.time() - self.tic
            self._log(param, self.frequent * self.batch_size / elapsed if elapsed else math.inf)
            self.tic = time.time()

    def _draw(self, param: BatchEndParam) -> None:
        """Advance the progress bar by a batch, and close it at the end of the epoch."""
        count, known = param.nbatch, param.locals or {}
        if self._bar is None or count <= self.last_count:
            if self._bar is not None:
                self._bar.close()
            self._bar = Progress(f"Epoch {param.epoch}", _batches(known.get("train_data")) or self._longest or None,
                                 " samples", self.batch_size, count)
        metric = param.eval_metric
        self._bar.note = lambda: "" if metric is None else ", ".join(f"{name}={value:.4g}" for name, value in
                                                                    metric.get_global_name_value())
        self._bar.advance(1)
        self._longest = max(self._longest, count + 1)
        if "next_data_batch" in known and known["next_data_batch"] is None:
            self._bar.close()
            self._bar = None

    def _log(self, param: BatchEndParam, speed: float) -> None:
        count, metric = param.nbatch, param.eval_metric
        if metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
            return
        pairs = metric.get_name_value()
        start = 0
        if self.auto_reset:
            metric.reset_local()
            start = count - self.frequent
        logging.info("Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec" + "\t%s=%f" * len(pairs), param.epoch, start, count,
                     speed, *(part for pair in pairs for part in pair))


def _batches(data: object) -> int | None:
    """Return the number of batches of an iterator, or None if it is unknown."""
    rows, size = getattr(data, "num_data", None), getattr(data, "batch_size", None)
    if not rows or not size:
        return None
    return int(rows // size if getattr(data, "last_batch_handle", "") == "discard" else -(-rows // size))


class ProgressBar:
    """Logs a progress bar after each batch.

    Parameters
    ----------
    total : int
        Number of batches in an epoch.
    length : int
        Number of characters of the bar.
    """

    def __init__(self, total: int, length: int = 80) -> None:
        number("total", total, "at least 1", lambda value: value >= 1, "total is the number of batches.")
        number("length", length, "a number of characters", hint="length=80, for example.")
        self.bar_len, self.total = length, total

    def __call__(self, param: BatchEndParam) -> None:
        """Log the bar for a batch."""
        share = param.nbatch / float(self.total)
        filled = round(self.bar_len * share)
        logging.info("[%s] %s%s\r", "=" * filled + "-" * (self.bar_len - filled), math.ceil(100 * share), "%")


class LogValidationMetricsCallback:
    """Logs the validation metric at the end of an epoch."""

    def __call__(self, param: BatchEndParam) -> None:
        """Log each of the metric's values."""
        if not param.eval_metric:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)


entry_classes(LogValidationMetricsCallback, ProgressBar, Speedometer)
entries(globals(), ["do_checkpoint", "log_train_metric", "module_checkpoint"])
