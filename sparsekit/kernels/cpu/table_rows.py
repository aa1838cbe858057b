"""The loop that runs a table of calls, and what its rows call beside numpy's inner loops and other kernels.

A table is an int64 array of rows: function, context, data, dimensions, strides, extra, operator, copied.  The first six are what
an inner loop of numpy takes, as addresses.  Such a loop may move the pointers to its operands, as those of scipy do, so it
gets a copy of ``copied`` pointers.  No Python object is touched, so the loop holds no interpreter lock.  Arguments that
change from run to run are words of memory, which ``patch_words`` computes from other words.
"""

from __future__ import annotations

import numpy as np

from .intrinsic_names import call_loop, get_word, prefetch, put_word
from .jit import kernel

#: Columns of a row.
FUNCTION, CONTEXT, DATA, DIMENSIONS, STRIDES, EXTRA, OPERATOR, COPIED = range(8)

#: Bytes of a row.
ROW = 64

#: Columns of a plan of arrays, see ``bind_arrays``, and bytes of a row.
ADDRESS, LENGTH, FIXED, TYPE, MOST, BYTES = range(6)
PLAN = 48

#: What ``nested_loop`` finds in its block, in words.
LOOP, COUNT, OUTER, INNER, POINTERS, LENGTHS, STEPS, OUTER_STEPS, INNER_STEPS, MOVED = 0, 1, 2, 3, 4, 8, 9, 10, 14, 18
NESTED = 22

#: Offsets in bytes within CPython's objects and its list, and numpy's arrays and element types.
CLASS, ITEMS, MEMORY, SIZES, DTYPE, FLAGS, KIND = 8, 24, 16, 32, 56, 64, 24

#: The bytes of an element type's word that tell it from others: kind, letter, byte order and number, without its flags.
TELLING = -0xFF000001

#: How many rows ahead one is prefetched, and from how many rows on.
ROWS_AHEAD, MANY = 16, 1 << 10

#: C-contiguous and aligned, and one that may be written to, in the flags of an array.
ORDERLY, WRITEABLE = 0x101, 0x400


@kernel
def _run_from(rows, last, place):
    """Run the rows at an address from ``place`` on; returns where it stopped, and has row ``last`` note it."""
    while True:
        row = rows + ROW * place
        function, data, copied = get_word(row + 8 * FUNCTION), get_word(row + 8 * DATA), 8 * get_word(row + 8 * COPIED)
        for offset in range(0, copied, 8):
            put_word(data + copied + offset, get_word(data + offset))
        if function == 0 or call_loop(function, get_word(row + 8 * CONTEXT), data + copied, get_word(row + 8 * DIMENSIONS),
                                      get_word(row + 8 * STRIDES), get_word(row + 8 * EXTRA)) != 0:
            put_word(rows + ROW * last + 8 * CONTEXT, place)
            return place
        place += 1


@kernel
def run_rows(rows, place):
    """Run rows from ``place`` on; returns where it stopped: a row without a function, as the last is, or a call that failed.

    The last row also notes it, in the column of the context: an interrupt may come before Python has what is returned.
    """
    return _run_from(rows.ctypes.data, rows.shape[0] - 1, place)


@kernel
def patch_words(block, count):
    """Words that depend on others; block of (target, source, factor, offset): ``*target = *source * factor + offset``."""
    for number in range(count):
        at = block + 32 * number
        put_word(get_word(at), get_word(get_word(at + 8)) * get_word(at + 16) + get_word(at + 24))


@kernel
def nested_loop(block, context, extra):
    """An inner loop of numpy over two more axes; returns 1 if it failed."""
    for outer in range(get_word(block + 8 * OUTER)):
        for inner in range(get_word(block + 8 * INNER)):
            for operand in range(get_word(block + 8 * COUNT)):
                at = block + 8 * operand
                put_word(at + 8 * MOVED, get_word(at + 8 * POINTERS) + outer * get_word(at + 8 * OUTER_STEPS)
                         + inner * get_word(at + 8 * INNER_STEPS))
            if call_loop(get_word(block + 8 * LOOP), context, block + 8 * MOVED, get_word(block + 8 * LENGTHS),
                         get_word(block + 8 * STEPS), extra) != 0:
                return 1
    return 0


@kernel
def _fits(array, plan):
    """Read where an array lies and how long it is; whether it is of the kind that the row of a plan at this address says."""
    if (get_word(array + FLAGS) & ORDERLY != ORDERLY
            or get_word(get_word(array + DTYPE) + KIND) & TELLING != get_word(plan + 8 * TYPE)):
        return False
    put_word(get_word(plan + 8 * ADDRESS), get_word(array + MEMORY))
    word, fixed = get_word(plan + 8 * LENGTH), get_word(plan + 8 * FIXED)
    if word == 0 and fixed < 0:
        return True
    length = get_word(get_word(array + SIZES))
    if word == 0:
        return length == fixed
    if length > get_word(plan + 8 * MOST):
        return False
    put_word(word, length)
    return True


@kernel
def _overlap(plan, target):
    """Whether an array that has been bound shares memory with one that is written to; rows of a plan, by address."""
    start, low = get_word(get_word(target + 8 * ADDRESS)), get_word(get_word(plan + 8 * ADDRESS))
    word, size = get_word(plan + 8 * LENGTH), get_word(plan + 8 * BYTES)
    if word != 0:
        size *= get_word(word)
    return low < start + get_word(target + 8 * BYTES) and start < low + size


@kernel
def bind_arrays(arrays, plan, count, patches, patched, written):
    """Read where the arrays of a list lie, and compute what depends on it; returns the first that does not fit, or -1.

    ``arrays`` is the address of a list of numpy arrays, of which the last ``written`` are written to, so that none of the
    others may overlap them.  ``plan`` is the address of a row for each (``count``, 6): word for the address, word for the length
    of the first axis or 0, that length if it is fixed or -1, the word of the element type, the largest length, and the bytes, of
    each unit of such a length.
    """
    items = get_word(arrays + ITEMS)
    for number in range(count):
        if not _fits(get_word(items + 8 * number), plan + PLAN * number):
            return number
    for target in range(count - written, count):
        if get_word(get_word(items + 8 * target) + FLAGS) & WRITEABLE == 0:
            return target
        for other in range(plan, plan + PLAN * target, PLAN):
            if _overlap(other, plan + PLAN * target):
                return target
    patch_words(patches, patched)
    return -1


@kernel
def begin_rows(arrays, plan, count, patches, patched, written, rows, last):
    """Bind arrays and run rows from the first on; returns where these stopped, or -1 if an array does not fit.

    ``rows`` is the address of the first, and ``last`` the number of the last.
    """
    if bind_arrays(arrays, plan, count, patches, patched, written) >= 0:
        return -1
    return _run_from(rows, last, 0)


@kernel(error_model="numpy")
def cast_values(values, out):
    """``out[...] = values``, of another element type; both (n,)."""
    for place in range(out.shape[0]):
        out[place] = values[place]


@kernel
def singles_of(halves, out):
    """The bits of float32 numbers (n,) that equal float16 numbers, of which ``halves`` has the bits: numba has no float16."""
    for place in range(out.shape[0]):
        word = int(halves[place])
        size = word & 0x7FFF
        if size >= 0x7C00:  # infinite or nan
            single = 0x7F800000 | (size & 0x3FF) << 13
        elif size >= 0x400:
            single = (size << 13) + 0x38000000
        else:  # subnormal: every one is a normal float32
            single = 0
            if size != 0:
                exponent = 113
                while size < 0x400:
                    size <<= 1
                    exponent -= 1
                single = (size & 0x3FF) << 13 | exponent << 23
        out[place] = single | (word & 0x8000) << 16


@kernel
def halves_of(singles, out):
    """The bits of float16 numbers (n,) nearest to float32 numbers, of which ``singles`` has the bits; even ones of two as near.

    Of a nan the upper bits stay, as in numpy's own cast.
    """
    for place in range(out.shape[0]):
        word = int(singles[place])
        size = word & 0x7FFFFFFF
        if size >= 0x47800000:  # from 65536 on
            half = 0x7C00
            if size > 0x7F800000:
                half |= max(size >> 13 & 0x3FF, 1)
        elif size >= 0x38800000:
            half = size - 0x38000000 + 0xFFF + (size >> 13 & 1) >> 13
        else:  # subnormal, or zero
            shift, half = 126 - (size >> 23), 0
            if shift <= 24:
                digits = size & 0x7FFFFF | 0x800000
                half, remainder, middle = digits >> shift, digits & (1 << shift) - 1, 1 << shift - 1
                if remainder > middle or (remainder == middle and half & 1 != 0):
                    half += 1
        out[place] = half | (word >> 16 & 0x8000)


@kernel
def choose_values(condition, left, right, out):
    """``out = left where condition else right``; all (n,)."""
    for place in range(out.shape[0]):
        first, second = left[place], right[place]  # read both, so that the loop is compiled to vectors
        out[place] = first if condition[place] else second


@kernel
def fill_range(start, step, out):
    """``out = start, start + step, …``; (n,)."""
    for place in range(out.shape[0]):
        out[place] = start + step * place


@kernel
def sum_of(first, second):
    """The sum of two sizes."""
    return first + second


@kernel
def take_rows(values, rows, out):
    """``out[i] = values[rows[i]]``, rows cut to those that there are; values (n, width), out (rows, width).

    The beginnings of rows are prefetched, if there are many: the processor itself does that with the rest of a wide one.
    """
    last, width = values.shape[0] - 1, values.shape[1]
    ahead = ROWS_AHEAD if rows.shape[0] >= MANY else rows.shape[0]
    for place in range(rows.shape[0]):
        if place + ahead < rows.shape[0]:
            prefetch(values, np.uint64(min(max(rows[place + ahead], 0), last) * width))
        row = min(max(rows[place], 0), last)
        for column in range(values.shape[1]):
            out[place, column] = values[row, column]
