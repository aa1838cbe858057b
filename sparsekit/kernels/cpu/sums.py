"""The sum of a small array.  Operators use it once numba has been imported for another kernel."""

from __future__ import annotations

import itertools

import numpy as np

from .jit import kernel

__all__ = ["sum_few"]

#: The largest number of elements that numpy adds in one loop instead of in halves.
FEW = 128


@kernel
def _sum_few(x, out):
    """``out[0] = x.sum()`` of at most ``FEW`` elements, in the order of numpy's loop: eight sums, and the rest."""
    values = x.reshape(x.size)
    count, total = values.size, out.dtype.type(0)
    beyond = count - count % 8
    if beyond != 0:
        a, b, c, d, e, f, g, h = values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7]
        for place in range(8, beyond, 8):
            a += values[place]
            b += values[place + 1]
            c += values[place + 2]
            d += values[place + 3]
            e += values[place + 4]
            f += values[place + 5]
            g += values[place + 6]
            h += values[place + 7]
        total += ((a + b) + (c + d)) + ((e + f) + (g + h))
    for place in range(beyond, count):
        total += values[place]
    out[0] = total


def sum_few(x):
    """The sum of a C-contiguous float32 or float64 array of at most ``FEW`` elements, as an array (1,); None for other arrays."""
    if x.size > FEW or not x.flags.carray:
        return None
    add = _adding.get((x.dtype.char, x.ndim))
    if add is None:
        return None
    out = np.empty(1, x.dtype)
    add(x, out)
    return out


def _first(x, out):
    """Compile the kernel for this element type and number of axes; later sums call the compiled function directly."""
    _sum_few(x, out)
    _adding[x.dtype.char, x.ndim] = _sum_few.dispatcher


#: The functions for float32 and float64 arrays of one and two axes.
_adding = dict.fromkeys(itertools.product("fd", (1, 2)), _first)
