"""Conversions of arrays that are large enough for compiled code, and of small ones, hold what numpy and scipy say."""

import itertools
import mmap
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import sparsekit as mx
from sparsekit.storage import memory
from sparsekit.storage.convert import LARGE

STYPES = ("default", "csr", "row_sparse")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("rows", [7, 2000])
@pytest.mark.parametrize(("source", "target"), list(itertools.product(STYPES, STYPES)))
def test_a_conversion_keeps_every_element(source, target, rows, dtype):
    random = np.random.default_rng(rows)
    values = random.integers(1, 9, (rows, 40)) * (random.random((rows, 40)) < 0.6)
    values[[0, 3, 4, rows - 1]] = 0  # absent rows at both ends, and between others
    values = values.astype(dtype)
    assert (np.count_nonzero(values) >= LARGE) == (rows == 2000)
    array = mx.nd.array(values, dtype=dtype).tostype(source).tostype(target)
    assert (array.stype, array.dtype) == (target, np.dtype(dtype))
    assert (array.asnumpy() == values).all()
    if target == "csr":
        assert array._store.indices.flags.c_contiguous  # kernels are compiled again for memory with gaps
        wanted = scipy.sparse.csr_matrix(values.astype(np.float64))
        assert (array.indptr.asnumpy() == wanted.indptr).all()
        assert (array.indices.asnumpy() == wanted.indices).all()
        assert (array.data.asnumpy() == wanted.data).all()
    if target == "row_sparse":
        assert array.indices.asnumpy().tolist() == np.flatnonzero(values.any(axis=1)).tolist()


def mapping(address):
    """What Linux says of the memory that an address lies in: the lines of /proc/self/smaps as a dict."""
    said, found = Path("/proc/self/smaps").read_text(encoding="utf-8"), {}
    for line in said.splitlines():
        bounds = re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line)
        if bounds:
            inside = int(bounds[1], 16) <= address < int(bounds[2], 16)
        elif inside:
            name, _, value = line.partition(":")
            found[name] = value.split()
    return found


def scattered():
    """A thousand values in what takes 400 MB as a dense array."""
    return mx.nd.sparse.csr_matrix((np.ones(1000, np.float32), np.arange(1000) * 99, np.arange(1001)), shape=(1000, 100_000))


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells of pages")
def test_a_large_dense_copy_takes_memory_only_where_values_are():
    made = scattered().tostype("default")
    pages = mapping(made._store.ctypes.data)
    assert int(pages["Rss"][0]) * 1024 < 2 * 1000 * mmap.PAGESIZE  # a page for each value
    assert "nh" in pages["VmFlags"], "huge pages would take all of it where they are always used"
    assert made[999, 999 * 99].asscalar() == 1


def test_a_large_dense_copy_is_made_where_the_system_has_no_huge_pages(monkeypatch):
    class Mapping(mmap.mmap):
        def madvise(self, *_):
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr(mmap, "mmap", Mapping)
    assert scattered().tostype("default")[999, 999 * 99].asscalar() == 1


# large dense arrays begin at a line of the cache, and nothing shows of it


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
