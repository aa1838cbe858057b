"""Partially known shapes as users give them, and those of an operator's inputs as its record infers them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.dtypes import MOST_AXES
from ..base.errors import ShapeError, expected
from ..base.literal import literal
from ..core import infer
from ..core.op import Call
from ..core.partial_shapes import Partial, all_alike, first_alike, meaning


def from_user(shape: object, name: str, zero_is_unknown: bool | None = None) -> Partial:
    """A shape as users give it, where -1 and None are unknown, and 0 unless ``np_shape`` says otherwise."""
    if shape is None:
        return None
    if isinstance(shape, np.ndarray) and shape.ndim == 1:
        shape = tuple(shape.tolist())
    if not isinstance(shape, (tuple, list)) or not all(
            size is None or (hasattr(size, "__index__") and not isinstance(size, bool)) for size in shape):
        raise ShapeError(f"Arguments need to be shapes (tuple), but {name!r} is {shape!r:.60}.", hint=f"{name}=(2, 3)")
    if len(shape) > MOST_AXES:
        raise ShapeError(expected(f"The shape of {name}", f"a tuple of at most {MOST_AXES} sizes", shape), hint=f"{name}=(2, 3)")
    if any(size is not None and int(size) < -1 for size in shape):
        raise ShapeError(expected(f"The shape of {name}", "a tuple of integers of at least -1", tuple(shape)),
                         hint="0 and -1 stand for unknown sizes.")
    if zero_is_unknown is None:
        zero_is_unknown = not meaning.zero_is_a_size
    unknown = (0, -1) if zero_is_unknown else (-1,)
    return tuple(None if size is None or int(size) in unknown else int(size) for size in shape)


def declared(shape: object, name: str, zero_is_unknown: bool | None = None) -> Partial:
    """A shape as declarations give it: also a number for one axis, or the text of a shape."""
    value = literal(shape.strip()) if isinstance(shape, str) else shape
    alone = hasattr(value, "__index__") and not isinstance(value, (bool, np.ndarray))
    return from_user((value,) if alone else value, name, zero_is_unknown)


def input_shapes(call: Call, ins: list[Partial], out: Partial, one_shape: bool) -> list[Partial]:
    """What each input's shape must be, given the other inputs and the first output.

    Raises
    ------
    ShapeError
        If they contradict each other.
    """
    op: Any = call.op
    if one_shape or op.shape is infer.same_shape:
        return all_alike(ins, out, call.attrs)
    if op.input_rule is not None:
        try:
            shapes: list[Partial] = op.input_rule(ins, out, call.attrs)
        except (IndexError, ZeroDivisionError):  # no such axis: the operator's own rule says so when all is known
            return ins
        return shapes
    if op.shape is infer.unchanged:
        return first_alike(ins, out, call.attrs)
    return ins
