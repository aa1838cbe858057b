"""``NDArrayIter``: batches of arrays in memory, dense and sparse."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.checks import whole
from ..base.context import Context
from ..base.entry import entries
from ..base.errors import DataFileError, DTypeError, ShapeError, StorageTypeError, UnknownNameError
from ..base.rng import generator
from ..core import hooks
from ..core.indices import notice
from ..ndarray import NDArray, array, wrap
from ..ndarray.functions import F
from .data import DataBatch, DataDesc, DataIter

if TYPE_CHECKING:
    from ..base.types import Array, Indices


__all__ = ["NDArrayIter", "rows_of"]

HANDLES = ("pad", "discard", "roll_over")


def rows_of(x: NDArray, rows: Indices, axis: int = 0) -> NDArray:
    """The entries ``rows`` of one axis, in the storage type of the array; consecutive rows are sliced.

    Parameters
    ----------
    x : NDArray
    rows : numpy array of int64, shape (count,)
        Positions on the axis.
    axis : int
    """
    count = rows.shape[0]
    if count and rows[-1] - rows[0] == count - 1 and bool((rows[1:] - rows[:-1] == 1).all()):
        return F.slice_axis(x, axis=axis, begin=int(rows[0]), end=int(rows[-1]) + 1)
    return F.take(x, wrap(rows, Context("cpu", 0)).as_in_context(x.context), axis=axis, mode="raise")


def _named(arrays: object, name: str, subject: str) -> list[tuple[str, Any]]:
    """Pairs of name and array, sorted by name as in MXNet."""
    if arrays is None:
        arrays = []
    if not isinstance(arrays, (list, Mapping)) or hasattr(arrays, "tocsr"):  # a dok_matrix of scipy is a dict
        arrays = [arrays]
    if isinstance(arrays, list):
        arrays = {name: arrays[0]} if len(arrays) == 1 else {f"_{place}_{name}": part for place, part in enumerate(arrays)}
    pairs = []
    for key, values in arrays.items():
        try:
            pairs.append((key, values if isinstance(values, NDArray) else array(values)))
        except DTypeError as error:
            raise DTypeError(f"The {subject} {key!r} cannot be read as an array: {error.message}",
                             hint="pass an NDArray, a numpy array or a scipy matrix, or several in a list or dict.") from None
    return sorted(pairs, key=lambda item: item[0])


class NDArrayIter(DataIter):
    """Iterate over arrays in batches, in the storage types of the arrays.

    Differences from MXNet: sparse arrays work with every ``last_batch_handle``; partial and shuffled batches stay sparse;
    arrays of different lengths are refused, and labels that are longer than the data give a warning; ``batch.index`` holds
    the row numbers; shuffling uses the generator of ``mx.random.seed`` and does not change the arrays.

    Parameters
    ----------
    data : array, list of arrays, or dict of str to array
        NDArrays, dense or sparse, numpy arrays or scipy sparse matrices.  numpy arrays become float32, as in
        ``mx.nd.array``.  Several arrays in a list are named ``_0_data``, ``_1_data`` …; batches hold the arrays sorted by
        name.
    label : like ``data``, optional
    batch_size : int, default 1
    shuffle : bool
        Shuffle the rows in every epoch.  Default False.
    last_batch_handle : {"pad", "discard", "roll_over"}
        Treatment of rows that do not fill a batch: "pad" fills the batch with rows from the beginning, which ``batch.pad``
        counts; "discard" omits the rows; "roll_over" puts them at the beginning of the next epoch.
    data_name, label_name : str
        Name of a single array.
    layout : str
        Names of the axes; N is the axis of the rows.

    Attributes
    ----------
    data, label : list of (str, NDArray)
    num_data : int
        Number of rows.
    idx : numpy array of int64
        Order of the rows in this epoch.
    cursor : int
        Position in ``idx`` of the first row of the current batch; negative if the batch begins with rows of the last epoch.
    provide_data, provide_label : list of DataDesc

    Raises
    ------
    ShapeError
        If ``batch_size`` is not an integer of at least 1, if the layout has no N, or if the arrays have different numbers of
        rows or none.  Labels that are longer than the data give an ``IndexWarning``; ``config.indices = "error"`` makes this an
        error.
    DTypeError
        If an argument is not an array.
    StorageTypeError
        If the layout does not begin with N and an array is sparse.
    UnknownNameError
        If ``last_batch_handle`` is unknown.

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
        super().__init__(whole("batch_size", batch_size, 1, error=ShapeError))
        UnknownNameError.check("last_batch_handle", last_batch_handle, HANDLES)
        if "N" not in layout:
            raise ShapeError(f"The layout {layout!r} has no batch axis.", hint="name the batch axis N, as in 'NTC'.")
        self.layout, self.shuffle, self.last_batch_handle = layout, bool(shuffle), last_batch_handle
        self.data, self.label = _named(data, data_name, "data"), _named(label, label_name, "label")
        self.num_data = self._count()
        self.data_list = [values for _, values in self.data + self.label]
        self.num_source = len(self.data_list)
        self.idx = np.arange(self.num_data)
        self._carried = self.idx[:0]
        self.cursor = -self.batch_size
        self.reset()

    def _axis(self, x: NDArray) -> int:
        """The axis of the rows; 0 for arrays without the axis that the layout names, such as labels."""
        axis = self.layout.find("N")
        return axis if axis < x.ndim else 0

    def _count(self) -> int:
        """The number of rows of the data; raises if the arrays differ in it, but for labels behind the last row of the data."""
        if not self.data:
            raise ShapeError("There is no data to iterate over.", hint="pass at least one array.")
        counts = {}
        for name, values in self.data + self.label:
            axis = self._axis(values)
            if not values.ndim:
                raise ShapeError(f"{name!r} is a scalar, which has no rows.", hint="pass an array with an axis for the examples.")
            if axis and values.stype != "default":
                raise StorageTypeError(f"The batch axis of the {values.stype} array {name!r} must be its first, not axis {axis}.",
                                       hint="use a layout that begins with N.")
            counts[name] = values.shape[axis]
        rows, hint = next(iter(counts.values())), "pass one label for each row of data."
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{name} {count}" for name, count in counts.items())
            problem = f"The arrays have different numbers of rows: {listed}"
            if min(counts.values()) < rows or any(counts[name] != rows for name, _ in self.data):
                raise ShapeError(f"{problem}.", hint=hint)
            notice("NDArrayIter", f"{problem}; the first {rows} are read", hint, ShapeError)
        if not rows:
            raise ShapeError("The arrays must have at least one row.", hint="check the shapes of the arrays.")
        return int(rows)

    def _described(self, arrays: list[tuple[str, Any]]) -> list[DataDesc]:
        descriptions = []
        for name, values in arrays:
            axis = self._axis(values)
            descriptions.append(DataDesc(name, (*values.shape[:axis], self.batch_size, *values.shape[axis + 1:]),
                                         values.dtype.type, self.layout))
        return descriptions

    @property
    def provide_data(self) -> list[DataDesc]:
        """Name, shape and type of each data array of a batch."""
        return self._described(self.data)

    @property
    def provide_label(self) -> list[DataDesc]:
        """Name, shape and type of each label array of a batch."""
        return self._described(self.label)

    def hard_reset(self) -> None:
        """Start at the first row, and drop rows that would roll over."""
        self._carried = self.idx[:0]
        if self.shuffle:
            self.idx = generator().permutation(self.num_data)
        self.cursor = -self.batch_size

    def reset(self) -> None:
        """Start the next epoch; with ``roll_over`` and a finished epoch, it begins with the remaining rows of that epoch."""
        unfinished = self.num_data - self.batch_size < self.cursor < self.num_data
        if self.last_batch_handle != "roll_over" or not unfinished:
            self.hard_reset()
            return
        self._carried = self._rows()
        if self.shuffle:
            self.idx = generator().permutation(self.num_data)
        self.cursor -= self.num_data + self.batch_size

    def iter_next(self) -> bool:
        """Move to the next batch; return False at the end of the epoch."""
        self.cursor += self.batch_size
        return self.cursor < self.num_data

    def _rows(self) -> Array:
        """Row numbers of the current batch, including padding rows and rows of the last epoch."""
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
        batch = DataBatch(self._select(self.data, rows), self._select(self.label, rows), self.getpad(), rows.astype(np.uint64))
        if sink is not None:
            named = [(values, name) for (name, _), values in zip(self.data + self.label, batch.data + batch.label, strict=True)]
            sink.read("NDArrayIter", start, named, {"rows": len(rows), "pad": batch.pad})
        return batch

    def _select(self, arrays: list[tuple[str, Any]], rows: Array) -> list[Any]:
        return [rows_of(values, rows, self._axis(values)) for _, values in arrays]

    def getdata(self) -> list[Any]:
        """Data of the current batch."""
        return self._select(self.data, self._rows())

    def getlabel(self) -> list[Any]:
        """Labels of the current batch."""
        return self._select(self.label, self._rows())

    def getindex(self) -> Any:
        """Row numbers of the current batch, uint64."""
        return self._rows().astype(np.uint64)

    def getpad(self) -> int:
        """Number of padding rows at the end of the current batch; with ``roll_over``, of rows of the last epoch at its start."""
        if self.last_batch_handle == "roll_over" and -self.batch_size < self.cursor < 0:
            return -self.cursor
        return max(0, self.cursor + self.batch_size - self.num_data) if self.last_batch_handle == "pad" else 0


entries(globals(), __all__)
