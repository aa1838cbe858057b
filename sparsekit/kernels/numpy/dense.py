"""Kernels whose first operand is a dense array."""

from __future__ import annotations

import numpy as np

from .arrays import add_product, kernel


@kernel
def dense_dot_csr(left, data, indices, indptr, out):
    """``out += left · csr``; left (m, rows), out (m, columns or occurring columns) already cleared."""
    turned = np.zeros(out.shape[::-1], out.dtype)
    add_product(data, indices, indptr, left.T, turned, turned=True)
    out += turned.T


@kernel
def dense_dot_csr_transposed(left, data, indices, indptr, out):
    """``out[...] = left · csrᵀ``; left (m, columns), out (m, rows)."""
    turned = np.zeros(out.shape[::-1], out.dtype)
    add_product(data, indices, indptr, left.T, turned)
    out[...] = turned.T
