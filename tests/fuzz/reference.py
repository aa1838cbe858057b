"""What the fuzzer draws for each operator, and how closely it is held to ``tests/references``.

A reference gets numpy arrays.  Where ``exact`` is set they come in the result's element type and the results must be
equal.  Otherwise floats and integers come as float64, and results must agree within ``ulps`` units in the last place,
of the value or of ``scale``, the sum of the magnitudes that were added up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import sparsekit.ndarray  # noqa: F401 - declares the operators
from sparsekit.core.op import find
from tests.references import FLOATS, NUMBERS, REFERENCES, common, first
from tests.references.elementwise import divide as _divide
from tests.references.elementwise import modulo as _mod
from tests.references.elementwise import power as _power
from tests.references.neural import log_softmax

TYPES = (*NUMBERS, "bool")


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


SHARED = object()


def add(name, draw, value=SHARED, **more):
    """Enter an operator; what it computes is in ``tests/references`` unless ``value`` says otherwise."""
    table[name] = Reference(name, draw, shared(name) if value is SHARED else value, **more)


def shared(name):
    """The operator's function in ``tests/references``, with the defaults of attributes that a call leaves out."""
    op = find(name.partition(":")[0])
    value = REFERENCES[op.name].value
    return lambda *arrays, **attrs: value(*arrays, **{**op.attrs, **attrs})


# functions of one array


#: name -> low end, high end of what floats are drawn from (None: any number).
UNARY: dict[str, tuple[float | None, float | None]] = {"sqrt": (0, None), "cbrt": (None, None), "square": (None, None),
    "rsqrt": (0.1, None), "rcbrt": (0.1, None), "reciprocal": (None, None), "exp": (None, 11), "expm1": (None, 11),
    "log": (0, None), "log1p": (-1, None), "log2": (0, None), "log10": (0, None), "sin": (-9, 9), "cos": (-9, 9),
    "tan": (-1.5, 1.5), "arcsin": (-1, 1), "arccos": (-1, 1), "arctan": (None, None), "sinh": (-9, 9), "cosh": (-9, 9),
    "tanh": (None, None), "arcsinh": (None, None), "arccosh": (1, None), "arctanh": (-1, 1), "degrees": (None, None),
    "radians": (None, None), "erf": (None, None), "erfinv": (-1, 1), "gamma": (0.3, 7), "gammaln": (0.3, None),
    "sigmoid": (None, None), "softrelu": (None, None), "softsign": (-1e6, 1e6), "hard_sigmoid": (None, None)}
#: Functions that are steps, or whose value is exact: bits must be equal.
STEPS = ("negative", "abs", "sign", "relu", "ceil", "floor", "trunc", "fix", "rint", "round", "identity", "BlockGrad",
         "make_loss", "zeros_like", "ones_like", "logical_not")
#: Whose rounding in float16 and float32 compounds: cancellation near a zero or a pole, or several roundings.
_LOOSE = {"reciprocal": 2, "rsqrt": 4, "rcbrt": 6, "softsign": 4, "gamma": 64, "gammaln": 64, "erfinv": 64, "hard_sigmoid": 8,
          "tan": 16, "sinh": 16, "cosh": 16}

for _name, (_low, _high) in UNARY.items():
    add(_name, lambda d, low=_low, high=_high: ([d.array(low=low, high=high)], {}), dtype=first, ulps=_LOOSE.get(_name, 8),
        smooth=True, scale=(lambda x: np.ones(x.shape)) if _name in ("hard_sigmoid", "gammaln") else None,
        flushes=_name == "sigmoid")
for _name in STEPS:
    add(_name, lambda d: ([d.array()], {}), dtype=first, exact=True, smooth=_name not in ("BlockGrad", "make_loss"))
for _act in ("relu", "tanh", "sigmoid", "softsign", "softrelu"):
    add(f"Activation:{_act}", lambda d, act=_act: ([d.array(types=FLOATS, low=-1e4, high=1e4)], {"act_type": act}),
        dtype=first, smooth=True, flushes=_act == "sigmoid")
for _act in ("leaky", "elu", "gelu", "selu"):
    add(f"LeakyReLU:{_act}",
        lambda d, act=_act: ([d.array(types=FLOATS, low=-30, high=100)],
                             {"act_type": act, "slope": d.choose([0.25, 0.5, 1.0])}), dtype=first, smooth=True, ulps=16,
        scale=lambda x, **attrs: np.abs(x), strict=True)
add("Cast", lambda d: ([d.array(low=-100, high=100)], {"dtype": d.choose(NUMBERS)}), dtype=named)
add("cast_storage", lambda d: _stored(d), dtype=first, exact=True, smooth=True)
add("smooth_l1", lambda d: ([d.array(types=FLOATS, low=-1e3, high=1e3)], {"scalar": d.choose([1.0, 2.0, 0.5])}), dtype=first,
    smooth=True, scale=lambda x, scalar: np.abs(x) + 1)
add("_contrib_quadratic",
    lambda d: ([d.array(types=FLOATS, low=-1e2, high=1e2)],
               {"a": d.choose([0.0, 1.5]), "b": d.choose([0.0, -2.0]), "c": d.choose([0.0, 0.5])}), dtype=first, smooth=True,
    scale=lambda x, a, b, c: np.abs(a * x * x) + np.abs(b * x) + c)
add("clip", lambda d: ([d.array()], {"a_min": d.choose([-1.0, 0.0, -3.0]), "a_max": d.choose([1.0, 0.5, 2.0])}), dtype=first,
    smooth=True)


def _stored(d):
    key = d.array()
    ndim = d.value(key).ndim
    return [key], {"stype": d.choose(["default"] + ["row_sparse"] * (ndim > 0) + ["csr"] * (ndim == 2))}


# an array and a number, as Python's operators


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
        add(f"number {_symbol} x" if _left else f"x {_symbol} number", _scalar_draw(_symbol, _left),
            _with_scalar(_function, _left), dtype=first, exact=_symbol != "**", smooth=_symbol not in COMPARISONS,
            write=_write)


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
    add(f"elemwise_{_name}", lambda d: (_pair(d, same=True), {}), exact=True, smooth=True)
    add(f"broadcast_{_name}", lambda d: (_pair(d), {}), exact=True, smooth=True)
    add(f"x {SIGNS[_name]} y", lambda d: (_pair(d, same=True), {}), _function, exact=True, smooth=True,
        write=f"{{0}} {SIGNS[_name]} {{1}}")
for _name in ("maximum", "minimum", "mod"):
    add(f"broadcast_{_name}", lambda d: (_pair(d), {}), exact=True, smooth=True)
add("broadcast_power", lambda d: (_pair(d, types=FLOATS, low=0.1, high=9, second=(-2, 3)), {}), ulps=64, smooth=True)
add("broadcast_hypot", lambda d: (_pair(d, types=FLOATS, low=-100, high=100), {}), ulps=16, smooth=True)
for _name in ("equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal", "logical_and", "logical_or",
              "logical_xor"):
    add(f"broadcast_{_name}", lambda d: (_pair(d), {}), exact=True, dtype=first)
add("add_n", lambda d: _several(d), exact=True, smooth=True)
add("where", lambda d: _where(d), dtype=lambda dtypes, attrs: common(dtypes[1:], attrs), smooth=True)


def _several(d):
    one = d.array()
    return [one] + [d.array(shape=d.value(one).shape) for _ in range(d.integer(1, 3))], {}


def _where(d):
    x = d.array()
    shape = d.value(x).shape
    return [d.array(shape=shape if d.flip() else shape[:1]), x, d.array(shape=shape)], {}


# sums and extremes


def _axes(x, axis, exclude):
    axes = (tuple(range(x.ndim)) if axis is None or axis == ()
            else tuple(sorted({one % x.ndim for one in (axis if isinstance(axis, tuple) else (axis,))})))
    return tuple(one for one in range(x.ndim) if one not in axes) if exclude else axes


def _reduced(function):
    return lambda x, axis=None, keepdims=False, exclude=False, **attrs: function(x, axis=_axes(x, axis, exclude),
        keepdims=keepdims)


def _reduction_draw(types=NUMBERS, exclude=True):
    def draw(d):
        key = d.array(types=types, ndims=(1, 2, 2, 3), low=-50, high=50)
        ndim = d.value(key).ndim
        axis = d.choose([None, 0, -1, tuple(range(ndim)), (ndim - 1,)])
        attrs = {"axis": axis, "keepdims": d.flip()}
        return [key], {**attrs, **({"exclude": True} if exclude and d.flip() and axis in (0, -1) and ndim > 1 else {})}

    return draw


_magnitude = _reduced(lambda x, axis, keepdims: np.sum(np.abs(np.nan_to_num(x)), axis=axis, keepdims=keepdims))
for _name in ("sum", "mean", "nansum"):
    add(_name, _reduction_draw(), dtype=first, ulps=16, smooth=_name != "nansum", scale=_magnitude)
for _name in ("prod", "nanprod"):
    add(_name, _reduction_draw(FLOATS), dtype=first, ulps=32, smooth=_name == "prod")
add("_square_sum", _reduction_draw(FLOATS), dtype=first, ulps=16, smooth=True,
    scale=_reduced(lambda x, axis, keepdims: np.nansum(x * x, axis=axis, keepdims=keepdims)))
for _name in ("max", "min"):
    add(_name, _reduction_draw(), dtype=first, smooth=True)
add("norm", lambda d: _norm_draw(d), dtype=first, ulps=32, smooth=True)
for _name in ("argmax", "argmin"):
    add(_name, lambda d: _arg_draw(d), dtype=first)


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


def _move(name, draw, value=SHARED, **more):
    add(name, draw, value, dtype=more.pop("dtype", first), exact=True, smooth=True, **more)


def _reshape_draw(d):
    key, x = _shaped(d)
    sizes = [(-1,), (1, -1), (-1, 1), tuple(reversed(x.shape)), (0, -1) if x.ndim > 1 else (-1,), (*x.shape, 1)]
    return [key], {"shape": d.choose(sizes)}


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


def _transpose_draw(d):
    key, x = _shaped(d)
    return [key], {} if d.flip() else {"axes": tuple(d.permutation(x.ndim))}


def _joined_draw(d, axis_name):
    one, x = _shaped(d, ndims=(1, 2, 2, 3))
    axis = d.integer(-x.ndim, x.ndim - 1)
    same = d.flip()
    types = (str(x.dtype),) if same else NUMBERS
    return [one, *(d.array(types=types, shape=x.shape) for _ in range(d.integer(1, 2)))], {axis_name: axis}


def _split_draw(d):
    key, x, axis = _axis_draw(d, ndims=(1, 2, 2, 3))
    parts = d.choose([n for n in range(1, x.shape[axis] + 1) if x.shape[axis] % n == 0])
    return [key], {"num_outputs": parts, "axis": axis}


def _like_draw(d):
    right, y = _shaped(d)
    return [d.array(types=TYPES, shape=tuple(1 if d.flip() else size for size in y.shape)), right], {}


_move("Reshape", _reshape_draw)
_move("reshape", _reshape_draw)
_move("Flatten", lambda d: ([d.array(types=TYPES, ndims=(2, 2, 3))], {}))
_move("transpose", _transpose_draw)
_move("expand_dims", lambda d: (lambda key, x, axis: ([key], {"axis": axis}))(*_axis_draw(d)))
_move("squeeze", lambda d: ([d.array(types=TYPES)], {}))
_move("SwapAxis", lambda d: (lambda key, x, axis: ([key], {"dim1": 0, "dim2": axis % x.ndim}))(*_axis_draw(d)))
_move("reverse", lambda d: (lambda key, x, axis: ([key], {"axis": axis}))(*_axis_draw(d)))
_move("slice", _slice_draw)
_move("slice_axis", _slice_axis_draw)
_move("tile", lambda d: ([d.array(types=TYPES, ndims=(1, 2))], {"reps": d.choose([(2,), (2, 1), (1, 3)])}))
_move("repeat",
      lambda d: (lambda key, x, axis: ([key], {"repeats": d.integer(1, 3), "axis": d.choose([axis, None])}))(*_axis_draw(d)))
_move("broadcast_to",
      lambda d: (lambda key, shape: ([key], {"shape": shape}))(d.array(types=TYPES, shape=(1, 3) if d.flip() else (2, 1)),
    (2, 3)))
_move("broadcast_axis", lambda d: ([d.array(types=TYPES, shape=(1, 3))], {"axis": 0, "size": d.integer(1, 3)}))
add("broadcast_like", _like_draw, dtype=first, smooth=True)
add("slice_like", lambda d: (lambda one, x: ([one, d.array(shape=tuple(d.integer(1, n) for n in x.shape))], {}))(*_shaped(d)),
    dtype=first, smooth=True)
_move("diag", lambda d: ([d.array(types=TYPES, ndims=(1, 2))], {"k": 0}))
_move("concat", lambda d: _joined_draw(d, "dim"), dtype=common)
_move("stack", lambda d: _joined_draw(d, "axis"), dtype=common)
_move("SliceChannel", _split_draw)
_move("shape_array", lambda d: ([d.array(types=TYPES)], {}), dtype=lambda dtypes, attrs: np.dtype("int64"))
_move("size_array", lambda d: ([d.array(types=TYPES)], {}), dtype=lambda dtypes, attrs: np.dtype("int64"))
for _name in ("shape_array", "size_array"):
    table[_name].smooth = False


# places


def _indices(d, size, shape=None, types=("int32", "int64", "float32", "uint8", "int8")):
    return d.fresh(d.rng.integers(0, size, d.choose([(2,), (1, 2), (3,)]) if shape is None else shape).astype(d.choose(types)))


def _take_draw(d):
    key, x, axis = _axis_draw(d, ndims=(1, 2, 2, 3))
    return [key, _indices(d, x.shape[axis])], {"axis": axis, "mode": d.choose(["clip", "wrap"])}


def _embedding_draw(d):
    weight, x = _shaped(d, ndims=(2,))
    return [_indices(d, x.shape[0]), weight], {"input_dim": x.shape[0], "output_dim": x.shape[1]}


def _pick_draw(d):
    key, x = _shaped(d, ndims=(2,))
    return [key, _indices(d, x.shape[1], x.shape[:1])], {}


add("take", _take_draw, dtype=first, smooth=True)
add("Embedding", _embedding_draw, dtype=lambda dtypes, attrs: dtypes[1], smooth=True)
add("pick", _pick_draw, dtype=first, smooth=True)
add("batch_take", _pick_draw, dtype=first, smooth=True)
add("gather_nd", lambda d: (lambda key, x: ([key, _indices(d, x.shape[0], (1, 2))], {}))(*_shaped(d, ndims=(1, 2, 2, 3))),
    dtype=first, smooth=True)
add("one_hot", lambda d: ([_indices(d, 4)], {"depth": 4, "dtype": d.choose(NUMBERS)}), dtype=named)
add("sparse_retain",
    lambda d: (lambda key, x: ([key, d.fresh(np.array(sorted(set(d.rng.integers(0, x.shape[0], 2).tolist()))))], {}))(
        *_shaped(d, ndims=(1, 2, 2, 3))), dtype=first, smooth=True)


def _ordered_draw(d, **more):
    key, _, axis = _axis_draw(d, ndims=(1, 2, 2), finite=True)
    return [key], {"axis": axis, "is_ascend": d.flip()}


add("sort", _ordered_draw, dtype=first, smooth=True)
add("cumsum",
    lambda d: (lambda key, axis: ([key], {"axis": d.choose([axis, None])}))(*(lambda key: (key,
    d.integer(0, d.value(key).ndim - 1)))(d.array(low=-10, high=10))), dtype=first, smooth=True, ulps=16,
    scale=lambda x, axis: np.cumsum(np.abs(x), axis=axis))


# products


def _dot_shapes(d, left, attrs):
    rows = left[0] if attrs["transpose_a"] else left[-1]
    other = d.integer(1, 4)
    return (other, rows) if attrs["transpose_b"] else (rows, other)


def _dot_draw(d):
    left = d.array(types=FLOATS, ndims=(2,), finite=True, low=-50, high=50)
    attrs = {"transpose_a": d.flip(), "transpose_b": d.flip()}
    kind = (str(d.value(left).dtype),)
    right = d.array(types=kind if d.flip() else FLOATS, shape=_dot_shapes(d, d.value(left).shape, attrs), finite=True,
                    low=-50, high=50)
    return [left, right], attrs


def _dot(x, y, transpose_a, transpose_b):
    return (x.T if transpose_a else x) @ (y.T if transpose_b else y)


add("dot", _dot_draw, ulps=16, smooth=True, scale=lambda x, y, **attrs: _dot(np.abs(x), np.abs(y), **attrs))
add("FullyConnected", lambda d: _dense_draw(d), ulps=16, smooth=True,
    scale=lambda x, w, b=0, **attrs: np.abs(x.reshape(len(x), -1)) @ np.abs(w).T + np.abs(b))
add("batch_dot",
    lambda d: (lambda x: ([d.fresh(x), d.fresh(d.dense((x.shape[0], x.shape[2], 2), x.dtype, -9, 9, True))], {}))(
        d.dense((2, 2, 3), d.choose(FLOATS), -9, 9, True)), ulps=16, smooth=True, scale=lambda x, y: np.abs(x) @ np.abs(y))
add("khatri_rao",
    lambda d: ([d.array(types=FLOATS, shape=(2, 3), low=-9, high=9), d.array(types=FLOATS, shape=(3, 3), low=-9, high=9)],
               {}), smooth=True)


def _dense_draw(d):
    x = d.array(types=FLOATS, ndims=(2,), finite=True, low=-9, high=9)
    hidden, kind = d.integer(1, 3), (str(d.value(x).dtype),)
    arrays = [x, d.array(types=kind, shape=(hidden, d.value(x).shape[1]), finite=True, low=-9, high=9)]
    bias = d.flip()
    if bias:
        arrays.append(d.array(types=kind, shape=(hidden,), finite=True, low=-9, high=9, stype="default"))
    return arrays, {"num_hidden": hidden, "no_bias": not bias}


# probabilities


def _soft_draw(d):
    key, _, axis = _axis_draw_floats(d)
    return [key], {"axis": axis}


def _axis_draw_floats(d):
    key = d.array(types=FLOATS, finite=True, low=-30, high=30, ndims=(1, 2, 2, 3))
    x = d.value(key)
    return key, x, d.integer(-x.ndim, x.ndim - 1)


add("softmax", _soft_draw, dtype=first, ulps=128, smooth=True)
add("softmin", _soft_draw, dtype=first, ulps=128, smooth=True)
add("log_softmax", _soft_draw, dtype=first, ulps=16, smooth=True, strict=True,
    scale=lambda x, axis: np.maximum(1, np.abs(log_softmax(x, axis))))  # 1 + 2e-12 is 1 in float32
add("L2Normalization", lambda d: ([d.array(types=FLOATS, finite=True, low=-9, high=9, ndims=(2,))], {}), dtype=first, ulps=32,
    smooth=True)


def _layer_norm_draw(d):
    key = d.array(types=("float32", "float64"), finite=True, low=-9, high=9, ndims=(2,))
    kind, width = (str(d.value(key).dtype),), d.value(key).shape[-1:]
    return [key, *(d.array(types=kind, shape=width, finite=True, low=-2, high=2, stype="default") for _ in range(2))], {}


add("LayerNorm", _layer_norm_draw, ulps=256, smooth=True, scale=lambda x, g, b: (
    (np.abs(x).max(-1, keepdims=True) + 1) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * np.abs(g) + np.abs(b)))


# operators without a reference: on their samples, so that the ways of running are compared

#: Operators that no graph calls: they write to inputs, draw random numbers, keep states, or are made for one place in a graph.
NOT_HERE = {"Custom", "Dropout", "BatchNorm", "IdentityAttachKLSparseReg", "RNN", "_rnn_backward", "_shuffle", "_getitem",
            "_view"}


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
