"""Kernels of one thread that a table calls in place of functions that divide their work among threads.

They return 1, and have done nothing, where the work is large enough for threads: Python then runs the operator.
"""

from __future__ import annotations

from .csr import FETCH, GRAIN, _csr_dot_dense_rows, _csr_dot_vector_rows, _grouped_rows, _row_of_each, _without_absent
from .group import _groups, _row_ranks, _sorted
from .jit import kernel
from .update import GRAIN as UPDATE_GRAIN

__all__ = ["csr_dot_dense_here", "csr_dot_vector_here", "csr_transposed_dot_here", "distinct_here", "drop_absent_here",
           "few_columns", "few_rows", "group_columns_here", "other_rows", "ranks_here", "row_ranks_here"]

#: Multiplications from which Python divides a product among threads.
LARGE = 2 * GRAIN

#: Entries from which sorting is left to Python: it may be interrupted there.
MANY = 1 << 18


@kernel
def csr_dot_dense_here(data, indices, indptr, right, out):
    """``out[...] = csr · right``; returns 1 if that is large."""
    if data.shape[0] * (out.shape[1] + FETCH) >= LARGE:
        return 1
    _csr_dot_dense_rows(data, indices, indptr, right, out, 0, out.shape[0])
    return 0


@kernel
def csr_dot_vector_here(data, indices, indptr, right, out):
    """The same for a right side of one column."""
    if data.shape[0] * (out.shape[1] + FETCH) >= LARGE:
        return 1
    _csr_dot_vector_rows(data, indices, indptr, right, out, 0, out.shape[0])
    return 0


@kernel
def few_columns(indices):
    """Returns 1 for no entry, for many, and for values that do not fit with their places in a word, as ``_sorted`` needs it."""
    if indices.shape[0] == 0 or indices.shape[0] >= MANY:
        return 1
    for place in range(indices.shape[0]):
        if indices[place] < 0 or indices[place] >> 44 != 0:
            return 1
    return 0


@kernel
def group_columns_here(indices, room, columns, starts, places):
    """Group entries by column; returns how many columns occur.

    ``room`` (2 n,) is working memory; columns (n,), starts (2 n,) and places (n,) receive what ``group_columns`` returns.
    """
    count = indices.shape[0]
    keys, order = _sorted(indices, room[:count], room[count:])
    found = _groups(keys, starts)
    for rank in range(found):
        columns[rank] = keys[rank]
    for place in range(count):
        places[place] = order[place]
    return found


@kernel
def distinct_here(indices, room, out):
    """Write the distinct entries to ``out`` (n,), ascending; returns how many they are. ``room`` (2 n,) is working memory."""
    count, descents = indices.shape[0], 0
    for place in range(1, count):
        descents += indices[place] < indices[place - 1]
    if descents == 0:
        return _without_repeats(indices, out)
    keys, _ = _sorted(indices, room[:count], room[count:])
    for place in range(count):
        out[place] = keys[place]
    return _without_repeats(out, out)


@kernel
def _without_repeats(ascending, out):
    """Write each number once, also over them; how many are left.  Every one is written: a branch costs more than that."""
    found = 0
    for place in range(ascending.shape[0] - 1):
        value = ascending[place]
        out[found] = value
        found += ascending[place + 1] != value
    if ascending.shape[0] > 0:
        out[found] = ascending[ascending.shape[0] - 1]
        found += 1
    return found


@kernel
def csr_transposed_dot_here(data, indptr, starts, places, right, rows, out):
    """``out[...] = csrᵀ · right`` for the columns that occur; returns 1 if that is large."""
    if data.shape[0] * (out.shape[1] + FETCH) >= LARGE:
        return 1
    _row_of_each(indptr, rows)
    _grouped_rows(data, starts, places, rows, right, out, 0, out.shape[0])
    return 0


@kernel
def few_rows(indices, work, rows):
    """Returns 1 if a step on these rows is shared among threads, or one of them is outside the weight."""
    if indices.shape[0] * work >= 2 * UPDATE_GRAIN:
        return 1
    for place in range(indices.shape[0]):
        if indices[place] < 0 or indices[place] >= rows:
            return 1
    return 0


@kernel
def other_rows(indices, absent, rows):
    """Write the numbers of the rows that are not among ``indices`` to ``rows`` (n,), ascending; returns how many they are."""
    absent[:] = True
    for place in range(indices.shape[0]):
        absent[indices[place]] = False
    count = 0
    for row in range(absent.shape[0]):
        if absent[row]:
            rows[count] = row
            count += 1
    return count


@kernel
def row_ranks_here(rows, ascending, limit, ranks):
    """``ranks[...] = row_ranks(rows, ascending, limit)``."""
    ranks[:] = _row_ranks(rows, ascending, limit)


@kernel
def ranks_here(columns, starts, places, ranks):
    """The place of each entry among the distinct columns, of groups that have more room than there are columns."""
    for rank in range(columns.shape[0]):
        for place in range(starts[rank], starts[rank + 1]):
            ranks[places[place]] = rank


@kernel
def drop_absent_here(data, ranks, indptr, out, kept, ends):
    """What ``csr_drop_absent`` returns, in the last three arrays; returns how many values are left."""
    values, places, starts = _without_absent(data, ranks, indptr)
    out[: values.shape[0]] = values
    kept[: values.shape[0]] = places
    ends[:] = starts
    return values.shape[0]
