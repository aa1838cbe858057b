"""Elementwise functions of one array; those that keep zero keep the storage type."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, overload

import numpy as np

from ...base.optional import scipy_part
from ...core import cost, infer
from ...core.op import SHAPE_ONLY, Op
from ...kernels import is_numpy
from ...storage import CSR, RowSparse
from .. import samples
from ..limits import filled

if TYPE_CHECKING:
    from ...base.types import Array, Attrs, DType
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import ArrayModule, Kernels
    from ...storage.types import Sparse


@overload
def on_data(store: CSR, data: Array) -> CSR: ...
@overload
def on_data(store: RowSparse, data: Array) -> RowSparse: ...
def on_data(store: Sparse, data: Array) -> Sparse:
    """A sparse store with the same places and other values."""
    if isinstance(store, CSR):
        return CSR(data, store.indices, store.indptr, store.shape, check=False)
    return RowSparse(data, store.indices, store.shape, check=False)


def plain(F: ArrayFunctions, array: ArrayObject) -> ArrayObject:
    """A dense array, for gradients that are not zero, or not a number, where nothing is stored."""
    return array if array.stype == "default" else F.cast_storage(array, stype="default")


def unary(
    name: str, function: Callable[..., Array], gradient: Callable[..., ArrayObject] | None, *, zero: bool = False,
    kernels: bool = False, doc: str, saves: tuple[str, ...] = ("data",), flat_at_zero: bool = False, low: float = -2.0,
    high: float = 2.0, aliases: tuple[str, ...] = (), kind: Callable[..., DType] = infer.same,
    count: cost.Cost = cost.elementwise, own_gradient: bool = False,
) -> Op:
    """Declare an elementwise function.

    Parameters
    ----------
    function : callable
        ``function(xp, x)``, or ``function(k, x)`` with ``kernels``.
    gradient : callable or None
        ``gradient(F, g, *saved)``; None for a function that is flat almost everywhere.
    zero : bool
        Whether f(0) = 0, so that sparse storage types are kept.
    saves : tuple of str
        What the gradient gets: ``"data"``, ``"out"``, both or neither.
    flat_at_zero : bool
        Whether f'(0) = 0, so that the gradient of a sparse array has its places; otherwise it gets dense arrays.
    low, high : float
        Where the test sweep samples.
    count : callable
        The operator's cost.
    own_gradient : bool
        As in ``Op``.
    """
    op = Op(name, "data", shape=infer.unchanged, dtype=kind, sample=samples.one(low, high), doc=doc, aliases=aliases,
            cost=count, saves=() if gradient is None else saves, own_gradient=own_gradient)

    @op.forward("default -> default")
    def values(k: Kernels, x: Array, attrs: Attrs) -> Array:
        module = k if kernels else k.xp
        result = function(module, x)
        if result.dtype is x.dtype:
            return result
        if result.dtype == np.float16 and x.dtype.itemsize == 1:  # numpy's choice for integers of 8 bits, which tanh(6) is 1 in
            result = function(module, x.astype(np.float64))
        return result.astype(x.dtype, copy=False)

    if zero:
        for stype in ("row_sparse", "csr"):
            @op.forward(f"{stype} -> {stype}")
            def _(k: Kernels, x: Sparse, attrs: Attrs) -> Sparse:
                return on_data(x, values(k, x.data, attrs))

    if gradient is None:
        op.gradient(lambda F, g, data, out, attrs, want: F.zeros_like(g))
    else:
        op.gradient(_rule(gradient, saves, zero and not flat_at_zero))
    return op


def _rule(gradient: Callable[..., ArrayObject], saves: tuple[str, ...], dense: bool) -> Callable[..., Gradients]:
    """The gradient rule of ``gradient(F, g, *saved)``; with ``dense``, what is saved becomes dense first."""

    def of_dense(F: ArrayFunctions, g: ArrayObject, *saved: ArrayObject) -> ArrayObject:
        return gradient(F, g, *[plain(F, array) for array in saved])

    function = of_dense if dense else gradient
    rules: dict[tuple[str, ...], Callable[..., Gradients]] = {
        (): lambda F, g, data, out, attrs, want: function(F, g),
        ("data",): lambda F, g, data, out, attrs, want: function(F, g, data),
        ("out",): lambda F, g, data, out, attrs, want: function(F, g, out),
        ("data", "out"): lambda F, g, data, out, attrs, want: function(F, g, data, out)}
    return rules[saves]


def from_scipy(name: str) -> Callable[..., Array]:
    """``function(xp, *arrays)`` of scipy.special, or cupy's twin of it; loaded by the first call, not by importing sparsekit.

    Integers are computed in float64: which type scipy takes for them depends on its version.
    """

    def run(xp: ArrayModule, *arrays: Array | int) -> Array:
        module = scipy_part("special") if is_numpy(xp) else importlib.import_module("cupyx.scipy.special")
        values: Array = getattr(module, name)(*[array if isinstance(array, int) else real(array) for array in arrays])
        return values

    return run


_erf, _gamma, _gammaln = from_scipy("erf"), from_scipy("gamma"), from_scipy("gammaln")


def _logistic(xp: ArrayModule, x: Array) -> Array:
    kind = x.dtype if x.dtype.kind == "f" else np.dtype(np.float32)
    if not is_numpy(xp):
        return xp.formula("sigmoid", kind, x)
    y = xp.negative(x.astype(kind if kind.itemsize > 2 else np.float32, copy=False))  # exp(12) is infinite in float16
    xp.exp(y, out=y)
    y += 1
    return xp.reciprocal(y, out=y).astype(kind, copy=False)


def _sigmoid(k: Kernels, x: Array) -> Array:
    """The same, in one pass over float32."""
    if x.dtype != np.float32:
        return _logistic(k.xp, x)
    out: Array = k.xp.empty(x.shape, x.dtype)
    k.sigmoid(x.reshape(-1), out.reshape(-1))
    return out


def real(x: Array) -> Array:
    """Integers as float64, in which a formula may negate them or add to them: -x of uint8 and 1 + x of int8 wrap."""
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _softplus(xp: ArrayModule, x: Array) -> Array:
    x = real(x)
    if not is_numpy(xp):
        return xp.formula("softplus", x.dtype, x)
    return xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x)))


def _ones(xp: ArrayModule, x: Array) -> Array:
    out = xp.empty(x.shape, x.dtype)
    out.fill(1)
    return out


LOG2, LOG10 = math.log(2.0), math.log(10.0)
HALF_TURN = math.pi / 180

unary("negative", lambda xp, x: -x, lambda F, g: -g, saves=(), zero=True, doc="Negation, ``-x``.")
unary("abs", lambda xp, x: xp.abs(x), lambda F, g, x: F._abs_backward(g, x), zero=True, flat_at_zero=True, doc="Absolute value.")
unary("sign", lambda xp, x: xp.sign(x), None, zero=True, doc="Sign: -1, 0 or 1.")
unary("square", lambda xp, x: x * x, lambda F, g, x: F.elemwise_mul(x, g) * 2, zero=True, flat_at_zero=True, doc="Square.")
unary("sqrt", lambda xp, x: xp.sqrt(x), lambda F, g, y: g * 0.5 / y, saves=("out",),
      zero=True, low=0.5, doc="Square root.")
unary("cbrt", lambda xp, x: xp.cbrt(x), lambda F, g, y: g / (F.square(y) * 3), saves=("out",),
      zero=True, low=0.5, doc="Cube root.")
unary("relu", lambda xp, x: xp.maximum(x, 0), lambda F, g, y: F._relu_backward(g, y), saves=("out",), zero=True,
      flat_at_zero=True, doc="Rectified linear unit, ``max(x, 0)``.")
unary("sigmoid", _sigmoid, lambda F, g, y: F._sigmoid_backward(g, y), kernels=True, saves=("out",),
      doc="Logistic function, ``1 / (1 + exp(-x))``.")
unary("softrelu", _softplus, lambda F, g, x: F._softrelu_backward(g, x), doc="Softplus, ``log(1 + exp(x))``.")
unary("softsign", lambda xp, x: real(x) / (1 + xp.abs(real(x))), lambda F, g, x: g / F.square(F.abs(x) + 1), zero=True,
      doc="``x / (1 + |x|)``.")
unary("exp", lambda xp, x: xp.exp(x), lambda F, g, y: g * y, saves=("out",), doc="Exponential.")
unary("expm1", lambda xp, x: xp.expm1(x), lambda F, g, y: g * (y + 1), saves=("out",), zero=True,
      doc="``exp(x) - 1``.")
unary("log", lambda xp, x: xp.log(x), lambda F, g, x: g / x, low=0.5, doc="Natural logarithm.")
unary("log1p", lambda xp, x: xp.log1p(x), lambda F, g, x: g / (x + 1), zero=True,
      low=-0.5, doc="``log(1 + x)``.")
unary("log2", lambda xp, x: xp.log2(x), lambda F, g, x: g / (x * LOG2), low=0.5, doc="Logarithm to base 2.")
unary("log10", lambda xp, x: xp.log10(x), lambda F, g, x: g / (x * LOG10), low=0.5, doc="Logarithm to base 10.")
unary("rsqrt", lambda xp, x: 1 / xp.sqrt(x), lambda F, g, x, y: g * y / (x * -2.0), saves=("data", "out"), low=0.5,
      doc="``1 / sqrt(x)``.")
unary("rcbrt", lambda xp, x: 1 / xp.cbrt(x), lambda F, g, x, y: g * y / (x * -3.0), saves=("data", "out"), low=0.5,
      doc="``1 / cbrt(x)``.")
unary("reciprocal", lambda xp, x: 1 / x, lambda F, g, y: g * F.square(y) * -1.0, saves=("out",), low=0.5, doc="``1 / x``.")
unary("sin", lambda xp, x: xp.sin(x), lambda F, g, x: g * F.cos(x), zero=True,
      doc="Sine, x in radians.")
unary("cos", lambda xp, x: xp.cos(x), lambda F, g, x: g * F.sin(x) * -1.0, doc="Cosine, x in radians.")
unary("tan", lambda xp, x: xp.tan(x), lambda F, g, y: g * (F.square(y) + 1), saves=("out",),
      zero=True, low=-1, high=1, doc="Tangent, x in radians.")
unary("arcsin", lambda xp, x: xp.arcsin(x),
      lambda F, g, x: g * F.rsqrt(F.square(x) * -1.0 + 1), zero=True, low=-0.9,
      high=0.9, doc="Inverse sine, in radians.")
unary("arccos", lambda xp, x: xp.arccos(x), lambda F, g, x: g * F.rsqrt(F.square(x) * -1.0 + 1) * -1.0, low=-0.9,
      high=0.9, doc="Inverse cosine, in radians.")
unary("arctan", lambda xp, x: xp.arctan(x), lambda F, g, x: g / (F.square(x) + 1),
      zero=True, doc="Inverse tangent, in radians.")
unary("sinh", lambda xp, x: xp.sinh(x), lambda F, g, x: g * F.cosh(x), zero=True,
      doc="Hyperbolic sine.")
unary("cosh", lambda xp, x: xp.cosh(x), lambda F, g, x: g * F.sinh(x), doc="Hyperbolic cosine.")
unary("tanh", lambda xp, x: xp.tanh(x),
      lambda F, g, y: g * (F.square(y) * -1.0 + 1), saves=("out",), zero=True,
      doc="Hyperbolic tangent.")
unary("arcsinh", lambda xp, x: xp.arcsinh(x),
      lambda F, g, x: g * F.rsqrt(F.square(x) + 1), zero=True,
      doc="Inverse hyperbolic sine.")
unary("arccosh", lambda xp, x: xp.arccosh(x), lambda F, g, x: g * F.rsqrt(F.square(x) - 1), low=1.5, high=3,
      doc="Inverse hyperbolic cosine.")
unary("arctanh", lambda xp, x: xp.arctanh(x),
      lambda F, g, x: g / (F.square(x) * -1.0 + 1), zero=True, low=-0.9, high=0.9,
      doc="Inverse hyperbolic tangent.")
unary("degrees", lambda xp, x: xp.degrees(x), lambda F, g: g / HALF_TURN, saves=(), zero=True, doc="Radians to degrees.")
unary("radians", lambda xp, x: xp.radians(x), lambda F, g: g * HALF_TURN, saves=(), zero=True, doc="Degrees to radians.")
unary("ceil", lambda xp, x: xp.ceil(x), None, zero=True, doc="Smallest integer not below x.")
unary("floor", lambda xp, x: xp.floor(x), None, zero=True, doc="Largest integer not above x.")
unary("trunc", lambda xp, x: xp.trunc(x), None, zero=True, aliases=("fix",), doc="x without its fraction.")
unary("rint", lambda xp, x: xp.ceil(x - 0.5), None, zero=True, doc="Nearest integer; halves go down, as in MXNet.")
unary("round", lambda xp, x: xp.copysign(xp.floor(xp.abs(x) + 0.5), x), None, zero=True,
      doc="Nearest integer; halves go away from zero, as in MXNet.")
unary("erf", _erf, lambda F, g, x: g * F.exp(F.square(x) * -1.0) * (2 / math.sqrt(math.pi)), zero=True,
      doc="Error function.")
unary("gamma", _gamma, lambda F, g, x, y: g * y * F._polygamma(x), saves=("data", "out"), low=0.5, doc="Gamma function.")
unary("gammaln", _gammaln, lambda F, g, x: g * F._polygamma(x), low=0.5,
      doc="Logarithm of the absolute value of the gamma function.")
unary("logical_not", lambda xp, x: (x == 0).astype(x.dtype), None, doc="1 where x is zero, else 0.").forward(
    "row_sparse|csr -> default")(lambda k, x, attrs: filled(k, x, "logical_not", lambda x: (x == 0).astype(x.dtype)))
unary("identity", lambda xp, x: x.copy(), lambda F, g: g, saves=(), zero=True, aliases=("_copy",), doc="A copy.",
      count=cost.none)
unary("make_loss", lambda xp, x: x.copy(), lambda F, g: F.ones_like(g), saves=(), zero=True, count=cost.none,
      own_gradient=True, doc="Mark a value as a loss: its gradient is 1, whatever the gradient from above.")
unary("BlockGrad", lambda xp, x: x.copy(), None, zero=True, aliases=("stop_gradient",), count=cost.none,
      doc="The value itself, through which no gradient flows.")
unary("zeros_like", lambda xp, x: xp.zeros_like(x), None, zero=True, count=cost.none, doc="Zeros of the same shape and type.")
unary("ones_like", _ones, None, count=cost.none, doc="Ones of the same shape and type; dense.").forward(
    "row_sparse|csr -> default", asked=SHAPE_ONLY)(lambda k, x, attrs: filled(k, x, "ones_like", lambda x: _ones(k.xp, x)))
unary("_contrib_round_ste", lambda xp, x: xp.copysign(xp.floor(xp.abs(x) + 0.5), x), lambda F, g: g, saves=(), zero=True,
      doc="Round, with the straight-through gradient of Bengio et al. 2013, https://arxiv.org/abs/1308.3432.")
unary("_contrib_sign_ste", lambda xp, x: xp.sign(x), lambda F, g: g, saves=(), zero=True,
      doc="Sign, with the straight-through gradient of Bengio et al. 2013, https://arxiv.org/abs/1308.3432.")
