"""Indexing of dense arrays: ``x[key]`` and ``x[key] = value``."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.arguments import unmasked
from ..base.errors import DTypeError, RowIndexError, ShapeError, expected, shown
from ..core import hooks

if TYPE_CHECKING:
    from ..base.types import Array


def split_key(key: object, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], list[Any]]:
    """A key as a hashable attribute, in which ``("array", i)`` stands for the i-th of the index arrays given with it.

    Slices travel as ``("slice", start, stop, step)``; see ``ops.index.decode``.  Masks become the places where they are
    true, and have the sizes of the axes of ``shape`` that they stand for.  Arrays of floats are positions too, since MXNet's
    arrays are float32 by default; see ``check_no_masks``.
    """
    arrays: list[Any] = []
    parts: list[Any] = []
    index_arrays: list[tuple[int, Array, bool]] = []
    for part in key if isinstance(key, tuple) else (key,):
        if part is None:
            parts.append(None)
        elif part is Ellipsis:
            parts.append("...")
        elif isinstance(part, slice):
            parts.append(("slice", *(_bound(part, name) for name in ("start", "stop", "step"))))
        elif isinstance(part, (int, np.integer)) and not isinstance(part, bool):
            parts.append(int(part))
        else:
            array = _array(part)
            if array.ndim:
                index_arrays.append((len(parts), array, is_doubtful(part, array)))
            for places in array.nonzero() if array.dtype == bool else (array.astype(np.int64),):
                if places.ndim == 0:
                    parts.append(int(places))
                else:
                    parts.append(("array", len(arrays)))
                    arrays.append(places)
    if index_arrays:
        _check_masks(parts, index_arrays, shape)
    return tuple(parts), arrays


def _check_masks(parts: list[Any], index_arrays: list[tuple[int, Array, bool]], shape: tuple[int, ...]) -> None:
    """Raise for masks that do not have the sizes of their axes, and for positions that may be masks, also such masks."""

    def axes(some: list[Any]) -> int:
        return sum(part is not None and part != "..." for part in some)

    positions = []
    for place, array, doubtful in index_arrays:
        is_mask = array.dtype == bool
        behind = parts[place + (array.ndim if is_mask else 1):]
        start = len(shape) - axes(behind) - array.ndim if "..." in parts[:place] else axes(parts[:place])
        sizes = shape[max(start, 0): start + array.ndim]
        if is_mask and array.shape != sizes:
            raise RowIndexError(f"A mask of shape {array.shape} does not fit axis {start} of an array of shape {shape}.",
                                hint="a mask must have the shape of the axes that it replaces.")
        if not is_mask:
            positions.append((array, doubtful and may_stand_for(array.shape, sizes)))
    check_no_masks(positions)


def may_stand_for(shape: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    """Whether a mask of this shape may be meant for axes of these sizes: also what ``keepdims=True`` leaves of them."""
    kept = [size for size in shape if size != 1]
    return shape == sizes or (len(shape) == len(sizes) and bool(kept) and all(
        length in (1, size) for length, size in zip(shape, sizes, strict=True)))


def is_doubtful(part: object, array: Array) -> bool:
    """Whether zeros and ones in a key may be a mask: comparisons give one in the type of their arrays, which asnumpy() keeps."""
    return array.dtype.kind == "f" or (array.dtype != bool and hasattr(part, "_store"))


def check_no_masks(positions: list[tuple[Array, bool]]) -> None:
    """Raise for positions that may be a mask: zeros and ones, where the second of a pair says that type and shape allow it.

    Beside other positions of the same shape they are rows or columns of single elements, ``x[rows, columns]``, since a mask
    would need as many ones there.

    Raises
    ------
    RowIndexError
        If there are any.
    """
    doubtful = [bool(fits and array.size and ((array == 0) | (array == 1)).all()) for array, fits in positions]
    clear = {array.shape for (array, _), doubt in zip(positions, doubtful, strict=True) if not doubt}
    for (array, _), doubt in zip(positions, doubtful, strict=True):
        if doubt and (array.shape not in clear or array.all()):
            raise RowIndexError(f"An index of shape {array.shape} that holds only zeros and ones of {array.dtype} may be a mask, "
                                "as a comparison makes it, or positions.",
                                hint='astype("bool") makes a mask of it, and asnumpy().astype("int32") makes positions.')


def _bound(part: slice, name: str) -> int | None:
    bound = getattr(part, name)
    try:
        bound = None if bound is None else operator.index(bound)
    except TypeError:
        raise RowIndexError(expected(f"The {name} of a slice", "an integer", bound), hint="None leaves it out.") from None
    if name == "step" and bound == 0:
        raise RowIndexError(f"{part!r} has a step of 0.", hint="a step is at least 1, or negative.")
    return bound


def _array(part: object) -> Array:
    """The array of indices, or the mask, that one part of a key is."""
    store = list(part) if isinstance(part, range) else getattr(part, "_store", part)
    if hooks.state.tracing and hasattr(part, "_store"):
        from ..core.trace import refuse  # needs the array classes, and is not needed before a block is traced

        raise refuse("an array was an index while a hybridized block was traced, and which entries it names depends on values.",
                     hint="F.take, F.pick, F.gather_nd and F.contrib.boolean_mask choose by arrays.")
    if not isinstance(store, (np.ndarray, list, tuple)) and not hasattr(store, "__cuda_array_interface__"):
        raise RowIndexError(f"An index must be an integer, a slice or an array, got {part!r} of type {type(part).__name__}.",
                            hint="use integers, slices, lists or arrays of integers, or masks of booleans.")
    try:
        indices = np.asarray(store.get() if hasattr(store, "get") else unmasked(store))
    except ValueError as error:
        raise RowIndexError(f"{shown(part)} cannot be read as an index: {error}.",
                            hint="lists in lists must be of equal lengths.") from None
    if indices.dtype == bool and not indices.ndim:
        raise RowIndexError(f"{shown(part)} cannot be read as an index.",
                            hint="a mask must have the shape of the axes that it replaces.")
    if indices.dtype == bool:
        return indices
    if not indices.size:
        indices = indices.astype(np.int64)
    if indices.dtype.kind not in "iuf":
        raise RowIndexError(f"An array used as an index must hold integers or booleans, got {indices.dtype}.",
                            hint="use integers, or booleans for a mask.")
    return indices


def stacked(arrays: list[Any]) -> Array:
    """Index arrays broadcast against each other and put into one."""
    if len(arrays) == 1:
        return arrays[0][None]
    try:
        return np.stack(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise ShapeError(f"Index arrays of shapes {shapes} do not broadcast.",
                         hint="their shapes must broadcast together.") from None


def numpy_key(key: object, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """A key with all its parts converted for numpy."""
    parts, arrays = split_key(key, shape)
    return tuple(
        slice(*part[1:]) if isinstance(part, tuple) and part[0] == "slice" else
        arrays[part[1]] if isinstance(part, tuple) else Ellipsis if isinstance(part, str) else part for part in parts)


def assignable(value: object) -> Array:
    """A value as numpy assigns it: numbers only, since numpy would also read texts and None."""
    values = np.asarray(unmasked(value))
    if values.dtype.kind not in "fiub":
        raise DTypeError(f"A {type(value).__name__} cannot be assigned to elements of an array.",
                         hint="assign numbers, lists of numbers, or an array.")
    return values
