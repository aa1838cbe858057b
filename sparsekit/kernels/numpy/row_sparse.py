"""Kernels over row-sparse arrays: ``data`` (stored rows, width) and ascending ``indices``."""

from __future__ import annotations

import numpy as np

from .arrays import add_product, kernel, numbered, union


@kernel
def row_sparse_merge(data, indices, right_data, right_indices, factor, out, out_indices):
    """``row_sparse + factor * row_sparse`` into buffers large enough for both; returns the rows stored."""
    every, at, other = union(indices, right_indices)
    count = every.shape[0]
    out[:count] = 0
    out[at] += data
    out[other] += factor * right_data
    out_indices[:count] = every
    return count


@kernel
def row_sparse_multiply(data, indices, right_data, right_indices, out, out_indices):
    """``row_sparse * row_sparse`` into buffers large enough for the first; returns the rows that both store."""
    shared, at, other = np.intersect1d(indices, right_indices, assume_unique=True, return_indices=True)
    out[:shared.shape[0]] = data[at] * right_data[other]
    out_indices[:shared.shape[0]] = shared
    return shared.shape[0]


@kernel
def add_rows(data, indices, factor, out):
    """``out[indices] += factor * data``; out (rows, width), indices may repeat."""
    indptr = numbered(indices.shape[0] + 1)
    factors = np.full(indices.shape[0], factor, out.dtype)
    add_product(factors, indices.astype(np.int64, copy=False), indptr, data, out, turned=True)


@kernel
def copy_rows(data, indices, out):
    """``out[indices] = data``; out (rows, width)."""
    out[indices] = data
