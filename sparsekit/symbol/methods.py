"""Operators as methods of symbols, and Python's own operators on them, from the tables that arrays use."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..base.errors import DTypeError, ShapeError, UnsupportedError, expected
from ..ndarray.methods import METHODS
from .arithmetic import FUNCTIONS, OPERATORS
from .functions import F, make_function
from .symbol import Symbol

if TYPE_CHECKING:
    from ..base.types import DTypeLike, ShapeLike


class _Method:
    """An operator as a method, made on first use."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, symbol: object, owner: type) -> Callable[..., Any]:
        function = make_function(self.name)
        setattr(owner, self.name, function)
        return function if symbol is None else function.__get__(symbol, owner)


def _sizes(args: tuple[Any, ...], named: object) -> tuple[Any, ...]:
    sizes = named if named is not None else args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    return tuple(sizes) if isinstance(sizes, (tuple, list)) else (sizes,)


def reshape(self: Symbol, *shape: ShapeLike, **kwargs: object) -> Symbol:
    """The same elements in another shape, given as one tuple, as numbers, or by name; as of arrays."""
    wanted = _sizes(shape, kwargs.pop("shape", None))
    if not wanted:
        raise ShapeError("reshape was given no shape.", hint="reshape((2, -1))")
    return F.reshape(self, shape=wanted, **kwargs)


def transpose(self: Symbol, *axes: ShapeLike, **kwargs: object) -> Symbol:
    """The axes reversed, or in the order given as a tuple, as numbers, or by name."""
    order = _sizes(axes, kwargs.pop("axes", None))
    return F.transpose(self, **({"axes": order} if order and order != (None,) else {}), **kwargs)


def expand_dims(self: Symbol, axis: int, inplace: bool = False, **kwargs: object) -> Symbol:
    """A new axis of size 1; ``inplace`` has no effect on symbols."""
    return F.expand_dims(self, axis=axis, **kwargs)


def flatten(self: Symbol, inplace: bool = False, **kwargs: object) -> Symbol:
    """All axes but the first in one; ``inplace`` has no effect on symbols."""
    return F.flatten(self, **kwargs)


def squeeze(self: Symbol, axis: object = None, inplace: bool = False, **kwargs: object) -> Symbol:
    """Without axes of size 1, all or those named; ``inplace`` has no effect on symbols."""
    return F.squeeze(self, axis=axis, **kwargs)


def broadcast_to(self: Symbol, shape: ShapeLike, **kwargs: object) -> Symbol:
    """Axes of size 1 repeated up to ``shape``."""
    return F.broadcast_to(self, shape=_sizes((), shape), **kwargs)


def broadcast_like(self: Symbol, other: Symbol | None = None, *, rhs: Symbol | None = None, **kwargs: object) -> Symbol:
    """Broadcast to the shape of another symbol."""
    return F.broadcast_like(self, rhs if other is None else other, **kwargs)


def split_v2(self: Symbol, indices_or_sections: ShapeLike, axis: int = 0, squeeze_axis: bool = False) -> Symbol:
    """Parts along ``axis``: as many equal ones, or cut before each of the indices."""
    if isinstance(indices_or_sections, int):
        cut: dict[str, Any] = {"indices": [], "sections": indices_or_sections}
    elif isinstance(indices_or_sections, (tuple, list)):
        cut = {"indices": [0, *indices_or_sections], "sections": 0}
    else:
        raise DTypeError(expected("indices_or_sections", "an integer or a tuple of integers", type(indices_or_sections)),
                         hint="indices_or_sections=2, for example.")
    return F._split_v2(self, axis=axis, squeeze_axis=squeeze_axis, **cut)


def astype(self: Symbol, dtype: DTypeLike, **kwargs: object) -> Symbol:
    """Another element type."""
    return F.cast(self, dtype=dtype, **kwargs)


def tostype(self: Symbol, stype: str, **kwargs: object) -> Symbol:
    """Another storage type."""
    return F.cast_storage(self, stype=stype, **kwargs)


def _swapped(function: Callable[[Any, Any], Symbol]) -> Callable[[Any, Any], Symbol]:
    return lambda self, other: function(other, self)


def _in_place(self: Symbol, other: object) -> Symbol:
    raise UnsupportedError("Symbols are not changed in place.", hint="write x = x + y.")


def _negative(self: Symbol) -> Symbol:
    return FUNCTIONS["multiply"](self, -1.0)


def _absolute(self: Symbol) -> Symbol:
    return F.abs(self)


def attach(cls: Any) -> None:
    """Give the symbol class its operators."""
    for name in METHODS:
        setattr(cls, name, _Method(name))
    for function in (reshape, transpose, expand_dims, flatten, squeeze, broadcast_to, broadcast_like, split_v2, astype, tostype):
        setattr(cls, function.__name__, function)
    for name, operator in OPERATORS.items():
        setattr(cls, name, operator)
        short = name.strip("_")
        if short in ("add", "sub", "mul", "truediv", "div", "mod", "pow"):
            setattr(cls, f"__r{short}__", _swapped(operator))
            setattr(cls, f"__i{short}__", functools.partialmethod(_in_place))
    cls.__neg__, cls.__abs__ = _negative, _absolute
    cls.__matmul__ = lambda self, other: F.dot(self, other)
    cls.__hash__ = object.__hash__


attach(Symbol)
