"""Conversions of arrays between storage types."""

from __future__ import annotations

import numpy as np

from .arrays import kernel, numbered, ranges, row_of_each, which


@kernel
def dense_to_csr(dense):
    """The nonzero values of a C-contiguous matrix (rows, columns): data, int64 indices and indptr."""
    rows, columns = np.nonzero(dense)
    indptr = np.zeros(dense.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=dense.shape[0]), out=indptr[1:])
    return dense[rows, columns], columns.astype(np.int64), indptr  # a copy, as numpy's is a part of what holds the rows too


@kernel
def dense_occupied_rows(dense):
    """Numbers of the rows of a C-contiguous matrix (rows, columns) that are not all zero, int64."""
    return which(dense.any(axis=1))


@kernel
def csr_to_dense(data, indices, indptr, out):
    """Write a csr matrix into out (rows, columns), already cleared."""
    out[row_of_each(indptr), indices] = data


@kernel
def csr_to_rows(data, indices, indptr, occupied, out):
    """Write the rows ``occupied`` of a csr matrix into out (occupied rows, columns), already cleared."""
    counts = np.diff(indptr)[occupied]
    places = ranges(indptr[occupied], counts)
    out[np.repeat(numbered(occupied.shape[0]), counts), indices[places]] = data[places]
