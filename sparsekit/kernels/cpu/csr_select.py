"""Kernels that read or rearrange a CSR matrix: single elements, the transpose, two matrices place by place."""

from __future__ import annotations

from .jit import kernel

__all__ = ["csr_transpose", "csr_union", "csr_values_at"]


@kernel
def csr_values_at(data, indices, indptr, rows, columns, out):
    """The elements at (rows[i], columns[i]) into out, already cleared, by bisection."""
    for place in range(rows.shape[0]):
        low, high, column = indptr[rows[place]], indptr[rows[place] + 1], columns[place]
        end = high
        while low < high:
            middle = (low + high) >> 1
            if indices[middle] < column:
                low = middle + 1
            else:
                high = middle
        if low < end and indices[low] == column:
            out[place] = data[low]


@kernel
def csr_transpose(data, indices, indptr, out, out_indices, out_indptr):
    """The transpose by counting; out_indptr (columns + 1,) already cleared."""
    columns = out_indptr.shape[0] - 1
    for place in range(indices.shape[0]):
        out_indptr[indices[place] + 1] += 1
    for column in range(columns):
        out_indptr[column + 1] += out_indptr[column]
    for row in range(indptr.shape[0] - 1):
        for place in range(indptr[row], indptr[row + 1]):
            column = indices[place]
            target = out_indptr[column]
            out[target], out_indices[target] = data[place], row
            out_indptr[column] = target + 1
    for column in range(columns, 0, -1):
        out_indptr[column] = out_indptr[column - 1]
    out_indptr[0] = 0


@kernel
def csr_union(indices, indptr, right_indices, right_indptr, out_indices, out_indptr, left_places, right_places):
    """The places that either matrix stores, and where each stores them (-1: nowhere); returns how many."""
    count = 0
    out_indptr[0] = 0
    for row in range(indptr.shape[0] - 1):
        left, right = indptr[row], right_indptr[row]
        left_end, right_end = indptr[row + 1], right_indptr[row + 1]
        while left < left_end or right < right_end:
            take_left = right >= right_end or (left < left_end and indices[left] <= right_indices[right])
            take_right = left >= left_end or (right < right_end and right_indices[right] <= indices[left])
            out_indices[count] = indices[left] if take_left else right_indices[right]
            left_places[count] = left if take_left else -1
            right_places[count] = right if take_right else -1
            left += take_left
            right += take_right
            count += 1
        out_indptr[row + 1] = count
    return count
