"""Rows for sparse arrays of operators declared elsewhere: shapes, choices and layers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...base.errors import ShapeError
from ...core.op import find
from ...storage import CSR, RowSparse, convert, densify
from ...storage.check import check_room
from ...storage.convert import row_ids
from ..elementwise.binary import add_csr, add_row_sparse
from ..elementwise.unary import on_data
from ..indexing.index import chosen
from ..indexing.positions import whole
from ..indexing.slices import Only
from ..limits import dense_inside, dense_of
from ..neural.neural import biased
from .dot import values_as
from .sparse_indexing import csr_rows, index_type, row_sparse_rows, transposed
from .sparse_pairs import values_at

if TYPE_CHECKING:
    from ...base.types import Array, Attrs
    from ...kernels.types import ArrayModule, Kernels
    from ...storage.types import Sparse, Store

# shapes


def reshaped_csr(k: Kernels, x: CSR, shape: tuple[int, ...]) -> CSR:
    """The same elements as a csr matrix of another shape; their order stays."""
    if math.prod(shape) > np.iinfo(np.int64).max:
        raise ShapeError(f"A matrix of shape {x.shape} has more elements than int64 can number.", hint="reshape a slice of it.")
    indices, indptr = k.xp.empty(x.nnz, np.int64), k.xp.zeros(shape[0] + 1, np.int64)
    k.csr_reshape(x.indices, x.indptr, x.shape[1], shape[1], indices, indptr)
    return CSR(x.data.copy(), indices, indptr, shape, check=False)


def reshaped_rows(k: Kernels, x: RowSparse, shape: tuple[int, ...]) -> RowSparse:
    """The same elements as a row_sparse array of another shape; it stores the rows that a stored row reaches into."""
    xp, before, after = k.xp, math.prod(x.shape[1:]), math.prod(shape[1:])
    if tuple(shape[:1]) == tuple(x.shape[:1]) or not math.prod(shape) or not x.indices.size:
        stored = x.indices if tuple(shape[:1]) == tuple(x.shape[:1]) else x.indices[:0]
        return RowSparse(x.data[: stored.shape[0]].copy().reshape(stored.shape[0], *shape[1:]), stored, shape, check=False)
    if math.prod(shape) > np.iinfo(np.int64).max:
        raise ShapeError(f"An array of shape {x.shape} has more elements than int64 can number.", hint="reshape a slice of it.")
    rows = x.indices.astype(np.int64, copy=False)
    first, last = rows * before // after, ((rows + 1) * before - 1) // after
    counts = last - first + 1
    indices = k.distinct(xp.repeat(first - xp.cumsum(counts) + counts, counts) + xp.arange(int(counts.sum())))
    check_room("reshape", (indices.shape[0], *shape[1:]), x.dtype)
    data = xp.zeros((indices.shape[0], after), x.dtype)
    place = (rows[:, None] * before + xp.arange(before)).reshape(-1)
    data[xp.searchsorted(indices, place // after), place % after] = x.data.reshape(-1)
    return RowSparse(data.reshape(indices.shape[0], *shape[1:]), indices, shape, check=False)


def _target(name: str, x: Sparse, attrs: Attrs) -> tuple[int, ...]:
    return tuple(int(size) for size in find(name).shape([tuple(x.shape)], attrs))


_TWO = Only("two plain sizes", lambda shape: isinstance(shape, (tuple, list)) and len(shape) == 2 and min(shape) >= -1)


for _name in ("Reshape", "_view"):
    @find(_name).forward("csr -> csr", shape=_TWO)
    def _(k: Kernels, x: CSR, attrs: Attrs, _name: str = _name) -> CSR:
        return reshaped_csr(k, x, _target(_name, x, attrs))

    @find(_name).forward("row_sparse -> row_sparse")
    def _(k: Kernels, x: RowSparse, attrs: Attrs, _name: str = _name) -> RowSparse:
        return reshaped_rows(k, x, _target(_name, x, attrs))


@find("reshape_like").forward("csr|row_sparse, * -> default")
def _(k: Kernels, x: Sparse, like: Store, attrs: Attrs) -> Array:
    return dense_of(k, x, "reshape_like").reshape(like.shape)


@find("Flatten").forward("row_sparse -> row_sparse")
def _(k: Kernels, x: RowSparse, attrs: Attrs) -> RowSparse:
    return reshaped_rows(k, x, _target("Flatten", x, attrs))


@find("expand_dims").forward("row_sparse -> row_sparse", axis=Only("behind the rows", lambda axis: axis > 0 or axis == -1))
def _(k: Kernels, x: RowSparse, attrs: Attrs) -> RowSparse:
    return reshaped_rows(k, x, _target("expand_dims", x, attrs))


#: Orders of the axes of a matrix that exchange them; the empty one reverses the axes of any array.
_EXCHANGED = ((), None, (1, 0), (1, -2), (-1, 0), (-1, -2))


@find("transpose").forward("csr -> csr")
def _(k: Kernels, x: CSR, attrs: Attrs) -> CSR:
    return transposed(k, x) if attrs["axes"] in _EXCHANGED else x.copy()


@find("transpose").forward("row_sparse -> row_sparse",
                           axes=Only("rows first", lambda axes: isinstance(axes, tuple) and axes[:1] == (0,)))
def _(k: Kernels, x: RowSparse, attrs: Attrs) -> RowSparse:
    shape = tuple(x.shape[axis] for axis in attrs["axes"])
    return RowSparse(k.xp.array(x.data.transpose(attrs["axes"]), order="C"), x.indices, shape, check=False)


@find("transpose").forward("row_sparse -> csr", axes=_EXCHANGED)
def _(k: Kernels, x: RowSparse, attrs: Attrs) -> CSR:
    turned = convert(k.xp.ascontiguousarray(x.data.T), "csr", k.xp)
    return CSR(turned.data, x.indices[turned.indices], turned.indptr, (x.shape[1], x.shape[0]), check=False)


# choices

where = find("where")


@where.forward("csr|row_sparse, default, default -> default", asked="it chooses between dense arrays; the condition is read")
def _(k: Kernels, condition: Sparse, x: Array, y: Array, attrs: Attrs) -> Array:
    out = k.xp.array(y, dtype=x.dtype, order="C")
    if isinstance(condition, CSR) and condition.shape == x.shape:
        true = condition.data != 0
        places = row_ids(condition, k.xp)[true], condition.indices[true]
        out[places] = x[places]
        return out
    if isinstance(condition, RowSparse):
        true = condition.data != 0
        true = true.reshape(true.shape + (1,) * (x.ndim - true.ndim))
        out[condition.indices] = k.xp.where(true, x[condition.indices], out[condition.indices])
        return out
    result: Array = chosen(k, dense_inside(k, condition, "where"), x, y, attrs)
    return result


def _truth(k: Kernels, condition: Array, store: Sparse) -> Array:
    """Whether the condition is nonzero at the stored places of a sparse array of its shape."""
    if condition.ndim < len(store.shape):
        condition = condition.reshape(condition.shape + (1,) * (len(store.shape) - condition.ndim))
    true: Array = values_at(k, store, condition) != 0
    return true


def _kept(k: Kernels, store: CSR, keep: Array) -> CSR:
    """Only the stored values that are to be kept."""
    before = k.xp.zeros(keep.shape[0] + 1, store.indptr.dtype)
    k.xp.cumsum(keep, out=before[1:])
    return CSR(store.data[keep], store.indices[keep], before[store.indptr], store.shape, check=False)


@where.forward("csr|row_sparse, csr, csr -> csr")
def _(k: Kernels, condition: Sparse, x: CSR, y: CSR, attrs: Attrs) -> CSR:
    if isinstance(condition, RowSparse) and len(condition.shape) == 1:
        return _rows_chosen(k, condition, x, y)
    condition, room = convert(condition, "csr", k.xp), x.nnz + y.nnz
    data = k.xp.empty(room, np.result_type(x.dtype, y.dtype))
    indices = k.xp.empty(room, index_type(0, x.indices, y.indices))
    indptr = k.xp.empty(x.indptr.shape, index_type(room, x.indptr, y.indptr))
    true = (condition.data != 0).astype(np.int8)  # one type, for which the kernel is compiled
    count = k.csr_where(true, condition.indices, condition.indptr, x.data, x.indices, x.indptr,
                        y.data, y.indices, y.indptr, data, indices, indptr)
    return CSR(data[:count], indices[:count], indptr, x.shape, check=False)


def _rows_chosen(k: Kernels, condition: RowSparse, x: CSR, y: CSR) -> CSR:
    """Whole rows of x where the condition is not zero, of y elsewhere."""
    true = k.xp.zeros(x.shape[0], bool)
    true[condition.indices] = condition.data != 0
    return add_csr(k, _kept(k, x, true[row_ids(x, k.xp)]), _kept(k, y, ~true[row_ids(y, k.xp)]), 1)


@where.forward("default, csr, csr -> csr")
def _(k: Kernels, condition: Array, x: CSR, y: CSR, attrs: Attrs) -> CSR:
    return add_csr(k, _kept(k, x, _truth(k, condition, x)), _kept(k, y, ~_truth(k, condition, y)), 1)


@where.forward("default, row_sparse, row_sparse -> row_sparse")
def _(k: Kernels, condition: Array, x: RowSparse, y: RowSparse, attrs: Attrs) -> RowSparse:
    zero = x.dtype.type(0)
    return add_row_sparse(k, on_data(x, k.xp.where(_truth(k, condition, x), x.data, zero)),
                          on_data(y, k.xp.where(_truth(k, condition, y), zero, y.data)), 1)


@where.forward("csr|row_sparse, row_sparse, row_sparse -> row_sparse", asked="dense copies are of rows that are stored")
def _(k: Kernels, condition: Sparse, x: RowSparse, y: RowSparse, attrs: Attrs) -> RowSparse:
    xp = k.xp
    rows = xp.flatnonzero(xp.diff(condition.indptr)) if isinstance(condition, CSR) else condition.indices
    taken = xp.intersect1d(x.indices, rows)
    indices = xp.union1d(taken, y.indices)
    data = xp.zeros((indices.shape[0], *x.shape[1:]), x.dtype)
    data[xp.searchsorted(indices, y.indices)] = y.data
    asked = xp.intersect1d(indices, rows)
    place = xp.searchsorted(indices, asked)
    true = _condition_rows(k, condition, asked) != 0
    data[place] = xp.where(true.reshape(true.shape + (1,) * (data.ndim - true.ndim)), _dense_rows(xp, x, asked), data[place])
    return RowSparse(data, indices, x.shape, check=False)


def _condition_rows(k: Kernels, condition: Sparse, rows: Array) -> Array:
    if isinstance(condition, CSR):
        return densify(csr_rows(k, condition, rows), k.xp)
    return condition.data[k.xp.searchsorted(condition.indices, rows)]


def _dense_rows(xp: ArrayModule, store: RowSparse, rows: Array) -> Array:
    """The rows of those numbers, zeros for those that are not stored."""
    return densify(row_sparse_rows(store, rows, xp), xp)


retain = find("_sparse_retain")


def _wanted(k: Kernels, wanted: Array, size: int) -> Array:
    """The distinct rows to keep, ascending; numbers outside the array are left out."""
    rows = k.distinct(whole(k.xp, wanted, "retain: the row"))
    return rows[(rows >= 0) & (rows < size)]


@retain.forward("default, default -> default")
def _(k: Kernels, x: Array, wanted: Array, attrs: Attrs) -> Array:
    out, rows = k.xp.zeros_like(x), _wanted(k, wanted, x.shape[0])
    out[rows] = x[rows]
    return out


@retain.forward("csr, default -> csr")
def _(k: Kernels, x: CSR, wanted: Array, attrs: Attrs) -> CSR:
    rows = _wanted(k, wanted, x.shape[0])
    kept = csr_rows(k, x, rows)
    counts = k.xp.zeros(x.shape[0] + 1, x.indptr.dtype)
    counts[rows + 1] = k.xp.diff(kept.indptr)
    return CSR(kept.data, kept.indices, k.xp.cumsum(counts), x.shape, check=False)


# layers


def _biased(out: Array, arguments: tuple[*tuple[Array, ...], Attrs]) -> Array:
    """The result with the bias added, if there is one; the attributes come last."""
    return biased(out, arguments[0] if len(arguments) == 2 else None)


fully_connected = find("FullyConnected")


@fully_connected.forward("default, csr, default? -> default")
def _(k: Kernels, x: Array, weight: CSR, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    flat = x.reshape(x.shape[0], -1) if arguments[-1]["flatten"] else x.reshape(-1, x.shape[-1])
    out = k.xp.empty((flat.shape[0], weight.shape[0]), np.result_type(x.dtype, weight.dtype))
    k.dense_dot_csr_transposed(k.xp.ascontiguousarray(flat), values_as(weight, out), weight.indices, weight.indptr, out)
    return _biased(out if arguments[-1]["flatten"] else out.reshape(*x.shape[:-1], -1), arguments)


@fully_connected.forward("csr, csr|row_sparse, default? -> default")
def _(k: Kernels, x: CSR, weight: Sparse, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    turned = transposed(k, convert(weight, "csr", k.xp))
    out = k.xp.empty((x.shape[0], weight.shape[0]), np.result_type(x.dtype, weight.dtype))
    k.csr_dot_csr(values_as(x, out), x.indices, x.indptr, values_as(turned, out), turned.indices, turned.indptr, out)
    return _biased(out, arguments)


@fully_connected.forward("row_sparse, default|csr|row_sparse, default? -> default")
def _(k: Kernels, x: RowSparse, weight: Store, *arguments: *tuple[*tuple[Array, ...], Attrs]) -> Array:
    data = x.data.reshape(x.data.shape[0], math.prod(x.shape[1:])) if arguments[-1]["flatten"] else x.data
    weight = dense_inside(k, weight, "FullyConnected")
    out = k.xp.zeros((x.shape[0], *data.shape[1:-1], weight.shape[0]), np.result_type(x.dtype, weight.dtype))
    out[x.indices] = k.xp.matmul(data, weight.T)
    return _biased(out, arguments)
