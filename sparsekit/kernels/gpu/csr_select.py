"""Kernels that read or rearrange a CSR matrix; the device functions are in ``csr_select.cu``."""

from __future__ import annotations

import numpy as np

from .csr import _paired, _pointers, _rows_of, csr_add_csr, csr_drop_absent
from .launch import Kernel, xp

_values_at = Kernel("values_at", "data index pointer place place data* count")
_spread_pairs = Kernel("spread_pairs", "data index pointer data index pointer data* data* index* pointer count")
_copy_rows_of = Kernel("copy_rows_of", "data index pointer place data* index* count count count")
_put_rows_of = Kernel("put_rows_of", "data index pointer place data* index* count count count")
_column_bounds = Kernel("column_bounds", "index pointer place* place* count count count")
_count_steps = Kernel("count_steps", "index place place place* count count count")
_take_steps = Kernel("take_steps", "data index place place place data* index* count count count")
_largest_column = Kernel("largest_column", "data index pointer place* count count count")


def csr_values_at(data, indices, indptr, rows, columns, out):
    """The elements at (rows[i], columns[i]) into out, already cleared, by bisection."""
    _values_at(rows.shape[0], data, indices, indptr, rows, columns, out, rows.shape[0])


def csr_transpose(data, indices, indptr, out, out_indices, out_indptr):
    """The transpose by a stable sort; out_indptr (columns + 1,) already cleared."""
    k = xp()
    order = k.argsort(indices)
    out[...] = data[order]
    out_indices[...] = _rows_of(indptr, indices.shape[0])[order]
    out_indptr[...] = k.searchsorted(indices[order], k.arange(out_indptr.shape[0], dtype=indices.dtype))


def csr_union(data, indices, indptr, right_data, right_indices, right_indptr, out, right_out, out_indices, out_indptr):
    """The places that either matrix stores, with the value of each there, 0 where it has none; returns how many."""
    rows = indptr.shape[0] - 1
    count = _paired(indices, indptr, right_indices, right_indptr, out_indptr, 0)
    _spread_pairs(rows, data, indices, indptr, right_data, right_indices, right_indptr, out, right_out, out_indices,
                  out_indptr, rows)
    return count


def csr_copy_rows(data, indices, starts, out_indptr, shift, out, out_indices):
    """The values from ``starts[row]`` on into ``out_indptr[row]:out_indptr[row + 1]``, ``shift`` added to their columns."""
    stored = out.shape[0]
    _copy_rows_of(stored, data, indices, starts, out_indptr, out, out_indices, stored, starts.shape[0], shift)


def csr_put_rows(data, indices, indptr, shift, targets, out, out_indices):
    """Each row behind what its row of out holds already, ``shift`` added to its columns; moves ``targets`` on."""
    stored = data.shape[0]
    _put_rows_of(stored, data, indices, indptr, targets, out, out_indices, stored, targets.shape[0], shift)
    targets += indptr[1:] - indptr[:-1]


def csr_column_bounds(indices, indptr, low, high, starts, ends):
    """Where the columns from ``low`` up to, not including, ``high`` start and end in each row, by bisection."""
    _column_bounds(starts.shape[0], indices, indptr, starts, ends, starts.shape[0], low, high)


def csr_column_steps(data, indices, starts, ends, low, step, out, out_indices, out_indptr):
    """Of the stored values between starts and ends those in every ``step``-th column from ``low``; returns how many."""
    rows = starts.shape[0]
    counts = xp().zeros(rows, np.int64)
    _count_steps(rows, indices, starts, ends, counts, rows, low, step)
    count = _pointers(counts, out_indptr)
    _take_steps(rows, data, indices, starts, ends, out_indptr, out, out_indices, rows, low, step)
    return count


def csr_count_columns(indices, indptr, offsets, out_indptr):
    """Where each row starts when column j is taken ``offsets[j + 1] - offsets[j]`` times."""
    k = xp()
    before = k.zeros(indices.shape[0] + 1, np.int64)
    before[1:] = k.cumsum((offsets[1:] - offsets[:-1])[indices])
    out_indptr[...] = before[indptr]


def csr_take_columns(data, indices, indptr, offsets, targets, ascending, out, out_indices, out_indptr):
    """Column j goes to the columns ``targets[offsets[j]:offsets[j + 1]]``; rows are sorted unless targets ascend."""
    k, total = xp(), out.shape[0]
    counts = (offsets[1:] - offsets[:-1])[indices]
    ends = k.cumsum(counts)
    source = k.searchsorted(ends, k.arange(total), side="right")
    columns = targets[offsets[indices[source]] + k.arange(total) - (ends - counts)[source]]
    values = data[source]
    if not ascending:
        order = k.argsort(columns)
        order = order[k.argsort(_rows_of(out_indptr, total)[order])]
        values, columns = values[order], columns[order]
    out[...] = values
    out_indices[...] = columns


def csr_reshape(indices, indptr, columns, out_columns, out_indices, out_indptr):
    """Columns and row starts of the same elements in rows of ``out_columns``."""
    k = xp()
    at = _rows_of(indptr, indices.shape[0]) * columns + indices
    row = at // max(out_columns, 1)
    out_indices[...] = at - row * out_columns
    out_indptr[...] = k.searchsorted(row, k.arange(out_indptr.shape[0]))


def csr_where(data, indices, indptr, left_data, left_indices, left_indptr, right_data, right_indices, right_indptr,
              out, out_indices, out_indptr):
    """What left stores where the first matrix is not zero, what right stores elsewhere; returns the stored count."""
    first = _chosen(data, indices, indptr, left_data, left_indices, left_indptr, True)
    second = _chosen(data, indices, indptr, right_data, right_indices, right_indptr, False)
    return csr_add_csr(first[0], first[1], first[2], second[0], second[1], second[2], 1, out, out_indices, out_indptr)


def _chosen(data, indices, indptr, values, columns, starts, wanted):
    """The matrix of the values where the condition is not zero, or where it is."""
    k = xp()
    truth = k.zeros(columns.shape[0], data.dtype)
    csr_values_at(data, indices, indptr, _rows_of(starts, columns.shape[0]), columns, truth)
    return csr_drop_absent(values, k.where((truth != 0) == wanted, columns, -1), starts)


def csr_argmax(data, indices, indptr, columns, largest, out):
    """Column of the largest or smallest element of each row, absent zeros among them; of equal ones the first, nan first."""
    rows = indptr.shape[0] - 1
    _largest_column(rows, data, indices, indptr, out, rows, columns, bool(largest))
