"""The checksum of snapshots is zlib's, whichever way it is computed."""

import zlib
from pathlib import Path

import numpy as np
import pytest

from sparsekit.kernels.cpu import checksum
from sparsekit.kernels.cpu.intrinsic_names import carry_over
from sparsekit.kernels.cpu.jit import why_numpy


@pytest.fixture(scope="module", autouse=True)
def prepared():
    checksum.prepare()


@pytest.mark.skipif(bool(why_numpy()), reason="kernels in numpy use zlib's")
def test_this_processor_computes_it_by_products():
    flags = Path("/proc/cpuinfo").read_text(encoding="ascii")
    assert checksum.prepare() == ("pclmulqdq" in flags)


SIZES = [0, 1, 63, 64, 4095, *range(4096, 4096 + 130), 65_536 + 17, 1_000_003]


def test_any_number_of_bytes_anywhere():
    random = np.random.default_rng(0)
    held = random.integers(0, 256, max(SIZES) + 16).astype(np.uint8)
    for size in SIZES:
        start, value = int(random.integers(16)), int(random.integers(1 << 32))
        data = held[start:start + size].data
        assert checksum.crc32(data, value) == zlib.crc32(data, value), (size, start)
        assert checksum.crc32(data.tobytes()) == zlib.crc32(data), (size, start)


def test_what_is_interpreted_computes_the_same():
    data = np.random.default_rng(2).integers(0, 256, 64 * 7).astype(np.uint8)
    sums = data[:64].copy().view(np.uint64)
    sums[0] ^= np.uint64(0xFFFFFFFF)
    carry_over(data.ctypes.data, 7, sums)
    assert zlib.crc32(sums.tobytes(), 0xFFFFFFFF) == zlib.crc32(data)
