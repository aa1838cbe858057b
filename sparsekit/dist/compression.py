"""Gradients of two bits an element: MXNet's ``2bit`` compression.

A worker adds what it has not sent yet, its *residual*, to each gradient.  Of every element it sends ``threshold`` if the
result is at least that, ``-threshold`` if it is at most that, and else zero.  What was not sent is the next residual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..base.types import Array, DType

#: Bits of an element, and what they stand for, in thresholds.
ZERO, PLUS, MINUS = 0, 3, 2
_PLACES = np.array([0, 2, 4, 6], np.uint8)


def quantize(gradient: Array, residual: Array, threshold: float) -> Array:
    """The code of each element, as uint8; the residual changes in place.

    Parameters
    ----------
    gradient, residual : array of float32
    threshold : float
        Above 0.
    """
    bound = np.float32(threshold)
    residual += gradient
    high, low = residual >= bound, residual <= -bound
    residual[high] -= bound
    residual[low] += bound
    codes = np.zeros(residual.shape, np.uint8)
    codes[high], codes[low] = PLUS, MINUS
    return codes


def packed_size(elements: int) -> int:
    """How many bytes this many elements take."""
    return -(-elements // 4)


def pack(codes: Array) -> Array:
    """Four codes to a byte, the first in the lowest bits."""
    padded = np.zeros(4 * packed_size(codes.size), np.uint8)
    padded[:codes.size] = codes.reshape(-1)
    packed: Array = np.bitwise_or.reduce(padded.reshape(-1, 4) << _PLACES, axis=1)
    return packed


def unpack(packed: Array, shape: tuple[int, ...], threshold: float, dtype: DType) -> Array:
    """The values that packed codes stand for.

    Raises
    ------
    ValueError
        If there are too few bytes, or too many, for the shape.
    """
    size = int(np.prod(shape, dtype=np.int64))
    if packed.dtype != np.uint8 or packed.shape != (packed_size(size),):
        raise ValueError(f"{packed_size(size)} bytes are needed for {size} elements, got {packed.shape} of {packed.dtype}")
    codes = ((packed[:, None] >> _PLACES) & 3).reshape(-1)[:size]
    values: Array = np.array([0, 0, -threshold, threshold], dtype)[codes]
    return values.reshape(shape)
