"""What functions of numpy do with outlines: views where numpy makes views, rows of the table for the rest.

A function that is missing here is refused, and the operator that calls it runs in Python.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ...base.forking import load
from ...base.refusal import Refused
from .arrays import FUNCTIONS, Outline, Size, static
from .machine import inner_loop

if TYPE_CHECKING:
    from ...base.types import DType, DTypeLike, Scalar
    from .arrays import Axes, Lengths, Operand
    from .builder import Builder

_Noted = TypeVar("_Noted", bound=Callable[..., Any])  # Any: numpy's functions have many signatures


def _of(*functions: Callable[..., Any]) -> Callable[[_Noted], _Noted]:  # Any: as above
    def note(noted: _Noted) -> _Noted:
        FUNCTIONS.update(dict.fromkeys(functions, noted))
        return noted

    return note


def _order(order: str) -> None:
    if order not in ("C", "K"):
        raise Refused("it makes an array in another order")


@_of(np.empty_like)
def _(b: Builder, a: Outline, dtype: DTypeLike = None, order: str = "K", *, shape: Lengths | None = None) -> Outline:
    _order(order)
    return b.empty(a.shape if shape is None else shape, dtype or a.dtype)


@_of(np.zeros_like)
def _(b: Builder, a: Outline, dtype: DTypeLike = None, order: str = "K", *, shape: Lengths | None = None) -> Outline:
    return _filled(b, a.shape if shape is None else shape, 0, dtype or a.dtype)


@_of(np.ones_like)
def _(b: Builder, a: Outline, dtype: DTypeLike = None, order: str = "K", *, shape: Lengths | None = None) -> Outline:
    return _filled(b, a.shape if shape is None else shape, 1, dtype or a.dtype)


@_of(np.full_like)
def _(b: Builder, a: Outline, fill_value: Scalar, dtype: DTypeLike = None, order: str = "K", *,
      shape: Lengths | None = None) -> Outline:
    return _filled(b, a.shape if shape is None else shape, fill_value, dtype or a.dtype)


def _filled(b: Builder, shape: Lengths, value: Scalar, dtype: DTypeLike) -> Outline:
    result = b.empty(shape, dtype)
    b.assign(result, value)
    return result


@_of(np.reshape)
def _(b: Builder, a: Outline, shape: Lengths, order: str = "C") -> Outline:
    return a.reshape(shape, order=order)


@_of(np.ravel)
def _(b: Builder, a: Outline, order: str = "C") -> Outline:
    _order(order)
    return a.reshape(-1)


@_of(np.transpose)
def _(b: Builder, a: Outline, axes: Sequence[int] | None = None) -> Outline:
    return a.T if axes is None else a.transpose(tuple(axes))


@_of(np.swapaxes)
def _(b: Builder, a: Outline, axis1: int, axis2: int) -> Outline:
    return a.swapaxes(axis1, axis2)


@_of(np.moveaxis)
def _(b: Builder, a: Outline, source: int | Sequence[int], destination: int | Sequence[int]) -> Outline:
    probe = np.moveaxis(np.empty(tuple(range(2, a.ndim + 2))), source, destination)
    return a.transpose([length - 2 for length in probe.shape])


@_of(np.expand_dims)
def _(b: Builder, a: Outline, axis: int | tuple[int, ...]) -> Outline:
    axes = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
    count = a.ndim + len(axes)
    new = {int(new_axis) % count for new_axis in axes}
    if len(new) != len(axes) or any(not -count <= new_axis < count for new_axis in axes):
        raise Refused("it adds an axis that is out of range")
    return a[tuple([None if place in new else slice(None) for place in range(count)])]


@_of(np.squeeze)
def _(b: Builder, a: Outline, axis: Axes = None) -> Outline:
    return a.squeeze(axis)


@_of(np.flip)
def _(b: Builder, a: Outline, axis: Axes = None) -> Outline:
    axes = range(a.ndim) if axis is None else {number % a.ndim for number in ((axis,) if isinstance(axis, int) else axis)}
    return a[tuple([slice(None, None, -1) if place in axes else slice(None) for place in range(a.ndim)])]


@_of(np.broadcast_to)
def _(b: Builder, array: Outline, shape: Lengths) -> Outline:
    return b.broadcast(array, (shape,) if isinstance(shape, (int, Size)) else tuple(shape))


@_of(np.sum)
def _(b: Builder, a: Outline, axis: Axes = None, dtype: DTypeLike = None, out: Outline | None = None,
      keepdims: bool = False) -> Outline:
    return b.reduce(np.add, a, out, axis, dtype, keepdims)


@_of(np.prod)
def _(b: Builder, a: Outline, axis: Axes = None, dtype: DTypeLike = None, out: Outline | None = None,
      keepdims: bool = False) -> Outline:
    return b.reduce(np.multiply, a, out, axis, dtype, keepdims)


@_of(np.max)
def _(b: Builder, a: Outline, axis: Axes = None, out: Outline | None = None, keepdims: bool = False) -> Outline:
    return b.reduce(np.maximum, a, out, axis, None, keepdims)


@_of(np.min)
def _(b: Builder, a: Outline, axis: Axes = None, out: Outline | None = None, keepdims: bool = False) -> Outline:
    return b.reduce(np.minimum, a, out, axis, None, keepdims)


@_of(np.concatenate)
def _concatenated(b: Builder, arrays: Sequence[Outline], axis: int = 0) -> Outline:
    parts = [b.outline(array) for array in arrays]
    axis %= parts[0].ndim
    lengths = [static(part.shape[axis]) for part in parts]
    shape = [*parts[0].shape[:axis], sum(lengths), *parts[0].shape[axis + 1:]]
    out, at = b.empty(shape, np.result_type(*[part.dtype for part in parts])), 0
    for part, length in zip(parts, lengths, strict=True):
        out[(slice(None),) * axis + (slice(at, at + length),)] = part
        at += length
    return out


@_of(np.stack)
def _(b: Builder, arrays: Sequence[Outline], axis: int = 0) -> Outline:
    parts = [b.outline(array) for array in arrays]
    axis %= parts[0].ndim + 1
    new = (*[slice(None)] * axis, None)
    return _concatenated(b, [part[new] for part in parts], axis)


@_of(np.split, np.array_split)
def _(b: Builder, ary: Outline, indices_or_sections: int | Sequence[int], axis: int = 0) -> list[Outline]:
    axis %= ary.ndim
    length = static(ary.shape[axis])
    if isinstance(indices_or_sections, (int, np.integer)):
        count, remainder = divmod(length, int(indices_or_sections))
        sizes = [count + (place < remainder) for place in range(int(indices_or_sections))]
        edges = [sum(sizes[:place]) for place in range(len(sizes) + 1)]
    else:
        edges = [0, *map(int, indices_or_sections), length]
    return [ary[(slice(None),) * axis + (slice(start, stop),)] for start, stop in itertools.pairwise(edges)]


@_of(np.tensordot)
def _(b: Builder, a: Outline, other: Outline, axes: int | tuple[int, int] = 2) -> Outline:
    left, right = b.outline(a), b.outline(other)
    if axes != (-1, 0) or left.ndim < 2 or right.ndim < 2:
        raise Refused("it multiplies over other axes than the last of one array and the first of the other")
    # numpy computes it so too, by dot, which agrees with matmul for matrices of known sizes
    product = b.matmul(left.reshape(-1, left.shape[-1]), right.reshape(right.shape[0], -1), None)
    return product.reshape((*left.shape[:-1], *right.shape[1:]))


@_of(np.dot)
def _(b: Builder, a: Outline, other: Outline) -> Outline:
    left, right = b.outline(a), b.outline(other)
    if left.ndim != 1 or right.ndim != 1 or left.dtype != right.dtype or left.dtype.kind != "f":
        raise Refused("it multiplies other than two vectors")
    return b.inner(left, right)


@_of(np.result_type)
def _(b: Builder, *arrays: Outline | DTypeLike) -> DType:
    return np.result_type(*[array.dtype if isinstance(array, Outline) else array for array in arrays])


@_of(np.may_share_memory, np.shares_memory)
def _(b: Builder, a: Outline, other: Outline) -> bool:
    return isinstance(a, Outline) and isinstance(other, Outline) and a.origin is other.origin


@_of(np.where)
def _(b: Builder, condition: Outline, x: Operand | None = None, y: Operand | None = None) -> Outline:
    if x is None or y is None:
        raise Refused("it looks for the places where a condition holds")
    kinds = [value.dtype if isinstance(value, Outline) else value for value in (x, y)]
    dtype = np.result_type(*kinds)
    if dtype == np.float16:
        raise Refused("it chooses among values of float16")
    test = b.outline(condition)
    arrays = [test if test.dtype == np.bool else test != 0, b.outline(x, dtype), b.outline(y, dtype)]
    shape = b.joint_shape([array.shape for array in arrays])
    out = b.empty(shape, dtype)
    flat = [_flat(b.broadcast(array, shape)) for array in arrays]
    b.call(b._kernels.choose_values, *flat, out.reshape(-1))
    return out


def _flat(array: Outline) -> Outline:
    return (array if array.contiguous else array.copy()).reshape(-1)


@_of(np.take)
def _(b: Builder, a: Outline, indices: Outline, axis: Axes = None, out: Outline | None = None, mode: str = "raise") -> Outline:
    if axis != 0 or mode != "clip" or out is not None or a.ndim < 1:
        raise Refused("it takes elements in a way that has no row")
    rows = b.outline(indices)
    if rows.dtype != np.int64 or a.dtype == np.float16 or not static(a.shape[0] if isinstance(a.shape[0], int) else 1):
        raise Refused("it takes elements in a way that has no row")
    width = math.prod(map(static, a.shape[1:]))
    result = b.empty((*rows.shape, *a.shape[1:]), a.dtype)
    if not width:
        return result
    source = a if a.contiguous else a.copy()
    b.call(b._kernels.take_rows, source.reshape((a.shape[0], width)), _flat(rows), result.reshape((rows.size, width)))
    return result


def _places_along(b: Builder, a: Outline, indices: Outline, axis: int) -> tuple[Outline, Outline]:
    """The array with an axis as the last, in one piece, and where in it one entry for each of the other axes lies, (n,)."""
    at = b.outline(indices)
    axis %= a.ndim
    shape = [static(length) for length in a.shape]
    wanted = [1 if place == axis else length for place, length in enumerate(shape)]
    if at.dtype != np.int64 or list(at.shape) != wanted or not math.prod(shape) or a.dtype == np.float16:
        raise Refused("it takes elements along an axis in a way that has no row")
    order = [*[place for place in range(a.ndim) if place != axis], axis]
    moved, places = a.transpose(order), _flat(at)
    b.call(load("sparsekit.kernels.cpu.group")._outside, places, shape[axis], status=True)  # which numpy refuses, or wraps
    starts = b.constant(np.arange(math.prod(wanted)) * shape[axis])
    return moved, starts + places


@_of(np.take_along_axis)
def _(b: Builder, arr: Outline, indices: Outline, axis: int = -1) -> Outline:
    moved, places = _places_along(b, arr, indices, axis)
    result = b.empty((static(places.size), 1), arr.dtype)
    b.call(b._kernels.take_rows, _flat(moved).reshape(-1, 1), places, result)
    return result.reshape(indices.shape)


@_of(np.put_along_axis)
def _(b: Builder, arr: Outline, indices: Outline, values: Outline, axis: int) -> None:
    moved, places = _places_along(b, arr, indices, axis)
    contiguous = moved if moved.contiguous else moved.copy()
    elements = b.outline(values, arr.dtype)
    if elements.shape != indices.shape:
        raise Refused("it puts elements along an axis in a way that has no row")
    b.call(load("sparsekit.kernels.cpu.row_sparse").copy_rows, _flat(elements).reshape(-1, 1), places, contiguous.reshape(-1, 1))
    if contiguous is not moved:
        b.assign(moved, contiguous)


@_of(np.clip)
def _(b: Builder, a: Outline, a_min: Scalar | None = None, a_max: Scalar | None = None, out: Outline | None = None) -> Outline:
    if a_min is None or a_max is None:
        raise Refused("it clips at one end")
    loop = inner_loop(np._core.umath.clip, (a.dtype, a.dtype, a.dtype))  # type: ignore[attr-defined]  # numpy's own ufunc
    if any(np.result_type(a.dtype, end) != a.dtype for end in (a_min, a_max)):
        raise Refused("it clips at ends of another type")
    target = b.empty(a.shape, a.dtype) if out is None else out
    b.each(loop, [a, *[b.broadcast(b.constant(end, a.dtype), a.shape) for end in (a_min, a_max)], target], a.shape)
    return target


@_of(np.copyto)
def _(b: Builder, dst: Outline, src: Operand, casting: str = "same_kind") -> None:
    if not isinstance(dst, Outline):
        raise Refused("it writes to an array that was made while it was lowered")
    b.assign(dst, src)


@_of(np.diff)
def _(b: Builder, a: Outline, n: int = 1, axis: int = -1) -> Outline:
    if n != 1 or a.dtype == np.bool:
        raise Refused("it takes differences of differences")
    before = (slice(None),) * (axis % a.ndim)
    difference: Outline = a[(*before, slice(1, None))] - a[(*before, slice(None, -1))]
    return difference


class Numpy:
    """``k.xp`` while an operator is lowered: numpy, whose functions without an array argument are noted here."""

    notes_numpy = True

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def __getattr__(self, name: str) -> Any:  # Any: what numpy has under that name
        value = getattr(np, name)
        if not (isinstance(value, (type, np.ufunc)) or value in FUNCTIONS or name in _PURE):
            raise Refused(f"it calls numpy's {name}")
        return value

    def empty(self, shape: Lengths, dtype: DTypeLike = np.float64, order: str = "C") -> Outline:
        """``numpy.empty``."""
        _order(order)
        return self._builder.empty(shape, dtype)

    def zeros(self, shape: Lengths, dtype: DTypeLike = np.float64, order: str = "C") -> Outline:
        """``numpy.zeros``."""
        return _filled(self._builder, shape, 0, dtype)

    def ones(self, shape: Lengths, dtype: DTypeLike = np.float64, order: str = "C") -> Outline:
        """``numpy.ones``."""
        return _filled(self._builder, shape, 1, dtype)

    def full(self, shape: Lengths, fill_value: Scalar, dtype: DTypeLike = None, order: str = "C") -> Outline:
        """``numpy.full``."""
        return _filled(self._builder, shape, fill_value, np.asarray(fill_value).dtype if dtype is None else dtype)

    def arange(self, start: float | Size, stop: float | Size | None = None, step: float = 1, dtype: DTypeLike = None) -> Outline:
        """``numpy.arange``."""
        first, last = (0, start) if stop is None else (start, stop)
        counted: Any = np.arange  # Any: numpy's stubs have an overload for each type
        if isinstance(last, Size):
            if type(first) is not int or first or type(step) is not int or step != 1:
                raise Refused("it counts to a size that is known while the table runs")
            out = self._builder.empty((last,), np.int64 if dtype is None else dtype)
            self._builder.call(self._builder._kernels.fill_range, 0, 1, out)
            return out
        if not all(type(number) in (int, float) for number in (first, last, step)):
            raise Refused("it counts between other than numbers")
        return self._builder.constant(counted(first, last, step, dtype))

    def asarray(self, a: Operand, dtype: DTypeLike = None) -> Outline:
        """``numpy.asarray``."""
        return self._builder.outline(a, dtype)

    def array(self, a: Operand | list[float], dtype: DTypeLike = None, copy: bool = True, order: str = "K") -> Outline:
        """``numpy.array``."""
        if isinstance(a, list) and dtype is not None and all(type(item) in (int, float) for item in a):
            return self._builder.constant(np.array(a, dtype))  # numbers of the call's attributes
        if isinstance(a, list):
            raise Refused("it makes an array of a list")
        outline = self._builder.outline(a)
        return outline.astype(outline.dtype if dtype is None else dtype)

    def ascontiguousarray(self, a: Operand, dtype: DTypeLike = None) -> Outline:
        """``numpy.ascontiguousarray``."""
        outline = self._builder.outline(a, dtype)
        return outline if outline.contiguous else outline.copy()


#: Functions that read no array, or those of ``FUNCTIONS`` that other functions call.
_PURE = {"result_type", "errstate", "dtype", "finfo", "iinfo", "pi", "inf", "nan", "newaxis", "broadcast_shapes", "e"}
