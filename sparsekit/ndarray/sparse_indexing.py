"""Indexing of sparse arrays: rows, columns, steps, masks and single elements.

An int keeps its axis with one entry, so that ``csr[2]`` is a csr array of one row, as in MXNet.  Where every axis is
given by numbers, ``csr[1, 2]`` or ``csr[[0, 1], [2, 3]]``, the elements come as a dense array, as numpy picks them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arguments import unmasked
from ..base.errors import RowIndexError, ShapeError, UnsupportedError, expected, shown
from ..core import device
from ..core.arrays import wrap
from ..storage import RowSparse
from ..storage.convert import row_ids
from .functions import F
from .indexing import check_no_masks, is_doubtful, may_stand_for
from .ndarray import NDArray

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..base.types import Array


def select(x: NDArray, key: object) -> NDArray:
    """``x[key]`` of a sparse array.

    Raises
    ------
    RowIndexError
        If an index is outside its axis, or is not a valid index.
    ShapeError
        If a mask has another length than its axis.
    """
    places = places_of_mask(x, key)
    if places is not None:
        return _elements(x, *places)
    parts = parts_of_key(key, x.shape)
    if x.ndim == 2 and not any(isinstance(part, slice) for part in parts):
        return _elements(x, *parts)
    bounds = [part if isinstance(part, slice) else slice(part, part + 1) if isinstance(part, int) else slice(None)
              for part in parts]
    if any(bound != slice(None) for bound in bounds):
        x = F.slice(x, begin=tuple(bound.start for bound in bounds), end=tuple(bound.stop for bound in bounds),
                    step=tuple(bound.step for bound in bounds))
    for axis, part in enumerate(parts):
        if isinstance(part, np.ndarray):
            x = F.take(x, _array(part, x), axis=axis)
    return x


def _array(values: Array, like: NDArray) -> NDArray:
    return wrap(device.onto(values, like._ctx), like._ctx)


def _elements(x: NDArray, rows: npt.ArrayLike, columns: npt.ArrayLike) -> NDArray:
    """Single elements of a matrix, as a dense array of the shape that rows and columns broadcast to."""
    try:
        rows, columns = np.broadcast_arrays(np.atleast_1d(rows), np.atleast_1d(columns))
    except ValueError:
        raise ShapeError(f"{np.shape(rows)} rows and {np.shape(columns)} columns do not pair up.",
                         hint="give as many rows as columns; x[rows][:, columns] takes every combination.") from None
    return F._values_at(x, _array(np.ascontiguousarray(rows, np.int64), x), _array(np.ascontiguousarray(columns, np.int64), x))


def places_of_mask(x: NDArray, key: object) -> tuple[Any, Any] | None:
    """Rows and columns where a mask of the array's own shape is true; None if the key is not such a mask."""
    if isinstance(key, NDArray) and key.stype != "default":
        if x.ndim != 2 or key.shape != x.shape:
            raise ShapeError(f"A mask of shape {key.shape} does not fit shape {x.shape}.", hint="it needs the array's own shape.")
        store = key._store
        if isinstance(store, RowSparse):
            places, columns = np.nonzero(store.data)
            return store.indices[places], columns
        true = np.asarray(store.data != 0)
        return row_ids(store)[true], store.indices[true]
    values = _values(key) if isinstance(key, (np.ndarray, NDArray, list)) else None
    if values is not None:
        check_no_masks([(values, is_doubtful(key, values) and values.shape == x.shape)])
    if values is None or values.dtype != bool or values.ndim != 2:
        return None
    if x.shape != values.shape:
        raise ShapeError(f"A mask of shape {values.shape} does not fit shape {x.shape}.", hint="it needs the array's own shape.")
    rows, columns = np.nonzero(values)
    return rows, columns


def _values(part: object) -> Array:
    """An index array as numpy; MXNet's arrays are float32 by default, so whole floats are indices too."""
    try:
        values = part.asnumpy() if isinstance(part, NDArray) else np.asarray(unmasked(part))
    except ValueError as error:
        raise RowIndexError(f"{shown(part)} cannot be read as an index: {error}.",
                            hint="lists in lists must be of equal lengths.") from None
    if values.size == 0:
        return values if values.dtype == bool else values.astype(np.int64)
    if isinstance(part, NDArray) and values.dtype.kind == "f" and np.array_equal(values, np.trunc(values)):
        return values
    if values.dtype.kind not in "iub":
        raise RowIndexError(f"An array used as an index must hold integers or booleans, got {values.dtype}.",
                            hint="use integers, or booleans for a mask.")
    return values


def parts_of_key(key: object, shape: tuple[int, ...]) -> list[Any]:
    """One slice, number or array of numbers for each axis; numbers are checked and counted from the front."""
    indices = list(key) if isinstance(key, tuple) else [key]
    dots = [place for place, part in enumerate(indices) if part is Ellipsis]
    if len(dots) > 1:
        raise RowIndexError(f"{shown(key)} has more than one ellipsis.", hint="one '...' stands for all the axes left out.")
    place = dots[0] if dots else len(indices)
    missing = len(shape) - (len(indices) - len(dots))
    if missing < 0:
        raise RowIndexError(f"{shown(key)} names {len(indices) - len(dots)} axes, but shape {shape} has {len(shape)}.",
                            hint="give at most one index per axis.")
    indices[place: place + len(dots)] = [slice(None)] * missing
    parts = [_part(part, axis, size) for axis, (part, size) in enumerate(zip(indices, shape, strict=True))]
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    numbers = [(axis, index, _values(index)) for axis, index in enumerate(indices)
               if isinstance(index, (list, np.ndarray, NDArray))]
    check_no_masks([(values, is_doubtful(index, values) and may_stand_for(values.shape, shape[axis: axis + values.ndim]))
                    for axis, index, values in numbers if values.dtype != bool])
    mixed = any(isinstance(part, slice) for part in parts) or len(shape) != 2
    if mixed and (len(arrays) > 1 or any(array.ndim != 1 for array in arrays)):
        raise UnsupportedError("A sparse array takes one flat list of numbers beside slices.",
                               hint="index one axis after the other: x[rows][:, columns].")
    return parts


def _part(part: object, axis: int, size: int) -> int | slice | Array:
    if isinstance(part, slice):
        return _checked_slice(part)
    if isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_)):
        return int(_inside(np.asarray([part]), axis, size)[0])
    if not isinstance(part, (list, np.ndarray, NDArray)):
        raise RowIndexError(f"An index of a sparse array must be an integer, a slice or an array, got {part!r} of type "
                            f"{type(part).__name__}.",
                            hint="use integers, slices, lists or arrays of integers, or masks of booleans.")
    values = _values(part)
    if values.dtype == bool:
        if values.shape != (size,):
            raise ShapeError(f"A mask of shape {values.shape} does not fit the {size} entries of axis {axis}.",
                             hint="it needs one truth value per entry.")
        return np.flatnonzero(values)
    return int(_inside(values.reshape(1), axis, size)[0]) if values.ndim == 0 else _inside(values, axis, size)


def _checked_slice(part: slice) -> slice:
    for name in ("start", "stop", "step"):
        bound = getattr(part, name)
        if bound is not None and not hasattr(bound, "__index__"):
            raise RowIndexError(expected(f"The {name} of a slice", "an integer", bound), hint="None leaves it out.")
    bounds = [None if bound is None else bound.__index__() for bound in (part.start, part.stop, part.step)]
    if bounds[2] == 0:
        raise RowIndexError(f"{part!r} has a step of 0.", hint="a step is at least 1, or negative.")
    return slice(*bounds)


def _inside(values: Array, axis: int, size: int) -> Array:
    """Numbers counted from the front, all inside the axis."""
    outside = np.flatnonzero((values < -size) | (values >= size))
    if outside.size:
        noun = ("row", "column")[axis] if axis < 2 else f"entry of axis {axis}"
        raise RowIndexError(f"{noun.capitalize()} {values.reshape(-1)[outside[0]]} is outside the {size} {noun}s.",
                            hint=f"{noun}s run from {-size} to {size - 1}." if size else "the axis has no entries.")
    values = values.astype(np.int64)
    return np.where(values < 0, values + size, values)
