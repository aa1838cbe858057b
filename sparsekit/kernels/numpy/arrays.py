"""What kernels in numpy share: how they are called, places in csr matrices, and products by scipy's compiled loops.

numpy's own numbers of places have 32 bits on some machines, such as WebAssembly: what is returned or multiplied is int64.
"""

from __future__ import annotations

import functools

import numpy as np

from ...base.forking import load
from ..cpu.jit import apart, widened

_HALF = np.dtype(np.float16)

#: Products of rows and columns from which places would not fit in 63 bits, with room for one row more.
_MOST_PLACES = 1 << 61


def kernel(function):
    """Make a kernel of a function: float16 arguments are computed in float32, as numba's kernels do."""

    @functools.wraps(function)
    def run(*arguments):
        for value in arguments:
            if getattr(value, "dtype", None) == _HALF:
                return widened(function, arguments)
        return function(*arguments)

    return run


@functools.cache
def scipy(part):
    """A module of scipy, whose import a profile tells apart from what needs it."""
    return apart(f"import scipy.{part}", lambda: load(f"scipy.{part}"))


def warm():
    """Import every part of scipy that kernels call."""
    for part in ("sparse", "sparse._sparsetools", "special"):
        scipy(part)


def add_product(data, indices, indptr, right, out, turned=False):
    """``out += csr · right``, or ``csrᵀ · right`` if ``turned``; right and out have two axes.

    The products of an element are added one by one, in the order of the stored values.
    """
    into = out if out.flags.c_contiguous else out.copy()
    width = out.shape[1]
    if out.size and right.size:
        name = ("csc" if turned else "csr") + ("_matvec" if width == 1 else "_matvecs")
        # A private module, as the public classes copy indices to a narrower type, and cannot add to memory that they are given.
        getattr(scipy("sparse._sparsetools"), name)(
            out.shape[0], right.shape[0], *(() if width == 1 else (width,)), indptr, indices, data.astype(out.dtype, copy=False),
            right.astype(out.dtype, copy=False).reshape(-1), into.reshape(-1))
    if into is not out:
        out[...] = into


def matrix(data, indices, indptr, columns):
    """scipy's matrix of these components, none of which is copied or looked at."""
    result = scipy("sparse").csr_array((indptr.shape[0] - 1, columns), dtype=data.dtype)
    result.data, result.indices, result.indptr = data, indices, indptr
    return result


def numbered(count):
    """The numbers from 0 up to ``count - 1``, int64."""
    return np.arange(count, dtype=np.int64)


def which(condition):
    """The places where a condition holds, int64."""
    return np.flatnonzero(condition).astype(np.int64, copy=False)


def row_of_each(indptr):
    """The row of each stored value, int64."""
    return np.repeat(numbered(indptr.shape[0] - 1), np.diff(indptr))


def ranges(starts, counts):
    """The numbers ``starts[i] … starts[i] + counts[i] - 1`` for each i, one after another, int64."""
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if ends.shape[0] else 0
    return np.repeat(np.asarray(starts, np.int64) - ends + counts, counts) + numbered(total)


def first_of_each(ascending):
    """Which values are the first of equal ones."""
    first = np.ones(ascending.shape[0], np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return first


def find(wanted, ascending):
    """The place of each of ``wanted`` among ``ascending``, and which of them are there at all."""
    if not ascending.shape[0]:
        return np.zeros(wanted.shape, np.int64), np.zeros(wanted.shape, np.bool_)
    places = np.minimum(np.searchsorted(ascending, wanted), ascending.shape[0] - 1).astype(np.int64, copy=False)
    return places, ascending[places] == wanted


def places_of(rows, *matrices):
    """For each matrix, given as row and column of some elements, a number for each element that orders them by row and column.

    Returns these arrays and how far the numbers of one row are from those of the next.
    """
    width = 1 + max(int(columns.max(initial=0)) for _, columns in matrices)
    columns = [columns for _, columns in matrices]
    if rows * width >= _MOST_PLACES:
        occurring = np.unique(np.concatenate(columns))
        columns, width = [np.searchsorted(occurring, column) for column in columns], occurring.shape[0]
    return [row * width + column for (row, _), column in zip(matrices, columns, strict=True)], width


def starts_of_rows(places, rows, step):
    """Where each of ``rows`` rows begins among ascending numbers of ``places_of``."""
    return np.searchsorted(places, numbered(rows) * step)


def union(left, right):
    """The numbers that are in either of two ascending arrays, and where those of each are among them."""
    both = np.concatenate((left, right))
    both.sort(kind="stable")  # which merges two ascending runs
    every = both[first_of_each(both)]
    return every, np.searchsorted(every, left), np.searchsorted(every, right)
