"""The checksum CRC-32, as ``zlib.crc32`` computes it, by products without carries.

Four sums of 16 bytes each are carried over 64 bytes at a time (V. Gopal et al., "Fast CRC Computation for Generic Polynomials
Using PCLMULQDQ Instruction", Intel, 2009).  What they end as has the checksum of all that came before, so zlib does the rest.
"""

from __future__ import annotations

import zlib

import numpy as np

from ...base.forking import load
from .intrinsic_names import carry_over
from .jit import kernel, numba, why_numpy

#: Bytes that are carried over at a time, and bytes from which on it is faster than zlib's own loop.
BLOCK, WORTH = 64, 4096
ONES = 0xFFFFFFFF

_ready: list[bool] = []


@kernel
def _carry_over(address, count, sums):
    carry_over(address, count, sums)


def prepare() -> bool:
    """Compile what is needed if the processor has it, and say whether it is used; until then ``crc32`` is zlib's."""
    if (not _ready and not why_numpy() and not numba().config.DISABLE_JIT
            and load("sparsekit.kernels.cpu.intrinsics").has_products_without_carries()):
        block = np.zeros(BLOCK // 8, np.uint64)
        _carry_over(block.ctypes.data, 1, block.copy())
        _ready.append(True)
    return bool(_ready)


def crc32(data: bytes | memoryview, value: int = 0) -> int:
    """The checksum of bytes, after bytes with the checksum ``value``."""
    if not _ready or len(data) < WORTH:
        return zlib.crc32(data, value)
    held = np.frombuffer(data, np.uint8)
    count = held.shape[0] // BLOCK
    sums = held[:BLOCK].copy().view(np.uint64)
    sums[0] ^= np.uint64(value ^ ONES)
    _carry_over(held.ctypes.data, count, sums)
    return zlib.crc32(sums.tobytes() + held[count * BLOCK:].tobytes(), ONES)
