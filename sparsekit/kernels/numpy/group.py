"""Entries grouped by their column; each function does what its twin in ``kernels/cpu/group.py`` does."""

from __future__ import annotations

import numpy as np

from .arrays import find, first_of_each, kernel, numbered, which

#: Entries of a table, for each value that is looked up in it, at most.
_TABLE = 8


def _sorted(indices):
    """The values in ascending order, and the position of each, int64 (n,): both are sorted as one word, if they fit."""
    room = indices.shape[0].bit_length()
    if int(indices.max(initial=0)).bit_length() + room > 63:
        order = np.argsort(indices, kind="stable").astype(np.int64, copy=False)
        return indices[order].astype(np.int64, copy=False), order
    entries = indices.astype(np.int64)
    entries <<= room
    entries |= numbered(indices.shape[0])
    entries.sort()
    return entries >> room, entries & ((1 << room) - 1)


@kernel
def group_columns(indices):
    """Entries by column: the distinct columns ascending, where each starts, and the entries' positions in that order.

    ``indices`` (n,), not negative; returns int64 (distinct,), and uint64 (distinct + 1,) and (n,).
    """
    keys, places = _sorted(indices)
    starts = which(first_of_each(keys))
    return keys[starts], np.append(starts, keys.shape[0]).view(np.uint64), places.view(np.uint64)


@kernel
def distinct(indices):
    """The distinct values of ``indices`` (n,), ascending."""
    if not (indices[1:] >= indices[:-1]).all():
        indices = np.sort(indices)
    return indices[first_of_each(indices)]


@kernel
def unique_with_rank(indices):
    """The distinct values of ``indices`` (n,), ascending, and for each entry its place among them, int64 both."""
    keys, places = _sorted(indices)
    first = first_of_each(keys)
    ranks = np.empty(keys.shape[0], np.int64)
    ranks[places] = np.cumsum(first) - 1
    return keys[first], ranks


@kernel
def row_ranks(rows, ascending, limit):
    """Place of each of ``rows`` (n,) among ``ascending`` (m,), -1 where it is absent, int64; all are below ``limit``."""
    if limit > _TABLE * (rows.shape[0] + ascending.shape[0]):
        places, there = find(rows, ascending)
        return np.where(there, places, -1)
    table = np.full(limit, -1, np.int64)
    table[ascending] = numbered(ascending.shape[0])
    return table[rows]


@kernel
def outside(values, size):
    """1 if a position is not in ``0 … size - 1``, fractions cut off, or is NaN; else 0."""
    bound = np.float64(size) if values.dtype.kind == "f" else size
    return int(not ((values > -1) & (values < bound)).all())


@kernel
def shared_rows(indices, others):
    """The numbers that are in two ascending arrays without repetition, and their places in both, int64."""
    places, there = find(indices, others)
    return indices[there], which(there), places[there]
