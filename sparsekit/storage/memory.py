"""Memory of arrays: large ones begin where a line of the processor's cache does; users get it without its owner."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from ..base.types import Array, DType, DTypeLike, Shape, ShapeLike

__all__ = ["contiguous_copy", "handed_out", "zeros"]

#: Bytes of a cache line.
LINE = 64

#: Bytes from which an array is aligned.
LARGE = 1 << 20


class _Maker(Protocol):
    """``numpy.zeros`` or ``numpy.empty``."""

    def __call__(self, shape: ShapeLike, dtype: DTypeLike) -> Array: ...


class _Room:
    """Owner of memory around an aligned array; only that array is measured and shown."""

    def __init__(self, make: _Maker, shape: Shape, dtype: DType, count: int) -> None:
        self._bytes = make(count + LINE, np.uint8)
        start = self._bytes.ctypes.data
        self.__array_interface__ = {"version": 3, "shape": shape, "typestr": dtype.str, "data": (start + -start % LINE, False)}


def zeros(shape: Shape, dtype: DTypeLike) -> Array:
    """``numpy.zeros``, aligned if it is large.

    numpy begins large arrays 16 bytes after a line, so that a row of 512 bytes touches nine lines instead of eight,
    which products that read rows anywhere in memory take 10 to 15 % longer for.
    """
    return _made(np.zeros, tuple(shape), np.dtype(dtype))


def _made(make: _Maker, shape: Shape, dtype: DType) -> Array:
    """What ``make``, ``numpy.zeros`` or ``numpy.empty``, gives, aligned if it is large."""
    count = math.prod(shape) * dtype.itemsize
    return make(shape, dtype) if count < LARGE else np.asarray(_Room(make, shape, dtype, count))


class _Owner:
    """What ``base`` of an array that was handed out shows instead of the array that owns the memory."""

    def __init__(self, array: Array, read_only: bool) -> None:
        self._array = array
        place, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (place, read_only)}


def handed_out(array: Array, read_only: bool = False) -> Array:
    """An array over the memory of ``array``, to give to users: nothing done to it changes more than the values.

    Its shape and element type are its own.  If it is read-only, neither its flags nor its ``base`` lead to a writable
    array, as those of numpy's own views do.
    """
    return np.asarray(_Owner(array, read_only))


def contiguous_copy(values: Array, dtype: DTypeLike) -> Array:
    """A copy in row-major order, aligned if it is large."""
    made = _made(np.empty, values.shape, np.dtype(dtype))
    np.copyto(made, values, casting="unsafe")
    return made
