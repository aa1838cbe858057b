"""Functions that make a batch of a list of examples; sparse rows give a sparse batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import unmasked
from ...base.dtypes import element_type
from ...base.errors import DTypeError, ShapeError
from ...ndarray import NDArray, array
from ...ndarray.functions import F

if TYPE_CHECKING:
    from ...base.types import DTypeLike


def default_batchify_fn(data: Sequence[Any]) -> Any:
    """Make a batch of examples: arrays are stacked, numbers become an array, and each part of a tuple becomes a batch.

    Rows of csr and row-sparse arrays are arrays of one row.  They are stacked vertically, and the batch has the same storage
    type.

    Parameters
    ----------
    data : list of examples
        NDArrays, tuples, or values that ``numpy.asarray`` accepts.

    Returns
    -------
    NDArray, or list of NDArray for tuples
        The batch has the element type of the examples.

    Raises
    ------
    DTypeError
        If the examples are text or objects.
    ShapeError
        If the examples have different shapes or lengths.

    Examples
    --------
    >>> mx.gluon.data.default_batchify_fn([(1.5, 0), (2.5, 1)])[1].asnumpy().tolist()
    [0, 1]
    """
    first = data[0]
    if isinstance(first, NDArray):
        return _stacked_arrays(data)
    if isinstance(first, tuple):
        if any(len(example) != len(first) for example in data):
            raise ShapeError("The examples have different numbers of parts.", hint="each is a tuple of the same length.")
        return [default_batchify_fn(part) for part in zip(*data, strict=True)]
    try:
        values = np.asarray(unmasked(data))
    except ValueError as error:
        raise ShapeError(f"The examples have different shapes: {error}.", hint="batchify.Pad makes them equal.") from None
    return array(values, dtype=values.dtype)


#: MXNet's name for the one that worker processes use; here it is the same.
default_mp_batchify_fn = default_batchify_fn


def _stacked_arrays(data: Sequence[Any]) -> NDArray:
    """Arrays in one: sparse ones row below row, dense ones along a new axis."""
    shapes = {example.shape[1:] if example.stype != "default" else example.shape for example in data}
    if len(shapes) > 1:
        raise ShapeError(f"The examples have different shapes: {', '.join(map(str, sorted(shapes)))}.",
                         hint="batchify.Pad makes dense ones equal.")
    if all(example.stype != "default" for example in data):
        return F.concat(*data, dim=0) if len(data) > 1 else data[0].copy()
    return F.stack(*data, axis=0)


class Stack:
    """Put examples of one shape into one array, as ``default_batchify_fn`` does, but tuples as rows.

    Parameters
    ----------
    dtype : optional
        Element type of the batch; by default that of the examples.
    """

    def __init__(self, dtype: DTypeLike = None, use_shared_mem: bool = False) -> None:
        self._dtype = None if dtype is None else element_type(dtype)

    def __call__(self, data: Sequence[Any]) -> NDArray:
        batch = default_batchify_fn([list(example) if isinstance(example, tuple) else example for example in data])
        return batch if self._dtype is None else batch.astype(self._dtype, copy=False)


class Pad:
    """Make arrays equally long by values at the end, and stack them.

    Parameters
    ----------
    axis : int, optional
        The axis that is padded; None pads all axes.
    pad_val : number
        Value of the padding.  MXNet 2's name ``val`` is accepted too.
    ret_length : bool
        Also return the lengths before padding, as an int32 array of shape (batch,).
    dtype : optional
        Element type of the batch; by default that of the first example.
    round_to : int, optional
        Pad to a multiple of this length.

    Examples
    --------
    >>> pad = mx.gluon.data.batchify.Pad(pad_val=-1)
    >>> pad([np.array([1, 2, 3]), np.array([4])]).asnumpy().tolist()
    [[1, 2, 3], [4, -1, -1]]
    """

    def __init__(self, axis: int | None = 0, pad_val: float = 0, ret_length: bool = False, dtype: DTypeLike = None,
                 round_to: int | None = None, val: float | None = None, use_shared_mem: bool = False) -> None:
        if ret_length and axis is None:
            raise ShapeError("ret_length=True needs axis=.", hint="axis=0 gives the lengths along axis 0.")
        self._axis, self._value, self._lengths = axis, pad_val if val is None else val, ret_length
        self._dtype, self._round = None if dtype is None else element_type(dtype), round_to or 1

    def __call__(self, data: Sequence[Any]) -> Any:  # Any: an array, or two for ``ret_length``
        dense = [example.asnumpy() if isinstance(example, NDArray) and example.stype == "default" else example
                 for example in data]
        if any(isinstance(example, NDArray) for example in dense):
            raise DTypeError("Pad takes dense examples; the columns of sparse ones need no padding.",
                             hint="Stack puts sparse rows below one another.")
        values = [np.asarray(example) for example in dense]
        shape = self._shape([value.shape for value in values])
        padded = np.full((len(values), *shape), self._value, self._dtype or values[0].dtype)
        for place, value in enumerate(values):
            corner: Any = (place, *(slice(size) for size in value.shape))
            padded[corner] = value
        batch = array(padded, dtype=padded.dtype)
        if not self._lengths or self._axis is None:
            return batch
        return batch, array([value.shape[self._axis] for value in values], dtype="int32")

    def _shape(self, shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
        """The shape that all of them fit into."""
        if len({len(shape) for shape in shapes}) > 1:
            raise ShapeError("The examples have different numbers of axes.", hint="padding changes lengths only.")
        axes = range(len(shapes[0])) if self._axis is None else [range(len(shapes[0]))[self._axis]]
        shape = [-(-max(sizes) // self._round) * self._round if axis in axes else sizes[0]
                 for axis, sizes in enumerate(zip(*shapes, strict=True))]
        if any(size != length for lengths in shapes for axis, (size, length) in enumerate(zip(shape, lengths, strict=True))
               if axis not in axes):
            raise ShapeError(f"Only axis {self._axis} is padded, but the examples differ elsewhere: "
                             f"{', '.join(map(str, sorted(set(shapes))))}.", hint="axis=None pads every axis.")
        return tuple(shape)


class Append:
    """Give the examples as a list of arrays, each with a first axis of length 1: for shapes that differ.

    Parameters
    ----------
    expand : bool
        Whether the new axis is added.
    batch_axis : int
        Position of the new axis.
    """

    def __init__(self, expand: bool = True, batch_axis: int = 0, use_shared_mem: bool = False) -> None:
        self._expand, self._axis = expand, batch_axis

    def __call__(self, data: Sequence[Any]) -> list[Any]:
        examples = [example if isinstance(example, NDArray) else default_batchify_fn([example])[0] for example in data]
        return [F.expand_dims(example, axis=self._axis) if self._expand and example.stype == "default" else example
                for example in examples]


class AsList:
    """Give the examples as they are, in a list: text, for example."""

    def __call__(self, data: Sequence[Any]) -> list[Any]:
        return list(data)


class Group:
    """Treat each part of the examples by a function of its own.

    Parameters
    ----------
    *fn : callables, or one list of them
        One function for each part of an example.

    Examples
    --------
    >>> batchify = mx.gluon.data.batchify
    >>> data, label = batchify.Group(batchify.Pad(), batchify.Stack())([([1, 2], 0), ([3], 1)])
    >>> data.asnumpy().tolist(), label.asnumpy().tolist()
    ([[1, 2], [3, 0]], [0, 1])
    """

    def __init__(self, *fn: Callable[..., Any] | Sequence[Callable[..., Any]]) -> None:
        first = fn[0] if len(fn) == 1 else None
        self._functions: tuple[Any, ...] = tuple(first) if isinstance(first, (list, tuple)) else fn
        if not self._functions or not all(map(callable, self._functions)):
            raise DTypeError("Group must be given one function for each part of the examples.",
                             hint="Group(Pad(), Stack()), for example.")

    def __call__(self, data: Sequence[Any]) -> tuple[Any, ...]:
        if any(len(example) != len(self._functions) for example in data):
            raise ShapeError(f"The examples do not have {len(self._functions)} parts each.",
                             hint="give a function for each part.")
        return tuple(function(part) for function, part in zip(self._functions, zip(*data, strict=True), strict=True))


#: The name that GluonNLP gives it.
Tuple = Group
