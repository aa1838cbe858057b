"""Elementwise operators of an array and a number; the storage type stays where zero stays zero."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...core import infer
from ...core.op import REQUIRED, Op
from .. import samples
from ..limits import filled
from .binary import divide, modulo, power
from .unary import on_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, DType, Scalar
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import ArrayModule, Kernels
    from ...storage.types import Sparse


def with_scalar(name: str, function: Callable[..., Array], gradient: Callable[..., Gradients], expression: str = "", *,
                doc: str = "``{}``.", keeps: Container[float] | Literal[True] | None = None,
                values: tuple[float, ...] = (0.5, 2.0, -1.0), low: float = -2.0, saves: tuple[str, ...] = ()) -> None:
    """Declare an operator of an array and the attribute ``scalar``.

    Parameters
    ----------
    expression : str
        How a call is written, of an operator that has a sign.
    doc : str
        What the operator computes; ``{}`` stands for the expression.
    keeps : None, True or tuple
        For which scalars zero stays zero, so that the storage type is kept: never, always, or those.
    """
    op = Op(name, "data", attrs={"scalar": REQUIRED}, shape=infer.unchanged, sample=samples.scalars(*values, low=low),
            doc=doc.format(expression), saves=saves, expression=expression)

    def of(xp: ArrayModule, values: Array, attrs: Attrs) -> Array:
        scalar, dtype = attrs["scalar"], values.dtype
        return function(xp, values, scalar if dtype.kind == "f" else _fitting(scalar, dtype))

    @op.forward("default -> default")
    def _(k: Kernels, x: Array, attrs: Attrs, out: Array | None = None) -> Array:
        result = of(k.xp, x, attrs)
        return result if result.dtype == x.dtype else result.astype(x.dtype)

    if keeps is not None:
        # Any: forward() takes the conditions by attribute, each of that attribute's type.
        when: dict[str, Any] = {} if keeps is True else {"scalar": keeps}
        for stype in ("row_sparse", "csr"):
            @op.forward(f"{stype} -> {stype}", **when)
            def _(k: Kernels, x: Sparse, attrs: Attrs) -> Sparse:
                return on_data(x, of(k.xp, x.data, attrs).astype(x.dtype, copy=False))

    if keeps is not True:
        @op.forward("row_sparse|csr -> default")
        def _(k: Kernels, x: Sparse, attrs: Attrs) -> Array:
            return filled(k, x, op.label, lambda values: of(k.xp, values, attrs).astype(x.dtype, copy=False))

    op.gradient(gradient)


def _fitting(scalar: Scalar, dtype: DType) -> Scalar:
    """Convert an integral scalar to int for integer arrays; numpy raises if the type cannot hold it.

    Calls are cached by their attributes, where 2, 2.0 and True are one key, and a float would round large integers.
    """
    integral = dtype.kind in "iu" and isinstance(scalar, (int, float)) and float(scalar).is_integer()
    return int(scalar) if integral else scalar


class Beyond:
    """The scalars on one side of zero, as a printable condition of a rule row."""

    def __init__(self, side: str) -> None:
        self.side = side

    def __contains__(self, value: object) -> bool:  # object: as Container has it
        if not isinstance(value, numbers.Real):
            return False  # not a number: the operator's shape rule raises
        number: Any = value
        return bool({"positive": number > 0, "negative": number < 0, "not negative": number >= 0,
                     "not positive": number <= 0, "nonzero": number != 0}[self.side])

    def __repr__(self) -> str:
        return self.side


def _whole(x: Array, s: Scalar) -> bool:
    """Whether both are integers."""
    return x.dtype.kind in "iu" and isinstance(s, int)


def _power(xp: ArrayModule, x: Array, s: Scalar) -> Array:
    return power(xp, x, np.asarray(s)) if x.dtype.kind != "f" else xp.power(x, s)


def _rpower(xp: ArrayModule, x: Array, s: Scalar) -> Array:
    return power(xp, xp.asarray(s, None if x.dtype.kind in "iu" and not _whole(x, s) else x.dtype), x)


def _passes(F: ArrayFunctions, g: ArrayObject, data: ArrayObject | None, out: ArrayObject | None, attrs: Attrs,
            want: Sequence[Want | None]) -> Gradients:
    return g


def _flat(F: ArrayFunctions, g: ArrayObject, data: ArrayObject | None, out: ArrayObject | None, attrs: Attrs,
          want: Sequence[Want | None]) -> Gradients:
    return F.zeros_like(g)


def _compare(name: str, function: Callable[..., Array], expression: str, keeps: Container[float]) -> None:
    with_scalar(name, function, _flat, expression, doc="1 where ``{}``.", keeps=keeps)


with_scalar("_plus_scalar", lambda xp, x, s: x + s, _passes, "data + scalar", keeps=(0,))
with_scalar("_minus_scalar", lambda xp, x, s: x - s, _passes, "data - scalar", keeps=(0,))
with_scalar("_rminus_scalar", lambda xp, x, s: s - x,
            lambda F, g, data, out, attrs, want: F.negative(g), "scalar - data", keeps=(0,))
with_scalar("_mul_scalar", lambda xp, x, s: x * s,
            lambda F, g, data, out, attrs, want: F._mul_scalar(g, scalar=attrs["scalar"]), "data * scalar", keeps=True)
with_scalar("_div_scalar", lambda xp, x, s: divide(xp, x, xp.asarray(s, x.dtype)) if _whole(x, s) else x / s,
            lambda F, g, data, out, attrs, want: F._div_scalar(g, scalar=attrs["scalar"]), "data / scalar",
            keeps=Beyond("nonzero"))
with_scalar("_rdiv_scalar", lambda xp, x, s: divide(xp, xp.asarray(s, x.dtype), x) if _whole(x, s) else s / x,
            lambda F, g, data, out, attrs, want: F.negative(g * out / data), "scalar / data", low=0.5, saves=("data", "out"))
with_scalar("_mod_scalar", modulo,
            lambda F, g, data, out, attrs, want: g if data.dtype.kind == "f" else F.zeros_like(g),
            "data % scalar", doc="``{}``, with the divisor's sign; zero for a scalar of zero.",
            keeps=Beyond("nonzero"), saves=("data",))
with_scalar("_rmod_scalar", lambda xp, x, s: modulo(xp, s, x),
            lambda F, g, data, out, attrs, want: F.zeros_like(g) if data.dtype.kind != "f" else F.negative(
                g * F.floor(F._rdiv_scalar(data, scalar=attrs["scalar"]))),
            "scalar % data", low=0.5, saves=("data",))
with_scalar("_power_scalar", _power,
            lambda F, g, data, out, attrs, want: g * F._power_scalar(data, scalar=attrs["scalar"] - 1) * attrs["scalar"],
            "data ** scalar", keeps=Beyond("positive"), low=0.5, saves=("data",))
with_scalar("_rpower_scalar", _rpower,
            lambda F, g, data, out, attrs, want: g * out * float(np.log(attrs["scalar"])), "scalar ** data",
            values=(0.5, 2.0), saves=("out",))
with_scalar("_maximum_scalar", lambda xp, x, s: xp.maximum(x, s),
            lambda F, g, data, out, attrs, want: g * F._greater_equal_scalar(data, scalar=attrs["scalar"]),
            doc="Larger of data and scalar.", keeps=Beyond("not positive"), saves=("data",))
with_scalar("_minimum_scalar", lambda xp, x, s: xp.minimum(x, s),
            lambda F, g, data, out, attrs, want: g * F._lesser_equal_scalar(data, scalar=attrs["scalar"]),
            doc="Smaller of data and scalar.", keeps=Beyond("not negative"), saves=("data",))

_compare("_equal_scalar", lambda xp, x, s: x == s, "data == scalar", Beyond("nonzero"))
_compare("_not_equal_scalar", lambda xp, x, s: x != s, "data != scalar", (0,))
_compare("_greater_scalar", lambda xp, x, s: x > s, "data > scalar", Beyond("not negative"))
_compare("_greater_equal_scalar", lambda xp, x, s: x >= s, "data >= scalar", Beyond("positive"))
_compare("_lesser_scalar", lambda xp, x, s: x < s, "data < scalar", Beyond("not positive"))
_compare("_lesser_equal_scalar", lambda xp, x, s: x <= s, "data <= scalar", Beyond("negative"))
