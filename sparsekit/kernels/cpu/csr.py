"""Kernels whose first operand is a CSR matrix."""

from __future__ import annotations

import numpy as np

from .group import _mark, _words_of_bits, group_columns, unique_with_rank
from .intrinsic_names import (
    WORKERS,
    add_eight,
    changed,
    one_bits,
    prefetch,
    put_up,
    read,
    read_ahead,
    take_marks,
    zero_bits,
)
from .jit import KEPT, give_back, kernel, scratch, single_precision, take_clean, worker_count
from .thread_pool import share, spread

#: Multiplications for each thread, at least.
GRAIN = 1 << 16

#: Distances of prefetches in stored values: for single values of a vector, for whole rows, and for entries of a column.
AHEAD, ROWS_AHEAD, GROUPS_AHEAD = 128, 16, 16

#: The same for stored values that are read one after another, which the processor's own prefetches reach too late where each
#: is added elsewhere, and for the sums that they are added to.
STREAM_AHEAD, SUMS_AHEAD = 256, 64

#: From how many stored values on, and how many sums, that is worth it; fewer are in the cache.
STREAMED, SPREAD_OUT = 1 << 19, 1 << 21

#: Sums up to which the second cache holds them.
SUMS_NEAR = 1 << 18

#: Entries from which on those of a column are prefetched: fewer are in the cache anyway.
MANY = 1 << 16

#: Elements of a line of the cache, if they have four bytes.
LINE = 16

#: Elements from which on a loop is compiled to vectors that are filled, and those that ``add_eight`` adds to.
VECTOR = 8

#: Multiplications that fetching one row of the other operand from memory is worth.
FETCH = 16

#: Pieces for each thread at most: few, since each piece begins with memory that was not prefetched.
PIECES = 8

#: Elements for each stored value, at most, for which a transposed product adds up sums for every column: if these take no
#: more bytes than a thread keeps as working memory, and if they take more.
SPREAD, CROWDED, MOST_KEPT = 64, 8, KEPT * 8

#: Columns up to which a byte marks each that occurs: it is written without being read, so that a column that occurs again and
#: again is not waited for.  Beyond, a bit does, as bytes would take too much of the cache.
BYTES = 1 << 22

#: Bytes for each stored value, at most, that are worth looking through.
SCANNED = 16

#: Stored values from which on a product with a vector is added up in two halves, and columns up to which that is so, if there are
#: no more of them than of stored values.
HALVED, HALVES = 1 << 17, 1 << 21

#: Bytes of such sums up to which they lie together; beyond, where few of many columns occur, those get sums of their own.
NEAR = 1 << 23

#: Stored values from which on that is so, as fewer are sorted at once, and columns of the other operand up to which it is: one
#: thread adds up, and sorted entries are shared by all.
LEAST, NARROW = 1 << 10, 16

#: Stored values for each column from which on more columns of the other operand are added up so, and how many of them at most,
#: times the threads that sorted entries would be shared by.
REPEATED, SHARED = 8, 128

#: Threads up to which one that adds up many values in their order is done sooner than all that add them up column by column.
FEW = 4

_WORD, _HALF, _MARK = np.dtype(np.uint64), np.dtype(np.float16), np.dtype(np.bool_)
_NO_MARKS = np.zeros(0, np.bool_)


def _bytes_for(columns, stored):
    """How many bytes mark the columns of so many stored values: whole words of bits; 0 if bits do."""
    return _room_for(columns, 1) if columns <= min(BYTES, SCANNED * stored) else 0


def _room_for(columns, width):
    """Elements of the memory for a row of sums for each column: whole words of bits of them."""
    return ((columns >> 6) + 1 << 6) * width


@kernel
def _for_several(stored, width):
    """Whether several threads do a product with so many stored values sooner than one."""
    return stored * (width + FETCH) >= 2 * GRAIN


@kernel
def _grain(shared_state, rows, stored, width):
    """Rows in one piece of a loop over rows that hold so many values, each worth a row of ``width``.

    All of them where one thread does them sooner than several.
    """
    if not _for_several(stored, width):
        return rows
    return max(1, rows * GRAIN // (stored * (width + FETCH)), rows // (PIECES * read(shared_state, WORKERS)))


@kernel(fastmath={"contract", "reassoc"})
def _csr_dot_dense_rows(data, indices, indptr, right, out, start, stop):
    """Four stored values at a time, so that the sum is written once for them; wide rows are prefetched."""
    one, four, ahead, stored = np.uint64(1), np.uint64(4), np.uint64(ROWS_AHEAD), np.uint64(indptr[indptr.shape[0] - 1])
    width, elements = right.shape[1], right.reshape(right.size)
    for row in range(start, stop):
        total = out[row]
        total[:] = 0
        place, end = np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        while place + four <= end:
            if width >= LINE and place + ahead + four <= stored:
                for soon in range(place + ahead, place + ahead + four):
                    beginning = np.uint64(indices[soon]) * np.uint64(width)
                    for column in range(0, width, LINE):
                        prefetch(elements, beginning + np.uint64(column))
            first, second, third, last = place, place + one, place + one + one, place + four - one
            first_row, second_row = right[np.uint64(indices[first])], right[np.uint64(indices[second])]
            third_row, last_row = right[np.uint64(indices[third])], right[np.uint64(indices[last])]
            first_value, second_value, third_value, last_value = data[first], data[second], data[third], data[last]
            for column in range(width):
                total[column] += (first_value * first_row[column] + second_value * second_row[column]
                                  + third_value * third_row[column] + last_value * last_row[column])
            place += four
        while place < end:
            value, source = data[place], right[np.uint64(indices[place])]
            for column in range(width):
                total[column] += value * source[column]
            place += one


@kernel
def _csr_dot_vector_rows(data, indices, indptr, right, out, start, stop):
    """The values of ``right`` lie anywhere in memory, so they are prefetched."""
    vector, ahead, last = right.reshape(right.shape[0]), np.uint64(AHEAD), np.uint64(indptr[indptr.shape[0] - 1])
    for row in range(start, stop):
        total, end = out.dtype.type(0), np.uint64(indptr[row + 1])
        if end + ahead <= last:
            for place in range(np.uint64(indptr[row]), end):
                prefetch(vector, np.uint64(indices[place + ahead]))
                total += data[place] * vector[np.uint64(indices[place])]
        else:
            for place in range(np.uint64(indptr[row]), end):
                total += data[place] * vector[np.uint64(indices[place])]
        out[row, 0] = total


@kernel
def _dot_dense_shared(shared_state, data, indices, indptr, right, out):
    body, arguments = put_up(_csr_dot_dense_rows, (data, indices, indptr, right, out))
    rows = out.shape[0]
    return spread(shared_state, rows, _grain(shared_state, rows, data.shape[0], out.shape[1]), body, arguments)


@kernel
def _dot_vector_shared(shared_state, data, indices, indptr, right, out):
    body, arguments = put_up(_csr_dot_vector_rows, (data, indices, indptr, right, out))
    rows = out.shape[0]
    return spread(shared_state, rows, _grain(shared_state, rows, data.shape[0], 1), body, arguments)


@single_precision
def csr_dot_dense(data, indices, indptr, right, out):
    """``out[...] = csr · right``; right (columns, width), out (rows, width)."""
    share(_dot_vector_shared if out.shape[1] == 1 else _dot_dense_shared, data, indices, indptr, right, out)


@single_precision
def csr_drop_absent(data, ranks, indptr):
    """The matrix without the values whose rank is negative: data, ranks and indptr; the arrays themselves if there are none."""
    if ranks.min(initial=0) >= 0:
        return data, ranks, indptr
    out, kept, ends = np.empty_like(data), np.empty_like(ranks), np.empty_like(indptr)
    count = _drop_absent(data, ranks, indptr, out, kept, ends)
    return out[:count], kept[:count], ends


@kernel
def _drop_absent(data, ranks, indptr, out, kept, ends):
    """Write that to arrays with room for all; returns how many values are left.  Each is written: a branch costs more."""
    count = 0
    for row in range(ends.shape[0] - 1):
        ends[row] = count
        for place in range(indptr[row], indptr[row + 1]):
            rank = ranks[place]
            out[count], kept[count] = data[place], rank
            count += rank >= 0
    ends[ends.shape[0] - 1] = count
    return count


@kernel
def csr_dot_csr(data, indices, indptr, right_data, right_indices, right_indptr, out):
    """``out[...] = csr · csr`` as a dense array; out (rows, right columns)."""
    out[:] = 0
    for row in range(out.shape[0]):
        for place in range(indptr[row], indptr[row + 1]):
            value, source = data[place], indices[place]
            for other in range(right_indptr[source], right_indptr[source + 1]):
                out[row, right_indices[other]] += value * right_data[other]


@kernel
def csr_transposed_dot_dense(data, indices, indptr, right, out):
    """``out += csrᵀ · right``; right (rows, width), out (columns, width) already cleared.

    ``indices`` may be ranks into a shorter ``out`` that holds the occurring columns only.
    """
    width = right.shape[1]
    for row in range(indptr.shape[0] - 1):
        for place in range(indptr[row], indptr[row + 1]):
            value, target = data[place], indices[place]
            for column in range(width):
                out[target, column] += value * right[row, column]


@kernel
def _in_halves(stored, columns, width):
    """Whether a sum is that of two sums, over the first rows and the others: by the numbers alone, whatever the way."""
    return width == 1 and stored >= HALVED and columns <= min(stored, HALVES)


@kernel
def _middle(indptr):
    """The row at which the second half of the stored values begins, about."""
    return np.searchsorted(indptr, indptr[indptr.shape[0] - 1] >> 1)


@kernel(fastmath={"contract", "reassoc"})
def _grouped_rows(data, indptr, starts, places, rows, right, columns, out, start, stop):
    """Entries of a column lie anywhere in memory, so that they and their rows of ``right`` are prefetched if there are many.

    Products are rounded before they are added, or not, as by ``_sum_vector`` or ``_sum_matrix``.
    """
    width, elements, zero = right.shape[1], right.reshape(right.size), out.dtype.type(0)
    far, near = np.uint64(2 * GROUPS_AHEAD), np.uint64(GROUPS_AHEAD)
    last = np.uint64(places.shape[0] - 2 * GROUPS_AHEAD if places.shape[0] > MANY else 0)
    halves = _in_halves(places.shape[0], columns, width)
    middle = np.uint64(_middle(indptr) if halves else indptr.shape[0])
    for rank in range(start, stop):
        total, first, end = out[rank], -zero, middle
        for order in range(np.uint64(starts[rank]), np.uint64(starts[rank + 1])):
            if order < last:
                soon = np.uint64(places[order + far])
                prefetch(data, soon)
                prefetch(rows, soon)
                beginning = np.uint64(rows[np.uint64(places[order + near])]) * np.uint64(width)
                for column in range(0, width, LINE):
                    prefetch(elements, beginning + np.uint64(column))
            place = np.uint64(places[order])
            value, source = data[place], right[np.uint64(rows[place])]
            if np.uint64(rows[place]) >= end:
                if order != np.uint64(starts[rank]):
                    first, total[0] = total[0], -zero
                end = ~np.uint64(0)
            if order == np.uint64(starts[rank]):
                for column in range(width):
                    total[column] = value * source[column] + zero
            elif width == 1:
                total[0] += value * source[0] + zero
            else:
                for column in range(width):
                    total[column] += value * source[column]
        if halves:
            total[0] += first


@kernel
def _row_of_each(indptr, rows):
    for row in range(indptr.shape[0] - 1):
        for place in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            rows[place] = row


@kernel
def _grouped_shared(shared_state, data, indptr, starts, places, right, rows, columns, out):
    """``csrᵀ · right`` of entries grouped by column; ``rows`` (stored,) is working memory."""
    _row_of_each(indptr, rows)
    body, arguments = put_up(_grouped_rows, (data, indptr, starts, places, rows, right, columns, out))
    distinct = out.shape[0]
    return spread(shared_state, distinct, _grain(shared_state, distinct, data.shape[0], out.shape[1]), body, arguments)


def _dot_grouped(data, indices, indptr, right, columns):
    """csrᵀ · right by sorting the entries: 32 bytes of working memory for each stored value."""
    occurring, starts, places = group_columns(indices)
    out = np.empty((occurring.shape[0], right.shape[1]), data.dtype)
    share(_grouped_shared, data, indptr, starts, places, right, scratch("rows", data.shape[0]), columns, out)
    return occurring, out


@kernel(fastmath={"contract"})
def _sum_vector(data, indices, indptr, right, sums, start, stop):
    """``sums += csrᵀ · right`` for a vector and some rows; what is read next is prefetched, and sums that are not in the cache.

    Adding +0.0 makes products +0.0 that are -0.0, so that no sum is what all begin with after a product was added to it.
    """
    vector, totals, zero = right.reshape(right.size), sums.reshape(sums.size), sums.dtype.type(0)
    far, near, half = np.uint64(STREAM_AHEAD), np.uint64(SUMS_AHEAD), np.uint64(LINE // 2)
    last = np.uint64(max(0, indices.shape[0] - SUMS_AHEAD))
    apart = indices.shape[0] > STREAMED and sums.size > SUMS_NEAR
    for row in range(start, stop):
        factor, begin, end = vector[row], np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        ahead = begin + far
        while ahead < end + far:
            prefetch(indices, ahead)
            prefetch(data, ahead)
            ahead += half
        if apart and end <= last:
            for place in range(begin, end):
                prefetch(totals, np.uint64(indices[place + near]))
        for place in range(begin, end):
            totals[np.uint64(indices[place])] += data[place] * factor + zero


@kernel(fastmath={"contract", "reassoc"})
def _sum_matrix(data, indices, indptr, right, sums):
    """``sums += csrᵀ · right``; rows that are added to next are prefetched, where they are not in the cache.

    Columns are gone through in vectors, or each by itself if they are few: a loop over columns costs more than reading the places
    again.
    """
    width, elements, near, sources = right.shape[1], sums.reshape(sums.size), np.uint64(ROWS_AHEAD), right.reshape(right.size)
    last, units = np.uint64(max(0, indices.shape[0] - ROWS_AHEAD) if sums.size > SPREAD_OUT else 0), np.uint64(width)
    for row in range(indptr.shape[0] - 1):
        source, begin, end = right[row], np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        if end <= last:
            for place in range(begin, end):
                beginning = np.uint64(indices[place + near]) * units
                for column in range(0, width, LINE):
                    prefetch(elements, beginning + np.uint64(column))
        if width % VECTOR == 0:
            for column in range(np.uint64(0), units, np.uint64(VECTOR)):
                for place in range(begin, end):
                    add_eight(elements, np.uint64(indices[place]) * units + column, sources, np.uint64(row) * units + column,
                              data[place])
        elif width < VECTOR:
            for column in range(width):
                factor = source[column]
                for place in range(begin, end):
                    elements[np.uint64(indices[place]) * units + np.uint64(column)] += data[place] * factor
        else:
            for place in range(begin, end):
                value, total = data[place], sums[np.uint64(indices[place])]
                for column in range(width):
                    total[column] += value * source[column]


@kernel
def _read_ahead(sums, stored):
    """Read the sums in their order, if so many stored values would read most in another and caches hold them all."""
    line, elements = 64 // sums.itemsize, sums.reshape(sums.size)
    if SUMS_NEAR < sums.size <= SPREAD_OUT and stored >= 2 * (sums.size // line):
        for element in range(0, sums.size, line):
            read_ahead(elements, np.uint64(element))


@kernel
def _mark_and_count(indices, marks, seen, words, ends):
    """Set a bit for each column that occurs, and count these before each of the ``words``, which are pieces of the bits."""
    if marks.shape[0] > 0:
        for place in range(indices.shape[0]):
            marks[np.uint64(indices[place])] = True
    else:
        _mark(indices, seen)
    count, number = np.int64(0), 0
    for piece in range(words.shape[0]):
        words[piece] = piece * seen.shape[0] // (words.shape[0] - 1)
        while number < words[piece]:
            if marks.shape[0] > 0:
                seen[number] = take_marks(marks, number << 6)
            count += one_bits(seen[number])
            number += 1
        ends[piece] = count


@kernel
def _sum_or_mark(data, indices, indptr, right, sums, marks, seen, words, ends, start, stop):
    """Two pieces of work for two threads: sums of products are added up in order, so that no two threads can do that."""
    stored, width = indices.shape[0], right.shape[1]
    for piece in range(start, stop):
        if piece == 0 and width > 1:
            _read_ahead(sums, stored)
        if piece == 1:
            _mark_and_count(indices, marks, seen, words, ends)
        elif width > 1:
            _sum_matrix(data, indices, indptr, right, sums)
        else:
            _sum_vector(data, indices, indptr, right, sums, 0, indptr.shape[0] - 1)


@kernel
def _sum_half(data, indices, indptr, right, sums, second, middle, start, stop):
    """Two pieces of work for two threads: the rows before the middle, and the others."""
    for piece in range(start, stop):
        if piece == 0:
            _sum_vector(data, indices, indptr, right, sums, 0, middle)
        else:
            _sum_vector(data, indices, indptr, right, second, middle, indptr.shape[0] - 1)


@kernel
def _mark_changed(sums, second, seen, words, ends, start, stop):
    """Set a bit for each column one of whose sums is not what all begin with, and count the bits of each piece."""
    first, other = sums.reshape(sums.size), second.reshape(second.size)
    for piece in range(start, stop):
        count = 0
        for number in range(words[piece], words[piece + 1]):
            seen[number] = changed(first, number << 6) | changed(other, number << 6)
            count += one_bits(seen[number])
        ends[piece + 1] = count


@kernel
def _sum_and_mark_shared(shared_state, data, indices, indptr, right, sums, second, marks, seen, words, ends):
    """Add up ``csrᵀ · right``, mark the columns that occur, and count them.

    Sums of the second half go to ``second``, which has no rows if there are none; then the sums tell which columns occur.
    """
    if second.shape[0] > 0 and _in_halves(data.shape[0], sums.shape[0], right.shape[1]):
        half, numbers = put_up(_sum_half, (data, indices, indptr, right, sums, second, _middle(indptr)))
        alone, pieces = spread(shared_state, 2, 1, half, numbers), words.shape[0] - 1
        for piece in range(pieces + 1):
            words[piece] = piece * seen.shape[0] // pieces
        look, places = put_up(_mark_changed, (sums, second, seen, words, ends))
        spread(shared_state, pieces, 1, look, places)
        ends[0] = 0
        for piece in range(pieces):
            ends[piece + 1] += ends[piece]
        return alone
    body, arguments = put_up(_sum_or_mark, (data, indices, indptr, right, sums, marks, seen, words, ends))
    return spread(shared_state, 2, 1 if _for_several(data.shape[0], right.shape[1]) else 2, body, arguments)


@kernel
def _list_columns(words, ends, sums, second, seen, stored, columns, out, start, stop):
    """Write the columns that occur, and their sums, zeros as +0.0; leave the sums and the bits clear again."""
    one, six, width, clear, zero = np.uint64(1), np.uint64(6), sums.shape[1], sums.dtype.type(-0.0), sums.dtype.type(0)
    halves = second.shape[0] > 0 and _in_halves(stored, sums.shape[0], width)
    for piece in range(start, stop):
        rank = np.uint64(ends[piece])
        for number in range(np.uint64(words[piece]), np.uint64(words[piece + 1])):
            word = seen[number]
            seen[number] = np.uint64(0)
            while word:
                column = (number << six) + np.uint64(zero_bits(word))
                columns[rank] = np.int64(column)
                if halves:
                    out[rank, 0] = sums[column, 0] + second[column, 0]
                    sums[column, 0] = second[column, 0] = clear
                elif width == 1:
                    out[rank, 0] = sums[column, 0]
                    sums[column, 0] = clear
                else:
                    for element in range(width):
                        out[rank, element] = sums[column, element] + zero
                        sums[column, element] = clear
                word &= word - one
                rank += one


@kernel
def _list_columns_shared(shared_state, words, ends, sums, second, seen, stored, columns, out):
    """Write what ``_sum_and_mark_shared`` found, and leave the sums and bits clear again; a piece for each of the ``words``."""
    body, arguments = put_up(_list_columns, (words, ends, sums, second, seen, stored, columns, out))
    return spread(shared_state, words.shape[0] - 1, 1, body, arguments)


def _dot_summed(data, indices, indptr, right, columns):
    """csrᵀ · right by adding into a row for every column.

    Working memory is a row of sums and a bit for each column, and a byte unless there are many, or two sums.  Sums begin with
    -0.0, to which adding any other number gives that number.
    """
    stored, width, size = data.shape[0], right.shape[1], (columns >> 6) + 1
    room = _room_for(columns, width)
    halves = data.dtype.kind == "f" and _in_halves.py_func(stored, columns, width)
    held, bits = take_clean("sums", room, data.dtype, -0.0), take_clean("seen", size, _WORD, 0)
    sums, seen, second, marks = held[: columns * width].reshape(columns, width), bits[:size], held[:0].reshape(0, 1), _NO_MARKS
    if halves:
        spare = take_clean("second", room, data.dtype, -0.0)
        second = spare[:columns].reshape(columns, 1)
    elif marked := _bytes_for(columns, stored):
        spare = take_clean("marks", marked, _MARK, 0)
        marks = spare[:marked]
    words = np.empty(1 + (worker_count() if _for_several.py_func(stored, width) else 1), np.int64)
    ends = np.empty_like(words)
    share(_sum_and_mark_shared, data, indices, indptr, right, sums, second, marks, seen, words, ends)
    occurring, out = np.empty(ends[-1], np.int64), np.empty((ends[-1], width), data.dtype)
    share(_list_columns_shared, words, ends, sums, second, seen, stored, occurring, out)
    give_back("sums", held)
    give_back("seen", bits)
    if halves or marks is not _NO_MARKS:
        give_back("second" if halves else "marks", spare)
    return occurring, out


def _dot_ranked(data, indices, indptr, right):
    """csrᵀ · right by adding into a row for every column that occurs, whose rank bits tell."""
    columns, ranks = unique_with_rank(indices)
    sums = np.empty((columns.shape[0], right.shape[1]), data.dtype)
    _sum_ranked(data, ranks, indptr, right, sums)
    return columns, sums


@kernel
def _sum_ranked(data, ranks, indptr, right, sums):
    """``sums = csrᵀ · right`` where the ranks are those of columns that occur."""
    sums[:] = 0
    if right.shape[1] == 1:
        _sum_vector(data, ranks, indptr, right, sums, 0, indptr.shape[0] - 1)
    else:
        _sum_matrix(data, ranks, indptr, right, sums)


def _transposed_way(stored, elements, width, dtype, words):
    """The sooner way: for every column sums, so many elements, or for those that occur, or by sorting the stored values.

    ``words()`` gives the words of bits that tell the ranks of columns, 0 if these are too many.
    """
    nbytes = elements * dtype.itemsize
    narrow = width <= NARROW or (stored * width >= REPEATED * elements and width * worker_count() <= SHARED)
    if stored < LEAST or not narrow or dtype.kind not in "fiu":
        return "grouped"
    crowded = elements <= (SPREAD if nbytes <= MOST_KEPT else CROWDED) * stored
    far_apart = nbytes > MOST_KEPT or (nbytes > NEAR and elements > stored * width)
    if width > 1 and (far_apart or not crowded) and words():
        return "ranked"
    return "summed" if crowded else "grouped"


def csr_transposed_dot_rows(data, indices, indptr, right, columns):
    """csrᵀ · right for the columns that occur: these, ascending, and the rows of the product, in the type of data.

    A column's products are added in the order of the rows, those of many stored values in two halves (``_in_halves``), by either
    way and by any number of threads, so that the result is the same to the last bit.
    """
    if data.dtype is _HALF or right.dtype is _HALF:
        wide = np.result_type(data.dtype, np.float32)
        occurring, out = csr_transposed_dot_rows(data.astype(wide), indices, indptr, right.astype(np.float32), columns)
        return occurring, out.astype(data.dtype)
    stored, width = data.shape[0], right.shape[1]
    way = _transposed_way(stored, columns * width, width, data.dtype, lambda: _words_of_bits(indices))
    if way == "grouped" and width == 1 and stored > STREAMED and worker_count() <= FEW:
        way = "ranked"  # by sorting too: products are added one after another, not fetched from everywhere
    if way == "ranked":
        return _dot_ranked(data, indices, indptr, right)
    return (_dot_summed if way == "summed" else _dot_grouped)(data, indices, indptr, right, columns)


@kernel
def csr_transposed_dot_row_sparse(data, indices, indptr, right_data, right_indices, out):
    """``out += csrᵀ · row_sparse``; only rows of the csr matrix that the right side stores count."""
    width = right_data.shape[1]
    for rank in range(right_indices.shape[0]):
        row = right_indices[rank]
        for place in range(indptr[row], indptr[row + 1]):
            value, target = data[place], indices[place]
            for column in range(width):
                out[target, column] += value * right_data[rank, column]


@kernel
def csr_sum_rows(data, indptr, out):
    """Sum of each row into out (rows,)."""
    for row in range(out.shape[0]):
        total = out.dtype.type(0)
        for place in range(indptr[row], indptr[row + 1]):
            total += data[place]
        out[row] = total


@kernel
def csr_sum_columns(data, indices, out):
    """Add each column's values to out (columns,), already cleared."""
    for place in range(data.shape[0]):
        out[indices[place]] += data[place]


@kernel
def csr_row_scale(data, indptr, factor, out):
    """``out[place] = data[place] * factor[row]``; factor (rows,)."""
    for row in range(indptr.shape[0] - 1):
        for place in range(indptr[row], indptr[row + 1]):
            out[place] = data[place] * factor[row]


@kernel
def csr_column_scale(data, indices, factor, out):
    """``out[place] = data[place] * factor[column]``; factor (columns,)."""
    for place in range(data.shape[0]):
        out[place] = data[place] * factor[indices[place]]


@kernel
def csr_add_csr(data, indices, indptr, right_data, right_indices, right_indptr, factor, out, out_indices, out_indptr):
    """Merge ``csr + factor * csr`` into buffers large enough for both; returns the stored count."""
    count = 0
    out_indptr[0] = 0
    for row in range(indptr.shape[0] - 1):
        left, right = indptr[row], right_indptr[row]
        left_end, right_end = indptr[row + 1], right_indptr[row + 1]
        while left < left_end or right < right_end:
            if right >= right_end or (left < left_end and indices[left] < right_indices[right]):
                out_indices[count], out[count] = indices[left], data[left]
                left += 1
            elif left >= left_end or right_indices[right] < indices[left]:
                out_indices[count], out[count] = right_indices[right], factor * right_data[right]
                right += 1
            else:
                out_indices[count], out[count] = indices[left], data[left] + factor * right_data[right]
                left += 1
                right += 1
            count += 1
        out_indptr[row + 1] = count
    return count


@kernel
def csr_multiply_csr(data, indices, indptr, right_data, right_indices, right_indptr, out, out_indices, out_indptr):
    """Elementwise product where both store a value; returns the stored count."""
    count = 0
    out_indptr[0] = 0
    for row in range(indptr.shape[0] - 1):
        left, right = indptr[row], right_indptr[row]
        while left < indptr[row + 1] and right < right_indptr[row + 1]:
            if indices[left] < right_indices[right]:
                left += 1
            elif right_indices[right] < indices[left]:
                right += 1
            else:
                out_indices[count], out[count] = indices[left], data[left] * right_data[right]
                left += 1
                right += 1
                count += 1
        out_indptr[row + 1] = count
    return count


@kernel
def csr_add_dense(data, indices, indptr, factor, out):
    """``out += factor * csr``; out (rows, columns)."""
    for row in range(out.shape[0]):
        for place in range(indptr[row], indptr[row + 1]):
            out[row, indices[place]] += factor * data[place]
