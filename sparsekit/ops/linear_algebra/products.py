"""Matrix products on the last two axes; leading axes are batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import DTypeError, ShapeError
from ...core import cost, infer
from ...core.op import Op, joining
from ...core.partial_shapes import shared_axis
from .. import samples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.types import Array, Attrs, DType, Shape
    from ...core.op import Want
    from ...core.partial_shapes import Partial
    from ...core.types import ArrayFunctions, ArrayObject, Gradient
    from ...kernels.types import ArrayModule, Kernels


def real(dtypes: list[DType], attrs: Attrs) -> DType:
    """Raise unless the type is float32 or float64, as operators of linear algebra need."""
    for dtype in dtypes:
        if np.dtype(dtype).char not in "fd":
            raise DTypeError(f"matrices must be float32 or float64, got {np.dtype(dtype)}.",
                             hint="cast to float32 or float64 first.")
    return np.result_type(*dtypes)


def _product_shape(left: tuple[int, ...], right: tuple[int, ...], attrs: Attrs) -> tuple[int, ...]:
    if len(left) < 2 or len(left) != len(right) or left[:-2] != right[:-2]:
        raise ShapeError(f"shapes {left} and {right} are not batches of as many matrices.", hint="leading axes must be equal.")
    turned_left = attrs["transpose_a"], attrs["transpose_b"]
    rows, inner = (left[-1], left[-2]) if turned_left[0] else (left[-2], left[-1])
    other, columns = (right[-1], right[-2]) if turned_left[1] else (right[-2], right[-1])
    if inner != other:
        raise ShapeError(f"shapes {left} and {right} do not fit: {inner} meets {other}.", hint="see transpose_a, transpose_b.")
    return (*left[:-2], rows, columns)


def product(xp: ArrayModule, left: Array, right: Array, attrs: Attrs) -> Array:
    """The matrix products of two batches, as the attributes transpose them."""
    return xp.matmul(left.swapaxes(-1, -2) if attrs["transpose_a"] else left,
                     right.swapaxes(-1, -2) if attrs["transpose_b"] else right)


def product_gradients(multiply: Callable[[ArrayObject, ArrayObject, bool, bool], ArrayObject], g: ArrayObject, left: ArrayObject,
                      right: ArrayObject, attrs: Attrs, want: Sequence[Want | None]) -> tuple[Gradient, Gradient]:
    """Gradients of a product, with ``multiply(a, b, transpose_a, transpose_b)``."""
    a, b = bool(attrs["transpose_a"]), bool(attrs["transpose_b"])
    by_left = want[0] and (multiply(right, g, b, True) if a else multiply(g, right, False, not b))
    by_right = want[1] and (multiply(g, left, True, a) if b else multiply(left, g, not a, False))
    return by_left, by_right


_TURNS = ((False, False), (True, False), (False, True), (True, True))


def _pairs(**options: float) -> Callable[[], samples.Samples]:
    def make() -> samples.Samples:
        rng = np.random.default_rng(3)
        left, right = (rng.standard_normal(shape).astype(np.float32) for shape in ((2, 3, 4), (2, 4, 2)))
        return [([left.swapaxes(1, 2).copy() if a else left, right.swapaxes(1, 2).copy() if b else right],
                 {"transpose_a": a, "transpose_b": b, **options}) for a, b in _TURNS]

    return make


def _product_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    """As ``_product``, for ``batch_dot``; the batch is shared too."""
    aligned = shared_axis(shapes, 1 if attrs["transpose_a"] else 2, 2 if attrs["transpose_b"] else 1)
    return shared_axis(aligned, 0, 0)


batch_dot = Op("batch_dot", "lhs rhs", attrs={"transpose_a": False, "transpose_b": False, "forward_stype": None},
               sample=_pairs(), shape=lambda shapes, attrs: _product_shape(tuple(shapes[0]), tuple(shapes[1]), attrs),
               cost=cost.product, saves=("lhs", "rhs"), input_rule=_product_inputs,
               doc="Matrix products of two batches of matrices, (batch, rows, inner) and (batch, inner, columns).")


@batch_dot.forward("default, default -> default")
def _(k: Kernels, left: Array, right: Array, attrs: Attrs) -> Array:
    return product(k.xp, left, right, attrs)


batch_dot.gradient(lambda F, g, lhs, rhs, out, attrs, want: product_gradients(
    lambda a, b, ta, tb: F.batch_dot(a, b, transpose_a=ta, transpose_b=tb), g, lhs, rhs, attrs, want))


def _placed(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """The shape with the axis of the matrices' rows moved next to the columns."""
    if len(shape) < 2:
        raise ShapeError(f"arrays must have at least two axes, got shape {shape}.",
                         hint="the last two axes are those of the matrices.")
    place = infer.axes_of(axis, len(shape))[0]
    if place == len(shape) - 1:
        raise ShapeError(f"axis must be that of the rows, got {axis}, that of the columns.", hint="axis is -2 by default.")
    return (*shape[:place], *shape[place + 1: -1], shape[place], shape[-1])


def _gemm_shape(shapes: list[Shape], attrs: Attrs) -> tuple[int, ...]:
    left, right = (_placed(tuple(shape), attrs["axis"]) for shape in shapes[:2])
    result = _product_shape(left, right, attrs)
    place = attrs["axis"] % len(result)
    result = (*result[:place], result[-2], *result[place:-2], result[-1])
    if len(shapes) > 2 and tuple(shapes[2]) != result:
        raise ShapeError(f"C has shape {tuple(shapes[2])}, the product {result}.", hint="they are added, so they must be equal.")
    return result


def _gemm(xp: ArrayModule, left: Array, right: Array, attrs: Attrs) -> Array:
    real([left.dtype, right.dtype], attrs)
    axis = attrs["axis"]
    matrix = product(xp, xp.moveaxis(left, axis, -2), xp.moveaxis(right, axis, -2), attrs)
    scaled: Array = xp.ascontiguousarray(xp.moveaxis(matrix, -2, axis)) * left.dtype.type(attrs["alpha"])
    return scaled


gemm2 = Op("_linalg_gemm2", "A B", attrs={"transpose_a": False, "transpose_b": False, "alpha": 1.0, "axis": -2},
           shape=_gemm_shape, dtype=real, cost=cost.product,
           sample=lambda: [*_pairs(alpha=0.5)(), ([samples.grid(2, 3)[:, None], samples.grid(3, 4, seed=1)[:, None]],
                                                  {"axis": 0})], aliases=("linalg_gemm2",), saves=("A", "B"),
           doc="``alpha * op(A) op(B)``, where ``axis`` holds the matrices' rows.")


@gemm2.forward("default, default -> default")
def _(k: Kernels, left: Array, right: Array, attrs: Attrs) -> Array:
    return _gemm(k.xp, left, right, attrs)


def _gemm_gradients(F: ArrayFunctions, g: ArrayObject, left: ArrayObject, right: ArrayObject, attrs: Attrs,
                    want: Sequence[Want | None]) -> tuple[Gradient, Gradient]:
    return product_gradients(
        lambda a, b, ta, tb: F.linalg_gemm2(a, b, transpose_a=ta, transpose_b=tb, alpha=attrs["alpha"], axis=attrs["axis"]),
        g, left, right, attrs, want)


gemm2.gradient(lambda F, g, A, B, out, attrs, want: _gemm_gradients(F, g, A, B, attrs, want))

gemm = Op("_linalg_gemm", "A B C", attrs={"transpose_a": False, "transpose_b": False, "alpha": 1.0, "beta": 1.0, "axis": -2},
          shape=_gemm_shape, dtype=real, cost=cost.product, aliases=("linalg_gemm",),
          sample=lambda: [([left, right, np.ones((2, 3, 2), np.float32)], attrs) for (left, right), attrs in
                          _pairs(alpha=0.5, beta=2.0)()], saves=("A", "B"),
          doc="``alpha * op(A) op(B) + beta * C``, where ``axis`` holds the matrices' rows.")


@gemm.forward("default, default, default -> default")
@joining
def _(k: Kernels, left: Array, right: Array, added: Array, attrs: Attrs) -> Array:
    out = _gemm(k.xp, left, right, attrs)
    out += added * left.dtype.type(attrs["beta"])
    return out


gemm.gradient(lambda F, g, A, B, C, out, attrs, want: (
    *_gemm_gradients(F, g, A, B, attrs, want), want[2] and g * attrs["beta"]))
