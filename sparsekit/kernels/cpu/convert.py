"""Conversions of large arrays between storage types."""

from __future__ import annotations

import numpy as np

from .jit import in_threads, kernel, single_precision

#: Elements for each thread, at least.
GRAIN = 1 << 18
#: Elements that are looked at together, to pass over zeros quickly.
BLOCK = 8


def _bits(dense):
    """The elements as unsigned integers: zeros are recognized by their bits, many at a time."""
    return dense.view(f"u{dense.dtype.itemsize}")


@kernel
def _count_rows(dense, counts, start, stop):
    for row in range(start, stop):
        count = 0
        for column in range(dense.shape[1]):
            count += dense[row, column] != 0
        counts[row] = count


@kernel
def _fill_rows(dense, bits, indptr, data, indices, start, stop):
    width, one = dense.shape[1], np.uint64(1)
    blocked = width // BLOCK * BLOCK
    for row in range(start, stop):
        place, column = np.uint64(indptr[row]), 0
        while column < blocked:
            together = bits[row, column]
            for other in range(1, BLOCK):
                together |= bits[row, column + other]
            if together:
                for other in range(column, column + BLOCK):
                    if dense[row, other] != 0:
                        data[place], indices[place] = dense[row, other], other
                        place += one
            column += BLOCK
        for other in range(blocked, width):
            if dense[row, other] != 0:
                data[place], indices[place] = dense[row, other], other
                place += one


@single_precision
def dense_to_csr(dense):
    """The nonzero values of a C-contiguous matrix (rows, columns): data, int64 indices and indptr."""
    rows, width = dense.shape
    grain, bits = max(1, GRAIN // max(width, 1)), _bits(dense)
    indptr = np.zeros(rows + 1, np.int64)
    in_threads(lambda start, stop: _count_rows(dense, indptr[1:], start, stop), rows, grain)
    np.cumsum(indptr, out=indptr)
    data, indices = np.empty(indptr[-1], dense.dtype), np.empty(indptr[-1], np.int64)
    in_threads(lambda start, stop: _fill_rows(dense, bits, indptr, data, indices, start, stop), rows, grain)
    return data, indices, indptr


@kernel
def _occupied(bits, sign, occupied, start, stop):
    for row in range(start, stop):
        together = bits[row, 0] << sign
        for column in range(1, bits.shape[1]):
            together |= bits[row, column] << sign
        occupied[row] = together != 0


def dense_occupied_rows(dense):
    """Numbers of the rows of a C-contiguous matrix (rows, columns) that are not all zero, int64."""
    occupied, bits = np.empty(dense.shape[0], np.bool_), _bits(dense)
    sign = bits.dtype.type(dense.dtype.kind == "f")  # the sign of a zero does not count
    in_threads(lambda start, stop: _occupied(bits, sign, occupied, start, stop), dense.shape[0],
               max(1, GRAIN // max(dense.shape[1], 1)))
    return np.flatnonzero(occupied)


@kernel
def _scatter_rows(data, indices, indptr, out, start, stop):
    for row in range(start, stop):
        line = out[row]
        for place in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            line[np.uint64(indices[place])] = data[place]


@single_precision
def csr_to_dense(data, indices, indptr, out):
    """Write a csr matrix into out (rows, columns), already cleared."""
    rows = out.shape[0]
    in_threads(lambda start, stop: _scatter_rows(data, indices, indptr, out, start, stop), rows,
               max(1, rows * GRAIN // max(data.shape[0], 1)))


@kernel
def _scatter_occupied(data, indices, indptr, occupied, out):
    for rank in range(occupied.shape[0]):
        row, line = occupied[rank], out[rank]
        for place in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            line[np.uint64(indices[place])] = data[place]


def csr_to_rows(data, indices, indptr, occupied, out):
    """Write the rows ``occupied`` of a csr matrix into out (occupied rows, columns), already cleared."""
    _scatter_occupied(data, indices, indptr, occupied, out)
