"""LibSVM text to buffers.

A text is a uint8 buffer that a newline ends, which is what ends every inner loop, and that ``SLACK``
bytes of any value follow: digits are read eight at a time (D. Lemire, "Quickly parsing eight digits", 2022).
Numbers are rounded correctly by the algorithm of D. Lemire, "Number parsing at a gigabyte per
second" (2021), as completed by N. Mushtak and D. Lemire, "Fast number parsing without fallback"
(2023).  A float travels as its bit pattern in a uint64, so that one compilation serves all types;
``mantissa_bits`` is 23 for float32, 52 for float64.

The file stands alone, since numba's cache of a kernel does not notice changes in other files.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .intrinsic_names import eight_bytes, zero_bits
from .jit import kernel

#: Bytes behind the text that may be read.
SLACK = 8

#: For kernels that only other kernels of this file call: compiled faster, and cached inside their callers.
INNER: dict[str, Any] = {"cache": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

U0, U1, U3, U8, U10, U16 = (np.uint64(n) for n in (0, 1, 3, 8, 10, 16))
U32, U48, U63, LOW32 = np.uint64(32), np.uint64(48), np.uint64(63), np.uint64(0xFFFFFFFF)

#: Powers of ten that a float64 holds exactly.
TENS = np.array([float(f"1e{exponent}") for exponent in range(23)])

#: The same as whole numbers, for up to eight digits.
SHIFTS = np.array([10**count for count in range(9)], np.uint64)

#: For eight characters at once: "0" in each, what takes anything above 9 beyond 127, the topmost bit of each.
ZEROS, ABOVE, TOPS = (np.uint64(0x0101010101010101 * byte) for byte in (0x30, 0x76, 0x80))
#: Every fourth byte, and what adds pairs of digits up to a number.
FOURTHS, OUTER, INNER_PAIRS = (np.uint64(n) for n in (0x000000FF000000FF, 0x000F424000000064, 0x0000271000000001))

#: How ``_parse_number`` ended.
PARSED, NOT_A_NUMBER, HARD = 0, 1, 2

#: What stopped ``parse_rows``.
FINISHED, BAD_LABEL, BAD_FEATURE, REPEATED, TOO_WIDE, BELOW_BASE, BAD_QUERY, NO_QUERY, NO_NEWLINE = range(9)


def _reading_power(exponent: int) -> int:
    """5**exponent scaled into [2**127, 2**128), rounded the way the reading algorithm's proof asks."""
    if exponent >= 0:
        power: int = 5**exponent
        shift = power.bit_length() - 128
        return power >> shift if shift > 0 else power << -shift
    power = 5**-exponent
    bits = (power - 1).bit_length()
    scaled = (1 << (bits + 127 if exponent >= -27 else 2 * bits + 128)) // power + 1
    return scaled >> max(0, scaled.bit_length() - 128)


@functools.cache
def reading_powers() -> np.ndarray:
    """Powers of ten from -342 to 308, as high and low halves: uint64, shape (651, 2)."""
    powers = [_reading_power(exponent) for exponent in range(-342, 309)]
    return np.array([(power >> 64, power & (2**64 - 1)) for power in powers], dtype=np.uint64)


@kernel(**INNER)
def _multiply(left, right):
    """High and low half of the 128-bit product."""
    left_high, left_low = left >> U32, left & LOW32
    right_high, right_low = right >> U32, right & LOW32
    low = left_low * right_low
    middle = left_high * right_low + (low >> U32)
    other = left_low * right_high + (middle & LOW32)
    return left_high * right_high + (middle >> U32) + (other >> U32), left * right


@kernel(**INNER)
def _leading_zeros(word):
    count = np.int64(0)
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(64 - step) == U0:
            word = word << np.uint64(step)
            count += step
    return count


@kernel(**INNER)
def _nearest(word, exponent, powers, mantissa_bits):
    """Bits of the float nearest to ``word * 10**exponent``, ties to even."""
    exponent_bits = 8 if mantissa_bits == 23 else 11
    infinite = np.int64((1 << exponent_bits) - 1)
    if word == U0 or exponent < -342:
        return U0
    if exponent > 308:
        return np.uint64(infinite) << np.uint64(mantissa_bits)
    zeros = _leading_zeros(word)
    word = word << np.uint64(zeros)
    high, low = _multiply(word, powers[exponent + 342, 0])
    mask = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(mantissa_bits + 3)
    if high & mask == mask:
        addend, _ = _multiply(word, powers[exponent + 342, 1])
        low = low + addend
        if addend > low:
            high = high + U1
    upper = np.int64(high >> U63)
    shift = np.uint64(upper + 61 - mantissa_bits)
    mantissa = high >> shift
    hidden = U1 << np.uint64(mantissa_bits)
    power = ((217706 * exponent) >> 16) + 63 + upper - zeros + (1 << (exponent_bits - 1)) - 1
    if power <= 0:
        if 1 - power >= 64:
            return U0
        mantissa = mantissa >> np.uint64(1 - power)
        return (mantissa + (mantissa & U1)) >> U1  # the carry into the exponent is what it should be
    low_even, high_even = (-17, 10) if mantissa_bits == 23 else (-4, 23)
    if low <= U1 and low_even <= exponent <= high_even and mantissa & U3 == U1 and mantissa << shift == high:
        mantissa = mantissa & ~U1
    mantissa = (mantissa + (mantissa & U1)) >> U1
    if mantissa >= hidden << U1:
        mantissa = hidden
        power += 1
    if power >= infinite:
        return np.uint64(infinite) << np.uint64(mantissa_bits)
    return (mantissa & ~hidden) | (np.uint64(power) << np.uint64(mantissa_bits))


@kernel(**INNER)
def _double_bits(value):
    return np.float64(value).view(np.uint64)


@kernel(**INNER)
def _single_bits(value):
    return np.float32(value).view(np.uint32)


@kernel(**INNER)
def _to_bits(word, exponent, powers, mantissa_bits):
    """As ``_nearest``, by one float64 operation where that is known to round right."""
    if word >> np.uint64(53) == U0 and -22 <= exponent <= 22:
        number = np.float64(word)
        value = number / TENS[-exponent] if exponent < 0 else number * TENS[exponent]
        bits = _double_bits(value)
        if mantissa_bits == 52:
            return bits
        # Rounding once more is right unless the value lies half way between two float32, or near their ends.
        if bits & np.uint64(0x1FFFFFFF) != np.uint64(0x10000000) and 1e-37 < value < 1e38:
            return np.uint64(_single_bits(value))
    return _nearest(word, exponent, powers, mantissa_bits)


@kernel(**INNER)
def _word_at(text, place, length, word):
    """Whether ``text[place:place + length]`` spells ``word`` (lower case), whatever its case."""
    for offset in range(length):  # noqa: SIM110 - numba compiles loops, not generators
        if text[place + offset] == 10 or (text[place + offset] | 32) != word[offset]:
            return False
    return True


@kernel(**INNER)
def _parse_name(text, place, mantissa_bits):
    """``nan``, ``inf`` or ``infinity`` at ``place``: (bits, end, status)."""
    exponent_bits = 8 if mantissa_bits == 23 else 11
    infinite = np.uint64((1 << exponent_bits) - 1) << np.uint64(mantissa_bits)
    if _word_at(text, place, 3, b"nan"):
        return infinite | (U1 << np.uint64(mantissa_bits - 1)), place + 3, PARSED
    if _word_at(text, place, 8, b"infinity"):
        return infinite, place + 8, PARSED
    if _word_at(text, place, 3, b"inf"):
        return infinite, place + 3, PARSED
    return U0, place, NOT_A_NUMBER


@kernel(**INNER)
def _parse_long(text, place, end, exponent, powers, mantissa_bits):
    """A mantissa of more than 19 digits at ``text[place:end]``: (bits, status)."""
    word, kept, inexact, dropped, seen_point = U0, 0, False, 0, False
    after_point = 0
    while place < end:
        digit = text[place]
        place += 1
        if digit == 46:
            seen_point = True
            continue
        if kept < 19:
            word = word * U10 + (np.uint64(digit) - U48)
            kept += word != U0
            after_point += seen_point
        else:
            inexact |= digit != 48
            dropped += not seen_point
    exponent += dropped - after_point
    bits = _nearest(word, exponent, powers, mantissa_bits)
    if inexact and bits != _nearest(word + U1, exponent, powers, mantissa_bits):
        return U0, HARD
    return bits, PARSED


@kernel(**INNER)
def _digit_run(text, place):
    """Up to eight digits from ``place`` on: (their number, how many)."""
    digits = eight_bytes(text, place) ^ ZEROS
    others = ((digits + ABOVE) | digits) & TOPS
    count = zero_bits(others) >> 3
    if count == 0:
        return U0, count
    digits = digits << np.uint64(64 - 8 * count)
    pairs = digits * U10 + (digits >> U8)
    return ((pairs & FOURTHS) * OUTER + ((pairs >> U16) & FOURTHS) * INNER_PAIRS) >> U32, count


@kernel(**INNER)
def _more_digits(text, place, word):
    """``word`` with the digits from ``place`` on behind it, as far as 64 bits hold it: (number, end)."""
    number, count = _digit_run(text, place)
    word = word * SHIFTS[count] + number
    place += count
    while count == 8:
        number, count = _digit_run(text, place)
        word = word * SHIFTS[count] + number
        place += count
    return word, place


@kernel(**INNER)
def _parse_number(text, place, powers, mantissa_bits):
    """Read a number at ``text[place]``: (bits, end, status); the text must end in a newline.

    ``HARD`` says that the digits, more than 19, leave the rounding open: the caller uses Python's ``float``.
    """
    sign = U0
    if text[place] == 45 or text[place] == 43:
        if text[place] == 45:
            sign = U1 << np.uint64(31 if mantissa_bits == 23 else 63)
        place += 1
    first = place
    word, place = _more_digits(text, place, U0)
    digits, exponent = place - first, 0
    if text[place] == 46:
        point = place + 1
        word, place = _more_digits(text, point, word)
        exponent = point - place
        digits -= exponent
    if digits == 0:
        bits, place, status = _parse_name(text, first, mantissa_bits)
        return bits | sign, place, status
    end, written = place, np.int64(0)
    if text[place] == 101 or text[place] == 69:
        place += 1
        minus = text[place] == 45
        if minus or text[place] == 43:
            place += 1
        start = place
        while 48 <= text[place] <= 57:
            if written < 1 << 40:
                written = written * 10 + np.int64(text[place]) - 48
            place += 1
        if place == start:
            return U0, place, NOT_A_NUMBER
        written = -written if minus else written
    if digits > 19:
        bits, status = _parse_long(text, first, end, written, powers, mantissa_bits)
        return bits | sign, place, status
    return _to_bits(word, exponent + written, powers, mantissa_bits) | sign, place, PARSED


@kernel
def last_newline(text, start, stop):
    """Place just after the last newline of ``text[start:stop]``, or ``start``."""
    while stop > start and text[stop - 1] != 10:
        stop -= 1
    return stop


@kernel
def count_lines(text, start, stop):
    """Number of newlines in ``text[start:stop]``."""
    count = 0
    for place in range(start, stop):
        count += text[place] == 10
    return count


@kernel(**INNER)
def _skip_space(text, place):
    """First place from ``place`` on that is neither a blank nor in a comment; at the end, the newline."""
    while text[place] == 32 or text[place] == 9 or 11 <= text[place] <= 13:
        place += 1
    if text[place] == 35:
        while text[place] != 10:
            place += 1
    return place


@kernel(**INNER)
def _ends_token(byte):
    return byte == 32 or 9 <= byte <= 13 or byte == 35


@kernel(**INNER)
def _has_colon(text, place):
    """Whether the token at ``place`` is a feature or a query rather than a label."""
    while not _ends_token(text[place]):
        if text[place] == 58:
            return True
        place += 1
    return False


@kernel(**INNER)
def _is_query(text, place):
    return text[place] == 113 and text[place + 1] == 105 and text[place + 2] == 100 and text[place + 3] == 58


@kernel(**INNER)
def _digits(text, place):
    """A non-negative integer of at most 18 digits: (value, end); the end is ``place`` if there is none."""
    value, end = _more_digits(text, place, U0)
    if end - place > 18:
        return np.int64(0), place
    return np.int64(value), end


@kernel
def parse_rows(text, start, stop, base, width, several, need_query, powers, mantissa_bits,
               labels, label_indptr, indptr, indices, bits, queries, hard):
    """Parse the lines of ``text[start:stop]`` into the buffers, up to the first mistake.

    ``base`` is subtracted from every index, ``width`` bounds it.  ``several`` allows a comma-separated
    list of labels, or none.  ``hard`` takes (which, place, start, end) of numbers left to Python: which
    is 0 for a label, 1 for a value.  Returns (rows, stored, labels, hard, unsorted, lowest, highest,
    code, offset).  Buffers must have room: see ``capacities`` of the reader.
    """
    rows, stored, labelled, hards, unsorted = 0, 0, 0, 0, False
    lowest, highest = np.int64(0x7FFFFFFFFFFFFFFF), np.int64(-1)
    indptr[0] = 0
    label_indptr[0] = 0
    place, code, token = start, FINISHED, start
    if stop > start and (stop + SLACK > text.shape[0] or text[stop - 1] != 10):
        return rows, stored, labelled, hards, unsorted, lowest, highest, NO_NEWLINE, stop
    while place < stop:
        place = _skip_space(text, place)
        if text[place] == 10:
            place += 1
            continue
        token = place
        if not (several and _has_colon(text, place)):
            while True:
                number, place, status = _parse_number(text, place, powers, mantissa_bits)
                if status == HARD:
                    hard[hards, 0], hard[hards, 1], hard[hards, 2], hard[hards, 3] = 0, labelled, token, place
                    hards += 1
                elif status == NOT_A_NUMBER:
                    code = BAD_LABEL
                    break
                labels[labelled] = number
                labelled += 1
                if several and text[place] == 44:
                    place += 1
                    token = place
                    continue
                if not _ends_token(text[place]):
                    code = BAD_LABEL
                break
            if code != FINISHED:
                break
        queries[rows] = -1
        previous = np.int64(-1)
        while True:
            place = _skip_space(text, place)
            if text[place] == 10:
                place += 1
                break
            token = place
            index, place = _digits(text, place)
            if place == token or text[place] != 58:
                if place == token and _is_query(text, token) and queries[rows] < 0:
                    queries[rows], place = _digits(text, token + 4)
                    if place > token + 4 and _ends_token(text[place]):
                        continue
                    code = BAD_QUERY
                    break
                code = BAD_FEATURE
                break
            begin = place + 1
            number, place, status = _parse_number(text, begin, powers, mantissa_bits)
            if status == NOT_A_NUMBER or not _ends_token(text[place]):
                code = BAD_FEATURE
                break
            if status == HARD:
                hard[hards, 0], hard[hards, 1], hard[hards, 2], hard[hards, 3] = 1, stored, begin, place
                hards += 1
            index -= base
            if index <= previous:
                if index < 0:
                    code = BELOW_BASE
                    break
                if index == previous:
                    code = REPEATED
                    break
                unsorted = True
            if index >= width:
                code = TOO_WIDE
                break
            if index < lowest:
                lowest = index
            if index > highest:
                highest = index
            previous = index
            indices[stored] = index
            bits[stored] = number
            stored += 1
        if code == FINISHED and need_query and queries[rows] < 0:
            code = NO_QUERY
        if code != FINISHED:
            break
        rows += 1
        indptr[rows] = stored
        label_indptr[rows] = labelled
    return rows, stored, labelled, hards, unsorted, lowest, highest, code, token
