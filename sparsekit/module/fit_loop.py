"""The training loop of modules."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..base.epoch_loop import EpochLoop
from ..base.errors import DataFileError
from ..callback import BatchEndParam
from .checks import listed

if TYPE_CHECKING:
    from ..io import DataBatch, DataIter
    from ..metric.base import EvalMetric, MetricLike
    from .base_module import BaseModule
    from .types import Callbacks, Monitor, RowIds


@dataclass(eq=False, repr=False)
class FitLoop(EpochLoop["DataBatch", None]):
    """Trains a module, and scores it after each epoch; the fields are the arguments of ``fit``.

    The next batch is fetched before the callbacks of a batch are called, so that the module can prepare for it.
    """

    module: BaseModule
    train_data: DataIter
    eval_data: DataIter | None
    eval_metric: EvalMetric
    validation_metric: MetricLike
    epoch_end_callback: Callbacks
    batch_end_callback: Callbacks
    eval_end_callback: Callbacks
    eval_batch_end_callback: Callbacks
    monitor: Monitor | None
    sparse_row_id_fn: RowIds

    def epoch_begin(self) -> None:
        """Reset the metric."""
        self._start = time.time()
        self.eval_metric.reset()

    def batches(self) -> Iterator[DataBatch]:
        """The batches of an epoch, of which ``step`` fetches the next one."""
        self._left = iter(self.train_data)
        self._next: Any = next(self._left, None)
        if self._next is None:
            raise DataFileError("train_data must have at least one batch.",
                                hint="check that it has at least batch_size rows, and call reset() after an epoch.")
        self.module._prepare_first(self._next, self.sparse_row_id_fn)
        while self._next is not None:
            yield self._next

    def step(self, batch: DataBatch) -> None:
        """Train on a batch, add it to the metric, and prepare for the next one."""
        if self.monitor is not None:
            self.monitor.tic()
        self.module._train_on(batch)
        self.module._measure(self.eval_metric, batch)
        self._next = next(self._left, None)
        if self._next is not None:
            self.module.prepare(self._next, sparse_row_id_fn=self.sparse_row_id_fn)
        if self.monitor is not None:
            self.monitor.toc_print()
        if self._next is None:  # before the callbacks, which may reset the metric
            self._found = self.eval_metric.get_global_name_value()

    def batch_end(self, batch: DataBatch, outcome: None) -> None:
        """Call the callbacks."""
        epoch, nbatch = self.epochs_done, self.batches_done - 1
        for callback in [] if self.module._skips else listed(self.batch_end_callback):
            callback(BatchEndParam(epoch, nbatch, self.eval_metric, {
                "self": self.module, "train_data": self.train_data, "epoch": epoch, "nbatch": nbatch, "data_batch": batch,
                "next_data_batch": self._next, "eval_metric": self.eval_metric, "monitor": self.monitor,
                "batch_end_callback": self.batch_end_callback, "sparse_row_id_fn": self.sparse_row_id_fn}))

    def epoch_end(self) -> None:
        """Log the metric, call the callbacks, and score the module."""
        module, epoch = self.module, self.epochs_done - 1
        for name, value in self._found:
            module.logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
        module.logger.info("Epoch[%d] Time cost=%.3f", epoch, time.time() - self._start)
        module._end_epoch(epoch, [] if module._skips else listed(self.epoch_end_callback))
        if self.eval_data is not None:
            for name, value in module.score(self.eval_data, self.validation_metric, score_end_callback=self.eval_end_callback,
                                            batch_end_callback=self.eval_batch_end_callback, epoch=epoch):
                module.logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
        self.train_data.reset()
