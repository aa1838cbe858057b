"""What each operator computes, written with numpy and scipy alone: values, element type, and inputs that it takes.

A reference gets numpy arrays.  Where ``exact`` is set they come in the result's element type and the results must be
equal.  Otherwise floats and integers come as float64, and results must agree within ``ulps`` units in the last place,
of the value or of ``scale``, the sum of the magnitudes that were added up.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as special

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int32", "int64", "uint8")
NUMBERS = FLOATS + INTEGERS
TYPES = (*NUMBERS, "bool")


def common(dtypes, attrs):
    """numpy's element type for arrays of these types; int16, which arrays do not have, is int32."""
    found = np.result_type(*dtypes)
    return np.dtype(np.int32) if found == np.int16 else found


def first(dtypes, attrs):
    return np.dtype(dtypes[0])


def named(dtypes, attrs):
    return np.dtype(attrs.get("dtype") or dtypes[0])


@dataclasses.dataclass
class Reference:
    """An operator's reference.

    Attributes
    ----------
    draw : callable
        ``draw(d)`` chooses inputs and attributes with the help of ``graphs.Draw``.
    value : callable
        ``value(*arrays, **attrs)`` gives the result, or a list of several; None if there is no reference yet, so
        that ways of running are compared with each other only.
    strict : bool
        Whether ``scale`` is for float16 and float32 alone, and float64 is measured by the value.
    smooth : bool
        Whether finite differences give the gradient.
    flushes : bool
        Whether results may be zero, or off, that are below the smallest normal number, as MXNet's are.
    """

    name: str
    draw: Callable[[Any], tuple[list[Any], dict[str, Any]]]
    value: Callable[..., Any] | None
    dtype: Callable[..., Any] = common
    exact: bool = False
    ulps: float = 8
    scale: Callable[..., Any] | None = None
    strict: bool = False
    smooth: bool = False
    flushes: bool = False
    write: str = ""

    def __call__(self, arrays, attrs):
        """The expected arrays with their element types, and the magnitudes that rounding errors are measured by."""
        if self.value is None:
            return [], [], None
        found = self.dtype([array.dtype for array in arrays], attrs)
        several = isinstance(found, list)
        kinds = [np.dtype(kind) for kind in (found if several else [found])]
        with np.errstate(all="ignore"):
            if self.exact:
                made = self.value(*[array.astype(common([a.dtype for a in arrays], attrs)) for array in arrays], **attrs)
            else:
                made = self.value(*[wide(array) for array in arrays], **attrs)
            made = [np.asarray(one) for one in (made if isinstance(made, list) else [made])]
            made = [one.reshape(1) if one.ndim == 0 else one for one in made]
            scale = None if self.scale is None else np.asarray(self.scale(*[wide(array) for array in arrays], **attrs), float)
        kinds = kinds if several else kinds * len(made)
        return made, kinds, scale


def wide(array):
    """A copy in float64; integers that float64 does not hold keep their type."""
    if array.dtype.kind in "iu" and array.size and int(np.abs(array.astype(object)).max()) > 2**53:
        return array.copy()
    return array.astype(np.float64)


table: dict[str, Reference] = {}


def add(name, draw, value, **more):
    table[name] = Reference(name, draw, value, **more)


# functions of one array


def _sigmoid(x):
    return special.expit(x)


def _gelu(x):
    return np.where(np.isposinf(x), x, np.where(np.isneginf(x), -0.0 * np.isnan(x), x * special.ndtr(x)))


def _round(x):
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


#: name -> function, low end, high end of what floats are drawn from (None: any number).
UNARY: dict[str, tuple[Any, float | None, float | None]] = {
    "sqrt": (np.sqrt, 0, None),
    "cbrt": (np.cbrt, None, None),
    "square": (np.square, None, None),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, None),
    "rcbrt": (lambda x: 1 / np.cbrt(x), 0.1, None),
    "reciprocal": (lambda x: 1 / x, None, None),
    "exp": (np.exp, None, 11),
    "expm1": (np.expm1, None, 11),
    "log": (np.log, 0, None),
    "log1p": (np.log1p, -1, None),
    "log2": (np.log2, 0, None),
    "log10": (np.log10, 0, None),
    "sin": (np.sin, -9, 9),
    "cos": (np.cos, -9, 9),
    "tan": (np.tan, -1.5, 1.5),
    "arcsin": (np.arcsin, -1, 1),
    "arccos": (np.arccos, -1, 1),
    "arctan": (np.arctan, None, None),
    "sinh": (np.sinh, -9, 9),
    "cosh": (np.cosh, -9, 9),
    "tanh": (np.tanh, None, None),
    "arcsinh": (np.arcsinh, None, None),
    "arccosh": (np.arccosh, 1, None),
    "arctanh": (np.arctanh, -1, 1),
    "degrees": (np.degrees, None, None),
    "radians": (np.radians, None, None),
    "erf": (special.erf, None, None),
    "erfinv": (special.erfinv, -1, 1),
    "gamma": (special.gamma, 0.3, 7),
    "gammaln": (special.gammaln, 0.3, None),
    "sigmoid": (_sigmoid, None, None),
    "softrelu": (lambda x: np.logaddexp(0, x), None, None),
    "softsign": (lambda x: x / (1 + np.abs(x * 1.0)), -1e6, 1e6),
    "hard_sigmoid": (lambda x: np.clip(0.2 * x + 0.5, 0, 1), None, None),
}
#: Functions that are steps, or whose value is exact: bits must be equal.
STEPS: dict[str, Any] = {
    "negative": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "relu": lambda x: np.maximum(x, 0),
    "ceil": np.ceil,
    "floor": np.floor,
    "trunc": np.trunc,
    "fix": np.trunc,
    "rint": lambda x: np.ceil(x - 0.5),
    "round": _round,
    "identity": np.copy,
    "BlockGrad": np.copy,
    "make_loss": np.copy,
    "zeros_like": np.zeros_like,
    "ones_like": np.ones_like,
    "logical_not": lambda x: x == 0,
}
#: Whose rounding in float16 and float32 compounds: cancellation near a zero or a pole, or several roundings.
_LOOSE = {
    "reciprocal": 2,
    "rsqrt": 4,
    "rcbrt": 6,
    "softsign": 4,
    "gamma": 64,
    "gammaln": 64,
    "erfinv": 64,
    "hard_sigmoid": 8,
    "tan": 16,
    "sinh": 16,
    "cosh": 16,
}

for _name, (_function, _low, _high) in UNARY.items():
    add(
        _name,
        lambda d, low=_low, high=_high: ([d.array(low=low, high=high)], {}),
        _function,
        dtype=first,
        ulps=_LOOSE.get(_name, 8),
        smooth=True,
        scale=(lambda x: np.ones(x.shape)) if _name in ("hard_sigmoid", "gammaln") else None,
        flushes=_name == "sigmoid",
    )
for _name, _function in STEPS.items():
    add(_name, lambda d: ([d.array()], {}), _function, dtype=first, exact=True, smooth=_name not in ("BlockGrad", "make_loss"))
for _act, _function in {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "softsign": UNARY["softsign"][0],
    "softrelu": UNARY["softrelu"][0],
}.items():
    add(
        f"Activation:{_act}",
        lambda d, act=_act: ([d.array(types=FLOATS, low=-1e4, high=1e4)], {"act_type": act}),
        lambda x, act_type, function=_function: function(x),
        dtype=first,
        smooth=True,
        flushes=_act == "sigmoid",
    )
for _act, _function in {
    "leaky": lambda x, slope: np.where(x > 0, x, slope * x),
    "elu": lambda x, slope: np.where(x > 0, x, slope * np.expm1(x)),
    "gelu": lambda x, slope: _gelu(x),
    "selu": lambda x, slope: (
        1.0507009873554804934193349852946 * np.where(x > 0, x, 1.6732632423543772848170429916717 * np.expm1(x))
    ),
}.items():
    add(
        f"LeakyReLU:{_act}",
        lambda d, act=_act: ([d.array(types=FLOATS, low=-30, high=100)], {"act_type": act, "slope": d.choose([0.25, 0.5, 1.0])}),
        lambda x, act_type, slope, function=_function: function(x, slope),
        dtype=first,
        smooth=True,
        ulps=16,
        scale=lambda x, **attrs: np.abs(x),
        strict=True,
    )
add("Cast", lambda d: ([d.array(low=-100, high=100)], {"dtype": d.choose(NUMBERS)}), lambda x, dtype: x, dtype=named)
add("cast_storage", lambda d: _stored(d), lambda x, stype: np.copy(x), dtype=first, exact=True, smooth=True)
add(
    "smooth_l1",
    lambda d: ([d.array(types=FLOATS, low=-1e3, high=1e3)], {"scalar": d.choose([1.0, 2.0, 0.5])}),
    lambda x, scalar: np.where(np.abs(x * 1.0) < 1 / scalar**2, 0.5 * (scalar * x) ** 2, np.abs(x * 1.0) - 0.5 / scalar**2),
    dtype=first,
    smooth=True,
    scale=lambda x, scalar: np.abs(x) + 1,
)
add(
    "_contrib_quadratic",
    lambda d: (
        [d.array(types=FLOATS, low=-1e2, high=1e2)],
        {"a": d.choose([0.0, 1.5]), "b": d.choose([0.0, -2.0]), "c": d.choose([0.0, 0.5])},
    ),
    lambda x, a, b, c: a * x * x + b * x + c,
    dtype=first,
    smooth=True,
    scale=lambda x, a, b, c: np.abs(a * x * x) + np.abs(b * x) + c,
)
add(
    "clip",
    lambda d: ([d.array()], {"a_min": d.choose([-1.0, 0.0, -3.0]), "a_max": d.choose([1.0, 0.5, 2.0])}),
    lambda x, a_min, a_max: np.where(np.isnan(x.astype(float)), x, np.clip(x, a_min, a_max)),
    dtype=first,
    smooth=True,
)


def _stored(d):
    key = d.array()
    ndim = d.value(key).ndim
    return [key], {"stype": d.choose(["default"] + ["row_sparse"] * (ndim > 0) + ["csr"] * (ndim == 2))}


# an array and a number, as Python's operators


def _mod(x, y):
    return np.where(y == 0, 0, np.mod(x, y))


def _divide(x, y):
    if np.result_type(x, y).kind == "f":
        return np.divide(x, y)
    whole = np.floor_divide(x, y)
    return np.where(y == 0, 0, whole + ((whole < 0) & (whole * y != x)))


def _power(x, y):
    if np.result_type(x, y).kind == "f":
        return np.power(x, y)
    made = np.power(np.asarray(x, float), np.asarray(y, float))
    return np.where(np.isfinite(made) & (np.abs(made) < 2**62), made, 0)


OPERATORS: dict[str, Any] = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": _divide, "%": _mod, "**": _power}
COMPARISONS = {"==": np.equal, "!=": np.not_equal, ">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal}


def _scalar_draw(symbol, left):
    def draw(d):
        types = FLOATS if symbol in ("/", "%", "**") else NUMBERS
        key = d.array(types=types, low=0.1 if symbol == "**" else None, high=9 if symbol == "**" else None)
        kind = d.value(key).dtype.kind
        numbers = [2, 3, 1, 0] if kind in "iu" else [0.5, 2.0, 3, -1.5, 0, 0.1]
        if symbol == "**":
            numbers = [0.5, 2.0, 3, 1]
        elif symbol in "/%":
            numbers = [number for number in numbers if number]
        return [key], {"scalar": d.choose(numbers)}

    return draw


def _with_scalar(function, left):
    """The number takes the array's element type, and so does the result."""

    def value(x, scalar):
        number = np.asarray(scalar).astype(x.dtype)
        return function(number, x) if left else function(x, number)

    return value


for _symbol, _function in {**OPERATORS, **COMPARISONS}.items():
    for _left in (False, True):
        _write = f"{{scalar!r}} {_symbol} {{0}}" if _left else f"{{0}} {_symbol} {{scalar!r}}"
        if _left and _symbol in COMPARISONS:
            continue
        add(
            f"number {_symbol} x" if _left else f"x {_symbol} number",
            _scalar_draw(_symbol, _left),
            _with_scalar(_function, _left),
            dtype=first,
            exact=_symbol != "**",
            smooth=_symbol not in COMPARISONS,
            write=_write,
        )


# two arrays


def _pair(d, types=NUMBERS, low=None, high=None, same=False, second=None):
    left = d.array(types=types, low=low, high=high)
    shape, kind = d.value(left).shape, str(d.value(left).dtype)
    low, high = second or (low, high)
    right = d.array(types=(kind,) if d.flip() else types, low=low, high=high, shape=shape if same else d.beside(shape))
    return [left, right] if second or d.flip() else [right, left]


SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _divide}
for _name, _function in BINARY.items():
    add(f"elemwise_{_name}", lambda d: (_pair(d, same=True), {}), _function, exact=True, smooth=True)
    add(f"broadcast_{_name}", lambda d: (_pair(d), {}), _function, exact=True, smooth=True)
    add(
        f"x {SIGNS[_name]} y",
        lambda d: (_pair(d, same=True), {}),
        _function,
        exact=True,
        smooth=True,
        write=f"{{0}} {SIGNS[_name]} {{1}}",
    )
for _name, _function in {"maximum": np.maximum, "minimum": np.minimum, "mod": _mod}.items():
    add(f"broadcast_{_name}", lambda d: (_pair(d), {}), _function, exact=True, smooth=True)
add("broadcast_power", lambda d: (_pair(d, types=FLOATS, low=0.1, high=9, second=(-2, 3)), {}), _power, ulps=64, smooth=True)
add("broadcast_hypot", lambda d: (_pair(d, types=FLOATS, low=-100, high=100), {}), np.hypot, ulps=16, smooth=True)
for _name, _function in {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "lesser": np.less,
    "lesser_equal": np.less_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}.items():
    add(f"broadcast_{_name}", lambda d: (_pair(d), {}), _function, exact=True, dtype=first)
add(
    "add_n",
    lambda d: _several(d),
    lambda *arrays: sum(arrays[1:], arrays[0]),
    scale=lambda *arrays: sum(map(np.abs, arrays)),
    smooth=True,
)
add(
    "where",
    lambda d: _where(d),
    lambda c, x, y: np.where(_as_rows(c, x), x, y),
    dtype=lambda dtypes, attrs: common(dtypes[1:], attrs),
    smooth=True,
)


def _several(d):
    one = d.array()
    return [one] + [d.array(shape=d.value(one).shape) for _ in range(d.integer(1, 3))], {}


def _as_rows(condition, x):
    rows = condition.ndim == 1 and x.ndim > 1
    return (condition.reshape(-1, *[1] * (x.ndim - 1)) if rows else condition) != 0


def _where(d):
    x = d.array()
    shape = d.value(x).shape
    return [d.array(shape=shape if d.flip() else shape[:1]), x, d.array(shape=shape)], {}


# sums and extremes


def _axes(x, axis, exclude):
    axes = (
        tuple(range(x.ndim))
        if axis is None or axis == ()
        else tuple(sorted({one % x.ndim for one in (axis if isinstance(axis, tuple) else (axis,))}))
    )
    return tuple(one for one in range(x.ndim) if one not in axes) if exclude else axes


def _reduced(function):
    return lambda x, axis=None, keepdims=False, exclude=False, **attrs: function(
        x, axis=_axes(x, axis, exclude), keepdims=keepdims
    )


def _reduction_draw(types=NUMBERS, exclude=True):
    def draw(d):
        key = d.array(types=types, ndims=(1, 2, 2, 3), low=-50, high=50)
        ndim = d.value(key).ndim
        axis = d.choose([None, 0, -1, tuple(range(ndim)), (ndim - 1,)])
        attrs = {"axis": axis, "keepdims": d.flip()}
        return [key], {**attrs, **({"exclude": True} if exclude and d.flip() and axis in (0, -1) and ndim > 1 else {})}

    return draw


def _mean(x, axis, keepdims):
    count = math.prod(x.shape[one] for one in axis)
    return np.sum(x, axis=axis, keepdims=keepdims, dtype=np.float64) / count


_magnitude = _reduced(lambda x, axis, keepdims: np.sum(np.abs(np.nan_to_num(x)), axis=axis, keepdims=keepdims))
for _name, _function in {"sum": np.sum, "mean": _mean, "nansum": np.nansum}.items():
    add(_name, _reduction_draw(), _reduced(_function), dtype=first, ulps=16, smooth=_name != "nansum", scale=_magnitude)
for _name, _function in {"prod": np.prod, "nanprod": np.nanprod}.items():
    add(_name, _reduction_draw(FLOATS), _reduced(_function), dtype=first, ulps=32, smooth=_name == "prod")
add(
    "_square_sum",
    _reduction_draw(FLOATS),
    _reduced(lambda x, axis, keepdims: np.sum(x * x, axis=axis, keepdims=keepdims)),
    dtype=first,
    ulps=16,
    smooth=True,
    scale=_reduced(lambda x, axis, keepdims: np.nansum(x * x, axis=axis, keepdims=keepdims)),
)
for _name, _function in {"max": np.max, "min": np.min}.items():
    add(_name, _reduction_draw(), _reduced(_function), dtype=first, smooth=True)
add(
    "norm",
    lambda d: _norm_draw(d),
    lambda x, ord, axis, keepdims: (
        np.sum(np.abs(x), axis=_axes(x, axis, False), keepdims=keepdims)
        if ord == 1
        else np.sqrt(np.sum(x * x, axis=_axes(x, axis, False), keepdims=keepdims))
    ),
    dtype=first,
    ulps=32,
    smooth=True,
)
for _name, _function in {"argmax": np.argmax, "argmin": np.argmin}.items():
    add(
        _name,
        lambda d: _arg_draw(d),
        lambda x, axis, keepdims, function=_function: function(x, axis=axis, keepdims=keepdims),
        dtype=first,
    )


def _norm_draw(d):
    keys, attrs = _reduction_draw((*FLOATS, "int32", "int64"), False)(d)
    return keys, {**attrs, "ord": d.choose([1, 2])}


def _arg_draw(d):
    key = d.array(types=FLOATS, finite=True, ndims=(1, 2, 2, 3))
    return [key], {"axis": d.choose([0, -1]), "keepdims": d.flip()}


# shapes


def _shaped(d, **more):
    key = d.array(types=TYPES, **more)
    return key, d.value(key)


def _move(name, draw, value, **more):
    add(name, draw, value, dtype=more.pop("dtype", first), exact=True, smooth=True, **more)


def _reshape_draw(d):
    key, x = _shaped(d)
    sizes = [(-1,), (1, -1), (-1, 1), tuple(reversed(x.shape)), (0, -1) if x.ndim > 1 else (-1,), (*x.shape, 1)]
    return [key], {"shape": d.choose(sizes)}


def _reshape(x, shape):
    return x.reshape([x.shape[place] if size == 0 else size for place, size in enumerate(shape)])


def _slice_draw(d):
    key, x = _shaped(d, ndims=(1, 2, 2, 3))
    begin, end, step = [], [], []
    for size in x.shape:
        low = d.integer(0, size - 1)
        begin.append(d.choose([low, None if low == 0 else low, low - size]))
        end.append(d.choose([None, low + 1, size]))
        step.append(d.choose([1, 1, 2, None]))
    attrs = {"begin": tuple(begin), "end": tuple(end)}
    return [key], ({**attrs, "step": tuple(step)} if d.flip() else attrs)


def _axis_draw(d, **more):
    key, x = _shaped(d, **more)
    return key, x, d.integer(-x.ndim, x.ndim - 1)


def _slice_axis_draw(d):
    key, x, axis = _axis_draw(d)
    low = d.integer(0, x.shape[axis] - 1)
    return [key], {"axis": axis, "begin": low, "end": d.choose([None, low + 1])}


def _slice_axis(x, axis, begin, end):
    return np.take(x, range(*slice(begin, end).indices(x.shape[axis])), axis=axis)


def _transpose_draw(d):
    key, x = _shaped(d)
    return [key], {} if d.flip() else {"axes": tuple(d.permutation(x.ndim))}


def _joined_draw(d, axis_name):
    one, x = _shaped(d, ndims=(1, 2, 2, 3))
    axis = d.integer(-x.ndim, x.ndim - 1)
    same = d.flip()
    return [one] + [d.array(types=(str(x.dtype),) if same else NUMBERS, shape=x.shape) for _ in range(d.integer(1, 2))], {
        axis_name: axis
    }


def _split_draw(d):
    key, x, axis = _axis_draw(d, ndims=(1, 2, 2, 3))
    parts = d.choose([n for n in range(1, x.shape[axis] + 1) if x.shape[axis] % n == 0])
    return [key], {"num_outputs": parts, "axis": axis}


def _like_draw(d):
    right, y = _shaped(d)
    return [d.array(types=TYPES, shape=tuple(1 if d.flip() else size for size in y.shape)), right], {}


_move("Reshape", _reshape_draw, _reshape)
_move("reshape", _reshape_draw, _reshape)
_move("Flatten", lambda d: ([d.array(types=TYPES, ndims=(2, 2, 3))], {}), lambda x: x.reshape(x.shape[0], -1))
_move("transpose", _transpose_draw, lambda x, axes=None: np.transpose(x, axes))
_move(
    "expand_dims",
    lambda d: (lambda key, x, axis: ([key], {"axis": axis}))(*_axis_draw(d)),
    lambda x, axis: np.expand_dims(x, axis),
)
_move("squeeze", lambda d: ([d.array(types=TYPES)], {}), lambda x: x.reshape(tuple(n for n in x.shape if n != 1) or (1,)))
_move(
    "SwapAxis",
    lambda d: (lambda key, x, axis: ([key], {"dim1": 0, "dim2": axis % x.ndim}))(*_axis_draw(d)),
    lambda x, dim1, dim2: np.swapaxes(x, dim1, dim2),
)
_move("reverse", lambda d: (lambda key, x, axis: ([key], {"axis": axis}))(*_axis_draw(d)), lambda x, axis: np.flip(x, axis))
_move(
    "slice",
    _slice_draw,
    lambda x, begin, end, step=(): x[tuple(slice(*one) for one in zip(begin, end, step or (None,) * len(begin), strict=True))],
)
_move("slice_axis", _slice_axis_draw, _slice_axis)
_move(
    "tile",
    lambda d: ([d.array(types=TYPES, ndims=(1, 2))], {"reps": d.choose([(2,), (2, 1), (1, 3)])}),
    lambda x, reps: np.tile(x, reps),
)
_move(
    "repeat",
    lambda d: (lambda key, x, axis: ([key], {"repeats": d.integer(1, 3), "axis": d.choose([axis, None])}))(*_axis_draw(d)),
    lambda x, repeats, axis: np.repeat(x, repeats, axis),
)
_move(
    "broadcast_to",
    lambda d: (lambda key, shape: ([key], {"shape": shape}))(d.array(types=TYPES, shape=(1, 3) if d.flip() else (2, 1)), (2, 3)),
    lambda x, shape: np.broadcast_to(x, shape),
)
_move(
    "broadcast_axis",
    lambda d: ([d.array(types=TYPES, shape=(1, 3))], {"axis": 0, "size": d.integer(1, 3)}),
    lambda x, axis, size: np.repeat(x, size, axis),
)
add("broadcast_like", _like_draw, lambda x, y: np.broadcast_to(x, y.shape), dtype=first, smooth=True)
add(
    "slice_like",
    lambda d: (lambda one, x: ([one, d.array(shape=tuple(d.integer(1, n) for n in x.shape))], {}))(*_shaped(d)),
    lambda x, y: x[tuple(slice(0, n) for n in y.shape)],
    dtype=first,
    smooth=True,
)
_move("diag", lambda d: ([d.array(types=TYPES, ndims=(1, 2))], {"k": 0}), lambda x, k: np.diag(x, k))
_move("concat", lambda d: _joined_draw(d, "dim"), lambda *arrays, dim: np.concatenate(arrays, dim), dtype=common)
_move("stack", lambda d: _joined_draw(d, "axis"), lambda *arrays, axis: np.stack(arrays, axis), dtype=common)
_move("SliceChannel", _split_draw, lambda x, num_outputs, axis: list(np.split(x, num_outputs, axis)))
_move(
    "shape_array",
    lambda d: ([d.array(types=TYPES)], {}),
    lambda x: np.array(x.shape),
    dtype=lambda dtypes, attrs: np.dtype("int64"),
)
_move(
    "size_array",
    lambda d: ([d.array(types=TYPES)], {}),
    lambda x: np.array([x.size]),
    dtype=lambda dtypes, attrs: np.dtype("int64"),
)
for _name in ("shape_array", "size_array"):
    table[_name].smooth = False


# places


def _indices(d, size, shape=None, types=("int32", "int64", "float32", "uint8", "int8")):
    return d.fresh(
        d.rng.integers(0, size, shape if shape is not None else d.choose([(2,), (1, 2), (3,)])).astype(d.choose(types))
    )


def _take_draw(d):
    key, x, axis = _axis_draw(d, ndims=(1, 2, 2, 3))
    return [key, _indices(d, x.shape[axis])], {"axis": axis, "mode": d.choose(["clip", "wrap"])}


def _embedding_draw(d):
    weight, x = _shaped(d, ndims=(2,))
    return [_indices(d, x.shape[0]), weight], {"input_dim": x.shape[0], "output_dim": x.shape[1]}


def _pick_draw(d):
    key, x = _shaped(d, ndims=(2,))
    return [key, _indices(d, x.shape[1], x.shape[:1])], {}


add("take", _take_draw, lambda x, i, axis, mode: np.take(x, i.astype(int), axis=axis), dtype=first, smooth=True)
add(
    "Embedding",
    _embedding_draw,
    lambda i, w, input_dim, output_dim: w[i.astype(int)],
    dtype=lambda dtypes, attrs: dtypes[1],
    smooth=True,
)
add("pick", _pick_draw, lambda x, i: np.take_along_axis(x, i.astype(int)[:, None], 1)[:, 0], dtype=first, smooth=True)
add("batch_take", _pick_draw, lambda x, i: np.take_along_axis(x, i.astype(int)[:, None], 1)[:, 0], dtype=first, smooth=True)
add(
    "gather_nd",
    lambda d: (lambda key, x: ([key, _indices(d, x.shape[0], (1, 2))], {}))(*_shaped(d, ndims=(1, 2, 2, 3))),
    lambda x, i: x[i.astype(int)[0]],
    dtype=first,
    smooth=True,
)
add(
    "one_hot",
    lambda d: ([_indices(d, 4)], {"depth": 4, "dtype": d.choose(NUMBERS)}),
    lambda i, depth, dtype: np.eye(depth)[i.astype(int)],
    dtype=named,
)
add(
    "sparse_retain",
    lambda d: (lambda key, x: ([key, d.fresh(np.array(sorted(set(d.rng.integers(0, x.shape[0], 2).tolist()))))], {}))(
        *_shaped(d, ndims=(1, 2, 2, 3))
    ),
    lambda x, i: np.where(np.isin(np.arange(len(x)), i).reshape(-1, *[1] * (x.ndim - 1)), x, 0),
    dtype=first,
    smooth=True,
)


def _sort(x, axis, is_ascend):
    made = np.sort(x, axis=axis)
    return made if is_ascend else np.flip(made, axis)


def _ordered_draw(d, **more):
    key, _, axis = _axis_draw(d, ndims=(1, 2, 2), finite=True)
    return [key], {"axis": axis, "is_ascend": d.flip()}


add("sort", _ordered_draw, _sort, dtype=first, smooth=True)
add(
    "cumsum",
    lambda d: (lambda key, axis: ([key], {"axis": d.choose([axis, None])}))(
        *(lambda key: (key, d.integer(0, d.value(key).ndim - 1)))(d.array(low=-10, high=10))
    ),
    lambda x, axis: np.cumsum(x, axis=axis),
    dtype=first,
    smooth=True,
    ulps=16,
    scale=lambda x, axis: np.cumsum(np.abs(x), axis=axis),
)


# products


def _dot_shapes(d, left, attrs):
    rows = left[0] if attrs["transpose_a"] else left[-1]
    other = d.integer(1, 4)
    return (other, rows) if attrs["transpose_b"] else (rows, other)


def _dot_draw(d):
    left = d.array(types=FLOATS, ndims=(2,), finite=True, low=-50, high=50)
    attrs = {"transpose_a": d.flip(), "transpose_b": d.flip()}
    kind = (str(d.value(left).dtype),)
    right = d.array(
        types=kind if d.flip() else FLOATS, shape=_dot_shapes(d, d.value(left).shape, attrs), finite=True, low=-50, high=50
    )
    return [left, right], attrs


def _dot(x, y, transpose_a, transpose_b):
    return (x.T if transpose_a else x) @ (y.T if transpose_b else y)


add("dot", _dot_draw, _dot, ulps=16, smooth=True, scale=lambda x, y, **attrs: _dot(np.abs(x), np.abs(y), **attrs))
add(
    "FullyConnected",
    lambda d: _dense_draw(d),
    lambda x, w, b=None, **attrs: x.reshape(len(x), -1) @ w.T + (0 if b is None else b),
    ulps=16,
    smooth=True,
    scale=lambda x, w, b=0, **attrs: np.abs(x.reshape(len(x), -1)) @ np.abs(w).T + np.abs(b),
)
add(
    "batch_dot",
    lambda d: (lambda x: ([d.fresh(x), d.fresh(d.dense((x.shape[0], x.shape[2], 2), x.dtype, -9, 9, True))], {}))(
        d.dense((2, 2, 3), d.choose(FLOATS), -9, 9, True)
    ),
    lambda x, y: x @ y,
    ulps=16,
    smooth=True,
    scale=lambda x, y: np.abs(x) @ np.abs(y),
)
add(
    "khatri_rao",
    lambda d: ([d.array(types=FLOATS, shape=(2, 3), low=-9, high=9), d.array(types=FLOATS, shape=(3, 3), low=-9, high=9)], {}),
    lambda x, y: (x[:, None, :] * y[None, :, :]).reshape(-1, x.shape[1]),
    smooth=True,
)


def _dense_draw(d):
    x = d.array(types=FLOATS, ndims=(2,), finite=True, low=-9, high=9)
    hidden, kind = d.integer(1, 3), (str(d.value(x).dtype),)
    arrays = [x, d.array(types=kind, shape=(hidden, d.value(x).shape[1]), finite=True, low=-9, high=9)]
    bias = d.flip()
    return arrays + ([d.array(types=kind, shape=(hidden,), finite=True, low=-9, high=9, stype="default")] if bias else []), {
        "num_hidden": hidden,
        "no_bias": not bias,
    }


# probabilities, in long double so that log(softmax) is right to the last digits of float64


def _long(x):
    return np.asarray(x, np.longdouble)


def _softmax(x, axis):
    e = np.exp(_long(x) - np.max(_long(x), axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _log_softmax(x, axis):
    x = _long(x)
    top = np.argmax(x, axis=axis, keepdims=True)
    shifted = x - np.take_along_axis(x, top, axis)
    e = np.exp(shifted)
    np.put_along_axis(e, top, 0, axis)
    return shifted - np.log1p(e.sum(axis=axis, keepdims=True))


def _soft_draw(d):
    key, _, axis = _axis_draw_floats(d)
    return [key], {"axis": axis}


def _axis_draw_floats(d):
    key = d.array(types=FLOATS, finite=True, low=-30, high=30, ndims=(1, 2, 2, 3))
    x = d.value(key)
    return key, x, d.integer(-x.ndim, x.ndim - 1)


add("softmax", _soft_draw, _softmax, dtype=first, ulps=128, smooth=True)
add("softmin", _soft_draw, lambda x, axis: _softmax(-x, axis), dtype=first, ulps=128, smooth=True)
add(
    "log_softmax",
    _soft_draw,
    _log_softmax,
    dtype=first,
    ulps=16,
    smooth=True,
    scale=lambda x, axis: np.maximum(1, np.abs(_log_softmax(x, axis)).astype(float)),  # 1 + 2e-12 is 1 in float32
    strict=True,
)
add(
    "L2Normalization",
    lambda d: ([d.array(types=FLOATS, finite=True, low=-9, high=9, ndims=(2,))], {}),
    lambda x: x / np.sqrt(np.sum(x * x, axis=1, keepdims=True) + 1e-10),
    dtype=first,
    ulps=32,
    smooth=True,
)
add(
    "LayerNorm",
    lambda d: (
        lambda key, n: (
            [
                key,
                d.array(types=(str(d.value(key).dtype),), shape=(n,), finite=True, low=-2, high=2, stype="default"),
                d.array(types=(str(d.value(key).dtype),), shape=(n,), finite=True, low=-2, high=2, stype="default"),
            ],
            {},
        )
    )(
        *(lambda key: (key, d.value(key).shape[-1]))(
            d.array(types=("float32", "float64"), finite=True, low=-9, high=9, ndims=(2,))
        )
    ),
    lambda x, g, b: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b,
    ulps=256,
    smooth=True,
    scale=lambda x, g, b: (
        (np.abs(x).max(-1, keepdims=True) + 1) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * np.abs(g) + np.abs(b)
    ),
)


# operators without a reference: on their samples, so that the ways of running are compared

#: Operators that no graph calls: they write to inputs, draw random numbers, keep states, or are made for one place in a graph.
NOT_HERE = {
    "Custom",
    "Dropout",
    "BatchNorm",
    "IdentityAttachKLSparseReg",
    "RNN",
    "_rnn_backward",
    "_shuffle",
    "_getitem",
    "_view",
}


def sampled(op):
    """Names and a draw for an operator of the registry that the table lacks."""

    def draw(d):
        samples = list(op.sample())
        arrays, attrs = d.choose(samples)
        return [d.fresh(np.ascontiguousarray(x)) for x in arrays], dict(attrs)

    return draw


def fill_up(registry) -> None:
    """Add every other operator of the registry, without a reference."""
    covered = {name.partition(":")[0] for name in table}
    for op in {op.name: op for op in registry.values()}.values():
        names = {op.name, *op.aliases}
        if names & (covered | NOT_HERE) or op.mutates or not op.inputs or op.name.startswith(("_random_", "_sample_")):
            continue
        add(op.name, sampled(op), None)
