"""The sum of a small array.  Operators use it once numba has been imported for another kernel."""

from __future__ import annotations

import numpy as np

from .jit import kernel, numba

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
    kind, axes = x.dtype, x.ndim
    if x.size > FEW or axes > 2 or not x.flags.carray:
        return None
    if kind is SINGLE:  # numpy has one object for each type of this machine's byte order
        add = _singles[axes]
    elif kind is DOUBLE:
        add = _doubles[axes]
    else:
        return None
    if add is None:
        return None
    out = np.empty(1, kind)
    add(x, out)
    return out


def _first(adding, kind):
    """What compiles the kernel for this element type, and then has later sums call the compiled function at once."""

    def add(x, out):
        types = numba().types
        compiled = adding[x.ndim] = _sum_few.compile((types.Array(getattr(types, kind), x.ndim, "C"),
                                                      types.Array(getattr(types, kind), 1, "C")))
        compiled(x, out)

    return add


SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)

#: The functions for arrays of no, one and two axes.
_singles, _doubles = [None] * 3, [None] * 3
for _adding, _kind in ((_singles, "float32"), (_doubles, "float64")):
    _adding[1:] = [_first(_adding, _kind)] * 2
