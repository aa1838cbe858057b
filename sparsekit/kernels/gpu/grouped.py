"""Sums over groups of entries, some of them as long as the batch; the device functions are in ``grouped.cu``."""

from __future__ import annotations

import numpy as np

from .launch import Kernel, lanes_for, wide_type, xp

_join_groups = Kernel("join_groups", "part place place data* count count count count count count count count")
_dot_grouped = Kernel("dot_grouped", "data place data place place place data* part* place* " + " ".join(["count"] * 7))
_sum_grouped = Kernel("sum_grouped", "data place place place data* part* place* " + " ".join(["count"] * 7) + " number")

#: Which rows of a result are sums of groups: 0, 1, 2 …; those that targets name; the first again, with a list of the targets.
#: As in ``grouped.cu``.
IN_ORDER, AT_TARGETS, LISTING = range(3)

#: Entries that a thread adds up of a group that is longer; as in ``grouped.cu``.
CHUNK = 32

#: Entries up to which all groups are added up by one thread each: a second launch would take longer.
FEW = 4 * CHUNK


def _add_groups(kernel, arrays, groups, out, width, steps, add, listing, *numbers):
    """Start a kernel over groups of entries, and add up what it leaves in parts.

    Parameters
    ----------
    kernel : Kernel
        Takes the arrays, then starts, places, targets, out, parts, a list of targets, the numbers of groups and chunks, the
        width, the steps, which rows are sums, ``add`` and ``numbers``.
    arrays : tuple of arrays
    groups : tuple of arrays
        As ``group_columns`` gives them: targets, starts and places; None for targets that are 0, 1, 2 ….
    out : array
    width : int
        Columns that are added up.
    steps : tuple of int
        From target to target and from column to column of ``out``.
    add : bool
        Whether sums are added to what ``out`` holds.
    listing : array or None
        Receives the targets, and rows of ``out`` are in their order.
    """
    targets, starts, places = groups
    order = LISTING if listing is not None else IN_ORDER if targets is None else AT_TARGETS
    targets, listing = starts if targets is None else targets, starts if listing is None else listing
    count, entries = starts.shape[0] - 1, places.shape[0]
    chunks = -(-entries // CHUNK) if entries > FEW else 0
    parts = xp().empty((2 * chunks, width), np.int64 if out.dtype == np.uint64 else wide_type(out.dtype))
    kernel((count + chunks) * width, *arrays, starts, places, targets, out, parts, listing, count, chunks, width, *steps,
           order, add, *numbers)
    if chunks:
        lanes = lanes_for(chunks)
        _join_groups(chunks * width * lanes, parts, starts, targets, out, count, chunks, width, *steps, order, add, lanes)


def dot_groups(data, rows, right, groups, out, steps, add, listing=None):
    """Sums of ``data[place] * right[rows[place]]`` over groups of places; a negative row counts nothing."""
    _add_groups(_dot_grouped, (data, rows, right), groups, out, right.shape[1], steps, add, listing)


def sum_groups(data, groups, out, width, add, factor=1):
    """``out[targets[i]]`` becomes the sum of factor times the rows of data in group i, added to what it holds if ``add``."""
    _add_groups(_sum_grouped, (data,), groups, out, width, (width, 1), add, None, factor)
