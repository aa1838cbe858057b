"""Buffers to LibSVM text.

Floats are written with the fewest digits that read back as the same bits, by R. Giulietti's "The
Schubfach way to render doubles" (2020).  They come as bit patterns in uint64, so that one compilation
serves all types; ``mantissa_bits`` is 23 for float32, 52 for float64, and 0 for an int64.

The file stands alone, since numba's cache of a kernel does not notice changes in other files.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .jit import kernel

__all__ = ["PAIR_BYTES", "format_rows", "writing_powers"]

#: For kernels that only other kernels of this file call: compiled faster, and cached inside their callers.
INNER: dict[str, Any] = {"cache": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

U0, U1, U2, U4, U10 = (np.uint64(n) for n in (0, 1, 2, 4, 10))
U32, U48, U63, LOW32 = np.uint64(32), np.uint64(48), np.uint64(63), np.uint64(0xFFFFFFFF)

#: Bytes that one ``index:value`` pair, label or query may take at most when written.
PAIR_BYTES = 48


def _writing_power(exponent: int) -> int:
    """10**exponent scaled into [2**127, 2**128), rounded up."""
    if exponent >= 0:
        power: int = 5**exponent
        shift = power.bit_length() - 128
        return -(-power >> shift) if shift > 0 else power << -shift
    power = 5**-exponent
    scale = 127 + power.bit_length()
    return -(-(1 << scale) // power)


@functools.cache
def writing_powers() -> np.ndarray:
    """Powers of ten from -292 to 324, as high and low halves: uint64, shape (617, 2)."""
    powers = [_writing_power(exponent) for exponent in range(-292, 325)]
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
def _format_integer(out, place, value):
    """Write a non-negative integer (uint64) at ``out[place]``; returns the end."""
    end, rest = place + 1, value
    while rest >= U10:
        rest //= U10
        end += 1
    at = end
    while at > place:
        at -= 1
        quotient = value // U10
        out[at] = np.uint8(value - quotient * U10 + U48)
        value = quotient
    return end


@kernel(**INNER)
def _round_to_odd(high, low, word):
    carried, _ = _multiply(low, word)
    upper, lower = _multiply(high, word)
    lower = lower + carried
    if lower < carried:
        upper = upper + U1
    return upper | np.uint64(lower > U1)


@kernel(**INNER)
def _shortest(fraction, biased, powers, mantissa_bits):
    """Digits and decimal exponent of the shortest decimal that reads back as this float."""
    bias = (127 if mantissa_bits == 23 else 1023) + mantissa_bits
    hidden = U1 << np.uint64(mantissa_bits)
    if biased != 0:
        whole, exponent = fraction | hidden, biased - bias
        if 0 <= -exponent <= mantissa_bits and whole & ((U1 << np.uint64(-exponent)) - U1) == U0:
            return whole >> np.uint64(-exponent), np.int64(0)
    else:
        whole, exponent = fraction, np.int64(1 - bias)
    closer = fraction == U0 and biased > 1
    odd = whole & U1
    ten = (exponent * 1262611 - (524031 if closer else 0)) >> 22
    shift = np.uint64(exponent + ((-ten * 1741647) >> 19) + 1)
    high, low = powers[-ten + 292, 0], powers[-ten + 292, 1]
    left = _round_to_odd(high, low, (U4 * whole - U2 + np.uint64(closer)) << shift) + odd
    middle = _round_to_odd(high, low, (U4 * whole) << shift)
    right = _round_to_odd(high, low, (U4 * whole + U2) << shift) - odd
    digits = middle // U4
    if digits >= U10:
        tens = digits // U10
        below, above = left <= U4 * U10 * tens, U4 * U10 * (tens + U1) <= right
        if below != above:
            return tens + np.uint64(above), ten + 1
    below, above = left <= U4 * digits, U4 * (digits + U1) <= right
    if below != above:
        return digits + np.uint64(above), ten
    half = U4 * digits + U2
    return digits + np.uint64(middle > half or (middle == half and digits & U1 != U0)), ten


@kernel(**INNER)
def _format_decimal(out, place, digits, exponent):
    """Write ``digits * 10**exponent``, plainly if that is short, else as ``d.ddde-7``."""
    while digits % U10 == U0 and digits != U0:
        digits //= U10
        exponent += 1
    end = _format_integer(out, place, digits)
    count = end - place
    point = count + exponent  # digits before the decimal point
    if exponent >= 0 and point <= 17:
        for at in range(end, end + exponent):
            out[at] = 48
        return end + exponent
    if 0 < point < count:
        for at in range(end, place + point, -1):
            out[at] = out[at - 1]
        out[place + point] = 46
        return end + 1
    if -5 < point <= 0:
        for at in range(end - 1, place - 1, -1):
            out[at + 2 - point] = out[at]
        for at in range(place, place + 2 - point):
            out[at] = 48
        out[place + 1] = 46
        return end + 2 - point
    if count > 1:
        for at in range(end, place + 1, -1):
            out[at] = out[at - 1]
        out[place + 1] = 46
        end += 1
    power = point - 1
    out[end] = 101
    end += 1
    if power < 0:
        out[end] = 45
        end += 1
    return _format_integer(out, end, np.uint64(abs(power)))


@kernel(**INNER)
def _format_bits(out, place, bits, powers, mantissa_bits):
    """Write the shortest text that reads back as the same float; at most 25 bytes; returns the end.

    ``mantissa_bits`` 0 means that ``bits`` is an int64.
    """
    top = U63
    if mantissa_bits == 23:
        top = np.uint64(31)
    negative = bits >> top != U0
    if mantissa_bits == 0:
        if negative:
            out[place] = 45
            return _format_integer(out, place + 1, ~bits + U1)
        return _format_integer(out, place, bits)
    fraction = bits & ((U1 << np.uint64(mantissa_bits)) - U1)
    infinite = 255 if mantissa_bits == 23 else 2047
    biased = np.int64(bits >> np.uint64(mantissa_bits)) & infinite
    if negative and not (biased == infinite and fraction != U0):
        out[place] = 45
        place += 1
    if biased == infinite:
        name = b"inf" if fraction == U0 else b"nan"
        for offset in range(3):
            out[place + offset] = name[offset]
        return place + 3
    if biased == 0 and fraction == U0:
        out[place] = 48
        return place + 1
    digits, exponent = _shortest(fraction, biased, powers, mantissa_bits)
    return _format_decimal(out, place, digits, exponent)


@kernel
def format_rows(out, start, stop, base, labels, label_indptr, label_bits,
                indptr, indices, bits, value_bits, queries, powers):
    """Write rows ``start`` to ``stop`` into ``out``; returns the number of bytes.

    ``label_bits`` and ``value_bits`` are mantissa bits (0: int64).  ``queries`` is empty or has one
    entry a row.  A row with neither label nor value is written as an explicit zero, since a blank line
    is no row.
    """
    place = 0
    for row in range(start, stop):
        first = place
        for at in range(label_indptr[row], label_indptr[row + 1]):
            if place > first:
                out[place] = 44
                place += 1
            place = _format_bits(out, place, labels[at], powers, label_bits)
        if queries.shape[0] > 0:
            if place > first:
                out[place] = 32
                place += 1
            out[place], out[place + 1], out[place + 2], out[place + 3] = 113, 105, 100, 58
            place = _format_integer(out, place + 4, np.uint64(queries[row]))
        for at in range(indptr[row], indptr[row + 1]):
            if place > first:
                out[place] = 32
                place += 1
            place = _format_integer(out, place, np.uint64(indices[at] + base))
            out[place] = 58
            place = _format_bits(out, place + 1, bits[at], powers, value_bits)
        if place == first:
            out[place], out[place + 1], out[place + 2] = U48 + np.uint64(base), 58, 48
            place += 3
        out[place] = 10
        place += 1
    return place
