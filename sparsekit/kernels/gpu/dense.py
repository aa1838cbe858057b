"""Kernels whose first operand is a dense array; the device functions are in ``dense.cu``."""

from __future__ import annotations

from .csr import _rows_of
from .group import group_columns
from .launch import Kernel, lanes_for

__all__ = ["dense_dot_csr", "dense_dot_csr_transposed"]

_dot_columns = Kernel("dot_columns", "data data place place place place data* count count count count")
_dot_rows = Kernel("dot_rows", "data data index pointer data* count count count count")


def dense_dot_csr(left, data, indices, indptr, out):
    """``out += left · csr``; left (m, rows), out (m, columns or occurring columns) already cleared."""
    columns, starts, places = group_columns(indices)
    (height, inner), groups = left.shape, columns.shape[0]
    _dot_columns(height * groups, left, data, starts, places, _rows_of(indptr, data.shape[0]), columns, out, height, groups,
                 inner, out.shape[1])


def dense_dot_csr_transposed(left, data, indices, indptr, out):
    """``out[...] = left · csrᵀ``; left (m, columns), out (m, rows)."""
    (height, inner), rows = left.shape, indptr.shape[0] - 1
    lanes = lanes_for(data.shape[0] / max(rows, 1))
    _dot_rows(height * rows * lanes, left, data, indices, indptr, out, height, rows, inner, lanes)
