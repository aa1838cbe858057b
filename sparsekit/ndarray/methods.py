"""Operators as methods of arrays, and Python's own operators on them, from tables."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..base.errors import DTypeError, GradientError, ShapeError, UnsupportedError, expected
from ..core import hooks
from ..core.arrays import require_arrays
from ..core.dispatch import invoke
from ..core.function import make_function
from ..core.op import find
from ..ops.shape.matrix import target_shape
from . import arithmetic
from .arguments import shape_of
from .functions import F
from .ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base.types import ShapeLike
    from ..core.op import Call

#: Operators whose first input is the array itself.
METHODS = (
    "abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "argmax", "argmax_channel", "argmin",
    "argsort", "broadcast_axes", "cbrt", "ceil", "clip", "cos", "cosh", "cumsum", "degrees", "depth_to_space",
    "diag", "dot", "erf", "exp", "expm1", "fix", "flip", "floor", "gamma", "gammaln", "log", "log10", "log1p",
    "log2", "log_softmax", "max", "mean", "min", "moments", "nanprod", "nansum", "norm", "one_hot", "ones_like",
    "pad", "pick", "prod", "radians", "rcbrt", "reciprocal", "relu", "repeat", "reshape_like", "rint", "round",
    "rsqrt", "shape_array", "sigmoid", "sign", "sin", "sinh", "size_array", "slice", "slice_axis", "slice_like",
    "softmax", "softmin", "sort", "space_to_depth", "split", "sqrt", "square", "sum", "swapaxes", "take", "tan",
    "tanh", "tile", "topk", "trunc", "zeros_like",
)


class _Method:
    """An operator as a method, made on first use rather than on import."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, array: object, owner: type) -> Callable[..., Any]:
        function = make_function(find(self.name), invoke, "sparsekit.ndarray", self.name)
        holder = next(cls for cls in owner.__mro__ if cls.__dict__.get(self.name) is self)
        setattr(holder, self.name, function)
        return function if array is None else function.__get__(array, owner)


def _shape_argument(shape: tuple[Any, ...], argument: object, name: str) -> tuple[Any, ...]:
    """A shape or an order of axes, given as one tuple, as numbers, or by name."""
    if argument is None:
        argument = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list, np.ndarray)) else shape
    elif shape:
        raise ShapeError(f"The {name} was given twice, {shape} and {argument}.", hint="give it once.")
    if type(argument) is tuple:
        return argument
    wanted = argument.tolist() if isinstance(argument, np.ndarray) else argument
    return tuple(wanted) if isinstance(wanted, (tuple, list)) else (wanted,)


@functools.lru_cache(maxsize=512)
def _viewed(old: tuple[int, ...], wanted: tuple[int, ...], reverse: bool) -> Call:
    return find("_view").bind({"shape": target_shape(old, wanted, reverse)})


def reshape(self: NDArray, *shape: ShapeLike, **kwargs: object) -> NDArray:
    """The same elements in another shape, as a view: writing to either writes to both.

    Parameters
    ----------
    shape : tuple of int, or ints
        0 keeps the size of the axis.  -1 is computed from the other sizes.  -2 keeps all remaining axes.  -3 merges two
        consecutive axes.  -4 splits an axis into the two sizes that follow.
    reverse : bool
        Match the sizes with the axes from right to left.

    Raises
    ------
    ShapeError
        If the number of elements differs.
    """
    reverse = bool(kwargs.pop("reverse", False))
    wanted = _shape_argument(shape, kwargs.pop("shape", None), "shape")
    if kwargs:
        raise DTypeError(f"reshape takes no argument {next(iter(kwargs))!r}.", hint="it takes shape and reverse.")
    if not wanted and self.shape:
        raise ShapeError(f"An array of shape {self.shape} cannot be reshaped to the empty shape ().",
                         hint="use (1,) for one element.")
    try:
        call = _viewed(self.shape, wanted, reverse)
    except TypeError:  # unhashable keys, such as arrays and, before Python 3.12, slices
        raise ShapeError(expected("shape", "a tuple of integers", wanted),
                         hint="give a tuple of numbers, such as (2, -1).") from None
    return invoke(call, (self,))


def transpose(self: NDArray, *axes: ShapeLike, **kwargs: object) -> NDArray:
    """A copy with the axes reversed, or in the order given as a tuple or as numbers."""
    order: Any = _shape_argument(axes, kwargs.pop("axes", None), "order of axes")
    if kwargs:
        raise DTypeError(f"transpose takes no argument {next(iter(kwargs))!r}.", hint="it takes axes.")
    return F.transpose(self, axes=() if order == (None,) else order)


def broadcast_to(self: NDArray, shape: ShapeLike) -> NDArray:
    """A copy with axes of size 1 repeated up to ``shape``; missing leading axes are added."""
    return F.broadcast_to(self, shape=shape_of(shape))


def broadcast_like(self: NDArray, other: NDArray | None = None, *, rhs: NDArray | None = None) -> NDArray:
    """A copy broadcast to the shape of ``other``, which the operator calls ``rhs``."""
    like: Any = rhs if other is None else other
    require_arrays([like], "broadcast_like: other")
    return F.broadcast_to(self, shape=like.shape)


def expand_dims(self: NDArray, axis: int, inplace: bool = False) -> NDArray:
    """A copy with a new axis of size 1; a view of the same memory with ``inplace=True``."""
    return _maybe_view(self, find("expand_dims").bind({"axis": axis}), inplace)


def flatten(self: NDArray, inplace: bool = False) -> NDArray:
    """A copy with all axes but the first in one; a view of the same memory with ``inplace=True``."""
    return _maybe_view(self, find("Flatten").bind({}), inplace)


def squeeze(self: NDArray, axis: int | None = None, inplace: bool = False) -> NDArray:
    """A copy without axes of size 1, all or those named; a view of the same memory with ``inplace=True``."""
    return _maybe_view(self, find("squeeze").bind({"axis": axis}), inplace)


def _maybe_view(self: NDArray, call: Call, inplace: bool) -> NDArray:
    if not inplace:
        return invoke(call, (self,))
    return invoke(find("_view").bind({"shape": tuple(call.infer_shape([self.shape]))}), (self,))


def split_v2(self: NDArray, indices_or_sections: ShapeLike, axis: int = 0, squeeze_axis: bool = False) -> NDArray | list[NDArray]:
    """Parts along ``axis``: as many equal ones, or cut before each of the indices."""
    if isinstance(indices_or_sections, int):
        return F._split_v2(self, sections=indices_or_sections, axis=axis, squeeze_axis=squeeze_axis)
    if not isinstance(indices_or_sections, (tuple, list)):
        raise DTypeError(f"split_v2 was given a {type(indices_or_sections).__name__}.",
                         hint="give a number of parts, or a tuple of places to cut at.")
    return F._split_v2(self, indices=(0, *indices_or_sections), axis=axis, squeeze_axis=squeeze_axis)


def slice_assign(self: NDArray, rhs: NDArray, begin: object, end: object, step: object = ()) -> NDArray:
    """Replace the part from ``begin`` to ``end`` by ``rhs``, in place."""
    return F._slice_assign(self, rhs, begin=begin, end=end, step=step or (), out=self)


def slice_assign_scalar(self: NDArray, value: float, begin: object, end: object, step: object = ()) -> NDArray:
    """Set the part from ``begin`` to ``end`` to ``value``, in place."""
    return F._slice_assign_scalar(self, scalar=value, begin=begin, end=end, step=step or (), out=self)


def as_nd_ndarray(self: NDArray) -> NDArray:
    """The array itself."""
    return self


def as_np_ndarray(self: NDArray) -> NoReturn:
    """Not available: this library has no ``mx.np`` arrays."""
    raise UnsupportedError("There are no mx.np arrays in this library.", hint="use asnumpy() for a numpy array.")


def _swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: function(other, self)


def _in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    def operator(self: NDArray, other: object) -> NDArray:
        if hooks.state.recording and self._entry is not None:
            raise GradientError("An in-place operation on a recorded array would lose what its gradient needs.",
                                hint="write x = x + y while recording.")
        result = function(self.detach(), other)
        if result._entry is not None:
            raise GradientError("An in-place operation with a recorded array would lose its gradient.",
                                hint="write x = x + y while recording.")
        self._receive(result)
        return self

    return operator


_ARITHMETIC = {
    "add": arithmetic.add, "sub": arithmetic.subtract, "mul": arithmetic.multiply, "truediv": arithmetic.divide,
    "div": arithmetic.divide, "mod": arithmetic.modulo, "pow": arithmetic.power,
}
_COMPARISONS = {
    "eq": arithmetic.equal, "ne": arithmetic.not_equal, "gt": arithmetic.greater, "ge": arithmetic.greater_equal,
    "lt": arithmetic.lesser, "le": arithmetic.lesser_equal,
}


#: Methods that are functions above.
FUNCTIONS: tuple[Callable[..., Any], ...] = (reshape, transpose, broadcast_to, broadcast_like, expand_dims, flatten, squeeze,
                                             split_v2, slice_assign, slice_assign_scalar, as_nd_ndarray, as_np_ndarray)


def attach(cls: Any) -> None:
    """Give the array class its operators."""
    for name in METHODS:
        setattr(cls, name, _Method(name))
    for function in FUNCTIONS:
        setattr(cls, function.__name__, function)
    for name, of_two in _ARITHMETIC.items():
        setattr(cls, f"__{name}__", of_two)
        setattr(cls, f"__r{name}__", _swapped(of_two))
        setattr(cls, f"__i{name}__", _in_place(of_two))
    for name, of_two in _COMPARISONS.items():
        setattr(cls, f"__{name}__", of_two)
    cls.__hash__ = object.__hash__
    cls.__nonzero__ = cls.__bool__
    cls.writable = True


attach(NDArray)
