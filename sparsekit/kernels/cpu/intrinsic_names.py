"""Intrinsics that kernels may call; ``intrinsics`` tells numba how they are compiled.

Where kernels are interpreted these functions run as they are: in one thread, on a shared_state that no other thread sees.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

# Words of the shared_state that ``thread_pool`` keeps.  Those that threads write are on cache lines of their own; a helper's
# AWAKE, with its LOCK on the same line, follows those before it.
NEXT, COUNT, GRAIN, FUNCTION, ARGUMENTS, ACTIVE, FAILED, OWNED, LEADER, WORKERS, AWAKE = (place * 8 for place in range(11))
HELPERS, ACQUIRE, RELEASE, PROCESSOR = (WORKERS + place for place in range(1, 5))
LOCK = 1

#: What carries a pair of words of a CRC-32 over four pairs: powers of x modulo its polynomial.
FOUR_PAIRS_ON = 0x154442BD4, 0x1C6E41596

#: Sums that ``sum_in_order`` keeps side by side.
LANES = 16

#: Loops that interpreted kernels have put up and not run yet, by number.
_up: dict[int, tuple[Any, tuple[Any, ...]]] = {}


def prefetch(array, place):
    """Prefetch an element for a read that comes soon; ``place`` counts elements of a C-contiguous array from the first."""


def read_ahead(array, place):
    """Read an element, counted as in ``prefetch``, so that it is in the cache: the processor may drop prefetches."""


def add_eight(totals, place, sources, source, factor):
    """``totals[place:place + 8] += factor * sources[source:source + 8]`` by vectors, of arrays of one axis; unchecked."""
    totals[int(place):int(place) + 8] += factor * sources[int(source):int(source) + 8]


def sum_in_order(values):
    """The sum of a C-contiguous vector of floats, by lanes whose order is the same for every compiler and processor.

    Where the compiler may reorder a sum itself, it does so differently from one caller to the next.
    """
    lanes, size = LANES, values.shape[0]
    done = size & -lanes
    totals = values[:done].reshape(-1, lanes).sum(axis=0)
    while lanes > 1:
        lanes //= 2
        totals = totals[:lanes] + totals[lanes:]
        if size & lanes:
            totals = totals + values[done:done + lanes]
        done = size & -lanes
    return totals[0]


def dot_in_order(first, second):
    """The sum over the products of two vectors of one type, as ``sum_in_order``."""
    return sum_in_order(first * second)


def eight_bytes(text, place):
    """``text[place:place + 8]`` of uint8 as one uint64, the first byte lowest; unchecked, so have the room."""
    return text[int(place):int(place) + 8].view("<u8").astype("u8")[0]


def leading(array, count):
    """The first ``count`` elements as a tuple, read at once; unchecked, and ``count`` is a constant."""
    return tuple(array[:count])


def take_marks(marks, place):
    """64 elements of an array of bool as the bits of a uint64, the first one lowest; makes them False.  Unchecked."""
    bits = sum(int(mark) << number for number, mark in enumerate(marks[place: place + 64]))
    marks[place: place + 64] = False
    return np.uint64(bits)


def changed(values, place):
    """Which of 64 elements floats are not -0.0, with which sums begin, as ``take_marks`` gives them.  Unchecked."""
    return np.uint64(sum(int(value != 0 or not np.signbit(value)) << number
                         for number, value in enumerate(values[place: place + 64])))


def zero_bits(word):
    """How many zero bits a uint64 has below its lowest one; 64 if it is 0."""
    value = int(word)
    return (value & -value).bit_length() - 1 if value else 64


def one_bits(word):
    """How many bits of a uint64 are set."""
    return int(word).bit_count()


def by_type(value, single, double):
    """``single(value)`` of a float32, ``double(value)`` of a float64."""
    return (single if value.dtype == "float32" else double)(value)


def add(shared_state, place, amount):
    """Add to a word of the shared_state; what it was."""
    before = int(shared_state[place])
    shared_state[place] += amount
    return before


def read(shared_state, place):
    """Read a word of the shared_state, written by any thread."""
    return int(shared_state[place])


def write(shared_state, place, value):
    """Set a word of the shared_state, after all that was written before."""
    shared_state[place] = value


def pause():
    """Tell the processor that this is a spin-wait loop."""


def swap(shared_state, place, old, new):
    """Set a word of the shared_state if it has this value; whether it had."""
    had = int(shared_state[place]) == old
    if had:
        shared_state[place] = new
    return had


def call_words(function, first, second):
    """Call a function of C by address, with two words, of which it may take fewer; the word that it returns."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    return kind(int(function))(int(first), int(second))


def run_piece(function, packed, start, stop):
    """Run a piece of a loop that has been put up; not 0 if it failed.  Interpreted kernels do so once."""
    body, arguments = _up.pop(function)
    body(*arguments, start, stop)
    return 0


def put_up(body, arguments):
    """Where ``body(*arguments, start, stop)`` and its arguments are, for ``thread_pool.spread``.

    They are in the frame of the calling kernel, which must not return before that has.
    """
    _up[id(arguments)] = body, arguments
    return id(arguments), 0


def get_word(address):
    """Read the int64 at an address."""
    return ctypes.c_int64.from_address(int(address)).value


def put_word(address, value):
    """Write the int64 at an address."""
    ctypes.c_int64.from_address(int(address)).value = int(value)


def call_loop(function, context, data, dimensions, strides, extra):
    """Call a function with the signature of numpy's strided inner loops, by addresses; not 0 if it failed."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * 5)
    return kind(int(function))(int(context), int(data), int(dimensions), int(strides), int(extra))


def carry_over(address, count, sums):
    """Carry the sums of a CRC-32, 8 uint64, over ``count`` blocks of 64 bytes from an address on; the first is in the sums.

    Compiled only where ``intrinsics.has_products_without_carries``.
    """
    for block in range(1, count):
        for place in range(0, 8, 2):
            pair = _product(sums[place], FOUR_PAIRS_ON[0]) ^ _product(sums[place + 1], FOUR_PAIRS_ON[1])
            for half in range(2):
                word = get_word(address + block * 64 + (place + half) * 8)
                sums[place + half] = (pair >> 64 * half ^ word) % 2**64


def _product(value, other):
    """The product of two numbers without carries."""
    product = 0
    for bit in range(int(other).bit_length()):
        if int(other) >> bit & 1:
            product ^= int(value) << bit
    return product
