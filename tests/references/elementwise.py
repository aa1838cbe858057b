"""Elementwise functions of one array, of an array and a number, and of two arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as special

from . import FLOATS, REFERENCES, add, common, first

#: Functions whose results are rounded: computed in float64, then brought to the array's element type.
ROUNDED: dict[str, Any] = {
    "sqrt": np.sqrt,
    "cbrt": np.cbrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "reciprocal": lambda x: 1 / x,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "arctan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "arcsinh": np.arcsinh,
    "arccosh": np.arccosh,
    "arctanh": np.arctanh,
    "degrees": np.degrees,
    "radians": np.radians,
    "erf": special.erf,
    "erfinv": special.erfinv,
    "gamma": special.gamma,
    "gammaln": special.gammaln,
    "sigmoid": special.expit,
    "softrelu": lambda x: np.logaddexp(0, x),
    "softsign": lambda x: x / (1 + np.abs(x)),
}


def round_(x):
    """Halves away from zero."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


#: Functions whose results are exact in the element type.
EXACT: dict[str, Any] = {
    "negative": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "square": np.square,
    "relu": lambda x: np.maximum(x, 0),
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "rint": lambda x: np.ceil(x - 0.5),
    "round": round_,
    "identity": np.copy,
    "zeros_like": np.zeros_like,
    "ones_like": np.ones_like,
    "logical_not": lambda x: x == 0,
    "_contrib_isnan": np.isnan,
    "_contrib_isinf": np.isinf,
    "_contrib_isfinite": np.isfinite,
}
for _name, _function in ROUNDED.items():
    add(_name, _function)
for _name, _function in EXACT.items():
    add(_name, _function, dtype=first, exact=True)

# whose gradient is not the derivative, by definition
add("BlockGrad", np.copy, exact=True, gradient=lambda g, x: [np.zeros_like(g)])
add("make_loss", np.copy, exact=True, gradient=lambda g, x: [np.ones_like(g)])
add("_contrib_round_ste", round_, exact=True, gradient=lambda g, x: [g])
add("_contrib_sign_ste", np.sign, exact=True, gradient=lambda g, x: [g])
add("_contrib_gradientmultiplier", lambda x, scalar: x.copy(), exact=True, gradient=lambda g, x, scalar: [g * scalar])


# functions with attributes


def _smooth_l1(x, scalar):
    if scalar == 0:
        return np.zeros_like(x)
    return np.where(np.abs(x) < 1 / scalar**2, 0.5 * (scalar * x) ** 2, np.abs(x) - 0.5 / scalar**2)


add("smooth_l1", _smooth_l1)
add("hard_sigmoid", lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1))
add("_contrib_quadratic", lambda x, a, b, c: a * x * x + b * x + c)
add("_contrib_div_sqrt_dim", lambda x: x / np.sqrt(x.shape[-1]))
add("_polygamma", lambda x, order: special.polygamma(order, x))
add("clip", lambda x, a_min, a_max: np.clip(x, a_min, a_max))
add("amp_cast", lambda x, dtype: x, dtype=lambda dtypes, attrs: np.dtype(
    attrs["dtype"] if np.dtype(dtypes[0]).kind == "f" else dtypes[0]))
add("Cast", lambda x, dtype: x, dtype=lambda dtypes, attrs: np.dtype(attrs["dtype"]))
add("cast_storage", lambda x, stype: x.copy(), exact=True)

# an array and a number; what an integer array holds is cut to an integer, as C's conversion does


def divide(x, y):
    """Of integers, the quotient without its fraction, and zero where the divisor is zero."""
    if np.result_type(x, y).kind == "f":
        return np.divide(x, y)
    x, y = np.broadcast_arrays(x, y)
    whole = np.floor_divide(x, y)
    return np.where(y == 0, 0, whole + ((whole < 0) & (whole * y != x))).astype(whole.dtype)


def modulo(x, y):
    """The remainder with the divisor's sign; zero where the divisor is zero."""
    return np.where(y == 0, 0, np.mod(x, y))


def power(x, y):
    """Of integers, without its fraction; one over a power of zero is infinite, which no integer is."""
    return np.power(x, y) if np.result_type(x, y).kind == "f" else np.power(np.asarray(x, np.float64), y)


ARITHMETIC = {
    "plus": lambda x, s: x + s,
    "minus": lambda x, s: x - s,
    "rminus": lambda x, s: s - x,
    "mul": lambda x, s: x * s,
    "div": lambda x, s: x / s,
    "rdiv": lambda x, s: s / x,
    "mod": modulo,
    "rmod": lambda x, s: modulo(s, x),
    "power": np.power,
    "rpower": lambda x, s: np.power(s, x),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "hypot": np.hypot,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "lesser": np.less,
    "lesser_equal": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}
for _name, _function in ARITHMETIC.items():
    add(f"_{_name}_scalar", lambda x, scalar, function=_function: function(x, np.float64(scalar)))
add("_scatter_plus_scalar", lambda x, scalar: x + scalar)
add("_scatter_minus_scalar", lambda x, scalar: x - scalar)

# two arrays

for _name, _function in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": divide}.items():
    add(f"elemwise_{_name}", _function, exact=True)
    add(f"broadcast_{_name}", _function, exact=True)
REFERENCES["_scatter_elemwise_div"] = REFERENCES["elemwise_div"]
for _name, _function in {"maximum": np.maximum, "minimum": np.minimum, "mod": modulo}.items():
    add(f"broadcast_{_name}", _function, exact=True)
add("broadcast_power", power, exact=True)
add("broadcast_hypot", np.hypot)
for _name, _function in {"equal": np.equal, "not_equal": np.not_equal, "greater": np.greater, "greater_equal": np.greater_equal,
                         "lesser": np.less, "lesser_equal": np.less_equal, "logical_and": np.logical_and,
                         "logical_or": np.logical_or, "logical_xor": np.logical_xor}.items():
    add(f"broadcast_{_name}", _function, dtype=first)


def _add_n(*arrays):
    """In the common type from the first addition on: integers do not overflow before a float is met."""
    wide = [array.astype(np.result_type(*arrays)) for array in arrays]
    return sum(wide[1:], wide[0])


add("add_n", _add_n, exact=True)


def _where(condition, x, y):
    rows = condition.ndim == 1 and x.ndim > 1
    return np.where((condition.reshape(-1, *[1] * (x.ndim - 1)) if rows else condition) != 0, x, y)


add("where", _where, dtype=lambda dtypes, attrs: common(dtypes[1:], attrs))

# gradients of functions, as operators of what comes from above

add("_sigmoid_backward", lambda g, y: g * y * (1 - y))
add("_relu_backward", lambda g, y: np.where(np.isnan(y), np.nan, g * (y > 0)))
add("_abs_backward", lambda g, x: g * np.sign(x))
add("_softrelu_backward", lambda g, x: g * special.expit(x))
add("_gelu_backward", lambda g, x: g * (special.ndtr(x) + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)), types=FLOATS)
add("_masked", lambda x, mask: x * mask, gradient=lambda g, x, mask: [g * mask, None], dtype=first)
