"""csr matrices from coordinates in any order: as scipy's, with the values at one place summed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from sparsekit import nd

#: Narrow ones are sorted by one number for each place, wide ones by columns, then by rows, and the widest by numpy's lexsort.
SHAPES = [(1, 1), (300, 7), (7, 300), (40, 1 << 45), (1 << 10, 1 << 60)]


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("count", [0, 1, 500, 20_000])
def test_any_order_and_repeated_places(count, shape, kind):
    draw = np.random.default_rng(count)
    row, column = (draw.integers(0, min(size, 1 << 31) if kind == "int32" else size, count).astype(kind) for size in shape)
    row[count // 2:], column[count // 2:] = row[:count - count // 2], column[:count - count // 2]
    data = draw.integers(-9, 9, count).astype("float32")  # sums are exact
    mixed = draw.permutation(count)
    found = nd.sparse.csr_matrix((data[mixed], (row[mixed], column[mixed])), shape=shape)
    expected = scipy.sparse.coo_matrix((data, (row, column)), shape=shape).tocsr()
    expected.sum_duplicates()
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name).asnumpy(), getattr(expected, name))
    assert found.indices.dtype == "int64"
