"""Kernels whose first operand is a CSR matrix."""

from __future__ import annotations

import numpy as np

from .intrinsic_names import prefetch, put_up
from .jit import kernel, scratch, single_precision, worker_count
from .thread_pool import lead, share

__all__ = [
    "csr_add_csr",
    "csr_add_dense",
    "csr_column_scale",
    "csr_dot_csr",
    "csr_dot_dense",
    "csr_drop_absent",
    "csr_multiply_csr",
    "csr_row_scale",
    "csr_sum_columns",
    "csr_sum_rows",
    "csr_transposed_dot_dense",
    "csr_transposed_dot_grouped",
    "csr_transposed_dot_row_sparse",
]

#: Multiplications for each thread, at least.
GRAIN = 1 << 16

#: Distances of prefetches in stored values: for single values of a vector, and for whole rows.
AHEAD, ROWS_AHEAD = 128, 16

#: Elements of a line of the cache, if they have four bytes.
LINE = 16

#: Multiplications that fetching one row of the other operand from memory is worth.
FETCH = 16

#: Pieces for each thread at most: few, since each piece begins with memory that was not prefetched.
PIECES = 8


def _grain(rows, stored, width):
    """Rows in one piece of a shared loop over rows that hold so many values, each worth a row of ``width``."""
    return max(1, rows * GRAIN // (stored * (width + FETCH)), rows // (PIECES * worker_count()))


@kernel(fastmath={"contract", "reassoc"})
def _csr_dot_dense_rows(data, indices, indptr, right, out, start, stop):
    """Four stored values at a time, so that the sum is written once for them; wide rows are prefetched."""
    one, four, ahead, stored = np.uint64(1), np.uint64(4), np.uint64(ROWS_AHEAD), np.uint64(indptr[indptr.shape[0] - 1])
    width, elements = right.shape[1], right.reshape(right.size)
    for row in range(start, stop):
        total = out[row]
        total[:] = 0
        place, end = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        while place + four <= end:
            if width >= LINE and place + ahead + four <= stored:
                for soon in range(place + ahead, place + ahead + four):
                    beginning = np.uint64(indices[soon]) * np.uint64(width)
                    for column in range(0, width, LINE):
                        prefetch(elements, beginning + np.uint64(column))
            first, second, third, last = place, place + one, place + one + one, place + four - one
            first_row, second_row = right[np.uint64(indices[first])], right[np.uint64(indices[second])]
            third_row, last_row = right[np.uint64(indices[third])], right[np.uint64(indices[last])]
            first_value, second_value, third_value, last_value = data[first], data[second], data[third], data[last]
            for column in range(width):
                total[column] += (first_value * first_row[column] + second_value * second_row[column]
                                  + third_value * third_row[column] + last_value * last_row[column])
            place += four
        while place < end:
            value, source = data[place], right[np.uint64(indices[place])]
            for column in range(width):
                total[column] += value * source[column]
            place += one


@kernel
def _csr_dot_vector_rows(data, indices, indptr, right, out, start, stop):
    """The values of ``right`` lie anywhere in memory, so they are prefetched."""
    vector, ahead, last = right.reshape(right.shape[0]), np.uint64(AHEAD), np.uint64(indptr[indptr.shape[0] - 1])
    for row in range(start, stop):
        total, end = out.dtype.type(0), np.uint64(indptr[row + 1])
        if end + ahead <= last:
            for place in range(np.uint64(indptr[row]), end):
                prefetch(vector, np.uint64(indices[place + ahead]))
                total += data[place] * vector[np.uint64(indices[place])]
        else:
            for place in range(np.uint64(indptr[row]), end):
                total += data[place] * vector[np.uint64(indices[place])]
        out[row, 0] = total


@kernel
def _dense_together(board, count, grain, data, indices, indptr, right, out):
    put_up(board, _csr_dot_dense_rows, (data, indices, indptr, right, out))
    return lead(board, count, grain)


@kernel
def _vector_together(board, count, grain, data, indices, indptr, right, out):
    put_up(board, _csr_dot_vector_rows, (data, indices, indptr, right, out))
    return lead(board, count, grain)


@single_precision
def csr_dot_dense(data, indices, indptr, right, out):
    """``out[...] = csr · right``; right (columns, width), out (rows, width)."""
    rows, width = out.shape
    inner = _csr_dot_vector_rows if width == 1 else _csr_dot_dense_rows
    if data.shape[0] * (width + FETCH) < 2 * GRAIN:
        inner(data, indices, indptr, right, out, 0, rows)
    else:
        share(_vector_together if width == 1 else _dense_together, rows, _grain(rows, data.shape[0], width),
              data, indices, indptr, right, out)


@kernel
def csr_drop_absent(data, ranks, indptr):
    """The matrix without the values whose rank is negative: data, ranks and indptr."""
    kept = 0
    for place in range(ranks.shape[0]):
        kept += ranks[place] >= 0
    out, out_ranks, out_indptr = np.empty(kept, data.dtype), np.empty(kept, ranks.dtype), np.empty_like(indptr)
    kept = 0
    for row in range(indptr.shape[0] - 1):
        out_indptr[row] = kept
        for place in range(indptr[row], indptr[row + 1]):
            if ranks[place] >= 0:
                out[kept], out_ranks[kept] = data[place], ranks[place]
                kept += 1
    out_indptr[indptr.shape[0] - 1] = kept
    return out, out_ranks, out_indptr


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


@kernel(fastmath={"contract", "reassoc"})
def _grouped_rows(data, starts, places, rows, right, out, start, stop):
    width = right.shape[1]
    for rank in range(start, stop):
        total = out[rank]
        for order in range(np.uint64(starts[rank]), np.uint64(starts[rank + 1])):
            place = np.uint64(places[order])
            value, source = data[place], right[np.uint64(rows[place])]
            if order == np.uint64(starts[rank]):
                for column in range(width):
                    total[column] = value * source[column]
            else:
                for column in range(width):
                    total[column] += value * source[column]


@kernel
def _row_of_each(indptr, rows):
    for row in range(indptr.shape[0] - 1):
        for place in range(indptr[row], indptr[row + 1]):
            rows[place] = row


@kernel
def _grouped_together(board, count, grain, data, starts, places, rows, right, out):
    put_up(board, _grouped_rows, (data, starts, places, rows, right, out))
    return lead(board, count, grain)


@single_precision
def csr_transposed_dot_grouped(data, indptr, starts, places, right, out):
    """``out[...] = csrᵀ · right`` for the columns that occur, as ``group_columns`` gives them; out (distinct, width)."""
    rows = scratch("rows", data.shape[0])
    _row_of_each(indptr, rows)
    distinct, width = out.shape
    if data.shape[0] * (width + FETCH) < 2 * GRAIN:
        _grouped_rows(data, starts, places, rows, right, out, 0, distinct)
    else:
        share(_grouped_together, distinct, _grain(distinct, data.shape[0], width), data, starts, places, rows, right, out)


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
