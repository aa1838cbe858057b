"""Memory of arrays: cache-line alignment of large arrays, and arrays for users that do not expose their base."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from ..base.types import Array, DType, DTypeLike, Shape, ShapeLike

#: Bytes of a cache line.
LINE = 64

#: Bytes from which an array is aligned.
LARGE = 1 << 20


class _Allocator(Protocol):
    """``numpy.zeros`` or ``numpy.empty``."""

    def __call__(self, shape: ShapeLike, dtype: DTypeLike) -> Array: ...


class _AlignedBuffer:
    """Owns a buffer and exposes the aligned array within it."""

    def __init__(self, allocator: _Allocator, shape: Shape, dtype: DType, count: int) -> None:
        self._bytes = allocator(count + LINE, np.uint8)
        start = self._bytes.ctypes.data
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "data": (start + -start % LINE, False)}


def zeros(shape: Shape, dtype: DTypeLike) -> Array:
    """``numpy.zeros``, aligned to a cache line if it is large.

    numpy starts large arrays 16 bytes after the beginning of a cache line.  A row of 512 bytes then touches nine lines
    instead of eight, which makes products that read rows in random order 10 to 15 % slower.
    """
    return _allocate(np.zeros, tuple(shape), np.dtype(dtype))


def _allocate(allocator: _Allocator, shape: Shape, dtype: DType) -> Array:
    """An array from ``allocator``, aligned if it is large."""
    count = math.prod(shape) * dtype.itemsize
    return allocator(shape, dtype) if count < LARGE else np.asarray(_AlignedBuffer(allocator, shape, dtype, count))


class _Owner:
    """The end of the ``base`` chain of an array from ``handed_out``, in place of the array that owns the memory."""

    def __init__(self, array: Array, read_only: bool) -> None:
        self._array = array
        place, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (place, read_only)}


def handed_out(array: Array, read_only: bool = False) -> Array:
    """An array for users that shares the memory of ``array``: they can change its values, but not its shape or dtype.

    With ``read_only``, the values are protected too.  Unlike a view of numpy, the result leads to the writable array
    neither by its flags nor by its ``base``.
    """
    return np.asarray(_Owner(array, read_only))


def contiguous_copy(values: Array, dtype: DTypeLike) -> Array:
    """A copy in row-major order, aligned if it is large."""
    copy = _allocate(np.empty, values.shape, np.dtype(dtype))
    np.copyto(copy, values, casting="unsafe")
    return copy
