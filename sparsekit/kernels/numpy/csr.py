"""Kernels whose first operand is a CSR matrix; each does what the function of this name in ``kernels/cpu/csr.py`` does."""

from __future__ import annotations

import numpy as np

from .arrays import add_product, find, kernel, matrix, numbered, places_of, ranges, row_of_each, starts_of_rows, union, which
from .group import unique_with_rank


@kernel
def csr_dot_dense(data, indices, indptr, right, out):
    """``out[...] = csr · right``; right (columns, width), out (rows, width)."""
    out.fill(0)
    add_product(data, indices, indptr, right, out)


@kernel
def csr_drop_absent(data, ranks, indptr):
    """The matrix without the values whose rank is negative: data, ranks and indptr."""
    kept = ranks >= 0
    before = np.zeros(ranks.shape[0] + 1, indptr.dtype)
    np.cumsum(kept, out=before[1:])
    return data[kept], ranks[kept], before[indptr]


@kernel
def csr_dot_csr(data, indices, indptr, right_data, right_indices, right_indptr, out):
    """``out[...] = csr · csr`` as a dense array; out (rows, right columns)."""
    product = matrix(data, indices, indptr, right_indptr.shape[0] - 1) @ matrix(
        right_data, right_indices, right_indptr, out.shape[1])
    out.fill(0)
    out[row_of_each(product.indptr), product.indices] = product.data


@kernel
def csr_transposed_dot_dense(data, indices, indptr, right, out):
    """``out += csrᵀ · right``; right (rows, width), out (columns, width) already cleared."""
    add_product(data, indices, indptr, right, out, turned=True)


def csr_transposed_dot_rows(data, indices, indptr, right, columns):
    """csrᵀ · right for the columns that occur: these, ascending, and the rows of the product, in the type of data."""
    present, out = _dot_rows(data, indices, indptr, right, columns)
    return present, out.astype(data.dtype, copy=False)


@kernel
def _dot_rows(data, indices, indptr, right, columns):
    if data.shape[0] >= columns >> 3:
        occurs = np.zeros(columns, np.bool_)
        occurs[indices] = True
        present = which(occurs)
        ranks = np.empty(columns, np.int64)
        ranks[present] = numbered(present.shape[0])
        ranks = ranks[indices]
    else:
        present, ranks = unique_with_rank(indices)
    out = np.full((present.shape[0], right.shape[1]), -0.0).astype(data.dtype)  # to which a zero of either sign is added as it is
    add_product(data, ranks, indptr, right, out, turned=True)
    return present, out


@kernel
def csr_transposed_dot_row_sparse(data, indices, indptr, right_data, right_indices, out):
    """``out += csrᵀ · row_sparse``; only rows of the csr matrix that the right side stores count."""
    counts = np.diff(indptr)[right_indices]
    places = ranges(indptr[right_indices], counts)
    add_product(data[places], indices[places], np.append(0, np.cumsum(counts)), right_data, out, turned=True)


@kernel
def csr_sum_rows(data, indptr, out):
    """Sum of each row into out (rows,)."""
    out.fill(0)
    add_product(data, np.zeros(data.shape[0], indptr.dtype), indptr, np.ones((1, 1), out.dtype), out[:, None])


@kernel
def csr_sum_columns(data, indices, out):
    """Add each column's values to out (columns,), already cleared."""
    np.add.at(out, indices, data)


@kernel
def csr_row_scale(data, indptr, factor, out):
    """``out[place] = data[place] * factor[row]``; factor (rows,)."""
    np.multiply(data, np.repeat(factor, np.diff(indptr)), out=out, casting="unsafe")


@kernel
def csr_column_scale(data, indices, factor, out):
    """``out[place] = data[place] * factor[column]``; factor (columns,)."""
    np.multiply(data, factor[indices], out=out, casting="unsafe")


def _places(*matrices):
    return places_of(matrices[0][1].shape[0], *[(row_of_each(indptr), indices) for indices, indptr in matrices])


@kernel
def csr_add_csr(data, indices, indptr, right_data, right_indices, right_indptr, factor, out, out_indices, out_indptr):
    """Merge ``csr + factor * csr`` into buffers large enough for both; returns the stored count."""
    (left, right), step = _places((indices, indptr), (right_indices, right_indptr))
    every, at, other = union(left, right)
    count = every.shape[0]
    out[:count] = -0.0 if out.dtype.kind == "f" else 0  # to which a zero of either sign is added as it is
    out[at], out_indices[at] = data, indices
    out[other] = out[other] + factor * right_data
    out_indices[other] = right_indices
    out_indptr[...] = starts_of_rows(every, indptr.shape[0], step)
    return count


@kernel
def csr_multiply_csr(data, indices, indptr, right_data, right_indices, right_indptr, out, out_indices, out_indptr):
    """Elementwise product where both store a value; returns the stored count."""
    (left, right), step = _places((indices, indptr), (right_indices, right_indptr))
    other, both = find(left, right)
    kept = left[both]
    count = kept.shape[0]
    out[:count], out_indices[:count] = data[both] * right_data[other[both]], indices[both]
    out_indptr[...] = starts_of_rows(kept, indptr.shape[0], step)
    return count


@kernel
def csr_add_dense(data, indices, indptr, factor, out):
    """``out += factor * csr``; out (rows, columns)."""
    out[row_of_each(indptr), indices] += factor * data
