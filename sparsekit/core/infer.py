"""Shapes and element types of results."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..base.dtypes import joint_type
from ..base.errors import ShapeError

if TYPE_CHECKING:
    from ..base.types import Attrs, DType, Shape


def same(dtypes: Sequence[DType], attrs: Attrs) -> DType:
    """The joint element type of the inputs; float32 without inputs."""
    if not dtypes:
        return np.dtype(attrs.get("dtype") or np.float32)
    first = dtypes[0]
    return first if all(dtype == first for dtype in dtypes) else joint_type(*dtypes)


#: All inputs of an operator, as those that meet in one element type.
EVERY = slice(None)


#: numpy lets these two meet in int16, which arrays do not have.
_BYTES = {np.dtype(np.int8).num, np.dtype(np.uint8).num}


def apart(dtypes: Sequence[DType]) -> bool:
    """Whether numpy's functions would compute on these in a type that arrays do not have."""
    return {dtype.num for dtype in dtypes} >= _BYTES


def fixed(dtypes: Sequence[DType], attrs: Attrs) -> DType:
    """The element type named by the attribute ``dtype``."""
    return np.dtype(attrs["dtype"])


def unchanged(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
    """The first input's shape."""
    return shapes[0]


def same_shape(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
    """The shape that all inputs have."""
    for shape in shapes[1:]:
        if shape != shapes[0]:
            raise ShapeError(f"the inputs have different shapes, {shapes[0]} and {shape}.",
                             hint="use broadcast_* for shapes that broadcast, or reshape one of them.")
    return shapes[0]


def broadcast_shapes(left: Shape, right: Shape) -> Shape:
    """numpy's broadcasting of two shapes."""
    if left == right:
        return left
    try:
        return tuple(np.broadcast_shapes(left, right))
    except ValueError:
        raise ShapeError(f"shapes {left} and {right} do not broadcast.",
                         hint="dimensions, counted from the right, must be equal or 1.") from None


def broadcast(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
    """The shape all inputs broadcast to."""
    out = shapes[0]
    for shape in shapes[1:]:
        out = broadcast_shapes(out, shape)
    return out


def dot(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
    """Shape of a dot product: the last axis of the left meets the first axis of the right."""
    left, right = shapes
    if not left or not right:
        raise ShapeError("dot takes no scalars.", hint="reshape to (1,).")
    left_inner, left_rest = (left[0], left[1:]) if attrs["transpose_a"] else (left[-1], left[:-1])
    right_inner, right_rest = (right[-1], right[:-1]) if attrs["transpose_b"] else (right[0], right[1:])
    if left_inner != right_inner:
        raise ShapeError(
            f"shapes {left}{' transposed' if attrs['transpose_a'] else ''} and "
            f"{right}{' transposed' if attrs['transpose_b'] else ''} do not fit: {left_inner} meets {right_inner}.",
            hint="transpose_a=True and transpose_b=True transpose an operand.")
    return (left_rest + right_rest) or (1,)


@functools.lru_cache(maxsize=256)
def axes_of(axis: int | list[int] | tuple[int, ...] | None, ndim: int) -> Shape:
    """Axes as ascending non-negative numbers; None and () mean all of them."""
    if axis is None or axis == ():
        return tuple(range(ndim))
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for number in axes:
        if not isinstance(number, (int, np.integer)) or not -ndim <= number < ndim:
            raise ShapeError(f"axis {number!r} is out of range for an array of {ndim} dimensions.",
                             hint=f"axes run from {-ndim} to {ndim - 1}.")
    return tuple(sorted({int(number) % ndim for number in axes}))


def reduced(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
    """Shape after a reduction; a full reduction gives (1,), as in MXNet."""
    shape = shapes[0]
    axes = axes_of(attrs["axis"], len(shape))
    if attrs.get("exclude") and attrs["axis"] not in (None, ()):  # without axes, everything is reduced either way
        axes = tuple(axis for axis in range(len(shape)) if axis not in axes)
    if attrs["keepdims"]:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes) or (1,)
