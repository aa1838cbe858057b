"""The dot product, in every storage type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import ShapeError
from ...core import cost, infer
from ...core.op import Op
from ...core.partial_shapes import shared_axis
from ...kernels import is_numpy
from ...storage import CSR, RowSparse, convert
from .. import samples
from ..elementwise.unary import plain
from ..limits import check_gradient

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...base.types import Array, Attrs, DType, Shape
    from ...core.op import Call, Want
    from ...core.partial_shapes import Partial
    from ...core.types import ArrayFunctions, ArrayObject, Gradients
    from ...kernels.types import ArrayModule, Kernels
    from ...storage.types import Store

    DenseProduct = Callable[..., Array]


def _product_inputs(shapes: list[Partial], out: Partial, attrs: Attrs) -> list[Partial]:
    """The axis that two arrays share in ``dot``: the last of the left one and the first of the right one, unless turned."""
    return shared_axis(shapes, 0 if attrs["transpose_a"] else -1, -1 if attrs["transpose_b"] else 0)


def _columns(inputs: Sequence[ArrayObject], attrs: Attrs, rows: int) -> Array | None:
    """The rows of the right matrix that a csr matrix meets; the gradient of that may read all."""
    left = inputs[0]
    plain = left._entry is None and not attrs["transpose_a"] and not attrs["transpose_b"]
    return left._store.indices if left.stype == "csr" and plain else None


def _of_vectors(call: Call, shapes: Sequence[Shape | None]) -> Call:
    """A vector times a csr matrix is a dense vector."""
    if shapes[0] is None or len(shapes[0]) != 1 or call.attrs["forward_stype"] is not None:
        return call
    return call.op.bind({**call.attrs, "forward_stype": "default"})


dot = Op(
    "dot", "lhs rhs", attrs={"transpose_a": False, "transpose_b": False, "forward_stype": None}, sparse_output="forward_stype",
    shape=infer.dot, sample=samples.matmul, cost=cost.dot, unlimited=True, saves=("lhs", "rhs"),
    settle=_of_vectors, input_rule=_product_inputs, rows_read={1: _columns},
    doc="""Dot product of two arrays: the last axis of ``lhs`` meets the first axis of ``rhs``.

With a csr operand, the other one is a matrix or a vector.  ``forward_stype`` selects the storage type of the result if several
are possible: csrᵀ · default gives row_sparse unless ``'default'`` is requested, and default · csr gives csr unless
``'default'`` is requested; a vector · csr is dense.

The row_sparse result of csrᵀ · default stores a row for every column that occurs in the csr matrix, even if the row is zero.
This is the gradient of a weight for sparse input, and only these rows need an update.""")

_ANY_HINT = (None, "default")


def _transpose_if(array: Array, turn: bool, left: bool) -> Array:
    """The operand of a dense product, transposed as the attribute says."""
    if not turn or array.ndim == 1:
        return array
    return array.T if array.ndim == 2 else np.moveaxis(array, 0 if left else -1, -1 if left else 0)


@dot.forward("default, default -> default", forward_stype=_ANY_HINT)
def dense_product(k: Kernels, left: Array, right: Array, attrs: Attrs, out: Array | None = None) -> Array:
    """The dot product of dense arrays."""
    left, right = _transpose_if(left, attrs["transpose_a"], True), _transpose_if(right, attrs["transpose_b"], False)
    if left.ndim == right.ndim == 2:
        # A product of a column and a row, for which BLAS takes four times as long.
        outer = left.shape[1] == right.shape[0] == 1 and is_numpy(k.xp)
        return k.xp.multiply(left, right, out=out) if outer else k.xp.matmul(left, right, out=out)
    return _filled(k.xp.tensordot(left, right, axes=(-1, 0)), out)


def _filled(result: Array, out: Array | None) -> Array:
    result = result.reshape(1) if result.ndim == 0 else result
    if out is None:
        return result
    out[...] = result
    return out


def _empty(k: Kernels, out: Array | None, shape: tuple[int, ...], left: Store, right: Store) -> Array:
    return out if out is not None else k.xp.empty(shape, _joint(left, right))


def _joint(left: Store, right: Store) -> DType:
    """The joint element type of two types; cached, since numpy takes longer than a small product."""
    return left.dtype if left.dtype == right.dtype else np.result_type(left.dtype, right.dtype)


def values_as(matrix: CSR, out: Array) -> Array:
    """The stored values in the element type of the result, so that kernels are compiled for few pairs of types."""
    return matrix.data if matrix.dtype == out.dtype else matrix.data.astype(out.dtype)


def _zeros(k: Kernels, out: Array | None, shape: tuple[int, ...], left: Store, right: Store) -> Array:
    if out is None:
        return k.xp.zeros(shape, _joint(left, right))
    out.fill(0)
    return out


def _contiguous(array: Array, turn: bool = False, column: bool = True) -> Array:
    """The dense operand beside a csr matrix, as a matrix; a vector as its one column or its one row."""
    if array.ndim == 1:
        array, turn = array.reshape((-1, 1) if column else (1, -1)), False
    if array.ndim != 2:
        raise ShapeError("dot with a csr operand takes matrices and vectors; the other operand has shape "
                         f"{tuple(array.shape)}.", hint="reshape it.")
    array = array.T if turn else array
    return array if array.flags.c_contiguous else array.copy(order="C")


def _with_vector(product: DenseProduct) -> DenseProduct:
    """Let a product of a csr matrix and a dense one take a vector."""

    def run(k: Kernels, left: Store, right: Store, attrs: Attrs, out: Array | None = None) -> Array:
        if len(left.shape) == 2 and len(right.shape) == 2:
            return product(k, left, right, attrs, out)
        return _filled(product(k, left, right, attrs, None).reshape(-1), out)

    return run


@dot.forward("csr, default -> default", transpose_a=False, forward_stype=_ANY_HINT)
@_with_vector
def _(k: Kernels, left: CSR, right: Array, attrs: Attrs, out: Array | None = None) -> Array:
    right = _contiguous(right, attrs["transpose_b"])
    out = _empty(k, out, (left.shape[0], right.shape[1]), left, right)
    k.csr_dot_dense(values_as(left, out), left.indices, left.indptr, right, out)
    return out


@dot.forward("csr, default -> row_sparse", transpose_a=True, forward_stype=(None, "row_sparse"))
def _(k: Kernels, left: CSR, right: Array, attrs: Attrs) -> RowSparse:
    matrix = _contiguous(right, attrs["transpose_b"])
    joint = _joint(left, right)
    values = left.data if left.dtype == joint else left.data.astype(joint)
    columns, data = k.csr_transposed_dot_rows(values, left.indices, left.indptr, matrix, left.shape[1])
    if right.ndim == 1:
        return RowSparse(data.reshape(-1), columns, (left.shape[1],), check=False)
    return RowSparse(data, columns, (left.shape[1], matrix.shape[1]), check=False)


@dot.forward("csr, default -> default", transpose_a=True, forward_stype="default")
@_with_vector
def _(k: Kernels, left: CSR, right: Array, attrs: Attrs, out: Array | None = None) -> Array:
    right = _contiguous(right, attrs["transpose_b"])
    out = _zeros(k, out, (left.shape[1], right.shape[1]), left, right)
    k.csr_transposed_dot_dense(values_as(left, out), left.indices, left.indptr, right, out)
    return out


@dot.forward("csr, row_sparse -> default", transpose_a=False, transpose_b=False, forward_stype=_ANY_HINT)
def _(k: Kernels, left: CSR, right: RowSparse, attrs: Attrs, out: Array | None = None) -> Array:
    out = _empty(k, out, (left.shape[0], right.shape[1]), left, right)
    data, ranks, indptr = values_as(left, out), left.indices, left.indptr
    if not right.complete:
        ranks = k.row_ranks(left.indices, right.indices, right.shape[0])
        data, ranks, indptr = k.csr_drop_absent(data, ranks, indptr)
    k.csr_dot_dense(data, ranks, indptr, k.xp.ascontiguousarray(right.data), out)
    return out


@dot.forward("csr, row_sparse -> row_sparse", transpose_a=True, transpose_b=False, forward_stype=(None, "row_sparse"))
def _(k: Kernels, left: CSR, right: RowSparse, attrs: Attrs) -> RowSparse:
    columns, ranks = k.unique_with_rank(left.indices)
    data = _zeros(k, None, (columns.shape[0], right.shape[1]), left, right)
    k.csr_transposed_dot_row_sparse(values_as(left, data), ranks, left.indptr, right.data, right.indices, data)
    return RowSparse(data, columns, (left.shape[1], right.shape[1]), check=False)


@dot.forward("csr, row_sparse -> default", transpose_a=True, transpose_b=False, forward_stype="default")
def _(k: Kernels, left: CSR, right: RowSparse, attrs: Attrs, out: Array | None = None) -> Array:
    out = _zeros(k, out, (left.shape[1], right.shape[1]), left, right)
    k.csr_transposed_dot_row_sparse(values_as(left, out), left.indices, left.indptr, right.data, right.indices, out)
    return out


@dot.forward("default, csr -> csr", transpose_a=False, transpose_b=False, forward_stype=(None, "csr"))
def _(k: Kernels, left: Array, right: CSR, attrs: Attrs) -> CSR:
    columns, ranks = k.unique_with_rank(right.indices)
    rows, width = left.shape[0], columns.shape[0]
    data = _zeros(k, None, (rows, width), left, right)
    k.dense_dot_csr(_contiguous(left), values_as(right, data), ranks, right.indptr, data)
    indptr = k.xp.arange(0, rows * width + 1, max(width, 1), dtype=np.int64) if width else k.xp.zeros(rows + 1, np.int64)
    return CSR(data.reshape(-1), k.xp.tile(columns, rows), indptr, (rows, right.shape[1]), check=False)


@dot.forward("default, csr -> default", transpose_b=False, forward_stype="default")
@_with_vector
def _(k: Kernels, left: Array, right: CSR, attrs: Attrs, out: Array | None = None) -> Array:
    left = _contiguous(left, attrs["transpose_a"], column=False)
    out = _zeros(k, out, (left.shape[0], right.shape[1]), left, right)
    k.dense_dot_csr(left, values_as(right, out), right.indices, right.indptr, out)
    return out


@dot.forward("default, csr -> default", transpose_b=True, forward_stype="default")
@_with_vector
def _(k: Kernels, left: Array, right: CSR, attrs: Attrs, out: Array | None = None) -> Array:
    left = _contiguous(left, attrs["transpose_a"], column=False)
    out = _empty(k, out, (left.shape[0], right.shape[0]), left, right)
    k.dense_dot_csr_transposed(left, values_as(right, out), right.indices, right.indptr, out)
    return out


@dot.forward("default, csr -> csr", transpose_a=False, transpose_b=True, forward_stype=(None, "csr"))
def _(k: Kernels, left: Array, right: CSR, attrs: Attrs) -> CSR:
    out = _empty(k, None, (left.shape[0], right.shape[0]), left, right)
    k.dense_dot_csr_transposed(_contiguous(left), values_as(right, out), right.indices, right.indptr, out)
    return convert(out, "csr", k.xp)


@dot.forward("default, row_sparse -> default", transpose_b=False, forward_stype=_ANY_HINT)
def _(k: Kernels, left: Array, right: RowSparse, attrs: Attrs, out: Array | None = None) -> Array:
    left = _transpose_if(left, attrs["transpose_a"], True)
    return _filled(k.xp.tensordot(left[..., right.indices], right.data, axes=(-1, 0)), out)


@dot.forward("row_sparse, default -> default", transpose_a=True, forward_stype=_ANY_HINT)
def _(k: Kernels, left: RowSparse, right: Array, attrs: Attrs, out: Array | None = None) -> Array:
    right = _transpose_if(right, attrs["transpose_b"], False)
    return _filled(k.xp.tensordot(_transpose_if(left.data, True, True), right[left.indices], axes=(-1, 0)), out)


@dot.gradient
def _(F: ArrayFunctions, g: ArrayObject, lhs: ArrayObject, rhs: ArrayObject, out: ArrayObject | None, attrs: Attrs,
      want: Sequence[Want | None]) -> Gradients:
    turn_left, turn_right = attrs["transpose_a"], attrs["transpose_b"]
    return want[0] and _left_gradient(F, g, lhs, rhs, turn_left, turn_right, want[0]), want[1] and _right_gradient(
        F, g, lhs, rhs, turn_left, turn_right, want[1])


def _as_columns(F: ArrayFunctions, array: ArrayObject) -> ArrayObject:
    """A matrix, or a vector as a matrix of one column."""
    return F.reshape(array, shape=(-1, 1)) if len(array.shape) == 1 else array


def product_at(F: ArrayFunctions, left: ArrayObject, right: ArrayObject, like: ArrayObject,
               places: tuple[ArrayObject, ArrayObject]) -> ArrayObject:
    """left · rightᵀ at some places of a csr matrix and nowhere else: a gradient without the dense matrix."""
    rows, columns = places
    values = F.sum(F.take(left, rows, axis=0) * F.take(right, columns, axis=0), axis=1)
    return F._place_values(values, rows, columns, shape=tuple(like.shape), stype="csr")


def _left_gradient(F: ArrayFunctions, g: ArrayObject, lhs: ArrayObject, rhs: ArrayObject, turn_left: bool, turn_right: bool,
                   want: Want | None) -> ArrayObject:
    """∂/∂lhs: g · rhsᵀ, or its transpose if lhs was transposed; dense, or at the places that are read."""
    g = plain(F, g)
    if want is not None and want.places is not None and len(rhs.shape) <= 2:
        right = plain(F, F.transpose(rhs) if turn_right and len(rhs.shape) == 2 else rhs)
        right, g = _as_columns(F, right), _as_columns(F, g)
        return product_at(F, right, g, lhs, want.places) if turn_left else product_at(F, g, right, lhs, want.places)
    check_gradient("dot", lhs)
    if rhs.stype == "csr" and len(lhs.shape) == 1:
        return F.dot(rhs, g, transpose_a=turn_right, forward_stype="default")
    if len(lhs.shape) > 2 or len(rhs.shape) > 2 or len(lhs.shape) == 1 or len(rhs.shape) == 1:
        return F._dot_left_gradient(g, lhs, rhs, transpose_a=turn_left, transpose_b=turn_right)
    if turn_left:
        return F.dot(rhs, g, transpose_a=turn_right, transpose_b=True, forward_stype="default")
    return F.dot(g, rhs, transpose_b=not turn_right, forward_stype="default")


def _right_gradient(F: ArrayFunctions, g: ArrayObject, lhs: ArrayObject, rhs: ArrayObject, turn_left: bool, turn_right: bool,
                    want: Want) -> ArrayObject:
    """∂/∂rhs: lhsᵀ · g, or its transpose if rhs was transposed; row_sparse under a csr left side, or at places."""
    g = plain(F, g)
    if want.places is not None and len(lhs.shape) <= 2:
        left = _as_columns(F, plain(F, lhs if turn_left or len(lhs.shape) == 1 else F.transpose(lhs)))
        turned = F.transpose(g) if len(g.shape) == 2 else _as_columns(F, g)
        return product_at(F, turned, left, rhs, want.places) if turn_right else product_at(F, left, turned, rhs, want.places)
    of_vector = lhs.stype == "csr" and len(rhs.shape) == 1
    if not of_vector and not len(lhs.shape) == len(rhs.shape) == 2:
        return F._dot_right_gradient(g, lhs, rhs, transpose_a=turn_left, transpose_b=turn_right)
    if turn_right and not of_vector:
        return F.dot(g, lhs, transpose_a=True, transpose_b=turn_left, forward_stype="default")
    hint = want.stype if want.stype != "csr" else None
    if lhs.stype != "csr" or turn_left:  # csr · default is dense
        hint = "default"
    return F.dot(lhs, g, transpose_a=not turn_left, forward_stype=hint, out=want.out if hint == "default" else None)


def _declare_high_rank(side: str, einsum: Callable[[ArrayModule, Array, Array, Array, Attrs], Array]) -> None:
    """Gradients of products with vectors or more than two axes, by one general contraction."""
    op = Op(f"_dot_{side}_gradient", "g lhs rhs", attrs={"transpose_a": False, "transpose_b": False}, cost=cost.dot_gradient,
            dtype=lambda dtypes, attrs: infer.same([dtypes[0], dtypes[2 if side == "left" else 1]], attrs),
            shape=lambda shapes, attrs: shapes[1 if side == "left" else 2],
            sample=lambda: [([np.ones((4,), np.float32), samples.grid(), samples.grid(1, 5)[0]], {})],
            label="the gradient of dot",
            doc=f"Gradient of a dot product for its {side} side, for any number of axes.")

    @op.forward("default, default, default -> default")
    def _(k: Kernels, g: Array, left: Array, right: Array, attrs: Attrs) -> Array:
        return einsum(k.xp, g, left, right, attrs)


def _left_any_rank(xp: ArrayModule, g: Array, left: Array, right: Array, attrs: Attrs) -> Array:
    turned = _transpose_if(right, attrs["transpose_b"], False)
    left_turned = _transpose_if(left, attrs["transpose_a"], True)
    matrix = turned.reshape(turned.shape[0], -1)
    gradient = g.reshape(-1, matrix.shape[1]) @ matrix.T
    gradient = gradient.reshape(left_turned.shape)
    return xp.moveaxis(gradient, -1, 0).copy() if attrs["transpose_a"] else gradient


def _right_any_rank(xp: ArrayModule, g: Array, left: Array, right: Array, attrs: Attrs) -> Array:
    left_turned = _transpose_if(left, attrs["transpose_a"], True)
    turned = _transpose_if(right, attrs["transpose_b"], False)
    gradient = left_turned.reshape(-1, left_turned.shape[-1]).T @ g.reshape(-1, max(1, turned.size // max(1, turned.shape[0])))
    gradient = gradient.reshape(turned.shape)
    return xp.moveaxis(gradient, 0, -1).copy() if attrs["transpose_b"] else gradient


_declare_high_rank("left", _left_any_rank)
_declare_high_rank("right", _right_any_rank)
