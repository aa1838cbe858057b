"""Shapes of which a part is known: None stands for a size that is not known, or for a shape of which not even the number is.

An operator says with rules of this kind what the shapes of its inputs must be, given its result and the other inputs: weights
follow from data, labels from predictions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeGuard

from ..base.errors import ShapeError

if TYPE_CHECKING:
    from ..base.types import Attrs

Partial = tuple[Any, ...] | None  # Any: a size, or None

#: ``rule(shapes, out, attrs)`` gives what is known of each input, from what is known of all and of the first result.
InputRule = Callable[[list[Partial], Partial, "Attrs"], list[Partial]]


def complete(shape: Partial) -> TypeGuard[tuple[int, ...]]:
    """Whether every size is known."""
    return shape is not None and None not in shape


def merged(left: Partial, right: Partial) -> Partial:
    """Merge two partially known shapes.

    Raises
    ------
    ShapeError
        If they contradict each other.
    """
    if left is None or right is None or left == right:
        return right if left is None else left
    if len(left) != len(right) or any(None not in (left_size, right_size) and left_size != right_size
                                      for left_size, right_size in zip(left, right, strict=True)):
        raise ShapeError(f"{to_user(left)} and {to_user(right)}")
    return tuple(right_size if left_size is None else left_size for left_size, right_size in zip(left, right, strict=True))


class _Meaning(threading.local):
    """What a size of 0 means in a shape that users give or read: unknown, or inside ``mx.util.np_shape`` a size."""

    zero_is_a_size = False


meaning = _Meaning()


def to_user(shape: Partial) -> tuple[int, ...]:
    """A shape as users read it, where 0 is unknown (-1 inside ``np_shape``), and () if nothing is known."""
    unknown = -1 if meaning.zero_is_a_size else 0
    return () if shape is None else tuple(unknown if size is None else size for size in shape)


def all_alike(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    """Rule of operators whose inputs have the shape of the result."""
    shape = out
    for partial in shapes:
        shape = merged(shape, partial)
    return [shape] * len(shapes)


def first_alike(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    """Rule of operators whose first input has the shape of the result."""
    return [out, *shapes[1:]]


def channels(attribute: int | str) -> InputRule:
    """Rule of data with vectors that have a value for each entry of one axis."""

    def rule(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
        axis = attrs[attribute] if isinstance(attribute, str) else attribute
        data = merged(shapes[0], out)
        size = data[axis] if data is not None and -len(data) <= axis < len(data) else None
        return [data, *[(size,)] * (len(shapes) - 1)]

    return rule


def shared_axis(shapes: list[Partial], left_axis: int, right_axis: int) -> list[Partial]:
    """Two shapes that have one size in common."""
    left, right = shapes
    if not left or not right:
        return shapes
    size = right[right_axis] if left[left_axis] is None else left[left_axis]
    return [_with(left, left_axis, size), _with(right, right_axis, size)]


def _with(shape: tuple[int | None, ...], axis: int, size: int | None) -> Partial:
    sizes = list(shape)
    sizes[axis] = size if sizes[axis] is None else sizes[axis]
    return tuple(sizes)
