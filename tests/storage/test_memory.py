"""Large dense arrays begin at a line of the cache, and nothing shows of it."""

import numpy as np
import pytest

import sparsekit as mx
from sparsekit.storage import memory


@pytest.mark.parametrize("rows", [1, 3, 1 << 15, 100_003])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8"])
def test_copies_and_zeros_are_as_numpys(rows: int, dtype: str) -> None:
    values = (np.arange(rows * 11) % 251).astype(np.float64).reshape(rows, 11)
    made = memory.contiguous_copy(values, dtype)
    np.testing.assert_array_equal(made, values.astype(dtype))
    blank = memory.zeros((rows, 11), dtype)
    assert not blank.any()
    for array in (made, blank):
        assert array.shape == values.shape
        assert array.dtype == dtype
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert array.nbytes < memory.LARGE or array.ctypes.data % memory.LINE == 0


def test_the_profiler_counts_no_byte_more() -> None:
    with mx.Profiler() as prof:
        array = mx.nd.zeros((1 << 10, 1 << 10))
        view = array[1:]
        doubled = array * 2
    assert array._store.ctypes.data % memory.LINE == 0
    assert prof.memory["peak_bytes"] == array.size * 4 + doubled.size * 4
    del view


def test_a_transposed_or_strided_source_is_copied_in_row_major_order() -> None:
    values = np.arange(1 << 20, dtype=np.float64).reshape(1 << 10, 1 << 10)
    np.testing.assert_array_equal(mx.nd.array(values.T, dtype="float64").asnumpy(), values.T)
    np.testing.assert_array_equal(mx.nd.array(values[::2, ::3], dtype="float64").asnumpy(), values[::2, ::3])


def test_a_wide_matrix_with_one_full_row_becomes_row_sparse():
    """What the conversion takes follows from the rows that are stored, not from how many elements are."""
    size = 300_000
    entries = np.ones(size, np.float32), np.arange(size), np.r_[0, np.full(size, size)]
    found = mx.nd.sparse.csr_matrix(entries, shape=(size, size)).tostype("row_sparse")
    assert (found.indices.asnumpy().tolist(), found.data.shape) == ([0], (1, size))
