"""Iterators that wrap other iterators, to change the length of an epoch or to prefetch batches."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ..base.checks import whole
from ..base.errors import DataFileError, ShapeError
from ..base.workers import Threads
from .data import DataBatch, DataDesc, DataIter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ndarray.ndarray import NDArray


class BatchIter(DataIter):
    """Base of iterators that keep the current batch, from which the getters read."""

    current_batch: DataBatch | None = None

    def _current(self) -> DataBatch:
        if self.current_batch is None:
            raise DataFileError("There is no current batch.", hint="call next() or iter_next() first; "
                                "reset() starts the next epoch.")
        return self.current_batch

    def next(self) -> DataBatch:
        """The next batch; raises ``StopIteration`` at the end of the epoch."""
        if not self.iter_next():
            raise StopIteration
        return self._current()

    def getdata(self) -> NDArray | list[NDArray]:
        """Data of the current batch."""
        return self._current().data

    def getlabel(self) -> NDArray | list[NDArray]:
        """Labels of the current batch."""
        return self._current().label

    def getindex(self) -> Any:
        """Row numbers of the current batch."""
        return self._current().index

    def getpad(self) -> int | None:
        """Number of padding rows of the current batch."""
        return self._current().pad


class FileIter(BatchIter):
    """Base of iterators over files, whose batches hold one array of data and one of labels."""

    def getdata(self) -> NDArray:
        """Data of the current batch: one array, not a list."""
        return self._current().data[0]

    def getlabel(self) -> NDArray:
        """Labels of the current batch: one array, not a list."""
        return self._current().label[0]


class ResizeIter(BatchIter):
    """Iterate over another iterator in epochs of ``size`` batches.

    Parameters
    ----------
    data_iter : DataIter
        It is reset when it ends within an epoch.
    size : int
        Number of batches in an epoch, at least 0.
    reset_internal : bool
        Whether ``reset`` also resets ``data_iter``; if False, the next epoch continues at its current position.

    Raises
    ------
    ShapeError
        If ``size`` is negative.
    DataFileError
        While iterating, if ``data_iter`` has no batches.

    Examples
    --------
    >>> import sparsekit as mx
    >>> inner = mx.io.NDArrayIter(mx.nd.ones((6, 2)), batch_size=2)
    >>> len(list(mx.io.ResizeIter(inner, 5)))
    5
    """

    def __init__(self, data_iter: DataIter, size: int, reset_internal: bool = True) -> None:
        whole("size", size, hint="size is the number of batches.", error=ShapeError)
        super().__init__(data_iter.batch_size)
        self.data_iter, self.size, self.reset_internal = data_iter, size, reset_internal
        self.cur = 0
        self.provide_data: list[DataDesc] = data_iter.provide_data
        self.provide_label: list[DataDesc] = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    next = DataIter.next  # a batch without bucket_key, provide_data and provide_label, as in MXNet

    def reset(self) -> None:
        """Start the next epoch."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        """Move to the next batch; return False after ``size`` batches."""
        if self.cur == self.size:
            return False
        batch = next(self.data_iter, None)
        if batch is None:
            self.data_iter.reset()
            batch = next(self.data_iter, None)
        if batch is None:
            raise DataFileError("data_iter has no batches, not even after reset().",
                                hint="check that it has at least batch_size rows.")
        self.current_batch = batch
        self.cur += 1
        return True


def _renamed(iterators: list[DataIter], attribute: str, renames: Sequence[dict[str, Any]] | None) -> list[DataDesc]:
    """Descriptions of the arrays of all iterators, with their new names."""
    descriptions = []
    for place, iterator in enumerate(iterators):
        for entry in getattr(iterator, attribute):
            described = entry if isinstance(entry, DataDesc) else DataDesc(*entry)
            if renames is not None:
                described = DataDesc(renames[place].get(described.name, described.name), described.shape, described.dtype,
                                     described.layout)
            descriptions.append(described)
    return descriptions


class PrefetchingIter(BatchIter):
    """Prefetch the batches of one or several iterators, each in a thread, and combine their arrays into one batch.

    The next batch is read while the caller computes.  ``next`` raises the errors of the iterators; ``reset`` starts them
    again.  The program can end while a thread is still reading.

    Parameters
    ----------
    iters : DataIter or list of DataIter
        A batch has the arrays of all iterators, in order.  All must have the same number of batches.  Do not use them
        elsewhere before ``close``.
    rename_data, rename_label : list of dict, optional
        New names by old names, one dictionary for each iterator.

    Raises
    ------
    ShapeError
        If there are no iterators or the numbers of dictionaries differ; while iterating, if the iterators have different
        numbers of batches or rows.

    Examples
    --------
    >>> import sparsekit as mx
    >>> inner = mx.io.NDArrayIter(mx.nd.ones((6, 2)), batch_size=2)
    >>> [batch.data[0].shape for batch in mx.io.PrefetchingIter(inner)]
    [(2, 2), (2, 2), (2, 2)]
    """

    def __init__(self, iters: Any, rename_data: Sequence[dict[str, Any]] | None = None,
                 rename_label: Sequence[dict[str, Any]] | None = None) -> None:
        self.iters: list[DataIter] = iters if isinstance(iters, list) else [iters]
        self.n_iter = len(self.iters)
        if not self.iters:
            raise ShapeError("PrefetchingIter needs at least one iterator.", hint="pass at least one.")
        if any(renames is not None and len(renames) != self.n_iter for renames in (rename_data, rename_label)):
            raise ShapeError(f"{self.n_iter} iterators need {self.n_iter} dictionaries of new names.",
                             hint="pass {} to rename nothing.")
        self.rename_data, self.rename_label = rename_data, rename_label
        super().__init__(self.provide_data[0].shape[0])
        self._threads = Threads(self.n_iter, "sparsekit-prefetch")
        self._waiting: list[Future[Any]] = []
        self._submit()

    @property
    def provide_data(self) -> list[DataDesc]:
        """Descriptions of the data of all iterators."""
        return _renamed(self.iters, "provide_data", self.rename_data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Descriptions of the labels of all iterators."""
        return _renamed(self.iters, "provide_label", self.rename_label)

    def _submit(self) -> None:
        self._waiting = [self._threads.submit(next, iterator, None) for iterator in self.iters]

    def reset(self) -> None:
        """Start the next epoch of every iterator, after waiting for the prefetched batches, which are dropped."""
        for future in self._waiting:
            future.exception()
        for iterator in self.iters:
            iterator.reset()
        self.current_batch = None
        self._submit()

    def iter_next(self) -> bool:
        """Move to the next batch, waiting for it; return False at the end of the epoch."""
        if not self._waiting:
            return False  # an error was raised: reset() starts again
        errors = [future.exception() for future in self._waiting]
        if any(errors):
            self._waiting = []
            raise next(error for error in errors if error)
        batches = [future.result() for future in self._waiting]
        if None in batches:
            if any(batches):
                raise ShapeError("The iterators have different numbers of batches.", hint="use iterators of equal length.")
            return False
        if len({batch.pad for batch in batches}) > 1:
            raise ShapeError(f"The iterators' batches have different padding: {[batch.pad for batch in batches]} rows.",
                             hint="use iterators with equal numbers of rows.")
        self._submit()
        self.current_batch = DataBatch(
            [values for batch in batches for values in batch.data], [values for batch in batches for values in batch.label or ()],
            batches[0].pad, batches[0].index, provide_data=self.provide_data, provide_label=self.provide_label)
        return True

    def close(self) -> None:
        """End the threads once they have finished the current batch."""
        self._waiting = []
        self._threads.close()
