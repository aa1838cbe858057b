"""Kernels over row-sparse arrays: ``data`` (stored rows, width) and ascending ``indices``."""

from __future__ import annotations

from .group import _next_shared
from .jit import kernel


@kernel
def row_sparse_merge(data, indices, right_data, right_indices, factor, out, out_indices):
    """``row_sparse + factor * row_sparse`` into buffers large enough for both; returns the rows stored."""
    left, right, count = 0, 0, 0
    while left < indices.shape[0] or right < right_indices.shape[0]:
        take_left = right >= right_indices.shape[0] or (
            left < indices.shape[0] and indices[left] <= right_indices[right])
        take_right = left >= indices.shape[0] or (
            right < right_indices.shape[0] and right_indices[right] <= indices[left])
        out_indices[count] = indices[left] if take_left else right_indices[right]
        for column in range(out.shape[1]):
            total = out.dtype.type(0)
            if take_left:
                total += data[left, column]
            if take_right:
                total += factor * right_data[right, column]
            out[count, column] = total
        left += take_left
        right += take_right
        count += 1
    return count


@kernel
def row_sparse_multiply(data, indices, right_data, right_indices, out, out_indices):
    """``row_sparse * row_sparse`` into buffers large enough for the first; returns the rows that both store."""
    count = 0
    left, right = _next_shared(indices, right_indices, 0, 0)
    while left < indices.shape[0]:
        for column in range(out.shape[1]):
            out[count, column] = data[left, column] * right_data[right, column]
        out_indices[count] = indices[left]
        count += 1
        left, right = _next_shared(indices, right_indices, left + 1, right + 1)
    return count


@kernel
def add_rows(data, indices, factor, out):
    """``out[indices] += factor * data``; out (rows, width), indices may repeat."""
    for rank in range(indices.shape[0]):
        for column in range(data.shape[1]):
            out[indices[rank], column] += factor * data[rank, column]


@kernel
def copy_rows(data, indices, out):
    """``out[indices] = data``; out (rows, width)."""
    for rank in range(indices.shape[0]):
        for column in range(data.shape[1]):
            out[indices[rank], column] = data[rank, column]
