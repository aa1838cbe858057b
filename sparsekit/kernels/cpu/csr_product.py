"""The product of two CSR matrices as a CSR matrix, row by row: Gustavson 1978, https://doi.org/10.1145/355791.355796."""

from __future__ import annotations

import numpy as np

from .jit import kernel

__all__ = ["csr_product", "csr_product_sizes"]

#: Rows up to this length are sorted by insertion.
SHORT = 32


@kernel
def csr_product_sizes(indices, indptr, right_indices, right_indptr, seen, out_indptr):
    """Row starts of the product; seen (columns,) holds -1 everywhere."""
    count = 0
    out_indptr[0] = 0
    for row in range(indptr.shape[0] - 1):
        for place in range(indptr[row], indptr[row + 1]):
            inner = indices[place]
            for other in range(right_indptr[inner], right_indptr[inner + 1]):
                column = right_indices[other]
                if seen[column] != row:
                    seen[column] = row
                    count += 1
        out_indptr[row + 1] = count


@kernel
def _sort(columns):
    if columns.shape[0] > SHORT:
        columns[:] = np.sort(columns)
        return
    for place in range(1, columns.shape[0]):
        column, target = columns[place], place
        while target > 0 and columns[target - 1] > column:
            columns[target] = columns[target - 1]
            target -= 1
        columns[target] = column


@kernel
def csr_product(data, indices, indptr, right_data, right_indices, right_indptr, sums, seen, out, out_indices, out_indptr):
    """Values and columns of the product; seen (columns,) holds -1 everywhere, sums (columns,) is room."""
    for row in range(indptr.shape[0] - 1):
        start = out_indptr[row]
        count = start
        for place in range(indptr[row], indptr[row + 1]):
            value, inner = data[place], indices[place]
            for other in range(right_indptr[inner], right_indptr[inner + 1]):
                column = right_indices[other]
                if seen[column] != row:
                    seen[column] = row
                    sums[column] = value * right_data[other]
                    out_indices[count] = column
                    count += 1
                else:
                    sums[column] += value * right_data[other]
        _sort(out_indices[start:count])
        for place in range(start, count):
            out[place] = sums[out_indices[place]]
