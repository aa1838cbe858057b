"""Kernels whose first operand is a CSR matrix."""

from __future__ import annotations

import numpy as np

from .group import _words_of_bits, group_columns, unique_with_rank
from .intrinsic_names import one_bits, prefetch, put_up, zero_bits
from .jit import KEPT, give_back, kernel, scratch, single_precision, take_clean, worker_count
from .thread_pool import lead, share

__all__ = [
    "csr_add_csr",
    "csr_add_dense",
    "csr_column_scale",
    "csr_dot_csr",
    "csr_dot_dense",
    "csr_drop_absent",
    "csr_multiply_csr",
    "csr_row_scale",
    "csr_sum_columns",
    "csr_sum_rows",
    "csr_transposed_dot_dense",
    "csr_transposed_dot_row_sparse",
    "csr_transposed_dot_rows",
]

#: Multiplications for each thread, at least.
GRAIN = 1 << 16

#: Distances of prefetches in stored values: for single values of a vector, for whole rows, and for entries of a column.
AHEAD, ROWS_AHEAD, GROUPS_AHEAD = 128, 16, 16

#: The same for stored values that are read one after another, which the processor's own prefetches reach too late where each
#: is added elsewhere, and for the sums that they are added to.
STREAM_AHEAD, SUMS_AHEAD = 256, 32

#: From how many stored values on, and how many sums, that is worth it; fewer are in the cache.
STREAMED, SPREAD_OUT = 1 << 19, 1 << 18

#: Entries from which on those of a column are prefetched: fewer are in the cache anyway.
MANY = 1 << 16

#: Elements of a line of the cache, if they have four bytes.
LINE = 16

#: Elements from which on a loop is compiled to vectors that are filled.
VECTOR = 8

#: Multiplications that fetching one row of the other operand from memory is worth.
FETCH = 16

#: Pieces for each thread at most: few, since each piece begins with memory that was not prefetched.
PIECES = 8

#: Elements for each stored value, at most, for which a transposed product adds up sums for every column: if these take no
#: more bytes than a thread keeps as working memory, and if they take more.
SPREAD, CROWDED, MOST_KEPT = 64, 8, KEPT * 8

#: Bytes of such sums up to which they lie together; beyond, where few of many columns occur, those get sums of their own.
NEAR = 1 << 23

#: Stored values from which on that is so, as fewer are sorted at once, and columns of the other operand up to which it is: one
#: thread adds up, and sorted entries are shared by all.
LEAST, NARROW = 1 << 10, 16

_WORD, _HALF = np.dtype(np.uint64), np.dtype(np.float16)


def _is_small(stored, width):
    """Whether one thread does a product with so many stored values sooner than several."""
    return stored * (width + FETCH) < 2 * GRAIN


def _grain(rows, stored, width):
    """Rows in one piece of a shared loop over rows that hold so many values, each worth a row of ``width``."""
    return max(1, rows * GRAIN // (stored * (width + FETCH)), rows // (PIECES * worker_count()))


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
def _dense_together(board, count, grain, data, indices, indptr, right, out):
    put_up(board, _csr_dot_dense_rows, (data, indices, indptr, right, out))
    return lead(board, count, grain)


@kernel
def _vector_together(board, count, grain, data, indices, indptr, right, out):
    put_up(board, _csr_dot_vector_rows, (data, indices, indptr, right, out))
    return lead(board, count, grain)


@single_precision
def csr_dot_dense(data, indices, indptr, right, out):
    """``out[...] = csr · right``; right (columns, width), out (rows, width)."""
    rows, width = out.shape
    inner = _csr_dot_vector_rows if width == 1 else _csr_dot_dense_rows
    if _is_small(data.shape[0], width):
        inner(data, indices, indptr, right, out, 0, rows)
    else:
        share(_vector_together if width == 1 else _dense_together, rows, _grain(rows, data.shape[0], width),
              data, indices, indptr, right, out)


def csr_drop_absent(data, ranks, indptr):
    """The matrix without the values whose rank is negative: data, ranks and indptr; the arrays themselves if there are none."""
    return _without_absent(data, ranks, indptr) if ranks.min(initial=0) < 0 else (data, ranks, indptr)


@kernel
def _without_absent(data, ranks, indptr):
    kept = 0
    for place in range(ranks.shape[0]):
        kept += ranks[place] >= 0
    out, out_ranks, out_indptr = np.empty(kept, data.dtype), np.empty(kept, ranks.dtype), np.empty_like(indptr)
    kept = 0
    for row in range(indptr.shape[0] - 1):
        out_indptr[row] = kept
        for place in range(indptr[row], indptr[row + 1]):
            if ranks[place] >= 0:
                out[kept], out_ranks[kept] = data[place], ranks[place]
                kept += 1
    out_indptr[indptr.shape[0] - 1] = kept
    return out, out_ranks, out_indptr


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


@kernel(fastmath={"contract", "reassoc"})
def _grouped_rows(data, starts, places, rows, right, out, start, stop):
    """Entries of a column lie anywhere in memory, so that they and their rows of ``right`` are prefetched if there are many."""
    width, elements = right.shape[1], right.reshape(right.size)
    far, near = np.uint64(2 * GROUPS_AHEAD), np.uint64(GROUPS_AHEAD)
    last = np.uint64(places.shape[0] - 2 * GROUPS_AHEAD if places.shape[0] > MANY else 0)
    for rank in range(start, stop):
        total = out[rank]
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
            if order == np.uint64(starts[rank]):
                for column in range(width):
                    total[column] = value * source[column]
            else:
                for column in range(width):
                    total[column] += value * source[column]


@kernel
def _row_of_each(indptr, rows):
    for row in range(indptr.shape[0] - 1):
        for place in range(np.uint64(indptr[row]), np.uint64(indptr[row + 1])):
            rows[place] = row


@kernel
def _grouped_together(board, count, grain, data, starts, places, rows, right, out):
    put_up(board, _grouped_rows, (data, starts, places, rows, right, out))
    return lead(board, count, grain)


def _dot_grouped(data, indices, indptr, right):
    """csrᵀ · right by sorting the entries: 32 bytes of working memory for each stored value."""
    columns, starts, places = group_columns(indices)
    rows, out = scratch("rows", data.shape[0]), np.empty((columns.shape[0], right.shape[1]), data.dtype)
    _row_of_each(indptr, rows)
    distinct, width = out.shape
    if _is_small(data.shape[0], width):
        _grouped_rows(data, starts, places, rows, right, out, 0, distinct)
    else:
        share(_grouped_together, distinct, _grain(distinct, data.shape[0], width), data, starts, places, rows, right, out)
    return columns, out


@kernel(fastmath={"contract", "reassoc"})
def _sum_vector(data, indices, indptr, right, sums):
    """``sums += csrᵀ · right`` for vectors; what is read next and what is added to next are prefetched."""
    vector, totals = right.reshape(right.size), sums.reshape(sums.size)
    far, near, line, many = np.uint64(STREAM_AHEAD), np.uint64(SUMS_AHEAD), np.uint64(LINE // 2), indices.shape[0] > STREAMED
    last = np.uint64(max(0, indices.shape[0] - SUMS_AHEAD) if sums.shape[0] > SPREAD_OUT else 0)
    for row in range(indptr.shape[0] - 1):
        factor, begin, end = vector[row], np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        if many:
            for soon in range(begin + far, end + far, line):
                prefetch(indices, soon)
                prefetch(data, soon)
        if end <= last:
            for place in range(begin, end):
                prefetch(totals, np.uint64(indices[place + near]))
                totals[np.uint64(indices[place])] += data[place] * factor
        else:
            for place in range(begin, end):
                totals[np.uint64(indices[place])] += data[place] * factor


@kernel(fastmath={"contract", "reassoc"})
def _sum_matrix(data, indices, indptr, right, sums):
    """``sums += csrᵀ · right``; rows that are added to next are prefetched, where they are not in the cache.

    Of few columns, each is gone through by itself: a loop of less than a vector costs more than reading the places again.
    """
    width, elements, near = right.shape[1], sums.reshape(sums.size), np.uint64(ROWS_AHEAD)
    last, units = np.uint64(max(0, indices.shape[0] - ROWS_AHEAD) if sums.size > SPREAD_OUT else 0), np.uint64(width)
    for row in range(indptr.shape[0] - 1):
        source, begin, end = right[row], np.uint64(indptr[row]), np.uint64(indptr[row + 1])
        if width < VECTOR:
            for column in range(width):
                factor = source[column]
                for place in range(begin, end):
                    if place < last and column == 0:
                        prefetch(elements, np.uint64(indices[place + near]) * units)
                    elements[np.uint64(indices[place]) * units + np.uint64(column)] += data[place] * factor
            continue
        for place in range(begin, end):
            if place < last:
                beginning = np.uint64(indices[place + near]) * np.uint64(width)
                for column in range(0, width, LINE):
                    prefetch(elements, beginning + np.uint64(column))
            value, total = data[place], sums[np.uint64(indices[place])]
            for column in range(width):
                total[column] += value * source[column]


@kernel
def _mark(indices, seen):
    """Set the bits of the columns that occur."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    for place in range(indices.shape[0]):
        column = np.uint64(indices[place])
        seen[column >> six] |= one << (column & low)


@kernel
def _sum_or_mark(data, indices, indptr, right, sums, seen, start, stop):
    """Two pieces of work for two threads: sums of products are added up in order, so that no two threads can do that."""
    for piece in range(start, stop):
        if piece == 1:
            _mark(indices, seen)
        elif right.shape[1] == 1:
            _sum_vector(data, indices, indptr, right, sums)
        else:
            _sum_matrix(data, indices, indptr, right, sums)


@kernel
def _count_bits(seen, words, ends):
    """How many bits are set before each of the words."""
    count, number = np.int64(0), 0
    for piece in range(words.shape[0]):
        while number < words[piece]:
            count += one_bits(seen[number])
            number += 1
        ends[piece] = count


@kernel
def _list_columns(words, ends, sums, seen, columns, out, start, stop):
    """Write the columns that occur, and their sums; leave the sums and the bits clear again."""
    one, six, width, clear = np.uint64(1), np.uint64(6), sums.shape[1], sums.dtype.type(-0.0)
    for piece in range(start, stop):
        rank = np.uint64(ends[piece])
        for number in range(np.uint64(words[piece]), np.uint64(words[piece + 1])):
            word = seen[number]
            seen[number] = np.uint64(0)
            while word:
                column = (number << six) + np.uint64(zero_bits(word))
                columns[rank] = np.int64(column)
                if width == 1:
                    out[rank, 0] = sums[column, 0]
                    sums[column, 0] = clear
                else:
                    for element in range(width):
                        out[rank, element] = sums[column, element]
                        sums[column, element] = clear
                word &= word - one
                rank += one


@kernel
def _sums_together(board, count, grain, data, indices, indptr, right, sums, seen):
    put_up(board, _sum_or_mark, (data, indices, indptr, right, sums, seen))
    return lead(board, count, grain)


@kernel
def _lists_together(board, count, grain, words, ends, sums, seen, columns, out):
    put_up(board, _list_columns, (words, ends, sums, seen, columns, out))
    return lead(board, count, grain)


def _dot_summed(data, indices, indptr, right, columns):
    """csrᵀ · right by adding into a row for every column.

    Working memory is a row of sums and a bit for each column.  Sums begin with -0.0, to which adding a product gives that
    product, of either sign if it is 0.
    """
    width, threads = right.shape[1], 1 if _is_small(data.shape[0], right.shape[1]) else worker_count()
    held, bits = take_clean("sums", columns * width, data.dtype, -0.0), take_clean("seen", (columns >> 6) + 1, _WORD, 0)
    sums, seen = held[: columns * width].reshape(columns, width), bits[: (columns >> 6) + 1]
    given = data, indices, indptr, right, sums, seen
    _sum_or_mark(*given, 0, 2) if threads == 1 else share(_sums_together, 2, 1, *given)
    words, ends = np.arange(threads + 1) * seen.shape[0] // threads, np.empty(threads + 1, np.int64)
    _count_bits(seen, words, ends)
    found, out = np.empty(ends[-1], np.int64), np.empty((ends[-1], width), data.dtype)
    made = words, ends, sums, seen, found, out
    _list_columns(*made, 0, 1) if threads == 1 else share(_lists_together, threads, 1, *made)
    give_back("sums", held)
    give_back("seen", bits)
    return found, out


def _dot_ranked(data, indices, indptr, right):
    """csrᵀ · right by adding into a row for every column that occurs, whose rank bits tell."""
    columns, ranks = unique_with_rank(indices)
    sums = np.full((columns.shape[0], right.shape[1]), -0.0, data.dtype)  # as in ``_dot_summed``
    _sum_matrix(data, ranks, indptr, right, sums)
    return columns, sums


def _way(indices, elements, width, dtype):
    """The sooner way: for every column sums, so many elements, or for those that occur, or by sorting the stored values."""
    stored, nbytes = indices.shape[0], elements * dtype.itemsize
    if stored < LEAST or width > NARROW or dtype.kind not in "fiu":
        return "grouped"
    crowded = elements <= (SPREAD if nbytes <= MOST_KEPT else CROWDED) * stored
    far_apart = nbytes > MOST_KEPT or (nbytes > NEAR and elements > stored * width)
    if width > 1 and (far_apart or not crowded) and _words_of_bits(indices):
        return "ranked"
    return "summed" if crowded else "grouped"


def csr_transposed_dot_rows(data, indices, indptr, right, columns):
    """csrᵀ · right for the columns that occur: these, ascending, and the rows of the product, in the type of data.

    A column's products are added in the order of the rows, by either way and by any number of threads, so that the
    result is the same to the last bit.
    """
    if data.dtype is _HALF or right.dtype is _HALF:
        wide = np.result_type(data.dtype, np.float32)
        found, out = csr_transposed_dot_rows(data.astype(wide), indices, indptr, right.astype(np.float32), columns)
        return found, out.astype(data.dtype)
    way = _way(indices, columns * right.shape[1], right.shape[1], data.dtype)
    if way == "ranked":
        return _dot_ranked(data, indices, indptr, right)
    return _dot_summed(data, indices, indptr, right, columns) if way == "summed" else _dot_grouped(data, indices, indptr, right)


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
