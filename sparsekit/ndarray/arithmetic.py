"""Operators between arrays and numbers, shared by the functions and the array's own operators."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..base.arguments import unmasked
from ..base.errors import DTypeError, named
from ..core.dispatch import invoke, wrap
from ..core.op import REMEMBERED, find
from ..ops import declared as _declared  # noqa: F401 - declares the operators

if TYPE_CHECKING:
    from ..base.types import Array, Scalar
    from ..core.op import Call, Op
    from .ndarray import NDArray


__all__ = [
    "add", "binary", "divide", "equal", "greater", "greater_equal", "lesser", "lesser_equal", "logical_and", "logical_or",
    "logical_xor", "maximum", "minimum", "modulo", "multiply", "not_equal", "power", "subtract", "true_divide",
]


class OfTwo(Protocol):
    """A function of two arrays, or of an array and a number."""

    __name__: str

    def __call__(self, lhs: NDArray | Array | Scalar, rhs: NDArray | Array | Scalar, out: NDArray | None = None) -> NDArray: ...


def binary(name: str, same: str | None, broadcast: str, scalar: str, reverse: str | None = None) -> OfTwo:
    """A function of two arrays, or an array and a number on either side.

    Parameters
    ----------
    same, broadcast, scalar, reverse : str
        Operators for equal shapes, for broadcasting, for a number on the right and on the left.
    """
    broadcast_call = find(broadcast).bind({})
    same_call = find(same).bind({}) if same else broadcast_call
    scalar_op, reverse_op = find(scalar), find(reverse or scalar)

    def function(lhs: Any, rhs: Any, out: NDArray | None = None) -> Any:
        if type(rhs) in _PLAIN or type(lhs) in _PLAIN:
            return with_number(lhs, rhs, out)
        try:
            left, right = lhs._layout, rhs._layout
        except AttributeError:
            return with_number(lhs, rhs, out)
        return invoke(same_call if left is right or left.shape == right.shape else broadcast_call, (lhs, rhs), out)

    calls: dict[Any, Any] = {}
    reverse_calls: dict[Any, Any] = {} if reverse else calls

    def with_number(lhs: Any, rhs: Any, out: NDArray | None) -> object:
        left, right = hasattr(lhs, "_layout"), hasattr(rhs, "_layout")
        if not (left or right) and out is None and isinstance(lhs, _NUMBERS) and isinstance(rhs, _NUMBERS):
            try:
                return _OF_NUMBERS[name](lhs, rhs)
            except OverflowError as error:
                raise named(error, f"{name} of two numbers failed") from error
        if left and isinstance(rhs, _NUMBERS):
            return invoke(calls.get(rhs) or _bound(scalar_op, rhs, calls), (lhs,), out)
        if right and isinstance(lhs, _NUMBERS):
            return invoke(reverse_calls.get(lhs) or _bound(reverse_op, lhs, reverse_calls), (rhs,), out)
        odd = rhs if left else lhs
        if isinstance(odd, np.ndarray) and (left or right):
            values = np.asarray(unmasked(odd))
            if values.dtype == object:
                raise DTypeError(f"{name} takes arrays of numbers, not of {values.dtype}.", hint="cast it to numbers.")
            other = wrap(values, (lhs if left else rhs).context)
            return function(lhs, other, out) if left else function(other, rhs, out)
        raise DTypeError(f"{name} takes arrays and numbers, not {type(odd).__name__}.",
                         hint=f"make an array with mx.nd.{'sparse.csr_matrix' if hasattr(odd, 'tocsr') else 'array'}(…).")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (f"``{name}`` of two arrays whose shapes are equal or broadcast, or of an array and a number.\n\n"
                        f"See {', '.join(dict.fromkeys(filter(None, (same, broadcast, scalar, reverse))))}.")
    return function


def _bound(op: Op, number: object, calls: dict[Any, Any]) -> Call:
    """The operator bound to this number, cached; zero is not cached, since -0.0 equals 0.0 as a key."""
    if number == 0:
        return op.bind({"scalar": number})
    if len(calls) >= REMEMBERED:
        calls.clear()
    call = calls[number] = op.bind({"scalar": number})
    return call


#: What the functions give for two numbers: a number, as in MXNet.
_OF_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "modulo": operator.mod, "power": operator.pow, "maximum": max, "minimum": min,
    "equal": lambda a, b: int(a == b), "not_equal": lambda a, b: int(a != b), "greater": lambda a, b: int(a > b),
    "greater_equal": lambda a, b: int(a >= b), "lesser": lambda a, b: int(a < b), "lesser_equal": lambda a, b: int(a <= b),
    "logical_and": lambda a, b: int(bool(a and b)), "logical_or": lambda a, b: int(bool(a or b)),
    "logical_xor": lambda a, b: int(bool(a) != bool(b)),
}
_PLAIN = frozenset({int, float})
_NUMBERS = (int, float, numbers.Real, np.number)

add = binary("add", "elemwise_add", "broadcast_add", "_plus_scalar")
subtract = binary("subtract", "elemwise_sub", "broadcast_sub", "_minus_scalar", "_rminus_scalar")
multiply = binary("multiply", "elemwise_mul", "broadcast_mul", "_mul_scalar")
divide = true_divide = binary("divide", "elemwise_div", "broadcast_div", "_div_scalar", "_rdiv_scalar")
modulo = binary("modulo", None, "broadcast_mod", "_mod_scalar", "_rmod_scalar")
power = binary("power", None, "broadcast_power", "_power_scalar", "_rpower_scalar")
maximum = binary("maximum", None, "broadcast_maximum", "_maximum_scalar")
minimum = binary("minimum", None, "broadcast_minimum", "_minimum_scalar")
equal = binary("equal", None, "broadcast_equal", "_equal_scalar")
not_equal = binary("not_equal", None, "broadcast_not_equal", "_not_equal_scalar")
greater = binary("greater", None, "broadcast_greater", "_greater_scalar", "_lesser_scalar")
greater_equal = binary("greater_equal", None, "broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar")
lesser = binary("lesser", None, "broadcast_lesser", "_lesser_scalar", "_greater_scalar")
lesser_equal = binary("lesser_equal", None, "broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar")
logical_and = binary("logical_and", None, "broadcast_logical_and", "_logical_and_scalar")
logical_or = binary("logical_or", None, "broadcast_logical_or", "_logical_or_scalar")
logical_xor = binary("logical_xor", None, "broadcast_logical_xor", "_logical_xor_scalar")
