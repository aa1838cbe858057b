"""Kernels over row-sparse arrays: ``data`` (stored rows, width) and ascending ``indices``."""

from __future__ import annotations

from .group import distinct, group_columns, row_ranks, shared_rows
from .grouped import sum_groups
from .launch import Kernel, xp

_merge = Kernel("merge", "data data place place data* count count number")
_put_rows = Kernel("put_rows", "data index data* count count")


def row_sparse_merge(data, indices, right_data, right_indices, factor, out, out_indices):
    """``row_sparse + factor * row_sparse`` into buffers large enough for both; returns the rows stored."""
    k = xp()
    rows = distinct(k.concatenate([indices, right_indices]))
    count, width = rows.shape[0], out.shape[1]
    out_indices[:count] = rows
    left, right = row_ranks(rows, indices, None), row_ranks(rows, right_indices, None)
    _merge(count * width, data, right_data, left, right, out, count, width, factor)
    return count


def row_sparse_multiply(data, indices, right_data, right_indices, out, out_indices):
    """``row_sparse * row_sparse`` into buffers large enough for the first; returns the rows that both store."""
    shared, at, other = shared_rows(indices, right_indices)
    count = shared.shape[0]
    out_indices[:count] = shared
    xp().multiply(data[at], right_data[other], out=out[:count])
    return count


def add_rows(data, indices, factor, out):
    """``out[indices] += factor * data``; out (rows, width), indices may repeat."""
    sum_groups(data, group_columns(indices), out, data.shape[1], True, factor)


def copy_rows(data, indices, out):
    """``out[indices] = data``; out (rows, width), indices do not repeat."""
    rows, width = data.shape
    _put_rows(rows * width, data, indices, out, rows, width)
