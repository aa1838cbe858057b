"""Kernels whose first operand is a dense array; the device functions are in ``dense.cu``."""

from __future__ import annotations

from .csr import _rows_of
from .group import group_columns
from .grouped import dot_groups
from .launch import Kernel, lanes_for, xp

_dot_rows = Kernel("dot_rows", "data data index pointer data* count count count count")


def dense_dot_csr(left, data, indices, indptr, out):
    """``out += left · csr``; left (m, rows), out (m, columns or occurring columns) already cleared."""
    columns = xp().ascontiguousarray(left.T)  # whose rows lie together, as those of the product's right side do
    dot_groups(data, _rows_of(indptr, data.shape[0]), columns, group_columns(indices), out, (1, out.shape[1]), True)


def dense_dot_csr_transposed(left, data, indices, indptr, out):
    """``out[...] = left · csrᵀ``; left (m, columns), out (m, rows)."""
    (height, inner), rows = left.shape, indptr.shape[0] - 1
    lanes = lanes_for(data.shape[0] / max(rows, 1))
    _dot_rows(height * rows * lanes, left, data, indices, indptr, out, height, rows, inner, lanes)
