"""Entries grouped by their index; the device functions are in ``group.cu``.

How many distinct indices there are decides the size of a result, so that one number is read back; the indices stay.
"""

from __future__ import annotations

import numpy as np

from ...base import capture
from .launch import THREADS, Kernel, xp

_group_few = Kernel("group_few", "index place* place* place* place* place* count")
_mark_firsts = Kernel("mark_firsts", "index place place* count")
_put_groups = Kernel("put_groups", "index place place place* place* place* count")
_rank_rows = Kernel("rank_rows", "index index place* count count")

#: Entries up to which one block groups them, by one launch; as in ``group.cu``.
FEW = 2048


def _by_one_block(indices):
    """The groups of few entries as ``_groups`` gives them, in room for as many groups as entries, and their number (1,)."""
    k, entries = xp(), indices.shape[0]
    values, starts, ranks = k.empty(entries, np.int64), k.empty(entries + 1, np.int64), k.empty(entries, np.int64)
    places, count = k.empty(entries, np.int64), k.empty(1, np.int64)
    _group_few(THREADS, indices, values, starts, places, ranks, count, entries)
    return values, starts, places, ranks, count


def _by_sorting(indices):
    """The groups of any number of entries, in the same way."""
    k, entries = xp(), indices.shape[0]
    values, starts, ranks = k.empty(entries, np.int64), k.empty(entries + 1, np.int64), k.empty(entries, np.int64)
    places, firsts = k.argsort(indices), k.empty(entries, np.int64)  # cupy's sorts are stable
    _mark_firsts(entries, indices, places, firsts, entries)
    ends = k.cumsum(firsts)
    _put_groups(entries, indices, places, ends, values, starts, ranks, entries)
    return values, starts, places, ranks, ends[-1:]


def _groups(indices, ahead=False):
    """The distinct values of ``indices`` (n,), where each starts, the order that sorts entries, and the rank of each entry.

    With ``ahead`` they may lie in the memory of a graph.
    """
    k, entries = xp(), indices.shape[0]
    if entries == 0:
        return k.zeros(0, np.int64), k.zeros(1, np.int64), k.zeros(0, np.int64), k.zeros(0, np.int64)
    if entries > FEW:
        values, starts, places, ranks, last = _by_sorting(indices)
    else:
        values, starts, places, ranks, last = capture.ahead(_by_one_block, indices) if ahead else _by_one_block(indices)
    count = last.item()  # the one number that is read back
    return values[:count], starts[:count + 1], places, ranks


def distinct(indices):
    """The distinct values of ``indices`` (n,), ascending."""
    return _groups(indices)[0].astype(indices.dtype, copy=False)


def group_columns(indices):
    """Entries by column: the distinct columns ascending, where each starts, and the entries' positions in that order.

    ``indices`` (n,), not negative; returns int64 (distinct,), (distinct + 1,) and (n,).
    """
    return _groups(indices)[:3]


def unique_with_rank(indices):
    """The distinct values of ``indices`` (n,), ascending, and for each entry its place among them, int64 both."""
    values, _, _, ranks = _groups(indices)
    return values, ranks


def row_ranks(rows, ascending, limit):
    """Place of each of ``rows`` (n,) among ``ascending`` (m,), -1 where it is absent, int64; all are below ``limit``."""
    ranks = xp().empty(rows.shape[0], np.int64)
    _rank_rows(rows.shape[0], rows, ascending, ranks, rows.shape[0], ascending.shape[0])
    return ranks


def outside(values, size):
    """1 if a position is not in ``0 … size - 1``, fractions cut off, or is NaN; else 0."""
    return int(not ((values > -1) & (values < size)).all())


def shared_rows(indices, others):
    """The numbers that are in two ascending arrays without repetition, and their places in both, int64."""
    ranks = row_ranks(indices, others, None)
    at = xp().flatnonzero(ranks >= 0)
    return indices[at], at, ranks[at]
