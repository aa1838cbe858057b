"""Kernels that read or rearrange a CSR matrix; each does what its twin in ``kernels/cpu/csr_select.py`` does."""

from __future__ import annotations

import numpy as np

from .arrays import find, first_of_each, kernel, places_of, ranges, row_of_each, starts_of_rows, union
from .group import group_columns


def _before(counts):
    """How many there are before each place, and in all."""
    before = np.zeros(counts.shape[0] + 1, np.int64)
    np.cumsum(counts, out=before[1:])
    return before


def _moved(columns, shift, dtype):
    """Columns and a number, added in the type that the result has: it holds what the columns' own may not."""
    return columns.astype(dtype, copy=False) + shift


def _places(*matrices):
    return places_of(matrices[0][1].shape[0], *[(row_of_each(indptr), indices) for indices, indptr in matrices])


@kernel
def csr_values_at(data, indices, indptr, rows, columns, out):
    """The elements at (rows[i], columns[i]) into out, already cleared, by bisection."""
    (stored, wanted), _ = places_of(indptr.shape[0], (row_of_each(indptr), indices), (rows.astype(np.int64, copy=False), columns))
    places, there = find(wanted, stored)
    out[there] = data[places[there]]


@kernel
def csr_transpose(data, indices, indptr, out, out_indices, out_indptr):
    """The transpose by counting; out_indptr (columns + 1,) already cleared."""
    places = group_columns(indices)[2].view(np.int64)
    out[...], out_indices[...] = data[places], row_of_each(indptr)[places]
    out_indptr[...] = _before(np.bincount(indices, minlength=out_indptr.shape[0] - 1))


@kernel
def csr_union(data, indices, indptr, right_data, right_indices, right_indptr, out, right_out, out_indices, out_indptr):
    """The places that either matrix stores, with the value of each there, 0 where it has none; returns how many."""
    (left, right), step = _places((indices, indptr), (right_indices, right_indptr))
    every, at, other = union(left, right)
    count = every.shape[0]
    out[:count] = right_out[:count] = 0
    out[at], right_out[other], out_indices[at], out_indices[other] = data, right_data, indices, right_indices
    out_indptr[...] = starts_of_rows(every, indptr.shape[0], step)
    return count


@kernel
def csr_copy_rows(data, indices, starts, out_indptr, shift, out, out_indices):
    """The values from ``starts[row]`` on into ``out_indptr[row]:out_indptr[row + 1]``, ``shift`` added to their columns."""
    places, target = ranges(starts, np.diff(out_indptr)), slice(int(out_indptr[0]), int(out_indptr[-1]))
    out[target], out_indices[target] = data[places], _moved(indices[places], shift, out_indices.dtype)


@kernel
def csr_put_rows(data, indices, indptr, shift, targets, out, out_indices):
    """Each row behind what its row of out holds already, ``shift`` added to its columns; moves ``targets`` on."""
    counts, source = np.diff(indptr), slice(int(indptr[0]), int(indptr[-1]))
    places = ranges(targets, counts)
    out[places], out_indices[places] = data[source], _moved(indices[source], shift, out_indices.dtype)
    targets += counts


@kernel
def csr_column_bounds(indices, indptr, low, high, starts, ends):
    """Where the columns from ``low`` up to, not including, ``high`` start and end in each row."""
    for bound, target in ((low, starts), (high, ends)):
        before = _before(indices < bound)[indptr]
        target[...] = indptr[:-1] + np.diff(before)


@kernel
def csr_column_steps(data, indices, starts, ends, low, step, out, out_indices, out_indptr):
    """Of the stored values between starts and ends those in every ``step``-th column from ``low``; returns how many."""
    counts = ends - starts
    places = ranges(starts, counts)
    ranks, remainder = np.divmod(_moved(indices[places], -low, np.int64), step)
    kept = remainder == 0
    count = np.count_nonzero(kept)
    out[:count], out_indices[:count] = data[places[kept]], ranks[kept]
    out_indptr[...] = _before(kept)[_before(counts)]
    return count


@kernel
def csr_count_columns(indices, indptr, offsets, out_indptr):
    """Where each row starts when column j is taken ``offsets[j + 1] - offsets[j]`` times."""
    out_indptr[...] = _before(np.diff(offsets)[indices])[indptr]


@kernel
def csr_take_columns(data, indices, indptr, offsets, targets, ascending, out, out_indices, out_indptr):
    """Column j goes to the columns ``targets[offsets[j]:offsets[j + 1]]``; rows are sorted unless targets ascend."""
    counts = np.diff(offsets)[indices]
    columns, values = targets[ranges(offsets[indices], counts)], np.repeat(data, counts)
    if not ascending:
        order = np.lexsort((columns, np.repeat(row_of_each(indptr), counts)))
        columns, values = columns[order], values[order]
    out[:values.shape[0]], out_indices[:values.shape[0]] = values, columns


@kernel
def csr_reshape(indices, indptr, columns, out_columns, out_indices, out_indptr):
    """Columns and row starts of the same elements in rows of ``out_columns``."""
    places = row_of_each(indptr) * columns + indices
    rows, out_indices[...] = np.divmod(places, max(out_columns, 1))
    out_indptr[...] = starts_of_rows(rows, out_indptr.shape[0], 1)


@kernel
def csr_where(data, indices, indptr, left_data, left_indices, left_indptr, right_data, right_indices, right_indptr,
              out, out_indices, out_indptr):
    """What left stores where the first matrix is not zero, what right stores elsewhere; returns the stored count."""
    (asked, left, right), step = _places((indices, indptr), (left_indices, left_indptr), (right_indices, right_indptr))
    asked = asked[data != 0]
    taken, others = find(left, asked)[1], ~find(right, asked)[1]
    every, at, other = union(left[taken], right[others])
    out[at], out[other] = left_data[taken], right_data[others]
    out_indices[at], out_indices[other] = left_indices[taken], right_indices[others]
    out_indptr[...] = starts_of_rows(every, indptr.shape[0], step)
    return every.shape[0]


def _best_stored(data, indices, indptr, largest):
    """The best stored value of each row, nan above all, 0 if it is empty; and the first column that has it, -1 if it is empty."""
    rows, counts = row_of_each(indptr), np.diff(indptr)
    occupied = np.flatnonzero(counts)
    best, column = np.zeros(counts.shape[0], data.dtype), np.full(counts.shape[0], -1, np.int64)
    if occupied.shape[0]:
        best[occupied] = (np.maximum if largest else np.minimum).reduceat(data, indptr[occupied])
        wanted = best[rows]
        hits = np.flatnonzero((data == wanted) | ((data != data) & (wanted != wanted)))
        hits = hits[first_of_each(rows[hits])]
        column[rows[hits]] = indices[hits]
    return best, column


@kernel
def csr_argmax(data, indices, indptr, columns, largest, out):
    """Column of the largest or smallest element of each row, absent zeros among them; of equal ones the first, nan first."""
    best, best_column = _best_stored(data, indices, indptr, largest)
    absent = np.diff(_before(indices == ranges(np.zeros(out.shape[0], np.int64), np.diff(indptr)))[indptr])
    worse = best < 0 if largest else best > 0
    takes_absent = (best == best) & (absent < columns) & ((best_column < 0) | worse | ((best == 0) & (absent < best_column)))
    out[...] = np.where(takes_absent, absent, best_column)
