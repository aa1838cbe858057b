"""Intrinsics that kernels may call; ``intrinsics`` tells numba how they are compiled.

Where kernels are interpreted these functions run as they are: in one thread, on a shared_state that no other thread sees.
"""

from __future__ import annotations

import ctypes
from typing import Any

__all__ = ["add", "by_type", "call_loop", "carry_over", "eight_bytes", "get_word", "leading", "one_bits", "pause", "prefetch",
           "put_up", "put_word", "read", "run_piece", "write", "zero_bits"]

# Words of the shared_state that ``pool`` keeps, each on a cache line of its own; a helper's AWAKE follows those before it.
NEXT, COUNT, GRAIN, FUNCTION, ARGUMENTS, ACTIVE, FAILED, AWAKE = (place * 8 for place in range(8))

#: What carries a pair of words of a CRC-32 over four pairs: powers of x modulo its polynomial.
FOUR_PAIRS_ON = 0x154442BD4, 0x1C6E41596

#: Loops that interpreted kernels have published and not yet withdrawn, by their number in the shared_state.
_up: dict[int, tuple[Any, tuple[Any, ...]]] = {}


def prefetch(array, place):
    """Prefetch an element for a read that comes soon; ``place`` counts elements of a C-contiguous array from the first."""


def eight_bytes(text, place):
    """``text[place:place + 8]`` of uint8 as one uint64, the first byte lowest; unchecked, so have the room."""
    return text[int(place):int(place) + 8].view("<u8").astype("u8")[0]


def leading(array, count):
    """The first ``count`` elements as a tuple, read at once; unchecked, and ``count`` is a constant."""
    return tuple(array[:count])


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


def run_piece(function, packed, start, stop):
    """Run a piece of the loop that is on the shared_state; not 0 if it failed."""
    body, arguments = _up[function]
    body(*arguments, start, stop)
    return 0


def put_up(shared_state, body, arguments):
    """Write on the shared_state where ``body(*arguments, start, stop)`` and its arguments are.

    They are in the frame of the calling kernel, which must not return before ``pool.lead`` has.
    """
    shared_state[FUNCTION] = id(shared_state)
    _up[id(shared_state)] = body, arguments


def take_down(shared_state):
    """Forget what was put up on a shared_state; only interpreted kernels need that."""
    _up.pop(id(shared_state), None)


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


def _product(one, other):
    """The product of two numbers without carries."""
    found = 0
    for bit in range(int(other).bit_length()):
        if int(other) >> bit & 1:
            found ^= int(one) << bit
    return found
