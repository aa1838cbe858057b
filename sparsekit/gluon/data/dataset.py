"""Data sets, and the transformations of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import unmasked
from ...base.dtypes import ELEMENT_TYPES
from ...base.entry import entry
from ...base.errors import DTypeError, RowIndexError, ShapeError, UnsupportedError, expected
from ...base.lazy import add_lazy_names
from ...io.array_iter import rows_of
from ...ndarray import NDArray, array
from ...ndarray.sparse_creation import csr_matrix
from ..utils import is_of_scipy, whole
from .sampler import FilterSampler, Sampler, SequentialSampler

if TYPE_CHECKING:
    from ...base.types import Array, Indices
    from ..types import Examples


__all__ = ["ArrayDataset", "Dataset", "SimpleDataset", "as_rows", "batch_of"]

add_lazy_names(globals())


def as_rows(data: object) -> Any:
    """A sparse matrix of scipy as a csr array of its element type, which has rows to choose; anything else as it is."""
    return csr_matrix(data) if is_of_scipy(data) else data


class Dataset:
    """Base of data sets: a subclass defines ``__getitem__``, which gives an example, and ``__len__``.

    Any object with a length that can be indexed by integers is a data set too, such as an array or a list.
    """

    def __getitem__(self, idx: int) -> Any:
        raise UnsupportedError(f"{type(self).__name__} does not say what its examples are.", hint="define __getitem__.")

    def __len__(self) -> int:
        raise UnsupportedError(f"{type(self).__name__} does not say how many examples it has.", hint="define __len__.")

    def filter(self, fn: Callable[[Any], Any]) -> Dataset:
        """The examples for which ``fn`` is true; it is called once for each, now."""
        return _SampledDataset(self, FilterSampler(fn, self))

    def shard(self, num_shards: int, index: int) -> Dataset:
        """One of ``num_shards`` parts whose lengths differ by 1 at most; shuffle after it, not before.

        Raises
        ------
        ShapeError
            If ``index`` is out of range.
        """
        count = whole("num_shards", num_shards, 1)
        if not 0 <= index < count:
            raise ShapeError(f"Part {index} is out of range for {count} parts.", hint="parts count from 0.")
        each, remainder = divmod(len(self), count)
        start = each * index + min(index, remainder)
        return _SampledDataset(self, SequentialSampler(each + (index < remainder), start))

    def take(self, count: int | None) -> Dataset:
        """The first ``count`` examples; all, if there are fewer or for None."""
        return _SampledDataset(self, SequentialSampler(len(self) if count is None else min(whole("count", count), len(self))))

    def sample(self, sampler: Sampler) -> Dataset:
        """The examples that a sampler chooses, in its order; it is iterated over once, now.

        Raises
        ------
        DTypeError
            If the argument is not a ``Sampler``.
        """
        if not isinstance(sampler, Sampler):
            raise DTypeError(expected("sampler", "a Sampler", type(sampler)), hint="see mx.gluon.data.Sampler.")
        return _SampledDataset(self, sampler)

    def transform(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """Apply ``fn`` to each example, whose parts are its arguments.

        Parameters
        ----------
        fn : callable
        lazy : bool
            Call ``fn`` each time an example is requested, as random transformations need.  False calls it for all examples
            now.
        """
        _require_function(fn)
        transformed = _TransformedDataset(self, fn)
        return transformed if lazy else SimpleDataset([transformed[number] for number in range(len(transformed))])

    def transform_first(self, fn: Callable[..., Any], lazy: bool = True) -> Dataset:
        """As ``transform``, for the first part of each example only: the data, but not the label."""
        _require_function(fn)
        return self.transform(_First(fn), lazy)


def _require_function(fn: Callable[..., Any] | _First) -> None:
    if not callable(fn):
        raise DTypeError(expected("fn", "a function of an example", type(fn)), hint="transform(lambda x: x / 255)")


class SimpleDataset(Dataset):
    """A list, an array, or another object with a length that takes numbers in brackets.

    Parameters
    ----------
    data : list, array or Dataset
    """

    def __init__(self, data: Examples) -> None:
        self._data = as_rows(data)

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> object:
        return self._data[idx]


class _First:
    """Apply a function to the first of several arguments; an object, so that worker processes can be sent it."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn

    def __call__(self, first: object, *others: object) -> object:
        return (self._fn(first), *others) if others else self._fn(first)


class _TransformedDataset(Dataset):
    """A data set seen through a function."""

    def __init__(self, data: Examples, fn: Callable[..., Any]) -> None:
        self._data, self._fn = data, fn

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, idx: int) -> object:
        item = self._data[idx]
        return self._fn(*item) if isinstance(item, tuple) else self._fn(item)


class _SampledDataset(Dataset):
    """The examples that a sampler chose."""

    def __init__(self, dataset: Examples, sampler: Sampler) -> None:
        self._dataset, self._rows = dataset, np.fromiter(sampler, np.int64)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, idx: int) -> object:
        return self._dataset[int(self._rows[idx])]


class ArrayDataset(Dataset):
    """Arrays of equal length side by side; an example is a tuple of their rows, or one row of a single array.

    A ``DataLoader`` selects the rows of a batch at once, for csr, row-sparse and dense arrays.

    Parameters
    ----------
    *args : arrays, matrices of scipy, lists or data sets
        A sparse matrix of scipy becomes a csr array of its element type.  The rows of a one-dimensional array are numpy
        scalars.  A row of a csr array is a csr array of one row.

    Raises
    ------
    ShapeError
        If there is no array, or the lengths differ.

    Examples
    --------
    >>> data = mx.nd.array([[1, 0], [0, 2]]).tostype("csr")
    >>> x, y = mx.gluon.data.ArrayDataset(data, mx.nd.array([5, 6]))[1]
    >>> x.stype, x.shape, y
    ('csr', (1, 2), np.float32(6.0))
    """

    @entry
    def __init__(self, *args: Examples) -> None:
        if not args:
            raise ShapeError("An ArrayDataset needs at least one array.", hint="ArrayDataset(data, label), for example.")
        arrays = [as_rows(arg) for arg in args]
        lengths = [_length_of(values) for values in arrays]
        if len(set(lengths)) > 1:
            raise ShapeError(f"The arrays have different lengths: {', '.join(map(str, lengths))}.",
                             hint="an example is one row of each.")
        self._length = lengths[0]
        self._data: list[Any] = [values.asnumpy() if isinstance(values, NDArray) and values.ndim == 1 else unmasked(values)
                                 for values in arrays]

    def __getitem__(self, idx: object) -> Any:  # Any: slices too; an example of any kind
        return self._data[0][idx] if len(self._data) == 1 else tuple(rows[idx] for rows in self._data)

    def __len__(self) -> int:
        return self._length


def _length_of(source: Examples) -> int:
    try:
        return len(source)
    except TypeError:
        raise DTypeError(expected("Each column of a data set", "a sequence with a length", type(source)),
                         hint="give arrays, lists or data sets of equal length.") from None


def batch_of(dataset: Any, rows: Indices) -> Any:
    """The batch of the examples ``rows``, made by array rather than by example; None if the data set does not allow it.

    Parameters
    ----------
    dataset : Dataset, array or list
    rows : numpy array of int64

    Returns
    -------
    array, list of arrays, or None
        What ``default_batchify_fn`` makes of the same examples.

    Raises
    ------
    RowIndexError
        If a number is outside the data set.
    """
    kind = type(dataset)
    if kind is ArrayDataset:
        parts = [_numpy_rows(values, rows) if isinstance(values, np.ndarray) else batch_of(values, rows)
                 for values in dataset._data]
        if any(part is None for part in parts):
            return None
        return parts[0] if len(parts) == 1 else parts
    if kind is SimpleDataset:
        return batch_of(dataset._data, rows)
    if kind is _SampledDataset:
        return batch_of(dataset._dataset, dataset._rows[_within(rows, len(dataset))])
    if isinstance(dataset, NDArray):
        return rows_of(dataset, _within(rows, len(dataset)) % max(1, len(dataset))) if dataset.ndim > 1 else None
    return _numpy_rows(dataset, rows) if isinstance(dataset, np.ndarray) else None


def _within(rows: Indices, length: int) -> Indices:
    outside = (rows < -length) | (rows >= length)
    if outside.any():
        raise RowIndexError(f"Example {int(rows[outside][0])} is out of range for {length} examples.", hint="check the sampler.")
    return rows


def _numpy_rows(values: Array, rows: Indices) -> NDArray | None:
    """Rows of a numpy array as an array of the library, of its element type; None if there is no such type."""
    if values.dtype.name not in ELEMENT_TYPES or not values.ndim:
        return None
    return array(values[_within(rows, len(values))], dtype=values.dtype)
