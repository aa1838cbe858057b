"""Entries grouped by their column: the stable radix sort behind csrᵀ products and embedding gradients."""

from __future__ import annotations

import threading

import numpy as np

from .intrinsic_names import one_bits
from .jit import kernel, scratch

#: Bits that one pass of the sort should take at most: it keeps 2**bits places in memory in motion.
DIGIT = 10

#: Values from which on bits tell their ranks.
LOOKED_UP = 1 << 12

#: Words of bits for each value and each look-up, at most, for which bits tell places.
WORDS_FOR_EACH = 2

#: Words of bits up to which they tell the ranks of distinct values sooner than sorting does: so many stay in the cache.
MOST_WORDS = 1 << 15

#: How many values a call has at least, and at most, that is remembered: comparing takes a tenth of the time of sorting, and
#: copies take memory.
REMEMBERED = range(1 << 12, 1 << 18)


class _Latest(threading.local):
    """By the name of a function, copies of what this thread called it with last, and what it returned."""

    def __init__(self):
        self.calls = {}


_latest = _Latest()


def _returned(name, *arrays):
    """What a function returned, if the thread's last call had equal arrays; None otherwise, and that call is forgotten.

    A step with several products of one csr matrix asks for the same groups and ranks several times.
    """
    previous, returned = _latest.calls.pop(name, ((), None))
    if len(previous) != len(arrays) or not all(map(np.array_equal, previous, arrays)):
        return None
    _latest.calls[name] = previous, returned
    return returned


def _remember(name, returned, *arrays):
    if arrays[0].shape[0] in REMEMBERED:
        _latest.calls[name] = [array.copy() for array in arrays], returned


@kernel
def _bits(value):
    """How many bits an unsigned number has."""
    count = np.uint64(0)
    while value >> count and count < np.uint64(63):
        count += np.uint64(1)
    return count


@kernel
def _sort_entries(entries, other, highest, room):
    """Sort ``value << room | position`` in ``entries`` (n,) by value; the sorted ones and the spare buffer.

    A stable radix sort from the lowest digit of the values up; the positions ride along in the low bits.
    """
    total = np.int64(_bits(highest))
    passes = (total + DIGIT - 1) // DIGIT
    while passes and (1 << total // passes) > 2 * entries.shape[0]:  # few entries: more passes, with fewer places each
        passes += 1
    width = np.uint64(total // passes + (total % passes > 0)) if passes else np.uint64(1)
    mask = (np.uint64(1) << width) - np.uint64(1)
    targets = np.zeros((passes, np.int64(mask) + 1), np.int64)
    for place in range(entries.shape[0]):
        value = entries[place] >> room
        for number in range(passes):
            targets[number, value & mask] += 1
            value >>= width
    shift = room
    for number in range(passes):
        target, before = targets[number], 0
        for digit in range(target.shape[0]):
            here = target[digit]
            target[digit] = before
            before += here
        for place in range(entries.shape[0]):
            digit = (entries[place] >> shift) & mask
            other[np.uint64(target[digit])] = entries[place]
            target[digit] += 1
        entries, other = other, entries
        shift += width
    return entries, other


@kernel
def _sorted(indices, entries, other):
    """The values in ascending order, and the position of each, in the two buffers, uint64 (n,); (0,) if they do not fit.

    Value and position share a word while they are sorted.
    """
    count, highest, descents, before = indices.shape[0], np.uint64(0), 0, np.uint64(0)
    for place in range(count):
        value = np.uint64(indices[place])
        highest |= value
        descents += int(before > value)
        before = value
    if descents == 0:
        for place in range(count):
            other[place], entries[place] = np.uint64(indices[place]), np.uint64(place)
        return other, entries
    room = _bits(np.uint64(count))
    if np.int64(room) + np.int64(_bits(highest)) > 63:
        return other[:0], entries[:0]
    for place in range(count):
        entries[place] = np.uint64(indices[place]) << room | np.uint64(place)
    entries, other = _sort_entries(entries, other, highest, room)
    mask = (np.uint64(1) << room) - np.uint64(1)
    for place in range(count):
        other[place] = entries[place] >> room
        entries[place] &= mask
    return other, entries


@kernel
def _groups(keys, starts):
    """Move the distinct keys to the front, and write where each group begins; how many there are."""
    distinct = 0
    for place in range(keys.shape[0]):
        key = keys[place]
        if distinct == 0 or key != keys[distinct - 1]:
            keys[distinct], starts[distinct] = key, np.uint64(place)
            distinct += 1
    starts[distinct] = np.uint64(keys.shape[0])
    return distinct


def group_columns(indices):
    """Entries by column: the distinct columns ascending, where each starts, and the entries' positions in that order.

    ``indices`` (n,), not negative; returns int64 (distinct,), and uint64 (distinct + 1,) and (n,) in working
    memory that lasts until the calling thread groups again.
    """
    groups = _returned("group_columns", indices)
    if groups is not None:
        return groups[0].copy(), *groups[1:]
    count = indices.shape[0]
    room = scratch("group", 3 * count + 1)
    keys, places = _sorted(indices, room[:count], room[count: 2 * count])
    if keys.shape[0] < count:  # numpy sorts anything; compiling its sort would take seconds
        order = np.argsort(indices, kind="stable")
        keys, places = indices[order].astype(np.uint64), order.astype(np.uint64)
    starts = room[2 * count: 3 * count + 1]
    # A copy by numpy, whose memory has huge pages: page faults in numba's took half the time of a large call.
    columns = keys[: _groups(keys, starts)].view(np.int64).copy()
    groups = columns, starts[: columns.shape[0] + 1], places
    _remember("group_columns", (columns.copy(), *groups[1:]), indices)
    return groups


def distinct(indices):
    """The distinct values of ``indices`` (n,), ascending; no sort where they ascend already."""
    if (indices[1:] >= indices[:-1]).all():
        first = np.ones(indices.shape[0], bool)
        np.not_equal(indices[1:], indices[:-1], out=first[1:])
        return indices[first]
    groups = unique_with_rank(indices) if _words_of_bits(indices) else group_columns(indices)
    return groups[0].astype(indices.dtype, copy=False)


@kernel
def _write_ranks(starts, places, ranks):
    for rank in range(starts.shape[0] - 1):
        for place in range(np.uint64(starts[rank]), np.uint64(starts[rank + 1])):
            ranks[np.uint64(places[place])] = rank


@kernel
def _mark(values, seen):
    """Set a bit for each value."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    for place in range(values.shape[0]):
        value = np.uint64(values[place])
        seen[value >> six] |= one << (value & low)


@kernel
def _bits_before(values, seen, before):
    """Set a bit for each value, and write how many are set before each word; returns how many are set in all."""
    _mark(values, seen)
    count = 0
    for number in range(seen.shape[0]):
        before[number] = count
        count += one_bits(seen[number])
    return count


def _words_for(count, columns):
    """Words of bits for so many columns, if these tell the ranks of so many entries sooner than sorting does; 0 otherwise."""
    words = (columns + 63) >> 6 if count >= LOOKED_UP else 0
    return words if words <= min(count, MOST_WORDS) else 0


def _words_of_bits(indices):
    return _words_for(indices.shape[0], int(indices.max()) + 1) if indices.shape[0] else 0


def unique_with_rank(indices):
    """The distinct values of ``indices`` (n,), ascending, and for each entry its place among them, int64 both.

    The places are not to be written to: another call may return them.
    """
    count, words = indices.shape[0], _words_of_bits(indices)
    if not words:
        columns, starts, places = group_columns(indices)
        ranks = np.empty(count, np.int64)
        _write_ranks(starts, places, ranks)
        return columns, ranks
    result = _returned("unique_with_rank", indices)
    if result is None:
        seen, before = np.zeros(words, np.uint64), np.empty(words, np.int32)
        columns, ranks = np.empty(_bits_before(indices, seen, before), np.int64), np.empty(count, np.int64)
        _write_ranks_by_bits(indices, seen, before, columns, ranks)
        _remember("unique_with_rank", (columns, ranks), indices)
        result = columns, ranks
    return result[0].copy(), result[1]


@kernel
def _write_ranks_by_bits(values, seen, before, columns, ranks):
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    for place in range(values.shape[0]):
        value = np.uint64(values[place])
        rank = before[value >> six] + one_bits(seen[value >> six] & ((one << (value & low)) - one))
        columns[rank], ranks[place] = values[place], rank


@kernel
def _ranks_by_bits(rows, ascending, limit, ranks):
    """``row_ranks`` with a bit for each value below ``limit``, and how many are set before each word of bits."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    seen, before = np.zeros((limit >> 6) + 1, np.uint64), np.empty((limit >> 6) + 1, np.int32)
    _bits_before(ascending, seen, before)
    for place in range(rows.shape[0]):
        row = np.uint64(rows[place])
        word, bit = seen[row >> six], one << (row & low)
        ranks[place] = before[row >> six] + one_bits(word & (bit - one)) if word & bit else -1


@kernel
def _row_ranks(rows, ascending, limit):
    """``row_ranks``, not remembered.

    Bits of all values tell if they are few words for so many look-ups.  Otherwise a table of about m entries says where values
    with the same high bits begin, so that a look-up takes few steps unless values crowd, and no more than a binary search then.
    """
    count, ranks = ascending.shape[0], np.empty(rows.shape[0], np.int64)
    if limit >> 6 <= WORDS_FOR_EACH * (count + rows.shape[0]) < 1 << 31:
        _ranks_by_bits(rows, ascending, limit, ranks)
        return ranks
    shift = 0
    while (limit >> shift) > 2 * count + 2:
        shift += 1
    table = np.zeros((limit >> shift) + 2, np.int64)
    for place in range(count):
        table[(ascending[place] >> shift) + 1] += 1
    for entry in range(1, table.shape[0]):
        table[entry] += table[entry - 1]
    for place in range(rows.shape[0]):
        row = rows[place]
        low, high = table[row >> shift], table[(row >> shift) + 1]
        while low < high:
            middle = (low + high) >> 1
            if ascending[middle] < row:
                low = middle + 1
            else:
                high = middle
        ranks[place] = low if low < count and ascending[low] == row else -1
    return ranks


def row_ranks(rows, ascending, limit):
    """Place of each of ``rows`` (n,) among ``ascending`` (m,), -1 where it is absent, int64; all are below ``limit``."""
    ranks = _returned("row_ranks", rows, ascending)
    if ranks is None:
        ranks = _row_ranks(rows, ascending, limit)
        _remember("row_ranks", ranks, rows, ascending)
    return ranks


@kernel
def _outside(values, size):
    for place in range(values.shape[0]):
        if not (values[place] > -1 and values[place] < size):
            return 1
    return 0


@kernel
def _outside_rows(indices, rows):
    """1 if an index is not in ``0 … rows - 1``, else 0."""
    bits = np.int64(0)  # without a branch, so that it compiles to vectors
    for place in range(indices.shape[0]):
        bits |= indices[place] | (rows - 1 - indices[place])
    return 1 if bits < 0 else 0


def outside(values, size):
    """1 if a position is not in ``0 … size - 1``, fractions cut off, or is NaN; else 0."""
    return _outside(values.reshape(-1), size)


@kernel
def _next_shared(indices, others, left, right):
    """From these places on, those of the next number that two ascending arrays share; the first array's end if there is none."""
    while left < indices.shape[0] and right < others.shape[0]:
        value = indices[left]
        if 0 <= value < others.shape[0] and others[value] == value:  # as all are that are less
            right = value
        if value < others[right]:
            left += 1
        elif others[right] < value:
            right += 1
        else:
            return left, right
    return indices.shape[0], right


@kernel
def _shared_rows(indices, others, shared, at, other):
    count = 0
    left, right = _next_shared(indices, others, 0, 0)
    while left < indices.shape[0]:
        shared[count], at[count], other[count] = indices[left], left, right
        count += 1
        left, right = _next_shared(indices, others, left + 1, right + 1)
    return count


def shared_rows(indices, others):
    """The numbers that are in two ascending arrays without repetition, and their places in both, int64."""
    room = min(indices.shape[0], others.shape[0])
    shared, at, other = np.empty(room, indices.dtype), np.empty(room, np.int64), np.empty(room, np.int64)
    count = _shared_rows(indices, others, shared, at, other)
    return shared[:count], at[:count], other[:count]
