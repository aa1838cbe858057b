"""Conversions of arrays that are large enough for compiled code, and of small ones, hold what numpy and scipy say."""

import itertools
import mmap
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import sparsekit as mx
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
