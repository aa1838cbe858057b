"""Parts of sparse stores: rows, columns and steps of them, and sparse stores from places in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...base.errors import ShapeError
from ...kernels import NUMPY
from ...storage import CSR, RowSparse
from ...storage.check import check_room
from ...storage.convert import counts_to_indptr

if TYPE_CHECKING:
    from ...base.types import Array, DType
    from ...kernels.types import ArrayModule, Kernels


class IndexRange(NamedTuple):
    """``size`` positions from ``start`` in steps of ``step``, all of them inside the axis."""

    start: int
    step: int
    size: int


def steps_of(part: slice, size: int) -> IndexRange:
    """The positions that a slice of an axis of that size stands for."""
    positions = range(*part.indices(size))
    return IndexRange(positions.start, positions.step, len(positions))


def index_type(size: int, *indices: Array) -> DType:
    """The type that holds all these indices and numbers up to ``size``: int32 only where both fit."""
    dtype = np.result_type(*indices)
    return np.dtype(np.int64) if size > np.iinfo(dtype).max else dtype


def csr_from_places(row: Array, column: Array, data: Array, shape: tuple[int, ...], xp: ArrayModule = NUMPY) -> CSR:
    """A CSR matrix from places in any order; values at one place are summed."""
    order = xp.lexsort((column, row))
    row, column, data = row[order], column[order], data[order]
    first = xp.ones(row.shape[0], bool)
    first[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    if not first.all():
        starts = xp.flatnonzero(first)
        row, column, data = row[starts], column[starts], xp.add.reduceat(data, starts, dtype=data.dtype)
    return CSR(data, column, counts_to_indptr(row, shape[0], xp), shape, check=False)


def csr_rows(k: Kernels, store: CSR, rows: Array) -> CSR:
    """The rows of those numbers, which may repeat, in that order."""
    starts = store.indptr[rows]
    return _copied(k, store, starts, store.indptr[rows + 1] - starts, 0, store.shape[1])


def _copied(k: Kernels, store: CSR, starts: Array, counts: Array, shift: int, columns: int) -> CSR:
    """A row of ``counts[i]`` values from ``starts[i]`` on for each i, ``shift`` added to their columns."""
    total = int(counts.sum(dtype=np.int64))
    indptr = k.xp.zeros(starts.shape[0] + 1, index_type(total, store.indptr))
    k.xp.cumsum(counts, out=indptr[1:])
    data, indices = k.xp.empty(total, store.dtype), k.xp.empty(total, store.indices.dtype)
    k.csr_copy_rows(store.data, store.indices, starts, indptr, shift, data, indices)
    return CSR(data, indices, indptr, (starts.shape[0], columns), check=False)


def csr_row_steps(k: Kernels, store: CSR, steps: IndexRange) -> CSR:
    """The rows of an index range; consecutive rows share the columns of the store, which are read-only."""
    start, step, size = steps
    if step != 1:
        return csr_rows(k, store, start + step * k.xp.arange(size))
    first, last = int(store.indptr[start]), int(store.indptr[start + size])
    return CSR(store.data[first:last].copy(), store.indices[first:last], store.indptr[start: start + size + 1] - first,
               (size, store.shape[1]), check=False)


def csr_column_steps(k: Kernels, store: CSR, steps: IndexRange) -> CSR:
    """The columns of an index range."""
    step = abs(steps.step)
    low = steps.start if steps.step > 0 else steps.start + steps.step * (steps.size - 1)
    starts, ends = k.xp.empty(store.shape[0], np.int64), k.xp.empty(store.shape[0], np.int64)
    k.csr_column_bounds(store.indices, store.indptr, low, low + step * steps.size, starts, ends)
    counts = ends - starts
    if step == 1:
        result = _copied(k, store, starts, counts, -low, steps.size)
    else:
        room = int(counts.sum())
        data, indices = k.xp.empty(room, store.dtype), k.xp.empty(room, store.indices.dtype)
        indptr = k.xp.empty(store.shape[0] + 1, store.indptr.dtype)
        count = k.csr_column_steps(store.data, store.indices, starts, ends, low, step, data, indices, indptr)
        result = CSR(data[:count].copy(), indices[:count].copy(), indptr, (store.shape[0], steps.size), check=False)
    return result if steps.step > 0 else _mirrored(result, k.xp)


def _mirrored(store: CSR, xp: ArrayModule) -> CSR:
    """The columns in reverse order."""
    ends = store.indptr[:-1] + store.indptr[1:] - 1
    back = xp.repeat(ends, xp.diff(store.indptr)) - xp.arange(store.nnz)
    indices = store.shape[1] - 1 - store.indices[back].astype(np.int64, copy=False)
    return CSR(store.data[back], indices, store.indptr, store.shape, check=False)


def csr_columns(k: Kernels, store: CSR, columns: Array) -> CSR:
    """The columns of those numbers, which may repeat, in that order."""
    xp, width = k.xp, store.shape[1]
    shape = (store.shape[0], columns.shape[0])
    if width > TABLE + 8 * (store.nnz + columns.shape[0]):
        store, columns = renumbered(k, store, columns)
        width = store.shape[1]
    targets = xp.argsort(columns, kind="stable")
    offsets = xp.zeros(width + 1, np.int64)
    xp.cumsum(xp.bincount(columns, minlength=width), out=offsets[1:])
    indptr = xp.empty(shape[0] + 1, np.int64)
    k.csr_count_columns(store.indices, store.indptr, offsets, indptr)
    total, kind = int(indptr[-1]), index_type(columns.shape[0], store.indices)
    data, indices = xp.empty(total, store.dtype), xp.empty(total, kind)
    ascending, long = bool((targets[1:] > targets[:-1]).all()), data.shape[0] > LONG * shape[0]
    k.csr_take_columns(store.data, store.indices, store.indptr, offsets, targets, ascending or long, data, indices, indptr)
    result = CSR(data, indices, indptr.astype(index_type(total, store.indptr), copy=False), shape, check=False)
    return result if ascending or not long else transposed(k, transposed(k, result))  # which sorts long rows in linear time


#: Values a row from which two transpositions sort its columns faster than comparing them.
LONG = 64

#: Columns up to which a table of them all is made, whatever is stored.
TABLE = 1 << 16


def transposed(k: Kernels, x: CSR) -> CSR:
    """The transpose of a csr matrix as csr, by counting."""
    rows, columns = x.shape
    if columns > TABLE:
        check_room(f"the transpose of a csr array of shape {x.shape} has indptr, 8 bytes a row", (columns + 1,), np.int64)
    data, indices = k.xp.empty_like(x.data), k.xp.empty_like(x.indices)
    indptr = k.xp.zeros(columns + 1, x.indptr.dtype)
    k.csr_transpose(x.data, x.indices, x.indptr, data, indices, indptr)
    return CSR(data, indices, indptr, (columns, rows), check=False)


def renumbered(k: Kernels, store: CSR, columns: Array) -> tuple[CSR, Array]:
    """The matrix with none but the wanted columns, numbered in their order, and their new numbers."""
    xp, wanted = k.xp, k.distinct(columns)
    if not wanted.size:
        return CSR(store.data[:0], store.indices[:0], store.indptr * 0, (store.shape[0], 0), check=False), columns
    rank = xp.minimum(xp.searchsorted(wanted, store.indices), wanted.shape[0] - 1)
    keep = wanted[rank] == store.indices
    before = xp.zeros(keep.shape[0] + 1, np.int64)
    xp.cumsum(keep, out=before[1:])
    kept = CSR(store.data[keep], rank[keep], before[store.indptr], (store.shape[0], wanted.shape[0]), check=False)
    return kept, xp.searchsorted(wanted, columns)


def broadcast_csr(k: Kernels, store: CSR, shape: tuple[int, ...]) -> CSR:
    """A csr matrix repeated along its axes of size 1, up to ``shape``."""
    if len(shape) != 2:
        raise ShapeError(f"A csr array of shape {store.shape} does not broadcast to the {len(shape)} axes of {tuple(shape)}.",
                         hint="csr arrays have two dimensions; call tostype('default') first.")
    if store.shape[0] != shape[0]:
        store = csr_rows(k, store, k.xp.zeros(shape[0], np.int64))
    return store if store.shape[1] == shape[1] else csr_columns(k, store, k.xp.zeros(shape[1], np.int64))


def _hit(indices: Array, steps: IndexRange) -> tuple[Array, Array]:
    """Which indices are among the steps (ascending), and their numbers there."""
    low = steps.start if steps.step > 0 else steps.start + steps.step * (steps.size - 1)
    size = abs(steps.step)
    if low + size * steps.size > np.iinfo(indices.dtype).max:
        indices = indices.astype(np.int64)
    moved = indices - low
    keep = (moved >= 0) & (moved < size * steps.size)
    if size > 1:
        keep &= moved % size == 0
    return keep, moved[keep] // size if size > 1 else moved[keep]


def row_sparse_rows(store: RowSparse, rows: Array, xp: ArrayModule = NUMPY) -> RowSparse:
    """The rows of those numbers, which may repeat, in that order."""
    shape = (rows.shape[0], *store.shape[1:])
    if not store.indices.size:
        return RowSparse(store.data[:0], store.indices[:0], shape, check=False)
    rank = xp.minimum(xp.searchsorted(store.indices, rows), store.indices.shape[0] - 1)
    indices = xp.flatnonzero(store.indices[rank] == rows)
    return RowSparse(store.data[rank[indices]], indices, shape, check=False)


def row_sparse_row_steps(store: RowSparse, steps: IndexRange, xp: ArrayModule = NUMPY) -> RowSparse:
    """The rows of an index range."""
    shape = (steps.size, *store.shape[1:])
    if steps.step == 1:
        first, last = (int(place) for place in xp.searchsorted(store.indices, xp.asarray([steps.start,
                                                                                         steps.start + steps.size])))
        return RowSparse(store.data[first:last], store.indices[first:last] - steps.start, shape, check=False)
    keep, indices = _hit(store.indices, steps)
    data = store.data[keep]
    if steps.step < 0:
        data, indices = xp.ascontiguousarray(data[::-1]), steps.size - 1 - indices[::-1]
    return RowSparse(data, indices, shape, check=False)


def place_csr_steps(k: Kernels, store: CSR, rows: IndexRange, columns: IndexRange, shape: tuple[int, ...]) -> CSR:
    """The opposite of taking steps: the values put back where they were taken, in a matrix of ``shape``."""
    if columns.step < 0:
        store = _mirrored(store, k.xp)
        columns = IndexRange(columns.start + columns.step * (columns.size - 1), -columns.step, columns.size)
    if rows.step < 0:
        store = csr_row_steps(k, store, IndexRange(rows.size - 1, -1, rows.size))
        rows = IndexRange(rows.start + rows.step * (rows.size - 1), -rows.step, rows.size)
    counts = k.xp.zeros(shape[0] + 1, store.indptr.dtype)
    counts[1 + rows.start: 1 + rows.start + rows.step * rows.size: rows.step] = k.xp.diff(store.indptr)
    indices = columns.start + columns.step * store.indices.astype(np.int64, copy=False)
    return CSR(store.data.copy(), indices, k.xp.cumsum(counts), shape, check=False)


def place_row_steps(store: RowSparse, rows: IndexRange, shape: tuple[int, ...], xp: ArrayModule = NUMPY) -> RowSparse:
    """The opposite of taking steps of rows."""
    data, indices = store.data, rows.start + rows.step * store.indices.astype(np.int64, copy=False)
    if rows.step < 0:
        data, indices = xp.ascontiguousarray(data[::-1]), xp.ascontiguousarray(indices[::-1])
    return RowSparse(data, indices, (shape[0], *store.shape[1:]), check=False)
