"""Kernels whose first operand is a CSR matrix."""

from __future__ import annotations

import numpy as np

from .jit import in_threads, kernel

__all__ = [
    "csr_add_csr",
    "csr_add_dense",
    "csr_column_scale",
    "csr_dot_csr",
    "csr_dot_dense",
    "csr_dot_row_sparse",
    "csr_multiply_csr",
    "csr_row_scale",
    "csr_sum_columns",
    "csr_sum_rows",
    "csr_transposed_dot_dense",
    "csr_transposed_dot_row_sparse",
]

#: Multiplications that one thread should have at least, before a second is worth waking.
GRAIN = 1 << 18


@kernel(fastmath={"contract", "reassoc"})
def _csr_dot_dense_rows(data, indices, indptr, right, out, start, stop):
    width = right.shape[1]
    for row in range(start, stop):
        for column in range(width):
            out[row, column] = 0
        for place in range(indptr[row], indptr[row + 1]):
            value, source = data[place], indices[place]
            for column in range(width):
                out[row, column] += value * right[source, column]


@kernel(fastmath={"contract", "reassoc"})
def _csr_dot_vector_rows(data, indices, indptr, right, out, start, stop):
    for row in range(start, stop):
        total = out.dtype.type(0)
        for place in range(indptr[row], indptr[row + 1]):
            total += data[place] * right[indices[place], 0]
        out[row, 0] = total


def csr_dot_dense(data, indices, indptr, right, out):
    """``out[...] = csr · right``; right (columns, width), out (rows, width)."""
    rows, width = out.shape
    inner = _csr_dot_vector_rows if width == 1 else _csr_dot_dense_rows
    work = data.shape[0] * width
    if work < 2 * GRAIN:
        inner(data, indices, indptr, right, out, 0, rows)
    else:
        in_threads(lambda start, stop: inner(data, indices, indptr, right, out, start, stop), rows,
                   max(1, rows * GRAIN // work))


@kernel
def csr_dot_row_sparse(data, indices, indptr, right_data, right_indices, out):
    """``out[...] = csr · row_sparse``; out (rows, width), absent rows of the right side count as zero."""
    width = out.shape[1]
    out[:] = 0
    for row in range(out.shape[0]):
        for place in range(indptr[row], indptr[row + 1]):
            found = np.searchsorted(right_indices, indices[place])
            if found < right_indices.shape[0] and right_indices[found] == indices[place]:
                value = data[place]
                for column in range(width):
                    out[row, column] += value * right_data[found, column]


@kernel
def csr_dot_csr(data, indices, indptr, right_data, right_indices, right_indptr, out):
    """``out[...] = csr · csr`` as a dense array; out (rows, right columns)."""
    out[:] = 0
    for row in range(out.shape[0]):
        for place in range(indptr[row], indptr[row + 1]):
            value, source = data[place], indices[place]
            for other in range(right_indptr[source], right_indptr[source + 1]):
                out[row, right_indices[other]] += value * right_data[other]


@kernel
def csr_transposed_dot_dense(data, indices, indptr, right, out):
    """``out += csrᵀ · right``; right (rows, width), out (columns, width) already cleared.

    ``indices`` may be ranks into a shorter ``out`` that holds the occurring columns only.
    """
    width = right.shape[1]
    for row in range(indptr.shape[0] - 1):
        for place in range(indptr[row], indptr[row + 1]):
            value, target = data[place], indices[place]
            for column in range(width):
                out[target, column] += value * right[row, column]


@kernel
def csr_transposed_dot_row_sparse(data, indices, indptr, right_data, right_indices, out):
    """``out += csrᵀ · row_sparse``; only rows of the csr matrix that the right side stores count."""
    width = right_data.shape[1]
    for rank in range(right_indices.shape[0]):
        row = right_indices[rank]
        for place in range(indptr[row], indptr[row + 1]):
            value, target = data[place], indices[place]
            for column in range(width):
                out[target, column] += value * right_data[rank, column]


@kernel
def csr_sum_rows(data, indptr, out):
    """Sum of each row into out (rows,)."""
    for row in range(out.shape[0]):
        total = out.dtype.type(0)
        for place in range(indptr[row], indptr[row + 1]):
            total += data[place]
        out[row] = total


@kernel
def csr_sum_columns(data, indices, out):
    """Add each column's values to out (columns,), already cleared."""
    for place in range(data.shape[0]):
        out[indices[place]] += data[place]


@kernel
def csr_row_scale(data, indptr, factor, out):
    """``out[place] = data[place] * factor[row]``; factor (rows,)."""
    for row in range(indptr.shape[0] - 1):
        for place in range(indptr[row], indptr[row + 1]):
            out[place] = data[place] * factor[row]


@kernel
def csr_column_scale(data, indices, factor, out):
    """``out[place] = data[place] * factor[column]``; factor (columns,)."""
    for place in range(data.shape[0]):
        out[place] = data[place] * factor[indices[place]]


@kernel
def csr_add_csr(data, indices, indptr, right_data, right_indices, right_indptr, factor, out, out_indices, out_indptr):
    """Merge ``csr + factor * csr`` into buffers large enough for both; returns the stored count."""
    count = 0
    out_indptr[0] = 0
    for row in range(indptr.shape[0] - 1):
        left, right = indptr[row], right_indptr[row]
        left_end, right_end = indptr[row + 1], right_indptr[row + 1]
        while left < left_end or right < right_end:
            if right >= right_end or (left < left_end and indices[left] < right_indices[right]):
                out_indices[count], out[count] = indices[left], data[left]
                left += 1
            elif left >= left_end or right_indices[right] < indices[left]:
                out_indices[count], out[count] = right_indices[right], factor * right_data[right]
                right += 1
            else:
                out_indices[count], out[count] = indices[left], data[left] + factor * right_data[right]
                left += 1
                right += 1
            count += 1
        out_indptr[row + 1] = count
    return count


@kernel
def csr_multiply_csr(data, indices, indptr, right_data, right_indices, right_indptr, out, out_indices, out_indptr):
    """Elementwise product where both store a value; returns the stored count."""
    count = 0
    out_indptr[0] = 0
    for row in range(indptr.shape[0] - 1):
        left, right = indptr[row], right_indptr[row]
        while left < indptr[row + 1] and right < right_indptr[row + 1]:
            if indices[left] < right_indices[right]:
                left += 1
            elif right_indices[right] < indices[left]:
                right += 1
            else:
                out_indices[count], out[count] = indices[left], data[left] * right_data[right]
                left += 1
                right += 1
                count += 1
        out_indptr[row + 1] = count
    return count


@kernel
def csr_add_dense(data, indices, indptr, factor, out):
    """``out += factor * csr``; out (rows, columns)."""
    for row in range(out.shape[0]):
        for place in range(indptr[row], indptr[row + 1]):
            out[row, indices[place]] += factor * data[place]
