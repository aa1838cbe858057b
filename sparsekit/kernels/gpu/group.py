"""Entries grouped by their column: a stable radix sort on the device.

How many distinct columns there are decides the size of a result, so that one number is read back; the columns stay.
"""

from __future__ import annotations

import numpy as np

from .launch import xp

__all__ = ["distinct", "group_columns", "row_ranks", "unique_with_rank"]


def _sorted(indices):
    """The order that sorts the indices, the sorted ones, and which of them are the first of their kind."""
    k = xp()
    order = k.argsort(indices)  # cupy's sorts are stable
    keys = indices[order]
    first = k.ones(keys.shape[0], np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    return order, keys, first


def distinct(indices):
    """The distinct values of ``indices`` (n,), ascending."""
    return xp().unique(indices)


def group_columns(indices):
    """Entries by column: the distinct columns ascending, where each starts, and the entries' positions in that order.

    ``indices`` (n,), not negative; returns int64 (distinct,), (distinct + 1,) and (n,).
    """
    k = xp()
    order, keys, first = _sorted(indices)
    begin = k.flatnonzero(first)
    starts = k.empty(begin.shape[0] + 1, np.int64)
    starts[:-1] = begin
    starts[-1] = keys.shape[0]
    return keys[begin].astype(np.int64), starts, order.astype(np.int64, copy=False)


def unique_with_rank(indices):
    """The distinct values of ``indices`` (n,), ascending, and for each entry its place among them, int64 both."""
    k = xp()
    order, keys, first = _sorted(indices)
    ranks = k.empty(keys.shape[0], np.int64)
    ranks[order] = k.cumsum(first.astype(np.int64)) - 1
    return keys[k.flatnonzero(first)].astype(np.int64), ranks


def row_ranks(rows, ascending, limit):
    """Place of each of ``rows`` (n,) among ``ascending`` (m,), -1 where it is absent, int64; all are below ``limit``."""
    k = xp()
    if ascending.shape[0] == 0:
        return k.full(rows.shape[0], -1, np.int64)
    places = k.searchsorted(ascending, rows)
    near = k.minimum(places, ascending.shape[0] - 1)
    return k.where(ascending[near] == rows, places, -1).astype(np.int64, copy=False)
