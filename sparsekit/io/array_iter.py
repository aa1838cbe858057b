"""``NDArrayIter``: batches out of arrays in memory, dense and sparse."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.context import Context
from ..base.entry import entries
from ..base.errors import DataFileError, DTypeError, ShapeError, StorageTypeError, UnknownNameError, expected
from ..base.rng import generator
from ..core import hooks
from ..ndarray import NDArray, array, wrap
from ..ndarray.functions import F
from .data import DataBatch, DataDesc, DataIter

if TYPE_CHECKING:
    from ..base.types import Array, Indices


__all__ = ["NDArrayIter", "rows_of"]

HANDLES = ("pad", "discard", "roll_over")


def rows_of(x: NDArray, rows: Indices, axis: int = 0) -> NDArray:
    """The entries ``rows`` of one axis, in the array's own storage type; neighbours are sliced rather than picked.

    Parameters
    ----------
    x : NDArray
    rows : numpy array of int64, shape (count,)
        Numbers within the axis.
    axis : int
    """
    count = rows.shape[0]
    if count and rows[-1] - rows[0] == count - 1 and bool((rows[1:] - rows[:-1] == 1).all()):
        return F.slice_axis(x, axis=axis, begin=int(rows[0]), end=int(rows[-1]) + 1)
    return F.take(x, wrap(rows, Context("cpu", 0)).as_in_context(x.context), axis=axis, mode="raise")


def _named(arrays: object, name: str, what: str) -> list[tuple[str, Any]]:
    """Arrays with their names, in the order of the names, as MXNet has it."""
    if arrays is None:
        arrays = []
    if not isinstance(arrays, (list, Mapping)):
        arrays = [arrays]
    if isinstance(arrays, list):
        arrays = {name: arrays[0]} if len(arrays) == 1 else {f"_{place}_{name}": one for place, one in enumerate(arrays)}
    found = []
    for key, one in arrays.items():
        try:
            found.append((key, one if isinstance(one, NDArray) else array(one)))
        except DTypeError as error:
            raise DTypeError(f"The {what} {key!r} cannot be read as an array: {error.message}",
                             hint="pass arrays of this library, of numpy or of scipy, in a list or dict if there are several.",
                             ) from None
    return sorted(found, key=lambda item: item[0])


class NDArrayIter(DataIter):
    """Iterate over arrays in batches; csr arrays give csr batches and row-sparse ones row-sparse batches.

    As MXNet's, with these differences: sparse arrays go with every ``last_batch_handle``, the short and the
    shuffled batches stay sparse, all arrays must have equally many rows, ``batch.index`` holds the numbers of
    the rows, and shuffling draws from ``mx.random.seed``'s generator and leaves the arrays as they are.

    Parameters
    ----------
    data : array, list of arrays, or dict of str to array
        Of this library, dense or sparse, of numpy, or scipy's sparse matrices; numpy's become float32, as with
        ``mx.nd.array``.  Several arrays in a list are named ``_0_data``, ``_1_data`` …; batches hold them in
        the order of their names.
    label : like ``data``, optional
    batch_size : int
    shuffle : bool
        Give the rows in a new order each epoch.
    last_batch_handle : {"pad", "discard", "roll_over"}
        What to do with rows that fill no batch: fill the batch with rows from the beginning, which
        ``batch.pad`` counts; leave them out; or let them begin the next epoch.
    data_name, label_name : str
        Names of single arrays.
    layout : str
        The axes; N counts the rows.

    Attributes
    ----------
    data, label : list of (str, NDArray)
    num_data : int
        Rows.
    idx : numpy array of int64
        The order of the rows in this epoch.
    cursor : int
        Where the current batch begins in ``idx``; negative if it begins with rows of the epoch before.
    provide_data, provide_label : list of DataDesc

    Raises
    ------
    ShapeError
        For arrays of different lengths, without rows, or without the batch axis.
    DTypeError
        If an argument is not an array.
    StorageTypeError
        If rows of a sparse array are not along its first axis.
    UnknownNameError
        For another ``last_batch_handle``.

    Examples
    --------
    >>> import sparsekit as mx
    >>> data = mx.nd.array([[1, 0], [0, 2], [3, 0]]).tostype("csr")
    >>> for batch in mx.io.NDArrayIter(data, mx.nd.array([0, 1, 2]), batch_size=2):
    ...     print(batch.data[0].stype, batch.label[0].asnumpy().tolist(), batch.pad)
    csr [0.0, 1.0] 0
    csr [2.0, 0.0] 1
    """

    def __init__(self, data: Any, label: object = None, batch_size: int = 1, shuffle: bool = False,
                 last_batch_handle: str = "pad", data_name: str = "data", label_name: str = "softmax_label",
                 layout: str = "NCHW") -> None:
        if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
            raise ShapeError(expected("batch_size", "an integer of at least 1", batch_size), hint="batch_size=32, say.")
        super().__init__(int(batch_size))
        if last_batch_handle not in HANDLES:
            raise UnknownNameError.of("last_batch_handle", last_batch_handle, HANDLES)
        if "N" not in layout:
            raise ShapeError(f"The layout {layout!r} has no batch axis.", hint="N stands for it, as in 'NTC'.")
        self.layout, self.shuffle, self.last_batch_handle = layout, bool(shuffle), last_batch_handle
        self.data, self.label = _named(data, data_name, "data"), _named(label, label_name, "label")
        self.num_data = self._count()
        self.data_list = [one for _, one in self.data + self.label]
        self.num_source = len(self.data_list)
        self.idx = np.arange(self.num_data)
        self._carried = self.idx[:0]
        self.cursor = -self.batch_size
        self.reset()

    def _axis(self, x: NDArray) -> int:
        """The axis that counts the rows; labels of one axis have no other."""
        axis = self.layout.find("N")
        return axis if axis < x.ndim else 0

    def _count(self) -> int:
        """Rows of all the arrays."""
        if not self.data:
            raise ShapeError("There is no data to iterate over.", hint="pass at least one array.")
        counts = {}
        for name, one in self.data + self.label:
            axis = self._axis(one)
            if not one.ndim:
                raise ShapeError(f"{name!r} is a single number, which has no rows.", hint="give it an axis for the examples.")
            if axis and one.stype != "default":
                raise StorageTypeError(f"Rows of the {one.stype} array {name!r} are on its first axis, not on axis {axis}.",
                                       hint="use a layout that begins with N.")
            counts[name] = one.shape[axis]
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{name} {count}" for name, count in counts.items())
            raise ShapeError(f"The arrays have different numbers of rows: {listed}.", hint="data and labels go row by row.")
        found = next(iter(counts.values()))
        if not found:
            raise ShapeError("The arrays must have at least one row.", hint="there is nothing to iterate over.")
        return int(found)

    def _described(self, arrays: list[tuple[str, Any]]) -> list[DataDesc]:
        found = []
        for name, one in arrays:
            axis = self._axis(one)
            found.append(DataDesc(name, (*one.shape[:axis], self.batch_size, *one.shape[axis + 1:]), one.dtype.type, self.layout))
        return found

    @property
    def provide_data(self) -> list[DataDesc]:
        """Name, shape and type of each data array of a batch."""
        return self._described(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Name, shape and type of each label array of a batch."""
        return self._described(self.label)

    def hard_reset(self) -> None:
        """Start anew at the first row, without the rows that were to roll over."""
        self._carried = self.idx[:0]
        if self.shuffle:
            self.idx = generator().permutation(self.num_data)
        self.cursor = -self.batch_size

    def reset(self) -> None:
        """Start the next epoch; with ``roll_over``, and if the last one was finished, with the rows it left over."""
        unfinished = self.num_data - self.batch_size < self.cursor < self.num_data
        if self.last_batch_handle != "roll_over" or not unfinished:
            self.hard_reset()
            return
        self._carried = self._rows()
        if self.shuffle:
            self.idx = generator().permutation(self.num_data)
        self.cursor -= self.num_data + self.batch_size

    def iter_next(self) -> bool:
        """Move to the next batch; False at the end of the epoch."""
        self.cursor += self.batch_size
        return self.cursor < self.num_data

    def _rows(self) -> Array:
        """Numbers of the rows in the current batch, those that fill it up or were carried over among them."""
        if not -self.batch_size < self.cursor < self.num_data:
            raise DataFileError("There is no current batch.", hint="call next() or iter_next() first; "
                                "reset() starts the next epoch.")
        stop = self.cursor + self.batch_size
        if self.cursor < 0:
            return np.concatenate([self._carried, self.idx[:max(0, min(stop, self.num_data))]])
        if stop > self.num_data and self.last_batch_handle == "pad":
            return self.idx[np.arange(self.cursor, stop) % self.num_data]
        return self.idx[self.cursor:stop]

    def next(self) -> DataBatch:
        """The next batch; raises ``StopIteration`` at the end of the epoch."""
        sink = hooks.sink
        start = time.perf_counter_ns() if sink is not None else 0
        if not self.iter_next():
            raise StopIteration
        rows = self._rows()
        if len(rows) != self.batch_size:
            raise StopIteration
        batch = DataBatch(self._taken(self.data, rows), self._taken(self.label, rows), self.getpad(), rows.astype(np.uint64))
        if sink is not None:
            named = [(one, name) for (name, _), one in zip(self.data + self.label, batch.data + batch.label, strict=True)]
            sink.read("NDArrayIter", start, named, {"rows": len(rows), "pad": batch.pad})
        return batch

    def _taken(self, arrays: list[tuple[str, Any]], rows: Array) -> list[Any]:
        return [rows_of(one, rows, self._axis(one)) for _, one in arrays]

    def getdata(self) -> list[Any]:
        """Data of the current batch."""
        return self._taken(self.data, self._rows())

    def getlabel(self) -> list[Any]:
        """Labels of the current batch."""
        return self._taken(self.label, self._rows())

    def getindex(self) -> Any:
        """Row numbers of the current batch, uint64."""
        return self._rows().astype(np.uint64)

    def getpad(self) -> int:
        """Rows at the end that fill the current batch up, or with ``roll_over`` those at its start that were left over."""
        if self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < 0:
            return -self.cursor
        return max(0, self.cursor + self.batch_size - self.num_data) if self.last_batch_handle == "pad" else 0


entries(globals(), __all__)
