"""Elementwise operators of two arrays: of one shape (``elemwise_*``) and broadcasting (``broadcast_*``)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import cost, infer
from ...core.op import Call, Op
from ...kernels import NUMPY, is_numpy
from ...storage import CSR, RowSparse, densify
from .. import samples
from ..sparse.sparse_indexing import broadcast_csr, index_type
from .unary import _logistic, on_data, plain

if TYPE_CHECKING:
    from ...base.types import Array, Attrs, DType, DTypeLike, Scalar, Shape
    from ...core.op import Want
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import ArrayModule, Kernels
    from ...storage.types import Sparse


def _left_dtype(dtypes: list[DType], attrs: Attrs) -> DType:
    return dtypes[0]


def _width(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape[1:], dtype=np.int64)) if len(shape) > 1 else 1


def _number(dtype: DTypeLike, value: Scalar) -> Scalar:
    """A scalar of an element type; -1 is 255 in uint8, which subtracts as well."""
    number: Scalar = np.asarray(value).astype(dtype).flat[0]
    return number


def add_row_sparse(k: Kernels, left: RowSparse, right: RowSparse, factor: float) -> RowSparse:
    """``left + factor * right``; the result stores the union of the rows."""
    rows, width = left.indices.shape[0] + right.indices.shape[0], _width(left.shape)
    dtype = left.dtype
    data = k.xp.empty((rows, width), dtype)
    indices = k.xp.empty(rows, index_type(0, left.indices, right.indices))
    count = k.row_sparse_merge(left.data.reshape(left.indices.shape[0], width), left.indices,
                               right.data.reshape(right.indices.shape[0], width), right.indices,
                               _number(dtype, factor), data, indices)
    return RowSparse(data[:count].reshape(count, *left.shape[1:]), indices[:count], left.shape, check=False)


def add_csr(k: Kernels, left: CSR, right: CSR, factor: float) -> CSR:
    """``left + factor * right``; the result stores the union of the places."""
    room = left.data.shape[0] + right.data.shape[0]
    dtype = np.result_type(left.dtype, right.dtype)
    data, indices = k.xp.empty(room, dtype), k.xp.empty(room, index_type(0, left.indices, right.indices))
    indptr = k.xp.empty(left.indptr.shape, index_type(room, left.indptr, right.indptr))
    count = k.csr_add_csr(left.data, left.indices, left.indptr, right.data, right.indices, right.indptr,
                          _number(dtype, factor), data, indices, indptr)
    return CSR(data[:count], indices[:count], indptr, left.shape, check=False)


def _negated(xp: ArrayModule, x: Array) -> Array:
    """``0 - x``, which gives +0 for a zero, like an absent element minus a zero; the result is not a view."""
    return xp.subtract(x.dtype.type(0), x)


def _add_to_dense(k: Kernels, out: Array, sparse: Sparse, factor: Scalar) -> Array:
    factor = _number(out.dtype, factor)
    if isinstance(sparse, CSR):
        k.csr_add_dense(sparse.data, sparse.indices, sparse.indptr, factor, out)
    else:
        width = _width(sparse.shape)
        k.add_rows(sparse.data.reshape(sparse.indices.shape[0], width), sparse.indices, factor, out.reshape(out.shape[0], width))
    return out


def add_stores(op: Op, factor: float) -> None:
    """Declare the rows of an addition (factor 1) or subtraction (factor -1)."""

    op.forward_ufunc("default, default -> default", "add" if factor > 0 else "subtract")

    @op.forward("row_sparse, row_sparse -> row_sparse")
    def _(k: Kernels, left: RowSparse, right: RowSparse, attrs: Attrs) -> RowSparse:
        return add_row_sparse(k, left, right, factor)

    @op.forward("csr, csr -> csr")
    def _(k: Kernels, left: CSR, right: CSR, attrs: Attrs) -> CSR:
        return add_csr(k, left, right, factor)

    @op.forward("default, row_sparse|csr -> default")
    def _(k: Kernels, left: Array, right: Sparse, attrs: Attrs) -> Array:
        return _add_to_dense(k, k.xp.array(left, order="C"), right, factor)

    @op.forward("row_sparse|csr, default -> default")
    def _(k: Kernels, left: Sparse, right: Array, attrs: Attrs) -> Array:
        return _add_to_dense(k, k.xp.array(right, order="C") if factor > 0 else _negated(k.xp, right), left, 1)


def elemwise(name: str, doc: str, aliases: tuple[str, ...] = (), saves: tuple[str, ...] = ("lhs", "rhs"),
             low: float = -2.0) -> Op:
    """Declare an operator of two arrays of one shape."""
    return Op(name, "lhs rhs", shape=infer.same_shape, sample=samples.pair(low=low), doc=doc, aliases=aliases, saves=saves,
              joined=infer.EVERY)


elemwise_add = elemwise("elemwise_add", "Sum of two arrays of one shape.", ("_add", "_plus", "_grad_add"), ())
add_stores(elemwise_add, 1)
elemwise_add.gradient(lambda F, g, lhs, rhs, out, attrs, want: (g, g))

elemwise_sub = elemwise("elemwise_sub", "Difference of two arrays of one shape.", ("_sub", "_minus"), ())
add_stores(elemwise_sub, -1)
elemwise_sub.gradient(lambda F, g, lhs, rhs, out, attrs, want: (g, want[1] and F.negative(g)))

elemwise_mul = elemwise("elemwise_mul", "Product of two arrays of one shape.", ("_mul",))
elemwise_mul.gradient(lambda F, g, lhs, rhs, out, attrs, want: (
    want[0] and F.elemwise_mul(g, rhs), want[1] and F.elemwise_mul(g, lhs)))


elemwise_mul.forward_ufunc("default, default -> default", "multiply")


@elemwise_mul.forward("row_sparse, default -> row_sparse")
def _(k: Kernels, left: RowSparse, right: Array, attrs: Attrs) -> RowSparse:
    return on_data(left, left.data * right[left.indices])


@elemwise_mul.forward("default, row_sparse -> row_sparse")
def _(k: Kernels, left: Array, right: RowSparse, attrs: Attrs) -> RowSparse:
    return on_data(right, left[right.indices] * right.data)


@elemwise_mul.forward("row_sparse, row_sparse -> row_sparse")
def _(k: Kernels, left: RowSparse, right: RowSparse, attrs: Attrs) -> RowSparse:
    dtype, width = np.result_type(left.dtype, right.dtype), _width(left.shape)
    if dtype.kind not in "fiu" or dtype == np.float16 or not width:
        indices, at, other = k.shared_rows(left.indices, right.indices)
        return RowSparse(_rows(k, left, at) * _rows(k, right, other), indices, left.shape, check=False)
    kind = left.indices.dtype
    if left.complete:
        left, right = right, left
    data, indices = k.xp.empty((left.indices.shape[0], width), dtype), k.xp.empty(left.indices.shape[0], kind)
    count = k.row_sparse_multiply(left.data.reshape(left.indices.shape[0], width), left.indices,
                                  right.data.reshape(right.indices.shape[0], width), right.indices, data, indices)
    return RowSparse(data[:count].reshape(count, *left.shape[1:]), indices[:count], left.shape, check=False)


def _rows(k: Kernels, store: RowSparse, places: Array) -> Array:
    """The stored rows at these places."""
    return k.xp.take(store.data, places, axis=0, mode="clip")


def _values_at(k: Kernels, sparse: CSR, dense: Array) -> Array:
    rows = k.xp.repeat(k.xp.arange(sparse.shape[0]), k.xp.diff(sparse.indptr))
    return dense[rows, sparse.indices]


@elemwise_mul.forward("csr, default -> csr")
def _(k: Kernels, left: CSR, right: Array, attrs: Attrs) -> CSR:
    return on_data(left, left.data * _values_at(k, left, right))


@elemwise_mul.forward("default, csr -> csr")
def _(k: Kernels, left: Array, right: CSR, attrs: Attrs) -> CSR:
    return on_data(right, _values_at(k, right, left) * right.data)


@elemwise_mul.forward("csr, csr -> csr")
def _(k: Kernels, left: CSR, right: CSR, attrs: Attrs) -> CSR:
    room = min(left.data.shape[0], right.data.shape[0])
    data = k.xp.empty(room, np.result_type(left.dtype, right.dtype))
    indices = k.xp.empty(room, index_type(0, left.indices, right.indices))
    indptr = k.xp.empty(left.indptr.shape, index_type(room, left.indptr, right.indptr))
    count = k.csr_multiply_csr(left.data, left.indices, left.indptr, right.data, right.indices, right.indptr,
                               data, indices, indptr)
    return CSR(data[:count], indices[:count], indptr, left.shape, check=False)


elemwise_div = elemwise("elemwise_div", "Quotient of two arrays of one shape; absent entries of the divisor are zeros.",
                       ("_div",), low=0.5)
elemwise_div.gradient(lambda F, g, lhs, rhs, out, attrs, want: (
    want[0] and F.elemwise_div(g, rhs),
    want[1] and F.negative(F.elemwise_div(F.elemwise_div(F.elemwise_mul(g, lhs), rhs), rhs))))  # rhs * rhs may be 0


@elemwise_div.forward("default, default -> default")
def _(k: Kernels, left: Array, right: Array, attrs: Attrs, out: Array | None = None) -> Array:
    return divide(k.xp, left, right, out)


def divide(xp: ArrayModule, left: Array, right: Array, out: Array | None = None) -> Array:
    """The quotient; of integers, without its fraction, and zero where the divisor is zero."""
    if left.dtype.kind == "f" or right.dtype.kind == "f":
        return xp.divide(left, right, out=out)
    quotient = left // right
    cut_off: Array = (quotient < 0) & (quotient * right != left)
    return quotient + cut_off


@functools.lru_cache(256)
def _without_csr(op: Op, rows: int) -> Op:
    """The operator without the rows that give csr arrays, cached by its number of rows."""
    return op.with_rules([rule for rule in op.rules if "csr" not in rule.outputs])


def _in_so_many_axes(call: Call, shapes: Sequence[Shape | None]) -> Call:
    """The call without the rows that give csr arrays if the result has more than two axes, which these cannot have."""
    if any(shape is not None and len(shape) > 2 for shape in shapes):
        return _without_csr(call.op, len(call.op.rules)).bind(call.attrs)
    return call


def broadcasting(name: str, function: Callable[..., Array], gradient: Callable[..., Gradients], doc: str,
                 aliases: tuple[str, ...] | None = None, saves: tuple[str, ...] = ("lhs", "rhs"), low: float = -2.0,
                 **options: Any) -> Op:  # Any: what Op takes besides
    """Declare an operator of two arrays whose shapes broadcast, which is MXNet's operator of equal shapes too unless
    ``aliases`` are given.
    """
    declared = {"sample": samples.pair((4, 5), (1, 5), low=low), "joined": infer.EVERY, **options}
    op = Op(name, "lhs rhs", shape=infer.broadcast, doc=doc, saves=saves, settle=_in_so_many_axes,
            aliases=(name.removeprefix("broadcast"),) if aliases is None else aliases, **declared)

    @op.forward("default, default -> default")
    def _(k: Kernels, left: Array, right: Array, attrs: Attrs) -> Array:
        return function(k.xp, left, right)

    op.gradient(gradient)
    return op


def _sum_to(F: ArrayFunctions, g: ArrayObject, like: ArrayObject) -> ArrayObject:
    return g if g.shape == like.shape else F._sum_to(g, shape=tuple(like.shape))


def _divide(xp: ArrayModule, left: Array, right: Array) -> Array:
    return divide(xp, left, right)


broadcast_add = broadcasting(
    "broadcast_add", lambda xp, left, right: left + right,
    lambda F, g, lhs, rhs, out, attrs, want: (want[0] and _sum_to(F, g, lhs), want[1] and _sum_to(F, g, rhs)),
    "Sum with broadcasting.", ("broadcast_plus",))
broadcast_sub = broadcasting(
    "broadcast_sub", lambda xp, left, right: left - right,
    lambda F, g, lhs, rhs, out, attrs, want: (want[0] and _sum_to(F, g, lhs), want[1] and F.negative(_sum_to(F, g, rhs))),
    "Difference with broadcasting.", ("broadcast_minus",))
broadcast_mul = broadcasting(
    "broadcast_mul", lambda xp, left, right: left * right,
    lambda F, g, lhs, rhs, out, attrs, want: (want[0] and _sum_to(F, F.broadcast_mul(g, rhs), lhs),
                                               want[1] and _sum_to(F, F.broadcast_mul(g, lhs), rhs)),
    "Product with broadcasting.", ())
broadcast_div = broadcasting(
    "broadcast_div", _divide,
    lambda F, g, lhs, rhs, out, attrs, want: (
        want[0] and _sum_to(F, F.broadcast_div(g, rhs), lhs),
        want[1] and F.negative(_sum_to(F, F.broadcast_div(F.broadcast_div(F.broadcast_mul(g, lhs), rhs), rhs), rhs))),
    "Quotient with broadcasting.", (), low=0.5)


def _pieces(other: Array, shape: Shape) -> tuple[bool, Array] | None:
    """Whether a vector runs along columns, and its values; None if the array is neither a row nor a column."""
    if other.ndim <= 2 and other.size == shape[1] and other.shape[-1] == shape[1]:
        return True, other.reshape(-1)
    if other.ndim == 2 and other.shape == (shape[0], 1):
        return False, other.reshape(-1)
    if other.size == 1 and other.ndim <= 2:
        return False, np.broadcast_to(other.reshape(-1), (shape[0],)).copy()
    return None


def _scale(k: Kernels, left: CSR, right: Array, attrs: Attrs, invert: bool) -> CSR:
    left = broadcast_csr(k, left, infer.broadcast_shapes(tuple(left.shape), right.shape))
    pieces = _pieces(right, left.shape)
    if pieces is None:
        return on_data(left, (_divide(k.xp, left.data, _values_at(k, left, right)) if invert
                              else left.data * _values_at(k, left, right)))
    along_columns, factor = pieces
    if invert:
        at_values = factor[left.indices] if along_columns else k.xp.repeat(factor, k.xp.diff(left.indptr))
        return on_data(left, _divide(k.xp, left.data, at_values))
    out = k.xp.empty_like(left.data)
    if along_columns:
        k.csr_column_scale(left.data, left.indices, factor, out)
    else:
        k.csr_row_scale(left.data, left.indptr, factor, out)
    return on_data(left, out)


@broadcast_mul.forward("csr, default -> csr")
def _(k: Kernels, left: CSR, right: Array, attrs: Attrs) -> CSR:
    return _scale(k, left, right, attrs, invert=False)


@broadcast_div.forward("csr, default -> csr")
def _(k: Kernels, left: CSR, right: Array, attrs: Attrs) -> CSR:
    return _scale(k, left, right, attrs, invert=True)


def _spread(k: Kernels, dense: Array, shape: tuple[int, ...]) -> Array:
    out = k.xp.empty(shape, dense.dtype)
    out[...] = dense
    return out


for _op, _factor in ((broadcast_add, 1), (broadcast_sub, -1)):
    @_op.forward("csr, default -> default")
    def _(k: Kernels, left: CSR, right: Array, attrs: Attrs, _factor: int = _factor) -> Array:
        shape = infer.broadcast_shapes(tuple(left.shape), tuple(right.shape))
        if shape != left.shape:
            return densify(left, k.xp) + right if _factor > 0 else densify(left, k.xp) - right
        return _add_to_dense(k, _spread(k, right if _factor > 0 else _negated(k.xp, right), shape), left, 1)

    @_op.forward("default, csr -> default")
    def _(k: Kernels, left: Array, right: CSR, attrs: Attrs, _factor: int = _factor) -> Array:
        shape = infer.broadcast_shapes(tuple(left.shape), tuple(right.shape))
        if shape != right.shape:
            return left + densify(right, k.xp) if _factor > 0 else left - densify(right, k.xp)
        return _add_to_dense(k, _spread(k, left, shape), right, _factor)


def _flat(F: ArrayFunctions, g: ArrayObject, lhs: ArrayObject, rhs: ArrayObject, out: ArrayObject | None, attrs: Attrs,
          want: Sequence[Want | None]) -> Gradients:
    return want[0] and F.zeros_like(lhs), want[1] and F.zeros_like(rhs)


def comparison(name: str, function: Callable[..., Array], doc: str) -> None:
    """Declare a comparison, which gives 1 and 0 in the left element type."""
    broadcasting(f"broadcast_{name}", lambda xp, left, right: function(xp, left, right).astype(left.dtype), _flat, doc,
                 dtype=_left_dtype, joined=None)


comparison("equal", lambda xp, a, b: a == b, "1 where equal, with broadcasting.")
comparison("not_equal", lambda xp, a, b: a != b, "1 where different, with broadcasting.")
comparison("greater", lambda xp, a, b: a > b, "1 where the left is greater, with broadcasting.")
comparison("greater_equal", lambda xp, a, b: a >= b, "1 where the left is not less, with broadcasting.")
comparison("lesser", lambda xp, a, b: a < b, "1 where the left is less, with broadcasting.")
comparison("lesser_equal", lambda xp, a, b: a <= b, "1 where the left is not greater, with broadcasting.")
comparison("logical_and", lambda xp, a, b: (a != 0) & (b != 0), "1 where both are nonzero, with broadcasting.")
comparison("logical_or", lambda xp, a, b: (a != 0) | (b != 0), "1 where either is nonzero, with broadcasting.")
comparison("logical_xor", lambda xp, a, b: (a != 0) ^ (b != 0), "1 where just one is nonzero, with broadcasting.")

broadcasting("broadcast_maximum", lambda xp, a, b: xp.maximum(a, b), lambda F, g, lhs, rhs, out, attrs, want: (
    want[0] and _sum_to(F, g * F.broadcast_greater_equal(lhs, rhs), lhs),
    want[1] and _sum_to(F, g * F.broadcast_lesser(lhs, rhs), rhs)), "Larger of two, with broadcasting.")
broadcasting("broadcast_minimum", lambda xp, a, b: xp.minimum(a, b), lambda F, g, lhs, rhs, out, attrs, want: (
    want[0] and _sum_to(F, g * F.broadcast_lesser_equal(lhs, rhs), lhs),
    want[1] and _sum_to(F, g * F.broadcast_greater(lhs, rhs), rhs)), "Smaller of two, with broadcasting.")


def power(xp: ArrayModule, left: Array, right: Array) -> Array:
    """The power; of integers, without its fraction."""
    if left.dtype.kind == "f" or right.dtype.kind == "f" or not (right < 0).any():
        return xp.power(left, right)
    return xp.power(left.astype(np.float64), right).astype(np.result_type(left.dtype, right.dtype))


def _exponent_gradient(F: ArrayFunctions, g: ArrayObject, lhs: ArrayObject, rhs: ArrayObject, out: ArrayObject) -> ArrayObject:
    """``g * out * log(lhs)``; for integers in float64, since their logarithm would lose its fraction."""
    if lhs.dtype.kind == "f":
        return _sum_to(F, g * out * F.log(lhs), rhs)
    slope = F.Cast(g * out, dtype="float64") * F.log(F.Cast(lhs, dtype="float64"))
    return F.Cast(_sum_to(F, slope, rhs), dtype=rhs.dtype.name)


broadcasting("broadcast_power", power, lambda F, g, lhs, rhs, out, attrs, want: (
    want[0] and _sum_to(F, g * plain(F, rhs) * F.broadcast_power(lhs, rhs - 1), lhs),
    want[1] and _exponent_gradient(F, g, lhs, rhs, out)), "Power, with broadcasting.", saves=("lhs", "rhs", "out"),
    sample=lambda: [([np.abs(samples.grid()) + 0.5, samples.grid(1, 5, seed=1)], {})])


def modulo(xp: ArrayModule, left: Array | Scalar, right: Array | Scalar) -> Array:
    """The remainder with the divisor's sign; zero where the divisor is zero, as in MXNet."""
    return xp.where(right == 0, 0, xp.mod(left, right))


def _modulo_gradient(F: ArrayFunctions, g: ArrayObject, lhs: ArrayObject, rhs: ArrayObject, out: ArrayObject | None, attrs: Attrs,
                     want: Sequence[Want | None]) -> Gradients:
    if lhs.dtype.kind != "f" and rhs.dtype.kind != "f":
        return want[0] and F.zeros_like(lhs), want[1] and F.zeros_like(rhs)  # a remainder of integers is flat between its jumps
    return (want[0] and _sum_to(F, g, lhs),
            want[1] and F.negative(_sum_to(F, F.broadcast_mul(g, F.floor(F.broadcast_div(plain(F, lhs), rhs))), rhs)))


broadcasting("broadcast_mod", modulo, _modulo_gradient,
    "Remainder with the divisor's sign, with broadcasting; zero where the divisor is zero.", low=0.5)


def backward_of(name: str, function: Callable[..., Array], second: Callable[..., ArrayObject] | None, doc: str,
                zero: bool = False, kernels: bool = False) -> None:
    """Declare the gradient of a unary function as one operator of ``g`` and the function's input or output.

    Parameters
    ----------
    function : callable
        ``function(xp, g, x)``, or ``function(k, g, x)`` with ``kernels``; linear in g.
    second : callable or None
        ``second(F, x)``, the derivative of the factor; None where it is flat.
    zero : bool
        Whether a zero in x makes the gradient zero, so that x's storage type is kept.
    """
    op = elemwise(name, doc)

    @op.forward("default, default -> default")
    def _(k: Kernels, g: Array, x: Array, attrs: Attrs) -> Array:
        if g.dtype is not x.dtype:
            dtype = np.result_type(g.dtype, x.dtype)
            g, x = g.astype(dtype, copy=False), x.astype(dtype, copy=False)
        product = function(k if kernels else k.xp, g, x)
        return product if product.dtype is x.dtype else product.astype(x.dtype, copy=False)

    if zero:
        @op.forward("default, row_sparse -> row_sparse")
        def _(k: Kernels, g: Array, x: RowSparse, attrs: Attrs) -> RowSparse:
            return on_data(x, function(k if kernels else k.xp, g[x.indices], x.data))

        @op.forward("default, csr -> csr")
        def _(k: Kernels, g: Array, x: CSR, attrs: Attrs) -> CSR:
            return on_data(x, function(k if kernels else k.xp, _values_at(k, x, g), x.data))

        @op.forward("row_sparse, row_sparse -> row_sparse")
        def _(k: Kernels, g: RowSparse, x: RowSparse, attrs: Attrs) -> RowSparse:
            indices, at, other = k.shared_rows(g.indices, x.indices)
            return RowSparse(function(k if kernels else k.xp, _rows(k, g, at), _rows(k, x, other)), indices, x.shape, check=False)

    own = find_gradient(name)
    op.gradient(lambda F, g, lhs, rhs, out, attrs, want: (
        want[0] and own(F, g, rhs), want[1] and (F.zeros_like(g) if second is None else g * lhs * second(F, rhs))))


def find_gradient(name: str) -> Callable[..., ArrayObject]:
    """The operator ``name`` of a namespace, to be looked up when it is called."""
    return lambda F, g, x: getattr(F, name)(g, x)


def _sigmoid_slope(xp: ArrayModule, g: Array, y: Array) -> Array:
    if not is_numpy(xp):
        return xp.formula("sigmoid_slope", y.dtype, g, y)
    out = 1 - y
    out *= y
    out *= g
    return out


backward_of("_sigmoid_backward", _sigmoid_slope, lambda F, y: y * -2.0 + 1,
            "``g * y * (1 - y)``: the gradient of the logistic function, from its output.")


def _relu_slope(k: Kernels, g: Array, y: Array) -> Array:
    xp = k.xp
    if g.dtype == y.dtype == np.float32:
        slope: Array = xp.empty(y.shape, y.dtype)
        k.relu_slope(g.reshape(-1), y.reshape(-1), slope.reshape(-1))
        return slope
    if not is_numpy(xp) and y.dtype.kind == g.dtype.kind == "f":
        return xp.formula("relu_slope", np.result_type(g.dtype, y.dtype), g, y)
    out = g * (y > 0)
    if y.dtype.kind != "f":
        return out
    if xp is not NUMPY:  # a table of calls does not look at values
        return xp.where(xp.isnan(y), y, out)
    if y.size and np.isnan(y.item(y.argmax())):  # argmax finds a NaN first, in a tenth of the time of the product
        out[np.isnan(y)] = np.nan
    return out


backward_of("_relu_backward", _relu_slope, None, "``g`` where the output of relu is positive, else zero; NaN where it is NaN.",
            zero=True, kernels=True)
backward_of("_abs_backward", lambda xp, g, x: g * xp.sign(x), None, "``g * sign(x)``: the gradient of the absolute value.",
            zero=True)
backward_of("_softrelu_backward", lambda xp, g, x: g * _logistic(xp, x),
            lambda F, x: F._sigmoid_backward(F.ones_like(x), F.sigmoid(x)),
            "``g * sigmoid(x)``: the gradient of softrelu.")

add_n = Op("add_n", "*args", shape=infer.same_shape, cost=cost.summed, sample=samples.pair(), joined=infer.EVERY, saves=(),
           doc="Sum of any number of arrays of one shape.", aliases=("ElementWiseSum",))


@add_n.forward("default... -> default")
def _(k: Kernels, *stores: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    arrays = stores[:-1]
    out = arrays[0].astype(infer.same([array.dtype for array in arrays], {}))
    for array in arrays[1:]:
        out += array
    return out


@add_n.forward("row_sparse... -> row_sparse")
def _(k: Kernels, *stores: *tuple[*tuple[RowSparse, ...], Attrs]) -> RowSparse:
    first, *others = stores[:-1]
    out = first if others else first.copy()
    for store in others:
        out = add_row_sparse(k, out, store, 1)
    return out


@add_n.forward("csr... -> csr")
def _(k: Kernels, *stores: *tuple[*tuple[CSR, ...], Attrs]) -> CSR:
    first, *others = stores[:-1]
    out = first if others else first.copy()
    for store in others:
        out = add_csr(k, out, store, 1)
    return out


add_n.gradient(lambda F, g, args, out, attrs, want: [g] * len(want))
