"""Progress bars, and logs of metrics for spreadsheets and TensorBoard."""

from __future__ import annotations

import csv
import io
import math
import os
from typing import TYPE_CHECKING, Any, ClassVar, TextIO, Unpack

from ....base.checks import whole
from ....base.errors import DataFileError
from ....base.files import failures_named, path_of
from ....base.optional import optional_import
from ....base.progress import Progress
from .events import BatchEnd, EpochBegin, Periodic, TrainBegin, TrainEnd
from .utils import listed_metrics

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from ....metric import EvalMetric
    from .estimator import Estimator
    from .types import BatchEvent


class ProgressHandler(TrainBegin, EpochBegin, BatchEnd, TrainEnd):
    """Shows the progress of training: a bar in a notebook and on a terminal, occasional lines in a log.  Not in MXNet.

    Parameters
    ----------
    metrics : list of EvalMetric, optional
        Metrics shown next to the bar; by default the estimator's ``train_metrics``.
    stream : text file, optional
        Standard error if not given.
    priority : number
    """

    resumed: ClassVar[tuple[str, ...]] = ("current_batch", "current_epoch")

    def __init__(self, metrics: object = None, stream: TextIO | None = None, priority: float = math.inf) -> None:
        self.metrics, self.stream, self.priority = listed_metrics(metrics), stream, priority
        self.current_batch = self.current_epoch = 0
        self._bar: Progress | None = None

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Begin to count."""
        self.current_batch = self.current_epoch = 0
        self._bar = None

    def epoch_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Count an epoch."""
        self.current_epoch += 1

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: Unpack[BatchEvent]) -> None:
        """Count a batch, and show it."""
        if self._bar is None:
            self._bar = self._made(estimator)
        self.current_batch += 1
        self._bar.advance()

    def _made(self, estimator: Estimator) -> Progress:
        each = 0 if estimator._loop is None else len(estimator._loop.data)
        total = estimator.max_batch or (estimator.max_epoch or 0) * each or None
        bar = Progress("Training", total, " batches", done=self.current_batch, stream=self.stream)
        bar.note = lambda: ", ".join([f"epoch {self.current_epoch}", *_values(self.metrics or estimator.train_metrics)])
        return bar

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Remove the bar; a log gets its last line."""
        if self._bar is not None:
            self._bar.close(logged=True)
            self._bar = None


def _values(metrics: Sequence[EvalMetric]) -> list[str]:
    return [f"{name} {value:.4g}" for metric in metrics for name, value in metric.get_name_value()]


class CSVHandler(Periodic):
    """Writes a row of metrics into a CSV file after each epoch, or after a given number of batches. Not in MXNet.

    The columns are epoch, batch, learning_rate and the names of the metrics.  Epochs and batches are counted from 1.  A run
    that is resumed from a checkpoint removes the rows that were written after the checkpoint, and continues.  The file is then
    the same as that of an uninterrupted run.

    Parameters
    ----------
    filename : str or path
    metrics : list of EvalMetric, optional
        By default the estimator's ``train_metrics`` and ``val_metrics``.
    batch_period : int, optional
        Write after this number of batches, not after epochs.
    priority : number

    Raises
    ------
    DataFileError
        If the file cannot be written.
    """

    resumed: ClassVar[tuple[str, ...]] = ("current_batch", "current_epoch", "size")

    def __init__(self, filename: str | PathLike[str], metrics: object = None, batch_period: int | None = None,
                 priority: float = math.inf) -> None:
        self.filename, self.metrics, self.batch_period = path_of(filename), listed_metrics(metrics), _period(batch_period)
        self.priority, self.epoch_period = priority, None if batch_period else 1
        #: Bytes that the file has.
        self.size = 0

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Begin to count; the file is emptied when the first row comes."""
        super().train_begin(estimator)
        self.size = 0

    def _work(self, estimator: Estimator, epoch: int) -> None:
        results = _named(self.metrics, estimator)
        rows = [] if self.size else [["epoch", "batch", "learning_rate", *results]]
        rows.append([str(epoch), str(self.current_batch), repr(float(estimator.trainer.learning_rate)),
                     *[repr(float(value)) for value in results.values()]])
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        with failures_named(self.filename), open(self.filename, "ab") as file:
            if file.seek(0, os.SEEK_END) < self.size:
                raise DataFileError(f"{self.filename} has become shorter than the {self.size} bytes that this run has written.",
                                    hint="let no other program write to it, and resume with the file of this run.")
            file.truncate(self.size)
            file.write(text.getvalue().encode())
            self.size = file.tell()


class TensorBoardHandler(Periodic, TrainEnd):
    """Writes metrics and the learning rate for TensorBoard after each epoch, or after a given number of batches. Not in MXNet.

    A step is the number of batches since the beginning of the run.  A run that is resumed from a checkpoint tells TensorBoard to
    discard the steps after the checkpoint.  The handler needs tensorboardX: ``pip install 'sparsekit[tensorboard]'``.

    Parameters
    ----------
    logdir : str or path
        Folder for the event files.
    metrics : list of EvalMetric, optional
        By default the estimator's ``train_metrics`` and ``val_metrics``.
    batch_period : int, optional
        Write after this number of batches, not after epochs.
    priority : number

    Raises
    ------
    MissingPackageError
        If tensorboardX is not installed.
    """

    def __init__(self, logdir: str | PathLike[str], metrics: object = None, batch_period: int | None = None,
                 priority: float = math.inf) -> None:
        self._package = optional_import("tensorboardX", "tensorboard", "TensorBoardHandler")
        self.logdir, self.metrics, self.batch_period = path_of(logdir), listed_metrics(metrics), _period(batch_period)
        self.priority, self.epoch_period = priority, None if batch_period else 1
        self._writer: Any = None  # Any: tensorboardX has no types, and need not be installed

    def train_begin(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Begin to count."""
        super().train_begin(estimator)
        self._writer = None

    def batch_end(self, estimator: Estimator, *args: object, **kwargs: Unpack[BatchEvent]) -> None:
        """Write if it is time."""
        if self._writer is None:  # now it is known after how many batches training goes on
            with failures_named(self.logdir):
                self._writer = self._package.SummaryWriter(self.logdir, purge_step=self.current_batch + 1)
        super().batch_end(estimator, *args, **kwargs)

    def _work(self, estimator: Estimator, epoch: int) -> None:
        if self._writer is None:
            return
        for name, value in {"learning_rate": estimator.trainer.learning_rate, **_named(self.metrics, estimator)}.items():
            if not math.isnan(value):
                self._writer.add_scalar(name.replace(" ", "/"), float(value), self.current_batch)
        self._writer.flush()

    def train_end(self, estimator: Estimator, *args: object, **kwargs: object) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _named(metrics: Sequence[EvalMetric], estimator: Estimator) -> dict[str, float]:
    """The values of metrics by name; of the estimator's if there are none."""
    return {name: value for metric in metrics or [*estimator.train_metrics, *estimator.val_metrics]
            for name, value in metric.get_name_value()}


def _period(value: int | None) -> int | None:
    return None if value is None else whole("batch_period", value, 1)
