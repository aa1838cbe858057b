"""Elementwise operators of two arrays of which one or both are sparse, with and without broadcasting.

Where f(0, 0) = 0, two sparse arrays give a sparse result that stores what either stores; a csr and a row_sparse array
give csr.  Where it is not, or one array is dense, the result is dense by nature.  Products and quotients of a sparse
array by a dense one keep its stored places: an absent 0 divided by 0 stays absent, as in MXNet's ``broadcast_div``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core import infer
from ...core.op import REQUIRED, Op, find, label_of
from ...storage import CSR, RowSparse, convert
from ...storage.check import check_room
from ...storage.convert import row_ids
from .. import samples
from ..elementwise.binary import add_csr, add_row_sparse
from ..elementwise.unary import on_data
from ..limits import dense_inside, dense_of, filled
from ..shape.concat import aligned_rows
from .sparse_indexing import broadcast_csr, csr_rows, index_type

if TYPE_CHECKING:
    from ...base.types import Array, Attrs
    from ...kernels.types import Kernels
    from ...storage.types import Sparse, Store

SPARSE = "row_sparse|csr"


def kernel_of(name: str, *stypes: str) -> Callable[..., Any]:  # Any: a store of the kind that the row gives
    """The kernel of one of the operator's rows, as a part of other kernels."""
    return next(rule.function for rule in find(name).rules if rule.takes(stypes))


def row_of(name: str, *stypes: str) -> Callable[..., Any]:  # Any: as in kernel_of
    """``function(k, left, right)`` of one of the operator's rows, which has no attributes."""
    kernel = kernel_of(name, *stypes)
    return lambda k, left, right: kernel(k, left, right, {})


def dense_function(name: str) -> Callable[[Kernels, Array, Array], Array]:
    """``function(k, left, right)`` of the operator's dense row."""
    return row_of(name, "default", "default")


def union_csr(k: Kernels, left: CSR, right: CSR, function: Callable[[Kernels, Array, Array], Array]) -> CSR:
    """``function(k, left values, right values)`` at all places that either stores; both have one shape."""
    room, xp = left.nnz + right.nnz, k.xp
    indices = xp.empty(room, index_type(0, left.indices, right.indices))
    indptr = xp.empty(left.indptr.shape, index_type(room, left.indptr, right.indptr))
    data, right_data = xp.empty(room, left.dtype), xp.empty(room, right.dtype)
    count = k.csr_union(left.data, left.indices, left.indptr, right.data, right.indices, right.indptr, data, right_data,
                        indices, indptr)
    return CSR(function(k, data[:count], right_data[:count]), indices[:count], indptr, left.shape, check=False)


def union_rows(k: Kernels, left: RowSparse, right: RowSparse, function: Callable[[Kernels, Array, Array], Array],
               name: str) -> RowSparse:
    """``function`` of the rows that either stores; all axes but the first broadcast."""
    shape = infer.broadcast_shapes(tuple(left.shape), tuple(right.shape))
    if len(left.shape) != len(right.shape) or left.shape[0] != right.shape[0]:
        check_room(label_of(name), shape, left.dtype)
        result: RowSparse = convert(function(k, dense_inside(k, left, name), dense_inside(k, right, name)), "row_sparse", k.xp)
        return result
    indices, (first, second) = aligned_rows(k, [left, right])
    return RowSparse(function(k, first, second), indices, shape, check=False)


def both_csr(k: Kernels, left: Sparse, right: Sparse) -> tuple[CSR, CSR]:
    """Two sparse matrices as csr of the shape they broadcast to."""
    shape = infer.broadcast_shapes(tuple(left.shape), tuple(right.shape))
    return broadcast_csr(k, _matrix(k, left), shape), broadcast_csr(k, _matrix(k, right), shape)


def _matrix(k: Kernels, store: Sparse) -> CSR:
    """A sparse store as csr; one of a single axis as a row."""
    if len(store.shape) > 1:
        matrix: CSR = convert(store, "csr", k.xp)
        return matrix
    ends = k.xp.asarray([0, store.indices.shape[0]])
    return CSR(store.data, store.indices, ends, (1, *store.shape), check=False)


def sparse_pair(name: str, rows: Callable[[Kernels, RowSparse, RowSparse], RowSparse] | None = None,
                places: Callable[[Kernels, CSR, CSR], CSR] | None = None) -> None:
    """Declare the rows of two sparse arrays of an operator with f(0, 0) = 0.

    Parameters
    ----------
    rows, places : callable, optional
        Quicker ways for two row_sparse and two csr arrays of one shape.
    """
    op, function = find(name), dense_function(name)

    def of_rows(k: Kernels, left: RowSparse, right: RowSparse, attrs: Attrs) -> RowSparse:
        if rows is not None and left.shape == right.shape:
            return rows(k, left, right)
        return union_rows(k, left, right, function, name)

    if op.find_rule(("row_sparse", "row_sparse"), {}) is None:
        op.forward("row_sparse, row_sparse -> row_sparse")(of_rows)

    @op.forward(f"{SPARSE}, {SPARSE} -> csr")
    def _(k: Kernels, left: Sparse, right: Sparse, attrs: Attrs) -> CSR:
        left, right = both_csr(k, left, right)
        return union_csr(k, left, right, function) if places is None else places(k, left, right)


def dense_pair(name: str, both: bool) -> None:
    """Declare the rows whose result is dense by nature: one array dense, and two sparse ones if f(0, 0) is not 0."""
    op, function = find(name), dense_function(name)

    def run(k: Kernels, left: Store, right: Store, attrs: Attrs) -> Array:
        check_room(op.label, infer.broadcast_shapes(tuple(left.shape), tuple(right.shape)), left.dtype)
        return function(k, dense_of(k, left, op.label), dense_of(k, right, op.label))

    op.forward(f"{SPARSE}, default -> default")(run)
    op.forward(f"default, {SPARSE} -> default")(run)
    if both:
        op.forward(f"{SPARSE}, {SPARSE} -> default")(run)


def values_at(k: Kernels, sparse: Sparse, dense: Array) -> Array:
    """The elements of a dense array, broadcast to the sparse one's shape, at its stored places."""
    spread = k.xp.broadcast_to(dense, sparse.shape)
    return spread[row_ids(sparse, k.xp), sparse.indices] if isinstance(sparse, CSR) else spread[sparse.indices]


def keep_places(name: str, left_only: bool) -> None:
    """Declare the rows of a sparse and a dense array in which the sparse one's places are all that count."""
    op, function = find(name), dense_function(name)

    def run(k: Kernels, sparse: Sparse, dense: Array, apply: Callable[[Array, Array], Array]) -> Store:
        shape = infer.broadcast_shapes(tuple(sparse.shape), tuple(dense.shape))
        if shape != tuple(sparse.shape):
            check_room(op.label, shape, sparse.dtype)
            return convert(apply(dense_inside(k, sparse, name), dense), sparse.stype, k.xp)
        return on_data(sparse, apply(sparse.data, values_at(k, sparse, dense)))

    def first(k: Kernels, left: Sparse, right: Array, attrs: Attrs) -> Store:
        return run(k, left, right, lambda a, b: function(k, a, b))

    def second(k: Kernels, left: Array, right: Sparse, attrs: Attrs) -> Store:
        return run(k, right, left, lambda a, b: function(k, b, a))

    for stype in ("row_sparse", "csr"):
        if op.find_rule((stype, "default"), {}) is None:
            op.forward(f"{stype}, default -> {stype}")(first)
        if not left_only and op.find_rule(("default", stype), {}) is None:
            op.forward(f"default, {stype} -> {stype}")(second)


for _name, _factor in (("add", 1), ("sub", -1)):
    for _op in (f"elemwise_{_name}", f"broadcast_{_name}"):
        sparse_pair(_op, functools.partial(add_row_sparse, factor=_factor), functools.partial(add_csr, factor=_factor))
    dense_pair(f"broadcast_{_name}", both=False)

_multiply_rows, _multiply_csr = (row_of("elemwise_mul", stype, stype) for stype in ("row_sparse", "csr"))
for _op in ("elemwise_mul", "broadcast_mul"):
    sparse_pair(_op, _multiply_rows, _multiply_csr)
keep_places("broadcast_mul", left_only=False)
keep_places("broadcast_logical_and", left_only=False)
for _op in ("elemwise_div", "broadcast_div"):
    keep_places(_op, left_only=True)
    dense_pair(_op, both=True)

for _name in ("maximum", "minimum", "not_equal", "greater", "lesser", "logical_and", "logical_or", "logical_xor"):
    sparse_pair(f"broadcast_{_name}")
    if _name != "logical_and":
        dense_pair(f"broadcast_{_name}", both=False)
for _name in ("equal", "greater_equal", "lesser_equal", "power", "mod"):
    dense_pair(f"broadcast_{_name}", both=True)

# sums of any number of arrays

add_n = find("add_n")


@add_n.forward("row_sparse|csr... -> csr")
def _(k: Kernels, *arguments: *tuple[*tuple[Sparse, ...], Attrs]) -> CSR:
    stores = [convert(store, "csr", k.xp) for store in arguments[:-1]]
    out = stores[0]
    for store in stores[1:]:
        out = add_csr(k, out, store, 1)
    return out


@add_n.forward("default|row_sparse|csr... -> default")
def _(k: Kernels, *arguments: *tuple[*tuple[Store, ...], Attrs]) -> Array:
    first, *others = arguments[:-1]  # added in their order, which decides the last digit
    out = dense_of(k, first, "add_n") if hasattr(first, "stype") else first.copy()
    add = row_of("elemwise_add", "default", "csr")
    for store in others:
        if hasattr(store, "stype"):
            out = add(k, out, store)
        else:
            out += store
    return out


# gradients of unary functions that keep zero, where the gradient that arrives is csr

for _name in ("_relu_backward", "_abs_backward"):
    @find(_name).forward(f"{SPARSE}, {SPARSE} -> csr")
    def _(k: Kernels, g: Sparse, x: Sparse, attrs: Attrs, _name: str = _name) -> CSR:
        return union_csr(k, *both_csr(k, g, x), dense_function(_name))

# operators on stored values only

scatter_div = Op("_scatter_elemwise_div", "lhs rhs", shape=infer.same_shape, sample=samples.pair(low=0.5), joined=infer.EVERY,
                 saves=("lhs", "rhs"),
                 doc="Quotient of two arrays of one shape, of the stored values of a sparse ``lhs`` only.")


@scatter_div.forward("default, default -> default")
def _(k: Kernels, left: Array, right: Array, attrs: Attrs) -> Array:
    return dense_function("elemwise_div")(k, left, right)


keep_places("_scatter_elemwise_div", left_only=True)


@scatter_div.forward("row_sparse, row_sparse -> row_sparse")
def _(k: Kernels, left: RowSparse, right: RowSparse, attrs: Attrs) -> RowSparse:
    indices, (_, divisor) = aligned_rows(k, [left, right])
    return on_data(left, dense_function("elemwise_div")(k, left.data, divisor[k.xp.searchsorted(indices, left.indices)]))


@scatter_div.forward("row_sparse, csr -> row_sparse")
def _(k: Kernels, left: RowSparse, right: CSR, attrs: Attrs) -> RowSparse:
    divisor = dense_of(k, csr_rows(k, right, left.indices), scatter_div.label)
    return on_data(left, dense_function("elemwise_div")(k, left.data, divisor))


scatter_div.gradient(lambda F, g, lhs, rhs, out, attrs, want: (
    want[0] and F.elemwise_div(g, rhs),
    want[1] and F.negative(F.elemwise_div(F.elemwise_mul(g, lhs), F.square(rhs)))))


def _scatter_scalar(name: str, plain: str) -> None:
    expression = find(plain).expression
    op = Op(name, "data", attrs={"scalar": REQUIRED}, shape=infer.unchanged, sample=samples.scalars(0.0), saves=(),
            expression=expression, doc=f"``{expression}``, of the stored values of a sparse array only.")
    function: Callable[[Kernels, Array, Attrs], Array] = kernel_of(plain, "default")

    @op.forward("default -> default")
    def _(k: Kernels, x: Array, attrs: Attrs) -> Array:
        return function(k, x, attrs)

    for stype in ("row_sparse", "csr"):
        @op.forward(f"{stype} -> {stype}")
        def _(k: Kernels, x: Sparse, attrs: Attrs) -> Sparse:
            return on_data(x, function(k, x.data, attrs))

    op.gradient(lambda F, g, data, out, attrs, want: g)


_scatter_scalar("_scatter_plus_scalar", "_plus_scalar")
_scatter_scalar("_scatter_minus_scalar", "_minus_scalar")

# clip to a range without zero: what is absent moves to its nearest end


@find("clip").forward("row_sparse|csr -> default")
def _(k: Kernels, x: Sparse, attrs: Attrs) -> Array:
    plain = kernel_of("clip", "default")
    return filled(k, x, "clip", lambda values: plain(k, values, attrs))
