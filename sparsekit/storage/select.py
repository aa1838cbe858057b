"""Parts of sparse stores: rows, columns and steps of them, and sparse stores from places in any order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base.errors import ShapeError
from .convert import counts_to_indptr, row_ids
from .csr import CSR
from .row_sparse import RowSparse

__all__ = [
    "Steps",
    "csr_column_steps",
    "csr_columns",
    "csr_from_places",
    "csr_row_steps",
    "csr_rows",
    "place_csr_steps",
    "place_row_steps",
    "row_sparse_row_steps",
    "row_sparse_rows",
    "steps_of",
    "stretched",
]


class Steps(NamedTuple):
    """``size`` positions from ``start`` in steps of ``step``, all of them inside the axis."""

    start: int
    step: int
    size: int


def steps_of(part: slice, size: int) -> Steps:
    """The positions that a slice of an axis of that size stands for."""
    found = range(*part.indices(size))
    return Steps(found.start, found.step, len(found))


def csr_from_places(row: Any, column: Any, data: Any, shape: tuple[int, ...], xp: Any = np) -> CSR:
    """A CSR matrix from places in any order; values at one place are summed."""
    order = xp.lexsort(xp.stack([column, row]) if xp is not np else (column, row))
    row, column, data = row[order], column[order], data[order]
    first = xp.ones(row.shape[0], bool)
    first[1:] = (row[1:] != row[:-1]) | (column[1:] != column[:-1])
    if not first.all():
        starts = xp.flatnonzero(first)
        row, column, data = row[starts], column[starts], xp.add.reduceat(data, starts)
    return CSR(data, column, counts_to_indptr(row, shape[0], xp), shape, check=False)


def csr_rows(store: CSR, rows: Any, xp: Any = np) -> CSR:
    """The rows of those numbers, which may repeat, in that order."""
    starts = store.indptr[rows]
    counts = store.indptr[rows + 1] - starts
    indptr = xp.zeros(rows.shape[0] + 1, np.int64)
    xp.cumsum(counts, out=indptr[1:])
    taken = xp.repeat(starts - indptr[:-1], counts) + xp.arange(int(indptr[-1]))
    return CSR(store.data[taken], store.indices[taken], indptr, (rows.shape[0], store.shape[1]), check=False)


def csr_row_steps(store: CSR, steps: Steps, xp: Any = np) -> CSR:
    """Every so many rows; consecutive ones share the values and columns of the store."""
    start, step, count = steps
    if step != 1:
        return csr_rows(store, start + step * xp.arange(count), xp)
    first, last = int(store.indptr[start]), int(store.indptr[start + count])
    return CSR(store.data[first:last], store.indices[first:last], store.indptr[start: start + count + 1] - first,
               (count, store.shape[1]), check=False)


def _hit(indices: Any, steps: Steps, xp: Any) -> tuple[Any, Any]:
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


def csr_column_steps(store: CSR, steps: Steps, xp: Any = np) -> CSR:
    """Every so many columns."""
    keep, indices = _hit(store.indices, steps, xp)
    before = xp.zeros(keep.shape[0] + 1, store.indptr.dtype)
    xp.cumsum(keep, out=before[1:])
    made = CSR(store.data[keep], indices, before[store.indptr], (store.shape[0], steps.size), check=False)
    return made if steps.step > 0 else _mirrored(made, xp)


def _mirrored(store: CSR, xp: Any) -> CSR:
    """The columns in reverse order."""
    ends = (store.indptr[:-1] + store.indptr[1:] - 1)
    back = xp.repeat(ends, xp.diff(store.indptr)) - xp.arange(store.nnz)
    return CSR(store.data[back], store.shape[1] - 1 - store.indices[back], store.indptr, store.shape, check=False)


def csr_columns(store: CSR, columns: Any, xp: Any = np) -> CSR:
    """The columns of those numbers, which may repeat, in that order."""
    order = xp.argsort(columns, kind="stable")
    wanted = columns[order]
    first = xp.searchsorted(wanted, store.indices, side="left")
    counts = xp.searchsorted(wanted, store.indices, side="right") - first
    ends = xp.cumsum(counts)
    within = xp.arange(int(ends[-1]) if ends.size else 0) - xp.repeat(ends - counts, counts)
    column = order[xp.repeat(first, counts) + within]
    row, data = xp.repeat(row_ids(store, xp), counts), xp.repeat(store.data, counts)
    return csr_from_places(row, column, data, (store.shape[0], columns.shape[0]), xp)


def stretched(store: CSR, shape: tuple[int, ...], xp: Any = np) -> CSR:
    """A csr matrix repeated along its axes of size 1, up to ``shape``."""
    if len(shape) != 2:
        raise ShapeError(f"A csr array of shape {store.shape} does not broadcast to the {len(shape)} axes of {tuple(shape)}.",
                         hint="csr arrays have two dimensions; call tostype('default') first.")
    if store.shape[0] != shape[0]:
        store = csr_rows(store, xp.zeros(shape[0], np.int64), xp)
    return store if store.shape[1] == shape[1] else csr_columns(store, xp.zeros(shape[1], np.int64), xp)


def row_sparse_rows(store: RowSparse, rows: Any, xp: Any = np) -> RowSparse:
    """The rows of those numbers, which may repeat, in that order."""
    shape = (rows.shape[0], *store.shape[1:])
    if not store.indices.size:
        return RowSparse(store.data[:0], store.indices[:0], shape, check=False)
    rank = xp.minimum(xp.searchsorted(store.indices, rows), store.indices.shape[0] - 1)
    indices = xp.flatnonzero(store.indices[rank] == rows)
    return RowSparse(store.data[rank[indices]], indices, shape, check=False)


def row_sparse_row_steps(store: RowSparse, steps: Steps, xp: Any = np) -> RowSparse:
    """Every so many rows."""
    shape = (steps.size, *store.shape[1:])
    if steps.step == 1:
        first, last = (int(place) for place in xp.searchsorted(store.indices, xp.asarray([steps.start,
                                                                                         steps.start + steps.size])))
        return RowSparse(store.data[first:last], store.indices[first:last] - steps.start, shape, check=False)
    keep, indices = _hit(store.indices, steps, xp)
    data = store.data[keep]
    if steps.step < 0:
        data, indices = xp.ascontiguousarray(data[::-1]), steps.size - 1 - indices[::-1]
    return RowSparse(data, indices, shape, check=False)


def place_csr_steps(store: CSR, rows: Steps, columns: Steps, shape: tuple[int, ...], xp: Any = np) -> CSR:
    """The opposite of taking steps: the values put back where they were taken, in a matrix of ``shape``."""
    if columns.step < 0:
        store = _mirrored(store, xp)
        columns = Steps(columns.start + columns.step * (columns.size - 1), -columns.step, columns.size)
    if rows.step < 0:
        store = csr_row_steps(store, Steps(rows.size - 1, -1, rows.size), xp)
        rows = Steps(rows.start + rows.step * (rows.size - 1), -rows.step, rows.size)
    counts = xp.zeros(shape[0] + 1, store.indptr.dtype)
    counts[1 + rows.start: 1 + rows.start + rows.step * rows.size: rows.step] = xp.diff(store.indptr)
    indices = columns.start + columns.step * store.indices.astype(np.int64, copy=False)
    return CSR(store.data, indices, xp.cumsum(counts), shape, check=False)


def place_row_steps(store: RowSparse, rows: Steps, shape: tuple[int, ...], xp: Any = np) -> RowSparse:
    """The opposite of taking steps of rows."""
    data, indices = store.data, rows.start + rows.step * store.indices.astype(np.int64, copy=False)
    if rows.step < 0:
        data, indices = xp.ascontiguousarray(data[::-1]), xp.ascontiguousarray(indices[::-1])
    return RowSparse(data, indices, (shape[0], *store.shape[1:]), check=False)
