"""Kernels whose first operand is a CSR matrix; the device functions are in ``csr.cu``."""

from __future__ import annotations

import numpy as np

from ...base import capture
from .group import _groups, group_columns, row_ranks
from .grouped import dot_groups, sum_groups
from .launch import WARP, Kernel, lanes_for, xp

#: Columns of a row of a product that a warp adds up; as in ``csr.cu``.
SPAN = 256

_dot_dense = Kernel("dot_dense", "data index pointer data data* count count")
_dot_vector = Kernel("dot_vector", "data index pointer data data* count count")
_dot_csr = Kernel("dot_csr", "data index pointer data index pointer data* count count count")
_row_of_each = Kernel("row_of_each", "pointer place* count count")
_sum_rows = Kernel("sum_rows", "data pointer data* count count")
_row_scale = Kernel("row_scale", "data pointer data data* count count")
_column_scale = Kernel("column_scale", "data index data data* count")
_count_pairs = Kernel("count_pairs", "index pointer index pointer place* count count")
_add_pairs = Kernel("add_pairs", "data index pointer data index pointer data* index* pointer count number")
_multiply_pairs = Kernel("multiply_pairs", "data index pointer data index pointer data* index* pointer count")
_add_to_dense = Kernel("add_to_dense", "data index pointer data* count count count number")


def _rows_of(indptr, stored):
    """The row of each stored value, int64 (stored,)."""
    rows = xp().empty(stored, np.int64)
    _row_of_each(stored, indptr, rows, stored, indptr.shape[0] - 1)
    return rows


def _pointers(counts, out_indptr):
    """Write the row starts for these counts; returns how many values there are, the one number that is read back."""
    out_indptr[0] = 0
    if counts.shape[0]:
        out_indptr[1:] = xp().cumsum(counts)
    return out_indptr[-1].item()


def _paired(indices, indptr, right_indices, right_indptr, out_indptr, both):
    """Row starts of the columns that either of two matrices stores, or both; returns how many there are."""
    rows = indptr.shape[0] - 1
    counts = xp().zeros(rows, np.int64)
    _count_pairs(rows, indices, indptr, right_indices, right_indptr, counts, rows, both)
    return _pointers(counts, out_indptr)


def csr_dot_dense(data, indices, indptr, right, out):
    """``out[...] = csr · right``; right (columns, width), out (rows, width)."""
    rows, width = out.shape
    if width == 1:
        lanes = lanes_for(data.shape[0] / max(rows, 1))
        _dot_vector(rows * lanes, data, indices, indptr, right, out, rows, lanes)
    else:
        _dot_dense(rows * width, data, indices, indptr, right, out, rows, width)


def csr_drop_absent(data, ranks, indptr):
    """The matrix without the values whose rank is negative: data, ranks and indptr."""
    k = xp()
    kept = ranks >= 0
    before = k.zeros(ranks.shape[0] + 1, indptr.dtype)
    before[1:] = k.cumsum(kept.astype(np.int64))
    return data[kept], ranks[kept], before[indptr]


def csr_dot_csr(data, indices, indptr, right_data, right_indices, right_indptr, out):
    """``out[...] = csr · csr`` as a dense array; out (rows, right columns)."""
    rows, width = out.shape
    spans = -(-width // SPAN)
    _dot_csr(rows * spans * WARP, data, indices, indptr, right_data, right_indices, right_indptr, out, rows, width, spans)


def _by_column(data, indices, rows, right, out):
    """``out += csrᵀ · right``, of the stored values whose row in right is not negative."""
    dot_groups(data, rows, right, group_columns(indices), out, (out.shape[1], 1), True)


def csr_transposed_dot_dense(data, indices, indptr, right, out):
    """``out += csrᵀ · right``; right (rows, width), out (columns, width) already cleared.

    ``indices`` may be ranks into a shorter ``out`` that holds the occurring columns only.
    """
    _by_column(data, indices, _rows_of(indptr, data.shape[0]), right, out)


def csr_transposed_dot_row_sparse(data, indices, indptr, right_data, right_indices, out):
    """``out += csrᵀ · row_sparse``; only rows of the csr matrix that the right side stores count."""
    ranks = row_ranks(_rows_of(indptr, data.shape[0]), right_indices, indptr.shape[0] - 1)
    _by_column(data, indices, ranks, right_data, out)


def csr_transposed_dot_rows(data, indices, indptr, right, columns):
    """csrᵀ · right for the columns that occur: these, ascending, and the rows of the product, in the type of data."""
    k, groups, width = xp(), _groups(indices, ahead=True)[:3], right.shape[1]
    distinct = groups[0].shape[0]
    occurring, out = k.empty(distinct, np.int64), k.empty((distinct, width), data.dtype)
    dot_groups(data, capture.ahead(_rows_of, indptr, data.shape[0]), right, groups, out, (width, 1), False, occurring)
    return occurring, out


def csr_sum_rows(data, indptr, out):
    """Sum of each row into out (rows,)."""
    rows = out.shape[0]
    lanes = lanes_for(data.shape[0] / max(rows, 1))
    _sum_rows(rows * lanes, data, indptr, out, rows, lanes)


def csr_sum_columns(data, indices, out):
    """Add each column's values to out (columns,), already cleared."""
    sum_groups(data, group_columns(indices), out, 1, True)


def csr_row_scale(data, indptr, factor, out):
    """``out[place] = data[place] * factor[row]``; factor (rows,)."""
    _row_scale(data.shape[0], data, indptr, factor, out, data.shape[0], indptr.shape[0] - 1)


def csr_column_scale(data, indices, factor, out):
    """``out[place] = data[place] * factor[column]``; factor (columns,)."""
    _column_scale(data.shape[0], data, indices, factor, out, data.shape[0])


def csr_add_csr(data, indices, indptr, right_data, right_indices, right_indptr, factor, out, out_indices, out_indptr):
    """Merge ``csr + factor * csr`` into buffers large enough for both; returns the stored count."""
    rows = indptr.shape[0] - 1
    count = _paired(indices, indptr, right_indices, right_indptr, out_indptr, 0)
    _add_pairs(rows, data, indices, indptr, right_data, right_indices, right_indptr, out, out_indices, out_indptr, rows, factor)
    return count


def csr_multiply_csr(data, indices, indptr, right_data, right_indices, right_indptr, out, out_indices, out_indptr):
    """Elementwise product where both store a value; returns the stored count."""
    rows = indptr.shape[0] - 1
    count = _paired(indices, indptr, right_indices, right_indptr, out_indptr, 1)
    _multiply_pairs(rows, data, indices, indptr, right_data, right_indices, right_indptr, out, out_indices, out_indptr, rows)
    return count


def csr_add_dense(data, indices, indptr, factor, out):
    """``out += factor * csr``; out (rows, columns)."""
    rows, width = out.shape
    _add_to_dense(data.shape[0], data, indices, indptr, out, data.shape[0], rows, width, factor)
