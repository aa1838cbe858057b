"""Conversions between storage types; the device functions are in ``convert.cu``."""

from __future__ import annotations

import numpy as np

from .launch import Kernel, xp

_fill_dense = Kernel("fill_dense", "data index pointer data* count count count")
_fill_rows = Kernel("fill_rows", "data index pointer place data* count count count count")


def dense_to_csr(dense):
    """The nonzero values of a matrix (rows, columns): data, int64 indices and indptr."""
    k = xp()
    row, column = k.nonzero(dense)
    indptr = k.searchsorted(row, k.arange(dense.shape[0] + 1))
    return dense[row, column], column.astype(np.int64, copy=False), indptr.astype(np.int64, copy=False)


def dense_occupied_rows(dense):
    """Numbers of the rows of a matrix (rows, columns) that are not all zero, int64."""
    return xp().flatnonzero((dense != 0).any(axis=1)).astype(np.int64, copy=False)


def csr_to_dense(data, indices, indptr, out):
    """Write a csr matrix into out (rows, columns), already cleared."""
    rows, width = out.shape
    _fill_dense(data.shape[0], data, indices, indptr, out, data.shape[0], rows, width)


def csr_to_rows(data, indices, indptr, occupied, out):
    """Write the rows ``occupied`` of a csr matrix into out (occupied rows, columns), already cleared."""
    _fill_rows(data.shape[0], data, indices, indptr, occupied, out, data.shape[0], indptr.shape[0] - 1, *out.shape)
