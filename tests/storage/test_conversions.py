"""Conversions of arrays that are large enough for compiled code, and of small ones, hold what numpy and scipy say."""

import itertools

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
        wanted = scipy.sparse.csr_matrix(values.astype(np.float64))
        assert (array.indptr.asnumpy() == wanted.indptr).all()
        assert (array.indices.asnumpy() == wanted.indices).all()
        assert (array.data.asnumpy() == wanted.data).all()
    if target == "row_sparse":
        assert array.indices.asnumpy().tolist() == np.flatnonzero(values.any(axis=1)).tolist()
