"""Special functions, rarer arithmetic, and the short names of elementwise operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...core import infer
from ...core.op import Op, find
from .. import samples
from .binary import _sum_to, broadcasting
from .scalar import with_scalar
from .unary import from_scipy, on_data, plain, real, unary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import ArrayModule, Kernels
    from ...storage import CSR

_erfinv, _digamma, _polygamma = from_scipy("erfinv"), from_scipy("digamma"), from_scipy("polygamma")

unary("erfinv", _erfinv, lambda F, g, y: g * F.exp(F.square(y)) * (math.sqrt(math.pi) / 2), saves=("out",), low=-0.9, high=0.9,
      doc="Inverse of the error function; infinite at -1 and 1, nan beyond.")


def function_of(name: str, function: Callable[..., Array], gradient: Callable[..., Gradients],
                sample: Callable[[], samples.Samples], doc: str, attrs: Attrs | None = None) -> None:
    """Declare an elementwise function with attributes: ``function(xp, x, attrs)``, ``gradient(F, g, x, attrs)``."""
    op = Op(name, "data", attrs=attrs, shape=infer.unchanged, sample=sample, doc=doc, saves=("data",))

    @op.forward("default -> default")
    def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
        values = function(k.xp, x, attrs)
        return values if values.dtype == x.dtype else values.astype(x.dtype)

    op.gradient(lambda F, g, data, out, attrs, want: gradient(F, g, data, attrs))


function_of("_polygamma", lambda xp, x, attrs: _polygamma(xp, attrs["order"], x) if attrs["order"] else _digamma(xp, x),
            lambda F, g, x, attrs: g * F._polygamma(x, order=attrs["order"] + 1),
            lambda: [([np.abs(samples.grid()) + 0.5], {"order": order}) for order in (0, 1)],
            "Derivatives of the logarithm of the gamma function: ``order`` 0 is the first, digamma.", {"order": 0})


def _smooth(xp: ArrayModule, x: Array, attrs: Attrs) -> Array:
    square = float(attrs["scalar"]) ** 2
    x = real(x)
    size = xp.abs(x)
    return xp.where(size < 1 / square, 0.5 * square * x * x, size - 0.5 / square) if square else 0.5 * square * x * x


def _smooth_gradient(F: ArrayFunctions, g: ArrayObject, x: ArrayObject, attrs: Attrs) -> ArrayObject:
    square = float(attrs["scalar"]) ** 2
    if not square:
        return F.zeros_like(g)
    near = F._lesser_scalar(F.abs(x), scalar=1 / square)
    return g * (near * x * square + (1 - near) * F.sign(x))


function_of("smooth_l1", _smooth, _smooth_gradient,
            lambda: [([samples.grid()], {"scalar": scalar}) for scalar in (1.0, 2.0)],
            "Smooth L1 loss: ``(scalar x)² / 2`` where ``|x| < 1 / scalar²``, else ``|x| - 1 / (2 scalar²)``.", {"scalar": 1.0})


def _hard_gradient(F: ArrayFunctions, g: ArrayObject, x: ArrayObject, attrs: Attrs) -> ArrayObject:
    line = x * attrs["alpha"] + attrs["beta"]
    inside = F._greater_scalar(line, scalar=0) * F._lesser_scalar(line, scalar=1)
    alpha: float = attrs["alpha"]
    return g * inside * alpha


function_of("hard_sigmoid", lambda xp, x, attrs: xp.clip(real(x) * attrs["alpha"] + attrs["beta"], 0, 1), _hard_gradient,
            lambda: [([samples.grid()], {}), ([samples.grid()], {"alpha": 0.5})],
            "``alpha * x + beta``, bounded to 0 … 1.", {"alpha": 0.2, "beta": 0.5})

function_of("_contrib_quadratic", lambda xp, x, attrs: (attrs["a"] * real(x) + attrs["b"]) * real(x) + attrs["c"],
            lambda F, g, x, attrs: g * (plain(F, x) * (2 * attrs["a"]) + attrs["b"]),
            lambda: [([samples.grid()], {"a": 1.5, "b": -2.0, "c": c}) for c in (0.5, 0.0)],
            "``a x² + b x + c``; a csr array keeps its storage type where ``c`` is 0.", {"a": 0.0, "b": 0.0, "c": 0.0})


@find("_contrib_quadratic").forward("csr -> csr", c=0)
def _(k: Kernels, x: CSR, attrs: Attrs) -> CSR:
    values = (attrs["a"] * real(x.data) + attrs["b"]) * real(x.data)
    return on_data(x, values.astype(x.dtype, copy=False))


function_of("_contrib_div_sqrt_dim", lambda xp, x, attrs: x / math.sqrt(x.shape[-1]),
            lambda F, g, x, attrs: g * (1 / math.sqrt(x.shape[-1])), samples.one(),
            "The array over the square root of the size of its last axis.")

function_of("_contrib_gradientmultiplier", lambda xp, x, attrs: x.copy(), lambda F, g, x, attrs: g * attrs["scalar"],
            samples.one(), "A copy; its gradient is multiplied by ``scalar``.", {"scalar": 1.0})

unary("_contrib_isnan", lambda xp, x: (x != x).astype(x.dtype), None, doc="1 where an element is nan, else 0.")
unary("_contrib_isinf", lambda xp, x: xp.isinf(x).astype(x.dtype), None, doc="1 where an element is infinite, else 0.")
unary("_contrib_isfinite", lambda xp, x: xp.isfinite(x).astype(x.dtype), None, doc="1 where an element is finite, else 0.")


def _hypot(F: ArrayFunctions, g: ArrayObject, side: ArrayObject, out: ArrayObject) -> ArrayObject:
    return F.broadcast_div(F.broadcast_mul(g, plain(F, side)), out)


def _length(xp: ArrayModule, a: Array, b: Array) -> Array:
    return xp.hypot(real(a), real(b)).astype(np.result_type(a.dtype, b.dtype), copy=False)


broadcasting("broadcast_hypot", _length, lambda F, g, lhs, rhs, out, attrs, want: (
    want[0] and _sum_to(F, _hypot(F, g, lhs, out), lhs), want[1] and _sum_to(F, _hypot(F, g, rhs, out), rhs)),
    "Length of the hypotenuse, ``sqrt(lhs² + rhs²)``, with broadcasting.", saves=("lhs", "rhs", "out"), low=0.5)

with_scalar("_hypot_scalar", lambda xp, x, s: xp.hypot(x, s),
            lambda F, g, data, out, attrs, want: g * data / out, doc="``sqrt(data² + scalar²)``.", keeps=(0,),
            saves=("data", "out"))


def _logic(F: ArrayFunctions, g: ArrayObject, data: ArrayObject | None, out: ArrayObject | None, attrs: Attrs,
           want: Sequence[Want | None]) -> Gradients:
    return F.zeros_like(g)


with_scalar("_logical_and_scalar", lambda xp, x, s: (x != 0) & bool(s), _logic, doc="1 where data and scalar are nonzero.",
            keeps=True)
with_scalar("_logical_or_scalar", lambda xp, x, s: (x != 0) | bool(s), _logic, doc="1 where data or scalar is nonzero.",
            keeps=(0,))
with_scalar("_logical_xor_scalar", lambda xp, x, s: (x != 0) ^ bool(s), _logic,
            doc="1 where just one of data and scalar is nonzero.", keeps=(0,))
