"""Batches of data iterators, their descriptions, and the base class of iterators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ..base.errors import DTypeError, UnsupportedError, expected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base.types import Array, DTypeLike


class _Named(NamedTuple):
    name: str
    shape: tuple[int, ...]


class DataDesc(_Named):
    """Name, shape, dtype and layout of one input; as a tuple, ``(name, shape)``.

    Parameters
    ----------
    name : str
    shape : tuple of int
        Shape of a whole batch.
    dtype : numpy dtype, default float32
    layout : str or None, default "NCHW"
        Names of the axes; N is the batch axis.
    """

    dtype: Any
    layout: str | None

    def __new__(cls, name: str, shape: tuple[int, ...], dtype: DTypeLike = np.float32, layout: str | None = "NCHW") -> Self:
        """Make the tuple, and set the attributes that are not items of it."""
        description = super().__new__(cls, name, shape)
        description.dtype, description.layout = dtype, layout
        return description

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.name, self.shape, self.dtype, self.layout

    def __repr__(self) -> str:
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout: str | None) -> int:
        """Position of the batch axis: 0 if the layout is None, -1 if it has no N."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes: Iterable[Any], types: Iterable[Any] | None) -> list[DataDesc]:
        """Descriptions from pairs (name, shape) and pairs (name, type)."""
        kinds = {} if types is None else dict(types)
        return [DataDesc(name, shape, kinds.get(name, np.float32)) for name, shape in shapes]


class DataBatch:
    """One batch of examples.

    Parameters
    ----------
    data : list of arrays, each with ``batch_size`` rows
    label : list of arrays, optional
    pad : int, optional
        Number of padding rows at the end of the batch.  Predictions for these rows must be discarded.
    index : array of uint64, shape (batch_size,), optional
        Row numbers of the examples.
    bucket_key, provide_data, provide_label : optional
        For modules that take batches of several shapes.

    Raises
    ------
    DTypeError
        If ``data`` or ``label`` is not a list.
    """

    def __init__(self, data: Sequence[Any] | None, label: Sequence[Any] | None = None, pad: int | None = None,
                 index: Array | None = None, bucket_key: object = None,
                 provide_data: Sequence[DataDesc | tuple[Any, ...]] | None = None,
                 provide_label: Sequence[DataDesc | tuple[Any, ...]] | None = None) -> None:
        if data is not None and not isinstance(data, (list, tuple)):
            raise _list_error("data", data)
        if label is not None and not isinstance(label, (list, tuple)):
            raise _list_error("label", label)
        self.data: Any = data
        self.label: Any = label
        self.pad = pad
        self.index: Any = index
        self.bucket_key, self.provide_data, self.provide_label = bucket_key, provide_data, provide_label

    def __str__(self) -> str:
        shapes = [getattr(array, "shape", None) for array in self.data or ()]
        labels = [getattr(array, "shape", None) for array in self.label] if self.label else None
        return f"{type(self).__name__}: data shapes: {shapes} label shapes: {labels}"

    __repr__ = __str__


def _list_error(name: str, arrays: object) -> DTypeError:
    return DTypeError(expected(f"The {name} of a batch", "a list of arrays", type(arrays)),
                      hint=f"DataBatch({name}=[array]).")


class DataIter:
    """Base of data iterators: ``for batch in iterator``, then ``reset()`` for the next epoch.

    A subclass defines ``iter_next`` and the four getters.

    Parameters
    ----------
    batch_size : int
        Number of examples in a batch.
    """

    #: Descriptions of the data and the labels of a batch, which a subclass sets.
    provide_data: Any
    provide_label: Any

    def __init__(self, batch_size: int = 0) -> None:
        self.batch_size = batch_size

    def __iter__(self) -> DataIter:
        return self

    def __next__(self) -> DataBatch:
        return self.next()

    def next(self) -> DataBatch:
        """The next batch; raises ``StopIteration`` at the end of the epoch."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def reset(self) -> None:
        """Go back to the beginning."""

    def iter_next(self) -> bool:
        """Move to the next batch; return False at the end of the epoch."""
        raise UnsupportedError(f"{type(self).__name__} does not define iter_next().",
                               hint="define iter_next, getdata, getlabel and getpad.")

    def getdata(self) -> Any:  # Any: a list of arrays; of an iterator of one array, the array
        """Data of the current batch."""

    def getlabel(self) -> Any:  # Any: a list of arrays; of an iterator of one array, the array
        """Labels of the current batch."""

    def getindex(self) -> Any:
        """Row numbers of the current batch."""

    def getpad(self) -> int | None:
        """Number of padding rows of the current batch."""
