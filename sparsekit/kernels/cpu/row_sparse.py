"""Kernels over row-sparse arrays: ``data`` (stored rows, width) and ascending ``indices``."""

from __future__ import annotations

from .jit import kernel

__all__ = [
    "add_rows",
    "copy_rows",
    "row_sparse_merge",
    "row_sparse_sgd_momentum_standard_update",
    "row_sparse_sgd_momentum_update",
    "row_sparse_sgd_update",
]


@kernel
def row_sparse_sgd_update(weight, data, indices, rate, decay, rescale, clip):
    """``dense_sgd_update`` on the rows ``indices`` of weight (rows, width) only."""
    for rank in range(indices.shape[0]):
        row = indices[rank]
        for column in range(data.shape[1]):
            step = rescale * data[rank, column]
            if clip >= 0:
                step = max(-clip, min(clip, step))
            weight[row, column] -= rate * (step + decay * weight[row, column])


@kernel
def row_sparse_sgd_momentum_update(weight, data, indices, momentum, rate, friction, decay, rescale, clip):
    """``dense_sgd_momentum_update`` on the rows ``indices`` of weight and momentum (rows, width) only."""
    for rank in range(indices.shape[0]):
        row = indices[rank]
        for column in range(data.shape[1]):
            step = rescale * data[rank, column]
            if clip >= 0:
                step = max(-clip, min(clip, step))
            moved = friction * momentum[row, column] - rate * (step + decay * weight[row, column])
            momentum[row, column] = moved
            weight[row, column] += moved


@kernel
def row_sparse_sgd_momentum_standard_update(weight, data, indices, momentum, rate, friction, decay, rescale, clip):
    """``dense_sgd_momentum_update`` on all rows, those absent from ``indices`` with a gradient of zero."""
    rank = 0
    for row in range(weight.shape[0]):
        stored = rank < indices.shape[0] and indices[rank] == row
        for column in range(weight.shape[1]):
            step = weight.dtype.type(0)
            if stored:
                step = rescale * data[rank, column]
                if clip >= 0:
                    step = max(-clip, min(clip, step))
            moved = friction * momentum[row, column] - rate * (step + decay * weight[row, column])
            momentum[row, column] = moved
            weight[row, column] += moved
        rank += stored


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
