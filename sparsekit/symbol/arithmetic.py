"""Operators between symbols and numbers; results are named as in MXNet."""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import DTypeError
from .functions import F
from .symbol import Symbol

if TYPE_CHECKING:
    from ..base.types import Scalar

#: Operators of two symbols, of a symbol and a number, and of a number and a symbol.
_NAMES = {
    "add": ("_Plus", "_PlusScalar", "_PlusScalar"), "subtract": ("_Minus", "_MinusScalar", "_RMinusScalar"),
    "multiply": ("_Mul", "_MulScalar", "_MulScalar"), "divide": ("_Div", "_DivScalar", "_RDivScalar"),
    "modulo": ("_Mod", "_ModScalar", "_RModScalar"), "power": ("_Power", "_PowerScalar", "_RPowerScalar"),
    "maximum": ("_Maximum", "_MaximumScalar", "_MaximumScalar"), "minimum": ("_Minimum", "_MinimumScalar", "_MinimumScalar"),
    "hypot": ("_Hypot", "_HypotScalar", "_HypotScalar"),
    "equal": ("_equal", "_equal_scalar", "_equal_scalar"), "not_equal": ("_not_equal", "_not_equal_scalar", "_not_equal_scalar"),
    "greater": ("_greater", "_greater_scalar", "_lesser_scalar"),
    "greater_equal": ("_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"),
    "lesser": ("_lesser", "_lesser_scalar", "_greater_scalar"),
    "lesser_equal": ("_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"),
    "logical_and": ("_logical_and", "_logical_and_scalar", "_logical_and_scalar"),
    "logical_or": ("_logical_or", "_logical_or_scalar", "_logical_or_scalar"),
    "logical_xor": ("_logical_xor", "_logical_xor_scalar", "_logical_xor_scalar"),
}
_NUMBERS = (int, float, numbers.Real, np.number)


def binary(name: str, both: str, right: str, left: str) -> Callable[[Any, Any], Symbol]:
    """A function of two symbols, or of a symbol and a number on either side."""
    def function(lhs: object, rhs: object) -> Symbol:
        first, second = isinstance(lhs, Symbol), isinstance(rhs, Symbol)
        result: Any = None
        if first and second:
            result = getattr(F, both)(lhs, rhs)
        elif first and isinstance(rhs, _NUMBERS):
            result = getattr(F, right)(lhs, scalar=rhs)
        elif second and isinstance(lhs, _NUMBERS):
            result = getattr(F, left)(rhs, scalar=lhs)
        else:
            raise DTypeError(f"type {type(rhs if first else lhs).__name__} is not supported: {name} takes symbols and numbers.",
                             hint="arrays are bound to variables: mx.sym.Variable.")
        return result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (f"``{name}`` of two symbols of equal shapes, or of a symbol and a number.\n\n"
                        "``broadcast_*`` takes symbols whose shapes broadcast.")
    return function


FUNCTIONS = {name: binary(name, *names) for name, names in _NAMES.items()}
FUNCTIONS["true_divide"] = FUNCTIONS["divide"]


def _are_numbers(left: object, right: object) -> bool:
    return isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS)


def _either(of_numbers: Callable[..., Any], of_symbols: Callable[..., Symbol], left: object, right: object) -> Any:
    """What one of two functions gives, which depends on whether there is a symbol.  Any: a number, or a symbol."""
    return (of_numbers if _are_numbers(left, right) else of_symbols)(left, right)


def power(base: Scalar | Symbol, exp: Scalar | Symbol) -> Any:
    """``base ** exp`` of two symbols of equal shapes, or of a symbol and a number; two numbers give a number."""
    return _either(operator.pow, _POWER, base, exp)


def maximum(left: Scalar | Symbol, right: Scalar | Symbol) -> Any:
    """The larger of two symbols of equal shapes, or of a symbol and a number; two numbers give a number."""
    return _either(max, _MAXIMUM, left, right)


def minimum(left: Scalar | Symbol, right: Scalar | Symbol) -> Any:
    """The smaller of two symbols of equal shapes, or of a symbol and a number; two numbers give a number."""
    return _either(min, _MINIMUM, left, right)


def hypot(left: Scalar | Symbol, right: Scalar | Symbol) -> Any:
    """The hypotenuse of two symbols of equal shapes, or of a symbol and a number; two numbers give a number."""
    return _either(math.hypot, _HYPOT, left, right)


_POWER, _MAXIMUM, _MINIMUM, _HYPOT = (FUNCTIONS[name] for name in ("power", "maximum", "minimum", "hypot"))
FUNCTIONS.update(power=power, pow=power, maximum=maximum, minimum=minimum, hypot=hypot)

#: Python's operators: method -> function; those with an r take their operands the other way round.
OPERATORS = {
    **{f"__{short}__": FUNCTIONS[name] for short, name in (
        ("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide"), ("div", "divide"), ("mod", "modulo"),
        ("pow", "power"), ("eq", "equal"), ("ne", "not_equal"), ("gt", "greater"), ("ge", "greater_equal"), ("lt", "lesser"),
        ("le", "lesser_equal"))},
    "__pow__": binary("power", "_Power", "_PowerScalar", "_rpower_scalar"),
}
