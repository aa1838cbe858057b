"""Iterators around iterators: epochs of another length, and batches that are made ahead."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ..base.errors import DataFileError, ShapeError, expected
from ..base.workers import Threads
from .data import DataBatch, DataDesc, DataIter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ndarray.ndarray import NDArray


__all__ = ["PrefetchingIter", "ResizeIter"]


class _Held(DataIter):
    """An iterator that keeps its current batch, which the getters read."""

    current_batch: DataBatch | None = None

    def _current(self) -> DataBatch:
        if self.current_batch is None:
            raise DataFileError("There is no current batch.", hint="call next() or iter_next() first.")
        return self.current_batch

    def getdata(self) -> list[NDArray]:
        """Data of the current batch."""
        return self._current().data

    def getlabel(self) -> list[NDArray]:
        """Labels of the current batch."""
        return self._current().label

    def getindex(self) -> Any:
        """Row numbers of the current batch."""
        return self._current().index

    def getpad(self) -> int | None:
        """Rows that only fill the current batch up."""
        return self._current().pad


class ResizeIter(_Held):
    """Give epochs of ``size`` batches, whatever the iterator inside has.

    Parameters
    ----------
    data_iter : DataIter
        It begins anew when it ends within an epoch.
    size : int
        Batches an epoch.
    reset_internal : bool
        Whether ``reset`` resets ``data_iter`` too; False goes on where it stands.

    Raises
    ------
    DataFileError
        If ``data_iter`` has no batch at all.

    Examples
    --------
    >>> import sparsekit as mx
    >>> inner = mx.io.NDArrayIter(mx.nd.ones((6, 2)), batch_size=2)
    >>> len(list(mx.io.ResizeIter(inner, 5)))
    5
    """

    def __init__(self, data_iter: DataIter, size: int, reset_internal: bool = True) -> None:
        if size < 0:
            raise ShapeError(expected("size", "at least 0", size), hint="size counts batches.")
        super().__init__(data_iter.batch_size)
        self.data_iter, self.size, self.reset_internal = data_iter, size, reset_internal
        self.cur = 0
        self.provide_data: list[DataDesc] = data_iter.provide_data
        self.provide_label: list[DataDesc] = data_iter.provide_label
        if hasattr(data_iter, "default_bucket_key"):
            self.default_bucket_key = data_iter.default_bucket_key

    def reset(self) -> None:
        """Start the next epoch."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def iter_next(self) -> bool:
        """Move to the next batch; False after ``size`` of them."""
        if self.cur == self.size:
            return False
        batch = next(self.data_iter, None)
        if batch is None:
            self.data_iter.reset()
            batch = next(self.data_iter, None)
        if batch is None:
            raise DataFileError("The iterator inside has no batch, not even after reset().",
                                hint="check that it has at least batch_size rows.")
        self.current_batch = batch
        self.cur += 1
        return True


def _renamed(iterators: list[DataIter], attribute: str, renames: Sequence[dict[str, Any]] | None) -> list[DataDesc]:
    """Descriptions of what all iterators give, under their new names."""
    found = []
    for place, one in enumerate(iterators):
        for given in getattr(one, attribute):
            described = given if isinstance(given, DataDesc) else DataDesc(*given)
            if renames is not None:
                described = DataDesc(renames[place].get(described.name, described.name), described.shape, described.dtype,
                                     described.layout)
            found.append(described)
    return found


class PrefetchingIter(_Held):
    """Make batches ahead in threads, one for each of several iterators, whose arrays go into one batch.

    While the caller computes, the next batch is read.  What an iterator raises, the caller's ``next``
    raises; after ``reset`` it goes on.  A batch that hangs does not keep the program from ending.

    Parameters
    ----------
    iters : DataIter or list of DataIter
        Their arrays follow one another in the batches; all must end at the same time.  They belong to this
        iterator: do not use them otherwise until ``close``.
    rename_data, rename_label : list of dict, optional
        New names by old names, for each iterator.

    Raises
    ------
    ShapeError
        Without iterators, or if their batches do not go together.

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
            raise ShapeError(f"{self.n_iter} iterators need as many dictionaries of new names.", hint="{} renames nothing.")
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
        self._waiting = [self._threads.submit(next, one, None) for one in self.iters]

    def reset(self) -> None:
        """Start the next epoch of every iterator; a batch that is being made is waited for and dropped."""
        for future in self._waiting:
            future.exception()
        for one in self.iters:
            one.reset()
        self.current_batch = None
        self._submit()

    def iter_next(self) -> bool:
        """Move to the next batch, waiting for it; False at the end of the epoch."""
        if not self._waiting:
            return False  # an error was raised: reset() goes on
        errors = [future.exception() for future in self._waiting]
        if any(errors):
            self._waiting = []
            raise next(error for error in errors if error)
        batches = [future.result() for future in self._waiting]
        if None in batches:
            if any(batches):
                raise ShapeError("One iterator has ended, another has not.", hint="they must have equally many batches.")
            return False
        if len({batch.pad for batch in batches}) > 1:
            raise ShapeError(f"The iterators' batches are padded by {[batch.pad for batch in batches]} rows.",
                             hint="they must have equally many rows.")
        self._submit()
        self.current_batch = DataBatch(
            [one for batch in batches for one in batch.data], [one for batch in batches for one in batch.label or ()],
            batches[0].pad, batches[0].index, provide_data=self.provide_data, provide_label=self.provide_label)
        return True

    def next(self) -> DataBatch:
        """The next batch; raises ``StopIteration`` at the end of the epoch."""
        if not self.iter_next():
            raise StopIteration
        return self._current()

    def close(self) -> None:
        """End the threads, after the batch that they are making."""
        self._waiting = []
        self._threads.close()
