"""The product of two CSR matrices as a CSR matrix, row by row: Gustavson 1978, https://doi.org/10.1145/355791.355796."""

from __future__ import annotations

import numpy as np

from .jit import in_threads, kernel

#: Room for the values of one piece of the product, which one thread computes at a time.
PIECE = 1 << 22


@kernel
def _sort(columns):
    """Shell's sort, which is insertion for a short row; numba takes seconds to compile numpy's."""
    count, gap = columns.shape[0], 1
    while 3 * gap < count:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(gap, count):
            column, target = columns[place], place
            while target >= gap and columns[target - gap] > column:
                columns[target] = columns[target - gap]
                target -= gap
            columns[target] = column
        gap //= 3


@kernel
def _product_rows(data, indices, indptr, right_data, right_indices, right_indptr, start, stop, sums, seen, out, out_indices,
                  out_counts):
    """Rows start to stop; seen (columns,) holds -1 everywhere, sums (columns,) is room; returns how many values."""
    count = 0
    for row in range(start, stop):
        first = count
        for place in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            value, inner = data[place], np.uint64(indices[place])
            for other in range(np.uint64(right_indptr[inner]), np.uint64(right_indptr[inner + np.uint64(1)])):
                column = np.uint64(right_indices[other])
                if seen[column] == row:
                    sums[column] += value * right_data[other]
                else:
                    seen[column] = row
                    sums[column] = value * right_data[other]
                    out_indices[count] = column
                    count += 1
        if 8 * (count - first) > seen.shape[0]:
            count = first
            for number in range(seen.shape[0]):
                out_indices[count] = number
                count += seen[number] == row
                if count == out_indices.shape[0]:
                    break
        else:
            _sort(out_indices[first:count])
        for position in range(first, count):
            out[position] = sums[out_indices[position]]
        out_counts[row] = count - first
    return count


def csr_product(data, indices, indptr, right_data, right_indices, right_indptr, width):
    """data, indices and indptr of the product; ``width`` is the number of columns on the right."""
    rows, dtype = indptr.shape[0] - 1, np.result_type(data, right_data)
    work = np.zeros(indices.shape[0] + 1, np.int64)
    np.cumsum(np.diff(right_indptr)[indices], out=work[1:])
    most = np.zeros(rows + 1, np.int64)
    np.cumsum(np.minimum(np.diff(work[indptr]), width), out=most[1:])
    edges = np.unique(np.concatenate([[0], np.searchsorted(most, np.arange(PIECE, most[-1], PIECE)), [rows]]))
    counts, pieces = np.zeros(rows + 1, np.int64), [(np.zeros(0, dtype), np.zeros(0, np.int64))] * (edges.shape[0] - 1)

    def compute(start: int, stop: int) -> None:
        sums, seen = np.empty(width, dtype), np.full(width, -1, np.int64)
        for piece in range(start, stop):
            low, high = int(edges[piece]), int(edges[piece + 1])
            room = int(most[high] - most[low])
            out, out_indices = np.empty(room, dtype), np.empty(room, np.int64)
            count = _product_rows(data, indices, indptr, right_data, right_indices, right_indptr, low, high, sums, seen,
                                  out, out_indices, counts[1:])
            pieces[piece] = out[:count].copy(), out_indices[:count].copy()

    in_threads(compute, len(pieces), 1)
    values, columns = (np.concatenate(parts) for parts in zip(*pieces, strict=True)) if len(pieces) > 1 else (pieces or [
        (np.zeros(0, dtype), np.zeros(0, np.int64))])[0]
    return values, columns, np.cumsum(counts)
