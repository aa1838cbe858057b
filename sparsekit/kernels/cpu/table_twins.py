"""Kernels that a table calls in place of functions in Python that call several.

Those that return 1 for something that only Python does have done nothing then: it runs the operator.
"""

from __future__ import annotations

import functools

import numpy as np

from .csr import _list_columns_shared, _room_for
from .group import _bits_before, _groups, _mark, _outside_rows, _row_ranks, _sorted, _write_ranks_by_bits
from .intrinsic_names import swap, write, zero_bits
from .jit import kernel

#: Entries from which sorting is left to Python: it may be interrupted there.
MANY = 1 << 18

#: Bits of a value that fits with its place in a word, as ``_sorted`` needs it.
FITTING = 44


@kernel
def few_columns(indices):
    """Returns 1 for no entry, for many, and for values that do not fit with their places in a word, as ``_sorted`` needs it."""
    return 1 if indices.shape[0] == 0 or indices.shape[0] >= MANY else _outside_rows(indices, 1 << FITTING)


@kernel
def group_columns_here(indices, room, columns, starts, places):
    """Group entries by column; returns how many columns occur.

    ``room`` (2 n,) is working memory; columns (n,), starts (2 n,) and places (n,) receive what ``group_columns`` returns.
    """
    count = indices.shape[0]
    keys, order = _sorted(indices, room[:count], room[count:])
    distinct = _groups(keys, starts)
    for rank in range(distinct):
        columns[rank] = keys[rank]
    for place in range(count):
        places[place] = order[place]
    return distinct


@kernel
def distinct_here(indices, room, out):
    """Write the distinct entries to ``out`` (n,), ascending; returns how many they are. ``room`` (2 n,) is working memory."""
    count, descents, highest = indices.shape[0], 0, np.uint64(0)
    for place in range(1, count):
        descents += indices[place] < indices[place - 1]
    if descents == 0:
        return _without_repeats(indices, out)
    for place in range(count):
        highest |= np.uint64(indices[place])
    words = np.int64(highest >> np.uint64(6)) + 1
    if words <= count:
        seen = room[:words]
        seen[:] = 0
        return _list_bits(indices, seen, out)
    keys, _ = _sorted(indices, room[:count], room[count:])
    for place in range(count):
        out[place] = keys[place]
    return _without_repeats(out, out)


@kernel
def _list_bits(values, seen, out):
    """Set a bit for each value, and write the numbers of those that are set; returns how many."""
    _mark(values, seen)
    one, count = np.uint64(1), 0
    for number in range(seen.shape[0]):
        word = seen[number]
        while word:
            out[count] = (number << 6) + zero_bits(word)
            count += 1
            word &= word - one
    return count


@kernel
def _without_repeats(ascending, out):
    """Write each number once, also over them; how many are left.  Every one is written: a branch costs more than that."""
    count = 0
    for place in range(ascending.shape[0] - 1):
        value = ascending[place]
        out[count] = value
        count += ascending[place + 1] != value
    if ascending.shape[0] > 0:
        out[count] = ascending[ascending.shape[0] - 1]
        count += 1
    return count


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
def ranks_by_bits_here(indices, seen, before, columns, ranks):
    """The same by bits, of columns that these have room for; returns how many columns occur."""
    seen[:] = 0
    distinct = _bits_before(indices, seen, before)
    _write_ranks_by_bits(indices, seen, before, columns, ranks)
    return distinct


@kernel
def sums_found(ends):
    """How many columns ``_sum_and_mark_shared`` found."""
    return ends[ends.shape[0] - 1]


@functools.lru_cache(8)
def clean_sums(columns, width, dtype, room):
    """Sums, those of a second half, ``room`` marks, and bits for ``_sum_and_mark_shared``, and a word that is 1 while a thread
    uses them.

    All tables share them.  An error in between leaves that word, and the memory alone.
    """
    halves = columns if width == 1 and dtype.kind == "f" else 0
    sums, second = [np.full(_room_for(columns, width), -0.0, dtype)[: count * width].reshape(count, width)
                    for count in (columns, halves)]
    return np.zeros(1, np.int64), sums, second, np.zeros(room, np.bool_), np.zeros((columns >> 6) + 1, np.uint64)


@kernel
def begin_sums(used, indices, columns):
    """Begin to use such memory; 1 if another thread does, or one of the columns is outside."""
    return 1 if _outside_rows(indices, columns) or not swap(used, 0, 0, 1) else 0


@kernel
def list_and_end(shared_state, used, data, words, ends, sums, second, seen, columns, out):
    """``_list_columns_shared``, and the end of the use of the memory."""
    alone = _list_columns_shared(shared_state, words, ends, sums, second, seen, data.shape[0], columns, out)
    write(used, 0, 0)
    return alone
